"""``--evalmetrics-check``: what is wrong with benchmark files, as a linter reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import settings
from pytest_evalmetrics.config import columns_of
from pytest_evalmetrics.items.collecting import (
    BROKEN,
    BenchmarkFile,
    benchmarks_of,
    no_benchmark_file,
)
from pytest_evalmetrics.items.inputs import hooks_compute, names_for
from pytest_evalmetrics.layout import many, of_many, visible
from pytest_evalmetrics.pipeline.benchmark_check import all_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from pytest_evalmetrics.errors import Problem


def check_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report everything that is wrong with the benchmarks that were collected, as a linter does."""
    broken = session.config.stash.get(BROKEN, [])
    files = {file: list(problems) for file, problems in broken}
    benchmarks = benchmarks_of(session)
    replays = settings.journal_mode(session.config) == "replay"
    for item in benchmarks:
        file = item.parent
        assert isinstance(file, BenchmarkFile)  # noqa: S101 - no other makes these items
        with names_for(item):
            hooked = hooks_compute(item)
            problems = all_problems(item.benchmark, hooked=hooked, replays=replays)
            files.setdefault(file, []).extend(problems)
    if not files:
        return no_benchmark_file(session), False
    lines: list[str] = []
    for file in sorted(files, key=lambda file: file.nodeid):
        lines += _problem_lines(file, files[file])
    if not lines:
        all_files = many(len(files), "benchmark file")
        all_benchmarks = many(len(benchmarks), "benchmark")
        return [f"no problems: {all_files}, {all_benchmarks}"], True
    bad_files = of_many(sum(map(bool, files.values())), len(files), "benchmark file")
    lines.append(f"{many(len(lines), 'problem')} in {bad_files}")
    return lines, False


def _problem_lines(file: BenchmarkFile, problems: Sequence[Problem]) -> list[str]:
    """Write the problems of a file, each once, with its line and column."""
    if not problems:
        return []
    columns = columns_of(file.path)
    lines = []
    for problem in sorted(dict.fromkeys(problems), key=lambda problem: problem.line):
        place = (problem.line, problem.path)
        column = columns.get(place) or columns.get((problem.line, "")) or 1
        where = f"{file.nodeid}:{problem.line}:{column}"
        lines.append(visible(f"{where}: {problem.text}"))
    return lines
