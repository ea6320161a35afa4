"""What the artifacts are made of: kept until the run's end, and written out then."""

from __future__ import annotations

import json
import os
import re
import tempfile
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.handover import take
from pytest_evalmetrics.reports.html import PagePieces, write_page
from pytest_evalmetrics.results import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pytest_evalmetrics.reports.payload import Payload

    _Place = tuple[int, int]  # where a text starts in the spool, and its length

__all__ = ["Artifacts"]

REPORT_SCHEMA_VERSION = 1
_PIECE = 2**20
# a float of MessagePack whose exponent is all ones; what looks like one is written by json
_not_finite = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]").search


class Artifacts:
    """Keeps the large texts of finished benchmarks until the run's end.

    They lie in a temporary file, so that a run over many benchmarks holds none in memory.

    Parameters
    ----------
    in_memory
        Bytes that are kept without a file.
    root
        What the report names benchmark files relative to.
    """

    def __init__(self, in_memory: int = 32 * 2**20, root: Path | None = None) -> None:
        self.root = root
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - lives as long as we do
        self._aggregates: dict[str, _Place] = {}
        self._task_scores: dict[str, list[_Place]] = {}
        self._row_scores: dict[str, _Place] = {}
        self._rollouts: dict[str, _Place] = {}
        self._pages: dict[str, PagePieces] = {}

    def add(self, item_id: str, payload: Payload) -> None:
        """Keep one benchmark's texts; those of a rerun replace the earlier ones.

        Raises
        ------
        ArtifactError
            There is no room for them.
        """
        try:
            self._add(item_id, payload)
        except OSError as error:
            raise ArtifactError(
                f"no artifact is written: what {item_id} came to can't be kept in "
                f"{tempfile.gettempdir()}: {error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error

    def _add(self, item_id: str, payload: Payload) -> None:
        large = (payload["aggregate_file"], payload["row_file"], payload["rollout_file"])
        small = (payload["aggregate"], payload["row_scores"], payload["rollouts"])
        count = len(payload["page"])
        kept = self._keep([*small, *payload["page"], *payload["task_scores"]])
        self._aggregates[item_id], self._row_scores[item_id], self._rollouts[item_id] = (
            self._take(path) if path else place
            for path, place in zip(large, kept[: len(large)], strict=True)
        )
        self._pages[item_id] = PagePieces(*kept[len(small) : len(small) + count])
        self._task_scores[item_id] = kept[len(small) + count :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # of a full disk was told where it was written
            self._spool.close()

    @property
    def has_row_scores(self) -> bool:
        """Whether any benchmark has scorers."""
        return any(length for _, length in self._row_scores.values())

    @property
    def with_rollouts(self) -> list[str]:
        """The benchmarks whose rollouts were generated."""
        return sorted(name for name, (_, length) in self._rollouts.items() if length)

    def _keep(self, texts: Iterable[str]) -> list[_Place]:
        at = self._spool.seek(0, os.SEEK_END)
        places = []
        for text in texts:  # one by one: those of a large benchmark take megabytes
            data = text.encode()
            if data:
                self._spool.write(data)
            places.append((at, len(data)))
            at += len(data)
        return places

    def _take(self, path: str) -> _Place:
        start = self._spool.seek(0, os.SEEK_END)
        return start, take(path, self._spool)

    def _read(self, place: _Place) -> bytes:
        self._spool.seek(place[0])
        return self._spool.read(place[1])

    def _copy(self, place: _Place, file: BinaryIO) -> None:
        start, length = place
        self._spool.seek(start)
        file.writelines(
            self._spool.read(min(_PIECE, length - done)) for done in range(0, length, _PIECE)
        )

    def write_aggregates(self, file: BinaryIO) -> None:
        """Write NeMo Gym's array, sorted by benchmark, whatever the order they ran in."""
        file.write(b"[")
        places = [place for _, place in sorted(self._aggregates.items()) if place[1]]
        for i, place in enumerate(places):
            file.write(b",\n" if i else b"\n")
            self._copy(place, file)
        file.write(b"\n]\n" if places else b"]\n")

    def write_row_scores(self, file: BinaryIO) -> None:
        """Write the rows of all scored benchmarks."""
        for _, place in sorted(self._row_scores.items()):
            self._copy(place, file)

    def write_rollouts(self, item_id: str, file: BinaryIO) -> None:
        """Write what was generated for one benchmark."""
        self._copy(self._rollouts[item_id], file)

    def write_page(self, file: BinaryIO, report: Mapping[str, Any]) -> None:
        """Write the page that people look at."""
        write_page(file, report, self._pages, self._read)

    def write_report(self, file: BinaryIO, report: Mapping[str, Any]) -> None:
        """Write the report, with the scores of its tasks."""
        # the tasks' scores are copied from the spool to where a mark stands for them
        mark = uuid.uuid4().hex
        benchmarks = [
            entry | {"agents": [agent | {"task_scores": mark} for agent in entry["agents"]]}
            for entry in report["benchmarks"]
        ]
        text = _indented({**report, "benchmarks": benchmarks})
        places = [p for entry in benchmarks for p in self._task_scores[entry["id"]]]
        first, *others = text.split(f'"{mark}"'.encode())
        file.write(first)
        for place, piece in zip(places, others, strict=True):
            self._copy(place, file)
            file.write(piece)
        file.write(b"\n")


def _indented(value: Mapping[str, Any]) -> bytes:
    try:
        if _is_finite(value):  # json takes eight times as long, and as much again to indent
            return msgspec.json.format(msgspec.json.encode(value), indent=2)
    except (OverflowError, TypeError, UnicodeEncodeError):
        pass  # a number of more than 64 bits; half of a surrogate pair, such as of a file's name
    return json.dumps(value, indent=2, allow_nan=False).encode()


def _is_finite(value: Mapping[str, Any]) -> bool:
    """Whether there is no NaN and no infinity in it, which would be written as null."""
    return _not_finite(msgspec.msgpack.encode(value)) is None


def report_document(
    entries: Iterable[dict[str, Any]],
    not_evaluated: Iterable[str],
    history: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    skipped: Mapping[str, str] | None = None,
    *,
    deselected: Iterable[str] = (),
) -> dict[str, Any]:
    """Put the entries of all benchmarks together as ``report.json``.

    Parameters
    ----------
    entries
        One per evaluated benchmark.
    not_evaluated
        The benchmarks that were collected and never judged: a crash, ``-x``, an interrupt.
    history
        By benchmark its last runs, the oldest first and this one last; empty without one.
    skipped
        The benchmarks that were skipped, and why.
    deselected
        What the run's selection left out: benchmarks, or whole files of them.
    """
    benchmarks = sorted(entries, key=lambda entry: entry["id"])
    lost = sorted(not_evaluated)
    verdicts = [Verdict(entry["verdict"]) for entry in benchmarks if not entry["xfail"]]
    if lost:
        verdicts.append(Verdict.INCONCLUSIVE)
    return {
        "schema_version": REPORT_SCHEMA_VERSION,
        "verdict": str(worst(verdicts)),
        "benchmarks": benchmarks,
        "not_evaluated": lost,
        "skipped": [{"id": i, "reason": why} for i, why in sorted((skipped or {}).items())],
        "deselected": sorted(deselected),
        "history": dict(sorted((history or {}).items())),
    }
