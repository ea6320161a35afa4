"""Who answers the rows of a benchmark: a model, or a function of the user."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.chat import (
    Calls,
    chat_model,
    compile_prompt,
    compile_templates,
    read_reply,
    tool_calls_of,
)
from pytest_evalmetrics.errors import EvalMetricsError, RegistryError, RowError, raised_words
from pytest_evalmetrics.registry import origin, targets
from pytest_evalmetrics.transport import CallError, tokens_of, was_cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.expressions.templates import Rendered
    from pytest_evalmetrics.spec import BenchmarkSpec, TargetSpec
    from pytest_evalmetrics.transport import Answer, Terms, Tokens

__all__ = [
    "Generated",
    "Generator",
    "ModelGenerator",
    "SampleCalls",
    "TargetGenerator",
    "as_json",
    "make_generator",
    "read_answer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """One answer to one row."""

    output_text: str = ""  # the answer, without the reasoning; empty where it only calls tools
    # the body that the model answered, as OpenAI's API words it
    response: Mapping[str, Any] = field(default_factory=dict)
    reasoning: str = ""  # what it said before its answer
    tool_calls: tuple[Mapping[str, Any], ...] = ()  # as it wrote them
    finish_reason: str = ""  # ``stop``, ``length``, ``tool_calls`` ...; empty where nobody says
    tokens: Tokens | None = None  # none where nobody says
    cost: float = math.nan  # of the tokens; NaN without a price, or without tokens
    latency_s: float = math.nan  # seconds that it took when it was paid for
    more: Mapping[str, Any] = field(default_factory=dict)  # what a target gave beside all that
    # why it is no answer although it was paid for: a refusal, nothing but reasoning
    failure: RowError | None = None

    @classmethod
    def of(cls, reply: Reply, response: Mapping[str, Any], **more: Any) -> Generated:
        """Take what was read of a model's answer, with the body and what else is known."""
        return cls(
            output_text=reply.text,
            response=response,
            reasoning=reply.reasoning,
            tool_calls=reply.tool_calls,
            finish_reason=reply.finish_reason,
            **more,
        )

    @property
    def sample_data(self) -> dict[str, Any]:
        """What templates know as ``sample``."""
        return {
            **self.more,
            "output_text": self.output_text,
            "response": self.response,
            "reasoning": self.reasoning,
            "tool_calls": list(self.tool_calls),
            "finish_reason": self.finish_reason,
        }

    @property
    def measured(self) -> dict[str, float]:
        """Its columns, by the names of `GENERATED_SCORES`; NaN where nobody says."""
        tokens = self.tokens
        return {
            "input_tokens": math.nan if tokens is None else float(tokens.prompt),
            "output_tokens": math.nan if tokens is None else float(tokens.completion),
            "total_tokens": math.nan if tokens is None else float(tokens.total),
            "latency_s": self.latency_s,
            "cost": self.cost,
            "truncated": float(self.finish_reason == "length"),
        }


class SampleCalls(Calls, Protocol):
    """What one attempt at a row is made with."""

    latency_s: float  # seconds that the last answer took when it was paid for

    async def perform(
        self,
        name: str,
        given: Mapping[str, Any],
        make: Callable[[], Awaitable[str]],
        *,
        version: str | None,
    ) -> Answer:
        """Do something in this process in place of a request, see `transport.perform`."""
        ...


class Generator(Protocol):
    """Attempts rows."""

    async def generate(self, row: Mapping[str, Any], sample: int, calls: SampleCalls) -> Generated:
        """Attempt one row.

        The first call is made before anything is awaited: calls are counted in the order of
        the rows, so that a run that is started again finds its answers.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


_TEXTS = ("output_text", "output", "response", "content", "text")
_OURS = {*_TEXTS, "usage", "tool_calls", "reasoning", "finish_reason", "role"}


def as_json(value: Any) -> str:
    """Write what a target gave: builtins, or what has a ``model_dump`` of them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # a model of pydantic, such as an answer of the OpenAI client
        value = dump(mode="json")
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RowError(
            "no-answer",
            f"the target gave a {type(value).__name__} that can't be written as JSON: {error}",
            hint="give a text, a message, or a mapping with output",
        ) from None


def read_answer(value: Any, latency_s: float) -> Generated:
    """Read what a target gave."""
    if isinstance(value, str):
        return Generated(
            output_text=value, response=_body({"content": value}, {}), latency_s=latency_s
        )
    if not isinstance(value, dict):
        raise RowError(
            "no-answer",
            f"the target gave {value!r:.60}, expected a text, a message, or a mapping with output",
        )
    if "choices" in value:
        return _completion(value, latency_s)
    text = next((value[key] for key in _TEXTS if value.get(key) is not None), None)
    calls = tool_calls_of(value)
    if isinstance(text, dict) and "choices" in text:  # the whole body as `response`
        return _completion({"usage": value.get("usage"), **text}, latency_s, _more(value))
    if text is None and calls:
        text = ""
    if not isinstance(text, str):
        found = f"{text!r:.60}" if text is not None else f"the keys {', '.join(value)[:60]}"
        raise RowError(
            "no-answer", f"the target gave {found}, expected the answer's text under output"
        )
    finish = value.get("finish_reason")
    reasoning = value.get("reasoning")
    return Generated(
        output_text=text,
        response=_body({"content": text, "tool_calls": list(calls)}, value),
        reasoning=reasoning if isinstance(reasoning, str) else "",
        tool_calls=calls,
        finish_reason=finish if isinstance(finish, str) else "",
        tokens=tokens_of(value),
        latency_s=latency_s,
        more=_more(value),
    )


def _completion(
    body: Mapping[str, Any], latency_s: float, more: Mapping[str, Any] | None = None
) -> Generated:
    reply = read_reply(body)
    return Generated.of(reply, body, tokens=reply.tokens, latency_s=latency_s, more=more or {})


def _more(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in _OURS}


def _body(message: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """Word an answer as OpenAI's API does, for scorers that read it so."""
    said = {key: item for key, item in message.items() if item != []}
    choice = {"index": 0, "message": {"role": "assistant", **said}}
    usage = {"usage": value["usage"]} if isinstance(value.get("usage"), dict) else {}
    return {"choices": [choice], **usage}


_KIND = "generate/1"
# what a model says on purpose, and was paid for: it is kept, and not asked again
_SAID = frozenset({"refusal", "filtered", "cut-off"})


class ModelGenerator:
    """Asks a model."""

    def __init__(self, spec: BenchmarkSpec, terms: Terms) -> None:
        if spec.model is None:  # no benchmark without one is given here
            raise ValueError(f"the benchmark {spec.name} has no model")
        self._model = chat_model(spec.model, terms, spec.params)
        self._prompt = compile_prompt(spec.prompt_template)
        self._more: Mapping[str, Rendered] = {
            key: compile_templates(value, key)
            for key, value in (("tools", spec.tools), ("response_format", spec.response_format))
            if value is not None
        }
        self._last: tuple[Mapping[str, Any], dict[str, Any]] | None = None

    async def generate(self, row: Mapping[str, Any], sample: int, calls: SampleCalls) -> Generated:
        """Attempt one row, see `Generator`; the sample's number is not sent."""
        del sample
        found: list[Reply | RowError] = []

        def check(answer: Any) -> None:
            try:
                found.append(read_reply(answer, self._model.end_token))
            except RowError as error:
                if error.kind not in _SAID:
                    raise
                found.append(error)

        body = self._body(row)
        answer = await calls.post(self._model.endpoint, body, kind=_KIND, check=check)
        return self._generated(answer, found[-1], calls.latency_s)

    def close(self) -> None:
        """Let go of the last row."""
        self._last = None

    def _body(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Render the request; the samples of a row come one after the other, and share it."""
        if self._last is None or self._last[0] is not row:
            context = {**row, "item": row, "sample": {}}
            messages = self._prompt(context)
            more = {key: render(context) for key, render in self._more.items()}
            self._last = row, self._model.request(messages, **more)
        return self._last[1]

    def _generated(self, body: Any, reply: Reply | RowError, latency_s: float) -> Generated:
        tokens = tokens_of(body) if isinstance(reply, RowError) else reply.tokens
        price = self._model.price
        cost = math.nan if tokens is None or price is None else price.of(tokens)
        if isinstance(reply, RowError):
            error = reply
            return Generated(
                response=body,
                finish_reason="length" if error.kind == "cut-off" else "",
                tokens=tokens,
                cost=cost,
                latency_s=latency_s,
                failure=error,
            )
        return Generated.of(reply, body, tokens=tokens, cost=cost, latency_s=latency_s)


class TargetGenerator:
    """Calls a function with each row; plain ones in threads, so that they go side by side."""

    def __init__(self, spec: TargetSpec, terms: Terms) -> None:
        self._spec = spec
        self._function = _found(spec.function)
        self._is_async = _is_async(self._function)
        self._takes_sample = "sample" in inspect.signature(self._function).parameters
        self._timeout_s = spec.timeout_seconds or terms.timeout_s
        self._free = asyncio.Semaphore(terms.parallelism)

    async def generate(self, row: Mapping[str, Any], sample: int, calls: SampleCalls) -> Generated:
        """Attempt one row, see `Generator`."""

        async def make() -> str:
            async with self._free:
                return await self._called(row, sample)

        answer = await calls.perform(self._spec.function, row, make, version=self._spec.version)
        return read_answer(answer.body, answer.latency_s)

    def close(self) -> None:
        """Nothing is held: a thread that never ends dies with the process."""

    async def _called(self, row: Mapping[str, Any], sample: int) -> str:
        more = {"sample": sample} if self._takes_sample else {}
        given = dict(row)  # a function that changes its row changes no other's
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._is_async:
                    found = await self._function(given, **more)
                else:
                    found = await _in_a_thread(lambda: self._function(given, **more))
                    if inspect.isawaitable(found):
                        found = await found
            return as_json(found)
        except TimeoutError:
            if self._timeout_s is None:
                raise _raised(TimeoutError()) from None
            raise CallError(
                "timeout", f"the target gave no answer within {self._timeout_s:g} s"
            ) from None
        except RowError as error:
            raise CallError(error.kind, error.message, hint=error.hint) from None
        except EvalMetricsError:
            raise
        except asyncio.CancelledError as error:
            if was_cancelled():
                raise
            raise _raised(error) from error
        # an agent's sys.exit() would end the loop on which all others run
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise _raised(error) from error


def _raised(error: BaseException) -> CallError:
    return CallError(*raised_words(error, "the target"))


def _found(reference: str) -> Any:
    target = targets.find(reference).target
    if inspect.isclass(target):
        try:
            target = target()
        except Exception as error:
            raise RegistryError(
                f"the target {reference!r} can't be made: {type(error).__name__}: {error}",
                hint="name a function, or a class that is made without arguments and called",
            ) from error
    if not callable(target):
        raise RegistryError(
            f"the target {reference!r} is no function: {origin(target)}",
            hint="name a function that takes a row and gives its answer",
        )
    try:
        inspect.signature(target).bind({})
    except (TypeError, ValueError):
        if "sample" not in inspect.signature(target).parameters:
            raise RegistryError(
                f"the target {reference!r} can't be called with a row: "
                f"{reference.rpartition(':')[2]}{inspect.signature(target)}",
                hint="write def answer(row): ...; a second argument named sample gets the "
                "attempt's number",
            ) from None
    return target


def _is_async(target: Any) -> bool:
    return inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)  # noqa: B004 - an object's own
    )


async def _in_a_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own, which nothing waits for at the end.

    The threads of a pool are waited for when the interpreter ends: one agent that hangs would
    hold a run for ever. Starting a thread takes some 50 microseconds.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = function()
        except StopIteration as stop:  # a future can't hold one
            error = RuntimeError(f"StopIteration: {stop}")
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the run is over, and its loop closed
            return

    threading.Thread(target=run, name="evalmetrics-target", daemon=True).start()
    return await done


def make_generator(
    spec: BenchmarkSpec, terms: Terms, line_of: Callable[..., int]
) -> Generator | None:
    """Make what answers the rows; None where nothing is generated."""
    if spec.answers is None:
        return None
    try:
        if spec.target is not None:
            return TargetGenerator(spec.target, terms)
        return ModelGenerator(spec, terms)
    except EvalMetricsError as error:
        if error.line is None and error.file is None:
            error.line = line_of("target" if spec.target is not None else "model")
        raise
