"""Notes on recorded rollouts, and on what is computed of them."""

from __future__ import annotations

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_notes import (
    AggregatesAlone,
    AgreeingAttempts,
    AmbiguousFailures,
    CorrectedMean,
    EditedTask,
    FailedRollouts,
    FilteredRows,
    FurtherAttempts,
    GroupsLeftOut,
    LimitedRun,
    MetricsLeftOut,
    MixedQuestions,
    NumbersCountAsMissing,
    OtherInstancesLeftOut,
    OtherNumberStated,
    OtherReducers,
    ScoredOnce,
    SliceWithoutRewards,
    TextsCountAsMissing,
    TooFewLabels,
    UnclearColumn,
    UndefinedSlice,
    UnfinishedRun,
    UnjoinedRows,
    UnreadList,
    UnsubmittedInstances,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.phrases import about, remarked

# -- of files --------------------------------------------------------------------------------


@sentence.register(NumbersCountAsMissing)
def numbers_count_as_missing(note: NumbersCountAsMissing) -> str:
    """Count the values, and name the first."""
    values = many(note.values, "value", "is")
    counts = "count"
    if note.values == 1:
        counts = "counts"
    text = f"{note.score}: {values} {note.what} and {counts} as missing"
    return remarked(text, note.first)


@sentence.register(TextsCountAsMissing)
def texts_count_as_missing(note: TextsCountAsMissing) -> str:
    """Name the first row."""
    what = "in some rows this is not a number and counts as missing"
    return f"{note.score}: {what}, first in {note.first}"


@sentence.register(UnclearColumn)
def unclear_column(note: UnclearColumn) -> str:
    """Name the cell, and the key that says what it is."""
    cell = f"{note.score} is left out: {note.text!r} at {note.at}"
    return f"{cell} may have a thousands separator; say with decimal: which sign it has"


@sentence.register(FailedRollouts)
def failed_rollouts(note: FailedRollouts) -> str:
    """Count the rollouts, and name the first."""
    what = "without a score, which is missing"
    if note.is_graded:
        what = "graded all the same"
    rollouts = many(note.rollouts, "rollout")
    return f"{note.kind}: {rollouts} {what} (first {note.first})"


@sentence.register(MixedQuestions)
def mixed_questions(note: MixedQuestions) -> str:
    """Count the tasks, and name one."""
    tasks = many(note.tasks, "task", "has")
    return (
        f"{tasks} rollouts of different questions, such as {note.example!r}: content "
        "does not pair these tasks. Where two data sets share ids, give each its own "
        "benchmark"
    )


@sentence.register(EditedTask)
def edited_task(note: EditedTask) -> str:
    """Count the versions of a task."""
    task = f"the task {note.task!r}"
    if note.agent:
        task += f" of the agent {note.agent!r}"
    return (
        f"{task} has rollouts of {note.versions} versions, "
        "which count as one task: was it edited in the middle of the run, or does the "
        "path match several runs?"
    )


@sentence.register(AgreeingAttempts)
def agreeing_attempts(note: AgreeingAttempts) -> str:
    """Name the key that shows that rows are attempts."""
    files = many(note.files, "file")
    tasks = many(note.tasks, "task id")
    return (
        f"{files} hold the same {tasks}; {note.key!r} agrees in their rows, so these "
        "are attempts"
    )


@sentence.register(FurtherAttempts)
def further_attempts(note: FurtherAttempts) -> str:
    """Name both reports."""
    return (
        f"{note.file} has the tasks of {note.first}, and is read as further attempts "
        "at them; reports of several models need a benchmark each"
    )


@sentence.register(FilteredRows)
def filtered_rows(note: FilteredRows) -> str:
    """Count the rows and tasks that are left out."""
    rows = f"{note.left_out} of {many(note.rows, 'row')}"
    wanted = " or ".join(note.accepted)
    text = f"where: leaves out {rows}, whose {note.path} is not {wanted}"
    if note.lost_tasks:
        tasks = many(note.lost_tasks, "task", "has")
        text += f"; {tasks} no row left, such as {note.lost_example}"
    return about(note.file, text)


@sentence.register(UnjoinedRows)
def unjoined_rows(note: UnjoinedRows) -> str:
    """Count the rows, and name the first."""
    rows = many(note.rows, "row")
    return f"join: {rows} without the other half, the first at {note.first}"


@sentence.register(UnreadList)
def unread_list(note: UnreadList) -> str:
    """Count what is not read, and name its list."""
    values = many(note.values, "value")
    are = "is" if note.values == 1 else "are"
    place = f"{values} of {note.path!r} beside the rows"
    return f"{note.file}: {place} {are} not read: are tasks missing?"


@sentence.register(OtherNumberStated)
def other_number_stated(note: OtherNumberStated) -> str:
    """Give both numbers."""
    stated = f"{note.claim} is {note.stated:.9g}"
    return f"{note.file}: {stated}, and the rollouts give {note.computed:.9g}"


# -- of one tool's files ---------------------------------------------------------------------


@sentence.register(AggregatesAlone)
def aggregates_alone(note: AggregatesAlone) -> str:
    """Say how a drop is judged, and how a smaller one is seen."""
    text = (
        f"{note.file} holds aggregates without samples: a drop is judged by Welch's test "
        "of their standard errors, which pairs no questions"
    )
    if not note.option:
        return text
    return f"{text}; with {note.option} a smaller one is seen"


@sentence.register(GroupsLeftOut)
def groups_left_out(note: GroupsLeftOut) -> str:
    """Name the groups."""
    return f"{note.file}: groups are left out: {', '.join(note.groups)}"


@sentence.register(ScoredOnce)
def scored_once(note: ScoredOnce) -> str:
    """Count the answers."""
    answered = f"each document was answered {note.answers} times and scored once"
    return f"{note.file}: {answered}, which makes it one rollout"


@sentence.register(LimitedRun)
def limited_run(note: LimitedRun) -> str:
    """Count the documents."""
    documents = f"{note.documents} of the {note.of} documents of its task"
    return f"{note.file}: the run was limited to {documents}"


@sentence.register(OtherInstancesLeftOut)
def other_instances_left_out(note: OtherInstancesLeftOut) -> str:
    """Count the instances."""
    others = "instances of other splits, or with perturbations, are left out"
    return f"{note.file}: {others}: {note.instances}"


@sentence.register(UnfinishedRun)
def unfinished_run(note: UnfinishedRun) -> str:
    """Give the status."""
    return f"{note.file}: the status of this eval is {note.status!r}"


@sentence.register(UnsubmittedInstances)
def unsubmitted_instances(note: UnsubmittedInstances) -> str:
    """Count the instances."""
    what = "instances that were not submitted are left out"
    return f"{note.file}: {what}: {note.instances}"


@sentence.register(AmbiguousFailures)
def ambiguous_failures(note: AmbiguousFailures) -> str:
    """Count the instances, and say how they are read."""
    what = "unresolved instances whose environment may have failed (failure_reasons)"
    return f"{note.file}: {what} count as unresolved: {note.instances}"


@sentence.register(OtherReducers)
def other_reducers(note: OtherReducers) -> str:
    """Name the reducers."""
    by = ", ".join(note.reducers)
    return (
        f"{note.score}: the log's own numbers reduce the epochs of a sample by {by}, and "
        "mean_reward is the mean of all epochs"
    )


# -- of estimates ----------------------------------------------------------------------------


@sentence.register(MetricsLeftOut)
def metrics_left_out(note: MetricsLeftOut) -> str:
    """Name the metrics."""
    return f"left out, because there are no rollouts: {', '.join(note.metrics)}"


@sentence.register(SliceWithoutRewards)
def slice_without_rewards(note: SliceWithoutRewards) -> str:
    """Name the value, and count its rollouts."""
    why = f"none of its {note.rollouts} rollouts has a reward"
    if note.rollouts == 1:
        why = "its only rollout has no reward"
    return f"breakdown: {note.field} = {note.value} is left out, because {why}"


@sentence.register(UndefinedSlice)
def undefined_slice(note: UndefinedSlice) -> str:
    """Give the metric's words."""
    return f"breakdown: left out: {note.words}"


@sentence.register(CorrectedMean)
def corrected_mean(note: CorrectedMean) -> str:
    """Give the mean with its interval beside the judge's own."""
    level = f"{100 * note.level:.4g} % interval"
    value = f"{note.value:.4g} ({level} {note.low:.4g} to {note.high:.4g})"
    labels = f"people's labels of {many(note.labelled, 'rollout')}"
    text = f"{note.metric} is {value}: the judge's {note.judged:.4g}, corrected by {labels}"
    return about(note.agent, text)


@sentence.register(TooFewLabels)
def too_few_labels(note: TooFewLabels) -> str:
    """Count the labelled tasks, and say how many are needed."""
    why = f"{note.labelled} labelled tasks are too few: {note.least} are needed"
    return about(note.agent, f"{note.metric} is undefined: {why}")
