"""Models of any provider, asked by LiteLLM: its package sends what our client otherwise would."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from importlib import import_module
from typing import Any

from pytest_evalmetrics.scoring import transport
from pytest_evalmetrics.scoring.transport import Endpoint, RawResponse
from pytest_evalmetrics.spec.model_keys import PriceSpec

_MILLION = 1_000_000
_JSON = "application/json"


class LiteLlmSender:
    """Asks a model by LiteLLM; retries, limits and the journal stay those of our client."""

    def __init__(self, url: str | None, *, must_send: bool) -> None:
        self._url = url
        if must_send:
            # a missing package is found before anything is paid
            _imported()

    async def send(self, endpoint: Endpoint, payload: bytes | None) -> RawResponse:
        """Ask once; an error of LiteLLM becomes the answer with its status."""
        request = json.loads(payload or b"{}")
        keys: dict[str, object] = {"timeout": endpoint.timeout_s, "max_retries": 0}
        if endpoint.secret is not None:
            keys["api_key"] = endpoint.secret.reveal()
        if self._url is not None:
            keys["api_base"] = self._url
        try:
            response = await _imported().acompletion(**request, **keys)
        except Exception as error:
            # LiteLLM gives every error the status of HTTP
            status = getattr(error, "status_code", None)
            if not isinstance(status, int):
                raise
            return _refused(status, error)
        whole = response.model_dump(mode="json", warnings=False)
        body = json.dumps(whole).encode()
        return RawResponse(200, {"Content-Type": _JSON}, body)


def _refused(status: int, error: Exception) -> RawResponse:
    headers = {"Content-Type": _JSON}
    response = getattr(error, "response", None)
    with suppress(AttributeError, TypeError):
        wait_s = response.headers.get("retry-after")  # type: ignore[union-attr]
        if wait_s is not None:
            headers["Retry-After"] = str(wait_s)
    words = str(getattr(error, "message", error))
    return RawResponse(status, headers, json.dumps({"error": words}).encode())


def price_of(name: str) -> PriceSpec | None:
    """Return the price that LiteLLM knows of a model's million tokens; None if it knows none."""
    try:
        litellm = _imported()
    except transport.MissingExtraError:
        # a replay needs no LiteLLM
        return None
    try:
        # of a prompt, and of an answer
        costs = litellm.cost_per_token(
            model=name, prompt_tokens=_MILLION, completion_tokens=_MILLION
        )
        info = litellm.get_model_info(model=name)
    except Exception:  # noqa: BLE001 - LiteLLM raises many kinds for an unknown model
        return None
    return PriceSpec(
        input=float(costs[0]),
        output=float(costs[1]),
        cache_read=_of_a_million(info.get("cache_read_input_token_cost")),
        cache_write=_of_a_million(info.get("cache_creation_input_token_cost")),
    )


def _of_a_million(price: object) -> float | None:
    return price * _MILLION if isinstance(price, float) else None


def _imported() -> Any:
    # before it is imported: else it fetches a list of prices
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with transport.needs_extra("litellm", "a model of type litellm"):
        litellm: Any = import_module("litellm")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    # its errors are raised, too
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return litellm
