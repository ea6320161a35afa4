"""Odd files in the style of exports that people make by hand, with outcomes that were written down first."""

import gzip
import json
import unicodedata

from rollouts.odd import OddFile, asks, lines, one, reads, refuses

TASKS = range(12)
ATTEMPTS = range(3)
WORDS = [
    "ash",
    "beech",
    "cedar",
    "date",
    "elm",
    "fir",
    "grape",
    "hazel",
    "iris",
    "juniper",
    "kapok",
    "larch",
    "maple",
    "nutmeg",
    "oak",
    "pine",
    "quince",
    "rowan",
    "sorrel",
    "thyme",
    "umber",
    "vine",
    "willow",
    "yew",
    "zinnia",
]
QUESTIONS = [
    f"What is the {word} in the riddle of the {other}?"
    for word, other in zip(WORDS[:12], WORDS[12:24], strict=True)
]
PARTS = [n / 25 for n in TASKS]
OF_Q = {f"q{n}": n // 2 % 2 for n in TASKS}  # 0, 0, 1, 1, ...


def verdict(n, k):
    """Decide an attempt: of four tasks one always passes, one never, and two sometimes."""
    kind = n % 4
    if kind in (0, 3):
        return int(kind == 0)
    return int(k < kind)


OF_QUESTIONS = {QUESTIONS[n]: [verdict(n, k) for k in ATTEMPTS] for n in TASKS}
OF_ATTEMPTS = {f"q{n}": [verdict(n, k) for k in ATTEMPTS] for n in TASKS}
OF_NUMBERS = {n: [verdict(n, k) for k in ATTEMPTS] for n in TASKS}


def answer(n, k):
    """Write an answer that no other attempt gives."""
    return f"I believe that it is the {WORDS[n]}, for reason {n * 31 + k * 7}."


def digest(n, k):
    return f"{(n * 7919 + k * 104729 + 12345) * 2654435761 % 2**64:016x}"


def attempts(**columns):
    """Write a row for each attempt at each task."""
    rows = []
    for n in TASKS:
        for k in ATTEMPTS:
            row = {}
            for name, value in columns.items():
                row[name] = value(n, k) if callable(value) else value
            rows.append(row)
    return rows


def qid(n, _=0):
    return f"q{n}"


def attempt(_, k):
    return k


def task_number(n, _):
    return n


def question(n, _=0):
    return QUESTIONS[n]


def first_verdict(n):
    return n // 2 % 2


def csv(rows, separator=","):
    """Write a CSV of rows that hold no separators."""
    header = separator.join(rows[0])
    cells = [separator.join(str(value) for value in row.values()) for row in rows]
    return "\n".join([header, *cells]) + "\n"


# Columns of the whole run, answers and keys of a row: none of them is a task.
CONSTANTS = {
    "a constant run id beside attempts and their answers": one(
        "r.jsonl",
        lines(
            attempts(run_id="run-7", attempt=attempt, answer=answer, correct=verdict)
        ),
        asks("attempt numbers attempts", "add the question's id"),
    ),
    "a constant experiment beside attempts and their answers": one(
        "r.jsonl",
        lines(
            attempts(
                experiment="baseline-v2",
                trial=attempt,
                response=answer,
                correct=verdict,
            )
        ),
        asks("task: ?"),
    ),
    "a constant task id beside attempts and their answers": one(
        "r.jsonl",
        lines(
            attempts(task_id="gsm8k", attempt=attempt, output=answer, correct=verdict)
        ),
        asks("task: ?"),
    ),
    "a constant model beside attempts and their texts": one(
        "r.csv",
        csv(
            attempts(
                model="gpt-9",
                attempt=attempt,
                text=lambda n, k: digest(n, k) + " it is",
                score=verdict,
            )
        ),
        asks("task: ?"),
    ),
    "a commit and a date of the run beside hashes of answers": one(
        "r.jsonl",
        lines(
            attempts(
                commit="9f1c2d3e",
                date="2026-05-01",
                sample=attempt,
                completion_sha=digest,
                passed=verdict,
            )
        ),
        asks("task: ?"),
    ),
    "row ids and a constant run id beside a verdict": one(
        "r.jsonl",
        lines(attempts(id=digest, run_id="r1", attempt=attempt, passed=verdict)),
        asks("task: ?"),
    ),
    "a constant id and a question that repeats": one(
        "r.jsonl",
        lines(
            attempts(
                task_id="riddles",
                question=question,
                attempt=attempt,
                answer=answer,
                correct=verdict,
            )
        ),
        reads(OF_QUESTIONS),
    ),
    "a run id and a prompt that repeats, without a number of the attempt": one(
        "r.jsonl",
        lines(
            attempts(run_id="7", prompt=question, completion=answer, correct=verdict)
        ),
        reads(OF_QUESTIONS),
    ),
    "a constant benchmark, a row id and a question that repeats": one(
        "r.csv",
        csv(
            attempts(
                benchmark="riddles",
                row_id=digest,
                question=question,
                epoch=attempt,
                correct=verdict,
            )
        ),
        reads(OF_QUESTIONS),
    ),
    "a constant group id, an index that repeats and answers": one(
        "r.jsonl",
        lines(
            attempts(
                group_id="g",
                problem_idx=task_number,
                rollout=attempt,
                answer=answer,
                reward=verdict,
            )
        ),
        reads(OF_NUMBERS),
    ),
    "a constant version, and questions with an attempt each": one(
        "r.jsonl",
        lines(
            [
                {
                    "version": "1.2",
                    "question": QUESTIONS[n],
                    "answer": answer(n, 0),
                    "correct": first_verdict(n),
                }
                for n in TASKS
            ]
        ),
        reads({QUESTIONS[n]: first_verdict(n) for n in TASKS}),
    ),
    "answers alone beside a verdict": one(
        "r.jsonl",
        lines(attempts(answer=answer, attempt=attempt, correct=verdict)),
        asks("task: ?"),
    ),
    "times of calls as the only thing that is unique": one(
        "r.jsonl",
        lines(
            attempts(
                model="m",
                timestamp=lambda n, k: f"2026-05-01T10:{n:02}:{k * 7:02}Z",
                attempt=attempt,
                correct=verdict,
            )
        ),
        asks("task: ?"),
    ),
    "times as numbers, which are unique, beside a verdict": one(
        "r.csv",
        csv(attempts(created_at=lambda n, k: 1777629600 + n * 60 + k, correct=verdict)),
        asks("task: ?"),
    ),
    "reasoning and a final answer, beside a constant data set": one(
        "r.jsonl",
        lines(
            attempts(
                dataset="aime",
                split="test",
                reasoning=lambda n, k: f"First {answer(n, k)}",
                final_answer=lambda n, k: str(n * 100 + k),
                seed=attempt,
                correct=verdict,
            )
        ),
        asks("task: ?"),
    ),
}

# The layout of the rows.
LAYOUTS = {
    "agents of one file": one(
        "r.csv",
        csv(
            [
                {"agent": agent, "task": f"q{n}", "reward": int((n + shift) % 3 > 0)}
                for shift, agent in enumerate(["alpha", "beta"])
                for n in TASKS
            ]
        ),
        reads(
            {f"q{n}": [int(n % 3 > 0), int((n + 1) % 3 > 0)] for n in TASKS}, agents=2
        ),
    ),
    "a log of events, of which the last holds the verdict": one(
        "log.jsonl",
        lines(
            [
                event
                for n in TASKS
                for event in (
                    {"event": "start", "task": f"q{n}"},
                    {
                        "event": "end",
                        "task": f"q{n}",
                        "success": bool(first_verdict(n)),
                    },
                )
            ]
        ),
        asks(),
    ),
    "episodes, each with its steps, below a run": one(
        "run.json",
        {
            "run": {"id": "r1", "seed": 3},
            "episodes": [
                {
                    "episode_id": f"q{n}",
                    "total_reward": PARTS[n],
                    "steps": [
                        {"reward": 0.0, "action": "a"},
                        {"reward": PARTS[n], "action": "b"},
                    ],
                }
                for n in TASKS
            ],
        },
        asks("episode_id"),
    ),
    "results below two levels of settings": one(
        "run.json",
        {
            "config": {"model": {"name": "m", "temperature": 0.5}},
            "output": {
                "results": {
                    "rows": [
                        {"qid": f"q{n}", "grade": {"judge": {"score": PARTS[n]}}}
                        for n in TASKS
                    ]
                }
            },
        },
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "a reward five objects deep": one(
        "r.jsonl",
        lines(
            [
                {
                    "id": f"q{n}",
                    "a": {"b": {"c": {"d": {"accuracy": PARTS[n], "n": 1}}}},
                }
                for n in TASKS
            ]
        ),
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "pandas, orient split": one(
        "r.json",
        {
            "columns": ["qid", "correct"],
            "index": list(TASKS),
            "data": [[f"q{n}", first_verdict(n)] for n in TASKS],
        },
        reads(OF_Q),
    ),
    "pandas, orient split, with attempts and answers": one(
        "r.json",
        {
            "columns": ["question", "run", "answer", "correct"],
            "index": list(range(36)),
            "data": [
                [QUESTIONS[n], k, answer(n, k), verdict(n, k)]
                for n in TASKS
                for k in ATTEMPTS
            ],
        },
        reads(OF_QUESTIONS),
    ),
    "pandas, orient index, by the task's name": one(
        "r.json",
        {f"q{n}": {"correct": first_verdict(n), "latency": 1.5 + n} for n in TASKS},
        reads(OF_Q),
    ),
    "pandas, orient columns, by position": one(
        "r.json",
        {
            "qid": {str(n): f"q{n}" for n in TASKS},
            "correct": {str(n): bool(first_verdict(n)) for n in TASKS},
        },
        refuses("orient='records'"),
    ),
    "pandas, orient table": one(
        "r.json",
        {
            "schema": {
                "fields": [
                    {"name": "index", "type": "integer"},
                    {"name": "task", "type": "string"},
                    {"name": "score", "type": "number"},
                ],
                "primaryKey": ["index"],
                "pandas_version": "1.4.0",
            },
            "data": [{"index": n, "task": f"q{n}", "score": PARTS[n]} for n in TASKS],
        },
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "pandas, orient columns, with a column of two models": one(
        "r.json",
        {
            "model": {
                str(n + 12 * m): name for m, name in enumerate("ab") for n in TASKS
            },
            "task": {str(n + 12 * m): f"q{n}" for m in range(2) for n in TASKS},
            "score": {
                str(n + 12 * m): PARTS[n] + m / 2 for m in range(2) for n in TASKS
            },
        },
        refuses("orient='records'"),
    ),
    "values by id": one(
        "r.json",
        {f"q{n}": PARTS[n] for n in TASKS},
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "lists of numbers by id, below the settings": one(
        "r.json",
        {
            "meta": {"model": "m", "k": 3},
            "rewards": OF_ATTEMPTS,
        },
        reads(OF_ATTEMPTS),
    ),
    "attempts by number below each question": one(
        "r.json",
        {
            "meta": {"model": "m"},
            "by_question": {
                f"q{n}": {
                    f"attempt_{k}": {"answer": answer(n, k), "correct": verdict(n, k)}
                    for k in ATTEMPTS
                }
                for n in TASKS
            },
        },
        reads(OF_ATTEMPTS),
    ),
    "a JSON object in a column of a CSV": one(
        "r.csv",
        "question_id,result\n"
        + "".join(
            f'q{n},"{{""score"": {PARTS[n]}, ""why"": ""because, and so""}}"\n'
            for n in TASKS
        ),
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "a list of verdicts in a column of a CSV": one(
        "r.csv",
        "question_id,verdicts\n"
        + "".join(
            f'q{n},"[{verdict(n, 0)}, {verdict(n, 1)}, {verdict(n, 2)}]"\n'
            for n in TASKS
        ),
        reads(OF_ATTEMPTS),
    ),
    "a folder of one object a file, named by its task": OddFile(
        files={
            f"out/q{n}.json": json.dumps(
                {"answer": answer(n, 0), "score": PARTS[n]}, indent=2
            )
            for n in TASKS
        },
        path="out",
        outcome=asks("task: ?"),
    ),
    "a folder of one object a file, with its task inside": OddFile(
        files={
            f"out/{n:03}.json": json.dumps(
                {"task_id": f"q{n}", "score": PARTS[n], "log": [{"t": 1}]}, indent=2
            )
            for n in TASKS
        },
        path="out",
        outcome=reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "runs of one file, each with its cases": one(
        "runs.json",
        {
            "runs": [
                {
                    "run_id": k,
                    "cases": [
                        {"case": f"q{n}", "passed": bool(verdict(n, k))} for n in TASKS
                    ],
                }
                for k in ATTEMPTS
            ]
        },
        reads(OF_ATTEMPTS),
    ),
    "a folder a run, with the same questions": OddFile(
        files={
            f"runs/{k}/results.jsonl": lines(
                [
                    {
                        "qid": f"q{n}",
                        "question": QUESTIONS[n],
                        "answer": answer(n, k),
                        "correct": verdict(n, k),
                    }
                    for n in TASKS
                ]
            )
            for k in ATTEMPTS
        },
        path="runs",
        outcome=reads(OF_ATTEMPTS),
    ),
    "only an aggregate, with its count": one(
        "summary.json",
        {"model": "m", "accuracy": 0.73, "n": 400, "stderr": 0.02},
        refuses(),
    ),
    "aggregates by benchmark": one(
        "summary.json",
        {
            "model": "m",
            "results": {
                "gsm8k": {"accuracy": 0.81, "n": 1319},
                "aime": {"accuracy": 0.4, "n": 30},
                "mmlu": {"accuracy": 0.7, "n": 14042},
            },
        },
        asks("mean over several tasks"),
    ),
    "attempts in columns, with a mean behind them": one(
        "r.csv",
        "task,run1,run2,run3,mean\n"
        + "".join(
            f"q{n},{verdict(n, 0)},{verdict(n, 1)},{verdict(n, 2)},{sum(verdict(n, k) for k in ATTEMPTS) / 3:.4f}\n"
            for n in TASKS
        ),
        asks(),
    ),
    "several rewards of which none is named so": one(
        "r.jsonl",
        lines(
            [
                {
                    "id": f"q{n}",
                    "helpfulness": (n % 5) / 4,
                    "harmlessness": (n % 3) / 2,
                    "honesty": (n % 7) / 6,
                }
                for n in TASKS
            ]
        ),
        asks("helpfulness", "harmlessness"),
    ),
    "rewards under one object, none of them first": one(
        "r.jsonl",
        lines(
            [
                {
                    "id": f"q{n}",
                    "metrics": {
                        "bleu": PARTS[n],
                        "rouge": PARTS[11 - n],
                        "length": 30 + n,
                    },
                }
                for n in TASKS
            ]
        ),
        asks("bleu", "rouge"),
    ),
}

# What a cell says.
CELLS = {
    "oui and non": one(
        "r.csv",
        csv(
            [
                {"tache": f"q{n}", "correct": "oui" if first_verdict(n) else "non"}
                for n in TASKS
            ]
        ),
        reads(OF_Q),
    ),
    "bestanden and durchgefallen": one(
        "r.csv",
        csv(
            [
                {
                    "Aufgabe": f"q{n}",
                    "Ergebnis": "bestanden" if first_verdict(n) else "durchgefallen",
                }
                for n in TASKS
            ],
            ";",
        ),
        reads(OF_Q),
    ),
    "correcto and incorrecto, of a Spanish": one(
        "r.csv",
        csv(
            [
                {
                    "tarea": f"q{n}",
                    "resultado": "Correcto" if first_verdict(n) else "Incorrecto",
                }
                for n in TASKS
            ]
        ),
        reads(OF_Q),
    ),
    "PASS, FAIL and ERROR": one(
        "r.csv",
        csv(
            [
                {
                    "case": f"q{n}",
                    "result": "ERROR"
                    if n == 5
                    else ("PASS" if first_verdict(n) else "FAIL"),
                }
                for n in TASKS
            ]
        ),
        reads({f"q{n}": None if n == 5 else first_verdict(n) for n in TASKS}),
    ),
    "pass, fail and skipped": one(
        "r.jsonl",
        lines(
            [
                {
                    "test": f"q{n}",
                    "outcome": "skipped"
                    if n == 5
                    else ("pass" if first_verdict(n) else "fail"),
                }
                for n in TASKS
            ]
        ),
        reads({f"q{n}": None if n == 5 else first_verdict(n) for n in TASKS}),
    ),
    "percent and thousands in their own columns": one(
        "r.csv",
        "task;tokens;score\n"
        + "".join(f"q{n};{n + 1}.250;{n * 4},5 %\n" for n in TASKS),
        reads({f"q{n}": (n * 4 + 0.5) / 100 for n in TASKS}),
    ),
    "cells of which one is a fraction of hundred": one(
        "r.csv",
        "task,score\n" + "".join(f"q{n},{n / 20:.2f}\n" for n in TASKS) + "q12,85%\n",
        refuses("85%"),
    ),
    "scores out of ten": one(
        "r.csv",
        "task,score\n" + "".join(f"q{n},{n % 11}/10\n" for n in TASKS),
        asks("'1/10' is read as 0.1"),
    ),
    "N/A of a judge that did not answer": one(
        "r.jsonl",
        lines(
            [
                {"id": f"q{n}", "judge_score": "N/A" if n in (3, 8) else n % 6}
                for n in TASKS
            ]
        ),
        reads({f"q{n}": None if n in (3, 8) else n % 6 for n in TASKS}),
    ),
    "minus one among scores from 0 to 1": one(
        "r.csv",
        "id,score\n" + "".join(f"q{n},{-1 if n == 7 else PARTS[n]}\n" for n in TASKS),
        asks("-1"),
    ),
    "an error object among rows": one(
        "r.jsonl",
        lines(
            [
                {"error": {"code": 429, "message": "rate limited"}, "id": f"q{n}"}
                if n == 4
                else {"id": f"q{n}", "score": PARTS[n]}
                for n in TASKS
            ]
        ),
        reads({f"q{n}": None if n == 4 else PARTS[n] for n in TASKS}),
    ),
    "a timeout beside a reward of zero": one(
        "r.jsonl",
        lines(
            [
                {
                    "id": f"q{n}",
                    "reward": 0.0 if n == 4 else PARTS[n],
                    "error": "TimeoutError: 600 s" if n == 4 else None,
                }
                for n in TASKS
            ]
        ),
        reads({f"q{n}": None if n == 4 else PARTS[n] for n in TASKS}),
    ),
}

# The bytes of the file.
BYTES = {
    "JSON in UTF-16, big end first": one(
        "r.json",
        b"\xfe\xff"
        + json.dumps([{"id": f"q{n}", "score": PARTS[n]} for n in TASKS]).encode(
            "utf-16-be"
        ),
        refuses("UTF-16", "save it as UTF-8"),
    ),
    "a CSV in Latin 1 with umlauts in the ids": one(
        "r.csv",
        ("task;score\n" + "".join(f"Prüfung {n};{n % 2}\n" for n in TASKS)).encode(
            "latin-1"
        ),
        refuses("UTF-8"),
    ),
    "JSON Lines with CRLF and a mark": one(
        "r.jsonl",
        b"\xef\xbb\xbf"
        + lines([{"id": f"q{n}", "score": PARTS[n]} for n in TASKS])
        .replace("\n", "\r\n")
        .encode(),
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "NUL bytes behind the last line": one(
        "r.jsonl",
        lines([{"id": f"q{n}", "score": PARTS[n]} for n in TASKS]).encode()
        + b"\0" * 512,
        refuses("r.jsonl"),
    ),
    "a last line half written, in an archive": one(
        "r.jsonl.gz",
        gzip.compress(
            (
                lines([{"id": f"q{n}", "score": PARTS[n]} for n in TASKS])
                + '{"id": "q12", "sco'
            ).encode()
        ),
        refuses("r.jsonl.gz"),
    ),
    "a CSV of which the last row broke off": one(
        "r.csv",
        "id,answer,score\n" + "".join(f"q{n},x,{PARTS[n]}\n" for n in TASKS) + "q12,x",
        refuses("r.csv"),
    ),
    "two header lines": one(
        "r.csv",
        "task,score\nstring,0-1\n" + "".join(f"q{n},{PARTS[n]}\n" for n in TASKS),
        asks("0-1"),
    ),
    "the header again in the middle, of two files joined": one(
        "r.csv",
        "task,score\n"
        + "".join(f"q{n},{PARTS[n]}\n" for n in range(6))
        + "task,score\n"
        + "".join(f"q{n},{PARTS[n]}\n" for n in range(6, 12)),
        refuses("row 7 is the header again"),
    ),
    "cells of several lines with the separator in them": one(
        "r.csv",
        "qid;answer;correct\n"
        + "".join(
            f'q{n};"first; second\nthird ""word""\n";{first_verdict(n)}\n'
            for n in TASKS
        ),
        reads(OF_Q),
    ),
    "Excel's semicolons, decimal commas and a mark": one(
        "r.csv",
        "\ufeffFrage;Punkte\r\n" + "".join(f"q{n};{n},5\r\n" for n in TASKS),
        reads({f"q{n}": n + 0.5 for n in TASKS}),
    ),
    "an archive by the name of a plain file": one(
        "r.jsonl",
        gzip.compress(
            lines([{"id": f"q{n}", "score": PARTS[n]} for n in TASKS]).encode()
        ),
        reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "a pointer of Git LFS": one(
        "r.jsonl",
        "version https://git-lfs.github.com/spec/v1\noid sha256:"
        + "a" * 64
        + "\nsize 12345\n",
        refuses("LFS"),
    ),
}

# Identity of rows and files.
PEER = lines(
    [
        {
            "id": f"q{n}",
            "question": QUESTIONS[n],
            "answer": answer(n, 0),
            "score": PARTS[n],
        }
        for n in TASKS
    ]
)

BY_TWO_FILES = {QUESTIONS[n]: [PARTS[n], PARTS[11 - n]] for n in TASKS}

IDENTITY = {
    "the same run in two files": OddFile(
        files={"runs/a.jsonl": PEER, "runs/b.jsonl": PEER},
        path="runs",
        outcome=refuses("twice"),
    ),
    "the same run in two files, of which one is compressed": OddFile(
        files={"runs/a.jsonl": PEER, "runs/a.jsonl.gz": gzip.compress(PEER.encode())},
        path="runs",
        outcome=refuses("twice"),
    ),
    "a link to a file beside it": OddFile(
        files={"runs/a.jsonl": PEER},
        links={"runs/latest.jsonl": "a.jsonl"},
        path="runs",
        outcome=reads({f"q{n}": PARTS[n] for n in TASKS}),
    ),
    "a row that was written again": one(
        "r.jsonl", PEER + PEER.splitlines(keepends=True)[0], refuses("twice")
    ),
    "a record id that repeats below a question": one(
        "r.jsonl",
        lines(
            [
                {
                    "record_id": digest(n, k),
                    "question": QUESTIONS[n],
                    "note": f"try {k}",
                    "correct": verdict(n, k),
                }
                for n in TASKS
                for k in ATTEMPTS
            ]
            + [
                {
                    "record_id": digest(0, 0),
                    "question": QUESTIONS[0],
                    "note": "again",
                    "correct": 1,
                }
            ]
        ),
        refuses("r.jsonl:37", "r.jsonl:1"),
    ),
    "ids with blanks around them in one of two files": OddFile(
        files={
            "runs/a.csv": csv(
                [
                    {"id": f"q{n}", "question": QUESTIONS[n], "score": PARTS[n]}
                    for n in TASKS
                ]
            ),
            "runs/b.csv": csv(
                [
                    {"id": f"q{n} ", "question": QUESTIONS[n], "score": PARTS[11 - n]}
                    for n in TASKS
                ]
            ),
        },
        path="runs",
        outcome=reads(BY_TWO_FILES),
    ),
    "ids in upper case in one of two files": OddFile(
        files={
            "runs/a.csv": csv(
                [
                    {"id": f"q{n}", "question": QUESTIONS[n], "score": PARTS[n]}
                    for n in TASKS
                ]
            ),
            "runs/b.csv": csv(
                [
                    {"id": f"Q{n}", "question": QUESTIONS[n], "score": PARTS[11 - n]}
                    for n in TASKS
                ]
            ),
        },
        path="runs",
        outcome=reads(BY_TWO_FILES),
    ),
    "ids composed in one file and decomposed in the other": OddFile(
        files={
            "runs/a.jsonl": lines(
                [
                    {"id": f"café {n}", "question": QUESTIONS[n], "score": PARTS[n]}
                    for n in TASKS
                ]
            ),
            "runs/b.jsonl": lines(
                [
                    {
                        "id": unicodedata.normalize("NFD", f"café {n}"),
                        "question": QUESTIONS[n],
                        "score": PARTS[11 - n],
                    }
                    for n in TASKS
                ]
            ),
        },
        path="runs",
        outcome=reads(BY_TWO_FILES),
    ),
    "ids as numbers in one file and as text in the other": OddFile(
        files={
            "runs/a.jsonl": lines(
                [{"id": n, "question": QUESTIONS[n], "score": PARTS[n]} for n in TASKS]
            ),
            "runs/b.jsonl": lines(
                [
                    {"id": str(n), "question": QUESTIONS[n], "score": PARTS[11 - n]}
                    for n in TASKS
                ]
            ),
        },
        path="runs",
        outcome=refuses("1"),
    ),
    "ids as floats, as pandas writes them beside an empty one": one(
        "r.csv",
        csv([{"id": f"{n}.0", "score": PARTS[n]} for n in TASKS]),
        asks("task: ?"),
    ),
    "ids as floats in JSON": one(
        "r.jsonl",
        lines([{"id": float(n), "score": PARTS[n]} for n in TASKS]),
        asks("id holds 0.0: write whole numbers"),
    ),
    "a page of three, by its number": one(
        "r.json",
        {
            "page": 1,
            "pages": 3,
            "per_page": 12,
            "results": [{"id": f"q{n}", "score": PARTS[n]} for n in TASKS],
        },
        refuses("page"),
    ),
    "a page with links": one(
        "r.json",
        {
            "_links": {"self": {"href": "/r?page=1"}, "next": {"href": "/r?page=2"}},
            "items": [{"id": f"q{n}", "score": PARTS[n]} for n in TASKS],
        },
        refuses(),
    ),
    "a page of more rows than it holds": one(
        "r.json",
        {
            "totalCount": 240,
            "items": [{"id": f"q{n}", "score": PARTS[n]} for n in TASKS],
        },
        refuses("240"),
    ),
    "a page of a database's endpoint": one(
        "r.json",
        {
            "LastEvaluatedKey": {"id": "q11"},
            "Count": 12,
            "Items": [{"id": f"q{n}", "score": PARTS[n]} for n in TASKS],
        },
        refuses("LastEvaluatedKey"),
    ),
}

EXPORTS = {**CONSTANTS, **LAYOUTS, **CELLS, **BYTES, **IDENTITY}
