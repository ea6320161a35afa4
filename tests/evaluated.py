"""The benchmark files of a folder, evaluated in this process without a run of pytest.

What a benchmark comes to, and what the terminal says of it, needs no pytest: a run of it costs
a tenth of a second more. Options, exit codes and files that a run writes are specified by runs.
"""

from contextlib import nullcontext

import aiohttp  # noqa: F401 - imported in a test, it would be unloaded with its end
import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines import document, files
from pytest_evalmetrics.baselines.accepted_file import read_accepted
from pytest_evalmetrics.baselines.several_runs import add_run
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.items.runs import failure_of
from pytest_evalmetrics.model.results import RunReport
from pytest_evalmetrics.reports.benchmark_lines import Reading
from pytest_evalmetrics.reports.payload import Artifacts, payload_of, result_of
from pytest_evalmetrics.reports.reporters import FinishedRun, write_reports
from pytest_evalmetrics.reports.terminal import section
from pytest_evalmetrics.run_origin import RunOrigin
from pytest_evalmetrics.scoring.transport import (
    Journal,
    Progress,
    Transport,
)


class KeptBaseline:
    """The committed baseline of a benchmark, written by an update that nothing refuses."""

    def __init__(self, file, benchmark, root):
        self.path = files.path_of(file, benchmark)
        self.shown = files.shown_below(self.path, root)

    def read(self):
        text = document.text_of(self.path, self.shown)
        return None if text is None else (text, self.shown)

    def renamed_from(self):
        return ""

    def read_rows(self):
        path = files.rows_path_of(self.path)
        return path.read_bytes() if path.exists() else None

    def write(self, evaluated, *, adds_run, keeps_runs):
        new = evaluated.baseline
        assert new is not None, [check.reasons for check in evaluated.result.checks]
        before = self.read()
        if adds_run and before is not None:
            new = add_run(document.parse(before[0], file=""), new, keep=keeps_runs)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(document.render(document.stamped(new)), encoding="utf-8")
        if evaluated.kept_rows is not None:
            files.rows_path_of(self.path).write_bytes(evaluated.kept_rows)


class Runtime:
    """What a scored benchmark needs of its run: a client, and the journal of the project."""

    replays = False
    asks_anew = False
    budget = None

    def __init__(self, folder):
        journal = Journal(folder / ".pytest_cache/d/evalmetrics/journal.log")
        self._transport = Transport(journal)

    def transport(self):
        return self._transport

    def progress(self, total):
        return nullcontext(Progress("", total))

    def close(self):
        self._transport.close()


class Evaluation:
    """The results of a folder's benchmarks, and the lines that a terminal would show."""

    def __init__(self, results, verbosity):
        self.results = results
        self.lines = []
        for result in results:
            failure = failure_of(result, result.id)
            if failure is not None:
                self.lines += str(failure).splitlines()
        explained = frozenset(result.id for result in results if not result.passed)
        reading = Reading(verbosity=verbosity, explained=explained)
        report = RunReport(benchmarks=tuple(results))
        self.lines += [line for line, _ in section(report, [], reading)]

    @property
    def passed(self):
        return all(result.passed for result in self.results)

    @property
    def text(self):
        return "\n".join(self.lines)

    def says(self, *patterns):
        """Assert that the terminal's lines match the patterns in this order."""
        pytest.LineMatcher(self.lines).fnmatch_lines(patterns)


def evaluated(
    project,
    *,
    updates=False,
    adds_run=False,
    verbosity=0,
    reporters=("report.json",),
    output="evalmetrics/",
):
    """Evaluate all benchmarks of a project; write its report, and baselines in an update."""
    payloads = [
        _payload_of(benchmark, project.path, updates=updates, adds_run=adds_run)
        for file in sorted(project.path.rglob("*.bench.yaml"))
        for benchmark in load_benchmarks(file, shown=_shown(file, project.path))
    ]
    assert payloads, "there is no benchmark"
    results = [result_of(payload) for payload in payloads]
    artifacts = Artifacts()
    for result, payload in zip(results, payloads, strict=True):
        artifacts.add(result.id, payload)
    run = FinishedRun(
        kept=artifacts,
        report=RunReport(benchmarks=tuple(results)),
        document={},
        root=project.path,
        origin=lambda: RunOrigin(time="2026-01-01T00:00:00Z"),
        names=reporters,
    )
    _, faults = write_reports(run, f"{project.path / output}/")
    assert not faults
    return Evaluation(results, verbosity)


def _shown(file, root):
    return file.relative_to(root).as_posix()


def _payload_of(benchmark, root, *, updates, adds_run):
    spec = benchmark.spec
    name = f"{_shown(benchmark.file, root)}::{spec.name}"
    kept = None
    if spec.baseline is not None and spec.baseline.committed:
        kept = KeptBaseline(benchmark.file, spec.name, root)
    runtime = Runtime(root) if spec.runs else None
    try:
        with registry.Scope(root, benchmark.file.parent):
            outcome = evaluate(
                EvaluationInput(
                    benchmark=benchmark,
                    item_id=name,
                    baseline=kept,
                    updates=updates and kept is not None,
                    gains_runs=adds_run,
                    runtime=runtime,
                    accepted=tuple(
                        level
                        for level in read_accepted(root)
                        if level.benchmark == name
                    ),
                )
            )
    finally:
        if runtime is not None:
            runtime.close()
    if updates and kept is not None:
        kept.write(outcome, adds_run=adds_run, keeps_runs=spec.baseline.runs)
    return payload_of(
        outcome.result,
        outcome.documents,
        outcome.row_scores,
        outcome.pictures,
        folder=None,
    )
