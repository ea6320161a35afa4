"""Functions that score, as users write them."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Explained

ITEM = {"output": "abc"}


def length(item: Any) -> int:
    return len(item["output"])


def is_short(item: Any, *, limit: int = 5) -> bool:
    return len(item["output"]) <= limit


def generated(item: Any, *, sample: Any = None) -> dict[str, float]:
    return {"asked": len(item["output"]), "got": len(sample.get("output_text", ""))}


def explained(item: Any) -> Explained:
    return Explained(0.5, f"half of {item['output']}")


async def later(item: Any) -> float:
    await asyncio.sleep(0)
    return len(item["output"]) / 10


def leaves(item: Any) -> float:
    raise SystemExit(len(item["output"]))


async def cancels(item: Any) -> float:
    del item
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task
    return 0.0


class Called:
    def __call__(self, item: Any) -> float:
        return 1.0 if item["output"] else 0.0


class CalledLater:
    async def __call__(self, item: Any) -> float:
        return await later(item)


called, called_later = Called(), CalledLater()
partial = functools.partial(is_short, limit=2)


def forgets_await(item: Any) -> Any:
    return later(item)


def refuses(item: Any) -> float:
    raise RowError("no-output", f"there is nothing in {item}")


def breaks(item: Any) -> float:
    return float(item["nothing"])


inside: list[str] = []
together = threading.Event()
release = threading.Event()


def slow(item: Any) -> float:
    assert not inside
    inside.append(threading.current_thread().name)
    together.set()
    assert release.wait(20)
    inside.clear()
    return float(item["n"])
