"""The pytest plugin's entry: options, settings and hooks, each a line that delegates.

A pytest run without benchmarks loads nothing but this and the settings.
"""
# ruff: noqa: T201 - what is loaded, and printed, is what was asked for

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    import pluggy

    from pytest_evalmetrics.checking import EvalMetrics
    from pytest_evalmetrics.items.collecting import BenchmarkFile

# plugins that declare --snapshot-update, as syrupy does
_OTHER_SNAPSHOT_PLUGINS = ("snapshot", "snapshottest")
_TWO_SNAPSHOT_PLUGINS = """\
two plugins declare the option --snapshot-update: syrupy, which keeps the baselines of \
pytest-evalmetrics, and another one, such as pytest-snapshot or snapshottest.
  Uninstall that one, or switch it off in `addopts`: `-p no:snapshot` or `-p no:snapshottest`."""
# as an entry point, and as -p spells it
_TESTMON = ("testmon", "testmon.pytest_testmon")
_ANSWERED = ("compare", "culprit", "list", "explain", "inspect", "schema")


class OurByteCode:
    """Finds our modules for Python itself, ahead of pytest's rewriting of assertions.

    pytest compiles the modules of every plugin anew, to rewrite their assertions. Ours
    have none, and the byte code that pip has made is already there.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of this package; None for any other."""
        if not name.startswith("pytest_evalmetrics."):
            return None
        return PathFinder.find_spec(name, path, target)


def pytest_addoption(
    parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager
) -> None:
    """Declare the options and the settings; import our other modules without rewriting."""
    if OurByteCode not in sys.meta_path:
        sys.meta_path.insert(0, OurByteCode)
    # If a later plugin declares --snapshot-update too, pytest 9 refuses it with a traceback, and
    # older ones as they read the command line: both are explained.

    def after(outcome: pluggy.Result[object], hook_name: str, *_: object) -> None:
        is_other_there = any(map(pluginmanager.has_plugin, _OTHER_SNAPSHOT_PLUGINS))
        are_both_there = pluginmanager.has_plugin("syrupy") and is_other_there
        is_registered = hook_name == "pytest_plugin_registered"
        is_refused = hook_name == "pytest_addoption" and outcome.exception is not None
        if are_both_there and (is_registered or is_refused):
            raise pytest.UsageError(_TWO_SNAPSHOT_PLUGINS) from None
        if hook_name == "pytest_load_initial_conftests":  # all are loaded
            stop()

    stop = pluginmanager.add_hookcall_monitoring(lambda *_: None, after)
    settings.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, so that a conftest.py may implement them."""
    from pytest_evalmetrics import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Stand beside plugins that select tests, before they begin to."""
    if any(map(config.pluginmanager.has_plugin, _TESTMON)):
        from pytest_evalmetrics.session.beside_testmon import BenchmarksBesideTestmon

        config.pluginmanager.register(BenchmarksBesideTestmon())


def pytest_sessionstart(session: pytest.Session) -> None:
    """Register our session where it has to be there before a benchmark or a check is found."""
    if settings.needs_session(session.config):
        from pytest_evalmetrics.session.evaluation_session import session_of

        session_of(session.config).start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Record all benchmarks and checks, before anything selects some of them."""
    has_session = config.pluginmanager.has_plugin("evalmetrics-session")
    # a folder of baselines may be all that is left of a benchmark
    has_session = has_session or settings.BASELINES in config.stash
    if has_session or any(map(settings.has_fixture, items)):
        from pytest_evalmetrics.session.evaluation_session import session_of

        session_of(config).record(items)
        config.stash[settings.COLLECTED] = items[:]
    if not any(map(config.getoption, settings.PRINTING)):
        yield
        return
    # No test will run. syrupy must not see any: all their snapshots would look unused to
    # it, and be deleted with --snapshot-update.
    tests = [item for item in items if isinstance(item, pytest.Function)]
    items[:] = [item for item in items if not isinstance(item, pytest.Function)]
    yield
    items += tests


def pytest_exception_interact(
    node: pytest.Collector | pytest.Item,
    call: pytest.CallInfo[Any],
    report: pytest.CollectReport | pytest.TestReport,
) -> None:
    """Have the session see what can't be collected: it may hold benchmarks."""
    if isinstance(report, pytest.CollectReport):
        from pytest_evalmetrics.session.evaluation_session import session_of
        from pytest_evalmetrics.session.registration import hook_failure

        session_of(node.config)
        if (
            call.excinfo is not None
        ):  # a hook in a late conftest.py: without a traceback
            report.longrepr = (
                hook_failure(call.excinfo.value, node.config) or report.longrepr
            )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave no verdict on benchmarks that are gone."""
    config = session.config
    ours: Any = config.pluginmanager.get_plugin("evalmetrics-session")
    is_elsewhere = settings.is_worker(config) or settings.prints_only(config)
    if is_elsewhere or (ours is not None and ours.met_benchmarks):
        return
    prefix = settings.output_prefix(config)
    if not Path(f"{prefix}run.json").is_file():
        return
    from pytest_evalmetrics.run_folder import set_aside_of_gone

    base = config.invocation_params.dir
    places = [(base / arg.partition("::")[0]).resolve() for arg in config.args]
    if set_aside_of_gone(prefix, config.rootpath, places):
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(
                "\nnote: no benchmark was found where an earlier run had some: its verdict is "
                f"now in {prefix}previous"
            )


def pytest_unconfigure() -> None:
    """Remove our finder."""
    if OurByteCode in sys.meta_path:
        sys.meta_path.remove(OurByteCode)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Notice folders of baselines; leave the files of tests out of a check."""
    if collection_path.name == settings.BASELINES_FOLDER and collection_path.is_dir():
        config.stash.setdefault(settings.BASELINES, []).append(collection_path)
        return True
    if not config.getoption("evalmetrics_check"):
        return None
    ours = collection_path.is_dir() or settings.is_benchmark_file(
        collection_path.name, config
    )
    return None if ours else True


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer an option that only prints."""
    settings.validate(config)
    if config.getini(settings.POLICY):
        from pytest_evalmetrics.policy import policy_of

        policy_of(config)  # a mistake in it stops before anything begins
    sys.stderr.write(settings.note_on_old_spelling(config))
    if config.getoption("evalmetrics_affected") is not None:
        from pytest_evalmetrics.affected import changes_of

        changes_of(config)  # a commit that is not there stops before anything begins
    rollouts = config.getoption("evalmetrics_init")
    options = [config.getoption(f"evalmetrics_{name}") for name in _ANSWERED]
    if rollouts is None and all(value in (None, False) for value in options):
        return None
    if rollouts is None:
        from pytest_evalmetrics.commands import answer_here

        return answer_here(config, _command_of(config))
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.layout import visible_lines
    from pytest_evalmetrics.session.registration import let_register

    try:
        with let_register(config):
            text, status = _first_benchmark(config, rollouts)
    except EvalMetricsError as error:
        if settings.COMMAND in config.stash:
            from pytest_evalmetrics.commands.in_pytest import refused

            return refused("init", error)
        raise pytest.UsageError(visible_lines(str(error))) from None
    print(text, end="")
    return status


def _command_of(config: pytest.Config) -> list[str]:
    """Return the command that an option of old asks for, with its arguments."""
    options = {name: config.getoption(f"evalmetrics_{name}") for name in _ANSWERED}
    for name in ("compare", "culprit"):
        if options[name] is not None:
            return [name, *options[name]]
    for name in ("explain", "schema"):
        if options[name] is not None:
            return [name, options[name]]
    if options["inspect"] is None:
        return ["list"]
    command = ["inspect", options["inspect"]]
    target = config.getoption("evalmetrics_to_parquet")
    if target is not None:
        command.append(f"--to-parquet={target}")
    labels = config.getoption("evalmetrics_label")
    return [*command, *(f"--label={label}" for label in labels)]


def _first_benchmark(config: pytest.Config, rollouts: str) -> tuple[str, int | None]:
    """Write a benchmark file for rollouts, and let this run record its baseline."""
    from pytest_evalmetrics.commands.init import first_benchmark

    return first_benchmark(config, rollouts)


def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> BenchmarkFile | None:
    """Collect the benchmark files."""
    if not settings.is_benchmark_file(file_path.name, parent.config):
        return None
    if "pytest_evalmetrics.items.collecting" not in sys.modules:
        from pytest_evalmetrics.import_for_good import import_for_good

        import_for_good(_import_items)
    from pytest_evalmetrics.items.collecting import BenchmarkFile
    from pytest_evalmetrics.session.evaluation_session import session_of

    session_of(parent.config)  # sees that --lf passes over a file
    return BenchmarkFile.from_parent(parent, path=file_path)


def _import_items() -> None:
    import pytest_evalmetrics.items.collecting  # noqa: F401 - to be there


@pytest.fixture
def evalmetrics(request: pytest.FixtureRequest) -> EvalMetrics:
    """Gate numbers: evalmetrics.check(rewards, thresholds=..., baseline=...), or .run(file)."""
    from pytest_evalmetrics.checking import EvalMetrics

    return EvalMetrics(request.node)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Print a check, a plan or unused baselines in place of a run, if an option asks for it."""
    config = session.config
    if not any(map(config.getoption, settings.PRINTING)):
        return None
    title, lines, good = _printed_instead(session)
    session.testsfailed += not good
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if lines and reporter is not None:
        if settings.COMMAND not in config.stash:
            reporter.write_sep("=", title)
        for line in lines:
            reporter.write_line(line)
    return True


def _printed_instead(session: pytest.Session) -> tuple[str, list[str], bool]:
    """Return the title and the lines that an option asks for, and whether all is well."""
    config = session.config
    unused = config.getoption("evalmetrics_delete_unused")
    if unused is not None:
        from pytest_evalmetrics.baselines.unused import handle_unused
        from pytest_evalmetrics.session.registration import let_register

        let_register(config)
        return "baselines", *handle_unused(config, delete=unused == "delete")
    if config.getoption("evalmetrics_check"):
        from pytest_evalmetrics.items.check import check_lines

        return "check", *check_lines(session)
    if config.getoption("evalmetrics_calibrate"):
        from pytest_evalmetrics.items.calibration import calibration_lines

        return "noise of an unchanged system", *calibration_lines(session)
    from pytest_evalmetrics.items.plan import plan_lines

    return "what the gates can detect", *plan_lines(session)
