"""Remarks that belong to no check: one small record a kind, with its facts.

A stage or a loader makes the record, and `reports.sentences` writes its sentence. Notes of one
group are shown as one, with the first as its example. A field called `words` holds somebody
else's text, such as an error's or a metric's; it is shown and never read.
"""

from __future__ import annotations

from pytest_evalmetrics.model import gate_notes, rollout_notes, run_notes, scoring_notes
from pytest_evalmetrics.model.note_facts import NoteFacts


class Remark(NoteFacts, frozen=True, tag="remark"):
    """A remark of somebody's own loader or scorer, in their words."""

    words: str

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (self.words,)


class OfReference(NoteFacts, frozen=True, tag="of_reference"):
    """A note on the pinned system of `reference:`."""

    note: Note

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return ("reference", *self.note.group)


Note = (
    Remark
    | rollout_notes.NumbersCountAsMissing
    | rollout_notes.TextsCountAsMissing
    | rollout_notes.FailedRollouts
    | rollout_notes.MixedQuestions
    | rollout_notes.EditedTask
    | rollout_notes.AgreeingAttempts
    | rollout_notes.FurtherAttempts
    | rollout_notes.FilteredRows
    | rollout_notes.UnclearColumn
    | rollout_notes.UnjoinedRows
    | rollout_notes.UnreadList
    | rollout_notes.OtherNumberStated
    | rollout_notes.AggregatesAlone
    | rollout_notes.GroupsLeftOut
    | rollout_notes.ScoredOnce
    | rollout_notes.LimitedRun
    | rollout_notes.OtherInstancesLeftOut
    | rollout_notes.UnfinishedRun
    | rollout_notes.UnsubmittedInstances
    | rollout_notes.AmbiguousFailures
    | rollout_notes.OtherReducers
    | rollout_notes.MetricsLeftOut
    | rollout_notes.SliceWithoutRewards
    | rollout_notes.UndefinedSlice
    | rollout_notes.CorrectedMean
    | rollout_notes.TooFewLabels
    | scoring_notes.DrawnSample
    | scoring_notes.LimitedRows
    | scoring_notes.FailedRequestsLeftOut
    | scoring_notes.DefaultReward
    | scoring_notes.ConstantRequest
    | scoring_notes.UntrustedValues
    | scoring_notes.KeyInFile
    | scoring_notes.KeyInUrl
    | scoring_notes.KeysInTaskIds
    | scoring_notes.UnscoredRows
    | scoring_notes.CutAnswers
    | scoring_notes.UncountedTokens
    | scoring_notes.JudgeAgainstItself
    | scoring_notes.JudgeAgainstPeople
    | scoring_notes.UnscoredAnchors
    | gate_notes.NothingGated
    | gate_notes.UncheckedTasks
    | gate_notes.MetricOfPart
    | gate_notes.UngroupedRollouts
    | gate_notes.MisplacedPassThreshold
    | gate_notes.BlindThreshold
    | gate_notes.SingleTasksNotGated
    | gate_notes.PairedById
    | gate_notes.PairedByPosition
    | gate_notes.RunNoiseOfHistory
    | gate_notes.RunNoiseOfNeighbours
    | gate_notes.FewBaselineRuns
    | gate_notes.PinnedSystemMoved
    | gate_notes.NoFingerprint
    | gate_notes.UnannouncedCode
    | gate_notes.NoAnchorScores
    | gate_notes.BetterThanBaseline
    | gate_notes.BlindBaseline
    | gate_notes.AcceptedBefore
    | gate_notes.AcceptedNow
    | gate_notes.UnreadTranscripts
    | gate_notes.SampledBehaviour
    | gate_notes.NoRecordedBehaviour
    | gate_notes.OtherFormOfAnswers
    | run_notes.StoppedEarly
    | run_notes.StoppedAtLastLook
    | run_notes.AllAtOnce
    | run_notes.SecondRoundFailed
    | run_notes.NotRecordedXfail
    | run_notes.BrokenHistoryLine
    | run_notes.OtherHistorySchema
    | run_notes.FurtherBrokenLines
    | run_notes.RunsNotCompared
    | run_notes.HistoryStartsAnew
    | run_notes.ReplacedName
    | run_notes.ReplacedBuiltin
    | run_notes.TaskGroupsApart
    | OfReference
)
