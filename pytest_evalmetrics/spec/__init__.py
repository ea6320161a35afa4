"""The keys of a benchmark file, as types: validation, messages and JSON Schema are made of them.

Short forms (a string for a mapping) are expanded before validation: the rest of the project sees
one form. The keys of scorers are loaded where they are met, see `scorer_keys`.
"""

from pytest_evalmetrics.spec.benchmark import Benchmark, BenchmarkSpec, ScorerSpec, XFail
from pytest_evalmetrics.spec.field_types import Count
from pytest_evalmetrics.spec.gate_keys import (
    BaselineSpec,
    ExpectSpec,
    GateSpec,
    RuleName,
    Threshold,
)
from pytest_evalmetrics.spec.sources import (
    DatasetSpec,
    FieldMap,
    ParamsSpec,
    ReasoningSpec,
    RolloutsSpec,
)

__all__ = [
    "BaselineSpec",
    "Benchmark",
    "BenchmarkSpec",
    "Count",
    "DatasetSpec",
    "ExpectSpec",
    "FieldMap",
    "GateSpec",
    "ParamsSpec",
    "ReasoningSpec",
    "RolloutsSpec",
    "RuleName",
    "ScorerSpec",
    "Threshold",
    "XFail",
]
