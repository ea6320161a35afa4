"""Calls that failed, as the journal keeps them: a replay tells the same, and nobody else asks."""

import sqlite3
from contextlib import closing

import pytest
from transport.fakes import FakeSender, FakeTime, answers_in, ok, status

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import (
    Call,
    Journal,
    JournalError,
    JournalMode,
    Secret,
    SendFailure,
    Transport,
    Work,
    clear_journal,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.transport.journal_store import Entry, JournalStore, KeptFailure

WORD = "sk-s3cr3t-value"
KEY = Secret("my-key", "MY_KEY", WORD)
FAILURE = KeptFailure("http-422", "no such evaluator", "look", 422, 2, '{"a": 1.0}', 1e9)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite3"


def key(n):
    return n.to_bytes(20)


def entry(text="1"):
    return Entry(200, text, 0.5, 1, 1e9, 1e9)


def failure(path, n):
    with closing(JournalStore(path, readonly=True)) as store:
        return store.failure(key(n))


def fill(path, *numbers, answered=()):
    with closing(JournalStore(path)) as store:
        store.write({key(n): entry() for n in answered} | {key(n): FAILURE for n in numbers}, {})


class Run:
    """One run over a script of answers, with the journal of all runs."""

    def __init__(self, path):
        self.path = path

    def __call__(
        self,
        *script,
        mode=JournalMode.NORMAL,
        check=None,
        body=None,
        url="http://api.example/score",
        retries=1,
    ):
        """Ask one question; give the answer's body, or all that its error says."""
        self.sender = FakeSender(*script)
        clock = FakeTime().clock
        endpoint = Endpoint(url, KEY, max_retries=retries)
        call = Call(endpoint, {"a": 1} if body is None else body)
        with Transport(Journal(self.path, mode), sender=self.sender, clock=clock) as transport:
            try:
                return transport.run(transport.call(call, check=check)).body
            except CallError as error:
                return (str(error), error.kind, error.status, error.attempts)

    def replay(self, **settings):
        """Ask it again of the journal alone."""
        found = self(mode=JournalMode.REPLAY, **settings)
        assert self.sender.requests == []
        return found


@pytest.fixture
def run(path):
    return Run(path)


def refuse(body):
    raise CallError("no-score", f"nothing in {body}", hint="write a score")


@pytest.mark.parametrize(
    ("script", "check"),
    [
        ([status(422, "no such evaluator")], None),
        ([status(500, "out of memory")], None),
        ([ok({"success": False})], refuse),
        ([SendFailure("closed", "it hung up", retry=True, hint="start it")], None),
        ([TimeoutError()], None),
    ],
)
def test_a_replay_fails_as_the_call_did(run, script, check):
    failed = run(*script, check=check)
    assert isinstance(failed, tuple)
    assert run.replay(check=check) == failed
    # a run that asks is not told: the failed call is made again
    assert run(ok({"score": 1}), check=None) == {"score": 1}
    assert len(run.sender.requests) == 1
    assert run.replay(check=None) == {"score": 1}


def test_whoever_asks_sees_what_was_no_answer(run):
    seen = []

    def check(body):
        seen.append(body)
        refuse(body)

    failed = run(ok({"success": False}), check=check)
    assert run.replay(check=check) == failed
    assert seen == [{"success": False}] * 2


def test_what_was_never_called_is_not_in_the_journal(run, path):
    run(status(422))
    assert run.replay(body={"b": 2})[1] == "not-in-journal"
    assert run(ok(), body={"a": float("nan")})[1] == "bad-request"
    assert run.replay(body={"a": float("nan")})[1] == "bad-request"
    assert answers_in(path) == 0


def test_no_secret_is_kept(run, path):
    def check(body):
        raise CallError("no-score", f"found {body}", hint=f"not {body}")

    text, *_ = run(ok({"said": WORD}), check=check)
    assert WORD not in text
    run(status(422, f"the key {WORD} is bad"), body={"b": 2})
    with closing(JournalStore(path, readonly=True)) as store:
        kept = [kept for _, kept in store.all() if isinstance(kept, KeptFailure)]
    assert len(kept) == 2
    assert [one.body for one in kept] == [None, None]
    for file in path.parent.iterdir():
        assert WORD.encode() not in file.read_bytes()


def test_it_is_bounded(path):
    error = CallError("k", "x" * 10**6, hint="\ud800" + "y" * 10**6)
    with closing(Journal(path)) as journal:
        journal.put_failure(key(1), error, '"' + "z" * 10**6 + '"')
    found = failure(path, 1)
    assert found is not None
    assert found.body is None
    assert len(found.message) == 16_384
    assert found.message.endswith("x…")
    assert path.stat().st_size < 100_000


def list_of(path):
    with closing(JournalStore(path, readonly=True)) as store:
        return [int.from_bytes(k) for k, kept in store.all() if isinstance(kept, KeptFailure)]


def test_a_table_that_can_not_be_read_is_told(path, run):
    fill(path, 1)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE failures DROP COLUMN body")
        db.commit()
    with pytest.raises(JournalError, match="can't be read: no such column: body"):
        run.replay()


def test_they_are_exported_and_imported(path, tmp_path):
    fill(path, 3, 1, answered=(2,))
    one, other = tmp_path / "one.jsonl", tmp_path / "other"
    assert export_journal(path, one) == 1
    assert import_journal(other, one) == 1
    assert import_journal(other, one) == 0
    assert failure(other, 1) == failure(other, 3) == FAILURE
    assert failure(other, 2) is None
    export_journal(other, tmp_path / "two.jsonl")
    assert (tmp_path / "two.jsonl").read_bytes() == one.read_bytes()


@pytest.mark.parametrize("change", ['"kind":3', '"kind":null', '"attempts":"2"', '"created":""'])
def test_a_broken_line_of_an_export_is_refused(path, tmp_path, change):
    fill(path, 1)
    file = tmp_path / "one.jsonl"
    export_journal(path, file)
    name = change.partition(":")[0]
    head, line = file.read_text().splitlines()
    at = line.index(name)
    end = min(i for i in (line.find(",", at), line.find("}", at)) if i > 0)
    file.write_text(f"{head}\n{line[:at]}{change}{line[end:]}\n")
    with pytest.raises(Exception, match="this is no exported journal"):
        import_journal(tmp_path / "other", file)


def test_emptying_drops_them(path):
    fill(path, 1, 2, answered=(3,))
    assert clear_journal(path) == 1
    assert list_of(path) == []


def test_a_full_journal_drops_them_before_what_was_paid_for(path):
    large = KeptFailure("k", "x" * 10_000, None, None, 1, None, 1e9)
    with closing(JournalStore(path)) as store:
        store.write({key(n): entry('"' + "y" * 1000 + '"') for n in range(10)}, {})
        store.write({key(100 + n): large for n in range(100)}, {})
        assert store.evict(200_000) is None
        assert [type(kept) for _, kept in store.all()] == [Entry] * 10
        assert store.evict(10_000) is not None
        assert not [kept for _, kept in store.all() if isinstance(kept, KeptFailure)]


@pytest.mark.parametrize("version", ["1", None])
def test_a_function_that_failed(path, version):
    async def fails():
        raise CallError("raised-ValueError", "the target raised ValueError", hint="mend it")

    def done(mode):
        work = Work("m:f", {"a": 1}, version)
        with Transport(Journal(path, mode)) as transport:
            try:
                transport.run(transport.perform(work, fails))
            except CallError as error:
                return error.kind, str(error)
        raise AssertionError

    fill(path, answered=(1,))
    failed = done(JournalMode.NORMAL)
    replayed = done(JournalMode.REPLAY)
    assert replayed == failed if version else replayed[0] == "not-in-journal"
