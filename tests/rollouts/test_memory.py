"""Rollouts that do not fit into memory are refused before it is full."""

import numpy as np
import pytest
from rollouts.small import chunk, load_chunks

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import free_memory, table

ROWS = 1_000_000


def test_columns_without_room_are_refused(folder, monkeypatch):
    rows = chunk([0] * ROWS, scores={f"s{i}": np.zeros(ROWS) for i in range(4)})
    held = ROWS * (7 * 8 + 4)
    monkeypatch.setattr(table, "free_memory", lambda: held)
    assert len(load_chunks(folder, rows)) == ROWS
    monkeypatch.setattr(table, "free_memory", lambda: held - 1)
    message = "memory: the first 1,000,000 rows .* need 120,000,000 bytes, and 119,999,999 are free"
    with pytest.raises(DataError, match=message):
        load_chunks(folder, rows)


@pytest.mark.parametrize(
    "names",
    [
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        ),
    ],
)
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max", 5000 * 1024),
        ("4000000", 4000000 - 1000000 + 300),
        ("900000", 0),
    ],
)
def test_the_machine_and_the_container_both_limit(
    tmp_path, monkeypatch, names, limit, expected
):
    most, used, stat, given_back = names
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  9000 kB\nMemAvailable:  5000 kB\n", encoding="ascii")
    tmp_path.joinpath(most).parent.mkdir(exist_ok=True)
    tmp_path.joinpath(most).write_text(limit, encoding="ascii")
    tmp_path.joinpath(used).write_text("1000000\n", encoding="ascii")
    entries = f"anon 5\n{given_back} 300\n"
    tmp_path.joinpath(stat).write_text(entries, encoding="ascii")
    monkeypatch.setattr(free_memory, "_MEMORY", meminfo)
    monkeypatch.setattr(free_memory, "_CONTAINER", tmp_path)
    assert free_memory.free_memory() == expected
    meminfo.unlink()
    assert free_memory.free_memory() is None


@pytest.mark.parametrize(
    "where", ["rollouts.table.TableBuilder.build", "reports.payload.page_texts"]
)
def test_full_memory_is_reported(project, monkeypatch, where):
    def full(*_):
        raise MemoryError

    project.rollouts([[1]])
    project.bench()
    monkeypatch.setattr(f"pytest_evalmetrics.{where}", full)
    result = project.run_here()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "math.bench.yaml:1: there is not enough memory for math",
            "  split the benchmark into *",
        ]
    )
    assert project.report()["not_evaluated"] == ["math.bench.yaml::math"]
