"""The end of a run: all results, the history, the artifacts and the terminal's section."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.baselines.files import shown_below
from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError, raised_in_hook
from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.model.results import Check, Verdict, worst
from pytest_evalmetrics.reports.payload import Artifacts, Payload
from pytest_evalmetrics.reports.reporters import (
    FinishedRun,
    report_document,
    write_reports,
)
from pytest_evalmetrics.reports.summary import tell_ci
from pytest_evalmetrics.reports.terminal import section
from pytest_evalmetrics.reports.wording import calls_line
from pytest_evalmetrics.run_folder import RunFolder, origin_of
from pytest_evalmetrics.settings import accepted_reason, history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pytest

    from pytest_evalmetrics.registry import Scope

    Lines = list[tuple[str, str | None]]  # with a colour

_LAST = 20  # runs of a benchmark that reports show


class RunResults:
    """The results of a run, in the process that writes the artifacts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.entries: dict[
            str, dict[str, Any]
        ] = {}  # the benchmarks' entries of the report, by id
        self._artifacts = Artifacts()  # their larger texts
        self._keeps_all = True  # until there is no room for them: then no artifacts
        self._errors: list[EvalMetricsError] = []
        self._usage: list[dict[str, Any]] = []  # of calls
        self._warnings: dict[str, None] = {}
        self._baselines: dict[
            str, dict[str, Any] | None
        ] = {}  # for the history, by benchmark
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
            self._baselines[name] = payload.get("baseline")
            if self._keeps_all:
                self._keeps_all = False
                with self._errors_noted():
                    self._artifacts.add(name, payload)
                    self._keeps_all = True
        self._usage.append(payload["usage"])
        self._warnings.update(dict.fromkeys(payload["warnings"]))

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
        self,
        folder: RunFolder,
        names: Scope,
        lost: Collection[str],
        skipped: Mapping[str, str],
        deselected: Sequence[str],
    ) -> tuple[Lines, bool]:
        """Write the artifacts; return the terminal's section, and whether nothing is missing."""
        config, paths = self._config, list[Path]()
        report = report_document(
            self.entries.values(), lost, self._history(), skipped, deselected=deselected
        )
        try:
            config.hook.pytest_evalmetrics_report(report=report)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
            message, hint = raised_in_hook("pytest_evalmetrics_report", error)
            self._errors.append(ArtifactError(message, hint=hint))
        if self._keeps_all:  # without all results there is no report
            run = FinishedRun(
                kept=self._artifacts,
                report=report,
                root=config.rootpath,
                origin=lambda: self._origin,
                names=reporter_names(config),
            )
            paths, unwritten = write_reports(run, folder.prefix)
            self._warnings.update(names.notes)
            self._errors += unwritten
        with self._errors_noted():
            folder.finish(report["verdict"], paths, complete=not self._errors)
        lines: Lines = []
        with self._errors_noted():
            lines += [
                (line, None) for line in tell_ci(report, os.environ, config.rootpath)
            ]
        lines += [(str(error), "red") for error in self._errors]
        verbosity = getattr(config.option, "verbose", 0)  # -p no:terminal
        lines += [(line, None) for line in calls_line(self._usage) if verbosity >= 0]
        if deselected:  # xdist does not report it
            lines.append(
                (f"note: deselected, and not evaluated: {listed(deselected, 3)}", None)
            )
        lines += [(f"warning: {text}", "yellow") for text in self._warnings]
        shown = [shown_below(path, config.invocation_params.dir) for path in paths]
        return section(report, shown, verbosity=verbosity) + lines, not (
            self._errors or lost
        )

    @contextmanager
    def _errors_noted(self) -> Iterator[None]:
        """Record one of our errors and continue; the section shows it, and the run fails."""
        try:
            yield
        except EvalMetricsError as error:
            self._errors.append(error)

    @cached_property
    def _origin(self) -> dict[str, Any]:
        return origin_of(os.environ, self._config.rootpath)

    def _history(self) -> Mapping[str, Sequence[Any]]:
        """Append this run to the history; return the last runs of each benchmark."""
        path = history_path(self._config)
        if path is None:
            return {}
        from pytest_evalmetrics.history import append, read_history, run_of  # rare
        from pytest_evalmetrics.stats.drift import drift_warnings  # of a history

        shown = shown_below(path, self._config.invocation_params.dir)
        starts = bool(self._config.getoption("update_snapshots", default=False))
        make = partial(run_of, starts=starts, reason=accepted_reason(self._config))
        entries = sorted(self.entries.values(), key=lambda entry: str(entry["id"]))
        runs = [
            make(e, self._origin, baseline=self._baselines[e["id"]]) for e in entries
        ]
        last: dict[str, list[Any]] = {}
        with self._errors_noted():
            before, notes = read_history(path, shown)
            several = {
                r["benchmark"]: [*before.get(r["benchmark"], ()), r] for r in runs
            }
            for entry, run in zip(entries, runs, strict=True):
                usable = [each for each in several[run["benchmark"]] if each["usable"]]
                if run["usable"] and (drift := list(drift_warnings(entry, usable))):
                    run["drift"] = drift
                    self._warnings.update(dict.fromkeys(drift))
            if runs:
                append(path, runs, shown)
            self._warnings.update(dict.fromkeys(notes))
            for run in (
                run
                for of_benchmark in several.values()
                for run in of_benchmark[-_LAST:]
            ):
                shortened = {
                    key: value for key, value in run.items() if key != "baseline"
                }
                last.setdefault(run["benchmark"], []).append(shortened)
        return last
