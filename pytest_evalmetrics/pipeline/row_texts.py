"""Texts out of the rows of any tool: the question, the answer, the reason of its score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.rollouts.json_values import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_evalmetrics.model.rollout_table import RowScores
    from pytest_evalmetrics.spec import FieldMap
    from pytest_evalmetrics.transcripts import Turn

#: The key of a judge's reason in a row that a baseline keeps.
KEPT_REASON: Final = "judge's reason"
_TEXT: Final = 4_000  # characters of one text
_IMAGE: Final = 300_000  # characters of one image in base64
_PROMPTS: Final = (
    *("responses_create_params", "prompt", "question", "problem", "instruction"),
    *("query", "user_input", "input", "inputs", "messages"),
)
_ANSWERS: Final = (
    *("output_text", "response", "output", "outputs", "completion", "generation"),
    *("prediction", "model_output", "resps", "answer"),
)
_REFERENCES: Final = (
    *("reference", "expected", "expected_output", "expected_answer", "target"),
    *("ground_truth", "gold", "correct_answer", "text", "label", "answer"),
)
_REASONS: Final = (
    *("reason", "explanation", "rationale", "justification", "critique", "feedback"),
    *("judge_reason", "judge_explanation", "judge_reasoning", "judge_feedback"),
)
# objects and lists that tools keep reasons in
_GRADES: Final = (
    *("scores", "gradingResult", "componentResults", "metrics_data", "metricsData"),
    *("metrics", "results", "evaluation", "evaluations", "judge", "grade", "grading"),
)
_NESTED: Final = 4  # levels of grades


class RowTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of a row; each is empty if the row has none."""

    prompt: str = ""
    answer: str = ""
    reference: str = ""
    reason: str = ""  # of a judge, or as recorded
    # the conversation, of more than a question and an answer
    turns: tuple[Turn, ...] = ()


def texts_of(
    row: Mapping[str, object],
    *,
    fields: FieldMap | None = None,
    scores: RowScores | None = None,
    index: int = 0,
) -> RowTexts:
    """Find the texts of a row; `fields` may name them, `scores` has the reasons of judges."""
    from pytest_evalmetrics.transcripts import turns_of  # of rows that a report shows

    turns = turns_of(row)
    answered = _first_named(row, _ANSWERS)
    answer = shortened(_flat(row.get(answered))) or _last_said(turns)
    references = [name for name in _REFERENCES if name != answered]
    expected = next(
        (row[name] for name in references if row.get(name) is not None), None
    )
    texts = RowTexts(
        prompt=shortened(_flat(_prompt_of(row, turns))),
        answer=answer,
        reference=shortened(_flat(expected)),
        reason=shortened(_reason_of(row, scores, index)),
        turns=turns if _is_conversation(turns) else (),
    )
    return texts if fields is None else _with_named(texts, row, fields)


def _first_named(row: Mapping[str, object], names: tuple[str, ...]) -> str:
    """Return the first of some keys that a row has a value for; empty for none."""
    for name in names:
        if row.get(name) not in (None, ""):
            return name
    return ""


def _prompt_of(row: Mapping[str, object], turns: tuple[Turn, ...]) -> object:
    """Return the question of a row: its own, or the first that a conversation asks."""
    prompt = next((row[name] for name in _PROMPTS if row.get(name)), None)
    if prompt is not None and prompt is not row.get("messages"):
        return prompt
    asked = next((turn.text for turn in turns if turn.role == "user"), "")
    return asked or prompt


def hidden(texts: RowTexts, hide: Callable[[str], str]) -> RowTexts:
    """Hide keys in all texts of a row."""
    return RowTexts(
        prompt=hide(texts.prompt),
        answer=hide(texts.answer),
        reference=hide(texts.reference),
        reason=hide(texts.reason),
        turns=tuple(_shown_turn(turn, hide) for turn in texts.turns),
    )


def shortened(text: str, most: int = _TEXT) -> str:
    """Keep the head and the tail of a long text, since agents conclude at the end."""
    if len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"


def _with_named(
    texts: RowTexts, row: Mapping[str, object], fields: FieldMap
) -> RowTexts:
    """Read the texts that the benchmark file names."""
    named = {"prompt": fields.prompt, "answer": fields.answer, "reason": fields.reason}
    for name, path in named.items():
        if path is not None:
            text = shortened(_flat(lookup(row, path)))
            texts = structs.replace(texts, **{name: text})
    return texts


# -- a conversation --------------------------------------------------------------------------


def _last_said(turns: tuple[Turn, ...]) -> str:
    """Write the model's last turn: its text and its calls."""
    for turn in reversed(turns):
        if turn.role == "assistant":
            calls = [f"{call.name}({call.arguments})" for call in turn.calls]
            return shortened("\n".join(part for part in (turn.text, *calls) if part))
    return ""


def _is_conversation(turns: tuple[Turn, ...]) -> bool:
    """Whether there is more than a question and an answer."""
    spoken = [turn for turn in turns if turn.role != "system"]
    has_more = any(turn.calls or turn.images or turn.reasoning for turn in turns)
    return has_more or len(spoken) > 2


def _shown_turn(turn: Turn, hide: Callable[[str], str]) -> Turn:
    calls = tuple(
        structs.replace(
            call,
            arguments=shortened(hide(call.arguments)),
            error=shortened(hide(call.error)),
        )
        for call in turn.calls
    )
    result = turn.result
    if result is not None:
        result = structs.replace(result, error=shortened(hide(result.error)))
    images = tuple(
        structs.replace(image, data="") if len(image.data) > _IMAGE else image
        for image in turn.images
    )
    return structs.replace(
        turn,
        text=shortened(hide(turn.text)),
        reasoning=shortened(hide(turn.reasoning)),
        calls=calls,
        result=result,
        images=images,
    )


# -- reasons ---------------------------------------------------------------------------------


def _reason_of(row: Mapping[str, object], scores: RowScores | None, index: int) -> str:
    """Join the reasons of this project's judges, or those that the row records."""
    if scores is not None:
        given = msgspec.json.decode(scores.reasons(index))
        reasons = [each["reason"] for each in given]
        if reasons:
            return "\n".join(filter(None, map(_flat, reasons)))
    kept = row.get(KEPT_REASON)
    if isinstance(kept, str):
        return kept
    return "\n".join(dict.fromkeys(_recorded_reasons(row, 0)))


def _recorded_reasons(value: object, level: int) -> Iterator[str]:
    """Yield the reasons in a row of inspect_ai, promptfoo, deepeval and others alike."""
    if level > _NESTED:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _recorded_reasons(inner, level + 1)
        return
    if not isinstance(value, dict):
        return
    for name in _REASONS:
        text = value.get(name)
        if isinstance(text, str) and text:
            yield text
    for name in _GRADES:
        grades = value.get(name)
        yield from _recorded_reasons(grades, level + 1)
        if name == "scores" and isinstance(grades, dict):  # by scorer
            for grade in grades.values():
                yield from _recorded_reasons(grade, level + 1)


# -- values as people read them --------------------------------------------------------------

_TEXT_KEYS: Final = (
    *("output_text", "output", "choices", "message", "content", "text", "input"),
)


def _flat(value: object) -> str:
    """Write a text, a conversation or an answer of an API as a person reads it."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_flat, value)))
    if not isinstance(value, dict):
        return json.dumps(value)
    return _flat_object(value)


def _flat_object(value: Mapping[str, object]) -> str:
    calls = _calls_in(value)
    for name in _TEXT_KEYS:
        if value.get(name):
            text = "\n".join((_flat(value[name]), *calls))
            role = value.get("role")
            return f"{role}: {text}" if isinstance(role, str) else text
    if calls:
        return "\n".join(calls)
    called = value.get("function", value)
    is_call = isinstance(called, dict) and isinstance(called.get("name"), str)
    if isinstance(called, dict) and is_call and "arguments" in called:
        return f"{called['name']}({_flat(called['arguments'])})"
    if value.get("type") == "reasoning":
        return ""
    return json.dumps(value, ensure_ascii=False)


def _calls_in(message: Mapping[str, object]) -> list[str]:
    """Write the calls of a message that may have a text, too."""
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        return [_flat(call) for call in calls]
    return []
