"""Benchmarks that are evaluated before their turn: nobody can tell the difference."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.helping import FEWEST
from pytest_evalmetrics.pipeline.picturing import PICTURED

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Project

MANY = FEWEST + 20

# what is evaluated at its turn is written down; a machine with a single core has two here
CONFTEST = """
import json, pathlib
from pytest_evalmetrics import running
from pytest_evalmetrics.helpers import count

here = pathlib.Path(__file__).parent
count.usable_cores = lambda: 2
evaluate, now = running.evaluate, []

def evaluated(benchmark, **keywords):
    now.append(benchmark.spec.name)
    return evaluate(benchmark, **keywords)

running.evaluate = evaluated

def pytest_unconfigure(config):
    with open(here / "now.jsonl", "a") as file:
        file.write(json.dumps(now) + "\\n")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred benchmarks and some, of one agent or two, half of them with a baseline."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "runs").mkdir()
    lines = ["benchmarks:"]
    for n in range(MANY):
        rewards = [[float((t + s + n) % 3 > 0) for s in range(2)] for t in range(6)]
        write(folder, f"b{n}a", rewards, agent="one" if n == 7 else "")
        if n == 7:
            write(folder, "b7b", rewards[:4], agent="two")
        lines += [
            f"  - name: b{n}",
            f"    rollouts: runs/b{n}[ab].jsonl",
            "    metrics: [pass@1, pass@2]",
            "    thresholds: {pass@1: '>= 0.1'}",
            *(["    baseline: true"] if n % 2 else []),
            *(["    skip: not today"] if n == 40 else []),
            *(["    xfail: known"] if n == 42 else []),
        ]
    (folder / "many.bench.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert pytest_in(folder, "--snapshot-update") == 0
    write(folder, "b10a", [[0.0, 0.0]] * 6)  # fails its threshold
    write(folder, "b11a", [[0.0, 0.0]] * 5 + [[1.0, 1.0]])  # is worse than its baseline
    (folder / "runs/b12a.jsonl").write_text('{"_ng_task_index": 1, "reward": ', encoding="utf-8")
    write(folder, "b42a", [[0.0, 0.0]] * 6)  # is known to fail
    return folder


@pytest.fixture(scope="module")
def alone(recorded: Path) -> dict[str, bytes]:
    """The artifacts that one process writes of them."""
    assert pytest_in(recorded) == pytest.ExitCode.TESTS_FAILED
    return artifacts_in(recorded)


def pytest_in(folder: Path, *args: str) -> int:
    # a worker of xdist that runs these tests tells its children that they are one too
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}
    environ["EVALMETRICS_PROCESSES"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, env=environ)
    return done.returncode


def artifacts_in(folder: Path) -> dict[str, bytes]:
    written = sorted((folder / "evalmetrics").iterdir())
    return {path.name: path.read_bytes() for path in written}


def write(folder: Path, name: str, rewards: list[list[float]], agent: str = "") -> None:
    ref = {"agent_ref": {"name": agent}} if agent else {}
    rows = (
        json.dumps({"_ng_task_index": t, "_ng_rollout_index": s, "reward": r, **ref}) + "\n"
        for t, task in enumerate(rewards)
        for s, r in enumerate(task)
    )
    (folder / f"runs/{name}.jsonl").write_text("".join(rows), encoding="utf-8")


@pytest.fixture
def many(recorded: Path, project: Project) -> Project:
    """A copy of them."""
    shutil.copytree(recorded, project.path, dirs_exist_ok=True)
    project.write("conftest.py", CONFTEST)
    return project


def run(project: Project, processes: int, *args: str) -> tuple[list[str], dict[str, bytes]]:
    """Run it; give what was evaluated at its turn, and the artifacts."""
    project.pytester._monkeypatch.setenv("EVALMETRICS_PROCESSES", str(processes))
    project.run(*args)
    told = (project.path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(told[-1]), artifacts_in(project.path)


def results(artifacts: dict[str, bytes]) -> dict[str, Any]:
    report = json.loads(artifacts["report.json"])
    return {entry["name"]: entry for entry in report["benchmarks"]}


def test_nobody_can_tell_the_difference(many: Project, alone: dict[str, bytes]) -> None:
    said = []
    for processes in ("1", "2"):
        many.pytester._monkeypatch.setenv("EVALMETRICS_PROCESSES", processes)
        lines = many.run("-v", "-rA").stdout.lines
        said.append([*lines[:-1], lines[-1].partition(" in ")[0]])
        found = artifacts_in(many.path)
        assert found == alone
    assert said[0] == said[1]
    told = (many.path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(json.loads(told[0])) == MANY - 1
    assert json.loads(told[1]) == ["b12"]  # is told where everybody hears of it
    verdicts = {name: entry["verdict"] for name, entry in results(found).items()}
    assert verdicts["b10"] == verdicts["b42"] == "FAIL"
    assert verdicts["b12"] == "INCONCLUSIVE"
    assert verdicts["b11"] == "WARN"


CHANGES = """
import os

def pytest_runtest_setup(item):
    if item.name != "b1":  # by now the first ones are evaluated
        return
    rewritten = here / "runs/b2a.jsonl"
    told = rewritten.stat()
    rewritten.write_text(rewritten.read_text().replace("0.0", "1.0"))
    os.utime(rewritten, ns=(told.st_atime_ns, told.st_mtime_ns))
    some = (here / "runs/b3a.jsonl").read_text().splitlines()[:2]
    further = "\\n".join(some).replace('task_index": 0', 'task_index": 9')
    (here / "runs/b3b.jsonl").write_text(further)
    (here / "runs/b4a.jsonl").unlink()
    (here / "__baselines__/many.bench/b5.json").unlink()
"""


def test_what_changes_before_its_turn_is_seen(many: Project) -> None:
    many.write("conftest.py", CONFTEST + CHANGES)
    now, artifacts = run(many, 2)
    assert now == ["b2", "b3", "b4", "b5", "b12"]
    found = results(artifacts)
    assert [sum(a["tasks"] for a in found[f"b{n}"]["agents"]) for n in (2, 3, 4, 5)] == [6, 7, 0, 6]
    many.write("conftest.py", CONFTEST)  # the changes have been made by now
    assert run(many, 1)[1] == artifacts


METRIC = """
import pytest_evalmetrics

@pytest_evalmetrics.register_metric("mine")
class Mine:
    def compute(self, task_rewards):
        return 1.0
"""
HOOK = """
def pytest_evalmetrics_benchmark_finished(result):
    pass
"""


@pytest.mark.parametrize("code", [METRIC, HOOK])
def test_where_the_user_has_a_say_each_waits_for_its_turn(many: Project, code: str) -> None:
    many.write("conftest.py", CONFTEST + code)
    assert len(run(many, 2)[0]) == MANY - 1


@pytest.mark.parametrize("args", [("--snapshot-update",), ("--runxfail",), ("-k", "b1")])
def test_so_do_those_that_are_to_be_recorded_and_few(many: Project, args: tuple[str, ...]) -> None:
    now, _ = run(many, 2, *args)
    assert len(now) == (MANY - 1 if args != ("-k", "b1") else sum("b1" in n for n in names()))


def names() -> list[str]:
    return [f"b{n}" for n in range(MANY)]


def test_a_metric_by_its_place_waits_for_its_turn(many: Project) -> None:
    many.write("mine.py", "def best(task_rewards):\n    return 1.0\n")
    file = many.path / "many.bench.yaml"
    text = file.read_text(encoding="utf-8")
    of = "    rollouts: runs/b3[ab].jsonl\n    metrics: [pass@1, "
    assert of in text
    file.write_text(text.replace(of, of + "'mine:best', "), encoding="utf-8")
    many.write("pytest.ini", "[pytest]\npythonpath = .\n")
    assert run(many, 2)[0] == ["b3", "b12"]


def test_helpers_that_break_down_are_no_loss(many: Project, alone: dict[str, bytes]) -> None:
    breaks = """
from pytest_evalmetrics.helpers import processes
processes._HELPER = "raise SystemExit(1)"
"""
    many.write("conftest.py", CONFTEST + breaks)
    now, artifacts = run(many, 2)
    assert now == ["b12"]
    assert artifacts == alone


def test_workers_of_xdist_evaluate_at_the_turn(many: Project, alone: dict[str, bytes]) -> None:
    many.pytester._monkeypatch.setenv("EVALMETRICS_PROCESSES", "4")
    many.run("-n", "2")
    lists = (many.path / "now.jsonl").read_text(encoding="utf-8").splitlines()
    assert sum(len(json.loads(told)) for told in lists) == MANY - 1
    assert artifacts_in(many.path) == alone


def test_an_error_of_the_first_ends_the_run(many: Project) -> None:
    now, artifacts = run(many, 2, "-x")
    assert now == []
    found = results(artifacts)
    assert found["b10"]["verdict"] == "FAIL"
    assert len(found) == 11


ORDER = """
import random
from pytest_evalmetrics.helpers.shared import Shared

get = Shared.get

def tell(what, name):
    with open(here / name, "a") as file:
        file.write(f"{what}\\n")

def asked(shared, number):
    tell(number, "asked.txt")
    return get(shared, number)

Shared.get = asked

def pytest_collection_modifyitems(items):
    random.Random(1).shuffle(items)

def pytest_runtest_setup(item):
    tell(item.nodeid, "order.txt")
"""
# helpers that have done all that they were given before the last file is read
EARLY = """
import time
from pytest_evalmetrics import items
from pytest_evalmetrics.pipeline import ahead

queues, began = [], ahead.Queue.__init__

def begin(queue, helpers):
    queues.append(queue)
    began(queue, helpers)

ahead.Queue.__init__ = begin
collect, read = items.BenchmarkFile.collect, []

def collected(file):
    read.append(file)
    if len(read) == MANY:
        shared = queues[0]._shared
        assert shared._jobs
        left = shared._board._left(len(shared._jobs) - 1)
        until = time.monotonic() + 60
        while not left.exists() and time.monotonic() < until:
            assert shared._helpers.at_work()
            time.sleep(0.01)
        assert left.exists()
    return collect(file)

items.BenchmarkFile.collect = collected
"""


@pytest.fixture
def files(many: Project) -> Project:
    """The same benchmarks, a file each, and none that is compared or broken."""
    text = (many.path / "many.bench.yaml").read_text(encoding="utf-8")
    head, *each = text.split("  - name: ")
    for number, lines in enumerate(each):
        if number != 12:
            one = lines.replace("    baseline: true\n", "")
            name = f"{number:03}.bench.yaml"
            (many.path / name).write_text(f"{head}  - name: {one}", encoding="utf-8")
    (many.path / "many.bench.yaml").unlink()
    shutil.rmtree(many.path / "__baselines__")
    return many


def of_one_process(project: Project, *args: str) -> dict[str, bytes]:
    return run(project, 1, *args)[1]


def test_helpers_begin_while_files_are_collected(files: Project) -> None:
    expected = of_one_process(files)
    files.write("conftest.py", CONFTEST + EARLY.replace("MANY", str(MANY - 1)))
    now, artifacts = run(files, 2)
    assert now == []
    assert artifacts == expected


def test_another_order_is_kept_to(files: Project) -> None:
    files.write("conftest.py", CONFTEST + ORDER)
    expected = of_one_process(files)
    (files.path / "order.txt").unlink()
    now, artifacts = run(files, 2)
    assert now == []
    assert artifacts == expected
    told = (files.path / "order.txt").read_text(encoding="utf-8").split()
    assert told != sorted(told)
    assert len(told) == MANY - 2  # one is broken and one is skipped
    asked = (files.path / "asked.txt").read_text(encoding="utf-8").split()
    assert len(set(asked)) == len(asked) == math.ceil((MANY - 2) / 8)  # once for each eight


def test_some_may_be_left_out(files: Project) -> None:
    args = ("--deselect", "003.bench.yaml", "--deselect", "050.bench.yaml")
    expected = of_one_process(files, *args)
    now, artifacts = run(files, 2, *args)
    assert now == []
    assert artifacts == expected
    assert len(results(artifacts)) == MANY - 4  # the same


def test_the_first_that_pass_are_shown_in_detail_and_all_that_do_not(project: Project) -> None:
    (project.path / "runs").mkdir()
    write(project.path, "good", [[1.0], [0.0], [1.0]])
    write(project.path, "bad", [[0.0], [0.0], [0.0]])
    runs = {0: "bad", PICTURED + 2: "bad", PICTURED + 5: "bad"}
    named = [f"b{n:03}" for n in range(PICTURED + 10)]
    project.write(
        "many.bench.yaml",
        "defaults: {metrics: [mean_reward], thresholds: {mean_reward: '>= 0.1'}}\nbenchmarks:\n"
        + "".join(
            f"  - {{name: {name}, rollouts: runs/{runs.get(n, 'good')}.jsonl}}\n"
            for n, name in enumerate(named)
        ),
    )
    project.write("conftest.py", CONFTEST)
    expected = of_one_process(project)
    now, artifacts = run(project, 2)
    assert now == []
    assert artifacts == expected
    project.run("-n", "2")
    assert artifacts_in(project.path) == expected
    page = artifacts["report.html"].decode()
    rows = json.loads(_data(page, "overview"))
    shown = [row["name"] for at, row in enumerate(rows) if f'id="tasks-{at}"' in page]
    failing = [named[n] for n in runs]
    assert shown == [*failing, *(name for name in named[:PICTURED] if name not in failing)]
    assert json.loads(_data(page, "run"))["left_out"]["about"] == len(named) - len(shown)

    few = of_one_process(project, "-k", "b40 or b000")  # the first of those that are run
    assert few["report.html"].count(b'id="tasks-') == 11
    now, artifacts = run(project, 2, "-k", "b40 or b000")
    assert artifacts == few


def _data(page: str, name: str) -> str:
    return page.partition(f'id="{name}">')[2].partition("</script>")[0]


def test_one_file_of_many_starts_no_helpers(files: Project) -> None:
    files.write("conftest.py", CONFTEST + TELLS)
    of_one_process(files, "050.bench.yaml")
    for args, started in ((("050.bench.yaml",), 0), ((".",), 1), ((), 1)):
        run(files, 2, *args)
        assert int((files.path / "started.txt").read_text(encoding="utf-8")) == started


TELLS = """
from pytest_evalmetrics.helpers import processes

started, start = [], processes.Helpers.__init__

def counted(*args):
    started.append(args)
    start(*args)

processes.Helpers.__init__ = counted

def pytest_sessionfinish():
    (here / "started.txt").write_text(str(len(started)))
"""
