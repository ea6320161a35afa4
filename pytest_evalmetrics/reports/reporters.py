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
_PIECE = 2**20
_LARGE = 4 * 2**20  # bytes of a report, above which indents help no reader
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
        self.origin: Callable[[], Mapping[str, str | None]] = dict  # when it ran, on what commit
        self._spool = tempfile.SpooledTemporaryFile(max_size=in_memory)  # noqa: SIM115 - lives as long as we do
        self._aggregates: dict[str, _Place] = {}
        self._groups: dict[str, _Place] = {}
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
        by_kind = {
            "aggregate": self._aggregates,
            "groups": self._groups,
            "row_scores": self._row_scores,
            "rollouts": self._rollouts,
        }
        files = ("aggregate_file", "groups_file", "row_file", "rollout_file")
        small = [payload[kind] for kind in by_kind]  # type: ignore[literal-required]
        count = len(payload["page"])
        kept = self._keep([*small, *payload["page"], *payload["task_scores"]])
        for places, file, place in zip(by_kind.values(), files, kept, strict=False):
            path = payload[file]  # type: ignore[literal-required]
            places[item_id] = self._take(path) if path else place
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

    @property
    def has_groups(self) -> bool:
        """Whether any benchmark has too many tasks for the entries of the array."""
        return any(length for _, length in self._groups.values())

    def write_aggregates(self, file: BinaryIO, *, groups: bool = False) -> None:
        """Write NeMo Gym's array, or that of large groups, sorted by benchmark."""
        file.write(b"[")
        kept = self._groups if groups else self._aggregates
        places = [place for _, place in sorted(kept.items()) if place[1]]
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
    """One of ours, which writes one file of what was kept of the benchmarks."""

    suffix = ""

    def wanted(self, kept: Artifacts, environ: Mapping[str, str]) -> bool:
        """Whether it has anything to write, where nobody asked for it by name."""
        del kept, environ
        return True

    def files(self, kept: Artifacts) -> Sequence[KeptReporter]:
        """Give one reporter per file: itself, where it writes one."""
        del kept
        return (self,)

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        raise NotImplementedError


@dataclass
class Written:
    """What came of writing.

    Attributes
    ----------
    paths
        The files.
    errors
        Why others are not there.
    """

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

    Parameters
    ----------
    kept
        What was kept of the benchmarks; it is let go.
    prefix
        What every path starts with.
    report
        The report's document.
    names
        The reporters; None for all.
    environ
        The environment.
    """
    written = Written()
    with kept:
        for name in names or chosen_reporters(None):
            try:
                target = reporters.find(name).target
                with _told(name, target):
                    made: Any = target() if inspect.isclass(target) else target
                    if not isinstance(made, KeptReporter):
                        written.paths += _call(made, report, prefix)
                    elif names or made.wanted(kept, environ):
                        for each in made.files(kept):
                            written.paths.append(_write_kept(each, kept, prefix, report))
            except EvalMetricsError as error:
                written.errors.append(error)
    return written


@contextmanager
def _told(name: str, target: Any) -> Iterator[None]:
    """Tell of whatever a reporter raises, and go on."""
    try:
        yield
    except EvalMetricsError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() would end the session half-way
        raise ArtifactError(
            f"the reporter {name!r} failed: {type(error).__name__}: {error}",
            hint=f"fix {origin(target)}, or skip it with --evalmetrics-reporters",
        ) from error


def _write_kept(
    target: KeptReporter, kept: Artifacts, prefix: str, report: Mapping[str, Any]
) -> Path:
    path = Path(f"{prefix}{target.suffix}")
    return atomically(path, lambda file: target.write_kept(file, kept, report))


def _call(made: Any, report: Mapping[str, Any], prefix: str) -> list[Path]:
    Path(f"{prefix}x").parent.mkdir(parents=True, exist_ok=True)
    return [Path(path) for path in _paths(getattr(made, "write", made)(report, prefix))]


def _paths(found: Any) -> Iterable[str | os.PathLike[str]]:
    if found is None:
        return ()
    return (found,) if isinstance(found, str | os.PathLike) else tuple(found)
