"""The way out of a check that does not hold."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.reasons import MissingOutcome
from pytest_evalmetrics.model.verdicts import Acceptance, Verdict
from pytest_evalmetrics.reports.sentences.references import exceeds_rate

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import Check

_START = "`pytest --evalmetrics-update --evalmetrics-history FILE`"
_RECORD = "record a new baseline with `pytest --evalmetrics-update`"
_MORE = "record more rollouts of each task, or more tasks, on both sides"
_COMPLETE = "complete the run; or, if the change is intended, "
_GO_ON = "run again, and paid answers come from the journal; or raise the budget"
_LIMIT_OTHERWISE = (
    "limit the requests or the seconds instead, or let the endpoint give its usage"
)

# -- by what the run is compared with --------------------------------------------------------

_ACCEPT = {
    Acceptance.OTHER_RUN: "compare with a newer run",
    Acceptance.REPORT: "accept its level in evalmetrics-accepted.yaml",
    Acceptance.HISTORY: f"accept it with {_START}: from that run on the history counts anew",
}
_ACCEPT_TASKS = {
    Acceptance.OTHER_RUN: "compare with a run of the same tasks",
    Acceptance.REPORT: "compare with a run of the same tasks",
    Acceptance.HISTORY: _ACCEPT[Acceptance.HISTORY],
}
_RENEW = {
    Acceptance.OTHER_RUN: "compare with a run that holds it",
    Acceptance.REPORT: "compare with a run that holds it",
    Acceptance.HISTORY: f"accept it with {_START}",
}


def accepting(acceptance: Acceptance | None) -> str:
    """Say how an intended change is accepted."""
    return _ACCEPT.get(
        acceptance or Acceptance.SNAPSHOT,
        "accept it with `pytest --evalmetrics-update`",
    )


def accepting_tasks(acceptance: Acceptance | None) -> str:
    """Say how another task list is accepted."""
    record = "record it with `pytest --evalmetrics-update --evalmetrics-accept-tasks`"
    return _ACCEPT_TASKS.get(acceptance or Acceptance.SNAPSHOT, record)


def renewing(acceptance: Acceptance | None) -> str:
    """Say how a reference is replaced that can't be compared with."""
    return _RENEW.get(acceptance or Acceptance.SNAPSHOT, _RECORD)


def fixing(check: Check) -> str:
    """Give the way out of a regression."""
    accept = accepting(check.acceptance)
    return f"fix the regression; or, if the change is intended, {accept}"


# -- by the reason ---------------------------------------------------------------------------

_FIXED: dict[type, str] = {
    kinds.MissingTasks: (
        "complete the run; or, where the benchmark has shrunk, set expect.tasks"
    ),
    kinds.TooManyRollouts: (
        "look for another run's rollouts in the files; or set num_samples"
    ),
    kinds.MissingNumbers: (
        "complete the run; or say how many may lack it: expect: {max_missing: 2%}"
    ),
    kinds.UnansweredReplay: "run once without replay",
    kinds.NoInterval: "drop `bound:`, or gate a metric that has an interval",
    kinds.ManyMissing: "complete the run: score what has no reward",
    kinds.MissingDecide: "complete the run: score what has no reward",
    kinds.LostWhereItFails: (
        "complete the run: find out why these rollouts or tasks are missing"
    ),
    kinds.NotShown: _MORE,
    kinds.LowPower: _MORE,
    kinds.BrokenTasks: (
        "fix them; or, if the change is intended, accept it with `pytest --evalmetrics-update`"
    ),
    kinds.UncomparableTasks: _RECORD,
    kinds.MaxBrokenTooLarge: "choose a smaller max_broken",
    kinds.UnknownTask: "name a task of the benchmark, or complete the run",
    kinds.Quarantined: (
        "fix the task and delete its entry of quarantine:, or give it another day"
    ),
    kinds.MustPassFailed: "fix what broke them",
    kinds.InvalidKey: ("fix it and run again: nothing was asked, and nothing paid for"),
    kinds.HookFailed: "fix it in the conftest.py or the plugin that defines it",
    kinds.DriftedMetric: (
        "find what changed in that range; or accept it with `pytest --evalmetrics-update`"
    ),
}


@singledispatch
def way_out(reason: object, check: Check) -> str:  # noqa: ARG001
    """Give the way out of a reason for which a check does not hold; empty if none."""
    return _FIXED.get(type(reason), "")


@way_out.register(kinds.ExtraTasks)
def _extra_tasks(reason: kinds.ExtraTasks, _check: Check) -> str:
    grown = f"if the benchmark has grown, write expect: {{tasks: {reason.found}}}"
    return f"look for another run's rollouts in the files; or, {grown}"


@way_out.register(kinds.BehaviourMoved)
@way_out.register(kinds.OrderChanged)
def _behaviour_changed(_reason: object, check: Check) -> str:
    accept = accepting(check.acceptance)
    return f"restore what the agent did; or, if the change is intended, {accept}"


@way_out.register(kinds.RuleBroken)
def _rule_broken(_reason: kinds.RuleBroken, _check: Check) -> str:
    return "fix the agent; or say how many rollouts may: behaviour: {allow: 1%}"


@way_out.register(kinds.NoBehaviour)
def _no_behaviour(reason: kinds.NoBehaviour, check: Check) -> str:
    if reason.in_baseline:
        return renewing(check.acceptance)
    return "record rollouts with their messages; see the documentation of behaviour"


@way_out.register(kinds.TooFewRollouts)
def _too_few_rollouts(reason: kinds.TooFewRollouts, _check: Check) -> str:
    if reason.is_allowed:
        return ""
    allow = "expect: {max_missing: 2%}, or expect: {rollouts: any}"
    return f"complete the run; or allow it: {allow}"


@way_out.register(kinds.MissingRewards)
def _missing_rewards(reason: kinds.MissingRewards, _check: Check) -> str:
    if reason.outcome is MissingOutcome.REFUSED:
        means = "expect: {missing_reward: exclude}, or {missing_reward: 0.0}"
        return f"complete the run; or say what such a rollout means: {means}"
    if reason.outcome is MissingOutcome.ABOVE_LIMIT:
        return "complete the run; or set expect: {max_missing: ...}"
    return ""


@way_out.register(kinds.MissingSamples)
def _missing_samples(reason: kinds.MissingSamples, _check: Check) -> str:
    if reason.is_allowed:
        return ""
    share = math.ceil(100 * (1 - reason.samples / reason.of))
    allow = f"allow it: expect: {{max_missing: {share}%}}"
    return f"run it without --limit; or, where this part is meant, {allow}"


@way_out.register(kinds.BudgetUsedUp)
def _budget_used_up(reason: kinds.BudgetUsedUp, _check: Check) -> str:
    way = _GO_ON
    if reason.uncounted:
        way = _LIMIT_OTHERWISE
    if not reason.rest:
        return way
    return f"{way}; the rest takes about {reason.rest}"


@way_out.register(kinds.NoBaseline)
def _no_baseline(reason: kinds.NoBaseline, _check: Check) -> str:
    if reason.is_history:
        return f"start with it: {_START}"
    text = "record one with `pytest --evalmetrics-update` and commit it"
    if reason.renamed_from:
        text += (
            f"; or name it {reason.renamed_from} as before, whose baseline is unused"
        )
    return text


@way_out.register(kinds.UnknownAgent)
def _unknown_agent(_reason: kinds.UnknownAgent, check: Check) -> str:
    return f"name the agent as before, or {renewing(check.acceptance)}"


@way_out.register(kinds.LostAgent)
def _lost_agent(_reason: kinds.LostAgent, check: Check) -> str:
    return f"complete the run, or {renewing(check.acceptance)}"


@way_out.register(kinds.MeasurementChanged)
def _measurement_changed(reason: kinds.MeasurementChanged, check: Check) -> str:
    renew = renewing(check.acceptance)
    if all(change.by_tool for change in reason.changes):
        return f"{renew}, or score today's run as the baseline's was"
    if check.acceptance is Acceptance.SNAPSHOT:
        rescore = "with `baseline: {rescore: true}` its rows are kept"
        return f"{renew}; {rescore}, and scored again then"
    return renew


@way_out.register(kinds.Attributed)
def _attributed(reason: kinds.Attributed, check: Check) -> str:
    if reason.moved is kinds.MovedBy.JUDGE:
        return f"pin the judge's version, or {renewing(check.acceptance)}"
    if reason.moved is kinds.MovedBy.UNCLEAR:
        return "add anchors"
    return ""


@way_out.register(kinds.UnknownDirection)
def _unknown_direction(reason: kinds.UnknownDirection, _check: Check) -> str:
    way = "higher"
    otherwise = "lower where less is better"
    if reason.declared_lower:
        way = "lower"
        otherwise = "higher if more of it is"
    key = f'`baseline: {{metrics: {{"{reason.metric}": {{direction: {way}}}}}}}`'
    return f"write {key}, or {otherwise}"


@way_out.register(kinds.NotComparable)
def _not_comparable(reason: kinds.NotComparable, check: Check) -> str:
    return reason.hint or renewing(check.acceptance)


@way_out.register(kinds.UnequalSums)
def _unequal_sums(reason: kinds.UnequalSums, check: Check) -> str:
    return f"gate mean/{reason.score}, or {renewing(check.acceptance)}"


@way_out.register(kinds.NothingCanFail)
def _nothing_can_fail(_reason: kinds.NothingCanFail, _check: Check) -> str:
    return (
        "add tasks, or record more rollouts of each (`num_samples`); or gate it without "
        "a test: `baseline: {rule: absolute, max_drop: ...}`, `must_pass`, or "
        "`thresholds`"
    )


@way_out.register(kinds.CannotFail)
def _cannot_fail(reason: kinds.CannotFail, _check: Check) -> str:
    if exceeds_rate(reason):
        return f"choose a {reason.key} below 1"
    return f"choose a {reason.key} below {reason.largest:.4g}"


@way_out.register(kinds.TaskListChanged)
def _task_list_changed(_reason: kinds.TaskListChanged, check: Check) -> str:
    return _completing_tasks(check.acceptance)


def _completing_tasks(acceptance: Acceptance | None) -> str:
    accept = accepting_tasks(acceptance)
    return f"run all tasks of the baseline; or, if the change is intended, {accept}"


@way_out.register(kinds.NothingInCommon)
def _nothing_in_common(reason: kinds.NothingInCommon, check: Check) -> str:
    if reason.excluded:
        return f"{_COMPLETE}{accepting(check.acceptance)}"
    return _completing_tasks(check.acceptance)


@way_out.register(kinds.LowCoverage)
def _low_coverage(reason: kinds.LowCoverage, check: Check) -> str:
    if reason.removed_count:
        return _completing_tasks(check.acceptance)
    return f"{_COMPLETE}{accepting(check.acceptance)}"


@way_out.register(kinds.NoValue)
def _no_value(reason: kinds.NoValue, check: Check) -> str:
    if reason.words:  # of a history that begins
        return f"start with it: {_START}"
    return f"{_COMPLETE}{accepting(check.acceptance)}"


@way_out.register(kinds.Untested)
def _untested(_reason: kinds.Untested, check: Check) -> str:
    drop = "..."
    if isinstance(check.bound, RuleBound) and check.bound.settings.max_drop:
        drop = f"{check.bound.settings.max_drop:g}"
    rule = f"{{rule: absolute, max_drop: {drop}}}"
    needs_none = "give it a rule that needs no test, below `baseline: metrics:`"
    return f"{needs_none}, such as {rule}"


@way_out.register(kinds.BlindGate)
def _blind_gate(_reason: kinds.BlindGate, check: Check) -> str:
    surer = "to be sure add tasks, or record more rollouts of each on both sides"
    intended = f"if the change is intended, {accepting(check.acceptance)}"
    return f"look at the tasks; {surer}; {intended}"


@way_out.register(kinds.Confirmation)
def _confirmation(_reason: kinds.Confirmation, check: Check) -> str:
    return fixing(check)


@way_out.register(kinds.UnknownRunNoise)
def _unknown_run_noise(_reason: kinds.UnknownRunNoise, check: Check) -> str:
    return fixing(check)


@way_out.register(kinds.SharedLevel)
def _shared_level(_reason: kinds.SharedLevel, check: Check) -> str:
    intended = f"if the change is intended, {accepting(check.acceptance)}"
    return f"look at the tasks; {intended}"


@way_out.register(kinds.WorseSlices)
def _worse_slices(_reason: kinds.WorseSlices, check: Check) -> str:
    accept = accepting(check.acceptance)
    return f"fix these slices; or, if the change is intended, {accept}"


@way_out.register(kinds.WorseTasks)
def _worse_tasks(_reason: kinds.WorseTasks, check: Check) -> str:
    accept = accepting(check.acceptance)
    return f"fix these tasks; or, if the change is intended, {accept}"


@way_out.register(kinds.OwnRule)
def _own_rule(_reason: kinds.OwnRule, check: Check) -> str:
    if check.verdict is Verdict.FAIL:
        return fixing(check)
    return _MORE


@way_out.register(kinds.ValueChanged)
def _value_changed(_reason: kinds.ValueChanged, check: Check) -> str:
    return fixing(check)


@way_out.register(kinds.Failed)
def _failed(reason: kinds.Failed, _check: Check) -> str:
    return reason.hint


def _completing(reason: kinds.NotRecorded) -> str:
    """Say how an evaluation becomes complete."""
    for why in reason.because:
        if isinstance(why, kinds.ExtraTasks):
            grown = f"if the benchmark has grown, write expect: {{tasks: {why.found}}}"
            return f"{grown}, and record it then"
    return "complete the run first; or say in `expect:` what is missing on purpose"


@way_out.register(kinds.NotRecorded)
def _not_recorded(reason: kinds.NotRecorded, _check: Check) -> str:
    ways = {
        "incomplete": _completing(reason),
        "drops_tasks": (
            "run all tasks; or, if the change is intended, "
            "add --evalmetrics-accept-tasks"
        ),
        "not_added": "drop --evalmetrics-add-run to record it in place of those runs",
        "not_as_reported": "run pytest again, look at its report, and accept that",
        "not_written": (
            "give the right or the room to write there; what was there is as it was"
        ),
    }
    return ways[reason.cause]
