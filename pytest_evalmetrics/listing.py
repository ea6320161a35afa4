"""``evalmetrics list`` and ``explain``: the names of a benchmark file."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, fields
from textwrap import indent
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics import registry
from pytest_evalmetrics.config.benchmark_schema import (
    keys_of_metric_type,
    keys_of_scorer,
)
from pytest_evalmetrics.errors import MetricError, RegistryError, closest
from pytest_evalmetrics.metrics import Names
from pytest_evalmetrics.spec.metric_keys import METRIC_TYPES
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.scorer_keys import BUILTIN, spellings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.registry import Found, Registry

_WIDE = 34
# sections for code, not for benchmark files, whose settings are under "keys"
_FOR_BUILDERS = re.compile(
    r"\n\n(?:Parameters|Attributes|Raises)\n-+\n.*?(?=\n\n\w[^\n]*\n-+\n|\Z)", re.DOTALL
)
_TYPES = "types of metrics"
_RULES = "gate rules"
# what a rule fails
_BUILTIN_RULES = {
    "exact": "Any drop: for a benchmark without noise",
    "absolute": "A drop of more than max_drop, whatever its noise",
    "relative": "A drop of more than the share max_drop of the baseline: for costs",
    "statistical": "A drop of any size with p < alpha",
    "practical": "A drop of at least max_drop with p < alpha; the default",
    "noninferior": "Where the run does not show that it lost at most max_drop",
}
_STATISTICS = (
    "NeMo Gym's statistics of a score: also max/, min/, median/ and std/  [built-in]"
)
# for each kind its registry, and the methods of its classes or the parameters of its functions
_KINDS: dict[str, tuple[Registry, set[str]]] = {
    "metrics": (registry.metrics, {"compute"}),
    "scorers": (registry.scorers, {"score", "scores", "row", "item", "sample"}),
    "loaders": (registry.loaders, {"read", "rows", "texts", "source"}),
    "reporters": (registry.reporters, {"report", "prefix"}),
    _RULES: (registry.gate_rules, {"decide", "comparison", "gated", "rule"}),
}


def listed() -> str:
    """List all registered names, each with a line and who provides it."""
    lines: list[str] = []
    unusual = {
        name for each in BUILTIN for name in spellings(each)[1:]
    }  # of a scorer's type
    for kind, (things, _) in _KINDS.items():
        names = [
            n for n in things.names() if n not in unusual or not things.is_builtin(n)
        ]
        described = {name: _line(things, name) for name in names}
        if kind == "metrics":
            described["mean/{score}"] = _STATISTICS
        if kind == _RULES:
            rules = {n: f"{text}  [built-in]" for n, text in _BUILTIN_RULES.items()}
            described = {**rules, **described}
        count = len(described) if kind == _RULES else len(names)
        lines += _section(kind, described, count)
        if kind == "metrics":
            types = {name: _type(name) for name in METRIC_TYPES}
            lines += _section(_TYPES, types, len(types))
    last = (
        "package.module:attribute names one of your own; evalmetrics explain NAME explains one "
        "of them"
    )
    return "\n".join([*lines, last])


def _section(kind: str, described: Mapping[str, str], count: int) -> list[str]:
    """List the names of a kind, each with a line."""
    wide = min(max(map(len, described), default=0), _WIDE)
    rows = [f"  {name.ljust(wide)}  {line}" for name, line in described.items()]
    return [f"{kind} ({count})", *rows, ""]


def _type(name: str) -> str:
    """Describe a type of metric, with the keys that it needs."""
    needed = [
        field.name
        for field in fields(METRIC_TYPES[name])
        if field.default is MISSING and field.name != "type"
    ]
    keys = f": {', '.join(needed)}" if needed else ""
    return f"{_summary(METRIC_TYPES[name])}{keys}  [built-in]"


def _summary(target: object) -> str:
    return _doc(target).split("\n")[0].rstrip(".")


def _line(things: Registry, name: str) -> str:
    try:
        target = things.find(name).target
    except RegistryError as error:
        return f"can't be loaded: {error.message}"
    return f"{_summary(target)}  [{things.source(name)}]"


def _doc(target: object) -> str:
    own = (
        target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    )
    text = getattr(own, "__doc__", None)
    if text is None and not inspect.isroutine(own):  # without the docstrings of bases
        text = getattr(own.__dict__.get("compute"), "__doc__", None)
    return inspect.cleandoc(text) if text else "(no description)"


def explained(name: str) -> str:
    """Explain all registered things with a name."""
    parts = []
    broken = []
    for kind, (things, _) in _KINDS.items():
        try:
            entry = things.find(name) if kind != "metrics" else _find_metric(name)
        except (MetricError, RegistryError) as error:
            if ":" in name or name in things.names():
                broken.append(error)
            continue
        # a reference may be of any kind, which its methods show
        if not entry.reference or _kind_of(entry.target) == kind:
            parts.append("\n".join(_explain(kind, things, name, entry)))
    parts += _explained_beside(name)
    if parts:
        return "\n\n".join(parts)
    if broken:
        raise broken[0]  # a reference: the message is the same for each kind
    there = [n for things, _ in _KINDS.values() for n in things.names()]
    there += [*METRIC_TYPES, *_BUILTIN_RULES]
    meant = closest(name, there)
    guess = "" if meant is None else f": did you mean {meant!r}?"
    raise RegistryError(
        f"there is nothing named {name!r}{guess}",
        hint="evalmetrics list prints what there is",
    )


def _explained_beside(name: str) -> list[str]:
    """Explain the built-in rule and the type of metric with a name, which nobody registers."""
    parts = []
    if name in METRIC_TYPES:
        keys = "\n".join(f"    {line}" for line in keys_of_metric_type(name))
        parts.append(
            f"{name}: type of metric\n\n  {_paragraphs(_doc(METRIC_TYPES[name]))}\n\n"
            f"  defined under metrics:, as NAME: {{type: {name}, ...}}\n\n"
            f"  keys\n{keys}\n\n  from: built-in"
        )
    if name in _BUILTIN_RULES:
        parts.append(
            f"{name}: gate rule\n\n  It fails: {_lowered(_BUILTIN_RULES[name])}.\n\n"
            f"  written as baseline: {{rule: {name}}}, or for one metric below baseline: "
            "metrics:\n\n  from: built-in"
        )
    return parts


def _lowered(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"


def _kind_of(target: object) -> str:
    names = set(dir(target))
    if not inspect.isclass(target):
        names |= {key for key, _ in _parameters(target)}
    return next(
        (kind for kind, (_, offers) in _KINDS.items() if offers & names), "metrics"
    )


def _find_metric(name: str) -> Found:
    metrics = registry.metrics
    metric = parse(name)
    if metric.is_statistic:
        return registry.Found(
            f"{metric.metric}/...", Names.statistic(metric.metric, "").target
        )
    family = metrics.family(metric.metric)
    if family is not None and metric.metric not in set(metrics.names()) - {family}:
        return registry.Found(family, metrics.find(family).target)
    return metrics.find(metric.metric)


def _explain(kind: str, things: Registry, name: str, entry: Found) -> Iterator[str]:
    numbers = "".join(f", {key} = {value}" for key, value in entry.numbers.items())
    which = "one of"
    if "{" in entry.name and not entry.numbers:
        which = "the family"
    of = f" ({which} {entry.name}{numbers})" if entry.name != name else ""
    yield f"{name}: {kind[:-1]}{of}"
    yield ""
    doc = _doc(entry.target)
    ours = not entry.reference and (kind == "metrics" or things.is_builtin(entry.name))
    yield indent(_paragraphs(_FOR_BUILDERS.sub("", doc)) if ours else doc, "  ")
    yield ""
    if keys := list(_keys(kind, entry)):
        yield from ("  keys", *keys, "")
    if kind == "metrics":
        if getattr(entry.target, "bounded", False) is True:
            yield "  a rate in [0, 1]"
        reason = getattr(entry.target, "no_interval", "")
        if isinstance(reason, str) and reason:
            yield f"  no interval: {reason}"
    if entry.reference:
        who = "named outright"
    else:
        who = "built-in"
        if not entry.name.endswith("/..."):
            who = things.source(entry.name)
    yield f"  from: {who}, {registry.origin(entry.target)}"


def _paragraphs(doc: str) -> str:
    """Write each paragraph of plain text on one line, which the terminal breaks."""
    return "\n\n".join(
        part if "\n " in part else part.replace("\n", " ") for part in doc.split("\n\n")
    )


def _keys(kind: str, entry: Found) -> Iterator[str]:
    keys = keys_of_scorer(entry.name) if kind == "scorers" else None
    if keys is not None:
        yield from (f"    {line}" for line in keys)
        return
    for key, parameter in (
        _parameters(entry.target) if inspect.isclass(entry.target) else ()
    ):
        if kind == "metrics" and ("{" + key + "}") in entry.name:
            here = ""
            if key in entry.numbers:
                here = f", here {entry.numbers[key]}"
            yield f"    {key}: a whole number from 1, in the name{here}"
        elif kind == "metrics" and key == "options":
            yield "    pass_threshold, pass_estimator: of the benchmark, where it asks for them"
        elif kind == "scorers" and key != "terms":
            yield f"    {parameter}"


def _parameters(target: Any) -> Iterator[tuple[str, str]]:
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return
    for p in parameters:
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            written = isinstance(p.annotation, str)
            kind = p.annotation if written else inspect.formatannotation(p.annotation)
            shown = p.name if p.annotation is p.empty else f"{p.name}: {kind}"
            yield (
                p.name,
                shown
                + (" (required)" if p.default is p.empty else f" = {p.default!r}"),
            )
