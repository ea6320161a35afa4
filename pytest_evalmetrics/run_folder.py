"""The folder that a run writes into: which run has it, and whether its files are a finished run's.

``run.json`` says so: it is written as a run starts, when the files that tell an earlier verdict go
to ``previous/``, and again when all files of the run are there, with their digests. A run that is
killed leaves no verdict of an earlier one in its place.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.processes import is_running, start_of
from pytest_evalmetrics.whole_files import remove_stale, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_VERDICTS = (  # of a run without a run.json
    "aggregate_metrics.json",
    "group_level_metrics.json",
    "report.json",
    "summary.md",
    "report.html",
    "gl-code-quality-report.json",
)
_IGNORE = "# made by pytest-evalmetrics: what a run leaves is not to be committed\n*\n"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class RunState(msgspec.Struct, frozen=True):
    """The contents of ``run.json``: what a run says of its folder.

    Whoever can write into the folder can write it, so that nothing in it is trusted.
    """

    run: str
    # running, finished, unfinished or nothing evaluated
    state: str
    # a time, as `_TIME` writes it
    started: str = ""
    host: str = ""
    process: int = 0
    # when the process began, in a unit of the system's
    began: str = ""
    verdict: str = ""
    # the files of the run, relative to the folder, and their digests
    artifacts: dict[str, str] = msgspec.field(default_factory=dict)
    # the files that hold its benchmarks, relative to pytest's root folder
    benchmarks: tuple[str, ...] = ()


class RunFolder:
    """The files that a run leaves at a prefix: ``/ci/evalmetrics/`` or ``/ci/results/run1_``.

    Parameters
    ----------
    prefix
        What every artifact's path starts with.
    evaluates
        Whether this run evaluates benchmarks.
    reporters
        The names of reporters: a file of theirs, which tells a verdict too, is called as
        they are, with any ending.
    """

    def __init__(
        self, prefix: str, *, evaluates: bool, reporters: Iterable[str] = ()
    ) -> None:
        self.prefix = prefix
        self._file = Path(f"{prefix}run.json")
        self._previous = Path(f"{prefix}previous")
        self._evaluates = evaluates
        self._exit: Callable[[int], object] | None = None
        self._stem = self._file.name.removesuffix("run.json")
        self._reporters = frozenset(reporters)
        self._known = [
            f"{self._stem}{name}"
            for name in sorted({*_VERDICTS, *self._reporters})
            if not name.endswith(".jsonl")  # not the rows: this run may read them
        ]
        self._state = RunState(
            run=uuid.uuid4().hex,
            state="running",
            started=f"{datetime.now(UTC):{_TIME}}",
            host=socket.gethostname(),
            process=os.getpid(),
            began=start_of(os.getpid()),
        )

    def start(self) -> list[str]:
        """Mark the folder as running, and move an earlier verdict's files aside."""
        earlier = _read(self._file)
        unfinished = earlier
        if earlier is not None and earlier.state != "running":
            unfinished = None
        if self._evaluates and unfinished is not None:
            self._refuse_beside(unfinished)
        notes = self._unknown_in(earlier)
        with suppress(OSError):  # a folder that can't be written is reported at the end
            aside = self._put_aside(earlier)
            if self._evaluates or aside or earlier is not None:
                self._write()
        if not self._evaluates:
            return notes
        self._guard_exit()
        remove_stale(Path(tempfile.gettempdir()))
        remove_stale(self._file.parent)
        if unfinished is not None:
            writer = _writer(unfinished)
            notes.append(f"note: the run before this one did not finish: {writer}")
        return notes

    def _refuse_beside(self, other: RunState) -> None:
        """Raise an error where another run goes on in this folder."""
        if _lives(other):
            message = f"another run writes here: {_writer(other)}"
            hint = "let it end, or give one of them its own folder: --evalmetrics-output=PREFIX"
            raise ArtifactError(message, file=str(self._file), hint=hint)

    def finish(
        self,
        verdict: str,
        paths: Iterable[Path],
        *,
        complete: bool,
        benchmarks: Iterable[str] = (),
    ) -> None:
        """Record the verdict and the files of this run, and whether they are `complete`."""
        self.release()
        now = _read(self._file)
        if now is not None and now.run != self._state.run:
            message = f"another run has written here meanwhile: {_writer(now)}"
            hint = "give each run a folder of its own: --evalmetrics-output=PREFIX"
            raise ArtifactError(message, file=str(self._file), hint=hint)
        folder = self._file.parent
        written = sorted(
            path for path in paths if path.is_relative_to(folder) and path.is_file()
        )
        digests = {
            path.relative_to(folder).as_posix(): _digest(path) for path in written
        }
        outcome = "unfinished"
        if complete:
            outcome = "finished"
        self._state = structs.replace(
            self._state,
            state=outcome,
            verdict=verdict,
            artifacts=digests,
            benchmarks=tuple(sorted(benchmarks)),
        )
        with suppress(OSError):
            self._write()
        if complete:
            shutil.rmtree(self._previous, ignore_errors=True)

    def finish_without_verdict(self) -> None:
        """Record that nothing was evaluated; leave no file where there was none before."""
        self.release()
        now = _read(self._file)
        if now is None or now.run != self._state.run:
            return
        self._state = structs.replace(self._state, state="nothing evaluated")
        folder = self._file.parent
        ignore = self._file.with_name(".gitignore")
        with suppress(OSError):
            if self._previous.exists() or not self._evaluates:
                self._write()
                return
            self._file.unlink()
            if _holds_ours_alone(folder, ignore):
                ignore.unlink()
            folder.rmdir()

    def _unknown_in(self, earlier: RunState | None) -> list[str]:
        """Note what run.json says that can't be true of a run's artifacts."""
        if earlier is None:
            if not self._file.exists():
                return []
            return [f"note: {self._file} is not what a run writes: it is ignored"]
        unknown = [
            name
            for name in earlier.artifacts
            if name not in self._known
            and not self._is_of_reporter(name)
            and not name.endswith(".jsonl")
        ]
        return [
            f"note: {self._file} names {name!r}, which is no artifact of a run: it is left alone"
            for name in unknown
        ]

    def _is_of_reporter(self, name: str) -> bool:
        """Whether a file beside run.json is called as a reporter is, with an ending."""
        is_beside = Path(name).name == name and name.startswith(self._stem)
        return is_beside and Path(name[len(self._stem) :]).stem in self._reporters

    def _put_aside(self, earlier: RunState | None) -> bool:
        """Move files with a verdict to ``previous/``; rows stay, because a run may read them."""
        folder = self._file.parent
        names = [*self._known]
        if earlier is not None and earlier.artifacts:
            names = [
                name
                for name in earlier.artifacts
                if name in self._known or self._is_of_reporter(name)
            ]
        files = [folder / name for name in names]
        files = [path for path in files if path.is_file()]
        if not files:
            return False
        shutil.rmtree(self._previous, ignore_errors=True)
        self._previous.mkdir(parents=True, exist_ok=True)
        for path in files:
            path.replace(self._previous / path.name)
        if earlier is not None:
            self._file.replace(self._previous / self._file.name)
        return True

    def _write(self) -> None:
        make_folder(self._file.parent)
        text = msgspec.json.format(msgspec.json.encode(self._state), indent=2)
        write_whole(self._file, [text, b"\n"])

    def _guard_exit(self) -> None:
        """Keep ``os._exit(0)`` in a hook from ending this run with a green status."""
        process = os.getpid()
        leave = os._exit

        def guarded(status: int) -> None:
            # a forked child may do as it likes
            if os.getpid() == process and status == 0:
                with suppress(Exception):
                    os.write(
                        2,
                        b"\nos._exit(0) ended this run before its benchmarks were judged\n",
                    )
                status = 1
            leave(status)

        self._exit = leave
        os._exit = guarded  # type: ignore[assignment]

    def release(self) -> None:
        """Restore ``os._exit``."""
        if self._exit is not None:
            os._exit = self._exit  # type: ignore[assignment]
            self._exit = None


def _holds_ours_alone(folder: Path, ignore: Path) -> bool:
    """Whether a folder has no file but the .gitignore that `make_folder` writes."""
    if list(folder.iterdir()) != [ignore]:
        return False
    return ignore.read_text(encoding="utf-8") == _IGNORE


def make_folder(folder: Path) -> None:
    """Make a folder of artifacts, with a .gitignore, unless it exists."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_IGNORE, encoding="utf-8")


def set_aside_of_gone(prefix: str, root: Path, places: Iterable[Path]) -> bool:
    """Move an earlier verdict aside after a run that met none of its benchmarks.

    Parameters
    ----------
    prefix
        What every artifact's path starts with.
    root
        Pytest's root folder.
    places
        The files and folders in which the run looked for benchmarks.
    """
    earlier = _read(Path(f"{prefix}run.json"))
    if earlier is None or earlier.state not in ("finished", "unfinished"):
        return False
    files = [root / name for name in earlier.benchmarks]
    met = any(file.is_relative_to(place) for file in files for place in places)
    if met:
        folder = RunFolder(prefix, evaluates=False)
        folder.start()
        folder.finish_without_verdict()
    return met


def finished_report(path: Path, shown: str) -> Path:
    """Find an earlier run's ``report.json``; raise BaselineError if it has not finished."""
    if not path.name.endswith("report.json"):
        return path
    prefix = str(path).removesuffix("report.json")
    state = _read(Path(f"{prefix}run.json"))
    if state is None:
        return path
    if state.state == "running":
        if _is_ours(state):
            aside = Path(f"{prefix}previous", path.name)
            if aside.is_file():
                return finished_report(aside, shown)
            return path
        raise _unfinished(_of_running(state), shown)
    if state.state == "unfinished":
        why = "the run that wrote this report could not write all of its files"
        raise _unfinished(why, shown)
    if path.is_file() and state.artifacts.get(path.name) not in (None, _digest(path)):
        why = f"this report is not the one that the run {state.run} wrote: the bytes differ"
        hint = "restore it, or take the whole folder of one finished run"
        raise BaselineError(why, file=shown, hint=hint)
    return path


def _is_ours(state: RunState) -> bool:
    """Whether this run writes the folder: xdist's workers are children of the one that does."""
    processes = (os.getpid(), os.getppid())
    return state.process in processes and state.host == socket.gethostname()


def _of_running(state: RunState) -> str:
    done = "died before it finished"
    if _lives(state):
        done = "has not finished"
    return f"the run that writes this report {done}: {_writer(state)}"


def _unfinished(why: str, shown: str) -> BaselineError:
    hint = "compare with the report of a finished run"
    return BaselineError(why, file=shown, hint=hint)


def _read(file: Path) -> RunState | None:
    """Read what a run says of its folder; None if there is nothing that a run would write."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunState)
    except (OSError, ValueError, RecursionError):  # the second is msgspec's too
        return None


def _writer(state: RunState) -> str:
    return f"process {state.process}, started {state.started[:40]}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{file_digest(file, 'sha256').hexdigest()}"


def _lives(state: RunState) -> bool:
    """Check whether the process of another run is there, and no later one with its number."""
    process = state.process
    if state.host != socket.gethostname() or process == os.getpid():
        return False
    return is_running(process) and start_of(process) == state.began
