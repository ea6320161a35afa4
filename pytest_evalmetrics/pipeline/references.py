"""What a run is compared with: the committed baseline, or another run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import baselines, rollouts
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.pipeline.anchoring import anchors_of, compares_with_history
from pytest_evalmetrics.pipeline.judging import Reference
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_evalmetrics import metrics
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["reference_of"]


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


def _reference(doc: baselines.Document, file: str, *, renew: str) -> Reference:
    tables = baselines.tables(doc, file=file)
    return Reference(
        tables,
        {agent: baselines.values(doc, agent) for agent in tables},
        renew=renew,
        provenance=doc["provenance"],
        origin=file + (f", recorded {when}" if (when := doc["provenance"].get("recorded")) else ""),
    )
