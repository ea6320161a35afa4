"""What is sent to a model: what the user asked for, and nothing else."""

import pytest

from pytest_evalmetrics.ext import chat_model
from pytest_evalmetrics.scorers import Terms
from pytest_evalmetrics.spec import ParamsSpec, ReasoningSpec
from pytest_evalmetrics.spec.model_keys import ModelSpec, PriceSpec

SAID = [{"role": "user", "content": "hello"}]


def spec(url="http://h/v1/chat/completions", **more):
    return ModelSpec(url=url, name="m", **more)


@pytest.mark.parametrize(
    ("url", "form", "sent_to", "plain"),
    [
        ("http://h/v1", None, "http://h/v1/chat/completions", False),
        ("http://h/v1/", None, "http://h/v1/chat/completions", False),
        ("http://h/v1", "completions", "http://h/v1/completions", True),
        ("http://h/v1/completions?x=1", None, "http://h/v1/completions?x=1", True),
        ("http://h/v1/chat/completions", None, "http://h/v1/chat/completions", False),
        ("http://h/openai/deployments/a", None, "http://h/openai/deployments/a", False),
    ],
)
def test_where_it_is(url, form, sent_to, plain):
    model = chat_model(spec(url, format=form), Terms())
    assert (model.endpoint.url, model.plain) == (sent_to, plain)


def test_a_models_own_keys_come_before_those_of_params():
    params = ParamsSpec(
        inference={"temperature": 0, "seed": 1},
        system_prompt="detailed thinking on",
        reasoning=ReasoningSpec(end_token="</think>", effort="low"),  # noqa: S106 - no password
    )
    model = chat_model(spec(inference={"temperature": 1}), Terms(), params)
    assert model.request(SAID) == {
        "model": "m",
        "messages": [{"role": "system", "content": "detailed thinking on"}, *SAID],
        "reasoning_effort": "low",
        "temperature": 1,
        "seed": 1,
    }
    assert model.end_token == "</think>"  # noqa: S105 - no password
    own = chat_model(spec(system_prompt="off", reasoning=ReasoningSpec()), Terms(), params)
    assert (own.system_prompt, own.end_token) == ("off", None)
    system = [{"role": "system", "content": "mine"}, *SAID]
    assert own.request(system)["messages"] == system


def test_a_plain_one_gets_one_text():
    model = chat_model(spec("http://h/v1/completions", system_prompt="be short"), Terms())
    assert model.request(SAID) == {"model": "m", "prompt": "be short\n\nhello"}


def test_prices_are_per_million_tokens():
    model = chat_model(spec(price=PriceSpec(input=2, output=6)), Terms())
    assert model.price is not None
    model.spending.add(1, 0.25, None)
    assert model.spending.as_dict(model.price)["cost"] is None  # an answer doesn't say its tokens
