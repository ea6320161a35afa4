"""``--evalmetrics-list`` and ``--evalmetrics-explain``: what there is, and what it does."""

from __future__ import annotations

import inspect
import re
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.errors import MetricError, RegistryError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.registry import Found, Registry

__all__ = ["explained", "listed"]

_WIDE = 34
# how ours are made is nothing that a benchmark file says: that is under "keys"
_FOR_BUILDERS = re.compile(
    r"\n\n(?:Parameters|Attributes|Raises)\n-+\n.*?(?=\n\n\w[^\n]*\n-+\n|\Z)", re.DOTALL
)
_STATISTICS = "NeMo Gym's statistics of a score: also max/, min/, median/ and std/  [built-in]"
_REGISTRIES = {
    "metrics": registry.metrics,
    "scorers": registry.scorers,
    "loaders": registry.loaders,
    "reporters": registry.reporters,
    "gate rules": registry.gate_rules,
}


def listed() -> str:
    """List all that can be named, each with a line and who provides it."""
    from pytest_evalmetrics.spec.scorer_keys import BUILTIN, spellings  # noqa: PLC0415 - asked for

    lines = []
    for kind, known in _REGISTRIES.items():
        names = known.names()
        if not names:  # the built-in gate rules are described by the docs alone
            continue
        if kind == "scorers":  # a type is listed by its usual spelling
            other = {name for each in BUILTIN for name in spellings(each)[1:]}
            names = [n for n in names if n not in other or not known.is_builtin(n)]
        lines.append(f"{kind} ({len(names)})")
        wide = min(max(map(len, names), default=0), _WIDE)
        lines += [f"  {name.ljust(wide)}  {_line(known, name)}" for name in names]
        if kind == "metrics":
            lines += [f"  {'mean/{score}'.ljust(wide)}  {_STATISTICS}"]
        lines.append("")
    lines.append(
        "package.module:attribute names one of your own; pytest --evalmetrics-explain NAME tells "
        "more of each"
    )
    return "\n".join(lines)


def explained(name: str) -> str:
    """Explain everything of a name."""
    parts, broken = [], []
    for kind, known in _REGISTRIES.items():
        try:
            found = _find(kind, known, name)
        except RegistryError as error:
            if ":" in name or name in known.names():
                broken.append(str(error))
            continue
        # a reference names a thing of any kind: what it offers says which it is
        if found is not None and (not found.reference or _kind_of(found.target) == kind):
            parts.append("\n".join(_explain(kind, known, name, found)))
    if parts:
        return "\n\n".join(parts)
    if broken:
        raise pytest.UsageError(broken[0])  # a reference: each kind says the same of it
    there = [n for known in _REGISTRIES.values() for n in known.names()]
    guess = did_you_mean(name, there, what="").partition("?")
    meant = f": {guess[0]}?" if guess[1] else ""
    raise pytest.UsageError(
        f"there is nothing named {name!r}{meant}\n  pytest --evalmetrics-list prints what there is"
    )


# what each kind of class offers, and the parameters of its functions
_OFFERS = {
    "scorers": (("score", "scores"), ("row", "item", "sample")),
    "loaders": (("read", "rows", "texts"), ("source",)),
    "reporters": ((), ("report", "prefix")),
    "gate rules": (("decide",), ("comparison", "gated", "rule")),
}


def _kind_of(target: Any) -> str:
    try:
        parameters = set(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        parameters = set()
    for kind, (attributes, names) in _OFFERS.items():
        function = not inspect.isclass(target) and parameters & set(names)
        if function or any(hasattr(target, attribute) for attribute in attributes):
            return kind
    return "metrics"


def _find(kind: str, known: Registry, name: str) -> Found | None:
    if kind != "metrics":
        return known.find(name)
    from pytest_evalmetrics.spec.metric_names import parse  # noqa: PLC0415 - only where asked for

    try:
        metric = parse(name)
    except MetricError:
        return None
    if metric.is_statistic:
        from pytest_evalmetrics.metrics import Names  # noqa: PLC0415 - the same

        return registry.Found(f"{metric.metric}/...", Names.statistic(metric.metric, "").target)
    family = known.family(metric.metric)
    if family is not None and metric.metric not in set(known.names()) - {family}:
        return registry.Found(family, known.find(family).target)
    return known.find(metric.metric)


def _line(known: Registry, name: str) -> str:
    try:
        target = known.find(name).target
    except RegistryError as error:
        return f"can't be loaded: {error.message}"
    return f"{_first_line(target)}  [{known.source(name)}]"


def _first_line(target: Any) -> str:
    return _doc(target).partition("\n")[0].rstrip(".")


def _doc(target: Any) -> str:
    own = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    text = getattr(own, "__doc__", None)
    if text is None and not inspect.isroutine(own):  # not what `object` or a base says
        text = getattr(own.__dict__.get("compute"), "__doc__", None)
    return inspect.cleandoc(text) if text else "(no description)"


def _explain(kind: str, known: Registry, name: str, found: Found) -> Iterator[str]:
    numbers = "".join(f", {key} = {value}" for key, value in found.numbers.items())
    family = "{" in found.name and not found.numbers
    which = "the family" if family else "one of"
    of = f" ({which} {found.name}{numbers})" if found.name != name else ""
    yield f"{name}: {kind[:-1]}{of}"
    yield ""
    doc = _doc(found.target)
    ours = not found.reference and (kind == "metrics" or known.is_builtin(found.name))
    yield indent(_FOR_BUILDERS.sub("", doc) if ours else doc, "  ")
    yield ""
    keys = list(_keys(kind, found))
    if keys:
        yield "  keys"
        yield from keys
        yield ""
    if kind == "metrics":
        yield from _about_metric(found.target)
    who = "named outright" if found.reference else known.source(found.name)
    if found.name.endswith("/..."):
        who = "built-in"
    yield f"  from: {who}, {registry.origin(found.target)}"


def _about_metric(target: Any) -> Iterator[str]:
    if getattr(target, "bounded", False) is True:
        yield "  a rate in [0, 1]"
    reason = getattr(target, "no_interval", "")
    if isinstance(reason, str) and reason:
        yield f"  no interval: {reason}"


def _keys(kind: str, found: Found) -> Iterator[str]:
    """Yield the keys of what can be configured, with their types and defaults."""
    if kind == "scorers":
        from pytest_evalmetrics.config.benchmark_schema import keys_of_scorer  # noqa: PLC0415 - asked for

        keys = keys_of_scorer(found.name)
        if keys is not None:
            yield from (f"    {line}" for line in keys)
            return
    for key, parameter in _parameters(found.target):
        if kind == "metrics" and ("{" + key + "}") in found.name:
            here = f", here {found.numbers[key]}" if key in found.numbers else ""
            yield f"    {key}: a whole number from 1, in the name{here}"
        elif kind == "metrics" and key == "options":
            yield "    pass_threshold, pass_estimator: of the benchmark, where it asks for them"
        elif kind == "scorers" and key != "terms":
            yield f"    {parameter}"


def _parameters(target: Any) -> Iterator[tuple[str, str]]:
    if not inspect.isclass(target):
        return
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return
    for p in parameters:
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            kind = p.annotation if isinstance(p.annotation, str) else None
            if kind is None and p.annotation is not p.empty:
                kind = inspect.formatannotation(p.annotation)
            default = " (required)" if p.default is p.empty else f" = {p.default!r}"
            yield p.name, p.name + (f": {kind}" if kind else "") + default
