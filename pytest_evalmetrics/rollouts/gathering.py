"""Rollouts of other tools, one by one, made into a chunk."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pytest_evalmetrics.data.content import content_hash, join_versions
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.seam import Chunk, Failure, NotFinite
from pytest_evalmetrics.rollouts.values import flat, lookup, number
from pytest_evalmetrics.spec.metric_names import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["Gathering", "Rollout", "Ungraded"]

_SHOWN: Final = 160  # characters of an error's message


class Ungraded(NamedTuple):
    """What went wrong in the grading alone: the attempt is there, and can be scored anew."""

    kind: str
    said: str = ""


@dataclass(slots=True)
class Rollout:
    """One attempt as a tool recorded it.

    Attributes
    ----------
    record
        Everything that the tool wrote of it, for ``fields:`` and for labels.
    name
        What it is called in messages: the file, and what tells it from others there.
    task, sample, agent
        Whose attempt it is; None where the tool does not say.
    scores
        Score -> a number, or what the file has in place of one.
    usage
        What it took, see `usage`.
    error
        What went wrong: its kind, and what it said; an `Ungraded` where the attempt went well.
    started
        When it began, in seconds.
    rewards
        Which of the scores stand for a reward; all of them if None.
    content
        What the task is, where the tool keeps it: the question.
    """

    record: Mapping[str, Any]
    name: str
    task: TaskId
    sample: int | None = None
    agent: str | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, float | None] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    started: float | None = None
    rewards: Sequence[str] | None = None
    content: Any = None


class Gathering:
    """Collects the rollouts of one file, or of a part of it.

    Parameters
    ----------
    request
        What the benchmark wants.
    source
        The file.
    """

    def __init__(self, request: Request, source: Source) -> None:
        self._source = source
        self._categories = request.categories
        self._records: list[Mapping[str, Any]] | None = [] if request.whole else None
        fields = request.fields
        self._paths = dict(fields.scores)
        if fields.reward is not None:
            self._paths["reward"] = fields.reward
        self._fields = fields
        self._needed = {*request.scores, *self._paths}
        self._rows = 0
        self._task: list[TaskId] = []
        self._sample: list[int | None] = []
        self._agent: list[str | None] = []
        self._started: list[float] = []
        self._names: list[str] = []
        self._scores: dict[str, dict[int, float]] = {}
        self._usage: dict[str, dict[int, float]] = {}
        self._labels: dict[str, list[str | None]] = defaultdict(list)
        self._fractional: set[str] = set()
        self._not_finite: list[NotFinite] = []
        self._not_numbers: dict[str, str] = {}
        self._failures: list[Failure] = []
        self._keys: dict[str, None] = {}
        self._rewards: dict[str, None] = {}
        self.notes: list[str] = []
        self._content: dict[tuple[str | None, TaskId], str] = {}
        self.versioned = self.positional = False
        self._ruler: Counter[tuple[str, str, str]] = Counter()
        self._of_tasks: set[tuple[str, str, str]] = set()

    @property
    def graded(self) -> tuple[str, ...]:
        """The names of the scores so far."""
        return tuple(self._scores)

    def __len__(self) -> int:
        return self._rows

    def add(self, rollout: Rollout) -> None:
        """Add one rollout.

        Raises
        ------
        DataError
            If it has something else where a number has to be, or lacks what ``fields:`` names.
        """
        row = self._rows
        scores = dict(rollout.scores)
        self._rewards.update(dict.fromkeys(scores if rollout.rewards is None else rollout.rewards))
        for name, path in self._paths.items():
            scores[name] = scores[path] if path in scores else lookup(rollout.record, path)
        grades = {"reward", *(rollout.scores if rollout.rewards is None else rollout.rewards)}
        found = {name for name, value in scores.items() if self._add_score(name, value, rollout)}
        graded = not found.isdisjoint(grades)
        for name, amount in rollout.usage.items():
            column = self._usage.setdefault(name, {})
            # what a failed call is said to cost or to have read was not measured
            if amount is not None and math.isfinite(amount) and (graded or amount):
                column[row] = float(amount)
                if isinstance(amount, float):
                    self._fractional.add(name)
        if rollout.error is not None:
            kind, said = rollout.error
            self._failures.append(Failure(row, kind, _short(said), graded))
        self._task.append(self._of(rollout, self._fields.task, "task", rollout.task, (int, str)))
        self._sample.append(
            self._of(rollout, self._fields.sample, "sample", rollout.sample, (int, type(None)))
        )
        self._agent.append(
            self._of(rollout, self._fields.agent, "agent", rollout.agent, (str, type(None)))
        )
        self._identify(rollout)
        self._started.append(math.nan if rollout.started is None else rollout.started)
        self._names.append(rollout.name)
        for name in self._categories:
            self._labels[name].append(self._label(rollout, name))
        self._keys.update(dict.fromkeys(rollout.record))
        if self._records is not None:
            failed = rollout.error is not None and not isinstance(rollout.error, Ungraded)
            self._records.append(_told(rollout) if failed and not graded else rollout.record)
        self._rows += 1

    def measured(
        self, name: str, scores: Iterable[str], settings: Mapping[str, Any], own: str = ""
    ) -> None:
        """Add what scored; a value that tasks have of their own counts where most have it."""
        found = [(name, "scores", score) for score in scores]
        for key, value in flat("", settings):
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            found.append((name, key, text))
            if own and key.partition(" ")[0] == own:
                self._of_tasks.add(found[-1])
        self._ruler.update(found)

    def _measuring(self) -> Iterator[tuple[str, str, str]]:
        for entry, count in self._ruler.items():
            if entry not in self._of_tasks or 2 * count > self._rows:
                yield entry
            if entry[1] == "scores":  # what ``fields:`` takes from it, or from who knows where
                for name, path in self._paths.items():
                    if path == entry[2] or path not in self._scores:
                        yield entry[0], "scores", name

    def _identify(self, rollout: Rollout) -> None:
        content, paths = rollout.content, self._fields.content
        if paths is not None:
            held = [lookup(rollout.record, path) for path in paths]
            content = held if any(part is not None for part in held) else None
        if content is None:
            return
        key, hashed = (self._agent[-1], self._task[-1]), content_hash(content)
        known = self._content.setdefault(key, hashed)
        if known != hashed and self.versioned:
            self._content[key] = join_versions(known, hashed)
        elif known != hashed:
            raise DataError(
                f"the task {key[1]!r} has rollouts of different questions",
                file=rollout.name,
                hint="was the data set changed in the middle of the run? name what tells its tasks "
                "apart: `fields: {task: KEY}` under rollouts",
            )

    def _add_score(self, name: str, value: Any, rollout: Rollout) -> bool:
        column = self._scores.setdefault(name, {})
        if value is None:
            return False
        if not isinstance(value, bool | int | float):
            if name in self._needed:
                raise DataError(
                    f"the score {name!r} is {_shown(value)}; expected a number, true, false or "
                    "null",
                    file=rollout.name,
                    hint="name what holds a number: `reward: NAME`, or `fields: {reward: PATH}` "
                    "under rollouts",
                )
            self._not_numbers.setdefault(name, rollout.name)
            return False
        amount = number(value)
        if amount is None or not math.isfinite(amount):
            what = "NaN" if amount is not None and math.isnan(amount) else "infinite or too large"
            self._not_finite.append(NotFinite(name, what, self._rows + 1))
            return False
        if isinstance(value, float):
            self._fractional.add(name)
        column[self._rows] = amount
        return True

    def _of(
        self, rollout: Rollout, path: str | None, what: str, given: Any, kinds: tuple[type, ...]
    ) -> Any:
        value = given if path is None else lookup(rollout.record, path)
        if type(value) not in kinds or (type(value) is int and what == "sample" and value < 0):
            key = "" if path is None else f", which {path!r} is to hold,"
            raise DataError(
                f"the {what}{key} is {_shown(value)}",
                file=rollout.name,
                hint=f"say which key holds it, under rollouts: `fields: {{{what}: KEY}}`",
            )
        return value

    def _label(self, rollout: Rollout, name: str) -> str | None:
        value = lookup(rollout.record, name)
        if isinstance(value, dict | list):
            raise DataError(
                f"{name!r} is {_shown(value)}; expected text, a number or a boolean",
                file=rollout.name,
                hint=f"name what holds a single value, such as {name}.KEY",
            )
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def chunk(self) -> Chunk:
        """Make columns of what was added."""
        rows = self._rows
        return Chunk(
            places=np.arange(1, rows + 1),
            task=self._task,
            sample=self._sample,
            agent=self._agent,
            scores={name: _column(values, rows) for name, values in self._scores.items()},
            usage={name: _column(v, rows) for name, v in self._usage.items() if v},
            labels={n: v for n, v in self._labels.items() if any(x is not None for x in v)},
            fractional=frozenset(self._fractional),
            not_finite=self._not_finite,
            not_numbers=self._not_numbers,
            keys=tuple(self._keys),
            names=self._names,
            started=np.array(self._started, np.float64),
            failures=self._failures,
            notes=self.notes,
            rewards=tuple(self._rewards),
            records=self._records or (),
            content=self._content,
            versioned=self.versioned,
            positional=self.positional and self._fields.task is None,
            ruler=tuple(self._measuring()),
        )


def _told(rollout: Rollout) -> dict[str, Any]:
    """Give the record of an attempt that failed: whatever it holds is not to be scored."""
    kind, said = rollout.error or ("error", "")
    return {**rollout.record, MARK: {"failed": [kind, _short(said) or kind]}}


def _column(values: Mapping[int, float], rows: int) -> NDArray[np.float64]:
    column = np.full(rows, math.nan)
    column[list(values)] = list(values.values())
    return column


def _shown(value: Any) -> str:
    kinds: dict[Any, str] = {str: "text: ", list: "a list: ", dict: "an object: "}
    text = json.dumps(value, ensure_ascii=False, default=str)
    return kinds.get(type(value), "") + (text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
