"""Keys of a benchmark file that have a new name.

The old name is read in the version that renamed the key and in the next minor one, with a
warning that shows the line to write. After that it is an error that shows the same line.
"""

from __future__ import annotations

from typing import Final

import msgspec


class RenamedKey(msgspec.Struct, frozen=True):
    """A key that has a new name; its value goes there as it is."""

    # both are paths below a benchmark, such as ("baseline", "max_drop"); ``*`` stands for
    # each key or position, and then both paths begin alike
    old: tuple[str, ...]
    new: tuple[str, ...]
    since: tuple[int, int]  # the minor version that renamed it: (0, 2)

    @property
    def until(self) -> tuple[int, int]:
        """The minor version that reads the old name no more."""
        major, minor = self.since
        return major, minor + 2


# no key has been renamed yet
RENAMED: Final[tuple[RenamedKey, ...]] = ()
