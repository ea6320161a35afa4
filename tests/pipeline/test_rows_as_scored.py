"""What scorers saw of rows, what measures them, and what is found without an answer."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs
from scoring.generation.running import Run
from stages.making import benchmark, load, write_rows

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.model.results import PowerError
from pytest_evalmetrics.pipeline.behaving import _tasks_of
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.judging import _at_worst
from pytest_evalmetrics.pipeline.measurement import measurement_of
from pytest_evalmetrics.pipeline.measuring import kept_rows_of
from pytest_evalmetrics.pipeline.power import power_of
from pytest_evalmetrics.pipeline.preflight import count_problems
from pytest_evalmetrics.pipeline.reducing import AgentRun
from pytest_evalmetrics.pipeline.scoring import Scoring
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

offer_scorers()
MATCH = {"type": "exact-match", "reference": "{{ item.answer }}", "candidate": "x"}
JUDGE = {
    "type": "llm-judge",
    "model": {"url": "http://127.0.0.1:1/v1", "name": "gpt"},
    "prompt_template": "{{ question }}",
    "scores": [{"name": "kind"}],
}
MODEL = {
    "model": {"url": "http://127.0.0.1:1/v1", "name": "m"},
    "prompt_template": "{{ question }}",
}


def of_data(folder, **keys):
    """Read a benchmark of a data set."""
    asked = {"name": "a", "dataset": "data.jsonl", "metrics": ["mean_reward"], **keys}
    file = folder / "a.bench.yaml"
    file.write_text(json.dumps({"benchmark": asked}))
    (read,) = load_benchmarks(file, shown=file.name)
    return read


# -- what the scorers saw --------------------------------------------------------------------


class Answers:
    """The answers of a run, by row, as they are kept."""

    def __init__(self, *answers):
        self._answers = answers

    def of(self, index):
        return json.dumps(self._answers[index])


@pytest.fixture
def seen(tmp_path):
    """Give the rows that scorers saw of a model's answers."""
    run = Run(tmp_path, "plan")

    def as_scored(*answers, wanted=None):
        rows = [{"id": f"t{at}", "question": f"{at}?"} for at in range(len(answers))]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "data.jsonl").write_text(text)
        asked = of_data(tmp_path, scorers=[MATCH], **MODEL)
        scoring = Scoring(asked, run, "a.bench.yaml::a")
        scoring.choose(plan_of(scoring.benchmark))
        scoring._board = SimpleNamespace(answers=Answers(*answers))
        return list(scoring.as_scored(wanted))

    yield as_scored
    run.transport().close()


def test_a_row_is_seen_with_its_answer(seen):
    answer = {
        "item": {"question": "q", "response": "r"},
        "sample": {"output_text": "r"},
    }
    ((row, failure),) = seen([answer])
    assert row.item == {"question": "q", "response": "r"}
    assert row.sample_data == {"output_text": "r"}
    assert failure is None


def test_a_row_that_was_never_answered_is_seen_as_it_was_asked(seen):
    ((row, failure),) = seen([])
    assert row.item == {"id": "t0", "question": "0?"}
    assert row.sample_data == {}
    assert failure is None


def test_a_row_whose_call_failed_is_seen_with_its_failure(seen):
    ((row, failure),) = seen([{"failed": ["http-500", "the server failed"]}])
    assert row.item == {"id": "t0", "question": "0?"}
    assert (failure.kind, failure.message) == ("http-500", "the server failed")


def test_rows_that_nobody_wants_are_not_seen(seen):
    rows = seen([], [], [], wanted={0, 2})
    assert [row.index for row, _ in rows] == [0, 2]


# -- what measures ---------------------------------------------------------------------------


def test_the_models_that_answer_a_judge_are_part_of_the_ruler_without_keys(tmp_path):
    read = of_data(tmp_path, scorers=[JUDGE])
    spending = SimpleNamespace(names={"gpt-s3cr3t"})
    model = SimpleNamespace(
        name="gpt", spending=spending, inference={}, system_prompt=None, end_token=None
    )
    judge = SimpleNamespace(model=model, versions={})
    bound = [SimpleNamespace(type="llm-judge", scores=("kind",), judges=(judge,))]
    ruler = measurement_of(
        read.spec,
        plan_of(read),
        bound,
        tools={},
        hook="",
        hide=lambda text: text.replace("s3cr3t", "***"),
    )
    assert ruler["answers of gpt"] == {"scores": ["kind"], "model": ["gpt-***"]}
    assert "type" not in ruler["scorer llm-judge"]


def test_a_function_that_scores_is_described_with_its_type(tmp_path):
    name = "json:dumps"
    read = of_data(tmp_path, scorers=[{"type": "python", "function": name}])
    bound = [SimpleNamespace(type="python", scores=("dumps",), judges=())]
    ruler = measurement_of(read.spec, plan_of(read), bound, tools={}, hook="", hide=str)
    assert ruler["scorer json:dumps"]["type"] == "python"


# -- what a check finds without an answer ----------------------------------------------------


def problems_of_counts(folder, expect, rewards, agents=("agent",)):
    for agent in agents:
        write_rows(folder, "new.jsonl", rewards, agent=agent)
    _, loaded = load(benchmark(folder, "metrics: [mean_reward]"))
    asked = benchmark(folder, f"metrics: [mean_reward]\nexpect: {expect}")
    return list(count_problems(asked, loaded.table, ()))


def test_tasks_that_a_table_lacks_are_found(tmp_path):
    (problem,) = problems_of_counts(tmp_path, "{tasks: 3}", [[1], [0]])
    assert problem.path.endswith("expect.tasks")
    assert problem.message == "1 of 3 tasks is missing: 2 were found"


def test_rollouts_that_a_table_lacks_are_found(tmp_path):
    (problem,) = problems_of_counts(tmp_path, "{rollouts: 2}", [[1, 0], [0]])
    assert problem.path.endswith("expect.rollouts")
    assert "t1" in problem.message


def test_of_several_agents_each_is_counted_by_its_name(tmp_path):
    problems = problems_of_counts(tmp_path, "{tasks: 3}", [[1], [0]], ("a", "b"))
    assert [problem.message[:3] for problem in problems] == ["a: ", "b: "]


def test_what_has_to_be_scored_first_has_no_rollouts_to_plan_by(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    asked = benchmark(
        tmp_path,
        "metrics: [mean_reward]\nbaseline: true\n"
        "scorers: [{type: exact-match, reference: '{{ a }}', candidate: '{{ b }}'}]",
    )
    (power,) = power_of(asked, lambda: None)
    assert power.unknown == PowerError(
        "it has to be scored first, and nothing is recorded of it yet"
    )


# -- tables ----------------------------------------------------------------------------------


def test_tasks_that_another_table_lacks_are_left_out(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0], [1]])
    _, loaded = load(benchmark(tmp_path, "metrics: [mean_reward]"))
    table = loaded.table
    other = structs.replace(table, tasks=("t1", "x", "t0"))
    assert _tasks_of(table, other).tasks == ("t0", "t1")


@pytest.mark.parametrize(
    ("bounded", "sign", "worst"),
    [(True, 1, 0), (True, -1, 1), (False, 1, -100), (False, -1, 100)],
)
def test_at_worst_each_reward_is_at_the_end_of_its_range_or_far_beyond(
    tmp_path, bounded, sign, worst
):
    write_rows(tmp_path, "new.jsonl", [[4], [None], [-5]])
    keys = "metrics: [mean_reward]\nexpect: {missing_reward: exclude}"
    _, loaded = load(benchmark(tmp_path, keys))
    expected = np.ones(3, np.int64)
    run = AgentRun(result=None, table=loaded.table, expected=expected)
    gated = SimpleNamespace(
        estimate=SimpleNamespace(score="reward"),
        compared=SimpleNamespace(
            pair=SimpleNamespace(bounded=bounded), rule=SimpleNamespace(sign=sign)
        ),
    )
    rewards = _at_worst(run, gated).table.scores["reward"]
    np.testing.assert_equal(rewards, [worst, np.nan, worst])


def test_the_texts_of_a_baseline_are_those_of_the_fields_of_its_file(tmp_path):
    keys = "metrics: [mean_reward]\nbaseline: {answers: true}"
    write_rows(tmp_path, "new.jsonl", [[1]], asked=["Why?"], said=["So."])
    text = benchmark(tmp_path, keys).file.read_text(encoding="utf-8")
    fields = "{task: task, sample: sample, agent: agent, prompt: asked, answer: said}"
    before = text.partition("fields: ")[2].partition("}")[0]
    (tmp_path / "b.bench.yaml").write_text(text.replace(f"{before}}}", fields))
    (asked,) = load_benchmarks(tmp_path / "b.bench.yaml", shown="b.bench.yaml")
    rows, loaded = load(asked)
    kept = kept_rows_of(loaded, rows, has_files=True)
    (line,) = gzip.decompress(kept.data).splitlines()
    assert json.loads(line)["item"] == {"prompt": "Why?", "response": "So."}


def test_a_reference_model_is_part_of_the_ruler_without_keys(tmp_path):
    fixed = {"model": {"url": "http://127.0.0.1:1/v1", "name": "fixed-s3cr3t"}}
    keys = {"reference": fixed, "metrics": ["mean_reward/over_reference"], **MODEL}
    read = of_data(tmp_path, scorers=[MATCH], **keys)
    ruler = measurement_of(
        read.spec,
        plan_of(read),
        [SimpleNamespace(type="exact-match", scores=("exact_match",), judges=())],
        tools={},
        hook="",
        hide=lambda text: text.replace("s3cr3t", "***"),
    )
    assert ruler["tool reference"]["name"] == "fixed-***"
    assert ruler["tool reference"]["scores"] == ["reference", "over_reference"]
