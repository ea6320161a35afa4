"""Find the conversation in a row, wherever the tool that wrote it keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.transcripts.calls import add_calls
from pytest_evalmetrics.transcripts.conversation import Conversation, Draft
from pytest_evalmetrics.transcripts.messages import (
    add_messages,
    is_message,
    role_of,
)
from pytest_evalmetrics.transcripts.parts import add_content
from pytest_evalmetrics.transcripts.spans import add_spans, spans_in
from pytest_evalmetrics.transcripts.steps import add_steps, is_step
from pytest_evalmetrics.transcripts.turns import LENGTH, Turn
from pytest_evalmetrics.transcripts.values import (
    decoded,
    first_text,
    json_text,
    stop_reason,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.transcripts.turns import Role

_NESTED: Final = 5  # levels of objects around a conversation
_CONVERSATIONS: Final = (
    "traj",
    "trajectory",
    "messages",
    "conversation",
    "conversations",
    "steps",
    "intermediate_steps",
    "contents",
    "all_messages",
    "nodes",
    "transcript",
    "history",
)
_HOLDERS: Final = frozenset(_CONVERSATIONS)
_ASKED: Final = (
    "responses_create_params",
    "prompt",
    "input",
    "inputs",
    "user_input",
    "request",
    "question",
    "problem",
    "problem_statement",
    "instruction",
    "query",
    "arguments",
)
_ANSWERED: Final = (
    "response",
    "completion",
    "output",
    "outputs",
    "output_text",
    "actualOutput",
    "generation",
    "prediction",
    "model_output",
    "resps",
    "answer",
    "result",
)
_IN_ANSWERS: Final = (
    "output",
    "output_text",
    "response",
    "answer",
    "completion",
    "body",
)
_IN_QUESTIONS: Final = (
    "question",
    "query",
    "problem",
    "instruction",
    "input",
    "text",
    "raw",
    "user_input",
    "gen_args_0",
    "arg_0",
)
_CALLS: Final = ("tool_calls", "toolsCalled", "tools_called")
_STOPS: Final = (
    "finish_reason",
    "stop_reason",
    "finish_reasons",
    "stop_condition",
    "termination_reason",
)
_ATTACHED: Final = "attachment://"


def turns_of(row: object) -> tuple[Turn, ...]:
    """Read the conversation in a row of any source, as typed turns.

    Parameters
    ----------
    row
        A decoded JSON object: a row of NeMo Gym, inspect_ai, tau-bench, verifiers,
        OpenAI's chat completions or responses, Anthropic's messages, spans of
        OpenTelemetry or OpenInference, a trajectory of steps, or any row with a prompt
        and an answer.

    Returns
    -------
    tuple of Turn
        In the order in which they were said; empty if there is no conversation.
    """
    if not isinstance(row, dict):
        return ()
    try:
        return tuple(_conversation_of(row).turns)
    except RecursionError:  # nested deeper than a conversation is
        return ()


def _conversation_of(row: Mapping[str, object]) -> Conversation:
    conversation = Conversation()
    recorded = _recorded(row)
    if recorded is not None:
        _add_recorded(conversation, row, recorded)
    else:
        add_spans(conversation, spans_in(row))
    if not conversation.turns:
        _add_system(conversation, row)
        _add_question(conversation, row)
        _add_answer(conversation, row)
        if not conversation.is_answered:
            return Conversation()
    conversation.end(_stop_reason_of(row))
    return conversation


def _add_recorded(
    conversation: Conversation, row: Mapping[str, object], recorded: Sequence[object]
) -> None:
    """Add a list that is a conversation, and what stands beside it."""
    _add_system(conversation, row)
    if is_step(recorded[0]):
        _add_question(conversation, row)
        add_steps(conversation, recorded)
    else:
        add_messages(conversation, recorded)
    if conversation.turns and conversation.turns[-1].role != "assistant":
        _add_answer(conversation, row)


def _recorded(row: Mapping[str, object]) -> Sequence[object] | None:
    """Find a list that is a whole conversation."""
    if _HOLDERS.isdisjoint(row):
        return None
    for key in _CONVERSATIONS:
        values = _list_under(key, row.get(key))
        if values and _is_conversation(values):
            return _with_attachments(values, row.get("attachments"))
    return None


def _list_under(key: str, value: object) -> Sequence[object] | None:
    """Take what is under a key as a list: as it is, as JSON in a text, or in an object."""
    if isinstance(value, str) and value[:1] in "[{":
        value = decoded(value)
    if isinstance(value, dict):
        return _recorded(value)
    if not isinstance(value, list):
        return None
    return _last_branch(value) if key == "nodes" else value


def _last_branch(nodes: Sequence[object]) -> list[object]:
    """Follow the nodes of a graph of messages, as of verifiers, from the last to a root."""
    branch: list[object] = []
    place: object = len(nodes) - 1
    while isinstance(place, int) and 0 <= place < len(nodes):
        node = nodes[place]
        if not isinstance(node, dict) or len(branch) > len(nodes):
            break
        branch.append(node)
        place = node.get("parent")
    return branch[::-1]


def _is_conversation(values: Sequence[object]) -> bool:
    return any(is_message(value) for value in values[:3]) or is_step(values[0])


def _with_attachments(values: Sequence[object], attached: object) -> Sequence[object]:
    """Put the texts back that an inspect_ai log keeps once, beside its messages."""
    if not isinstance(attached, dict) or not attached:
        return values
    return [_restored(value, attached, 0) for value in values]


def _restored(value: object, attached: Mapping[str, object], level: int) -> object:
    if isinstance(value, str):
        if value.startswith(_ATTACHED):
            return attached.get(value.removeprefix(_ATTACHED), value)
        return value
    if level > _NESTED:
        return value
    if isinstance(value, list):
        return [_restored(inner, attached, level + 1) for inner in value]
    if isinstance(value, dict):
        return {
            key: _restored(inner, attached, level + 1) for key, inner in value.items()
        }
    return value


# -- what was asked ------------------------------------------------------------------------------


def _add_system(conversation: Conversation, row: Mapping[str, object]) -> None:
    """Add the system prompt that stands beside the messages."""
    request = row.get("responses_create_params")
    system = row.get("system", row.get("system_prompt"))
    if isinstance(request, dict):
        system = request.get("instructions")
    if isinstance(system, str | list) and system:
        _say(conversation, "system", system)


def _say(conversation: Conversation, role: Role, content: object) -> None:
    draft = Draft(role)
    add_content(draft, content)
    if not draft.is_empty:
        conversation.add(draft)


def _add_question(conversation: Conversation, row: Mapping[str, object]) -> None:
    for key in _ASKED:
        if row.get(key):
            _add_asked(conversation, row[key], 0)
            return


def _add_asked(conversation: Conversation, value: object, level: int) -> None:
    """Add what a model was asked: a text, messages, or an object that holds either."""
    if isinstance(value, str):
        _say(conversation, "user", value)
    elif isinstance(value, list):
        if any(is_message(inner) for inner in value[:3]):
            add_messages(conversation, value)
        else:
            _say(conversation, "user", value)
    elif isinstance(value, dict) and level < _NESTED:
        _add_asked_object(conversation, value, level)


def _add_asked_object(
    conversation: Conversation, asked: Mapping[str, object], level: int
) -> None:
    messages = asked.get("messages")
    if isinstance(messages, list):
        if messages and isinstance(messages[0], list):  # of LangSmith
            messages = messages[0]
        _add_system(conversation, asked)
        add_messages(conversation, messages)
        return
    if role_of(asked) is not None:
        add_messages(conversation, [asked])
        return
    for key in _IN_QUESTIONS:
        if asked.get(key):
            _add_asked(conversation, asked[key], level + 1)
            return
    _say(conversation, "user", json_text(asked))


# -- what was answered ---------------------------------------------------------------------------


def _add_answer(conversation: Conversation, row: Mapping[str, object]) -> None:
    for key in _ANSWERED:
        if not _may_be_answer(key, row.get(key)):
            continue
        before = len(conversation.turns)
        _add_answered(conversation, row[key], 0)
        if len(conversation.turns) > before:
            break
    last = conversation.turns[-1:]
    if not any(turn.calls for turn in last):
        _add_calls_of_row(conversation, row)


def _may_be_answer(key: str, value: object) -> bool:
    if value is None or value == "" or isinstance(value, bool | int | float):
        return False
    # another result is a verdict
    return key != "result" or isinstance(value, dict)


def _add_calls_of_row(conversation: Conversation, row: Mapping[str, object]) -> None:
    """Add a row's own calls; beside an answer, they are what was expected."""
    for key in _CALLS:
        calls = row.get(key)
        if isinstance(calls, list) and not conversation.is_answered:
            draft = Draft("assistant")
            add_calls(draft, calls)
            if not draft.is_empty:
                conversation.add(draft)


def _add_answered(conversation: Conversation, value: object, level: int) -> None:
    """Add an answer: a text, messages, the body of an API's response, or an object."""
    if level > _NESTED:
        return
    if isinstance(value, str):
        _say(conversation, "assistant", value)
    elif isinstance(value, list):
        _add_answers(conversation, value, level)
    elif isinstance(value, dict):
        _add_body(conversation, value, level)


def _add_answers(
    conversation: Conversation, values: Sequence[object], level: int
) -> None:
    if values and is_step(values[0]):
        add_steps(conversation, values)
    elif any(_is_turn(value) for value in values[:3]):
        add_messages(conversation, values)
    elif values and isinstance(values[0], str | list):
        _add_answered(conversation, values[0], level + 1)
    else:
        draft = Draft("assistant")
        add_content(draft, values)
        add_calls(draft, [] if draft.texts or draft.calls else values)
        if not draft.is_empty:
            conversation.add(draft)


def _is_turn(value: object) -> bool:
    """Check for a message or an item; a call of chat completions is none."""
    if not is_message(value) or not isinstance(value, dict):
        return False
    return value.get("type") not in ("function", "tool_call")


def _add_body(
    conversation: Conversation, body: Mapping[str, object], level: int
) -> None:
    """Add the body of a response: of chat completions, responses, messages or Gemini."""
    messages = body.get("messages")
    if isinstance(messages, list):
        _add_whole(conversation, messages)
        return
    for key, add_first in _OF_FIRST.items():
        values = body.get(key)
        if isinstance(values, list) and values:
            add_first(conversation, values[0])
            return
    if role_of(body) is not None or "tool_calls" in body:
        add_messages(conversation, [{"role": "assistant", **body}])
    elif isinstance(body.get("message"), dict):
        add_messages(conversation, [body])
    elif isinstance(body.get("content"), str | list):
        draft = Draft("assistant")
        add_content(draft, body["content"])
        conversation.add(draft)
    else:
        _add_inner_answer(conversation, body, level)


def _add_inner_answer(
    conversation: Conversation, body: Mapping[str, object], level: int
) -> None:
    """Add the answer that an object holds under a known key."""
    for key in _IN_ANSWERS:
        if body.get(key):
            _add_answered(conversation, body[key], level + 1)
            return
    inner = first_text(body, "text", "result", "value")
    if inner:
        _say(conversation, "assistant", inner)


def _add_choice(conversation: Conversation, choice: object) -> None:
    if not isinstance(choice, dict):
        return
    message = choice.get("message", choice.get("content"))
    if not isinstance(message, dict):
        _say(conversation, "assistant", text(choice.get("text")))
        return
    reason = choice.get("finish_reason", choice.get("stop_reason"))
    reason = choice.get("finishReason", reason)
    add_messages(
        conversation, [{"finish_reason": reason, "role": "assistant", **message}]
    )


def _add_generation(conversation: Conversation, generation: object) -> None:
    """Add a generation of LangChain, of the first prompt of several."""
    if isinstance(generation, list):
        generation = generation[0] if generation else None
    if not isinstance(generation, dict):
        return
    message = generation.get("message")
    if isinstance(message, dict):
        add_messages(conversation, [message])
    else:
        _say(conversation, "assistant", text(generation.get("text")))


_OF_FIRST: Final[Mapping[str, Callable[[Conversation, object], None]]] = {
    "choices": _add_choice,
    "candidates": _add_choice,
    "generations": _add_generation,
}


def _add_whole(conversation: Conversation, messages: Sequence[object]) -> None:
    """Add an answer that may repeat what was asked before it."""
    whole = Conversation()
    add_messages(whole, messages)
    asked = conversation.turns
    if whole.turns[: len(asked)] == asked:
        conversation.turns.clear()
    add_messages(conversation, messages)


# -- why it ended --------------------------------------------------------------------------------


def _stop_reason_of(row: Mapping[str, object]) -> str:
    """Find why the last message ended, beside the conversation."""
    if row.get("is_truncated") is True:
        return LENGTH
    for holder in (row.get("response"), row.get("output"), row):
        if isinstance(holder, dict):
            reason = _stated_reason(holder)
            if reason:
                return reason
    return ""


def _stated_reason(holder: Mapping[str, object]) -> str:
    incomplete = holder.get("incomplete_details")
    if isinstance(incomplete, dict) and incomplete.get("reason"):
        return stop_reason(incomplete["reason"])
    for key in _STOPS:
        reason = stop_reason(holder.get(key))
        if reason:
            return reason
    choice = _object_at(holder.get("choices"), 0)
    if choice is not None:
        return _stated_reason({**choice, "choices": None})
    call = _object_at(holder.get("calls"), -1)  # of the model, by verifiers
    if call is not None:
        return stop_reason(call.get("finish_reason"))
    is_response = isinstance(holder.get("output"), list)
    return stop_reason(holder.get("status")) if is_response else ""


def _object_at(values: object, index: int) -> Mapping[str, object] | None:
    """Take the first or last value of a list, if it is an object."""
    if not isinstance(values, list) or not values:
        return None
    value = values[index]
    return value if isinstance(value, dict) else None
