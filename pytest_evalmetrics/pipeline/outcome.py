"""What an evaluation leaves: its result, the tasks that flipped, pictures, a baseline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import baselines
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.model.reasons import NothingCanFail
from pytest_evalmetrics.model.results import SourceSummary
from pytest_evalmetrics.model.verdicts import Direction, Gate
from pytest_evalmetrics.pipeline import benchmark_rows
from pytest_evalmetrics.pipeline.benchmark_rows import (
    AnswerSide,
    FlippedTask,
    ScorerInput,
)
from pytest_evalmetrics.pipeline.gate_settings import judged_direction, settings_of
from pytest_evalmetrics.pipeline.separators import groups_of, separators
from pytest_evalmetrics.reports.html.picture import picture_of

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Sequence,
    )

    from pytest_evalmetrics.metrics import Pairing
    from pytest_evalmetrics.model.baseline import (
        AgentDocument,
        BaselineDocument,
        Provenance,
    )
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.model.separators import Separator
    from pytest_evalmetrics.pipeline.comparing import AgentComparison
    from pytest_evalmetrics.pipeline.loading import Rows
    from pytest_evalmetrics.pipeline.reducing import AgentRun, Reduced
    from pytest_evalmetrics.reports.html.picture import Picture
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.sources import FilesSpec

_LARGEST_FILES = 2**30  # bytes that are read again for the texts of a few tasks


# -- the baseline that a run would leave -----------------------------------------------------


def baseline_of(
    benchmark: Benchmark,
    reduced: Reduced,
    checks: Iterable[Check],
    *,
    is_partial: bool,
    provenance: Provenance,
) -> BaselineDocument | None:
    """Describe the run as a baseline; None if a number may be missing or wrong."""
    is_broken = any(_keeps_from_recording(check) for check in checks)
    documents = documents_of(reduced)
    if is_broken or is_partial or not documents:
        return None
    return baselines.baseline_document(benchmark.spec.name, documents, provenance)


def _keeps_from_recording(check: Check) -> bool:
    is_of_rows = check.gate in (Gate.DATA, Gate.EXPECT) and check.verdict.fails
    is_useless = any(isinstance(reason, NothingCanFail) for reason in check.reasons)
    return is_of_rows or is_useless


def documents_of(reduced: Reduced) -> dict[str, AgentDocument]:
    """Return by agent what its baseline would keep."""
    return {
        agent.agent: agent.document
        for agent in reduced.agents
        if agent.document is not None
    }


def sources_of(table: RolloutTable) -> tuple[SourceSummary, ...]:
    """List the files that were read."""
    return tuple(
        SourceSummary(path=source.path, rows=source.rows, size=source.size)
        for source in table.sources
    )


# -- pictures of tasks -----------------------------------------------------------------------


@collector_paused()
def picture(
    benchmark: Benchmark,
    run: AgentRun,
    rows: Rows,
    pairing: Pairing | None,
    against: str,
    *,
    flipped: Sequence[FlippedTask] = (),
) -> Picture:
    """Describe an agent's tasks for the page."""
    scored = rows.scored
    lower = {name for name in run.table.scores if less_is_better(benchmark, name)}
    chosen = None
    row_scores = None
    if scored is not None:
        chosen = scored.chosen.rows.repeat(scored.chosen.samples)
        row_scores = scored.rows
    compared = None
    if pairing is not None:
        compared = (pairing.baseline, pairing.at)
    pictured = picture_of(
        run.table,
        reward=benchmark.spec.reward,
        lower=frozenset(lower),
        compared=compared,
        rows=row_scores,
        chosen=chosen,
        against="" if pairing is None else against,
    )
    own = [task for task in flipped if task.flip.agent == run.result.agent]
    conversations = {task.flip.task: task.conversations for task in own}
    return structs.replace(pictured, conversations=conversations)


# -- what worse tasks have in common ---------------------------------------------------------


_MOST_COMPARED = 5_000  # tasks whose rows are read again to find what separates them


def separators_of(
    benchmark: Benchmark, rows: Rows, run: AgentRun, pairing: Pairing
) -> tuple[Separator, ...]:
    """Find what the worse tasks of an agent have in common, in their worst rows."""
    table = run.table
    if len(table.tasks) > _MOST_COMPARED:
        return ()
    reward = benchmark.spec.reward
    lower = less_is_better(benchmark, reward)
    side = _answers_now(benchmark, rows, table)
    try:
        paired = benchmark_rows.worst_rows(
            side, pairing.baseline, pairing.at, reward, lower=lower
        )
    except EvalMetricsError:
        # the files have changed since, or have no rows of their own
        return ()
    hide: Callable[[str], str] = str
    if rows.prepared.scoring is not None:
        hide = rows.prepared.scoring.hide
    groups = groups_of(
        [row.item for row in paired],
        [hide(row.reason) for row in paired],
        benchmark.spec.rows.fields,
        set(table.scores),
    )
    worse = [place for place, row in enumerate(paired) if row.is_worse]
    found = separators(groups, worse, len(paired), agent=run.result.agent)
    return tuple(structs.replace(one, value=hide(one.value)) for one in found)


def less_is_better(benchmark: Benchmark, score: str) -> bool:
    """Whether less of a score is better, by the direction or the bound of a metric of it.

    A threshold that has a `max:` alone says that less is better.
    """
    name = f"mean/{score}"
    if score == benchmark.spec.reward:  # the score of metrics that name none
        of_reward = [text for text in benchmark.spec.gated if "/" not in text]
        name = of_reward[0] if of_reward else name
    threshold = benchmark.spec.thresholds.get(name)
    if threshold is not None and threshold.max is not None:
        return threshold.min is None
    return judged_direction(benchmark, name) is Direction.LOWER


# -- the tasks that changed most -------------------------------------------------------------


def flips(
    benchmark: Benchmark,
    rows: Rows,
    comparisons: Sequence[AgentComparison],
    *,
    has_files: bool,
    read_kept_rows: Callable[[], bytes | None] | None,
) -> Iterator[FlippedTask]:
    """Collect the questions and answers of the tasks that changed most.

    `read_kept_rows` reads the rows beside a committed baseline.
    """
    scoring = rows.prepared.scoring
    if scoring is None and not has_files:
        return
    reward = benchmark.spec.reward
    hide: Callable[[str], str] = str if scoring is None else scoring.hide
    for compared in comparisons:
        if compared.pairing is None:
            continue
        yield from benchmark_rows.flips_of(
            compared.run.result.agent,
            _answers_now(benchmark, rows, compared.run.table),
            _answers_before(benchmark, compared.pairing.baseline, read_kept_rows),
            compared.pairing.at,
            reward,
            lower=less_is_better(benchmark, reward),
            hide=hide,
        )


def _answers_now(benchmark: Benchmark, rows: Rows, table: RolloutTable) -> AnswerSide:
    scoring = rows.prepared.scoring
    if scoring is not None and rows.scored is not None:
        return AnswerSide(
            table,
            scoring.as_scored,
            scores=rows.scored.rows,
            fields=benchmark.spec.rows.fields,
        )
    files = benchmark.spec.rows
    again = _reading_again(benchmark, files, table)
    return AnswerSide(table, again, fields=files.fields)


def _answers_before(
    benchmark: Benchmark,
    table: RolloutTable,
    read_kept_rows: Callable[[], bytes | None] | None,
) -> AnswerSide:
    settings = settings_of(benchmark)
    if settings.rollouts is not None and not settings.rollouts.runs:
        again = _reading_again(benchmark, settings.rollouts, table)
        return AnswerSide(table, again, fields=settings.rollouts.fields)
    if settings.committed and read_kept_rows is not None:
        fields = benchmark.spec.rows.fields
        return AnswerSide(table, kept=read_kept_rows(), fields=fields)
    return AnswerSide(table)


def _reading_again(
    benchmark: Benchmark, files: FilesSpec, table: RolloutTable
) -> Callable[[Collection[int]], Iterable[ScorerInput]]:
    """Return a function that reads the wanted rows of files again."""
    return partial(
        benchmark_rows.recorded_rows,
        files,
        base=benchmark.file.parent,
        table=table,
        most=_LARGEST_FILES,
    )
