"""Let NeMo Evaluator run six sums twice, with a model and a judge that fail now and then.

Needs nemo-evaluator 0.3.0 and scipy.
"""

import asyncio
from itertools import count
from pathlib import Path

from nemo_evaluator.engine.artifacts import write_all
from nemo_evaluator.engine.eval_loop import run_evaluation
from nemo_evaluator.environments.base import EvalEnvironment, SeedResult, VerifyResult
from nemo_evaluator.errors import GracefulError, InfraError
from nemo_evaluator.observability.types import ModelResponse
from nemo_evaluator.solvers.base import SolveResult

HERE = Path(__file__).parent
answers = count()


class Sums(EvalEnvironment):
    """What is n + n? The last question is left to a judge."""

    name = "sums"

    async def dataset_size(self):
        return 6

    async def seed(self, idx):
        return SeedResult(
            prompt=f"What is {idx} + {idx}?", expected_answer=str(2 * idx)
        )

    async def verify(self, response, expected, **_):
        if expected == "10":

            async def judge(_):
                return {"judge": {"error": "the judge is down", "total": None}}

            details = {"needs_judge": True, "_judge_fn": judge}
            return VerifyResult(reward=0.0, scoring_details=details)
        right = float(response == expected)
        return VerifyResult(
            reward=right, extracted_answer=response, scoring_details={"method": "exact"}
        )


class Model:
    """Answers two of three sums; one question reaches no endpoint, and one runs out of turns."""

    async def solve(self, task):
        if "3 + 3" in task.prompt:
            raise InfraError("the endpoint is down")
        if "4 + 4" in task.prompt:
            raise GracefulError("the turn budget is spent")
        answer = int(task.expected_answer) + (next(answers) % 3 == 2)
        reply = ModelResponse(
            content=str(answer), model="sums-model", total_tokens=12, latency_ms=20.0
        )
        return SolveResult(response=str(answer), model_response=reply)


bundle = asyncio.run(
    run_evaluation(
        Sums(),
        Model(),
        n_repeats=2,
        config={"benchmark": "sums", "model": "sums-model", "repeats": 2},
        max_concurrent=1,
        judge_client=object(),
        max_system_retries=1,
        skip_failed=True,
    )
)
for path in HERE.glob("eval-*.json"):
    path.unlink()
for path in write_all(bundle, HERE).values():
    if path.name != "results.jsonl" and not path.name.startswith("eval-"):
        path.unlink()
print(bundle["benchmark"]["scores"]["pass@1"])
