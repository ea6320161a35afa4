"""Calls that failed, as the journal keeps them: a replay tells the same, and nobody else asks."""

import pytest
from scoring.transport.fakes import (
    KEY,
    WORD,
    answers_in,
    broken,
    failures_in,
    ok,
    status,
)

from pytest_evalmetrics.ext import CallError


def outcome_of(run, body=None, check=None):
    """Ask one question; give the answer's body, or all that its error says."""
    try:
        return run.ask(body, check=check, secret=KEY, max_retries=1).body
    except CallError as error:
        return (str(error), error.kind, error.status, error.attempts)


def replayed(client, body=None, check=None):
    outcome = outcome_of(client(mode="replay"), body, check)
    assert client.sender.bodies == []
    return outcome


def refuse(body):
    raise CallError("no-score", f"nothing in {body}", hint="write a score")


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (status(422, "no such evaluator"), None),
        (status(500, "out of memory"), None),
        (ok({"success": False}), refuse),
        (broken("closed", "it hung up", hint="start it"), None),
        (TimeoutError(), None),
    ],
)
def test_a_replay_fails_as_the_call_did(client, answer, check):
    failed = outcome_of(client(answer, mode="normal"), check=check)
    assert isinstance(failed, tuple)
    assert replayed(client, check=check) == failed
    # a run that asks is not told: the failed call is made again
    assert outcome_of(client(ok({"score": 1}), mode="normal")) == {"score": 1}
    assert len(client.sender.bodies) == 1
    assert replayed(client) == {"score": 1}


def test_whoever_asks_sees_what_was_no_answer(client):
    seen = []

    def check(body):
        seen.append(body)
        refuse(body)

    failed = outcome_of(client(ok({"success": False}), mode="normal"), check=check)
    assert replayed(client, check=check) == failed
    assert seen == [{"success": False}] * 2


def test_what_was_never_called_is_not_in_the_journal(client, path):
    outcome_of(client(status(422), mode="normal"))
    bad = {"a": float("nan")}
    assert outcome_of(client, bad)[1] == "bad-request"
    assert replayed(client, {"b": 2})[1] == "not-in-journal"
    assert replayed(client, bad)[1] == "bad-request"
    assert answers_in(path) == 0


def test_no_secret_is_kept(client, path):
    client(ok({"said": WORD}), status(422, f"the key {WORD} is bad"), mode="normal")
    assert WORD not in outcome_of(client, check=refuse)[0]
    outcome_of(client, {"b": 2})
    assert [failure.body for failure in failures_in(path)] == [None, None]
    for file in path.parent.iterdir():
        assert WORD.encode() not in file.read_bytes()


def test_it_is_bounded(client, path):
    def check(_body):
        raise CallError("k", "x" * 10**6, hint="\ud800" + "y" * 10**6)

    outcome_of(client(ok("z" * 10**6), mode="normal"), check=check)
    (failure,) = failures_in(path)
    assert failure.body is None
    assert len(failure.message) == 16_384
    assert failure.message.endswith("x…")
    client()
    assert path.stat().st_size < 100_000
