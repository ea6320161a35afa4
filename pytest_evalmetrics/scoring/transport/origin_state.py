"""When calls to one origin are sent: its limit, its pauses, and when it is given up.

A state machine without a clock of its own: every method gets the time, so that a test needs no
sleep. `exchange` asks it and keeps the queue.

An origin is open or paused. Open, it gets as many calls at once as it bears. Paused, it gets
nothing until the pause is over, then one call, the probe. An answer opens it again; a failed probe
makes the next pause longer.
"""

from __future__ import annotations

from enum import Enum
from itertools import count
from math import inf

import msgspec


class Fault(Enum):
    """The kind of a failure that may pass, by whose fault it may be."""

    DOWN = "down"  # no connection: the endpoint's, whatever the row
    BUSY = "busy"  # 429, 503: the endpoint takes no further call at the moment
    BROKEN = "broken"  # another 5xx, a closed connection: the endpoint's, or the row's
    SILENT = "silent"  # no answer in time: the same, and it may be overloaded


class RetryPolicy(msgspec.Struct, frozen=True):
    """The waits between attempts, and when an endpoint is given up. All are seconds."""

    # the longest wait of a row after its first failure; doubled after each further one
    base_s: float = 1.0
    # the longest wait of a row
    cap_s: float = 15.0
    # the longest wait that an endpoint can ask for
    retry_after_cap_s: float = 60.0
    # an endpoint is given up after so long without any answer
    give_up_s: float = 60.0
    # the first and the longest pause of an endpoint that is down; each is 1.5 times the one before
    pause_s: float = 0.25
    longest_pause_s: float = 3.0
    # the same of a busy one
    busy_pause_s: float = 0.02
    longest_busy_pause_s: float = 1.0

    def wait_s(self, failed: int, random: float) -> float:
        """Return the seconds that a row waits after `failed` attempts of its own.

        Full jitter: uniform in [0, min(cap, base * 2**(failed - 1))).

        Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
        """
        longest = min(self.cap_s, self.base_s * 2.0 ** min(failed - 1, 30))
        return random * longest


_PATIENCE_S = 0.25  # between a refusal and the next try of a higher limit, at first
_LONGEST_PATIENCE_S = 8.0
_GAP_SHRINKS = 0.98  # of the time between two calls, after each answer
_GAP_SHRINKS_FAST = 0.93  # the same, while none was refused for some time
_SOON = 10  # answers after a refusal
_GAP_GROWS = 1.05  # the same, after each refusal
_SHORTEST_GAP_S = 0.002
_LONGEST_GAP_S = 0.25
_SHORTEST_SPREAD_S = 0.005  # between two calls: timers are not exact
_SEVERAL = 4  # rows that fail without an answer between them show an outage
_REFUSALS = 16  # of one row, while others are answered: then it is the row's fault
_numbers = count()


class Standing(msgspec.Struct):
    """The record of one call while it is under way."""

    timeout_s: float
    # identifies the call
    number: int = msgspec.field(default_factory=lambda: next(_numbers))
    # requests that were sent
    attempts: int = 0
    # failed attempts that were the row's own fault
    own_failures: int = 0
    # attempts that a busy endpoint turned away, and when the first one was
    refusals: int = 0
    refused_since: float = inf
    # when the last attempt was sent
    sent_at: float = 0.0
    # waits that followed a failure which no outage explained yet
    waits: int = 0
    # how many outages of the origin there had been when it failed
    outages: int = 0


class OriginState:
    """The state of one origin (scheme, host and port), which all its endpoints share.

    The limit of calls in flight starts at the ceiling. A busy origin bears what it did not turn
    away: the limit becomes the number of calls that are still in flight. It grows by one with each
    answer, and waits longer with the next try each time that a higher limit is refused. A timeout
    halves it; then it grows by one for each round of answers.

    An origin that is busy with nothing in flight limits the rate. It is probed after short pauses,
    and where a pause brings one answer only, calls are sent a `gap` apart, which adapts.

    Source: D.-M. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for
    Congestion Avoidance in Computer Networks", 1989.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        # the most calls in flight that a benchmark allows, and that the origin bears
        self.ceiling = 0
        self.limit = 0.0
        self.in_flight = 0
        # those of them that have not failed since the origin's last answer
        self._unfailed: set[int] = set()
        # outages so far: pauses that were not asked for by a busy endpoint
        self.outages = 0
        self._has_answered = False
        # when the latest of the answered calls was sent
        self._answered_sent_at = -inf
        self._answers_since_pause = 0
        self._answers_since_refusal = 0
        # whether the pause is one that shows the rate which a busy origin bears
        self._pause_shows_rate = False
        self._is_outage_pause = False
        # while it is paused: when the probe may be sent, the probe, and the last pause
        self._resume_at: float | None = None
        self._probe: int | None = None
        self._pause_s = 0.0
        # the limit below which each answer adds one
        self._slow_start_to = 0.0
        # when a higher limit is tried next
        self._grow_at = 0.0
        self._patience_s = _PATIENCE_S
        self._refused_limit = inf
        # the moving mean of the seconds to an answer
        self._latency_s = 0.0
        # of an origin that limits the rate
        self._gap_s = 0.0
        self._send_at = 0.0
        # since the last answer: the first failure, when the first of the failed calls was sent, the
        # longest wait that was asked for, the rows that failed, and those of them that had not
        # failed by their own fault before
        self._failing_since: float | None = None
        self._failing_sent_at = inf
        self._asked_s = 0.0
        self._failed: set[int] = set()
        self._failed_anew: set[int] = set()
        # until when it is no surprise that nothing happens
        self._expected_by = inf
        # when the limit was last halved
        self._halved_at = -inf

    def allow(self, ceiling: int) -> None:
        """Raise the ceiling, for a benchmark that allows more than those before it."""
        if ceiling > self.ceiling:
            self.limit += ceiling - self.ceiling
            self.ceiling = ceiling

    @property
    def is_paused(self) -> bool:
        """Whether it gets one call at a time, after a pause."""
        return self._resume_at is not None

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until the next call may be sent; None until something happens."""
        if self._resume_at is not None:
            if self._probe is not None:
                return None
            return max(0.0, self._resume_at - now)
        if self.in_flight >= int(self.limit):
            return None
        return max(0.0, self._send_at - now)

    def sent(self, call: Standing, now: float) -> None:
        """Note that a call is sent."""
        self._discount_silence(now)
        self.in_flight += 1
        if call.number not in self._failed:
            self._unfailed.add(call.number)
        call.attempts += 1
        call.sent_at = now
        if self._resume_at is not None:
            self._probe = call.number
        self._send_at = now + self._spacing_s()
        self._expect_by(now + call.timeout_s)

    def cancelled(self, call: Standing) -> None:
        """Note that a call in flight was cancelled: it says nothing of the origin."""
        self._landed(call)
        if self._probe == call.number:
            self._probe = None

    def _landed(self, call: Standing) -> None:
        self.in_flight -= 1
        self._unfailed.discard(call.number)

    def answered(self, call: Standing, now: float) -> None:
        """Note an answer: a result, or a refusal of what this row asks for."""
        self._landed(call)
        self._has_answered = True
        latency_s = now - call.sent_at
        self._latency_s += 0.2 * (latency_s - self._latency_s)
        if self._failing_since is not None and call.sent_at < self._failing_sent_at:
            # it was sent before what fails, and says nothing of it
            self._failing_since = now
            return
        if self._resume_at is not None:
            self._open(call)
        self._answered_sent_at = max(self._answered_sent_at, call.sent_at)
        self._answers_since_pause += 1
        self._failing_since = None
        self._failing_sent_at = inf
        self._asked_s = 0.0
        self._failed.clear()
        self._failed_anew.clear()
        self._expected_by = inf
        self._grow(now)
        self._answers_since_refusal += 1
        is_far = self._answers_since_refusal > _SOON
        self._gap_s *= _GAP_SHRINKS_FAST if is_far else _GAP_SHRINKS
        if self._gap_s < _SHORTEST_GAP_S:
            self._gap_s = 0.0

    def failed(
        self, call: Standing, fault: Fault, now: float, asked_s: float | None = None
    ) -> None:
        """Note a failure that may pass, and the wait that the endpoint asked for."""
        self._discount_silence(now)
        self._landed(call)
        if self._failing_since is None:
            self._failing_since = now
        self._failing_sent_at = min(self._failing_sent_at, call.sent_at)
        self._asked_s = max(self._asked_s, asked_s or 0.0)
        self._expect_by(now + self.policy.cap_s)
        call.outages = self.outages
        self._failed.add(call.number)
        if call.own_failures == 0:
            self._failed_anew.add(call.number)
        if fault is Fault.BUSY:
            self._refused(call, now, asked_s)
        else:
            if fault is Fault.SILENT:
                self._halve(call, now)
            if self._is_outage(fault):
                self._pause_for_outage(call, now, asked_s)
        if self._probe == call.number:
            self._probe = None

    def is_given_up(self, now: float) -> bool:
        """Check whether nothing was answered for too long since a failure."""
        if self._failing_since is None:
            return False
        longest = max(self.policy.give_up_s, 2 * self._asked_s)
        return now - self._failing_since >= longest

    def is_origins_fault(self, call: Standing) -> bool:
        """Check whether several rows fail, or failed since this one did."""
        return self.is_paused or self.outages > call.outages

    def is_undecided(self, call: Standing) -> bool:
        """Check whether calls in flight will show whose fault a failure is."""
        others_answered = self._answered_sent_at > call.sent_at
        return self._has_answered and not others_answered and len(self._unfailed) > 0

    def is_rows_refusal(self, call: Standing, now: float) -> bool:
        """Check whether one row is turned away for ever, while others are answered."""
        return (
            call.refusals > _REFUSALS
            and now - call.refused_since >= self.policy.give_up_s
            and self._answered_sent_at > call.refused_since
        )

    # -- a busy origin ---------------------------------------------------------------------------

    def _refused(self, call: Standing, now: float, asked_s: float | None) -> None:
        self._answers_since_refusal = 0
        call.refusals += 1
        call.refused_since = min(call.refused_since, now)
        if self._gap_s > 0.0:
            self._gap_s = min(_LONGEST_GAP_S, self._gap_s * _GAP_GROWS)
        if self._resume_at is not None and self._probe != call.number:
            return
        if self.in_flight > 0:
            self._limit_to_accepted(now)
            return
        self.limit = 1.0
        self._slow_start_to = float(self.ceiling)
        policy = self.policy
        self._pause_shows_rate = asked_s is None
        self._is_outage_pause = False
        if asked_s is not None:
            self._resume_at = now + asked_s
        else:
            first_s = self._gap_s / 4 if self._gap_s > 0.0 else policy.busy_pause_s
            longer_s = max(first_s, 1.5 * self._pause_s)
            self._pause_s = min(longer_s, policy.longest_busy_pause_s)
            self._resume_at = now + self._pause_s
        self._expect_by(self._resume_at)

    def _spacing_s(self) -> float:
        """Return the seconds between two calls: of a limited origin, spread over its latency."""
        spread_s = 0.75 * self._latency_s / self.limit
        if self.limit >= self.ceiling or spread_s < _SHORTEST_SPREAD_S:
            return self._gap_s
        return max(self._gap_s, spread_s)

    def _limit_to_accepted(self, now: float) -> None:
        if self.in_flight >= int(self.limit):
            return
        self.limit = float(self.in_flight)
        self._slow_start_to = float(self.ceiling)
        self._refused_limit = self.limit + 1.0
        if now >= self._grow_at:
            self._patience_s = min(2.0 * self._patience_s, _LONGEST_PATIENCE_S)
        self._grow_at = now + self._patience_s

    def _grow(self, now: float) -> None:
        if now < self._grow_at or self.limit >= self.ceiling:
            return
        if self.limit < self._slow_start_to:
            self.limit = min(self._slow_start_to, self.limit + 1.0)
        else:
            self.limit = min(float(self.ceiling), self.limit + 1.0 / self.limit)
        if self.limit >= self._refused_limit + 1.0:
            self._refused_limit = inf
            self._patience_s = _PATIENCE_S

    def _halve(self, call: Standing, now: float) -> None:
        """Halve the limit once for all calls that were sent before the last time.

        They tell of the load that was, not of the load that is.
        """
        if call.sent_at > self._halved_at:
            self._halved_at = now
            self.limit = max(1.0, self.limit / 2)
            self._slow_start_to = self.limit

    # -- an outage -------------------------------------------------------------------------------

    def _is_outage(self, fault: Fault) -> bool:
        if fault is Fault.DOWN and not self._has_answered:
            # nothing listens there: the URL may be wrong
            return False
        if fault is Fault.DOWN or self.is_paused:
            return True
        several = max(2, min(_SEVERAL, self.ceiling // 4), len(self._unfailed))
        return len(self._failed_anew) >= several

    def _pause_for_outage(
        self, call: Standing, now: float, asked_s: float | None
    ) -> None:
        if self._resume_at is None:
            self.outages += 1
            self._slow_start_to = max(self._slow_start_to, self.limit)
            self._pause_shows_rate = False
            self._is_outage_pause = True
        elif self._probe != call.number:
            return  # it was sent before the pause
        policy = self.policy
        longer_s = max(policy.pause_s, 1.5 * self._pause_s)
        self._pause_s = min(longer_s, policy.longest_pause_s)
        self._resume_at = now + max(self._pause_s, asked_s or 0.0)
        if self.is_given_up(now):
            # the rows that failed are lost without further waits, so that another row is asked
            self._resume_at = now
        self._expect_by(self._resume_at)

    def _open(self, call: Standing) -> None:
        """End the pause after an answer."""
        if self._probe == call.number:
            waited_s = call.sent_at - self._answered_sent_at
            is_one_by_one = self._pause_shows_rate and self._answers_since_pause <= 2
            is_first = self._answered_sent_at == -inf
            if self._gap_s == 0.0 and is_one_by_one and not is_first:
                # its place came free between the last two tries
                self._gap_s = min(waited_s - self._pause_s / 2, _LONGEST_GAP_S)
            self._send_at = call.sent_at + self._spacing_s()
            self._answers_since_pause = 0
            self._pause_s = 0.0
            self.limit = 1.0
        elif self._is_outage_pause:
            self.outages -= 1  # a false alarm: others were answered at the same time
        self._resume_at = None
        self._probe = None

    # -- a machine that was suspended -------------------------------------------------------------

    def _expect_by(self, moment: float) -> None:
        if self._expected_by == inf:
            self._expected_by = moment
        self._expected_by = max(self._expected_by, moment)

    def _discount_silence(self, now: float) -> None:
        """Leave time out in which this process did nothing, or had nothing to send."""
        if now > self._expected_by:
            if self._failing_since is not None:
                self._failing_since += now - self._expected_by
            self._expected_by = now
