"""The texts about a benchmark's tasks, made where they were evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_evalmetrics.reports.html.picture import first
from pytest_evalmetrics.reports.html.safe import as_data

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["PagePieces", "page_pieces"]

_MOST = 1_500_000  # bytes of one benchmark's tasks
_BRIEF = 50  # tasks
_SPARE = 0.9  # the tasks that are left may be longer than those that are not


class PagePieces(NamedTuple):
    """Where the texts are kept: each one's start and length."""

    about: tuple[int, int]  # all tasks summed up
    brief: tuple[int, int]  # the fifty most telling tasks of each agent
    tasks: tuple[int, int]  # as many as a page shows


def page_pieces(pictures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Write the texts, in the order of `PagePieces`."""
    if not pictures:
        return ["", "", ""]
    about = as_data({agent: picture["about"] for agent, picture in pictures.items()})
    found = {agent: picture["tasks"] for agent, picture in pictures.items()}
    tasks = as_data(found)
    while len(tasks) > _MOST:
        share = _SPARE * _MOST / len(tasks)
        found = {agent: first(of, int(share * len(of["ids"]))) for agent, of in found.items()}
        tasks = as_data(found)
    brief = tasks
    if any(len(of["ids"]) > _BRIEF for of in found.values()):
        brief = as_data({agent: first(of, _BRIEF) for agent, of in found.items()})
    return [part.decode() for part in (about, brief, tasks)]
