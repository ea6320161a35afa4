"""Odd files in the style of logs that people send, with outcomes that were written down first.

Of these outcomes some were "read" and are "asked", where asking is as good; none went the other way,
except for digits of full width, which are numbers.
"""

import gzip
import json

from rollouts.odd import OddFile, asks, lines, one, reads, refuses

TASKS = range(12)
PASSES = {n: int(n % 4 > 1) for n in TASKS}  # half of them
OF_Q = {f"q{n}": PASSES[n] for n in TASKS}
PARTS = {f"q{n}": n / 25 for n in TASKS}
WIDE_DIGITS = [chr(0xFF10 + digit) for digit in range(10)]
CROSS = "\u00d7"


def rows(**columns):
    """Write a row for each task: the columns, of its number or the same for all."""
    return [
        {
            name: value(n) if callable(value) else value
            for name, value in columns.items()
        }
        for n in TASKS
    ]


def qid(n):
    return f"q{n}"


def passed(n):
    return bool(PASSES[n])


def share(n):
    return n / 25


def csv(header, cells, end="\n"):
    return end.join([header, *cells]) + end


CHAT = {
    "a conversation whose messages say that they were sent": one(
        "chat.jsonl",
        lines(
            rows(
                question_id=qid,
                conversation=lambda n: [
                    {"role": "user", "content": f"What is {n}?", "success": True},
                    {"role": "assistant", "content": "It is", "success": True},
                ],
                success=passed,
            )
        ),
        reads(OF_Q),
    ),
    "a chat with the verdict in an object beside it": one(
        "chat.json",
        rows(
            qid=qid,
            chat={"messages": [{"role": "user", "score": 1}] * 3, "tokens": 12},
            eval=lambda n: {"passed": passed(n), "by": "judge"},
        ),
        reads(OF_Q),
    ),
    "requests of a batch with a grade": one(
        "batch.jsonl",
        lines(
            rows(
                custom_id=qid,
                request={"messages": [{"role": "user", "content": "x"}] * 2},
                response={"status_code": 200, "choices": [{"index": 0, "score": 1}]},
                grade=share,
            )
        ),
        reads(PARTS),
    ),
    "tool calls, each of which succeeded or not": one(
        "tools.jsonl",
        lines(
            rows(
                task_id=qid,
                tool_calls=lambda n: [
                    {"id": f"call_{n}_{k}", "name": "search", "ok": k == 0}
                    for k in range(n % 3)
                ],
                ok=passed,
            )
        ),
        reads(OF_Q),
    ),
    "steps with a reward each and the reward of the whole": one(
        "trajectory.jsonl",
        lines(
            rows(
                instance_id=qid,
                trajectory=lambda n: [
                    {"action": "a", "reward": 0.1, "done": False},
                    {"action": "b", "reward": share(n), "done": True},
                ],
                info=lambda n: {"reward": PASSES[n], "steps": 2},
            )
        ),
        reads(OF_Q),
    ),
    "rewards of steps and their sum": one(
        "rl.jsonl",
        lines(
            rows(
                env_id="maze",
                task_id=qid,
                rewards=lambda n: [0.0] * (n % 4) + [share(n)],
                total_reward=share,
            )
        ),
        reads(PARTS),
    ),
    "rewards of steps alone": one(
        "rl.jsonl",
        lines(rows(task_id=qid, rewards=lambda n: [0, 0, PASSES[n]][: 1 + n % 3])),
        asks("rewards"),
    ),
    "grades of three criteria in a list": one(
        "rubric.jsonl",
        lines(rows(task_id=qid, scores=lambda n: [1 + n % 5, 2 + n % 3, 5])),
        asks("scores"),
    ),
    "four rollouts of a prompt in a list": one(
        "group.jsonl",
        lines(rows(prompt_id=qid, rewards=lambda n: [1, 0, PASSES[n], 0])),
        reads({f"q{n}": [1, 0, PASSES[n], 0] for n in TASKS}),
    ),
    "checks with a name, and no verdict on the whole": one(
        "checks.jsonl",
        lines(
            rows(
                case_id=qid,
                checks=lambda n: [
                    {"check": "compiles", "passed": True},
                    {"check": "tests", "passed": passed(n)},
                ],
            )
        ),
        asks("reward"),
    ),
    "checks as an object of verdicts": one(
        "checks.jsonl",
        lines(
            rows(
                case_id=qid,
                checks=lambda n: {"compiles": n > 1, "tests": passed(n)},
            )
        ),
        asks("checks.compiles", "checks.tests"),
    ),
    "assertions that are counted": one(
        "counted.jsonl",
        lines(
            rows(
                test_id=qid,
                assertions_total=5,
                assertions_passed=lambda n: n % 6,
                passed=passed,
            )
        ),
        reads(OF_Q),
    ),
    "verdicts of test cases by attempt": one(
        "nested.jsonl",
        lines(
            rows(
                question_id=qid,
                results=lambda n: [[True, passed(n)], [False, True]],
            )
        ),
        asks("reward"),
    ),
    "a summary of the verdicts of test cases": one(
        "nested.jsonl",
        lines(
            rows(
                question_id=qid,
                results=lambda n: [[True, passed(n)], [False, True]],
                graded=passed,
            )
        ),
        reads(OF_Q),
    ),
    "verdicts in an object by attempt": one(
        "object.jsonl",
        lines(rows(question_id=qid, attempts=lambda n: {"0": passed(n), "1": n > 3})),
        asks("attempts.0", "attempts.1"),
    ),
    "a folder of objects with checks": OddFile(
        files={
            f"cases/{n}.json": json.dumps(
                {
                    "case_id": f"q{n}",
                    "checks": [
                        {"check": "compiles", "passed": True},
                        {"check": "tests", "passed": passed(n)},
                    ],
                    "verdict": "pass" if PASSES[n] else "fail",
                },
                indent=2,
            )
            for n in TASKS
        },
        path="cases",
        outcome=reads(OF_Q),
    ),
    "a folder of objects with checks, without a verdict": OddFile(
        files={
            f"cases/{n}.json": json.dumps(
                {
                    "case_id": f"q{n}",
                    "checks": [
                        {"check": "compiles", "passed": True},
                        {"check": "tests", "passed": passed(n)},
                    ],
                },
                indent=2,
            )
            for n in TASKS
        },
        path="cases",
        outcome=asks("reward"),
    ),
    "tests that passed, of a number that varies": one(
        "counts.jsonl",
        lines(rows(task_id=qid, passed=lambda n: n % 4, total=lambda n: 4 + n % 3)),
        asks("passed"),
    ),
    "points of a number that varies": one(
        "points.jsonl",
        lines(rows(task_id=qid, score=lambda n: n % 4, max_score=lambda n: 4 + n % 3)),
        asks("score (of max_score, which varies"),
    ),
    "a list of one verdict": one(
        "single.jsonl",
        lines(rows(question_id=qid, correct=lambda n: [passed(n)])),
        reads(OF_Q),
    ),
}

STATUS = {
    "a state that is also what it came to": one(
        "state.jsonl",
        lines(
            rows(task_id=qid, state=lambda n: "succeeded" if PASSES[n] else "failed")
        ),
        asks("state (failed, succeeded)"),
    ),
    "a status of cancelled and failed": one(
        "status.jsonl",
        lines(
            rows(
                task_id=qid,
                status=lambda n: ("passed", "failed", "cancelled")[n % 3],
            )
        ),
        reads({f"q{n}": (1, 0, None)[n % 3] for n in TASKS}),
    ),
    "a status that never varies beside a pass": one(
        "status.jsonl",
        lines(rows(task_id=qid, status="PASSED", pass_rate=share)),
        reads(PARTS),
    ),
    "passed or failed of a German": one(
        "de.jsonl",
        lines(
            rows(
                task_id=qid,
                bewertung=lambda n: "bestanden" if PASSES[n] else "nicht bestanden",
            )
        ),
        reads(OF_Q),
    ),
    "half right in German": one(
        "de.jsonl",
        lines(
            rows(
                task_id=qid,
                bewertung=lambda n: ("richtig", "falsch", "teilweise richtig")[n % 3],
            )
        ),
        asks("teilweise richtig"),
    ),
    "circles and crosses of a Japanese": one(
        "ja.csv",
        csv("task_id,判定", [f"q{n},{'○' if PASSES[n] else CROSS}" for n in TASKS]),
        reads(OF_Q),
    ),
    "right and wrong in Japanese": one(
        "ja.jsonl",
        lines(rows(task_id=qid, 結果=lambda n: "正解" if PASSES[n] else "不正解")),
        reads(OF_Q),
    ),
    "a triangle of a Japanese": one(
        "ja.jsonl",
        lines(rows(task_id=qid, 判定=lambda n: f"○{CROSS}△"[n % 3])),
        asks("△"),
    ),
    "C and F, which are grades": one(
        "grades.csv",
        csv("task_id,grade", [f"q{n},{'C' if PASSES[n] else 'F'}" for n in TASKS]),
        asks("F: ?"),
    ),
    "solved and not solved": one(
        "solved.jsonl",
        lines(
            rows(
                task_id=qid,
                outcome=lambda n: "solved" if PASSES[n] else "not_solved",
            )
        ),
        reads(OF_Q),
    ),
    "T and F": one(
        "tf.csv",
        csv("task_id,correct", [f"q{n},{'T' if PASSES[n] else 'F'}" for n in TASKS]),
        asks("F: ?", "T: ?"),
    ),
    "Y and N": one(
        "yn.csv",
        csv("task_id,passed", [f"q{n},{'Y' if PASSES[n] else 'N'}" for n in TASKS]),
        reads(OF_Q),
    ),
    "TRUE and FALSE of a spreadsheet": one(
        "sheet.csv",
        csv(
            "task_id,correct",
            [f"q{n},{'TRUE' if PASSES[n] else 'FALSE'}" for n in TASKS],
        ),
        reads(OF_Q),
    ),
    "one of one": one(
        "of.csv",
        csv("task_id,score", [f"q{n},{PASSES[n]}/1" for n in TASKS]),
        asks("reward"),
    ),
    "two verdicts that must both hold": one(
        "both.jsonl",
        lines(rows(task_id=qid, base_pass=lambda n: n > 1, plus_pass=passed)),
        asks("base_pass", "plus_pass"),
    ),
    "a verdict with a reason in an object": one(
        "object.jsonl",
        lines(rows(task_id=qid, reward=lambda n: {"value": share(n), "reason": "so"})),
        reads(PARTS),
    ),
    "resolved and unresolved": one(
        "resolved.jsonl",
        lines(
            rows(
                instance_id=qid,
                resolution=lambda n: "RESOLVED" if PASSES[n] else "UNRESOLVED",
            )
        ),
        reads(OF_Q),
    ),
}

NUMBERS = {
    "4,186 and its like": one(
        "thousands.csv",
        csv(
            "question_id,score",
            [f'q{n},"{1000 * n + 186:,}"' for n in TASKS],
        ),
        reads({f"q{n}": 1000 * n + 186 for n in TASKS}),
    ),
    "thousands with cents": one(
        "cents.csv",
        csv(
            "question_id,score",
            [f'q{n},"{1000.25 * n:,.2f}"' for n in TASKS],
        ),
        reads({f"q{n}": 1000.25 * n for n in TASKS}),
    ),
    "12,5 % of a German": one(
        "anteil.csv",
        csv(
            "frage;punktzahl",
            [f"q{n};{n},5 %" for n in TASKS],
        ),
        reads({f"q{n}": (n + 0.5) / 100 for n in TASKS}),
    ),
    "percent signs of Turkish": one(
        "yuzde.csv",
        csv("question_id,score", [f"q{n},%{n}" for n in TASKS]),
        asks("reward"),
    ),
    "dollars of accountants": one(
        "dollars.csv",
        csv(
            "question_id,score",
            [f'q{n},"{"($1,250.00)" if n % 3 else "$2,500.00"}"' for n in TASKS],
        ),
        asks("reward"),
    ),
    "losses in brackets": one(
        "losses.csv",
        csv(
            "question_id,score",
            [
                f'q{n},"{f"({n * 1000 + 250:,})" if n % 3 else f"{n * 1000:,}"}"'
                for n in TASKS
            ],
        ),
        asks("reward"),
    ),
    "lakhs": one(
        "lakhs.csv",
        csv(
            "question_id,score",
            [f'q{n},"1,{10 + n},{100 + n}"' for n in TASKS],
        ),
        refuses("lakhs.csv:2"),
    ),
    "three decimals behind a comma": one(
        "drei.csv",
        csv("frage;punktzahl", [f"q{n};0,{100 + 25 * n}" for n in TASKS]),
        reads({f"q{n}": (100 + 25 * n) / 1000 for n in TASKS}),
    ),
    "both commas and stops behind the number": one(
        "mixed.csv",
        csv(
            "question_id,score",
            [f'q{n},"{"0,5" if n % 2 else "0.25"}"' for n in TASKS],
        ),
        refuses("score"),
    ),
    "errors of a spreadsheet": one(
        "excel.csv",
        csv(
            "question_id,score",
            [f"q{n},{'#DIV/0!' if n == 3 else n / 25}" for n in TASKS],
        ),
        asks("#DIV/0!"),
    ),
    "#N/A of a spreadsheet": one(
        "excel.csv",
        csv(
            "question_id,score",
            [f"q{n},{'#N/A' if n == 3 else n / 25}" for n in TASKS],
        ),
        reads({f"q{n}": None if n == 3 else n / 25 for n in TASKS}),
    ),
    "nan as pandas writes it": one(
        "nan.csv",
        csv(
            "question_id,score",
            [f"q{n},{'nan' if n == 3 else n / 25}" for n in TASKS],
        ),
        reads({f"q{n}": None if n == 3 else n / 25 for n in TASKS}),
    ),
    "None as Python writes it": one(
        "none.csv",
        csv(
            "question_id,score",
            [f"q{n},{'None' if n == 3 else n / 25}" for n in TASKS],
        ),
        reads({f"q{n}": None if n == 3 else n / 25 for n in TASKS}),
    ),
    "NaN of a metric in JSON": one(
        "metric.jsonl",
        "".join(
            f'{{"question_id": "q{n}", "faithfulness": '
            f"{'NaN' if n == 3 else n / 25}}}\n"
            for n in TASKS
        ),
        reads({f"q{n}": None if n == 3 else n / 25 for n in TASKS}),
    ),
    "digits of full width": one(
        "wide.csv",
        csv(
            "question_id,score",
            [f"q{n},{WIDE_DIGITS[8]}{WIDE_DIGITS[n]}" for n in range(10)],
        ),
        reads({f"q{n}": 80 + n for n in range(10)}),
    ),
    "points of several questions": one(
        "points.jsonl",
        lines(rows(question_id=qid, score=lambda n: n % 6, max_score=5)),
        reads({f"q{n}": n % 6 for n in TASKS}),
    ),
    "ids beyond a double": one(
        "big.jsonl",
        lines(rows(question_id=lambda n: 2**60 + n, correct=passed)),
        reads({2**60 + n: PASSES[n] for n in TASKS}),
    ),
    "scores beyond a double": one(
        "huge.jsonl",
        lines(rows(question_id=qid, score=lambda n: 10**400 if n == 2 else n)),
        reads({f"q{n}": None if n == 2 else n for n in TASKS}),
    ),
}

NOT_JUDGED = {
    "an error in the object of the score": one(
        "evaluation.jsonl",
        lines(
            rows(
                task_id=qid,
                evaluation=lambda n: {
                    "score": 0 if n == 5 else 0.5 + share(n),
                    "error": "TimeoutError: judge" if n == 5 else None,
                },
            )
        ),
        reads({f"q{n}": None if n == 5 else 0.5 + n / 25 for n in TASKS}),
    ),
    "a judge whose status is error": one(
        "judge.jsonl",
        lines(
            rows(
                task_id=qid,
                judge=lambda n: {
                    "score": 0 if n == 5 else 0.5 + share(n),
                    "status": "error" if n == 5 else "ok",
                },
            )
        ),
        reads({f"q{n}": None if n == 5 else 0.5 + n / 25 for n in TASKS}),
    ),
    "an error beside a verdict in words, in an object": one(
        "judged.jsonl",
        lines(
            rows(
                task_id=qid,
                judgement=lambda n: {
                    "verdict": "fail" if n == 5 else "pass" if PASSES[n] else "wrong",
                    "error": "TimeoutError: judge" if n == 5 else None,
                },
            )
        ),
        reads({f"q{n}": None if n == 5 else PASSES[n] for n in TASKS}),
    ),
    "a flag of an error beside a zero": one(
        "flag.jsonl",
        lines(
            rows(
                task_id=qid,
                is_error=lambda n: n == 5,
                score=lambda n: 0 if n == 5 else 0.5 + share(n),
            )
        ),
        reads({f"q{n}": None if n == 5 else 0.5 + n / 25 for n in TASKS}),
    ),
    "an error beside a false verdict in CSV": one(
        "error.csv",
        csv(
            "task_id,passed,error",
            [
                f"q{n},{passed(n) if n else False},{'' if n else 'ConnectionError'}"
                for n in TASKS
            ],
        ),
        reads({f"q{n}": PASSES[n] if n else None for n in TASKS}),
    ),
    "an empty error beside a zero": one(
        "empty.jsonl",
        lines(rows(task_id=qid, error="", score=lambda n: PASSES[n])),
        reads(OF_Q),
    ),
    "errors that are lists without entries": one(
        "lists.jsonl",
        lines(rows(task_id=qid, errors=[], score=lambda n: PASSES[n])),
        reads(OF_Q),
    ),
    "-1 for no answer of a judge, among 1 to 10": one(
        "judge.jsonl",
        lines(rows(question_id=qid, rating=lambda n: -1 if n == 5 else 1 + n % 10)),
        asks("-1"),
    ),
    "objects that are only an error, by id": one(
        "by_id.json",
        {f"q{n}": {"error": "timeout"} if n == 5 else {"ok": passed(n)} for n in TASKS},
        reads({f"q{n}": None if n == 5 else PASSES[n] for n in TASKS}),
    ),
}

REPEATS = {
    "a copy of a file in its folder": OddFile(
        files={
            "runs/a.jsonl": lines(rows(task_id=qid, correct=passed, answer="x")),
            "runs/a copy.jsonl": lines(rows(task_id=qid, correct=passed, answer="x")),
        },
        path="runs",
        outcome=refuses("a copy.jsonl:1", "a.jsonl:1"),
    ),
    "a folder with a link to its newest run": OddFile(
        files={
            f"runs/2026-01-01/q{n}.json": json.dumps(
                {"task_id": f"q{n}", "correct": passed(n)}
            )
            for n in TASKS
        },
        path="runs",
        outcome=reads(OF_Q),
        links={"runs/latest": "2026-01-01"},
    ),
    "two files whose questions share ids": OddFile(
        files={
            f"runs/{name}.jsonl": lines(
                [
                    {"id": n, "question": f"{name} {n}?", "correct": passed(n)}
                    for n in TASKS
                ]
            )
            for name in ("algebra", "biology")
        },
        path="runs",
        outcome=asks("id (not unique) or question"),
    ),
    "two files with ids of their own and a subset": OddFile(
        files={
            f"runs/{name}.jsonl": lines(
                rows(subset=name, question_id=lambda n: n, correct=passed)
            )
            for name in ("algebra", "biology")
        },
        path="runs",
        outcome=reads(
            {f"{name}/{n}": PASSES[n] for name in ("algebra", "biology") for n in TASKS}
        ),
    ),
    "a subset in an object beside the id": one(
        "subset.jsonl",
        lines(
            [
                {"meta": {"subset": name}, "question_id": n, "correct": passed(n)}
                for name in ("algebra", "biology")
                for n in TASKS
            ]
        ),
        reads(
            {f"{n}/{name}": PASSES[n] for name in ("algebra", "biology") for n in TASKS}
        ),
    ),
    "a run that was started again over its first half": one(
        "resumed.jsonl",
        lines(rows(task_id=qid, answer=lambda n: f"a{n}", correct=passed))
        + lines(rows(task_id=qid, answer=lambda n: f"a{n}", correct=passed)[:5]),
        refuses("resumed.jsonl:13", "resumed.jsonl:1"),
    ),
    "attempts with other answers": one(
        "attempts.jsonl",
        lines(
            [
                {"task_id": f"q{n}", "answer": f"{n} {k}", "correct": passed(n + k)}
                for n in range(8)
                for k in range(2)
            ]
        ),
        reads({f"q{n}": [PASSES[n], PASSES[n + 1]] for n in range(8)}),
    ),
}

PAGES = {
    "a page with a token for the next one": one(
        "page.json",
        {"results": rows(task_id=qid, correct=passed), "nextPageToken": "abc"},
        refuses("nextPageToken"),
    ),
    "a page of a relay": one(
        "page.json",
        {
            "nodes": rows(task_id=qid, correct=passed),
            "pageInfo": {"hasNextPage": True, "endCursor": "abc"},
        },
        refuses("page"),
    ),
    "the second of three pages": one(
        "page.json",
        {
            "data": rows(task_id=qid, correct=passed),
            "meta": {"page": 2, "totalPages": 3},
        },
        refuses("page"),
    ),
    "a cursor that is empty": one(
        "page.json",
        {"data": rows(task_id=qid, correct=passed), "next_cursor": None},
        reads(OF_Q),
    ),
    "a page of items with more": one(
        "items.json",
        {
            "object": "list",
            "data": rows(id=qid, score=share),
            "first_id": "q0",
            "last_id": "q11",
            "has_more": True,
        },
        refuses("has_more"),
    ),
}

OBJECTS = {
    "answers below the settings of the run": one(
        "by_question.json",
        {
            "meta": {"model": "m", "score": 0.5, "n": 12},
            "by_question": {f"q{n}": {"correct": passed(n)} for n in TASKS},
        },
        reads(OF_Q),
    ),
    "attempts by question below the settings": one(
        "by_question.json",
        {
            "meta": {"model": "m", "k": 2},
            "by_question": {
                f"q{n}": [{"correct": passed(n)}, {"correct": True}] for n in TASKS
            },
        },
        reads({f"q{n}": [PASSES[n], 1] for n in TASKS}),
    ),
    "questions by subject below the settings": one(
        "by_subject.json",
        {
            "meta": {"model": "m"},
            "by_subject": {
                name: {f"q{n}": {"correct": passed(n)} for n in TASKS}
                for name in ("algebra", "biology")
            },
        },
        reads(
            {
                f"q{n}/{name}": PASSES[n]
                for name in ("algebra", "biology")
                for n in TASKS
            }
        ),
    ),
    "5 % errors among the answers": one(
        "errors.json",
        [
            {"error": "rate limit"} if n == 7 else {"qid": f"q{n}", "score": share(n)}
            for n in range(20)
        ],
        refuses("errors.json"),
    ),
    "a log of which only the settings were written": one(
        "header.jsonl",
        lines([{"run_id": "r1", "model": "m", "started": "2026-01-01", "seed": 3}]),
        refuses("one row"),
    ),
    "an inspect log that was started": one(
        "log.json",
        {
            "version": 2,
            "status": "started",
            "eval": {"task": "t", "model": "m", "dataset": {}, "config": {}},
            "plan": {},
        },
        refuses("log.json", "holds no samples"),
    ),
    "promptfoo without a result": one(
        "results.json",
        {
            "evalId": "e",
            "results": {"version": 3, "results": [], "stats": {}},
            "config": {},
        },
        refuses("results.json"),
    ),
    "a file of deepeval without a case": one(
        "test_run.json",
        {"testCases": [], "conversationalTestCases": [], "metricsScores": []},
        refuses("test_run.json"),
    ),
    "two runs side by side in a row": one(
        "side.jsonl",
        lines(
            rows(
                question_id=qid,
                old=lambda n: {"correct": passed(n)},
                new=lambda n: {"correct": n > 3},
            )
        ),
        asks("old.correct", "new.correct"),
    ),
    "lines of Python": one(
        "python.jsonl",
        "".join(f"{{'task_id': 'q{n}', 'correct': {passed(n)}}}\n" for n in TASKS),
        refuses("Python's form of a dict"),
    ),
    "a table of Markdown": one(
        "table.md",
        "| task_id | correct |\n|---|---|\n"
        + "".join(f"| q{n} | {PASSES[n]} |\n" for n in TASKS),
        refuses("table.md"),
    ),
    "the XML of JUnit": one(
        "junit.xml",
        '<?xml version="1.0"?><testsuite tests="2"><testcase name="a"/></testsuite>',
        refuses("junit.xml"),
    ),
    "objects without anything between them": one(
        "glued.json",
        "".join(json.dumps({"task_id": f"q{n}", "correct": passed(n)}) for n in TASKS),
        refuses("glued.json:1"),
    ),
    "objects with commas between the lines": one(
        "commas.jsonl",
        "".join(
            json.dumps({"task_id": f"q{n}", "correct": passed(n)}) + ",\n"
            for n in TASKS
        ),
        refuses("commas.jsonl:1"),
    ),
    "the mean and the deviation as last rows": one(
        "describe.csv",
        csv(
            "task_id,score",
            [
                *(f"q{n},{n / 25}" for n in TASKS),
                "mean,0.22",
                "std,0.1442",
            ],
        ),
        refuses("describe.csv"),
    ),
    "an average as the first row": one(
        "average.csv",
        csv("task_id,score", ["average,0.22", *(f"q{n},{n / 25}" for n in TASKS)]),
        refuses("average.csv"),
    ),
}

BYTES = {
    "an archive of JSON Lines": one(
        "runs.jsonl.gz",
        gzip.compress(lines(rows(task_id=qid, correct=passed)).encode()),
        reads(OF_Q),
    ),
    "an archive with a mark inside": one(
        "runs.csv.gz",
        gzip.compress(
            b"\xef\xbb\xbf"
            + csv("task_id,score", [f"q{n},{n / 25}" for n in TASKS]).encode()
        ),
        reads(PARTS),
    ),
    "an archive of nothing": one(
        "runs.jsonl.gz", gzip.compress(b""), refuses("runs.jsonl.gz", "no row")
    ),
    "JSON Lines in UTF-16": one(
        "runs.jsonl",
        lines(rows(task_id=qid, correct=passed)).encode("utf-16"),
        refuses("runs.jsonl"),
    ),
    "a last line that was cut": one(
        "cut.jsonl",
        lines(rows(task_id=qid, correct=passed)) + '{"task_id": "q12", "corr',
        refuses("cut.jsonl:13"),
    ),
    "a list that was cut": one(
        "cut.json",
        json.dumps(rows(task_id=qid, correct=passed))[:-40],
        refuses("cut.json"),
    ),
    "an archive that is none": one(
        "runs.jsonl.gz",
        lines(rows(task_id=qid, correct=passed)),
        reads(OF_Q),
    ),
}

LATER = {
    **CHAT,
    **STATUS,
    **NUMBERS,
    **NOT_JUDGED,
    **REPEATS,
    **PAGES,
    **OBJECTS,
    **BYTES,
}
