"""Odd files of tools, and the outcome of each."""

import math

from rollouts.tool_files import (
    ToolFiles,
    crashed,
    deepeval_case,
    gym_row,
    lines,
    part,
    promptfoo,
    promptfoo_row,
)

_NO_MODULE = (
    "Python code execution failed: ModuleNotFoundError: No module named 'rapidfuzz'"
)

_FIRST = {
    # -- graders that failed
    "promptfoo, a Python assertion that crashed": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row("a", [part(1), part(1, kind="python")]),
                promptfoo_row("b", [part(1), crashed(_NO_MODULE)]),
                promptfoo_row("c", [part(0), crashed(_NO_MODULE)]),
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [1], "b": [None], "c": [0]},
        says=("the grader failed", "rapidfuzz"),
    ),
    "promptfoo, a function that threw": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    promptfoo_row(
                        "a",
                        [
                            part(1, "has"),
                            crashed(
                                "Custom function threw error: x is not defined", "js"
                            ),
                        ],
                        {"has": 1, "js": 0},
                        weights={"has": 1, "js": 1},
                    )
                ]
            )
        },
        rollouts="r.jsonl",
        reward="js",
        rewards={"a": [None]},
        says=("x is not defined",),
    ),
    "promptfoo, a function that answered false": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row("a", [part(0, reason="Custom function returned false")])
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [0]},
    ),
    "promptfoo, a webhook that is down": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [part(1), crashed("Webhook error: fetch failed", kind="webhook")],
                )
            )
        },
        rollouts="r.json",
        reward="score",
        rewards={"a": [None]},
        says=("fetch failed",),
    ),
    "promptfoo, a script that was not found": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [
                        crashed(
                            "Error running Python script: FileNotFoundError: nope.py"
                        )
                    ],
                )
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [None]},
    ),
    "promptfoo, a threshold of the test": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [part(0), part(0.5), crashed(_NO_MODULE)],
                    case={"threshold": 0.4},
                )
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [None]},
    ),
    "deepeval, a NaN that counts as a failure": ToolFiles(
        files={
            "run.json": {
                "testCases": [
                    deepeval_case("a", ("m", 0.9)),
                    deepeval_case("b", ("m", math.nan)),
                    deepeval_case("c", ("m", math.nan), ("n", 0.1)),
                ],
                "metricsScores": [],
            }
        },
        rollouts="run.json",
        reward="success",
        rewards={"a": [1], "b": [None], "c": [0]},
        says=("m was not judged", "nan"),
    ),
    "deepeval, a case whose metrics were all skipped": ToolFiles(
        files={
            "run.json": {
                "testCases": [deepeval_case("a", ("m", 0.9)), deepeval_case("b")],
                "metricsScores": [],
            }
        },
        rollouts="run.json",
        reward="success",
        rewards={"a": [1], "b": [None]},
        says=("the case has no metrics",),
    ),
    "deepeval, an infinite score": ToolFiles(
        files={
            "run.json": {
                "testCases": [deepeval_case("a", ("m", math.inf))],
                "testPassed": 0,
            }
        },
        rollouts="run.json",
        reward="m",
        rewards={"a": [None]},
    ),
    # -- errors beside a zero
    "rows with an error beside a zero": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    {"id": "a", "reward": 1, "error": None},
                    {"id": "b", "reward": 0, "error": "TimeoutError: no answer"},
                    {"id": "c", "reward": 0.5, "error": "retried once"},
                    {"id": "d", "reward": 0, "error": ""},
                ]
            )
        },
        rollouts="{path: r.jsonl, fields: {task: id}}",
        rewards={"a": [1], "b": [None], "c": [0.5], "d": [0]},
        says=("TimeoutError: 1 rollout without a score", "no answer"),
    ),
    "a zero that NeMo Gym counts, with the reason why the answer can't be parsed": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    {"_ng_task_index": 0, "reward": 1, "error_message": None},
                    {"_ng_task_index": 1, "reward": 0, "error_message": "no XML"},
                ]
            )
        },
        rollouts="r.jsonl",
        rewards={0: [1], 1: [0]},
    ),
    "a score of an instance with an error": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    {
                        "sample_id": "a",
                        "evaluation": {"score": 0.0, "is_correct": False},
                        "error": {"type": "APIError", "message": "overloaded"},
                    },
                    {
                        "sample_id": "b",
                        "evaluation": {"score": 0.0, "is_correct": False},
                        "error": None,
                    },
                ]
            )
        },
        rollouts="{path: r.jsonl, fields: {task: sample_id, reward: evaluation.score}}",
        rewards={"a": [None], "b": [0]},
        says=("APIError: 1 rollout", "overloaded"),
    ),
    "rows whose scoring failed": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    {"item": "a", "value": 0.0, "scoring_failed": True},
                    {"item": "b", "value": 0.0, "scoring_failed": False},
                    {"item": "c", "value": 1.0, "scoring_failed": True},
                ]
            )
        },
        rollouts="{path: r.jsonl, fields: {task: item, reward: value}}",
        rewards={"a": [None], "b": [0], "c": [None]},
        says=("scoring_failed: 2 rollouts",),
    ),
    "tau-bench, a trial that crashed": ToolFiles(
        files={
            "r.json": [
                {"task_id": 0, "trial": 0, "reward": 1.0, "info": {"source": "user"}},
                {
                    "task_id": 0,
                    "trial": 1,
                    "reward": 0.0,
                    "info": {"error": "litellm.RateLimitError: 429", "traceback": "x"},
                },
            ]
        },
        rollouts="{path: r.json, fields: {task: task_id, sample: trial, reward: reward}}",
        rewards={0: [1, None]},
        says=("litellm.RateLimitError",),
    ),
    "tau2-bench, a simulator of the user that failed": ToolFiles(
        files={
            "r.json": {
                "simulations": [
                    {
                        "task_id": f"t{n}",
                        "trial": 0,
                        "termination_reason": reason,
                        "reward_info": {"reward": reward},
                    }
                    for n, (reason, reward) in enumerate(
                        [
                            ("agent_stop", 1.0),
                            ("agent_error", 0.0),
                            ("user_error", 0.0),
                            ("infrastructure_error", 0.0),
                        ]
                    )
                ]
            }
        },
        rollouts="{path: r.json, rows: simulations, "
        "fields: {task: task_id, sample: trial, reward: reward_info.reward}}",
        rewards={"t0": [1], "t1": [0], "t2": [None], "t3": [None]},
        says=("user_error: 1 rollout", "infrastructure_error: 1 rollout"),
    ),
    # -- NeMo Gym's folder
    "NeMo Gym, a folder of a clean run": ToolFiles(
        files={
            "out/rollouts.jsonl": lines([gym_row(0, 0, 1.0), gym_row(0, 1, 0.0)]),
            "out/rollouts_failures.jsonl": "",
            "out/rollouts_materialized_inputs.jsonl": lines(
                [{"_ng_task_index": 0, "_ng_rollout_index": n} for n in (0, 1)]
            ),
        },
        rollouts="out/*.jsonl",
        rewards={0: [1, 0]},
    ),
    "NeMo Gym, failures of a run": ToolFiles(
        files={
            "out/a.jsonl": lines([gym_row(0, 0, 1.0), gym_row(1, 0, 0.0)]),
            "out/a_failures.jsonl": lines(
                [
                    gym_row(1, 1, 0.0, _ng_failure_class="agent_timeout"),
                    gym_row(0, 1, 1.0, _ng_failure_class="judge_failed"),
                ]
            ),
        },
        rollouts="out/*.jsonl",
        rewards={0: [1, None], 1: [0, None]},
        says=("agent_timeout: 1 rollout without a score", "judge_failed"),
    ),
    "NeMo Gym, a failure that was made good": ToolFiles(
        files={
            "out/a.jsonl": lines([gym_row(0, 0, 1.0), gym_row(0, 1, 0.0)]),
            "out/a_failures.jsonl": lines(
                [gym_row(0, 1, 0.0, _ng_failure_class="transient")] * 2
            ),
        },
        rollouts="out/*.jsonl",
        rewards={0: [1, 0]},
    ),
    "files that are only called like sidecars": ToolFiles(
        files={
            "out/net_failures.jsonl": lines([{"id": "a", "reward": 1}]),
            "out/b.jsonl": lines([{"id": "b", "reward": 0}]),
        },
        rollouts="{path: out/*.jsonl, fields: {task: id}}",
        rewards={"a": [1], "b": [0]},
    ),
    # -- numbers of other versions
    "promptfoo, named scores that are sums": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row("a", [part(1, "tone"), part(1, "tone")], {"tone": 2}),
                promptfoo_row("b", [part(1, "tone"), part(0, "tone")], {"tone": 1}),
                promptfoo_row("c", [part(0.5, "tone")], {"tone": 0.5}),
            )
        },
        rollouts="r.json",
        reward="tone",
        rewards={"a": [1], "b": [0.5], "c": [0.5]},
    ),
    "promptfoo, sums over a set whose assertions follow it": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [
                        part(
                            0.5,
                            namedScores={"tone": 1},
                            componentResults=[part(1, "tone"), part(0, "tone")],
                        ),
                        part(1, "tone"),
                        part(0, "tone"),
                    ],
                    {"tone": 1},
                )
            )
        },
        rollouts="r.json",
        reward="tone",
        rewards={"a": [0.5]},
    ),
    "promptfoo, sums with their counts": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a", [part(1)], {"tone": 1.5}, namedScoresCount={"tone": 3}
                )
            )
        },
        rollouts="r.json",
        reward="tone",
        rewards={"a": [0.5]},
    ),
    "promptfoo, named scores that are means": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [part(1, "tone"), part(0.5, "tone")],
                    {"tone": 0.75},
                    weights={"tone": 2},
                )
            )
        },
        rollouts="r.json",
        reward="tone",
        rewards={"a": [0.75]},
    ),
    "lm-eval 0.3, results": ToolFiles(
        files={
            "r.json": {
                "results": {
                    "arc_easy": {"acc": 0.5, "acc_stderr": 0.01, "acc_norm": 0.75},
                },
                "versions": {"arc_easy": 0},
                "config": {
                    "model": "hf-causal",
                    "model_args": "pretrained=org/m,dtype=x",
                },
            }
        },
        rollouts="r.json",
        reward="acc",
        rewards={"arc_easy": [0.5]},
    ),
    # -- records that are there twice
    "promptfoo, a file appended to itself": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    promptfoo_row("a", [part(1)], id="x1"),
                    promptfoo_row("b", [part(0)], id="x2"),
                ]
                * 2
            )
        },
        rollouts="r.jsonl",
        reward="success",
        refused="r.jsonl:3: this record has the id 'x1', which r.jsonl:1 has",
    ),
    "promptfoo, both forms of one run": ToolFiles(
        files={
            "a.json": promptfoo(promptfoo_row("a", [part(1)], id="x1")),
            "b.jsonl": lines([promptfoo_row("a", [part(1)], id="x1")]),
        },
        rollouts="[a.json, b.jsonl]",
        reward="success",
        refused="b.jsonl:1: this record has the id 'x1', which a.json, result 0 has",
    ),
}


# -- more of the same kinds ---------------------------------------------------------------------

_ANSWERS = [
    {"id": f"q{n}", "output": f"the answer {n}", "correct": n % 3 > 0} for n in range(6)
]
_RUNS = [
    [
        {"task": f"t{n}", "question": f"What is {n} plus {n}?", "ok": (n + run) % 2}
        for n in range(6)
    ]
    for run in (0, 1)
]


def _subset(name, wins):
    return [
        {"question_id": n, "category": name, "model": "m", "score": int(n < wins)}
        for n in range(6)
    ]


_MORE = {
    "a file appended to itself": ToolFiles(
        files={"r.jsonl": lines(_ANSWERS * 2)},
        rollouts="{path: r.jsonl, fields: {task: id, reward: correct}}",
        reward="reward",
        refused="r.jsonl:7 is the same row as r.jsonl:1, which is read twice (6 rows",
    ),
    "a run that was resumed over its last rows": ToolFiles(
        files={"r.jsonl": lines(_ANSWERS + _ANSWERS[4:])},
        rollouts="{path: r.jsonl, fields: {task: id, reward: correct}}",
        refused="r.jsonl:7 is the same row as r.jsonl:5",
    ),
    "an array with a copy of a row": ToolFiles(
        files={"r.json": [*_ANSWERS, _ANSWERS[2]]},
        rollouts="{path: r.json, fields: {task: id, reward: correct}}",
        refused="r.json, row 7 is the same row as r.json, row 3",
    ),
    "a CSV file appended to itself": ToolFiles(
        files={
            "r.csv": "id,answer,ok\n"
            + "".join(f"q{n},the answer {n},{n % 2}\n" for n in range(6)) * 2
        },
        rollouts="{path: r.csv, fields: {task: id, reward: ok}}",
        refused="r.csv:8 is the same row as r.csv:2",
    ),
    "a short run appended to itself": ToolFiles(
        files={
            "r.jsonl": lines([{"task": f"t{n}", "reward": n % 2} for n in range(8)] * 2)
        },
        rollouts="{path: r.jsonl, fields: {task: task}}",
        refused="r.jsonl:9 is the same row as r.jsonl:1",
    ),
    "short rows that recur by chance": ToolFiles(
        files={
            "r.jsonl": lines(
                {"task": f"t{n}", "reward": reward}
                for n in range(3)
                for reward in (1, 0, 1)
            )
        },
        rollouts="{path: r.jsonl, fields: {task: task}}",
        rewards={f"t{n}": [1, 0, 1] for n in range(3)},
    ),
    "a record written twice, at two times": ToolFiles(
        files={
            "r.jsonl": lines(
                {"task": f"t{n}", "trial_id": f"t{n}-a", "ok": 1, "written": stamp}
                for stamp in ("10:00 today", "11:00 today")
                for n in range(3)
            )
        },
        rollouts="{path: r.jsonl, fields: {task: task, reward: ok}}",
        refused="r.jsonl:4 is the same row as r.jsonl:1",
    ),
    "the id of a question beside another task id": ToolFiles(
        files={
            "r.jsonl": lines(
                {"id": n, "question": f"What is {n}?", "ok": ok, "answer": f"a {n} {k}"}
                for n in range(3)
                for k, ok in enumerate((1, 1))
            )
        },
        rollouts="{path: r.jsonl, fields: {task: question, reward: ok}}",
        rewards={f"What is {n}?": [1, 1] for n in range(3)},
    ),
    "subsets that share ids": ToolFiles(
        files={
            "math/r.jsonl": lines(_subset("math", 2)),
            "code/r.jsonl": lines(_subset("code", 5)),
        },
        rollouts="{path: '*/r.jsonl', fields: {task: question_id, reward: score}}",
        refused="`fields: {task: [category, question_id]}` if 'category' tells data sets",
    ),
    "two runs whose questions agree": ToolFiles(
        files={f"run{k}.jsonl": lines(run) for k, run in enumerate(_RUNS)},
        rollouts="{path: 'run*.jsonl', fields: {task: task, reward: ok}}",
        rewards={f"t{n}": [n % 2, (n + 1) % 2] for n in range(6)},
        says=("2 files hold the same 6 task ids; 'question' agrees in their rows",),
    ),
    "two runs whose questions differ": ToolFiles(
        files={
            "a.jsonl": lines(_RUNS[0]),
            "b.jsonl": lines(
                {**row, "question": f"Name the capital of {row['task']}."}
                for row in _RUNS[1]
            ),
        },
        rollouts="{path: '[ab].jsonl', fields: {task: task, reward: ok}}",
        refused="b.jsonl:1: the task id 't0' is in a.jsonl too (6 task ids in all)",
    ),
    "two runs with numbers of their own": ToolFiles(
        files={
            f"run{k}.jsonl": lines(
                {"task": n, "attempt": k, "ok": n % 2} for n in range(3)
            )
            for k in (0, 1)
        },
        rollouts="{path: 'run*.jsonl', fields: {task: task, sample: attempt, reward: ok}}",
        rewards={0: [0, 0], 1: [1, 1], 2: [0, 0]},
    ),
    "two runs whose content is named": ToolFiles(
        files={f"run{k}.jsonl": lines(run) for k, run in enumerate(_RUNS)},
        rollouts="{path: 'run*.jsonl', fields: {task: task, reward: ok, content: question}}",
        rewards={f"t{n}": [n % 2, (n + 1) % 2] for n in range(6)},
    ),
    "a list of attempts that are the same": ToolFiles(
        files={
            "r.json": [
                {
                    "task": f"t{n}",
                    "attempts": [{"ok": 1, "text": "the same answer"}] * 2,
                }
                for n in range(3)
            ]
        },
        rollouts="{path: r.json, rows: '*.attempts', "
        "fields: {task: _parent.task, reward: ok}}",
        rewards={f"t{n}": [1, 1] for n in range(3)},
    ),
    "promptfoo, a Ruby assertion that crashed": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [crashed("Ruby code execution failed: LoadError", kind="ruby")],
                )
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [None]},
    ),
    "promptfoo, a judge without an answer": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [
                        part(
                            0,
                            reason="Could not extract JSON",
                            kind="llm-rubric",
                            metadata={"graderError": True},
                        )
                    ],
                )
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [None]},
        says=("Could not extract JSON",),
    ),
    "promptfoo, named scores out of a script": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [
                        part(1, namedScores={"inner": 0.5}),
                        part(1, namedScores={"inner": 1}),
                    ],
                    {"inner": 1.5},
                )
            )
        },
        rollouts="r.json",
        reward="inner",
        rewards={"a": [0.75]},
    ),
    "an error that is an object": ToolFiles(
        files={
            "r.jsonl": lines(
                {"id": n, "ok": 0, "error": {"message": "rate limit", "type": "API"}}
                for n in range(3)
            )
        },
        rollouts="{path: r.jsonl, fields: {task: id, reward: ok}}",
        rewards={n: [None] for n in range(3)},
        says=("API: 3 rollouts without a score", "rate limit"),
    ),
    "an error that is a measure": ToolFiles(
        files={"r.jsonl": lines({"id": n, "ok": 0, "error": n / 2} for n in range(3))},
        rollouts="{path: r.jsonl, fields: {task: id, reward: ok}}",
        rewards={n: [0] for n in range(3)},
    ),
    "remarks of a grader under error": ToolFiles(
        files={"r.jsonl": lines([{"id": "a", "ok": 0, "error": ["wrong type"]}])},
        rollouts="{path: r.jsonl, fields: {task: id, reward: ok}}",
        rewards={"a": [0]},
    ),
    "CSV with a column of errors": ToolFiles(
        files={"r.csv": "id,ok,error\na,0,TimeoutError: late\nb,0,\nc,1,\n"},
        rollouts="{path: r.csv, fields: {task: id, reward: ok}}",
        rewards={"a": [None], "b": [0], "c": [1]},
        says=("TimeoutError",),
    ),
    "NeMo Gym, failures alone": ToolFiles(
        files={
            "a_failures.jsonl": lines(
                [gym_row(0, 0, 0.0, _ng_failure_class="agent_timeout")]
            )
        },
        rollouts="a_failures.jsonl",
        rewards={0: [None]},
    ),
    "lm-eval 0.3, several tasks and no errors": ToolFiles(
        files={
            "r.json": {
                "results": {
                    "wikitext": {"word_perplexity": 12.5},
                    "squad2": {"exact": 50.0, "f1": 62.5},
                },
                "versions": {"wikitext": 1, "squad2": 1},
                "config": {"model": "gpt2", "limit": None},
            }
        },
        rollouts="r.json",
        reward="f1",
        rewards={"squad2": [62.5], "wikitext": [None]},
    ),
    "usage that evsys keeps in the metadata": ToolFiles(
        files={
            "r.jsonl": lines(
                {
                    "task": "a",
                    "reward": 1,
                    "metadata": {"usage": {"latency_s": n, "cost_usd": 0.5}},
                }
                for n in (1.0, 2.0)
            )
        },
        rollouts="{path: r.jsonl, fields: {task: task}}",
        reward="cost_usd",
        rewards={"a": [0.5, 0.5]},
    ),
    "a filter that leaves a task without a row": ToolFiles(
        files={
            "r.jsonl": lines(
                {"id": task, "name": name, "ok": 1}
                for task, name in (("a", "x"), ("a", "y"), ("b", "y"))
            )
        },
        rollouts="{path: r.jsonl, where: {name: x}, fields: {task: id, reward: ok}}",
        rewards={"a": [1]},
        says=("1 task has no row left, such as 'b'",),
    ),
    "promptfoo, sums under a name with a variable": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "en",
                    [part(1, "tone-{{ q }}"), part(0, "tone-{{ q }}")],
                    {"tone-en": 1},
                )
            )
        },
        rollouts="r.json",
        reward="tone-en",
        rewards={"en": [0.5]},
    ),
    "promptfoo, a judge that writes about errors": ToolFiles(
        files={
            "r.json": promptfoo(
                promptfoo_row(
                    "a",
                    [
                        part(
                            0, reason="API error handling is missing", kind="llm-rubric"
                        )
                    ],
                )
            )
        },
        rollouts="r.json",
        reward="success",
        rewards={"a": [0]},
    ),
    "the remark of a grader beside its zero": ToolFiles(
        files={
            "r.jsonl": lines(
                [
                    {
                        "id": "a",
                        "ok": 0,
                        "error_message": "ExpatError: not well-formed",
                    },
                    {"id": "b", "ok": 1, "error_message": None},
                ]
            )
        },
        rollouts="{path: r.jsonl, fields: {task: id, reward: ok}}",
        rewards={"a": [0], "b": [1]},
    ),
    "tasks of suites, one file each": ToolFiles(
        files={
            f"{suite}/{task}/{injection}.json": {
                "suite": suite,
                "task": task,
                "injection": injection,
                "utility": True,
            }
            for suite in ("slack", "travel")
            for task in ("u0", "u1")
            for injection in ("i0", "i1")
        },
        rollouts="{path: '**/*.json', fields: {task: task, reward: utility}}",
        refused="`fields: {task: [suite, injection, task]}` if these fields tell data sets",
    ),
}

ODD_FILES = {**_FIRST, **_MORE}
