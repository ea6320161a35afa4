"""Which fields are the task, the attempt and the agent: candidates, and the choice among them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    TaskName,
    describes_task,
    is_agent,
    is_group,
    is_output,
    is_question,
    is_sample,
    is_step_number,
    reward_name,
    task_name,
)
from pytest_evalmetrics.rollouts.guess.groups import GroupKind
from pytest_evalmetrics.rollouts.guess.layouts import ListKind
from pytest_evalmetrics.rollouts.name_words import last_part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_evalmetrics.rollouts.guess.layouts import Layout
    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn

_FEW: Final = 20  # different agents
# of the rows have an id; the others are refused when they are read
_MOSTLY: Final = 0.8
_NEARLY: Final = 0.9  # of the rows have a value of their own: nearly all
_GROUPS: Final = 6  # fields that may be parts of an id
_SHOWN: Final = 3  # candidates on a line
_NAMES: Final = 4  # of attempts on a line
_TURNS: Final = 16  # different attempts
_ROUNDS: Final = 3  # of them, from which on an order is no chance
# names of ids that may be of rows, rather than of questions
_MAY_BE_OF_ROWS: Final = (TaskName.PLAIN_ID, TaskName.TITLE, TaskName.UNKNOWN)
_PARENT: Final = "_parent"
GROUP: Final = "_parent._key"  # the key of the list or object that rows are in
_KEY: Final = "_key"
_POSITIONS: Final = ("index", "idx")  # rather a number of the row
_POSITION: Final = "_index"  # of a CSV file of pandas: 0, 1, 2 ...


class TaskChoice(msgspec.Struct, frozen=True):
    """The fields that make up the task's id, and what tells its attempts apart."""

    paths: tuple[str, ...]  # of the parts; empty if it is not clear
    reason: str
    question: str = ""  # the candidates to choose from, for the open line
    sample: str | None = None
    agent: str | None = None
    content: str | None = None  # the question of the task
    is_open: bool = False  # whether there is a task, and its parts are not clear


class _Rows(msgspec.Struct, frozen=True):
    """The columns of rows, and how their fields group the rows."""

    columns: Mapping[str, SeenColumn]
    lists: ListKind
    attempt: str | None  # the field that numbers several attempts at each task
    are_runs: bool  # whether they are of several runs

    def titles(self) -> list[str]:
        """List the titles of the objects that hold lists of tasks."""
        if self.lists is ListKind.NONE:
            return []
        return [
            path
            for path in self.columns
            if path.startswith(_PARENT) and task_name(path) is TaskName.TITLE
        ]

    def are_apart(self, paths: Sequence[str]) -> bool:
        """Check whether no two rows agree in all of some fields."""
        columns = [self.columns[path].texts for path in paths]
        keys = list(zip(*columns, strict=True))
        return len(set(keys)) == len(keys)

    def tells_apart(self, path: str) -> bool:
        """Check whether the run, the attempt or the agent tells the rows of each value apart."""
        return self.are_runs or any(
            self.are_apart([path, other])
            for other in self.columns
            if is_sample(other) or is_agent(other) or last_part(other) == _KEY
        )

    def depends(self, path: str, on: Sequence[str]) -> bool:
        """Check whether a field has one value for each value of others."""
        values: dict[tuple[str, ...], str] = {}
        columns = [self.columns[name].texts for name in on]
        keys = zip(*columns, strict=True)
        for text, key in zip(self.columns[path].texts, keys, strict=True):
            if values.setdefault(key, text) != text:
                return False
        return True


def choose_task(
    columns: Mapping[str, SeenColumn],
    verdicts: Collection[str],
    *,
    is_nested: bool,
    lists: ListKind,
    are_runs: bool = False,
) -> TaskChoice:
    """Choose the task of rows; `verdicts` are fields that may be the reward."""
    numbering = next(
        (path for path, column in columns.items() if _numbers_attempts(column)), None
    )
    rows = _Rows(columns, lists, attempt=numbering, are_runs=are_runs)
    agent = _agent(rows)
    is_nested = is_nested and lists is ListKind.NONE
    candidates = _candidates(rows, verdicts, agent, is_nested=is_nested)
    question = next((path for path in columns if _asks(columns[path])), None)
    if not candidates:
        return TaskChoice(
            paths=(),
            reason="task: not clear, no field repeats or is the question's own id",
            question=_open_question(rows),
            agent=agent,
        )
    best = _most_telling(rows, candidates, is_nested=is_nested)
    paths, sample = _with_attempts(rows, best, question, agent)
    doubt = _doubt(rows, best, _Found(paths, sample, agent), verdicts)
    if doubt is not None:
        return doubt
    others = [path for path in candidates if path not in (*paths, best)][: _SHOWN - 1]
    if not paths:
        alternatives = " or ".join(others) or "another field"
        return TaskChoice(
            paths=(),
            reason=f"task: not clear, the same {best} has several questions",
            question=f"{best} (not unique) or {alternatives}?",
            agent=agent,
        )
    return TaskChoice(
        paths=paths,
        reason=_reason(rows, paths, others),
        sample=sample,
        agent=agent,
        content=_content(rows, paths, question, agent),
    )


class _Found(msgspec.Struct, frozen=True):
    """The fields that were found: the parts of the task, the attempt and the agent."""

    paths: tuple[str, ...]
    sample: str | None
    agent: str | None


def _doubt(
    rows: _Rows, best: str, found: _Found, verdicts: Collection[str]
) -> TaskChoice | None:
    """Ask about a task that may be meant otherwise; None if nothing speaks against it."""
    columns = rows.columns
    similar = columns[best].similar
    if similar is not None:
        return _of_similar_ids(best, similar)
    divider = _divider(rows, found, verdicts)
    if divider is not None:
        return _of_divided_rows(best, columns[divider], found.agent)
    regular = _regular_column(rows, best, verdicts)
    if regular is not None:
        return _of_regular_rows(columns[best], columns[regular])
    title = _unclear_title(rows, found.paths, found.sample)
    if title is None:
        return None
    return TaskChoice(
        paths=(),
        reason=f"task: not clear, {best} is the same under several {title}",
        question=f"[{title}, {best}], or {best} if each {title} is an attempt?",
        agent=found.agent,
        is_open=True,
    )


def _reason(rows: _Rows, paths: Sequence[str], others: Sequence[str]) -> str:
    """Say which fields are the task, how many there are, and what else it could be."""
    columns = [rows.columns[path] for path in paths]
    tasks = set(zip(*(column.texts for column in columns), strict=True))
    shown = f"[{', '.join(paths)}]"
    if len(paths) == 1:
        shown = paths[0]
    values = many(len(tasks), "value")
    reason = f"task: {shown}, {values} in {many(len(columns[0].values), 'row')}"
    if others:
        reason += f"; or {', '.join(others)}"
    return reason


def _content(
    rows: _Rows, paths: Sequence[str], question: str | None, agent: str | None
) -> str | None:
    """Return the question's field, if each task of an agent has one; None if it is the task."""
    if question is None or question in paths:
        return None
    group = list(paths)
    if agent is not None:
        group.append(agent)
    if not rows.depends(question, group):
        return None
    return question


def _of_similar_ids(path: str, ids: tuple[str, str]) -> TaskChoice:
    """Ask about ids such as ``q1`` and ``Q1``, which may be one task."""
    # where two forms of an accent look the same, their codes differ
    look_alike = len({unicodedata.normalize("NFC", text) for text in ids}) == 1
    first, second = map(ascii if look_alike else repr, ids)
    return TaskChoice(
        paths=(),
        reason=f"task: not clear, {path} has {first} and {second}",
        question=f"{path} if {first} and {second} are two tasks; else make them one",
        is_open=True,
    )


def _of_divided_rows(task: str, divider: SeenColumn, agent: str | None) -> TaskChoice:
    """Ask about a field of words that tells the rows of each task apart."""
    words = listed(sorted(set(divider.texts)), _NAMES)
    path = divider.path
    return TaskChoice(
        paths=(),
        reason=f"task: not clear, the rows of each {task} are told apart by {path}",
        question=(
            f"[{task}, {path}] if each is a task of its own; {task} if {path} ({words}) "
            "names attempts; or select one with where:"
        ),
        agent=agent,
        is_open=True,
    )


def _of_regular_rows(ids: SeenColumn, regular: SeenColumn) -> TaskChoice:
    """Ask about ids that are each row's own, beside a field that recurs as attempts do."""
    values = listed(list(dict.fromkeys(regular.texts)), _NAMES)
    return TaskChoice(
        paths=(),
        reason=(
            f"task: not clear, {ids.path} is unique in every row, and {regular.path} "
            f"goes through {values} again and again"
        ),
        question=(
            f"{ids.path} if each row is a task; if {regular.path} numbers attempts, add "
            "the question's id to the rows"
        ),
        is_open=True,
    )


def question_of_keys(layout: Layout, columns: Mapping[str, SeenColumn]) -> str:
    """Ask about keys of an object that may be of one run alone: times, random ids."""
    keyed = layout.keyed or ""
    column = columns.get(keyed)
    if column is None or not (column.are_times or column.is_random):
        return ""
    what = "times" if column.are_times else "random ids"
    return f"{keyed} (the keys, which are {what}) if the next run has the same?"


def open_task(question: str) -> TaskChoice:
    """Ask about a task that may be meant otherwise."""
    reason = f"task: not clear, {question}"
    return TaskChoice(paths=(), reason=reason, question=question, is_open=True)


def task_of_groups(
    kind: GroupKind, keyed: str, columns: Mapping[str, SeenColumn]
) -> TaskChoice:
    """Choose the task of objects of objects: the outer keys, if the inner ones name attempts."""
    tasks = columns[GROUP]
    names = sorted(set(columns[keyed].texts))
    shown = listed(names, _NAMES)
    if kind is GroupKind.TASKS:
        reason = f"task: {GROUP}, {many(tasks.distinct, 'value')}; attempts: {shown}"
        return TaskChoice(paths=(GROUP,), reason=reason)
    both = f"[{GROUP}, {keyed}]"
    return TaskChoice(
        paths=(),
        reason=f"task: not clear, each of the {tasks.distinct} objects has {shown}",
        question=f"{GROUP} if {shown} are attempts or agents, or {both} if tasks?",
        is_open=True,
    )


# -- candidates ----------------------------------------------------------------------------


def _candidates(
    rows: _Rows, verdicts: Collection[str], agent: str | None, *, is_nested: bool
) -> list[str]:
    """List the fields that may be the task, the likeliest first."""
    ranks: dict[str, tuple[bool, bool, TaskName, bool]] = {}
    for path, column in rows.columns.items():
        if path == agent or not _may_hold_ids(rows, column):
            continue
        name = _rank(rows, column, is_verdict=path in verdicts)
        if name is TaskName.NEVER:
            continue
        in_parent = path.startswith(_PARENT) or _is_of_tasks(rows, column, name)
        is_inner = is_nested and not in_parent
        is_position = last_part(path) in _POSITIONS
        ranks[path] = (not column.is_full, is_inner, name, is_position)
    return sorted(ranks, key=ranks.__getitem__)


def _may_hold_ids(rows: _Rows, column: SeenColumn) -> bool:
    """Check for texts or whole numbers that most rows have, and that differ between some."""
    count = len(column.values)
    if not column.are_ids or len(column.given) < _MOSTLY * count:
        return False
    if column.distinct < 2 and count > 1:
        return False
    # where attempts are numbered, an id of each row's own is no task's
    return rows.attempt is None or column.distinct < _NEARLY * count


def _is_of_tasks(rows: _Rows, column: SeenColumn, name: TaskName) -> bool:
    """Check whether an id in nested rows is a task's, because it recurs in several lists."""
    if name > TaskName.PLAIN_ID or column.is_unique:
        return False
    parents = [path for path in rows.columns if path.startswith(_PARENT)]
    return any(
        not rows.depends(path, [column.path]) and rows.are_apart([path, column.path])
        for path in parents
    )


def _rank(rows: _Rows, column: SeenColumn, *, is_verdict: bool) -> TaskName:
    """Judge a field by its name, and by whether its values are a task's own."""
    name = task_name(column.path)
    if name in (TaskName.OWN, TaskName.NEVER):
        return name
    if name is TaskName.OTHER_ID:
        is_own = not _is_record_id(column)
    elif name is TaskName.PLAIN_ID:
        is_own = not _is_record_id(column) and not _counts_rows(column)
    elif name is TaskName.QUESTION:
        is_own = column.are_texts
    else:
        is_own = not is_verdict and _may_name_tasks(rows, column, name)
    return name if is_own else TaskName.NEVER


def _is_record_id(column: SeenColumn) -> bool:
    """Check for an id that a tool gave to each row: a random one, or a time."""
    return column.is_unique and _are_random_or_times(column)


def _are_random_or_times(column: SeenColumn) -> bool:
    return column.is_random or column.are_times


def _counts_rows(column: SeenColumn) -> bool:
    """Check for the positions of rows, or for keys of numbered objects."""
    if column.path == _POSITION:
        return not column.are_texts
    return column.path == _KEY and all(map(str.isdecimal, column.texts))


def _may_name_tasks(rows: _Rows, column: SeenColumn, name: TaskName) -> bool:
    """Check whether texts without a telling name may be the tasks.

    Prose that is another one in each row may be what the model wrote. Words that recur may be a
    topic, unless another field tells the rows of each apart.
    """
    if not column.are_texts or _are_random_or_times(column):
        return False
    if is_group(column.path) or is_sample(column.path):
        return False
    if column.is_unique:
        return name is TaskName.TITLE or not column.are_prose
    if not column.recurs:
        return False
    if name is TaskName.TITLE and column.path.startswith(_PARENT):
        return True
    return column.are_prose or rows.tells_apart(column.path)


def _most_telling(rows: _Rows, candidates: Sequence[str], *, is_nested: bool) -> str:
    """Choose among candidates: the best name, except that a question beats a row's id."""
    best = candidates[0]
    name = task_name(best)
    if name is TaskName.OWN:
        in_parent = is_nested and best.startswith(_PARENT)
        return _finest_own(rows, candidates, in_parent=in_parent)
    # a question that recurs is a better task than an id that is unique to each row
    is_id = name in (TaskName.OTHER_ID, TaskName.PLAIN_ID, TaskName.TITLE)
    questions = [path for path in candidates if task_name(path) is TaskName.QUESTION]
    if not is_id or not rows.columns[best].is_unique or not questions:
        return best
    # one of several may be an instruction, which is the same for many tasks
    question = _finest(rows, questions)
    return question if rows.columns[question].mostly_recurs else best


def _finest_own(rows: _Rows, candidates: Sequence[str], *, in_parent: bool) -> str:
    """Choose among fields that are tasks by their names: the first of those with most values."""
    named = [path for path in candidates if task_name(path) is TaskName.OWN]
    if in_parent:
        named = [path for path in named if path.startswith(_PARENT)]
    return _finest(rows, named)


def _finest(rows: _Rows, paths: Sequence[str]) -> str:
    """Choose the field with most values, the first one of several."""
    return max(paths, key=lambda path: rows.columns[path].distinct)


def _open_question(rows: _Rows) -> str:
    """Say what may be the task, or what the rows lack."""
    if rows.attempt is not None:
        return (
            f"{rows.attempt} numbers attempts, and nothing repeats with them: "
            "add the question's id to the rows"
        )
    unique = [
        path
        for path, column in rows.columns.items()
        if column.are_ids and column.is_unique and not is_output(path)
    ]
    if unique:
        shown = [f"{path} (unique in every row)" for path in unique[:_SHOWN]]
        return f"{' or '.join(shown)}?"
    for path, column in rows.columns.items():
        fractions = [value for value in column.given if isinstance(value, float)]
        if fractions and task_name(path) <= TaskName.PLAIN_ID:
            found = f"{path} holds {fractions[0]}"
            return f"{found}: write whole numbers, or text with a letter"
    return "no field looks like a task: name its path, or add the question's id"


# -- attempts ------------------------------------------------------------------------------


def _with_attempts(
    rows: _Rows, task: str, question: str | None, agent: str | None
) -> tuple[tuple[str, ...], str | None]:
    """Find what tells rows of one id apart: attempts, agents, or further parts of the id."""
    by_agent = [task]
    if agent is not None:
        by_agent.append(agent)
    sample = _sample(rows, by_agent, task)
    if rows.are_apart(by_agent) or sample is not None:
        return (task,), sample
    parts = _further_parts(rows, by_agent)
    if parts:
        return _in_order(rows, (*parts, task)), None
    if question is None or question == task or rows.depends(question, by_agent):
        return (task,), None
    return (), None


def _further_parts(rows: _Rows, by_agent: Sequence[str]) -> tuple[str, ...]:
    """Find the fewest parts that make an id with others whole; none if no three are enough."""
    parts = [
        path
        for path, column in rows.columns.items()
        if path not in by_agent and _may_be_part(column)
    ]
    if rows.lists is ListKind.SUBSETS:
        parts += [path for path in rows.titles() if path not in (*parts, *by_agent)]
    tried = parts[:_GROUPS]
    for groups in chain.from_iterable(combinations(tried, size) for size in (1, 2, 3)):
        if rows.are_apart([*groups, *by_agent]):
            return groups
    return ()


def _divider(rows: _Rows, found: _Found, verdicts: Collection[str]) -> str | None:
    """Find the field that tells the rows of each task apart, but names no attempt.

    It may name the metric, the judge, the variant of a prompt, a step or a setting.
    """
    group = list(found.paths)
    if found.agent is not None:
        group.append(found.agent)
    is_settled = len(found.paths) != 1 or found.sample is not None
    if is_settled or rows.are_apart(group):
        return None
    for path, column in rows.columns.items():
        if path in group or _has_known_role(rows, column, verdicts):
            continue
        if _may_divide(column) and rows.are_apart([*group, path]):
            return path
    return None


def _has_known_role(rows: _Rows, column: SeenColumn, verdicts: Collection[str]) -> bool:
    """Check for a key, an attempt, prose, an id of the row or a verdict."""
    path = column.path
    if path in (rows.attempt, _KEY) or path.startswith(_PARENT):
        return True
    if is_sample(path) or column.are_prose:
        return True
    if column.is_random or column.are_times:
        return True
    return path in verdicts and _is_verdict(column)


def _may_divide(column: SeenColumn) -> bool:
    """Check for a few words or numbers that all tasks have, and for the numbers of steps."""
    if not column.is_full or column.are_lists:
        return False
    is_step = is_step_number(column.path) and all(
        type(value) is int for value in column.values
    )
    return is_step or (column.recurs and column.distinct <= _TURNS)


def _regular_column(rows: _Rows, task: str, verdicts: Collection[str]) -> str | None:
    """Find a field beside ids of single rows that recurs in order, as attempts do.

    The ids of questions say so by their name; others may only count the rows.
    """
    is_of_rows = rows.columns[task].is_unique and task_name(task) in _MAY_BE_OF_ROWS
    if not is_of_rows or task.startswith(_PARENT):
        return None
    for path, column in rows.columns.items():
        if path == task or path.startswith(_PARENT) or _describes(column):
            continue
        is_grade = path in verdicts and _is_verdict(column)
        if not is_grade and _is_regular(column):
            return path
    return None


def _describes(column: SeenColumn) -> bool:
    """Check for a field that says something of the task, the agent or the answer."""
    path = column.path
    if is_question(path) or is_group(path) or describes_task(path):
        return True
    return is_agent(path) or is_output(path) or column.are_prose


def _is_verdict(column: SeenColumn) -> bool:
    """Check whether a field that may be the reward is no number without a telling name."""
    are_numbers = all(type(value) in (int, float) for value in column.given)
    return not are_numbers or reward_name(column.path) < RewardName.UNKNOWN


def _is_regular(column: SeenColumn) -> bool:
    """Check for values that follow each other in turns, or in blocks of one size."""
    texts = column.texts
    count = column.distinct
    if not column.is_full or column.are_lists or not 1 < count <= _TURNS:
        return False
    if len(texts) % count or len(texts) < _ROUNDS * count:
        return False
    size = len(texts) // count
    values = list(dict.fromkeys(texts))
    in_turns = values * size
    in_blocks = [value for value in values for _ in range(size)]
    return texts in (in_turns, in_blocks)


def _unclear_title(rows: _Rows, paths: Sequence[str], sample: str | None) -> str | None:
    """Find the title of lists with the same ids, which may be subsets or runs."""
    if rows.lists is not ListKind.UNKNOWN or sample is not None or len(paths) != 1:
        return None
    if rows.are_apart(paths):
        return None
    for title in rows.titles():
        if rows.are_apart([title, *paths]):
            return title
    return None


def _may_be_part(column: SeenColumn) -> bool:
    """Check for a field that may be a part of the task's id: of a group, or of a task."""
    if not column.are_ids or column.distinct < 2:
        return False
    if is_group(column.path) or column.path == GROUP:
        return True
    recurs = column.distinct < len(column.values)
    return recurs and task_name(column.path) is TaskName.OWN


def _in_order(rows: _Rows, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Put the parts of an id in the order in which rows have them."""
    order = list(rows.columns)
    return tuple(sorted(paths, key=order.index))


def _numbers_attempts(column: SeenColumn) -> bool:
    """Check whether a field numbers or names attempts, each of which many tasks have."""
    if not is_sample(column.path) or not column.are_ids or not column.is_full:
        return False
    counts = Counter(column.texts).values()
    is_balanced = min(counts) * 2 >= max(counts)
    return len(counts) > 1 and min(counts) > 1 and is_balanced


def _sample(rows: _Rows, task: Sequence[str], own: str) -> str | None:
    for path, column in rows.columns.items():
        if path == own or not is_sample(path) or not column.is_full:
            continue
        are_numbers = all(type(value) is int and value >= 0 for value in column.values)
        if are_numbers and column.distinct > 1 and rows.are_apart([*task, path]):
            return path
    return None


def _agent(rows: _Rows) -> str | None:
    for path, column in rows.columns.items():
        if is_agent(path) and column.are_texts and column.distinct <= _FEW:
            return path
    return None


def _asks(column: SeenColumn) -> bool:
    return is_question(column.path) and column.are_texts
