"""Runs of pytest and of the command, forked from a process that has imported what they need.

Starting Python and importing pytest, numpy, pydantic and the package takes most of a small run.
The server imports them once, before pytest has run in it; each run is a child of it. Where that
would make a difference, and with EVALMETRICS_TESTS_SPAWN=1, runs start a new Python.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_PROGRAMS = ("pytest", "pytest_evalmetrics")
_HANDLED = {"PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"}
_SPAWN = ("COVERAGE_PROCESS", "EVALMETRICS_TESTS_SPAWN")
_AT_START = ("OMP_", "OPENBLAS_", "LD_")  # libraries read these when they are loaded
_ENVIRONMENT = dict(os.environ)
_SIZE = 2**20


def can_fork(command: Sequence[str], env: Mapping[str, str]) -> bool:
    """Check for a run of a program that a new Python would not run otherwise."""
    changed = {k for k in env if k.startswith("PYTHON") and env[k] != os.environ.get(k)}
    loaded = {k for k in env.keys() | _ENVIRONMENT.keys() if k.startswith(_AT_START)}
    return (
        hasattr(os, "fork")
        and command[0] == sys.executable
        and _program_of(command)[0] in _PROGRAMS
        and changed <= _HANDLED
        and not any(key.startswith(_SPAWN) for key in env)
        and all(env.get(key) == _ENVIRONMENT.get(key) for key in loaded)
    )


def _program_of(command: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the module that a command of Python runs, and its arguments; empty without one."""
    if command[1] == "-m":
        return command[2], command[3:]
    if command[1].startswith("-m"):
        return command[1].removeprefix("-m"), command[2:]
    return "", ()


def completed(
    command: list[str], cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, forked where that makes no difference."""
    env = dict(os.environ) if env is None else env
    if not can_fork(command, env):
        return subprocess.run(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        status = Run(command, cwd, env, out, err).wait(120)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, status, out.read(), err.read())


class Run:
    """A run of a program, with the methods of a `subprocess.Popen` that are needed."""

    stdin = None

    def __init__(
        self,
        command: Sequence[str],
        cwd: str | Path,
        env: Mapping[str, str],
        out: Any,
        err: Any,
    ) -> None:
        program, arguments = _program_of(command)
        request = json.dumps([program, arguments, str(cwd), dict(env)]).encode()
        self._server = _server()
        files = [file.fileno() for file in (out, err)]
        socket.send_fds(self._server, [len(request).to_bytes(4)], files)
        self._server.sendall(request)
        self.pid = int(self._server.recv(32))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                self.returncode = int(self._server.recv(32))
            except TimeoutError:
                # its end would be read as that of the next run
                self.kill()
                raise subprocess.TimeoutExpired("the run", timeout or 0) from None
        return self.returncode

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._server], [], [], 0)[0]:
            self.returncode = int(self._server.recv(32))
        return self.returncode

    def wait_until(self, condition: Callable[[], bool], timeout: float = 60) -> None:
        """Wait for something that happens while the program runs."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert self.poll() is None, "the program has ended before"
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)
            self._server.settimeout(None)
            self.returncode = int(self._server.recv(32))


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
        },  # a fork takes no threads along
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def serve(channel: socket.socket) -> str:
    """Fork a child for each request; return in the child the program that it is to run."""
    while True:
        head, files, _, _ = socket.recv_fds(channel, 4, 2)
        if not head:
            os._exit(0)
        size = int.from_bytes(head)
        request = b""
        while len(request) < size:
            request += channel.recv(min(_SIZE, size - len(request)))
        pid = os.fork()
        if not pid:
            break
        for file in files:
            os.close(file)
        channel.sendall(b"%-32d" % pid)
        _, status = os.waitpid(pid, 0)
        channel.sendall(b"%-32d" % os.waitstatus_to_exitcode(status))
    channel.close()
    for place, file in enumerate(files, start=1):
        os.dup2(file, place)
        os.close(file)
    program: str
    program, arguments, cwd, env = json.loads(request)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.pycache_prefix = env.get("PYTHONPYCACHEPREFIX")
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:1] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [program, *arguments]
    return program


class Worker:
    """A forked worker of pytest-xdist, which waits for what execnet tells a new Python."""

    def __init__(self, others: Sequence[Worker]) -> None:
        (stdin, to_worker), (from_worker, stdout) = os.pipe(), os.pipe()
        self.files = os.fdopen(to_worker, "wb"), os.fdopen(from_worker, "rb")
        self.pid = os.fork()
        if not self.pid:
            os.dup2(stdin, 0)
            os.dup2(stdout, 1)
            for file in (
                *self.files,
                *(file for other in others for file in other.files),
            ):
                file.close()
        os.close(stdin)
        os.close(stdout)
        if not self.pid:
            sys.argv = ["-c"]
            exec(eval(sys.stdin.readline() or "''"), {"__name__": "__main__"})  # noqa: S102, S307
            end(0)

    def wait(self) -> int:
        return os.waitpid(self.pid, 0)[1]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def fork_workers(arguments: Sequence[str]) -> None:
    """Fork the workers that `-n` asks for; those that replace crashed ones start a new Python."""
    from execnet.gateway_io import Popen2IO, Popen2IOMaster

    count = re.search(r"(?:^| )-n ?(\d)", " ".join(arguments))
    workers: list[Worker] = []
    for _ in range(int(count[1]) if count else 0):
        workers.append(Worker(workers))
    start = Popen2IOMaster.__init__

    def begin(self: Any, args: Any, execmodel: Any) -> None:
        if not workers:
            return start(self, args, execmodel)
        self.popen = workers.pop()
        return Popen2IO.__init__(self, *self.popen.files, execmodel)

    Popen2IOMaster.__init__ = begin  # type: ignore[method-assign]


def end(code: int) -> None:
    """End as Python does, apart from unloading what was imported: that takes as long as a run."""
    threading._shutdown()  # type: ignore[attr-defined] - waits for threads
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare() -> None:
    """Import what runs need, and what plugins would be imported with asserts rewritten."""
    import gc
    import importlib
    import inspect
    import pkgutil
    from importlib.metadata import entry_points

    import msgspec
    from _pytest.assertion.rewrite import AssertionRewritingHook
    from _pytest.config import default_plugins

    AssertionRewritingHook._warn_already_imported = lambda *_: None  # type: ignore[method-assign]
    names = [point.value for point in entry_points(group="pytest11")]
    names += [
        "aiohttp",
        "jinja2",
        "jsonpath",
        "xml.etree.ElementTree",
        "unittest.mock",
        "doctest",
    ]
    names.append(
        "hypothesis.internal.observability"
    )  # its plugin imports it at the end of a run
    names += [f"_pytest.{name}" for name in default_plugins]
    names += ["numpy.ma", "numpy.random", "faulthandler", "readline"]
    names += [
        f"xdist.{name}" for name in ("dsession", "newhooks", "remote", "scheduler")
    ]
    package = importlib.import_module(
        "pytest_evalmetrics"
    )  # as installed, or of this checkout
    modules = pkgutil.walk_packages(package.__path__, "pytest_evalmetrics.")
    names += [module.name for module in modules]
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    spec = sys.modules["pytest_evalmetrics.spec"]
    spec.validation.validator(spec.BenchmarkSpec)
    # what an unknown key is compared with, and what reads scorers: both are made once
    sys.modules["pytest_evalmetrics.scoring.scorer_types"].offer_scorers()
    sys.modules["pytest_evalmetrics.config.benchmark_schema"].schema_of_benchmark()
    for kind in spec.scorer_keys.BUILTIN:
        spec.field_types.adapter(spec.scorer_keys.keys_of(kind))
    results = sys.modules["pytest_evalmetrics.model.results"]
    with contextlib.suppress(ValueError):  # it is empty; its type is known from now on
        msgspec.convert({}, results.BenchmarkResult)
    del sys.modules["pytest_evalmetrics.expressions"]  # some tests lack what it needs
    # finds the files of all modules, as pytest does to show where a collection was interrupted
    inspect.getmodule(inspect.currentframe())
    keep_metadata()
    gc.collect()
    gc.freeze()  # else each child copies all pages to count what refers to what


def keep_metadata() -> None:
    """Read once what every run reads of each installed distribution: that is a sixth of a run."""
    import email
    from functools import cache
    from importlib.metadata import PathDistribution, entry_points

    read = PathDistribution.read_text
    kept = cache(lambda folder, name: read(PathDistribution(folder), name))
    PathDistribution.read_text = lambda self, name: kept(self._path, name)  # type: ignore[method-assign]
    email.message_from_string = cache(email.message_from_string)
    for point in entry_points(group="pytest11"):
        assert point.dist.metadata["Name"]


if __name__ == "__main__":
    prepare()
    program = serve(socket.socket(fileno=int(sys.argv[1])))
    if program == "pytest":
        import pytest

        fork_workers(sys.argv)
        end(pytest.main())
    from pytest_evalmetrics.commands import main

    try:
        status = main()
    except SystemExit as stopped:  # of argparse, with a number
        status = stopped.code
    end(status)
