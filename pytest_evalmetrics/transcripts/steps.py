"""Read trajectories: steps of a thought, an action and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.transcripts.calls import (
    add_calls,
    arguments_of,
    call_id_of,
    read_call,
)
from pytest_evalmetrics.transcripts.conversation import (
    Conversation,
    Draft,
    ResultDraft,
)
from pytest_evalmetrics.transcripts.messages import role_of
from pytest_evalmetrics.transcripts.parts import add_content, result_of
from pytest_evalmetrics.transcripts.turns import ToolCall
from pytest_evalmetrics.transcripts.values import (
    decoded,
    first_text,
    normalised,
    plain_text,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OBSERVED: Final = ("observation", "observations", "result", "output", "tool_output")
_OF_STEPS: Final = frozenset({"action", "observation", "thought"})
_FINISHED: Final = ("finish", "final_answer", "final answer", "submit_answer")
_SOURCES: Final = {"agent": "assistant", "user": "user", "system": "system"}


def is_step(value: object) -> bool:
    """Check whether a value is a step of a trajectory."""
    if isinstance(value, list):  # LangChain's [action, observation]
        return len(value) == 2 and isinstance(value[0], dict) and "tool" in value[0]
    if not isinstance(value, dict):
        return False
    if not _OF_STEPS.isdisjoint(value):
        return True
    if "step_number" in value and "tool_calls" in value:  # of smolagents
        return True
    return value.get("source") in _SOURCES and "message" in value


def add_steps(conversation: Conversation, steps: Iterable[object]) -> None:
    """Add the turns of all steps."""
    for step in steps:
        if isinstance(step, list) and is_step(step):
            action, observation = step
            _add_step(conversation, {**action, "observation": observation})
        elif isinstance(step, dict):
            if step.get("source") in _SOURCES:
                _add_sourced(conversation, step)
            else:
                _add_step(conversation, step)


def _add_step(conversation: Conversation, step: Mapping[str, object]) -> None:
    draft = Draft("assistant")
    thought = plain_text(first_text(step, "thought", "reasoning", "thinking", "log"))
    if thought:
        draft.reasoning.append(thought)
    add_content(draft, first_text(step, "text", "message", "content"))
    add_calls(draft, step.get("tool_calls"))
    call = _call_of(step)
    if call is None and draft.calls:
        call = draft.calls.pop()
    if call is not None and call.name.lower() in _FINISHED:
        draft.texts.append(_final_answer(call))
        call = None
    if call is not None:
        draft.calls.append(call)
    if role_of(step) is None or not draft.is_empty:
        conversation.add(draft)
    if call is not None:
        _add_observation(conversation, call, step)


def _final_answer(call: ToolCall) -> str:
    """Read the answer that an agent ends with, as the arguments of a call."""
    answer = decoded(call.arguments)
    if isinstance(answer, dict):
        answer = first_text(answer, "answer", "response", "text", "output")
    return plain_text(answer)


def _add_observation(
    conversation: Conversation, call: ToolCall, step: Mapping[str, object]
) -> None:
    """Add what came of a step's call."""
    for key in _OBSERVED:
        if step.get(key) is not None:
            result = ResultDraft(
                id=call.id,
                name=call.name,
                text=plain_text(step[key]),
                error=text(step.get("error")),
            )
            conversation.add_result(result)
            return


def _call_of(step: Mapping[str, object]) -> ToolCall | None:
    """Read the action of a step: a call, or a tool's name beside its input."""
    action = step.get("action", step.get("tool"))
    if isinstance(action, dict):
        return read_call(action)
    if not isinstance(action, str) or not action.strip():
        return None
    has_input = any(
        key in step for key in ("action_input", "tool_input", "arguments", "args")
    )
    if has_input:
        return ToolCall(action, arguments_of(step), call_id_of(step))
    # the command of a shell, as SWE-agent writes it
    name, _, rest = action.strip().partition(" ")
    arguments = normalised({"command": rest}) if rest else "{}"
    return ToolCall(name.partition("\n")[0], arguments, call_id_of(step))


def _add_sourced(conversation: Conversation, step: Mapping[str, object]) -> None:
    """Add a step that names its source, as the Agent Trajectory Interchange Format does."""
    draft = Draft("assistant")
    if step.get("source") == "user":
        draft = Draft("user")
    elif step.get("source") == "system":
        draft = Draft("system")
    reasoning = text(step.get("reasoning_content"))
    if reasoning:
        draft.reasoning.append(reasoning)
    add_content(draft, step.get("message"))
    add_calls(draft, step.get("tool_calls"))
    conversation.add(draft)
    observation = step.get("observation")
    results = None
    if isinstance(observation, dict):
        results = observation.get("results")
    for result in results if isinstance(results, list) else ():
        if not isinstance(result, dict):
            continue
        read = result_of(result)
        call_id = text(result.get("source_call_id")) or read.id
        conversation.add_result(
            ResultDraft(id=call_id, text=read.text, error=read.error)
        )
