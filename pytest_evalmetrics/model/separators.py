"""What the tasks that got worse have in common, and the others have not."""

from __future__ import annotations

import msgspec


class Separator(msgspec.Struct, frozen=True, kw_only=True):
    """A value of a field that separates the tasks that got worse from the others.

    Of each task it is one row, of its worst attempt.
    """

    agent: str  # of the tasks
    field: str  # a field of the rows, or what was found in their texts
    value: str
    tasks_with: int  # tasks that have the value, and how many of them got worse
    worse_with: int
    tasks_without: int
    worse_without: int
    odds: float  # the odds ratio of getting worse with it and without it
    p: float  # Fisher's one-sided p, adjusted for all values that were looked at
    fields: int  # that were looked at
    values: int  # of these fields
