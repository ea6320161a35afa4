"""What all notes share."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class NoteFacts(msgspec.Struct, frozen=True):
    """The facts of a note; notes of one group are shown as one."""

    # kinds with the same subject are one group; a kind without one is a group of its own
    subject: ClassVar[str] = ""

    @property
    def group(self) -> tuple[str, ...]:
        """What notes of one group share."""
        return (self.subject or type(self).__name__,)
