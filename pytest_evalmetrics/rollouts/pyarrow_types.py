"""What is used of pyarrow, which has no types of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray


class ArrowData(Protocol):
    """The bytes of a file."""

    def seek(self, position: int) -> int:
        """Go to a byte."""


class ArrowType(Protocol):
    """The type of a column; that of a struct has the fields of the struct."""

    def __iter__(self) -> Iterator[ArrowField]:
        """Yield the fields of a struct."""


class ArrowField(Protocol):
    """A column's name and type."""

    name: str
    type: ArrowType


class ArrowSchema(Protocol):
    """The columns of a table."""

    metadata: Mapping[bytes, bytes] | None

    def __iter__(self) -> Iterator[ArrowField]:
        """Yield the columns."""

    def get_field_index(self, name: str) -> int:
        """Find a column."""


class ArrowColumn(Protocol):
    """The values of a column."""

    type: ArrowType

    def to_pylist(self) -> list[object]:
        """Convert the values to Python's."""

    def cast(self, kind: object, /, *, safe: bool = True) -> Self:
        """Convert the values to another type."""

    def is_valid(self) -> Self:
        """Tell the values that are not null."""

    def to_numpy(self, *, zero_copy_only: bool) -> NDArray[np.float64]:
        """Convert the values to an array."""


class ArrowBatch(Protocol):
    """Some rows of a table."""

    num_rows: int
    schema: ArrowSchema

    def column(self, index: int) -> ArrowColumn:
        """Get a column."""

    def to_pylist(self) -> list[dict[str, object]]:
        """Convert the rows to Python's values."""

    def slice(self, start: int, rows: int) -> Self:
        """Get some of the rows."""
