"""From what a benchmark file says to who answers its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import EvalMetricsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.generation.protocol import Generator
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Terms

__all__ = ["make_generator"]


def make_generator(
    spec: BenchmarkSpec, terms: Terms, line_of: Callable[..., int]
) -> Generator | None:
    """Make what answers the rows; None where nothing is generated.

    Parameters
    ----------
    spec
        The benchmark.
    terms
        On what terms endpoints are called.
    line_of
        ``Benchmark.line_of``.

    Raises
    ------
    EvalMetricsError
        It can't be made, lacks its secret or a package; with the line.
    """
    if spec.answers is None:
        return None
    try:
        if spec.target is not None:
            from pytest_evalmetrics.generation.target import (  # noqa: PLC0415 - if needed
                TargetGenerator,
            )

            return TargetGenerator(spec.target, terms)
        from pytest_evalmetrics.generation.model import ModelGenerator  # noqa: PLC0415 - if needed

        return ModelGenerator(spec, terms)
    except EvalMetricsError as error:
        if error.line is None and error.file is None:
            error.line = line_of("target" if spec.target is not None else "model")
        raise
