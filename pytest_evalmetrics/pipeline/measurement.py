"""The ruler: what measures a benchmark, as a fingerprint that its baseline keeps.

A number is compared only with one that was measured alike. What is measured may differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from hashlib import blake2b
from itertools import chain, count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from pytest_evalmetrics import depends
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.local_code import code_hash, source_hash
from pytest_evalmetrics.registry import is_ours, scorers
from pytest_evalmetrics.rollouts.source import score_paths
from pytest_evalmetrics.spec.metric_names import OVER_REFERENCE, REFERENCE

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.scoring.door import BoundScorer
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

Fingerprint = Mapping[str, Mapping[str, Any]]

_LONGEST = 60  # characters of a value that is written out
_BEGINNING = 32  # of one that is not
_REWARD, _SCORER, _METRIC, _TOOL = "reward", "scorer ", "metric ", "tool "
_ANSWERS = "answers of "  # prefix of a judge's name: the models that its answers name
_HOOK = "hook compute_metrics"
FIELD_PREFIX = "fields: "
# keys that say where files hold rewards
READING_KEYS = (FIELD_PREFIX, "where", "pivot")
# keys of billing, waiting and texts for people don't affect the measurement
_NO_MEASURE = frozenset(
    {
        "type",
        "api_key_secret",
        "timeout_seconds",
        "max_retries",
        "price",
        "judge_check",
        "options",
    }
)
_SECRET = re.compile(
    r"^key$|(api|auth|access|private)[_-]?key|token$|secret|password|authori[sz]ation|credential",
    re.IGNORECASE,
)


def measurement_of(
    spec: BenchmarkSpec,
    plan: Plan,
    bound: Sequence[BoundScorer],
    tools: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    hook: str,
    hide: Callable[[str], str],
) -> dict[str, dict[str, Any]]:
    """Describe what measures a benchmark: readable settings, without defaults and secrets."""
    reward: dict[str, Any] = {
        "score": spec.reward,
        "pass_threshold": spec.pass_threshold,
    }
    reward |= {"pass_estimator": spec.pass_estimator}
    if spec.rollouts is not None:
        paths = score_paths(spec.rollouts.fields).items()
        reward |= {
            f"{FIELD_PREFIX}{name}": path for name, path in paths if path != name
        }
        if not spec.scorers:
            chosen = {key: getattr(spec.rollouts, key) for key in ("where", "pivot")}
            reward |= {
                key: _shown(value, hide) for key, value in chosen.items() if value
            }
    ruler: dict[str, dict[str, Any]] = {_REWARD: reward}
    for asked, scorer in zip(spec.scorers, bound, strict=True):
        written = getattr(asked, "function", None) or scorer.type
        label = f"{_SCORER}{written}"
        numbered = (f"{label} {number}" for number in count(2))
        name = next(name for name in chain([label], numbered) if name not in ruler)
        ruler[name] = {
            "scores": sorted(scorer.scores),
            **_of_scorer(asked, scorer, written, hide),
        }
    for text in spec.gated:
        with suppress(EvalMetricsError):  # of a hook
            metric = plan.names.bind(text)
            if text in spec.defined:
                ruler[f"{_METRIC}{metric}"] = spec.defined[text].written()
            elif not is_ours(metric.target) and (source := source_hash(metric.target)):
                ruler[f"{_METRIC}{metric}"] = {"source": source}
    if hook:
        ruler[_HOOK] = {"source": hook}
    if spec.reference is not None and spec.reference.model is not None:
        settings = {k: _shown(v, hide) for k, v in _flat("", spec.reference.model)}
        ruler[f"{_TOOL}reference"] = {"scores": [REFERENCE, OVER_REFERENCE], **settings}
    return ruler | _answering_models(bound, hide) | _of_tools(tools, hide)


def _of_tools(
    tools: Mapping[str, Mapping[str, Sequence[str]]], hide: Callable[[str], str]
) -> dict[str, dict[str, Any]]:
    return {
        f"{_TOOL}{name}": {
            key: list(values) if key == "scores" else _shown(", ".join(values), hide)
            for key, values in entry.items()
            if not any(map(_SECRET.search, key.split()))
        }
        for name, entry in tools.items()
    }


def stated_by(
    now: Fingerprint, tables: Iterable[RolloutTable], hide: Callable[[str], str]
) -> Any:
    """Return a ruler with the tools of other rollouts, as ``ruler``, if both sides state any."""
    stated: dict[str, dict[str, list[str]]] = {}
    for name, entry in chain.from_iterable(table.ruler.items() for table in tables):
        tool = stated.setdefault(name, {})
        tool |= {
            k: [*dict.fromkeys((*tool.get(k, ()), *more))] for k, more in entry.items()
        }
    ours = f"{_TOOL}reference"
    own = {n: e for n, e in now.items() if not n.startswith(_TOOL) or n == ours}
    both = stated and len(own) < len(now)
    return {"ruler": own | _of_tools(stated, hide)} if both else {}


def _answering_models(
    bound: Sequence[BoundScorer], hide: Callable[[str], str]
) -> dict[str, dict[str, Any]]:
    """List the model names that judges' answers give: a dated one, or that of a fallback."""
    entries: dict[str, dict[str, Any]] = {}
    for scorer in bound:
        for model in (
            judge.model for judge in scorer.judges if judge.model.spending.names
        ):
            entry = entries.setdefault(
                f"{_ANSWERS}{model.name}", {"scores": [], "model": []}
            )
            more = {"scores": scorer.scores, "model": map(hide, model.spending.names)}
            entry.update(
                {key: sorted({*entry[key], *values}) for key, values in more.items()}
            )
    return entries


def under_test_of(benchmark: Benchmark, hide: Callable[[str], str]) -> dict[str, Any]:
    """Describe the system under test by its settings; empty for recorded rollouts."""
    spec = benchmark.spec
    settings: dict[str, Any] = {}
    if spec.model is not None:
        own = _settings(spec.model, "url", "name", "format")
        settings["model"] = spec.model.name
        # a model's own settings win over those of all models
        settings |= dict(_flat("", spec.params.inference))
        for key in ("system_prompt", "reasoning"):
            if (value := getattr(spec.params, key)) is not None:
                settings |= dict(_flat(key, value))
        settings |= dict(_flat("", {**own.pop("inference", {}), **own}))
    if spec.target is not None:
        settings |= dict(_flat("target", spec.target))
        settings[_SOURCE] = code_hash(spec.target.function)
    if spec.depends and spec.answers is not None:
        settings["depends"] = depends.digest(spec.depends, benchmark.file.parent)
    for key in ("prompt_template", "tools", "response_format"):
        if (value := getattr(spec, key)) is not None:
            settings[key] = value
    return {key: _shown(value, hide) for key, value in settings.items()}


_SOURCE = "target source"
_VERSION = "target version"


def under_test_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe what is under test in place of what was, in one line; none for no change."""
    if _SOURCE not in before:
        # a baseline of an earlier version holds no fingerprint of the source
        now = {key: value for key, value in now.items() if key != _SOURCE}
    changes = differences(before, now)
    return [f"under test: {', '.join(changes)}"] if changes else []


def unannounced_changes(
    before: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[str]:
    """Describe code under test that changed while its version did not."""
    version = now.get(_VERSION)
    same_version = version is not None and before.get(_VERSION) == version
    if same_version and before.get(_SOURCE, now[_SOURCE]) != now[_SOURCE]:
        yield (
            f"the code of the target changed since the baseline, and its version ({version}) "
            "did not: its answers are new"
        )


def differing_keys(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of two descriptions whose values differ."""
    for key in dict.fromkeys((*now, *before)):
        if before.get(key) != now.get(key):
            yield key


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe how two descriptions differ: ``temperature 0 -> 0.7``."""
    texts = []
    for key in differing_keys(before, now):
        old = shown_setting(before.get(key, "none"))
        new = shown_setting(now.get(key, "none"))
        texts.append(f"{key} {old} -> {new}")
    return texts


def shown_setting(value: object) -> str:
    """Write the value of a setting: ``true``, ``a, b``."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_scorer(
    asked: Any, scorer: BoundScorer, written: str, hide: Callable[[str], str]
) -> dict[str, Any]:
    entry: dict[str, Any] = {} if written == scorer.type else {"type": scorer.type}
    target = scorers.find(written).target
    if not is_ours(target) and (source := source_hash(target)):
        entry["source"] = source
    described = (
        "model",
        "judge_model",
        "judges",
        "scores",
    )  # below, unless it is a text
    but = [key for key in described if not isinstance(getattr(asked, key, None), str)]
    entry |= dict(_flat("", _settings(asked, *but)))
    entry |= dict(_flat("", getattr(asked, "options", {})))
    for score in getattr(asked, "scores", None) or ():
        if is_dataclass(score):
            entry |= dict(_flat(f"score {getattr(score, 'name', '')}", score))
    for number, judge in enumerate(scorer.judges, start=1):
        name, model = (
            "judge" if len(scorer.judges) == 1 else f"judge {number}",
            judge.model,
        )
        entry[name] = model.name
        more = {"system_prompt": model.system_prompt, "end_token": model.end_token}
        for key, value in (
            *judge.versions.items(),
            *model.inference.items(),
            *more.items(),
        ):
            if value is not None:
                entry[f"{name} {key}"] = value
    return {key: _shown(value, hide) for key, value in entry.items()}


def _settings(value: Any, *but: str) -> dict[str, Any]:
    """Return the fields of a specification that differ from their defaults."""
    settings = {}
    for each in fields(value):
        given = getattr(value, each.name)
        default = (
            each.default_factory()
            if each.default_factory is not MISSING
            else each.default
        )
        if each.name not in (*_NO_MEASURE, *but) and given != default:
            settings[each.name] = given
    return settings


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Take nested settings apart: ``parser json_path`` -> ``$.score``."""
    if is_dataclass(value) and not isinstance(value, type):
        value = _settings(value)
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        if _SECRET.search(str(key)):
            continue
        path = f"{name} {key}".strip()
        if key == "url" and isinstance(inner, str):  # on this machine any port will do
            parts = urlsplit(inner)
            local = parts.hostname in ("localhost", "127.0.0.1", "::1")
            yield path, parts.path if local else f"{parts.hostname}{parts.path}"
        else:
            yield from _flat(path, inner)


def _shown(value: Any, hide: Callable[[str], str]) -> Any:
    """Write a value for people: a long one as its beginning and a digest."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_dataclass(value) or isinstance(value, Mapping | list | tuple):
        value = msgspec.json.encode(value, order="sorted", enc_hook=repr).decode()
    text = hide(str(value))
    if len(text) <= _LONGEST and text.isprintable():
        return text
    digest = blake2b(
        text.encode("utf-8", "backslashreplace"), digest_size=6
    ).hexdigest()
    return f"{' '.join(text[:_BEGINNING].split())}... ({digest})"
