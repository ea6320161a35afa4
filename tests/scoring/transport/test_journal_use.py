"""The journal as a run uses it: what it answers, keeps and warns of, without any call."""

import os

import pytest
from scoring.transport.fakes import FakeTime, failures_in, records_in

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.scoring.transport import journal as journal_module
from pytest_evalmetrics.scoring.transport import journal_claims
from pytest_evalmetrics.scoring.transport.journal import Journal, JournalMode
from pytest_evalmetrics.scoring.transport.journal_claims import Claims, Holder
from pytest_evalmetrics.scoring.transport.journal_file import (
    JournalFile,
    KeptFailure,
    record_of,
)
from pytest_evalmetrics.scoring.transport.wire import PaidAnswer

HEAD = b"evalmetrics-journal 3\n"
KEY = b"k" * 20
OTHER = b"o" * 20
ANSWER = PaidAnswer(200, '"answer"', 0.5, 1)
FAILURE = KeptFailure("timeout", "too slow", None, None, 4, None)
MIB = 2**20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "journal.log"


@pytest.fixture
def time():
    return FakeTime()


@pytest.fixture
def opened(path, time):
    """Start a run on the journal; all are closed at the end."""
    made = []

    def opened(mode="normal", **settings):
        journal = Journal(path, JournalMode(mode), wall=time.clock.wall, **settings)
        made.append(journal)
        return journal

    yield opened
    for journal in made:
        journal.close()


@pytest.fixture
def kept(opened, path):
    """A journal with one answer."""
    journal = opened()
    journal.put(KEY, ANSWER)
    journal.close()
    return path


# -- modes ---------------------------------------------------------------------------------------


def test_what_is_put_is_answered_and_dated(opened, time):
    journal = opened()
    assert journal.get(KEY) is None
    journal.put(KEY, ANSWER)
    answer = journal.get(KEY)
    assert answer.body == '"answer"'
    assert answer.created == time.clock.wall()


@pytest.mark.parametrize("mode", ["normal", "replay", "plan"])
def test_a_later_run_is_answered(opened, kept, mode):
    assert kept.is_file()
    assert opened(mode).get(KEY).body == '"answer"'


@pytest.mark.parametrize("mode", ["refresh", "off"])
def test_a_run_that_asks_anew_is_not_answered(opened, kept, mode):
    assert kept.is_file()
    assert opened(mode).get(KEY) is None


def test_a_run_that_asks_anew_replaces_the_answer(opened, kept):
    journal = opened("refresh")
    journal.put(KEY, PaidAnswer(200, '"new"', 0.5, 1))
    journal.close()
    assert records_in(kept)[KEY].body == '"new"'


def test_without_a_journal_nothing_is_kept(opened, path):
    journal = opened("off")
    journal.put(KEY, ANSWER)
    assert journal.get(KEY) is None
    assert not path.parent.exists()


def test_a_failure_is_answered_in_a_replay_alone(opened, path):
    journal = opened()
    journal.put(KEY, FAILURE)
    journal.close()
    assert len(failures_in(path)) == 1
    assert opened("replay").get(KEY).kind == "timeout"
    assert opened("normal").get(KEY) is None
    assert opened("plan").get(KEY) is None


@pytest.mark.parametrize(
    ("mode", "replays"),
    [
        ("normal", False),
        ("refresh", False),
        ("off", False),
        ("replay", True),
        ("plan", True),
    ],
)
def test_a_replay_and_a_plan_call_nothing(opened, mode, replays):
    assert opened(mode).replays is replays


def test_a_plan_needs_no_journal_and_makes_none(opened, path):
    assert opened("plan").get(KEY) is None
    assert not path.exists()


@pytest.mark.parametrize("mode", ["replay", "plan"])
def test_a_replay_and_a_plan_write_nothing(opened, kept, mode):
    before = kept.read_bytes()
    journal = opened(mode)
    journal.get(KEY)
    journal.put(OTHER, ANSWER)
    journal.close()
    assert kept.read_bytes() == before


def test_a_call_without_a_name_is_not_kept(opened, path):
    journal = opened()
    journal.put(b"", ANSWER)
    journal.close()
    assert path.read_bytes() == HEAD


def test_a_closed_journal_answers_nothing_and_closes_again(opened, kept):
    assert kept.is_file()
    journal = opened()
    assert journal.get(KEY) is not None
    journal.close()
    assert journal.get(KEY) is None
    journal.close()


# -- uses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "is_noted"), [(3600, False), (3601, True)])
def test_a_use_is_noted_an_hour_after_the_last(opened, kept, time, seconds, is_noted):
    time.now += seconds
    journal = opened()
    journal.get(KEY)
    journal.close()
    noted = JournalFile(kept, readonly=True).used(KEY)
    assert noted == (time.clock.wall() if is_noted else 0.0)


def test_a_use_that_was_noted_counts_for_an_hour(opened, kept, time):
    for later in (4000, 3000):
        time.now += later
        journal = opened()
        journal.get(KEY)
        journal.close()
    noted = JournalFile(kept, readonly=True).used(KEY)
    assert noted == time.clock.wall() - 3000


def test_a_flush_writes_the_uses(opened, kept, time):
    time.now += 4000
    journal = opened()
    journal.get(KEY)
    journal.flush()
    assert JournalFile(kept, readonly=True).used(KEY) == time.clock.wall()


# -- other processes -----------------------------------------------------------------------------


@pytest.fixture
def others(monkeypatch):
    """Locks that other processes hold, by their places; all of ours can be taken."""
    held = set()

    def lock_byte(_file, place):
        return place not in held

    monkeypatch.setattr(journal_claims, "lock_byte", lock_byte)
    return held


def hold(others, key):
    others.add(journal_claims._lock_of(key))


def test_a_call_of_another_process_is_not_claimed(opened, others):
    hold(others, KEY)
    journal = opened()
    assert not journal.claim(KEY)
    assert journal.claim(OTHER)


@pytest.mark.parametrize("mode", ["refresh", "off"])
def test_a_run_that_asks_anew_claims_nothing(opened, others, mode):
    hold(others, KEY)
    assert opened(mode).claim(KEY)


def test_a_replay_claims_nothing(opened, kept, others):
    assert kept.is_file()
    hold(others, KEY)
    assert opened("replay").claim(KEY)


def test_the_process_that_makes_a_call_is_named(opened, kept, others, time):
    assert Claims(kept.with_name("journal.log.lock"), 30.0, time.clock.wall, 77).take(
        KEY
    )
    hold(others, KEY)
    journal = opened()
    assert not journal.claim(KEY)
    time.now += 10.0
    assert journal.holder(KEY) == Holder(process=77, silent_s=10.0)
    assert journal.warnings == []


def test_the_calls_of_a_process_without_a_sign_of_life_are_made_with_a_warning(
    opened, kept, others, time
):
    Claims(kept.with_name("journal.log.lock"), 30.0, time.clock.wall, 77).take(KEY)
    hold(others, KEY)
    journal = opened()
    assert not journal.claim(KEY)
    time.now += 30.0
    assert journal.holder(KEY) is None
    assert journal.warnings == [
        (
            f"the journal {kept} is shared with process 77, which gave no sign of life for "
            "30 s; its calls were made again; is it suspended?"
        )
    ]


def test_a_process_that_is_not_known_is_another_process(opened, kept, others, time):
    hold(others, KEY)
    journal = opened(lease_s=5.0)
    assert not journal.claim(KEY)
    assert journal.holder(KEY) == Holder(process=0, silent_s=0.0)
    time.now += 5.0
    assert journal.holder(KEY) is None
    assert journal.warnings == [
        (
            f"the journal {kept} is shared with another process, which gave no sign of life "
            "for 5 s; its calls were made again; is it suspended?"
        )
    ]


def test_a_journal_that_was_never_used_shares_nothing(opened):
    journal = opened()
    assert journal.holder(KEY) is None
    journal.renew()
    journal.give_up(KEY)
    journal.flush()
    assert journal.warnings == []


def slot_of(path, key):
    """Read the process of a slot, and its last sign of life, from the file of the claims."""
    lock = Claims(path.with_name("journal.log.lock"), 30.0, lambda: 0.0, 1)
    slot = lock.holder(key)
    lock.close()
    return slot.process, -slot.silent_s


def test_a_claim_is_renewed_until_its_answer_is_written(opened, path, others, time):
    assert others == set()
    journal = opened()
    journal.claim(KEY)
    time.now += 7.0
    journal.renew()
    assert slot_of(path, KEY) == (os.getpid(), time.clock.wall())
    journal.put(KEY, ANSWER)
    time.now += 7.0
    journal.renew()
    assert slot_of(path, KEY) == (os.getpid(), time.clock.wall() - 7.0)


def test_a_claim_that_is_given_up_is_not_renewed(opened, path, others, time):
    assert others == set()
    journal = opened()
    journal.claim(KEY)
    journal.give_up(KEY)
    time.now += 7.0
    journal.renew()
    assert slot_of(path, KEY) == (os.getpid(), time.clock.wall() - 7.0)


def test_one_process_alone_makes_or_repairs_the_file(opened, others, monkeypatch):
    hold(others, bytes(20))
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            others.clear()

    monkeypatch.setattr(journal_module.time, "sleep", sleep)
    assert opened().get(KEY) is None
    assert waits == [0.05] * 3


def test_a_process_that_hangs_while_it_opens_the_file_is_waited_for_until_its_lease_ends(
    opened, others, time, monkeypatch
):
    hold(others, bytes(20))

    def sleep(seconds):
        time.now += seconds

    monkeypatch.setattr(journal_module.time, "sleep", sleep)
    began = time.now
    journal = opened(lease_s=2.0)
    journal.put(KEY, ANSWER)
    assert time.now - began == pytest.approx(2.0, abs=0.051)
    assert journal.get(KEY) is not None


# -- a disk that refuses -------------------------------------------------------------------------


class Disk:
    """A disk that is full for a while, and the seconds since some start."""

    def __init__(self, monkeypatch):
        self.is_full = False
        self.tries = 0
        self.now = 100.0
        append = JournalFile.append

        def append_if_there_is_room(file, key, kept):
            self.tries += 1
            if self.is_full:
                raise OSError(28, "No space left on device")
            append(file, key, kept)

        monkeypatch.setattr(JournalFile, "append", append_if_there_is_room)
        monkeypatch.setattr(journal_module.time, "monotonic", lambda: self.now)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def test_an_answer_that_a_full_disk_refuses_is_used_and_warned_of(opened, path, disk):
    disk.is_full = True
    journal = opened()
    journal.put(KEY, ANSWER)
    assert journal.get(KEY).body == '"answer"'
    assert journal.warnings == [
        (
            f"the journal {path} can't be written: [Errno 28] No space left on device; answers "
            "are used, but those that are not kept would be paid for again: free some room, or "
            "name a file elsewhere with --evalmetrics-journal=PATH"
        )
    ]


def test_a_full_disk_is_tried_again_after_half_a_second(opened, path, disk):
    disk.is_full = True
    journal = opened()
    journal.put(KEY, ANSWER)
    disk.is_full = False
    disk.now += 0.4
    journal.put(OTHER, ANSWER)
    assert disk.tries == 1
    disk.now += 0.1
    journal.put(OTHER, ANSWER)
    assert sorted(records_in(path)) == [KEY, OTHER]


def test_the_end_of_a_run_writes_what_waits(opened, path, disk):
    disk.is_full = True
    journal = opened()
    journal.put(KEY, ANSWER)
    disk.is_full = False
    journal.flush()
    assert list(records_in(path)) == [KEY]
    assert len(journal.warnings) == 1


def test_a_failure_that_waits_is_no_answer(opened, disk):
    disk.is_full = True
    journal = opened()
    journal.put(KEY, FAILURE)
    assert journal.get(KEY) is None


# -- the bound -------------------------------------------------------------------------------------


def test_a_run_that_alone_needs_more_than_the_bound_is_warned_of(opened, path):
    journal = opened(max_bytes=2 * MIB)
    for number in range(4):
        large = PaidAnswer(200, '"' + "x" * MIB + '"', 0.5, 1)
        journal.put(bytes([number]) * 20, large)
    assert journal.warnings == [
        (
            f"the journal {path} is too small: this run alone needs more than 2 MiB; its first "
            "answers were dropped and would be paid for again; raise the bound"
        )
    ]


def test_answers_of_earlier_runs_are_dropped_without_a_warning(opened, kept, time):
    time.now += 1.0
    journal = opened(max_bytes=400)
    journal.put(OTHER, PaidAnswer(200, '"' + "x" * 150 + '"', 0.5, 1))
    assert journal.warnings == []
    assert list(records_in(kept)) == [OTHER]


def test_a_journal_holds_a_gibibyte_unless_it_is_told_another_bound(path):
    assert Journal(path)._max_bytes == 2**30


# -- files that can't be used ----------------------------------------------------------------------


def error_of(journal):
    with pytest.raises(EvalMetricsError) as raised:
        journal.get(KEY)
    return raised.value


def test_a_replay_without_a_journal_says_how_to_get_one(opened, path):
    error = error_of(opened("replay"))
    assert error.message == f"there is no journal to replay at {path}"
    assert error.hint == (
        "run once without replay, or import a journal that was exported"
    )


def test_a_replay_of_a_journal_that_can_not_be_opened_says_so(
    opened, kept, monkeypatch
):
    def refuse(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "open", refuse)
    error = error_of(opened("replay"))
    assert error.message == (
        f"the journal {kept} can't be opened: [Errno 5] Input/output error"
    )
    assert error.hint == "import a good copy, or run once without replay"


@pytest.mark.parametrize(("count", "answers"), [(1, "1 answer"), (2, "2 answers")])
def test_a_replay_of_a_damaged_journal_says_what_can_be_read(
    opened, kept, count, answers
):
    lines = [record_of(bytes([n]) * 20, ANSWER) for n in range(count)]
    kept.write_bytes(HEAD + b"garbage\n" + b"".join(lines))
    journal = opened("replay")
    journal.get(KEY)
    assert journal.warnings == [f"the journal {kept} is damaged; {answers} can be read"]


def test_a_damaged_journal_is_repaired_with_a_warning(opened, kept):
    kept.write_bytes(HEAD + b"garbage\n" + record_of(KEY, ANSWER))
    journal = opened()
    assert journal.get(KEY) is not None
    assert journal.warnings == [
        (
            f"the journal {kept} was damaged; 1 answer of it are used on, and the damaged file "
            "is journal.log.damaged-1"
        )
    ]


def test_a_journal_that_can_only_be_read_is_used_with_a_warning(
    opened, kept, monkeypatch
):
    open_file = os.open

    def open_to_read(path, flags, *mode):
        if str(path).endswith(".lock"):
            raise OSError(30, "Read-only file system")
        return open_file(path, flags, *mode)

    monkeypatch.setattr(os, "open", open_to_read)
    journal = opened()
    assert journal.get(KEY) is not None
    journal.put(OTHER, ANSWER)
    assert journal.get(OTHER) is None
    assert journal.claim(OTHER)
    assert journal.warnings == [
        (
            f"the journal {kept} can't be written: [Errno 30] Read-only file system; what it "
            "has is used, but nothing is added"
        )
    ]


def test_a_journal_that_can_not_be_made_is_gone_without(opened, path):
    path.parent.write_text("a file in the place of its folder")
    journal = opened()
    assert journal.get(KEY) is None
    journal.put(KEY, ANSWER)
    assert journal.get(KEY) is None
    (warning,) = journal.warnings
    assert warning.startswith(f"the journal {path} can't be made: [Errno ")
    assert warning.endswith("; this run goes on without it, and keeps no answers")
