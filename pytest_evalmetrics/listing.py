"""``evalmetrics list`` and ``explain``: the names of a benchmark file."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from textwrap import indent
from typing import TYPE_CHECKING

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
    for kind, (things, _) in _KINDS.items():
        names = _shown_names(things)
        described = {name: _line(things, name) for name in names}
        count = len(names)
        if kind == "metrics":
            described["mean/{score}"] = _STATISTICS
        if kind == _RULES:
            described = {**_described_rules(), **described}
            count = len(described)
        lines += _section(kind, described, count)
        if kind == "metrics":
            types = {name: _type(name) for name in METRIC_TYPES}
            lines += _section(_TYPES, types, len(types))
    lines.append(
        "package.module:attribute names one of your own; evalmetrics explain NAME explains one "
        "of them"
    )
    return "\n".join(lines)


def _shown_names(things: Registry) -> list[str]:
    """Return the names of a registry, without further spellings of a built-in scorer's type."""
    spelled_otherwise: set[str] = set()
    for name in BUILTIN:
        spelled_otherwise.update(spellings(name)[1:])
    return [
        name
        for name in things.names()
        if name not in spelled_otherwise or not things.is_builtin(name)
    ]


def _described_rules() -> dict[str, str]:
    return {name: f"{text}  [built-in]" for name, text in _BUILTIN_RULES.items()}


def _section(kind: str, described: Mapping[str, str], count: int) -> list[str]:
    """List the names of a kind, each with a line."""
    wide = min(max(map(len, described)), _WIDE)
    rows = [f"  {name.ljust(wide)}  {line}" for name, line in described.items()]
    return [f"{kind} ({count})", *rows, ""]


def _type(name: str) -> str:
    """Describe a type of metric, with the keys that it needs."""
    metric_type = METRIC_TYPES[name]
    needed = [
        field.name
        for field in fields(metric_type)
        if field.default is MISSING and field.name != "type"
    ]
    text = _summary(metric_type)
    if needed:
        text += f": {', '.join(needed)}"
    return f"{text}  [built-in]"


def _summary(target: object) -> str:
    return _doc(target).split("\n")[0].rstrip(".")


def _line(things: Registry, name: str) -> str:
    try:
        target = things.find(name).target
    except RegistryError as error:
        return f"can't be loaded: {error.message}"
    return f"{_summary(target)}  [{things.source(name)}]"


def _doc(target: object) -> str:
    """Return the docstring of a class, a function, or the class of an instance."""
    own = registry.definition_of(target)
    text = own.__doc__
    if text is None and not inspect.isroutine(own):
        compute = vars(own).get("compute")  # without those of bases
        if compute is not None:
            text = compute.__doc__
    if not text:
        return "(no description)"
    return inspect.cleandoc(text)


def explained(name: str) -> str:
    """Explain all registered things with a name."""
    parts = []
    broken = []
    for kind, (things, _) in _KINDS.items():
        try:
            entry = _find(kind, things, name)
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
    raise _unknown(name)


def _unknown(name: str) -> RegistryError:
    """Create the error for a name that nothing has, with the one that was perhaps meant."""
    names = [*METRIC_TYPES, *_BUILTIN_RULES]
    for things, _ in _KINDS.values():
        names += things.names()
    what = f"there is nothing named {name!r}"
    meant = closest(name, names)
    if meant is not None:
        what += f": did you mean {meant!r}?"
    return RegistryError(what, hint="evalmetrics list prints what there is")


def _find(kind: str, things: Registry, name: str) -> Found:
    if kind == "metrics":
        return _find_metric(name)
    return things.find(name)


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
    """Return the kind of a thing by what it offers; a metric if that is not clear."""
    names = set(dir(target))
    if not inspect.isclass(target):
        names |= {key for key, _ in _parameters(target)}
    for kind, (_, offers) in _KINDS.items():
        if offers & names:
            return kind
    return "metrics"


def _find_metric(name: str) -> Found:
    metrics = registry.metrics
    metric = parse(name)
    if metric.is_statistic:
        statistic = Names.statistic(metric.metric, "")
        return registry.Found(f"{metric.metric}/...", statistic.target)
    family = metrics.family(metric.metric)
    if family is not None and metric.metric not in set(metrics.names()) - {family}:
        return registry.Found(family, metrics.find(family).target)
    return metrics.find(metric.metric)


def _explain(kind: str, things: Registry, name: str, entry: Found) -> Iterator[str]:
    yield f"{name}: {kind[:-1]}{_family_text(name, entry)}"
    yield ""
    doc = _doc(entry.target)
    if registry.is_ours(entry.target):
        doc = _paragraphs(doc)
    yield indent(doc, "  ")
    yield ""
    keys = list(_keys(kind, entry))
    if keys:
        yield "  keys"
        yield from keys
        yield ""
    if kind == "metrics":
        yield from _range_lines(entry.target)
    yield f"  from: {_provider(things, entry)}, {registry.origin(entry.target)}"


def _family_text(name: str, entry: Found) -> str:
    """Say of which family of names one is, and what its numbers mean."""
    if entry.name == name:
        return ""
    which = "one of"
    if "{" in entry.name and not entry.numbers:
        which = "the family"
    numbers = [f", {key} = {value}" for key, value in entry.numbers.items()]
    return f" ({which} {entry.name}{''.join(numbers)})"


def _range_lines(target: object) -> Iterator[str]:
    """Say what a metric's class says of its values."""
    if getattr(target, "bounded", False) is True:
        yield "  a rate in [0, 1]"
    reason = getattr(target, "no_interval", "")
    if isinstance(reason, str) and reason:
        yield f"  no interval: {reason}"


def _provider(things: Registry, entry: Found) -> str:
    if entry.reference:
        return "named outright"
    if entry.name.endswith("/..."):
        return "built-in"
    return things.source(entry.name)


def _paragraphs(doc: str) -> str:
    """Write each paragraph of plain text on one line, which the terminal breaks."""
    parts = []
    for part in doc.split("\n\n"):
        is_plain = "\n " not in part
        parts.append(part.replace("\n", " ") if is_plain else part)
    return "\n\n".join(parts)


def _keys(kind: str, entry: Found) -> Iterator[str]:
    """Yield a line for each key that a benchmark file may give a thing."""
    if kind == "scorers":
        keys = keys_of_scorer(entry.name)
        if keys is not None:
            yield from (f"    {line}" for line in keys)
            return
    if not inspect.isclass(entry.target):
        return
    for key, parameter in _parameters(entry.target):
        if kind == "metrics":
            yield from _key_of_metric(key, entry)
        elif kind == "scorers" and key != "terms":
            yield f"    {parameter}"


def _key_of_metric(key: str, entry: Found) -> Iterator[str]:
    if f"{{{key}}}" in entry.name:
        line = f"    {key}: a whole number from 1, in the name"
        if key in entry.numbers:
            line += f", here {entry.numbers[key]}"
        yield line
    elif key == "options":
        yield "    pass_threshold, pass_estimator: of the benchmark, where it asks for them"


def _parameters(target: object) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a class or a function, each as it is written there."""
    if not callable(target):
        return
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return
    for parameter in parameters:
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            yield parameter.name, _written(parameter)


def _written(parameter: inspect.Parameter) -> str:
    """Write a parameter with its type and its default."""
    text = parameter.name
    annotation = parameter.annotation
    if isinstance(annotation, str):
        text += f": {annotation}"
    elif annotation is not parameter.empty:
        text += f": {inspect.formatannotation(annotation)}"
    if parameter.default is parameter.empty:
        return f"{text} (required)"
    return f"{text} = {parameter.default!r}"
