"""Which places of a JSON row hold what we need, and which rows are refused for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.rollouts.schema import NUMBER, Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_evalmetrics.rollouts.schema import Record
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Row, Source

__all__ = ["Roles"]

_MAX_DOTS = 9  # in a path: each one doubles what the path may mean
_MAX_SAMPLE = 2**63
_SHOWN = 60  # characters of a value in a message
_QUESTION = "responses_create_params.input"  # of NeMo Gym; the rest is how it is asked
_SAY_WHICH = "say which key holds it, under rollouts: `fields: {{{}: KEY}}`"
_NAME_A_NUMBER = (
    "write it as a number, or name what holds the number: `reward: NAME`, "
    "or `fields: {reward: PATH}` under rollouts"
)
_KINDS = {str: "text", list: "a list", dict: "an object", bool: "a boolean"}


class Roles:
    """NeMo Gym's reading of a row, changed by what ``fields:`` says.

    A row's numbers are the numbers and booleans at its top, then those of
    ``response.usage`` and ``usage``. Where a thing may stand in several places, the first
    one that holds something counts; for a score, the first one that holds a number.

    Parameters
    ----------
    request
        What the benchmark wants.

    Attributes
    ----------
    root
        The row.
    task, sample, agent
        The places that may hold them.
    labels
        The same for each category.
    content
        The same for each part of a task's content.
    names_tasks
        Whether the benchmark file names the task's id, which then is no position.
    needed
        The scores in which nothing but a number is accepted.
    """

    def __init__(self, request: Request) -> None:
        self.root = Node()
        self.root.open = True
        fields = request.fields
        paths = dict(fields.scores)
        if fields.reward is not None:
            paths["reward"] = fields.reward
        self._mapped = {name: self._declare(path) for name, path in paths.items()}
        self._task_path = fields.task or "_ng_task_index"
        self.task = self._declare(self._task_path)
        self.sample = self._declare(fields.sample or "_ng_rollout_index")
        self.agent = self._declare(fields.agent or "agent_ref.name")
        # what is read as one thing is no score under its own name as well
        self._taken = {*self.task, *self.sample, *self.agent}
        self._taken.update(*self._mapped.values())
        self.labels = {name: self._declare(name) for name in request.categories}
        self.names_tasks = fields.task is not None
        self.content = [self._whole(path) for path in fields.content or (_QUESTION,)]
        self._taken.update(*self.content)
        self._usage = [self.root.field("response").field("usage"), self.root.field("usage")]
        for node in self._usage:
            node.open = True
        self.needed = {*request.scores, *self._mapped}
        self._by_position = request.by_position

    def _declare(self, path: str) -> list[Node]:
        if path.count(".") > _MAX_DOTS:
            raise DataError(
                f"the path {path!r} has more than {_MAX_DOTS + 1} parts",
                hint="write the rows flatter",
            )
        nodes = self.root.declare(path)
        for node in nodes:
            node.wanted = True
        return nodes

    def _whole(self, path: str) -> list[Node]:
        """Declare a place that is read as text, unless something else needs its value."""
        if path.count(".") > _MAX_DOTS:
            raise DataError(f"the path {path!r} has more than {_MAX_DOTS + 1} parts")
        nodes = self.root.declare(path)
        for node in nodes:
            if node.fields or node.items:
                raise DataError(
                    f"the content {path!r} holds fields that are read on their own",
                    hint="name its parts under rollouts: `fields: {content: [PATH, PATH]}`",
                )
            node.whole = not node.wanted
            node.wanted = True
        return nodes

    def scores_at(self, node: Node) -> Iterator[tuple[str, bool]]:
        """Tell which scores a place holds by what it has held so far.

        Yields
        ------
        name, usage
            The score, and whether it is one of the usage.
        """
        name = node.key
        for mapped, nodes in self._mapped.items():
            if node in nodes:
                yield mapped, False
        if name in self._mapped or name.startswith("_"):
            return
        if name not in self.needed and (node in self._taken or not node.kinds & NUMBER):
            return
        if self.root.fields.get(name) is node:
            yield name, False
        elif any(usage.fields.get(name) is node for usage in self._usage):
            yield name, True

    def names(self) -> set[tuple[str, bool]]:
        """Name what may be a score, and tell whether it is one of the usage."""
        tops = {(name, False) for name in (*self.root.fields, *self._mapped)}
        return tops | {(name, True) for usage in self._usage for name in usage.fields}

    def places_of(self, score: str, *, usage: bool) -> list[Node]:
        """Get the places that may hold a score, or its namesake of the usage."""
        if score in self._mapped:
            return self._mapped[score]
        above = self._usage if usage else [self.root]
        return [node.fields[score] for node in above if score in node.fields]

    # -- refusing -------------------------------------------------------------------------

    def check(self, record: Record, row: Row, source: Source) -> None:
        """Look closely at one row.

        Raises
        ------
        DataError
            If it lacks a task's id, or holds something else where a number has to be.
        """
        for message, hint in self._problems(record):
            raise source.error(message, row, hint=hint)

    def _problems(self, record: Record) -> Iterator[tuple[str, str]]:
        task = _first(self.task, record)
        if self._by_position:
            pass
        elif task is None:
            yield self._no_task(record), _SAY_WHICH.format("task")
        elif type(task) not in (int, str):
            yield _refusal("the task id", task, "a whole number or text", "task")
        sample = _first(self.sample, record)
        if sample is not None and (type(sample) is not int or not 0 <= sample < _MAX_SAMPLE):
            yield _refusal("the sample index", sample, "a whole number from 0", "sample")
        agent = _first(self.agent, record)
        if agent is not None and not isinstance(agent, str):
            yield _refusal("the agent's name", agent, "text", "agent")
        for name, nodes in self.labels.items():
            label = _first(nodes, record)
            if isinstance(label, dict | list):
                yield (
                    f"{name!r} is {_shown(label)}; expected text, a number or a boolean",
                    f"name what holds a single value, such as {name}.KEY",
                )
        for name in sorted(self.needed):
            places = self.places_of(name, usage=True) + self.places_of(name, usage=False)
            found = [record[node] for node in places if record.get(node) is not None]
            if found and not any(isinstance(value, int | float) for value in found):
                wrong = f"the score {name!r} is {_shown(found[0])}"
                yield f"{wrong}; expected a number, true, false or null", _NAME_A_NUMBER

    def _no_task(self, record: Record) -> str:
        keys = [node.key for node in record if self.root.fields.get(node.key) is node]
        if any(node in record for node in self.task):
            what = f"{self._task_path!r} is null; the row's keys: {', '.join(sorted(keys))}"
        else:
            guess = did_you_mean(self._task_path, keys, what="the row's keys")
            what = f"{self._task_path!r} is not there; {guess}"
        return f"this row has no task id: {what}"


def _first(nodes: Iterable[Node], record: Record) -> Any:
    return next((record[n] for n in nodes if record.get(n) is not None), None)


def _refusal(what: str, value: Any, expected: str, field: str) -> tuple[str, str]:
    return f"{what} is {_shown(value)}; expected {expected}", _SAY_WHICH.format(field)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    return f"{_KINDS[type(value)]}: {text}" if type(value) in _KINDS else text
