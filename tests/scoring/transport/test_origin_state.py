"""The state of one origin: what it lets through, when it pauses, and when it is given up."""

from itertools import pairwise

import pytest

from pytest_evalmetrics.scoring.transport.origin_state import (
    Fault,
    OriginState,
    RetryPolicy,
    Standing,
)


class Origin:
    """A state, and calls that are sent and end at moments of the test's."""

    def __init__(self, ceiling=8, **policy):
        self.state = OriginState(RetryPolicy(**policy))
        self.state.allow(ceiling)

    def send(self, now, call=None, timeout_s=30.0):
        call = call or Standing(timeout_s=timeout_s)
        self.state.sent(call, now)
        return call

    def send_many(self, count, now):
        return [self.send(now) for _ in range(count)]

    def answer(self, call, now):
        self.state.answered(call, now)

    def fail(self, call, fault, now, asked_s=None):
        self.state.failed(call, fault, now, asked_s)

    def answer_one(self, now, latency_s=0.0):
        self.answer(self.send(now), now + latency_s)

    def fail_one(self, fault, now, asked_s=None):
        call = self.send(now)
        self.fail(call, fault, now, asked_s)
        return call


def pauses(origin, fault, count, now):
    """Fail probe after probe; return the pauses before them."""
    seconds = []
    for _ in range(count):
        wait_s = origin.state.wait_s(now)
        seconds.append(wait_s)
        now += wait_s
        origin.fail_one(fault, now)
    return seconds


# -- the waits of one row ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 15), (5000, 15)]
)
def test_the_longest_wait_of_a_row_doubles_up_to_a_cap(failed, seconds):
    policy = RetryPolicy(base_s=1.0, cap_s=15.0)
    assert policy.wait_s(failed, 1.0) == seconds
    assert policy.wait_s(failed, 0.25) == seconds / 4
    assert policy.wait_s(failed, 0.0) == 0.0


# -- calls in flight ---------------------------------------------------------------------------


def test_as_many_calls_are_sent_as_the_benchmark_allows():
    origin = Origin(ceiling=3)
    calls = origin.send_many(2, 1.0)
    assert origin.state.wait_s(1.0) == 0.0
    calls.append(origin.send(1.0))
    assert origin.state.wait_s(1.0) is None
    origin.answer(calls[0], 2.0)
    assert origin.state.wait_s(2.0) == 0.0


def test_a_benchmark_that_allows_more_raises_the_limit_by_the_difference():
    origin = Origin(ceiling=4)
    origin.fail(origin.send(1.0), Fault.SILENT, 2.0)
    assert origin.state.limit == 2.0
    origin.state.allow(10)
    assert (origin.state.ceiling, origin.state.limit) == (10, 8.0)


@pytest.mark.parametrize("ceiling", [3, 4])
def test_a_benchmark_that_allows_no_more_changes_nothing(ceiling):
    origin = Origin(ceiling=4)
    origin.state.allow(ceiling)
    assert (origin.state.ceiling, origin.state.limit) == (4, 4.0)


def test_a_call_knows_its_attempts_and_when_the_last_was_sent():
    origin = Origin()
    call = origin.send(1.0)
    origin.fail(call, Fault.BROKEN, 2.0)
    origin.send(5.0, call)
    assert (call.attempts, call.sent_at) == (2, 5.0)


def test_a_cancelled_call_gives_its_place_back_and_tells_nothing():
    origin = Origin(ceiling=1)
    call = origin.send(1.0)
    origin.state.cancelled(call)
    assert origin.state.in_flight == 0
    assert origin.state.wait_s(1.0) == 0.0
    assert not origin.state.is_given_up(1000.0)


# -- timeouts ----------------------------------------------------------------------------------


def test_a_timeout_halves_the_limit():
    origin = Origin(ceiling=8)
    origin.fail(origin.send(1.0), Fault.SILENT, 2.0)
    assert origin.state.limit == 4.0


def test_calls_that_were_sent_before_the_limit_was_halved_do_not_halve_it_again():
    origin = Origin(ceiling=8)
    first, second = origin.send(1.0), origin.send(2.0)
    origin.fail(first, Fault.SILENT, 2.0)
    origin.fail(second, Fault.SILENT, 3.0)
    assert origin.state.limit == 4.0
    origin.fail(origin.send(3.0), Fault.SILENT, 4.0)
    assert origin.state.limit == 2.0


def test_one_call_is_always_allowed():
    origin = Origin(ceiling=3)
    limits = []
    for now in (1.0, 2.0, 3.0):
        origin.fail_one(Fault.SILENT, now)
        limits.append(origin.state.limit)
    assert limits == [1.5, 1.0, 1.0]


def test_after_a_timeout_the_limit_grows_by_one_for_each_round_of_answers():
    origin = Origin(ceiling=8)
    origin.fail(origin.send(1.0), Fault.SILENT, 2.0)
    limits = []
    for now in (3.0, 4.0, 5.0, 6.0):
        origin.answer_one(now)
        limits.append(origin.state.limit)
    assert limits == pytest.approx([4.25, 4.4853, 4.7082, 4.9206], abs=1e-4)


def test_a_limit_does_not_grow_over_the_ceiling():
    origin = Origin(ceiling=2)
    origin.fail(origin.send(1.0), Fault.SILENT, 2.0)
    for now in range(3, 20):
        origin.answer_one(float(now))
    assert origin.state.limit == 2.0


# -- a busy origin with calls in flight ---------------------------------------------------------


def test_a_busy_origin_bears_the_calls_that_it_did_not_turn_away():
    origin = Origin(ceiling=8)
    calls = origin.send_many(8, 1.0)
    for call in calls[:3]:
        origin.fail(call, Fault.BUSY, 1.1)
    assert origin.state.limit == 5.0
    assert not origin.state.is_paused


def test_a_refusal_of_fewer_calls_than_the_limit_lowers_it_to_those_in_flight():
    origin = Origin(ceiling=8)
    first, _, _ = origin.send_many(3, 1.0)
    origin.fail(first, Fault.BUSY, 1.1)
    assert origin.state.limit == 2.0


def test_an_origin_that_bears_one_call_at_a_time_is_not_paused():
    origin = Origin(ceiling=8)
    refused, _ = origin.send_many(2, 1.0)
    origin.fail(refused, Fault.BUSY, 1.1)
    assert not origin.state.is_paused
    assert origin.state.limit == 1.0


def refuse_one_of(origin, in_flight, now):
    """Let one call too many be turned away; the others are answered."""
    calls = origin.send_many(in_flight, now)
    origin.fail(calls.pop(), Fault.BUSY, now)
    for call in calls:
        origin.answer(call, now)


def test_a_higher_limit_is_tried_half_a_second_after_the_first_refusal():
    origin = Origin(ceiling=8)
    refuse_one_of(origin, 5, 1.0)
    origin.answer_one(1.49)
    assert origin.state.limit == 4.0
    origin.answer_one(1.5)
    assert origin.state.limit == 5.0


def test_the_next_try_of_a_limit_that_is_refused_again_waits_twice_as_long_up_to_8_s():
    origin = Origin(ceiling=8)
    now = 1.0
    waits = []
    for wait_s in (0.5, 1.0, 2.0, 4.0, 8.0, 8.0):
        refuse_one_of(origin, 5, now)
        origin.answer_one(now + wait_s - 0.001)
        assert origin.state.limit == 4.0
        now += wait_s
        origin.answer_one(now)
        waits.append(origin.state.limit)
    assert waits == [5.0] * 6


def test_refusals_at_the_same_time_count_as_one():
    origin = Origin(ceiling=8)
    calls = origin.send_many(8, 1.0)
    for call in calls[:4]:
        origin.fail(call, Fault.BUSY, 1.0)
    for call in calls[4:]:
        origin.answer(call, 1.0)
    origin.answer_one(1.5)
    assert origin.state.limit == 5.0


def test_a_limit_that_was_exceeded_is_tried_soon_again_after_the_next_refusal():
    origin = Origin(ceiling=8)
    refuse_one_of(origin, 5, 1.0)
    origin.answer_one(1.5)
    refuse_one_of(origin, 5, 2.0)  # the next try is after a second
    origin.answer_one(3.0)
    origin.answer_one(3.0)
    assert origin.state.limit == 6.0  # one more than was refused before
    refuse_one_of(origin, 6, 4.0)
    origin.answer_one(4.5)
    assert origin.state.limit == 6.0


def test_after_a_refusal_each_answer_adds_one_to_the_limit():
    origin = Origin(ceiling=8)
    refuse_one_of(origin, 3, 1.0)
    limits = []
    for now in (2.0, 3.0, 4.0):
        origin.answer_one(now)
        limits.append(origin.state.limit)
    assert limits == [3.0, 4.0, 5.0]


# -- a busy origin with nothing in flight --------------------------------------------------------


def test_an_origin_that_is_busy_with_nothing_in_flight_is_probed_after_growing_pauses():
    origin = Origin()
    origin.fail_one(Fault.BUSY, 1.0)
    assert origin.state.is_paused
    seconds = pauses(origin, Fault.BUSY, 12, 1.0)
    assert seconds[:5] == pytest.approx([0.02, 0.03, 0.045, 0.0675, 0.10125])
    assert seconds[9:] == pytest.approx([0.02 * 1.5**9, 1.0, 1.0])


def test_a_busy_origin_is_paused_for_what_it_asks_for():
    origin = Origin()
    origin.fail_one(Fault.BUSY, 1.0, asked_s=7.0)
    assert origin.state.wait_s(1.0) == 7.0
    assert origin.state.wait_s(5.0) == 3.0
    assert origin.state.wait_s(8.0) == 0.0
    assert origin.state.wait_s(9.0) == 0.0


def test_a_paused_origin_gets_one_call_at_a_time():
    origin = Origin()
    origin.fail_one(Fault.BUSY, 1.0, asked_s=1.0)
    probe = origin.send(2.0)
    assert origin.state.wait_s(2.0) is None
    origin.state.cancelled(probe)
    assert origin.state.wait_s(2.0) == 0.0


def test_a_refusal_of_a_call_from_before_the_pause_does_not_prolong_it():
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    first, second = origin.send_many(2, 2.0)
    origin.fail(first, Fault.DOWN, 2.0)
    origin.fail(second, Fault.BUSY, 2.1, asked_s=5.0)
    assert origin.state.wait_s(2.1) == pytest.approx(0.15)


def test_an_answer_to_the_probe_opens_a_busy_origin_for_one_more_call_with_each_answer():
    origin = Origin(ceiling=4)
    origin.fail_one(Fault.BUSY, 1.0, asked_s=1.0)
    limits = []
    for now in (2.0, 3.0, 4.0, 5.0, 6.0):
        origin.answer_one(now)
        limits.append(origin.state.limit)
    assert not origin.state.is_paused
    assert limits == [2.0, 3.0, 4.0, 4.0, 4.0]


# -- a rate that is limited ----------------------------------------------------------------------


def limited(ceiling=8, answers=1):
    """An origin that let one call through after a pause of 20 ms."""
    origin = Origin(ceiling=ceiling, busy_pause_s=0.02)
    for _ in range(answers):
        origin.answer_one(1.0)
    origin.fail_one(Fault.BUSY, 1.0)
    origin.answer_one(1.1)
    return origin


def gap_s(origin, now):
    """Send a call; return the seconds until the next one may follow."""
    call = origin.send(now)
    wait_s = origin.state.wait_s(now)
    origin.state.cancelled(call)
    return wait_s


@pytest.mark.parametrize("answers", [1, 2])
def test_calls_to_an_origin_that_lets_one_through_after_a_pause_are_sent_apart(answers):
    # 0.1 s between the last two that it let through, less half of the pause; each answer
    # shrinks it by 2 %
    origin = limited(answers=answers)
    assert gap_s(origin, 2.0) == pytest.approx((0.1 - 0.01) * 0.98)


def test_an_origin_that_lets_several_through_is_not_limited_to_a_rate():
    assert gap_s(limited(answers=3), 2.0) == 0.0


def test_the_first_answer_of_all_shows_no_rate():
    origin = Origin()
    origin.fail_one(Fault.BUSY, 1.0)
    origin.answer_one(1.1)
    assert gap_s(origin, 2.0) == 0.0


def test_a_pause_that_the_origin_asked_for_shows_no_rate():
    origin = Origin()
    origin.answer_one(1.0)
    for now in (1.0, 1.1):
        origin.fail_one(Fault.BUSY, now, asked_s=0.05)
        origin.answer_one(now + 0.1)
    assert gap_s(origin, 2.0) == 0.0


def test_the_time_between_two_calls_is_a_quarter_of_a_second_at_most():
    origin = Origin()
    origin.answer_one(1.0)
    origin.fail_one(Fault.BUSY, 1.0)
    origin.answer_one(3.0)
    assert gap_s(origin, 4.0) == pytest.approx(0.25 * 0.98)


def test_each_refusal_of_a_limited_rate_makes_the_time_between_calls_longer():
    origin = limited()
    before = gap_s(origin, 2.0)
    first, *others = origin.send_many(3, 3.0)
    origin.fail(first, Fault.BUSY, 3.0)
    for call in others:
        origin.state.cancelled(call)
    assert gap_s(origin, 4.0) == pytest.approx(1.05 * before)


def test_ten_answers_without_a_refusal_make_it_shorter_faster():
    origin = limited()
    gaps = []
    for now in range(2, 16):
        origin.answer_one(float(now))
        gaps.append(gap_s(origin, now + 0.5))
    ratios = [later / earlier for earlier, later in pairwise(gaps)]
    assert ratios[:8] == pytest.approx([0.98] * 8)
    assert ratios[8:] == pytest.approx([0.93] * 5)


def test_a_time_between_calls_that_is_too_short_to_matter_ends():
    origin = limited()
    for now in range(2, 80):
        origin.answer_one(float(now))
    assert gap_s(origin, 100.0) == 0.0


def test_the_pause_of_a_limited_rate_begins_at_a_quarter_of_the_time_between_calls():
    origin = limited()
    gap = 1.05 * gap_s(origin, 2.0)
    origin.fail_one(Fault.BUSY, 3.0)
    assert origin.state.wait_s(3.0) == pytest.approx(gap / 4)


# -- calls spread over the latency ---------------------------------------------------------------


def test_calls_under_a_lowered_limit_are_spread_over_three_quarters_of_the_latency():
    origin = Origin(ceiling=8)
    refuse_one_of(origin, 5, 1.0)  # four are borne
    for _ in range(3):
        origin.answer_one(1.0, latency_s=0.4)
    # the moving mean: 0.08, then 0.144, then 0.1952
    assert origin.state.limit == 4.0
    assert gap_s(origin, 2.0) == pytest.approx(0.75 * 0.1952 / 4)


def test_calls_are_not_spread_where_the_limit_is_not_lowered():
    origin = Origin(ceiling=4)
    for _ in range(3):
        origin.answer_one(1.0, latency_s=0.4)
    assert gap_s(origin, 2.0) == 0.0


def test_calls_are_not_spread_over_times_that_no_timer_keeps():
    origin = Origin(ceiling=8)
    refuse_one_of(origin, 5, 1.0)
    for _ in range(30):
        origin.answer_one(1.0, latency_s=0.02)  # 0.75 * 0.02 / 4 is less than 5 ms
    assert origin.state.limit == 4.0
    assert gap_s(origin, 2.0) == 0.0


# -- an outage -----------------------------------------------------------------------------------


def test_an_origin_that_is_down_is_probed_after_growing_pauses():
    origin = Origin()
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0)
    seconds = pauses(origin, Fault.DOWN, 9, 2.0)
    assert seconds[:4] == pytest.approx([0.25, 0.375, 0.5625, 0.84375])
    assert seconds[6:] == pytest.approx([0.25 * 1.5**6, 3.0, 3.0])
    assert origin.state.outages == 1


def test_a_longer_pause_that_the_origin_asks_for_is_kept():
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0, asked_s=5.0)
    assert origin.state.wait_s(2.0) == 5.0
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0, asked_s=0.1)
    assert origin.state.wait_s(2.0) == 0.25


def test_an_origin_that_never_answered_is_not_paused_for_it_may_not_be_there():
    origin = Origin()
    origin.fail_one(Fault.DOWN, 1.0)
    assert not origin.state.is_paused
    assert origin.state.outages == 0


@pytest.mark.parametrize(
    ("ceiling", "rows"), [(1, 2), (4, 2), (8, 2), (12, 3), (16, 4), (64, 4)]
)
@pytest.mark.parametrize("fault", [Fault.BROKEN, Fault.SILENT])
def test_several_rows_that_fail_without_an_answer_between_them_are_an_outage(
    ceiling, rows, fault
):
    origin = Origin(ceiling=ceiling)
    origin.answer_one(1.0)
    for number in range(rows):
        assert not origin.state.is_paused
        origin.fail_one(fault, 2.0 + number)
    assert origin.state.is_paused


def test_rows_that_fail_beside_as_many_in_flight_are_no_outage_yet():
    origin = Origin(ceiling=8)
    calls = origin.send_many(6, 1.0)
    for call in calls[:2]:
        origin.fail(call, Fault.BROKEN, 2.0)
    assert not origin.state.is_paused  # four may still be answered
    origin.fail(calls[2], Fault.BROKEN, 2.0)
    assert origin.state.is_paused


def test_a_row_that_failed_by_its_own_fault_shows_no_outage():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    poisoned = Standing(timeout_s=30.0, own_failures=1)
    origin.fail(origin.send(2.0, poisoned), Fault.BROKEN, 2.0)
    origin.fail_one(Fault.BROKEN, 3.0)
    assert not origin.state.is_paused


def test_an_answer_between_two_failures_starts_the_count_anew():
    origin = Origin(ceiling=4)
    for now in (1.0, 2.0, 3.0):
        origin.answer_one(now)
        origin.fail_one(Fault.BROKEN, now + 0.5)
    assert not origin.state.is_paused


def test_the_attempts_of_one_row_are_no_outage():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    call = Standing(timeout_s=30.0)
    for now in (2.0, 3.0, 4.0):
        origin.fail(origin.send(now, call), Fault.BROKEN, now)
    assert not origin.state.is_paused


def test_after_an_outage_the_limit_grows_back_with_each_answer():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0)
    limits = []
    for now in (3.0, 4.0, 5.0, 6.0):
        origin.answer_one(now)
        limits.append(origin.state.limit)
    assert limits == [2.0, 3.0, 4.0, 4.0]


def test_a_failure_of_a_call_from_before_the_pause_does_not_prolong_it():
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    first, second = origin.send_many(2, 2.0)
    origin.fail(first, Fault.DOWN, 2.1)
    origin.fail(second, Fault.DOWN, 2.2)
    assert origin.state.wait_s(2.2) == pytest.approx(0.15)
    assert origin.state.outages == 1


def test_a_failed_probe_lets_the_next_one_be_sent_after_the_pause():
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0)
    origin.fail_one(Fault.BROKEN, 2.25)
    assert origin.state.wait_s(2.25) == pytest.approx(0.375)


def test_a_pause_after_the_end_of_an_outage_is_short_again():
    origin = Origin(pause_s=0.25)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0)
    pauses(origin, Fault.DOWN, 4, 2.0)
    origin.answer_one(20.0)
    origin.fail_one(Fault.DOWN, 30.0)
    assert origin.state.wait_s(30.0) == 0.25
    assert origin.state.outages == 2


def test_an_answer_to_another_call_than_the_probe_shows_a_false_alarm():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    first = origin.send(2.0)
    late = origin.send(2.0)
    origin.fail(first, Fault.DOWN, 2.1)
    assert origin.state.outages == 1
    origin.answer(late, 2.2)
    assert not origin.state.is_paused
    assert (origin.state.outages, origin.state.limit) == (0, 4.0)


def test_an_answer_to_a_call_that_was_sent_before_the_failed_ones_opens_nothing():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    early = origin.send(2.0)
    origin.fail_one(Fault.DOWN, 3.0)
    origin.answer(early, 3.1)
    assert origin.state.is_paused


# -- whose fault a failure is --------------------------------------------------------------------


def test_a_failure_in_an_outage_is_not_the_rows_fault():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    row = origin.fail_one(Fault.BROKEN, 2.0)
    assert not origin.state.is_origins_fault(row)
    origin.fail_one(Fault.BROKEN, 3.0)
    assert origin.state.is_origins_fault(row)
    origin.answer_one(4.0)  # the outage is over, and was one
    assert origin.state.is_origins_fault(row)


def test_a_failure_after_an_outage_may_be_the_rows_fault():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    origin.fail_one(Fault.DOWN, 2.0)
    origin.answer_one(3.0)
    row = origin.fail_one(Fault.BROKEN, 4.0)
    assert not origin.state.is_origins_fault(row)


def test_calls_in_flight_will_show_whose_fault_a_failure_is():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    row, other = origin.send_many(2, 2.0)
    origin.fail(row, Fault.BROKEN, 2.1)
    assert origin.state.is_undecided(row)
    origin.state.cancelled(other)
    assert not origin.state.is_undecided(row)


def test_an_answer_to_a_later_call_decides_that_a_failure_was_the_rows():
    origin = Origin(ceiling=4)
    origin.answer_one(1.0)
    row = origin.send(2.0)
    later, _ = origin.send_many(2, 2.5)
    origin.fail(row, Fault.BROKEN, 2.6)
    assert origin.state.is_undecided(row)
    origin.answer(later, 2.7)
    assert not origin.state.is_undecided(row)


def test_nothing_is_undecided_before_the_first_answer():
    origin = Origin(ceiling=4)
    row, _ = origin.send_many(2, 2.0)
    origin.fail(row, Fault.BROKEN, 2.1)
    assert not origin.state.is_undecided(row)


def turned_away(origin, call, times, now, every_s):
    """Turn one row away again and again, while others are answered."""
    for _ in range(times):
        origin.fail(origin.send(now, call), Fault.BUSY, now)
        origin.answer_one(now + every_s / 2)
        now += every_s
    return now


@pytest.mark.parametrize(
    ("times", "every_s", "is_rows"),
    [(17, 4.0, True), (16, 4.0, False), (17, 3.0, False)],
)
def test_a_row_that_alone_is_turned_away_often_and_long_is_refused_for_itself(
    times, every_s, is_rows
):
    origin = Origin(give_up_s=60.0)
    call = Standing(timeout_s=30.0)
    end = turned_away(origin, call, times, 100.0, every_s)
    assert origin.state.is_rows_refusal(call, end) is is_rows


def test_a_row_is_not_refused_for_itself_where_no_other_is_answered():
    origin = Origin(give_up_s=60.0)
    origin.answer_one(99.0)
    call = Standing(timeout_s=30.0)
    for number in range(20):
        origin.fail(origin.send(100.0 + number, call), Fault.BUSY, 100.0 + number)
    assert call.refusals == 20
    assert call.refused_since == 100.0
    assert not origin.state.is_rows_refusal(call, 300.0)


# -- when it is given up --------------------------------------------------------------------------


def test_an_origin_is_given_up_when_nothing_was_answered_for_a_minute_since_a_failure():
    origin = Origin(give_up_s=60.0)
    for now in (10.0, 25.0, 40.0, 55.0, 69.5):
        origin.fail_one(Fault.BROKEN, now)
    assert not origin.state.is_given_up(69.9)
    assert origin.state.is_given_up(70.0)


def test_an_origin_that_did_not_fail_is_never_given_up():
    assert not Origin().state.is_given_up(1e9)


def test_an_answer_starts_the_minute_anew():
    origin = Origin(give_up_s=60.0)
    origin.fail_one(Fault.BROKEN, 10.0)
    origin.answer_one(20.0)
    assert not origin.state.is_given_up(100.0)


def test_an_origin_that_asked_for_a_longer_wait_is_given_up_after_twice_that():
    origin = Origin(give_up_s=60.0)
    origin.fail_one(Fault.BUSY, 10.0, asked_s=50.0)
    origin.fail_one(Fault.BUSY, 60.0, asked_s=20.0)
    origin.fail_one(Fault.BUSY, 80.0)
    assert not origin.state.is_given_up(109.0)
    assert origin.state.is_given_up(110.0)


def test_an_answer_to_an_earlier_call_starts_the_minute_anew_but_is_no_proof():
    origin = Origin(give_up_s=60.0)
    early = origin.send(10.0, timeout_s=100.0)
    origin.fail_one(Fault.BROKEN, 20.0)
    origin.answer(early, 50.0)
    origin.fail_one(Fault.BROKEN, 50.0)
    assert not origin.state.is_given_up(109.0)
    assert origin.state.is_given_up(110.0)


def test_time_in_which_nothing_was_done_counts_for_nothing():
    """A machine was suspended: the moment that was expected is long over."""
    origin = Origin(give_up_s=60.0, cap_s=15.0)
    origin.fail(origin.send(10.0, timeout_s=5.0), Fault.BROKEN, 10.0)
    # the row was to be asked again 15 s later at the latest
    origin.fail_one(Fault.BROKEN, 1000.0)
    # of the 990 s only 15 count
    assert not origin.state.is_given_up(1044.0)
    assert origin.state.is_given_up(1045.0)


def test_the_time_of_a_call_that_may_still_be_answered_counts():
    origin = Origin(give_up_s=60.0, cap_s=15.0)
    origin.fail_one(Fault.BROKEN, 10.0)
    hanging = origin.send(20.0, timeout_s=50.0)
    origin.fail(hanging, Fault.SILENT, 70.0)
    assert origin.state.is_given_up(70.0)


def test_a_pause_that_was_asked_for_counts():
    origin = Origin(give_up_s=10.0, cap_s=1.0)
    origin.fail_one(Fault.BUSY, 10.0, asked_s=40.0)
    origin.fail_one(Fault.BUSY, 50.0)
    assert not origin.state.is_given_up(89.0)
    assert origin.state.is_given_up(90.0)


def test_an_origin_that_is_given_up_in_an_outage_is_asked_at_once_by_another_row():
    origin = Origin(give_up_s=60.0, pause_s=0.25)
    origin.answer_one(1.0)
    for now in (10.0, 25.0, 40.0, 55.0):
        origin.fail_one(Fault.DOWN, now)
    origin.fail_one(Fault.DOWN, 70.0)
    assert origin.state.wait_s(70.0) == 0.0
