"""A worker without its cluster: what it is told, and what it says."""

from __future__ import annotations

import asyncio
import pickle
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.engines.messages import Done, Given, Kit
from pytest_evalmetrics.engines.worker import Worker
from pytest_evalmetrics.scorers import Row, Terms

if TYPE_CHECKING:
    from engines.conftest import Bench


async def started(bench: Bench, **more: Any) -> tuple[Worker, Any]:
    bench.write([], "scorers: [{type: exact-match, reference: '{{ item.expected }}'}]")
    (benchmark,) = load_benchmarks(bench.path / "a.bench.yaml", shown="a.bench.yaml")
    kit = {"version": version("pytest-evalmetrics"), "scorers": {}, "targets": {}, "label": "a"}
    kit |= {"spec": benchmark.spec, "terms": Terms(), "mode": None, "metered": False}
    worker = Worker()
    packed = pickle.dumps(Kit(**{**kit, **more}))
    return worker, await worker.begin(packed, {}, [], str(Path.cwd()))


def test_another_version_of_this_package_is_said(bench: Bench) -> None:
    _, error = asyncio.run(started(bench, version="0.0"))
    assert "a worker of the cluster has pytest-evalmetrics" in error.message
    assert error.hint == "install the same on every node"


def test_what_overtook_on_its_way_is_heard_in_its_turn(bench: Bench) -> None:
    async def play() -> list[Any]:
        worker, error = await started(bench)
        assert error is None
        rows = [Row(n, "agent", n, 0, {"response": "1", "expected": "1"}) for n in range(3)]
        jobs = [Given(row.index, row, 0, None, again=False) for row in rows]
        await worker.give(2, [jobs[2]])
        await worker.give(1, [jobs[1]])
        await asyncio.sleep(0)
        return await worker.take(0, [jobs[0]])

    said = asyncio.run(play())
    assert [message.order for message in said if isinstance(message, Done)] == [0, 1, 2]
