"""``model:``: answers of an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import chat_model, compile_prompt, compile_templates, read_reply
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.generation.protocol import Generated
from pytest_evalmetrics.transport import tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.expressions.templates import Rendered
    from pytest_evalmetrics.generation.protocol import SampleCalls
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Terms

__all__ = ["ModelGenerator"]

_KIND = "generate/1"
# what a model says on purpose, and was paid for: it is kept, and not asked again
_SAID = frozenset({"refusal", "filtered", "cut-off"})


class ModelGenerator:
    """Asks a model.

    Parameters
    ----------
    spec
        The benchmark; has a model and a prompt.
    terms
        On what terms endpoints are called.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    SecretError
        The key is not in the environment.
    """

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
