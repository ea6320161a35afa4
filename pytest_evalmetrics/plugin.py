"""The pytest plugin's entry: options, settings and hooks, each a line that delegates.

A pytest run without benchmarks loads nothing but this, the selection, the session and the settings.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.selection import Selection, is_benchmark_file, let_register
from pytest_evalmetrics.session import EvaluationSession
from pytest_evalmetrics.settings import PRINTING, declare, validate

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
    declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, so that a conftest.py may implement them."""
    from pytest_evalmetrics import hookspecs  # noqa: PLC0415 - pytest calls this once

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
        return (
            None
            if collection_path.is_dir() or is_benchmark_file(collection_path.name, config)
            else True
        )


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
    for name in PRINTING:
        if config.getoption(name) and getattr(config.option, "numprocesses", None):
            option = f"--{name.replace('_', '-')}"
            raise pytest.UsageError(f"{option} works in one process: leave -n out")
    validate(config)
    asked = config.getoption("evalmetrics_explain")
    if config.getoption("evalmetrics_list") or asked is not None:
        return _print_listing(asked, config)
    compared = config.getoption("evalmetrics_compare")
    if compared is not None:
        from pytest_evalmetrics.compare import main  # noqa: PLC0415 - only where asked for

        with let_register(config):
            return main(["compare", *compared])
    begun = config.getoption("evalmetrics_init")
    if begun is not None and _begin(begun, config):
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


def _print_listing(asked: str | None, config: pytest.Config) -> int:
    from pytest_evalmetrics.errors import RegistryError  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.listing import explained, listed  # noqa: PLC0415 - the same

    try:
        with let_register(config):
            print(listed() if asked is None else explained(asked))  # noqa: T201 - the same
    except RegistryError as error:
        raise pytest.UsageError(str(error)) from None
    return 0


def _begin(pattern: str, config: pytest.Config) -> bool:
    """Write a benchmark file, and let this run record its baseline; true where that is all."""
    from pytest_evalmetrics.errors import EvalMetricsError  # noqa: PLC0415 - only where asked for
    from pytest_evalmetrics.layout import visible_lines  # noqa: PLC0415 - the same
    from pytest_evalmetrics.rollouts.survey import write_benchmark  # noqa: PLC0415 - the same

    try:
        path, told = write_benchmark(pattern, config.invocation_params.dir)
    except EvalMetricsError as error:
        raise pytest.UsageError(visible_lines(str(error))) from None
    text = path.read_text(encoding="utf-8")
    if not told.strip():  # another tool's settings: the rollouts are still to come
        print(f"{path.name}:\n{text}\nName the rollouts in it, then: pytest {path.name}")  # noqa: T201
        return True
    print(f"{told}\n{path.name}:\n{text}\nFrom now on: pytest {path.name}")  # noqa: T201 - asked for
    config.args[:] = [str(path)]
    config.option.update_snapshots = True
    return False


def _print_survey(pattern: str, config: pytest.Config) -> None:
    from pytest_evalmetrics.errors import EvalMetricsError  # noqa: PLC0415 - only where asked for
    from pytest_evalmetrics.layout import visible_lines  # noqa: PLC0415 - the same

    base, target = config.invocation_params.dir, config.getoption("evalmetrics_to_parquet")
    try:
        if target is None:
            from pytest_evalmetrics.rollouts.survey import survey  # noqa: PLC0415

            text = survey(pattern, base)
        else:
            from pytest_evalmetrics.rollouts.parquet import to_parquet  # noqa: PLC0415

            text = to_parquet(pattern, target, base, config.getoption("evalmetrics_label"))
    except EvalMetricsError as error:
        told = str(error).replace("the folder of the benchmark file", "where pytest is started")
        raise pytest.UsageError(visible_lines(told)) from None
    print(text, end="")  # noqa: T201 - printing is what the option is for


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> BenchmarkFile | None:
    """Collect the benchmark files."""
    if not is_benchmark_file(file_path.name, parent.config):
        return None
    from pytest_evalmetrics.gc_pause import collector_paused  # noqa: PLC0415 - only if needed

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
        from pytest_evalmetrics.baselines.declared import handle_unused  # noqa: PLC0415 - asked for

        title = "baselines"
        lines, good = handle_unused(config, delete=unused == "delete")
    elif config.getoption("evalmetrics_check"):
        from pytest_evalmetrics.items import check_lines  # noqa: PLC0415 - the same

        title = "check"
        lines, good = check_lines(session)
    else:
        from pytest_evalmetrics.items import plan_lines  # noqa: PLC0415 - the same

        title, lines, good = "what the gates can see", plan_lines(session.items), True
    session.testsfailed += not good
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if lines and reporter is not None:
        reporter.write_sep("=", title)
        for line in lines:
            reporter.write_line(line)
    return True
