"""The end of a run: all results, the history, the artifacts and the terminal's section."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.reports.lines import calls_line
from pytest_evalmetrics.reports.payload import Artifacts, Payload
from pytest_evalmetrics.reports.reporters import FinishedRun, report_document, write_reports
from pytest_evalmetrics.reports.section import section
from pytest_evalmetrics.reports.summary import tell_ci
from pytest_evalmetrics.results import Check, Verdict, worst
from pytest_evalmetrics.run_folder import Origin, RunFolder, origin_of
from pytest_evalmetrics.selection import Selection, let_register
from pytest_evalmetrics.settings import accepted_reason, history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pytest

    Lines = list[tuple[str, str | None]]  # with a colour

_LAST = 20  # runs of a benchmark that reports show
_NAMED = 3  # of what was deselected


class RunResults:
    """The results of a run, in the process that writes the artifacts."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Any]] = {}  # the benchmarks' entries of the report, by id
        self.artifacts = Artifacts()  # their larger texts
        self.unkept: ArtifactError | None = None  # there was no room for these: no artifacts
        self.usage: list[dict[str, Any]] = []  # of calls
        self.warnings: dict[str, None] = {}
        self.baselines: dict[str, dict[str, Any] | None] = {}  # for the history, by benchmark
        self._workers: dict[str, str] = {}  # benchmark -> the one that evaluated it
        self._evaluated: dict[str, set[str]] = {}  # item -> benchmarks

    def take(self, item: str, payload: Payload, worker: str) -> None:
        """Take a result of an item; `worker` is xdist's that evaluated it, else empty."""
        entry = payload["entry"]
        name = entry["id"]
        self._evaluated.setdefault(item, set()).add(name)
        counts = self._workers.setdefault(name, worker) == worker
        if not counts:  # of several workers the worst result
            before = Verdict(self.entries[name]["verdict"])
            counts = worst([before, Verdict(entry["verdict"])]) is not before
        if counts:
            self.entries[name] = entry
            self.baselines[name] = payload.get("baseline")
            if self.unkept is None:
                try:
                    self.artifacts.add(name, payload)
                except ArtifactError as error:
                    self.unkept = error
        self.usage.append(payload["usage"])
        self.warnings.update(dict.fromkeys(payload["warnings"]))

    def fails(self, item: str) -> bool:
        """Check whether a result of an item fails."""
        return any(Verdict(entry["verdict"]).fails for entry in self._of(item))

    def refuse_passing(self, item: str) -> None:
        """Fail a strict xfail that passed."""
        for entry in self._of(item):
            if not Verdict(entry["verdict"]).fails:
                reason = "it passes, and is marked xfail (strict): remove the mark"
                check = Check("xfail", "xfail", Verdict.FAIL, reason=reason)
                entry["checks"] = [*entry["checks"], msgspec.to_builtins(check)]
                entry["verdict"] = str(Verdict.FAIL)

    def _of(self, item: str) -> list[dict[str, Any]]:
        return [self.entries[name] for name in self._evaluated.get(item, ())]


def publish(
    config: pytest.Config, results: RunResults, selection: Selection, folder: RunFolder
) -> tuple[Lines, bool]:
    """Write the artifacts; return the terminal's section.

    The second value says whether all that was to be evaluated was, and every file is there.
    """
    errors: list[EvalMetricsError] = []
    origin = cache(partial(_origin, config.rootpath))
    last, entries = _history(config, results, errors, origin), results.entries.values()
    lost, skipped, deselected = selection.lost, selection.skipped, selection.deselected
    report = report_document(entries, lost, last, skipped, deselected=deselected)
    try:
        config.hook.pytest_evalmetrics_report(report=report)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
        message = f"the hook pytest_evalmetrics_report failed: {type(error).__name__}: {error}"
        hint = "fix it in the conftest.py or the plugin that defines it"
        errors.append(ArtifactError(message, hint=hint))
    paths: list[Path] = []
    if results.unkept is None:
        chosen = reporter_names(config)
        run = FinishedRun(
            kept=results.artifacts,
            report=report,
            root=config.rootpath,
            origin=lambda: {**asdict(origin()[0]), "time": origin()[1]},
            chosen=bool(chosen),
        )
        with let_register(config) as names:
            paths, unwritten = write_reports(run, folder.prefix, chosen)
        results.warnings.update(names.notes)
        errors += unwritten
    else:  # half of what there was is no report
        errors.append(results.unkept)
    lines: Lines = []
    try:
        folder.end(report["verdict"], paths, whole=not errors)
    except ArtifactError as error:
        errors.append(error)
    try:
        lines += [(line, None) for line in tell_ci(report, os.environ, config.rootpath)]
    except ArtifactError as error:
        errors.append(error)
    lines += [(str(error), "red") for error in errors]
    verbosity = getattr(config.option, "verbose", 0)  # -p no:terminal
    lines += [(line, None) for line in calls_line(results.usage) if verbosity >= 0]
    if deselected:  # xdist says nothing of it
        named, more = ", ".join(deselected[:_NAMED]), len(deselected) - _NAMED
        named += f" and {more} more" if more > 0 else ""
        lines.append((f"note: deselected, and not evaluated: {named}", None))
    lines += [(f"warning: {text}", "yellow") for text in results.warnings]
    head = section(report, [_shown(path, config) for path in paths], verbosity=verbosity)
    return head + lines, not (errors or lost)


def _origin(root: Path) -> tuple[Origin, str]:
    """Say what is judged, and when: by SOURCE_DATE_EPOCH where a build is to be reproducible."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return origin_of(os.environ, root), now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _history(
    config: pytest.Config,
    results: RunResults,
    errors: list[EvalMetricsError],
    origin: Callable[[], tuple[Origin, str]],
) -> Mapping[str, Sequence[Any]]:
    """Append this run to the history; return the last runs of each benchmark, the oldest first."""
    path = history_path(config)
    if path is None:
        return {}
    from pytest_evalmetrics.history import append, read_history, run_of  # noqa: PLC0415 - one is kept
    from pytest_evalmetrics.stats.drift import drift_warnings  # noqa: PLC0415 - of a history

    shown = _shown(path, config)
    starts = bool(config.getoption("update_snapshots", default=False))
    run = partial(run_of, starts=starts, reason=accepted_reason(config))
    entries = sorted(results.entries.values(), key=lambda entry: str(entry["id"]))
    runs = [run(e, *origin(), baseline=results.baselines[e["id"]]) for e in entries]
    try:
        before = read_history(path, shown)
        for entry, this in zip(entries, runs, strict=True):
            earlier = before.runs.get(this["benchmark"], ())
            usable = [each for each in (*earlier, this) if each["usable"]]
            if this["usable"] and (drift := list(drift_warnings(entry, usable))):
                this["drift"] = drift
                results.warnings.update(dict.fromkeys(drift))
        if runs:
            append(path, runs, shown)
    except EvalMetricsError as error:
        errors.append(error)
        return {}
    results.warnings.update(dict.fromkeys(before.notes()))
    last = {r["benchmark"]: [*before.runs.get(r["benchmark"], ()), r][-_LAST:] for r in runs}
    return {
        name: [{k: v for k, v in each.items() if k != "baseline"} for each in several]
        for name, several in last.items()
    }


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.invocation_params.dir
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
