"""Small files in the layouts of other tools, named with the public sources they were read from.

The values are made up.
"""

import json
from typing import Any, NamedTuple

import pyarrow.parquet


class Layout(NamedTuple):
    """One file, the rewards that are in it, and a key without which it can't be read."""

    source: str
    file: str
    content: Any  # what is not text is JSON
    rewards: dict[str, list[float | None]]
    key: str
    beside: dict[str, str] = {}  # noqa: RUF012 - read alone

    def data(self):
        if isinstance(self.content, bytes):
            return self.content
        text = (
            self.content if isinstance(self.content, str) else json.dumps(self.content)
        )
        return text.encode()


def _lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def _trial_score(task, trial, value):
    outputs = [] if value is None else [{"name": "exact-match", "value": value}]
    return {
        "id": f"run:{task}:{trial}",
        "task_id": task,
        "trial_id": f"{task}-{trial}",
        "metric_type": "exact-match",
        "status": "failed" if value is None else "completed",
        "outputs": outputs,
    }


def _stat(name, mean):
    return {
        "name": {"name": name, "split": "test"},
        "count": 1,
        "sum": mean,
        "mean": mean,
    }


def _instance(task, *stats, **more):
    return {"instance_id": task, "train_trial_index": 0, "stats": list(stats), **more}


def _event(task, kind, **data):
    return {"run_id": "r", "event_id": 0, "sample_id": task, "type": kind, "data": data}


def _simulation(task, trial, info):
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "trial": trial,
        "reward_info": info,
    }


def _evaluated(task, *statuses):
    return [{"task_id": task, "base_status": b, "plus_status": p} for b, p in statuses]


def _score(trace, name, value):
    return {"id": f"{trace}{name}", "traceId": trace, "name": name, "value": value}


def _parquet(*rows):
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist(rows), sink, compression="none"
    )
    return bytes(sink.getvalue())


def _detail(task, score):
    doc = {
        "id": task,
        "query": f"question {task}",
        "choices": ["a", "b"],
        "gold_index": [0],
    }
    return {"doc": doc, "metric": {"extractive_match": score}}


def _trial(task, number, *, resolved):
    return {
        "trial_name": f"{task}.{number}-of-2.run",
        "task_id": task,
        "is_resolved": resolved,
    }


def _event_of(task, *, root, **scores):
    return {
        "id": f"{task}-{root}",
        "input": task if root else {"messages": []},
        "is_root": root,
        "scores": scores,
    }


def _otlp(**attributes):
    kinds = {str: "stringValue", float: "doubleValue", int: "intValue"}
    return [
        {"key": name, "value": {kinds[type(v)]: str(v) if type(v) is int else v}}
        for name, v in attributes.items()
    ]


def _span(task, *scores):
    events = [{"name": "exception", "attributes": []}]
    for name, score in scores:
        result = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": score,
        }
        events.append(
            {"name": "gen_ai.evaluation.result", "attributes": _otlp(**result)}
        )
    attributes = _otlp(**{"dataset.item": task, "gen_ai.usage.output_tokens": 12})
    span = {
        "traceId": f"t{task}",
        "name": "agent",
        "attributes": attributes,
        "events": events,
    }
    scope = {"scope": {"name": "agents"}, "spans": [span]}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def _assessed(trace, **values):
    assessments = [
        {
            "assessment_name": name,
            "feedback": {"value": value},
            "source": {"source_type": "CODE"},
        }
        for name, value in values.items()
    ]
    return {
        "info": {"trace_id": trace, "assessments": assessments},
        "data": {"spans": []},
    }


# the counts of gpt4 on the leaderboard: 761 wins, 32 losses and 12 draws of 805, 95.28 %
_PREFERENCES = [2.0] * 761 + [1.0] * 32 + [0.0] * 6 + [1.5] * 6
_POINTS = {2.0: 1.0, 1.0: 0.0, 0.0: 0.5, 1.5: 0.5}

# four trials of gpt-4o on each of the 50 tasks, historical_trajectories/gpt-4o-airline.json
_TRIALS = (
    "00000100001000000000010010000010000000000000100011110110000000110001000111110000"
    "11110111000000001111000010100110000010000101100100000000110111111111011111111000"
    "1101010111111000101010010110010011111111"
)
_AIRLINE = [_TRIALS[at : at + 4] for at in range(0, 200, 4)]

LAYOUTS = {
    "swe-bench": Layout(
        "github.com/SWE-bench/SWE-bench, swebench/harness/reporting.py",
        "model.run.json",
        {
            "completed_ids": ["a__a-1", "b__b-2"],
            "incomplete_ids": ["e__e-5"],
            "empty_patch_ids": ["c__c-3"],
            "submitted_ids": ["a__a-1", "b__b-2", "c__c-3", "d__d-4"],
            "resolved_ids": ["a__a-1"],
            "unresolved_ids": ["b__b-2"],
            "error_ids": ["d__d-4"],
        },
        {
            "a__a-1": [1],
            "b__b-2": [0],
            "c__c-3": [0],
            "d__d-4": [None],
            "e__e-5": [None],
        },
        "resolved_ids",
    ),
    "tau2-bench": Layout(
        "github.com/sierra-research/tau2-bench, src/tau2/data_model/simulation.py",
        "results.json",
        {
            "info": {
                "num_trials": 2,
                "agent_info": {"implementation": "x", "llm": "m"},
            },
            "tasks": [{"id": "0"}, {"id": "1"}],
            "simulations": [
                _simulation("0", 0, {"reward": 1.0, "reward_basis": ["DB"]}),
                _simulation("1", 0, {"reward": 0.0}),
                _simulation("0", 1, {"reward": 0.0}),
                _simulation("1", 1, None),
            ],
        },
        {"0": [1, 0], "1": [0, None]},
        "reward_info",
    ),
    "tau-bench": Layout(
        "github.com/sierra-research/tau-bench, run.py and historical_trajectories",
        "gpt-4o-airline.json",
        [
            {
                "task_id": task,
                "reward": float(one),
                "info": {},
                "traj": [],
                "trial": trial,
            }
            for trial in range(4)
            for task, trials in enumerate(_AIRLINE)
            for one in trials[trial]
        ],
        {task: list(map(float, trials)) for task, trials in enumerate(_AIRLINE)},
        "task_id",
    ),
    "evalplus": Layout(
        "github.com/evalplus/evalplus, evalplus/evaluate.py",
        "samples_eval_results.json",
        {
            "eval": {
                "HumanEval/0": _evaluated(
                    "HumanEval/0", ("pass", "pass"), ("pass", "fail")
                ),
                "HumanEval/1": _evaluated(
                    "HumanEval/1", ("timeout", "timeout"), ("fail", "fail")
                ),
            }
        },
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
        [
            {
                "instruction": f"question {n:03}",
                "generator_2": "gpt4",
                "preference": preference,
            }
            for n, preference in enumerate(_PREFERENCES)
        ],
        {f"question {n:03}": [_POINTS[p]] for n, p in enumerate(_PREFERENCES)},
        "preference",
    ),
    "helm": Layout(
        "github.com/stanford-crfm/helm, src/helm/benchmark/metrics/metric.py",
        "per_instance_stats.json",
        [
            _instance("id0", _stat("exact_match", 1.0), _stat("num_references", 4)),
            _instance("id1", _stat("exact_match", 0.0)),
            _instance("id1", _stat("exact_match", 1.0), perturbation={"name": "typos"}),
            _instance("id2"),
        ],
        {"id0": [1], "id1": [0], "id2": [None]},
        "exact_match",
    ),
    "mlflow": Layout(
        "github.com/mlflow/mlflow, tests/evaluate/test_default_evaluator.py",
        "eval_results_table.json",
        {
            "columns": ["inputs", "outputs", "exact_match/score"],
            "data": [["a?", "1", 1], ["b?", "2", 0]],
        },
        {"a?": [1], "b?": [0]},
        "exact_match/score",
    ),
    "langfuse": Layout(
        "langfuse.com, the public API's GetScoresResponse",
        "scores.json",
        {
            "data": [
                _score("t1", "correctness", 1.0),
                _score("t1", "tone", 0.5),
                _score("t2", "correctness", 0.25),
                _score("t3", "tone", 0.5),
            ]
        },
        {"t1": [1], "t2": [0.25], "t3": [None]},
        "correctness",
    ),
    "langsmith": Layout(
        "github.com/langchain-ai/langsmith-sdk, ExperimentResults.to_pandas",
        "results.csv",
        "inputs.question,feedback.correctness,example_id\na?,1.0,e1\nb?,0.0,e2\nc?,,e3\n",
        {"e1": [1], "e2": [0], "e3": [None]},
        "feedback.correctness",
    ),
    "phoenix": Layout(
        "github.com/Arize-ai/phoenix, src/phoenix/server/api/routers/v1/experiments.py",
        "experiment.csv",
        (
            "example_id,repetition_number,input,annotation_correctness_score\n"
            'RQ==,1,"{""question"": ""a, b?""}",1.0\n'
            'RQ==,2,"{""question"": ""a, b?""}",0.0\n'
            'Rg==,1,"{""question"": ""a, b?""}",\n'
        ),
        {"RQ==": [1, 0], "Rg==": [None]},
        "annotation_correctness_score",
    ),
    "phoenix-spans": Layout(
        "github.com/Arize-ai/phoenix, src/phoenix/server/api/routers/v1/annotations.py",
        "span_annotations.json",
        {
            "data": [
                {
                    "span_id": span,
                    "name": name,
                    "result": {"label": None, "score": score},
                }
                for span, name, score in (
                    ("s1", "qa", 1.0),
                    ("s1", "tone", 0.0),
                    ("s2", "qa", 0.5),
                )
            ]
        },
        {"s1": [1], "s2": [0.5]},
        "score",
    ),
    "opentelemetry": Layout(
        "opentelemetry.io/docs/specs/otel/protocol/file-exporter, semconv/gen-ai/gen-ai-events",
        "spans.jsonl",
        _lines(
            _span("a", ("correctness", 1.0), ("tone", 0.5)),
            _span("b", ("correctness", 0.0)),
            _span("a", ("correctness", 0.5)),
        ),
        {"ta": [1.0, 0.5], "tb": [0]},
        "score.value",
    ),
    "mlflow-traces": Layout(
        "github.com/mlflow/mlflow, mlflow/entities/assessment.py",
        "traces.jsonl",
        _lines(
            _assessed("tr-1", correct="yes", tone="no"), _assessed("tr-2", correct="no")
        ),
        {"tr-1": [1], "tr-2": [0]},
        "feedback",
    ),
    "lighteval": Layout(
        "github.com/huggingface/lighteval, src/lighteval/logging/info_loggers.py",
        "details_gsm8k.parquet",
        _parquet(_detail("0", 1.0), _detail("1", 0.0)),
        {"0": [1], "1": [0]},
        "extractive_match",
    ),
    "terminal-bench": Layout(
        "github.com/laude-institute/terminal-bench, terminal_bench/harness/models.py",
        "results.json",
        {
            "id": "run",
            "results": [
                _trial("hello-world", 1, resolved=True),
                _trial("hello-world", 2, resolved=False),
                _trial("fix-git", 1, resolved=False),
                _trial("fix-git", 2, resolved=None),
            ],
        },
        {"hello-world": [1, 0], "fix-git": [0, None]},
        "is_resolved",
    ),
    "bfcl": Layout(
        "github.com/ShishirPatil/gorilla, berkeley-function-call-leaderboard/bfcl_eval",
        "BFCL_v4_multiple_result.json",
        _lines(
            *(
                {"id": f"multiple_{n}", "result": "[f()]", "latency": 0.5}
                for n in range(3)
            )
        ),
        {"multiple_0": [1], "multiple_1": [0], "multiple_2": [1]},
        "id",
        {
            "BFCL_v4_multiple_score.json": _lines(
                {"accuracy": 2 / 3, "correct_count": 2, "total_count": 3},
                {
                    "id": "multiple_1",
                    "valid": False,
                    "error": ["wrong count"],
                    "prompt": {},
                },
            )
        },
    ),
    "braintrust": Layout(
        "braintrust.dev/docs/api-reference, the answer of POST /v1/experiment/ID/fetch",
        "experiment.json",
        {
            "events": [
                _event_of("r1", root=True, Factuality=1.0),
                _event_of("r1", root=False),
                _event_of("r2", root=True, Factuality=0.5),
            ]
        },
        {"r1": [1], "r2": [0.5]},
        "Factuality",
    ),
    "braintrust-local": Layout(
        "github.com/braintrustdata/braintrust-sdk, py/src/braintrust/framework.py",
        "results.json",
        {
            "summary": {"comparison": {"scores": {"exact": {"score": 0.5}}}},
            "results": [
                {"input": "q1", "output": "a", "scores": {"exact": 1.0}},
                {"input": "q2", "output": "b", "scores": {"exact": 0.0}},
                {"input": "q3", "output": "c", "scores": {"exact": None}},
                {"input": "q4", "output": None, "scores": {}, "error": "no answer"},
            ],
        },
        {"q1": [1], "q2": [0], "q3": [None], "q4": [None]},
        "exact",
    ),
    "simple-evals": Layout(
        "github.com/openai/simple-evals, simple_evals.py and healthbench_eval.py",
        "healthbench_model_allresults.json",
        {
            "score": 0.5,
            "metadata": {
                "example_level_metadata": [
                    {"prompt_id": "p1", "score": 0.75, "rubric_items": []},
                    {"prompt_id": "p2", "score": 0.25, "rubric_items": []},
                ]
            },
        },
        {"p1": [0.75], "p2": [0.25]},
        "score",
    ),
    "nemo-evaluator": Layout(
        "nemo_evaluator_sdk/agent_eval/scores.py of nemo-platform",
        "scores.jsonl",
        _lines(
            _trial_score("t1", 0, 1),
            _trial_score("t1", 1, None),
            _trial_score("t2", 0, 0),
            {**_trial_score("t2", 0, 1), "metric_type": "bleu"},
        ),
        {"t1": [1, None], "t2": [0]},
        "metric_type",
    ),
    "ragas": Layout(
        "docs.ragas.io, EvaluationResult.to_pandas",
        "ragas.csv",
        'user_input,response,faithfulness\na?,"x, y",0.5\nb?,z,\n',
        {"a?": [0.5], "b?": [None]},
        "faithfulness",
    ),
}


# layouts that are formats now, read by the keys of `rollouts:` all the same
BY_KEYS = {
    "swe-bench": """benchmark:
  name: swe-bench
  rollouts:
    path: model.run.json
    lists: {resolved_ids: 1, unresolved_ids: 0, empty_patch_ids: 0, error_ids: null, incomplete_ids: null}
  metrics: [pass@1]
""",
    "evalplus": """benchmark:
  name: evalplus
  rollouts:
    path: samples_eval_results.json
    rows: eval
    keyed: task_id
    fields: {reward: plus_status}
    map: {reward: {pass: 1, fail: 0, timeout: 0}}
""",
    "helm": """benchmark:
  name: helm
  rollouts:
    path: per_instance_stats.json
    rows: "*.stats"
    where: {_parent.perturbation: null}
    pivot: {by: [_parent.instance_id, _parent.train_trial_index], name: name.name, value: mean}
    fields: {task: _parent.instance_id, sample: _parent.train_trial_index, reward: exact_match}
""",
    "langfuse": """benchmark:
  name: langfuse
  rollouts:
    path: scores.json
    rows: data
    pivot: {by: traceId, name: name, value: value}
    fields: {reward: correctness}
""",
    "mlflow-traces": """benchmark:
  name: mlflow-traces
  rollouts:
    path: traces.jsonl
    rows: info.assessments
    where: {assessment_name: correct}
    fields: {task: _parent.trace_id, reward: feedback.value}
    map: {reward: {"yes": 1, "no": 0}}
""",
    "bfcl": """benchmark:
  name: bfcl
  rollouts:
    path: BFCL_v4_multiple_result.json
    join: {path: BFCL_v4_multiple_score.json, on: id, where: {valid: false}, unmatched: keep}
    fields: {task: id, reward: valid}
    map: {reward: {"false": 0, "null": 1}}
""",
}
