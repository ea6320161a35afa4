"""Which templates of scorers a row is found to fill in, before anything is asked."""

import json
from dataclasses import make_dataclass

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.pipeline.preflight import template_problems
from pytest_evalmetrics.pipeline.template_trials import TemplateTrials, texts_below
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

ASKED = {
    "dataset": "data.jsonl",
    "model": {"url": "http://127.0.0.1:9/v1", "name": "m"},
    "prompt_template": "{{ question }}",
}
RECORDED = {"dataset": "data.jsonl"}


@pytest.fixture
def tried(tmp_path):
    """Fill in the reference of a scorer with one row; give the benchmark and the trials."""
    offer_scorers()

    def fill_in(reference, keys):
        scorer = {"type": "exact-match", "reference": reference, "candidate": "x"}
        benchmark = {"name": "b", "scorers": [scorer], "metrics": ["mean_reward"]}
        file = tmp_path / "a.bench.yaml"
        file.write_text(json.dumps({"benchmark": benchmark | keys}))
        (loaded,) = load_benchmarks(file, shown=file.name)
        trials = TemplateTrials(loaded.spec)
        item = {"question": "1+1?", "answer": "2"}
        trials.fill_in(0, Row(0, "agent", "t", 0, item, {}, "data.jsonl:1"))
        return loaded, trials

    return fill_in


@pytest.fixture
def failure(tried):
    """Fill in the reference of a scorer with one row; give what is said of its failure."""

    def words_of(reference, keys):
        _, trials = tried(reference, keys)
        _, failures = trials.counted([0])
        assert set(failures) <= {("scorers", 0, "reference")}
        return [failure.example for failure in failures.values()]

    return words_of


@pytest.mark.parametrize(
    "template", ["{{ item.answer }}", "{{ answer }}", "{{ question[0] }}"]
)
@pytest.mark.parametrize("keys", [ASKED, RECORDED])
def test_a_column_of_the_row_is_filled_in(failure, template, keys):
    assert failure(template, keys) == []


@pytest.mark.parametrize(
    "template",
    [
        "{{ sample.output_text }}",
        "{{ item.response.output }}",
        "{{ sample.response.x }}",
    ],
)
def test_an_answer_that_comes_later_is_no_failure(failure, template):
    assert failure(template, ASKED) == []


@pytest.mark.parametrize("keys", [ASKED, RECORDED])
def test_a_column_that_the_row_lacks_is_a_failure_with_its_place(failure, keys):
    (words,) = failure("{{ item.solution }}", keys)
    assert "solution" in words
    assert words.endswith("(data.jsonl:1)")


def test_an_answer_that_never_comes_is_a_failure(failure):
    (words,) = failure("{{ sample.output_text }}", RECORDED)
    assert "output_text" in words


def test_the_scores_of_the_scorer_itself_come_later(failure):
    assert failure("{{ scores }}", RECORDED) == []


def problems(tried, reference, keys):
    loaded, trials = tried(reference, keys)
    found = template_problems(loaded, None, trials, [0], [0])
    return [problem.message for problem in found]


def test_a_wrong_part_of_an_answer_is_refused_with_those_that_there_are(tried):
    (message,) = problems(tried, "{{ sample.text }}", ASKED)
    assert message.startswith("no row can fill in this template: ")
    assert message.endswith(
        "; sample has 'output_text', 'response', 'reasoning', 'tool_calls', 'finish_reason'"
    )


def test_the_parts_of_an_answer_are_not_named_where_the_row_lacks_a_column(tried):
    (message,) = problems(tried, "{{ item.solution }}", ASKED)
    assert message.endswith("(data.jsonl:1)")


@pytest.mark.parametrize(
    "template", ["{{ item.response + 1 }}", "{{ sample.output_text * 2 }}"]
)
def test_what_is_done_with_an_answer_that_comes_later_is_no_failure(failure, template):
    assert failure(template, ASKED) == []


@pytest.mark.parametrize(
    "key", ["type", "options", "url", "api_key_secret", "description"]
)
def test_a_key_that_never_holds_a_template_is_not_read_as_one(key):
    texts = make_dataclass("Keys", [key, "prompt"])("{{ a }}", "{{ b }}")
    assert list(texts_below(texts, ())) == [(("prompt",), "{{ b }}")]
