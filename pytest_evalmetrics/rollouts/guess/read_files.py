"""The first rows and documents of some files, read once for all layouts that are tried."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.file_documents import PlacedRow, documents
from pytest_evalmetrics.rollouts.guess.layouts import is_table_by_columns
from pytest_evalmetrics.rollouts.shaped_rows import find_rows
from pytest_evalmetrics.rollouts.source import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.source import RolloutFile, Source
    from pytest_evalmetrics.spec.sources import RolloutsSpec

_ROWS: Final = 4000  # that are examined, of all files together
_ROWS_OF_FILE: Final = 100  # at least
_FILES: Final = 200  # that are examined


class ReadFiles:
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
        source, read = self._documents[0]
        if self.has_rows:
            return [row.value for row in read if isinstance(row, PlacedRow)]
        document = read[0]
        if not isinstance(document, PlacedRow):
            return document
        if is_table_by_columns(document.value):
            raise source.error(
                "this holds the columns of a table (pandas' orient='columns'), not rows",
                hint="write rows: df.to_json(path, orient='records', lines=True)",
            )
        return document.value

    def rows(self, spec: RolloutsSpec) -> list[Mapping[str, JsonValue]]:
        """Find the rows of all these files; empty if they are not of this layout."""
        rows: list[Mapping[str, JsonValue]] = []
        try:
            for source, read in self._documents:
                rows += [row.value for row in find_rows(source, spec, read)]
        except EvalMetricsError:
            return []
        return rows
