"""What answers took: the same in whatever order they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.chat import Spending
from pytest_evalmetrics.transport import Price, Tokens

ANSWER = st.tuples(
    st.integers(1, 4),
    st.floats(0.001, 100),
    st.none() | st.builds(Tokens, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
)


def spent(answers):
    found = Spending()
    for answer in answers:
        found.add(*answer)
    return found


def test_sums_cost_and_latency():
    found = spent([(1, 0.5, Tokens(1000, 100, 1100)), (3, 1.5, Tokens(3000, 100, 3100))])
    assert found.as_dict(Price(2, 10)) == {
        "calls": 2,
        "requests": 4,
        "prompt_tokens": 4000,
        "completion_tokens": 200,
        "total_tokens": 4200,
        "without_tokens": 0,
        "cost": pytest.approx(0.01),
        "latency_s": {"mean": 1.0, "p50": 1.0, "p95": 1.45, "max": 1.5},
    }


@given(st.lists(ANSWER, max_size=8).flatmap(lambda a: st.tuples(st.just(a), st.permutations(a))))
def test_the_order_changes_nothing(orders):
    first, other = orders
    assert spent(first).as_dict(Price(1, 2)) == spent(other).as_dict(Price(1, 2))
