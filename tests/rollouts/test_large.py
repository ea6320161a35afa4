"""Large files read by real processes: the same table, the same errors, nothing left behind."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rollouts.same import all_bits

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import RolloutFile
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.rollouts import large, source
from pytest_evalmetrics.rollouts.large import process_count, usable_cores
from pytest_evalmetrics.rollouts.table import TableBuilder

LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks into /proc"
)


def some_rows(first, count):
    return [
        {
            "_ng_task_index": i // 4,
            "_ng_rollout_index": i % 4,
            "text": "word " * (i % 50),
            "reward": [1, True, 0.25][i % 3],
            "agent_ref": {"name": f"agent{i % 7 // 6}"},
            **({"late": i} if i > 600 else {}),
            **(
                {"odd": float("nan") if i % 200 < 100 else "text"}
                if i % 100 == 17
                else {"odd": 1}
            ),
        }
        for i in range(first, first + count)
    ]


def many(folder):
    folder.rows(some_rows(0, 500), "a.jsonl")
    lines = "\r\n".join(json.dumps(row) for row in some_rows(500, 400))
    folder.write(b"\xef\xbb\xbf" + lines.encode(), "b.jsonl")
    folder.write(gzip.compress(json.dumps(some_rows(900, 50)).encode()), "c.json.gz")


def test_several_processes_read_what_one_does(folder):
    many(folder)
    alone = folder.load("*", scores=["reward"])
    assert len(note_texts(alone.notes)) == 2
    shared = folder.shared("*")
    assert shared is not None
    assert all_bits(shared) == all_bits(alone)


@pytest.mark.parametrize("dies", ["raise SystemExit(3)", "import os; os.abort()"])
def test_a_process_that_dies_leaves_the_files_to_one(folder, monkeypatch, dies):
    many(folder)
    monkeypatch.setattr(large, "_CHILD", dies)
    assert folder.shared("*") is None


def test_a_file_that_is_replaced_while_it_is_read_is_refused(folder, monkeypatch):
    many(folder)
    extend = TableBuilder.extend

    def meanwhile(*args):
        (folder.path / "a.jsonl").replace(folder.path / "old")
        folder.rows(some_rows(0, 500), "a.jsonl")
        extend(*args)

    monkeypatch.setattr(TableBuilder, "extend", meanwhile)
    with pytest.raises(DataError, match="changed while it was read"):
        folder.shared("*")

    monkeypatch.setattr(sys, "executable", str(folder.path / "none"))
    assert folder.shared("*") is None


@pytest.mark.parametrize("content", ["", "\n\n", "[]", "task,reward\n1,1\n"])
def test_files_that_are_no_shards_are_left_to_one_process(folder, content):
    many(folder)
    folder.write(content, "d.csv")
    assert folder.shared("*") is None


# -- for real: larger than two parts -----------------------------------------------------------

LARGE = 16 << 20  # in place of 128 MiB


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """Write some more than `LARGE` bytes in 64 KiB rows."""
    path = tmp_path_factory.mktemp("large") / "runs.jsonl"
    padding = "x" * 65_000
    with path.open("w", encoding="utf-8") as file:
        for i in range(LARGE // 65_000 + 10):
            file.write(
                f'{{"_ng_task_index": {i}, "reward": {i % 2}, "text": "{padding}"}}\n'
            )
    return path


def test_files_elsewhere_are_large_by_their_stated_size():
    for size, is_large in (
        (None, False),
        (source.LARGE - 1, False),
        (source.LARGE, True),
    ):
        files = [RolloutFile(Path("a.jsonl"), "a.jsonl", "http://a/a.jsonl", size)]
        assert source.is_large(files) is is_large


CONFTEST = f"""
from pytest_evalmetrics.rollouts import source

source.LARGE = {LARGE}
"""


def test_a_run_over_a_large_file(project, monkeypatch, large_file):
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "2")
    (project.path / "runs.jsonl").symlink_to(large_file)
    project.write("conftest.py", CONFTEST)
    project.bench("metrics: [mean_reward]\nthresholds: {mean_reward: '>= 0.4'}")
    main = project.write("main.py", "import sys, pytest\nsys.exit(pytest.main())\n")
    result = project.pytester.run(
        sys.executable, str(main)
    )  # a main module without a guard
    result.assert_outcomes(passed=1)
    project.run("-n", "1").assert_outcomes(passed=1)


def test_processes_share_a_large_file_and_its_error_is_that_of_its_first_bad_row(
    folder, monkeypatch, large_file
):
    monkeypatch.setattr(large, "usable_cores", lambda: 2)
    monkeypatch.setattr(source, "LARGE", LARGE)
    path = Path(shutil.copy(large_file, folder.path))
    tables = []
    for count in ("1", "2"):
        monkeypatch.setenv("EVALMETRICS_PROCESSES", count)
        tables.append(all_bits(folder.load(scores=["reward"])))
    assert tables[0] == tables[1]
    with path.open("a") as file:
        file.write('{"reward": 1}\n{"reward": ')
    refused = folder.refused(scores=["reward"])
    assert "this row has no task id" in refused.message
    assert refused.line == LARGE // 65_000 + 11


_INTERRUPTED = """
import sys
from pathlib import Path
from pytest_evalmetrics.ext import RolloutFile
from pytest_evalmetrics.rollouts import large, source
from rollouts.conftest import Folder

large._CHILD = "import sys; sys.stdin.buffer.read()"
read = large.pickle.load
large.pickle.load = lambda *args: (print("reading", flush=True), read(*args))[1]
try:
    Folder(Path(sys.argv[1])).shared("*.jsonl")
except KeyboardInterrupt:
    print("interrupted")
"""


def children(pid):
    return [
        int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def runs(pid):
    """Check for a process that has not ended, though nobody may have asked how it ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gone(pids):
    deadline = time.monotonic() + 30
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(runs, pids))


@LINUX
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_run(folder, by):
    many(folder)
    process = subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, str(folder.path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(
        b"reading"
    )  # two of them may say so at once
    readers = children(process.pid)
    assert len(readers) == 3
    process.send_signal(by)
    output = process.communicate(timeout=30)[0]
    assert (b"interrupted\n" in output) == (by == signal.SIGINT)
    assert gone(readers)


# -- how many processes -----------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in ("EVALMETRICS_PROCESSES", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environ", "cores", "expected"),
    [
        ({}, 1, 1),
        ({}, 8, 8),
        ({"PYTEST_XDIST_WORKER_COUNT": "8"}, 8, 1),
        ({"PYTEST_XDIST_WORKER_COUNT": "16"}, 8, 1),
        ({"PYTEST_XDIST_WORKER_COUNT": "3"}, 8, 2),
        ({"PYTEST_XDIST_WORKER_COUNT": "none"}, 8, 8),
        ({"EVALMETRICS_PROCESSES": "3"}, 8, 3),
        ({"EVALMETRICS_PROCESSES": "30"}, 8, 8),
        ({"EVALMETRICS_PROCESSES": " "}, 8, 8),
        ({"EVALMETRICS_PROCESSES": "3", "PYTEST_XDIST_WORKER_COUNT": "4"}, 8, 2),
    ],
)
def test_the_cores_are_shared(monkeypatch, environ, cores, expected):
    monkeypatch.setattr(large, "usable_cores", lambda: cores)
    monkeypatch.setattr(large, "_idle_cores", lambda: cores)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert process_count() == expected


@pytest.mark.parametrize("cap", ["0", "-1", "two", "1.5", "²"])
def test_a_cap_that_is_no_whole_number_is_refused(cap, monkeypatch):
    monkeypatch.setenv("EVALMETRICS_PROCESSES", cap)
    with pytest.raises(
        DataError, match=f"EVALMETRICS_PROCESSES is '{cap}'.*whole number from 1"
    ):
        process_count()


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("50000 100000", 1), ("150000 100000", 1), ("max 100000", 4), (None, 4)],
)
def test_a_container_has_its_quota(tmp_path, monkeypatch, quota, expected):
    path = tmp_path / "cpu.max"
    if quota is not None:
        path.write_text(quota, encoding="ascii")
    monkeypatch.setattr(large, "_QUOTA", path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert usable_cores() == expected


@pytest.mark.parametrize(
    ("running", "expected"),
    [("1/200", 4), ("0/200", 4), ("3/200", 2), ("9/200", 1), ("", 4), ("x/y", 4)],
)
def test_busy_cores_are_left_alone(tmp_path, monkeypatch, running, expected):
    path = tmp_path / "loadavg"
    path.write_text(
        f"0.5 0.4 0.3 {running} 12345\n" if running else "0.5", encoding="ascii"
    )
    monkeypatch.setattr(large, "_LOAD", path)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(large, "usable_cores", lambda: 3)
    assert process_count() == min(3, expected)
    monkeypatch.setenv("EVALMETRICS_PROCESSES", "3")
    assert process_count() == 3
