"""Let lighteval run its dummy model over twelve questions of two choices, and write its details.

Needs lighteval.
"""

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import requests
from huggingface_hub import HfApi

os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

# tasks that are not run ask the network when they are imported
requests.get = lambda *_, **__: SimpleNamespace(status_code=404)
HfApi.list_models = lambda *_, **__: iter(())
HERE = Path(__file__).parent
TASK = """
from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc

def prompt(line, task_name=None):
    return Doc(task_name=task_name, query=line["question"], choices=["yes", "no"],
               gold_index=line["gold"])

TASKS_TABLE = [LightevalTaskConfig(
    name="toy", prompt_function=prompt, hf_repo={data!r}, hf_subset="default",
    hf_avail_splits=["test"], evaluation_splits=["test"], few_shots_split=None,
    few_shots_select=None, metrics=[Metrics.loglikelihood_acc], generation_size=-1,
    stop_sequence=None, version=0)]
"""
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    data = folder / "data"
    data.mkdir()
    rows = [{"question": f"Is {n} even?", "gold": n % 2} for n in range(12)]
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "toy_task.py").write_text(TASK.format(data=str(data)))
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModelConfig
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

    tracker = EvaluationTracker(output_dir=str(folder / "out"), save_details=True)
    pipeline = Pipeline(
        tasks="toy|0",
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.NONE,
            custom_tasks_directory=str(folder / "toy_task.py"),
        ),
        evaluation_tracker=tracker,
        model_config=DummyModelConfig(seed=7),
    )
    pipeline.evaluate()
    pipeline.save_and_push_results()
    (details,) = (folder / "out").rglob("details_*.parquet")
    (HERE / "details_toy.parquet").write_bytes(details.read_bytes())
    (results,) = (folder / "out").rglob("results_*.json")
    print(json.loads(results.read_text())["results"])
