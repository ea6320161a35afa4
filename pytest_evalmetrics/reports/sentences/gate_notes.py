"""Notes on what is gated, and on what no gate can see."""

from __future__ import annotations

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.gate_notes import (
    AcceptedBefore,
    AcceptedNow,
    BetterThanBaseline,
    BlindBaseline,
    BlindThreshold,
    FewBaselineRuns,
    MetricOfPart,
    MisplacedPassThreshold,
    NoAnchorScores,
    NoFingerprint,
    NoRecordedBehaviour,
    NothingGated,
    OtherFormOfAnswers,
    PairedById,
    PairedByPosition,
    PinnedSystemMoved,
    RunNoiseOfHistory,
    RunNoiseOfNeighbours,
    SampledBehaviour,
    SingleTasksNotGated,
    UnannouncedCode,
    UncheckedTasks,
    UngroupedRollouts,
    UnreadTranscripts,
)
from pytest_evalmetrics.reports.sentences.bounds import sides_text
from pytest_evalmetrics.reports.sentences.comparisons import blind_text
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.phrases import about
from pytest_evalmetrics.reports.sentences.references import place_of
from pytest_evalmetrics.reports.sentences.ways_out import renewing

_NAMED = 5  # metrics

# -- completeness and thresholds -------------------------------------------------------------


@sentence.register(NothingGated)
def nothing_gated(note: NothingGated) -> str:
    """Show a threshold for the first metric."""
    metric = note.metric
    if note.in_python:
        example = f'thresholds={{"{metric}": ">= 0.9"}}'
        return f"nothing is gated: give thresholds= or baseline=, such as {example}"
    example = f'`thresholds: {{{metric}: ">= 0.9"}}`'
    return (
        "nothing is gated: add `thresholds:` or `baseline:` below line "
        f"{note.line}, such as {example}"
    )


@sentence.register(UncheckedTasks)
def unchecked_tasks(note: UncheckedTasks) -> str:
    """Count the tasks, and show the lines that say how many there are."""
    found = many(note.tasks, "task")
    if note.agent:
        found += f" of {note.agent}"
    were = "were"
    if note.tasks == 1:
        were = "was"
    text = (
        f"completeness is unchecked: {found} {were} found, "
        "and nothing says how many there are: "
    )
    if note.in_python:
        return f'{text}give expect={{"tasks": {note.tasks}}}'
    lines = f"`expect: {{tasks: {note.tasks}}}`"
    if note.rollouts is not None:
        lines += f" and `num_samples: {note.rollouts}`"
    return f"{text}add {lines} below line {note.line}"


@sentence.register(MetricOfPart)
def metric_of_part(note: MetricOfPart) -> str:
    """Count the rollouts that the metric is of, and those that it lacks."""
    lacking = f"nothing that {note.metric} reads"
    if note.score:
        lacking = f"no finite {note.score}"
    total = note.missing + note.rollouts
    others = f"{of_many(note.missing, total, 'rollout', 'has')} {lacking}"
    text = f"{note.metric} is of {note.rollouts} rollouts: {others}"
    return about(note.agent, text)


@sentence.register(UngroupedRollouts)
def ungrouped_rollouts(note: UngroupedRollouts) -> str:
    """Count the rollouts without a value of the field."""
    rollouts = of_many(note.lacking, note.rollouts, "rollout", "has")
    so_that = "so that no gated metric of its values counts them"
    return about(note.agent, f"{rollouts} no {note.field}, {so_that}")


@sentence.register(MisplacedPassThreshold)
def misplaced_pass_threshold(note: MisplacedPassThreshold) -> str:
    """Give the reward that is nearest, and name the metrics that can't move."""
    limit = f"pass_threshold {note.threshold:.12g}"
    if note.all_pass:
        what = f"each {note.score} reaches {limit} (the least is {note.nearest:.4g})"
        end = "below 1"
    else:
        what = f"no {note.score} reaches {limit} (the largest is {note.nearest:.4g})"
        end = "above 0"
    metrics = ", ".join(note.metrics)
    way = f"set pass_threshold, line {note.line}, to what passes"
    return about(note.agent, f"{what}, so that {metrics} can't be {end}: {way}")


@sentence.register(BlindThreshold)
def blind_threshold(note: BlindThreshold) -> str:
    """Give the threshold, and the range that it can't leave."""
    threshold = sides_text(note.least, note.most)
    return (
        f"the threshold {threshold} of line {note.line} can't fail: {note.metric} is "
        f"{note.words}"
    )


# -- comparisons -----------------------------------------------------------------------------


@sentence.register(SingleTasksNotGated)
def single_tasks_not_gated(note: SingleTasksNotGated) -> str:  # noqa: ARG001
    """Name the key."""
    return "single tasks are not gated: the file says `single_tasks: false`"


@sentence.register(PairedById)
def paired_by_id(note: PairedById) -> str:
    """Say how the reference gets content."""
    return (
        f"tasks are paired by id alone: {place_of(note.acceptance)} holds no content of "
        f"its tasks yet; {renewing(note.acceptance)}"
    )


@sentence.register(PairedByPosition)
def paired_by_position(note: PairedByPosition) -> str:  # noqa: ARG001
    """Say how tasks get an identity."""
    return (
        "tasks are paired by position alone: their ids are numbers of rows, which "
        "change where a row is added; say what identifies a task with "
        "`fields: {content: KEY}`, such as the key of its question"
    )


@sentence.register(RunNoiseOfHistory)
def run_noise_of_history(note: RunNoiseOfHistory) -> str:  # noqa: ARG001
    """Say where the noise is taken from."""
    return (
        "the baseline has one run: the noise between runs is taken from earlier runs in "
        "the history"
    )


@sentence.register(RunNoiseOfNeighbours)
def run_noise_of_neighbours(note: RunNoiseOfNeighbours) -> str:
    """Count the benchmarks that the noise is taken from."""
    others = many(note.benchmarks, "other benchmark")
    return (
        "the baseline has one run: the noise between runs is taken from "
        f"{others} whose baselines are beside it"
    )


@sentence.register(FewBaselineRuns)
def few_baseline_runs(note: FewBaselineRuns) -> str:
    """Count the runs, and say what that costs."""
    return (
        f"the baseline has {note.runs} runs, which show little of the noise between "
        "runs, so that only large drops fail: record five or more, or declare "
        "`run_noise:`"
    )


@sentence.register(PinnedSystemMoved)
def pinned_system_moved(note: PinnedSystemMoved) -> str:
    """Give both means."""
    values = f"was {note.before:.4g}, and is {note.now:.4g}"
    free = f"{note.metric} is free of what shifts both"
    return about(note.agent, f"the mean reward of the reference {values}: {free}")


@sentence.register(NoFingerprint)
def no_fingerprint(note: NoFingerprint) -> str:
    """Say what goes unseen, and until when."""
    return (
        f"{place_of(note.acceptance)} holds no fingerprint of what measures: another "
        f"scorer, judge or prompt goes unseen until you {renewing(note.acceptance)}"
    )


@sentence.register(UnannouncedCode)
def unannounced_code(note: UnannouncedCode) -> str:
    """Give the version that stayed."""
    return (
        f"the code of the target changed since the baseline, and its version "
        f"({note.version}) did not: its answers are new"
    )


@sentence.register(NoAnchorScores)
def no_anchor_scores(note: NoAnchorScores) -> str:
    """Say what can't be told, and until when."""
    return (
        f"{place_of(note.acceptance)} keeps no scores of the anchors (three or more of "
        "the same): the judge can't be told from the system until you "
        f"{renewing(note.acceptance)}"
    )


@sentence.register(BetterThanBaseline)
def better_than_baseline(note: BetterThanBaseline) -> str:
    """Give both values, and how the better one is kept."""
    values = f"from {note.before:.4g} to {note.now:.4g}"
    change = about(note.agent, f"{note.metric} went {values}")
    text = f"better than the baseline: {change}"
    if not note.is_committed:
        return text
    return f"{text}; record it with `pytest --evalmetrics-update`"


@sentence.register(BlindBaseline)
def blind_baseline(note: BlindBaseline) -> str:
    """Name the metrics, and say why nothing shows their loss."""
    metrics = listed(note.metrics, _NAMED)
    text = about(note.agent, f"no loss of {metrics} can fail against this baseline")
    return f"{text}: {blind_text(note.cause)}"


# -- accepted changes ------------------------------------------------------------------------


@sentence.register(AcceptedBefore)
def accepted_before(note: AcceptedBefore) -> str:
    """Say that the entry does nothing any more."""
    return (
        f"evalmetrics-accepted.yaml: {note.metric} {note.level:g} was accepted in an "
        "earlier run, and counts no more: remove the entry"
    )


@sentence.register(AcceptedNow)
def accepted_now(note: AcceptedNow) -> str:
    """Give both values and the reason."""
    return (
        f"accepted by evalmetrics-accepted.yaml: {note.metric} from {note.before:.4g} to "
        f"{note.now:.4g}: {note.words}"
    )


# -- behaviour -------------------------------------------------------------------------------


@sentence.register(UnreadTranscripts)
def unread_transcripts(note: UnreadTranscripts) -> str:
    """Count the rollouts."""
    rollouts = of_many(note.unread, note.rollouts, "rollout", "has")
    return f"behaviour: {rollouts} no transcript that can be read"


@sentence.register(SampledBehaviour)
def sampled_behaviour(note: SampledBehaviour) -> str:
    """Count the tasks."""
    tasks = of_many(note.compared, note.tasks, "task", "is")
    return f"behaviour: {tasks} compared, chosen by a hash, for speed"


@sentence.register(NoRecordedBehaviour)
def no_recorded_behaviour(note: NoRecordedBehaviour) -> str:
    """Say how the baseline gets it."""
    way = renewing(note.acceptance)
    return f"behaviour: the baseline holds none, so nothing is compared: {way}"


@sentence.register(OtherFormOfAnswers)
def other_form_of_answers(note: OtherFormOfAnswers) -> str:
    """Say how the baseline gets the form that is needed."""
    return (
        "behaviour: answers are not compared, of which the baseline keeps another form: "
        f"{renewing(note.acceptance)}"
    )
