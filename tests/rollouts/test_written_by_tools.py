"""Files that the tools write now, in an environment of their own, where there is one."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rollouts.recipes import RECIPES

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.reports.sentences.notes import note_texts

pytestmark = pytest.mark.tools
PYTHON = os.environ.get("EVALMETRICS_TOOLS_PYTHON")
RECORDED = Path(__file__).parent / "recorded"


def write_again(module, recorded, folder):
    """Let a tool write the files of a folder of `recorded/` anew, in `folder`."""
    shutil.copy(RECORDED / recorded / "write.py", folder)
    run_tool(module, "import runpy; runpy.run_path('write.py')", folder)


def run_tool(module, script, folder):
    """Run a script with the Python that has a tool, in `folder`; skip the test without one."""
    if not PYTHON:
        pytest.skip(
            "set EVALMETRICS_TOOLS_PYTHON to the Python of an environment with the tools"
        )
    probe = f"import importlib.util as u; raise SystemExit(not u.find_spec({module!r}))"
    if subprocess.run([PYTHON, "-c", probe], check=False).returncode:
        pytest.skip(f"{module} is not installed for {PYTHON}")
    subprocess.run([PYTHON, "-c", script], cwd=folder, check=True)


INSPECT = """
import os
os.environ["INSPECT_DISPLAY"] = "none"
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, match, mean, scorer
from inspect_ai.solver import generate, solver

@solver
def crash():
    async def solve(state, generate):
        if state.sample_id == "boom":
            raise RuntimeError("the sandbox is gone")
        return state
    return solve

@scorer(metrics={"quality": [mean()], "style": [accuracy()]})
def parts():
    async def score(state, target):
        return Score(value={"quality": 0.25 * state.epoch, "style": "P"})
    return score

def answer(*args, **kwargs):
    output = ModelOutput.from_content("mockllm/model", "x")
    output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=17,
                              input_tokens_cache_read=5, total_cost=0.5)
    return output

for kind in ("eval", "json"):
    for graded in (False, True):
        task = Task(
            name="mixed",
            dataset=[Sample(id=i, input="?", target="x") for i in ("a", "boom")],
            solver=[crash(), generate()], scorer=[match(), parts()], epochs=2,
            fail_on_error=False,
        )
        eval(task, model=get_model("mockllm/model", custom_outputs=answer), display="none",
             log_dir=f"{kind}-{graded}", log_format=kind, score_on_error=graded)
"""


def test_inspect_ai(folder):
    run_tool("inspect_ai", INSPECT, folder.path)
    for kind in ("eval", "json"):
        table = folder.load(f"{kind}-False/*", scores=["match"])
        np.testing.assert_equal(table.scores["match"], [1, 1, np.nan, np.nan])
        np.testing.assert_equal(
            table.scores["parts.quality"], [0.25, 0.5, np.nan, np.nan]
        )
        np.testing.assert_equal(table.scores["parts.style"], [0.5, 0.5, np.nan, np.nan])
        np.testing.assert_equal(table.scores["prompt_tokens"], [15, 15, np.nan, np.nan])
        np.testing.assert_equal(table.scores["cost_usd"], [0.5, 0.5, np.nan, np.nan])
        (note,) = note_texts(table.notes)
        assert note.startswith("RuntimeError: 2 rollouts without a score")
        table = folder.load(f"{kind}-True/*", scores=["match"])
        np.testing.assert_equal(table.scores["match"], [1, 1, 0, 0])
        (note,) = note_texts(table.notes)
        assert note.startswith("RuntimeError: 2 rollouts graded all the same")


PYDANTIC = """
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter

class Length(Evaluator):
    def evaluate(self, ctx):
        return {"length": len(ctx.output), "kind": "short"}

class Judge(Evaluator):
    def evaluate(self, ctx):
        if ctx.inputs == "b":
            raise ValueError("the judge is down")
        return True

def task(text):
    if text == "boom":
        raise RuntimeError("the model is down")
    return text.upper()

cases = [Case(name="x [1/2]", inputs="a"), Case(inputs="b"), Case(name="y", inputs="boom")]
report = Dataset(name="d", cases=cases, evaluators=[Length(), Judge()]).evaluate_sync(
    task, progress=False)
open("report.json", "wb").write(EvaluationReportAdapter.dump_json(report))
"""


def test_pydantic_evals(folder):
    run_tool("pydantic_evals", PYDANTIC, folder.path)
    table = folder.load("report.json", scores=["Judge"], categories=["kind"])
    assert table.tasks == ("Case 2", "x [1/2]", "y")
    np.testing.assert_equal(table.scores["Judge"], [np.nan, 1, np.nan])
    np.testing.assert_equal(table.scores["length"], [1, 1, np.nan])
    judged, crashed = note_texts(table.notes)
    assert judged.startswith("Judge was not judged: 1 rollout graded all the same")
    assert crashed.startswith("RuntimeError: 1 rollout without a score")


LM_EVAL = """
import json, os
os.environ["HF_DATASETS_OFFLINE"] = "1"
rows = [{"q": "2+2=", "a": "4"}, {"q": "dummy?", "a": "lol"}]
open("toy.jsonl", "w").write("\\n".join(map(json.dumps, rows)))
config = '''
task: toy
dataset_path: json
dataset_kwargs: {data_files: {test: toy.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
generation_kwargs: {until: ["."]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
filter_list:
  - {name: strict, filter: [{function: regex, regex_pattern: "l(o)l"}, {function: take_first}]}
  - {name: loose, filter: [{function: take_first}]}
'''
os.mkdir("tasks")
open("tasks/toy.yaml", "w").write(config)
import sys
sys.argv = ["lm_eval", "--model", "dummy", "--tasks", "toy", "--include_path", "tasks",
            "--log_samples", "--output_path", "out"]
from lm_eval.__main__ import cli_evaluate
cli_evaluate()
"""


def test_lm_eval(folder):
    run_tool("lm_eval", LM_EVAL, folder.path)
    (results,) = (folder.path / "out").rglob("results_*.json")
    stated = json.loads(results.read_text())["results"]["toy"]
    for name in ("strict", "loose"):
        table = folder.load(
            "out/**/samples_toy_*.jsonl", scores=[f"exact_match,{name}"]
        )
        assert table.tasks == ("toy/0", "toy/1")
        column = table.scores[f"exact_match,{name}"]
        assert column.mean() == pytest.approx(stated[f"exact_match,{name}"])
    assert note_texts(table.notes) == ()


VERIFIERS = """
from pathlib import Path
from verifiers.v1.configs.agent import WireAgentConfig
from verifiers.v1.episode import Episode
from verifiers.v1.task import WireTaskData
from verifiers.v1.trace import AgentInfo, Error, ModelCall, TimeSpan, Trace, TraceTask, VersionInfo
from verifiers.v1.types import Usage
from verifiers.v1.utils.trace_store import write_episode

build = VersionInfo(version="0.4.0")
for number, (key, score) in enumerate([("a", 1.0), ("a", 0.0), ("b", None)]):
    task = TraceTask(type="T", data=WireTaskData(idx=number, prompt="?"), key=key, hash="h")
    agent = AgentInfo(config=WireAgentConfig(model="org/m"))
    trace = Trace(task=task, agent=agent, verifiers=build)
    usage = Usage(prompt_tokens=10, completion_tokens=2, cached_input_tokens=5, cost=0.25)
    trace.calls.append(ModelCall(model="org/m", usage=usage))
    trace.timing.agent.start, trace.timing.agent.end = 100.0, 102.5
    trace.ok = score is not None
    if score is None:
        trace.rewards["exact"] = None
        trace.record_error(RuntimeError("gone"))
    else:
        trace.record_reward("exact", score, weight=0.5)
    write_episode(Path("."), Episode(task=task, traces=[trace], ok=trace.ok))
"""


def test_verifiers(folder):
    run_tool("verifiers", VERIFIERS, folder.path)
    table = folder.load("traces.jsonl", scores=["reward"])
    assert (table.tasks, table.sample.tolist(), table.agents) == (
        ("a", "b"),
        [0, 1, 0],
        ("org/m",),
    )
    np.testing.assert_equal(table.scores["reward"], [0.5, 0, np.nan])
    np.testing.assert_equal(table.scores["exact"], [1, 0, np.nan])
    assert table.scores["prompt_tokens"].tolist() == [15] * 3
    assert table.scores["latency_s"].tolist() == [2.5] * 3
    (note,) = note_texts(table.notes)
    assert note.startswith("RuntimeError: 1 rollout without a score")


OPIK = """
import dataclasses, json
from opik.evaluation.evaluation_result import EvaluationResult
from opik.evaluation.metrics.score_result import ScoreResult
from opik.evaluation.test_case import TestCase
from opik.evaluation.test_result import TestResult

tests = []
for item, trial, value in (("a", 0, 1.0), ("a", 1, None), ("b", 0, 0.0), ("b", 1, 0.5)):
    case = TestCase(trace_id=f"{item}{trial}", dataset_item_id=item, task_output={})
    failed = value is None
    score = ScoreResult(name="m", value=value or 0.0, reason="x", scoring_failed=failed)
    tests.append(TestResult(test_case=case, score_results=[score], trial_id=trial))
result = EvaluationResult("e", "d", "x", tests, None, 2)
json.dump(dataclasses.asdict(result), open("opik.json", "w"))
view = result.aggregate_evaluation_scores()
json.dump(view.aggregated_scores["m"].mean, open("own.json", "w"))
"""


def test_opik(folder):
    run_tool("opik", OPIK, folder.path)
    own = json.loads((folder.path / "own.json").read_text())
    table = folder.load("opik.json", scores=["m"])
    assert np.nanmean(table.scores["m"]) == pytest.approx(own) == 0.5
    np.testing.assert_equal(table.scores["m"], [1, np.nan, 0, 0.5])


PHOENIX = """
import dataclasses, json
from datetime import datetime
from phoenix.client.resources.experiments.types import ExperimentEvaluationRun

now = datetime(2026, 1, 1)
runs = [
    {"id": f"r{n}", "dataset_example_id": example, "repetition_number": repetition,
     "output": "x", "experiment_id": "e", "start_time": str(now), "end_time": str(now)}
    for n, (example, repetition) in enumerate([("a", 1), ("a", 2), ("b", 1)])
]
evaluations = [
    dataclasses.asdict(ExperimentEvaluationRun(
        experiment_run_id=f"r{n}", start_time=now, end_time=now, name="correct",
        annotator_kind="CODE", error=None if score is not None else "TimeoutError: judge",
        result=None if score is None else {"score": score, "label": None}))
    for n, score in enumerate([1.0, None, 0.0])
]
experiment = {"experiment_id": "e", "dataset_id": "d", "dataset_version_id": "v",
              "task_runs": runs, "evaluation_runs": evaluations,
              "experiment_metadata": {}, "project_name": None}
json.dump(experiment, open("experiment.json", "w"), default=str)
"""


def test_phoenix(folder):
    run_tool("phoenix.client", PHOENIX, folder.path)
    table = folder.load("experiment.json", scores=["correct"])
    assert (table.tasks, table.sample.tolist()) == (("a", "b"), [0, 1, 0])
    np.testing.assert_equal(table.scores["correct"], [1, np.nan, 0])


MLFLOW = """
import os
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import mlflow
from mlflow.entities import AssessmentError, AssessmentSource

mlflow.set_tracking_uri("file:./store")
mlflow.set_experiment("x")

@mlflow.trace
def answer(question):
    return question.upper()

source = AssessmentSource(source_type="LLM_JUDGE", source_id="judge")
with open("traces.jsonl", "w") as file:
    for question, value in (("a", "yes"), ("b", "no"), ("c", None), ("d", "")):
        answer(question)
        mlflow.flush_trace_async_logging()
        trace = mlflow.get_last_active_trace_id()
        if value is None:
            error = AssessmentError(error_code="RATE_LIMIT", error_message="429")
            mlflow.log_feedback(trace_id=trace, name="correct", error=error, source=source)
        elif value:
            mlflow.log_feedback(trace_id=trace, name="correct", value=value, source=source)
        file.write(mlflow.get_trace(trace).to_json() + "\\n")
"""


def test_mlflow(folder):
    run_tool("mlflow", MLFLOW, folder.path)
    table = folder.load("traces.jsonl", scores=["correct"])
    assert sorted(map(str, table.scores["correct"].tolist())) == [
        "0.0",
        "1.0",
        "nan",
        "nan",
    ]
    assert table.content is not None
    assert any(
        "correct was not judged: 1 rollout" in note for note in note_texts(table.notes)
    )


BRAINTRUST = """
import json
from braintrust import Eval
from braintrust._generated_types import ExperimentEvent

def answer(question):
    if question == "q3":
        raise RuntimeError("the model is down")
    return question[1:]

result = Eval("x", data=[{"input": f"q{n}", "expected": "1"} for n in (1, 2, 3)],
              task=answer, scores=[lambda output, expected: float(output == expected)],
              trial_count=2, no_send_logs=True)
json.dump(result.as_dict(), open("results.json", "w"), default=str)
json.dump(sorted(ExperimentEvent.__annotations__), open("names.json", "w"))
"""


def test_braintrust(folder):
    run_tool("braintrust", BRAINTRUST, folder.path)
    recipe = RECIPES["braintrust-local"].replace("scores.exact", "scores.scorer_0")
    file = folder.write(recipe, "x.bench.yaml")
    (benchmark,) = load_benchmarks(file, shown=file.name)
    table = folder.load(spec=benchmark.spec.rows, scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [1, 1, 0, 0, np.nan, np.nan])
    names = json.loads((folder.path / "names.json").read_text())
    assert {"input", "is_root", "scores", "error"} <= set(names)


def test_nemo_evaluator(folder):
    write_again("nemo_evaluator", "nemo_evaluator_results", folder.path)
    table = folder.load("results.jsonl", scores=["reward"])
    expected = [1, 1, 0, 1, 1, 0, np.nan, np.nan, 0, 0, np.nan, np.nan]
    np.testing.assert_equal(table.scores["reward"], expected)


def test_mlflow_on_traces_that_failed(folder):
    write_again("mlflow", "mlflow_traces", folder.path)
    table = folder.load("traces.jsonl", scores=["exact"])
    assert sorted(map(str, table.scores["exact"].tolist())) == ["0.0", "1.0", "nan"]
    assert any("the trace failed" in note for note in note_texts(table.notes))


DEEPEVAL = """
import os
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["DEEPEVAL_RESULTS_FOLDER"] = os.getcwd()
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

class Metric(BaseMetric):
    threshold = 0.5
    async_mode = strict_mode = False
    evaluation_model = "judge"
    error = evaluation_cost = None

    def __init__(self, name, scores):
        self.name = name
        self.scores = scores

    @property
    def __name__(self):
        return self.name

    def measure(self, test_case, *args, **kwargs):
        score = self.scores[test_case.input]
        if score is None:
            raise ValueError("the judge is down")
        self.score = score
        self.success = score >= self.threshold
        self.reason = "because"
        return score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

nan = float("nan")
evaluate(
    [LLMTestCase(name=name, input=name, actual_output="x") for name in "abcd"],
    [Metric("m", {"a": 1.0, "b": None, "c": nan, "d": None}),
     Metric("n", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0})],
    async_config=AsyncConfig(run_async=False),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    error_config=ErrorConfig(ignore_errors=True),
    cache_config=CacheConfig(write_cache=False),
)
"""


def test_deepeval(folder):
    run_tool("deepeval", DEEPEVAL, folder.path)
    table = folder.load("test_run_*.json", scores=["success"])
    assert table.tasks == ("a", "b", "c", "d")
    np.testing.assert_equal(table.scores["success"], [1, np.nan, np.nan, 0])
    np.testing.assert_equal(table.scores["m"], [1, np.nan, np.nan, np.nan])
