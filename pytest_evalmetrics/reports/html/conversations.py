"""The conversations of tasks that changed, as the page keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.transcripts import Turn


class TaskConversations(msgspec.Struct, frozen=True):
    """The conversations of a task's attempts, by the attempt's number."""

    before: dict[str, tuple[Turn, ...]]
    now: dict[str, tuple[Turn, ...]]

    @property
    def is_empty(self) -> bool:
        """Whether no attempt has one."""
        return not any((*self.before.values(), *self.now.values()))


def fitting(
    conversations: Mapping[str, TaskConversations], most: int
) -> dict[str, TaskConversations]:
    """Keep the first tasks whose conversations have so many bytes together."""
    kept = {}
    left = most
    for task, talk in conversations.items():
        if talk.is_empty:
            continue
        left -= len(msgspec.json.encode(talk))
        if left < 0:
            break
        kept[task] = talk
    return kept
