"""Which benchmarks and checks a run has, and what came of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Selection:
    """The items of a run that evaluate something, by their node ids."""

    def __init__(self) -> None:
        self.collected: set[str] = set()  # to be evaluated
        self.present: set[str] = set()  # before any selection
        self.skipped: dict[str, str] = {}  # and why
        self._is_complete: dict[str, bool] = {}  # whether it was evaluated to its end

    def add(self, collected: Iterable[str], present: Iterable[str] = ()) -> None:
        """Add items; `present` ones may have been deselected."""
        self.collected.update(collected)
        self.present.update(present)

    def skip(self, item: str, reason: str) -> None:
        """Record that an item is skipped."""
        self.skipped[item] = reason

    def finish(self, item: str) -> None:
        """Record that an item was evaluated to its end, or was again."""
        self._is_complete[item] = True

    def break_off(self, item: str) -> None:
        """Record that an item failed before its end."""
        self._is_complete[item] = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to evaluate, selected or not."""
        return not self.collected and not self.present

    @property
    def lost(self) -> set[str]:
        """The items that were collected, and not evaluated to their end."""
        without_outcome = (
            self.collected - self.skipped.keys() - self._is_complete.keys()
        )
        broken_off = {
            item for item, is_complete in self._is_complete.items() if not is_complete
        }
        return without_outcome | broken_off

    @property
    def deselected(self) -> list[str]:
        """The items that the run's selection leaves out, sorted."""
        return sorted(self.present - self.collected)

    @property
    def skipped_of_collected(self) -> dict[str, str]:
        """The skipped items among the collected ones, and why."""
        return {
            item: reason
            for item, reason in self.skipped.items()
            if item in self.collected
        }
