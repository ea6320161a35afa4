"""JSONPath queries and Jinja templates: what users write inside strings.

Both need the ``remote`` extra. Templates are sandboxed and strict: a name that a row doesn't have
is an error, never an empty text. What they are filled in with is never read as structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from pytest_evalmetrics.errors import RowError, did_you_mean
from pytest_evalmetrics.layout import shortened, untrusted

# -- JSONPath, RFC 9535 -------------------------------------------------------------------

_PLAIN_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)+")


class JsonPath:
    """A compiled query."""

    def __init__(self, query: str) -> None:
        self._keys: list[str] | None = None
        if _PLAIN_PATH.fullmatch(query):
            self._keys = query.split(".")[1:]
            return
        from jsonpath import JSONPathEnvironment  # 30 ms, and few need it
        from jsonpath.exceptions import JSONPathError  # the same

        self._errors = (JSONPathError, RecursionError)  # the last: too deep
        try:
            self._compiled = JSONPathEnvironment(strict=True).compile(query)
        except JSONPathError as error:
            hint = "; it starts with $, such as $.result.score"
            if query.startswith("$"):
                hint = ""
            reason = str(error.args[0]).partition("\n")[0].replace("TOKEN_", "").lower()
            raise ValueError(f"{query!r} is not JSONPath: {reason}{hint}") from None

    def first(self, value: Any) -> tuple[bool, Any]:
        """Return whether something matches, and the first match."""
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
        if match is None:
            return False, None
        return True, match.obj


# -- values that hold templates ------------------------------------------------------------

# the names of a row -> the value
Rendered: TypeAlias = Callable[[Mapping[str, object]], Any]

_MARKS = ("{{", "{%", "{#")


def compile_value(value: object, *, body: bool = False) -> Rendered:
    """Compile the templates in a value."""
    # A text that is one template alone becomes the template's value; a text as a whole body may be
    # JSON; a lone ``{{ x | tojson }}`` within a body is x itself.
    if body and isinstance(value, str):
        value = _parsed_json(value)
    return _compiled(value, body)


def _compiled(value: object, body: bool) -> Rendered:
    if isinstance(value, str) and any(mark in value for mark in _MARKS):
        return _Text(value, body)
    if isinstance(value, dict):
        items = {key: _compiled(item, body) for key, item in value.items()}
        return lambda context: {key: item(context) for key, item in items.items()}
    if isinstance(value, list | tuple):
        listed = [_compiled(item, body) for item in value]
        return lambda context: [item(context) for item in listed]
    return lambda _context: value


def faults_of(
    value: object, at: tuple[str | int, ...] = (), *, body: bool = False
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Find the invalid templates in a value: where, and why."""
    items: Iterable[tuple[str | int, object]] | None = None
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    if items is not None:
        for key, item in items:
            yield from faults_of(item, (*at, key))
        return
    try:
        compile_value(value, body=body)
    except ValueError as error:
        yield at, str(error)


_JSON_LIKE = re.compile(
    r'\s*(\{\s*("|\{\{|\{%|\}\s*$)|\[\s*(["{[\]\d-]|true|false|null)).*[}\]]\s*',
    re.DOTALL,
)
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_TEXT_OR_TEMPLATE = re.compile(
    rf'"(?:{_TEMPLATE.pattern}|\\.|[^"\\])*"|{_TEMPLATE.pattern}', re.DOTALL
)


def _parsed_json(text: str) -> object:
    """Parse JSON text whose values may be templates; return other text unchanged."""
    if text.lstrip().startswith(_MARKS) or not _JSON_LIKE.fullmatch(text):
        return text
    if "{%" in text:
        raise ValueError("{% ... %} can't make JSON")
    try:
        as_texts = _TEXT_OR_TEMPLATE.sub(_templates_as_texts, text)
        return json.loads(as_texts, strict=False, object_pairs_hook=_with_plain_keys)
    except json.JSONDecodeError as error:
        what = f"this text looks like JSON and is none, with its templates as values: {error}"
        raise ValueError(f"{what}; write it as a mapping or a list of YAML") from None


def _templates_as_texts(match: re.Match[str]) -> str:
    part = match[0]
    if part.startswith('"'):
        return _TEMPLATE.sub(lambda template: json.dumps(template[0])[1:-1], part)
    return json.dumps(part)


def _with_plain_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if any("{{" in key for key, _ in pairs):
        raise ValueError("a key can't be a template")
    return dict(pairs)


# -- one text that holds templates ---------------------------------------------------------

_VALUE = "_evalmetrics_value"
_LACKING = re.compile(
    r"attribute '(?P<attribute>[^']+)'|'(?P<name>[^']+)' is undefined"
)
_PLAIN = {str, int, float, bool, list, dict}  # of JSON: the sandbox need not check them
_SHOWN = 60


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which a row's own keys win over the methods of a dict."""

    def getattr(self, obj: object, attribute: str) -> object:
        """Look up ``item.values`` as a key before the method of ``dict``."""
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)


def _printable(value: object) -> object:
    """Refuse what has no text: ``{{ item.keys }}`` without a column of that name."""
    if callable(value) and not isinstance(value, Undefined):
        raise TypeError("this is a method, not a value")
    return value


def _within_text(value: object) -> object:
    """Refuse null within a text, which would read None."""
    if value is None:
        raise ValueError(_IS_NULL)
    return _printable(value)


def _or_default(value: object, default: object = "", boolean: bool = False) -> object:
    """Replace a column that is missing or null; with `boolean` whatever is false."""
    is_absent = value is None or isinstance(value, Undefined)
    return default if is_absent or (boolean and not value) else value


def _as_string(value: object) -> str:
    return str(_within_text(value))


_IS_NULL = "this is null; where that is meant, say what stands for it: {{ ... | default('none') }}"
_ENVIRONMENT = _Sandbox(
    undefined=StrictUndefined, autoescape=False, finalize=_within_text
)
_ENVIRONMENT.filters["default"] = _ENVIRONMENT.filters["d"] = _or_default
_ENVIRONMENT.filters["string"] = _as_string
_ENVIRONMENT.filters["untrusted"] = lambda value: untrusted(_native(value))


class _Text:
    """A text that holds templates."""

    def __init__(self, source: str, body: bool) -> None:
        self._source = source
        # of one that is a lone path: {{ item.answer }}
        self._keys: tuple[str, ...] = ()
        # of a text that is nothing but words and paths: said: {{ item.answer }}
        self._parts: tuple[str | tuple[str, ...], ...] = ()
        try:
            parsed = _ENVIRONMENT.parse(source)
            _refuse_unsafe(parsed)
            expression = _lone_expression(parsed)
            self._is_lone = expression is not None
            if expression is None:
                self._parts = _plain_parts(parsed)
            else:
                if body:
                    expression = _without_tojson(expression)
                self._keys = _path_of(expression)
                target = nodes.Name(_VALUE, "store", lineno=1)
                parsed = nodes.Template(
                    [nodes.Assign(target, expression, lineno=1)], lineno=1
                )
            self._template = _ENVIRONMENT.from_string(parsed)
        except JinjaError as error:
            raise ValueError(f"invalid template: {error.message or error}") from None

    def __call__(self, context: Mapping[str, object]) -> Any:
        try:
            if self._keys:  # the usual ones, ten times as fast
                value = _at(self._keys, context)
                if type(value) in _PLAIN:
                    return value
            if self._parts:  # the same
                plain = _joined(self._parts, context)
                if plain is not None:
                    return plain
            # shared: else the row and Jinja's own names would be copied for each text of the body
            names = {**_ENVIRONMENT.globals, **context}
            scope = self._template.new_context(names, shared=True)
            text = "".join(self._template.root_render_func(scope))
            return _native(scope.vars[_VALUE]) if self._is_lone else text
        except RowError:
            raise
        except Exception as error:  # noqa: BLE001 - an expression of the user's may raise anything
            raise RowError("template", self._reason(error, context)) from None

    def _reason(self, error: Exception, context: Mapping[str, object]) -> str:
        reason = f"{shortened(self._source, _SHOWN)!r}: {error}"
        lacking = _LACKING.search(str(error))
        if lacking is not None:
            name = lacking["attribute"] or lacking["name"]
            columns = context
            item = context.get("item")
            if isinstance(item, Mapping):
                columns = item
            reason += "; " + did_you_mean(name, columns, what="the row's columns")
        return reason


def _native(value: object) -> object:
    if isinstance(value, Undefined):
        str(value)  # raises with its own words
    if isinstance(value, Markup):
        return str(value)
    if isinstance(value, Iterator):  # of map, select ...
        return list(value)
    return _printable(value)


def _refuse_unsafe(parsed: nodes.Template) -> None:
    """Refuse ``{{ item.__class__ }}``, which the sandbox would refuse with every row."""
    for node in parsed.find_all(nodes.Getattr):
        if node.attr.startswith("__") and node.attr.endswith("__"):
            fault = f"access to attribute {node.attr!r} is unsafe"
            raise TemplateSyntaxError(fault, node.lineno)


def _without_tojson(expression: nodes.Expr) -> nodes.Expr:
    """Return the value of ``{{ x | tojson }}``: a body is written as JSON anyway."""
    if isinstance(expression, nodes.Filter) and expression.name == "tojson":
        return expression.node or expression
    return expression


def _lone_expression(parsed: nodes.Template) -> nodes.Expr | None:
    """Return the expression of a text that is nothing else, but for spaces around it."""
    body = parsed.body
    if len(body) != 1 or not isinstance(body[0], nodes.Output):
        return None
    expressions: list[nodes.Expr] = []
    for part in body[0].nodes:
        if not isinstance(part, nodes.TemplateData):
            expressions.append(part)
        elif part.data.strip():
            return None
    return expressions[0] if len(expressions) == 1 else None


def _plain_parts(parsed: nodes.Template) -> tuple[str | tuple[str, ...], ...]:
    """Return the words and the paths of a text; empty if it holds anything else."""
    parts: list[str | tuple[str, ...]] = []
    for output in parsed.body:
        if not isinstance(output, nodes.Output):
            return ()
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                parts.append(node.data)
                continue
            path = _path_of(node)
            if not path:
                return ()
            parts.append(path)
    return tuple(parts)


def _at(path: tuple[str, ...], context: Mapping[str, object]) -> object:
    """Return the value at a path; None where there is none."""
    value: object = context
    for key in path:
        if type(value) is not dict:
            return None
        value = value.get(key)
    return value


def _joined(
    parts: tuple[str | tuple[str, ...], ...], context: Mapping[str, object]
) -> str | None:
    """Fill in the paths of a text; None where Jinja has to do it, or to say why not."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        value = _at(part, context)
        if type(value) not in _PLAIN:
            return None
        texts.append(str(value))
    return "".join(texts)


def _path_of(expression: nodes.Expr) -> tuple[str, ...]:
    """Return the parts of a path such as ``item.answer``; empty for other expressions."""
    names: list[str] = []
    while isinstance(expression, nodes.Getattr):
        names.append(expression.attr)
        expression = expression.node
    # `self` is Jinja's own
    if not isinstance(expression, nodes.Name) or expression.name == "self":
        return ()
    return (expression.name, *reversed(names))


# -- templates that put a row's text in bare ------------------------------------------------

_ENCODED = ("untrusted", "tojson", "length", "count", "int", "float", "round")


def bare_values(value: object, trusted: tuple[str, ...] = ()) -> list[str]:
    """List the paths that a prompt writes as they are: ``item.answer``, but for `trusted` names."""
    parts: Iterable[object] = ()
    if isinstance(value, str):
        return _bare_in_text(value, trusted)
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list):
        parts = value
    bare: list[str] = []
    for part in parts:
        bare += bare_values(part, trusted)
    return bare


def _bare_in_text(text: str, trusted: tuple[str, ...]) -> list[str]:
    parsed = _ENVIRONMENT.parse(text)
    safe = _safe_names(parsed, trusted)
    bare: list[str] = []
    for output in parsed.find_all(nodes.Output):
        for expression in output.nodes:
            names = _names_in(expression) - safe
            if names and not _is_harmless(expression):
                bare.append(
                    ".".join(_path_of(expression)) or " and ".join(sorted(names))
                )
    return bare


def _safe_names(parsed: nodes.Template, trusted: tuple[str, ...]) -> set[str]:
    """Return the names that hold no text of a row, also those that a template makes of them."""
    safe = {*trusted, *_ENVIRONMENT.globals, "loop"}
    taken = [(loop.iter, loop.target) for loop in parsed.find_all(nodes.For)]
    taken += [(assign.node, assign.target) for assign in parsed.find_all(nodes.Assign)]
    for source, target in taken:
        if not _names_in(source) - safe:
            safe |= _names_in(target)
    return safe


def _is_harmless(expression: nodes.Node) -> bool:
    """Check for a value that can't talk to a judge: it is encoded, a number, true or false."""
    if isinstance(expression, nodes.Filter):
        return expression.name in _ENCODED
    return isinstance(expression, nodes.Compare | nodes.Test | nodes.Not)


def _names_in(node: nodes.Node) -> set[str]:
    names = {name.name for name in node.find_all(nodes.Name)}
    if isinstance(node, nodes.Name):
        names.add(node.name)
    return names
