"""The places in plain rows that have a role: the task, the attempt, the agent, scores, labels."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.row_schema import LIST, NUMBER, Node
from pytest_evalmetrics.rollouts.source import NEMO_GYM_TASK, score_paths, task_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.loader import FieldPaths, Request
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.spec import FieldMap

_MAX_DOTS: Final = 9  # in a path; each one doubles its possible meanings
# of NeMo Gym; the rest is how it is asked
_QUESTION: Final = ("responses_create_params.input",)


class RowPlaces:
    """The places of rows that have a role, where NeMo Gym has them or where ``fields:`` says.

    Attributes
    ----------
    root
        The structure of the rows so far.
    scores
        For each score that ``fields:`` maps, the places that may hold it.
    task_parts
        For each part of the task's id, the places that may hold it.
    task, sample, agent
        The places that may hold the task's id, the attempt's number and the agent's name.
    labels
        For each category, the places that may hold it.
    contents
        For each part of the task's content, the places that may hold it.
    needed
        The scores that have to be numbers.
    """

    def __init__(self, request: Request, *, of_table: bool) -> None:
        fields = request.fields
        self.root = Node(open=True)
        self.scores: dict[str, list[Node]] = {}
        for name, path in score_paths(fields).items():
            self.scores[name] = self._declare(path)
        self.task_parts: dict[str, list[Node]] = {}
        for path in task_paths(fields) or (NEMO_GYM_TASK,):
            self.task_parts[path] = self._declare(path)
        self.task = list(chain.from_iterable(self.task_parts.values()))
        self.sample = self._declare(fields.sample or "_ng_rollout_index")
        self.agent = self._declare(fields.agent or "agent_ref.name")
        self.labels: dict[str, list[Node]] = {}
        for name in request.categories:
            self.labels[name] = self._declare(name)
        self.contents = [
            self._declare_whole(path)
            for path in _content_paths(fields, of_table=of_table)
        ]
        self._usage = self._open_usage()
        # a field with a role is not also a score under its own name
        self._taken = {*self.task, *self.sample, *self.agent}
        self._taken.update(*self.scores.values(), *self.contents)
        self.needed = {*request.scores, *self.scores}

    def _declare(self, path: str) -> list[Node]:
        """Declare a place whose value is read."""
        nodes = self._at(path)
        for node in nodes:
            node.whole = False
            node.wanted = True
        return nodes

    def _declare_whole(self, path: str) -> list[Node]:
        """Declare a place that is read as text, unless its value is read as well."""
        nodes = self._at(path)
        for node in nodes:
            if node.fields or node.items:
                raise DataError(
                    f"the content {path!r} holds fields that are read on their own",
                    hint="name its parts under rollouts: `fields: {content: [PATH, PATH]}`",
                )
            node.whole = not node.wanted
            node.wanted = True
        return nodes

    def _at(self, path: str) -> list[Node]:
        """Get the places that a path may mean."""
        if path.count(".") > _MAX_DOTS:
            message = f"the path {path!r} has more than {_MAX_DOTS + 1} parts"
            raise DataError(message, hint="write the rows flatter")
        return self.root.declare(path)

    def _open_usage(self) -> list[Node]:
        """Let the objects with the usage take keys that were not declared."""
        nodes = [
            self.root.field("response").field("usage"),
            self.root.field("usage"),
            self.root.field("metadata").field("usage"),
        ]
        for node in nodes:
            node.open = True
        return nodes

    def read_lists(self) -> None:
        """Let the mapped scores hold lists of verdicts."""
        for node in self._mapped:
            node.verdicts = True

    @property
    def _mapped(self) -> list[Node]:
        """The places of all scores that ``fields:`` maps."""
        return list(chain.from_iterable(self.scores.values()))

    @property
    def listed(self) -> list[Node]:
        """The places of the mapped scores that have held lists."""
        return [node for node in self._mapped if node.kinds & LIST and not node.items]

    def in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """Sort the columns of a table: the scores that ``fields:`` maps come last."""
        mapped = self._mapped
        return sorted(
            nodes, key=lambda node: mapped.index(node) if node in mapped else -1
        )

    def names_of_numbers(self) -> Iterator[tuple[str, bool]]:
        """Yield the names of all places that may hold a score, and whether it is of the usage."""
        for name in dict.fromkeys((*self.root.fields, *self.scores)):
            yield name, False
        for usage in self._usage:
            for name in usage.fields:
                yield name, True

    def scores_at(self, node: Node) -> Iterator[tuple[str, bool]]:
        """Yield the scores of a place by its values so far, and whether they are of the usage."""
        for score, nodes in self.scores.items():
            if node in nodes:
                yield score, False
        name = node.key
        if name in self.scores or name.startswith("_") or not self._may_be_score(node):
            return
        if self.root.fields.get(name) is node:
            yield name, False
        elif any(usage.fields.get(name) is node for usage in self._usage):
            yield name, True

    def _may_be_score(self, node: Node) -> bool:
        """Check for a place that holds a needed score, or numbers and no other role."""
        if node.key in self.needed:
            return True
        return node not in self._taken and bool(node.kinds & NUMBER)

    def of_score(self, score: str, *, usage: bool) -> list[Node]:
        """Get the places that may hold a score, or its namesake of the usage."""
        if score in self.scores:
            return self.scores[score]
        holders = self._usage if usage else [self.root]
        return [node.fields[score] for node in holders if score in node.fields]


def _content_paths(fields: FieldMap | FieldPaths, *, of_table: bool) -> tuple[str, ...]:
    """Return the paths of the content; without one, NeMo Gym's question in rows of JSON."""
    if fields.content is not None:
        return fields.content
    return () if of_table else _QUESTION


def first_in(record: Record, nodes: Iterable[Node]) -> JsonValue:
    """Take the first value of a row's places that is not null."""
    for node in nodes:
        value = record.get(node)
        if value is not None:
            return value
    return None
