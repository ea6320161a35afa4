"""Scorers of an entry: what they are given, what they give, and what is refused."""

import asyncio
import math

import numpy as np
import pytest
from scoring.scorers.offline import entry, make, recorded, row

from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.errors import DataError, EvalMetricsError, RowError
from pytest_evalmetrics.ext import Explained, Terms
from pytest_evalmetrics.model.scores import Agreement, Bin, RubricCount
from pytest_evalmetrics.scoring.scorers import make_scorers, score_row
from pytest_evalmetrics.scoring.scorers.interface import summarise, summarise_all
from pytest_evalmetrics.scoring.scorers.scorer import About

HERE = "scoring.scorers.own_functions"
ITEM = {"output": "abc"}


def spec(function, **keys):
    return entry(python=f"{HERE}:{function}", **keys)


class Given:
    """A scorer of one or several scores that gives what the test says."""

    def __init__(self, gives, scores):
        self.gives = gives
        self.scores = scores

    def score(self, _row):
        return self.gives


def given(gives, scores=("a",)):
    """Score a row by a scorer that gives something; return the result."""

    @register_scorer(f"test-interface-{given.count}")
    def factory():
        return Given(gives, scores)

    kind = f"test-interface-{given.count}"
    given.count += 1
    return make(entry(type=kind)).score(recorded(ITEM))


given.count = 0


# -- what a scorer gives -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gives", "scores"),
    [
        (0.5, {"a": 0.5}),
        ("0.5", {"a": 0.5}),
        (True, {"a": 1.0}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1, "b": 2}, {"a": 1.0}),
        (np.float64(0.25), {"a": 0.25}),
    ],
)
def test_one_score_is_a_number_or_a_number_by_name(gives, scores):
    assert given(gives) == Explained(scores, "")


def test_several_scores_are_numbers_by_name():
    assert given({"b": 2, "a": 1}, ("a", "b")).scores == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize(
    ("reason", "kept"), [("because", "because"), ("", ""), (None, ""), (5, "5")]
)
def test_a_reason_is_kept_as_text(reason, kept):
    assert given(Explained({"a": 1}, reason)).reason == kept
    assert given(Explained(1, reason)) == Explained({"a": 1.0}, kept)


@pytest.mark.parametrize(
    ("gives", "scores", "message"),
    [
        ({"b": 1}, ("a",), "the scorer gave b, expected a"),
        ({}, ("a",), "the scorer gave nothing, expected a"),
        ([1, 2], ("a", "b"), "the scorer gave [1, 2], expected a, b"),
        ({"a": 1, 5: 2}, ("a", "b"), "the scorer gave a, 5, expected a, b"),
        ("x" * 100, ("a", "b"), f"the scorer gave '{'x' * 59}, expected a, b"),
    ],
)
def test_what_a_scorer_did_not_promise_is_no_score(gives, scores, message):
    with pytest.raises(RowError) as raised:
        given(gives, scores)
    assert raised.value.kind == "no-score"
    assert raised.value.message == message
    assert raised.value.hint == "list under scores what it gives"


@pytest.mark.parametrize(
    ("gives", "message"),
    [
        (None, "a is null"),
        ("high", 'a is "high", expected a finite number'),
        (math.nan, "a is NaN, expected a finite number"),
    ],
)
def test_what_is_no_number_is_named_by_its_score(gives, message):
    with pytest.raises(RowError) as raised:
        given(gives)
    assert raised.value.message == message


def test_a_coroutine_says_how_to_write_the_scorer():
    async def later():
        return 1.0

    with pytest.raises(EvalMetricsError) as raised:
        given(later())
    assert raised.value.message == (
        f"the scorer 'test-interface-{given.count - 1}' gives a coroutine: write it as "
        "`async def`"
    )


# -- functions -----------------------------------------------------------------------------------------


def test_a_function_may_take_the_sample_without_a_default():
    scored = row(ITEM, {"output_text": "abcd"})
    assert make(spec("with_sample")).score(scored).scores == {"with_sample": 4.0}
    assert make(spec("with_sample")).score(recorded(ITEM)).scores == {
        "with_sample": 0.0
    }


def test_a_key_of_the_entry_may_be_the_functions_sample():
    assert make(spec("with_sample", sample={"output_text": "ab"})).score(
        recorded(ITEM)
    ).scores == {"with_sample": 2.0}


def test_a_function_states_its_scores_and_their_directions():
    scorer = make(spec("stating"))
    assert scorer.scores == ("words", "letters")
    assert scorer.directions == {"letters": "lower"}
    assert scorer.score(recorded(ITEM)).scores == {"words": 1.0, "letters": 3.0}


def test_the_scores_of_an_entry_come_before_those_of_its_function():
    scorer = make(spec("stating", scores=["letters", "words"]))
    assert scorer.scores == ("letters", "words")


def test_a_function_is_named_by_its_last_part():
    assert make(spec("Tools.count")).scores == ("count",)


@pytest.mark.parametrize(
    ("function", "calls"), [("length", False), ("later", True), ("called_later", True)]
)
def test_an_async_function_is_awaited_on_the_loop(function, calls):
    scorer = make(spec(function))
    assert scorer.calls is calls
    assert scorer.foreign is True


def test_a_built_in_scorer_is_not_the_users_own():
    scorer = make(entry(type="exact-match"))
    assert (scorer.type, scorer.foreign, scorer.calls) == ("exact-match", False, False)
    assert (scorer.judges, scorer.repeats, scorer.notes) == ((), 1, ())


def test_keys_that_a_function_does_not_take_are_named():
    with pytest.raises(DataError) as raised:
        make(spec("is_short", limt=2))
    assert raised.value.message == (
        f"'{HERE}:is_short' can't be called with a row and its keys: got an unexpected "
        "keyword argument 'limt'"
    )
    assert raised.value.hint.startswith("its keys are the arguments of ")


# -- the entries of a file -----------------------------------------------------------------------------


def made(*specs):
    return make_scorers(specs, Terms(), lambda *where: 10 + where[1])


def test_scorers_are_made_in_the_order_of_their_entries():
    scorers = made(entry(type="exact-match"), entry(type="f1"))
    assert [scorer.type for scorer in scorers] == ["exact-match", "f1"]


def test_two_scorers_of_one_score_are_refused_with_the_line_of_the_second():
    with pytest.raises(DataError) as raised:
        made(entry(type="f1"), entry(type="exact-match"), entry(type="exact-match"))
    assert raised.value.message == (
        "the score 'exact-match' is given by scorer 2 already"
    )
    assert raised.value.line == 12


def test_an_error_that_has_a_line_keeps_it():
    @register_scorer("test-interface-lined")
    def factory():
        raise DataError("wrong", file="a.jsonl", line=3)

    with pytest.raises(DataError) as raised:
        made(entry(type="test-interface-lined"))
    assert (raised.value.file, raised.value.line) == ("a.jsonl", 3)


def test_a_factory_may_take_the_terms():
    terms = Terms(parallelism=7)

    @register_scorer("test-interface-terms")
    def factory(terms, limit):
        return Given(terms.parallelism + limit, ("a",))

    (scorer,) = make_scorers(
        [entry(type="test-interface-terms", limit=2)], terms, lambda *_: 1
    )
    assert scorer.score(recorded(ITEM)).scores == {"a": 9.0}


def test_an_error_of_a_factory_is_named_by_its_class():
    @register_scorer("test-interface-failing")
    def factory():
        raise KeyError("gone")

    with pytest.raises(DataError) as raised:
        make(entry(type="test-interface-failing"))
    assert raised.value.message == (
        "the scorer 'test-interface-failing' can't be made of its keys: KeyError: 'gone'"
    )


# -- a row and its sink --------------------------------------------------------------------------------


class Sink:
    """Writes down what it takes."""

    def __init__(self):
        self.taken = []

    def scored(self, scored_row, scorer, scores, reason, *, from_journal):
        self.taken.append(
            ("scored", scored_row, scorer.type, dict(scores), reason, from_journal)
        )

    def lacks(self, failed_row, scores, failure, reason):
        self.taken.append(("lacks", failed_row, scores, failure.kind, reason))

    def asked(self, asked_row, scorer, exchanges):
        self.taken.append(("asked", asked_row, scorer.type, exchanges))


class Asked:
    """The calls of a row, which the journal answered."""

    from_journal = True
    exchanges = ({"request": "a", "answer": "b"},)


def hide(text):
    return text.replace("s3cr3t", "***")


def taken(scored, scorer):
    sink = Sink()
    asyncio.run(score_row(scored, scorer, Asked(), sink, hide))
    return sink.taken


def test_a_sink_takes_the_scores_of_a_row_and_its_requests():
    scored = recorded({"output": "s3cr3t"})
    scorer = make(spec("explained"))
    kind = scorer.type
    assert taken(scored, scorer) == [
        ("scored", scored, kind, {"explained": 0.5}, "half of ***", True),
        ("asked", scored, kind, Asked.exchanges),
    ]


def test_a_sink_takes_the_failure_of_a_row_and_its_requests():
    scored = recorded({"output": "s3cr3t"})
    scorer = make(spec("refuses"))
    assert taken(scored, scorer) == [
        (
            "lacks",
            scored,
            ("refuses",),
            "no-output",
            "there is nothing in {'output': '***'}",
        ),
        ("asked", scored, scorer.type, Asked.exchanges),
    ]


# -- summaries -----------------------------------------------------------------------------------------


def column(*values):
    return np.array(values, dtype=np.float64)


def test_a_summary_by_hand():
    summary = summarise("s", column(1, 2, math.nan, 4, 5))
    assert (summary.name, summary.count, summary.nan_count) == ("s", 4, 1)
    assert (summary.sum, summary.mean, summary.median) == (12.0, 3.0, 3.0)
    assert (summary.min, summary.max) == (1.0, 5.0)
    # of squares: 4 + 1 + 1 + 4
    assert (summary.variance, summary.std_dev) == (2.5, pytest.approx(2.5**0.5))
    assert summary.sample_variance == pytest.approx(10 / 3)
    assert summary.sample_std_dev == pytest.approx((10 / 3) ** 0.5)
    # rank p/100 * 5 - 1: 0.5 for p30, 3 for p80
    assert summary.percentiles["p10"] == 1.0
    assert summary.percentiles["p30"] == pytest.approx(1.5)
    assert summary.percentiles["p80"] == 5.0


def test_one_row_has_no_variance_of_a_sample():
    summary = summarise("s", column(3))
    assert (summary.variance, summary.sample_variance) == (0.0, None)
    assert summary.sample_std_dev is None
    assert summary.histogram == (Bin(3.0, 3.0, 1),)


def test_two_rows_have_a_variance_of_a_sample():
    assert summarise("s", column(1, 3)).sample_variance == 2.0


def test_a_histogram_has_ten_bins_of_one_width():
    histogram = summarise("s", column(0, 0.5, 1, 9.9, 10)).histogram
    assert len(histogram) == 10
    assert [one.count for one in histogram] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert histogram[0] == Bin(0.0, 1.0, 2)
    assert histogram[-1] == Bin(9.0, 10.0, 2)


RUBRIC = About(labels=(("bad", 0.0), ("good", 1.0), ("fine", 0.5)))


def rubric(*values):
    (summary,) = summarise_all(["s"], {"s": column(*values)}, {"s": RUBRIC})
    return summary


def test_a_rubric_is_counted_by_its_labels():
    summary = rubric(1, 1, 0.5, math.nan)
    assert summary.score_type == "rubric"
    assert summary.rubric_distribution == (
        RubricCount("bad", 0.0, 0),
        RubricCount("good", 1.0, 2),
        RubricCount("fine", 0.5, 1),
    )
    assert summary.mode_category == "good"


def test_of_labels_that_are_as_frequent_the_first_by_its_letters_is_the_mode():
    assert rubric(1, 0.5, 0).mode_category == "bad"
    assert rubric(1, 0.5).mode_category == "fine"


def test_a_rubric_without_rows_has_no_mode():
    assert rubric(math.nan).mode_category is None


def test_a_score_without_labels_is_no_rubric():
    (summary,) = summarise_all(["s"], {"s": column(1)}, {})
    assert summary.score_type != "rubric"
    assert summary.rubric_distribution == ()
    assert summary.agreement is None


def agreement(first, second, level="interval"):
    about = {"s": About(judges=("s@1", "s@2"), level=level)}
    columns = {"s": column(*first), "s@1": column(*first), "s@2": column(*second)}
    (summary,) = summarise_all(["s"], columns, about)
    return summary.agreement


def test_judges_that_agree_have_an_alpha_of_1():
    assert agreement([1, 2, 3], [1, 2, 3]) == Agreement(1.0, "interval", 2, 3)


def test_the_agreement_of_two_judges_by_hand():
    # Krippendorff: 1 - (n - 1) * sum of squares within rows / sum over all pairs:
    # within: 1, 0; of the values 1, 2, 2, 2: 1 - 3 * 1 / 3
    assert agreement([1, 2], [2, 2]).alpha == pytest.approx(0.0)
    assert agreement([0, 1, math.nan], [1, 0, 1]).rows == 2


def test_judges_without_a_common_row_say_so():
    assert agreement([1, math.nan], [math.nan, 1], "nominal") == Agreement(
        None, "nominal", 2, 0, "no row has a score of each"
    )


def test_judges_that_always_say_the_same_say_so():
    assert agreement([1, 1], [1, 1]) == Agreement(
        None, "interval", 2, 2, "all their scores are the same"
    )
