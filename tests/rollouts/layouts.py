"""Writes small files in the layouts of other tools: `python tests/rollouts/layouts.py FOLDER`.

Each layout is named with the public source that it was read from; the values are made up.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple


class Layout(NamedTuple):
    """One file, the rewards that are in it, and a key without which it can't be read."""

    source: str
    file: str
    content: str
    rewards: dict[str, list[float | None]]
    key: str


def _lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv(*rows: dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _stat(name: str, mean: float) -> dict[str, Any]:
    return {"name": {"name": name, "split": "test"}, "count": 1, "sum": mean, "mean": mean}


def _instance(task: str, *stats: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"instance_id": task, "train_trial_index": 0, "stats": list(stats), **more}


def _event(task: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"run_id": "r", "event_id": 0, "sample_id": task, "type": kind, "data": data}


def _simulation(task: str, trial: int, reward: float | None) -> dict[str, Any]:
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "trial": trial,
        "duration": 12.5,
        "termination_reason": "user_stop",
        "reward_info": None if reward is None else {"reward": reward, "reward_basis": ["DB"]},
        "messages": [{"role": "assistant", "content": "hello"}],
    }


def _evaluated(task: str, base: str, plus: str) -> dict[str, Any]:
    return {"task_id": task, "solution": "", "base_status": base, "plus_status": plus}


def _score(trace: str, name: str, value: float) -> dict[str, Any]:
    return {"id": f"{trace}{name}", "traceId": trace, "name": name, "value": value}


# the counts of gpt4 on the leaderboard: 761 wins, 32 losses and 12 draws of 805, 95.28 %
_PREFERENCES = [2.0] * 761 + [1.0] * 32 + [0.0] * 6 + [1.5] * 6
_POINTS = {2.0: 1.0, 1.0: 0.0, 0.0: 0.5, 1.5: 0.5}

LAYOUTS = {
    "swe-bench": Layout(
        "github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py",
        "model.run.json",
        json.dumps(
            {
                "total_instances": 5,
                "submitted_instances": 4,
                "completed_ids": ["a__a-1", "b__b-2"],
                "incomplete_ids": ["e__e-5"],
                "empty_patch_ids": ["c__c-3"],
                "submitted_ids": ["a__a-1", "b__b-2", "c__c-3", "d__d-4"],
                "resolved_ids": ["a__a-1"],
                "unresolved_ids": ["b__b-2"],
                "error_ids": ["d__d-4"],
                "unstopped_containers": ["sweb.eval.a__a-1"],
                "unremoved_images": [],
                "schema_version": 2,
            }
        ),
        {"a__a-1": [1], "b__b-2": [0], "c__c-3": [0], "d__d-4": [None], "e__e-5": [None]},
        "resolved_ids",
    ),
    "tau2-bench": Layout(
        "github.com/sierra-research/tau2-bench, src/tau2/data_model/simulation.py",
        "results.json",
        json.dumps(
            {
                "timestamp": "2026-01-01",
                "info": {"num_trials": 2, "agent_info": {"implementation": "x", "llm": "m"}},
                "tasks": [{"id": "0"}, {"id": "1"}],
                "simulations": [
                    _simulation("0", 0, 1.0),
                    _simulation("1", 0, 0.0),
                    _simulation("0", 1, 0.0),
                    _simulation("1", 1, None),
                ],
            }
        ),
        {"0": [1, 0], "1": [0, None]},
        "reward_info",
    ),
    "evalplus": Layout(
        "github.com/evalplus/evalplus, evalplus/evaluate.py",
        "samples_eval_results.json",
        json.dumps(
            {
                "date": "2026-01-01 00:00",
                "hash": "x",
                "eval": {
                    "HumanEval/0": [
                        _evaluated("HumanEval/0", "pass", "pass"),
                        _evaluated("HumanEval/0", "pass", "fail"),
                    ],
                    "HumanEval/1": [
                        _evaluated("HumanEval/1", "timeout", "timeout"),
                        _evaluated("HumanEval/1", "fail", "fail"),
                    ],
                },
            }
        ),
        {"HumanEval/0": [1, 0], "HumanEval/1": [0, 0]},
        "plus_status",
    ),
    "openai-evals": Layout(
        "github.com/openai/evals, evals/record.py",
        "log.jsonl",
        _lines(
            {"spec": {"eval_name": "x.dev.v0", "run_id": "r"}},
            _event("x.dev.0", "sampling", prompt="?", sampled=["1"]),
            _event("x.dev.0", "match", correct=True, expected="1", picked="1"),
            _event("x.dev.1", "match", correct=False, expected="1", picked=None),
            _event("x.dev.2", "match", correct=True, expected="1", picked="1"),
            {"final_report": {"accuracy": 2 / 3}},
        ),
        {"x.dev.0": [1], "x.dev.1": [0], "x.dev.2": [1]},
        "correct",
    ),
    "alpaca-eval": Layout(
        "github.com/tatsu-lab/alpaca_eval, src/alpaca_eval/metrics/winrate.py and leaderboards",
        "annotations.json",
        json.dumps(
            [
                {
                    "instruction": f"question {number:03}",
                    "generator_1": "text_davinci_003",
                    "generator_2": "gpt4",
                    "annotator": "alpaca_eval_gpt4",
                    "preference": preference,
                }
                for number, preference in enumerate(_PREFERENCES)
            ]
        ),
        {f"question {n:03}": [_POINTS[p]] for n, p in enumerate(_PREFERENCES)},
        "preference",
    ),
    "helm": Layout(
        "github.com/stanford-crfm/helm, src/helm/benchmark/metrics/metric.py",
        "per_instance_stats.json",
        json.dumps(
            [
                _instance("id0", _stat("exact_match", 1.0), _stat("num_references", 4)),
                _instance("id1", _stat("exact_match", 0.0)),
                _instance("id1", _stat("exact_match", 1.0), perturbation={"name": "typos"}),
                _instance("id2"),
            ]
        ),
        {"id0": [1], "id1": [0], "id2": [None]},
        "exact_match",
    ),
    "mlflow": Layout(
        "github.com/mlflow/mlflow, tests/evaluate/test_default_evaluator.py",
        "eval_results_table.json",
        json.dumps(
            {
                "columns": ["inputs", "outputs", "exact_match/score"],
                "data": [["a?", "1", 1], ["b?", "2", 0]],
            }
        ),
        {"a?": [1], "b?": [0]},
        "exact_match/score",
    ),
    "langfuse": Layout(
        "langfuse.com, the public API's GetScoresResponse",
        "scores.json",
        json.dumps(
            {
                "data": [
                    _score("t1", "correctness", 1.0),
                    _score("t1", "tone", 0.5),
                    _score("t2", "correctness", 0.25),
                    _score("t3", "tone", 0.5),
                ],
                "meta": {"page": 1, "totalItems": 4, "totalPages": 1},
            }
        ),
        {"t1": [1], "t2": [0.25], "t3": [None]},
        "correctness",
    ),
    "langsmith": Layout(
        "docs.langchain.com/langsmith, the schema Run with feedback_stats",
        "runs.jsonl",
        _lines(
            *(
                {
                    "id": f"run-{task}",
                    "reference_example_id": task,
                    "run_type": "chain",
                    "feedback_stats": {"correctness": {"n": 1, "avg": score}},
                }
                for task, score in (("e1", 1.0), ("e2", 0.0))
            )
        ),
        {"e1": [1], "e2": [0]},
        "feedback_stats",
    ),
    "phoenix": Layout(
        "github.com/Arize-ai/phoenix, src/phoenix/server/api/routers/v1/experiments.py",
        "experiment.csv",
        _csv(
            *(
                {
                    "example_id": task,
                    "repetition_number": repeat,
                    "input": json.dumps({"question": "a, b?"}),
                    "error": "",
                    "latency_ms": 12.5,
                    "annotation_correctness_label": "",
                    "annotation_correctness_score": score,
                }
                for task, repeat, score in (("RQ==", 1, 1.0), ("RQ==", 2, 0.0), ("Rg==", 1, ""))
            )
        ),
        {"RQ==": [1, 0], "Rg==": [None]},
        "annotation_correctness_score",
    ),
    "ragas": Layout(
        "docs.ragas.io, EvaluationResult.to_pandas",
        "ragas.csv",
        _csv(
            {"user_input": "a?", "response": "x, y", "faithfulness": 0.5},
            {"user_input": "b?", "response": "z", "faithfulness": ""},
        ),
        {"a?": [0.5], "b?": [None]},
        "faithfulness",
    ),
}


if __name__ == "__main__":
    for each in LAYOUTS.values():
        Path(sys.argv[1], each.file).write_text(each.content, encoding="utf-8")
