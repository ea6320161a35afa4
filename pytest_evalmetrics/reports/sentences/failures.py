"""What kept a benchmark from being judged, or its baseline from being recorded."""

from __future__ import annotations

from functools import singledispatch

from pytest_evalmetrics.model.history import (
    HistoryRun,
    LevelShift,
    MetricDrift,
    Ratchet,
    RunMark,
)
from pytest_evalmetrics.model.reasons import (
    DriftedMetric,
    Failed,
    HookFailed,
    InvalidKey,
    NotRecorded,
    XfailPassed,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence, text_of
from pytest_evalmetrics.reports.sentences.phrases import about, remarked, rose_or_fell


@sentence.register(Failed)
def failed(reason: Failed) -> str:
    """Give the error's words."""
    return about(reason.place, reason.words)


@sentence.register(InvalidKey)
def invalid_key(reason: InvalidKey) -> str:
    """Name the key."""
    return f"{reason.path}: {reason.words}"


@sentence.register(HookFailed)
def hook_failed(reason: HookFailed) -> str:
    """Name the hook, and where it raised."""
    return about(reason.place, f"the hook {reason.hook} failed: {reason.error}")


@sentence.register(XfailPassed)
def xfail_passed(_reason: XfailPassed) -> str:
    """Say what to do with the mark."""
    return "it passes, and is marked xfail (strict): remove the mark"


# -- drift -----------------------------------------------------------------------------------


@sentence.register(DriftedMetric)
def drifted_metric(reason: DriftedMetric) -> str:
    """Say how the metric drifts."""
    return drift_sentence(reason.drift)


@singledispatch
def drift_sentence(drift: MetricDrift) -> str:
    """Say how a metric drifts over the runs of a history."""
    raise TypeError(f"there is no sentence for {type(drift).__name__}")


@drift_sentence.register(LevelShift)
def level_shift(drift: LevelShift) -> str:
    """Give both levels, and when it began."""
    went = rose_or_fell(drift.before, drift.after)
    before = f"{drift.before:.4g} (the mean of {drift.runs_before} runs)"
    after = f"{drift.after:.4g} (of the last {drift.runs_after})"
    began = f"it began between {_mark(drift.first)} and {_mark(drift.last)}"
    text = f"{_metric(drift)} {went} from {before} to {after}: {began}"
    if drift.is_sure:
        return text
    return f"{text}; runs that resemble their predecessors could also do that"


def attempt_sentence(benchmark: str, failed: HistoryRun) -> str:
    """Say that the same commit failed before, with other rollouts."""
    return (
        f"{benchmark}: the same commit failed on {failed.time[:10]} against the same "
        "baseline, with other rollouts: to run until it passes makes the gate weaker; "
        "`baseline: {confirm: true}` draws one more round by a fixed rule instead"
    )


@drift_sentence.register(Ratchet)
def ratchet(drift: Ratchet) -> str:
    """Compare with the first baseline, and name the accepted changes."""
    first = f"in the first baseline, of {_mark(drift.first)}"
    values = f"is {drift.after:.4g}, and was {drift.before:.4g} {first}"
    reasons = "; ".join(drift.reasons) or "none with a reason"
    changes = f"{drift.accepted} changes have been accepted since"
    return f"{_metric(drift)} {values}: {changes} ({reasons})"


def _metric(drift: MetricDrift) -> str:
    metric = about(drift.agent, drift.metric)
    return f"{drift.benchmark}: {metric}"


def _mark(run: RunMark) -> str:
    commit = run.commit or ""
    return remarked(run.time[:10], commit[:7])


# -- baselines that are not recorded ---------------------------------------------------------


@sentence.register(NotRecorded)
def not_recorded(reason: NotRecorded) -> str:
    """Say why no baseline was written."""
    if reason.cause == "incomplete":
        return _incomplete(reason)
    if reason.cause == "drops_tasks":
        dropped = "; ".join(_dropped(reason))
        return f"no baseline was recorded, because it would drop tasks: {dropped}"
    if reason.cause == "not_added":
        return f"this run was not added to the baseline: {reason.words}"
    if reason.cause == "not_as_reported":
        return f"no baseline was recorded, because the rollouts changed: {reason.words}"
    return f"{reason.file}: this baseline can't be written: {reason.words}"


def _incomplete(reason: NotRecorded) -> str:
    text = "no baseline was recorded, because this evaluation is not complete"
    because = [text_of(part, None) for part in reason.because]
    words = "; ".join(because) or reason.words
    if not words:
        return text
    return f"{text}: {words}"


def _dropped(reason: NotRecorded) -> list[str]:
    dropped = [about(agent, sentence(changes)) for agent, changes in reason.dropped]
    lost = [f"this run has no agent {agent!r}" for agent in reason.lost_agents]
    return dropped + lost
