"""Rows of agents for the tests of behaviour."""

import json
import random

import numpy as np

from pytest_evalmetrics.behaviour import observed_of
from pytest_evalmetrics.behaviour.columns import Observer
from pytest_evalmetrics.ext import RolloutTable, TaskRewards
from pytest_evalmetrics.transcripts import turns_of


def row(task, sample, calls, *, reward=1.0, answer="It is booked."):
    """Make a row of NeMo Gym; a call is (name, arguments) or (name, arguments, output)."""
    items = []
    for number, (name, arguments, *output) in enumerate(calls):
        call_id = f"call_{number}"
        items.append(
            {
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": json.dumps(arguments),
            }
        )
        items.append(
            {
                "type": "function_call_output",
                "call_id": call_id,
                "output": output[0] if output else "ok",
            }
        )
    items.append(
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": answer}],
        }
    )
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": reward,
        "responses_create_params": {
            "input": [{"role": "user", "content": f"Request {task}."}]
        },
        "response": {"output": items},
    }


CITY = {"city": "Oslo"}


def run(seed, *, tasks=40, samples=4, searches=0.2, order=0.0, answer=None):
    """Make a run of an agent that plans, sometimes searches, and books.

    `searches` is the chance that it searches, `order` that it does so before it plans.
    """
    chance = random.Random(seed)  # noqa: S311 - the same rows in every run
    rows = []
    for task in range(tasks):
        for sample in range(samples):
            calls = [("plan", CITY), ("book", CITY)]
            if chance.random() < searches:
                place = 0 if chance.random() < order else 1
                calls.insert(place, ("search", CITY))
            words = answer or ["the", "flight", "is", "booked", "for", "you", "now"]
            text = " ".join(chance.choice(words) for _ in range(12))
            reward = float((7 * task + sample) % 3 > 0)
            rows.append(row(task, sample, calls, reward=reward, answer=text))
    return rows


def table_of(rows):
    """Return the behaviour of rows, and their rewards; rows are sorted by task."""
    tasks, counts = np.unique(
        [row["_ng_task_index"] for row in rows], return_counts=True
    )
    table = RolloutTable(
        agents=("agent",),
        agent=np.zeros(len(rows), dtype=np.int32),
        tasks=tuple(tasks.tolist()),
        task=np.repeat(np.arange(len(tasks)), counts),
        sample=np.zeros(len(rows), dtype=np.int64),
        scores={},
    )
    observer = Observer(len(rows))
    rewards = {task: [] for task in tasks.tolist()}
    for place, one in enumerate(rows):
        observer.observe(place, turns_of(one))
        rewards[one["_ng_task_index"]].append(one["reward"])
    return observed_of(table, observer), TaskRewards.from_lists(list(rewards.values()))
