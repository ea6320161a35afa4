"""A column of few different values: tasks, agents and labels as codes."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_T = TypeVar("_T")
_Code = TypeVar("_Code", np.int32, np.int64)


class CodedColumn(Generic[_T, _Code]):
    """Rows' values as codes, which count the values in the order in which they are first met.

    `absent` stands for the value of a row that has none.
    """

    def __init__(self, type_of_code: type[_Code], *, absent: _T | None = None) -> None:
        self._absent = absent
        self._type: type[_Code] = type_of_code
        self._rows: array[int] = array("i" if type_of_code is np.int32 else "q")
        self.codes: dict[_T, int] = {}

    @property
    def values(self) -> tuple[_T, ...]:
        """The values in the order of their codes."""
        return tuple(self.codes)

    @property
    def rows(self) -> NDArray[_Code]:
        """The code of each row, shape (rows,)."""
        return np.frombuffer(self._rows, self._type)

    def extend(self, values: Sequence[_T | None]) -> None:
        """Append the values of the next rows."""
        code_of = {value: self._code(value) for value in dict.fromkeys(values)}
        self._rows.extend(map(code_of.__getitem__, values))

    def _code(self, value: _T | None) -> int:
        """Get the code of a value, a new one if it is met for the first time."""
        if value is None:
            value = self._absent
        if value is None:
            raise ValueError("a chunk has no task for one of its rows")
        # a loader of a project may give NumPy's numbers
        plain: _T = value.item() if isinstance(value, np.generic) else value
        return self.codes.setdefault(plain, len(self.codes))
