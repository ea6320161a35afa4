"""What a run is compared with, and the pictures of both sides for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics import baselines, rollouts
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.pipeline.regressions import (
    Reference,
    anchors_of,
    compares_with_history,
    gated_names,
    rule_of,
)
from pytest_evalmetrics.reports import picture_of
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_evalmetrics import metrics
    from pytest_evalmetrics.data import RolloutTable, RowScores
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.pipeline.regressions import Judging
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["PICTURED", "picture", "reference_of"]


def reference_of(
    benchmark: Benchmark,
    plan: metrics.Plan,
    snapshot: Callable[[], tuple[str, str] | None],
    *,
    label: str = "",
    history: Path | None = None,
    engine: Engine | None = None,
) -> Reference | None:
    """Find what a benchmark is compared with; None where it is to be recorded first.

    Parameters
    ----------
    benchmark, plan
        The benchmark, and its metrics.
    snapshot
        Reads the committed baseline.
    label
        What its runs are called in a history.
    history
        The run's history.
    engine
        Where rollouts are read, if not here.

    Raises
    ------
    DataError
        If the other run's rollouts can't be read.
    BaselineError
        If its report, or the committed baseline, can't be used.
    """
    spec = benchmark.spec.baseline
    folder = benchmark.file.parent
    if isinstance(spec, BaselineSpec) and spec.rollouts is not None:
        table = rollouts.load(
            spec.rollouts,
            folder,
            scores=plan.scores,
            categories=plan.categories,
            reader=None if engine is None else engine.read,
        )
        return Reference(
            dict(table.by_agent()),
            where="the baseline's rollouts",
            renew="compare with a run that holds it",
            origin=", ".join(source.path for source in table.sources),
        )
    if isinstance(spec, BaselineSpec) and spec.report is not None:
        doc = baselines.from_report(
            folder / spec.report, benchmark.spec.name, file=benchmark.file, shown=spec.report
        )
        return _reference(doc, spec.report, renew="compare with a run that holds it")
    if compares_with_history(benchmark):
        anchors, notes = anchors_of(benchmark, label, history)
        return Reference({}, where="the history", notes=notes, anchors=anchors)
    read = snapshot()
    if read is None:
        return None
    text, file = read
    doc = baselines.parse(text, file=file, benchmark=benchmark.spec.name)
    reference = _reference(doc, file, renew="record a new baseline with --snapshot-update")
    if baselines.is_edited(doc):
        lacks = "" if doc["provenance"].get("digest") else ": its digest is gone"
        raise BaselineError(
            f"this baseline was edited by hand, or by a merge, since it was recorded{lacks}",
            file=file,
            hint=f"restore it with `git checkout -- {file}`, or record a new one with "
            "--snapshot-update",
        )
    return reference


def _reference(doc: baselines.BaselineDocument, file: str, *, renew: str) -> Reference:
    tables = baselines.tables(doc, file=file)
    return Reference(
        tables,
        {agent: baselines.values(doc, agent) for agent in tables},
        renew=renew,
        provenance=doc["provenance"],
        origin=file + (f", recorded {when}" if (when := doc["provenance"].get("recorded")) else ""),
    )


PICTURED: Final = 400  # of a run's benchmarks that pass: no page has room for many more


@collector_paused()
def picture(
    benchmark: Benchmark,
    agent: str,
    table: RolloutTable,
    judging: Judging | None,
    rows: RowScores | None,
) -> Mapping[str, Any]:
    """Describe one agent's tasks, beside those of the run that it is compared with."""
    pairing = None if judging is None else judging.pairings.get(agent)
    reward = benchmark.spec.reward
    return picture_of(
        table,
        reward=reward,
        lower=frozenset(name for name in table.scores if _less_is_better(benchmark, name)),
        compared=None if pairing is None else (pairing.baseline, pairing.at),
        rows=rows,
        against="" if pairing is None or judging is None else judging.reference.origin,
    )


def _less_is_better(benchmark: Benchmark, score: str) -> bool:
    names = [f"mean/{score}"]
    if score == benchmark.spec.reward:  # which metrics without a score reduce
        names = [n for n in gated_names(benchmark) if "/" not in n] or names
    return rule_of(benchmark, names[0], bounded=False).direction == "lower"
