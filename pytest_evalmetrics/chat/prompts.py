"""``prompt_template:`` and a row -> the messages that a model is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.expressions.templates import Rendered

__all__ = ["compile_prompt", "compile_templates"]

# how LangChain, and data sets for RAGAS, call the roles
_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


def compile_templates(value: Any, who: str) -> Rendered:
    """Compile the templates in a value, see `expressions.templates.compile_value`.

    Parameters
    ----------
    value
        A text with templates, or lists and mappings of such.
    who
        What needs them, for the message: ``the scorer remote``.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    """
    with needs_extra("remote", who):
        from pytest_evalmetrics.expressions.templates import (  # noqa: PLC0415 - of the extra
            compile_value,
        )
    return compile_value(value)


def compile_prompt(
    template: Any, who: str = "a prompt_template"
) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """Compile a prompt.

    Parameters
    ----------
    template
        A text, which is what the user says; a lone ``{{ expression }}`` may also stand for a
        list of messages. Or a list of messages, of which each may be such an expression: what
        it stands for, one message or several, takes its place.
    who
        What needs it, for the message.

    Returns
    -------
    callable
        Gives the messages for a context; raises a `RowError` where a row has none.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    """
    render = compile_templates(template, who)

    def messages(context: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = render(context)
        if not isinstance(found, list):
            return [{"role": "user", "content": _content(found, "the prompt")}]
        flat: list[Any] = []
        for one in found:
            flat.extend(one if isinstance(one, list) else [one])
        if not flat:
            raise RowError("bad-prompt", "the prompt is a list of no messages")
        return [_message(one, index) for index, one in enumerate(flat, 1)]

    return messages


def _message(value: Any, index: int) -> dict[str, Any]:
    if isinstance(value, str):
        return {"role": "user", "content": value}
    if not isinstance(value, dict):
        raise RowError("bad-prompt", f"message {index} of the prompt is {value!r:.60}")
    role = value.get("role")
    if role is None and value.get("type") in _ROLES:
        role = _ROLES[value["type"]]
        value = {"role": role, **{k: v for k, v in value.items() if k != "type"}}
    if not isinstance(role, str) or not role:
        raise RowError(
            "bad-prompt",
            f"message {index} of the prompt has no role",
            hint="a message has a role, such as user, and a content",
        )
    if "content" in value and not isinstance(value["content"], str | list | type(None)):
        return {**value, "content": _content(value["content"], f"message {index} of the prompt")}
    return dict(value)


def _content(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return str(value)
    raise RowError(
        "bad-prompt",
        f"{what} is {value!r:.60}, expected text",
        hint='make it text: "{{ column | string }}" or "{{ column | tojson }}"',
    )
