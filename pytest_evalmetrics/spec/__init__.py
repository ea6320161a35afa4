"""What a benchmark file may say, as types.

The validation, its messages and the JSON Schema that editors read are all made from
these dataclasses. Short forms (a string where a mapping is also possible) are expanded
before validation, so that the rest of the project sees one form.
"""

from pytest_evalmetrics.spec.baseline import BaselineSpec, GateSpec, RuleName
from pytest_evalmetrics.spec.benchmark import Benchmark, BenchmarkSpec, XFail
from pytest_evalmetrics.spec.forms import Count
from pytest_evalmetrics.spec.gates import ExpectSpec, Threshold
from pytest_evalmetrics.spec.models import ModelSpec, PriceSpec, ReasoningSpec
from pytest_evalmetrics.spec.params import ParamsSpec
from pytest_evalmetrics.spec.rollouts import FieldMap, RolloutsSpec
from pytest_evalmetrics.spec.scorers import (
    CustomScorerSpec,
    NatScorerSpec,
    RemoteScorerSpec,
    RemoteScoreSpec,
    ScorerSpec,
)

__all__ = [
    "BaselineSpec",
    "Benchmark",
    "BenchmarkSpec",
    "Count",
    "CustomScorerSpec",
    "ExpectSpec",
    "FieldMap",
    "GateSpec",
    "ModelSpec",
    "NatScorerSpec",
    "ParamsSpec",
    "PriceSpec",
    "ReasoningSpec",
    "RemoteScoreSpec",
    "RemoteScorerSpec",
    "RolloutsSpec",
    "RuleName",
    "ScorerSpec",
    "Threshold",
    "XFail",
]
