"""What measures a benchmark otherwise than it measured its baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_evalmetrics.model.changes import NoLongerGated, ThresholdChanged
from pytest_evalmetrics.model.reasons import MeasuredBy, MeasurementChange
from pytest_evalmetrics.pipeline.measurement import (
    FIELD_PREFIX,
    READING_KEYS,
    Fingerprint,
    differing_keys,
    shown_setting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.metrics.metric import Metric
    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.pipeline.references import Reference

_NONE = "none"
_TASKS_OF_LM_EVAL = "tool lm_eval task "  # the list of tasks shows these


def kind_of(entry: str) -> MeasuredBy:
    """Return what an entry of a fingerprint is about, by the word that it begins with."""
    for kind in MeasuredBy:
        if entry == kind or entry.startswith(f"{kind} "):
            return kind
    return MeasuredBy.REWARD


def measurement_changes(
    before: Fingerprint, now: Fingerprint
) -> tuple[MeasurementChange, ...]:
    """List what measures otherwise than it did, in the order of the fingerprints."""
    before = _without_known_models(before, now, side=before)
    now = _without_known_models(before, now, side=now)
    gone = {name: entry for name, entry in before.items() if name not in now}
    changes: list[MeasurementChange] = []
    for name, entry in now.items():
        if name in before:
            changes += _changed_keys(name, before[name], entry)
        elif not name.startswith(_TASKS_OF_LM_EVAL):
            changes.append(_new_entry(name, entry, gone))
    for name, entry in gone.items():
        if not name.startswith(_TASKS_OF_LM_EVAL):
            changes.append(_lost_entry(name, entry))
    return tuple(changes)


def _without_known_models(
    before: Fingerprint, now: Fingerprint, *, side: Fingerprint
) -> dict[str, Mapping[str, object]]:
    """Drop the entries of judges whose answers name no new model."""
    kept = {}
    for name, entry in side.items():
        is_answers = kind_of(name) is MeasuredBy.ANSWERS
        if not is_answers or _has_new_model(name, before, now):
            kept[name] = entry
    return kept


def _has_new_model(name: str, before: Fingerprint, now: Fingerprint) -> bool:
    """Whether a judge's answers name a model that they did not name before."""
    if name not in now:
        return False
    known = before.get(name, now[name])
    return bool(_names(now[name], "model") - _names(known, "model"))


def _changed_keys(
    name: str, before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[MeasurementChange]:
    """Yield the keys of an entry that differ."""
    kind = kind_of(name)
    lists_scores = kind in (MeasuredBy.TOOL, MeasuredBy.ANSWERS)
    for key in differing_keys(before, now):
        if key == "scores" and lists_scores:
            continue
        scores = _names(now) | _names(before)
        if key.startswith(FIELD_PREFIX):
            scores = frozenset({key.removeprefix(FIELD_PREFIX)})
        yield MeasurementChange(
            kind=kind,
            entry=name,
            key=key,
            before=shown_setting(before.get(key, _NONE)),
            now=shown_setting(now.get(key, _NONE)),
            is_reading=kind is MeasuredBy.REWARD and key.startswith(READING_KEYS),
            scores=tuple(sorted(scores)),
        )


def _new_entry(
    name: str, entry: Mapping[str, object], gone: dict[str, Mapping[str, object]]
) -> MeasurementChange:
    """Describe a new entry, which may take the place of one that is gone."""
    kind = kind_of(name)
    scores = _names(entry)
    before = _NONE
    for other, replaced in gone.items():
        if kind_of(other) is kind and scores & _names(replaced):
            scores |= _names(replaced)
            before = _name_within(other)
            del gone[other]
            break
    return MeasurementChange(
        kind=kind,
        entry=name,
        key="",
        before=before,
        now=_name_within(name),
        scores=tuple(sorted(scores)),
    )


def _lost_entry(name: str, entry: Mapping[str, object]) -> MeasurementChange:
    return MeasurementChange(
        kind=kind_of(name),
        entry=name,
        key="",
        before=_name_within(name),
        now=_NONE,
        scores=tuple(sorted(_names(entry))),
    )


def _name_within(entry: str) -> str:
    """Return an entry's name without the word for its kind."""
    return entry.removeprefix(f"{kind_of(entry)} ")


def _names(entry: Mapping[str, object], key: str = "scores") -> frozenset[str]:
    """Return the names that an entry lists; a damaged list has none."""
    names = entry.get(key)
    if isinstance(names, list | tuple):
        return frozenset(map(str, names))
    return frozenset()


# -- what a change affects -------------------------------------------------------------------


def touches_reward(change: MeasurementChange, reward: str) -> bool:
    """Whether the rewards, or the threshold at which they pass, depend on it."""
    if change.kind in (MeasuredBy.METRIC, MeasuredBy.HOOK):
        return False
    return not change.scores or reward in change.scores


def touches(
    change: MeasurementChange,
    estimate: Estimate,
    target: Metric | None,
    *,
    reward: str,
) -> bool:
    """Whether a metric depends on it; `target` computes it, None if a hook does."""
    if change.kind is MeasuredBy.METRIC:
        return _name_within(change.entry) == estimate.name
    if change.kind is MeasuredBy.HOOK:
        return target is None
    if change.kind is MeasuredBy.REWARD and change.key.startswith("pass_"):
        return target is None or getattr(target, "options", None) is not None
    if not estimate.score:
        return True
    if change.is_reading and not change.scores:
        return True
    return estimate.score in (change.scores or (reward,))


# -- changed gates ---------------------------------------------------------------------------


def changed_gates(
    before: Mapping[str, object], now: Mapping[str, object], reference: Reference
) -> Iterator[ThresholdChanged | NoLongerGated]:
    """Find the thresholds that differ, and the metrics that are no longer gated."""
    if not before:
        return
    old = _mapping(before.get("thresholds"))
    new = _mapping(now["thresholds"])
    for name in dict.fromkeys((*old, *new)):
        was = old.get(name, _NONE)
        current = new.get(name, _NONE)
        if was != current:
            yield ThresholdChanged(metric=name, before=str(was), now=str(current))
    gated = _names(now, "metrics")
    for name in _listed(before.get("metrics")):
        if name not in gated:
            values = tuple(
                of_agent[name]
                for of_agent in reference.values.values()
                if name in of_agent
            )
            yield NoLongerGated(
                metric=name, acceptance=reference.acceptance, values=values
            )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    return []
