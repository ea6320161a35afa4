"""The end of a run: all results, the history, the artifacts and the terminal's section."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.reports import (
    Artifacts,
    calls_line,
    report_document,
    section,
    tell_ci,
    write_reports,
)
from pytest_evalmetrics.results import Check, Verdict, worst
from pytest_evalmetrics.selection import let_register
from pytest_evalmetrics.settings import history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.history import Run
    from pytest_evalmetrics.reports import Payload
    from pytest_evalmetrics.run_folder import RunFolder
    from pytest_evalmetrics.selection import Selection

    _Lines = list[tuple[str, str | None]]

__all__ = ["HistoryUpdate", "RunResults", "keep_history", "publish"]


class RunResults:
    """The results of a run, in the process that writes the artifacts.

    Parameters
    ----------
    root
        What reports name files relative to.

    Attributes
    ----------
    entries
        By id, the benchmarks' entries of the report.
    artifacts
        Their larger texts.
    unkept
        Why there was no room for these: then there are no artifacts.
    usage, warnings
        What calls took, and what else is to be told of the run.
    """

    def __init__(self, root: Path) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.artifacts = Artifacts(root=root)
        self.unkept: ArtifactError | None = None
        self.usage: list[dict[str, Any]] = []
        self.warnings: dict[str, None] = {}
        self._workers: dict[str, str] = {}  # benchmark -> the one that evaluated it
        self._evaluated: dict[str, set[str]] = {}  # item -> benchmarks

    def take(self, item: str, payload: Payload, worker: str) -> None:
        """Take a result.

        Parameters
        ----------
        item
            The node id of the item that has it.
        payload
            The result.
        worker
            The one of xdist's that evaluated it; else empty.
        """
        entry = payload["entry"]
        self._evaluated.setdefault(item, set()).add(entry["id"])
        if self._counts(entry, worker):
            self.entries[entry["id"]] = entry
            self._keep(payload)
        self.usage.append(payload["usage"])
        self.warnings.update(dict.fromkeys(payload["warnings"]))

    def fails(self, item: str) -> bool:
        """Whether a result of an item fails."""
        return any(_fails(self.entries[i]) for i in self._evaluated.get(item, ()))

    def refuse_passing(self, item: str) -> None:
        """Let the results of an item fail that was to fail, strictly, and passes."""
        for entry in (self.entries[i] for i in self._evaluated.get(item, ())):
            if not _fails(entry):
                check = Check(
                    "xfail",
                    "xfail",
                    Verdict.FAIL,
                    reason="it passes, and is marked xfail (strict): remove the mark",
                )
                entry["checks"] = [*entry["checks"], msgspec.to_builtins(check)]
                entry["verdict"] = str(Verdict.FAIL)

    def _counts(self, entry: Mapping[str, Any], worker: str) -> bool:
        """Whether an entry is the benchmark's: the worst, where several workers have one each."""
        if self._workers.setdefault(entry["id"], worker) == worker:
            return True
        before, now = Verdict(self.entries[entry["id"]]["verdict"]), Verdict(entry["verdict"])
        return worst([before, now]) is not before

    def _keep(self, payload: Payload) -> None:
        """Keep what goes into the artifacts; without room for it there are none."""
        if self.unkept is not None:
            return
        try:
            self.artifacts.add(payload["entry"]["id"], payload)
        except ArtifactError as error:
            self.unkept = error


def _fails(entry: Mapping[str, Any]) -> bool:
    return Verdict(entry["verdict"]).fails


_LAST = 20  # runs of a benchmark that reports show


@dataclass
class HistoryUpdate:
    """Result of the history update."""

    # by benchmark of this run: its last runs, the oldest first, this one last
    last: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    warnings: Sequence[str] = ()  # what is broken in the file
    errors: Sequence[EvalMetricsError] = ()  # why nothing was appended


def keep_history(
    config: pytest.Config, path: Path, shown: str, entries: Iterable[Mapping[str, Any]]
) -> HistoryUpdate:
    """Append the benchmarks of this run."""
    from pytest_evalmetrics.history import (  # noqa: PLC0415 - one is kept
        append,
        origin_of,
        read_history,
        run_of,
    )

    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    origin = origin_of(os.environ, config.rootpath)
    starts = bool(config.getoption("update_snapshots", default=False))
    runs = [
        run_of(entry, origin, time, starts=starts)
        for entry in sorted(entries, key=lambda entry: entry["id"])
    ]
    try:
        before = read_history(path, shown)
        if runs:
            append(path, runs, shown)
    except EvalMetricsError as error:
        return HistoryUpdate(errors=[error])
    last = {
        run["benchmark"]: [*before.runs.get(run["benchmark"], ()), run][-_LAST:] for run in runs
    }
    return HistoryUpdate(last, before.notes())


_NAMED = 3  # of what was deselected


def publish(
    config: pytest.Config, heard: RunResults, roster: Selection, folder: RunFolder
) -> tuple[_Lines, bool]:
    """Write the artifacts.

    Parameters
    ----------
    config
        pytest's.
    heard
        The results.
    roster
        What else became of what was to be evaluated.
    folder
        Where they go.

    Returns
    -------
    lines, complete
        The terminal's section, as lines with a colour or None; and whether all that was to be
        evaluated was, and every file is there.
    """
    lost, deselected = roster.lost, roster.deselected
    errors: list[EvalMetricsError] = []
    last = _history(config, heard, errors)
    report = report_document(
        heard.entries.values(), lost, last, roster.skipped, deselected=deselected
    )
    try:
        config.hook.pytest_evalmetrics_report(report=report)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
        errors.append(_of_hook(error))
    written: list[Path] = []
    if heard.unkept is None:
        with let_register(config) as names:
            found = write_reports(
                heard.artifacts,
                folder.prefix,
                report,
                names=reporter_names(config),
                environ=os.environ,
            )
        heard.warnings.update(names.notes)
        written = found.paths
        errors += found.errors
    else:  # half of what there was is no report
        errors.append(heard.unkept)
    try:
        folder.end(report["verdict"], written, whole=not errors)
    except ArtifactError as error:
        errors.append(error)
    told: _Lines = []
    try:
        told = [(line, None) for line in tell_ci(report, os.environ, config.rootpath)]
    except ArtifactError as error:
        errors.append(error)
    told += [(str(error), "red") for error in errors]
    verbosity = getattr(config.option, "verbose", 0)  # -p no:terminal
    told += [(line, None) for line in calls_line(heard.usage) if verbosity >= 0]
    told += [(line, None) for line in _left_out(deselected)]
    told += [(f"warning: {text}", "yellow") for text in heard.warnings]
    paths = [_shown(path, config) for path in written]
    return section(report, paths, verbosity=verbosity) + told, not (errors or lost)


def _history(
    config: pytest.Config, heard: RunResults, errors: list[EvalMetricsError]
) -> Mapping[str, Sequence[Any]]:
    """Append this run to the history, and give its last runs; nothing where none is kept."""
    path = history_path(config)
    if path is None:
        return {}
    kept = keep_history(config, path, _shown(path, config), heard.entries.values())
    errors += kept.errors
    heard.warnings.update(dict.fromkeys(kept.warnings))
    return kept.last


def _left_out(ids: Sequence[str]) -> list[str]:
    """Say what the run's selection leaves out of the reports; xdist says nothing of it."""
    if not ids:
        return []
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return [f"note: deselected, and not evaluated: {', '.join(ids[:_NAMED])}{more}"]


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.invocation_params.dir
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _of_hook(error: BaseException) -> ArtifactError:
    return ArtifactError(
        f"the hook pytest_evalmetrics_report failed: {type(error).__name__}: {error}",
        hint="fix it in the conftest.py or the plugin that defines it",
    )
