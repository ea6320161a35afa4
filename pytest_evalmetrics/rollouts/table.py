"""Chunks of every format to the one table: order, numbering, duplicates, what is lacking."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import STATED_COUNT, STATED_ERROR, Category, RolloutTable, SourceFile
from pytest_evalmetrics.data.content import NO_CONTENT, SIZE, VERSIONS, content_hash
from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.part import NO_SAMPLE, Part
from pytest_evalmetrics.rollouts.source import score_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.loader import Chunk, Request
    from pytest_evalmetrics.rollouts.part import Where
    from pytest_evalmetrics.rollouts.source import Source


class TableBuilder:
    """Gathers chunks, file after file."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._sources: list[tuple[Source, int]] = []  # and how many rows it has
        self._lines = 0  # of the last source, in the parts of it that were added
        self.part = Part(request)

    def add(self, source: Source, chunk: Chunk) -> None:
        """Add the next rows of a file."""
        self._goes_on(source, len(chunk.places))
        self.part.add(chunk, source, len(self._sources) - 1)

    def extend(self, source: Source, part: Part) -> None:
        """Add the next rows of a file, read on their own."""
        self._goes_on(source, part.rows)
        self.part.extend(part, file=len(self._sources) - 1, lines=self._lines)
        self._lines += part.lines

    def _goes_on(self, source: Source, rows: int) -> None:
        if not self._sources or self._sources[-1][0].path != source.path:
            self._sources.append((source, 0))
            self._lines = 0
        self._sources[-1] = (source, self._sources[-1][1] + rows)

    # -- the table ------------------------------------------------------------------------

    def build(self) -> RolloutTable:
        """Make the table, once: what was gathered is let go."""
        scores = self._with_reward(self._merged())
        self._must_be_there(scores)
        agent = np.frombuffer(self.part.agent, np.int32)
        tasks, task = self._ordered_tasks()
        content = self._contents(agent, task, tasks)
        sample = self._numbered(agent, task)
        order = self._order(agent, task, sample, tasks)

        def sort(column: NDArray[Any]) -> NDArray[Any]:
            return column if order is None else column[order]

        notes = self._notes(scores)
        ruler: dict[str, dict[str, list[str]]] = {}
        for name, key, value in sorted(self.part.ruler):
            ruler.setdefault(name, {}).setdefault(key, []).append(value)
        integers = frozenset(
            name
            for name, column in scores.items()
            if name not in self.part.fractional and not np.isnan(column).any()
        )
        ordered = {}
        for name in tuple(scores):  # each is let go at once: there is never a copy of them all
            ordered[name] = sort(scores.pop(name))
            self.part.scores.pop(name, None)
            self.part.usage.pop(name, None)
        return RolloutTable(
            agents=tuple(self.part.agents),
            agent=sort(agent),
            tasks=tasks,
            task=sort(task),
            sample=sort(sample),
            scores=ordered,
            integers=integers,
            categories={
                name: Category(sort(np.frombuffer(column, np.int32)), tuple(codes))
                for name, (codes, column) in self.part.labels.items()
            },
            sources=tuple(self._source_files()),
            notes=notes,
            read_as=np.arange(self.part.rows) if order is None else order,
            content=None if content is None else sort(content),
            positional=self.part.positional,
            ruler=ruler,
        )

    def _source_files(self) -> Iterator[SourceFile]:
        end = 0
        for source, rows in self._sources:
            start, end = end, end + rows
            in_lines = rows > 0 and source.head[:1] == b"{" and start not in self.part.names
            # lines ascend: none was blank where the last row's is as many as there are rows
            yield SourceFile(
                source.shown, rows, source.size, in_lines and self.part.place[end - 1] == rows
            )

    def _merged(self) -> dict[str, NDArray[np.float64]]:
        scores = {
            name: np.frombuffer(column)
            for name, column in self.part.scores.items()
            if name not in self.part.usage
        }
        for name, column in self.part.usage.items():
            usage = np.frombuffer(column)
            if name in self.part.scores:
                usage = np.where(np.isnan(usage), np.frombuffer(self.part.scores[name]), usage)
            scores[name] = usage
        return scores

    def _with_reward(self, scores: dict[str, NDArray[np.float64]]) -> dict[str, Any]:
        """Let the only score of a format that has no reward be the reward."""
        if self.part.rewards is not None and not self.part.scores and self.part.failures:
            absent = np.full(self.part.rows, math.nan)  # all of them failed
            scores = {**dict.fromkeys(self._request.scores, absent), **scores}
        wanted = "reward" in self._request.scores and self._request.fields.reward is None
        if "reward" in scores or not wanted or self.part.rewards is None:
            return scores
        if len(self.part.rewards) > 1:
            raise DataError(
                "several scores could be the reward: " + ", ".join(self.part.rewards),
                file=self._sources[0][0].shown,
                hint=f"say which: `reward: {next(iter(self.part.rewards))}`, beside rollouts",
            )
        for name in self.part.rewards:
            if name in self.part.fractional:
                self.part.fractional.add("reward")
            for prefix in ("", STATED_ERROR, STATED_COUNT):
                if prefix + name in scores:
                    scores[prefix + "reward"] = scores[prefix + name]
            measured = {
                of for of, key, score in self.part.ruler if (key, score) == ("scores", name)
            }
            self.part.ruler.update(dict.fromkeys((of, "scores", "reward") for of in measured))
        return scores

    def _must_be_there(self, scores: Mapping[str, Any]) -> None:
        fields = self._request.fields
        keys = list(self.part.keys)
        for name, path in score_paths(fields).items():
            if name not in scores:
                raise self._lacking(f"the path {path!r} of the score {name!r}", path, keys)
        content = None if fields.content is None else fields.content[0]
        for what, known, asked in (
            ("agent", self.part.any_agent, fields.agent),
            ("sample", self.part.any_sample, fields.sample),
            ("content", self.part.content or self._request.by_position, content),
        ):
            if asked is not None and not known:
                raise self._lacking(f"the path {asked!r} of the {what}", asked, keys)
        for name in self._request.categories:
            if name not in self.part.labelled:
                raise self._lacking(f"the field {name!r}", name, keys)
        for name in self._request.scores:
            if name not in scores:
                raise DataError(
                    f"the score {name!r} is in no row; "
                    + did_you_mean(name, scores, what="the scores there are"),
                    file=self._sources[0][0].shown if len(self._sources) == 1 else None,
                    hint="name one of these with `reward: NAME`, or say where the rows keep it "
                    "with `fields: {reward: PATH}` under rollouts",
                )

    def _lacking(self, what: str, path: str, keys: Sequence[str]) -> DataError:
        return DataError(
            f"{what} is in no row; "
            + did_you_mean(path.split(".", maxsplit=1)[0], keys, what="the rows' keys"),
            hint="a path goes through objects by key and lists by index: result.metrics.f1",
        )

    def _ordered_tasks(self) -> tuple[tuple[TaskId, ...], NDArray[np.int64]]:
        if self._request.by_position:
            return tuple(range(self.part.rows)), np.arange(self.part.rows)
        codes = np.frombuffer(self.part.task, np.int64)
        ids: list[Any] = list(self.part.tasks)
        if str in set(map(type, ids)):
            self._must_differ_as_text(codes)
            ids = [str(task) for task in ids]
        ordered = sorted(set(ids))
        if ordered == ids:
            return tuple(ordered), codes
        rank = {task: i for i, task in enumerate(ordered)}
        return tuple(ordered), np.array([rank[task] for task in ids], np.int64)[codes]

    def _must_differ_as_text(self, codes: NDArray[np.int64]) -> None:
        """Refuse the number 1 and the text "1", which a baseline can't tell apart."""
        known = self.part.tasks
        for task, code in known.items():
            if isinstance(task, int) and str(task) in known:
                both = (code, known[str(task)])
                first, second = sorted(int((codes == each).argmax()) for each in both)
                raise self._error(
                    second,
                    f"this row's task id is {list(known)[codes[second]]!r}, and "
                    f"{self._at(first)} has {list(known)[codes[first]]!r}: one is a number and "
                    "the other is text",
                    hint="write the ids of all rows as numbers, or all as text",
                )

    def _contents(
        self, agent: NDArray[np.int32], task: NDArray[np.int64], tasks: Sequence[TaskId]
    ) -> NDArray[np.bytes_] | None:
        """Give each row the hash of its task's content; None where none is known."""
        for name, torn in self.part.torn:
            of = f" of the agent {name!r}" if len(self.part.agents) > 1 else ""
            raise DataError(
                f"the task {torn!r}{of} has rollouts of different questions",
                file=self._sources[0][0].shown if len(self._sources) == 1 else None,
                hint="does the path match runs of two data sets? give each its own benchmark; or "
                "name what tells the tasks apart: `fields: {task: KEY}` under rollouts",
            )
        if not self.part.content:
            return None
        place = {id_: at for at, id_ in enumerate(tasks)}
        as_text = bool(tasks) and isinstance(tasks[0], str)
        known = np.zeros(len(self.part.agents) * len(tasks), dtype=f"S{SIZE}")
        for (name, id_), content in self.part.content.items():
            at = place[str(id_) if as_text else id_]
            # several versions are one content, which no single version has
            one = content_hash(content) if VERSIONS in content else content
            known[self.part.agents[name] * len(tasks) + at] = one
        rows: NDArray[np.bytes_] = known[agent * len(tasks) + task]
        return rows

    def _numbered(self, agent: NDArray[np.int32], task: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the rows without a sample index one, in order of appearance."""
        sample = np.frombuffer(self.part.sample, np.int64)
        without = sample == NO_SAMPLE
        if not without.any():
            return sample
        for code, name in enumerate(self.part.agents):
            mine = agent == code
            some, others = np.flatnonzero(mine & without), np.flatnonzero(mine & ~without)
            if len(some) and len(others):
                raise self._error(
                    some[0],
                    f"this row has no sample index, and {self._at(others[0])} has one; "
                    f"both are of the agent {name!r}",
                    hint="write it into every row or into none (then they are numbered)",
                )
        keys: list[NDArray[Any]] = [task, agent]
        if self.part.started:  # some format says when each row began
            starts = np.full(self.part.rows, math.nan)
            for first, times in self.part.started.items():
                starts[first : first + len(times)] = times
            keys.insert(0, starts)
        order = np.lexsort(keys)
        new = np.concatenate(([True], _steps(agent[order], task[order]) != 0))
        start = np.flatnonzero(new)
        count = np.diff(np.append(start, len(order)))
        numbered = np.empty(len(order), np.int64)
        numbered[order] = np.arange(len(order)) - np.repeat(start, count)
        return np.where(without, numbered, sample)

    def _order(
        self,
        agent: NDArray[np.int32],
        task: NDArray[np.int64],
        sample: NDArray[np.int64],
        tasks: Sequence[TaskId],
    ) -> NDArray[np.int64] | None:
        """Sort the rows, and find those that are the same attempt; None if they are sorted."""
        if (_steps(agent, task, sample) > 0).all():
            return None
        order = np.lexsort((sample, task, agent))
        same = np.flatnonzero(_steps(agent[order], task[order], sample[order]) == 0)
        if len(same):
            pair = same[np.argmin(order[same + 1])]  # the first one that a reader meets
            first, second = order[pair], order[pair + 1]
            name = list(self.part.agents)[agent[first]]
            raise self._error(
                second,
                f"this row is the same attempt as {self._at(first)}: task "
                f"{tasks[task[first]]!r}, sample {sample[first]}, agent {name!r}",
                hint="was a run recorded twice, or does the path match two runs? if each row "
                "has another key for it: `fields: {sample: KEY}` under rollouts",
            )
        return order

    def _source(self, row: int) -> Source:
        ends = np.cumsum([rows for _, rows in self._sources])
        return self._sources[int(np.searchsorted(ends, row, side="right"))][0]

    def _at(self, row: int) -> str:
        return self.part.names.get(int(row)) or self._source(row).at(self.part.place[row])

    def _error(self, row: int, message: str, hint: str) -> DataError:
        if int(row) in self.part.names:
            return DataError(message, file=self.part.names[int(row)], hint=hint)
        return self._source(row).error_at(self.part.place[row], message, hint)

    def _notes(self, scores: Mapping[str, Any]) -> tuple[str, ...]:
        notes = list(self.part.notes)
        dealt = [task for (_, task), content in self.part.content.items() if content == NO_CONTENT]
        if dealt:
            notes.append(
                f"{many(len(dealt), 'task', 'has')} rollouts of different questions, such as "
                f"{dealt[0]!r}: content does not pair these tasks. Where two data sets share ids, "
                "give each its own benchmark"
            )
        for (agent, task), content in self.part.content.items():
            if VERSIONS in content:
                versions = content.count(VERSIONS) + 1
                of = f" of the agent {agent!r}" if len(self.part.agents) > 1 else ""
                notes.append(
                    f"the task {task!r}{of} has rollouts of {versions} versions, which count as "
                    "one task: was it edited in the middle of the run, or does the path match "
                    "several runs?"
                )
        for (kind, graded), (count, first) in self.part.failures.items():
            what = "graded all the same" if graded else "without a score, which is missing"
            notes.append(f"{kind}: {many(count, 'rollout')} {what} (first {first})")
        for name in scores:
            for (score, what), (count, where) in self.part.not_finite.items():
                if score == name:
                    values = many(count, "value", "is")
                    counts = "counts" if count == 1 else "count"
                    shown = self._shown(where)
                    notes.append(f"{name}: {values} {what} and {counts} as missing ({shown})")
            places = [  # that hold a number elsewhere
                self.part.not_numbers[name, usage]
                for usage, columns in ((False, self.part.scores), (True, self.part.usage))
                if (name, usage) in self.part.not_numbers and name in columns
            ]
            if places:
                met = min(places, key=lambda where: (isinstance(where, str), where))
                notes.append(
                    f"{name}: in some rows this is no number and counts as missing, "
                    f"first in {self._shown(met)}"
                )
        return tuple(notes)

    def _shown(self, where: Where) -> str:
        return where if isinstance(where, str) else self._sources[where[0]][0].at(where[1])


def _steps(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Compare each row with the one before: the sign of the first column that differs."""
    sign = np.zeros(len(columns[0]) - 1, np.int64)
    for column in columns:
        sign = np.where(sign == 0, np.sign(column[1:] - column[:-1]), sign)
    return sign
