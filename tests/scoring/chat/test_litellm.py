"""Models asked by LiteLLM: what its package is given, and what becomes of its answers.

A module stands in for the package, which takes seconds to load and is not installed everywhere.
"""

import asyncio
import json
import logging
import os
import sys
from types import ModuleType

import pytest
from msgspec import structs
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, Endpoint, Terms, chat_model
from pytest_evalmetrics.scoring.chat.litellm_sender import LiteLlmSender, price_of
from pytest_evalmetrics.scoring.transport.secrets import Secret
from pytest_evalmetrics.scoring.transport.wire import MissingExtraError
from pytest_evalmetrics.spec.model_keys import PriceSpec

QUESTION = b'{"model": "openai/gpt-x", "messages": []}'
ENDPOINT = Endpoint("litellm://openai/gpt-x", timeout_s=7.0)


class Answered:
    """What LiteLLM returns."""

    def model_dump(self, mode, *, warnings):
        assert (mode, warnings) == ("json", False)
        return {"choices": [{"message": {"content": "5"}}]}


class Refused(Exception):  # noqa: N818 - a stand-in of theirs
    """What LiteLLM raises."""

    def __init__(self, status_code, message, headers=None):
        super().__init__("Refused: in LiteLLM's own words")
        self.status_code = status_code
        self.message = message
        self.response = None
        if headers is not None:
            self.response = type("Response", (), {"headers": headers})()


@pytest.fixture
def litellm(monkeypatch):
    module = ModuleType("litellm")
    module.asked = []
    module.outcome = Answered()

    async def acompletion(**keys):
        module.asked.append(keys)
        if isinstance(module.outcome, Exception):
            raise module.outcome
        return module.outcome

    def cost_per_token(model, prompt_tokens, completion_tokens):
        if model != "openai/gpt-x":
            raise ValueError(model)
        return 2e-6 * prompt_tokens, 1e-5 * completion_tokens

    module.acompletion = acompletion
    module.cost_per_token = cost_per_token
    module.get_model_info = lambda model: {"cache_read_input_token_cost": 2e-7}  # noqa: ARG005
    monkeypatch.setitem(sys.modules, "litellm", module)
    monkeypatch.delenv("LITELLM_LOCAL_MODEL_COST_MAP", raising=False)
    return module


def sent(endpoint=ENDPOINT, url=None):
    sender = LiteLlmSender(url, must_send=True)
    return asyncio.run(sender.send(endpoint, QUESTION))


def test_it_is_asked_once_within_the_endpoints_time(litellm):
    answer = sent()
    assert litellm.asked == [
        {"model": "openai/gpt-x", "messages": [], "timeout": 7.0, "max_retries": 0}
    ]
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(answer.body) == {"choices": [{"message": {"content": "5"}}]}


def test_it_gets_the_key_and_the_url_of_the_file(litellm):
    key = Secret("my-key", "MY_KEY", "a-key-of-mine")
    sent(structs.replace(ENDPOINT, secret=key), url="http://h/v1")
    assert litellm.asked[0]["api_key"] == "a-key-of-mine"
    assert litellm.asked[0]["api_base"] == "http://h/v1"


def test_it_is_quiet_and_fetches_no_list_of_prices(litellm):
    sent()
    assert litellm.telemetry is False
    assert litellm.suppress_debug_info is True
    assert logging.getLogger("LiteLLM").level == logging.CRITICAL
    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_its_error_is_an_answer_with_that_status_and_its_words(litellm):
    litellm.outcome = Refused(429, "slow down", {"retry-after": 7})
    answer = sent()
    assert answer.status == 429
    assert answer.headers == {"Content-Type": "application/json", "Retry-After": "7"}
    assert json.loads(answer.body) == {"error": "slow down"}


@pytest.mark.parametrize("headers", [None, {}])
def test_an_error_that_asks_for_no_wait_has_none(litellm, headers):
    litellm.outcome = Refused(500, "oh", headers)
    assert "Retry-After" not in sent().headers


def test_a_fault_of_its_own_without_a_status_is_raised(litellm):
    litellm.outcome = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        sent()


def test_it_knows_the_price_of_a_model(litellm):
    assert litellm
    assert price_of("openai/gpt-x") == PriceSpec(
        input=2.0, output=10.0, cache_read=pytest.approx(0.2), cache_write=None
    )


def test_a_model_that_it_does_not_know_has_no_price(litellm):
    assert litellm
    assert price_of("mine/own") is None


def test_a_missing_package_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match="a model of type litellm") as raised:
        LiteLlmSender(None, must_send=True)
    assert "litellm" in raised.value.hint


def test_a_replay_needs_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    LiteLlmSender(None, must_send=False)
    assert price_of("openai/gpt-x") is None


def model_of(**keys):
    whole = {
        "name": "x",
        "dataset": "d",
        "prompt_template": "q",
        "model": {"type": "litellm", **keys},
        "scorers": [{"type": "exact-match", "reference": "x"}],
    }
    spec = TypeAdapter(BenchmarkSpec).validate_json(json.dumps(whole))
    return chat_model(spec.model, Terms())


@pytest.mark.parametrize(
    ("name", "url", "origin"),
    [
        ("openai/gpt-x", "litellm://openai/openai/gpt-x", "litellm://openai:0"),
        ("vertex ai/m", "litellm://vertex-ai/vertex%20ai/m", "litellm://vertex-ai:0"),
        ("gpt-x", "litellm://default/gpt-x", "litellm://default:0"),
    ],
)
def test_its_provider_is_the_scope_of_limits(litellm, name, url, origin):
    assert litellm
    endpoint = model_of(name=name).endpoint
    assert (endpoint.url, endpoint.origin) == (url, origin)


def test_a_price_in_the_file_comes_before_the_one_that_it_knows(litellm):
    assert litellm
    assert model_of(name="openai/gpt-x").price.output == 10.0
    own = model_of(name="openai/gpt-x", price={"input": 1, "output": 3})
    assert (own.price.input, own.price.output) == (1, 3)
    assert own.endpoint.price == own.price
