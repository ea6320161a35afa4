"""What pytest's reports of items carry: results, and failures by their parts.

With or without xdist, results travel on the reports as builtins.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.failure_lines import Failure
    from pytest_evalmetrics.reports.failure_layout import FailureText, Page
    from pytest_evalmetrics.reports.payload import Payload

# the results of an item's benchmarks
PAYLOADS = pytest.StashKey["list[Payload]"]()
VERDICT_PROPERTY = "evalmetrics.verdict"  # of a benchmark, for JUnit
# of an item, the names of its properties that hold a verdict
VERDICT_NAMES = pytest.StashKey["set[str]"]()
_RESULTS = "evalmetrics"  # on a report; other plugins may read it
_FAILURE = "evalmetrics_failure"  # of a worker, on a report
# of a report: an expected failure that passed, where the test's marks are strict
_PASSES_WRONGLY = "evalmetrics_passes_wrongly"


def is_benchmark(item: pytest.Item) -> bool:
    """Check whether an item is a benchmark of a file, without loading what these are."""
    return getattr(type(item), "is_evalmetrics_benchmark", False)


def is_ours(item: pytest.Item) -> bool:
    """Check whether an item is a benchmark, or a test with the fixture."""
    return is_benchmark(item) or settings.has_fixture(item)


# -- results ---------------------------------------------------------------------------------


def attach(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Attach the results of an item's benchmarks, and its failure, to the report of the item."""
    payloads: list[Payload] | None = item.stash.get(PAYLOADS, None)
    if payloads is None:
        return
    _mark_expected_failures(payloads, report)
    # nothing else fails without an exception
    if report.failed and call.excinfo is None:
        vars(report)[_PASSES_WRONGLY] = True
        _fail_properties(item, report)
    if payloads or not is_benchmark(item):
        vars(report)[_RESULTS] = [*payloads]  # kept across processes
        payloads.clear()
    if report.failed and call.excinfo is not None:
        _show(report, call.excinfo.value, item.config)
    if report.passed and report.when == "call" and not is_benchmark(item):
        _end_checks(item)


def _mark_expected_failures(
    payloads: Sequence[Payload], report: pytest.TestReport
) -> None:
    """Say of each result whether its failure is expected."""
    is_marked = report.skipped and hasattr(report, "wasxfail")
    for payload in payloads:
        entry = payload["entry"]
        # by a mark of the test, or by the benchmark file if pytest accepts the failure
        entry["xfail"] = is_marked or (entry["xfail"] and not report.failed)


def take_results(report: pytest.TestReport) -> Sequence[Payload] | None:
    """Take the results off a report, of which other plugins may keep many; None without any."""
    payloads: Sequence[Payload] | None = vars(report).pop(_RESULTS, None)
    return payloads


def passes_wrongly(report: pytest.TestReport) -> bool:
    """Check whether a strict expected failure passed, and forget it."""
    return bool(vars(report).pop(_PASSES_WRONGLY, False))


def _fail_properties(item: pytest.Item, report: pytest.TestReport) -> None:
    """Write FAIL for the verdicts of a test that passes and should not."""
    verdicts = item.stash.get(VERDICT_NAMES, set())
    properties: list[tuple[str, object]] = []
    for name, value in item.user_properties:
        # others may record verdicts of their own
        if name in verdicts and value in ("PASS", "WARN"):
            properties.append((name, "FAIL"))
        else:
            properties.append((name, value))
    # JUnit takes those of teardown
    report.user_properties[:] = properties
    item.user_properties[:] = properties


def _end_checks(item: pytest.Item) -> None:
    """Record that all checks of a test are known."""
    from pytest_evalmetrics.baselines.declared import Declared
    from pytest_evalmetrics.baselines.files import name_of_test

    Declared.of(item.config).ended(item.path, name_of_test(item))


def why_skipped(report: pytest.TestReport) -> str:
    """Return the reason of a skip, or of an expected failure without a result."""
    if hasattr(report, "wasxfail"):
        return f"xfail: {report.wasxfail}".removesuffix(": ")
    reason = str(report.longrepr)
    if isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
    return reason.removeprefix("Skipped: ")


# -- failures --------------------------------------------------------------------------------


def failure_text(failure: Failure, config: pytest.Config) -> FailureText:
    """Make of a failure what pytest asks for, in the style and detail of this run."""
    from pytest_evalmetrics.reports.failure_layout import FailureText

    style = config.getoption("tbstyle", "auto")  # not there with -p no:terminal
    return FailureText(
        failure,
        style,
        everything=config.getoption("verbose", 0) > 0,
        page=_page_of(failure, config),
    )


def _page_of(failure: Failure, config: pytest.Config) -> Page | None:
    """Return the address of the failure's benchmark on the run's page; None without one."""
    names = settings.reporter_names(config)
    if not failure.benchmark or (names is not None and "report.html" not in names):
        return None
    from pytest_evalmetrics.baselines.files import shown_below
    from pytest_evalmetrics.reports.addresses import of_benchmark
    from pytest_evalmetrics.reports.failure_layout import Page

    page = Path(f"{settings.output_prefix(config)}report.html")
    place = of_benchmark(failure.benchmark)
    shown = shown_below(page, config.invocation_params.dir)
    return Page(shown, place, f"{page.absolute().as_uri()}{place}")


def _show(
    report: pytest.TestReport, error: BaseException, config: pytest.Config
) -> None:
    """Show a failure of ours by its parts, here and in the process that prints."""
    failure = getattr(report.longrepr, "failure", None)
    if failure is None:
        failure = getattr(error, "failure", None)
        if failure is None:
            return
        report.longrepr = failure_text(failure, config)  # type: ignore[assignment]
    if settings.is_worker(config):  # xdist carries plain values alone
        import msgspec

        vars(report)[_FAILURE] = msgspec.to_builtins(failure)


def show_again(report: pytest.TestReport, config: pytest.Config) -> None:
    """Show what a worker showed, which xdist carried as text."""
    carried = getattr(report, _FAILURE, None)
    if carried is not None:
        import msgspec

        from pytest_evalmetrics.failure_lines import Failure

        failure = msgspec.convert(carried, Failure)
        report.longrepr = failure_text(failure, config)  # type: ignore[assignment]
