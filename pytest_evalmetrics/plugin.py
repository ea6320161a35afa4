"""The pytest plugin's entry: options, settings and hooks, each a line that delegates.

A pytest run without benchmarks loads nothing but this, the selection, the session and the settings.
"""
# ruff: noqa: PLC0415, T201 - what is loaded, and printed, is what was asked for

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.selection import Selection, is_benchmark_file, let_register
from pytest_evalmetrics.session import EvaluationSession
from pytest_evalmetrics.settings import PRINTING, declare, validate

if TYPE_CHECKING:
    from pathlib import Path

    import pluggy

    from pytest_evalmetrics.checking import EvalMetrics
    from pytest_evalmetrics.items import BenchmarkFile

_OTHER_SNAPSHOTS = ("snapshot", "snapshottest")  # names of plugins that conflict with syrupy


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options and the settings; explain a second plugin with ``--snapshot-update``.

    pytest refuses the option as that plugin is loaded, with a traceback. It is explained where
    we are loaded before it: plugins are loaded in the order in which their folders are listed.
    """

    def after(outcome: pluggy.Result[object], hook_name: str, *_: object) -> None:
        if hook_name == "pytest_addoption" and "--snapshot-update" in str(outcome.exception):
            raise _two_snapshot_plugins() from None
        if hook_name == "pytest_load_initial_conftests":  # all are loaded
            stop()

    stop = pluginmanager.add_hookcall_monitoring(lambda *_: None, after)
    declare(parser)


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


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, so that a conftest.py may implement them."""
    from pytest_evalmetrics import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Start listening for results; costs nothing until there is one."""
    selection = Selection(config)
    config.pluginmanager.register(selection, "evalmetrics-selection")
    config.pluginmanager.register(EvaluationSession(config, selection), "evalmetrics-session")
    if config.getoption("evalmetrics_check"):
        config.pluginmanager.register(_BenchmarksAlone(), "evalmetrics-check")


class _BenchmarksAlone:
    """Leaves out the files of tests: a check has nothing to say of them."""

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        ours = collection_path.is_dir() or is_benchmark_file(collection_path.name, config)
        return None if ours else True


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer an option that only prints."""
    for name in PRINTING:
        if config.getoption(name) and getattr(config.option, "numprocesses", None):
            option = f"--{name.replace('_', '-')}"
            raise pytest.UsageError(f"{option} works in one process: leave -n out")
    validate(config)
    for command in ("compare", "culprit"):
        if (runs := config.getoption(f"evalmetrics_{command}")) is not None:
            from pytest_evalmetrics.compare import main

            with let_register(config):
                return main([command, *runs])
    options = ("list", "explain", "init", "inspect", "to_parquet", "label", "schema")
    asked = {name: config.getoption(f"evalmetrics_{name}") for name in options}
    if all(value in (None, False, []) for value in asked.values()):
        return None
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.layout import visible_lines

    try:
        text, is_all = _printed(config, **asked)
    except EvalMetricsError as error:
        words = str(error).replace("the folder of the benchmark file", "where pytest is started")
        raise pytest.UsageError(visible_lines(words)) from None
    print(text, end="")
    return 0 if is_all else None


def _printed(config: pytest.Config, **asked: Any) -> tuple[str, bool]:
    """Return what an option prints, and whether that is all: else a benchmark runs."""
    base = config.invocation_params.dir
    if asked["list"] or asked["explain"] is not None:
        from pytest_evalmetrics.listing import explained, listed

        with let_register(config):
            text = listed() if asked["explain"] is None else explained(asked["explain"])
            return f"{text}\n", True
    if asked["init"] is not None:
        from pytest_evalmetrics.rollouts.survey import write_benchmark

        path, survey_text = write_benchmark(asked["init"], base)
        text = f"{path.name}:\n{path.read_text(encoding='utf-8')}\n"
        if not survey_text.strip():  # another tool's settings: the rollouts are still to come
            return f"{text}Name the rollouts in it, then: pytest {path.name}\n", True
        config.args[:] = [str(path)]  # of which this run records the baseline
        config.option.update_snapshots = True
        return f"{survey_text}\n{text}From now on: pytest {path.name}\n", False
    if asked["inspect"] is not None and asked["to_parquet"] is not None:
        from pytest_evalmetrics.rollouts.parquet import to_parquet

        return to_parquet(asked["inspect"], asked["to_parquet"], base, asked["label"]), True
    if asked["inspect"] is not None:
        from pytest_evalmetrics.rollouts.survey import survey

        return survey(asked["inspect"], base), True
    for name in ("to_parquet", "label"):
        if asked[name]:
            option = f"--evalmetrics-{name.replace('_', '-')}"
            raise pytest.UsageError(f"{option} needs --evalmetrics-inspect PATH: of what rollouts?")
    from pytest_evalmetrics.schemas import text as schema

    return schema(asked["schema"]), True


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> BenchmarkFile | None:
    """Collect the benchmark files."""
    if not is_benchmark_file(file_path.name, parent.config):
        return None
    from pytest_evalmetrics.gc_pause import collector_paused

    with collector_paused():  # of what modules are made of, nothing is garbage
        from pytest_evalmetrics.items import BenchmarkFile

    return BenchmarkFile.from_parent(parent, path=file_path)


@pytest.fixture
def evalmetrics(request: pytest.FixtureRequest) -> EvalMetrics:
    """Gate numbers: evalmetrics.check(rewards, thresholds=..., baseline=...), or .run(file)."""
    from pytest_evalmetrics.checking import EvalMetrics

    return EvalMetrics(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Print a check, the plan, or what is unused, instead of running anything, where asked for."""
    config = session.config
    if not any(map(config.getoption, PRINTING)):
        return None
    syrupy = getattr(config, "_syrupy", None)
    if syrupy is not None:  # nothing runs, so that every snapshot would look unused to it
        syrupy.finish = lambda: 0
        syrupy.report = SimpleNamespace(lines=(), num_unused=0, unused=())
    unused = config.getoption("evalmetrics_delete_unused")
    if unused is not None:
        from pytest_evalmetrics.baselines.declared import handle_unused

        title = "baselines"
        lines, good = handle_unused(config, delete=unused == "delete")
    else:
        from pytest_evalmetrics.items import calibration_lines, check_lines, plan_lines

        if config.getoption("evalmetrics_check"):
            title = "check"
            lines, good = check_lines(session)
        elif config.getoption("evalmetrics_calibrate"):
            title = "noise of an unchanged system"
            lines, good = calibration_lines(session.items)
        else:
            title, lines, good = "what the gates can see", plan_lines(session.items), True
    session.testsfailed += not good
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if lines and reporter is not None:
        reporter.write_sep("=", title)
        for line in lines:
            reporter.write_line(line)
    return True
