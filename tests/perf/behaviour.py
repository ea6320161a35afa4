"""Behaviour: false alarms on unchanged agents, what is detected, and what it costs.

python tests/perf/behaviour.py [alarms|power|limits|shifts|cost] [runs] [first cell]

Agents are simulated as in tau-bench: each task has its own chances of calling tools, and
of lengths, errors and orders. Others are drawn from the recorded transcripts of
examples/agent_tools. It prints figures, and fails for nothing.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import pytest_run

from pytest_evalmetrics.behaviour import compare_behaviour, observed_of
from pytest_evalmetrics.behaviour.changes import Sides, pooled
from pytest_evalmetrics.behaviour.columns import Observer
from pytest_evalmetrics.behaviour.gate import GateTerms, check_changes
from pytest_evalmetrics.ext import RolloutTable, TaskRewards
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec, LimitSpec
from pytest_evalmetrics.transcripts import ToolCall, Turn, turns_of

ROOT = Path(__file__).parents[2]
WORDS = [
    "the",
    "flight",
    "to",
    "oslo",
    "is",
    "booked",
    "for",
    "you",
    "and",
    "leaves",
    "at",
    "nine",
    "in",
    "the",
    "morning",
    "from",
    "gate",
    "two",
    "please",
    "be",
    "there",
    "on",
    "time",
    "with",
    "your",
    "passport",
    "thank",
    "you",
    "have",
    "a",
    "good",
    "trip",
    "see",
    "you",
    "soon",
]
TOOLS = ("find_user", "get_order", "search_flights", "book", "refund", "calculate")


class Agent:
    """An agent like those of tau-bench: chances of each task, drawn once."""

    def __init__(self, seed, tasks, spread=1.0):
        chance = random.Random(seed)
        self.tasks = []
        for _ in range(tasks):
            uses = {
                tool: min(max(chance.gauss(0.5, 0.35 * spread), 0), 1) for tool in TOOLS
            }
            self.tasks.append(
                {
                    "uses": uses,
                    "fails": chance.choice((0.0, 0.05, 0.3)),
                    "swaps": chance.choice((0.0, 0.2, 0.5)),
                    "words": chance.randint(3, 40),
                    "passes": chance.choice((0.0, 0.5, 0.9, 1.0)),
                }
            )

    def rollout(self, chance, task, uses):
        """Return the turns of one rollout, and its reward."""
        habits = self.tasks[task]
        chances = {**habits["uses"], **uses}
        called = [tool for tool in TOOLS if chance.random() < chances[tool]]
        if len(called) > 1 and chance.random() < habits["swaps"]:
            called[0], called[1] = called[1], called[0]
        turns = [Turn("user", f"task {task}")]
        for tool in called:
            fails = chance.random() < habits["fails"]
            arguments = json.dumps({"id": chance.randint(1, 5)})
            error = "Error: not found" if fails else ""
            turns.append(
                Turn("assistant", calls=(ToolCall(tool, arguments, "c", error),))
            )
        words = max(1, int(chance.gauss(habits["words"], habits["words"] / 4)))
        text = " ".join(chance.choice(WORDS) for _ in range(words))
        turns.append(Turn("assistant", text))
        return turns, float(chance.random() < habits["passes"])

    def run(self, seed, samples, **uses):
        """Return the turns and the rewards of a run, task by task."""
        chance = random.Random(seed)
        return [
            [self.rollout(chance, task, uses) for _ in range(samples)]
            for task in range(len(self.tasks))
        ]


class Recorded:
    """The rollouts of an example, drawn anew: a task's from those of its kind."""

    def __init__(self, tasks=40):
        path = ROOT / "examples/agent_tools/runs/conversations.jsonl"
        self.kinds = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.kinds.setdefault(row["calls"], []).append(turns_of(row))
        names = sorted(self.kinds)
        self.tasks = [names[task % len(names)] for task in range(tasks)]

    def run(self, seed, samples):
        chance = random.Random(seed)
        return [
            [(chance.choice(self.kinds[kind]), 1.0) for _ in range(samples)]
            for kind in self.tasks
        ]


class Repeating:
    """An agent whose rollouts of a task are one and the same in a run, as at temperature 0."""

    def __init__(self, agent, changing=0.3):
        self.agent = agent
        self.changing = changing

    def run(self, seed, samples):
        chance = random.Random(seed)
        usual = self.agent.run(0, 1)
        other = self.agent.run(seed + 1, 1)
        return [
            (new if chance.random() < self.changing else old) * samples
            for old, new in zip(usual, other, strict=True)
        ]


class Rare(Agent):
    """An agent that seldom calls most of its tools, and whose answers vary widely in length."""

    def __init__(self, seed, tasks):
        super().__init__(seed, tasks)
        chance = random.Random(seed)
        for task in self.tasks:
            for tool in TOOLS[:-1]:
                task["uses"][tool] = 0.01
            task["words"] = int(chance.lognormvariate(2, 1.5)) + 1


class Shifting:
    """An agent whose runs differ as a whole, as where each starts another server."""

    def __init__(self, seed, tasks, sd=0.1):
        self.agent = Agent(seed, tasks)
        self.sd = sd

    def run(self, seed, samples):
        chance = random.Random(seed)
        shifted = Agent(1, len(self.agent.tasks))
        moves = {tool: chance.gauss(0, self.sd) for tool in TOOLS}
        longer = chance.gauss(1, self.sd)
        for task, usual in zip(shifted.tasks, self.agent.tasks, strict=True):
            task.update(usual)
            task["words"] = max(1, usual["words"] * longer)
            task["uses"] = {
                tool: min(max(rate + moves[tool], 0), 1)
                for tool, rate in usual["uses"].items()
            }
        return shifted.run(seed, samples)


def table_of(run):
    """Return the behaviour of a run, and its rewards."""
    counts = [len(task) for task in run]
    rows = sum(counts)
    table = RolloutTable(
        agents=("agent",),
        agent=np.zeros(rows, dtype=np.int32),
        tasks=tuple(range(len(run))),
        task=np.repeat(np.arange(len(run)), counts),
        sample=np.zeros(rows, dtype=np.int64),
        scores={},
    )
    observer = Observer(rows)
    rewards = []
    place = 0
    for task in run:
        rewards.append([reward for _, reward in task])
        for turns, _ in task:
            observer.observe(place, turns)
            place += 1
    return observed_of(table, observer), TaskRewards.from_lists(rewards)


def compared(before, now, gate_id):
    then, rewards_then = table_of(before)
    today, rewards_now = table_of(now)
    sides = Sides(before=then, now=today, gate_id=gate_id)
    return compare_behaviour(sides, (rewards_then, rewards_now))


def compared_with_runs(earlier, now, gate_id):
    tables = [table_of(run) for run in earlier]
    before = pooled([table for table, _ in tables])
    tasks = zip(*[rewards.to_lists() for _, rewards in tables], strict=True)
    rewards_before = TaskRewards.from_lists(
        [[reward for of_run in task for reward in of_run] for task in tasks]
    )
    today, rewards_now = table_of(now)
    sides = Sides(before=before, now=today, runs=len(earlier), gate_id=gate_id)
    return compare_behaviour(sides, (rewards_before, rewards_now))


def shifts(runs):
    """Print how often an agent is named whose runs differ as a whole, by 10 points."""
    agent = Shifting(3, 100)
    print("runs that differ by 10 points, 100 x 4     any feature            churn")
    for count in (1, 2, 3, 5, 10):
        features = churns = 0
        for seed in range(runs):
            earlier = [agent.run(100 * seed + at, 4) for at in range(count)]
            now = agent.run(100 * seed + 99, 4)
            changes, churn = compared_with_runs(earlier, now, f"{seed}")
            features += any(change.is_significant for change in changes)
            churns += churn is not None and churn.is_significant
        print(
            f"{count:2} earlier {rate(features, runs):>40} {rate(churns, runs):>16}",
            flush=True,
        )


def rate(count, runs):
    share = count / runs
    error = (max(share, 1 / runs) * (1 - share) / runs) ** 0.5
    return f"{100 * share:5.1f} +- {100 * error:.1f} %"


def alarms(runs, first=0):
    """Print how often an unchanged agent is named, from one of the cells on."""
    cells = [
        ("tau-like, 100 x 4", Agent(1, 100), 4, 4),
        ("tau-like, 20 x 4", Agent(2, 20), 4, 4),
        ("tau-like, 200 x 1", Agent(3, 200), 1, 1),
        ("tau-like, 50 x 8 -> 50 x 2", Agent(4, 50), 8, 2),
        ("tau-like, 6 x 8", Agent(5, 6), 8, 8),
        ("tau-like, sure tools, 100 x 4", Agent(6, 100, spread=3), 4, 4),
        ("recorded, 40 x 4", Recorded(40), 4, 4),
        ("recorded, 100 x 2", Recorded(100), 2, 2),
        ("repeating, 100 x 4", Repeating(Agent(7, 100)), 4, 4),
        ("rare tools, long tails, 100 x 4", Rare(8, 100), 4, 4),
        ("rare tools, long tails, 50 x 1", Rare(9, 50), 1, 1),
        ("rare tools, 40 x 8 -> 40 x 1", Rare(10, 40), 8, 1),
    ]
    print(f"{'unchanged agent':32} {'any feature':>16} {'churn':>16}   s/run")
    for name, agent, before, now in cells[first:]:
        features = churns = 0
        started = time.perf_counter()
        for seed in range(runs):
            changes, churn = compared(
                agent.run(2 * seed, before), agent.run(2 * seed + 1, now), f"{seed}"
            )
            features += any(change.is_significant for change in changes)
            churns += churn is not None and churn.is_significant
        each = (time.perf_counter() - started) / runs
        print(
            f"{name:32} {rate(features, runs):>16} {rate(churns, runs):>16} {each:7.2f}",
            flush=True,
        )


def power(runs):
    """Print how often a change of one tool's rate is named."""
    agent = Agent(1, 100)
    print("one tool, 100 x 4            this tool   any feature")
    for before, now in ((0.2, 0.4), (0.2, 0.3), (0.2, 0.26)):
        tool = hits = 0
        for seed in range(runs):
            changes, _ = compared(
                agent.run(2 * seed, 4, refund=before),
                agent.run(2 * seed + 1, 4, refund=now),
                f"{seed}",
            )
            named = [change for change in changes if change.is_significant]
            tool += any(change.name == "refund" for change in named)
            hits += bool(named)
        print(
            f"{100 * before:.0f} % -> {100 * now:.0f} %  {rate(tool, runs):>20} {rate(hits, runs)}",
            flush=True,
        )


def limits(runs):
    """Print how often limits fail: of an unchanged agent, and of one that changed."""
    agent = Agent(1, 100)
    spec = BehaviourSpec(
        tool_calls=LimitSpec(max_rise=0.1),
        answer_chars=LimitSpec(max_rise=0.1, max_fall=0.1),
        tool_errors=LimitSpec(max_rise=0.1),
        order="same",
    )
    terms = GateTerms(
        spec=spec, agent="", line_of=lambda *_: 1, acceptance=Acceptance.SNAPSHOT
    )
    print("limits of 10 %, and the order, 100 x 4         any fails   the calls fail")
    changes = {
        "unchanged": {},
        "12 % more calls": {"refund": 0.5, "calculate": 0.5},
        "25 % more calls": {"refund": 0.7, "calculate": 0.7},
    }
    base = {"refund": 0.3, "calculate": 0.3}
    for name, uses in changes.items():
        failed = calls = 0
        for seed in range(runs):
            before, _ = table_of(agent.run(2 * seed, 4, **base))
            now, _ = table_of(agent.run(2 * seed + 1, 4, **(base | uses)))
            sides = Sides(before=before, now=now, gate_id=f"{seed}")
            checks = list(check_changes(terms, sides))
            red = [check.name for check in checks if check.verdict.fails]
            failed += bool(red)
            calls += "behaviour tool_calls" in red
        print(f"{name:40} {rate(failed, runs):>16} {rate(calls, runs):>16}", flush=True)


def _row(chance, task, sample):
    calls = []
    for number in range(chance.choice((2, 3, 4))):
        call_id = f"call_{number}"
        arguments = json.dumps({"city": "Oslo", "day": chance.randint(1, 28)})
        calls.append(
            {
                "type": "function_call",
                "call_id": call_id,
                "name": chance.choice(TOOLS),
                "arguments": arguments,
                "status": "completed",
            }
        )
        output = " ".join(chance.choice(WORDS) for _ in range(70))
        calls.append(
            {"type": "function_call_output", "call_id": call_id, "output": output}
        )
    text = " ".join(chance.choice(WORDS) for _ in range(280))
    content = [{"type": "output_text", "annotations": [], "text": text}]
    answer = {"type": "message", "role": "assistant", "content": content}
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": float(chance.random() < 0.6),
        "responses_create_params": {
            "input": [
                {"role": "system", "content": " ".join(WORDS * 2)},
                {"role": "user", "content": f"task {task}"},
            ]
        },
        "response": {"output": [*calls, answer], "usage": {"total_tokens": 300}},
    }


def cost(rows):
    """Print the time of a run of many rollouts with and without behaviour."""
    bench = (
        "benchmark: {{name: a, rollouts: runs.jsonl, num_samples: 8, "
        "metrics: [mean_reward], baseline: true{}}}\n"
    )
    kinds = {
        "without": "",
        "behaviour: true": ", behaviour: true",
        "a rule for each rollout": ", behaviour: {tools: {forbid: [delete_*]}}",
    }
    with tempfile.TemporaryDirectory() as name:
        chance = random.Random(7)
        runs = Path(name) / "runs.jsonl"
        with runs.open("w", encoding="utf-8") as file:
            for at in range(rows):
                file.write(json.dumps(_row(chance, at // 8, at % 8)) + "\n")
        print(f"{rows} rollouts of {runs.stat().st_size / rows:.0f} bytes")
        base = None
        for kind, keys in kinds.items():
            folder = Path(name) / kind.replace(" ", "_").replace(":", "")
            folder.mkdir()
            (folder / "runs.jsonl").symlink_to(runs)
            text = bench.format(keys)
            (folder / "a.bench.yaml").write_text(text, encoding="utf-8")
            pytest_run(folder, "--snapshot-update")
            used = min(pytest_run(folder) for _ in range(3))
            base = base or used
            print(
                f"{kind:24} {used.wall:6.2f} s, {used.cpu:6.2f} s of CPU, "
                f"{used.peak:5.0f} MiB: {used.cpu / base.cpu:.2f} times",
                flush=True,
            )


def main(which="all", runs="200", first="0"):
    if which in ("alarms", "all"):
        alarms(int(runs), int(first))
    if which in ("power", "all"):
        power(int(runs) // 2)
    if which in ("limits", "all"):
        limits(int(runs) // 2)
    if which in ("shifts", "all"):
        shifts(int(runs) // 2)
    if which in ("cost", "all"):
        cost(80_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
