"""Odd files and what comes of each: the half that the guess was built with."""

import json

from rollouts.odd import OddFile, asks, lines, one, reads, refuses

TASKS = range(12)
PASSES = {n: int(n % 3 > 0) for n in TASKS}  # two of three
MESSAGES = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
OF_Q = {f"q{n}": PASSES[n] for n in TASKS}
FLOATS = {f"q{n}": n / 16 for n in TASKS}


def chat(n):
    return [{**message, "id": f"m{n}{k}"} for k, message in enumerate(MESSAGES)]


BUILT_WITH = {
    # -- the row: messages, steps, checks and tool calls are no attempts
    "messages in rows": one(
        "rows.jsonl",
        lines(
            {"task_id": f"q{n}", "success": bool(PASSES[n]), "messages": chat(n)}
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "messages in a list": one(
        "list.json",
        [
            {
                "question_id": f"q{n}",
                "prompt": "p",
                "score": n / 16,
                "messages": chat(n),
            }
            for n in TASKS
        ],
        reads(FLOATS),
    ),
    "tool calls under results": one(
        "calls.json",
        {
            "run": "nightly",
            "results": [
                {
                    "question_id": f"q{n}",
                    "score": n / 16,
                    "tool_calls": [{"name": "f", "ok": True}] * (1 + n % 3),
                }
                for n in TASKS
            ],
        },
        reads(FLOATS),
    ),
    "simulations of tau2": one(
        "tau2.json",
        {
            "timestamp": "2026-01-01T00:00:00",
            "info": {"num_trials": 2, "seed": 300},
            "tasks": [{"id": str(n), "user_scenario": {}} for n in TASKS],
            "simulations": [
                {
                    "id": f"{n:04}{trial}a0b-77f1-4a6b-9d3e-d1c9a0f2c{n:03}",
                    "task_id": f"q{n}",
                    "trial": trial,
                    "reward_info": {
                        "reward": PASSES[n] * (1 - trial) / 1.0,
                        "db_check": {"db_match": True},
                        "action_checks": [{"action_match": True, "action_reward": 1.0}],
                    },
                    "duration": 3.5 + n,
                    "messages": chat(n),
                }
                for n in TASKS
                for trial in range(2)
            ],
        },
        reads({task: [value, 0] for task, value in OF_Q.items()}),
    ),
    "steps of an agent": one(
        "steps.jsonl",
        lines(
            {
                "task": f"q{n}",
                "reward": n / 16,
                "steps": [
                    {"reward": 0.0, "done": False},
                    {"reward": 1.0, "done": True},
                ],
            }
            for n in TASKS
        ),
        reads(FLOATS),
    ),
    "checks with verdicts of their own": one(
        "checks.jsonl",
        lines(
            {
                "case_id": f"q{n}",
                "passed": bool(PASSES[n]),
                "checks": [
                    {"name": "a", "passed": True},
                    {"name": "b", "passed": False},
                ],
            }
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "attempts hold the reward": one(
        "attempts.jsonl",
        lines(
            {
                "problem_id": f"q{n}",
                "statement": "s",
                "attempts": [
                    {"passed": k < 1 + PASSES[n], "messages": chat(n)} for k in range(3)
                ],
            }
            for n in TASKS
        ),
        reads({task: [1, value, 0] for task, value in OF_Q.items()}),
    ),
    "assessments of traces": one(
        "traces.json",
        [
            {
                "trace_id": f"tr-{n:08x}",
                "inputs": {"question": f"q{n}"},
                "assessments": [{"name": "correct", "value": bool(PASSES[n])}],
            }
            for n in TASKS
        ],
        reads(OF_Q),
    ),
    # -- the reward
    "a status beside a metric": one(
        "status.jsonl",
        lines(
            {"item_id": f"q{n}", "status": "success", "metrics": {"f1_macro": n / 16}}
            for n in TASKS
        ),
        reads(FLOATS),
    ),
    "a number four levels deep": one(
        "deep.jsonl",
        lines(
            {
                "item_id": f"q{n}",
                "r": {"a": {"b": {"acc": float(PASSES[n])}}},
                "state": {"status": "success"},
            }
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "flags, variance and a metric": one(
        "flags.jsonl",
        lines(
            {
                "example_id": f"q{n}",
                "valid": True,
                "variance": n / 7,
                "doc": {"use_logits": bool(n % 2)},
                "quality": n / 16,
                "completion_tokens": 10 + n,
                "latency": 0.5 + n,
            }
            for n in TASKS
        ),
        reads(FLOATS),
    ),
    "everything passes": one(
        "constant.jsonl",
        lines({"task_id": f"q{n}", "success": True} for n in TASKS),
        asks("reward: ?", "success", "always 1"),
    ),
    "two verdicts that differ": one(
        "two.jsonl",
        lines(
            {"task_id": f"q{n}", "correct": bool(PASSES[n]), "score": n / 16}
            for n in TASKS
        ),
        asks("reward: ?", "correct (0/1, 67 % are 1)", "score (0..0.6875)"),
    ),
    "two verdicts that agree": one(
        "agree.jsonl",
        lines(
            {"task_id": f"q{n}", "passed": bool(PASSES[n]), "score": float(PASSES[n])}
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "no reward at all": one(
        "usage.jsonl",
        lines(
            {"task_id": f"q{n}", "completion_tokens": 9 + n, "created": 1.7e9 + n}
            for n in TASKS
        ),
        asks("reward: ?"),
    ),
    "words in German": one(
        "ja.jsonl",
        lines(
            {"frage_id": f"q{n}", "richtig": "ja" if PASSES[n] else "nein"}
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "ticks and crosses": one(
        "ticks.csv",
        "question_id,model_answer,verdict\n"
        + "".join(f"q{n},x,{'✓' if PASSES[n] else '✗'}\n" for n in TASKS),
        reads(OF_Q),
    ),
    "words that nobody knows": one(
        "words.jsonl",
        lines(
            {"task_id": f"q{n}", "verdict": "hyvä" if PASSES[n] else "huono"}
            for n in TASKS
        ),
        asks("hyvä: ?", "huono: ?"),
    ),
    # -- the task
    "trial ids beside a question": one(
        "trials.jsonl",
        lines(
            {"trial_id": f"tr{n}-{k}", "question": f"q{n}", "correct": bool(k)}
            for n in TASKS
            for k in range(2)
        ),
        reads({f"q{n}": [0, 1] for n in TASKS}),
    ),
    "random ids alone": one(
        "uuids.jsonl",
        lines(
            {
                "id": f"{n:08x}-5a1c-4b7e-9f00-{n * 7919:012x}",
                "prompt": [{"role": "user", "content": f"q{n}"}],
                "score": n / 16,
            }
            for n in TASKS
        ),
        asks("task: ?"),
    ),
    "ids of two fields": one(
        "subsets.jsonl",
        lines(
            {"subset": subset, "question_id": n, "correct": PASSES[n]}
            for subset in ("algebra", "logic")
            for n in TASKS
        ),
        reads({f"{s}/{n}": PASSES[n] for s in ("algebra", "logic") for n in TASKS}),
    ),
    # -- numbers
    "thousands separators": one(
        "thousands.csv",
        "name,score\n" + "".join(f'q{n},"{4186 + n:,}"\n' for n in TASKS),
        reads({f"q{n}": 4186 + n for n in TASKS}),
    ),
    "percent signs": one(
        "percent.csv",
        "task_id,accuracy\n" + "".join(f"q{n},{5 * n + 1}%\n" for n in TASKS),
        reads({f"q{n}": (5 * n + 1) / 100 for n in TASKS}),
    ),
    "decimal commas": one(
        "komma.csv",
        "Aufgabe;Punkte\n" + "".join(f"q{n};0,{n:02}\n" for n in TASKS),
        reads({f"q{n}": n / 100 for n in TASKS}),
    ),
    "cells that do not agree": one(
        "mixed.csv",
        'task_id,score\nq0,"4,186"\nq1,"0,75"\nq2,"1,234,567"\n',
        refuses("0,75", "1,234,567"),
    ),
    "the unnamed index of pandas": one(
        "index.csv",
        ",id,score\n" + "".join(f"{n},q{n},{PASSES[n]}\n" for n in TASKS),
        reads(OF_Q),
    ),
    # -- any JSON
    "lists by id": one(
        "by_id.json",
        {f"q{n}": [bool(PASSES[n]), True] for n in TASKS},
        reads({task: [value, 1] for task, value in OF_Q.items()}),
    ),
    "letters by id": one(
        "letters.json",
        {f"q{n}": "AB"[PASSES[n]] for n in TASKS},
        asks("A: ?", "B: ?"),
    ),
    "errors among objects by id": one(
        "errors.json",
        {
            f"q{n}": {"error": "timeout"}
            if n == 5
            else {"score": n / 16, "answer": "x"}
            for n in range(20)
        },
        reads({f"q{n}": None if n == 5 else n / 16 for n in range(20)}),
    ),
    "one indented object a file": OddFile(
        files={
            f"runs/q{n}.json": json.dumps(
                {"task_id": f"q{n}", "utility": bool(PASSES[n]), "messages": chat(n)},
                indent=2,
            )
            for n in TASKS
        },
        path="runs",
        outcome=reads(OF_Q),
    ),
    "questions below a header": one(
        "by_question.json",
        {
            "meta": {"model": "m", "date": "2026-01-01", "n": 12},
            "by_question": {f"q{n}": {"score": n / 16, "answer": "x"} for n in TASKS},
        },
        reads(FLOATS),
    ),
    "a page of many": one(
        "page.json",
        {
            "object": "list",
            "data": [{"id": f"q{n}", "score": n / 16} for n in TASKS],
            "has_more": True,
        },
        refuses("has_more"),
    ),
    "objects one below the other": one(
        "jq.json",
        "".join(
            json.dumps({"id": f"q{n}", "score": n / 16}, indent=4) + "\n" for n in TASKS
        ),
        reads(FLOATS),
    ),
    "a list of verdicts": one(
        "graded.json",
        [
            {"question_id": f"q{n}", "graded_list": [bool(PASSES[n]), True, False]}
            for n in TASKS
        ],
        reads({task: [value, 1, 0] for task, value in OF_Q.items()}),
    ),
    "one row is a summary": one(
        "summary.json", {"model": "m", "accuracy": 0.71, "n": 500}, refuses("one row")
    ),
    "a log of promptfoo's of an unknown version": one(
        "promptfoo.json",
        {
            "evalId": "e",
            "results": {
                "version": 9,
                "prompts": [],
                "results": [{"success": bool(n % 2), "score": n % 2} for n in TASKS],
            },
        },
        refuses("version 9"),
    ),
}
