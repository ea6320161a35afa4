"""Which field of their rows separates the tasks that got worse from the others best."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.pipeline.row_texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.spec import FieldMap
    from pytest_evalmetrics.transcripts import Turn

    # (field, value) -> the places of the tasks that have it
    Groups = Mapping[tuple[str, str], frozenset[int]]

_LEVEL: Final = 0.05  # of all values together
_SHOWN: Final = 5
_VALUES: Final = 30  # of a field; one with more is no category
_LETTERS: Final = 60  # of a value
_FEWEST: Final = 3  # tasks with a value
# what a row says of its own outcome, which separates by what it is
_OUTCOMES: Final = frozenset(
    (
        *("verdict", "status", "result", "outcome", "grade", "label", "judgement"),
        *("prediction", "answer", "output", "response", "completion", "generation"),
    )
)
# what is found in the texts of rows, as fields of their own
_ANSWER: Final = "answer"
_WORD: Final = "reason has the word"
_words_of = re.compile(r"[^\W\d_]{4,}").findall


def separators(
    groups: Groups, worse: Collection[int], tasks: int, *, agent: str = ""
) -> tuple[Separator, ...]:
    """Rank values of fields by how surely they separate worse tasks from the others.

    Parameters
    ----------
    groups
        The places of the tasks that have each value of each field.
    worse
        The places of the tasks that got worse.
    tasks
        The number of all tasks.
    agent
        The agent that they are of.

    Returns
    -------
    tuple of Separator
        At most five values, the surest first, whose p is below 0.05. p is Fisher's exact
        one-sided p, times the number of values that were looked at (Bonferroni).
    """
    fields = len({field for field, _ in groups})
    bad = frozenset(worse)
    ranked = []
    for (field, value), members in groups.items():
        worse_with = len(members & bad)
        p = fisher_p(worse_with, len(members), len(bad), tasks) * len(groups)
        if p < _LEVEL:
            turn = (p, -worse_with, _says_less(field), field, value)
            ranked.append((turn, members))
    ranked.sort(key=lambda entry: entry[0])
    found: list[Separator] = []
    # of a field's values that the same tasks have, one is enough
    seen: set[tuple[str, frozenset[int]]] = set()
    for (p, _, _, field, value), members in ranked:
        if (field, members) in seen or len(found) == _SHOWN:
            continue
        seen.add((field, members))
        worse_with = len(members & bad)
        found.append(
            Separator(
                agent=agent,
                field=field,
                value=value,
                tasks_with=len(members),
                worse_with=worse_with,
                tasks_without=tasks - len(members),
                worse_without=len(bad) - worse_with,
                odds=_odds(worse_with, len(members), len(bad), tasks),
                p=p,
                fields=fields,
                values=len(groups),
            )
        )
    return tuple(found)


def _says_less(field: str) -> int:
    """Rank fields that separate alike: a category or a tool explains more than a length."""
    return {_ANSWER: 2, _WORD: 1}.get(field, 0)


def fisher_p(worse_with: int, with_value: int, worse: int, tasks: int) -> float:
    """Return Fisher's exact one-sided p of so many worse tasks among those with a value."""
    most = min(with_value, worse)
    whole = _log_choose(tasks, with_value)
    return math.fsum(
        math.exp(
            _log_choose(worse, k)
            + _log_choose(tasks - worse, with_value - k)
            - whole
        )
        for k in range(worse_with, most + 1)
        if with_value - k <= tasks - worse
    )  # fmt: skip


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _odds(worse_with: int, with_value: int, worse: int, tasks: int) -> float:
    """Return the odds ratio, with half a task more in each cell (Haldane 1956)."""
    held = with_value - worse_with
    worse_without = worse - worse_with
    held_without = tasks - with_value - worse_without
    return ((worse_with + 0.5) * (held_without + 0.5)) / (
        (held + 0.5) * (worse_without + 0.5)
    )


# -- values of rows --------------------------------------------------------------------------


def groups_of(
    rows: Sequence[Mapping[str, object]],
    reasons: Sequence[str],
    fields: FieldMap,
    scores: Collection[str],
) -> Groups:
    """Group tasks, a row each, by the values that a reader would look at."""
    groups: dict[tuple[str, str], set[int]] = defaultdict(set)
    lengths = []
    for place, row in enumerate(rows):
        texts = texts_of(row, fields=fields)
        lengths.append(len(texts.answer))
        words = _words_of((reasons[place] or texts.reason).lower())
        keys = {(_WORD, word) for word in words}
        keys.update(_categories(row, fields, scores))
        keys.update(_events(texts.turns))
        for key in keys:
            groups[key].add(place)
    median = sorted(lengths)[len(lengths) // 2] if lengths else 0
    longer = {place for place, length in enumerate(lengths) if length > median}
    shorter = {place for place, length in enumerate(lengths) if length < median}
    groups[_ANSWER, f"longer than {median} characters"] |= longer
    groups[_ANSWER, f"shorter than {median} characters"] |= shorter
    return _telling(groups, len(rows))


def _events(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """Yield the tools that a conversation calls, those that failed, and how it ended."""
    for turn in turns:
        for call in turn.calls:
            name = call.name[:_LETTERS]
            yield "calls tool", name
            if call.error:
                yield "tool failed", name
        if turn.stop_reason == "length":
            yield _ANSWER, "ended at the token limit"


def _categories(
    row: Mapping[str, object], fields: FieldMap, scores: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the short texts of a row that are no part of its question or its outcome."""
    own = {fields.task, fields.sample, fields.agent, fields.prompt, fields.answer}
    for name, value in row.items():
        if name in own or name in scores or name in _OUTCOMES:
            continue
        values = value if isinstance(value, list) else [value]
        for text in values:
            if isinstance(text, str) and 0 < len(text) <= _LETTERS:
                yield name, text


def _telling(
    groups: Mapping[tuple[str, str], Iterable[int]], tasks: int
) -> dict[tuple[str, str], frozenset[int]]:
    """Leave out fields whose values are as many as tasks, and values of nearly none or all."""
    values: dict[str, int] = defaultdict(int)
    for field, _ in groups:
        values[field] += 1
    kept = {}
    for (field, value), places in groups.items():
        members = frozenset(places)
        is_category = field == _WORD or values[field] <= _VALUES
        if is_category and _FEWEST <= len(members) < tasks:
            kept[field, value] = members
    return kept
