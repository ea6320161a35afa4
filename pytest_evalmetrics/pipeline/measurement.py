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
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from pytest_evalmetrics import depends
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.local_code import code_hash, source_hash
from pytest_evalmetrics.model.changes import SettingChange, UnderTestChanged
from pytest_evalmetrics.model.gate_notes import UnannouncedCode
from pytest_evalmetrics.registry import is_ours, scorers
from pytest_evalmetrics.rollouts.source import score_paths
from pytest_evalmetrics.spec.metric_names import OVER_REFERENCE, REFERENCE

if TYPE_CHECKING:
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.scoring.door import BoundScorer
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, ScorerSpec

Fingerprint = Mapping[str, Mapping[str, object]]

_LONGEST = 60  # characters of a value that is written out
_BEGINNING = 32  # of one that is not
_REWARD = "reward"
_SCORER = "scorer "
_METRIC = "metric "
_TOOL = "tool "
_PINNED = f"{_TOOL}reference"  # the entry of the pinned system
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
) -> dict[str, dict[str, object]]:
    """Describe what measures a benchmark: readable settings, without defaults and secrets."""
    ruler = {_REWARD: _of_reward(spec, hide)}
    for asked, scorer in zip(spec.scorers, bound, strict=True):
        written = getattr(asked, "function", None) or scorer.type
        label = f"{_SCORER}{written}"
        numbered = (f"{label} {number}" for number in count(2))
        name = next(name for name in chain([label], numbered) if name not in ruler)
        settings = _of_scorer(asked, scorer, written, hide)
        ruler[name] = {"scores": sorted(scorer.scores), **settings}
    ruler.update(_of_metrics(spec, plan))
    if hook:
        ruler[_HOOK] = {"source": hook}
    if spec.reference is not None and spec.reference.model is not None:
        model = _flat("", spec.reference.model)
        settings = {key: _shown(value, hide) for key, value in model}
        ruler[_PINNED] = {"scores": [REFERENCE, OVER_REFERENCE], **settings}
    ruler.update(_answering_models(bound, hide))
    ruler.update(_of_tools(tools, hide))
    return ruler


def _of_reward(spec: BenchmarkSpec, hide: Callable[[str], str]) -> dict[str, object]:
    """Describe the reward, and where the files hold it."""
    reward: dict[str, object] = {
        "score": spec.reward,
        "pass_threshold": spec.pass_threshold,
        "pass_estimator": spec.pass_estimator,
    }
    if spec.rollouts is None:
        return reward
    for name, path in score_paths(spec.rollouts.fields).items():
        if path != name:
            reward[f"{FIELD_PREFIX}{name}"] = path
    if spec.scorers:
        return reward
    for key in ("where", "pivot"):
        value = getattr(spec.rollouts, key)
        if value:
            reward[key] = _shown(value, hide)
    return reward


def _of_metrics(
    spec: BenchmarkSpec, plan: Plan
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the gated metrics that are defined in the file, or are the user's own."""
    for text in spec.gated:
        # a metric of a hook has no name in the plan
        with suppress(EvalMetricsError):
            metric = plan.names.bind(text)
            if text in spec.defined:
                yield f"{_METRIC}{metric}", dict(spec.defined[text].written())
            elif not is_ours(metric.target):
                source = source_hash(metric.target)
                if source:
                    yield f"{_METRIC}{metric}", {"source": source}


def _of_tools(
    tools: Mapping[str, Mapping[str, Sequence[str]]], hide: Callable[[str], str]
) -> dict[str, dict[str, object]]:
    return {f"{_TOOL}{name}": _of_tool(entry, hide) for name, entry in tools.items()}


def _of_tool(
    entry: Mapping[str, Sequence[str]], hide: Callable[[str], str]
) -> dict[str, object]:
    """Describe what one tool states of a scorer, without secrets."""
    stated: dict[str, object] = {}
    for key, values in entry.items():
        if any(map(_SECRET.search, key.split())):
            continue
        if key == "scores":
            stated[key] = list(values)
        else:
            stated[key] = _shown(", ".join(values), hide)
    return stated


def stated_by(
    now: Fingerprint, tables: Iterable[RolloutTable], hide: Callable[[str], str]
) -> Fingerprint | None:
    """Return a fingerprint with the tools of other rollouts; None unless both sides state any."""
    stated: dict[str, dict[str, list[str]]] = {}
    for table in tables:
        for name, entry in table.ruler.items():
            tool = stated.setdefault(name, {})
            for key, values in entry.items():
                kept = tool.setdefault(key, [])
                kept += [value for value in values if value not in kept]
    own = {name: entry for name, entry in now.items() if not _is_of_tool(name)}
    if not stated or len(own) == len(now):
        return None
    return {**own, **_of_tools(stated, hide)}


def _is_of_tool(name: str) -> bool:
    """Check for an entry that another tool's files state."""
    return name.startswith(_TOOL) and name != _PINNED


def _answering_models(
    bound: Sequence[BoundScorer], hide: Callable[[str], str]
) -> dict[str, dict[str, object]]:
    """List the model names that judges' answers give: a dated one, or that of a fallback."""
    scores: dict[str, set[str]] = {}
    models: dict[str, set[str]] = {}
    for scorer in bound:
        for judge in scorer.judges:
            names = judge.model.spending.names
            if names:
                entry = f"{_ANSWERS}{judge.model.name}"
                scores.setdefault(entry, set()).update(scorer.scores)
                models.setdefault(entry, set()).update(map(hide, names))
    return {
        entry: {"scores": sorted(scores[entry]), "model": sorted(models[entry])}
        for entry in scores
    }


def under_test_of(
    benchmark: Benchmark, hide: Callable[[str], str]
) -> dict[str, object]:
    """Describe the system under test by its settings; empty for recorded rollouts."""
    spec = benchmark.spec
    settings: dict[str, object] = {}
    if spec.model is not None:
        own = _settings(spec.model, "url", "name", "format")
        settings["model"] = spec.model.name
        # a model's own settings win over those of all models
        settings |= dict(_flat("", spec.params.inference))
        for key in ("system_prompt", "reasoning"):
            if (value := getattr(spec.params, key)) is not None:
                settings |= dict(_flat(key, value))
        settings |= dict(_flat("", own.pop("inference", {})))
        settings |= dict(_flat("", own))
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


def under_test_change(
    before: Mapping[str, object], now: Mapping[str, object]
) -> UnderTestChanged | None:
    """Compare what is under test with what was; None if it is the same."""
    if _SOURCE not in before:
        # a baseline of an earlier version holds no fingerprint of the source
        now = {key: value for key, value in now.items() if key != _SOURCE}
    settings = [
        SettingChange(
            key=key,
            before=shown_setting(before.get(key, "none")),
            now=shown_setting(now.get(key, "none")),
        )
        for key in differing_keys(before, now)
    ]
    return UnderTestChanged(tuple(settings)) if settings else None


def unannounced_change(
    before: Mapping[str, object], now: Mapping[str, object]
) -> UnannouncedCode | None:
    """Find code under test that changed while its version did not; None if there is none."""
    version = now.get(_VERSION)
    same_version = version is not None and before.get(_VERSION) == version
    if same_version and before.get(_SOURCE, now[_SOURCE]) != now[_SOURCE]:
        return UnannouncedCode(str(version))
    return None


def differing_keys(
    before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[str]:
    """Yield the keys of two descriptions whose values differ."""
    for key in dict.fromkeys((*now, *before)):
        if before.get(key) != now.get(key):
            yield key


def shown_setting(value: object) -> str:
    """Write the value of a setting: ``true``, ``a, b``."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_scorer(
    asked: ScorerSpec, scorer: BoundScorer, written: str, hide: Callable[[str], str]
) -> dict[str, object]:
    """Describe a scorer: its settings, the source of one in Python, and its judges."""
    entry: dict[str, object] = {}
    if written != scorer.type:
        entry["type"] = scorer.type
    target = scorers.find(written).target
    if not is_ours(target):
        source = source_hash(target)
        if source:
            entry["source"] = source
    # described below, unless it is a text
    described = ("model", "judge_model", "judges", "scores")
    but = [key for key in described if not isinstance(getattr(asked, key, None), str)]
    entry.update(_flat("", _settings(asked, *but)))
    entry.update(_flat("", getattr(asked, "options", {})))
    for score in getattr(asked, "scores", None) or ():
        if is_dataclass(score):
            entry.update(_flat(f"score {getattr(score, 'name', '')}", score))
    entry.update(_of_judges(scorer))
    return {key: _shown(value, hide) for key, value in entry.items()}


def _of_judges(scorer: BoundScorer) -> Iterator[tuple[str, object]]:
    """Yield the settings of a scorer's judges."""
    for number, judge in enumerate(scorer.judges, start=1):
        name = "judge" if len(scorer.judges) == 1 else f"judge {number}"
        model = judge.model
        yield name, model.name
        settings = {
            **judge.versions,
            **model.inference,
            "system_prompt": model.system_prompt,
            "end_token": model.end_token,
        }
        for key, value in settings.items():
            if value is not None:
                yield f"{name} {key}", value


def _settings(value: object, *but: str) -> dict[str, object]:
    """Return the fields of a specification that differ from their defaults."""
    if not is_dataclass(value):
        return {}
    settings = {}
    for field in fields(value):
        default = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        given = getattr(value, field.name)
        if field.name not in (*_NO_MEASURE, *but) and given != default:
            settings[field.name] = given
    return settings


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
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
            host = parts.hostname
            if host in ("localhost", "127.0.0.1", "::1"):
                host = ""
            yield path, f"{host}{parts.path}"
        else:
            yield from _flat(path, inner)


def _shown(value: object, hide: Callable[[str], str]) -> object:
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
