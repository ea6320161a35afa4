"""The claims of several processes on the calls that they make."""

import errno
import os

import pytest
from scoring.transport.fakes import FakeTime

from pytest_evalmetrics.scoring.transport import journal_claims
from pytest_evalmetrics.scoring.transport.journal_claims import Claims, Holder

KEY = bytes.fromhex("0102030405060708090a")
# in one slot with KEY, and in a slot of its own
NEIGHBOUR = bytes.fromhex("0102ff")
FAR = bytes.fromhex("ffff")


class Locks:
    """The locks of the system, for processes that are all played by this one."""

    def __init__(self):
        self.owners = {}

    def lock_byte(self, file, place):
        return self.owners.setdefault(place, file) == file

    def release_byte(self, file, place):
        if self.owners.get(place) == file:
            del self.owners[place]


@pytest.fixture(autouse=True)
def locks(monkeypatch):
    locks = Locks()
    monkeypatch.setattr(journal_claims, "lock_byte", locks.lock_byte)
    monkeypatch.setattr(journal_claims, "release_byte", locks.release_byte)
    return locks


@pytest.fixture
def time():
    return FakeTime()


@pytest.fixture
def claims(tmp_path, time):
    """The claims of processes, each by its number."""
    made = []

    def make(process):
        one = Claims(tmp_path / "lock", 30.0, time.clock.wall, process)
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def test_a_call_is_made_by_one_process(claims):
    first, second = claims(11), claims(22)
    assert first.take(KEY)
    assert not second.take(KEY)
    assert second.take(FAR)


def test_a_process_may_claim_its_call_again(claims):
    first = claims(11)
    assert first.take(KEY)
    assert first.take(KEY)


def test_a_claim_that_was_released_is_for_others(claims):
    first, second = claims(11), claims(22)
    first.take(KEY)
    first.release(KEY)
    assert second.take(KEY)


def test_what_was_not_claimed_can_not_be_released(claims):
    first, second = claims(11), claims(22)
    first.take(KEY)
    second.release(KEY)
    assert not second.take(KEY)


def test_calls_whose_names_begin_alike_have_claims_of_their_own(claims):
    first, second = claims(11), claims(22)
    first.take(KEY)
    assert second.take(KEY[:6] + b"\xff")


def test_the_holder_is_the_process_and_the_seconds_since_its_last_sign_of_life(
    claims, time
):
    first, second = claims(11), claims(22)
    first.take(KEY)
    first.take(FAR)
    time.now += 10.0
    assert second.holder(KEY) == Holder(process=11, silent_s=10.0)
    assert second.holder(FAR) == Holder(process=11, silent_s=10.0)
    first.renew()
    time.now += 3.0
    assert second.holder(KEY) == Holder(process=11, silent_s=3.0)


def test_a_released_claim_is_not_renewed(claims, time):
    first, second = claims(11), claims(22)
    first.take(KEY)
    first.release(KEY)
    time.now += 10.0
    first.renew()
    assert second.holder(KEY) == Holder(process=11, silent_s=10.0)


def test_a_holder_that_is_not_known_is_silent_since_its_call_was_first_met(
    claims, time
):
    second = claims(22)
    assert second.holder(KEY) == Holder(process=0, silent_s=0.0)
    time.now += 4.0
    assert second.holder(KEY) == Holder(process=0, silent_s=4.0)


def test_a_holder_whose_slot_this_process_has_overwritten_is_not_known(claims, time):
    first, second = claims(11), claims(22)
    first.take(KEY)
    assert second.take(NEIGHBOUR)
    second.holder(KEY)
    time.now += 4.0
    assert second.holder(KEY) == Holder(process=0, silent_s=4.0)


def test_a_call_that_was_claimed_in_between_is_met_anew(claims, time):
    first, second = claims(11), claims(22)
    first.take(KEY)
    second.take(NEIGHBOUR)
    second.holder(KEY)
    first.release(KEY)
    second.take(KEY)
    second.release(KEY)
    time.now += 4.0
    first.take(KEY)
    second.take(NEIGHBOUR)
    assert second.holder(KEY) == Holder(process=0, silent_s=0.0)


@pytest.mark.parametrize(
    ("silent_s", "is_expired"), [(29.9, False), (30.0, True), (31.0, True)]
)
def test_a_claim_ends_with_the_lease_of_its_process(claims, silent_s, is_expired):
    holder = Holder(process=11, silent_s=silent_s)
    assert claims(22).is_expired(holder) is is_expired


def test_the_first_and_the_last_slot_are_apart_from_the_locks(claims, locks):
    first = claims(11)
    first.take(bytes(20))
    first.take(b"\xff" * 20)
    slots = 2**16 * 16
    assert sorted(locks.owners) == [slots + 1, slots + 2**56]


def test_the_owner_alone_reads_the_file_of_the_claims(claims, tmp_path):
    claims(11)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def refuse(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_a_call_can_be_claimed_on_a_full_disk(claims, monkeypatch):
    first = claims(11)
    monkeypatch.setattr(os, "write", refuse)
    assert first.take(KEY)


def test_a_holder_whose_slot_can_not_be_read_is_not_known(claims, monkeypatch):
    first, second = claims(11), claims(22)
    first.take(KEY)
    monkeypatch.setattr(os, "read", refuse)
    assert second.holder(KEY) == Holder(process=0, silent_s=0.0)
