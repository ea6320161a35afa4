"""A work for helpers: squares, and who computed them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Squares:
    """Squares of numbers; some can only be computed by the process that asks."""

    home: int = 0
    only_at_home: tuple[int, ...] = ()

    def worker(self) -> Callable[[int], tuple[int, int]]:
        """Give a square and the process that computed it."""

        def square(number: int) -> tuple[int, int]:
            if number in self.only_at_home and os.getpid() != self.home:
                raise ValueError(number)
            return number**2, os.getpid()

        return square
