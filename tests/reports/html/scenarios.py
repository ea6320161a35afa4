"""Ten runs that people look at, each with the answers to five questions."""

import json

from reports.html.runs import EVIL, page, write, write_rows

TASKS = 40


def _pair(folder, before, now, spec, args=()):
    write_rows(folder, "was.jsonl", before)
    write_rows(folder, "now.jsonl", now)
    write(folder, "x.bench.yaml", json.dumps(spec))
    return page(folder, *args)


def _gated(name, **more):
    fields = {"task": "id", "sample": "try"}
    return {
        "name": name,
        "rollouts": {"path": "now.jsonl", "fields": fields},
        "num_samples": 2,
        "metrics": ["mean_reward", "pass^2"],
        "baseline": {"rollouts": {"path": "was.jsonl", "fields": fields}},
        **more,
    }


def _digits(task):
    return str(1000 + 37 * task)


def _read(task, attempt, *, fails):
    expected = _digits(task)
    answer = f"{expected[0]}#{expected[2:]}" if fails else expected
    return {
        "id": f"line-{task}",
        "try": attempt,
        "reward": float(not fails),
        "prompt": f"Read line {task}.",
        "response": answer,
        "expected_answer": expected,
        "kind": "hand" if task % 4 == 0 else "print",
    }


def one_benchmark(folder):
    """Ten tasks of the handwritten kind flip from right to wrong."""
    cells = [(task, attempt) for task in range(TASKS) for attempt in range(2)]
    before = [_read(task, attempt, fails=task == 1) for task, attempt in cells]
    now = [
        _read(task, attempt, fails=task % 4 == 0 or (task == 2 and attempt == 0))
        for task, attempt in cells
    ]
    spec = {"benchmark": _gated("ocr", breakdown=["kind"])}
    return _pair(folder, before, now, spec)


def advisory(folder):
    """The same, in a benchmark that fails nothing."""
    cells = [(task, attempt) for task in range(TASKS) for attempt in range(2)]
    before = [_read(task, attempt, fails=False) for task, attempt in cells]
    now = [_read(task, attempt, fails=task % 4 == 0) for task, attempt in cells]
    return _pair(folder, before, now, {"benchmark": _gated("ocr", tier="advisory")})


def _turns(task, *, fails):
    city = f"City {task}"
    call = {
        "id": f"call-{task}",
        "type": "function",
        "function": {
            "name": "search" if fails else "weather",
            "arguments": json.dumps({"city": city}),
        },
    }
    said = "I could not find it." if fails else f"It is {task} degrees."
    found = "error: no such page" if fails else f"{task} degrees"
    return [
        {"role": "system", "content": "You answer questions on the weather."},
        {"role": "user", "content": f"How warm is it in {city}?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call-{task}", "content": found},
        {"role": "assistant", "content": said},
    ]


def transcripts(folder):
    """An agent calls the wrong tool in a third of the tasks."""

    def rows(fails):
        return [
            {
                "id": f"trip-{task}",
                "try": attempt,
                "reward": float(not fails(task)),
                "messages": _turns(task, fails=fails(task)),
            }
            for task in range(30)
            for attempt in range(2)
        ]

    spec = {"benchmark": _gated("weather")}
    return _pair(
        folder, rows(lambda _task: False), rows(lambda task: task % 3 == 0), spec
    )


def reasons(folder):
    """A judge's reasons stand in a column of the rows."""

    def rows(bad):
        return [
            {
                "id": f"q{task}",
                "try": attempt,
                "reward": 0.2 if bad and task < 12 else 0.9,
                "question": f"Why is the sky blue, in {task} words?",
                "response": "Because of the sea." if bad and task < 12 else "Rayleigh scattering.",
                "explanation": "It names a wrong cause." if bad and task < 12 else "It names the cause.",
            }
            for task in range(24)
            for attempt in range(2)
        ]  # fmt: skip

    benchmark = _gated("sky", metrics=["mean_reward"])
    return _pair(folder, rows(bad=False), rows(bad=True), {"benchmark": benchmark})


def hostile(folder):
    """Long ids, right-to-left texts and markup."""

    def rows(bad):
        return [
            {
                "id": ("شارع السلام " if task % 2 else "x" * 300) + f"{task} {EVIL[:20]}",
                "try": attempt,
                "reward": 0.0 if bad and task < 12 else 1.0,
                "prompt": "מה שלומך? " + EVIL,
                "response": ("خطأ " if bad and task < 12 else "صحيح ") + "word " * 3000 + "the end",
            }
            for task in range(20)
            for attempt in range(2)
        ]  # fmt: skip

    name = "very-long-name-" + "n" * 150
    benchmark = _gated(name, metrics=["mean_reward"], description=EVIL)
    return _pair(folder, rows(bad=False), rows(bad=True), {"benchmark": benchmark})


def nothing_gated(folder):
    """No gate, so that nothing can fail."""
    write_rows(
        folder, "now.jsonl", [_read(task, 0, fails=task % 2 == 0) for task in range(10)]
    )
    fields = {"task": "id", "sample": "try"}
    spec = {"name": "look", "rollouts": {"path": "now.jsonl", "fields": fields}}
    write(folder, "x.bench.yaml", json.dumps({"benchmark": spec}))
    return page(folder)


def all_missing(folder):
    """No rollout of three agents has a reward."""
    lines = [
        {"id": f"t{task}", "try": 0, "reward": None, "agent_ref": {"name": agent}}
        for agent in ("ada", "bob", "eve")
        for task in range(5)
    ]
    write_rows(folder, "now.jsonl", lines)
    fields = {"task": "id", "sample": "try"}
    spec = {
        "name": "lost",
        "rollouts": {"path": "now.jsonl", "fields": fields},
        "thresholds": {"mean_reward": ">= 0.5"},
    }
    write(folder, "x.bench.yaml", json.dumps({"benchmark": spec}))
    return page(folder)


AGENTS = ("ada", "bob", "eve")


def twelve_by_three(folder):
    """Twelve benchmarks of three agents, with five kinds of failure."""

    def rows(number, side):
        lines = []
        for agent in AGENTS:
            for task in range(30):
                fails = (
                    side == "now" and number == 0 and agent == "bob" and task % 2 == 0
                )
                reward = 0.0 if fails or task == 29 else 1.0
                if side == "now" and number == 1 and agent == "eve":
                    reward = None
                lines.append(
                    {
                        "_ng_task_index": task,
                        "_ng_rollout_index": 0,
                        "agent_ref": {"name": agent},
                        "reward": reward,
                        "tokens": 100 + task + (80 if side == "now" else 0),
                    }
                )
        if side == "now" and number == 2:
            lines = [line for line in lines if line["_ng_task_index"] < 20]
        return lines

    benchmarks = []
    for number in range(12):
        for side in ("was", "now"):
            write_rows(folder, f"{side}{number}.jsonl", rows(number, side))
        spec = {
            "name": f"bench-{number}",
            "rollouts": f"now{number}.jsonl",
            "metrics": ["mean_reward"],
            "baseline": {"rollouts": f"was{number}.jsonl"},
        }
        if number == 3:
            spec["thresholds"] = {"mean_reward": ">= 0.99"}
        if number == 4:
            spec["thresholds"] = {"mean/tokens": {"max": 120}}
        benchmarks.append(spec)
    write(folder, "all.bench.yaml", json.dumps({"benchmarks": benchmarks}))
    return page(folder)


def thousand(folder):
    """A thousand benchmarks over the same files, of which ten fail."""
    before = [_read(task, 0, fails=False) for task in range(20)]
    write_rows(folder, "was.jsonl", before)
    write_rows(folder, "now.jsonl", before)
    write_rows(
        folder, "bad.jsonl", [_read(task, 0, fails=task < 12) for task in range(20)]
    )
    fields = {"task": "id", "sample": "try"}
    benchmarks = []
    for number in range(1000):
        file = "bad.jsonl" if number % 100 == 7 else "now.jsonl"
        benchmarks.append(
            {
                "name": f"bench-{number:04}",
                "rollouts": {"path": file, "fields": fields},
                "metrics": ["mean_reward"],
                "baseline": {"rollouts": {"path": "was.jsonl", "fields": fields}},
            }
        )
    write(folder, "all.bench.yaml", json.dumps({"benchmarks": benchmarks}))
    return page(folder)


def many_tasks(folder):
    """A hundred thousand tasks, of which a thousand fail now."""
    for name, failing in (("was", 100), ("now", 1000)):
        lines = "".join(
            f'{{"_ng_task_index": {task}, "_ng_rollout_index": 0, "reward": {int(task >= failing)}}}\n'
            for task in range(100_000)
        )
        write(folder, f"{name}.jsonl", lines)
    spec = {
        "name": "large",
        "rollouts": "now.jsonl",
        "metrics": ["mean_reward"],
        "baseline": {"rollouts": "was.jsonl"},
    }
    write(folder, "x.bench.yaml", json.dumps({"benchmark": spec}))
    return page(folder)


def history(folder):
    """Thirty runs, the last ten of a lower level; all of them pass."""
    spec = {
        "name": "level",
        "rollouts": "now.jsonl",
        "metrics": ["mean_reward"],
        "thresholds": {"mean_reward": ">= 0.1"},
    }
    write(folder, "x.bench.yaml", json.dumps({"benchmark": spec}))
    lines = [
        {"_ng_task_index": task, "_ng_rollout_index": 0, "reward": float(task < 60)}
        for task in range(100)
    ]
    write_rows(folder, "now.jsonl", lines)
    left = page(folder, "--evalmetrics-history", "history.jsonl")
    (line,) = (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
    entries = []
    for number in range(29):
        entry = json.loads(line)
        entry["time"] = f"2023-10-{number + 1:02}T10:00:00Z"
        point = entry["agents"]["agent"]["mean_reward"] if "agent" in entry["agents"] else next(iter(next(iter(entry["agents"].values())).values()))  # fmt: skip
        level = (0.9 if number < 20 else 0.6) + 0.01 * (number % 3)
        point |= {"value": level, "low": level - 0.08, "high": level + 0.08}
        entries.append(json.dumps(entry))
    write(folder, "history.jsonl", "\n".join(entries) + "\n")
    return page(folder, "--evalmetrics-history", "history.jsonl") or left


MAKERS = {
    "one": one_benchmark,
    "twelve": twelve_by_three,
    "transcripts": transcripts,
    "reasons": reasons,
    "thousand": thousand,
    "large": many_tasks,
    "history": history,
    "hostile": hostile,
    "ungated": nothing_gated,
    "missing": all_missing,
    "advisory": advisory,
}
