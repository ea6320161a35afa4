"""What two keys of a benchmark say that can't both hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_evalmetrics.config.generation import contradictions_of_generation
from pytest_evalmetrics.spec import Count, ParamsSpec
from pytest_evalmetrics.spec.scorers import other_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["contradictions"]

Contradiction: TypeAlias = tuple[tuple[str | int, ...], str]


def contradictions(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield the path within the benchmark, and what is wrong there."""
    yield from _one_source(spec)
    yield from contradictions_of_generation(spec)
    yield from _scores(spec)
    yield from _rollouts_of_a_task(spec)
    yield from _blank_thresholds(spec)


def _one_source(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.rollouts is None and spec.dataset is None:
        yield (), _no_rows(spec)
    elif spec.rollouts is not None and spec.dataset is not None:
        yield ("dataset",), "rows come from rollouts or from a dataset, not from both"
    elif spec.dataset is not None and not spec.runs:
        yield ("dataset",), "a dataset has no rewards yet: say under scorers: what gives them"


def _no_rows(spec: BenchmarkSpec) -> str:
    if spec.answers is not None:
        return "'dataset' is missing: rows to answer"
    return "'dataset' is missing: rows to score" if spec.scorers else "'rollouts' is missing"


def _scores(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if not spec.scorers:
        if spec.params != ParamsSpec() and not spec.runs:
            yield ("params",), "params are for scorers, and there are none"
        return
    first: dict[str, int] = {}
    for index, scorer in enumerate(spec.scorers):
        for name in scorer.score_names:
            if first.setdefault(name, index) != index:
                yield (
                    ("scorers", index),
                    f"the score {name!r} is given by scorer {first[name] + 1} already: "
                    + other_name(scorer),
                )


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
