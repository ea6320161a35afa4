"""Let MLflow evaluate three questions, of which one makes the model fail, and write the traces.

Needs mlflow.
"""

import json
import os
import tempfile
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

import mlflow
from mlflow.genai.scorers import scorer

HERE = Path(__file__).parent


@scorer
def exact(outputs, expectations):
    """Compare an answer with what is expected."""
    return outputs == expectations["answer"]


@mlflow.trace
def shout(question):
    """Answer in capitals, except for one question."""
    if question == "boom":
        raise RuntimeError("the model is down")
    return question.upper()


mlflow.set_tracking_uri(f"file:{tempfile.mkdtemp()}")
mlflow.set_experiment("shouting")
expected = {"a": "A", "b": "C", "boom": "BOOM"}
result = mlflow.genai.evaluate(
    data=[
        {"inputs": {"question": question}, "expectations": {"answer": answer}}
        for question, answer in expected.items()
    ],
    predict_fn=shout,
    scorers=[exact],
)
lines = []
for trace in mlflow.search_traces(return_type="list"):
    written = json.loads(trace.to_json())
    for span in written["data"]["spans"]:
        for event in span.get("events", ()):
            # a traceback holds the paths of one machine
            event["attributes"].pop("exception.stacktrace", None)
    lines.append(json.dumps(written) + "\n")
(HERE / "traces.jsonl").write_text("".join(lines))
print(result.metrics)
