"""What writes the files of a run: ours, and those that anybody registers."""

from __future__ import annotations

import inspect
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.registry import origin, reporters
from pytest_evalmetrics.reports.writing import atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.reports.artifacts import Artifacts

__all__ = ["KeptReporter", "Reporter", "Written", "chosen_reporters", "write_reports"]


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
    from pytest_evalmetrics.reports.builtin import BUILTIN  # noqa: PLC0415 - which needs us

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
            hint=f"mend {origin(target)}, or leave it out with --evalmetrics-reporters",
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
