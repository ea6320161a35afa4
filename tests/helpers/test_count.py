"""How many processes there may be."""

from __future__ import annotations

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.helpers import count as module
from pytest_evalmetrics.helpers.count import idle_cores, processes, usable_cores


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
def test_the_cores_are_shared(environ: dict[str, str], cores: int, expected: int) -> None:
    assert processes(environ, cores) == expected


@pytest.mark.parametrize("cap", ["0", "-1", "two", "1.5", "²"])
def test_a_cap_that_is_none_is_refused(cap: str) -> None:
    with pytest.raises(DataError) as caught:
        processes({"EVALMETRICS_PROCESSES": cap}, 8)
    assert caught.value.message == (
        f"EVALMETRICS_PROCESSES is {cap!r} in the environment; expected a whole number from 1"
    )


@pytest.mark.parametrize(
    ("quota", "expected"), [("50000 100000", 1), ("150000 100000", 1), ("max 100000", 4), (None, 4)]
)
def test_a_container_has_its_quota(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    quota: str | None,
    expected: int,
) -> None:
    path = tmp_path_factory.mktemp("cgroup") / "cpu.max"
    if quota is not None:
        path.write_text(quota, encoding="ascii")
    monkeypatch.setattr(module, "_QUOTA", path)
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert usable_cores() == expected


@pytest.mark.parametrize(
    ("running", "expected"),
    [("1/200", 4), ("0/200", 4), ("3/200", 2), ("9/200", 1), ("", 4), ("x/y", 4)],
)
def test_cores_at_work_are_left_alone(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    running: str,
    expected: int,
) -> None:
    path = tmp_path_factory.mktemp("proc") / "loadavg"
    path.write_text(f"0.5 0.4 0.3 {running} 12345\n" if running else "0.5", encoding="ascii")
    monkeypatch.setattr(module, "_LOAD", path)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 4)
    assert idle_cores() == expected
    monkeypatch.setattr(module, "usable_cores", lambda: 3)
    assert processes({}) == min(3, expected)
    assert processes({"EVALMETRICS_PROCESSES": "3"}) == 3
