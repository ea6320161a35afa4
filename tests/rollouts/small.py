"""Formats whose rows come a few at a time, so that short files have many blocks."""

import numpy as np

from pytest_evalmetrics.ext import Chunk
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines

BLOCKS = "rollouts.small:Blocks"  # for `format:`
ARRAY_BLOCKS = "rollouts.small:ArrayBlocks"
CHUNKS = "rollouts.small:Chunks"
SIZES = {"block": 400}


class Blocks(JsonLines):
    """What was learnt from the first block is used on those after it."""

    def __init__(self, request):
        super().__init__(request)
        self.block = SIZES["block"]


class ArrayBlocks(JsonArray):
    """The same of an array."""

    def __init__(self, request):
        super().__init__(request)
        self.block = SIZES["block"]


class Chunks:
    """Gives what a test put here, whatever the file holds."""

    chunks: list[Chunk]

    def __init__(self, request):
        pass

    def read(self, source):
        del source
        yield from self.chunks


def chunk(task, sample=None, agent=None, scores=None, first=1, **more):
    nothing = [None] * len(task)
    return Chunk(
        places=np.arange(first, first + len(task)),
        task=task,
        sample=sample or nothing,
        agent=agent or nothing,
        scores={
            name: np.array(column, np.float64)
            for name, column in (scores or {}).items()
        },
        **more,
    )


def load_chunks(folder, *chunks, **options):
    """Build the table of chunks, of a file that is shown as `a`."""
    folder.write("{", "a")
    Chunks.chunks = list(chunks)
    return folder.load("a", format=CHUNKS, **options)
