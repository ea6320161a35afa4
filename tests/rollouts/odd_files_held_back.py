"""Odd files and what comes of each: the half that was not looked at while the guess was built."""

import json

from rollouts.odd import OddFile, asks, lines, one, reads, refuses

TASKS = range(15)
WINS = {n: int(n % 5 > 1) for n in TASKS}  # three of five
OF_T = {f"t{n}": WINS[n] for n in TASKS}
RATES = {f"t{n}": n / 32 for n in TASKS}


def uuid(n, salt=7919):
    return f"{n * salt:08x}-{n:04x}-4c1d-8e2f-{n * 104729 + 17:012x}"


def verdicts(yes, no):
    return [yes if WINS[n] else no for n in TASKS]


HELD_BACK = {
    # -- the row
    "a trajectory of a coding agent": one(
        "preds.json",
        [
            {
                "instance_id": f"t{n}",
                "resolved": bool(WINS[n]),
                "trajectory": [{"action": "ls", "observation": "", "exit_code": 0}] * 4,
            }
            for n in TASKS
        ],
        reads(OF_T),
    ),
    "a rubric by criterion": one(
        "rubric.json",
        {
            f"t{n}": {
                "score": n / 32,
                "rubric": [{"criterion": c, "points": n % 3} for c in "abc"],
            }
            for n in TASKS
        },
        reads(RATES),
    ),
    "turns of a dialogue under data": one(
        "dialogues.json",
        {
            "version": "1.2",
            "data": [
                {
                    "dialog_id": f"d{n}",
                    "example_id": f"t{n}",
                    "grade": {"success": bool(WINS[n])},
                    "turns": [{"speaker": "u", "text": "a", "score": 0.1 * n}] * 2,
                }
                for n in TASKS
            ],
        },
        reads(OF_T),
    ),
    "metrics of a score": one(
        "metrics.jsonl",
        lines(
            {
                "qid": f"t{n}",
                "final_score": n / 32,
                "metrics": [
                    {"name": "bleu", "value": 0.1},
                    {"name": "len", "value": n},
                ],
            }
            for n in TASKS
        ),
        reads(RATES),
    ),
    "events of runs": one(
        "events.json",
        {
            "runs": [
                {
                    "task": f"t{n}",
                    "attempt": k,
                    "reward": WINS[n] * k,
                    "events": [{"t": 0.1, "type": "a", "value": 1}] * 5,
                }
                for n in TASKS
                for k in range(2)
            ]
        },
        reads({task: [0, value] for task, value in OF_T.items()}),
    ),
    "samples that hold the verdict": one(
        "samples.json",
        {
            "dataset": "d",
            "problems": [
                {
                    "name": f"t{n}",
                    "difficulty": "easy",
                    "samples": [{"text": "x", "is_correct": bool(WINS[n])}] * 2,
                }
                for n in TASKS
            ],
        },
        reads({task: [value, value] for task, value in OF_T.items()}),
    ),
    "retrieved documents with scores": one(
        "rag.jsonl",
        lines(
            {
                "query_id": f"t{n}",
                "query": f"what is {n}",
                "faithfulness": n / 32,
                "contexts": [{"id": "d1", "text": "x", "score": 0.9 - n / 99}] * 3,
            }
            for n in TASKS
        ),
        reads(RATES),
    ),
    "two judges of one answer": one(
        "judges.jsonl",
        lines(
            {
                "question_id": f"t{n}",
                "judgments": [
                    {"judge": "gpt", "score": n % 4},
                    {"judge": "claude", "score": (n + 1) % 4},
                ],
            }
            for n in TASKS
        ),
        asks("reward: ?", "gpt", "claude"),
    ),
    # -- the reward
    "evalscope": one(
        "evalscope.jsonl",
        lines(
            {
                "index": n,
                "model": "m",
                "valid": True,
                "score": {
                    "score": {"value": {"acc": float(WINS[n])}},
                    "explanation": None,
                },
            }
            for n in TASKS
        ),
        reads(dict(WINS.items())),
    ),
    "a finish reason and a number": one(
        "finish.jsonl",
        lines(
            {
                "sample_key": f"t{n}",
                "problem_id": f"t{n}",
                "finish_reason": "stop",
                "state": "completed",
                "is_cached": bool(n % 2),
                "evaluation": {"exact_match": WINS[n]},
                "usage": {"input": 3 * n, "output": n},
            }
            for n in TASKS
        ),
        reads(OF_T),
    ),
    "all failed": one(
        "zero.json",
        [{"task_id": f"t{n}", "resolved": False, "cost": n / 3} for n in TASKS],
        asks("reward: ?", "resolved", "always 0"),
    ),
    "precision and recall": one(
        "pr.csv",
        "doc_id,precision,recall\n"
        + "".join(f"t{n},{n / 32},{1 - n / 32}\n" for n in TASKS),
        asks("reward: ?", "precision", "recall"),
    ),
    "a column a model": one(
        "wide.csv",
        "question,gpt_correct,claude_correct\n"
        + "".join(f"t{n},{WINS[n]},{1 - WINS[n]}\n" for n in TASKS),
        asks("reward: ?", "gpt_correct", "claude_correct"),
    ),
    "Spanish": one(
        "es.csv",
        "pregunta_id;acierto\n"
        + "".join(f"t{n};{word}\n" for n, word in enumerate(verdicts("sí", "no"))),
        reads(OF_T),
    ),
    "emoji": one(
        "emoji.jsonl",
        lines(
            {"case": f"t{n}", "result": word}
            for n, word in enumerate(verdicts("✅", "❌"))
        ),
        reads(OF_T),
    ),
    "upper case in nested objects": one(
        "upper.jsonl",
        lines(
            {"meta": {"task_id": f"t{n}"}, "grading": {"verdict": word}}
            for n, word in enumerate(verdicts("CORRECT", "INCORRECT"))
        ),
        reads(OF_T),
    ),
    "booleans as text": one(
        "texts.json",
        [
            {"id": f"t{n}", "solved": word}
            for n, word in enumerate(verdicts("True", "False"))
        ],
        reads(OF_T),
    ),
    "a verdict with words that are not known": one(
        "partly.jsonl",
        lines(
            {"task_id": f"t{n}", "verdict": "needs review" if n == 3 else word}
            for n, word in enumerate(verdicts("pass", "fail"))
        ),
        asks("needs review: ?"),
    ),
    # -- the task
    "span ids beside prompts": one(
        "spans.jsonl",
        lines(
            {
                "span_id": uuid(n + 100 * k),
                "session_id": uuid(k),
                "prompt": f"t{n}",
                "score": n / 32,
            }
            for k in range(2)
            for n in TASKS
        ),
        reads({task: [value, value] for task, value in RATES.items()}),
    ),
    "ids of scores": one(
        "scores.json",
        {
            "data": [
                {"id": uuid(n), "traceId": uuid(n, 31), "name": "q", "value": n / 32}
                for n in TASKS
            ],
            "meta": {"page": 1, "limit": 50, "totalItems": 15, "totalPages": 1},
        },
        asks("task: ?"),
    ),
    "languages and numbers": one(
        "languages.jsonl",
        lines(
            {"lang": lang, "id": n, "passed": bool(WINS[n])}
            for lang in ("de", "fr", "ja")
            for n in TASKS
        ),
        reads({f"{lang}/{n}": WINS[n] for lang in ("de", "fr", "ja") for n in TASKS}),
    ),
    "a task that repeats by seed": one(
        "seeds.csv",
        "problem,seed,solved\n"
        + "".join(
            f"t{n},{k},{int(k > 0) * WINS[n]}\n" for n in TASKS for k in range(3)
        ),
        reads({task: [0, value, value] for task, value in OF_T.items()}),
    ),
    # -- numbers
    "German numbers": one(
        "zahlen.csv",
        "id;punkte\n" + "".join(f"t{n};1.{n:03},5\n" for n in TASKS),
        reads({f"t{n}": 1000 + n + 0.5 for n in TASKS}),
    ),
    "percent with a space, in JSON": one(
        "prozent.json",
        [{"id": f"t{n}", "accuracy": f"{n} %"} for n in TASKS],
        reads({f"t{n}": n / 100 for n in TASKS}),
    ),
    "numbers as text": one(
        "quoted.jsonl",
        lines({"id": f"t{n}", "score": f"{n / 32}"} for n in TASKS),
        reads(RATES),
    ),
    "percent in some rows": one(
        "some.csv",
        "id,accuracy\nt0,85%\nt1,0.9\nt2,70%\n",
        refuses("85%", "0.9"),
    ),
    # -- files
    "tabs and a byte-order mark": one(
        "bom.tsv",
        "\ufefftask_id\tcorrect\n" + "".join(f"t{n}\t{WINS[n]}\n" for n in TASKS),
        reads(OF_T),
    ),
    "columns of pandas": one(
        "pandas.json",
        {
            "task_id": {str(n): f"t{n}" for n in TASKS},
            "score": {str(n): n / 32 for n in TASKS},
        },
        refuses("orient"),
    ),
    "a cursor": one(
        "cursor.json",
        {
            "items": [{"id": f"t{n}", "score": n / 32} for n in TASKS],
            "next_cursor": "abc",
        },
        refuses("next_cursor"),
    ),
    "the first of three pages": one(
        "langfuse.json",
        {
            "data": [
                {"id": uuid(n), "itemId": f"t{n}", "value": n / 32} for n in TASKS
            ],
            "meta": {"page": 1, "limit": 15, "totalItems": 45, "totalPages": 3},
        },
        refuses("page 1 of 3"),
    ),
    "a folder by subject": OddFile(
        files={
            f"out/{subject}/t{n}.json": json.dumps(
                {"subject": subject, "item_id": f"t{n}", "security": bool(WINS[n])},
                indent=4,
            )
            for subject in ("bank", "slack")
            for n in TASKS
        },
        path="out",
        outcome=reads({f"{s}/t{n}": WINS[n] for s in ("bank", "slack") for n in TASKS}),
    ),
    "numbers and errors by id": one(
        "mixed.json",
        {f"t{n}": {"error": "500"} if n == 3 else n / 32 for n in range(20)},
        reads({f"t{n}": None if n == 3 else n / 32 for n in range(20)}),
    ),
    "rows with errors in a list": one(
        "failed.json",
        {
            "config": {"temperature": 0.7, "seed": 1},
            "outputs": [
                {"uid": f"t{n}", "error": {"type": "Timeout", "message": "m"}}
                if n == 4
                else {"uid": f"t{n}", "pass": bool(WINS[n])}
                for n in TASKS
            ],
        },
        reads({task: None if task == "t4" else value for task, value in OF_T.items()}),
    ),
    "questions without grades": one(
        "dataset.jsonl",
        lines({"question": f"what is {n}?", "answer": f"a{n}"} for n in TASKS),
        asks("reward: ?"),
    ),
    "no rows": one("none.json", {"results": [], "model": "m"}, refuses("none.json")),
    "text": one("notes.json", '"only a text"', refuses("notes.json")),
}
