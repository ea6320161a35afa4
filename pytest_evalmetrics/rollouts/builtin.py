"""The loaders that come with the package: importing this registers them.

A new one is a file beside this one, a line here, and a test file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.arrow import Arrow, Parquet
from pytest_evalmetrics.rollouts.csv_files import Csv
from pytest_evalmetrics.rollouts.deepeval import DeepEval
from pytest_evalmetrics.rollouts.harbor import Harbor
from pytest_evalmetrics.rollouts.inspect_ai import InspectAi
from pytest_evalmetrics.rollouts.json_array import JsonArray
from pytest_evalmetrics.rollouts.json_lines import JsonLines
from pytest_evalmetrics.rollouts.lm_eval import LmEval
from pytest_evalmetrics.rollouts.promptfoo import Promptfoo
from pytest_evalmetrics.rollouts.pydantic_evals import PydanticEvals
from pytest_evalmetrics.rollouts.seam import register_loader
from pytest_evalmetrics.rollouts.verifiers import Verifiers
from pytest_evalmetrics.rollouts.verifiers_traces import VerifiersTraces

if TYPE_CHECKING:
    from pytest_evalmetrics.rollouts.seam import RecognisingFactory

__all__ = ["BY_CONTENT"]

register_loader("arrow")(Arrow)
register_loader("csv")(Csv)
register_loader("deepeval")(DeepEval)
register_loader("harbor")(Harbor)
register_loader("inspect_ai")(InspectAi)
register_loader("json")(JsonArray)
register_loader("jsonl")(JsonLines)
register_loader("lm_eval")(LmEval)
register_loader("parquet")(Parquet)
register_loader("promptfoo")(Promptfoo)
register_loader("pydantic_evals")(PydanticEvals)
register_loader("verifiers")(Verifiers)
register_loader("verifiers_traces")(VerifiersTraces)

# asked in this order which of them knows a file; the last one takes what is left
BY_CONTENT: tuple[RecognisingFactory, ...] = (
    InspectAi,
    Harbor,
    LmEval,
    Promptfoo,
    VerifiersTraces,
    Verifiers,
    DeepEval,
    PydanticEvals,
    Parquet,
    Arrow,
    Csv,
    JsonArray,
    JsonLines,
)
