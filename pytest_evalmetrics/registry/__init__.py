"""The names that a benchmark file may use, and what they stand for.

A thing is registered by a decorator, by an entry point (loaded by name at first use), or named
as ``package.module:attribute``. A name may be a family, such as ``pass@{k}``, whose thing is called
with the numbers in the name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.registry.names import Found as Found
from pytest_evalmetrics.registry.names import Registry as Registry
from pytest_evalmetrics.registry.names import Scope as Scope
from pytest_evalmetrics.registry.origins import is_ours as is_ours
from pytest_evalmetrics.registry.origins import origin as origin
from pytest_evalmetrics.registry.origins import same as same
from pytest_evalmetrics.registry.origins import source_hash as source_hash

if TYPE_CHECKING:
    from collections.abc import Mapping

metrics = Registry(
    "metric", "pytest_evalmetrics.metrics", "pytest_evalmetrics.metrics.builtin_metrics"
)
register_metric = metrics.register


def _loaders_of_formats(name: str | None) -> Mapping[str, Any]:
    formats = import_module("pytest_evalmetrics.rollouts.formats").FORMATS
    return {each.name: each.load() for each in formats if name in (None, each.name)}


loaders = Registry("loader", "pytest_evalmetrics.loaders", _loaders_of_formats)
register_loader = loaders.register


def _types_of_scorers(name: str | None) -> Mapping[str, Any]:
    from pytest_evalmetrics.spec.scorer_keys import builtin_types  # noqa: PLC0415 - few need it

    return builtin_types(name)


scorers = Registry("scorer", "pytest_evalmetrics.scorers", _types_of_scorers)
register_scorer = scorers.register

reporters = Registry(
    "reporter", "pytest_evalmetrics.reporters", "pytest_evalmetrics.reports.reporters"
)
register_reporter = reporters.register

gate_rules = Registry(
    "gate rule",
    "pytest_evalmetrics.gate_rules",
    reserved=("exact", "absolute", "relative", "statistical", "practical", "noninferior"),
)
register_gate_rule = gate_rules.register

targets = Registry("target", "pytest_evalmetrics.targets", "pytest_evalmetrics.generators")
