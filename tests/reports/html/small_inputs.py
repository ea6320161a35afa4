"""Small inputs of a page: tables of rollouts, and the texts of benchmarks."""

import numpy as np

from pytest_evalmetrics.ext import RolloutTable
from pytest_evalmetrics.model.rollout_table import SourceFile


def table(rewards, *, tasks=None, sources=(), **scores):
    """Make a table of one agent from the rewards of each task."""
    counts = [len(r) for r in rewards]
    total = sum(counts)
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(total, np.int32),
        tasks=tuple(range(len(rewards))) if tasks is None else tasks,
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]),
        scores={
            "reward": np.array([v for r in rewards for v in r], float),
            **{name: np.array(values, float) for name, values in scores.items()},
        },
        sources=sources or (SourceFile("runs.jsonl", total, 1, row_is_line=True),),
        read_as=np.arange(total),
    )


class Kept:
    """The texts of benchmarks."""

    def __init__(self, **texts):
        self.texts = texts

    def read(self, item_id, kind):
        return self.texts.get(kind, {}).get(item_id, b"")

    def size(self, item_id, kind):
        return len(self.read(item_id, kind))
