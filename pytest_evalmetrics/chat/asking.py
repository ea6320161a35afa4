"""Asking a model: from a prompt to a reply that was read."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.transport import CallError, needs_extra, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    from pytest_evalmetrics.chat.models import Calls, ChatModel, Message, Ticket
    from pytest_evalmetrics.expressions.templates import Rendered
    from pytest_evalmetrics.transport import Tokens

__all__ = [
    "Reply",
    "ask",
    "compile_prompt",
    "compile_templates",
    "json_in",
    "read_reply",
    "side_by_side",
    "tool_calls_of",
]

# how LangChain, and data sets for RAGAS, call the roles
_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


def compile_templates(value: Any, who: str) -> Rendered:
    """Compile the templates in a value, see `expressions.templates.compile_value`."""
    with needs_extra("remote", who):
        from pytest_evalmetrics.expressions.templates import (  # noqa: PLC0415 - of the extra
            compile_value,
        )
    return compile_value(value)


def compile_prompt(
    template: Any, who: str = "a prompt_template"
) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """Compile a prompt."""
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


_SHOWN = 160
_FENCED = re.compile(r"```(?:json|JSON)?\s*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said."""

    text: str  # the answer, without the reasoning; empty where it only called tools
    reasoning: str = ""  # what it said before, or apart
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # as it wrote them
    finish_reason: str = ""  # ``stop``, ``length``, ``tool_calls`` ...; empty where it says none
    message: Mapping[str, Any] = field(default_factory=dict)  # the whole message
    tokens: Tokens | None = None  # what it says it took; None where it does not

    @property
    def cut(self) -> bool:
        """It was cut off at the most tokens that it may write."""
        return self.finish_reason == "length"


def read_reply(body: Any, end_token: str | None = None) -> Reply:
    """Read the body of an answer of chat completions, or of plain completions."""
    message, finish = _message_of(body)
    text = _text(message.get("content"))
    calls = tool_calls_of(message)
    apart = message.get("reasoning_content") or message.get("reasoning")
    reasoning = apart if isinstance(apart, str) else ""
    if end_token and text is not None:
        before, found, after = text.rpartition(end_token)
        if found:
            reasoning, text = reasoning + before, after.strip()
        elif finish == "length":  # it never came to its answer
            reasoning, text = reasoning + text, ""
    if not text and not calls and finish == "length":
        raise RowError(
            "cut-off",
            "the model wrote as many tokens as it may and came to no answer "
            "(finish_reason: length)",
            hint="raise max_tokens",
        )
    if text is None and not calls:
        raise RowError("no-text", f"the model gave no text and no tool calls: {_short(message)}")
    return Reply(text or "", reasoning, calls, finish, message, tokens_of(body))


def tool_calls_of(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Give the tool calls of a message; none where it has none."""
    found = message.get("tool_calls") or []
    if not isinstance(found, list):
        raise RowError(
            "bad-tool_calls", f"the answer's tool_calls is {_short(found)}, expected a list"
        )
    return tuple(call for call in found if isinstance(call, dict))


def _message_of(body: Any) -> tuple[dict[str, Any], str]:
    """Find the message and why it ends."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise RowError("no-choices", f"the answer has no choices: {_short(body)}")
    choice = choices[0]
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else ""
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):  # plain completions
        message = {"role": "assistant", "content": choice["text"]}
    if not isinstance(message, dict):
        raise RowError("no-message", f"the answer has no message: {_short(choice)}")
    if message.get("refusal"):
        raise RowError("refusal", f"the model refused: {_short(message['refusal'])}")
    if finish == "content_filter":
        raise RowError("filtered", "the endpoint's content filter took the answer")
    return message, finish


def json_in(reply: Reply) -> Any:
    """Find the JSON in a reply: the whole text, else what is fenced, else its last object."""
    text = reply.text.strip()
    for candidate in (text, *reversed(_FENCED.findall(text))):
        try:
            return _finite(json.loads(candidate))
        except (ValueError, RecursionError):
            continue
    for value in _objects(text):
        return _finite(value)
    cut = ", and was cut off at max_tokens" if reply.cut else ""
    raise RowError("no-json", f"the model's answer holds no JSON object{cut}: {_short(text)}")


def _objects(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects in a text, the last one first."""
    found: list[Any] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return iter(reversed(found))


_DECODER = json.JSONDecoder()


def _finite(value: Any) -> Any:
    for number in _floats(value):
        if not math.isfinite(number):
            raise RowError("no-number", f"the model's answer holds {number}, no finite number")
    return value


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list):
        for item in value:
            yield from _floats(item)


def _text(content: Any) -> str | None:
    """Give a message's text; its parts are joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict)]
        texts = [p for p in parts if isinstance(p, str)]
        return "".join(texts) if texts else None
    return None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_T = TypeVar("_T")
# what endpoints answer to a response_format that they don't know
_NOT_TAKEN = frozenset({400, 415, 422, 501})
_SOUGHT = 3  # questions that are refused in every form: then it is not the form
_AGAIN = (
    "That answer can't be used: {reason}. Answer the same question again, in the form that was "
    "asked for and with nothing else."
)


def ask(
    calls: Calls,
    model: ChatModel,
    messages: Sequence[Message],
    *,
    kind: str,
    read: Callable[[Reply], _T],
    schema: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> Coroutine[Any, Any, _T]:
    """Ask a model, and read its answer.

    An answer that can't be used is asked for once more, with the reason, out of the number of
    retries that the endpoint is allowed: so a question never takes more than
    ``1 + max_retries`` requests, but for the first of a model, which find out in what form it
    takes a schema.
    """
    ways = _ways(model, kind, schema)
    body = model.request(messages, response_format=ways[0])
    ticket = calls.ticket(model.endpoint, body, kind=kind, versions=versions)
    ticket.told = body
    question = _Question(calls, model, messages, kind, ways, versions)
    return question.answered(ticket, read)


async def side_by_side(questions: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Ask several questions at once; give the answers in the order of the questions.

    Every question is seen to its end, so that what is paid for is kept, and so that the same
    answers give the same error: the first in order.
    """
    found = await asyncio.gather(*questions, return_exceptions=True)
    errors = [each for each in found if isinstance(each, BaseException)]
    # what stops the benchmark comes first
    errors.sort(key=lambda error: isinstance(error, RowError | CallError))
    if errors:
        raise errors[0]
    return [each for each in found if not isinstance(each, BaseException)]


@dataclass
class _Form:
    """Which of the ways an endpoint takes, once that is known."""

    known: int | None = None
    refused: int = 0
    unreached: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def open(self) -> bool:
        """Whether it is still to be found out."""
        return self.known is None and self.refused < _SOUGHT


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, and how it may be sent."""

    calls: Calls
    model: ChatModel
    messages: Sequence[Message]
    kind: str
    ways: Sequence[Mapping[str, Any] | None]
    versions: Mapping[str, str] | None

    async def answered(self, ticket: Ticket, read: Callable[[Reply], _T]) -> _T:
        """Ask, and ask once more where the answer can't be used."""
        body = await self._sent(ticket)
        reply: Reply | None = None
        try:
            reply = read_reply(body, self.model.end_token)
            return read(reply)
        except RowError as error:
            left = self.model.endpoint.max_retries - ticket.attempts
            if left < 0:
                raise
            again = self._corrected(reply, error, left)
        found: list[_T] = []

        def check(body: Any) -> None:
            try:
                found.append(read(read_reply(body, self.model.end_token)))
            except RowError as error:
                raise RowError(
                    error.kind, f"{error.message} (asked twice)", hint=error.hint
                ) from None

        await again._sent(again._ticket_after(ticket), check)  # noqa: SLF001 - one of us
        return found[-1]

    async def _sent(self, ticket: Ticket, check: Callable[[Any], None] | None = None) -> Any:
        """Send in the first way that the endpoint takes; the first answer finds it out."""
        if len(self.ways) == 1:
            return await self._post(ticket, 0, check)
        form = self.calls.memory.setdefault(
            ("form", self.model.endpoint.url, self.model.name), _Form()
        )
        async with form.lock:
            if form.open and not form.unreached:
                return await self._sought(form, ticket, check)
        if form.open:  # nobody waits for an endpoint that was not reached the first time
            return await self._sought(form, ticket, check)
        return await self._post(ticket, form.known or 0, check)

    async def _sought(
        self, form: _Form, ticket: Ticket, check: Callable[[Any], None] | None
    ) -> Any:
        last = len(self.ways) - 1
        for way in range(len(self.ways)):
            try:
                body = await self._post(ticket, way, check)
            except CallError as error:
                if error.status not in _NOT_TAKEN:
                    form.unreached = True
                    raise
                if way == last:
                    form.refused += 1
                    raise
            else:
                # the journal knows questions, not in what form they were sent
                form.known = form.known if ticket.from_journal else way
                return body
        raise AssertionError("there is always a way")

    async def _post(self, ticket: Ticket, way: int, check: Callable[[Any], None] | None) -> Any:
        body = await self.calls.post(
            self.model.endpoint,
            self.model.request(self.messages, response_format=self.ways[way]),
            kind=self.kind,
            check=check,
            ticket=ticket,
        )
        self.model.spending.add(ticket.attempts, ticket.latency_s, tokens_of(body))
        return body

    def _corrected(self, reply: Reply | None, error: RowError, left: int) -> _Question:
        """Make the question that says what is wrong with an answer, for as many tries."""
        said = _AGAIN.format(reason=error.message)
        messages = list(self.messages)
        if reply is not None and reply.text:
            messages += [
                {"role": "assistant", "content": reply.text},
                {"role": "user", "content": said},
            ]
        elif isinstance(messages[-1].get("content"), str) and messages[-1].get("role") == "user":
            # many models take no two messages of one role in a row
            messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n\n{said}"}
        else:
            messages.append({"role": "user", "content": said})
        patient = replace(self.model.endpoint, max_retries=left)
        return replace(self, model=replace(self.model, endpoint=patient), messages=messages)

    def _ticket_after(self, first: Ticket) -> Ticket:
        """Take the place of the second try: known by the first one, in whatever order they come."""
        known_by = ["again", first.place, blake2b(first.identity, digest_size=20).hexdigest()]
        ticket = self.calls.ticket(
            self.model.endpoint, known_by, kind=self.kind, versions=self.versions
        )
        ticket.place = first.place + 0.5  # told right behind it
        ticket.told = self.model.request(self.messages, response_format=self.ways[0])
        return ticket


def _ways(
    model: ChatModel, kind: str, schema: Mapping[str, Any] | None
) -> tuple[Mapping[str, Any] | None, ...]:
    if schema is None or model.plain:
        return (None,)
    name = kind.partition("/")[0].replace("-", "_")
    strict = {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": dict(schema)},
    }
    return strict, {"type": "json_object"}, None
