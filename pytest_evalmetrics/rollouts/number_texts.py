"""Numbers that are written as text: ``4,186``, ``85 %``, ``0,75``.

One cell does not show how it is meant: ``4,186`` is 4186 in English and 4.186 in German, and
``1.100`` may be 1.1 or 1100. All cells of a column together usually do, so a column is read in the
one way that fits all of them. Where two ways fit, ``decimal:`` of the benchmark file says which.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.rollouts.format_keys import csv_separator

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.rollouts.row_schema import Decoded
    from pytest_evalmetrics.rollouts.source import Source

_SPACES: Final = " \u00a0\u2009\u202f"
_QUOTES: Final = "'\u2019"  # Swiss thousands separators
_MINUS: Final = "\u2212"
_BY: Final = (
    rf"[{_SPACES}]*/[{_SPACES}]*|[{_SPACES}]+(?i:of|out of|von|sur|de)[{_SPACES}]+"
)
_QUOTIENT: Final = rf"(\d+(?:\.\d+)?)(?:{_BY})(0*[1-9]\d*(?:\.\d+)?)"
_quotient = re.compile(_QUOTIENT).fullmatch
_text_of_number = re.compile(
    rf"[+-]?\d[\d.,{_QUOTES}{_SPACES}]*([eE][+-]?\d+)?[{_SPACES}]*%?"
).fullmatch
_PLAIN_NUMBERS: Final = "write plain numbers, such as 4186 and 0.75"
_LARGE: Final = 1000  # from here on, whole numbers have a thousands separator
_CELLS: Final = 3  # in a message
# a sign that may separate thousands, or be the decimal sign, as a leading zero would show
_with_dot = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}").fullmatch
_with_comma = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}").fullmatch


class Writing(msgspec.Struct, frozen=True):
    """One way to write numbers."""

    name: str
    pattern: str
    thousands: str  # the characters that separate groups of three digits
    decimal: str  # the decimal sign

    def fits(self, text: str) -> bool:
        """Check whether a text is a number that is written this way."""
        return re.fullmatch(self.pattern, text) is not None

    def read(self, text: str) -> float:
        """Read a text that fits."""
        quotient = _quotient(text)
        if quotient is not None:
            return float(quotient[1]) / float(quotient[2])
        for sign in self.thousands:
            text = text.replace(sign, "")
        return float(text.replace(self.decimal, "."))


PLAIN: Final = Writing(
    name="plain",
    pattern=r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?",
    thousands="",
    decimal=".",
)
ENGLISH: Final = Writing(
    name="thousands separators",
    pattern=r"[+-]?(0|[1-9]\d{0,2}(,\d{3})*)(\.\d+)?",
    thousands=",",
    decimal=".",
)
CONTINENTAL: Final = Writing(
    name="decimal commas",
    pattern=rf"[+-]?(\d{{1,3}}([.{_QUOTES}{_SPACES}]\d{{3}})+|\d+)(,\d+)?",
    thousands=f".{_QUOTES}{_SPACES}",
    decimal=",",
)
SPACED: Final = Writing(
    name="groups of three digits",
    pattern=rf"[+-]?(0|[1-9]\d{{0,2}}([{_QUOTES}{_SPACES}]\d{{3}})*)(\.\d+)?",
    thousands=_QUOTES + _SPACES,
    decimal=".",
)
QUOTIENT: Final = Writing(
    name="quotients", pattern=_QUOTIENT, thousands="", decimal="."
)
_WRITINGS: Final = (PLAIN, ENGLISH, CONTINENTAL, SPACED, QUOTIENT)
#: The ways of writing with the decimal sign that a benchmark file declares.
_DECLARED: Final = {".": (PLAIN, ENGLISH, SPACED, QUOTIENT), ",": (CONTINENTAL,)}


def is_number_text(text: str) -> bool:
    """Check whether a text may be a number, in whatever way it is written."""
    bare = _bare(text)
    return _text_of_number(bare) is not None or is_quotient(bare)


def is_quotient(text: str) -> bool:
    """Check for a text such as ``7/10`` or ``7 of 10``."""
    return _quotient(text.strip()) is not None


def _bare(text: str) -> str:
    return text.strip().replace(_MINUS, "-")


def _without_percent(text: str) -> str:
    return text.removesuffix("%").rstrip(_SPACES)


class _Cell(msgspec.Struct, frozen=True):
    """A text as a file holds it, and where."""

    text: str
    at: str


def _agree(first: _Cell, second: _Cell) -> bool:
    """Check whether one way of writing fits both texts."""
    texts = [_without_percent(_bare(cell.text)) for cell in (first, second)]
    return any(all(map(writing.fits, texts)) for writing in _WRITINGS)


class NumberTexts:
    """The texts of one score, and the ways of writing numbers that fit all of them so far.

    `decimal` is the decimal sign, if the benchmark file declares it.
    """

    def __init__(self, score: str, decimal: str | None = None) -> None:
        self._score = score
        self._is_declared = decimal is not None
        self._possible = list(_WRITINGS if decimal is None else _DECLARED[decimal])
        self._used: Writing | None = None
        self._is_percent: bool | None = None
        # the texts that ruled out ways of writing
        self._telling: list[_Cell] = []
        # the first text that is not plain
        self._grouped: _Cell | None = None
        # the first texts whose sign may separate thousands, or be the decimal sign
        self._unclear: list[_Cell] = []
        self._has_large_numbers = False
        # whether a comma can only be a decimal sign
        self._with_decimal_comma = False
        # whether all texts are numbers
        self.all_read = True
        self.fractional = False

    def read(
        self,
        values: Sequence[Decoded],
        places: NDArray[np.int64],
        source: Source,
        *,
        needed: bool,
    ) -> list[Decoded]:
        """Read the texts among values; those that are no numbers stay as they are.

        Raises
        ------
        DataError
            If the score is needed, and no one way of writing numbers fits all texts.
        """
        texts = [
            _Cell(text=value, at=source.at(int(place)))
            for value, place in zip(values, places, strict=True)
            if isinstance(value, str)
        ]
        numbers = [cell for cell in texts if is_number_text(cell.text)]
        self.all_read &= len(numbers) == len(texts)
        if not numbers:
            return list(values)
        try:
            self._learn(numbers, values, source)
        except DataError:
            if needed:
                raise
            self.all_read = False
            return list(values)
        if not needed and not separates_by_commas(source) and self.unclear_cell(source):
            self.all_read = False
            return list(values)
        return [self._number(value) for value in values]

    def must_be_clear(self, source: Source) -> None:
        """Refuse texts whose signs may separate thousands as well as decimals.

        Raises
        ------
        DataError
            If two ways of writing fit all texts, and give different numbers.
        """
        cell = self.unclear_cell(source)
        if cell is None:
            return
        shown = [f"{cell.text!r} at {cell.at}"]
        shown += [repr(other.text) for other in self._unclear if other is not cell]
        raise DataError(
            f"the score {self._score!r} is {listed(shown, _CELLS)}: this may have a "
            "thousands separator or a decimal sign",
            hint=f"say which, under rollouts: {self.question(cell)}",
        )

    def unclear_cell(self, source: Source) -> _Cell | None:
        """Find a text whose sign may separate thousands as well as decimals."""
        if self._is_declared or not self._has_large_numbers:
            return None
        by_sign: dict[str, _Cell] = {}
        for cell in self._unclear:
            sign = "." if "." in cell.text else ","
            by_sign.setdefault(sign, cell)
        if "." in by_sign and self._may_be_either():
            return by_sign["."]
        if "," in by_sign and self._is_unclear_comma(source):
            return by_sign[","]
        return None

    @staticmethod
    def question(cell: _Cell) -> str:
        """Say what a text is with either decimal sign."""
        text = _without_percent(_bare(cell.text))
        english = f"{ENGLISH.read(text):g}"
        continental = f"{CONTINENTAL.read(text):g}"
        shown = cell.text.strip()
        return (
            f'`decimal: "."` if {shown} is {english}, `decimal: ","` if it is '
            f"{continental}"
        )

    def _may_be_either(self) -> bool:
        """Check whether dots and commas may both be the decimal sign."""
        has_dots = any(writing.decimal == "." for writing in self._possible)
        return has_dots and CONTINENTAL in self._possible

    def _is_unclear_comma(self, source: Source) -> bool:
        """Check whether commas may be decimal signs, and may not.

        Who separates cells by commas, or writes JSON, separates thousands by commas too.
        """
        if self._with_decimal_comma:
            return False
        if ENGLISH in self._possible:
            return CONTINENTAL in self._possible and not separates_by_commas(source)
        return CONTINENTAL in self._possible

    def _number(self, value: Decoded) -> Decoded:
        if not isinstance(value, str) or not is_number_text(value) or not self._used:
            return value
        number = self._used.read(_without_percent(_bare(value)))
        if self._is_percent:
            number /= 100
        self.fractional |= not number.is_integer()
        return number

    def _learn(
        self, cells: Sequence[_Cell], values: Iterable[Decoded], source: Source
    ) -> None:
        """Find the way of writing that fits all cells, and the plain numbers beside them."""
        plain = [
            value
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        for cell in cells:
            self._see_percent(cell, source)
            self._see(cell)
        if plain and (self._is_percent or self._possible == [QUOTIENT]):
            raise self._other_number(cells[0], plain[0])
        if not self._is_declared:
            self._check_plain(plain)
        self._choose(cells[-1])

    def _see(self, cell: _Cell) -> None:
        """Rule out the ways of writing that do not fit a text."""
        text = _without_percent(_bare(cell.text))
        fitting = [way for way in self._possible if way.fits(text)]
        if not fitting:
            raise self._disagree(cell)
        if len(fitting) < len(self._possible) or not self._telling:
            self._telling.append(cell)
        self._possible = fitting
        self._has_large_numbers |= abs(fitting[0].read(text)) > 1
        if self._grouped is None and not PLAIN.fits(text):
            self._grouped = cell
        self._with_decimal_comma |= "," in text and not ENGLISH.fits(text)
        has_unclear_sign = _with_dot(text) or _with_comma(text)
        if has_unclear_sign and len(self._unclear) < _CELLS:
            self._unclear.append(cell)

    def _see_percent(self, cell: _Cell, source: Source) -> None:
        is_percent = cell.text.rstrip().endswith("%")
        if source.span is not None and not PLAIN.fits(_bare(cell.text)):
            # the parts of a large file know nothing of each other: read it as a whole
            raise DataError("formatted numbers in a part of a file", file=source.shown)
        if self._is_percent is None:
            self._is_percent = is_percent
        elif self._is_percent != is_percent:
            raise self._disagree(cell)

    def _check_plain(self, plain: Sequence[float]) -> None:
        """Rule out the ways of writing that plain numbers of the column contradict."""
        for number in plain:
            self._has_large_numbers |= abs(number) > 1
            if not float(number).is_integer():
                self._rule_out(CONTINENTAL)
            elif abs(number) >= _LARGE and self._grouped is not None:
                self._rule_out(ENGLISH)
                self._rule_out(SPACED)
            if not self._possible:
                cell = self._grouped or self._telling[0]
                raise self._other_number(cell, number)

    def _rule_out(self, writing: Writing) -> None:
        self._possible = [way for way in self._possible if way is not writing]

    def _choose(self, last: _Cell) -> None:
        """Take the first way of writing that fits, unless numbers were read in another."""
        chosen = self._possible[0]
        used = self._used
        was_plain = used is PLAIN and chosen is not CONTINENTAL
        if used is not None and used is not chosen and not was_plain:
            raise self._disagree(last)
        self._used = chosen

    def _disagree(self, cell: _Cell) -> DataError:
        first = next(
            (other for other in self._telling if not _agree(other, cell)),
            next(iter(self._telling), cell),
        )
        if first is cell:
            return DataError(
                f"the score {self._score!r} is {cell.text!r} at {cell.at}: a number in no "
                "way of writing that is known",
                hint=_PLAIN_NUMBERS,
            )
        return DataError(
            f"the score {self._score!r} is {first.text!r} at {first.at} and "
            f"{cell.text!r} at {cell.at}: no one way of writing numbers fits both",
            hint=_PLAIN_NUMBERS,
        )

    def _other_number(self, cell: _Cell, number: float) -> DataError:
        return DataError(
            f"the score {self._score!r} is {cell.text!r} at {cell.at}, and {number:g} in "
            "another row: no one way of writing numbers fits both",
            hint=_PLAIN_NUMBERS,
        )


def separates_by_commas(source: Source) -> bool:
    """Check for JSON, for binary tables, and for a CSV file with commas between its cells."""
    if source.head.startswith((b"{", b"[", b"PAR1", b"ARROW1")):
        return True
    names = source.head.partition(b"\n")[0].decode(errors="replace")
    return csv_separator(names) == ","


def are_unclear(cells: Iterable[str]) -> bool:
    """Check whether the dots in a column may separate thousands: ``1.100``, ``950``."""
    is_unclear = False
    for cell in cells:
        if "." not in cell:
            continue
        text = _bare(cell)
        if _with_dot(text):
            is_unclear = True
        elif PLAIN.fits(text):
            return False
    return is_unclear


def approximate(text: str) -> float:
    """Read one text by itself, where its column will be read as a whole later."""
    bare = _without_percent(_bare(text))
    for writing in _WRITINGS:
        if writing.fits(bare):
            number = writing.read(bare)
            return number / 100 if text.rstrip().endswith("%") else number
    return math.nan
