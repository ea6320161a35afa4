"""Odd files in the layouts of evaluation tools and of people's own scripts, with made-up content."""

import uuid

from rollouts.odd import asks, lines, one, reads, refuses

TASKS = range(12)
PARTS = {f"q{n}": n / 25 for n in TASKS}


def passes(task, attempt=0):
    return int((task * 7 + attempt * 5 + task * attempt) % 3 > 0)


def question(task):
    return f"What is the answer to the riddle number {task} of the old book?"


def reply(task, attempt=0):
    return f"I believe that it is {task * 31 + attempt * 7} by rule {attempt}"


def table(header, rows):
    return "\n".join([header, *rows]) + "\n"


def by_field(field, values, outcome):
    """Write a row for each task and each value of a field."""
    rows = [
        {"question_id": f"q{n}", field: value, "correct": bool(passes(n, k))}
        for n in TASKS
        for k, value in enumerate(values)
    ]
    return one("r.jsonl", lines(rows), outcome)


TOLD_APART = {
    "turns of a conversation": by_field(
        "turn",
        (1, 2),
        reads({f"q{n}/{k + 1}": passes(n, k) for n in TASKS for k in range(2)}),
    ),
    "a language of each question": by_field(
        "language",
        ("de", "en"),
        reads(
            {
                f"q{n}/{language}": passes(n, k)
                for n in TASKS
                for k, language in enumerate(("de", "en"))
            }
        ),
    ),
    "variants of a prompt": by_field(
        "prompt_variant", ("long", "short"), asks("[question_id, prompt_variant]")
    ),
    "conditions of an experiment": by_field(
        "condition", ("control", "treated"), asks("condition (control, treated)")
    ),
    "numbers of examples": by_field(
        "num_fewshot", (0, 5), asks("[question_id, num_fewshot]")
    ),
    "temperatures": by_field(
        "temperature", (0.0, 0.5, 1.0), asks("[question_id, temperature]")
    ),
    "checkpoints": by_field(
        "checkpoint", (1000, 2000, 3000), asks("[question_id, checkpoint]")
    ),
    "numbered attempts": by_field(
        "attempt",
        (0, 1, 2),
        reads({f"q{n}": [passes(n, k) for k in range(3)] for n in TASKS}),
    ),
    "as many steps for each task": one(
        "r.jsonl",
        lines(
            {
                "task": f"q{n}",
                "step": step,
                "reward": passes(n) if step == 2 else 0,
                "done": step == 2,
            }
            for n in TASKS
            for step in range(3)
        ),
        asks("[task, step]"),
    ),
    "more steps for some tasks": one(
        "r.jsonl",
        lines(
            {"task": f"q{n}", "step": step, "reward": n / 25 * (step == n % 3)}
            for n in TASKS
            for step in range(1 + n % 3)
        ),
        asks("[task, step]"),
    ),
    "events of two kinds": one(
        "r.jsonl",
        lines(
            row
            for n in TASKS
            for row in (
                {"event": "start", "id": f"q{n}"},
                {"event": "result", "id": f"q{n}", "score": n / 25},
            )
        ),
        asks("[id, event]", "where:"),
    ),
}

SCORES = {
    "metrics listed in a row, each with its result": one(
        "r.jsonl",
        lines(
            {
                "report": {
                    "scores": [
                        {"metricName": "Accuracy", "result": n / 25},
                        {"metricName": "Robustness", "result": n / 50},
                    ]
                },
                "record": {"prompt": question(n)},
            }
            for n in TASKS
        ),
        reads({question(n): n / 25 for n in TASKS}),
    ),
    "scores of which some are better low": one(
        "r.json",
        {
            "reports": [
                {
                    "competition_id": f"c{n}",
                    "score": 0.5 + n / 30,
                    "is_lower_better": bool(n % 2),
                }
                for n in TASKS
            ]
        },
        asks("better as is_lower_better says, which varies"),
    ),
    "scores that are all better low": one(
        "r.json",
        {
            "reports": [
                {"competition_id": f"c{n}", "score": n / 25, "is_lower_better": False}
                for n in TASKS
            ]
        },
        reads({f"c{n}": n / 25 for n in TASKS}),
    ),
    "rows that were skipped, with a zero": one(
        "r.jsonl",
        lines(
            {
                "id": f"q{n}",
                "status": "skipped" if n == 5 else "done",
                "score": 0.0 if n == 5 else n / 25,
            }
            for n in TASKS
        ),
        reads({f"q{n}": None if n == 5 else n / 25 for n in TASKS}),
    ),
    "verdicts before the text of a cell": one(
        "r.csv",
        table(
            "question,[model] prompt",
            [
                f"{question(n)},[{('FAIL', 'PASS')[passes(n)]}] {reply(n)}"
                for n in TASKS
            ],
        ),
        asks("no field looks like a reward"),
    ),
    "a score inside of a named score": one(
        "r.jsonl",
        lines(
            {
                "index": n,
                "input": question(n),
                "sample_score": {
                    "score": {
                        "value": {"acc": float(passes(n))},
                        "prediction": reply(n),
                    },
                    "sample_id": n,
                },
            }
            for n in TASKS
        ),
        reads({n: passes(n) for n in TASKS}),
    ),
    "grades of several attempts, with their mean": one(
        "r.jsonl",
        lines(
            {
                "idx": n + 1,
                "problem": question(n),
                "answers": [reply(n, k) for k in range(4)],
                "correct": [bool(passes(n, k)) for k in range(4)],
                "pass_at_1": sum(passes(n, k) for k in range(4)) / 4,
            }
            for n in TASKS
        ),
        reads({question(n): [passes(n, k) for k in range(4)] for n in TASKS}),
    ),
    "tries of which each ends at the first success": one(
        "r.jsonl",
        lines(
            {
                "testcase": f"q{n}",
                "tests_outcomes": [False, bool(passes(n))] if n % 2 else [True],
            }
            for n in TASKS
        ),
        asks("tests_outcomes (lists of 1 to 2"),
    ),
}

TABLES = {
    "a second table below the first": one(
        "r.csv",
        table("id,score", [f"q{n},{n / 25}" for n in TASKS])
        + "\n"
        + table("category,mean", ["a,0.25", "b,0.125"]),
        refuses("row 13 has 'mean' at 'score'", "a second table"),
    ),
    "a mean below columns of percentages": one(
        "r.csv",
        table(
            "subject,accuracy", [f"s{n},{50 + n}%" for n in TASKS] + ["Average,55.5%"]
        ),
        refuses("subject: Average", "a total"),
    ),
    "a table of columns and data": one(
        "r.json",
        {
            "columns": ["id", "question", "score"],
            "data": [[f"q{n}", question(n), n / 25] for n in TASKS],
            "ncols": 3,
            "nrows": 12,
            "_type": "table-file",
        },
        reads(PARTS),
    ),
    "rows by model and by task": one(
        "r.json",
        {
            model: {f"q{n}": passes(n, k) for n in TASKS}
            for k, model in enumerate(("ada", "bea"))
        },
        reads({f"q{n}": [passes(n, 0), passes(n, 1)] for n in TASKS}, agents=2),
    ),
    "a line about the run above the rows": one(
        "r.jsonl",
        lines([{"model": "m", "date": "2026-05-01"}])
        + lines({"id": f"q{n}", "score": n / 25} for n in TASKS),
        refuses("r.jsonl:1", "no task id"),
    ),
    "a line with the mean below the rows": one(
        "r.jsonl",
        lines({"id": f"q{n}", "score": n / 25} for n in TASKS)
        + lines([{"accuracy": 0.22, "n": 12}]),
        refuses("r.jsonl:13", "no task id"),
    ),
    "lists side by side": one(
        "r.json",
        {"ids": list(PARTS), "scores": list(PARTS.values())},
        refuses("one row"),
    ),
}


def drawn(n):
    """Make an id that looks drawn at random."""
    return str(uuid.UUID(int=(n + 7) ** 25 % 2**128))


def graded(n):
    return {"prompt": question(n), "correct": passes(n, 0) == 1}


# domain -> how many tasks it has
DOMAINS = {"chrome": 4, "gimp": 2, "os": 1, "vlc": 3}
OF_DOMAINS = {
    domain: {drawn(10 * place + n): n % 2 for n in range(count)}
    for place, (domain, count) in enumerate(DOMAINS.items())
}
GRADED = {str(n): graded(n) for n in TASKS}
VERDICTS = {str(n): passes(n, 0) for n in TASKS}

DESCRIBED = {
    "numbers by task below each domain": one(
        "r.json",
        {d: {f"{d}-{n}": n / 25 for n in TASKS} for d in ("gimp", "vlc")},
        reads({f"{d}-{n}": n / 25 for d in ("gimp", "vlc") for n in TASKS}),
    ),
    "numbers by random ids below domains of a few tasks": one(
        "r.json",
        OF_DOMAINS,
        asks("task: ?", "id (the keys, which are random ids) if the next run"),
    ),
    "rows with random ids below each domain": one(
        "r.json",
        {
            domain: [{"id": drawn(10 * place + n), "score": n % 2} for n in range(6)]
            for place, domain in enumerate(DOMAINS)
        },
        asks("task: ?", "id if the next run has the same, _parent._key if each"),
    ),
    "few numbers by task below each domain": one(
        "r.json",
        {"gimp": {"gimp-0": 1.0, "gimp-1": 0.0}, "vlc": {"vlc-0": 0.5}},
        refuses("gimp, vlc", "fields: {task: [_parent._key, id], reward: value}"),
    ),
    "a type among objects by number": one(
        "r.json",
        {"accuracy": 50.0, "details": {"type": "GEN", **GRADED}},
        reads(VERDICTS),
    ),
    "a type among objects by number, of two data sets": one(
        "r.json",
        {
            name: {"accuracy": 50.0, "details": {"type": "GEN", **GRADED}}
            for name in ("gsm8k", "math")
        },
        reads(
            {f"{n}/{name}": passes(n, 0) for name in ("gsm8k", "math") for n in TASKS}
        ),
    ),
}

LAYOUTS = {**TOLD_APART, **SCORES, **TABLES, **DESCRIBED}
