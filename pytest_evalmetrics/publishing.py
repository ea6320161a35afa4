"""The end of a run: all results, the history, the artifacts and the terminal's section."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.baselines.declared import shown_below
from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.reports.payload import Artifacts, Payload
from pytest_evalmetrics.reports.reporters import FinishedRun, report_document, write_reports
from pytest_evalmetrics.reports.section import section
from pytest_evalmetrics.reports.summary import tell_ci
from pytest_evalmetrics.reports.wording import calls_line
from pytest_evalmetrics.results import Check, Verdict, worst
from pytest_evalmetrics.run_folder import Origin, RunFolder, origin_of
from pytest_evalmetrics.settings import accepted_reason, history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.registry import Scope

    Lines = list[tuple[str, str | None]]  # with a colour

_LAST = 20  # runs of a benchmark that reports show
_NAMED = 3  # of what was deselected


class RunResults:
    """The results of a run, in the process that writes the artifacts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.entries: dict[str, dict[str, Any]] = {}  # the benchmarks' entries of the report, by id
        self._artifacts = Artifacts()  # their larger texts
        self._unkept: ArtifactError | None = None  # there was no room for these: no artifacts
        self._errors: list[EvalMetricsError] = []
        self._usage: list[dict[str, Any]] = []  # of calls
        self._warnings: dict[str, None] = {}
        self._baselines: dict[str, dict[str, Any] | None] = {}  # for the history, by benchmark
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
            if self._unkept is None:
                try:
                    self._artifacts.add(name, payload)
                except ArtifactError as error:
                    self._unkept = error
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
        """Write the artifacts; return the terminal's section.

        The second value says whether all that was to be evaluated was, and every file is there.
        """
        config = self._config
        paths: list[Path] = []
        lines: Lines = []
        last, entries = self._history(), self.entries.values()
        report = report_document(entries, lost, last, skipped, deselected=deselected)
        try:
            config.hook.pytest_evalmetrics_report(report=report)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
            message = f"the hook pytest_evalmetrics_report failed: {type(error).__name__}: {error}"
            hint = "fix it in the conftest.py or the plugin that defines it"
            self._errors.append(ArtifactError(message, hint=hint))
        if self._unkept is None:
            chosen = reporter_names(config)
            run = FinishedRun(
                kept=self._artifacts,
                report=report,
                root=config.rootpath,
                origin=lambda: {**asdict(self._origin[0]), "time": self._origin[1]},
                chosen=bool(chosen),
            )
            paths, unwritten = write_reports(run, folder.prefix, chosen)
            self._warnings.update(names.notes)
            self._errors += unwritten
        else:  # half of what there was is no report
            self._errors.append(self._unkept)
        try:
            folder.finish(report["verdict"], paths, complete=not self._errors)
        except ArtifactError as error:
            self._errors.append(error)
        try:
            lines += [(line, None) for line in tell_ci(report, os.environ, config.rootpath)]
        except ArtifactError as error:
            self._errors.append(error)
        lines += [(str(error), "red") for error in self._errors]
        verbosity = getattr(config.option, "verbose", 0)  # -p no:terminal
        lines += [(line, None) for line in calls_line(self._usage) if verbosity >= 0]
        if deselected:  # xdist says nothing of it
            named, more = ", ".join(deselected[:_NAMED]), len(deselected) - _NAMED
            named += f" and {more} more" if more > 0 else ""
            lines.append((f"note: deselected, and not evaluated: {named}", None))
        lines += [(f"warning: {text}", "yellow") for text in self._warnings]
        shown = [shown_below(path, config.invocation_params.dir) for path in paths]
        return section(report, shown, verbosity=verbosity) + lines, not (self._errors or lost)

    @cached_property
    def _origin(self) -> tuple[Origin, str]:
        """What is judged, and when: by SOURCE_DATE_EPOCH where a build is to be reproducible."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
        origin = origin_of(os.environ, self._config.rootpath)
        return origin, now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _history(self) -> Mapping[str, Sequence[Any]]:
        """Append this run to the history; return the last runs of each benchmark."""
        path = history_path(self._config)
        if path is None:
            return {}
        from pytest_evalmetrics.history import append, read_history, run_of  # noqa: PLC0415 - rare
        from pytest_evalmetrics.stats.drift import drift_warnings  # noqa: PLC0415 - of a history

        shown = shown_below(path, self._config.invocation_params.dir)
        starts = bool(self._config.getoption("update_snapshots", default=False))
        run = partial(run_of, starts=starts, reason=accepted_reason(self._config))
        entries = sorted(self.entries.values(), key=lambda entry: str(entry["id"]))
        runs = [run(e, *self._origin, baseline=self._baselines[e["id"]]) for e in entries]
        try:
            before = read_history(path, shown)
            for entry, this in zip(entries, runs, strict=True):
                earlier = before.runs.get(this["benchmark"], ())
                usable = [each for each in (*earlier, this) if each["usable"]]
                if this["usable"] and (drift := list(drift_warnings(entry, usable))):
                    this["drift"] = drift
                    self._warnings.update(dict.fromkeys(drift))
            if runs:
                append(path, runs, shown)
        except EvalMetricsError as error:
            self._errors.append(error)
            return {}
        self._warnings.update(dict.fromkeys(before.notes()))
        last = {}
        for this in runs:
            several = [*before.runs.get(this["benchmark"], ()), this][-_LAST:]
            shortened = [{k: v for k, v in each.items() if k != "baseline"} for each in several]
            last[this["benchmark"]] = shortened
        return last
