"""The keys of a benchmark file, as types: validation, messages and JSON Schema are made of them.

Short forms (a string for a mapping) are expanded before validation: the rest of the project sees
one form. The keys of scorers are loaded where they are met, see `scorer_keys`.
"""

from pytest_evalmetrics.spec.benchmark import Benchmark as Benchmark
from pytest_evalmetrics.spec.benchmark import BenchmarkSpec as BenchmarkSpec
from pytest_evalmetrics.spec.benchmark import ScorerSpec as ScorerSpec
from pytest_evalmetrics.spec.field_types import Count as Count
from pytest_evalmetrics.spec.gate_keys import BaselineSpec as BaselineSpec
from pytest_evalmetrics.spec.gate_keys import ExpectSpec as ExpectSpec
from pytest_evalmetrics.spec.gate_keys import GateSpec as GateSpec
from pytest_evalmetrics.spec.gate_keys import Threshold as Threshold
from pytest_evalmetrics.spec.sources import DatasetSpec as DatasetSpec
from pytest_evalmetrics.spec.sources import FieldMap as FieldMap
from pytest_evalmetrics.spec.sources import ParamsSpec as ParamsSpec
from pytest_evalmetrics.spec.sources import RolloutsSpec as RolloutsSpec
