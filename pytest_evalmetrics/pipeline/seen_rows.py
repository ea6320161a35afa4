"""What a benchmark needs of whole rows, taken from them while their numbers are read.

A large file is then read once before the first call. Formats whose numbers are read without the
rows, and files that several processes read, are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.model.rollout_table import Row, content_hash
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.recorded import TASK_KEYS
from pytest_evalmetrics.rollouts.source import task_paths
from pytest_evalmetrics.spec.metric_names import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.pipeline.template_trials import TemplateTrials
    from pytest_evalmetrics.rollouts.loader import Chunk
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec import BenchmarkSpec

# the fields of the question, because the rest of an answered row changes with each run
_ASKED: Final = (
    "question",
    "query",
    "problem",
    "instruction",
    "user_input",
    "input",
    "reference",
)


class SeenRows:
    """The whole rows of a benchmark's files, as they go by; see `RowVisitor`.

    Parameters
    ----------
    spec
        The benchmark.
    hashes
        Whether the contents of its tasks are hashed.
    trials
        The templates that each row has to fill in; None if nothing is asked.
    """

    def __init__(
        self, spec: BenchmarkSpec, *, hashes: bool, trials: TemplateTrials | None
    ) -> None:
        self._spec = spec
        self._trials = trials if trials is not None and trials.texts else None
        self._hashes = hashes
        #: The hashes of the rows' contents, in the order of the files.
        self.contents: list[str] = []
        self.count = 0  # rows that went by

    @property
    def wants_rows(self) -> bool:
        """Whether anything needs the rows."""
        return self._hashes or self._trials is not None

    def visit(self, source: Source, chunk: Chunk) -> None:
        """Take what is needed from some rows."""
        for place, item in zip(chunk.places.tolist(), chunk.records, strict=True):
            if self._hashes:
                self.contents.append(content_hash(content_of(self._spec, item)))
            if self._trials is not None:
                self._try(self._trials, item, source.at(place))
            self.count += 1

    def _try(
        self, trials: TemplateTrials, item: Mapping[str, JsonValue], where: str
    ) -> None:
        sample_data = item if self._spec.dataset is None else {}
        row = Row(self.count, "", "", 0, item, sample_data, where)
        failure = None
        if self._spec.answers is None:
            row, failure = as_generated(row)
        if failure is None:
            trials.fill_in(self.count, row)
        else:
            trials.leave_out(self.count)


def content_of(spec: BenchmarkSpec, row: Mapping[str, JsonValue]) -> object:
    """Return what identifies the task of a data set's row; None if it holds no question."""
    fields = spec.rows.fields
    if fields.content is not None:
        return [lookup(row, path) for path in fields.content]
    if spec.answers is not None:  # its rows are nothing but tasks
        ids = (*TASK_KEYS, *task_paths(fields))
        return {key: value for key, value in row.items() if key not in ids}
    return {key: row[key] for key in _ASKED if key in row} or None


def as_generated(row: Row) -> tuple[Row, RowError | None]:
    """Return a row of ``rollouts.jsonl``, or another tool's failed attempt, as it was generated.

    With an error for an attempt that failed.
    """
    mark = row.item.get(MARK)
    if not isinstance(mark, dict):
        return row, None
    added = {MARK, *mark.get("added", ())}
    item = {key: value for key, value in row.item.items() if key not in added}
    item |= mark.get("row", {})
    failed = mark.get("failed")
    failure = RowError(str(failed[0]), str(failed[1])) if failed else None
    return structs.replace(row, item=item, sample_data=mark.get("sample", {})), failure
