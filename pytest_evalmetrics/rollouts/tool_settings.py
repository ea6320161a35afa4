"""Benchmark files from the settings of other tools: vLLM's lm-eval and gsm8k tests, promptfoo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import yaml

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.json_values import objects
from pytest_evalmetrics.spec.field_types import is_number

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_RTOL: Final = 0.08  # the default of vLLM's lm-eval tests
_TOL: Final = 0.08  # of its gsm8k tests: absolute
# assertions of promptfoo whose threshold is a maximum of another quantity than their score
_OF_OTHER_QUANTITIES: Final = ("latency", "cost", "perplexity", "levenshtein")


class MigratedSettings(msgspec.Struct, frozen=True):
    """A benchmark file that says what another tool's settings say."""

    content: JsonObject
    comments: dict[str, str]  # key -> what stands behind it


def _given(values: JsonObject) -> JsonObject:
    return {name: value for name, value in values.items() if value}


def migrated(path: Path) -> MigratedSettings | None:
    """Convert another tool's settings to a benchmark file; None if they are unknown."""
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise DataError(
            f"these settings can't be read: {why}", file=path.name
        ) from None
    if not isinstance(settings, dict):
        return None
    tasks = [
        task
        for task in objects(settings.get("tasks"))
        if isinstance(task.get("metrics"), list)
    ]
    if tasks:
        comments = {"rollouts": "the samples that lm-eval writes with --log_samples"}
        benchmarks: list[JsonValue] = [
            _given(_lm_eval(task, settings)) for task in tasks
        ]
        return MigratedSettings({"benchmarks": benchmarks}, comments)
    stated = settings.get("accuracy_threshold")
    if is_number(stated):
        return _gsm8k(settings, float(stated))
    if "providers" in settings and ("tests" in settings or "defaultTest" in settings):
        return _promptfoo(settings)
    return None


def _gsm8k(settings: JsonObject, accuracy: float) -> MigratedSettings:
    """https://github.com/vllm-project/vllm, tests/evals/gsm8k."""
    benchmark: JsonObject = {
        "name": "gsm8k",
        "description": str(settings.get("model_name", "")),
        "rollouts": "results/gsm8k.jsonl",
        "metrics": ["mean_reward"],
        "expect": _expect(settings.get("num_questions")),
        "thresholds": {"mean_reward": {"min": round(accuracy - _TOL, 6)}},
    }
    comments = {
        "rollouts": "a row per question, with its task and reward",
        "mean_reward": f"{accuracy:g} - {_TOL}",
    }
    return MigratedSettings({"benchmark": _given(benchmark)}, comments)


def _promptfoo(settings: JsonObject) -> MigratedSettings:
    """https://www.promptfoo.dev/docs/configuration/reference."""
    benchmark: JsonObject = {
        "name": str(settings.get("description") or "promptfoo"),
        "rollouts": "results.json",
        "reward": "success",
        "metrics": ["mean_reward"],
        "thresholds": {"mean_reward": ">= 1", **_bounds_of_assertions(settings)},
    }
    comments = {
        "rollouts": "promptfoo eval -o results.json",
        "thresholds": "all tests have to pass, as there; the others are its assertions'",
    }
    return MigratedSettings({"benchmark": _given(benchmark)}, comments)


def _expect(tasks: JsonValue) -> JsonObject:
    return {"tasks": int(tasks)} if is_number(tasks) else {}


def _lm_eval(task: JsonObject, settings: JsonObject) -> JsonObject:
    """https://github.com/vllm-project/vllm, .buildkite/lm-eval-harness/configs."""
    name = str(task.get("name"))
    stated = settings.get("rtol", _RTOL)
    share = float(stated) if isinstance(stated, int | float | str) else _RTOL
    rtol = f"{100 * share:g}%"
    scores = {
        str(metric["name"]).removesuffix(",none"): metric["value"]
        for metric in objects(task["metrics"])
        if is_number(metric.get("value"))
    }
    return {
        "name": name,
        "description": str(settings.get("model_name", "")),
        "rollouts": f"results/**/samples_{name}_*.jsonl",
        "reward": next(iter(scores), "acc"),
        "metrics": ["mean_reward"],
        "expect": _expect(settings.get("limit")),
        "thresholds": {
            f"mean/{name}": {"value": value, "rtol": rtol}
            for name, value in scores.items()
        },
    }


def _bounds_of_assertions(settings: JsonObject) -> JsonObject:
    """https://www.promptfoo.dev/docs/configuration/expected-outputs."""
    bounds: dict[str, float] = {}
    for test in objects([settings.get("defaultTest"), *objects(settings.get("tests"))]):
        for assertion in objects(test.get("assert")):
            metric = assertion.get("metric")
            threshold = assertion.get("threshold")
            kind = str(assertion.get("type"))
            if kind in _OF_OTHER_QUANTITIES or kind.startswith("not-"):
                continue
            if isinstance(metric, str) and is_number(threshold):
                name = f"mean/{metric}"
                bounds[name] = max(threshold, bounds.get(name, threshold))
    return {name: {"min": least} for name, least in bounds.items()}
