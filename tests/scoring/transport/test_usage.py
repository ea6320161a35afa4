import pytest
from msgspec import structs
from scoring.transport.fakes import broken, ok

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.usage import (
    Tokens,
    Usage,
    UsageTally,
    tokens_of,
)
from pytest_evalmetrics.scoring.transport.wire import Answer
from pytest_evalmetrics.spec.model_keys import PriceSpec

PRICE = PriceSpec(input=2.0, output=10.0)


def usage_of(prompt, completion=0):
    return ok({"usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 9}, (5, 3, 9)),
        ({"input_tokens": 5, "output_tokens": 3}, (5, 3, 8)),
        ({"prompt_tokens": 5, "completion_tokens": None}, (5, 0, 5)),
        (
            {
                "input_tokens": 5,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 100,
                "output_tokens": 3,
            },
            (125, 3, 128),
        ),
        ({"input_tokens": 5, "cache_read_input_tokens": None}, (5, 0, 5)),
        ({"prompt_tokens": 5.0, "completion_tokens": 3, "total_tokens": 0}, (5, 3, 8)),
        ({"prompt_tokens": 5.5}, None),
        ({"prompt_tokens": True, "completion_tokens": -3}, None),
        ({"total_tokens": 7}, None),
        (None, None),
        ([], None),
    ],
)
def test_tokens_are_read_where_an_answer_has_them(client, usage, tokens):
    client(ok({"usage": usage})).ask()
    totals = client.usage
    assert totals.without_tokens == (tokens is None)
    counts = (totals.prompt_tokens, totals.completion_tokens, totals.total_tokens)
    assert counts == (tokens or (0, 0, 0))


@pytest.mark.parametrize("body", [[], 1])
def test_a_body_that_is_no_object_has_no_tokens(client, body):
    client(ok(body)).ask()
    assert client.usage.without_tokens == 1


def test_sums_with_and_without_what_the_journal_answers(client):
    def takes(seconds, answer):
        client.time.now += seconds
        return answer

    client(lambda _: takes(1, usage_of(500_000)), mode="normal").ask(
        "kept", price=PRICE
    )
    slow = lambda _: takes(2, usage_of(1_000_000, 100_000))  # noqa: E731 - short
    client(broken("closed"), broken("closed"), slow, broken("closed"), mode="normal")
    client.ask(price=PRICE)
    client.ask("kept", price=PRICE)
    with pytest.raises(CallError):
        client.ask("fails", price=PRICE)
    usage = structs.asdict(client.usage)
    assert (usage["calls"], usage["from_journal"]) == (2, 1)
    assert (usage["requests"], usage["failed"]) == (7, 1)
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (1_500_000, 100_000)
    assert (usage["total_tokens"], usage["without_tokens"]) == (1_600_000, 0)
    assert usage["latency_s"] == 3.0
    # 1.5 x 2 + 0.1 x 10; without the journal's 0.5 x 2
    assert (usage["cost"], usage["cost_now"]) == (4.0, 3.0)
    assert client.transport.usage.cost_now() == 3.0


CACHED = PriceSpec(input=2.0, output=10.0, cache_read=0.2, cache_write=2.5)
MESSAGES = {
    "input_tokens": 1_000_000,
    "cache_read_input_tokens": 10_000_000,
    "cache_creation_input_tokens": 2_000_000,
    "output_tokens": 100_000,
}
COMPLETIONS = {
    "prompt_tokens": 4_000_000,
    "prompt_tokens_details": {"cached_tokens": 3_000_000},
    "completion_tokens": 100_000,
}


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (MESSAGES, CACHED, 1 * 2 + 10 * 0.2 + 2 * 2.5 + 0.1 * 10),
        (MESSAGES, PRICE, 13 * 2 + 0.1 * 10),
        (COMPLETIONS, CACHED, 1 * 2 + 3 * 0.2 + 0.1 * 10),
        (COMPLETIONS, PRICE, 4 * 2 + 0.1 * 10),
    ],
)
def test_tokens_of_a_providers_cache_have_their_own_price(client, usage, price, cost):
    client(ok({"usage": usage})).ask(price=price)
    assert client.usage.cost == pytest.approx(cost)


def test_a_cost_that_is_not_whole_is_none(client):
    client(ok(), mode="normal").ask("kept", price=PRICE)
    client(usage_of(1_000_000), mode="normal")
    assert client.transport.usage.cost_now() is None
    client.ask(price=PRICE)
    client.ask("kept", price=PRICE)
    assert (client.usage.cost, client.transport.usage.cost_now()) == (None, 2.0)
    client.ask("another")  # nobody knows its price
    assert (client.usage.cost, client.usage.cost_now) == (None, None)
    assert client.transport.usage.cost_now() is None


@pytest.mark.parametrize(
    ("usage", "read", "write"),
    [
        (MESSAGES, 10_000_000, 2_000_000),
        (COMPLETIONS, 3_000_000, 0),
        # as LiteLLM writes an answer of Anthropic's: the prompt holds them
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4}, 4, 0),
        # the Responses API
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}, 4, 0),
        # never more than the prompt
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 40}}, 9, 0),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, 0, 0),
        (
            {
                "prompt_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 0},
                "input_tokens_details": {"cached_tokens": 4},
            },
            4,
            0,
        ),
        (
            {
                "prompt_tokens": 9,
                "cache_read_input_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            3,
            0,
        ),
    ],
)
def test_tokens_of_a_providers_cache_are_read(usage, read, write):
    tokens = tokens_of({"usage": usage})
    assert (tokens.cache_read, tokens.cache_write) == (read, write)


@pytest.mark.parametrize(
    ("usage", "prompt"),
    [
        ({"input_tokens": 5, "cache_read_input_tokens": 4}, 9),
        ({"prompt_tokens": 9, "cache_read_input_tokens": 4}, 9),
        ({"prompt_tokens": 3, "cache_read_input_tokens": 4}, 4),
        ({"completion_tokens": 3}, 0),
    ],
)
def test_a_prompt_is_counted_with_its_tokens_of_the_cache(usage, prompt):
    assert tokens_of({"usage": usage}).prompt == prompt


def test_a_total_that_is_larger_than_the_sum_is_kept():
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 20}
    assert tokens_of({"usage": usage}).total == 20


def answer_with(*, from_journal=False, **usage):
    return Answer(
        body={"usage": usage}, latency_s=1.5, attempts=2, from_journal=from_journal
    )


def test_costs_of_labels_in_one_currency_add_up():
    tally = UsageTally()
    price = PriceSpec(input=2.0, output=10.0, currency="usd")
    for label in ("a", "b"):
        tally.answered(label, answer_with(prompt_tokens=500_000), price)
    assert tally.cost_now() == 2.0
    assert tally.cost_text() == "2 usd"


def test_costs_in_several_currencies_have_no_name():
    tally = UsageTally()
    for currency in ("usd", "eur"):
        price = PriceSpec(input=2.0, output=10.0, currency=currency)
        tally.answered("a", answer_with(prompt_tokens=500_000), price)
    assert tally.currency == ""
    assert tally.cost_text() == "2"


def test_an_answer_of_the_journal_takes_no_request():
    tally = UsageTally()
    tally.answered("a", answer_with(from_journal=True, prompt_tokens=1), PRICE)
    usage = tally.of("a")
    assert (usage.calls, usage.from_journal, usage.requests) == (1, 1, 0)
    assert usage.latency_s == 1.5
    assert usage.cost_now == 0.0


def test_a_label_without_calls_has_used_nothing():
    assert UsageTally().of("a") == Usage()


def test_tokens_without_a_cache_cost_the_usual_price():
    assert Tokens(1_000_000, 500_000, 1_500_000).cost(PRICE) == 2.0 + 5.0


def test_a_cache_without_a_price_of_its_own_costs_that_of_a_prompt():
    tokens = Tokens(3_000_000, 0, 3_000_000, cache_read=1_000_000, cache_write=500_000)
    assert tokens.cost(PRICE) == 6.0
    read = PriceSpec(input=2.0, output=10.0, cache_read=0.0)
    assert tokens.cost(read) == 4.0
    written = PriceSpec(input=2.0, output=10.0, cache_write=4.0)
    assert tokens.cost(written) == 7.0
