"""The toolkit's own trajectory evaluator, with a judge that gives the grade that it is told.

    python nat_trajectory.py < rows.json > grades.json      with nvidia-nat-langchain installed

A row has a question that holds `[[grade: N]]`, intermediate_steps and a generated_answer.
"""

import asyncio
import json
import re
import sys

from langchain_core.runnables import RunnableLambda
from nat.data_models.evaluator import EvalInputItem
from nat.data_models.intermediate_step import IntermediateStep
from nat.plugins.langchain.eval.trajectory_evaluator import TrajectoryEvaluator


def judge(prompt, **_):
    (grade,) = re.findall(r"\[\[grade: (.*?)\]\]", prompt.to_string())
    return f"It went about it so.\nScore: {grade}"


def step(payload):
    return IntermediateStep.model_validate(
        {
            "parent_id": "root",
            "function_ancestry": {"function_id": "f", "function_name": "f"},
            "payload": {"UUID": "u", **payload},
        }
    )


def item(number, row):
    return EvalInputItem(
        id=number,
        input_obj=row["question"],
        expected_output_obj=row.get("answer", ""),
        output_obj=row["generated_answer"],
        trajectory=[step(each["payload"]) for each in row["intermediate_steps"]],
        full_dataset_entry={},
    )


async def main(rows):
    evaluator = TrajectoryEvaluator(llm=RunnableLambda(judge), tools=[])
    results = [
        await evaluator.evaluate_item(item(n, row)) for n, row in enumerate(rows)
    ]
    return [{"score": each.score, "error": each.error} for each in results]


if __name__ == "__main__":
    json.dump(asyncio.run(main(json.load(sys.stdin))), sys.stdout)
