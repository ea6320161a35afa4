"""What pytest-retry asks of each item that it runs again."""

from __future__ import annotations


class RunsAgain:
    """A part of an item without fixtures, which pytest-retry may run again."""

    def _initrequest(self) -> None:
        """Do nothing: pytest-retry lets a test forget its fixtures."""
