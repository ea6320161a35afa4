"""The pytest plugin's entry: options, settings and hooks, each a line that delegates.

This module, the roster and the session are all that a pytest run without benchmarks ever loads.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.roster import Roster
from pytest_evalmetrics.session import EvaluationSession
from pytest_evalmetrics.settings import validate

if TYPE_CHECKING:
    from pathlib import Path

    import pluggy

    from pytest_evalmetrics.checking import EvalMetrics
    from pytest_evalmetrics.items import BenchmarkFile

__all__: list[str] = []

_OTHER_SNAPSHOTS = ("snapshot", "snapshottest")  # names of plugins that conflict with syrupy


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options and the settings."""
    _watch_snapshot_options(pluginmanager)
    group = parser.getgroup("evalmetrics", "benchmark regression gating (pytest-evalmetrics)")
    group.addoption(
        "--evalmetrics-output",
        metavar="PREFIX",
        help="where the artifacts go: a folder (ends with / or exists), or a prefix such as "
        "results/run1, which gives results/run1_aggregate_metrics.json; default evalmetrics/",
    )
    group.addoption(
        "--evalmetrics-schema",
        nargs="?",
        const="benchmark",
        choices=["benchmark", "report"],
        help="print the JSON Schema of benchmark files (or of report.json) and exit",
    )
    group.addoption(
        "--evalmetrics-plan",
        action="store_true",
        help="evaluate nothing: print the smallest drop that each gated metric can see, and "
        "how many rollouts a task would see max_drop",
    )
    group.addoption(
        "--evalmetrics-list",
        action="store_true",
        help="print what there is: metrics, scorers, loaders and reporters, each with a line "
        "and who provides it, and exit",
    )
    group.addoption(
        "--evalmetrics-explain",
        metavar="NAME",
        help="print what a metric, scorer, loader or reporter does, its keys, and where it is "
        "written, and exit",
    )
    group.addoption(
        "--evalmetrics-reporters",
        metavar="NAMES",
        help="write these files alone, separated by commas, such as report.json,summary.md; "
        "default all (see --evalmetrics-list)",
    )
    group.addoption(
        "--evalmetrics-history",
        metavar="FILE",
        help="append one line per benchmark to this file (.jsonl): its key metrics, verdict, "
        "commit and branch; reports show the trend",
    )
    _add_journal_options(group)
    group.addoption(
        "--evalmetrics-engine",
        choices=["local", "ray"],
        help="where rollouts are read and rows are scored: local (default), or on a Ray cluster",
    )
    group.addoption(
        "--evalmetrics-ray-address",
        metavar="ADDRESS",
        help="the Ray cluster; default what Ray finds: RAY_ADDRESS, one that runs on this "
        "machine, else one that is started for this run",
    )
    group.addoption(
        "--evalmetrics-inspect",
        metavar="PATH",
        help="tell what recorded rollouts hold (a path, a folder or a glob), print a benchmark "
        "file to start from, and exit",
    )
    group.addoption(
        "--evalmetrics-to-parquet",
        metavar="FILE",
        help="with --evalmetrics-inspect: write the numbers of these rollouts into a Parquet "
        "file instead, which is several times as fast to read, and exit",
    )
    group.addoption(
        "--evalmetrics-label",
        metavar="FIELD",
        action="append",
        default=[],
        help="with --evalmetrics-to-parquet: keep this field as well, for breakdown: and "
        "cluster: (may be given several times)",
    )
    parser.addini(
        "evalmetrics_files",
        type="args",
        default=["*.bench.yaml", "*.bench.yml"],
        help="names of the files that hold benchmarks (default: *.bench.yaml *.bench.yml)",
    )
    parser.addini(
        "evalmetrics_output",
        default="evalmetrics/",
        help="default of --evalmetrics-output, relative to the root folder",
    )
    parser.addini(
        "evalmetrics_reporters",
        type="args",
        default=[],
        help="default of --evalmetrics-reporters, separated by spaces",
    )
    parser.addini(
        "evalmetrics_history",
        default="",
        help="default of --evalmetrics-history, relative to the root folder",
    )
    parser.addini(
        "evalmetrics_engine",
        default="local",
        help="default of --evalmetrics-engine",
    )
    parser.addini(
        "evalmetrics_journal",
        default="normal",
        help="how scorers' calls use the journal: normal, or replay, refresh or off as the "
        "options --evalmetrics-replay, -refresh and -no-journal do, which win",
    )
    parser.addini(
        "evalmetrics_journal_path",
        default="",
        help="the journal's file, relative to the root folder; default in pytest's cache",
    )


def _add_journal_options(group: pytest.OptionGroup) -> None:
    """Declare what is said of the journal, which keeps every answer that was paid for."""
    group.addoption(
        "--evalmetrics-replay",
        action="store_true",
        help="scorers' calls: answer from the journal alone; a call that it has no answer to "
        "is a failed row. Nothing is sent, and no key is needed",
    )
    group.addoption(
        "--evalmetrics-refresh",
        action="store_true",
        help="scorers' calls: send every call anew, and replace what the journal has",
    )
    group.addoption(
        "--evalmetrics-no-journal",
        action="store_true",
        help="scorers' calls: neither read nor write the journal",
    )
    group.addoption(
        "--evalmetrics-journal-import",
        metavar="FILE",
        help="add the answers of an exported journal (.jsonl, .jsonl.gz) before the run",
    )
    group.addoption(
        "--evalmetrics-journal-export",
        metavar="FILE",
        help="write the whole journal to one file after the run, for CI to cache or commit "
        "(.jsonl, or .jsonl.gz)",
    )
    group.addoption(
        "--evalmetrics-journal-clear",
        action="store_true",
        help="empty the journal before the run (so does pytest's own --cache-clear)",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, so that a conftest.py may implement them."""
    from pytest_evalmetrics import hookspecs  # noqa: PLC0415 - pytest calls this once

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Start listening for results; costs nothing until there is one."""
    roster = Roster(config)
    config.pluginmanager.register(roster, "evalmetrics-roster")
    config.pluginmanager.register(EvaluationSession(config, roster), "evalmetrics-session")


def _watch_snapshot_options(pluginmanager: pytest.PytestPluginManager) -> None:
    """Explain the crash of a second plugin that declares ``--snapshot-update``.

    pytest refuses the option as that plugin is loaded, with a traceback. It is explained where
    we are loaded before it: plugins are loaded in the order in which their folders are listed.
    """

    def after(outcome: pluggy.Result[object], hook_name: str, *_: object) -> None:
        if hook_name == "pytest_addoption" and "--snapshot-update" in str(outcome.exception):
            raise _two_snapshot_plugins() from None
        if hook_name == "pytest_load_initial_conftests":  # all are loaded
            stop()

    stop = pluginmanager.add_hookcall_monitoring(lambda *_: None, after)


def pytest_plugin_registered(manager: pytest.PytestPluginManager) -> None:
    """Explain the same where pytest would find out only as it reads the command line."""
    if manager.has_plugin("syrupy") and any(map(manager.has_plugin, _OTHER_SNAPSHOTS)):
        raise _two_snapshot_plugins()


def _two_snapshot_plugins() -> pytest.UsageError:
    others = " or ".join(f"`-p no:{name}`" for name in _OTHER_SNAPSHOTS)
    return pytest.UsageError(
        "two plugins declare the option --snapshot-update: syrupy, which keeps the baselines of "
        "pytest-evalmetrics, and another one, such as pytest-snapshot or snapshottest.\n"
        f"  Uninstall that one, or switch it off with {others}: such as "
        "`addopts = -p no:snapshot` in the settings of pytest."
    )


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer an option that only prints."""
    if config.getoption("evalmetrics_plan") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--evalmetrics-plan works in one process: leave -n out")
    validate(config)
    asked = config.getoption("evalmetrics_explain")
    if config.getoption("evalmetrics_list") or asked is not None:
        from pytest_evalmetrics.telling import explained, listed  # noqa: PLC0415 - asked for

        print(listed(config) if asked is None else explained(config, asked))  # noqa: T201 - the same
        return 0
    inspected = config.getoption("evalmetrics_inspect")
    if inspected is not None:
        _print_survey(inspected, config)
        return 0
    for name in ("to_parquet", "label"):
        if config.getoption(f"evalmetrics_{name}"):
            option = f"--evalmetrics-{name.replace('_', '-')}"
            raise pytest.UsageError(f"{option} needs --evalmetrics-inspect PATH: of what rollouts?")
    which = config.getoption("evalmetrics_schema")
    if which is None:
        return None
    from pytest_evalmetrics.schemas import text  # noqa: PLC0415 - only where it is asked for

    print(text(which), end="")  # noqa: T201 - printing is what the option is for
    return 0


def _print_survey(pattern: str, config: pytest.Config) -> None:
    from pytest_evalmetrics.errors import EvalMetricsError  # noqa: PLC0415 - only where asked for
    from pytest_evalmetrics.layout import visible_lines  # noqa: PLC0415 - the same

    base, target = config.invocation_params.dir, config.getoption("evalmetrics_to_parquet")
    try:
        if target is None:
            from pytest_evalmetrics.rollouts.survey import survey  # noqa: PLC0415

            text = survey(pattern, base)
        else:
            from pytest_evalmetrics.rollouts.parquet_writing import to_parquet  # noqa: PLC0415

            text = to_parquet(pattern, target, base, config.getoption("evalmetrics_label"))
    except EvalMetricsError as error:
        told = str(error).replace("the folder of the benchmark file", "where pytest is started")
        raise pytest.UsageError(visible_lines(told)) from None
    print(text, end="")  # noqa: T201 - printing is what the option is for


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> BenchmarkFile | None:
    """Collect the benchmark files."""
    if not any(fnmatch(file_path.name, p) for p in parent.config.getini("evalmetrics_files")):
        return None
    from pytest_evalmetrics.collector import collector_paused  # noqa: PLC0415 - only if needed

    with collector_paused():  # of what modules are made of, nothing is garbage
        from pytest_evalmetrics.items import BenchmarkFile  # noqa: PLC0415 - loads the machinery

    return BenchmarkFile.from_parent(parent, path=file_path)


@pytest.fixture
def evalmetrics(request: pytest.FixtureRequest) -> EvalMetrics:
    """Gate numbers: evalmetrics.check(rewards, thresholds=..., baseline=...), or .run(file)."""
    from pytest_evalmetrics.checking import EvalMetrics  # noqa: PLC0415 - loads the machinery

    return EvalMetrics(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Print the plan instead of running anything, where it is asked for."""
    if not session.config.getoption("evalmetrics_plan"):
        return None
    from pytest_evalmetrics.items import plan_lines  # noqa: PLC0415 - only where it is asked for

    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    lines = plan_lines(session.items)
    if lines and reporter is not None:
        reporter.write_sep("=", "what the gates can see")
        for line in lines:
            reporter.write_line(line)
    return True
