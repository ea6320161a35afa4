"""Why a gate is blind: no loss of any size could fail it."""

from __future__ import annotations

from typing import Literal

import msgspec


class FewUnits(msgspec.Struct, frozen=True, tag="few_units"):
    """No drop of any size can be significant over so few units."""

    unit: Literal["task", "cluster"]
    units: int
    needed: int
    alpha: float


class FewRollouts(msgspec.Struct, frozen=True, tag="few_rollouts"):
    """No drop of one task can be significant with so few rollouts."""

    needed: int  # of each task, on both sides
    alpha: float


class AllLost(msgspec.Struct, frozen=True, tag="all_lost"):
    """Everything is lost, and too few tasks had anything to lose for a small p."""

    alpha: float


class FewRuns(msgspec.Struct, frozen=True, tag="few_runs"):
    """Everything is lost, and too few runs show how much a run may differ by chance."""

    runs: int  # of the baseline
    alpha: float


Blindness = FewUnits | FewRollouts | AllLost | FewRuns
