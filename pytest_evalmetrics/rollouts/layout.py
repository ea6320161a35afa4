"""Which columns of a table file hold what we need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.data.content import content_hash
from pytest_evalmetrics.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["Layout", "layout_of", "refused_cell"]

_MAX_SAMPLE = 2**63
_SHOWN = 60  # characters of a cell in a message


@dataclass(frozen=True, slots=True)
class Layout:
    """A table file's columns by what they are.

    Attributes
    ----------
    task, sample, agent
        Names of columns; None where there is none.
    content
        The columns of what a task is.
    numbered
        Whether whole numbers as ids are positions.
    scores
        Score -> column.
    labels
        Category -> column.
    needed
        The scores in which nothing but a number is accepted.
    """

    task: str | None
    sample: str | None
    agent: str | None
    content: tuple[str, ...]
    numbered: bool
    scores: Mapping[str, str]
    labels: Mapping[str, str]
    needed: frozenset[str]

    def used(self, scores: Iterable[str]) -> list[str]:
        """List the columns that are read, each once, where `scores` are those worth reading."""
        columns = (self.task, self.sample, self.agent, *self.labels.values(), *self.content)
        wanted = [*(c for c in columns if c is not None), *(self.scores[s] for s in scores)]
        return list(dict.fromkeys(wanted))

    def contents(
        self,
        agent: Sequence[str | None],
        task: Sequence[TaskId],
        columns: Sequence[Sequence[Any]],
        known: set[tuple[str | None, TaskId]],
    ) -> dict[tuple[str | None, TaskId], str]:
        """Hash the content of the tasks that were not met before: one row of each."""
        new: dict[tuple[str | None, TaskId], int] = {}
        for row, key in enumerate(zip(agent, task, strict=True) if columns else ()):
            if key not in known:
                new.setdefault(key, row)
        known.update(new)
        held = {key: [column[row] for column in columns] for key, row in new.items()}
        return {
            key: content_hash(parts[0] if len(parts) == 1 else parts)
            for key, parts in held.items()
            if any(part is not None for part in parts)
        }

    def check_task(self, value: Any, place: int, source: Source) -> None:
        """Refuse what is no task id."""
        if type(value) not in (int, str):
            raise refused_cell(source, place, "the task id", value, "text or a whole number")

    def check_sample(self, value: Any, place: int, source: Source) -> None:
        """Refuse what is no attempt's number."""
        if value is not None and (type(value) is not int or not 0 <= value < _MAX_SAMPLE):
            raise refused_cell(source, place, "the sample index", value, "a whole number from 0")


def layout_of(names: Sequence[str], request: Request, source: Source) -> Layout:
    """Find the columns, named as NeMo Gym does or by ``fields:``.

    Raises
    ------
    DataError
        If there is none with the tasks' ids.
    """
    fields = request.fields
    known = set(names)
    task = fields.task or "_ng_task_index"
    if task not in known and not request.by_position:
        raise source.error(
            f"no column has the tasks' ids: there is no {task!r}; "
            + did_you_mean(task, names, what="the columns"),
            hint="say which column has them, under rollouts: `fields: {task: COLUMN}`",
        )
    sample = fields.sample or "_ng_rollout_index"
    agent = fields.agent or "agent_ref.name"
    mapped = dict(fields.scores)
    if fields.reward is not None:
        mapped["reward"] = fields.reward
    taken = {task, sample, agent, *mapped, *mapped.values()}
    scores = {n: n for n in names if n not in taken and not n.startswith("_")}
    scores.update({name: column for name, column in mapped.items() if column in known})
    return Layout(
        task=task if task in known else None,
        sample=sample if sample in known else None,
        agent=agent if agent in known else None,
        content=tuple(column for column in fields.content or () if column in known),
        numbered=fields.task is None,
        scores=scores,
        labels={name: name for name in request.categories if name in known},
        needed=frozenset({*request.scores, *mapped}),
    )


def refused_cell(source: Source, place: int, what: str, value: Any, expected: str) -> Exception:
    """Make the error for a cell that holds something else than it has to."""
    shown = repr(value) if value is not None else "empty"
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    hint = "name another column under rollouts: `fields: {task: COLUMN, reward: COLUMN}`"
    return source.error_at(place, f"{what} is {shown}; expected {expected}", hint)
