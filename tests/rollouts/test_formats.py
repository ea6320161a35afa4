"""How the format of a file is recognised, and which loader reads it."""

import json

import pytest

from pytest_evalmetrics.registry import loaders
from pytest_evalmetrics.rollouts.formats import find_loader, recognise
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source


def source_of(folder, content, name="r.json"):
    path = folder.write(content, name)
    return open_source(RolloutFile(path, name))


def with_keys(text):
    """Write a document with these keys, each in a list of objects where it is below another."""
    document = {}
    for path in text.split():
        holder, _, key = path.partition(".")
        if key:
            document.setdefault(holder, [{}])[0][key] = 1
        else:
            document.setdefault(holder, 1)
    return document


KEYS = {
    "inspect_ai": ["eval.task eval.model"],
    "harbor": ["task_name trial_name", "n_total_trials stats"],
    "lm_eval": [
        "doc_id doc filtered_resps",
        "results configs",
        "results n-shot",
        "results group_subtasks",
        "results versions config.model",
    ],
    "promptfoo": [
        "success score namedScores provider",
        "results.results",
        "results.version results.prompts",
    ],
    "verifiers_traces": ["traces task.key", "traces task.hash", "traces task.data"],
    "verifiers": [
        "prompt completion reward example_id",
        "prompt completion reward id task",
        "prompt completion reward id info",
        "prompt completion reward id answer",
    ],
    "deepeval": [
        "testCases testPassed",
        "testCases metricsScores",
        "conversationalTestCases testPassed",
        "test_results metricsScores",
        "testCases.metricsData",
        "conversationalTestCases.metrics_data",
        "test_results.metricsMetadata",
    ],
    "pydantic_evals": [
        "name cases.scores cases.assertions cases.task_duration",
        "name cases failures.error_message failures.error_stacktrace",
        "name cases failures analyses",
    ],
    "swe_bench": ["resolved_ids unresolved_ids"],
    "evalplus": ["eval hash date"],
    "bfcl": ["accuracy correct_count total_count"],
    "helm": [
        "instance_id train_trial_index stats.name",
        "name.name name.split sum_squared",
    ],
    "nemo_evaluator": [
        "problem_idx repeat reward scoring_details",
        "config_hash sdk_version benchmark.scores",
    ],
    "every_eval_ever": [
        "schema_version evaluation_id sample_id evaluation.score",
        "schema_version evaluation_id evaluation_results model_info",
    ],
    "opik": ["test_results.test_case test_results.score_results"],
    "phoenix": ["experiment_id task_runs evaluation_runs"],
    "mlflow_traces": ["info.trace_id data.spans", "info.request_id data.spans"],
    "langfuse": [
        "data.traceId data.name data.dataType meta",
        "data.subject data.name data.dataType meta",
        "data.projectId data.name data.dataType data.environment meta.limit",
    ],
}
CASES = [(name, keys) for name, variants in KEYS.items() for keys in variants]


@pytest.mark.parametrize(("name", "keys"), CASES)
def test_a_format_is_recognised_by_its_keys(folder, name, keys):
    line = json.dumps(with_keys(keys))
    assert recognise(source_of(folder, line)).name == name


@pytest.mark.parametrize(("name", "keys"), CASES)
def test_a_key_that_lacks_is_not_recognised(folder, name, keys):
    first, *rest = keys.split()
    line = json.dumps(with_keys(" ".join(rest)) or {"x": 1})
    assert recognise(source_of(folder, line)).name != name
    assert first not in rest


def test_rows_of_nemo_gym_are_none_of_another_tool(folder):
    row = {**with_keys(KEYS["verifiers"][0]), "_ng_task_index": 0}
    assert recognise(source_of(folder, json.dumps(row))).name == "jsonl"


ZIP = b"PK\x03\x04" + bytes(26)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ZIP + b"_journal/start.json", "inspect_ai"),
        (ZIP + b"header.json", "inspect_ai"),
        (ZIP + b"reductions.json", "inspect_ai"),
        (ZIP + b"samples/a.json", "inspect_ai"),
        (ZIP + b"summaries.json", "inspect_ai"),
        (ZIP + b"other.json", "jsonl"),
        (b"PAR1xx", "parquet"),
        (b"ARROW1xx", "arrow"),
        ('[{"a": 1}]', "json"),
        ('{\n"a": 1}', "json"),
        ('{"a": 1}\n', "jsonl"),
        ("id,score\na,1\n", "csv"),
        ("id;score\na;1\n", "csv"),
        ("id\tscore\na\t1\n", "csv"),
        ("id|score\na|1\n", "csv"),
        ('"id","the score"\n"a, b",1\n', "csv"),
        ('id,note\na,"begins\nand ends"\n', "csv"),
        ("id,score\na,1,2\n", "jsonl"),
        ("id,id\na,1\n", "jsonl"),
        ("id\na\n", "jsonl"),
        ("id,score\n", "jsonl"),
        ("id,{x}\na,1\n", "jsonl"),
        (b"id,\xff\na,1\n", "jsonl"),
    ],
)
def test_a_format_is_recognised_by_its_first_bytes(folder, content, name):
    assert recognise(source_of(folder, content, "r.txt")).name == name


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "csv.zst"])
def test_a_table_is_recognised_by_its_name(folder, suffix):
    assert recognise(source_of(folder, "words\n", f"r.{suffix}")).name == "csv"
    assert recognise(source_of(folder, "[1]\n", f"r.{suffix}")).name == "json"


def test_a_folder_of_trials_is_harbor_s(folder):
    folder.json(with_keys("task_name trial_name"), "job/a/result.json")
    assert (
        recognise(open_source(RolloutFile(folder.path / "job", "job"))).name == "harbor"
    )


@pytest.mark.parametrize(
    ("name", "loader"),
    [
        *(("inspect_ai", "InspectAi"), ("harbor", "Harbor"), ("lm_eval", "LmEval")),
        *(("promptfoo", "Promptfoo"), ("verifiers_traces", "VerifiersTraces")),
        *(("verifiers", "Verifiers"), ("deepeval", "DeepEval"), ("csv", "Csv")),
        *(("pydantic_evals", "PydanticEvals"), ("swe_bench", "SweBench")),
        *(("evalplus", "EvalPlus"), ("bfcl", "Bfcl"), ("helm", "Helm")),
        *(("nemo_evaluator", "NemoEvaluator"), ("every_eval_ever", "EveryEvalEver")),
        *(("opik", "Opik"), ("phoenix", "Phoenix"), ("mlflow_traces", "MlflowTraces")),
        *(("langfuse", "Langfuse"), ("parquet", "Parquet"), ("arrow", "Arrow")),
        *(("json", "JsonArray"), ("jsonl", "JsonLines")),
    ],
)
def test_a_loader_by_its_name(folder, name, loader):
    assert loaders.find(name).target.__name__ == loader
    assert find_loader(name, source_of(folder, "{}")).__name__ == loader


def test_a_loader_without_a_name_is_that_of_the_content(folder):
    assert find_loader(None, source_of(folder, "[1]")).__name__ == "JsonArray"
