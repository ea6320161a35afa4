"""What is sent to a model: what the user asked for, and nothing else; and what answers took."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import BenchmarkSpec, Terms, chat_model
from pytest_evalmetrics.scoring.transport import Tokens

SPEC = TypeAdapter(BenchmarkSpec)
SAID = [{"role": "user", "content": "hello"}]


def model(url="http://h/v1/chat/completions", params=None, **keys):
    """Make the model of a benchmark file."""
    asked = {"url": url, "name": "m", **keys}
    whole = {"name": "x", "dataset": "d", "prompt_template": "q", "model": asked}
    whole |= {
        "scorers": [{"type": "exact-match", "reference": "x"}],
        "params": params or {},
    }
    spec = SPEC.validate_json(json.dumps(whole))
    return chat_model(spec.model, Terms(), spec.params)


@pytest.mark.parametrize(
    ("url", "form", "sent_to", "api"),
    [
        ("http://h/v1", None, "http://h/v1/chat/completions", "chat"),
        ("http://h/v1/", None, "http://h/v1/chat/completions", "chat"),
        ("http://h/v1", "completions", "http://h/v1/completions", "completions"),
        ("http://h/v1", "responses", "http://h/v1/responses", "responses"),
        ("http://h/v1", "messages", "http://h/v1/messages", "messages"),
        (
            "http://h/v1/completions?x=1",
            None,
            "http://h/v1/completions?x=1",
            "completions",
        ),
        ("http://h/v1/chat/completions", None, "http://h/v1/chat/completions", "chat"),
        ("http://h/v1/responses", None, "http://h/v1/responses", "responses"),
        ("http://h/v1/messages", None, "http://h/v1/messages", "messages"),
        (
            "http://h/openai/deployments/a",
            None,
            "http://h/openai/deployments/a",
            "chat",
        ),
    ],
)
def test_where_it_is(url, form, sent_to, api):
    asked = model(url, **({"format": form} if form else {}))
    assert (asked.endpoint.url, asked.api) == (sent_to, api)


def test_a_models_own_keys_come_before_those_of_params():
    params = {
        "inference": {"temperature": 0, "seed": 1},
        "system_prompt": "detailed thinking on",
        "reasoning": {"end_token": "</think>", "effort": "low"},
    }
    asked = model(params=params, inference={"temperature": 1})
    assert asked.request(SAID) == {
        "model": "m",
        "messages": [{"role": "system", "content": "detailed thinking on"}, *SAID],
        "reasoning_effort": "low",
        "temperature": 1,
        "seed": 1,
    }
    assert asked.end_token == "</think>"  # noqa: S105 - no password
    own = model(params=params, system_prompt="off", reasoning={})
    assert (own.system_prompt, own.end_token) == ("off", None)
    system = [{"role": "system", "content": "mine"}, *SAID]
    assert own.request(system)["messages"] == system


def test_a_plain_one_gets_one_text():
    asked = model("http://h/v1/completions", system_prompt="be short")
    assert asked.request(SAID) == {"model": "m", "prompt": "be short\n\nhello"}


ANSWER = st.tuples(
    st.integers(1, 4),
    st.floats(0.001, 100),
    st.none()
    | st.builds(Tokens, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
)


def spent(answers):
    """Tell what answers took at 2 and 10 a million tokens."""
    asked = model(price={"input": 2, "output": 10})
    for answer in answers:
        asked.spending.add(*answer)
    return asked.spending.as_dict(asked.price)


def test_sums_cost_and_latency():
    answers = [(1, 0.5, Tokens(1000, 100, 1100)), (3, 1.5, Tokens(3000, 100, 3100))]
    assert spent(answers) == {
        "calls": 2,
        "requests": 4,
        "prompt_tokens": 4000,
        "completion_tokens": 200,
        "total_tokens": 4200,
        "without_tokens": 0,
        "cost": pytest.approx(0.01),
        "latency_s": {"mean": 1.0, "p50": 1.0, "p95": 1.45, "max": 1.5},
    }
    assert (
        spent([*answers, (1, 0.25, None)])["cost"] is None
    )  # it doesn't say its tokens


@given(
    st.lists(ANSWER, max_size=8).flatmap(
        lambda a: st.tuples(st.just(a), st.permutations(a))
    )
)
def test_the_order_of_answers_changes_nothing(orders):
    first, other = orders
    assert spent(first) == spent(other)


@pytest.mark.parametrize(
    ("api", "takes"),
    [("chat", True), ("responses", True), ("completions", False), ("messages", False)],
)
def test_two_apis_take_a_schema_of_the_answer(api, takes):
    assert model("http://h/v1", format=api).takes_schema is takes


def test_anthropics_messages_have_headers_of_their_own():
    endpoint = model("http://h/v1/messages").endpoint
    assert endpoint.headers == (("anthropic-version", "2023-06-01"),)
    assert endpoint.key_header == "x-api-key"
    other = model().endpoint
    assert (other.headers, other.key_header) == ((), None)


def test_anthropics_messages_have_no_reasoning_effort():
    with pytest.raises(EvalMetricsError, match="no reasoning effort") as raised:
        model("http://h/v1/messages", reasoning={"effort": "low"})
    assert raised.value.hint == (
        "write inference: {thinking: {type: enabled, budget_tokens: ...}}"
    )


def test_a_key_without_a_value_is_not_sent():
    body = model().request(SAID, response_format=None, n=2)
    assert body == {"model": "m", "messages": SAID, "n": 2}
