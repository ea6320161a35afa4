"""The end of a run: all results, the history, the artifacts and the terminal's section."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import settings
from pytest_evalmetrics.baselines.files import shown_below
from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError, raised_in_hook
from pytest_evalmetrics.layout import in_natural_order, listed, natural_key
from pytest_evalmetrics.model.reasons import XfailPassed
from pytest_evalmetrics.model.results import Check, RunReport, SkippedItem
from pytest_evalmetrics.model.scores import CallTotals
from pytest_evalmetrics.model.verdicts import Gate, Verdict, worst
from pytest_evalmetrics.reports.benchmark_lines import Reading
from pytest_evalmetrics.reports.ci_logs import tell_ci
from pytest_evalmetrics.reports.failure_layout import shown_paragraph
from pytest_evalmetrics.reports.payload import Artifacts, Payload, result_of
from pytest_evalmetrics.reports.report_json import report_document
from pytest_evalmetrics.reports.reporters import FinishedRun, write_reports
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.reports.terminal import section
from pytest_evalmetrics.reports.wording import calls_line, replayed_note
from pytest_evalmetrics.run_origin import RunOrigin, origin_of
from pytest_evalmetrics.settings import accepted_reason, history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.model.history import HistoryRun
    from pytest_evalmetrics.model.results import BenchmarkResult
    from pytest_evalmetrics.registry import Scope
    from pytest_evalmetrics.run_folder import RunFolder

    Lines = list[tuple[str, str | None]]  # with a colour

_LAST = 20  # runs of a benchmark that reports show


class RunResults:
    """The results of a run, in the process that writes the artifacts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.results: dict[str, BenchmarkResult] = {}  # by id
        self._artifacts = Artifacts()  # their larger texts
        # until there is no room for them: then no artifacts
        self._keeps_all = True
        self._errors: list[EvalMetricsError] = []
        self._calls: list[CallTotals] = []
        self._warnings: dict[str, None] = {}
        # for the history, by benchmark
        self._baselines: dict[str, dict[str, object] | None] = {}
        self._workers: dict[str, str] = {}  # benchmark -> the one that evaluated it
        self._evaluated: dict[str, set[str]] = {}  # item -> benchmarks

    def take(self, item: str, payload: Payload, worker: str) -> None:
        """Take a result of an item; `worker` is xdist's that evaluated it, else empty."""
        result = result_of(payload)
        self._evaluated.setdefault(item, set()).add(result.id)
        if self._counts(result, worker):
            self.results[result.id] = result
            self._baselines[result.id] = payload.get("baseline")
            if self._keeps_all:
                self._keeps_all = False
                with self._errors_noted():
                    self._artifacts.add(result.id, payload)
                    self._keeps_all = True
        if payload["usage"]:
            self._calls.append(msgspec.convert(payload["usage"], CallTotals))
        self._warnings.update(dict.fromkeys(payload["warnings"]))

    def _counts(self, result: BenchmarkResult, worker: str) -> bool:
        """Whether a result replaces an earlier one: of several workers the worst does."""
        if self._workers.setdefault(result.id, worker) == worker:
            return True
        before = self.results[result.id].verdict
        return worst([before, result.verdict]) is not before

    def fails(self, item: str) -> bool:
        """Check whether a result of an item fails."""
        return any(result.verdict.fails for result in self._of(item))

    def refuse_passing(self, item: str) -> None:
        """Fail a strict xfail that passed."""
        for result in self._of(item):
            if not result.verdict.fails:
                check = Check(
                    gate=Gate.XFAIL,
                    name="xfail",
                    verdict=Verdict.FAIL,
                    reasons=(XfailPassed(),),
                )
                checks = (*result.checks, check)
                self.results[result.id] = structs.replace(result, checks=checks)

    def _of(self, item: str) -> list[BenchmarkResult]:
        return [self.results[name] for name in self._evaluated.get(item, ())]

    def publish(
        self,
        folder: RunFolder,
        names: Scope,
        lost: Collection[str],
        skipped: Mapping[str, str],
        deselected: Sequence[str],
        *,
        width: int | None = None,
        failures: Collection[str] = (),
    ) -> tuple[Lines, bool]:
        """Write the artifacts; return the terminal's section, and whether nothing is missing.

        `failures` are the items whose failure pytest shows above the section.
        """
        report = self._report(lost, skipped, deselected)
        document = report_document(report)
        self._call_hook(document)
        paths: list[Path] = []
        if self._keeps_all:  # without all results there is no report
            run = FinishedRun(
                kept=self._artifacts,
                report=report,
                document=document,
                root=self._config.rootpath,
                origin=lambda: self._origin,
                names=reporter_names(self._config),
                remark=replayed_note(self._calls),
            )
            paths, unwritten = write_reports(run, folder.prefix)
            self._warnings.update(dict.fromkeys(note_texts(names.notes)))
            self._errors += unwritten
        with self._errors_noted():
            ids = [*self.results, *lost, *skipped, *deselected]
            folder.finish(
                str(report.verdict),
                paths,
                complete=not self._errors,
                benchmarks={item.partition("::")[0] for item in ids},
            )
        # -p no:terminal
        verbosity = self._config.getoption("verbose", default=0)
        invoked = self._config.invocation_params.dir
        shown = [shown_below(path, invoked) for path in paths]
        if self._config.getoption("evalmetrics_accept_report") is not None:
            shown = []  # the files are gone with their folder
        explained: set[str] = set()
        for item in failures:
            explained.update(self._evaluated.get(item, ()))
        reading = Reading(
            verbosity=verbosity, width=width, explained=frozenset(explained)
        )
        lines = _fitted(section(report, shown, reading), width)
        lines += self._annotations(report)
        lines += _fitted(self._closing_lines(report, verbosity), width)
        return lines, not (self._errors or lost)

    def _report(
        self,
        lost: Collection[str],
        skipped: Mapping[str, str],
        deselected: Sequence[str],
    ) -> RunReport:
        results = sorted(
            self.results.values(), key=lambda result: natural_key(result.id)
        )
        return RunReport(
            benchmarks=tuple(results),
            not_evaluated=tuple(in_natural_order(lost)),
            skipped=tuple(SkippedItem(*pair) for pair in sorted(skipped.items())),
            deselected=tuple(in_natural_order(deselected)),
            history=self._history(results),
        )

    def _call_hook(self, document: dict[str, object]) -> None:
        try:
            self._config.hook.pytest_evalmetrics_report(report=document)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
            hook = self._config.hook.pytest_evalmetrics_report
            message, hint = raised_in_hook(hook, error)
            self._errors.append(ArtifactError(message, hint=hint))

    def _annotations(self, report: RunReport) -> Lines:
        """Write what CI reads off the log, each whole on its line."""
        lines: Lines = []
        with self._errors_noted():
            annotations = tell_ci(report, os.environ, self._config.rootpath)
            lines += [(line, None) for line in annotations]
        return lines

    def _closing_lines(self, report: RunReport, verbosity: int) -> Lines:
        """Write faults, calls and warnings."""
        lines: Lines = [(str(error), "red") for error in self._errors]
        if verbosity >= 0:
            lines += [(line, None) for line in calls_line(self._calls)]
        else:
            remark = replayed_note(self._calls)
            if remark:
                lines.append((f"note: {remark}", None))
        if report.deselected:  # xdist does not report it
            deselected = listed(report.deselected, 3)
            lines.append((f"note: deselected, and not evaluated: {deselected}", None))
        lines += [(f"warning: {text}", "yellow") for text in self._warnings]
        return lines

    @contextmanager
    def _errors_noted(self) -> Iterator[None]:
        """Record one of our errors and continue; the section shows it, and the run fails."""
        try:
            yield
        except EvalMetricsError as error:
            self._errors.append(error)

    @cached_property
    def _origin(self) -> RunOrigin:
        return origin_of(os.environ, self._config.rootpath)

    def _history(
        self, results: Sequence[BenchmarkResult]
    ) -> dict[str, tuple[HistoryRun, ...]]:
        """Append this run to the history; return the last runs of each benchmark."""
        path = history_path(self._config)
        if path is None:
            return {}
        from pytest_evalmetrics.history import append, read_history  # rare

        shown = shown_below(path, self._config.invocation_params.dir)
        last: dict[str, tuple[HistoryRun, ...]] = {}
        with self._errors_noted():
            before, notes = read_history(path, shown)
            runs = []
            for result in results:
                earlier = before.get(result.id, ())
                run = self._run(result, earlier)
                runs.append(run)
                last[result.id] = (*earlier, run)[-_LAST:]
            if runs:
                append(path, runs, shown)
            self._warnings.update(dict.fromkeys(note_texts(notes)))
        return {
            name: tuple(structs.replace(run, baseline=msgspec.UNSET) for run in of_name)
            for name, of_name in last.items()
        }

    def _run(
        self, result: BenchmarkResult, earlier: Sequence[HistoryRun]
    ) -> HistoryRun:
        """Make the line of a benchmark, with the drifts that it shows."""
        from pytest_evalmetrics.history import failed_attempt, run_of  # rare
        from pytest_evalmetrics.pipeline.drifting import drifts_of
        from pytest_evalmetrics.reports.sentences import (
            attempt_sentence,
            drift_sentence,
        )

        is_accepted = any(check.accepted for check in result.checks)
        starts = settings.updates(self._config) or is_accepted
        run = run_of(
            result,
            self._origin,
            starts=starts,
            reason=accepted_reason(self._config) or "; ".join(result.accepted_levels),
            baseline=self._baselines[result.id],
        )
        if not run.usable:
            return run
        failed = failed_attempt(run, earlier)
        if failed is not None:
            self._warnings[attempt_sentence(result.name, failed)] = None
        usable = [each for each in (*earlier, run) if each.usable]
        drift = tuple(map(drift_sentence, drifts_of(result, usable)))
        return structs.replace(run, drift=drift)


def _fitted(lines: Iterable[tuple[str, str | None]], width: int | None) -> Lines:
    """Break lines that are wider than the terminal."""
    fitted: Lines = []
    for line, colour in lines:
        fitted += [(text, colour) for text in shown_paragraph([line], width)]
    return fitted
