"""What a benchmark file may say, as types.

The validation, its messages and the JSON Schema that editors read are all made from
these dataclasses. Short forms (a string where a mapping is also possible) are expanded
before validation, so that the rest of the project sees one form.
"""

from pytest_evalmetrics.spec.baseline import BaselineSpec, GateSpec, RuleName
from pytest_evalmetrics.spec.benchmark import Benchmark, BenchmarkSpec, XFail
from pytest_evalmetrics.spec.forms import Count
from pytest_evalmetrics.spec.gates import ExpectSpec, Threshold
from pytest_evalmetrics.spec.rollouts import FieldMap, RolloutsSpec

__all__ = [
    "BaselineSpec",
    "Benchmark",
    "BenchmarkSpec",
    "Count",
    "ExpectSpec",
    "FieldMap",
    "GateSpec",
    "RolloutsSpec",
    "RuleName",
    "Threshold",
    "XFail",
]
