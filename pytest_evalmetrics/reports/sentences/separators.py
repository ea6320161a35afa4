"""What the worse tasks have in common, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from pytest_evalmetrics.model.separators import Separator


def separator_text(separator: Separator) -> str:
    """Say which value separates worse tasks: ``kind hand (10 of 10 worse; others ...)``."""
    found = f"{separator.worse_with} of {separator.tasks_with}"
    others = f"{separator.worse_without} of {separator.tasks_without}"
    name = f"{separator.field} {separator.value}"
    return f"{name} ({found} worse; others {others})"


def separator_basis(separator: Separator) -> str:
    """Say how sure it is, and among how many values it was found."""
    looked_at = f"{many(separator.fields, 'field')}, {many(separator.values, 'value')}"
    odds = f"odds {separator.odds:.3g} : 1, p {separator.p:.2g}"
    return f"{odds}; the surest of {looked_at}"
