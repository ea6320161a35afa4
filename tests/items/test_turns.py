"""Benchmarks that stop early, where the run has a budget that all of them share."""

import pytest

from pytest_evalmetrics import rounds
from pytest_evalmetrics.items.turns import share_budget

EARLY = """\
  - name: {name}
    dataset: data.jsonl
    model: {{url: "http://127.0.0.1:9/v1", name: m}}
    prompt_template: "{{{{ question }}}}"
    num_samples: {samples}
    scorers: [{{type: exact_match, reference: "{{{{ item.answer }}}}"}}]
"""
BUDGET = "--evalmetrics-budget=100calls"


def benchmarks(*names, samples="{min: 1, max: 4, stop: early}"):
    return "benchmarks:\n" + "".join(
        EARLY.format(name=name, samples=samples) for name in names
    )


@pytest.fixture
def turns(collected, monkeypatch):
    """Share a budget among the benchmarks of a file; give their names, call by call."""
    shared = []

    def in_turns(given, budget):
        names = [one.benchmark.spec.name for one, _ in given]
        sharing = {one.benchmarks for one, _ in given}
        shared.append((names, sharing, type(budget).__name__))

    monkeypatch.setattr(rounds, "in_turns", in_turns)

    def share(text, *arguments, times=1):
        items = collected(text, *arguments)
        for _ in range(times):
            share_budget(items[0].config, items, 7)
        return shared

    return share


def test_benchmarks_that_stop_early_share_the_budget_of_the_run(turns):
    assert turns(benchmarks("a", "b"), BUDGET) == [(["a", "b"], {7}, "Budget")]


def test_the_budget_is_shared_once_in_a_run(turns):
    assert len(turns(benchmarks("a", "b"), BUDGET, times=3)) == 1


def test_a_benchmark_that_draws_all_at_once_takes_no_turn(turns):
    text = benchmarks("a", "b") + EARLY.format(name="c", samples=4)
    assert turns(text, BUDGET) == [(["a", "b"], {7}, "Budget")]


def test_one_benchmark_shares_with_nobody(turns):
    assert turns(benchmarks("a"), BUDGET) == []


def test_without_a_budget_nothing_is_shared(turns):
    assert turns(benchmarks("a", "b")) == []


@pytest.mark.parametrize(
    "option",
    [
        # the first failure ends the run: those after it ask nothing
        "--maxfail=1",
        # a baseline takes all rollouts
        "--evalmetrics-update",
        # answers are not kept until the end
        "--evalmetrics-no-journal",
    ],
)
def test_benchmarks_that_may_not_ask_twice_take_no_turns(turns, option):
    assert turns(benchmarks("a", "b"), BUDGET, option) == []


def test_an_option_lets_benchmarks_stop_early(turns):
    text = benchmarks("a", "b", samples=4)
    assert turns(text, BUDGET, "--evalmetrics-stop-early") == [
        (["a", "b"], {7}, "Budget")
    ]
