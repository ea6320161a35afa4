"""Let MLflow evaluate twelve answers, and write the table that it logs.

Needs mlflow and pandas.
"""

import os
import tempfile
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

import mlflow
import pandas as pd
from mlflow.metrics import MetricValue
from mlflow.models import make_metric

HERE = Path(__file__).parent
TABLE = "eval_results_table.json"


def same(predictions, targets):
    """Score 1 for an answer that is the expected one."""
    scores = [float(a == b) for a, b in zip(predictions, targets, strict=True)]
    mean = sum(scores) / len(scores)
    return MetricValue(scores=scores, aggregate_results={"mean": mean})


rows = pd.DataFrame(
    {
        "inputs": [f"What is {n} + {n}?" for n in range(12)],
        "outputs": [str(2 * n if n % 3 else 2 * n + 1) for n in range(12)],
        "targets": [str(2 * n) for n in range(12)],
    }
)
metric = make_metric(eval_fn=same, greater_is_better=True, name="same")
with tempfile.TemporaryDirectory() as store:
    mlflow.set_tracking_uri(f"file:{store}")
    mlflow.set_experiment("answers")
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=rows,
            predictions="outputs",
            targets="targets",
            extra_metrics=[metric],
        )
    path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path=TABLE
    )
    (HERE / TABLE).write_text(Path(path).read_text())
print(result.metrics)
