"""A proposed way to read files that no loader knows, with its evidence and its open questions."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import listed, many, shortened
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.file_documents import PlacedRow, documents
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    is_metric,
    lists_attempts,
    lists_parts,
)
from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.keyed_values import is_error
from pytest_evalmetrics.rollouts.guess.layouts import (
    Layout,
    ListKind,
    is_table_by_columns,
    layouts,
)
from pytest_evalmetrics.rollouts.guess.odd_rows import (
    must_have_header,
    must_have_no_total,
    must_have_one_header,
    must_have_one_table,
)
from pytest_evalmetrics.rollouts.guess.rewards import (
    OPEN,
    RewardCandidate,
    RewardChoice,
    choose_reward,
)
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn, seen_columns
from pytest_evalmetrics.rollouts.guess.tasks import (
    GROUP,
    TaskChoice,
    choose_task,
    question_of_keys,
    task_of_groups,
)
from pytest_evalmetrics.rollouts.json_values import is_json_text, lookup
from pytest_evalmetrics.rollouts.name_words import last_part, word_set
from pytest_evalmetrics.rollouts.not_judged import SIGNS, SIGNS_BESIDE, error_in
from pytest_evalmetrics.rollouts.number_texts import NumberTexts
from pytest_evalmetrics.rollouts.shaped_rows import find_rows
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.rollouts.unjudged_lists import lists_failures
from pytest_evalmetrics.spec.sources import FieldMap, PivotSpec, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import RolloutFile, Source

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
_ROWS: Final = 4000  # that are examined, of all files together
_ROWS_OF_FILE: Final = 100  # at least
_FILES: Final = 200  # that are examined
_MOSTLY: Final = 0.8  # of the rows are no errors
_NAMES: Final = 20  # different names of scores
_VALUES: Final = (
    "value",
    "score",
    "result",
    "rating",
    "grade",
)  # of a line with a name
# the keys of a document that is a server's error, and those with its words
_MESSAGES_OF_ERRORS: Final = word_set(
    "message error detail msg title description reason"
)
_NAMES_OF_ERRORS: Final = _MESSAGES_OF_ERRORS | word_set(
    "status code statuscode type errors success ok documentation_url request_id requestid "
    "timestamp path trace traceid instance"
)


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


class _Candidate(msgspec.Struct, frozen=True):
    """A layout, its rows, and what their fields may be."""

    layout: Layout
    columns: Mapping[str, SeenColumn]
    count: int  # rows
    reward: RewardChoice
    task: TaskChoice
    pivot: PivotSpec | None = None
    parse_json: tuple[str, ...] = ()  # the fields whose text is JSON

    @property
    def has_task(self) -> bool:
        """Whether its rows have a task, or may have one."""
        task = self.task
        is_known = bool(task.paths or task.is_open)
        return is_known or not self.layout.needs_task or self.pivot is not None


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
    if recognise(source).name not in _PLAIN_FORMATS or source.is_nemo_gym:
        return None
    named = named or FieldMap()
    read = _Read(files)
    read.must_have_content()
    candidates: list[_Candidate] = []
    for layout in layouts(read.first, is_row=read.has_rows):
        if read.has_objects and lists_parts(layout.rows or ""):
            continue
        spec = RolloutsSpec(
            path=(pattern,), rows=layout.rows, keyed=layout.keyed, lists=layout.lists
        )
        rows = read.rows(spec)
        if not rows:
            continue
        if layout.lists is not None:
            return Proposal(spec=spec, reasons=(layout.reason,))
        candidate = _candidate(layout, rows, named)
        candidates.append(_with_parsed_texts(candidate, rows, spec, read, named))
    best = _best(candidates)
    # a person who names both fields of a single row means a summary
    is_summary = named.task is not None and named.reward is not None
    if best is None or best.count < (1 if is_summary else 2):
        raise _no_rows(source, best)
    tried = tuple(c.layout.rows for c in candidates if c.layout.rows)
    proposal = _proposal(pattern, best, named)
    if recognise(source).name == "csv":
        must_have_one_header(source, best.columns)
        must_have_header(source, best.columns, proposal.spec.fields)
        must_have_one_table(source, best.columns.get(proposal.reward or ""))
    must_have_no_total(source, best.columns, proposal.spec)
    return structs.replace(
        proposal,
        tried=tried,
        questions={
            **_question_of_rows(best, candidates),
            **proposal.questions,
            **_question_of_decimals(source, best, proposal),
        },
    )


def _question_of_decimals(
    source: Source, best: _Candidate, proposal: Proposal
) -> dict[str, str]:
    """Ask about the signs in the texts of a reward that may separate thousands."""
    column = best.columns.get(proposal.reward or "")
    if column is None or proposal.spec.map:
        return {}
    texts = NumberTexts("reward")
    places = np.arange(1, len(column.values) + 1)
    with suppress(DataError):  # which the run reports with its cells
        texts.read(column.values, places, source, needed=True)
    cell = texts.unclear_cell(source)
    return {} if cell is None else {"decimal": texts.question(cell)}


def _question_of_rows(
    best: _Candidate, candidates: Sequence[_Candidate]
) -> dict[str, str]:
    """Ask about lists beside that of the rows, which hold rows or failures as well."""
    if not best.layout.is_list:
        return {}
    holder = (best.layout.rows or "").rpartition(".")[0]
    reward = best.reward.chosen
    others = []
    for other in candidates:
        other_holder, _, other_name = (other.layout.rows or "").rpartition(".")
        if other is best or not other.layout.is_list or other_holder != holder:
            continue
        has_reward = reward is not None and reward.path in other.columns
        if has_reward or lists_failures(other_name):
            others.append(f"the {many(other.count, 'object')} of {other_name}")
    return {"rows": f"{best.layout.rows}, without {listed(others)}?"} if others else {}


# -- rows of a layout ----------------------------------------------------------------------


class _Read:
    """Some documents of some files."""

    def __init__(self, files: Sequence[RolloutFile]) -> None:
        step = -(-len(files) // _FILES)
        chosen = files[::step]
        most = max(_ROWS // len(chosen), _ROWS_OF_FILE)
        self._documents: list[tuple[Source, list[PlacedRow | list[JsonValue]]]] = []
        for file in chosen:
            source = open_source(file)
            self._documents.append((source, list(islice(documents(source), most))))

    @property
    def has_rows(self) -> bool:
        """Whether the first file has rows of its own, rather than one document."""
        return len(self._documents[0][1]) > 1

    @property
    def has_objects(self) -> bool:
        """Whether each of several files holds one object, which may be a row."""
        return len(self._documents) > 1 and not self.has_rows

    def must_have_content(self) -> None:
        """Refuse files without a row or a document."""
        for source, read in self._documents:
            if not read:
                hint = "did the run that writes it fail?"
                raise source.error("the file holds no row", hint=hint)

    @property
    def first(self) -> JsonValue:
        """The first file's rows, or its only document."""
        read = self._documents[0][1]
        if self.has_rows:
            return [row.value for row in read if isinstance(row, PlacedRow)]
        document = read[0]
        value = document.value if isinstance(document, PlacedRow) else document
        if is_table_by_columns(value):
            source = self._documents[0][0]
            hint = "write rows: df.to_json(path, orient='records', lines=True)"
            message = (
                "this holds the columns of a table (pandas' orient='columns'), not rows"
            )
            raise source.error(message, hint=hint)
        return value

    def rows(self, spec: RolloutsSpec) -> list[Mapping[str, JsonValue]]:
        """Find the rows of all these files; empty if they are not of this layout."""
        rows: list[Mapping[str, JsonValue]] = []
        try:
            for source, read in self._documents:
                rows += [row.value for row in find_rows(source, spec, read)]
        except EvalMetricsError:
            return []
        return rows


def _with_parsed_texts(
    candidate: _Candidate,
    rows: Sequence[Mapping[str, JsonValue]],
    spec: RolloutsSpec,
    read: _Read,
    named: FieldMap,
) -> _Candidate:
    """Parse texts that are JSON, where the rows hold no reward otherwise."""
    has_reward = candidate.reward.best is not RewardName.NEVER
    paths = () if has_reward or named.reward is not None else _json_texts(rows)
    if not paths:
        return candidate
    parsed = read.rows(replace(spec, parse_json=paths))
    of_parsed = _candidate(candidate.layout, parsed, named)
    if of_parsed.reward.best is RewardName.NEVER:
        return candidate
    return structs.replace(of_parsed, parse_json=paths)


def _json_texts(rows: Sequence[Mapping[str, JsonValue]]) -> tuple[str, ...]:
    """Find the fields in which each row has an object or a list as text."""
    names = rows[0] if rows else {}
    return tuple(
        name for name in names if all(is_json_text(row.get(name)) for row in rows)
    )


def _candidate(
    layout: Layout, rows: Sequence[Mapping[str, JsonValue]], named: FieldMap
) -> _Candidate:
    count = len(rows)
    rows = _without_errors(rows)
    columns = seen_columns(rows)
    pivot = _pivot(columns)
    if pivot is not None:
        return _pivoted(layout, columns, pivot, named)
    has_runs = layout.kind is GroupKind.RUNS and GROUP in columns
    own = {
        path: column
        for path, column in columns.items()
        if not path.startswith("_parent") or column.distinct > 1
        if not (has_runs and path == GROUP)
    }
    task = _task(layout, columns, own)
    taken = {*task.paths, task.sample, task.agent, layout.keyed, GROUP}
    failed = _FailedRows(rows)
    own_rewards = {
        path: failed.without_zeros(column)
        for path, column in own.items()
        if not path.startswith("_parent")
    }
    return _Candidate(
        layout=layout,
        columns=columns,
        count=count,
        reward=choose_reward(own_rewards, {path for path in taken if path}),
        task=_with_named(task, named),
    )


def _task(
    layout: Layout,
    columns: Mapping[str, SeenColumn],
    own: Mapping[str, SeenColumn],
) -> TaskChoice:
    """Choose the task: by the keys around the rows, or among their `own` fields."""
    if layout.keyed and layout.kind in (GroupKind.TASKS, GroupKind.UNKNOWN):
        return task_of_groups(layout, columns)
    has_runs = layout.kind is GroupKind.RUNS and GROUP in columns
    task = choose_task(
        own,
        _verdicts(own),
        is_nested=layout.is_inner,
        lists=layout.of_lists,
        are_runs=has_runs,
    )
    if not layout.needs_task:
        question = question_of_keys(layout, columns)
        task = structs.replace(task, question=question, is_open=bool(question))
    return structs.replace(task, agent=GROUP) if has_runs else task


def _without_errors(
    rows: Sequence[Mapping[str, JsonValue]],
) -> Sequence[Mapping[str, JsonValue]]:
    """Leave out rows that are nothing but an error, where most rows are none."""
    kept = [row for row in rows if not is_error(row)]
    return kept if len(kept) >= _MOSTLY * len(rows) else rows


class _FailedRows:
    """The rows that state an error, of themselves or beside a score in an object."""

    def __init__(self, rows: Sequence[Mapping[str, JsonValue]]) -> None:
        self._rows = rows
        self._numbers: dict[str, frozenset[int]] = {}  # by the path of the object

    def without_zeros(self, column: SeenColumn) -> SeenColumn:
        """Leave out the zeros beside errors, which are missing when they are read."""
        above = column.path.rpartition(".")[0]
        failed = self._failed("") | self._failed(above)
        if not failed:
            return column
        values = [
            None if number in failed and _is_zero(value) else value
            for number, value in enumerate(column.values)
        ]
        return structs.replace(column, values=values)

    def _failed(self, above: str) -> frozenset[int]:
        """Find the rows whose object at a path states an error."""
        if above not in self._numbers:
            self._numbers[above] = frozenset(
                number
                for number, row in enumerate(self._rows)
                if _states_an_error(row, above)
            )
        return self._numbers[above]


def _states_an_error(row: Mapping[str, JsonValue], above: str) -> bool:
    signs = SIGNS_BESIDE if above else SIGNS
    prefix = f"{above}." if above else ""
    values = {path: lookup(row, f"{prefix}{path}") for path in signs}
    return error_in(values) is not None


def _is_zero(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not value


def _with_named(task: TaskChoice, named: FieldMap) -> TaskChoice:
    """Let the fields that a person named win."""
    if named.task is not None:
        paths = (named.task,) if isinstance(named.task, str) else named.task
        content = None if task.content in paths else task.content
        task = structs.replace(
            task, paths=paths, reason="", question="", content=content
        )
    return structs.replace(
        task, sample=named.sample or task.sample, agent=named.agent or task.agent
    )


def _verdicts(columns: Mapping[str, SeenColumn]) -> set[str]:
    choice = choose_reward(columns, ())
    candidates = [*choice.candidates]
    if choice.chosen is not None:
        candidates.append(choice.chosen)
    return {c.path for c in candidates if c.name < RewardName.NEVER or c.points}


# -- which layout --------------------------------------------------------------------------


def _best(candidates: Sequence[_Candidate]) -> _Candidate | None:
    """Choose the layout whose rows explain most: a task and a reward, the outermost first."""
    rivals = [each for each in candidates if not _is_part_of_a_row(each, candidates)]

    def lacks(candidate: _Candidate) -> tuple[bool, bool, bool, int]:
        best = candidate.reward.best
        is_named = best <= RewardName.VERDICT
        return (
            candidate.count < 2,
            not (is_named and candidate.has_task),
            not (best < RewardName.NEVER and candidate.has_task),
            candidate.layout.level,
        )

    return min(rivals, key=lacks, default=None)


def _is_part_of_a_row(candidate: _Candidate, candidates: Sequence[_Candidate]) -> bool:
    """Check whether its rows lie in rows that hold a task and a reward themselves."""
    layout = candidate.layout
    if not layout.is_inner:
        return False
    if lists_parts(layout.inner_list):
        return True
    for other in candidates:
        if (other.layout.rows, other.layout.keyed) != layout.outer or other.count < 2:
            continue
        best = other.reward.best
        if best <= RewardName.VERDICT:
            return True
        may_be_attempts = lists_attempts(layout.inner_list)
        if other.has_task and best < RewardName.NEVER and not may_be_attempts:
            return True
    return False


# -- rows that are one score each ----------------------------------------------------------


def _pivot(columns: Mapping[str, SeenColumn]) -> PivotSpec | None:
    """Propose to pivot rows that are each one score of a task, with its name."""
    names = [
        column
        for path, column in columns.items()
        if is_metric(path) and column.are_texts and column.is_full
    ]
    values = [
        column
        for path, column in columns.items()
        if last_part(path) in _VALUES and column.numbers is not None
    ]
    if not names or not values:
        return None
    name = names[0]
    if not 1 < name.distinct <= _NAMES or name.is_unique:
        return None
    for path, column in columns.items():
        if path in (name.path, values[0].path) or not column.are_ids:
            continue
        if not 1 < column.distinct < len(column.values):
            continue
        pairs = set(zip(column.texts, name.texts, strict=True))
        if len(pairs) == len(name.texts):
            return PivotSpec(by=(path,), name=name.path, value=values[0].path)
    return None


def _pivoted(
    layout: Layout,
    columns: Mapping[str, SeenColumn],
    pivot: PivotSpec,
    named: FieldMap,
) -> _Candidate:
    """Judge rows that are put together of lines with one score each."""
    by = columns[pivot.by[0]]
    names = columns[pivot.name]
    rows: dict[str, JsonObject] = {}
    firsts: dict[str, int] = {}
    scores = zip(by.texts, names.values, columns[pivot.value].values, strict=True)
    for index, (key, name, value) in enumerate(scores):
        firsts.setdefault(key, index)
        rows.setdefault(key, {})[str(name)] = value
    score_columns = seen_columns(list(rows.values()))
    line_columns = {
        path: SeenColumn(
            path=path, values=[column.values[at] for at in firsts.values()]
        )
        for path, column in columns.items()
        if path not in (pivot.name, pivot.value) and _depends(column, by)
    }
    task = choose_task(line_columns, (), is_nested=False, lists=ListKind.UNKNOWN)
    paths = tuple(
        path if path == pivot.by[0] else f"_line.{path}" for path in task.paths
    )
    task = structs.replace(task, paths=paths, sample=None, agent=None, content=None)
    return _Candidate(
        layout=layout,
        columns=score_columns,
        count=len(rows),
        reward=choose_reward(score_columns, ()),
        task=_with_named(task, named),
        pivot=pivot,
    )


def _depends(column: SeenColumn, on: SeenColumn) -> bool:
    """Check whether a field has one value for each value of another."""
    values = dict(zip(on.texts, column.texts, strict=True))
    return all(
        values[key] == text for key, text in zip(on.texts, column.texts, strict=True)
    )


# -- the proposal --------------------------------------------------------------------------


def _proposal(pattern: str, best: _Candidate, named: FieldMap) -> Proposal:
    """Propose the rows of a layout, with what a person has to choose."""
    task = best.task
    chosen = best.reward.chosen
    path = named.reward
    if path is None and chosen is not None:
        path = chosen.path
    reward = best.reward.at(path) if isinstance(path, str) else None
    points = {} if reward is None else _known_points(reward)
    fields = FieldMap(
        task=_task_path(best),
        sample=task.sample,
        agent=task.agent,
        reward=path,
        content=None if task.content is None else (task.content,),
    )
    spec = RolloutsSpec(
        path=(pattern,),
        rows=best.layout.rows,
        keyed=best.layout.keyed,
        pivot=best.pivot,
        parse_json=best.parse_json or None,
        fields=fields,
        map={"reward": points} if points else {},
        missing={"reward": reward.missing} if reward and reward.missing else {},
    )
    undirected = None
    if named.reward is None and chosen is not None and not chosen.has_direction:
        undirected = chosen.path
    return Proposal(
        spec=spec,
        reasons=tuple(filter(None, _reasons(best, named))),
        undirected=undirected,
        questions=_questions(best, reward, fields, undirected),
    )


def _known_points(reward: RewardCandidate) -> dict[str, float | None]:
    """Return the worth of each word; None for those that a person has to say."""
    return {
        word: float(worth) if isinstance(worth, int | float) else None
        for word, worth in reward.points.items()
    }


def _task_path(best: _Candidate) -> str | tuple[str, ...] | None:
    """Return the path of the task's id, or those of its parts; None if it has none."""
    paths = best.task.paths
    if not best.layout.needs_task or not paths:
        return None
    return paths[0] if len(paths) == 1 else paths


def _questions(
    best: _Candidate,
    reward: RewardCandidate | None,
    fields: FieldMap,
    undirected: str | None,
) -> dict[str, str]:
    """Collect what a person has to choose, see `Proposal.questions`."""
    questions: dict[str, str] = {}
    if reward is not None:
        for word, worth in reward.points.items():
            if worth == OPEN:
                question = "its worth: a number, or null if nobody judged"
                questions[f"map.reward.{word}"] = question
    if fields.reward is None:
        questions["fields.reward"] = best.reward.question
    if reward is not None and reward.sentinel is not None:
        value = f"{reward.sentinel.value:g}"
        counted = f"{value}, in {reward.sentinel.count} of {best.count} rows"
        questions["missing"] = f"[{value}] if {counted}, means not judged, else []"
    if reward is not None and reward.unknown:
        words = json.dumps([*reward.missing, *reward.unknown], ensure_ascii=False)
        questions["missing"] = f"{words} if these words mean not judged"
    may_be_asked = best.layout.needs_task or best.task.is_open
    if may_be_asked and fields.task is None:
        questions["fields.task"] = best.task.question
    if undirected is not None and not should_be_low(undirected):
        question = f"higher or lower: which way is better for {undirected}?"
        questions["direction"] = question
    return questions


def _reasons(best: _Candidate, named: FieldMap) -> Iterator[str]:
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
        is_run = task.agent == GROUP
        yield f"agent: {task.agent}, {'the name of the run' if is_run else 'by its name'}"
    if named.reward is None:
        yield best.reward.reason


def _no_rows(source: Source, best: _Candidate | None) -> DataError:
    if best is None or not best.count:
        return source.error(
            "nothing in this file looks like rows",
            hint="rows are objects: one a line, or in a list that rows: names",
        )
    stated = _error_message(best)
    if stated:
        return source.error(
            f"this is an error message, not results: {stated}",
            hint="did the export or the download fail?",
        )
    message = "there is one row, and a benchmark needs several tasks: is it a summary?"
    glob = "if each file is one task, name all files: a glob such as 'runs/*.json'"
    return source.error(message, hint=f"{glob}; {_for_summary(best)}")


def _error_message(best: _Candidate) -> str:
    """Read the words of a document that is the error of a server; empty if it is none."""
    names = {path.partition(".")[0].lower() for path in best.columns}
    if not names <= _NAMES_OF_ERRORS:
        return ""
    for path, column in best.columns.items():
        if last_part(path).lower() in _MESSAGES_OF_ERRORS and column.are_texts:
            return shortened(column.texts[0])
    return ""


def _for_summary(best: _Candidate) -> str:
    """Say how a single number is gated: by a threshold."""
    names = [
        path
        for path, column in best.columns.items()
        if any(isinstance(value, str) for value in column.values)
    ]
    numbers = [
        path
        for path, column in best.columns.items()
        if any(isinstance(value, float) for value in column.values)
    ]
    if not names or not numbers:
        return (
            "a summary is gated by a threshold in a Python test: evalmetrics.check([NUMBER], "
            "thresholds={'mean_reward': '>= ...'})"
        )
    chosen = best.reward.chosen
    number = numbers[0] if chosen is None else chosen.path
    return (
        "a summary is gated by a threshold: name what it is of, and its number, such as "
        f"--task {names[0]} --reward {number}"
    )
