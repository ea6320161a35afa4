"""``evalmetrics init``: from recorded results to a benchmark with a baseline."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.rollouts.survey import Choices, WrittenBenchmark

EXAMPLE = """
example:
  evalmetrics init results.json
  evalmetrics init grades.csv --task question_id --reward grade --max-drop 0.05

It writes NAME.bench.yaml to the current folder, shows what it read, records
the baseline, and says what the gates can detect. Where two readings are as
likely, it leaves a line open and records nothing.
"""
_ASKED = ("rows", "task", "reward", "max-drop")
_PROMPT = "Press Enter to accept, or change one, for example: reward correct\n> "


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", metavar="FILE", help="a file, a folder or a glob")
    parser.add_argument("--rows", metavar="PATH", help="where the rows are in the file")
    parser.add_argument("--task", metavar="FIELD", help="the field that names the task")
    parser.add_argument("--reward", metavar="FIELD", help="the field with the score")
    parser.add_argument(
        "--max-drop",
        type=float,
        metavar="X",
        help="a loss that matters, such as 0.05; default .01, or a share of what there is",
    )
    parser.add_argument(
        "--add-to-testpaths",
        action="store_true",
        help="let a bare pytest collect the file, where `testpaths` passes over it",
    )


def problem_of(given: Namespace) -> str:
    """Say what is wrong with the arguments together."""
    if given.max_drop is not None and not 0 < given.max_drop < float("inf"):
        return f"--max-drop: expected a number above 0, found {given.max_drop:g}"
    return ""


def run(given: Namespace) -> int:
    """Write the file, and record its baseline."""
    choices = {
        "rows": given.rows,
        "task": given.task,
        "reward": given.reward,
        "max_drop": given.max_drop,
        "add_to_testpaths": given.add_to_testpaths,
    }
    return in_pytest.run(
        [
            f"--evalmetrics-init={given.path}",
            f"--evalmetrics-choices={json.dumps(choices)}",
        ]
    )


# -- in the run of pytest --------------------------------------------------------------------


def first_benchmark(config: pytest.Config, rollouts: str) -> tuple[str, int | None]:
    """Write a benchmark file for rollouts, and let this run record its baseline.

    Returns
    -------
    What to print, and the exit status: None lets pytest run the benchmark.
    """
    from pytest_evalmetrics.layout import visible
    from pytest_evalmetrics.reports.paragraphs import fitted
    from pytest_evalmetrics.reports.sentences.notes import note_texts
    from pytest_evalmetrics.rollouts.survey import Choices, write_benchmark

    asked = json.loads(config.getoption("evalmetrics_choices") or "{}")
    adds_path = asked.pop("add_to_testpaths", False)
    choices = Choices(**asked)
    base = config.invocation_params.dir
    if asked:
        _give_back_stdin(config)
        if sys.stdin.isatty() and sys.stdout.isatty():
            choices = _changed_in_place(rollouts, base, choices)
    written = write_benchmark(rollouts, base, choices)
    name = written.path.name
    text = f"{name}:\n{written.path.read_text(encoding='utf-8')}\n"
    if not written.report:  # another tool's settings: the rollouts are still to come
        return f"{text}Name the rollouts in it, then: pytest {name}\n", 0
    notes = "".join(f"{visible(note)}\n" for note in note_texts(written.notes))
    text = f"{fitted(written.report + notes)}\n{text}"
    if written.open_lines:
        return f"{text}{_to_fill_in(written)}", 1
    _run_alone(config, written)
    ending = _Ending(
        name=name,
        detectable=_detectable(written),
        collected=_collected(config, written, adds=adds_path),
    )
    config.pluginmanager.register(ending, "evalmetrics-init")
    return text, None


def _to_fill_in(written: WrittenBenchmark) -> str:
    """Name the lines of the file that a person fills in, and what comes then."""
    from pytest_evalmetrics.reports.paragraphs import fitted

    name = written.path.name
    lines = "".join(f"  {line}\n" for line in written.open_lines)
    then = f"Then: pytest {name}\n"
    if written.has_baseline:
        then = f"Then record the baseline: pytest {name} --evalmetrics-update\n"
    return f"Nothing is recorded yet. Fill in:\n{fitted(lines)}{then}"


def _run_alone(config: pytest.Config, written: WrittenBenchmark) -> None:
    """Let this run record the new benchmark's baseline, and do nothing else."""
    config.args[:] = [str(written.path)]
    config.option.evalmetrics_update = True
    # one benchmark: workers of pytest-xdist would only take time to start
    for option, value in (("dist", "no"), ("tx", []), ("numprocesses", 0)):
        if hasattr(config.option, option):
            setattr(config.option, option, value)


class _Ending:
    """Says after the run what the new benchmark can detect, and how it goes on."""

    def __init__(self, *, name: str, detectable: str, collected: str) -> None:
        self._name = name
        self._detectable = detectable
        self._collected = collected
        self._is_recorded = False

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Notice whether the baseline was recorded."""
        self._is_recorded = exitstatus == 0

    def pytest_unconfigure(self) -> None:
        """Print it below the results of the run."""
        going_on = (
            f"Commit {self._name} and __baselines__. From now on: pytest {self._name}\n"
        )
        if not self._is_recorded:
            going_on = (
                f"{self._name} is written, and no baseline is recorded: change what is said "
                f"above, then: pytest {self._name} --evalmetrics-update\n"
            )
        from pytest_evalmetrics.reports.paragraphs import fitted

        text = f"{self._detectable}{self._collected}{going_on}"
        sys.stdout.write(f"\n{fitted(text)}")


def _detectable(written: WrittenBenchmark) -> str:
    """Say which drops the gates detect with the rollouts that the benchmark starts with."""
    from pytest_evalmetrics.config import load_benchmarks
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.pipeline.first_look import detectable_drops
    from pytest_evalmetrics.reports.sentences.first_look import detectable_text

    name = written.path.name
    try:
        benchmarks = load_benchmarks(written.path, shown=name)
        powers = [power for each in benchmarks for power in detectable_drops(each)]
    except EvalMetricsError:  # the run that follows reports it
        powers = []
    return f"{detectable_text(powers)}More of it: evalmetrics power {name}\n"


def _give_back_stdin(config: pytest.Config) -> None:
    """Let a person answer: pytest reads nothing in their place until a test begins."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend(in_=True)


def _changed_in_place(rollouts: str, base: Path, choices: Choices) -> Choices:
    """Show the four decisions on a terminal, and let each be changed until they are taken."""
    from msgspec import structs

    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.rollouts.survey import decision_lines

    while True:
        try:
            lines = decision_lines(rollouts, base, choices)
        except EvalMetricsError as error:
            lines = [f"  {error}"]
        sys.stdout.write("\n".join([f"{rollouts} is read as follows:", *lines, ""]))
        try:
            answer = input(_PROMPT)
        except EOFError:
            return choices
        name, _, value = answer.strip().partition(" ")
        if not name:
            return choices
        if name not in _ASKED or not value.strip():
            sys.stdout.write(f"expected one of {', '.join(_ASKED)}, and a value\n")
            continue
        try:
            number = float(value) if name == "max-drop" else None
        except ValueError:
            sys.stdout.write("max-drop: expected a number, such as 0.05\n")
            continue
        decided = value.strip() if number is None else number
        choices = structs.replace(choices, **{name.replace("-", "_"): decided})


def _collected(config: pytest.Config, written: WrittenBenchmark, *, adds: bool) -> str:
    """Let a bare pytest collect a new benchmark file, or say that it passes over it."""
    from pytest_evalmetrics.commands.testpaths import add_to_testpaths

    path = written.path
    folders = config.getini("testpaths")
    if not folders or any(path.is_relative_to(config.rootpath / f) for f in folders):
        return ""
    shown = path.relative_to(config.rootpath).as_posix()
    if adds and config.inipath is not None and add_to_testpaths(config.inipath, shown):
        return f"{shown} is among testpaths of {config.inipath.name} now\n"
    return (
        f"A bare pytest does not collect it: testpaths is {' '.join(folders)}. "
        f"Add {shown} to testpaths of pytest's configuration, or move the file.\n"
    )
