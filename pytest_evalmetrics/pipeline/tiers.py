"""Advisory gates: what would fail is shown, and fails nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.gate_settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.spec import Benchmark


def with_tiers(
    benchmark: Benchmark, checks: Iterable[Check], *, is_required: bool
) -> tuple[Check, ...]:
    """Let the failures of advisory gates warn.

    `is_required` says that the project's policy requires the benchmark, whatever its file says.
    """
    return tuple(
        _with_tier(check, tier_of(benchmark, check, is_required=is_required))
        for check in checks
    )


def _with_tier(check: Check, tier: Tier) -> Check:
    if tier is Tier.REQUIRED or not check.verdict.fails:
        return check
    return structs.replace(check, verdict=Verdict.WARN, tier=tier)


def tier_of(benchmark: Benchmark, check: Check, *, is_required: bool) -> Tier:
    """Return the tier of a gate: its metric's, its slices', or the benchmark's."""
    spec = benchmark.spec
    own: str | None = None
    if check.gate is Gate.THRESHOLD and check.name in spec.thresholds:
        own = spec.thresholds[check.name].tier
    elif isinstance(check.bound, SlicesBound):
        own = settings_of(benchmark).slices_tier
    elif check.gate is Gate.BEHAVIOUR and spec.behaviour is not None:
        own = spec.behaviour.tier
    elif check.gate is Gate.BASELINE and spec.baseline is not None:
        own = spec.baseline.gate_of(check.name).tier
    if own is not None:
        return Tier(own)
    return Tier.REQUIRED if is_required else Tier(spec.tier)
