"""The artifacts: files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.summary import summary
from pytest_evalmetrics.results import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pytest_evalmetrics.reports.payload import Payload

    _Place = tuple[int, int]  # where a text starts in the spool, and its length

__all__ = ["Artifacts", "output_prefix"]

REPORT_SCHEMA_VERSION = 1
_PIECE = 2**20


def output_prefix(value: str, base: Path) -> str:
    """Turn ``--evalmetrics-output`` into what every artifact's path starts with.

    Parameters
    ----------
    value
        A folder (ends with a separator, or exists), or a prefix such as ``results/run1``.
    base
        What a relative value is relative to.

    Returns
    -------
    str
        ``/ci/evalmetrics/`` or ``/ci/results/run1_``.
    """
    path = base / value
    if value.endswith(("/", os.sep)) or path.is_dir():
        return f"{path}{os.sep}"
    return f"{path}_"


class Artifacts:
    """Keeps the large texts of finished benchmarks until the run's end.

    They lie in a temporary file, so that a run over many benchmarks holds none in memory.
    """

    def __init__(self, in_memory: int = 32 * 2**20) -> None:
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - lives as long as we do
        self._aggregates: dict[str, _Place] = {}
        self._task_scores: dict[str, list[_Place]] = {}
        self._row_scores: dict[str, _Place] = {}

    def add(self, item_id: str, payload: Payload) -> None:
        """Keep one benchmark's texts; those of a rerun replace the earlier ones."""
        self._aggregates[item_id] = self._keep(payload["aggregate"])
        self._task_scores[item_id] = [self._keep(text) for text in payload["task_scores"]]
        self._row_scores[item_id] = self._keep(payload["row_scores"])

    def write(self, prefix: str, report: Mapping[str, Any]) -> list[Path]:
        """Write every artifact, sorted by benchmark, whatever the order they ran in.

        What was kept is let go then.

        Raises
        ------
        ArtifactError
            If a file can't be written.
        """
        with self._spool:
            return self._write_all(prefix, report)

    def _write_all(self, prefix: str, report: Mapping[str, Any]) -> list[Path]:
        written = [
            _atomically(Path(f"{prefix}aggregate_metrics.json"), self._write_aggregates),
            _atomically(
                Path(f"{prefix}report.json"), lambda file: self._write_report(file, report)
            ),
            _atomically(
                Path(f"{prefix}summary.md"), lambda file: file.write(summary(report).encode())
            ),
        ]
        if any(length for _, length in self._row_scores.values()):
            path = Path(f"{prefix}row_scores.jsonl")
            written.append(_atomically(path, self._write_row_scores))
        return written

    def _keep(self, text: str) -> _Place:
        data = text.encode()
        start = self._spool.seek(0, os.SEEK_END)
        self._spool.write(data)
        return start, len(data)

    def _copy(self, place: _Place, file: BinaryIO) -> None:
        start, length = place
        self._spool.seek(start)
        file.writelines(
            self._spool.read(min(_PIECE, length - done)) for done in range(0, length, _PIECE)
        )

    def _write_aggregates(self, file: BinaryIO) -> None:
        file.write(b"[")
        places = [place for _, place in sorted(self._aggregates.items()) if place[1]]
        for i, place in enumerate(places):
            file.write(b",\n" if i else b"\n")
            self._copy(place, file)
        file.write(b"\n]\n" if places else b"]\n")

    def _write_row_scores(self, file: BinaryIO) -> None:
        for _, place in sorted(self._row_scores.items()):
            self._copy(place, file)

    def _write_report(self, file: BinaryIO, report: Mapping[str, Any]) -> None:
        # the tasks' scores are copied from the spool to where a mark stands for them
        mark = uuid.uuid4().hex
        benchmarks = [
            entry | {"agents": [agent | {"task_scores": mark} for agent in entry["agents"]]}
            for entry in report["benchmarks"]
        ]
        text = json.dumps({**report, "benchmarks": benchmarks}, indent=2, allow_nan=False)
        places = [p for entry in benchmarks for p in self._task_scores[entry["id"]]]
        first, *others = text.split(f'"{mark}"')
        file.write(first.encode())
        for place, piece in zip(places, others, strict=True):
            self._copy(place, file)
            file.write(piece.encode())
        file.write(b"\n")


def report_document(
    entries: Iterable[dict[str, Any]], not_evaluated: Iterable[str]
) -> dict[str, Any]:
    """Put the entries of all benchmarks together as ``report.json``.

    Parameters
    ----------
    entries
        One per evaluated benchmark.
    not_evaluated
        The benchmarks that were collected and never judged: a crash, ``-x``, an interrupt.
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
    }


def _atomically(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)  # mkstemp makes it readable for its owner alone
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()
        raise ArtifactError(
            f"can't be written: {error.strerror or error}",
            file=str(path),
            hint="choose another place with --evalmetrics-output, or free some room",
        ) from error
    return path
