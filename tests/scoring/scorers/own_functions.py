"""Functions that score, as users write them."""

import asyncio
import functools
import threading

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Explained

ITEM = {"output": "abc"}


def length(item):
    return len(item["output"])


def is_short(item, *, limit=5):
    return len(item["output"]) <= limit


def generated(item, *, sample=None):
    return {"asked": len(item["output"]), "got": len(sample.get("output_text", ""))}


def explained(item):
    return Explained(0.5, f"half of {item['output']}")


async def later(item):
    await asyncio.sleep(0)
    return len(item["output"]) / 10


def leaves(item):
    raise SystemExit(len(item["output"]))


async def cancels(item):
    del item
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task
    return 0.0


class Called:
    def __call__(self, item):
        return 1.0 if item["output"] else 0.0


class CalledLater:
    async def __call__(self, item):
        return await later(item)


called, called_later = Called(), CalledLater()
partial = functools.partial(is_short, limit=2)


def forgets_await(item):
    return later(item)


def refuses(item):
    raise RowError("no-output", f"there is nothing in {item}")


def breaks(item):
    return float(item["nothing"])


inside = []
together = threading.Event()
release = threading.Event()


def slow(item):
    assert not inside
    inside.append(threading.current_thread().name)
    together.set()
    assert release.wait(20)
    inside.clear()
    return float(item["n"])


def with_sample(item, sample):
    assert item
    return len(sample.get("output_text", ""))


def stating(item):
    return {"words": len(item["output"].split()), "letters": len(item["output"])}


stating.scores = ("words", "letters")
stating.directions = {"letters": "lower"}


class Tools:
    @staticmethod
    def count(item):
        return len(item)
