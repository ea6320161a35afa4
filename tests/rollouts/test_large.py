"""Large files read by real processes: the same table, the same errors, nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rollouts.same import all_bits

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.helpers import processes as helping
from pytest_evalmetrics.helpers.shared import Shared
from pytest_evalmetrics.rollouts import Request, load
from pytest_evalmetrics.rollouts.cutting import LARGE, is_large
from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.large import read_large
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from conftest import Project
    from rollouts.conftest import Folder

    from pytest_evalmetrics.data import RolloutTable

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


def some_rows(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "_ng_task_index": i // 4,
            "_ng_rollout_index": i % 4,
            "reward": [1, True, 0.25][i % 3],
            "agent_ref": {"name": f"agent{i % 7 // 6}"},
            "text": "word " * (i % 50),
            **({"late": i} if i > 600 else {}),
            **({"odd": float("nan") if i % 200 < 100 else "text"} if i % 100 == 17 else {"odd": 1}),
        }
        for i in range(first, first + count)
    ]


def many(folder: Folder) -> None:
    folder.rows(some_rows(0, 500), "a.jsonl")
    lines = "\r\n".join(json.dumps(row) for row in some_rows(500, 400))
    folder.write(b"\xef\xbb\xbf" + lines.encode(), "b.jsonl")
    folder.write(gzip.compress(json.dumps(some_rows(900, 50)).encode()), "c.json.gz")


def shared(folder: Folder, *, count: int = 3, size: int = 5000) -> RolloutTable | None:
    files = find_files(("*",), folder.path)
    return read_large(files, None, Request(FieldMap(), ("reward",)), count=count, size=size)


def test_several_processes_read_what_one_does(folder: Folder) -> None:
    many(folder)
    alone = folder.load("*", scores=["reward"])
    assert len(alone.notes) == 2
    found = shared(folder)
    assert found is not None
    assert all_bits(found) == all_bits(alone)


@pytest.mark.parametrize(
    "helper", ["raise SystemExit(3)", "import time; time.sleep(60)", "import os; os.abort()"]
)
def test_helpers_that_do_nothing_are_no_loss(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, helper: str
) -> None:
    many(folder)
    monkeypatch.setattr(helping, "_HELPER", helper)
    found = shared(folder)
    assert found is not None
    assert all_bits(found) == all_bits(folder.load("*", scores=["reward"]))


def test_a_helper_that_dies_in_its_work_is_no_loss(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(folder)
    dies = (
        "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)\n"
        "pickle.load(sys.stdin.buffer); board = pickle.load(sys.stdin.buffer)\n"
        "board.claim(0) or board.claim(1); raise SystemExit(1)"
    )
    monkeypatch.setattr(helping, "_HELPER", dies)
    # it has claimed a shard before this process starts to
    monkeypatch.setattr(Shared, "get", _after_the_helpers(Shared.get))
    found = shared(folder)
    assert found is not None
    assert all_bits(found) == all_bits(folder.load("*", scores=["reward"]))


def _after_the_helpers(get: Any, code: int = 1) -> Any:
    def wait(shared: Any, number: int) -> Any:
        for helper in shared._helpers.processes:
            assert helper.wait(30) == code
        assert len(list(shared._board.folder.glob("*.claim"))) >= len(shared._helpers.processes)
        return get(shared, number)

    return wait


def test_a_helper_loads_what_reading_takes_and_no_more(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    many(folder)
    told = tmp_path_factory.mktemp("told") / "modules"
    tells = (
        "import os, sys; from pathlib import Path; leave = os._exit; "
        f"tell = lambda: Path({str(told)!r}).write_text(' '.join(sys.modules)); "
        "os._exit = lambda code: (tell(), leave(code)); "
    )
    monkeypatch.setattr(helping, "_HELPER", tells + helping._HELPER)
    monkeypatch.setattr(Shared, "get", _after_the_helpers(Shared.get, 0))
    found = shared(folder, count=2)
    assert found is not None
    assert all_bits(found) == all_bits(folder.load("*", scores=["reward"]))
    modules = set(told.read_text().split())
    assert "msgspec" in modules
    assert not modules & {"pydantic", "pytest", "yaml", "pytest_evalmetrics.spec"}


def test_a_file_that_is_replaced_while_it_is_read_is_refused(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(folder)
    get = Shared.get

    def meanwhile(*told: Any) -> Any:
        (folder.path / "a.jsonl").replace(folder.path / "old")
        folder.rows(some_rows(0, 500), "a.jsonl")
        return get(*told)

    monkeypatch.setattr(Shared, "get", meanwhile)
    with pytest.raises(DataError, match="changed while it was read"):
        shared(folder)


def test_no_interpreter_is_no_loss(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    many(folder)
    monkeypatch.setattr(sys, "executable", str(folder.path / "none"))
    found = shared(folder)
    assert found is not None
    assert all_bits(found) == all_bits(folder.load("*", scores=["reward"]))


@pytest.mark.parametrize(
    "spoil",
    [
        '{"_ng_task_index": 3, "reward": "text"}',
        '{"_ng_task_index": 3, "reward": ',
        '{"reward": 1}',
        "[]",
    ],
)
def test_what_is_wrong_with_a_row_is_left_to_one_process(folder: Folder, spoil: str) -> None:
    many(folder)
    with (folder.path / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write(spoil + "\n")
    assert shared(folder) is None


@pytest.mark.parametrize("wrong", ["empty", "blank", "other"])
def test_files_that_are_no_shards_are_left_to_one_process(folder: Folder, wrong: str) -> None:
    many(folder)
    content = {"empty": "", "blank": "\n\n", "other": "task,reward\n1,1\n"}[wrong]
    folder.write(content, "d.csv")
    assert shared(folder) is None


def test_one_core_or_one_shard_is_left_to_one_process(folder: Folder) -> None:
    folder.rows(some_rows(0, 5))
    assert shared(folder, count=1) is None
    assert shared(folder, size=10**6) is None


def test_small_files_are_not_shared(folder: Folder) -> None:
    path = folder.rows(some_rows(0, 5))
    assert not is_large(find_files(("*",), folder.path))
    os.truncate(path, LARGE)
    assert is_large(find_files(("*",), folder.path))


# -- for real: as large as it takes -----------------------------------------------------------


def write_large(path: Path, last: str = "") -> None:
    """Write some more than `LARGE` bytes in 64 KiB rows."""
    padding = "x" * 65_000
    with path.open("w", encoding="utf-8") as file:
        for i in range(LARGE // 65_000 + 10):
            file.write(f'{{"_ng_task_index": {i}, "reward": {i % 2}, "text": "{padding}"}}\n')
        file.write(last)


def test_the_error_of_a_large_file_is_that_of_its_first_bad_row(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_large(folder.path / "runs.jsonl", '{"reward": 1}\n{"reward": ')
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "1")
    alone = str(folder.refused())
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "2")
    assert str(folder.refused()) == alone


def test_a_run_over_a_large_file(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "2")
    write_large(project.path / "runs.jsonl")
    project.bench("metrics: [mean_reward]\nthresholds: {mean_reward: '>= 0.4'}")
    main = project.write("main.py", "import sys, pytest\nsys.exit(pytest.main())\n")
    for command in (["-m", "pytest"], [str(main)]):  # a main module without a guard, too
        result = project.pytester.run(sys.executable, *command, "-p", "no:cacheprovider")
        result.assert_outcomes(passed=1)
    project.run("-n", "2").assert_outcomes(passed=1)


_INTERRUPTED = """
import sys, time
from pathlib import Path
from pytest_evalmetrics.helpers import processes
from pytest_evalmetrics.rollouts import Request
from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.large import read_large
from pytest_evalmetrics.rollouts.shards import ShardReader
from pytest_evalmetrics.spec import FieldMap

def read(reader, shard):
    print("reading", flush=True)
    time.sleep(60)

ShardReader.read = read
processes._HELPER = "import sys, time; sys.stdin.buffer.read() if sys.argv[1:] else time.sleep(60)"
files = find_files(("*.jsonl",), Path(sys.argv[1]))
try:
    read_large(files, None, Request(FieldMap()), count=3, size=5000)
except KeyboardInterrupt:
    print("interrupted")
"""


def children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@LINUX
def test_ctrl_c_ends_the_helpers_and_leaves_no_file(folder: Folder, tmp_path: Path) -> None:
    many(folder)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, str(folder.path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    helpers = children(process.pid)
    assert len(helpers) == 2
    assert list(temporary.iterdir())
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == b"interrupted\n"
    assert gone(helpers)
    assert not list(temporary.iterdir())


@LINUX
def test_helpers_end_with_a_process_that_was_killed(folder: Folder, tmp_path: Path) -> None:
    many(folder)
    slow = _INTERRUPTED.replace('processes._HELPER = "', 'unused = "')
    temporary = tmp_path / "tmp"  # nobody is left to remove what was in it
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", slow, str(folder.path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    helpers = children(process.pid)
    process.kill()
    process.communicate(timeout=30)
    assert gone(helpers)


def test_the_one_way_in_shares_large_files(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    write_large(folder.path / "runs.jsonl")
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "1")
    spec = RolloutsSpec(path=("runs.jsonl",))
    alone = load(spec, folder.path, scores=["reward"])
    monkeypatch.setattr("pytest_evalmetrics.helpers.count.usable_cores", lambda: 2)
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "2")
    assert all_bits(load(spec, folder.path, scores=["reward"])) == all_bits(alone)
