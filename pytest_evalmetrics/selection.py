"""Which benchmarks a run has to evaluate, and their outcomes, also in xdist's workers.

Loaded at every start of pytest: nothing heavy is imported before there is a benchmark.
"""
# ruff: noqa: PLC0415 - the same

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from traceback import extract_tb
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.settings import COLLECTED, reporter_names

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from pytest_evalmetrics import registry

_REGISTERED = pytest.StashKey[bool]()
_ON_REPORT = "evalmetrics_selection"  # of a worker, on its first report and at its end
_PICTURED = 400  # of the benchmarks that pass: no page has room for many more
_IN_TEST = rb"\bevalmetrics\b"  # the fixture, in the text of a test file
_HOOK = "pytest_evalmetrics_register"


class Selection:
    """Keeps the ids of the benchmarks, and of the tests that check something."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collected: set[str] = set()
        self._present: set[str] = set()  # before any selection
        self._deselected: set[str] = set()
        self._skipped: dict[str, str] = {}  # and why
        self._judged: set[str] = set()
        self._broken_off: set[str] = set()
        self._unreported: dict[str, list[str]] | None = None
        self.unused_are_ours = False  # syrupy calls baselines unused

    @property
    def lost(self) -> set[str]:
        """What was collected, and not evaluated to its end."""
        return (self._collected - self._skipped.keys() - self._judged) | self._broken_off

    @property
    def has_benchmarks(self) -> bool:
        """Whether any was collected, also one that is not selected."""
        return bool(self._collected or self._deselected)

    @property
    def skipped(self) -> dict[str, str]:
        """What was skipped, and why."""
        return {i: why for i, why in self._skipped.items() if i in self._collected}

    @property
    def deselected(self) -> list[str]:
        """What the run's selection leaves out."""
        return sorted(self._deselected - self._collected)

    def pytest_sessionstart(self) -> None:
        """Let pytest-testmon leave no benchmark out: it knows of code alone, and not of data."""
        testmon: Any = self._config.pluginmanager.get_plugin("TestmonSelect")
        if testmon is None:
            return
        for name in ("deselected_tests", "deselected_files"):
            stable = getattr(testmon, name, None)
            if stable is None:
                text = "pytest-testmon may leave out benchmarks whose data changed: switch it off"
                self._config.issue_config_time_warning(pytest.PytestWarning(text), stacklevel=2)
                return
            setattr(testmon, name, [i for i in stable if not self._names_benchmarks(i)])

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Remember what there is, whoever leaves some of it out, and without saying so."""
        before = [item.nodeid for item in items if _is_ours(item)]
        if before:
            self._config.stash[COLLECTED] = items[:]
        yield
        self._present.update(before)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which benchmarks are to be evaluated."""
        self._collected.update(item.nodeid for item in session.items if _is_ours(item))
        self._deselected |= self._present - self._collected
        if self._collected:
            try:
                refuse_unknown_reporters(self._config)
            except pytest.UsageError:
                self._collected.clear()  # nothing has begun, and there is nothing to report
                raise
            benchmarks: list[Any] = list(filter(is_benchmark, session.items))
            # whatever the order, such as a random one
            for benchmark in sorted(benchmarks, key=lambda b: b.nodeid)[_PICTURED:]:
                benchmark.detailed = False
        if hasattr(self._config, "workeroutput") and self.has_benchmarks:
            ids = {"collected": sorted(self._collected), "deselected": sorted(self._deselected)}
            self._config.workeroutput[_ON_REPORT] = ids
            # the node id of a benchmark shows that it is one
            tests = [i for i in ids["collected"] if not self._names_benchmarks(i)]
            self._unreported = {**ids, "collected": tests}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember what a selection leaves out: the reports are of the rest alone."""
        self._deselected.update(item.nodeid for item in items if _is_ours(item))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what can't be read: nobody knows which benchmarks it holds."""
        if report.failed and self._may_hold_ours(report.nodeid):
            self._collected.add(report.nodeid)
        # --lf passes over files; no benchmark file is empty, but for a check that reports it
        elif report.passed and not report.result and self._names_benchmarks(report.nodeid):
            self._deselected.add(report.nodeid)

    def pytest_exception_interact(
        self, call: pytest.CallInfo[Any], report: pytest.CollectReport | pytest.TestReport
    ) -> None:
        """Show a hook that fails in a conftest.py that is collected late without a traceback."""
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            report.longrepr = _hook_failure(call.excinfo.value, self._config) or report.longrepr

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker which tests check something: their node ids do not show it."""
        self._learn(getattr(node, "workeroutput", {}).get(_ON_REPORT, {}))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:  # noqa: ARG002 - the hook's signature
        """Remember the same of a worker, which collects on its own."""
        self._collected.update(filter(self._names_benchmarks, ids))

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self) -> None:
        """Keep syrupy from advising an update where that would delete nothing: baselines alone."""
        syrupy: Any = getattr(self._config, "_syrupy", None)
        report = getattr(syrupy, "report", None)
        if report is None or self._config.option.update_snapshots or not report.num_unused:
            return
        parts = [Path(unused.location).parts for unused in report.unused]
        self.unused_are_ours = any("__baselines__" in each for each in parts)
        if all("__baselines__" in each for each in parts):
            # made as they are printed: syrupy switches its colours off only then
            lines = (line for line in report.lines if "--snapshot-update" not in line)
            syrupy.report = SimpleNamespace(lines=lines)

    def attach_to(self, report: pytest.TestReport) -> None:
        """Let a worker's first report carry its selection: one that dies leaves nothing else."""
        if self._unreported is not None:
            vars(report)[_ON_REPORT], self._unreported = self._unreported, None

    def ended(
        self, report: pytest.TestReport, evaluated: Sequence[str] | None, *, fails: bool
    ) -> None:
        """Record the outcome of a phase of an item, in the process that writes the artifacts.

        `evaluated` are the benchmarks that were evaluated in it; None of an item that can't have
        any. `fails` says whether the reports call the item failed.
        """
        self._learn(vars(report).pop(_ON_REPORT, {}))
        item = report.nodeid
        # do the results of a skipped item say all of it? else more was to come
        whole = evaluated and (item in evaluated or hasattr(report, "wasxfail"))
        if report.skipped and not whole:
            self._skipped[item] = _why_skipped(report)
        if evaluated is None:
            return
        if evaluated or report.skipped or (report.when == "call" and report.passed):
            self._judged.add(item)
            self._broken_off.discard(item)  # it was run again
        # not by its gates: what else it would have checked is unknown
        if report.failed and report.when != "teardown" and not fails:
            self._broken_off.add(item)

    def _learn(self, ids: Mapping[str, Sequence[str]]) -> None:
        self._collected.update(ids.get("collected", ()))
        self._deselected.update(ids.get("deselected", ()))

    def _names_benchmarks(self, nodeid: str) -> bool:
        return is_benchmark_file(nodeid.partition("::")[0].rpartition("/")[2], self._config)

    def _may_hold_ours(self, nodeid: str) -> bool:
        """Look into what can't be collected: a file, or a folder with a broken conftest.py."""
        path = self._config.rootpath / nodeid.partition("::")[0]
        inside = path.rglob("*") if nodeid and path.is_dir() else [path]
        for file in inside:
            with suppress(OSError):
                tests = file.suffix == ".py" and re.search(_IN_TEST, file.read_bytes())
                if tests or self._names_benchmarks(file.name):
                    return True
        return False


def let_register(config: pytest.Config) -> registry.Scope:
    """Let everybody register, a later conftest.py too; return the scope of the run as a whole."""
    from pytest_evalmetrics import registry

    if not config.stash.get(_REGISTERED, False):
        config.stash[_REGISTERED] = True
        try:
            config.hook.pytest_evalmetrics_register.call_historic(kwargs={"registry": registry})
        except Exception as error:  # noqa: BLE001 - a user's code
            from pytest_evalmetrics.errors import RegistryError

            failure = RegistryError(_hook_failure(error, config) or f"{_HOOK} failed: {error}")
            failure.shown = str(failure)
            raise failure from None
    plugins = config.pluginmanager.get_plugins()
    modules = [plugin for plugin in plugins if isinstance(plugin, ModuleType)]
    return registry.Scope(config.rootpath, modules=modules)


def _hook_failure(error: BaseException, config: pytest.Config) -> str:
    """Say where a hook that registers has failed; empty where that is not what failed."""
    places = [f for f in extract_tb(error.__traceback__) if f.name == _HOOK]
    if not places:
        return ""
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import did_you_mean

    file, line, root = Path(places[-1].filename), places[-1].lineno, config.rootpath
    shown = file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
    what = f"{type(error).__name__}: {error}"
    offered = [name for name in registry.__all__ if name.startswith("register_")]
    if isinstance(error, AttributeError) and error.obj is registry:
        what = f"the registry has no {error.name!r}; "
        what += did_you_mean(str(error.name), offered, what="it has")
    return (
        f"{shown}:{line}: {_HOOK} failed: {what}\n"
        '  it registers so: registry.register_metric("a_name")(MyMetric)'
    )


def refuse_unknown_reporters(config: pytest.Config) -> None:
    """Raise UsageError for a reporter that is not there, before anything is paid for."""
    names = reporter_names(config)
    if names is None or hasattr(config, "workerinput"):
        return
    from pytest_evalmetrics.errors import RegistryError
    from pytest_evalmetrics.reports.reporters import chosen_reporters

    try:
        with let_register(config):
            chosen_reporters(names)
    except RegistryError as error:
        raise pytest.UsageError(str(error)) from None


def is_benchmark(item: pytest.Item) -> bool:
    """Check whether an item is a benchmark of a file, without loading what these are."""
    return type(item).__module__ == "pytest_evalmetrics.items"


def is_benchmark_file(name: str, config: pytest.Config) -> bool:
    """Check whether a file of that name holds benchmarks."""
    return any(fnmatch(name, pattern) for pattern in config.getini("evalmetrics_files"))


def _is_ours(item: pytest.Item) -> bool:
    return is_benchmark(item) or "evalmetrics" in getattr(item, "fixturenames", ())


def _why_skipped(report: pytest.TestReport) -> str:
    """Return the reason of a skip, or of an expected failure that came before any number."""
    if hasattr(report, "wasxfail"):
        return f"xfail: {report.wasxfail}".removesuffix(": ")
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")
