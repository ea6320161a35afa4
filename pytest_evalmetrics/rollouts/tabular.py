"""Files that are tables: their columns by what they hold, and CSV."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_evalmetrics.data import content_hash
from pytest_evalmetrics.errors import did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.records import record
from pytest_evalmetrics.rollouts.formats import csv_separator
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite
from pytest_evalmetrics.rollouts.source import MAX_ROW, max_row_bytes, score_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.source import Source

_MAX_SAMPLE = 2**63
_SHOWN = 60  # characters of a cell in a message
_ROWS: Final = 1 << 15  # of a chunk
_WORDS: Final[dict[str, float | None]] = {
    "": None,
    "null": None,
    "none": None,
    "na": None,
    "n/a": None,
    "true": 1,
    "false": 0,
}
_is_whole = re.compile(r"-?(0|[1-9]\d*)").fullmatch


@record
class Layout:
    """A table file's columns by what they are."""

    task: str | None
    sample: str | None
    agent: str | None
    content: tuple[str, ...]
    numbered: bool
    scores: Mapping[str, str]
    labels: Mapping[str, str]
    needed: frozenset[str]

    def used(self, scores: Iterable[str]) -> list[str]:
        """List the columns that are read, each once, where `scores` are those worth reading."""
        columns = (self.task, self.sample, self.agent, *self.labels.values(), *self.content)
        wanted = [*(c for c in columns if c is not None), *(self.scores[s] for s in scores)]
        return list(dict.fromkeys(wanted))

    def chunk(
        self,
        places: NDArray[np.int64],
        source: Source,
        known: set[tuple[str | None, TaskId]],
        *,
        ids: Callable[[str], list[Any]],
        texts: Callable[[str], list[str | None]],
        contents: Callable[[str], list[Any]],
        **columns: Any,
    ) -> Chunk:
        """Make a chunk of rows; the content of tasks that are `known` is hashed already."""
        rows = len(places)
        task = [0] * rows if self.task is None else ids(self.task)
        sample = [None] * rows if self.sample is None else ids(self.sample)
        for place, id_, number in zip(places.tolist(), task, sample, strict=True):
            if type(id_) not in (int, str):
                raise refused_cell(source, place, "the task id", id_, "text or a whole number")
            if number is not None and (type(number) is not int or not 0 <= number < _MAX_SAMPLE):
                expected = "a whole number from 0"
                raise refused_cell(source, place, "the sample index", number, expected)
        agent = [None] * rows if self.agent is None else texts(self.agent)
        parts = list(map(contents, self.content))
        new: dict[tuple[str | None, TaskId], int] = {}
        for row, key in enumerate(zip(agent, task, strict=True) if parts else ()):
            if key not in known:
                new.setdefault(key, row)
        known.update(new)
        cells_of = {key: [column[row] for column in parts] for key, row in new.items()}
        return Chunk(
            places=places,
            task=task,
            sample=sample,
            agent=agent,
            labels={name: texts(column) for name, column in self.labels.items()},
            content={
                key: content_hash(cells[0] if len(cells) == 1 else cells)
                for key, cells in cells_of.items()
                if any(cell is not None for cell in cells)
            },
            positional=self.numbered and int in set(map(type, task)),
            **columns,
        )


def layout_of(names: Sequence[str], request: Request, source: Source) -> Layout:
    """Find the columns, named as NeMo Gym does or by ``fields:``."""
    fields = request.fields
    known = set(names)
    task = fields.task or "_ng_task_index"
    if task not in known and not request.by_position:
        raise source.error(
            f"no column has the tasks' ids: there is no {task!r}; "
            + did_you_mean(task, names, what="the columns"),
            hint="say which column has them, under rollouts: `fields: {task: COLUMN}`",
        )
    sample = fields.sample or "_ng_rollout_index"
    agent = fields.agent or "agent_ref.name"
    mapped = score_paths(fields)
    taken = {task, sample, agent, *mapped, *mapped.values()}
    scores = {n: n for n in names if n not in taken and not n.startswith("_")}
    scores.update({name: column for name, column in mapped.items() if column in known})
    return Layout(
        task=task if task in known else None,
        sample=sample if sample in known else None,
        agent=agent if agent in known else None,
        content=tuple(column for column in fields.content or () if column in known),
        numbered=fields.task is None,
        scores=scores,
        labels={name: name for name in request.categories if name in known},
        needed=frozenset({*request.scores, *mapped}),
    )


def refused_cell(source: Source, place: int, what: str, value: Any, expected: str) -> Exception:
    """Make the error for a cell that holds something else than it has to."""
    shown = repr(value) if value is not None else "empty"
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    hint = "name another column under rollouts: `fields: {task: COLUMN, reward: COLUMN}`"
    return source.error_at(place, f"{what} is {shown}; expected {expected}", hint)


class Csv:
    """Reads CSV, separated by commas, semicolons or tabs; empty cells are missing."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._identified: set[tuple[str | None, TaskId]] = set()

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        with _cells(source) as reader:
            names = _names(reader, source)
            layout = layout_of(names, self._request, source)
            rows = self._rows(reader, len(names), source)
            while block := list(islice(rows, _ROWS)):
                places = np.array([place for place, _ in block], np.int64)
                columns = dict(
                    zip(names, zip(*(cells for _, cells in block), strict=True), strict=True)
                )
                yield self._chunk(layout, columns, places, source)

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Go through the rows, see `RowLoader`; each cell is text, because CSV knows no types."""
        with _cells(source) as reader:
            names = _names(reader, source)
            for place, cells in self._rows(reader, len(names), source):
                yield place, dict(zip(names, cells, strict=True))

    def _chunk(
        self,
        layout: Layout,
        columns: Mapping[str, Sequence[str]],
        places: NDArray[np.int64],
        source: Source,
    ) -> Chunk:
        def texts(name: str) -> list[str | None]:
            return [cell or None for cell in columns[name]]

        return layout.chunk(
            places,
            source,
            self._identified,
            ids=lambda name: [_id(cell) for cell in columns[name]],
            texts=texts,
            contents=texts,
            keys=tuple(columns),
            **_scores(layout, columns, places, source),
        )

    @staticmethod
    def _rows(reader: Any, width: int, source: Source) -> Iterator[tuple[int, list[str]]]:
        last = reader.line_num
        for cells in reader:
            place, last = last + 1, reader.line_num
            if not cells:
                continue
            if len(cells) != width:
                raise source.error(
                    f"this line has {many(len(cells), 'cell')}, and the file "
                    f"{many(width, 'column')}",
                    line=place,
                    hint="was it cut off? text with a separator in it has to stand in quotes",
                )
            yield place, cells


def _scores(
    layout: Layout, columns: Mapping[str, Sequence[str]], places: NDArray[np.int64], source: Source
) -> dict[str, Any]:
    """Read the columns of numbers; one of text alone is no score, unless it is needed."""
    scores: dict[str, NDArray[np.float64]] = {}
    fractional: set[str] = set()
    not_finite: list[NotFinite] = []
    not_numbers: dict[str, str] = {}
    for name, column in layout.scores.items():
        values = list(map(_number, columns[column]))
        text = next((at for at, value in enumerate(values) if isinstance(value, str)), None)
        if text is not None and name in layout.needed:
            place = int(places[text])
            raise refused_cell(source, place, f"the score {name!r}", values[text], "a number")
        made = np.array([math.nan if isinstance(v, str) else v for v in values], np.float64)
        for at in np.flatnonzero(~np.isfinite(made)).tolist():
            if isinstance(values[at], int | float):
                what = "NaN" if math.isnan(made[at]) else "infinite or too large"
                not_finite.append(NotFinite(name, what, int(places[at])))
                made[at] = math.nan
        if text is not None and not np.isfinite(made).any():
            continue
        if text is not None:
            not_numbers[name] = source.at(int(places[text]))
        if any(isinstance(value, float) for value in values):
            fractional.add(name)
        scores[name] = made
    return {
        "scores": scores,
        "fractional": frozenset(fractional),
        "not_finite": not_finite,
        "not_numbers": not_numbers,
    }


def _id(cell: str) -> int | str | None:
    cell = cell.strip()
    return int(cell) if _is_whole(cell) else cell or None


def _number(cell: str) -> float | str | None:
    cell = cell.strip()
    if _is_whole(cell):
        return int(cell) if len(cell) < 16 else float(cell)  # noqa: PLR2004 - digits of a float64
    try:
        return cell if "_" in cell else float(cell)  # Python reads 1_000
    except ValueError:
        return _WORDS.get(cell.lower(), cell)


@contextmanager
def _cells(source: Source) -> Iterator[Any]:
    """Open a file for the reader of cells; what is wrong with it is told in our words."""
    source.must_be_text()
    with source.open() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        separator = csv_separator(source.head.decode(errors="replace").partition("\n")[0])
        reader = csv.reader(_lines(text, source), delimiter=separator, strict=True)
        limit = csv.field_size_limit(sys.maxsize)  # of a cell's length, in the whole process
        try:
            yield reader
        except csv.Error as error:
            line = reader.line_num
            end = "unexpected end" in str(error)
            what = "the file ends inside of quotes" if end else f"this is no CSV: {error}"
            raise source.error(
                what, line=line, hint="was the run, its copy or its download interrupted?"
            ) from error
        except UnicodeDecodeError as error:
            raise source.error(
                f"this is not UTF-8 text: found the byte 0x{error.object[error.start]:02x}",
                hint="save the file as UTF-8",
            ) from error
        finally:
            csv.field_size_limit(limit)
            text.detach()


def _lines(text: io.TextIOWrapper, source: Source) -> Iterator[str]:
    most = max_row_bytes()
    while line := text.readline(most):
        if len(line) == most:
            raise source.error(
                f"a line of {most:,} characters or more, which {MAX_ROW} does not allow",
                hint=f"is this a file of rollouts? {MAX_ROW}={4 * most} in the environment raises "
                "the bound",
            )
        yield line


def _names(reader: Any, source: Source) -> list[str]:
    names = [name.strip() for name in next(reader)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise source.error(f"two columns have the name {twice!r}", line=1)
    return names
