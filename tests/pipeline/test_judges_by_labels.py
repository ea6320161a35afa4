"""The gates on judges, the means that labels correct, and groups that may separate tasks."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs
from stages.making import FIELDS, benchmark

from pytest_evalmetrics import metrics, stats
from pytest_evalmetrics.model.reasons import Undefined
from pytest_evalmetrics.model.scores import JudgeCheck
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import judges, reducing
from pytest_evalmetrics.pipeline.judges import Judges
from pytest_evalmetrics.pipeline.power import power_of
from pytest_evalmetrics.pipeline.reducing import Hooks
from pytest_evalmetrics.pipeline.run_changes import _sentinel
from pytest_evalmetrics.pipeline.separators import _OUTCOMES, groups_of
from pytest_evalmetrics.spec import FieldMap

AGREED = JudgeCheck("kind", 20, 0, accuracy=0.9, kappa=0.7, quadratic_kappa=0.8)


def gated(folder, name, bound, check=AGREED):
    """Hold what a judge agrees with people against the threshold in the sixth line."""
    keys = f"metrics: [mean_reward]\nthresholds:\n  {name}/kind: '{bound}'"
    asked = benchmark(folder, keys)
    (threshold,) = asked.spec.thresholds.values()
    return Judges(asked, [])._gated(f"{name}/kind", threshold, check)


# -- gates on judges -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bound", "verdict", "value"),
    [
        ("judge_accuracy", ">= 0.9", Verdict.PASS, 0.9),
        ("judge_accuracy", ">= 0.95", Verdict.FAIL, 0.9),
        ("judge_kappa", ">= 0.7", Verdict.PASS, 0.7),
        ("judge_kappa", ">= 0.75", Verdict.FAIL, 0.7),
        ("judge_quadratic_kappa", ">= 0.75", Verdict.PASS, 0.8),
    ],
)
def test_a_judge_is_held_against_its_threshold(tmp_path, name, bound, verdict, value):
    check = gated(tmp_path, name, bound)
    assert check.verdict is verdict
    assert check.value == value
    assert check.gate is Gate.THRESHOLD
    assert check.agent == ""
    assert check.line == 6


def test_the_accuracy_of_a_judge_has_the_interval_of_its_rows(tmp_path):
    estimate = gated(tmp_path, "judge_accuracy", ">= 0.5").estimate
    low, high = stats.clopper_pearson(18, 20, 0.95)
    assert (estimate.interval.low, estimate.interval.high) == (low, high)
    assert estimate.interval.method == "clopper-pearson"
    assert estimate.reason == ""


def test_kappa_has_no_interval(tmp_path):
    estimate = gated(tmp_path, "judge_kappa", ">= 0.5").estimate
    assert estimate.interval is None
    assert estimate.reason == "none is computed for kappa"


def test_a_judge_whose_agreement_is_unknown_says_why(tmp_path):
    unknown = structs.replace(AGREED, kappa=None, reason="all labels are alike")
    check = gated(tmp_path, "judge_kappa", ">= 0.5", unknown)
    assert check.value is None
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.reasons == (
        Undefined("judge_kappa/kind", words="all labels are alike"),
    )


# -- means that labels correct ---------------------------------------------------------------


def reduced(monkeypatch, labels):
    """Reduce one agent, with stand-ins for its numbers and for the correction."""

    def corrected(*arguments, shown):
        return ("corrected", *arguments, shown), "a note"

    monkeypatch.setattr(metrics, "reduce_agent", lambda *_, **__: "result")
    monkeypatch.setattr(judges, "with_corrected_mean", corrected)
    work = SimpleNamespace(
        loaded=SimpleNamespace(plan="plan", benchmark=SimpleNamespace(spec="spec")),
        hooks=Hooks(),
        rows=SimpleNamespace(prepared=SimpleNamespace(labels=labels)),
    )
    agent = SimpleNamespace(agent="a", shown="A")
    completeness = SimpleNamespace(expected=np.ones(1))
    return reducing._reduce(agent, "table", completeness, work)


def test_the_mean_of_an_agent_is_corrected_by_labels_with_a_note(monkeypatch):
    assert reduced(monkeypatch, "labels") == (
        ("corrected", "result", "table", "spec", "labels", "A"),
        ["a note"],
    )


def test_without_labels_a_mean_stays(monkeypatch):
    assert reduced(monkeypatch, None) == ("result", [])


# -- rewards that may mean that nobody judged ------------------------------------------------


@pytest.mark.parametrize(("shown", "alone"), [("", True), ("a", False)])
def test_the_counterpart_of_a_lone_agent_may_have_another_name(shown, alone):
    asked = []

    def agent_for(name, *, alone):
        asked.append((name, alone))

    reference = SimpleNamespace(agent_for=agent_for, tables={})
    run = SimpleNamespace(result=SimpleNamespace(agent="a"), shown=shown)
    terms = SimpleNamespace(reference=reference)
    assert _sentinel(terms, SimpleNamespace(run=run)) is None
    assert asked == [("a", alone)]


# -- groups of tasks -------------------------------------------------------------------------

NO_FIELDS = FieldMap()


def fields_of(rows):
    groups = groups_of(rows, [""] * len(rows), NO_FIELDS, {"reward"})
    return {field for field, _ in groups}


@pytest.mark.parametrize("name", sorted(_OUTCOMES))
def test_what_a_row_says_of_its_own_outcome_separates_nothing(name):
    rows = [{name: "x" if at < 4 else "y", "level": "x"} for at in range(8)]
    rows[7]["level"] = "y"
    assert fields_of(rows) == {"level"}


def test_outcomes_are_known_by_these_names():
    assert {
        "verdict", "status", "result", "outcome", "grade", "label", "judgement",
        "prediction", "answer", "output", "response", "completion", "generation",
    } == _OUTCOMES  # fmt: skip


@pytest.mark.parametrize(("values", "found"), [(30, {"level"}), (31, set())])
def test_a_field_of_more_than_thirty_values_is_no_category(values, found):
    rows = [{"level": f"l{at % values}"} for at in range(values * 3)]
    assert fields_of(rows) == found


# -- plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("rollouts", "share"), [(4, 1), (10, 0.8)])
def test_single_tasks_take_a_fifth_of_the_level_where_one_could_fail(
    tmp_path, rollouts, share
):
    keys = f"num_samples: {rollouts}\nexpect: {{tasks: 500}}"
    asked = benchmark(
        tmp_path,
        f"metrics: [mean_reward]\nbaseline: {{rollouts: {{path: old.jsonl, "
        f"fields: {FIELDS}}}}}\n{keys}",
    )
    (power,) = power_of(asked, lambda: None)
    unit = stats.mde_factor(499, 0.01 * share)
    # the mean of p (1 - p) is a sixth
    assert power.mde == pytest.approx(unit * math.sqrt(2 / 6 / rollouts / 500))
