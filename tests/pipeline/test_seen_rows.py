"""What is taken from whole rows while their numbers are read, so that a file is read once."""

import json
import sys

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.pipeline.benchmark_rows import choose, rows_of, with_reward
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.seen_rows import as_generated, content_of
from pytest_evalmetrics.pipeline.template_trials import TemplateTrials
from pytest_evalmetrics.scoring.scorer_types import offer_scorers
from pytest_evalmetrics.spec.metric_names import MARK

ROWS = [{"id": f"t{n}", "question": f"{n}?", "a": "x"} for n in range(6)]
MATCH = {"type": "exact-match", "reference": "{{ item.b }}", "candidate": "{{ a }}"}


@pytest.fixture
def chosen(tmp_path):
    """Choose the rows of a data set with some keys; with the templates that were tried."""
    offer_scorers()

    def read(name="data.jsonl", *, text=None, **keys):
        lines = "".join(json.dumps(row) + "\n" for row in ROWS)
        (tmp_path / name).write_text(lines if text is None else text)
        benchmark = {
            "name": "b",
            "dataset": {"path": name, "fields": {"task": "id"}},
            "scorers": [MATCH],
            "metrics": ["mean_reward"],
            **keys,
        }
        file = tmp_path / "a.bench.yaml"
        file.write_text(json.dumps({"benchmark": benchmark}))
        (loaded,) = load_benchmarks(file, shown=file.name)
        loaded = with_reward(loaded)
        trials = TemplateTrials(loaded.spec)
        rows = choose(loaded, plan_of(loaded), ["exact-match"], trials=trials)
        return loaded, rows, trials

    return read


@pytest.fixture
def opened():
    """List the files that are opened from now on."""
    paths = []
    listening = [True]

    def heard(event, arguments):
        if listening and event == "open":
            paths.append(str(arguments[0]))

    sys.addaudithook(heard)  # no hook can be removed
    yield paths
    listening.clear()


def test_hashes_and_templates_take_no_further_reading_of_a_file(chosen, opened):
    chosen()
    once = sum(path.endswith("data.jsonl") for path in opened)
    opened.clear()
    _, rows, _ = chosen(baseline=True)
    assert sum(path.endswith("data.jsonl") for path in opened) == once
    assert rows.tried
    assert len(set(rows.table.content.tolist())) == 6


def test_a_format_without_whole_rows_is_read_again_to_the_same_hashes(chosen):
    lines = ["id,question,a", *(f"t{n},{n}?,x" for n in range(6))]
    _, of_csv, _ = chosen("data.csv", text="\n".join(lines), baseline=True)
    _, of_json, _ = chosen(baseline=True)
    assert not of_csv.tried
    assert of_csv.table.content.tolist() == of_json.table.content.tolist()


def test_only_the_rows_that_are_scored_count_as_failures_of_a_template(chosen):
    _, rows, trials = chosen(params={"limit_samples": 2})
    total, failures = trials.counted(rows.rows.tolist())
    ((path, failure),) = failures.items()
    assert (total, path) == (2, ("scorers", 0, "reference"))
    assert failure.rows == 2
    assert failure.example.endswith("(data.jsonl:1)")


def test_the_rows_are_those_of_the_file(chosen):
    benchmark, rows, _ = chosen(baseline=True)
    assert [row.item for row in rows_of(benchmark, rows)] == ROWS


# -- rows of an earlier run ------------------------------------------------------------------


def generated(mark, **item):
    """Return what is scored of a row with a mark of this project, and its failure."""
    row = Row(3, "a", "t", 0, {**item, MARK: mark}, {"old": True})
    return as_generated(row)


def test_a_row_without_a_mark_is_scored_as_it_is():
    row = Row(3, "a", "t", 0, {"question": "q"}, {"output_text": "x"})
    assert as_generated(row) == (row, None)


@pytest.mark.parametrize("mark", [None, "text", ["row"]])
def test_a_mark_of_another_form_is_a_column_like_others(mark):
    row, failure = generated(mark, question="q")
    assert row.item == {"question": "q", MARK: mark}
    assert row.sample_data == {"old": True}
    assert failure is None


def test_what_the_run_added_to_a_row_is_taken_out_again():
    mark = {
        "added": ["reward", "response"],
        "row": {"response": "the row's own"},
        "sample": {"output_text": "x"},
    }
    row, failure = generated(mark, question="q", reward=1, response={"output": []})
    assert row.item == {"question": "q", "response": "the row's own"}
    assert row.sample_data == {"output_text": "x"}
    assert (row.index, row.agent, row.task) == (3, "a", "t")
    assert failure is None


def test_a_mark_alone_holds_no_answer():
    row, _ = generated({}, question="q")
    assert row.item == {"question": "q"}
    assert row.sample_data == {}


def test_an_attempt_that_failed_is_scored_as_one():
    _, failure = generated({"failed": ["http-500", "the server failed"]})
    assert (failure.kind, failure.message) == ("http-500", "the server failed")


# -- what a task is known by -----------------------------------------------------------------


def test_a_row_of_a_data_set_is_known_by_its_question(chosen):
    loaded, *_ = chosen()
    row = {"id": "t", "question": "q", "reference": "r", "score": 1}
    assert content_of(loaded.spec, row) == {"question": "q", "reference": "r"}


def test_a_row_without_a_question_is_known_by_nothing(chosen):
    loaded, *_ = chosen()
    assert content_of(loaded.spec, {"id": "t", "score": 1}) is None


@pytest.mark.parametrize(
    "name",
    ["question", "query", "problem", "instruction", "user_input", "input", "reference"],
)
def test_a_question_may_have_any_of_the_usual_names(chosen, name):
    loaded, *_ = chosen()
    assert content_of(loaded.spec, {name: "q"}) == {name: "q"}


def test_the_file_may_say_what_a_task_is_known_by(chosen):
    fields = {"task": "id", "content": ["question", "a"]}
    loaded, *_ = chosen(dataset={"path": "data.jsonl", "fields": fields})
    assert content_of(loaded.spec, ROWS[2]) == ["2?", "x"]


ANSWERED = {
    "model": {"url": "http://127.0.0.1:1/v1", "name": "m"},
    "prompt_template": "{{ question }}",
}


def test_a_row_that_is_answered_is_known_by_all_of_it_but_its_ids(chosen):
    loaded, *_ = chosen(**ANSWERED)
    row = {"id": "t", "task_id": "t", "question": "q", "level": 3}
    assert content_of(loaded.spec, row) == {"question": "q", "level": 3}


def test_a_row_that_holds_no_answer_to_score_fails_no_template(chosen):
    failed = {MARK: {"failed": ["http-500", "words"]}, "id": "t9"}
    text = "".join(json.dumps(row) + "\n" for row in [*ROWS, failed])
    _, _, trials = chosen(text=text)
    total, failures = trials.counted(range(7))
    assert total == 6
    ((_, failure),) = failures.items()
    assert failure.rows == 6


def test_a_row_that_is_to_be_answered_is_tried_as_it_is_written(chosen):
    """The mark of an earlier run is a column of a question like others."""
    marked = {**ROWS[0], MARK: {"failed": ["http-500", "words"]}}
    _, _, trials = chosen(text=json.dumps(marked), **ANSWERED)
    total, _ = trials.counted(range(1))
    assert total == 1
