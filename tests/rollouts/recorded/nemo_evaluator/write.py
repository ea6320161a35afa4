"""Let NeMo Evaluator's SDK score recorded trials of six tasks, and write the run's bundle.

Needs nemo-platform.
"""

import tempfile
from pathlib import Path

from nemo_evaluator_sdk.agent_eval.evaluator import AgentEvaluator
from nemo_evaluator_sdk.agent_eval.tasks import AgentEvalRunConfig, AgentEvalTask
from nemo_evaluator_sdk.agent_eval.trials import AgentEvalTrial, AgentOutput
from nemo_evaluator_sdk.metrics.exact_match import ExactMatchMetric

HERE = Path(__file__).parent
METRIC = ExactMatchMetric(
    reference="{{ reference.answer }}", candidate="{{ sample.output_text }}"
)
tasks = [
    AgentEvalTask(
        id=f"sum-{n}",
        intent="Add two numbers.",
        inputs={"question": f"What is {n} + {n}?"},
        reference={"answer": str(2 * n)},
        metrics=[METRIC],
    )
    for n in range(6)
]
trials = [
    AgentEvalTrial(
        id=f"sum-{n}-{attempt}",
        task_id=f"sum-{n}",
        status="completed",
        output=AgentOutput(output_text=str(2 * n if (n + attempt) % 3 else 2 * n + 1)),
    )
    for n in range(6)
    for attempt in range(2)
]
with tempfile.TemporaryDirectory() as folder:
    config = AgentEvalRunConfig(output_dir=folder, write_dashboard=False)
    result = AgentEvaluator().run_sync(tasks=tasks, trials=trials, config=config)
    for name in ("scores.jsonl", "summary.json"):
        (HERE / name).write_text(Path(folder, name).read_text())
print(result.summary.scores)
