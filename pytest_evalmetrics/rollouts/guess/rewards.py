"""Which field is the reward: candidates with their evidence, and the choice among them."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.json_types import list_of
from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.guess.field_names import (
    RewardName,
    counts_tasks,
    is_agent,
    is_error_of_a_mean,
    is_maximum,
    is_status,
    may_be_a_count,
    may_hold_a_verdict_in_words,
    reward_name,
    says_direction,
    stem_of_attempts,
)
from pytest_evalmetrics.rollouts.guess.verdict_words import Meaning, meaning
from pytest_evalmetrics.rollouts.json_values import is_json_text
from pytest_evalmetrics.rollouts.number_texts import approximate, is_quotient

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn

OPEN: Final = "?"  # stands for what a person has to fill in
_WORDS: Final = 10  # different words of a verdict
_WORD: Final = 40  # characters of a word
_SHOWN: Final = 4  # candidates on a line
_TIMES: Final = 9e8  # seconds since 1970 are larger
_IDENTIFIERS: Final = 10  # more whole numbers, all different, are identifiers
_MOSTLY: Final = 0.7  # of the rows have a reward
_LOW_SENTINELS: Final = (-1.0, -9.0, -99.0, -999.0, -9999.0)
_HIGH_SENTINELS: Final = (99.0, 999.0, 9999.0, 99999.0)
_FAR: Final = 5  # times the largest of the other numbers
_CLOSE: Final = 1e-3  # of a mean that a file states


class Sentinel(msgspec.Struct, frozen=True):
    """A number among rewards that may mean that nobody judged."""

    value: float
    count: int  # of the rows that have it


class RewardCandidate(msgspec.Struct, frozen=True):
    """A field that may be the reward, with what speaks for it."""

    path: str
    name: RewardName
    values: Sequence[JsonValue]  # a number, a list of numbers, or None of each row
    shown: str  # such as ``correct (0/1, 43 % are 1)``
    is_constant: bool
    in_unit_range: bool  # whether all numbers are from 0 to 1
    is_verdict: bool = False  # whether its values are true and false, or words
    #: The worth of each word, `OPEN` if unknown; empty for numbers.
    points: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)
    missing: tuple[str, ...] = ()  # words such as N/A among its numbers
    unknown: tuple[str, ...] = ()  # other words among its numbers
    #: Whether it holds lists that may be no attempts: of steps, criteria or test cases.
    may_be_parts: bool = False
    #: Whether it may count something, such as tests that passed, rather than be a grade.
    may_be_count: bool = False
    are_quotients: bool = False  # whether its values are texts such as ``7/10``

    @property
    def strength(self) -> tuple[int, bool, bool, bool]:
        """What ranks candidates: the name, then for unknown names the range; least first."""
        is_code = self.name is RewardName.UNKNOWN and not self.in_unit_range
        return (self.name, self.may_be_parts, self.may_be_count, is_code)

    @property
    def speaks_for_itself(self) -> bool:
        """Whether it may be the reward without a person's word.

        Not so: a number of any size without a telling name, which may be a code; a field that
        many rows do not have, which may be no attempts; lists that may be of steps; and a count.
        """
        is_code = self.name is RewardName.UNKNOWN and not self.in_unit_range
        given = sum(value is not None for value in self.values)
        is_rare = given < _MOSTLY * len(self.values) and not self.points
        is_unclear = self.may_be_parts or self.may_be_count or self.are_quotients
        return not is_code and not is_rare and not is_unclear

    @property
    def has_direction(self) -> bool:
        """Whether more of it is better, by its name or by the worth of its words."""
        is_named = self.name is not RewardName.UNKNOWN and not should_be_low(self.path)
        return bool(self.points) or is_named

    @property
    def sentinel(self) -> Sentinel | None:
        """The number that may mean not judged: -1 where all others are from 0, or 999."""
        numbers = [value for value in self.values if isinstance(value, float)]
        if self.points or not numbers:
            return None
        if _has_low_sentinel(numbers):
            low = min(numbers)
            return Sentinel(value=low, count=numbers.count(low))
        if _has_high_sentinel(numbers):
            high = max(numbers)
            return Sentinel(value=high, count=numbers.count(high))
        return None


def _has_low_sentinel(numbers: Sequence[float]) -> bool:
    """Check for a number such as -1 where all others are from 0."""
    low = min(numbers)
    return low in _LOW_SENTINELS and all(n >= 0 for n in numbers if n != low)


def _has_high_sentinel(numbers: Sequence[float]) -> bool:
    """Check for a number such as 999 far above all others."""
    high = max(numbers)
    others = [number for number in numbers if number != high]
    return high in _HIGH_SENTINELS and bool(others) and _FAR * max(others) < high


class RewardChoice(msgspec.Struct, frozen=True):
    """The reward, or the candidates if two are as likely or none is."""

    chosen: RewardCandidate | None
    candidates: tuple[RewardCandidate, ...]  # the likeliest first, without the chosen
    # about texts that may hold the reward, where there are no candidates
    hint: str = ""
    attempts: tuple[str, ...] = ()  # fields that may each hold an attempt

    def at(self, path: str | None) -> RewardCandidate | None:
        """Find the candidate at a path."""
        candidates = list(self.candidates)
        if self.chosen is not None:
            candidates.insert(0, self.chosen)
        return next((c for c in candidates if c.path == path), None)

    @property
    def constants(self) -> tuple[str, ...]:
        """The fields that are rewards by their names, and hold one value in all rows."""
        if self.chosen is not None:
            return ()
        constants = [
            candidate
            for candidate in self.candidates
            if candidate.is_constant and candidate.name <= RewardName.VERDICT
        ]
        return tuple(
            candidate.path
            for candidate in _without_equals(constants)
            if candidate.has_direction and candidate.speaks_for_itself
        )

    @property
    def best(self) -> RewardName:
        """How likely a reward is among the fields at all."""
        # a number without a telling name that is the same everywhere shows nothing
        names = [
            candidate.name
            for candidate in self.candidates
            if not candidate.is_constant or candidate.name is not RewardName.UNKNOWN
        ]
        if self.chosen is not None:
            names.append(self.chosen.name)
        return min(names, default=RewardName.NEVER)

    @property
    def question(self) -> str:
        """The candidates to choose from, for the open line."""
        if self.attempts:
            joined = f"{{attempts: [{', '.join(self.attempts)}]}}"
            return f"{joined} if they are attempts at each task, or one of them?"
        if not self.candidates:
            return self.hint or "no field looks like a reward: name its path"
        shown = " or ".join(candidate.shown for candidate in self.candidates[:_SHOWN])
        more = len(self.candidates) - _SHOWN
        if more > 0:
            shown += f", or one of {more} more"
        return f"{shown}?"

    @property
    def reason(self) -> str:
        """Why the reward is chosen."""
        if self.chosen is None:
            return f"reward: not clear, {self.question}"
        why = "by its name"
        if self.chosen.name is RewardName.UNKNOWN:
            why = "by its values"
        reason = f"reward: {self.chosen.shown}, {why}"
        others = [candidate.path for candidate in self.candidates[: _SHOWN - 1]]
        if others:
            reason += f"; or {', '.join(others)}"
        return reason


def choose_reward(
    columns: Mapping[str, SeenColumn], taken: Collection[str]
) -> RewardChoice:
    """Choose the reward among the fields of rows, if one is likelier than the others."""
    choice = _choice(columns, taken)
    attempts = attempts_side_by_side(columns)
    chosen = choice.chosen
    if not attempts or (chosen is not None and chosen.path not in attempts):
        return choice
    candidates = choice.candidates
    if chosen is not None:
        candidates = (chosen, *candidates)
    return RewardChoice(None, candidates, attempts=attempts)


def _choice(columns: Mapping[str, SeenColumn], taken: Collection[str]) -> RewardChoice:
    """Choose the reward among fields of which each is a reward by itself."""
    candidates = _candidates(columns, taken)
    likely = [c for c in candidates if c.name is not RewardName.NEVER]
    constant = [c for c in likely if c.is_constant]
    varying = _without_equals([c for c in likely if not c.is_constant])
    if varying:
        return _choice_among(columns, varying, constant)
    unlikely = [c for c in candidates if c.name is RewardName.NEVER and c.points]
    hint = _hint_of_texts(columns, taken)
    return RewardChoice(None, tuple(constant or unlikely), hint)


def _choice_among(
    columns: Mapping[str, SeenColumn],
    varying: Sequence[RewardCandidate],
    constant: Sequence[RewardCandidate],
) -> RewardChoice:
    """Choose among fields that vary, beside others that hold one value in all rows."""
    first = varying[0]
    others = tuple(varying[1:])
    as_likely = [c for c in varying if c.strength == first.strength]
    named_constant = [c for c in constant if c.name is not RewardName.UNKNOWN]
    if first.name is RewardName.UNKNOWN and named_constant:
        # a verdict that is the same everywhere is as likely as a number without a name
        return RewardChoice(None, (*named_constant, *as_likely))
    doubt = _doubt(columns, first)
    if doubt:
        asked = structs.replace(first, shown=f"{first.path} ({doubt})")
        return RewardChoice(None, (asked, *others))
    if len(as_likely) > 1:
        return RewardChoice(None, tuple(as_likely))
    if first.speaks_for_itself:
        return RewardChoice(first, others)
    return RewardChoice(None, (first, *others))


def _candidates(
    columns: Mapping[str, SeenColumn], taken: Collection[str]
) -> list[RewardCandidate]:
    """List the fields that may be the reward, the likeliest first."""
    candidates = []
    for path, column in columns.items():
        if path in taken:
            continue
        candidate = _candidate(column)
        if candidate is not None:
            candidates.append(candidate)
    candidates.sort(
        key=lambda candidate: (candidate.strength, not candidate.is_verdict)
    )
    return candidates


def attempts_side_by_side(columns: Mapping[str, SeenColumn]) -> tuple[str, ...]:
    """Find fields with the attempts at a task: ``run1``, ``run2``; none without such fields."""
    groups: dict[str, list[str]] = {}
    for path, column in columns.items():
        stem = stem_of_attempts(path)
        if stem is not None and _may_be_attempt(column):
            groups.setdefault(stem, []).append(path)
    largest = max(groups.values(), key=len, default=[])
    return tuple(largest) if len(largest) > 1 else ()


def _may_be_attempt(column: SeenColumn) -> bool:
    """Check for numbers, or for the words of verdicts."""
    if column.numbers is not None:
        return max(column.numbers) < _TIMES
    words = _words_of(column)
    return words is not None and _hold_a_verdict(words)


def _hint_of_texts(columns: Mapping[str, SeenColumn], taken: Collection[str]) -> str:
    """Name a field of texts that may hold the reward: JSON, or a score such as ``7/10``."""
    for path, column in columns.items():
        if path in taken or not column.are_texts:
            continue
        example = column.texts[0].strip()
        if is_json_text(example):
            return f"{path} holds JSON as text: write what it holds as fields"
        if reward_name(path) <= RewardName.VERDICT and len(example) <= _WORD:
            return f"{path} holds texts such as {example!r}: write them as numbers"
    return ""


def _doubt(columns: Mapping[str, SeenColumn], reward: RewardCandidate) -> str:
    """Say what speaks against a score beside it: points, directions, a mean; else nothing."""
    maximum = _varying_maximum(columns, reward)
    if maximum is not None:
        return f"of {maximum}, which varies: write their quotient"
    direction = _varying_direction(columns, reward)
    if direction is not None:
        return f"better as {direction} says, which varies: select rows with where:"
    sign = _sign_of_a_mean(columns, reward)
    if sign is not None:
        return f"with {sign}: a mean over several tasks?"
    return ""


def _varying_maximum(
    columns: Mapping[str, SeenColumn], reward: RewardCandidate
) -> str | None:
    """Find the field that says of how many points a score is, if that varies."""
    above = reward.path.rpartition(".")[0]
    for path, column in columns.items():
        if path.rpartition(".")[0] != above or path == reward.path:
            continue
        if is_maximum(path) and column.distinct > 1 and _bounds(column, reward):
            return path
    return None


def _varying_direction(
    columns: Mapping[str, SeenColumn], reward: RewardCandidate
) -> str | None:
    """Find the field that says which way a score is better, if that varies."""
    above = reward.path.rpartition(".")[0]
    for path, column in columns.items():
        is_beside = path.rpartition(".")[0] == above
        if is_beside and says_direction(path) and column.distinct > 1:
            return path
    return None


def _sign_of_a_mean(
    columns: Mapping[str, SeenColumn], reward: RewardCandidate
) -> str | None:
    """Find the field that shows a score to be a mean of several tasks: their number, its error."""
    numbers = [value for value in reward.values if isinstance(value, float)]
    are_whole = all(map(float.is_integer, numbers))
    if not numbers or reward.is_verdict or are_whole:
        return None
    above = reward.path.rpartition(".")[0]
    for path, column in columns.items():
        is_beside = path.rpartition(".")[0] == above and path != reward.path
        if is_beside and (_is_error_of_means(column) or _counts_tasks(column)):
            return path
    return None


def _is_error_of_means(column: SeenColumn) -> bool:
    return is_error_of_a_mean(column.path) and column.numbers is not None


def _counts_tasks(column: SeenColumn) -> bool:
    """Check for the numbers of tasks behind means: whole ones, and more than one."""
    if not counts_tasks(column.path):
        return False
    are_counts = all(type(value) is int and value > 1 for value in column.given)
    return are_counts and len(column.given) >= _MOSTLY * len(column.values)


def _bounds(column: SeenColumn, reward: RewardCandidate) -> bool:
    """Check whether each score is at most the number in another field, and some are that."""
    pairs = [
        (score, most)
        for score, most in zip(reward.values, column.values, strict=True)
        if isinstance(score, int | float) and isinstance(most, int | float)
    ]
    if any(isinstance(score, bool) or score > most for score, most in pairs):
        return False
    return any(score > 1 for score, _ in pairs)


def _without_equals(candidates: Sequence[RewardCandidate]) -> list[RewardCandidate]:
    """Leave out candidates with the values of a likelier one, and means of a list."""
    kept: list[RewardCandidate] = []
    for candidate in candidates:
        if any(_says_the_same(other, candidate) for other in kept):
            continue
        if candidate.may_be_parts and any(
            _is_mean_of(other, candidate) for other in kept
        ):
            continue
        kept = [other for other in kept if not _is_mean_of(other, candidate)]
        kept.append(candidate)
    return kept


def _says_the_same(first: RewardCandidate, second: RewardCandidate) -> bool:
    return list(first.values) == list(second.values) or _is_mean_of(second, first)


def _is_mean_of(mean: RewardCandidate, verdicts: RewardCandidate) -> bool:
    for stated, held in zip(mean.values, verdicts.values, strict=True):
        if isinstance(stated, list) or not isinstance(held, list) or stated is None:
            return False
        numbers = [value for value in held if isinstance(value, int | float)]
        if not numbers or not isinstance(stated, int | float):
            return False
        if not math.isclose(math.fsum(numbers) / len(numbers), stated, abs_tol=_CLOSE):
            return False
    return True


# -- one candidate -------------------------------------------------------------------------


def _candidate(column: SeenColumn) -> RewardCandidate | None:
    """Judge one field; None if it holds neither numbers nor the words of a verdict."""
    if column.are_lists:
        return _of_lists(column)
    if is_agent(column.path):
        return None
    numbers = column.numbers
    if numbers is not None:
        return _of_numbers(column, numbers)
    strange = column.strange_words
    if strange:
        known = [None if value in strange else value for value in column.values]
        candidate = _candidate(structs.replace(column, values=known))
        return candidate and structs.replace(candidate, unknown=strange)
    return _of_words(column)


def _of_lists(column: SeenColumn) -> RewardCandidate | None:
    """Judge a field that holds lists; None if they are no lists of verdicts or grades."""
    lists = [value for value in column.given if isinstance(value, list)]
    parts = [part for part in chain.from_iterable(lists) if part is not None]
    if not parts or not _may_hold_grades(column, parts):
        return None
    if all(isinstance(part, str) for part in parts):
        return _of_lists_of_words(column, parts)
    numbers = [float(part) for part in parts if isinstance(part, int | float)]
    if len(numbers) < len(parts):
        return None
    shown = "lists of verdicts"
    may_be_parts = _may_be_parts(lists)
    if may_be_parts:
        shown = _lengths(lists)
    return RewardCandidate(
        path=column.path,
        name=reward_name(column.path),
        values=column.values,
        shown=f"{column.path} ({shown})",
        is_constant=len(set(numbers)) == 1,
        in_unit_range=min(numbers) >= 0 and max(numbers) <= 1,
        may_be_parts=may_be_parts,
    )


def _may_hold_grades(column: SeenColumn, parts: Sequence[JsonValue]) -> bool:
    """Check lists by their name; without a telling one they are embeddings and the like."""
    name = reward_name(column.path)
    if name is RewardName.UNKNOWN:
        return all(isinstance(part, bool) for part in parts)
    return name is not RewardName.NEVER


def _may_be_parts(lists: Sequence[Sequence[JsonValue]]) -> bool:
    """Check for lists that may be no attempts.

    Tasks have equally many attempts, and verdicts are 0 or 1. Other lists may as well be the
    rewards of steps, the grades of several criteria, or the results of test cases.
    """
    lengths = {len(verdicts) for verdicts in lists}
    parts = [part for part in chain.from_iterable(lists) if part is not None]
    are_verdicts = all(part in (0, 1) or isinstance(part, str) for part in parts)
    return len(lengths) > 1 or (max(lengths) > 1 and not are_verdicts)


def _lengths(lists: Sequence[Sequence[JsonValue]]) -> str:
    """Describe lists that may be no attempts."""
    least = min(map(len, lists))
    most = max(map(len, lists))
    length = f"{least} to {most}"
    if least == most:
        length = str(least)
    return f"lists of {length}: attempts, or steps or criteria?"


def _of_lists_of_words(
    column: SeenColumn, parts: Sequence[JsonValue]
) -> RewardCandidate | None:
    candidate = _of_words(structs.replace(column, values=parts))
    if candidate is None:
        return None
    points = candidate.points
    values: list[JsonValue] = [
        [points.get(value_text(part)) for part in list_of(value)] if value else None
        for value in column.values
    ]
    lists = [list_of(value) for value in column.given]
    return structs.replace(candidate, values=values, may_be_parts=_may_be_parts(lists))


def _of_numbers(column: SeenColumn, numbers: Sequence[float]) -> RewardCandidate:
    """Judge a field of numbers."""
    low = min(numbers)
    high = max(numbers)
    are_whole = all(number.is_integer() for number in numbers)
    return RewardCandidate(
        path=column.path,
        name=_name_of_numbers(column, high),
        values=_with_gaps(column, numbers),
        may_be_count=are_whole and high > 1 and may_be_a_count(column.path),
        shown=f"{column.path} ({_range_of(column, numbers)}{_share(column)})",
        is_constant=low == high,
        are_quotients=_example_of_quotients(column) is not None,
        in_unit_range=low >= 0 and high <= 1,
        is_verdict=all(isinstance(value, bool) for value in column.given),
        missing=column.gaps,
    )


def _name_of_numbers(column: SeenColumn, high: float) -> RewardName:
    """Judge the name of a field of numbers by what they are: times and identifiers are none."""
    name = reward_name(column.path)
    if high > _TIMES:
        return RewardName.NEVER
    if name is RewardName.UNKNOWN and _are_identifiers(column):
        return RewardName.NEVER
    return name


def _with_gaps(column: SeenColumn, numbers: Sequence[float]) -> list[JsonValue]:
    """Return the number of each row, None where it has none."""
    remaining = iter(numbers)
    values: list[JsonValue] = []
    for value in column.values:
        is_gap = value is None or value in column.gaps
        values.append(None if is_gap else next(remaining))
    return values


def _example_of_quotients(column: SeenColumn) -> str | None:
    """Return a text such as ``7/10`` among the values; None without any."""
    texts = [value for value in column.given if isinstance(value, str)]
    quotients = [text for text in texts if is_quotient(text)]
    telling = [text for text in quotients if 0 < approximate(text) < 1]
    return next(iter(telling or quotients), None)


def _range_of(column: SeenColumn, numbers: Sequence[float]) -> str:
    example = _example_of_quotients(column)
    if example is None:
        return _range(numbers)
    return f"{example!r} is read as {approximate(example):.3g}"


def _range(numbers: Sequence[float]) -> str:
    low = min(numbers)
    high = max(numbers)
    if low == high:
        return f"always {low:g}"
    if set(numbers) == {0.0, 1.0}:
        return f"0/1, {100 * math.fsum(numbers) / len(numbers):.0f} % are 1"
    return f"{low:g}..{high:g}"


def _share(column: SeenColumn) -> str:
    """Say how many rows have a value, where many have none."""
    given = len(column.given)
    rows = len(column.values)
    if given >= _MOSTLY * rows:
        return ""
    return f", in {given} of {rows} rows"


def _are_identifiers(column: SeenColumn) -> bool:
    are_whole = all(type(value) is int for value in column.given)
    return are_whole and column.is_unique and len(column.given) > _IDENTIFIERS


def _of_words(column: SeenColumn) -> RewardCandidate | None:
    words = _words_of(column)
    if words is None or not _may_be_verdicts(column, words):
        return None
    points = _points(column.path, words)
    worths = [
        None if value is None else points[value_text(value)] for value in column.values
    ]
    are_alike = len(set(points.values()) - {None}) < 2
    return RewardCandidate(
        path=column.path,
        name=_name_of_words(column.path, words),
        values=worths,
        shown=f"{column.path} ({listed(list(words), _SHOWN)})",
        is_constant=are_alike and OPEN not in points.values(),
        in_unit_range=True,
        is_verdict=True,
        points=points,
    )


def _words_of(column: SeenColumn) -> dict[str, Meaning] | None:
    """Look up the few short words of a field; None if it holds anything else."""
    given = column.given
    if not given or not all(isinstance(value, str | bool) for value in given):
        return None
    texts = list(dict.fromkeys(map(value_text, given)))
    if len(texts) > _WORDS or any(len(text) > _WORD for text in texts):
        return None
    return {text: meaning(text) for text in texts}


def _may_be_verdicts(column: SeenColumn, words: Mapping[str, Meaning]) -> bool:
    """Check whether words are verdicts by their meaning, or may be by their field's name."""
    is_named = may_hold_a_verdict_in_words(column.path)
    if not _hold_a_verdict(words):
        repeat = len(words) > 1 and len(column.given) >= 2 * len(words)
        return is_named and repeat
    # without a telling name they may be languages, of which one is called no
    are_all_known = all(word.is_known for word in words.values())
    has_name = reward_name(column.path) is not RewardName.UNKNOWN
    return has_name or is_named or are_all_known


def _hold_a_verdict(words: Mapping[str, Meaning]) -> bool:
    """Check whether a word means that a task is passed, or that it is not."""
    return any(word.points in (0.0, 1.0) for word in words.values())


def _name_of_words(path: str, words: Mapping[str, Meaning]) -> RewardName:
    """Judge the name of a field of words by what they say: how a run went, or a verdict."""
    name = reward_name(path)
    are_statuses = all(word.is_status or word.points is None for word in words.values())
    has_worth = any(word.points for word in words.values())
    if are_statuses and has_worth and name is not RewardName.VERDICT:
        return RewardName.NEVER
    if are_statuses:
        return name
    if is_status(path) and _hold_a_verdict(words):
        return RewardName.VERDICT  # status: passed, failed
    return name


def _points(path: str, meanings: Mapping[str, Meaning]) -> JsonObject:
    """Say what each word is worth; a field such as `failed` turns yes and no around."""
    is_turned = should_be_low(path)
    # C is correct beside I, and a grade beside A and B
    are_grades = any(
        len(text) == 1 and not word.is_known for text, word in meanings.items()
    )
    points: JsonObject = {}
    for text, word in meanings.items():
        is_grade = are_grades and len(text) == 1
        if is_turned and word.is_either_way and word.points is not None:
            points[text] = 1 - word.points
        elif word.is_known and not is_grade:
            points[text] = word.points
        else:
            points[text] = OPEN
    return dict(sorted(points.items()))
