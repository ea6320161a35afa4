"""Asking OpenAI-compatible models: prompts, requests, replies, and second tries."""

from __future__ import annotations

import asyncio
import json
import math
import re
from array import array
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import transport
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import shown, spaced
from pytest_evalmetrics.transport import (
    Answer,
    Call,
    CallError,
    Endpoint,
    Terms,
    Tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from pytest_evalmetrics.chat.row_calls import Calls
    from pytest_evalmetrics.expressions import Rendered
    from pytest_evalmetrics.spec import ParamsSpec
    from pytest_evalmetrics.spec.model_keys import ModelSpec, PriceSpec

Message: TypeAlias = "Mapping[str, Any]"
_T = TypeVar("_T")


class Spending:
    """Sums over a model's answers, the same in any order and where the journal gave them."""

    def __init__(self) -> None:
        self._answers = array("d")  # five numbers of each, NaN for unknown tokens
        self.names = set[str]()  # names of the models in the endpoint's answers

    def add(self, attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        """Count an answer."""
        counts = (math.nan,) * 3 if tokens is None else structs.astuple(tokens)
        self._answers.extend([attempts, latency_s, *counts])

    def as_dict(self, price: PriceSpec | None) -> dict[str, Any]:
        """Return calls, requests, tokens, cost and latency as builtins."""
        answers = np.array(self._answers).reshape(-1, 5)
        requests, _, *counts = map(int, np.nansum(answers, axis=0))
        tokens = Tokens(*counts)
        without, seconds = int(np.isnan(answers[:, 2]).sum()), np.sort(answers[:, 1])
        latency: dict[str, float] = {}
        if len(seconds):
            p50, p95 = np.quantile(seconds, [0.5, 0.95])
            latency = {
                "mean": seconds.mean(),
                "p50": p50,
                "p95": p95,
                "max": seconds[-1],
            }
        return {
            "calls": len(answers),
            "requests": requests,
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.total,
            "without_tokens": without,
            "cost": None if price is None or without else tokens.cost(price),
            "latency_s": {
                name: round(float(value), 6) for name, value in latency.items()
            },
        }


class ChatModel(msgspec.Struct, frozen=True):
    """A model that is ready to be asked."""

    endpoint: Endpoint
    name: str  # as its endpoint calls it
    plain: bool = (
        False  # the endpoint completes a text: of completions, not of chat completions
    )
    inference: Mapping[str, Any] = msgspec.field(
        default_factory=dict
    )  # parameters, sent as they are
    system_prompt: str | None = (
        None  # the first message, if there is no other system message
    )
    end_token: str | None = None  # the end of its reasoning
    price: PriceSpec | None = None  # of its tokens
    spending: Spending = msgspec.field(default_factory=Spending)

    def request(self, messages: Sequence[Message], **more: Any) -> dict[str, Any]:
        """Make the body of a request."""
        messages = [dict(message) for message in messages]
        if self.system_prompt is not None and not any(
            m.get("role") == "system" for m in messages
        ):
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        prompt: Any = {"messages": messages}
        if self.plain:
            prompt = {
                "prompt": "\n\n".join(str(message["content"]) for message in messages)
            }
        given = {key: value for key, value in more.items() if value is not None}
        return {"model": self.name, **prompt, **self.inference, **given}


_PATHS = {"chat": "/chat/completions", "completions": "/completions"}


def chat_model(
    spec: ModelSpec, terms: Terms, params: ParamsSpec | None = None
) -> ChatModel:
    """Make a model of its entry in a benchmark file."""
    parts = urlsplit(spec.url)
    path = parts.path.rstrip("/")
    in_path = next((kind for kind, end in _PATHS.items() if path.endswith(end)), None)
    kind, url = spec.format or in_path or "chat", spec.url
    if in_path is None and path.endswith(
        "/v1"
    ):  # the base, as the clients of OpenAI want it
        url = urlunsplit(parts._replace(path=path + _PATHS[kind]))
    reasoning, system_prompt = spec.reasoning, spec.system_prompt
    inference = dict(spec.inference)
    if params is not None:
        reasoning = reasoning or params.reasoning
        system_prompt = params.system_prompt if system_prompt is None else system_prompt
        inference = {**params.inference, **inference}
    if reasoning and reasoning.effort:
        inference = {"reasoning_effort": reasoning.effort, **inference}
    price = spec.price
    limits: Any = {"timeout_s": spec.timeout_seconds, "max_retries": spec.max_retries}
    endpoint = structs.replace(
        terms.endpoint(url, secret=spec.api_key_secret, **limits), price=price
    )
    is_plain = kind == "completions"
    end_token = reasoning.end_token if reasoning else None
    return ChatModel(
        endpoint, spec.name, is_plain, inference, system_prompt, end_token, price
    )


# Prompts.

# the names of the roles in LangChain, and in data sets for RAGAS
_ROLES = {"human": "user", "ai": "assistant", "system": "system"}


def compile_templates(value: Any, who: str, *, body: bool = False) -> Rendered:
    """Compile the templates in a value, see `expressions.compile_value`."""
    with transport.needs_extra("remote", who):
        from pytest_evalmetrics.expressions import compile_value  # of the extra
    return compile_value(value, body=body)


def compile_prompt(
    template: Any, who: str = "a prompt_template"
) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """Compile a prompt: a text is one message of the user, whatever it is filled in with."""
    render = compile_templates(template, who)
    is_text = isinstance(template, str)

    def prompt(context: Mapping[str, Any]) -> list[dict[str, Any]]:
        value = render(context)
        if is_text:
            value = spaced(value) if isinstance(value, dict | list) else value
            return [{"role": "user", "content": _content(value, "the prompt")}]
        flat = [m for one in value for m in (one if isinstance(one, list) else [one])]
        if not flat:
            raise RowError("bad-prompt", "the prompt is a list of no messages")
        return [
            _message(one, f"message {n} of the prompt") for n, one in enumerate(flat, 1)
        ]

    return prompt


def _message(value: Any, what: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"role": "user", "content": value}
    message = dict(value) if isinstance(value, dict) else {}
    if message.get("role") is None and message.get("type") in _ROLES:
        rest = {
            key: item for key, item in message.items() if key not in ("type", "role")
        }
        message = {"role": _ROLES[message["type"]], **rest}
    if not isinstance(message.get("role"), str) or not message["role"]:
        raise RowError(
            "bad-prompt",
            f"{what} is {value!r:.60}, without a role",
            hint="a message has a role, such as user, and a content",
        )
    if not isinstance(message.get("content"), str | list | None):
        message["content"] = _content(message["content"], what)
    return message


def _content(value: Any, what: str) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    raise RowError(
        "bad-prompt",
        f"{what} is {value!r:.60}, expected text",
        hint='make it text: "{{ column | string }}" or "{{ column | tojson }}"',
    )


# Replies.

_FENCED = re.compile(r"```(?:json|JSON)?\s*\n(.*?)```", re.DOTALL)
_DECODER = json.JSONDecoder(object_pairs_hook=transport.unique_keys)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply."""

    text: str  # the answer, without the reasoning; empty if it only called tools
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # as it wrote them
    finish_reason: str = ""  # ``stop``, ``length``, ``tool_calls`` ...; empty for none
    message: Mapping[str, Any] = field(default_factory=dict)  # the whole message
    tokens: Tokens | None = None  # None if the answer does not give them


def read_reply(body: Any, end_token: str | None = None) -> Reply:
    """Read the body of an answer of chat completions, or of plain completions."""
    message, finish = _message_in(body)
    text, calls = text_of(message.get("content")), tool_calls_of(message)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    reasoning = reasoning if isinstance(reasoning, str) else ""
    if end_token and text is not None:
        before, token, after = text.rpartition(end_token)
        if token:
            reasoning, text = reasoning + before, after.strip()
        elif finish == "length":  # it was cut off before the answer
            reasoning, text = reasoning + text, ""
    if not text and not calls and finish == "length":
        raise RowError(
            "cut-off",
            "the model wrote as many tokens as it may and came to no answer "
            "(finish_reason: length)",
            hint="raise max_tokens",
        )
    if text is None and not calls:
        raise RowError(
            "no-text", f"the model gave no text and no tool calls: {shown(message)}"
        )
    return Reply(
        text or "", reasoning, calls, finish, message, transport.tokens_of(body)
    )


def _message_in(body: Any) -> tuple[dict[str, Any], str]:
    """Return the message and its finish reason."""
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise RowError("no-choices", f"the answer has no choices: {shown(body)}")
    choice = choices[0]
    error = choice.get("error") or body.get("error")
    if (
        error or choice.get("finish_reason") == "error"
    ):  # from a router whose model failed midway
        raise RowError(
            "failed-answer", f"the answer holds an error: {shown(error or choice)}"
        )
    message, finish = choice.get("message"), choice.get("finish_reason")
    if message is None and isinstance(choice.get("text"), str):  # plain completions
        message = {"role": "assistant", "content": choice["text"]}
    if not isinstance(message, dict):
        raise RowError("no-message", f"the answer has no message: {shown(choice)}")
    if message.get("refusal"):
        raise RowError("refusal", f"the model refused: {shown(message['refusal'])}")
    if finish == "content_filter":
        raise RowError("filtered", "the endpoint's content filter took the answer")
    return message, finish if isinstance(finish, str) else ""


def tool_calls_of(message: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the tool calls of a message."""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        fault = f"the answer's tool_calls is {shown(calls)}, expected a list"
        raise RowError("bad-tool_calls", fault)
    return tuple(call for call in calls if isinstance(call, dict))


def json_in(reply: Reply) -> Any:
    """Extract the JSON of a reply: the whole text, else a fenced block, else the last object."""
    text = reply.text.strip()
    for candidate in (text, *reversed(_FENCED.findall(text))):
        with suppress(ValueError, RecursionError):
            return _finite(_DECODER.decode(candidate))
    objects: list[Any] = []  # the outermost ones
    at = text.find("{")
    while at >= 0:
        end = at + 1
        with suppress(ValueError, RecursionError):
            value, end = _DECODER.raw_decode(text, at)
            objects.append(value)
        at = text.find("{", end)
    if objects:
        return _finite(objects[-1])
    cut = ", and was cut off at max_tokens" if reply.finish_reason == "length" else ""
    raise RowError(
        "no-json", f"the model's answer holds no JSON object{cut}: {shown(text)}"
    )


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise RowError(
            "no-number", f"the model's answer holds {value}, no finite number"
        )
    if isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            _finite(child)
    return value


def text_of(content: Any) -> str | None:
    """Return the text of a message's content, with its parts joined, or None."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    texts = [text for text in parts if isinstance(text, str)]
    return "".join(texts) if texts else None


# Questions.

# the answers of endpoints to a response_format that they don't know
_FORM_REFUSED = frozenset({400, 415, 422, 501})
_MOST_REFUSED = 3  # questions that are refused in every form: then it is not the form
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
    retries that the endpoint is allowed: a question never takes more than ``1 + max_retries``
    requests, but for the first of a model, which detect the form in which it takes a schema.
    """
    forms: tuple[Mapping[str, Any] | None, ...] = (None,)
    if schema is not None and not model.plain:
        name = kind.partition("/")[0].replace("-", "_")
        strict = {"name": name, "strict": True, "schema": dict(schema)}
        forms = (
            {"type": "json_schema", "json_schema": strict},
            {"type": "json_object"},
            None,
        )
    question = _Question(calls, model, messages, forms)
    call = calls.ticket(model.endpoint, question.body(0), kind=kind, versions=versions)
    return question.answered(call, read)


async def side_by_side(questions: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Ask several questions at once; return the answers in the order of the questions.

    Every question is awaited to its end, so that paid answers are kept, and so that the same
    answers give the same error: the first in order.
    """
    results = await asyncio.gather(*questions, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    # errors that stop the benchmark come first
    errors.sort(key=lambda error: isinstance(error, RowError))
    if errors:
        raise errors[0]
    return [result for result in results if not isinstance(result, BaseException)]


@dataclass
class _Form:
    """The form of requests that a model's endpoint accepts, once it is known."""

    index: int = 0
    is_known: bool = False
    refused: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class _Question:
    """One question, and the forms in which it may be sent."""

    calls: Calls
    model: ChatModel
    messages: Sequence[Message]
    forms: Sequence[Mapping[str, Any] | None]

    def body(self, form: int) -> dict[str, Any]:
        return self.model.request(self.messages, response_format=self.forms[form])

    async def answered(self, call: Call, read: Callable[[Reply], _T]) -> _T:
        """Ask, and ask once more where the answer can't be used."""
        answer = await self._send(call)
        reply: Reply | None = None
        try:
            reply = read_reply(answer.body, self.model.end_token)
            return read(reply)
        except RowError as error:
            left = self.model.endpoint.max_retries - answer.attempts
            if left < 0:
                raise
            again = self._corrected(reply, error, left)
        # the second try is identified by the first one, in whatever order they come
        identity = [
            "again",
            call.place,
            blake2b(call.identity or b"", digest_size=20).hexdigest(),
        ]
        second = self.calls.ticket(
            self.model.endpoint, identity, kind=call.kind, versions=call.versions
        )
        # shown right behind it
        second = replace(second, place=call.place + 0.5)
        answers: list[_T] = []

        def check(body: Any) -> None:
            try:
                answers.append(read(read_reply(body, self.model.end_token)))
            except RowError as error:
                message = f"{error.message} (asked twice)"
                raise RowError(error.kind, message, hint=error.hint) from None

        await again._send(second, check)  # noqa: SLF001 - one of us
        return answers[-1]

    async def _send(
        self, call: Call, check: Callable[[Any], None] | None = None
    ) -> Answer:
        """Send in the first form that the endpoint takes, which the first answer reveals."""
        last = len(self.forms) - 1
        name = ("form", self.model.endpoint.url, self.model.name)
        form = (
            self.calls.memory.setdefault(name, _Form())
            if last
            else _Form(is_known=True)
        )
        async with form.lock:
            for index in () if form.is_known else range(last + 1):
                try:
                    answer = await self._post(call, index, check)
                except CallError as error:
                    if error.status not in _FORM_REFUSED:
                        raise
                    if index == last:
                        form.refused += 1
                        form.is_known = form.refused == _MOST_REFUSED
                        raise
                else:
                    # the journal knows questions, not the form in which they were sent
                    if not answer.from_journal:
                        form.index, form.is_known = index, True
                    return answer
        return await self._post(call, form.index, check)

    async def _post(
        self, call: Call, form: int, check: Callable[[Any], None] | None
    ) -> Answer:
        payload = transport.written_body(self.body(form))
        call = replace(call, endpoint=self.model.endpoint, payload=payload)
        answer = await self.calls.send(call, self.body(0), check)
        spending, body = self.model.spending, answer.body
        spending.add(answer.attempts, answer.latency_s, transport.tokens_of(body))
        if (
            isinstance(body, dict)
            and isinstance(name := body.get("model"), str)
            and name
        ):
            spending.names.add(name)
        return answer

    def _corrected(self, reply: Reply | None, error: RowError, left: int) -> _Question:
        """Make the question that gives the fault of an answer, for as many tries."""
        why = _AGAIN.format(reason=error.message)
        messages, request = list(self.messages), {"role": "user", "content": why}
        if reply is not None and reply.text:
            messages += [{"role": "assistant", "content": reply.text}, request]
        elif (
            isinstance(messages[-1].get("content"), str)
            and messages[-1].get("role") == "user"
        ):
            # many models take no two messages of one role in a row
            messages[-1] = {
                **messages[-1],
                "content": f"{messages[-1]['content']}\n\n{why}",
            }
        else:
            messages.append(request)
        patient = structs.replace(self.model.endpoint, max_retries=left)
        return replace(
            self, model=structs.replace(self.model, endpoint=patient), messages=messages
        )
