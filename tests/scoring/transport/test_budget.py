"""Budgets and forecasts of calls: what is used up, what is left, and the words for both."""

import threading
import time

import pytest
from scoring.transport.fakes import FakeTime

from pytest_evalmetrics.scoring.transport import Budget, Forecast, Progress, Usage
from pytest_evalmetrics.scoring.transport.usage import UsageTally, duration

REQUESTS = "the budget of 5 requests"
LIMITS = {"requests": (5, REQUESTS), "tokens": (100, "the budget of 100 tokens")}


def test_a_budget_is_used_up_where_a_limit_is_reached():
    budget = Budget(LIMITS)
    budget.add(4, 99, 0.5)
    assert budget.used_up() == ""
    budget.add(1, 0, 0.0)
    assert budget.used_up() == REQUESTS


def test_each_limit_ends_a_budget():
    budget = Budget(LIMITS)
    budget.add(1, 100, 0.0)
    assert budget.used_up() == "the budget of 100 tokens"


def test_rollouts_that_have_begun_count_as_a_request_each():
    budget = Budget(LIMITS)
    budget.add(3, 0, 0.0)
    budget.begun = 2
    assert budget.used_up() == REQUESTS
    budget.begun = 1
    assert budget.used_up() == ""


def test_what_is_spent_is_counted_by_its_names():
    budget = Budget(LIMITS)
    budget.add(1, 10, 0.25)
    budget.add(2, 20, 0.5)
    spent = budget.spent()
    assert spent.pop("seconds") < 60
    assert spent == {"requests": 3, "tokens": 30, "cost": 0.75}


def test_seconds_are_counted_from_the_start_of_the_run():
    limits = {"seconds": (60, "the budget of 1 minute")}
    assert Budget(limits).used_up() == ""
    assert Budget(limits, started=1.0).used_up() == "the budget of 1 minute"


def test_processes_of_a_run_spend_one_budget(tmp_path):
    path = tmp_path / "run" / "spent"
    one = Budget(LIMITS, path)
    other = Budget(LIMITS, path)
    one.add(3, 30, 0.25)
    other.add(2, 20, 0.5)
    for budget in (one, other):
        spent = budget.spent()
        assert (spent["requests"], spent["tokens"], spent["cost"]) == (5, 50, 0.75)
        assert budget.used_up() == REQUESTS
        budget.close()


def test_a_budget_says_how_much_of_it_is_spent():
    budget = Budget({"requests": (5, "5 requests"), "cost": (2, "2 usd")})
    budget.add(3, 0, 1.25)
    assert budget.text == "3 of 5 requests, 1.25 of 2 usd spent"


def test_the_progress_shows_the_budget_in_place_of_the_cost():
    budget = Budget({"requests": (5, "5 requests")})
    progress = Progress(
        total=1, clock=FakeTime().clock, cost=lambda: "1 usd", budget=budget
    )
    progress.succeeded()
    assert progress.text == "1/1 row (100%), 0 s, 0 of 5 requests spent"


def test_a_progress_without_a_total_counts_what_is_done():
    clock = FakeTime()
    progress = Progress(clock=clock.clock)
    progress.unit = "answers"
    clock.now += 5
    progress.succeeded()
    assert progress.text == "1 answer, 5 s"
    progress.succeeded()
    assert progress.text == "2 answers, 5 s"
    assert progress.share is None


def test_the_share_of_rows_that_are_done():
    progress = Progress(total=4, clock=FakeTime().clock)
    progress.succeeded()
    assert progress.share == 0.25


# -- forecasts -----------------------------------------------------------------------------


def test_the_rest_takes_what_calls_took_on_average():
    usage = Usage(calls=4, total_tokens=300, without_tokens=1, latency_s=8.0, cost=2.0)
    forecast = Forecast.of(usage, calls=10, parallelism=5)
    assert forecast == Forecast(calls=10, tokens=1000, cost=5.0, seconds=4.0)
    assert forecast.text == "10 calls, about 1e+03 tokens, a cost of about 5, about 4 s"


def test_what_no_call_has_shown_is_unknown():
    assert Forecast.of(Usage(), calls=10, parallelism=5) == Forecast(calls=10)
    assert Forecast(calls=1).text == "1 call"
    usage = Usage(calls=2, without_tokens=2, latency_s=1.0)
    forecast = Forecast.of(usage, calls=4, parallelism=1)
    assert (forecast.tokens, forecast.cost, forecast.seconds) == (None, None, 2.0)


def test_no_call_takes_nothing():
    assert Forecast(calls=0, tokens=0.0, cost=0.0, seconds=0.0).text == "0 calls"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (7384, "2 h 03 min"),
    ],
)
def test_seconds_are_written_for_people(seconds, text):
    assert duration(seconds) == text


def test_a_run_without_calls_has_cost_nothing_that_is_known():
    tally = UsageTally()
    assert tally.cost_now() is None
    assert tally.cost_text() == ""
    assert tally.currency == ""


def test_a_budget_is_counted_by_the_thread_of_the_calls(tmp_path):
    budget = Budget(LIMITS, tmp_path / "run" / "spent")
    calling = threading.Thread(target=budget.add, args=(5, 50, 0.25))
    calling.start()
    calling.join()
    assert budget.spent()["tokens"] == 50
    budget.close()


def test_what_other_processes_spent_before_counts_too(tmp_path):
    path = tmp_path / "run" / "spent"
    earlier = Budget(LIMITS, path)
    earlier.add(5, 0, 0.0)
    earlier.close()
    later = Budget(LIMITS, path)
    assert later.used_up() == REQUESTS
    later.close()


def test_seconds_are_counted_from_the_first_look_without_a_start(monkeypatch):
    budget = Budget({"seconds": (60, "the budget of 1 minute")})
    seconds = []
    for now in (1000.0, 1030.0, 1060.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        seconds.append(budget.spent()["seconds"])
    assert seconds == [0.0, 30.0, 60.0]


def test_the_seconds_of_a_budget_are_shown_in_minutes(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1090.0)
    budget = Budget({"seconds": (120, "2 minutes")}, started=1000.0)
    assert budget.text == "1.5 of 2 minutes spent"
