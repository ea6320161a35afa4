"""What is taken from a record of each tool: the whole rollout, and what measured it."""

import pytest
from rollouts.loaded import load_with
from rollouts.tool_files import lines

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_notes import (
    AmbiguousFailures,
    OtherInstancesLeftOut,
    OtherNumberStated,
    UnsubmittedInstances,
)
from pytest_evalmetrics.model.rollout_table import (
    STATED_COUNT,
    STATED_ERROR,
    STATED_TOTAL,
)
from pytest_evalmetrics.rollouts.loaders.bfcl import Bfcl
from pytest_evalmetrics.rollouts.loaders.deepeval import DeepEval
from pytest_evalmetrics.rollouts.loaders.evalplus import EvalPlus
from pytest_evalmetrics.rollouts.loaders.every_eval_ever import EveryEvalEver
from pytest_evalmetrics.rollouts.loaders.harbor import Harbor
from pytest_evalmetrics.rollouts.loaders.helm import Helm
from pytest_evalmetrics.rollouts.loaders.inspect_ai import InspectAi
from pytest_evalmetrics.rollouts.loaders.langfuse import Langfuse
from pytest_evalmetrics.rollouts.loaders.mlflow import MlflowTraces
from pytest_evalmetrics.rollouts.loaders.nemo_evaluator import NemoEvaluator
from pytest_evalmetrics.rollouts.loaders.opik import Opik
from pytest_evalmetrics.rollouts.loaders.phoenix import Phoenix
from pytest_evalmetrics.rollouts.loaders.promptfoo import Promptfoo
from pytest_evalmetrics.rollouts.loaders.pydantic_evals import PydanticEvals
from pytest_evalmetrics.rollouts.loaders.swebench import SweBench
from pytest_evalmetrics.rollouts.loaders.verifiers import Verifiers
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import Rollout


def refused(loader_class, folder, name):
    with pytest.raises(DataError) as caught:
        load_with(loader_class, folder, name)
    return caught.value


@pytest.mark.parametrize(
    ("loader_class", "name", "what"),
    [
        (DeepEval, "r.json", "a test run of deepeval"),
        (EvalPlus, "r.json", "the results of evalplus"),
        (Harbor, "result.json", "a Harbor result"),
        (InspectAi, "r.json", "an inspect_ai log"),
        (Langfuse, "r.json", "an answer of Langfuse"),
        (Opik, "r.json", "a result of Opik"),
        (Phoenix, "r.json", "an experiment of Phoenix"),
        (Promptfoo, "r.json", "the results of promptfoo"),
        (PydanticEvals, "r.json", "a report of pydantic-evals"),
        (SweBench, "r.json", "a report of SWE-bench"),
    ],
)
def test_a_file_that_is_cut_off_is_named_by_its_tool(folder, loader_class, name, what):
    folder.write('{"a": {', name)
    error = refused(loader_class, folder, name)
    assert error.message == (
        f"this looks like {what}, and the file ends in the middle of it"
    )


@pytest.mark.parametrize(
    ("loader_class", "rows", "beside", "what"),
    [
        (Verifiers, {"id": 1}, "metadata.json", "the metadata of verifiers"),
        (
            NemoEvaluator,
            {"problem_idx": 1},
            "eval-1.json",
            "a bundle of NeMo Evaluator",
        ),
        (
            EveryEvalEver,
            {"sample_id": "a"},
            "r.json",
            "an evaluation of Every Eval Ever",
        ),
    ],
)
def test_a_file_beside_that_is_cut_off_is_named_by_its_tool(
    folder, loader_class, rows, beside, what
):
    folder.rows([rows], "r_samples.jsonl")
    folder.write('{"a": {', beside)
    error = refused(loader_class, folder, "r_samples.jsonl")
    assert error.message.startswith(f"this looks like {what}, and ")
    assert error.file == beside


# -- Phoenix -----------------------------------------------------------------------------------


def evaluation(run, name, result, error=None):
    return {"experiment_run_id": run, "name": name, "result": result, "error": error}


def phoenix(folder, run, *evaluations, key="task_runs"):
    experiment = {key: [run], "evaluation_runs": list(evaluations)}
    folder.json(experiment, "e.json")
    return load_with(Phoenix, folder, "e.json")


def test_a_run_of_phoenix(folder):
    run = {"id": "r0", "dataset_example_id": "x", "repetition_number": 2, "output": "o"}
    loaded = phoenix(
        folder,
        run,
        evaluation("r0", "tone", {"score": 0.5}),
        evaluation("r0", "facts", [{"score": 1.0}]),
        evaluation("r1", "other", {"score": 0.0}),
    )
    assert loaded.rollouts == [
        Rollout(
            record=run,
            name="e.json, task_runs[0]",
            task="x",
            sample=1,
            scores={"tone": 0.5, "facts": 1.0, "other": None},
            record_id="r0",
        )
    ]
    assert loaded.ruler == {
        ("phoenix tone", "scores", "tone"),
        ("phoenix facts", "scores", "facts"),
        ("phoenix other", "scores", "other"),
    }


def test_a_run_of_phoenix_by_its_other_name(folder):
    run = {"id": "r0", "dataset_example_id": "x"}
    (rollout,) = phoenix(folder, run, key="runs").rollouts
    assert (rollout.task, rollout.sample, rollout.scores) == ("x", None, {})


@pytest.mark.parametrize(
    ("first", "error"),
    [
        pytest.param(
            evaluation("r0", "tone", {"score": 1}, "JudgeError: down"),
            RolloutError("tone was not judged", "JudgeError: down", of_grader=True),
            id="an error",
        ),
        pytest.param(
            evaluation("r0", "tone", {"label": "x"}),
            RolloutError("tone was not judged", "it has no score", of_grader=True),
            id="a label alone",
        ),
        pytest.param(
            evaluation("r0", "tone", [{"score": 1}, {"score": 0}]),
            RolloutError("tone was not judged", "it has no score", of_grader=True),
            id="two results",
        ),
    ],
)
def test_an_evaluation_of_phoenix_that_failed(folder, first, error):
    run = {"id": "r0", "dataset_example_id": "x"}
    second = evaluation("r0", "facts", None, "late")
    third = evaluation("r0", "length", {"score": 3})
    (rollout,) = phoenix(folder, run, first, second, third).rollouts
    assert rollout.scores == {"tone": None, "facts": None, "length": 3}
    assert rollout.error == error


def test_a_run_of_phoenix_that_failed(folder):
    run = {"id": "r0", "dataset_example_id": "x", "error": "ValueError: no"}
    (rollout,) = phoenix(folder, run, evaluation("r0", "tone", {"score": 1})).rollouts
    assert rollout.scores == {"tone": None}
    assert rollout.error == RolloutError("ValueError", "ValueError: no")


# -- Opik --------------------------------------------------------------------------------------


def opik(folder, test):
    folder.json({"experiment_id": "e", "test_results": [test]}, "o.json")
    return load_with(Opik, folder, "o.json")


def test_a_test_of_opik(folder):
    test = {
        "test_case": {
            "trace_id": "t",
            "dataset_item_id": "i",
            "dataset_item_content": {"input": "q"},
        },
        "score_results": [{"name": "m", "value": 0.5}, {"name": "n", "value": 1}],
        "trial_id": 2,
    }
    loaded = opik(folder, test)
    assert loaded.rollouts == [
        Rollout(
            record=test,
            name="o.json, test_results[0]",
            task="i",
            sample=2,
            scores={"m": 0.5, "n": 1},
            content={"input": "q"},
            record_id="t",
        )
    ]
    assert loaded.ruler == {("opik m", "scores", "m"), ("opik n", "scores", "n")}


def test_a_test_of_opik_without_a_trial_is_the_first(folder):
    test = {"test_case": {"dataset_item_id": "i", "dataset_item_content": {}}}
    (rollout,) = opik(folder, test).rollouts
    assert (rollout.sample, rollout.content) == (0, None)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ({"value": 0.0, "scoring_failed": True, "reason": "late"}, "late"),
        ({"value": 0.0, "error": "ValueError: no"}, "ValueError: no"),
        ({"value": None}, ""),
    ],
)
def test_a_score_of_opik_that_failed(folder, score, message):
    later = {"name": "n", "value": None, "reason": "later"}
    last = {"name": "k", "value": 1}
    results = [{"name": "m", **score}, later, last]
    test = {"test_case": {"dataset_item_id": "i"}, "score_results": results}
    (rollout,) = opik(folder, test).rollouts
    assert rollout.scores == {"m": None, "n": None, "k": 1}
    assert rollout.error == RolloutError("m was not scored", message, of_grader=True)


# -- MLflow ------------------------------------------------------------------------------------


def mlflow(folder, *traces):
    folder.write(lines(traces), "traces.jsonl")
    return load_with(MlflowTraces, folder, "traces.jsonl")


def assessment(name, value, **more):
    return {"assessment_name": name, "feedback": {"value": value}, **more}


def test_a_trace_of_mlflow(folder):
    trace = {
        "info": {
            "trace_id": "tr",
            "request_preview": "q",
            "assessments": [
                assessment("tone", 0.5),
                {"name": "facts", "feedback": {"value": "yes"}},
                assessment("style", "no"),
                assessment("label", "blue"),
                assessment("old", 1, valid=False),
                {"assessment_name": "gold", "expectation": {"value": 1}},
                assessment("last", True),
            ],
        },
        "data": {"spans": [], "request": "r"},
    }
    loaded = mlflow(folder, trace)
    assert loaded.rollouts == [
        Rollout(
            record=trace,
            name="traces.jsonl:1",
            task="tr",
            sample=0,
            scores={"tone": 0.5, "facts": 1, "style": 0, "label": "blue", "last": True},
            content="q",
        )
    ]
    assert ("mlflow tone", "scores", "tone") in loaded.ruler


def test_a_trace_of_an_early_mlflow(folder):
    other = {"info": {"trace_id": "x", "assessments": [assessment("tone", 1)]}}
    early = {"info": {"request_id": "re", "status": "OK"}, "data": {"request": "r"}}
    rollout = mlflow(folder, other, early).rollouts[1]
    assert (rollout.task, rollout.content) == ("re", "r")
    assert (rollout.scores, rollout.error) == ({"tone": None}, None)


def test_an_assessment_of_mlflow_that_failed(folder):
    failed = {
        "assessment_name": "tone",
        "feedback": {"value": 0, "error": {"error_message": "late", "error_code": "E"}},
    }
    later = {"assessment_name": "facts", "feedback": {"error": {"error_code": "E2"}}}
    trace = {
        "info": {"trace_id": "t", "assessments": [failed, later, assessment("k", 0)]}
    }
    (rollout,) = mlflow(folder, trace).rollouts
    assert rollout.scores == {"tone": None, "facts": None, "k": 0}
    assert rollout.error == RolloutError("tone was not judged", "late", of_grader=True)


@pytest.mark.parametrize("key", ["state", "status"])
def test_a_trace_of_mlflow_that_failed(folder, key):
    info = {"trace_id": "t", key: "ERROR", "assessments": [assessment("tone", 0)]}
    spans = [{}, {"status": {"message": "boom"}}, {"status": {"message": "later"}}]
    (rollout,) = mlflow(folder, {"info": info, "data": {"spans": spans}}).rollouts
    assert rollout.scores == {"tone": None}
    assert rollout.error == RolloutError("the trace failed", "boom")


def test_a_trace_of_mlflow_that_failed_without_a_message(folder):
    (rollout,) = mlflow(folder, {"info": {"trace_id": "t", "state": "ERROR"}}).rollouts
    assert rollout.error == RolloutError("the trace failed", "")


# -- Langfuse ----------------------------------------------------------------------------------


def langfuse(folder, *scores, **meta):
    folder.json({"data": list(scores), "meta": meta}, "s.json")


def test_scores_of_langfuse(folder):
    langfuse(
        folder,
        {"traceId": "t1", "name": "tone", "value": 0.5, "dataType": "NUMERIC"},
        {"traceId": "t1", "name": "ok", "value": 1, "dataType": "BOOLEAN"},
        {"traceId": "t2", "name": "tone", "value": 1},
        {"traceId": "t2", "name": "label", "value": 0, "dataType": "CATEGORICAL"},
        totalPages=1,
    )
    loaded = load_with(Langfuse, folder, "s.json")
    assert loaded.rollouts == [
        Rollout(
            record={"id": "t1", "tone": 0.5, "ok": 1},
            name="s.json: t1",
            task="t1",
            sample=0,
            scores={"tone": 0.5, "ok": 1, "label": None},
        ),
        Rollout(
            record={"id": "t2", "tone": 1, "label": None},
            name="s.json: t2",
            task="t2",
            sample=0,
            scores={"tone": 1, "ok": None, "label": None},
        ),
    ]
    assert loaded.ruler == {
        (f"langfuse {name}", "scores", name) for name in ("tone", "ok", "label")
    }


@pytest.mark.parametrize(
    "subject",
    [
        {"subject": {"id": "x"}, "traceId": "y"},
        {"observationId": "x", "traceId": "y"},
        {"traceId": "x", "sessionId": "y"},
        {"sessionId": "x", "datasetRunId": "y"},
        {"datasetRunId": "x"},
    ],
)
def test_a_score_of_langfuse_is_of_the_closest_subject(folder, subject):
    langfuse(folder, {**subject, "name": "tone", "value": 1})
    assert load_with(Langfuse, folder, "s.json").rollouts[0].task == "x"


def test_two_scores_of_langfuse_of_one_name_are_refused(folder):
    score = {"traceId": "t", "name": "tone", "value": 1}
    langfuse(folder, score, {**score, "name": "ok"}, score)
    error = refused(Langfuse, folder, "s.json")
    assert error.message == "data[2] is a second 'tone' of 't', after data[0]"
    assert error.hint == "ask for the scores of one source or one author"


def test_a_score_of_langfuse_of_nothing_is_refused(folder):
    langfuse(folder, {"name": "tone", "value": 1})
    error = refused(Langfuse, folder, "s.json")
    assert error.message == "data[0] does not say what it is a score of"
    assert error.hint == (
        "ask for the subjects: GET /api/public/v3/scores?fields=subject"
    )


@pytest.mark.parametrize("meta", [{"totalPages": 2}, {"cursor": "c"}])
def test_a_page_of_scores_of_langfuse_is_refused(folder, meta):
    langfuse(folder, {"traceId": "t", "name": "tone", "value": 1}, **meta)
    error = refused(Langfuse, folder, "s.json")
    assert error.message == "this is one page of the scores: more follow"
    assert error.hint == "fetch all pages, and write their `data` into one list"


# -- NeMo Evaluator ----------------------------------------------------------------------------


def nemo(folder, *rows, bundle=None):
    folder.write(lines(rows), "results.jsonl")
    if bundle is not None:
        folder.json(bundle, "eval-1.json")
    return load_with(NemoEvaluator, folder, "results.jsonl")


def problem(number=0, reward=1.0, **more):
    return {"problem_idx": number, "repeat": 0, "reward": reward, **more}


def test_a_rollout_of_nemo_evaluator(folder):
    details = {"scorer:exact": {"reward": 0.5}, "scorer:note": "x", "method": {}}
    row = problem(
        7,
        repeat=3,
        prompt="q",
        expected_answer="a",
        tokens=12,
        latency_ms=500,
        scoring_details=details,
    )
    bundle = {
        "config": {"model": "m"},
        "benchmark": {"scores": {"summary": {"mean": 0.5}}},
    }
    loaded = nemo(folder, row, bundle=bundle)
    assert loaded.rollouts == [
        Rollout(
            record=row,
            name="results.jsonl:1",
            task=7,
            sample=3,
            agent="m",
            scores={"reward": 1.0, "exact": 0.5},
            usage={"latency_s": 0.5, "total_tokens": 12},
            rewards=("reward",),
            content=["q", "a"],
        )
    ]
    assert loaded.positional
    assert loaded.notes == [
        OtherNumberStated(
            file="results.jsonl",
            claim="summary.mean in its bundle",
            stated=0.5,
            computed=1.0,
        )
    ]


def test_a_reward_that_lacks_counts_as_0_in_the_mean_of_nemo_evaluator(folder):
    stated = {"benchmark": {"scores": {"summary": {"mean": 0.5}}}}
    assert nemo(folder, problem(0), problem(1, None), bundle=stated).notes == []


def test_two_bundles_of_nemo_evaluator_say_nothing(folder):
    folder.json({"config": {"model": "n"}}, "eval-2.json")
    loaded = nemo(folder, problem(), bundle={"config": {"model": "m"}})
    assert loaded.rollouts[0].agent is None
    assert loaded.rollouts[0].content is None


@pytest.mark.parametrize(
    ("details", "error", "scores"),
    [
        pytest.param(
            {"error": "ConnectError: down", "scorer:f1": {"reward": 0.0}},
            RolloutError("ConnectError", "ConnectError: down"),
            {"reward": 0.0, "f1": 0.0},
            id="an error",
        ),
        pytest.param(
            {"error": "down", "error_category": "infra", "scorer:f1": {"reward": 0.0}},
            RolloutError("infra", "down", voids=True),
            {"reward": None, "f1": None},
            id="an error of a category",
        ),
        pytest.param(
            {
                "error": "turns",
                "error_category": "graceful",
                "scorer:f1": {"reward": 0},
            },
            RolloutError("graceful", "turns"),
            {"reward": 0.0, "f1": 0},
            id="an error that is graded",
        ),
        pytest.param(
            {"judge": {"error": "late"}, "scorer:f1": {"reward": 0.0}},
            RolloutError("the judge failed", "late", of_grader=True, voids=True),
            {"reward": None, "f1": 0.0},
            id="the judge failed",
        ),
        pytest.param(
            {"judge": {"score": 0}, "scorer:f1": {"reward": 0.0, "error": "x"}},
            None,
            {"reward": 0.0, "f1": None},
            id="a scorer failed",
        ),
    ],
)
def test_an_error_of_nemo_evaluator(folder, details, error, scores):
    (rollout,) = nemo(folder, problem(reward=0.0, scoring_details=details)).rollouts
    assert rollout.error == error
    assert rollout.scores == scores


def test_a_bundle_of_nemo_evaluator_is_refused(folder):
    folder.json({"benchmark": {}}, "eval-1.json")
    error = refused(NemoEvaluator, folder, "eval-1.json")
    assert error.message == (
        "this is a bundle of NeMo Evaluator, which holds scores over all problems, without rollouts"
    )
    assert error.hint == "read results.jsonl beside it"


# -- pydantic-evals ----------------------------------------------------------------------------


def pydantic(folder, *cases, failures=()):
    folder.json({"name": "r", "cases": cases, "failures": failures}, "p.json")
    return load_with(PydanticEvals, folder, "p.json")


def test_a_case_of_pydantic_evals(folder):
    case = {
        "name": "sum [2/3]",
        "source_case_name": "sum",
        "inputs": "1 + 1",
        "expected_output": "2",
        "scores": {
            "tone": {
                "value": 0.5,
                "source": {"name": "Judge", "arguments": {"model": "m"}},
                "evaluator_version": "v1",
            }
        },
        "assertions": {"right": {"value": True}, "tone": {"value": False}},
        "labels": {"kind": {"value": "easy"}, "size": "s"},
        "metrics": {
            "steps": 3,
            "input_tokens": 5,
            "output_tokens": 2,
            "cache_read_tokens": 1,
            "total_tokens": 7,
            "cost": 0.25,
        },
        "task_duration": 1.5,
    }
    loaded = pydantic(folder, case)
    assert loaded.rollouts == [
        Rollout(
            record={**case, "kind": "easy", "size": "s"},
            name="p.json, cases[0]",
            task="sum",
            sample=1,
            scores={"tone": 0.5, "right": True, "assertion.tone": False, "steps": 3},
            usage={
                "latency_s": 1.5,
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "cached_tokens": 1,
                "cost_usd": 0.25,
            },
            rewards=("tone", "right", "assertion.tone"),
            content=["1 + 1", "2"],
        )
    ]
    assert loaded.directions == {"right": "higher", "assertion.tone": "higher"}
    assert {
        ("pydantic_evals tone", "evaluator", "Judge"),
        ("pydantic_evals tone", "arguments model", "m"),
        ("pydantic_evals tone", "version", "v1"),
        ("pydantic_evals tone", "scores", "tone"),
        ("pydantic_evals tone", "scores", "assertion.tone"),
    } <= loaded.ruler


@pytest.mark.parametrize(
    ("name", "original", "task", "sample"),
    [
        ("sum [1/2]", "sum", "sum", 0),
        ("sum [1/2]", None, "sum [1/2]", None),
        ("sum [1/2]", "other", "other", None),
        ("sum", "sum", "sum", None),
        ("a\nb [10/12]", "a\nb", "a\nb", 9),
    ],
)
def test_the_number_of_a_run_of_pydantic_evals(folder, name, original, task, sample):
    (rollout,) = pydantic(folder, {"name": name, "source_case_name": original}).rollouts
    assert (rollout.task, rollout.sample) == (task, sample)
    assert rollout.content is None


@pytest.mark.parametrize(
    ("names", "positional"),
    [
        (["Case 1", "Case 2"], True),
        (["Case 1", "sum"], False),
        (["sum", "Case 2"], False),
    ],
)
def test_cases_of_pydantic_evals_without_names_are_positions(folder, names, positional):
    cases = [{"name": name} for name in names]
    assert pydantic(folder, *cases).positional is positional


def test_a_case_of_pydantic_evals_that_failed(folder):
    failure = {"name": "sum", "error_message": "ValueError: no"}
    (rollout,) = pydantic(folder, failures=[failure]).rollouts
    assert rollout.name == "p.json, failures[0]"
    assert rollout.error == RolloutError("ValueError", "ValueError: no")


@pytest.mark.parametrize(
    ("failure", "kind", "message"),
    [
        ({"name": "tone", "error_message": "no"}, "tone was not judged", "no"),
        ({"name": "tone", "error_type": "E"}, "tone was not judged", "E"),
        ({}, "an evaluator was not judged", ""),
    ],
)
def test_an_evaluator_of_pydantic_evals_that_failed(folder, failure, kind, message):
    case = {"name": "sum", "scores": {"ok": 1}, "evaluator_failures": [failure]}
    (rollout,) = pydantic(folder, case).rollouts
    assert rollout.error == RolloutError(kind, message, of_grader=True)
    name = failure.get("name", "an evaluator")
    assert rollout.scores == {"ok": 1, name: None}


def test_a_case_of_pydantic_evals_without_a_name_is_refused(folder):
    folder.json({"name": "r", "cases": [{"name": 1}], "failures": []}, "p.json")
    error = refused(PydanticEvals, folder, "p.json")
    assert error.message == "p.json, cases[0] has no name"
    assert error.hint == "was the report changed since?"


# -- SWE-bench ---------------------------------------------------------------------------------


def swebench(folder, report, name="m.run.json"):
    folder.json(report, name)
    return load_with(SweBench, folder, name)


def test_a_report_of_swebench(folder):
    loaded = swebench(
        folder,
        {
            "schema_version": 2,
            "resolved_ids": ["a", 5],
            "unresolved_ids": ["b", "d"],
            "empty_patch_ids": ["c"],
            "infra_failure_ids": ["d"],
            "error_ids": ["e", "d", "a"],
            "incomplete_ids": ["f", "g"],
            "ambiguous_failure_ids": ["b"],
            "failure_reasons": {"d": "disk full"},
            "resolved_instances": 1,
            "unresolved_instances": 3,
            "error_instances": 3,
            "submitted_instances": 6,
        },
    )

    def instance(id_, reward, error=None):
        return Rollout(
            record={"instance_id": id_},
            name=f"m.run.json: {id_}",
            task=id_,
            sample=0,
            scores={"reward": reward},
            error=error,
        )

    assert loaded.rollouts == [
        instance("a", 1),
        instance("b", 0),
        instance("d", None, RolloutError("infrastructure failure", "disk full")),
        instance("c", 0),
        instance("e", None, RolloutError("error", "")),
    ]
    assert loaded.notes == [
        UnsubmittedInstances("m.run.json", 2),
        AmbiguousFailures("m.run.json", 1),
        OtherNumberStated(
            file="m.run.json", claim="unresolved_instances", stated=3, computed=2
        ),
        OtherNumberStated(
            file="m.run.json", claim="submitted_instances", stated=6, computed=5
        ),
    ]


@pytest.mark.parametrize("version", [None, 1, 2])
def test_a_report_of_swebench_of_a_known_version(folder, version):
    report = {"resolved_ids": ["a"], "schema_version": version}
    assert len(swebench(folder, report).rollouts) == 1
    assert swebench(folder, report).notes == []


def test_a_report_of_swebench_of_another_version_is_refused(folder):
    folder.json({"schema_version": 3}, "m.run.json")
    error = refused(SweBench, folder, "m.run.json")
    assert error.message == (
        "this is a report of SWE-bench of the schema version 3; known is 2"
    )
    assert error.hint == "update pytest-evalmetrics"


def test_reports_of_swebench_of_two_models_are_refused(folder):
    folder.json({"resolved_ids": ["a"]}, "one.run.json")
    folder.json({"resolved_ids": ["a"]}, "two.run.json")
    error = folder.refused("*.json", scores=["reward"], format="swe_bench")
    assert error.message == (
        "the reports are of several models by their names: one and two"
    )
    assert error.hint == "give each its own benchmark"


def test_a_report_of_swebench_without_a_model_in_its_name(folder):
    folder.json({"resolved_ids": ["a"]}, "a.json")
    folder.json({"resolved_ids": ["a"]}, "two.run.json")
    error = folder.refused("*.json", scores=["reward"], format="swe_bench")
    assert error.message.endswith("by their names: none and two")


# -- evalplus ----------------------------------------------------------------------------------


def evalplus(folder, problems, **more):
    folder.json({"eval": problems, **more}, "e_eval_results.json")
    return load_with(EvalPlus, folder, "e_eval_results.json")


@pytest.mark.parametrize(
    ("solution", "scores", "reward"),
    [
        ({"base_status": "pass"}, {"base": 1}, "base"),
        ({"base_status": "fail"}, {"base": 0}, "base"),
        ({"base_status": "timeout"}, {"base": 0}, "base"),
        ({"base_status": "odd"}, {"base": None}, "base"),
        ({}, {"base": None}, "base"),
        (
            {"base_status": "pass", "plus_status": "pass"},
            {"base": 1, "plus": 1},
            "plus",
        ),
        (
            {"base_status": "pass", "plus_status": "fail"},
            {"base": 1, "plus": 0},
            "plus",
        ),
        (
            {"base_status": "fail", "plus_status": "pass"},
            {"base": 0, "plus": 0},
            "plus",
        ),
        (
            {"base_status": "pass", "plus_status": "odd"},
            {"base": 1, "plus": None},
            "plus",
        ),
        ({"plus_status": "pass"}, {"base": None, "plus": None}, "plus"),
    ],
)
def test_a_solution_of_evalplus(folder, solution, scores, reward):
    assert evalplus(folder, {"HumanEval/0": [solution]}).rollouts == [
        Rollout(
            record=solution,
            name="e_eval_results.json: HumanEval/0, solution 0",
            task="HumanEval/0",
            sample=0,
            scores=scores,
            rewards=(reward,),
        )
    ]


def test_the_solutions_of_a_problem_of_evalplus_are_its_samples(folder):
    solutions = [{"base_status": "pass"}, {"base_status": "fail"}]
    loaded = evalplus(
        folder,
        {"a": solutions, "b": [], "c": [{"base_status": "pass"}]},
        pass_at_k={"base": {"pass@1": 0.5}},
    )
    assert [rollout.sample for rollout in loaded.rollouts] == [0, 1, 0, 0]
    assert loaded.rollouts[2].scores == {"base": None}
    assert loaded.notes == [
        OtherNumberStated(
            file="e_eval_results.json",
            claim="pass@1 of base",
            stated=0.5,
            computed=0.75,
        )
    ]


def test_the_pass_rate_of_evalplus_is_that_of_its_solutions(folder):
    solutions = [
        {"base_status": "pass", "plus_status": "fail"},
        {"base_status": "pass", "plus_status": "pass"},
    ]
    stated = {"base": {"pass@1": 1}, "plus": {"pass@1": 0.5}}
    assert evalplus(folder, {"a": solutions}, pass_at_k=stated).notes == []


# -- BFCL --------------------------------------------------------------------------------------


def bfcl(folder, header, *failures, results=None, score="score/m", result="result/m"):
    name = "BFCL_v3_simple"
    folder.write(lines([header, *failures]), f"{score}/{name}_score.json")
    if results is not None:
        folder.write(lines(results), f"{result}/{name}_result.json")
    return f"{score}/{name}_score.json"


HEADER = {"accuracy": 0.5, "correct_count": 1, "total_count": 2}


@pytest.mark.parametrize(
    ("score", "result"),
    [
        ("score/m", "result/m"),
        ("runs/m", "runs/m"),
        ("score/score/m", "score/result/m"),
    ],
)
def test_the_tasks_of_bfcl_are_its_results(folder, score, result):
    path = bfcl(
        folder,
        {**HEADER, "model_name": "model"},
        {"id": "b", "error": "wrong", "valid": False},
        results=[{"id": "a", "result": "x"}, {"id": "b", "result": "y"}],
        score=score,
        result=result,
    )
    loaded = load_with(Bfcl, folder, path)
    at = f"{(folder.path / result).as_posix()}/BFCL_v3_simple_result.json"
    assert loaded.rollouts == [
        Rollout(
            record={"id": "a", "result": "x"},
            name=f"{at}:1",
            task="a",
            sample=0,
            agent="model",
            scores={"reward": 1},
        ),
        Rollout(
            record={"id": "b", "result": "y", "error": "wrong", "valid": False},
            name=f"{at}:2",
            task="b",
            sample=0,
            agent="model",
            scores={"reward": 0},
        ),
    ]
    assert loaded.notes == []


def test_the_agent_of_bfcl_may_be_the_name_of_its_folder(folder):
    path = bfcl(folder, HEADER, {"id": "a"}, results=[{"id": "a"}, {"id": "b"}])
    assert load_with(Bfcl, folder, path).rollouts[0].agent == "m"


def test_the_accuracy_of_bfcl_without_results_is_an_aggregate(folder):
    path = bfcl(folder, HEADER, {"id": "a"})
    assert load_with(Bfcl, folder, path).rollouts == [
        Rollout(
            record=HEADER,
            name="score/m/BFCL_v3_simple_score.json",
            task="BFCL_v3_simple",
            sample=0,
            scores={
                "reward": 0.5,
                f"{STATED_ERROR}reward": None,
                f"{STATED_COUNT}reward": 2,
                f"{STATED_TOTAL}reward": 2,
            },
            rewards=("reward",),
        )
    ]


def test_a_cut_list_of_failures_of_bfcl_is_refused(folder):
    header = {"accuracy": 0.5, "correct_count": 2, "total_count": 4}
    path = bfcl(folder, header, {"id": "a"}, results=[{"id": i} for i in "abcd"])
    error = refused(Bfcl, folder, path)
    assert error.message == "the first line counts 2 failures, and 1 are listed"
    assert error.hint == ("was the evaluation or the copy interrupted? evaluate again")


def test_a_failure_of_bfcl_without_a_result_is_refused(folder):
    path = bfcl(folder, HEADER, {"id": "x"}, results=[{"id": "a"}, {"id": "b"}])
    error = refused(Bfcl, folder, path)
    assert error.message.startswith("'x' failed, and is not in ")
    assert error.message.endswith("BFCL_v3_simple_result.json")
    assert error.hint == "are both files of the same run?"


def test_the_count_of_bfcl_is_compared(folder):
    path = bfcl(folder, HEADER, {"id": "a"}, results=[{"id": i} for i in "abc"])
    (note,) = load_with(Bfcl, folder, path).notes
    assert (note.claim, note.stated, note.computed) == ("total_count", 2, 3)


# -- HELM --------------------------------------------------------------------------------------


def stat(name, mean, split="test", **more):
    return {"name": {"name": name, "split": split, **more}, "mean": mean}


def helm(folder, *instances, stats=None):
    folder.json(list(instances), "run/per_instance_stats.json")
    if stats is not None:
        folder.json(stats, "run/stats.json")
    return load_with(Helm, folder, "run/per_instance_stats.json")


def test_an_instance_of_helm(folder):
    instance = {
        "instance_id": "id1",
        "train_trial_index": 2,
        "stats": [
            stat("exact_match", 1.0),
            stat("f1", 0.5),
            stat("bleu", 0.5, split="valid"),
            stat("rouge", 0.5, perturbation={"name": "p"}),
            {"name": {"name": "none", "split": "test"}},
        ],
    }
    loaded = helm(folder, instance, stats=[stat("exact_match", 1.0), stat("f1", 0.25)])
    assert loaded.rollouts == [
        Rollout(
            record=instance,
            name="run/per_instance_stats.json, row 1",
            task="id1",
            sample=2,
            scores={"exact_match": 1.0, "f1": 0.5},
        )
    ]
    assert loaded.notes == [
        OtherNumberStated(
            file="run/per_instance_stats.json",
            claim="f1 in stats.json",
            stated=0.25,
            computed=0.5,
        )
    ]


def test_other_instances_of_helm_are_left_out(folder):
    one = {"instance_id": "a", "train_trial_index": 0, "stats": [stat("f1", 1)]}
    loaded = helm(
        folder,
        {**one, "stats": [stat("f1", 0, split="valid")]},
        {**one, "perturbation": {"name": "p"}},
        one,
        {**one, "instance_id": "b", "stats": []},
        stats=[stat("f1", 1), stat("f1", 0.5, split="valid"), stat("bleu", 1)],
    )
    assert [rollout.task for rollout in loaded.rollouts] == ["a", "b"]
    assert loaded.notes == [OtherInstancesLeftOut("run/per_instance_stats.json", 2)]


@pytest.mark.parametrize("name", ["run/per_instance_stats.json", "run/mine.json"])
def test_instances_of_helm_without_statistics_are_read(folder, name):
    instance = {"instance_id": "a", "train_trial_index": 0, "stats": [stat("f1", 1)]}
    folder.json([instance], name)
    loaded = load_with(Helm, folder, name)
    assert (len(loaded.rollouts), loaded.notes) == (1, [])


def test_broken_statistics_of_helm_are_named(folder):
    folder.json([], "run/per_instance_stats.json")
    folder.write("[{", "run/stats.json")
    error = refused(Helm, folder, "run/per_instance_stats.json")
    assert error.file == "run/stats.json"


def test_the_statistics_of_helm_over_all_instances_are_refused(folder):
    folder.json([stat("f1", 1)], "stats.json")
    error = refused(Helm, folder, "stats.json")
    assert error.message == (
        "these are HELM's statistics over all instances, without rollouts"
    )
    assert error.hint == "read per_instance_stats.json beside it"
