"""Writing the artifacts: texts kept until the run's end, and the reporters that write them."""

from __future__ import annotations

import inspect
import json
import os
import re
import tempfile
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.registry import origin, reporters
from pytest_evalmetrics.reports.html import PagePieces, write_other, write_page
from pytest_evalmetrics.reports.payload import take
from pytest_evalmetrics.results import Verdict, worst
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from pytest_evalmetrics.reports.payload import Payload

    _Place = tuple[int, int]  # where a text starts in the spool, and its length

__all__ = [
    "Artifacts",
    "KeptReporter",
    "Reporter",
    "Written",
    "atomically",
    "chosen_reporters",
    "write_reports",
]


def atomically(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file beside its place, and put it there when it is whole.

    Raises
    ------
    ArtifactError
        If it can't be written; what was there is as it was.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{temporary_name()}.tmp"
        with temporary.open("xb") as file:
            write(file)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise ArtifactError(
            f"can't be written: {error.strerror or error}",
            file=str(path),
            hint="choose another place with --evalmetrics-output, or free some room",
        ) from error
    return path


def write_noise_page(path: Path, data: Mapping[str, Any]) -> None:
    """Write the page of a calibration: of each benchmark lines of text and of charts, and a patch.

    Raises
    ------
    ArtifactError
        If it can't be written.
    """
    atomically(path, lambda file: write_other(file, "noise", data))


REPORT_SCHEMA_VERSION = 1
_FILES = {  # kind of text -> the payload's key of the file that holds it where it is large
    "aggregate": "aggregate_file",
    "groups": "groups_file",
    "row_scores": "row_file",
    "rollouts": "rollout_file",
}
_PIECE = 2**20
_LARGE = 4 * 2**20  # bytes of a report, above which indents help no reader
# a float of MessagePack whose exponent is all ones; what looks like one is written by json
_not_finite = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]").search


class Artifacts:
    """Keeps the large texts of finished benchmarks until the run's end.

    They lie in a temporary file (`in_memory` bytes are kept without one), so that a run over many
    benchmarks holds none in memory. The report names benchmark files relative to `root`.
    """

    def __init__(self, in_memory: int = 32 * 2**20, root: Path | None = None) -> None:
        self.root = root
        self.origin: Callable[[], Mapping[str, str | None]] = dict  # when it ran, on what commit
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - lives as long as we do
        self._texts: dict[str, dict[str, _Place]] = {kind: {} for kind in _FILES}
        self._task_scores: dict[str, list[_Place]] = {}
        self._pages: dict[str, PagePieces] = {}

    def add(self, item_id: str, payload: Payload) -> None:
        """Keep one benchmark's texts; those of a rerun replace the earlier ones.

        Raises
        ------
        ArtifactError
            There is no room for them.
        """
        values: Mapping[str, Any] = payload
        try:
            places = {
                kind: self._take(values[file]) if values[file] else self._keep([values[kind]])[0]
                for kind, file in _FILES.items()
            }
            page, task_scores = self._keep(payload["page"]), self._keep(payload["task_scores"])
        except OSError as error:
            raise ArtifactError(
                f"no artifact is written: what {item_id} came to can't be kept in "
                f"{tempfile.gettempdir()}: {error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error
        for kind, place in places.items():
            self._texts[kind][item_id] = place
        self._pages[item_id] = PagePieces(*page)
        self._task_scores[item_id] = task_scores

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # of a full disk was told where it was written
            self._spool.close()

    def ids(self, kind: str) -> list[str]:
        """List the benchmarks with texts of a kind: ``aggregate``, ``groups``, ``rollouts`` ..."""
        return sorted(item for item, (_, length) in self._texts[kind].items() if length)

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

    def write_array(self, kind: str, file: BinaryIO) -> None:
        """Write the entries of all benchmarks as one JSON array."""
        file.write(b"[")
        for i, item_id in enumerate(self.ids(kind)):
            file.write(b",\n" if i else b"\n")
            self._copy(self._texts[kind][item_id], file)
        file.write(b"\n]\n" if self.ids(kind) else b"]\n")

    def write_lines(self, kind: str, item_ids: Iterable[str], file: BinaryIO) -> None:
        """Write the rows of some benchmarks."""
        for item_id in item_ids:
            self._copy(self._texts[kind][item_id], file)

    def write_page(self, file: BinaryIO, report: Mapping[str, Any]) -> None:
        """Write the page that people look at."""
        write_page(file, report, self._pages, self._read, self.origin())

    def write_report(self, file: BinaryIO, report: Mapping[str, Any]) -> None:
        """Write the report, with the scores of its tasks."""
        # the tasks' scores are copied from the spool to where a mark stands for them
        mark = uuid.uuid4().hex
        benchmarks = [
            {
                **entry,
                "agents": [agent | {"task_scores": mark} for agent in entry["agents"]],
                "checks": [*_once(entry)],
            }
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


def _once(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Leave out of checks the estimates that stand below their agent."""
    known = {agent["agent"]: agent["estimates"] for agent in entry["agents"]}
    if len(known) == 1:
        known[""] = next(iter(known.values()))
    for check in entry["checks"]:
        same = check["estimate"] == known.get(check["agent"], {}).get(check["name"])
        yield {**check, "estimate": None} if same else check


def _indented(value: Mapping[str, Any]) -> bytes:
    try:
        if _is_finite(value):  # json takes eight times as long, and as much again to indent
            text = msgspec.json.encode(value)
            return text if len(text) > _LARGE else msgspec.json.format(text, indent=2)
    except (OverflowError, TypeError, UnicodeEncodeError):
        pass  # a number of more than 64 bits; half of a surrogate pair, such as of a file's name
    compact = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return (compact if len(compact) > _LARGE else json.dumps(value, indent=2)).encode()


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

    Of `entries` there is one per evaluated benchmark; `not_evaluated` were collected and never
    judged (a crash, ``-x``, an interrupt), `deselected` are left out by the run's selection.
    `history` has the last runs of each benchmark, the oldest first and this one last; `skipped`
    says why each of those was skipped.
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


class Reporter(Protocol):
    """Writes files of a whole run: a function, or a class with this as its ``write``."""

    def __call__(self, report: Mapping[str, Any], prefix: str) -> Any:
        """Write what there is to write.

        Parameters
        ----------
        report
            What ``report.json`` holds but for the scores of tasks, as builtins; read only.
        prefix
            What every path starts with: ``/ci/evalmetrics/`` or ``/ci/results/run1_``. The
            folder is there.

        Returns
        -------
        path, sequence of paths, or None
            What was written, to be listed.
        """
        ...


class KeptReporter:
    """A reporter of ours, which writes what was kept of the benchmarks."""

    def __init__(
        self, kept: Artifacts, report: Mapping[str, Any], environ: Mapping[str, str]
    ) -> None:
        self._kept, self._report, self._environ = kept, report, environ

    def is_wanted(self) -> bool:
        """Check whether there is anything to write where nobody asked for it by name."""
        return True

    def files(self) -> Mapping[str, Callable[[BinaryIO], object]]:
        """Return what writes each file, by the end of its path."""
        raise NotImplementedError


@dataclass
class Written:
    """The files of a run, and why others are not there."""

    paths: list[Path] = field(default_factory=list)
    errors: list[EvalMetricsError] = field(default_factory=list)


def chosen_reporters(names: Sequence[str] | None) -> list[str]:
    """List the reporters of a run: what was asked for, else all there are, ours first.

    Raises
    ------
    RegistryError
        There is no such reporter.
    """
    if names is not None:
        return [reporters.find(name).name for name in dict.fromkeys(names)]
    from pytest_evalmetrics.reports.report_files import BUILTIN  # noqa: PLC0415 - which needs us

    return [*BUILTIN, *(name for name in reporters.names() if name not in BUILTIN)]


def write_reports(
    kept: Artifacts,
    prefix: str,
    report: Mapping[str, Any],
    *,
    names: Sequence[str] | None = None,
    environ: Mapping[str, str],
) -> Written:
    """Let every reporter write; one that fails keeps no other from it.

    Every path starts with `prefix`; `names` are the reporters, None for all. `kept` is closed.
    """
    written = Written()
    with kept:
        for name in names or chosen_reporters(None):
            try:
                target = reporters.find(name).target
                with _explained(name, target):
                    if inspect.isclass(target) and issubclass(target, KeptReporter):
                        ours = target(kept, report, environ)
                        if names or ours.is_wanted():
                            for suffix, write in ours.files().items():
                                written.paths.append(atomically(Path(f"{prefix}{suffix}"), write))
                    else:
                        Path(f"{prefix}x").parent.mkdir(parents=True, exist_ok=True)
                        made: Any = target() if inspect.isclass(target) else target
                        paths = getattr(made, "write", made)(report, prefix)
                        if isinstance(paths, str | os.PathLike):
                            paths = (paths,)
                        written.paths += [Path(path) for path in paths or ()]
            except EvalMetricsError as error:
                written.errors.append(error)
    return written


@contextmanager
def _explained(name: str, target: Any) -> Iterator[None]:
    """Name the reporter in whatever it raises."""
    try:
        yield
    except EvalMetricsError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() would end the session half-way
        raise ArtifactError(
            f"the reporter {name!r} failed: {type(error).__name__}: {error}",
            hint=f"fix {origin(target)}, or skip it with --evalmetrics-reporters",
        ) from error
