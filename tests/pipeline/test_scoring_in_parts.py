"""Parts of scoring and loading, each with stand-ins for the others."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs
from stages.making import against, benchmark, given, load, write_rows

from pytest_evalmetrics.errors import DataError, RowError, ShapeError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.notes import OfReference
from pytest_evalmetrics.model.reasons import NothingCanFail
from pytest_evalmetrics.model.results import PowerSource
from pytest_evalmetrics.model.rollout_table import Row, TaskRewards
from pytest_evalmetrics.model.scores import ScorerFailures
from pytest_evalmetrics.model.scoring_notes import UnscoredRows
from pytest_evalmetrics.model.verdicts import Acceptance, Verdict
from pytest_evalmetrics.pipeline import (
    benchmark_rows,
    judges,
    judging,
    loading,
    reducing,
)
from pytest_evalmetrics.pipeline import scoring as scoring_stage
from pytest_evalmetrics.pipeline.power import power_of_tables
from pytest_evalmetrics.pipeline.scoring import Scoring
from pytest_evalmetrics.pipeline.seen_rows import SeenRows

FAILED = ScorerFailures(
    "judge", ("kind",), 3, {"http-500": 2, "no-score": 1}, (), rows=9
)


@pytest.fixture
def table(tmp_path):
    """A table of two tasks."""
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    return load(benchmark(tmp_path, "metrics: [mean_reward]"))[1].table


# -- scorers and rows ------------------------------------------------------------------------


class Board:
    """Keeps the rows that lack scores."""

    def __init__(self):
        self.lacking = []

    def lacks(self, row, scores, failure, message):
        self.lacking.append((row, scores, failure, message))


def test_each_row_is_a_job_of_each_scorer_unless_its_answer_failed():
    board = Board()
    scorers = [SimpleNamespace(scores=("a",)), SimpleNamespace(scores=("b", "c"))]
    whole = Row(0, "", "t", 0, {})
    failed = Row(1, "", "t", 1, {})
    failure = RowError("http-500", "the server failed")
    jobs = list(scoring_stage._jobs(board, [(whole, None), (failed, failure)], scorers))
    assert jobs == [(whole, scorers[0]), (whole, scorers[1])]
    assert board.lacking == [
        (failed, ("a",), failure, "the server failed"),
        (failed, ("b", "c"), failure, "the server failed"),
    ]
    assert scoring_stage._names_of(scorers) == ("a", "b", "c")


@pytest.mark.parametrize("of_baseline", [False, True])
def test_each_kind_of_failure_is_noted_with_an_example(of_baseline):
    failures = structs.replace(
        FAILED, examples={"http-500": "data.jsonl:3", "no-score": "data.jsonl:7"}
    )
    notes = scoring_stage._notes_of_failures([failures], of_baseline=of_baseline)
    assert list(notes) == [
        UnscoredRows(
            scores=("kind",),
            kind="http-500",
            count=2,
            rows=9,
            example="data.jsonl:3",
            of_baseline=of_baseline,
        ),
        UnscoredRows(
            scores=("kind",),
            kind="no-score",
            count=1,
            rows=9,
            example="data.jsonl:7",
            of_baseline=of_baseline,
        ),
    ]


# -- scores of a baseline's rows -------------------------------------------------------------


def test_the_rows_of_a_baseline_are_scored_anew_table_by_table(monkeypatch, table):
    whole = structs.replace(table, integers=frozenset({"kind", "reward"}))
    places = {"a": np.array([2, 0]), "b": np.array([1, 1])}

    def kept_rows(*arguments):
        assert arguments == (b"rows", {"count": 3}, {"a": whole, "b": whole})
        return "rows", places

    monkeypatch.setattr(benchmark_rows, "kept_rows", kept_rows)
    board = SimpleNamespace(
        columns={"kind": np.array([5.0, 6.0, 7.0])}, failures=lambda _: []
    )
    stage = SimpleNamespace(
        scorers="scorers",
        _score_others=lambda *arguments: asked.append(arguments) or board,
    )
    asked = []
    scored, notes = Scoring.rescored(
        stage, b"rows", {"count": 3}, {"a": whole, "b": whole}
    )
    assert asked == [("rows", "scorers")]
    assert scored["a"].scores["kind"].tolist() == [7, 5]
    assert scored["b"].scores["kind"].tolist() == [6, 6]
    assert scored["a"].scores["reward"] is whole.scores["reward"]
    assert scored["a"].integers == {"reward"}
    assert notes == []


# -- anchors ---------------------------------------------------------------------------------


def anchored(requests, memory):
    """Score the anchors of a benchmark; return whether they are asked anew."""
    asked = []
    stage = SimpleNamespace(
        _transport=lambda: SimpleNamespace(memory=memory),
        _usage=lambda: SimpleNamespace(requests=requests),
        _label="a.bench.yaml::a",
        _score_others=lambda rows, bound, anew: asked.append((rows, bound, anew)),
    )
    Scoring._score_anchors(stage, "rows", "bound")
    ((rows, bound, anew),) = asked
    assert (rows, bound) == ("rows", "bound")
    return anew


def test_anchors_are_asked_anew_once_by_a_judge_that_was_asked_today():
    memory = {}
    assert anchored(1, memory)
    assert memory == {("anchors", "a.bench.yaml::a"): True}
    assert not anchored(1, memory)


def test_anchors_of_a_judge_that_was_not_asked_come_from_the_journal():
    memory = {}
    assert not anchored(0, memory)
    assert memory == {}


# -- where rows can't be read ----------------------------------------------------------------


def located(folder, error):
    asked = benchmark(folder, "metrics: [mean_reward]")
    with pytest.raises(type(error)), loading._located_errors(asked):
        raise error
    return error.line


def test_rows_that_can_t_be_read_are_located_where_they_are_named(tmp_path):
    assert located(tmp_path, DataError("broken")) == 3


def test_an_error_with_a_place_of_its_own_keeps_it(tmp_path):
    assert located(tmp_path, DataError("broken", file="runs.jsonl")) is None
    assert located(tmp_path, DataError("broken", line=7)) == 7


def test_an_error_of_a_key_is_located_at_it(tmp_path):
    assert located(tmp_path, ShapeError("no row has it", key=("fields", "task"))) == 3


# -- the pinned system -----------------------------------------------------------------------


def referred(monkeypatch, table, *, rollouts, pinned):
    """Add the rewards of a pinned system; return what is loaded."""
    monkeypatch.setattr(judges, "pinned_benchmark", lambda _: pinned)
    monkeypatch.setattr(
        judges, "with_reference", lambda *arguments: ("with", *arguments[1:])
    )
    reference = SimpleNamespace(rollouts=rollouts)
    asked = SimpleNamespace(spec=SimpleNamespace(reference=reference))
    loaded = loading.Loaded(asked, "plan", table, notes=("before",))
    scored = SimpleNamespace(notes=("slow",), table="scored")

    def make_scoring(of):
        assert of == pinned
        return SimpleNamespace(run=lambda plan: scored if plan == "plan" else None)

    found = loading._with_reference(loaded, make_scoring)
    assert found.table[:3] == ("with", table, reference)
    return found.table[3], found.notes


def test_a_pinned_model_is_asked_and_its_notes_are_kept(monkeypatch, table):
    assert referred(monkeypatch, table, rollouts=None, pinned="pinned") == (
        "scored",
        ("before", OfReference("slow")),
    )


@pytest.mark.parametrize(
    ("rollouts", "pinned"), [("old.jsonl", "pinned"), (None, None)]
)
def test_a_reference_that_is_recorded_is_not_asked(
    monkeypatch, table, rollouts, pinned
):
    found = referred(monkeypatch, table, rollouts=rollouts, pinned=pinned)
    assert found == (None, ("before",))


# -- calls for an answer ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unanswered", "calls"),
    [
        # of ten rows six are answered: 20 calls and 2 failures, of which 10 ask for answers
        (4, (20 + 2 - 10) / 6),
        # nothing is answered: two judges, three times, and a scorer that asks once
        (10, 2 * 3 + 1),
    ],
)
def test_calls_for_an_answer_are_those_so_far_or_those_of_its_judges(unanswered, calls):
    stage = SimpleNamespace(
        scorers=[
            SimpleNamespace(judges=("one", "two"), repeats=3),
            SimpleNamespace(judges=(), repeats=1),
        ]
    )
    board = SimpleNamespace(rows=range(10))
    usage = SimpleNamespace(calls=20, failed=2)
    assert Scoring._calls_of_an_answer(stage, board, usage, unanswered) == calls


# -- gates that nothing can fail -------------------------------------------------------------


def test_a_gate_that_nothing_can_fail_says_how_little_there_is(tmp_path):
    keys = f"metrics: [mean_reward]\n{against()}"
    pair = SimpleNamespace(
        name="mean_reward",
        tasks=("a", "b"),
        rewards_baseline=TaskRewards.from_lists([[1], [1, 1, 1]]),
    )
    rule = SimpleNamespace(alpha=0.01)
    gated = SimpleNamespace(compared=SimpleNamespace(pair=pair, rule=rule))
    check = judging._nothing_can_fail(benchmark(tmp_path, keys), gated)
    assert check.reasons == (
        NothingCanFail(metric="mean_reward", tasks=2, rollouts=3, alpha=0.01),
    )
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.acceptance is Acceptance.OTHER_RUN
    assert check.name == "baseline"
    assert check.line == 5


# -- numbers that are not defined ------------------------------------------------------------


def test_numbers_that_are_not_defined_are_left_out_of_a_result(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    result = evaluate(given(benchmark(tmp_path, "metrics: [mean_reward]"))).result
    (agent,) = result.agents
    undefined = structs.replace(agent.estimates["mean_reward"], value=math.nan)
    both = {"mean_reward": agent.estimates["mean_reward"], "own": undefined}
    kept = reducing._with_defined(structs.replace(agent, estimates=both))
    assert list(kept.estimates) == ["mean_reward"]


# -- rows that go by -------------------------------------------------------------------------


class Trials:
    """Keeps the rows that templates are filled in with."""

    texts = ("{{ sample.a }}",)

    def __init__(self):
        self.rows = []

    def fill_in(self, number, row):
        self.rows.append((number, row.where, row.sample_data))

    def leave_out(self, number):
        self.rows.append(number)


@pytest.mark.parametrize(("dataset", "sample"), [(None, {"a": 1}), ("data.jsonl", {})])
def test_a_recorded_row_is_its_own_answer_and_one_of_a_data_set_has_none(
    dataset, sample
):
    trials = Trials()
    spec = SimpleNamespace(dataset=dataset, answers=None)
    seen = SeenRows(spec, hashes=False, trials=trials)
    chunk = SimpleNamespace(places=np.array([3, 4]), records=[{"a": 1}, {"a": 1}])
    seen.visit(SimpleNamespace(at=lambda place: f"runs.jsonl:{place}"), chunk)
    assert trials.rows == [(0, "runs.jsonl:3", sample), (1, "runs.jsonl:4", sample)]


def test_a_plan_that_can_t_be_made_states_no_drop(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [0, 0]])
    _, loaded = load(benchmark(tmp_path, "metrics: [mean_reward]"))
    keys = "metrics: [mean/tokens]\nbaseline: {direction: lower, rollouts: old.jsonl}"
    (power,) = power_of_tables(benchmark(tmp_path, keys), {"a": loaded.table})
    assert (power.agent, power.metric) == ("a", "mean/tokens")
    assert (power.tasks, power.rollouts) == (2, 2)
    assert math.isnan(power.mde)
    assert power.max_drop == 0
    assert power.needed is None
    assert power.source is PowerSource.BASELINE
