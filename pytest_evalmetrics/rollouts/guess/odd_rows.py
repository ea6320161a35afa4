"""Rows that are none: the first line of a CSV file without names, and a last row of totals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts.guess.field_names import RewardName, reward_name
from pytest_evalmetrics.rollouts.guess.verdict_words import meaning
from pytest_evalmetrics.rollouts.name_words import word_set, words_of
from pytest_evalmetrics.rollouts.number_texts import is_number_text
from pytest_evalmetrics.rollouts.source import task_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import FieldMap, RolloutsSpec

# the statistics of a column, by which a row over all others is called
_TOTALS: Final = word_set(
    "total totals sum mean average avg overall all summary std stdev stddev deviation "
    "median min max minimum maximum variance gesamt summe mittelwert durchschnitt "
    "moyenne promedio media 平均 合計 合计"
)
# what may stand beside such a word
_OF_TOTALS: Final = word_set(
    "macro micro weighted grand standard score scores of tasks row rows"
)
_digits = re.compile(r"\d+")


def must_have_header(
    source: Source, columns: Mapping[str, SeenColumn], fields: FieldMap
) -> None:
    """Refuse a CSV file whose first line holds values in place of names.

    Raises
    ------
    DataError
        If the reward's name is a number, or the task's name counts on with its values.
    """
    reward = fields.reward if isinstance(fields.reward, str) else ""
    tasks = [path for path in task_paths(fields) if path in columns]
    counts_on = any(_counts_on(path, columns[path]) for path in tasks)
    if not is_number_text(reward) and not counts_on:
        return
    first = source.head.partition(b"\n")[0].decode(errors="replace").strip()
    raise source.error(
        f"the first line is {first!r}: values, in place of the names of the columns",
        line=1,
        hint="write a header above it, such as: task,reward",
    )


def must_have_one_header(source: Source, columns: Mapping[str, SeenColumn]) -> None:
    """Refuse a CSV file with its header again among the rows, as of two files in one.

    Raises
    ------
    DataError
        If a row holds the name of each column in it.
    """
    named = [
        {number for number, text in enumerate(column.texts) if text == path}
        for path, column in columns.items()
    ]
    repeated = set.intersection(*named) if len(named) > 1 else set()
    if repeated:
        raise source.error(
            f"row {min(repeated) + 1} is the header again, as where files were joined",
            hint="remove the line, or name the files one by one",
        )


def must_have_one_table(source: Source, column: SeenColumn | None) -> None:
    """Refuse a CSV file with a second table below the first, by its header.

    Raises
    ------
    DataError
        If the reward, a number in other rows, is the name of a score in one.
    """
    if column is None:
        return
    for word in column.strange_words:
        is_score = reward_name(word) <= RewardName.VERDICT
        if _is_total(word) or (is_score and not meaning(word).is_known):
            row = column.texts.index(word) + 1
            raise source.error(
                f"row {row} has {word!r} at {column.path!r}, as the header of a second table",
                hint="keep one table in a file",
            )


def _counts_on(name: str, column: SeenColumn) -> bool:
    """Check whether a name is one of the ids below it: ``q0`` above ``q1``, ``q2``."""
    if not any(character.isdigit() for character in name) or not column.are_texts:
        return False
    form = _digits.sub("0", name)
    return all(_digits.sub("0", text) == form for text in column.texts)


def must_have_no_total(
    source: Source, columns: Mapping[str, SeenColumn], spec: RolloutsSpec
) -> None:
    """Refuse rows of which the first or the last is a total of the others, by its id.

    Raises
    ------
    DataError
        If such a row's id is a word such as total or mean, and not all ids are.
    """
    paths = task_paths(spec.fields) or ((spec.keyed,) if spec.keyed else ())
    if not paths:  # a person has to choose one of them
        paths = tuple(path for path, column in columns.items() if column.are_texts)
    for path in paths:
        if path not in columns:
            continue
        ids = columns[path].texts
        if all(map(_is_total, ids)):
            continue
        for place, task in (("last", ids[-1]), ("first", ids[0])):
            if _is_total(task) and ids.count(task) == 1:
                raise source.error(
                    f"the {place} row, {path}: {task}, looks like a total of the others",
                    hint="remove it from the file",
                )


def _is_total(task: str) -> bool:
    words = set(words_of(task))
    return bool(words & _TOTALS) and words <= _TOTALS | _OF_TOTALS
