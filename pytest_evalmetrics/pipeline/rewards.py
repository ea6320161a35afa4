"""Which score the metrics of a scored benchmark reduce."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["with_any_rollouts", "with_reward"]


def with_reward(
    benchmark: Benchmark, names: tuple[str, ...], measured: tuple[str, ...] = ()
) -> Benchmark:
    """Settle the reward: what the benchmark says, else the only score there is."""
    spec = benchmark.spec
    given = (*names, *measured)
    if ("reward",) in benchmark.lines or spec.reward in given:
        if spec.dataset is not None and spec.reward not in given:
            raise DataError(
                f"no scorer gives the reward {spec.reward!r}; "
                + did_you_mean(spec.reward, given, what="they give"),
                line=benchmark.line_of("reward"),
            )
        return benchmark
    if not names:  # of scorers that are not made yet
        return benchmark
    own = {name for scorer in spec.scorers for name in getattr(scorer, "judges_own", ())}
    names = tuple(name for name in names if name not in own)
    if len(names) == 1:
        return replace(benchmark, spec=replace(spec, reward=names[0]))
    raise DataError(
        f"the scorers give {', '.join(names)}: nothing says which of them the metrics reduce",
        hint=f"write `reward: {names[0]}`",
        line=benchmark.line_of("scorers"),
    )


def with_any_rollouts(benchmark: Benchmark) -> Benchmark:
    """Let tasks have fewer rollouts than ``num_samples``, where nothing else says how many."""
    spec = benchmark.spec
    if spec.expect.rollouts is not None:
        return benchmark
    return replace(benchmark, spec=replace(spec, expect=replace(spec.expect, rollouts="any")))
