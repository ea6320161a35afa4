"""The calls of a row: told apart from those of all others, the same in every run."""

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import CallError, Row
from pytest_evalmetrics.scorers import Calls, Terms
from pytest_evalmetrics.transport import (
    Journal,
    Occurrences,
    RawResponse,
    SecretError,
    Transport,
    run_bounded,
)

ENDPOINT = Terms(timeout_s=5).endpoint("http://127.0.0.1:1/x")


class Counting:
    """Answers each request with its number, the later the sooner."""

    def __init__(self):
        self.sent = []

    async def send(self, request):
        assert request.body is not None
        self.sent.append(request.body)
        body = str(len(self.sent)).encode()
        return RawResponse(200, {"Content-Type": "application/json"}, body)

    async def close(self):
        pass


def run(path, bodies, sender, parallelism=3):
    """Make each row's calls one after the other; give all answers, row by row."""
    occurrences = Occurrences()
    found = {}
    with Transport(Journal(path), sender=sender) as transport:

        async def score(index):
            calls = Calls(transport, 0, occurrences, "x")
            found[index] = [
                await calls.post(ENDPOINT, body, kind="test/1") for body in bodies[index]
            ]

        transport.run(
            run_bounded(score, range(len(bodies)), parallelism, lambda _index, _none: None)
        )
    return [found[index] for index in range(len(bodies))]


def test_every_call_of_every_row_has_an_answer_of_its_own(tmp_path):
    bodies = [["a", "b", "b"], ["a", "b"], ["a", "b"], ["c", "b"]]
    sender = Counting()
    first = run(tmp_path / "j", bodies, sender)
    answers = [answer for row in first for answer in row]
    assert sorted(answers) == list(range(1, 10))
    again = Counting()
    assert run(tmp_path / "j", bodies, again, parallelism=1) == first
    assert not again.sent


def test_what_a_check_refuses_is_asked_again(tmp_path):
    sender = Counting()

    def refuse(body):
        if body == 1:
            raise RowError("bad", "this is no answer", hint="mend it")

    with Transport(Journal(tmp_path / "j"), sender=sender) as transport:
        row = Row(0, "a", 0, 0, {})

        def ask():
            calls = Calls(transport, row.sample, Occurrences(), "x")
            return transport.run(calls.post(ENDPOINT, "a", kind="t/1", check=refuse))

        with pytest.raises(CallError) as raised:
            ask()
        assert (raised.value.kind, raised.value.hint) == ("bad", "mend it")
        assert ask() == 2
        assert ask() == 2


def test_a_key_is_needed_unless_nothing_is_sent(monkeypatch):
    name = "no-key"
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(SecretError):
        Terms().endpoint("http://127.0.0.1:1/x", secret=name)
    assert Terms(replays=True).endpoint("http://127.0.0.1:1/x", secret=name).secret is None
