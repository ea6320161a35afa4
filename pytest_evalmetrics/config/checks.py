"""What two keys of a benchmark say that can't both hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_evalmetrics.spec import Count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["contradictions"]

Contradiction: TypeAlias = tuple[tuple[str | int, ...], str]


def contradictions(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield the path within the benchmark, and what is wrong there."""
    yield from _rollouts_of_a_task(spec)
    yield from _blank_thresholds(spec)


def _rollouts_of_a_task(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    expected = spec.expect.rollouts
    if (
        spec.num_samples is not None
        and isinstance(expected, Count)
        and not expected.allows(spec.num_samples)
    ):
        yield (
            ("expect", "rollouts"),
            f"{expected} rollouts of each task contradict num_samples: {spec.num_samples}",
        )


def _blank_thresholds(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for name in spec.thresholds:
        if not name.strip():
            yield ("thresholds", name), "expected the name of a metric before the ':'"
