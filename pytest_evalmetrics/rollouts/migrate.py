"""Benchmark files out of other tools' settings: vLLM's accuracy tests, promptfoo's assertions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import yaml

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.foreign import objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_RTOL: Final = 0.08  # of vLLM's lm-eval tests where their file says nothing
_TOL: Final = 0.08  # of its gsm8k tests: absolute


def migrated(path: Path) -> list[str] | None:
    """Turn another tool's settings into the lines of a benchmark file; None for what is none."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise DataError(f"these settings can't be read: {why}", file=path.name) from None
    if not isinstance(settings, dict):
        return None
    tasks = [
        task for task in objects(settings.get("tasks")) if isinstance(task.get("metrics"), list)
    ]
    if tasks:
        return ["benchmarks:", *(line for task in tasks for line in _lm_eval(task, settings))]
    if _is_number(settings.get("accuracy_threshold")):
        return list(_gsm8k(settings))
    if "providers" in settings and ("tests" in settings or "defaultTest" in settings):
        return list(_promptfoo(settings))
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lm_eval(task: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """https://github.com/vllm-project/vllm, .buildkite/lm-eval-harness/configs."""
    name = str(task.get("name"))
    rtol = settings.get("rtol", _RTOL)
    scores = {
        str(m["name"]).removesuffix(",none"): m["value"]
        for m in objects(task["metrics"])
        if _is_number(m.get("value"))
    }
    yield f"  - name: {json.dumps(name)}"
    yield f"    description: {json.dumps(str(settings.get('model_name', '')))}"
    yield f"    rollouts: {json.dumps(f'results/**/samples_{name}_*.jsonl')}"
    yield "    # the samples that lm-eval writes with --log_samples"
    yield f"    reward: {json.dumps(next(iter(scores), 'acc'))}"
    yield "    metrics: [mean_reward]"
    if _is_number(settings.get("limit")):
        yield f"    expect: {{tasks: {int(settings['limit'])}}}"
    yield "    thresholds:"
    for score, value in scores.items():
        key = json.dumps(f"mean/{score}")
        yield f"      {key}: {{value: {value}, rtol: {100 * float(rtol):g}%}}"


def _gsm8k(settings: Mapping[str, Any]) -> Iterator[str]:
    """https://github.com/vllm-project/vllm, tests/evals/gsm8k."""
    least = round(float(settings["accuracy_threshold"]) - _TOL, 6)
    yield "benchmark:"
    yield "  name: gsm8k"
    yield f"  description: {json.dumps(str(settings.get('model_name', '')))}"
    yield "  rollouts: results/gsm8k.jsonl  # a row per question, with its task and reward"
    yield "  metrics: [mean_reward]"
    if _is_number(settings.get("num_questions")):
        yield f"  expect: {{tasks: {int(settings['num_questions'])}}}"
    yield "  thresholds:"
    yield f"    mean_reward: {{min: {least}}}  # {settings['accuracy_threshold']} - {_TOL}"


def _promptfoo(settings: Mapping[str, Any]) -> Iterator[str]:
    """https://www.promptfoo.dev/docs/configuration/expected-outputs."""
    bounds: dict[str, float] = {}
    for test in objects([settings.get("defaultTest"), *objects(settings.get("tests"))]):
        for each in objects(test.get("assert")):
            name = each.get("metric")
            if isinstance(name, str) and _is_number(each.get("threshold")):
                bounds[name] = max(each["threshold"], bounds.get(name, each["threshold"]))
    yield "benchmark:"
    yield f"  name: {json.dumps(str(settings.get('description') or 'promptfoo'))}"
    yield "  rollouts: results.json  # promptfoo eval -o results.json"
    yield "  reward: success"
    yield "  metrics: [mean_reward]"
    yield "  thresholds:"
    yield '    mean_reward: ">= 1"  # promptfoo fails where any test does'
    for name, bound in bounds.items():
        yield f"    {json.dumps(f'mean/{name}')}: {{min: {bound}}}  # its assertions' threshold"
