"""``string-check``: a comparison of two texts."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.texts import as_text, compiled

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
class StringCheck:
    """1 where the left text compares as it should with the right one, else 0.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        Not needed: nothing is called.
    """

    scores = ("string-check",)

    def __init__(self, spec: StringCheckSpec, terms: Terms) -> None:
        del terms
        self._holds = _OPERATIONS[spec.operation]
        self._left = compiled(spec.left_template, spec.type)
        self._right = compiled(spec.right_template, spec.type)

    def score(self, row: Row) -> float:
        """Score one row."""
        left = as_text(self._left(row.context), "the left value")
        right = as_text(self._right(row.context), "the right value")
        return float(self._holds(left, right))
