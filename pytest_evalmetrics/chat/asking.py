"""One question to a model: in the form that its endpoint takes, and once more if it must be."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalmetrics.chat.replies import Reply, read_reply
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.transport import CallError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pytest_evalmetrics.chat.calls import Calls
    from pytest_evalmetrics.chat.models import ChatModel, Message

__all__ = ["ask"]

_T = TypeVar("_T")
# what endpoints answer to a response_format that they don't know
_NOT_TAKEN = frozenset({400, 415, 422, 501})
_AGAIN = (
    "That answer can't be used: {reason}. Answer the same question again, in the form that was "
    "asked for and with nothing else."
)


async def ask(
    calls: Calls,
    model: ChatModel,
    messages: Sequence[Message],
    *,
    kind: str,
    read: Callable[[Reply], _T],
    schema: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> _T:
    """Ask a model, and read its answer.

    An answer that can't be used is asked for once more, with the reason, out of the number of
    retries that the endpoint is allowed: so a call never takes more than ``1 + max_retries``
    requests, but for the first of a model that finds out in what form it takes a schema.

    Parameters
    ----------
    calls
        The row's way to endpoints. Its place is taken before anything is awaited.
    model
        Who is asked.
    messages
        What is asked; says in words what form the answer has to have, because some endpoints
        heed no schema.
    kind
        What asks, and in which version: ``topic-adherence/1``.
    read
        Reads the answer; raises a `RowError` where it is none.
    schema
        JSON Schema of the answer, strict: every object closed, every property required. Sent
        as ``json_schema``, to an endpoint that refuses that as ``json_object``, else not at
        all; which of them is found out once per model and run.
    versions
        What else the answer depends on: the prompt's version.

    Raises
    ------
    RowError, CallError
        The answer can't be used, twice; or this call failed.
    EndpointError
        All would fail.
    """
    ways = _ways(model, kind, schema)
    ticket = calls.ticket(
        model.endpoint,
        model.request(messages, response_format=ways[0]),
        kind=kind,
        versions=versions,
    )

    async def send(way: Mapping[str, Any] | None) -> Any:
        body = model.request(messages, response_format=way)
        return await calls.post(model.endpoint, body, kind=kind, ticket=ticket)

    body = await _in_its_form(calls, model, ways, send)
    answered: Reply | None = None
    try:
        answered = read_reply(body, model.end_token)
        return read(answered)
    except RowError as error:
        left = model.endpoint.max_retries - ticket.attempts
        if left < 0:
            raise
        again = [*messages, *_corrected(answered, error)]
        patient = replace(model, endpoint=replace(model.endpoint, max_retries=left))
    found: list[_T] = []

    def check(body: Any) -> None:
        try:
            found.append(read(read_reply(body, model.end_token)))
        except RowError as error:
            raise RowError(error.kind, f"{error.message} (asked twice)", hint=error.hint) from None

    async def send_again(way: Mapping[str, Any] | None) -> Any:
        body = patient.request(again, response_format=way)
        return await calls.post(patient.endpoint, body, kind=kind, check=check, versions=versions)

    await _in_its_form(calls, patient, ways, send_again)
    return found[-1]


@dataclass
class _Form:
    """Which of the ways an endpoint takes, once that is known."""

    known: int | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


async def _in_its_form(
    calls: Calls,
    model: ChatModel,
    ways: Sequence[Mapping[str, Any] | None],
    send: Callable[[Mapping[str, Any] | None], Awaitable[Any]],
) -> Any:
    """Send in the first way that the endpoint takes; the first call of a model finds it out."""
    if len(ways) == 1:
        return await send(ways[0])
    form = calls.memory.setdefault(("form", model.endpoint.url, model.name), _Form())
    async with form.lock:
        if form.known is None:
            for index, way in enumerate(ways):
                try:
                    body = await send(way)
                except CallError as error:
                    if error.status not in _NOT_TAKEN or index + 1 == len(ways):
                        raise
                else:
                    form.known = index
                    return body
    return await send(ways[form.known or 0])


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


def _corrected(answered: Reply | None, error: RowError) -> list[dict[str, str]]:
    said = [{"role": "assistant", "content": answered.text}] if answered and answered.text else []
    return [*said, {"role": "user", "content": _AGAIN.format(reason=error.message)}]
