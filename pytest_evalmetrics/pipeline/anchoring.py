"""A run against a number of its history: which rules can, and what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalmetrics import gates
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.pipeline.rules import gated_names, no_direction, rule_of
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_evalmetrics.history import Anchors
    from pytest_evalmetrics.results import AgentResult, Check
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["anchored_checks", "anchors_of", "compares_with_history"]

_ACCEPT = (
    "accept it with `pytest --snapshot-update --evalmetrics-history FILE`: from that run on the "
    "history counts anew"
)
_START = "start with it: `pytest --snapshot-update --evalmetrics-history FILE`"


def compares_with_history(benchmark: Benchmark) -> bool:
    """Whether a benchmark is held against its history."""
    spec = benchmark.spec.baseline
    return isinstance(spec, BaselineSpec) and spec.against != "snapshot"


def anchors_of(
    benchmark: Benchmark, label: str, history: Path | None
) -> tuple[Anchors, tuple[str, ...]]:
    """Read the earlier runs of a benchmark."""
    from pytest_evalmetrics.history import Anchors, read_history  # noqa: PLC0415 - if there is one

    spec = benchmark.spec.baseline
    if not isinstance(spec, BaselineSpec):
        raise TypeError("the benchmark has no baseline")
    file = history if spec.history is None else benchmark.file.parent / spec.history
    if file is None:
        raise BaselineError(
            f"against: {spec.against} needs a history, and none is named",
            line=benchmark.line_of("baseline", "against"),
            hint="name it: --evalmetrics-history FILE, the setting evalmetrics_history, or "
            "baseline: {history: FILE}",
        )
    shown = spec.history or file.name
    found = read_history(file, shown)
    runs = found.runs.get(label, ())
    return Anchors(spec.against, runs, shown, spec.min_coverage), tuple(found.notes())


def anchored_checks(
    benchmark: Benchmark, anchors: Anchors, result: AgentResult, *, agent: str
) -> Iterator[Check]:
    """Hold one agent's gated metrics against the history."""
    written = {result.estimates[name].name: name for name in gated_names(benchmark)}
    for name, text in written.items():
        estimate = result.estimates[text]
        unknown = no_direction(benchmark, text, estimate, agent) if estimate.by_hook else None
        if unknown is not None:
            yield unknown
            continue
        rule = rule_of(benchmark, text, bounded=False)
        anchor = anchors.anchor(
            result.agent, name, estimate.tasks, higher_is_better=rule.direction == "higher"
        )
        check = gates.check_value(
            estimate,
            anchor.value,
            rule,
            agent=agent,
            line=benchmark.line_of("baseline", "metrics", text),
            accept=_ACCEPT,
            against=anchor.told,
        )
        evidence = {"against": anchors.against, "anchor": anchor.told, "runs": anchor.runs}
        hint = check.hint if anchor.value is not None else _START
        yield replace(check, hint=hint, evidence={**check.evidence, **evidence})
