"""What the tests share: a small project to run pytest in, for real, in a process of its own."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import sys
from http.server import ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from forked import Run, can_fork, completed
from own_environment import OF_THIS_RUN, own_environment

import pytest_evalmetrics
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from judge_process import JudgeProcess

# files that tests read hold benchmarks, too
collect_ignore = ["data"]

# newer ones may lie beside the checkout
ACCEPTANCE = next(
    folder
    for folder in (
        Path(__file__).parents[2] / "shared" / "acceptance",
        Path(__file__).parent / "data" / "acceptance",
    )
    if folder.is_dir()
)


# Hundreds of tests start a Python of their own: none of them compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Servers of tests have room for what comes at once: a connection that is refused waits for seconds.
ThreadingHTTPServer.request_queue_size = 128

# A shell that starts a run in the background lets it ignore Ctrl-C, and nohup a lost terminal:
# some tests send these signals.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Benchmarks may have built-in scorers, as in a run.
offer_scorers()

# No test depends on the clock, or on chance.
hypothesis.settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("steady")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Keep what can't be printed out of test ids: workers and the controller must agree on them."""
    if isinstance(val, bytes):
        return f"{len(val)} bytes"  # a gzip header holds the time
    if isinstance(val, str) and not val.isprintable():
        return ascii(val)[1:60]
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among thousands of tests and modules while they are made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _loaded() -> None:
    """Load what a run in this process would load, and unload at its end."""
    for module in walk_packages(pytest_evalmetrics.__path__, "pytest_evalmetrics."):
        with contextlib.suppress(ImportError):  # of an extra that is missing
            import_module(module.name)
    _draw_nothing()
    # Each run in this process ends with five searches for garbage: half a second among all
    # these tests and modules, which stay to the end.
    gc.freeze()


@hypothesis.given(hypothesis.strategies.none())
def _draw_nothing(_: None) -> None:
    """Let hypothesis look for what refers to its random numbers before that is frozen."""


@pytest.fixture(scope="session")
def acceptance() -> Path:
    """Real inputs with expected numbers."""
    return ACCEPTANCE


_spawn = pytest.Pytester.popen


def _popen(
    self: pytest.Pytester, command: Sequence[str], *args: Any, **kwargs: Any
) -> Any:
    """Fork a run of pytest where that makes no difference."""
    folder = str(Path.cwd())
    path = os.pathsep.join(filter(None, (folder, os.getenv("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": path}
    if not args and kwargs.get("stdin") is self.CLOSE_STDIN and can_fork(command, env):
        return Run(command, folder, env, kwargs["stdout"], kwargs["stderr"])
    return _spawn(self, command, *args, **kwargs)


pytest.Pytester.popen = _popen  # type: ignore[method-assign]


class Project:
    """A folder with benchmark files, run by a real pytest."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def rows(self, name: str, rows: Iterable[Mapping[str, Any]]) -> Path:
        return self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def rollouts(
        self,
        rewards: Sequence[Sequence[float | None]],
        name: str = "runs.jsonl",
        **fields: Any,
    ) -> Path:
        """Write one row per reward, as NeMo Gym does; `fields` go into every row."""
        return self.rows(
            name,
            [
                {
                    "_ng_task_index": t,
                    "_ng_rollout_index": s,
                    "reward": reward,
                    **fields,
                }
                for t, task in enumerate(rewards)
                for s, reward in enumerate(task)
            ],
        )

    def bench(self, text: str = "", name: str = "math.bench.yaml") -> Path:
        """Write a benchmark `math` over runs.jsonl; `text` is added to it."""
        lines = "".join(f"  {line}\n" for line in text.strip("\n").splitlines())
        return self.write(
            name, f"benchmark:\n  name: math\n  rollouts: runs.jsonl\n{lines}"
        )

    def run(self, *args: str) -> pytest.RunResult:
        return _sound(
            self.pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)
        )

    def run_here(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process, where a test has replaced a function."""
        return _sound(
            self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)
        )

    def baseline(self, name: str = "math.bench/math.json") -> Path:
        return self.path / "__baselines__" / name

    def report(self, prefix: str = "evalmetrics/") -> Any:
        return json.loads(
            (self.path / f"{prefix}report.json").read_text(encoding="utf-8")
        )

    def aggregate(self, prefix: str = "evalmetrics/") -> Any:
        path = self.path / f"{prefix}aggregate_metrics.json"
        return json.loads(path.read_text(encoding="utf-8"))

    def checks(self) -> dict[str, Any]:
        """The checks of the only benchmark, by name."""
        (entry,) = self.report()["benchmarks"]
        return {check["name"]: check for check in entry["checks"]}


def _sound(result: pytest.RunResult) -> pytest.RunResult:
    text = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in text, text
    assert "Traceback (most recent call last)" not in text, text
    return result


@pytest.fixture(scope="session", autouse=True)
def _on_their_own() -> Iterator[None]:
    """Let the runs in tests be no workers of this one, nor tell its CI system anything.

    For the whole session: runs that the tests of a module share begin before any of these.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in OF_THIS_RUN:
            patch.delenv(name, raising=False)
        yield


class SharedProject(Project):
    """A folder whose run serves all tests of a module."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *args: str) -> pytest.RunResult:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
        with own_environment(self.path.parent):
            done = completed(command, self.path)
        out = done.stdout.splitlines()
        return _sound(
            pytest.RunResult(done.returncode, out, done.stderr.splitlines(), 0)
        )


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> SharedProject:
    return SharedProject(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def _judge_process() -> Iterator[JudgeProcess]:
    from judge_process import JudgeProcess  # only for those who ask judges

    process = JudgeProcess()
    yield process
    process.kill()


@pytest.fixture
def judge_server(_judge_process: JudgeProcess) -> JudgeProcess:
    """One judge for all tests, that has seen nothing yet."""
    _judge_process.forget()
    return _judge_process
