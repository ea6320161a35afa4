"""Read the parts of a message: text, images, reasoning, calls and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.transcripts.calls import (
    answered_id_of,
    call_id_of,
    read_call,
)
from pytest_evalmetrics.transcripts.conversation import ResultDraft
from pytest_evalmetrics.transcripts.failures import failed_status, stated_failure
from pytest_evalmetrics.transcripts.turns import CONTENT_FILTER, Image
from pytest_evalmetrics.transcripts.values import first_text, plain_text, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from pytest_evalmetrics.transcripts.conversation import Draft

    Part: TypeAlias = Mapping[str, object]

_NESTED: Final = 4
_FLAGS: Final = ("error", "is_error", "isError")  # of a failure, messages first
_ANY_FLAG: Final = frozenset(_FLAGS)


def add_content(draft: Draft, content: object, *, level: int = 0) -> None:
    """Add a message's content: a text, a part, or a list of them."""
    if isinstance(content, str):
        if content:
            draft.texts.append(content)
    elif isinstance(content, list):
        if level < _NESTED:
            for part in content:
                add_content(draft, part, level=level + 1)
    elif isinstance(content, dict):
        _add_part(draft, content)


def _add_part(draft: Draft, part: Part) -> None:
    kind = part.get("type", part.get("part_kind"))
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        reader(draft, part)
        return
    for key, keyed_reader in _KEYED.items():
        if key in part:
            keyed_reader(draft, part)
            return


# -- parts that name their type ----------------------------------------------------------------


def _add_text(draft: Draft, part: Part) -> None:
    value = part.get("text", part.get("content"))
    if isinstance(value, dict):  # {text: {value: ...}}, as of OpenAI's threads
        value = value.get("value")
    if isinstance(value, str) and value:
        draft.texts.append(value)


def _add_reasoning(draft: Draft, part: Part) -> None:
    for key in ("thinking", "reasoning", "text", "content", "summary"):
        value = plain_text(part.get(key)) if part.get(key) else ""
        if value:
            draft.reasoning.append(value)
            return


def _add_refusal(draft: Draft, part: Part) -> None:
    value = first_text(part, "refusal", "text")
    if value:
        draft.texts.append(value)
        draft.stop_reason = CONTENT_FILTER


def _add_image(draft: Draft, part: Part) -> None:
    image = image_of(part)
    if image is not None:
        draft.images.append(image)


def _add_call(draft: Draft, part: Part) -> None:
    call = read_call(part)
    if call is not None:
        draft.calls.append(call)


def _add_result(draft: Draft, part: Part) -> None:
    draft.results.append(result_of(part))


_READERS: Final[Mapping[str, Callable[[Draft, Part], None]]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _add_text),
    **dict.fromkeys(("user-prompt", "system-prompt", "summary_text"), _add_text),
    **dict.fromkeys(
        ("thinking", "reasoning", "reasoning_text", "thought"), _add_reasoning
    ),
    "refusal": _add_refusal,
    **dict.fromkeys(("image", "image_url", "input_image"), _add_image),
    **dict.fromkeys(
        (
            *("tool_use", "server_tool_use", "mcp_tool_use"),
            *("tool_call", "tool-call", "function_call"),
        ),
        _add_call,
    ),
    **dict.fromkeys(
        (
            *("tool_result", "mcp_tool_result", "web_search_tool_result"),
            *("code_execution_tool_result", "web_fetch_tool_result"),
            *("tool_call_response", "tool-result", "tool-return", "retry-prompt"),
            "function_call_output",
        ),
        _add_result,
    ),
}


# -- parts that only their keys tell apart, as those of Gemini and Bedrock -------------------------


def _add_plain_text(draft: Draft, part: Part) -> None:
    value = text(part.get("text"))
    if value:
        (draft.reasoning if part.get("thought") is True else draft.texts).append(value)


def _add_inner_call(draft: Draft, part: Part) -> None:
    for key in ("functionCall", "function_call", "toolUse"):
        call = read_call(part.get(key))
        if call is not None:
            draft.calls.append(call)


def _add_inner_result(draft: Draft, part: Part) -> None:
    for key in ("functionResponse", "function_response", "toolResult"):
        inner = part.get(key)
        if isinstance(inner, dict):
            draft.results.append(result_of(inner))


def _add_inner_reasoning(draft: Draft, part: Part) -> None:
    inner = part.get("reasoningContent")
    if isinstance(inner, dict):
        value = plain_text(inner.get("reasoningText"))
        if value:
            draft.reasoning.append(value)


def _add_message_content(draft: Draft, part: Part) -> None:
    add_content(draft, part["message_content"], level=_NESTED - 1)


_KEYED: Final[Mapping[str, Callable[[Draft, Part], None]]] = {
    "text": _add_plain_text,
    "functionCall": _add_inner_call,
    "function_call": _add_inner_call,
    "toolUse": _add_inner_call,
    "functionResponse": _add_inner_result,
    "function_response": _add_inner_result,
    "toolResult": _add_inner_result,
    "reasoningContent": _add_inner_reasoning,
    "inlineData": _add_image,
    "inline_data": _add_image,
    "message_content": _add_message_content,
}


# -- results and images --------------------------------------------------------------------------


def result_of(part: Part) -> ResultDraft:
    """Read the result of a tool from a part, or from a message."""
    output: object = None
    for key in ("content", "output", "response", "result", "observation", "value"):
        if part.get(key) is not None:
            output = part[key]
            break
    shown = plain_text(output)
    error = _failure_of(part, shown)
    if error == "error":  # nothing but a flag
        error = shown or error
        text_shown = shown
    else:
        text_shown = shown or error
    return ResultDraft(
        id=answered_id_of(part) or call_id_of(part),
        name=first_text(part, "name", "tool_name", "toolName"),
        text=text_shown,
        error=error,
        images=_images_in(output),
    )


def _failure_of(part: Part, shown: str) -> str:
    """Read the words of a failure from flags and the status; empty without one."""
    error = ""
    if not _ANY_FLAG.isdisjoint(part):
        error = stated_failure(*[part.get(flag) for flag in _FLAGS])
    status = part.get("status")
    if not error and failed_status(status):
        error = shown or str(status)
    return error


def _images_in(output: object) -> tuple[Image, ...]:
    if not isinstance(output, list):
        return ()
    images = [image_of(part) for part in output if isinstance(part, dict)]
    return tuple(image for image in images if image is not None)


def image_of(part: Part) -> Image | None:
    """Read an image; None if the part is none."""
    source = part.get("source", part.get("inlineData", part.get("inline_data")))
    if isinstance(source, dict):
        data = text(source.get("data"))
        media_type = first_text(source, "media_type", "mimeType", "mime_type")
        if data:
            return _embedded(media_type, data)
        return _at_url(first_text(source, "url", "fileUri"))
    value = part.get("image_url", part.get("image"))
    if isinstance(value, dict):
        value = value.get("url")
    return _at_url(text(value))


def _at_url(url: str) -> Image | None:
    if not url:
        return None
    if not url.startswith("data:"):
        return Image(url=url)
    head, _, data = url[len("data:") :].partition(",")
    return _embedded(head.partition(";")[0], data)


def _embedded(media_type: str, data: str) -> Image:
    padding = data[-2:].count("=")
    return Image(media_type=media_type, size=len(data) * 3 // 4 - padding, data=data)
