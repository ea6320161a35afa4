"""Odd files and what comes of each: those that were found wanting later."""

import json

from rollouts.odd import asks, lines, one, reads, refuses

TASKS = range(12)
PASSES = {n: int(n % 3 > 0) for n in TASKS}
OF_Q = {f"q{n}": PASSES[n] for n in TASKS}
OF_N = dict(PASSES.items())
FLOATS = {f"q{n}": n / 20 for n in TASKS}

MORE = {
    "turns with scores in a conversation": one(
        "turns.json",
        {
            "conversations": [
                {
                    "conversation_id": f"c{n}",
                    "turns": [{"user": "a", "score": 0.5}, {"user": "b", "score": 0.1}],
                    "overall_score": n / 20,
                }
                for n in TASKS
            ]
        },
        asks("task: ?", "conversation_id"),
    ),
    "ratings in messages": one(
        "ratings.jsonl",
        lines(
            {"task_id": f"q{n}", "messages": [{"role": "user", "rating": n % 3}] * 2}
            for n in TASKS
        ),
        asks("reward: ?"),
    ),
    "two scores of an item": one(
        "scores.jsonl",
        lines(
            {"id": f"q{n}", "scores": {"helpfulness": n % 5, "accuracy": n % 4}}
            for n in TASKS
        ),
        asks("scores.helpfulness (0..4)", "scores.accuracy (0..3)"),
    ),
    "winners": one(
        "pairs.jsonl",
        lines(
            {"question_id": n, "winner": ["model_a", "model_b", "tie"][n % 3]}
            for n in TASKS
        ),
        asks("model_a: ?", "model_b: ?"),
    ),
    "rewards that are null": one(
        "null.jsonl",
        lines(
            {"task_id": f"q{n}", "reward": None if n < 3 else PASSES[n]} for n in TASKS
        ),
        reads({f"q{n}": None if n < 3 else PASSES[n] for n in TASKS}),
    ),
    "a table over time": one(
        "time.csv",
        "timestamp,accuracy\n"
        + "".join(f"2026-01-{n + 1:02},0.{50 + n}\n" for n in TASKS),
        asks("task: ?"),
    ),
    "a leaderboard": one(
        "board.csv",
        "model,mmlu,gsm8k\n" + "".join(f"m{n},{50 + n},{60 - n}\n" for n in TASKS),
        asks("reward: ?", "task: ?"),
    ),
    "subsets by id": one(
        "levels.json",
        {
            "results": {
                level: {f"{level}{n}": {"pass": bool(PASSES[n])} for n in range(6)}
                for level in ("easy", "hard")
            }
        },
        reads({f"{s}{n}": PASSES[n] for s in ("easy", "hard") for n in range(6)}),
    ),
    "lists of subsets": one(
        "splits.json",
        {
            split: [{"id": f"{split}{n}", "score": n / 20} for n in TASKS]
            for split in ("train", "test")
        },
        reads({f"{s}{n}": n / 20 for s in ("train", "test") for n in TASKS}),
    ),
    "numbered rows of subjects": one(
        "subjects.json",
        {
            s: [{"id": n, "correct": PASSES[n]} for n in range(6)]
            for s in ("law", "bio")
        },
        reads({f"{n}/{s}": PASSES[n] for s in ("law", "bio") for n in range(6)}),
    ),
    "two accuracies": one(
        "acc.jsonl",
        lines(
            {"doc_id": n, "acc": PASSES[n], "acc_norm": PASSES[(n + 1) % 12]}
            for n in TASKS
        ),
        asks("acc (0/1", "acc_norm (0/1"),
    ),
    "exit codes": one(
        "exit.json",
        [
            {"task": f"q{n}", "exit_code": 1 - PASSES[n], "runtime": n / 3}
            for n in TASKS
        ],
        asks("reward: ?"),
    ),
    "outcomes of tests": one(
        "tests.json",
        {
            "tests": [
                {"nodeid": f"q{n}", "outcome": "passed" if PASSES[n] else "failed"}
                for n in TASKS
            ],
            "summary": {"passed": 8, "failed": 4},
        },
        reads(OF_Q),
    ),
    "lists of booleans": one(
        "lists.jsonl",
        lines({"problem": f"q{n}", "results": [bool(PASSES[n]), True]} for n in TASKS),
        reads({task: [value, 1] for task, value in OF_Q.items()}),
    ),
    "lists of words": one(
        "words.jsonl",
        lines(
            {"problem": f"q{n}", "results": ["pass" if PASSES[n] else "fail", "fail"]}
            for n in TASKS
        ),
        reads({task: [value, 0] for task, value in OF_Q.items()}),
    ),
    "a column an attempt": one(
        "flat.csv",
        "problem,pass_0,pass_1\n"
        + "".join(f"q{n},{PASSES[n]},{1 - PASSES[n]}\n" for n in TASKS),
        asks("reward: ?", "pass_0", "pass_1"),
    ),
    "correct and incorrect by epoch": one(
        "epochs.jsonl",
        lines(
            {"id": f"q{n}", "epoch": e, "value": "C" if PASSES[n] else "I"}
            for n in TASKS
            for e in (1, 2)
        ),
        reads({task: [value, value] for task, value in OF_Q.items()}),
    ),
    "ids that stand for several questions": one(
        "again.jsonl",
        lines(
            {"id": n % 6, "question": f"other {n}", "correct": PASSES[n]} for n in TASKS
        ),
        asks("task: ?", "question"),
    ),
    "a probability beside the verdict": one(
        "prob.jsonl",
        lines(
            {"qid": f"q{n}", "prob_correct": n / 20, "correct": PASSES[n]}
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "dollars": one(
        "dollars.csv",
        "id,score\n" + "".join(f"q{n},${n}.50\n" for n in TASKS),
        asks("reward: ?"),
    ),
    "letter grades": one(
        "grades.jsonl",
        lines({"id": f"q{n}", "grade": "ABC"[n % 3]} for n in TASKS),
        asks("A: ?", "B: ?", "C: ?"),
    ),
    "yes is bad": one(
        "harm.jsonl",
        lines({"id": f"q{n}", "is_harmful": ["yes", "no"][PASSES[n]]} for n in TASKS),
        reads(OF_Q),
    ),
    "a number without a telling name": one(
        "broken.jsonl",
        lines({"behavior_id": f"q{n}", "jailbroken": bool(PASSES[n])} for n in TASKS),
        asks("direction: ?", "jailbroken"),
    ),
    "an embedding": one(
        "embedding.jsonl",
        lines(
            {"id": f"q{n}", "embedding": [0.1, 0.2], "similarity": n / 20}
            for n in TASKS
        ),
        reads(FLOATS),
    ),
    "a table with its columns": one(
        "table.json",
        {
            "columns": ["step", "prompt", "reward"],
            "data": [[n, f"q{n}", n / 20] for n in TASKS],
        },
        reads(FLOATS),
    ),
    "the last page": one(
        "items.json",
        {
            "data": [
                {
                    "id": f"outputitem_{n:024x}",
                    "datasource_item_id": n,
                    "status": "pass" if PASSES[n] else "fail",
                    "results": [{"name": "g", "passed": bool(PASSES[n])}],
                }
                for n in TASKS
            ],
            "has_more": False,
        },
        reads(OF_N),
    ),
    "Excel's separator": one(
        "excel.csv",
        "sep=;\nid;score\n" + "".join(f"q{n};{PASSES[n]}\n" for n in TASKS),
        reads(OF_Q),
    ),
    "two evaluators of an item": one(
        "evals.jsonl",
        lines(
            {
                "item": {"id": f"q{n}"},
                "evals": [
                    {"evaluator": "a", "score": n / 20},
                    {"evaluator": "b", "score": 1 - n / 20},
                ],
            }
            for n in TASKS
        ),
        asks("reward: ?", "a (0..0.55)", "b (0.45..1)"),
    ),
    "ids that are decimals": one(
        "float.jsonl",
        lines({"id": float(n), "score": PASSES[n]} for n in TASKS),
        asks("task: ?"),
    ),
    "names of a spreadsheet": one(
        "sheet.csv",
        "ID,Question,Model Answer,Correct?\n"
        + "".join(
            f"q{n},what {n},x,{'TRUE' if PASSES[n] else 'FALSE'}\n" for n in TASKS
        ),
        reads(OF_Q),
    ),
    "camel case": one(
        "camel.jsonl",
        lines({"taskId": f"q{n}", "isCorrect": bool(PASSES[n])} for n in TASKS),
        reads(OF_Q),
    ),
    "hashes beside prompts": one(
        "hashes.jsonl",
        lines({"hash": f"{n:064x}", "prompt": f"q{n}", "score": n / 20} for n in TASKS),
        reads(FLOATS),
    ),
    "a score of codes": one(
        "codes.json",
        [{"instruction": f"q{n}", "preference": 1 + n % 2} for n in TASKS],
        asks("reward: ?", "preference (1..2)"),
    ),
    "a sentinel": one(
        "sentinel.jsonl",
        lines({"question_id": n, "score": -1 if n == 3 else n} for n in TASKS),
        asks("missing: ?", "-1, in 1 of 12 rows"),
    ),
    "a score in a third of the rows": one(
        "rare.jsonl",
        lines(
            {"id": f"q{n}", "score": n / 20} if n % 3 == 0 else {"id": f"q{n}"}
            for n in TASKS
        ),
        asks("reward: ?", "in 4 of 12 rows"),
    ),
    "a log of many lines without rows": one(
        "log.jsonl",
        lines({"level": "info", "msg": f"step {n}"} for n in TASKS),
        asks("reward: ?"),
    ),
    "broken in the middle": one(
        "cut.json", json.dumps([{"id": "a", "score": 1}] * 3)[:-9], refuses("cut.json")
    ),
    "runs with a summary each": one(
        "runs.json",
        {
            f"run{k}": {
                "acc": 0.5,
                "results": [{"id": f"q{n}", "correct": PASSES[n]} for n in TASKS],
            }
            for k in range(2)
        },
        reads({task: [value, value] for task, value in OF_Q.items()}),
    ),
    "runs of objects by id": one(
        "by_run.json",
        {
            f"run{k}": {"results": {f"q{n}": {"ok": PASSES[n] > 0} for n in TASKS}}
            for k in range(2)
        },
        reads({task: [value, value] for task, value in OF_Q.items()}),
    ),
    "models in a list, each with its results": one(
        "models.json",
        [
            {
                "model": model,
                "results": [{"id": f"q{n}", "correct": PASSES[n]} for n in TASKS],
            }
            for model in "ab"
        ],
        reads({task: [value, value] for task, value in OF_Q.items()}),
    ),
    "attempts with ids of their own": one(
        "own.jsonl",
        lines(
            {
                "question_id": f"q{n}",
                "attempts": [{"id": f"{n}-{k}", "passed": k > 0} for k in range(2)],
            }
            for n in TASKS
        ),
        reads({f"q{n}": [0, 1] for n in TASKS}),
    ),
    "judges of the answers below a header": one(
        "judges.json",
        {
            "meta": {"model": "m"},
            "by_question": {
                f"q{n}": [
                    {"judge": "a", "score": n / 20},
                    {"judge": "b", "score": n / 30},
                ]
                for n in TASKS
            },
        },
        asks("reward: ?", "a (0..0.55)", "b (0..0.366667)"),
    ),
    "errors without an id": one(
        "noid.jsonl",
        lines(
            {"error": "timeout"} if n == 5 else {"id": f"q{n}", "score": n / 20}
            for n in range(20)
        ),
        refuses("noid.jsonl:6", "no task id"),
    ),
    "lists of words by id": one(
        "ja.json",
        {f"q{n}": ["ja" if PASSES[n] else "nein", "nein"] for n in TASKS},
        reads({task: [value, 0] for task, value in OF_Q.items()}),
    ),
    "groups of completions": one(
        "groups.jsonl",
        lines(
            {
                "prompt_id": n,
                "group": [{"completion": "c", "reward": float(k)} for k in range(2)],
            }
            for n in TASKS
        ),
        reads({n: [0, 1] for n in TASKS}),
    ),
    "a verdict beside the assessments that it sums up": one(
        "overall.jsonl",
        lines(
            {
                "id": f"q{n}",
                "assessments": [{"name": "a", "passed": True}],
                "overall": {"passed": bool(PASSES[n])},
            }
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "one number": one("number.json", "42", refuses("number.json")),
}
