"""Odd files of tools, and the outcome of each: written before the loaders that they are for."""

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

BEFORE = {
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
