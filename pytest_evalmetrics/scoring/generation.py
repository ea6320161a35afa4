"""Answers to the rows of a data set: by a model, or by a function of the user."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pytest_evalmetrics import depends
from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    RegistryError,
    RowError,
    raised_words,
)
from pytest_evalmetrics.json_types import object_of, text_of_value
from pytest_evalmetrics.local_code import code_hash
from pytest_evalmetrics.registry import origin, targets
from pytest_evalmetrics.scoring.chat.models import chat_model
from pytest_evalmetrics.scoring.chat.prompts import compile_prompt, compile_templates
from pytest_evalmetrics.scoring.chat.replies import Reply, read_reply, tool_calls_of
from pytest_evalmetrics.scoring.transport import (
    CallError,
    Terms,
    tokens_of,
    was_cancelled,
)
from pytest_evalmetrics.spec.metric_names import GENERATED_SCORES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from pytest_evalmetrics.expressions import Rendered
    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.scoring.chat.row_calls import Calls
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.spec.model_keys import ModelSpec, TargetSpec


class Generated(msgspec.Struct, frozen=True):
    """One answer to one row."""

    reply: Reply
    # as a body of OpenAI's API
    response: Mapping[str, object]
    # seconds that it took when it was paid for
    latency_s: float
    # of the tokens; NaN without a price, or without tokens
    cost: float = math.nan
    # further keys of a target's answer
    more: Mapping[str, object] = msgspec.field(default_factory=dict)
    # the defect of an answer that was paid for all the same: a refusal, nothing but reasoning
    failure: RowError | None = None

    @property
    def sample_data(self) -> dict[str, object]:
        """The value of ``sample`` in templates."""
        return {
            **self.more,
            "output_text": self.reply.text,
            "response": self.response,
            "reasoning": self.reply.reasoning,
            "tool_calls": list(self.reply.tool_calls),
            "finish_reason": self.reply.finish_reason,
        }

    @property
    def measured(self) -> dict[str, float]:
        """Its columns, by the names of `GENERATED_SCORES`; NaN for unknown ones."""
        measured = {
            "input_tokens": math.nan,
            "output_tokens": math.nan,
            "total_tokens": math.nan,
            "latency_s": self.latency_s,
            "cost": self.cost,
            "truncated": float(self.reply.finish_reason == "length"),
        }
        tokens = self.reply.tokens
        if tokens is not None:
            measured["input_tokens"] = float(tokens.prompt)
            measured["output_tokens"] = float(tokens.completion)
            measured["total_tokens"] = float(tokens.total)
        return measured


# both make the first call of a row before anything is awaited: calls are counted in the order of
# the rows, so that a run that is started again finds its answers
Generator: TypeAlias = "TargetGenerator | ModelGenerator"


def make_generator(
    spec: BenchmarkSpec, terms: Terms, line_of: Callable[..., int], folder: Path
) -> Generator | None:
    """Make the generator of a benchmark; None if nothing is generated.

    Answers are kept for as long as the files that the benchmark `depends` on, by globs relative
    to its folder, are unchanged.
    """
    for pattern in depends.unmatched(spec.depends, folder):
        raise DataError(
            f"depends: no file matches {pattern!r}, relative to the folder of the benchmark file",
            line=line_of("depends", spec.depends.index(pattern)),
        )
    files = ""
    if spec.depends:
        files = depends.digest(spec.depends, folder)
    try:
        if spec.target is not None:
            return TargetGenerator(spec.target, terms, files)
        if spec.model is None:
            return None
        return ModelGenerator(spec.model, spec, terms, files)
    except EvalMetricsError as error:
        if error.line is None and error.file is None:
            key = "model" if spec.target is None else "target"
            error.line = line_of(key)
        raise


# the kinds of answers that a model gives on purpose: they are paid for, kept and not asked again
_ON_PURPOSE = frozenset({"refusal", "filtered", "cut-off", "no-answer"})
_WITHOUT_COST = tuple(name for name in GENERATED_SCORES if name != "cost")


class ModelGenerator:
    """Asks a model; the number of the sample is not sent."""

    type = "model"

    def __init__(
        self, model: ModelSpec, spec: BenchmarkSpec, terms: Terms, files: str = ""
    ) -> None:
        # further versions that its answers depend on
        self._versions: dict[str, str] = {}
        if files:
            self._versions["depends"] = files
        self._model = chat_model(model, terms, spec.params)
        self.scores = tuple(GENERATED_SCORES)
        # the names of its models without a price, which no budget in money can count
        self.unpriced_names: tuple[str, ...] = ()
        if self._model.price is None:
            self.scores = _WITHOUT_COST
            self.unpriced_names = (model.name,)
        self._prompt = compile_prompt(spec.prompt_template)
        self._more: dict[str, Rendered] = {}
        if spec.tools is not None:
            self._more["tools"] = compile_templates(spec.tools, "tools", body=True)
        if spec.response_format is not None:
            self._more["response_format"] = compile_templates(
                spec.response_format, "response_format", body=True
            )

    async def generate(
        self, row: Mapping[str, object], sample: int, calls: Calls
    ) -> Generated:
        """Attempt one row."""
        del sample
        context = {**row, "item": row, "sample": {}}
        more = {key: render(context) for key, render in self._more.items()}
        request = self._model.request(self._prompt(context), **more)

        body = await calls.post(
            self._model.endpoint,
            request,
            kind="generate/1",
            check=self._read,
            versions=self._versions,
        )
        reply, failure = self._read(body)
        cost = math.nan
        if reply.tokens is not None and self._model.price is not None:
            cost = reply.tokens.cost(self._model.price)
        response = object_of(body)
        if "choices" not in response:
            response = _as_completion(response, reply)
        return Generated(reply, response, calls.latency_s, cost, failure=failure)

    def _read(self, body: JsonValue) -> tuple[Reply, RowError | None]:
        """Read a body; with the error of one that holds no answer on purpose."""
        try:
            return read_reply(body, self._model.end_token), None
        except RowError as error:
            if error.kind not in _ON_PURPOSE:
                raise
            finish = ""
            if error.kind == "cut-off":
                finish = "length"
            reply = Reply("", finish_reason=finish, tokens=tokens_of(body))
            return reply, error


def _as_completion(body: JsonObject, reply: Reply) -> JsonObject:
    """Write the body of another API as chat completions do, which scorers and templates read."""
    choice: JsonObject = {
        "index": 0,
        "message": dict(reply.message),
        "finish_reason": reply.finish_reason,
    }
    completion = {key: body[key] for key in body if key in ("id", "model", "usage")}
    completion["choices"] = [choice]
    return completion


class TargetGenerator:
    """Calls a function with each row; plain ones in threads, so that they run side by side."""

    type = "target"
    # of each answer
    scores = _WITHOUT_COST

    def __init__(self, spec: TargetSpec, terms: Terms, files: str = "") -> None:
        self._spec = spec
        self._function = _target(spec.function)
        # an `async def` does its work when it is awaited, and needs no thread
        self._is_async = inspect.iscoroutinefunction(self._function)
        self._version = _version_of(spec, files)
        self._takes_sample = "sample" in inspect.signature(self._function).parameters
        self._timeout_s = spec.timeout_seconds or terms.timeout_s
        self._free = asyncio.Semaphore(terms.parallelism)
        # an engine may replace it, to call the function elsewhere
        self.call: Callable[[Mapping[str, object], int], Awaitable[str]] = self.answer

    async def generate(
        self, row: Mapping[str, object], sample: int, calls: Calls
    ) -> Generated:
        """Attempt one row."""

        async def make() -> str:
            async with self._free:
                return await self.call(row, sample)

        answer = await calls.perform(
            self._spec.function, row, make, version=self._version
        )
        return read_answer(answer.body, answer.latency_s)

    async def answer(self, row: Mapping[str, object], sample: int) -> str:
        """Call the function; return its answer as JSON."""
        given = dict(row)  # a function that changes its row changes no other's
        call = partial(self._function, given)
        if self._takes_sample:
            call = partial(self._function, given, sample=sample)
        try:
            async with asyncio.timeout(self._timeout_s):
                value = call() if self._is_async else await _in_a_thread(call)
                if inspect.isawaitable(value):
                    value = await value
            return as_json(value)
        except EvalMetricsError:
            raise
        # an agent's sys.exit() would end the loop on which all others run
        except (
            Exception,
            SystemExit,
            KeyboardInterrupt,
            asyncio.CancelledError,
        ) as error:
            if isinstance(error, TimeoutError) and self._timeout_s is not None:
                text = f"the target gave no answer within {self._timeout_s:g} s"
                raise CallError("timeout", text) from None
            if isinstance(error, asyncio.CancelledError) and was_cancelled():
                raise
            raise CallError(*raised_words(error, "the target")) from error


def _version_of(spec: TargetSpec, files: str) -> str | None:
    """Return the version by which the journal knows a target's answers; None for no answers.

    Its own version is not trusted alone: the code may have changed without it.
    """
    if spec.version is None and not files:
        return None
    source = code_hash(spec.function)
    return json.dumps([spec.version, source, files])


def _target(reference: str) -> Callable[..., object]:
    target: object = targets.find(reference).target
    if inspect.isclass(target):
        try:
            target = target()
        except Exception as error:
            message = f"the target {reference!r} can't be made: {type(error).__name__}: {error}"
            hint = (
                "name a function, or a class that is made without arguments and called"
            )
            raise RegistryError(message, hint=hint) from error
    if not callable(target):
        message = f"the target {reference!r} is not a function: {origin(target)}"
        raise RegistryError(
            message, hint="name a function that takes a row and gives its answer"
        )
    try:
        inspect.signature(target).bind({})
    except (TypeError, ValueError):
        signature = inspect.signature(target)
        if "sample" not in signature.parameters:
            called = f"{reference.rpartition(':')[2]}{signature}"
            message = f"the target {reference!r} can't be called with a row: {called}"
            hint = "write def answer(row): ...; or (row, sample), with the attempt's number"
            raise RegistryError(message, hint=hint) from None
    return target


async def _in_a_thread(function: Callable[[], object]) -> object:
    """Call a function in a thread of its own, which nothing waits for at the end, in 50 us."""
    future: Future[object] = Future()
    future.set_running_or_notify_cancel()  # it can't be cancelled any more, only abandoned

    def run() -> None:
        try:
            future.set_result(function())
        except StopIteration as stop:  # a coroutine can't raise one
            future.set_exception(RuntimeError(f"StopIteration: {stop}"))
        except BaseException as error:  # noqa: BLE001 - handed to the coroutine that waits
            future.set_exception(error)

    threading.Thread(target=run, name="evalmetrics-target", daemon=True).start()
    return await asyncio.wrap_future(future)


_TEXT_KEYS = ("output_text", "output", "response", "content", "text")
_OUR_KEYS = {*_TEXT_KEYS, "usage", "tool_calls", "reasoning", "finish_reason", "role"}


def as_json(value: object) -> str:
    """Write a target's answer: builtins, or an object with a ``model_dump`` of them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # a model of pydantic, such as an answer of the OpenAI client
        value = dump(mode="json")
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        given = f"a {type(value).__name__} that can't be written as JSON: {error}"
        hint = "give a text, a message, or a mapping with output"
        raise RowError("no-answer", f"the target gave {given}", hint=hint) from None


def read_answer(value: JsonValue, latency_s: float) -> Generated:
    """Read a target's answer: a text, a message, a mapping with the text, or a whole body."""
    if isinstance(value, str):
        value = {"content": value}
    if not isinstance(value, dict):
        raise _no_answer(
            f"{value!r:.60}, expected a text, a message, or a mapping with output"
        )
    if "choices" in value:
        return Generated(read_reply(value), value, latency_s)
    more = {key: item for key, item in value.items() if key not in _OUR_KEYS}
    text = _text_in(value)
    if isinstance(text, dict) and "choices" in text:  # the whole body as `response`
        body = {"usage": value.get("usage"), **text}
        return Generated(read_reply(body), body, latency_s, more=more)
    reply = _reply_in(value, text)
    choice: JsonObject = {"index": 0, "message": reply.message}
    response: JsonObject = {"choices": [choice]}
    if isinstance(value.get("usage"), dict):
        response["usage"] = value["usage"]
    return Generated(reply, response, latency_s, more=more)


def _text_in(answer: JsonObject) -> JsonValue:
    """Return what stands under the first key for the text of an answer; None without one."""
    for key in _TEXT_KEYS:
        if answer.get(key) is not None:
            return answer[key]
    return None


def _reply_in(answer: JsonObject, text: JsonValue) -> Reply:
    """Make the reply of a mapping, worded as OpenAI's API does, for scorers that read it so."""
    calls = tool_calls_of(answer)
    if text is None and calls:
        text = ""
    if not isinstance(text, str):
        given = f"the keys {', '.join(answer)[:60]}"
        if text is not None:
            given = f"{text!r:.60}"
        raise _no_answer(f"{given}, expected the answer's text under output")
    reasoning = text_of_value(answer.get("reasoning"))
    if not text.strip() and not calls and reasoning.strip():
        raise _no_answer(f"reasoning and no answer: {reasoning!r:.60}")
    message: JsonObject = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    return Reply(
        text=text,
        reasoning=reasoning,
        tool_calls=calls,
        finish_reason=text_of_value(answer.get("finish_reason")),
        message=message,
        tokens=tokens_of(answer),
    )


def _no_answer(given: str) -> RowError:
    return RowError("no-answer", f"the target gave {given}")
