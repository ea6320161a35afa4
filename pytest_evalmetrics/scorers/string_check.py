"""``string-check``: a comparison of two texts."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import SidesScorer, as_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import StringCheckSpec

__all__ = ["StringCheck"]

_OPERATIONS: dict[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("equals", "=="), operator.eq),
    **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
    "contains": operator.contains,
    "not contains": lambda left, right: right not in left,
    "startswith": str.startswith,
    "endswith": str.endswith,
}


@register_scorer("string-check")
class StringCheck(SidesScorer):
    """1 where the left text compares as it should with the right one, else 0."""

    def __init__(self, spec: StringCheckSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        self._holds = _OPERATIONS[spec.operation]

    def score(self, row: Row) -> float:
        """Score one row."""
        return float(self._holds(*self._sides(row, as_text)))
