"""Functions of the user's own: plain and async, with keys, and what is wrong with them."""

import asyncio
import threading

import pytest
from scoring.scorers import own_functions
from scoring.scorers.offline import entry, make, recorded, row
from scoring.scorers.own_functions import ITEM

from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.errors import DataError, RegistryError, RowError
from pytest_evalmetrics.model.notes import Remark

HERE = "scoring.scorers.own_functions"


def spec(function, **keys):
    return entry(python=f"{HERE}:{function}", **keys)


def score(keys, at):
    return asyncio.run(make(keys).score_with(at, None)).scores  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (spec("length"), {"length": 3}),
        (spec("length", scores=["n"]), {"n": 3}),
        (spec("is_short"), {"is_short": 1}),
        (spec("is_short", limit=2), {"is_short": 0}),
        (spec("partial"), {"partial": 0}),
        (spec("explained"), {"explained": 0.5}),
        (spec("later"), {"later": 0.3}),
        (spec("called"), {"called": 1}),
        (spec("called_later"), {"called_later": 0.3}),
        (entry(type=f"{HERE}:is_short", limit=2), {"is_short": 0}),
    ],
)
def test_functions_score(keys, expected):
    assert score(keys, recorded(ITEM)) == expected


def test_a_registered_function_may_make_a_scorer():
    class Counted:
        scores = ("counted",)

        async def score(self, row, _calls):
            return len(row.item)

    @register_scorer("test-functions-factory")
    def make():
        return Counted()

    assert score(entry(type="test-functions-factory"), recorded(ITEM)) == {"counted": 1}


@pytest.mark.parametrize(
    ("keys", "kind", "message"),
    [
        (spec("refuses"), "no-output", "there is nothing in"),
        (spec("breaks"), "raised-KeyError", "the scorer raised KeyError: 'nothing'"),
        (spec("leaves"), "raised-SystemExit", "the scorer raised SystemExit: 3"),
        (spec("cancels"), "raised-CancelledError", "the scorer raised CancelledError"),
        (
            spec("generated"),
            "no-score",
            "the scorer gave asked, got, expected generated",
        ),
        (
            spec("length", scores=["a", "b"]),
            "no-score",
            "the scorer gave 3, expected a, b",
        ),
        (entry(type=f"{HERE}:breaks"), "raised-KeyError", "the scorer raised KeyError"),
    ],
)
def test_failed_rows(keys, kind, message):
    with pytest.raises(RowError) as raised:
        score(keys, row(ITEM))
    assert raised.value.kind == kind
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (spec("nothing"), RegistryError, f"the scorer '{HERE}:nothing' can't be found"),
        (spec("ITEM"), RegistryError, f"'{HERE}:ITEM' is not a function"),
        (
            spec("is_short", limt=2),
            DataError,
            f"'{HERE}:is_short' can't be called with a row and",
        ),
    ],
)
def test_scorers_that_can_not_be_built(keys, error, message):
    with pytest.raises(error) as raised:
        make(keys)
    assert str(raised.value).startswith(message)
    assert raised.value.line == 1  # type: ignore[attr-defined]


def test_a_function_that_forgets_to_await_stops_the_benchmark():
    with pytest.raises(
        RegistryError, match="gives a coroutine: write it as `async def`"
    ):
        make(spec("forgets_await")).score(recorded(ITEM))


def test_a_plain_function_does_not_hold_the_loop_up_and_runs_once_at_a_time():
    scorer = make(spec("slow"))

    async def run():
        both = asyncio.gather(
            *(scorer.score_with(row({"n": n}), None) for n in (1, 2))  # type: ignore[arg-type]
        )
        await asyncio.to_thread(own_functions.together.wait, 20)
        assert own_functions.inside != [threading.current_thread().name]
        own_functions.release.set()  # the loop goes on while the function waits for it
        return await asyncio.wait_for(both, 20)

    assert [each.scores for each in asyncio.run(run())] == [{"slow": 1}, {"slow": 2}]


class Made:
    """What a factory gives: a scorer of some score, with what it states."""

    def __init__(self, scores, **stated):
        self.scores = scores
        self.__dict__.update(stated)

    def score(self, at):
        return {name: len(at.item) for name in self.scores}


def registered(name, made):
    """Register a scorer of the user's own under a name, once; give its entry."""

    @register_scorer(f"test-functions-{name}")
    def factory():
        return made

    return entry(type=f"test-functions-{name}")


class Scoreless:
    scores = ("x",)


@pytest.mark.parametrize(
    ("name", "made", "message", "hint"),
    [
        ("scoreless", Scoreless(), "has no method score", None),
        (
            "text",
            Made("accuracy"),
            "does not say what it gives: its `scores` is 'accuracy'",
            'write scores = ("accuracy",) in its class',
        ),
        (
            "none",
            Made(()),
            "does not say what it gives: its `scores` is ()",
            'write scores = ("accuracy",) in its class',
        ),
        (
            "numbers",
            Made((1,)),
            "does not say what it gives: its `scores` is (1,)",
            'write scores = ("accuracy",) in its class',
        ),
        (
            "other-score",
            Made(("a", "b"), directions={"c": "lower"}),
            "has directions = {'c': 'lower'}, expected one of its scores, a, b, and",
            None,
        ),
        (
            "other-way",
            Made(("a",), directions={"a": "up"}),
            "has directions = {'a': 'up'}, expected one of its scores, a, and",
            None,
        ),
    ],
)
def test_a_scorer_that_does_not_say_what_it_gives_is_refused(name, made, message, hint):
    with pytest.raises(RegistryError) as raised:
        make(registered(name, made))
    assert message in raised.value.message
    assert raised.value.hint == hint


def test_what_a_scorer_states_is_kept():
    made = Made(("a", "b"), directions={"a": "lower"}, notes=("mind this",))
    scorer = make(registered("stating", made))
    assert scorer.scores == ("a", "b")
    assert scorer.directions == {"a": "lower"}
    assert scorer.notes == (Remark("mind this"),)
    assert scorer.foreign
    assert not scorer.calls


def test_a_class_is_not_the_function_of_a_scorer():
    with pytest.raises(RegistryError) as raised:
        make(spec("Called"))
    assert raised.value.hint == f"a class is named by its type: `type: {HERE}:Called`"


def test_keys_that_a_factory_does_not_take_are_named():
    @register_scorer("test-functions-keys")
    def factory(*, limit):
        return Made(("a",), limit=limit)

    assert make(entry(type="test-functions-keys", limit=2)).scores == ("a",)
    with pytest.raises(
        DataError, match="can't be made of its keys: TypeError"
    ) as raised:
        make(entry(type="test-functions-keys", limt=2))
    assert raised.value.hint.startswith("its keys are the arguments of ")
