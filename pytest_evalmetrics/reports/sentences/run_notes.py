"""Notes on how a run went: its rounds, the history, names that stand for another thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.model.run_notes import (
    AllAtOnce,
    BrokenHistoryLine,
    FurtherBrokenLines,
    HistoryStartsAnew,
    NotRecordedXfail,
    OtherHistorySchema,
    ReplacedBuiltin,
    ReplacedName,
    RunsNotCompared,
    SecondRoundFailed,
    StoppedAtLastLook,
    StoppedEarly,
    TaskGroupsApart,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import StopForecast

# -- rounds ----------------------------------------------------------------------------------


@sentence.register(StoppedEarly)
def stopped_early(note: StoppedEarly) -> str:
    """Give the look, and what the stop saved."""
    rollouts = many(note.rollouts * note.tasks, "rollout")
    most = note.most * note.tasks
    saved = 100 * (1 - note.rollouts / note.most)
    return (
        f"num_samples: stopped early, at look {note.look} of {note.looks}: "
        f"{rollouts} in place of {most}, {saved:.3g} % saved"
    )


@sentence.register(StoppedAtLastLook)
def stopped_at_last_look(note: StoppedAtLastLook) -> str:
    """Give the number of looks."""
    last = f"the last look, look {note.looks} of {note.looks}"
    return f"num_samples: stopped at {last}: no gate was sure before"


@sentence.register(AllAtOnce)
def all_at_once(note: AllAtOnce) -> str:
    """Say why there are no rounds."""
    text = (
        "num_samples: all, because without the journal every round would pay again for "
        "those before"
    )
    if not note.forgets:
        return text
    return f"{text}; it keeps a target's answers only if the target has a version"


@sentence.register(SecondRoundFailed)
def second_round_failed(note: SecondRoundFailed) -> str:
    """Give the words of the error."""
    failed = "the second round failed, and the first decides"
    return f"confirm: {failed}: {note.words}"


def stop_forecast_text(forecast: StopForecast) -> str:
    """Say after how many rollouts a run is expected to stop."""
    return (
        f"stops early, for one gate: after about {forecast.unchanged:.1f} of "
        f"{forecast.most} rollouts of each task if nothing changed, "
        f"{forecast.dropped:.1f} at a drop seen with 80 % power"
    )


# -- baselines and the history ---------------------------------------------------------------


@sentence.register(NotRecordedXfail)
def not_recorded_xfail(note: NotRecordedXfail) -> str:  # noqa: ARG001
    """Say why the baseline stays."""
    return "its baseline is as it was: what is known to fail (xfail) is not recorded"


@sentence.register(BrokenHistoryLine)
def broken_history_line(note: BrokenHistoryLine) -> str:
    """Give the line and the words of the error."""
    problem = f"this is not a run: {note.words}"
    return f"history: {note.place}: {problem}; the line is left out"


@sentence.register(OtherHistorySchema)
def other_history_schema(note: OtherHistorySchema) -> str:
    """Give both versions."""
    version = f"the schema version {note.version}"
    problem = f"this run has {version}, and {note.known} is known"
    return f"history: {note.place}: {problem}; the line is left out"


@sentence.register(FurtherBrokenLines)
def further_broken_lines(note: FurtherBrokenLines) -> str:
    """Count the lines."""
    return f"history: and {note.lines} more broken lines"


@sentence.register(RunsNotCompared)
def runs_not_compared(note: RunsNotCompared) -> str:
    """Count the runs, and say why the last of them does not fit."""
    runs = of_many(note.left_out, note.runs, "run", "is")
    return f"history: {runs} not compared with: {note.words}"


@sentence.register(HistoryStartsAnew)
def history_starts_anew(note: HistoryStartsAnew) -> str:  # noqa: ARG001
    """Say what the change means for the history."""
    return "accepted: from this run on its history counts anew"


# -- names and artifacts ---------------------------------------------------------------------


@sentence.register(ReplacedName)
def replaced_name(note: ReplacedName) -> str:
    """Give both places."""
    replaced = f"that of {note.replaced}" if note.replaced else "the built-in one"
    name = f"the {note.kind} {note.name!r}"
    return f"{name} is the one of {note.place}, which replaces {replaced}"


@sentence.register(ReplacedBuiltin)
def replaced_builtin(note: ReplacedBuiltin) -> str:
    """Name the target."""
    replaces = "which replaces the built-in one"
    return f"the metric {note.name!r} is {note.target}, {replaces}"


@sentence.register(TaskGroupsApart)
def task_groups_apart(note: TaskGroupsApart) -> str:
    """Name the file."""
    where = f"in {note.file}, not in aggregate_metrics.json"
    return f"the entries of {note.tasks:,} tasks are {where}"
