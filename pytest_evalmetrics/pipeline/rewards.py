"""Which score the metrics of a scored benchmark reduce."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["with_reward"]


def with_reward(benchmark: Benchmark, names: tuple[str, ...]) -> Benchmark:
    """Settle the reward: what the benchmark says, else the only score there is.

    Parameters
    ----------
    benchmark
        The benchmark; has scorers.
    names
        The scores that they give.

    Raises
    ------
    DataError
        There are several and none is named, or there is none of that name.
    """
    spec = benchmark.spec
    if ("reward",) in benchmark.lines or spec.reward in names:
        if spec.dataset is not None and spec.reward not in names:
            raise DataError(
                f"no scorer gives the reward {spec.reward!r}; "
                + did_you_mean(spec.reward, names, what="they give"),
                line=benchmark.line_of("reward"),
            )
        return benchmark
    if not names:  # of scorers that are not made yet
        return benchmark
    if len(names) == 1:
        return replace(benchmark, spec=replace(spec, reward=names[0]))
    raise DataError(
        f"the scorers give {', '.join(names)}: nothing says which of them the metrics reduce",
        hint=f"write `reward: {names[0]}`",
        line=benchmark.line_of("scorers"),
    )
