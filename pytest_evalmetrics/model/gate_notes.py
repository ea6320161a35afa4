"""Notes on what is gated, and on what no gate can see."""

from __future__ import annotations

from typing import ClassVar

from pytest_evalmetrics.model.blindness import Blindness
from pytest_evalmetrics.model.note_facts import NoteFacts
from pytest_evalmetrics.model.verdicts import Acceptance

# -- completeness and thresholds -------------------------------------------------------------


class NothingGated(NoteFacts, frozen=True, tag="nothing_gated"):
    """A benchmark without thresholds and without a baseline."""

    metric: str  # the first one, for an example
    line: int
    in_python: bool = False  # it is made in a test, and has no file


class UncheckedTasks(NoteFacts, frozen=True, kw_only=True, tag="unchecked_tasks"):
    """Tasks whose number nothing says."""

    tasks: int  # that were found
    # of a task; None if the benchmark says it
    rollouts: int | None
    line: int
    agent: str = ""  # empty if there is only one
    in_python: bool = False


class MetricOfPart(NoteFacts, frozen=True, kw_only=True, tag="metric_of_part"):
    """A listed metric that is computed over a part of the rollouts."""

    metric: str
    score: str  # that the others lack; empty if the metric reads no single one
    rollouts: int  # of which it is computed
    missing: int
    agent: str = ""


class UngroupedRollouts(NoteFacts, frozen=True, kw_only=True, tag="ungrouped_rollouts"):
    """Rollouts that belong to no group of a field by which metrics are gated."""

    field: str
    lacking: int
    rollouts: int  # in all
    agent: str = ""


class MisplacedPassThreshold(
    NoteFacts, frozen=True, kw_only=True, tag="misplaced_pass_threshold"
):
    """A pass_threshold on another scale than the rewards."""

    score: str
    threshold: float
    # whether each reward reaches it; else none does
    all_pass: bool
    # the least reward if all pass, else the largest
    nearest: float
    metrics: tuple[str, ...]  # that count what passes
    line: int
    agent: str = ""


class BlindThreshold(NoteFacts, frozen=True, kw_only=True, tag="blind_threshold"):
    """A threshold at the end of its metric's range, which nothing can break."""

    metric: str
    least: float | None
    most: float | None
    line: int
    words: str  # of the metric: its range


# -- comparisons -----------------------------------------------------------------------------


class SingleTasksNotGated(NoteFacts, frozen=True, tag="single_tasks_not_gated"):
    """A file that says `single_tasks: false`."""


class PairedById(NoteFacts, frozen=True, tag="paired_by_id"):
    """Tasks that are paired by id alone: the reference holds no content of them."""

    acceptance: Acceptance

    subject: ClassVar[str] = "content"


class PairedByPosition(NoteFacts, frozen=True, tag="paired_by_position"):
    """Tasks that are paired by numbers of rows."""

    subject: ClassVar[str] = "content"


class RunNoiseOfHistory(NoteFacts, frozen=True, tag="run_noise_of_history"):
    """The noise between runs, taken from earlier runs in the history."""

    subject: ClassVar[str] = "few_runs"


class RunNoiseOfNeighbours(NoteFacts, frozen=True, tag="run_noise_of_neighbours"):
    """The noise between runs, taken from other benchmarks."""

    benchmarks: int

    subject: ClassVar[str] = "few_runs"


class FewBaselineRuns(NoteFacts, frozen=True, tag="few_baseline_runs"):
    """A baseline of a few runs, which show little of the noise between runs."""

    runs: int

    subject: ClassVar[str] = "few_runs"


class PinnedSystemMoved(
    NoteFacts, frozen=True, kw_only=True, tag="pinned_system_moved"
):
    """The mean reward of the pinned system of `reference:`, then and now."""

    metric: str  # that is free of what shifts both
    before: float
    now: float
    agent: str = ""


class NoFingerprint(NoteFacts, frozen=True, tag="no_fingerprint"):
    """A reference that does not say what measured it."""

    acceptance: Acceptance


class UnannouncedCode(NoteFacts, frozen=True, tag="unannounced_code"):
    """Code under test that changed while its version did not."""

    version: str


class NoAnchorScores(NoteFacts, frozen=True, tag="no_anchor_scores"):
    """A reference that keeps too few scores of the same anchors."""

    acceptance: Acceptance

    subject: ClassVar[str] = "anchors"


class BetterThanBaseline(
    NoteFacts, frozen=True, kw_only=True, tag="better_than_baseline"
):
    """A metric that is better than its baseline."""

    metric: str
    before: float
    now: float
    is_committed: bool  # the baseline, so that an update records it
    agent: str = ""


class BlindBaseline(NoteFacts, frozen=True, kw_only=True, tag="blind_baseline"):
    """Metrics of a new baseline of which no loss could ever fail."""

    metrics: tuple[str, ...]
    cause: Blindness
    agent: str = ""


# -- accepted changes ------------------------------------------------------------------------


class AcceptedBefore(NoteFacts, frozen=True, tag="accepted_before"):
    """A change that evalmetrics-accepted.yaml accepts, and that an earlier run honoured."""

    metric: str
    level: float

    subject: ClassVar[str] = "accepted"


class AcceptedNow(NoteFacts, frozen=True, tag="accepted_now"):
    """A change that evalmetrics-accepted.yaml accepts in this run."""

    metric: str
    before: float
    now: float
    words: str  # its reason, as the file gives it

    subject: ClassVar[str] = "accepted"


# -- behaviour -------------------------------------------------------------------------------


class _OfBehaviour(NoteFacts, frozen=True):
    subject: ClassVar[str] = "behaviour"


class UnreadTranscripts(_OfBehaviour, frozen=True, tag="unread_transcripts"):
    """Rollouts without a transcript that can be read."""

    unread: int
    rollouts: int  # in all


class SampledBehaviour(_OfBehaviour, frozen=True, tag="sampled_behaviour"):
    """The tasks whose behaviour is compared, where there are too many of them."""

    compared: int
    tasks: int  # in all


class NoRecordedBehaviour(_OfBehaviour, frozen=True, tag="no_recorded_behaviour"):
    """A baseline that holds no behaviour."""

    acceptance: Acceptance | None


class OtherFormOfAnswers(_OfBehaviour, frozen=True, tag="other_form_of_answers"):
    """A baseline that keeps answers in another form than the run needs."""

    acceptance: Acceptance | None
