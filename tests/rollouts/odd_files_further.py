"""Odd files and what comes of each, written down before any of them was read."""

import gzip
import json
import math

from rollouts.odd import OddFile, asks, lines, one, reads, refuses

TASKS = range(12)
PASSES = {n: int(n % 4 > 1) for n in TASKS}  # half of them
OF_K = {f"k{n}": PASSES[n] for n in TASKS}
PARTS = {f"k{n}": n / 25 for n in TASKS}
ROWS = [{"task_id": f"k{n}", "score": n / 25} for n in TASKS]


def verdict_words(good, bad):
    return [good if PASSES[n] else bad for n in TASKS]


def worded(key, good, bad):
    words = verdict_words(good, bad)
    return lines({"task_id": f"k{n}", key: word} for n, word in enumerate(words))


def csv(header, cells, end="\n"):
    return end.join([header, *cells]) + end


ROW_LEVEL = {
    "logs beside the verdict": one(
        "logs.jsonl",
        lines(
            {
                "task_id": f"k{n}",
                "passed": bool(PASSES[n]),
                "logs": [{"level": "info", "value": 0.1 * n}] * 3,
            }
            for n in TASKS
        ),
        reads(OF_K),
    ),
    "unit tests beside the verdict": one(
        "unit.json",
        [
            {
                "task_id": f"k{n}",
                "passed": bool(PASSES[n]),
                "tests": [
                    {"name": "a", "passed": True},
                    {"name": "b", "passed": n > 3},
                ],
            }
            for n in TASKS
        ],
        reads(OF_K),
    ),
    "assertions beside the score": one(
        "assertions.jsonl",
        lines(
            {
                "case_id": f"k{n}",
                "score": n / 25,
                "assertions": [{"type": "equals", "pass": True, "score": 1}] * 2,
            }
            for n in TASKS
        ),
        reads(PARTS),
    ),
    "tool calls in the output of a response": one(
        "response.jsonl",
        lines(
            {
                "item_id": f"k{n}",
                "response": {
                    "output": [{"type": "function_call", "call_id": "c", "score": 1}]
                    * 2
                },
                "reward": n / 25,
            }
            for n in TASKS
        ),
        reads(PARTS),
    ),
    "episodes with steps": one(
        "episodes.json",
        {
            "episodes": [
                {
                    "episode_id": n,
                    "task": f"k{n}",
                    "total_reward": n / 25,
                    "steps": [{"reward": 0.0}, {"reward": n / 25}],
                }
                for n in TASKS
            ]
        },
        reads(PARTS),
    ),
    "steps without a reward of the whole": one(
        "steps.jsonl",
        lines(
            {"task": f"k{n}", "steps": [{"reward": 0.0}, {"reward": 1.0}]}
            for n in TASKS
        ),
        asks("reward: ?"),
    ),
    "suites of cases with the same ids": one(
        "suites.json",
        {
            "suites": [
                {
                    "name": suite,
                    "cases": [{"id": f"c{n}", "ok": bool(PASSES[n])} for n in TASKS],
                }
                for suite in ("math", "code")
            ]
        },
        reads({f"c{n}/{s}": PASSES[n] for s in ("math", "code") for n in TASKS}),
    ),
    "lists of cases that may be runs or subsets": one(
        "unclear.json",
        [
            {
                "name": name,
                "cases": [{"id": f"c{n}", "ok": bool(PASSES[n])} for n in TASKS],
            }
            for name in ("monday", "tuesday")
        ],
        asks("task: ?", "_parent.name"),
    ),
    "runs of cases": one(
        "nights.json",
        {
            "runs": [
                {
                    "name": name,
                    "cases": [{"id": f"c{n}", "ok": bool(PASSES[n])} for n in TASKS],
                }
                for name in ("monday", "tuesday")
            ]
        },
        reads({f"c{n}": [PASSES[n]] * 2 for n in TASKS}),
    ),
    "suites of tests with names of their own": one(
        "junit.json",
        {
            "testsuites": [
                {
                    "name": suite,
                    "tests": 6,
                    "testcases": [
                        {
                            "name": f"{suite}_{n}",
                            "status": "passed" if n % 2 else "failed",
                        }
                        for n in range(6)
                    ],
                }
                for suite in ("a", "b")
            ]
        },
        reads({f"{s}_{n}": n % 2 for s in ("a", "b") for n in range(6)}),
    ),
    "one grade a row in a list": one(
        "grades.jsonl",
        lines(
            {"item_id": f"k{n}", "grades": [{"grader": "exact", "score": PASSES[n]}]}
            for n in TASKS
        ),
        reads(OF_K),
    ),
    "messages in objects by id": one(
        "keyed.json",
        {
            f"k{n}": {
                "verdict": "pass" if PASSES[n] else "fail",
                "messages": [{"role": "user", "content": "x"}] * 2,
            }
            for n in TASKS
        },
        reads(OF_K),
    ),
    "citations with a relevance": one(
        "cited.json",
        {
            "answers": [
                {
                    "query_id": f"k{n}",
                    "citations": [{"doc": "d", "relevance": 0.5}] * 2,
                    "groundedness": n / 25,
                }
                for n in TASKS
            ]
        },
        reads(PARTS),
    ),
    "lists of models with ids under an unknown name": one(
        "lists.json",
        {m: [{"q": f"k{n}", "ok": PASSES[n]} for n in TASKS] for m in ("m1", "m2")},
        reads({task: [value, value] for task, value in OF_K.items()}, agents=2),
    ),
    "models by questions": one(
        "models.json",
        {m: {f"k{n}": {"ok": bool(PASSES[n])} for n in TASKS} for m in ("m1", "m2")},
        reads({task: [value, value] for task, value in OF_K.items()}, agents=2),
    ),
}

REWARD = {
    "completed everywhere beside a score": one(
        "completed.jsonl",
        lines({**row, "status": "completed", "valid": True} for row in ROWS),
        reads(PARTS),
    ),
    "a status of the run alone": one(
        "status.jsonl",
        worded("status", "completed", "error"),
        asks("reward: ?"),
    ),
    "a flag that an answer was found": one(
        "flag.jsonl",
        lines({"task_id": f"k{n}", "has_answer": bool(PASSES[n])} for n in TASKS),
        asks("reward: ?"),
    ),
    "flags of use beside the verdict": one(
        "flags.jsonl",
        lines(
            {
                "task_id": f"k{n}",
                "is_valid_json": bool(n % 3),
                "used_tool": n % 5 > 1,
                "correct": bool(PASSES[n]),
            }
            for n in TASKS
        ),
        reads(OF_K),
    ),
    "a variance and a deviation beside the mean": one(
        "spread.jsonl",
        lines(
            {
                "task_id": f"k{n}",
                "score_mean": n / 25,
                "score_std": 0.01 * n,
                "variance": 0.0001 * n * n,
            }
            for n in TASKS
        ),
        reads(PARTS),
    ),
    "a reward that is always 0": one(
        "zero.jsonl",
        lines({"task_id": f"k{n}", "reward": 0.0} for n in TASKS),
        asks("reward: ?", "always 0"),
    ),
    "labels and predictions": one(
        "labels.csv",
        csv("id,label,prediction", [f"k{n},{n % 2},{PASSES[n]}" for n in TASKS]),
        asks("reward: ?"),
    ),
    "a gold label and a prediction": one(
        "gold.csv",
        csv("id,gold_label,pred", [f"k{n},{n % 2},{PASSES[n]}" for n in TASKS]),
        asks("reward: ?"),
    ),
    "predictions alone": one(
        "predictions.jsonl",
        lines({"id": f"k{n}", "prediction": PASSES[n]} for n in TASKS),
        asks("reward: ?"),
    ),
    "answers of yes and no": one(
        "boolq.jsonl",
        lines(
            {"id": f"k{n}", "question": f"is it {n}?", "answer": word}
            for n, word in enumerate(verdict_words("yes", "no"))
        ),
        asks("reward: ?"),
    ),
    "answers of yes and no beside the expected ones": one(
        "expected.jsonl",
        lines(
            {"id": f"k{n}", "expected": ["yes", "no"][n % 2], "model_answer": word}
            for n, word in enumerate(verdict_words("yes", "no"))
        ),
        asks("reward: ?"),
    ),
    "outputs of true and false beside the verdict": one(
        "outputs.jsonl",
        lines(
            {"id": f"k{n}", "output": bool(n % 3), "correct": bool(PASSES[n])}
            for n in TASKS
        ),
        reads(OF_K),
    ),
    "a rank alone": one(
        "rank.csv",
        csv("id,rank", [f"k{n},{n + 1}" for n in TASKS]),
        asks("reward: ?"),
    ),
    "counts of errors": one(
        "counts.csv",
        csv("id,n_errors", [f"k{n},{n % 3}" for n in TASKS]),
        asks("reward: ?"),
    ),
    "fractions": one(
        "fractions.csv",
        csv("id,score", [f"k{n},{n}/12" for n in TASKS]),
        asks("reward: ?"),
    ),
    "a score with a remark": one(
        "remark.jsonl",
        lines({"id": f"k{n}", "score": f"{n / 25} (good)"} for n in TASKS),
        asks("reward: ?"),
    ),
    "grades of a scale in words": one(
        "likert.jsonl",
        lines({"id": f"k{n}", "rating": f"{n % 5 + 1} - fine"} for n in TASKS),
        asks("1 - fine: ?"),
    ),
    "true, false and not available": one(
        "na.csv",
        csv(
            "id,correct",
            [
                f"k{n},{'N/A' if n == 3 else 'TRUE' if PASSES[n] else 'FALSE'}"
                for n in TASKS
            ],
        ),
        reads({**OF_K, "k3": None}),
    ),
    "a score inside of JSON text": one(
        "inside.jsonl",
        lines({"id": f"k{n}", "result": json.dumps({"score": n})} for n in TASKS),
        reads({f"k{n}": n for n in TASKS}),
    ),
    "a seed and a temperature": one(
        "settings.jsonl",
        lines(
            {"task_id": f"k{n}", "seed": n % 3, "temperature": 0.1 * (n % 5)}
            for n in TASKS
        ),
        asks("reward: ?"),
    ),
    "the age of a person": one(
        "age.csv",
        csv("id,age,score", [f"k{n},{20 + n},{n / 25}" for n in TASKS]),
        reads(PARTS),
    ),
    "a loss": one(
        "loss.jsonl",
        lines({"task_id": f"k{n}", "loss": n / 25} for n in TASKS),
        reads(PARTS),
    ),
}

NUMBERS = {
    "percent with a decimal comma": one(
        "prozent.csv",
        csv("Aufgabe;Punkte", [f"k{n};{n},5 %" for n in TASKS]),
        reads({f"k{n}": (n + 0.5) / 100 for n in TASKS}),
    ),
    "apostrophes between thousands": one(
        "schweiz.csv",
        csv("id,score", [f"k{n},4'{100 + n}" for n in TASKS]),
        reads({f"k{n}": 4100 + n for n in TASKS}),
    ),
    "minus signs of a typesetter": one(
        "minus.jsonl",
        lines({"id": f"k{n}", "score": f"\u22120.{n + 10}"} for n in TASKS),
        reads({f"k{n}": -(n + 10) / 100 for n in TASKS}),
    ),
    "powers of ten": one(
        "powers.csv",
        csv("id,score", [f"k{n},{n + 1}e-3" for n in TASKS]),
        reads({f"k{n}": (n + 1) / 1000 for n in TASKS}),
    ),
    "numbers of accountants": one(
        "accounts.csv",
        csv("id,score", [f"k{n},({n})" for n in TASKS]),
        asks("reward: ?"),
    ),
    "zero and one as text": one(
        "quoted.json",
        [{"id": f"k{n}", "correct": str(PASSES[n])} for n in TASKS],
        reads(OF_K),
    ),
    "not available among numbers": one(
        "gaps.csv",
        csv("id,score", [f"k{n},{'N/A' if n == 5 else n / 25}" for n in TASKS]),
        reads({**PARTS, "k5": None}),
    ),
    "empty cells among numbers": one(
        "empty_cells.csv",
        csv("id,score", [f"k{n},{'' if n == 5 else n / 25}" for n in TASKS]),
        reads({**PARTS, "k5": None}),
    ),
    "dashes among numbers": one(
        "dashes.jsonl",
        lines({"id": f"k{n}", "score": "-" if n == 5 else n / 25} for n in TASKS),
        reads({**PARTS, "k5": None}),
    ),
    "a word among numbers that nobody knows": one(
        "word.jsonl",
        lines({"id": f"k{n}", "score": "great" if n == 5 else n / 25} for n in TASKS),
        asks("missing: ?", '["great"] if these words mean not judged'),
    ),
    "a sentinel of -1 beside verdicts": one(
        "minus_one.csv",
        csv("task,correct", [f"k{n},{-1 if n == 4 else PASSES[n]}" for n in TASKS]),
        asks("missing: ?", "-1, in 1 of 12 rows"),
    ),
    "a sentinel of -999": one(
        "minus_999.jsonl",
        lines({"task": f"k{n}", "score": -999 if n == 4 else n / 25} for n in TASKS),
        asks("missing: ?", "-999, in 1 of 12 rows"),
    ),
    "a sentinel of 999": one(
        "plus_999.csv",
        csv("task,score", [f"k{n},{999 if n == 4 else n / 25}" for n in TASKS]),
        asks("missing: ?", "999, in 1 of 12 rows"),
    ),
    "NaN and infinity": one(
        "nan.jsonl",
        lines(
            {"id": f"k{n}", "score": {3: math.nan, 4: math.inf}.get(n, n / 25)}
            for n in TASKS
        ),
        reads({**PARTS, "k3": None, "k4": None}),
    ),
    "a number that no float holds": one(
        "huge.jsonl",
        lines({"id": f"k{n}", "score": n / 25} for n in TASKS if n != 3)
        + '{"id": "k3", "score": 1'
        + "0" * 400
        + "}\n",
        reads({**{k: v for k, v in PARTS.items() if k != "k3"}, "k3": None}),
    ),
    "ids of thirty digits": one(
        "long_ids.jsonl",
        lines({"task_id": 10**30 + n, "score": n / 25} for n in TASKS),
        reads({10**30 + n: n / 25 for n in TASKS}),
    ),
}

WORDS = {
    "German of Excel": one(
        "de.csv",
        csv(
            "task;ok",
            [f"k{n};{word}" for n, word in enumerate(verdict_words("WAHR", "FALSCH"))],
        ),
        reads(OF_K),
    ),
    "French": one("fr.jsonl", worded("résultat", "réussi", "échoué"), reads(OF_K)),
    "Portuguese": one(
        "pt.csv",
        csv(
            "tarefa;resultado",
            [
                f"k{n};{word}"
                for n, word in enumerate(verdict_words("aprovado", "reprovado"))
            ],
        ),
        reads(OF_K),
    ),
    "Italian": one("it.jsonl", worded("esito", "corretto", "sbagliato"), reads(OF_K)),
    "Russian": one("ru.jsonl", worded("вердикт", "верно", "неверно"), reads(OF_K)),
    "Japanese": one("jp.jsonl", worded("結果", "正解", "不正解"), reads(OF_K)),
    "Chinese": one("zh.jsonl", worded("结果", "正确", "错误"), reads(OF_K)),
    "Polish": one("pl.jsonl", worded("wynik", "tak", "nie"), reads(OF_K)),
    "Turkish": one("tr.jsonl", worded("result", "evet", "hay\u0131r"), reads(OF_K)),
    "Korean": one("ko.jsonl", worded("verdict", "정답", "오답"), reads(OF_K)),
    "Dutch": one("nl.jsonl", worded("verdict", "goed", "fout"), reads(OF_K)),
    "Welsh, which nobody taught it": one(
        "cy.jsonl", worded("verdict", "cywir", "anghywir"), asks("cywir: ?")
    ),
    "spaces, stops and capitals": one(
        "shouting.jsonl", worded("verdict", "PASS ", "Fail."), reads(OF_K)
    ),
    "partly right": one(
        "partly.jsonl",
        lines(
            {
                "task_id": f"k{n}",
                "verdict": ["Correct", "Partially correct", "Incorrect"][n % 3],
            }
            for n in TASKS
        ),
        reads({f"k{n}": [1, 0.5, 0][n % 3] for n in TASKS}),
    ),
    "not sure": one(
        "unclear.jsonl",
        lines(
            {"task_id": f"k{n}", "verdict": ["good", "bad", "unclear"][n % 3]}
            for n in TASKS
        ),
        asks("unclear: ?"),
    ),
    "verdicts of several types": one(
        "types.jsonl",
        lines({"id": f"k{n}", "correct": [True, "true", 1][n % 3]} for n in TASKS),
        asks("reward: ?"),
    ),
}

TASK = {
    "three parts of an id": one(
        "parts.jsonl",
        lines(
            {"dataset": d, "split": s, "idx": n, "correct": PASSES[n]}
            for d in ("x", "y")
            for s in ("dev", "test")
            for n in TASKS
        ),
        reads(
            {
                f"{d}/{s}/{n}": PASSES[n]
                for d in ("x", "y")
                for s in ("dev", "test")
                for n in TASKS
            }
        ),
    ),
    "runs of the same questions": one(
        "runs.csv",
        csv(
            "run_id,timestamp,question,correct",
            [f"r{k},{k}:{n},what is {n},{PASSES[n]}" for k in range(2) for n in TASKS],
        ),
        reads({f"what is {n}": [PASSES[n]] * 2 for n in TASKS}),
    ),
    "the same id as number and text": one(
        "both.jsonl",
        lines({"id": "3" if n == 7 else n, "score": n / 25} for n in TASKS),
        refuses("3"),
    ),
    "an id that is empty": one(
        "no_id.csv",
        csv("id,score", [f"{'' if n == 7 else f'k{n}'},{n / 25}" for n in TASKS]),
        refuses("no_id.csv:9"),
    ),
    "attempts one below the other": one(
        "attempts.csv",
        csv("question,score", [f"k{n},{n / 25 + k}" for n in TASKS for k in (0, 1)]),
        reads({f"k{n}": [n / 25, n / 25 + 1] for n in TASKS}),
    ),
    "rows as written twice": one(
        "twice.jsonl",
        lines([{**row, "answer": "some words of an answer"} for row in ROWS] * 2),
        refuses("twice.jsonl:13"),
    ),
    "a number of the row and nothing else": one(
        "line.csv",
        csv(",score", [f"{n},{n / 25}" for n in TASKS]),
        asks("task: ?"),
    ),
}

ERRORS = {
    "an error beside a zero": one(
        "failed.jsonl",
        lines(
            {"id": f"k{n}", "score": 0, "error": "timeout after 60 s"}
            if n == 5
            else {"id": f"k{n}", "score": n / 25, "error": None}
            for n in TASKS
        ),
        reads({**PARTS, "k5": None}),
    ),
    "an exception beside a zero": one(
        "exception.jsonl",
        lines(
            {
                "id": f"k{n}",
                "score": 0.0 if n == 5 else n / 25,
                "exception": "ConnectionError: refused" if n == 5 else None,
            }
            for n in TASKS
        ),
        reads({**PARTS, "k5": None}),
    ),
    # as NeMo Gym's servers write the reason of a zero that they graded
    "a message about a graded zero": one(
        "message.csv",
        csv(
            "id,score,error_message",
            [
                f"k{n},{0 if n == 5 else n / 25},{'503' if n == 5 else ''}"
                for n in TASKS
            ],
        ),
        reads({**PARTS, "k5": 0}),
    ),
    "a traceback beside a zero": one(
        "traceback.json",
        {
            "results": [
                {"id": f"k{n}", "score": 0, "traceback": "Traceback (most ..."}
                if n == 5
                else {"id": f"k{n}", "score": n / 25}
                for n in TASKS
            ]
        },
        reads({**PARTS, "k5": None}),
    ),
    "a judge's error beside a zero": one(
        "judge.jsonl",
        lines(
            {
                "id": f"k{n}",
                "score": 0 if n == 5 else n / 25,
                "judge_error": "rate limit" if n == 5 else "",
            }
            for n in TASKS
        ),
        reads({**PARTS, "k5": None}),
    ),
    "a status of error beside a zero": one(
        "status_error.jsonl",
        lines(
            {
                "id": f"k{n}",
                "score": 0 if n == 5 else n / 25,
                "status": "error" if n == 5 else "ok",
            }
            for n in TASKS
        ),
        reads({**PARTS, "k5": None}),
    ),
    "an error beside an empty score": one(
        "null.jsonl",
        lines(
            {"id": f"k{n}", "score": None, "error": {"code": 500}}
            if n == 5
            else {"id": f"k{n}", "score": n / 25}
            for n in TASKS
        ),
        reads({**PARTS, "k5": None}),
    ),
    "an error whose score was judged all the same": one(
        "graded.jsonl",
        lines(
            {"id": f"k{n}", "score": n / 25, "error": "slow" if n == 5 else None}
            for n in TASKS
        ),
        reads(PARTS),
    ),
}

PAGES = {
    "a page of Django's": one(
        "django.json",
        {"count": 45, "next": "http://x/?page=2", "previous": None, "results": ROWS},
        refuses("next"),
    ),
    "links to the next page": one(
        "links.json",
        {"data": ROWS, "links": {"self": "http://x/1", "next": "http://x/2"}},
        refuses("links.next"),
    ),
    "a page of OData": one(
        "odata.json",
        {"value": ROWS, "@odata.nextLink": "http://x/2"},
        refuses("nextLink"),
    ),
    "a page under pagination": one(
        "pagination.json",
        {"items": ROWS, "pagination": {"has_next": True, "page": 1}},
        refuses("has_next"),
    ),
    "a page of Braintrust's": one(
        "events.json", {"events": ROWS, "cursor": "ZXlK"}, refuses("cursor")
    ),
    "an offset and a total": one(
        "offset.json",
        {"items": ROWS, "offset": 0, "limit": 12, "total": 45},
        refuses("12 of 45"),
    ),
    "a truncated list": one(
        "truncated.json", {"items": ROWS, "truncated": True}, refuses("truncated")
    ),
    "a page that is the whole": one(
        "whole.json",
        {"items": ROWS, "offset": 0, "limit": 100, "total": 12, "next": None},
        reads(PARTS),
    ),
}

FILES = {
    "a CSV of Excel in UTF-16": one(
        "utf16.csv",
        csv("id,score", [f"k{n},{n}" for n in TASKS]).encode("utf-16"),
        refuses("UTF-16"),
    ),
    "a CSV in UTF-16 without a mark": one(
        "utf16le.csv",
        csv("id,score", [f"k{n},{n}" for n in TASKS]).encode("utf-16-le"),
        refuses("utf16le.csv"),
    ),
    "JSON Lines with a mark": one(
        "mark.jsonl", b"\xef\xbb\xbf" + lines(ROWS).encode(), reads(PARTS)
    ),
    "Latin 1": one(
        "latin.csv",
        csv("id,score,größe", [f"k{n},{n / 25},ü" for n in TASKS]).encode("latin-1"),
        refuses("UTF-8"),
    ),
    "nothing": one("nothing.jsonl", "", refuses("empty")),
    "spaces": one("spaces.json", "  \n\n ", refuses("spaces.json")),
    "a header alone": one("header.csv", "id,score\n", refuses("header.csv")),
    "half a line": one(
        "half.jsonl", lines(ROWS) + '{"task_id": "k12", "sco', refuses("half.jsonl:13")
    ),
    "a key twice": one(
        "double.jsonl",
        lines(ROWS) + '{"task_id": "k12", "score": 1, "score": 0}\n',
        refuses("double.jsonl:13", "score"),
    ),
    "a NUL": one("nul.jsonl", lines(ROWS) + "\x00\x00\x00", refuses("nul.jsonl")),
    "a million lists in each other": one(
        "deep.jsonl",
        lines(ROWS)
        + '{"task_id": "k12", "score": 1, "x": '
        + "[" * 1_000_000
        + "]" * 1_000_000
        + "}\n",
        refuses("deep.jsonl:13"),
    ),
    "objects in each other": one(
        "nested.json",
        '{"a": ' * 1_000_000 + "1" + "}" * 1_000_000,
        refuses("nested.json"),
    ),
    "blank lines between rows": one(
        "blank.jsonl", lines(ROWS).replace("\n", "\n\n"), reads(PARTS)
    ),
    "Windows' line ends": one(
        "crlf.csv",
        csv("id,score", [f"k{n},{n / 25}" for n in TASKS], end="\r\n"),
        reads(PARTS),
    ),
    "a comma too many": one(
        "comma.json", json.dumps(ROWS)[:-1] + ",]", refuses("comma.json")
    ),
    "comments": one(
        "comments.jsonl", "// results\n" + lines(ROWS), refuses("JSON with comments")
    ),
    "a first line about the run": one(
        "first.jsonl",
        lines([{"model": "m", "date": "d"}, *ROWS]),
        refuses("first.jsonl:1"),
    ),
    "a last line with the sum": one(
        "last.jsonl", lines([*ROWS, {"mean": 0.22, "n": 12}]), refuses("last.jsonl:13")
    ),
    "a last row with the sum": one(
        "sum.csv",
        csv("task_id,score", [*(f"k{n},{n / 25}" for n in TASKS), "Total,2.64"]),
        refuses("Total"),
    ),
    "cells without a header": one(
        "bare.csv",
        "".join(f"k{n},{PASSES[n]}\n" for n in TASKS),
        refuses("header"),
    ),
    "a column twice": one(
        "columns.csv",
        csv("id,score,score", [f"k{n},{n / 25},{n}" for n in TASKS]),
        refuses("score"),
    ),
    "a row with a cell too many": one(
        "ragged.csv",
        csv("id,score", [*(f"k{n},{n / 25}" for n in TASKS), "k12,0,5"]),
        refuses("ragged.csv:14"),
    ),
    "lines of text above the header": one(
        "title.csv",
        "Results of the night\n\n" + csv("id,score", [f"k{n},{n}" for n in TASKS]),
        refuses("title.csv"),
    ),
    "line breaks in cells": one(
        "breaks.csv",
        csv("id,answer,score", [f'k{n},"a\nb, ""c""",{n / 25}' for n in TASKS]),
        reads(PARTS),
    ),
    "bars between cells": one(
        "bars.csv", csv("id|score", [f"k{n}|{n / 25}" for n in TASKS]), reads(PARTS)
    ),
    "null among rows": one(
        "hole.json", json.dumps([*ROWS, None]), refuses("hole.json:1", "after row 12")
    ),
    "a list on each line": one(
        "listed.jsonl", lines([[row] for row in ROWS]), refuses("listed.jsonl")
    ),
    "a split table of pandas": one(
        "split.json",
        {
            "columns": ["task_id", "score"],
            "index": [*TASKS],
            "data": [[f"k{n}", n / 25] for n in TASKS],
        },
        reads(PARTS),
    ),
    "a table of pandas with its schema": one(
        "schema.json",
        {
            "schema": {"fields": [{"name": "index", "type": "integer"}]},
            "data": [{"index": n, **row} for n, row in enumerate(ROWS)],
        },
        reads(PARTS),
    ),
    "rows of pandas by their index": one(
        "by_index.json", {str(n): row for n, row in enumerate(ROWS)}, reads(PARTS)
    ),
    "values of pandas": one(
        "values.json", [[f"k{n}", n / 25] for n in TASKS], refuses("values.json")
    ),
    "a link to the same file": OddFile(
        files={"out/a.jsonl": lines(ROWS)},
        links={"out/latest.jsonl": "a.jsonl"},
        path="out/*.jsonl",
        outcome=reads(PARTS),
    ),
    "an empty file among others": OddFile(
        files={"out/a.jsonl": lines(ROWS), "out/b.jsonl": ""},
        path="out",
        outcome=refuses("out/b.jsonl", "empty"),
    ),
    "rows and a summary in one folder": OddFile(
        files={
            "out/a.json": json.dumps(ROWS),
            "out/summary.json": json.dumps({"mean": 0.22, "model": "m"}),
        },
        path="out/*.json",
        outcome=refuses("summary.json"),
    ),
    "two layouts in one folder": OddFile(
        files={
            "out/a.json": json.dumps(ROWS),
            "out/b.json": json.dumps({"results": ROWS}),
        },
        path="out/*.json",
        outcome=refuses("out/b.json"),
    ),
    "an empty object among others": OddFile(
        files={
            **{f"out/k{n}.json": json.dumps(row) for n, row in enumerate(ROWS)},
            "out/k99.json": "{}",
        },
        path="out",
        outcome=refuses("out/k99.json"),
    ),
    "two runs that share ids, without questions": OddFile(
        files={
            "out/a.jsonl": lines(ROWS),
            "out/b.jsonl": lines({"task_id": f"k{n}", "score": 0.5} for n in TASKS),
        },
        path="out/*.jsonl",
        outcome=refuses("k0"),
    ),
    "an archive that broke off": one(
        "cut.jsonl.gz",
        gzip.compress(lines(ROWS).encode(), mtime=0)[:-12],
        refuses("cut.jsonl.gz"),
    ),
    "a workbook": one("book.csv", b"PK\x03\x04\x14\x00\x06\x00", refuses("zip")),
    "a database": one(
        "runs.db", b"SQLite format 3\x00" + bytes(100), refuses("runs.db")
    ),
    "a page of the web": one(
        "login.json", "<!DOCTYPE html><html>sign in</html>", refuses("web page")
    ),
}

FURTHER = {
    **ROW_LEVEL,
    **REWARD,
    **NUMBERS,
    **WORDS,
    **TASK,
    **ERRORS,
    **PAGES,
    **FILES,
}
