"""``number-check``: a comparison of the last numbers of two texts."""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.texts import SidesScorer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import NumberCheckSpec

__all__ = ["NumberCheck"]

# the last number of a text, read backwards: forwards it would take the square of its length
_LAST = re.compile(r"\d[.\d]*[+-]?")
_OPERATIONS: dict[str, Callable[[float, float], bool]] = {
    **dict.fromkeys(("equals", "=="), operator.eq),
    **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
    **dict.fromkeys((">=", "gte", "greater than or equal"), operator.ge),
    **dict.fromkeys((">", "gt", "greater than"), operator.gt),
    **dict.fromkeys(("<=", "lte", "less than or equal"), operator.le),
    **dict.fromkeys(("<", "lt", "less than"), operator.lt),
}


@register_scorer("number-check")
class NumberCheck(SidesScorer):
    """1 where the left number compares as it should with the right one, else 0.

    Of a text the last number counts: a sign, digits, and at most one point. What is a number
    already is taken as it is.
    """

    def __init__(self, spec: NumberCheckSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        epsilon = spec.epsilon
        self._holds: Callable[[float, float], bool] = (
            _OPERATIONS[spec.operation]
            if epsilon is None
            else lambda left, right: abs(left - right) <= epsilon
        )

    def score(self, row: Row) -> float:
        """Score one row."""
        return float(self._holds(*self._sides(row, _number)))


def _number(value: Any, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) or math.isfinite(value):
            return value
    elif isinstance(value, str):
        found = _LAST.search(value[::-1])
        if found is not None:
            text = found[0][::-1]
            try:
                return float(text) if "." in text else int(text)
            except ValueError:  # 1.2.3, or thousands of digits
                pass
    raise RowError("no-number", f"{what} is {shown(value)}, expected a text with a number")
