"""Odd files that can be read in two ways, or hold only a part of the rows."""

import gzip
import unicodedata

from rollouts.odd import OddFile, asks, lines, one, reads, refuses
from rollouts.odd_files_exports import (
    ATTEMPTS,
    OF_ATTEMPTS,
    OF_QUESTIONS,
    PARTS,
    TASKS,
    answer,
    attempts,
    csv,
    digest,
    qid,
    question,
    verdict,
)

ROWS = [{"id": f"q{n}", "score": PARTS[n]} for n in TASKS]
OF_PARTS = {f"q{n}": PARTS[n] for n in TASKS}


def in_groups(name, outcome, *, tasks=TASKS, value=verdict):
    """Write an object of each task, with an object of each attempt by its name."""
    groups = {f"q{n}": {name(k): {"ok": value(n, k)} for k in ATTEMPTS} for n in tasks}
    return one("r.json", groups, outcome)


def page(outcome, **keys):
    """Write a document with other keys beside the rows."""
    return one("r.json", keys, outcome)


ATTEMPTS_BY_NAME = {
    "attempts by name": in_groups(lambda k: f"attempt_{k}", reads(OF_ATTEMPTS)),
    "runs by name": in_groups(lambda k: f"run {k + 1}", reads(OF_ATTEMPTS)),
    "seeds by name, of many tasks": in_groups(
        lambda k: f"seed{k * 31 + 11}",
        reads({f"q{n}": [verdict(n, k) for k in ATTEMPTS] for n in range(30)}),
        tasks=range(30),
    ),
    "attempts by number": in_groups(str, asks("task: ?", "_parent._key if 0, 1, 2")),
    "models by name below each task": in_groups(
        lambda k: ("ada", "bea", "cleo")[k], asks("task: ?", "attempts or agents")
    ),
    "values of attempts by name": one(
        "r.json",
        {f"q{n}": {f"trial-{k}": verdict(n, k) for k in ATTEMPTS} for n in TASKS},
        reads(OF_ATTEMPTS),
    ),
    "attempts by number inside of rows": one(
        "r.jsonl",
        lines(
            {
                "task_id": f"q{n}",
                "tries": {str(k): {"ok": verdict(n, k)} for k in ATTEMPTS},
            }
            for n in TASKS
        ),
        asks("reward: ?"),
    ),
    "attempts named in a column": one(
        "r.jsonl",
        lines(attempts(task_id=qid, run=lambda _, k: f"run-{k}", ok=verdict)),
        reads(OF_ATTEMPTS),
    ),
    "attempts named in a column, without a task": one(
        "r.jsonl",
        lines(attempts(run=lambda _, k: f"run-{k}", reply=answer, ok=verdict)),
        asks("task: ?"),
    ),
    "a reply that is another one in each row": one(
        "r.jsonl",
        lines(attempts(run_id="r1", reply=answer, ok=verdict)),
        asks("task: ?"),
    ),
    "row ids beside a seed of few values": one(
        "r.jsonl",
        lines(
            attempts(
                id=lambda n, k: 3 * n + k, seed=lambda _, k: (17, 42, 99)[k], ok=verdict
            )
        ),
        asks("task: ?"),
    ),
    "one attempt of a question that got lost": one(
        "r.jsonl",
        lines(
            attempts(
                id=lambda n, k: 3 * n + k, question=question, reply=answer, ok=verdict
            )[1:]
        ),
        reads({**OF_QUESTIONS, question(0): [1, 1]}),
    ),
    "an instruction that repeats beside an input": one(
        "r.jsonl",
        lines(
            {
                "id": n,
                "prompt": f"Translate to {('French', 'German')[n % 2]}",
                "input": answer(n, 0),
                "ok": n // 2 % 2,
            }
            for n in TASKS
        ),
        reads({n: n // 2 % 2 for n in TASKS}),
    ),
    "a difficulty of two kinds": one(
        "r.jsonl",
        lines(
            {
                "difficulty": ("easy", "hard")[n % 2],
                "reply": answer(n, 0),
                "ok": n // 2 % 2,
            }
            for n in TASKS
        ),
        asks("task: ?"),
    ),
}

IDS = {
    "hashes of eight digits": one(
        "r.jsonl",
        lines({"id": digest(n, 0)[-8:], "ok": n % 2} for n in TASKS),
        asks("unique"),
    ),
    "ids that are times": one(
        "r.jsonl",
        lines({"id": f"2026-05-01T10:{n:02}:00Z", "ok": n % 2} for n in TASKS),
        asks("unique"),
    ),
    "keys that are days": one(
        "r.json",
        {f"2026-05-{n + 1:02}": PARTS[n] for n in TASKS},
        asks("which are times"),
    ),
    "keys that are milliseconds": one(
        "r.json",
        {str(1777629600000 + n): {"score": PARTS[n]} for n in TASKS},
        asks("which are times"),
    ),
    "keys that are random": one(
        "r.json",
        {f"{n:08x}-aaaa-4bbb-8ccc-{n * 7919:012x}": {"score": PARTS[n]} for n in TASKS},
        asks("random ids"),
    ),
    "ids in two cases": OddFile(
        files={
            "runs/a.csv": csv(ROWS),
            "runs/b.csv": csv([{**row, "id": row["id"].upper()} for row in ROWS]),
        },
        path="runs",
        outcome=asks("'q0' and 'Q0' are two tasks"),
    ),
    "ids with a blank behind them": one(
        "r.jsonl",
        lines(ROWS[:11]) + '{"id": "q3 ", "score": 0.5}\n',
        asks("'q3' and 'q3 ' are two tasks"),
    ),
    "ids with an accent in two forms": OddFile(
        files={
            f"runs/{form}.jsonl": lines(
                {"id": unicodedata.normalize(form, f"é{n}"), "score": PARTS[n]}
                for n in TASKS
            )
            for form in ("NFC", "NFD")
        },
        path="runs",
        outcome=asks(r"'\xe90' and 'e\u03010' are two tasks"),
    ),
    "numbered objects with ids of their own, below the settings": one(
        "r.json",
        {"meta": {"model": "m"}, "rows": {str(n): row for n, row in enumerate(ROWS)}},
        reads(OF_PARTS),
    ),
    "a mean among the keys": one(
        "r.json",
        {**{f"q{n}": PARTS[n] for n in TASKS}, "average": 0.22},
        refuses("total"),
    ),
    "an overall object among the keys": one(
        "r.json",
        {
            "results": {
                **{f"q{n}": {"score": PARTS[n]} for n in TASKS},
                "overall": {"score": 0.22},
            }
        },
        refuses("total"),
    ),
    "compressed and plain files of two parts": OddFile(
        files={
            "runs/a.jsonl": lines(ROWS[:6]),
            "runs/b.jsonl.gz": gzip.compress(lines(ROWS[6:]).encode()),
        },
        path="runs",
        outcome=reads(OF_PARTS),
    ),
}

PARTS_OF_THE_ROWS = {
    "results and errors": page(
        asks("results, without the 3 objects of errors"),
        results=ROWS[:9],
        errors=[{"id": row["id"], "message": "timeout"} for row in ROWS[9:]],
    ),
    "results and what was skipped": page(
        asks("results, without the 2 objects of skipped"),
        results=ROWS,
        skipped=[{"name": "q12"}, {"name": "q13"}],
        tools=[{"name": "search"}],
    ),
    "train and test without ids": page(
        asks("train, without the 12 objects of test"),
        train=[{"text": answer(n, 0), "score": PARTS[n]} for n in TASKS],
        test=[{"text": answer(n, 1), "score": PARTS[n]} for n in TASKS],
    ),
    "a page of GraphQL": page(
        refuses("data.project.runs.pageInfo.hasNextPage"),
        data={
            "project": {
                "runs": {
                    "pageInfo": {"hasNextPage": True, "endCursor": "x"},
                    "edges": [{"node": row} for row in ROWS],
                }
            }
        },
    ),
    "the last page of GraphQL": page(
        reads(OF_PARTS),
        data={"runs": {"pageInfo": {"hasNextPage": False}, "nodes": ROWS}},
    ),
    "a page of Spring": page(
        refuses("page 1 of 3"),
        content=ROWS,
        number=0,
        size=12,
        totalPages=3,
        totalElements=36,
    ),
    "the only page of Spring": page(
        reads(OF_PARTS), content=ROWS, number=0, size=12, totalPages=1, totalElements=12
    ),
    "a page of Salesforce": page(
        refuses("nextRecordsUrl"),
        totalSize=240,
        done=False,
        nextRecordsUrl="/x",
        records=ROWS,
    ),
    "a page of Jira": page(
        refuses("12 of 40 rows"), startAt=0, maxResults=12, total=40, issues=ROWS
    ),
    "a page with a token to continue": page(
        refuses("continuationToken"), continuationToken="abc", value=ROWS
    ),
    "a page with a list of links": page(
        refuses("links"), links=[{"rel": "self"}, {"rel": "next"}], rows=ROWS
    ),
    "a number of all rows, which lie in two lists": page(
        reads(OF_PARTS), total_items=12, groups={"a": ROWS[:6], "b": ROWS[6:]}
    ),
    "steps that are not done": one(
        "r.jsonl",
        lines(
            {
                **row,
                "done": False,
                "last": False,
                "next": "q1",
                "steps": [{"a": 1}, {"a": 2}],
            }
            for row in ROWS
        ),
        reads(OF_PARTS),
    ),
}

MEANS = {
    "means by benchmark with their number": one(
        "r.csv",
        csv(
            [
                {"task": f"b{n}", "accuracy": PARTS[n], "n_samples": 100 + n}
                for n in TASKS
            ]
        ),
        asks("reward: ?", "with n_samples: a mean"),
    ),
    "means with their standard error": one(
        "r.csv",
        csv(
            [
                {"task": f"b{n}", "accuracy": PARTS[n], "stderr": 0.01 + n / 999}
                for n in TASKS
            ]
        ),
        asks("reward: ?", "with stderr: a mean"),
    ),
    "means over the effective number": page(
        asks("reward: ?", "n_effective"),
        tasks=[
            {
                "task": f"b{n}",
                "mean": PARTS[n],
                "n_effective": 50,
                "n_original": 1319 + n,
            }
            for n in TASKS
        ],
    ),
    "a count of tokens beside a score": one(
        "r.csv",
        csv([{"task": f"q{n}", "score": PARTS[n], "n_tokens": 100 + n} for n in TASKS]),
        reads(OF_PARTS),
    ),
}

UNCLEAR = {**ATTEMPTS_BY_NAME, **IDS, **PARTS_OF_THE_ROWS, **MEANS}
