"""Rollouts that do not fit into memory are refused before it is full."""

import numpy as np
import pytest
from rollouts.small import chunk

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Request, Source
from pytest_evalmetrics.rollouts import part as part_module
from pytest_evalmetrics.rollouts import recorded
from pytest_evalmetrics.rollouts.part import Part, Room, available

ROWS = 1_000_000


def part(path):
    made = Part(Request(FieldMap()))
    scores = {f"s{i}": np.zeros(ROWS) for i in range(4)}
    made.add(chunk([0] * ROWS, scores=scores), Source(path, "a", 1, b"{"))
    return made


def test_columns_without_room_are_refused_and_what_is_still_to_come_counts(tmp_path):
    made = part(tmp_path)
    held = made.nbytes()
    assert held == ROWS * (7 * 8 + 4)
    Room(lambda: held).check(made, lambda: 1.0)
    told = "memory: 1,000,000 rows .* need 120,000,000 bytes, and 119,999,999 are free"
    with pytest.raises(DataError, match=told):
        Room(lambda: held - 1).check(made, lambda: 1.0)
    Room(lambda: 19 * made.nbytes()).check(made, lambda: 0.1)
    with pytest.raises(DataError, match=r"some 10,000,000 rows with 4 columns .* need some 1,2"):
        Room(lambda: 18 * made.nbytes()).check(made, lambda: 0.1)


@pytest.mark.parametrize(
    "names",
    [
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max", 5000 * 1024), ("4000000", 4000000 - 1000000 + 300), ("900000", 300 - 100000)],
)
def test_the_machine_and_the_container_both_limit(tmp_path, monkeypatch, names, limit, expected):
    assert names in [group[1:] for group in part_module._GROUPS]
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  9000 kB\nMemAvailable:  5000 kB\n", encoding="ascii")
    tmp_path.joinpath(names[0]).write_text(limit, encoding="ascii")
    tmp_path.joinpath(names[1]).write_text("1000000\n", encoding="ascii")
    tmp_path.joinpath("memory.stat").write_text(f"anon 5\n{names[2]} 300\n", encoding="ascii")
    monkeypatch.setattr(part_module, "_MEMORY", meminfo)
    monkeypatch.setattr(part_module, "_GROUP", tmp_path)
    monkeypatch.setattr(part_module, "_GROUPS", [("", *names)])
    assert available() == max(0, expected)
    meminfo.unlink()
    assert available() is None


def test_so_does_a_limit_of_addresses(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    pages = tmp_path / "statm"
    pages.write_text("100 2 3\n", encoding="ascii")
    monkeypatch.setattr(part_module, "_ADDRESSES", pages)
    free = available()
    limit = 101 * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert available() == (None if free is None else resource.getpagesize())
    limit = resource.RLIM_INFINITY
    found = available()
    assert (found is None) == (free is None)
    assert found != resource.getpagesize()


def test_one_process_knows_how_much_is_still_to_come(folder, monkeypatch):
    shares = []

    class Looks:
        def check(self, _, share):
            shares.append(share())

    padding = "x" * 1_000
    rows = [{"_ng_task_index": i, "reward": 1, "text": padding} for i in range(10_000)]
    folder.rows(rows, "a.jsonl")
    folder.rows(({**row, "_ng_rollout_index": 1} for row in rows[:5_000]), "b.jsonl")
    folder.rows(({**row, "_ng_rollout_index": 2} for row in rows[:5_000]), "c.jsonl")
    monkeypatch.setattr(recorded, "Room", Looks)
    with pytest.raises(DataError, match="sample index"):  # not in the first file
        folder.load("*.jsonl")
    assert len(shares) > 4
    assert shares == sorted(shares)
    assert 0.1 < shares[0] < 0.3
    assert shares[-1] == 1


@pytest.mark.parametrize(
    "where", ["rollouts.table.TableBuilder.build", "reports.payload.page_pieces"]
)
def test_memory_that_is_full_is_told(project, where):
    project.rollouts([[1]])
    project.bench()
    project.write(
        "conftest.py",
        "import pytest\ndef full(*_):\n    raise MemoryError\ndef pytest_runtest_setup(item):\n"
        f"    pytest.MonkeyPatch().setattr('pytest_evalmetrics.{where}', full)\n",
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["math.bench.yaml:1: there is not enough memory for math", "  split the benchmark into *"]
    )
    assert "Traceback" not in result.stdout.str()
    assert project.report()["not_evaluated"] == ["math.bench.yaml::math"]
