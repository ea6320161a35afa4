"""A proposed way to read files that no loader knows, with its evidence and its open questions."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.guess.candidates import (
    Candidate,
    best_of,
    candidate_of,
    with_parsed_texts,
)
from pytest_evalmetrics.rollouts.guess.field_names import lists_parts
from pytest_evalmetrics.rollouts.guess.layouts import layouts
from pytest_evalmetrics.rollouts.guess.no_rows import no_rows
from pytest_evalmetrics.rollouts.guess.odd_rows import (
    must_have_header,
    must_have_no_total,
    must_have_one_header,
    must_have_one_table,
)
from pytest_evalmetrics.rollouts.guess.questions import (
    question_of_decimals,
    question_of_rows,
    questions_of_fields,
)
from pytest_evalmetrics.rollouts.guess.read_files import ReadFiles
from pytest_evalmetrics.rollouts.guess.rewards import OPEN, RewardCandidate
from pytest_evalmetrics.rollouts.guess.tasks import GROUP
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.spec.sources import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.guess.layouts import Layout
    from pytest_evalmetrics.rollouts.source import Source

#: The keys of ``rollouts:`` that are proposed, in their order in a file.
_KEYS: Final = (
    "rows",
    "keyed",
    "lists",
    "parse_json",
    "pivot",
    "fields",
    "map",
    "missing",
    "decimal",
)
_PLAIN_FORMATS: Final = ("json", "jsonl", "csv", "parquet", "arrow")


class Proposal(msgspec.Struct, frozen=True):
    """A proposed way to read rollouts."""

    spec: RolloutsSpec
    reasons: tuple[str, ...] = ()  # one line each, with a second choice if there is one
    #: The path of the reward, if nothing says which way is better.
    undirected: str | None = None
    tried: tuple[str, ...] = ()  # the paths of the other layouts that were tried
    #: What a person has to choose: a path in ``rollouts:``, such as ``fields.reward`` ->
    #: the candidates.
    questions: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: The paths of rewards by their names that hold one value in all rows, if none varies.
    constant_rewards: tuple[str, ...] = ()

    @property
    def reward(self) -> str | None:
        """The path of the reward; None if it is not clear, or made of several fields."""
        path = self.spec.fields.reward
        return path if isinstance(path, str) else None

    @property
    def keys(self) -> JsonObject:
        """The keys of ``rollouts:`` for this proposal, without its path; `OPEN` for open ones."""
        keys = asdict(self.spec)
        keys["fields"] = self._fields(keys["fields"])
        keys["map"] = self._map(keys["map"])
        if self.spec.parse_json is not None:
            keys["parse_json"] = list(self.spec.parse_json)
        if self.spec.pivot is not None:
            keys["pivot"]["by"] = self.spec.pivot.by[0]
        keys["missing"] = list(self.spec.missing.get("reward", ()))
        for name in ("rows", "missing", "decimal"):
            if name in self.questions:
                keys[name] = OPEN
        return {name: keys[name] for name in _KEYS if keys[name]}

    def _fields(self, fields: JsonObject) -> JsonObject:
        """Write ``fields:``, with those that a person has to choose."""
        written: JsonObject = {}
        for name, path in fields.items():
            if path:
                written[name] = _listed(path)
        for question in self.questions:
            part, _, name = question.partition(".")
            if part == "fields":
                written[name] = OPEN
        return written

    def _map(self, points: Mapping[str, JsonObject]) -> JsonObject:
        """Write ``map:``, with the words whose worth a person has to say."""
        written = {
            score: {word: _plain(worth) for word, worth in worths.items()}
            for score, worths in points.items()
        }
        for question in self.questions:
            part, _, name = question.partition(".")
            if part == "map":
                score, _, word = name.partition(".")
                written[score][word] = OPEN
        return dict(written)


def _listed(path: object) -> JsonValue:
    """Write the parts of an id as a list."""
    return list(path) if isinstance(path, tuple) else str(path)


def _plain(worth: JsonValue) -> JsonValue:
    """Write 1 for 1.0."""
    if isinstance(worth, float) and worth.is_integer():
        return int(worth)
    return worth


def propose(pattern: str, base: Path, named: FieldMap | None = None) -> Proposal | None:
    """Propose how to read files of an unknown format.

    Parameters
    ----------
    pattern
        A path or a glob.
    base
        The folder that it is relative to.
    named
        The fields that a person has named.

    Returns
    -------
    Proposal | None
        None if the files are of a format with a loader of its own, whose errors count.

    Raises
    ------
    DataError
        If the files can't be read, or hold no rows of several tasks.
    """
    files = find_files((pattern,), base)
    source = open_source(files[0])
    kind = recognise(source).name
    if kind not in _PLAIN_FORMATS or source.is_nemo_gym:
        return None
    named = named or FieldMap()
    read = ReadFiles(files)
    read.must_have_content()
    candidates: list[Candidate] = []
    for layout, spec, rows in _layouts_with_rows(pattern, read):
        if layout.lists is not None:
            return Proposal(spec=spec, reasons=(layout.reason,))
        candidate = candidate_of(layout, rows, named)
        candidates.append(with_parsed_texts(candidate, rows, spec, read, named))
    best = best_of(candidates)
    if best is None or best.count < _least_rows(named):
        raise no_rows(source, best)
    proposal = _proposal(pattern, best, named)
    _must_hold_rows_alone(source, best, proposal, is_csv=kind == "csv")
    reward = None
    if not proposal.spec.map:
        reward = best.columns.get(proposal.reward or "")
    return structs.replace(
        proposal,
        tried=tuple(other.layout.rows for other in candidates if other.layout.rows),
        questions={
            **question_of_rows(best, candidates),
            **proposal.questions,
            **question_of_decimals(source, reward),
        },
    )


def _layouts_with_rows(
    pattern: str, read: ReadFiles
) -> Iterator[tuple[Layout, RolloutsSpec, list[JsonMapping]]]:
    """Yield the layouts that the files may have, each with how it is read and its rows."""
    for layout in layouts(read.first, is_row=read.has_rows):
        if read.has_objects and lists_parts(layout.rows or ""):
            continue
        spec = RolloutsSpec(
            path=(pattern,), rows=layout.rows, keyed=layout.keyed, lists=layout.lists
        )
        rows = read.rows(spec)
        if rows:
            yield layout, spec, rows


def _least_rows(named: FieldMap) -> int:
    """Return how many rows a benchmark needs: one where a person names a summary's fields."""
    is_summary = named.task is not None and named.reward is not None
    return 1 if is_summary else 2


def _must_hold_rows_alone(
    source: Source, best: Candidate, proposal: Proposal, *, is_csv: bool
) -> None:
    """Refuse rows that are none: headers among them, a second table, a total."""
    if is_csv:
        must_have_one_header(source, best.columns)
        must_have_header(source, best.columns, proposal.spec.fields)
        must_have_one_table(source, best.columns.get(proposal.reward or ""))
    must_have_no_total(source, best.columns, proposal.spec)


def _proposal(pattern: str, best: Candidate, named: FieldMap) -> Proposal:
    """Propose the rows of a layout, with what a person has to choose."""
    task = best.task
    chosen = best.reward.chosen
    path = named.reward
    if path is None and chosen is not None:
        path = chosen.path
    content = None
    if task.content is not None:
        content = (task.content,)
    fields = FieldMap(
        task=_task_path(best),
        sample=task.sample,
        agent=task.agent,
        reward=path,
        content=content,
    )
    spec = RolloutsSpec(
        path=(pattern,),
        rows=best.layout.rows,
        keyed=best.layout.keyed,
        pivot=best.pivot,
        parse_json=best.parse_json or None,
        fields=fields,
    )
    reward = None
    if isinstance(path, str):
        reward = best.reward.at(path)
    if reward is not None:
        spec = _with_values(spec, reward)
    undirected = None
    if named.reward is None and chosen is not None and not chosen.has_direction:
        undirected = chosen.path
    return Proposal(
        spec=spec,
        reasons=tuple(filter(None, _reasons(best, named))),
        undirected=undirected,
        questions=questions_of_fields(best, reward, fields, undirected),
        constant_rewards=best.reward.constants,
    )


def _with_values(spec: RolloutsSpec, reward: RewardCandidate) -> RolloutsSpec:
    """Say what the words of a reward are worth, and which mean that nobody judged."""
    points: dict[str, float | None] = {}
    for word, worth in reward.points.items():
        points[word] = None  # also where a person has to say it
        if isinstance(worth, int | float):
            points[word] = float(worth)
    if points:
        spec = replace(spec, map={"reward": points})
    if reward.missing:
        spec = replace(spec, missing={"reward": reward.missing})
    return spec


def _task_path(best: Candidate) -> str | tuple[str, ...] | None:
    """Return the path of the task's id, or those of its parts; None if it has none."""
    paths = best.task.paths
    if not best.layout.needs_task or not paths:
        return None
    if len(paths) == 1:
        return paths[0]
    return paths


def _reasons(best: Candidate, named: FieldMap) -> Iterator[str]:
    """Say why rows are read so, without what a person has named."""
    task = best.task
    yield best.layout.reason
    if best.pivot is not None:
        names = many(len(best.columns), "name")
        yield f"each line is one score: {best.pivot.name!r} has {names}"
    if best.parse_json:
        yield f"parse_json: {', '.join(best.parse_json)}, whose text is JSON"
    if best.layout.needs_task:
        yield task.reason
    if task.sample and named.sample is None:
        yield f"sample: {task.sample}, which tells the rows of a task apart"
    if task.agent and named.agent is None:
        why = "the name of the run" if task.agent == GROUP else "by its name"
        yield f"agent: {task.agent}, {why}"
    if named.reward is None:
        yield best.reward.reason
