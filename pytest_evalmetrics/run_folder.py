"""The folder that a run writes into: which run has it, and whether its files are a finished run's.

``run.json`` says so: it is written as a run starts, when the files that tell an earlier verdict go
to ``previous/``, and again when all files of the run are there, with their digests. A run that is
killed leaves no verdict of an earlier one in its place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import tempfile
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Origin",
    "RunFolder",
    "finished_report",
    "make_folder",
    "origin_of",
    "remove_stale",
    "temporary_name",
]

_VERDICTS = (  # of a run without a run.json
    "aggregate_metrics.json",
    "group_level_metrics.json",
    "report.json",
    "summary.md",
    "report.html",
    "gl-code-quality-report.json",
)
_IGNORE = "# made by pytest-evalmetrics: what a run leaves is not to be committed\n*\n"
_EXIT = os._exit  # what a hook may end the process with
_TEMPORARY = re.compile(r"\.?evalmetrics-(?P<host>.+)-(?P<process>\d+)-[0-9a-f]{16}(\.tmp)?")


class RunFolder:
    """What a run leaves at a prefix, from its start to its end.

    Parameters
    ----------
    prefix
        What every path starts with: ``/ci/evalmetrics/`` or ``/ci/results/run1_``.
    evaluates
        Whether the run evaluates benchmarks; else it only makes an earlier verdict look old.
    """

    def __init__(self, prefix: str, *, evaluates: bool = True) -> None:
        self.prefix = prefix
        self._file = Path(f"{prefix}run.json")
        self._previous = Path(f"{prefix}previous")
        self._evaluates = evaluates
        self._state = {
            "run": uuid.uuid4().hex,
            "state": "running",
            "started": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **_this_process(),
        }

    def start(self) -> list[str]:
        """Mark the folder as running, and put the files of an earlier verdict aside.

        Returns
        -------
        list of str
            What is to be told of an earlier run.

        Raises
        ------
        ArtifactError
            Another run writes there.
        """
        earlier = _read(self._file)
        if self._evaluates and earlier.get("state") == "running" and _lives(earlier):
            raise ArtifactError(
                f"another run writes here: process {earlier['process']}, since "
                f"{earlier['started']}",
                file=str(self._file),
                hint="let it end first, or give one of them a folder of its own: "
                "--evalmetrics-output PREFIX",
            )
        with suppress(OSError):  # that nothing can be written is told at the end
            aside = self._put_aside(earlier)
            if self._evaluates or aside or earlier:
                self._write()
        if not self._evaluates:
            return []
        self._guard_exit()
        remove_stale(Path(tempfile.gettempdir()))
        remove_stale(self._file.parent)
        if earlier.get("state") != "running":
            return []
        which = f"process {earlier.get('process')}, started {earlier.get('started')}"
        return [f"note: the run before this one did not finish: {which}"]

    def end(self, verdict: str | None, paths: Iterable[Path] = (), *, whole: bool = True) -> None:
        """Say what came of the run.

        Parameters
        ----------
        verdict
            The run's; None where it has evaluated nothing.
        paths
            The files that it has written.
        whole
            Whether all that were to be written are there.

        Raises
        ------
        ArtifactError
            Another run has taken the folder meanwhile.
        """
        self.release()
        now = _read(self._file)
        if now.get("run", self._state["run"]) != self._state["run"]:
            raise ArtifactError(
                f"another run has written here meanwhile: process {now.get('process')}",
                file=str(self._file),
                hint="give each run a folder of its own: --evalmetrics-output PREFIX",
            )
        if verdict is None:
            self._state["state"] = "nothing evaluated"
            with suppress(OSError):
                if self._previous.exists() or not self._evaluates:
                    if now:
                        self._write()
                else:
                    self._file.unlink(missing_ok=True)
                    ours = self._file.with_name(".gitignore")
                    left = [path.name for path in self._file.parent.iterdir()]
                    if left == [ours.name] and ours.read_text(encoding="utf-8") == _IGNORE:
                        ours.unlink()
                    self._file.parent.rmdir()
            return
        folder = self._file.parent
        found = sorted(path for path in paths if path.is_relative_to(folder))
        artifacts = {p.relative_to(folder).as_posix(): _digest(p) for p in found if p.is_file()}
        self._state |= {
            "state": "finished" if whole else "unfinished",
            "verdict": verdict,
            "artifacts": artifacts,
        }
        with suppress(OSError):
            self._write()
        if whole:
            shutil.rmtree(self._previous, ignore_errors=True)

    def release(self) -> None:
        """Let ``os._exit`` do again what it does."""
        if getattr(os._exit, "of", None) is self:
            os._exit = _EXIT

    def _put_aside(self, earlier: dict[str, Any]) -> bool:
        """Move what tells a verdict to ``previous/``; rows of data stay, for they may be read."""
        folder = self._file.parent
        listed = earlier.get("artifacts")
        names = (
            [f"{self._file.name.removesuffix('run.json')}{name}" for name in _VERDICTS]
            if listed is None
            else [name for name in listed if not name.endswith(".jsonl")]
        )
        found = [folder / name for name in names if (folder / name).is_file()]
        if not found:
            return False
        if self._previous.is_dir():
            shutil.rmtree(self._previous)
        self._previous.mkdir()
        for path in found:
            target = self._previous / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
        if earlier:
            self._file.replace(self._previous / self._file.name)
        return True

    def _write(self) -> None:
        folder = self._file.parent
        make_folder(folder)
        temporary = folder / f".{temporary_name()}.tmp"
        temporary.write_text(json.dumps(self._state, indent=2) + "\n", encoding="utf-8")
        temporary.replace(self._file)

    def _guard_exit(self) -> None:
        """Let ``os._exit(0)`` in somebody's hook not pass for a run whose gates hold."""
        process = os.getpid()

        def leave(status: int) -> None:
            if os.getpid() == process and status == 0:  # a forked child may do as it likes
                with suppress(Exception):
                    os.write(2, b"\nos._exit(0) ended this run before its benchmarks were judged\n")
                status = 1
            _EXIT(status)

        leave.of = self  # type: ignore[attr-defined]
        os._exit = leave  # type: ignore[assignment]


def make_folder(folder: Path) -> None:
    """Make a folder of artifacts, which git ignores, where there is none."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_IGNORE, encoding="utf-8")


def finished_report(path: Path, shown: str) -> Path:
    """Find an earlier run's report, and refuse one whose run has not finished.

    Parameters
    ----------
    path
        A ``report.json``. Where this very run has put it aside, that one is meant.
    shown
        It, as messages name it.

    Raises
    ------
    BaselineError
        The run that writes there has not finished.
    """
    if not path.name.endswith("report.json"):
        return path
    ledger = path.with_name(f"{path.name.removesuffix('report.json')}run.json")
    state = _read(ledger)
    if state.get("state") == "running":
        ours = (os.getpid(), os.getppid())  # xdist's workers are children of the one that writes
        aside = Path(f"{str(ledger).removesuffix('run.json')}previous") / path.name
        if state.get("process") in ours and state.get("host") == socket.gethostname():
            return finished_report(aside, shown) if aside.is_file() else path
        done = "has not finished" if _lives(state) else "died before it finished"
        raise BaselineError(
            f"the run that writes this report {done}: it was started {state.get('started')}, as "
            f"process {state.get('process')}",
            file=shown,
            hint="compare with the report of a finished run",
        )
    if state.get("state") == "unfinished":
        raise BaselineError(
            "the run that wrote this report could not write all of its files",
            file=shown,
            hint="compare with the report of a finished run",
        )
    recorded = (state.get("artifacts") or {}).get(path.name)
    if recorded is not None and path.is_file() and recorded != _digest(path):
        raise BaselineError(
            f"this report is not the one that the run {state.get('run')} wrote: its digest differs "
            f"from the one in {ledger.name}",
            file=shown,
            hint="restore it, or take the whole folder of one finished run",
        )
    return path


def temporary_name() -> str:
    """Name a temporary file or folder so that a later run knows whose it was."""
    return f"evalmetrics-{_host()}-{os.getpid()}-{os.urandom(8).hex()}"


def remove_stale(folder: Path) -> None:
    """Remove the temporary files and folders in a folder whose process is gone."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _TEMPORARY.fullmatch(entry.name)
            if match is None or match["host"] != _host() or _is_process(int(match["process"])):
                continue
            if hasattr(os, "getuid") and entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    Path(entry.path).unlink()


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and "run" in found else {}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{file_digest(file, 'sha256').hexdigest()}"


def _host() -> str:
    return re.sub(r"[^\w.]+", "_", socket.gethostname())


def _this_process() -> dict[str, Any]:
    process = os.getpid()
    return {"host": socket.gethostname(), "process": process, "began": _began(process)}


def _lives(state: dict[str, Any]) -> bool:
    """Whether the process of a run is there still: not another one that has its number now."""
    process = state.get("process")
    if state.get("host") != socket.gethostname() or not isinstance(process, int):
        return False
    if process == os.getpid() or not _is_process(process):
        return False
    return _began(process) == state.get("began")


def _is_process(process: int) -> bool:
    if sys.platform == "win32":  # there os.kill(process, 0) would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _began(process: int) -> str:
    """Tell when a process began, in whatever unit; empty where the system does not say."""
    try:
        return (
            Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
        )
    except (OSError, IndexError):
        return ""


# -- what a run judges ----------------------------------------------------------------------

_SECONDS = 5.0

# commit, branch (the first that is set), and the job's page
_SYSTEMS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # https://docs.gitlab.com/ci/variables/predefined_variables/
    ("CI_COMMIT_SHA", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"), "CI_JOB_URL"),
    ("BUILDKITE_COMMIT", ("BUILDKITE_BRANCH",), "BUILDKITE_BUILD_URL"),
    ("CIRCLE_SHA1", ("CIRCLE_BRANCH",), "CIRCLE_BUILD_URL"),
    ("BITBUCKET_COMMIT", ("BITBUCKET_BRANCH",), ""),
    ("BUILD_SOURCEVERSION", ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"), ""),
    ("TRAVIS_COMMIT", ("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"), "TRAVIS_JOB_WEB_URL"),
    ("DRONE_COMMIT_SHA", ("DRONE_SOURCE_BRANCH", "DRONE_BRANCH"), "DRONE_BUILD_LINK"),
    ("GIT_COMMIT", ("CHANGE_BRANCH", "GIT_BRANCH"), "BUILD_URL"),  # Jenkins
)


@record
class Origin:
    """What was judged; None where it is not known."""

    commit: str | None = None  # as git names them
    branch: str | None = None
    url: str | None = None  # the page of the CI system's job


def origin_of(environ: Mapping[str, str], folder: Path) -> Origin:
    """Find out what is judged."""
    if environ.get("GITHUB_ACTIONS") == "true":
        return _github(environ)
    for commit, branches, url in _SYSTEMS:
        if environ.get(commit):
            branch = next((environ[name] for name in branches if environ.get(name)), None)
            return Origin(environ[commit], branch, environ.get(url) or None)
    commit_of_git = _git(folder, "rev-parse", "HEAD")
    if commit_of_git is None:
        return Origin()
    branch_of_git = _git(folder, "rev-parse", "--abbrev-ref", "HEAD")
    return Origin(commit_of_git, None if branch_of_git == "HEAD" else branch_of_git)


def _github(environ: Mapping[str, str]) -> Origin:
    """https://docs.github.com/actions/reference/workflows-and-actions/variables."""
    branch = environ.get("GITHUB_HEAD_REF") or environ.get("GITHUB_REF_NAME") or None
    parts = [environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    url = f"{parts[0]}/{parts[1]}/actions/runs/{parts[2]}" if all(parts) else None
    return Origin(environ.get("GITHUB_SHA") or None, branch, url)


def _git(folder: Path, *args: str) -> str | None:
    import subprocess  # noqa: PLC0415 - takes milliseconds, and CI systems say it themselves

    try:
        done = subprocess.run(  # noqa: S603 - two fixed commands
            ["git", *args],  # noqa: S607 - the user's own git, wherever it is
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
