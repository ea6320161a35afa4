"""Rows that are scored in this process: what the sink gets of each."""

import asyncio
import json

import pytest
from scoring.scorers.offline import entry, make, row

from pytest_evalmetrics import register_scorer
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import Reply, Terms
from pytest_evalmetrics.scoring.engines.local import (
    Workload,
    score_here,
    score_without_calls,
)
from pytest_evalmetrics.scoring.generation import Generated
from pytest_evalmetrics.scoring.scorers import Explained
from pytest_evalmetrics.scoring.transport import Meter, Transport

HIDDEN = "s3cr3t-key-of-mine"


class Sink:
    """Keeps what is scored and what fails, in the order in which it comes."""

    def __init__(self):
        self.scores, self.failures = [], []

    def scored(self, scored_row, scorer, scores, reason, *, from_journal):
        self.scores.append((scored_row, scorer, dict(scores), reason, from_journal))

    def lacks(self, failed_row, scores, failure, reason):
        self.failures.append((failed_row, scores, failure.kind, reason))

    def asked(self, asked_row, scorer, exchanges):
        del asked_row, scorer, exchanges


class Answers:
    """Answers each row with one reply, and keeps the attempts."""

    def __init__(self, reply):
        self.generator, self.attempts = self, []
        self.reply = reply

    async def generate(self, item, sample, calls):
        del sample
        if isinstance(self.reply, RowError):
            raise self.reply

        async def make():
            return "{}"

        await calls.perform("answer", item, make, version=None)
        return Generated(self.reply, {"choices": []}, latency_s=0.5)

    def attempted(self, attempt):
        self.attempts.append(attempt)


@register_scorer("test-local-length")
class Length:
    """The length of a response; a row without one fails."""

    scores = ("length",)

    def score(self, scored):
        if "response" not in scored.item:
            raise RowError("no-response", f"no response, but {HIDDEN}")
        return Explained({"length": len(scored.item["response"])}, f"said {HIDDEN}")


def length():
    """Make the scorer anew: its lock belongs to one event loop."""
    return make(entry(type="test-local-length"))


def hide(text):
    return text.replace(HIDDEN, "***")


def work_of(jobs, transport, **keys):
    return Workload(
        jobs=iter(jobs),
        scorers=(length(),),
        spec=None,
        terms=Terms(),
        transport=transport,
        label="a",
        **keys,
    )


@pytest.fixture
def transport():
    """No journal, no call, and one secret."""
    made = Transport(None)
    made.hide = hide
    yield made
    made.close()


def test_a_row_that_needs_no_call_has_its_scores_and_their_reason():
    sink, scorer = Sink(), length()
    hello = row({"response": "hello"})
    score_without_calls([(hello, scorer)], sink, hide)
    assert sink.scores == [(hello, scorer, {"length": 5}, "said ***", False)]


def test_a_row_that_needs_no_call_fails_with_its_reason():
    sink = Sink()
    empty = row({})
    score_without_calls([(empty, length())], sink, hide)
    assert sink.failures == [
        (empty, ("length",), "no-response", "no response, but ***")
    ]


def test_each_row_is_scored_by_the_scorer_of_its_job(transport):
    sink, scorer = Sink(), length()
    rows = [row({"response": "a"}), row({}), row({"response": "abc"})]
    jobs = [(one, scorer) for one in rows]
    asyncio.run(score_here(work_of(jobs, transport, answering=None, sink=sink)))
    assert [scores for _, _, scores, _, _ in sink.scores] == [
        {"length": 1},
        {"length": 3},
    ]
    assert [kind for _, _, kind, _ in sink.failures] == ["no-response"]


def answer(transport, reply, item):
    """Answer a row and score the answer; give the sink and the only attempt."""
    sink, answers = Sink(), Answers(reply)
    work = work_of([(row(item), None)], transport, answering=answers, sink=sink)
    asyncio.run(score_here(work))
    (attempt,) = answers.attempts
    return sink, attempt


def test_an_answer_is_scored_as_the_response_of_its_row(transport):
    sink, attempt = answer(transport, Reply("hello"), {"question": "hi?"})
    ((scored, _, scores, _, _),) = sink.scores
    assert scored.item == {"question": "hi?", "response": "hello"}
    assert scored.sample_data["output_text"] == "hello"
    assert scores == {"length": 5}
    assert (attempt.failure, attempt.reason) == (None, "")


def test_an_answer_is_kept_as_json_with_its_row(transport):
    _, attempt = answer(transport, Reply("hello"), {"question": "hi?"})
    kept = json.loads(attempt.text)
    assert kept["item"] == {"question": "hi?", "response": "hello"}
    assert kept["sample"]["output_text"] == "hello"


class NoGenerator:
    """Takes answers, and has nothing that gives any."""

    generator = None


@pytest.mark.parametrize("answering", [None, NoGenerator()])
def test_a_row_that_nothing_answers_is_a_fault_of_the_caller(transport, answering):
    work = work_of([(row({}), None)], transport, answering=answering, sink=Sink())
    with pytest.raises(ValueError, match="nothing answers the rows of this work"):
        asyncio.run(score_here(work))


def test_half_of_a_surrogate_pair_is_kept_as_its_escape(transport):
    said = ["\ud83d", {"\ud83d": 1}]
    _, attempt = answer(transport, Reply("caf\xe9"), {"said": said, "n": 5})
    kept = json.loads(attempt.text)["item"]
    assert kept == {
        "said": ["\\ud83d", {"\\ud83d": 1}],
        "n": 5,
        "response": "caf\xe9",
    }


def test_a_row_without_an_answer_is_kept_with_its_failure_and_not_scored(transport):
    failure = RowError("refusal", f"the model refused {HIDDEN}")
    sink, attempt = answer(transport, failure, {"question": "hi?"})
    assert json.loads(attempt.text) == {
        "item": {"question": "hi?"},
        "failed": ["refusal", "the model refused ***"],
    }
    assert (attempt.failure, attempt.reason) == (failure, "the model refused ***")
    assert (sink.scores, sink.failures) == ([], [])


class Counted(Meter):
    """Counts the calls that it lets be sent."""

    def __init__(self):
        self.calls = 0

    def admit(self):
        self.calls += 1


def test_the_calls_of_each_job_are_counted_by_a_meter_of_its_own(transport):
    meters = []

    def meter():
        meters.append(Counted())
        return meters[-1]

    jobs = [(row({"n": n}), None) for n in range(2)]
    answers = Answers(Reply("hello"))
    work = work_of(jobs, transport, answering=answers, sink=Sink(), meter=meter)
    asyncio.run(score_here(work))
    assert [one.calls for one in meters] == [1, 1]
