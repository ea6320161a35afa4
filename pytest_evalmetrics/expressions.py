"""JSONPath queries and Jinja templates: what users write inside strings.

Both need the ``remote`` extra. Templates are sandboxed and strict: a name that a row doesn't have
is an error, never an empty text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from pytest_evalmetrics.errors import RowError, did_you_mean

if TYPE_CHECKING:
    from jinja2 import Template
    from jsonpath import JSONPathEnvironment

# -- JSONPath, RFC 9535 -------------------------------------------------------------------

_PLAIN_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)+")


@cache
def _json_path_environment() -> JSONPathEnvironment:
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - 30 ms, and few need it

    return JSONPathEnvironment(strict=True)  # RFC 9535 and nothing more


class JsonPath:
    """A compiled query."""

    def __init__(self, query: str) -> None:
        self.query = query
        self._keys = query.split(".")[1:] if _PLAIN_PATH.fullmatch(query) else None
        if self._keys is not None:
            return
        environment = _json_path_environment()
        from jsonpath.exceptions import JSONPathError  # noqa: PLC0415 - the same

        self._errors = (JSONPathError, RecursionError)  # the last: too deep
        try:
            self._compiled = environment.compile(query)
        except JSONPathError as error:
            hint = "" if query.startswith("$") else "; it starts with $, such as $.result.score"
            reason = str(error.args[0]).partition("\n")[0].replace("TOKEN_", "").lower()
            raise ValueError(f"{query!r} is no JSONPath: {reason}{hint}") from None

    def first(self, value: Any) -> tuple[bool, Any]:
        """Give whether something matches, and the first thing that does."""
        if self._keys is not None:  # the usual ones, ten times as fast
            for key in self._keys:
                if not isinstance(value, dict) or key not in value:
                    return False, None
                value = value[key]
            return True, value
        try:
            match = self._compiled.match(value)
        except self._errors:
            return False, None
        return (False, None) if match is None else (True, match.obj)


# -- templates -----------------------------------------------------------------------------

_VALUE = "_evalmetrics_value"
_MARKS = ("{{", "{%", "{#")
_LACKING = re.compile(r"attribute '(?P<attribute>[^']+)'|'(?P<name>[^']+)' is undefined")
_PLAIN = {str, int, float, bool, list, dict}  # what JSON gives; the sandbox need not look at it
_NOTHING = object()
_SHOWN = 60


class Rendered(Protocol):
    """A value with its templates compiled."""

    def __call__(self, context: Mapping[str, Any]) -> Any:
        """Render it for a row."""
        ...


def compile_value(value: Any) -> Rendered:
    """Compile the templates in a value."""
    if isinstance(value, str):
        return _Text(value) if any(mark in value for mark in _MARKS) else _constant(value)
    if isinstance(value, dict):
        return _rendered_dict({key: compile_value(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return _rendered_list([compile_value(item) for item in value])
    return _constant(value)


def faults_of(
    value: Any, at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Find the templates in a value that are no good: where, and why."""
    if isinstance(value, str):
        try:
            compile_value(value)
        except ValueError as error:
            yield at, str(error)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from faults_of(item, (*at, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from faults_of(item, (*at, index))


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which a row's own keys win over the methods of a dict."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Give ``item.values`` as the column of that name where there is one."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _printable(value: Any) -> Any:
    """Refuse what has no text: ``{{ item.keys }}`` without a column of that name."""
    if callable(value) and not isinstance(value, Undefined):
        raise TypeError("this is a method, not a value")
    return value


@cache
def _environment() -> _Sandbox:
    return _Sandbox(undefined=StrictUndefined, autoescape=False, finalize=_printable)


@cache
def _globals() -> dict[str, Any]:
    return dict(_environment().globals)


def _constant(value: Any) -> Rendered:
    return lambda context: value  # noqa: ARG005 - the signature of all of them


def _rendered_dict(items: dict[str, Rendered]) -> Rendered:
    return lambda context: {key: item(context) for key, item in items.items()}


def _rendered_list(items: list[Rendered]) -> Rendered:
    return lambda context: [item(context) for item in items]


class _Text:
    """A text that holds templates."""

    _keys: tuple[str, ...] = ()  # of one that is a lone path: {{ item.answer }}
    _pieces: tuple[str | tuple[str, ...], ...] = ()  # of one that is words and paths alone

    def __init__(self, source: str) -> None:
        self._source = source
        environment = _environment()
        try:
            parsed = environment.parse(source)
            _refuse_private(parsed)
            expression = _lone_expression(parsed)
            self._is_json = expression is None and _is_written_as_json(parsed)
            self._is_lone = expression is not None
            if expression is None:
                self._pieces = _words_and_paths(parsed)
            else:
                self._keys = _path_of(expression)
                target = nodes.Name(_VALUE, "store", lineno=1)
                parsed = nodes.Template([nodes.Assign(target, expression, lineno=1)], lineno=1)
            self._template: Template = environment.from_string(parsed)
        except TemplateSyntaxError as error:
            raise ValueError(f"this template is no good: {error.message}") from None
        except JinjaError as error:
            raise ValueError(f"this template is no good: {error}") from None

    def __call__(self, context: Mapping[str, Any]) -> Any:
        try:
            if self._keys:  # the usual ones, ten times as fast
                found = _at(self._keys, context)
                if type(found) in _PLAIN:
                    return found
            return self._render(context)
        except RowError:
            raise
        except Exception as error:  # noqa: BLE001 - an expression of the user's may raise anything
            raise RowError("template", self._reason(error, context)) from None

    def _render(self, context: Mapping[str, Any]) -> Any:
        text = _joined(self._pieces, context) if self._pieces else None
        if text is None:
            # shared: else the row and Jinja's own names would be copied for each text of the body
            scope = self._template.new_context({**_globals(), **context}, shared=True)
            text = "".join(self._template.root_render_func(scope))
            if self._is_lone:
                return _native(scope.vars[_VALUE])
        if self._is_json:
            try:
                return json.loads(text)
            except ValueError:
                return text
        return text

    def _reason(self, error: Exception, context: Mapping[str, Any]) -> str:
        shown = self._source if len(self._source) <= _SHOWN else self._source[:_SHOWN] + "…"
        reason = f"{shown!r}: {error}"
        lacking = _LACKING.search(str(error))
        if lacking is not None:
            name = lacking["attribute"] or lacking["name"]
            item = context.get("item")
            known = item if isinstance(item, Mapping) else context
            reason += "; " + did_you_mean(name, known, what="the row's columns")
        return reason


def _native(value: Any) -> Any:
    if isinstance(value, Undefined):
        str(value)  # raises with its own words
    if isinstance(value, Markup):
        return str(value)
    if isinstance(value, Iterator):  # of map, select ...
        return list(value)
    return _printable(value)


def _lone_expression(parsed: nodes.Template) -> nodes.Expr | None:
    if len(parsed.body) == 1 and isinstance(parsed.body[0], nodes.Output):
        found = parsed.body[0].nodes
        if len(found) == 1 and not isinstance(found[0], nodes.TemplateData):
            return found[0]
    return None


def _path_of(expression: nodes.Expr) -> tuple[str, ...]:
    """Give the names of ``item.answer``; none of what is more than a path."""
    names: list[str] = []
    while isinstance(expression, nodes.Getattr):
        names.append(expression.attr)
        expression = expression.node
    if not isinstance(expression, nodes.Name) or expression.name == "self":  # which is Jinja's own
        return ()
    return (expression.name, *reversed(names))


def _words_and_paths(parsed: nodes.Template) -> tuple[str | tuple[str, ...], ...]:
    """Give the pieces of a text that needs no Jinja; none where there is more to it."""
    pieces: list[str | tuple[str, ...]] = []
    for output in parsed.body:
        if not isinstance(output, nodes.Output):
            return ()
        pieces += [
            n.data if isinstance(n, nodes.TemplateData) else _path_of(n) for n in output.nodes
        ]
    return tuple(pieces) if () not in pieces else ()


def _at(keys: tuple[str, ...], context: Any) -> Any:
    for key in keys:
        context = context.get(key, _NOTHING) if type(context) is dict else _NOTHING
    return context


def _joined(pieces: tuple[str | tuple[str, ...], ...], context: Mapping[str, Any]) -> str | None:
    """Write the pieces; None where a value is neither text nor a whole number."""
    found = [piece if isinstance(piece, str) else _at(piece, context) for piece in pieces]
    if not all(type(each) is str or type(each) is int for each in found):
        return None
    return "".join(map(str, found))


def _is_written_as_json(parsed: nodes.Template) -> bool:
    if not parsed.body or not isinstance(parsed.body[0], nodes.Output):
        return False
    last = parsed.body[-1]
    if not isinstance(last, nodes.Output):
        return False
    first, end = parsed.body[0].nodes[0], last.nodes[-1]
    if not (isinstance(first, nodes.TemplateData) and isinstance(end, nodes.TemplateData)):
        return False
    return (first.data.lstrip()[:1], end.data.rstrip()[-1:]) in {("[", "]"), ("{", "}")}


def _refuse_private(parsed: nodes.Template) -> None:
    """Refuse at once what the sandbox would refuse with every row."""
    for found in parsed.find_all(nodes.Getattr):
        if found.attr.startswith("__") and found.attr.endswith("__"):
            raise TemplateSyntaxError(f"access to attribute {found.attr!r} is unsafe", found.lineno)
