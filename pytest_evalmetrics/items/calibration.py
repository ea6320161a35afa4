"""``--evalmetrics-calibrate``: the noise of an unchanged system, and the settings that fit it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics import errors, settings
from pytest_evalmetrics.baselines.store import Store
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.evaluation import Evaluated, EvaluationInput
from pytest_evalmetrics.items.collecting import benchmarks_of, no_benchmark_file
from pytest_evalmetrics.items.inputs import names_for
from pytest_evalmetrics.layout import visible, visible_lines
from pytest_evalmetrics.reports.failure_layout import shown_paragraph
from pytest_evalmetrics.reports.reporters import write_noise_page
from pytest_evalmetrics.run_series import calibrate, patch
from pytest_evalmetrics.run_transport import ItemRuntime
from pytest_evalmetrics.session.evaluation_session import session_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from pytest_evalmetrics.items.collecting import BenchmarkItem
    from pytest_evalmetrics.spec import Benchmark

    # the path of a key -> the value that fits the noise
    Advice = Mapping[tuple[str, ...], str]


class _Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a calibration says of one benchmark."""

    item: BenchmarkItem
    lines: list[str]
    advice: Advice
    charts: list[dict[str, object]]
    is_good: bool  # else the lines are those of an error


def calibration_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Describe the noise of benchmarks, and write the settings that fit it as a patch."""
    calibrations = [_calibrated(item) for item in benchmarks_of(session)]
    if not calibrations:
        return no_benchmark_file(session), False
    good = all(calibration.is_good for calibration in calibrations)
    width = session_of(session.config).width()
    lines: list[str] = []
    for calibration in calibrations:
        text = shown_paragraph(calibration.lines, width)
        lines += ["", calibration.item.nodeid, *text]
    diffs = _patches(calibrations)
    try:
        page = _noise_page(session.config, calibrations, diffs)
        at = f"the same as a page, with each run's values: {page}"
        lines += ["", *shown_paragraph([at], width)]
    except errors.EvalMetricsError as error:
        lines += ["", str(error)]
        good = False
    if diffs:
        way = "settings that fit it, as a patch: git apply takes what is printed from here on"
        lines += ["", *shown_paragraph([way], width)]
    return [*lines, *diffs], good


def _calibrated(item: BenchmarkItem) -> _Calibration:
    """Measure the noise of a benchmark."""
    try:
        with names_for(item):
            words, advice, charts = calibrate(
                item.benchmark,
                count=int(item.config.getoption("evalmetrics_runs") or 0),
                evaluate=partial(_evaluated_again, item),
                snapshot=Store(item).read,
                label=item.nodeid,
                history=settings.history_path(item.config),
            )
    except errors.EvalMetricsError as error:
        lines = visible_lines(str(error)).split("\n")
        return _Calibration(item=item, lines=lines, advice={}, charts=[], is_good=False)
    return _Calibration(
        item=item,
        lines=[visible(line) for line in words],
        advice=advice,
        charts=charts,
        is_good=True,
    )


def _patches(calibrations: Sequence[_Calibration]) -> list[str]:
    """Write the settings that fit the noise, file by file, as lines of a patch."""
    files: dict[str, list[tuple[Benchmark, Advice]]] = {}
    for calibration in calibrations:
        item = calibration.item
        advised = files.setdefault(item.nodeid.partition("::")[0], [])
        advised.append((item.benchmark, calibration.advice))
    lines: list[str] = []
    for file, advised in files.items():
        lines += patch(advised, file)
    return lines


def _noise_page(
    config: pytest.Config, calibrations: Sequence[_Calibration], patch_lines: list[str]
) -> Path:
    """Write the page of a calibration, and return its path."""
    benchmarks = [
        {
            "id": calibration.item.nodeid,
            "text": calibration.lines,
            "charts": calibration.charts,
        }
        for calibration in calibrations
    ]
    page = Path(f"{settings.output_prefix(config)}calibration.html")
    write_noise_page(page, {"benchmarks": benchmarks, "patch": patch_lines})
    return page


def _evaluated_again(item: BenchmarkItem, benchmark: Benchmark) -> Evaluated:
    if benchmark.spec.answers and settings.journal_mode(item.config) in (
        "off",
        "refresh",
    ):
        raise errors.DataError(
            "calibrate --runs needs the journal: it answers the runs before"
        )
    runtime = ItemRuntime(item, item.nodeid)
    return evaluate(
        EvaluationInput(
            benchmark=benchmark,
            item_id=item.nodeid,
            runtime=runtime,
            updates=True,
            gains_runs=True,
        )
    )
