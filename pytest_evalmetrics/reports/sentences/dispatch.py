"""One sentence a reason: functions for each kind are registered here by their topic."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_evalmetrics.model.verdicts import Acceptance


@singledispatch
def sentence(reason: object) -> str:
    """Say one reason."""
    raise TypeError(f"there is no sentence for {type(reason).__name__}")


@singledispatch
def text_of(reason: object, acceptance: Acceptance | None) -> str:  # noqa: ARG001
    """Say one reason; `acceptance` tells what the run is compared with."""
    return sentence(reason)
