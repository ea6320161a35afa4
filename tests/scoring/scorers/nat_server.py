"""A real server of the NeMo Agent Toolkit with one small evaluator.

python nat_server.py PORT      with nvidia-nat-core and nvidia-nat-eval installed
"""

import sys
import tempfile
from pathlib import Path

from nat.builder.evaluator import EvaluatorInfo
from nat.cli.entrypoint import cli
from nat.cli.register_workflow import register_evaluator
from nat.data_models.evaluator import EvaluatorBaseConfig
from nat.plugins.eval.data_models.evaluator_io import EvalOutputItem
from nat.plugins.eval.evaluator.base_evaluator import BaseEvaluator

CONFIG = """\
general: {{front_end: {{_type: fastapi, host: 127.0.0.1, port: {port}}}}}
workflow: {{_type: current_datetime}}
eval:
  evaluators: {{overlap: {{_type: overlap}}}}
"""


class OverlapConfig(EvaluatorBaseConfig, name="overlap"):
    """Nothing to set."""


class Overlap(BaseEvaluator):
    async def evaluate_item(self, item):
        if item.output_obj == "crash":
            raise RuntimeError("no judge")
        if item.output_obj == "nan":
            return EvalOutputItem(id=item.id, score=float("nan"), reasoning={})
        wanted = str(item.expected_output_obj).split()
        share = sum(word in str(item.output_obj).split() for word in wanted) / len(
            wanted
        )
        return EvalOutputItem(id=item.id, score=share, reasoning={"method": "overlap"})


@register_evaluator(config_type=OverlapConfig)
async def overlap(config, builder):
    evaluator = Overlap()
    yield EvaluatorInfo(
        config=config, evaluate_fn=evaluator.evaluate, description="shared words"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yml"
        path.write_text(CONFIG.format(port=sys.argv[1]))
        sys.argv = ["nat", "serve", "--config_file", str(path)]
        cli()
