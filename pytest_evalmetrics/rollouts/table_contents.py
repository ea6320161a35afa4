"""The contents of a table's tasks: whether rollouts of one id answer one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model import rollout_table as data
from pytest_evalmetrics.model.rollout_notes import EditedTask, MixedQuestions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import TaskId
    from pytest_evalmetrics.rollouts.loader import Chunk


class TableContents:
    """The content hashes of each agent's tasks."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, TaskId], str] = {}
        # the tasks with different questions that are no versions of one
        self._torn: dict[tuple[str, TaskId], None] = {}
        # whether an environment may deal each rollout of a task another question
        self._dealt = False

    def __bool__(self) -> bool:
        """Whether any content is known."""
        return bool(self._hashes)

    def add(self, chunk: Chunk) -> None:
        """Add the contents of the next rows."""
        self._dealt |= chunk.dealt
        for (name, task), content in chunk.content.items():
            agent = data.UNNAMED_AGENT if name is None else name
            self._add_hash((agent, task), content)
            is_edited = data.VERSIONS in self._hashes[agent, task]
            if is_edited and not chunk.versioned:
                self._torn[agent, task] = None

    def _add_hash(self, key: tuple[str, TaskId], content: str) -> None:
        """Join a content with those of the task's other rollouts."""
        before = self._hashes.setdefault(key, content)
        differs = before != content or data.VERSIONS in content
        if data.NO_CONTENT in (before, content) or (self._dealt and differs):
            self._hashes[key] = data.NO_CONTENT
        elif before != content:
            self._hashes[key] = data.join_versions(before, content)

    def must_be_whole(self, agents: Sequence[str], file: str | None) -> None:
        """Refuse tasks whose rollouts are of different questions."""
        for name, task in self._torn:
            of_agent = f" of the agent {name!r}" if len(agents) > 1 else ""
            raise DataError(
                f"the task {task!r}{of_agent} has rollouts of different questions",
                file=file,
                hint="does the path match runs of two data sets? give each its own benchmark; or "
                "name what tells the tasks apart: `fields: {task: KEY}` under rollouts",
            )

    def of_tasks(
        self, agents: Mapping[str, int], tasks: Sequence[TaskId]
    ) -> NDArray[np.bytes_]:
        """Return the content hash of each agent's task, shape (agents, tasks)."""
        place = {task: index for index, task in enumerate(tasks)}
        as_text = bool(tasks) and isinstance(tasks[0], str)
        contents = np.zeros((len(agents), len(tasks)), dtype=f"S{data.HASH_SIZE}")
        for (agent, task), content in self._hashes.items():
            known_as = str(task) if as_text else task
            if data.VERSIONS in content:
                # several versions are one content, which no single version has
                content = data.content_hash(content)  # noqa: PLW2901 - the same content
            contents[agents[agent], place[known_as]] = content
        return contents

    def notes(self, agents: Sequence[str]) -> Iterator[Note]:
        """Note the tasks with several questions, and those with several versions."""
        mixed = [
            task
            for (_, task), content in self._hashes.items()
            if content == data.NO_CONTENT
        ]
        if mixed:
            yield MixedQuestions(tasks=len(mixed), example=mixed[0])
        for (agent, task), content in self._hashes.items():
            if data.VERSIONS in content:
                versions = content.count(data.VERSIONS) + 1
                shown = agent if len(agents) > 1 else ""
                yield EditedTask(task=task, versions=versions, agent=shown)
