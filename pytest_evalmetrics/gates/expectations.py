"""The ``expect`` and ``thresholds`` gates: complete rollouts, and metrics within bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.gates.task_gates import listed
from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import Count
from pytest_evalmetrics.spec.metric_names import is_rate, parse, range_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.results import AgentResult, Estimate, Interval
    from pytest_evalmetrics.spec import Benchmark, ExpectSpec, Threshold

_DEFAULT_MAX_MISSING = 0.05  # with more than this share left out it is another benchmark
_SLACK = 1e-9  # a mean of seven passes in ten is not always 0.7 to the last bit


class Completeness(msgspec.Struct, frozen=True):
    """Whether one agent's rollouts are complete."""

    checks: tuple[Check, ...]  # of the tasks, the rollouts of each task, and the missing rewards
    expected: NDArray[np.int64]  # rollouts that each task should have, shape (tasks,)
    notes: tuple[str, ...]  # what nothing in the benchmark file asks for, and the line that would


def missing_policy(expect: ExpectSpec) -> tuple[str | float, float]:
    """Return what a missing number means, and which share of rollouts may be missing."""
    meaning: str | float = "error" if expect.max_missing is None else "exclude"
    if expect.missing_reward is not None:
        meaning = expect.missing_reward
    if expect.max_missing is not None:
        return meaning, expect.max_missing
    return meaning, _DEFAULT_MAX_MISSING if meaning == "exclude" else 0.0


def check_completeness(benchmark: Benchmark, agent: str, table: RolloutTable) -> Completeness:
    """Compare the rollouts of one agent with ``expect`` and ``num_samples``.

    `agent` is the agent's name where a benchmark has several, else empty.
    """
    inventory = _Inventory(benchmark, agent, table)
    missing = inventory.check_missing()
    few_allowed = missing.verdict is Verdict.PASS  # so few that max_missing allows them
    checks = (inventory.check_tasks(), inventory.check_rollouts(allowed=few_allowed), missing)
    return Completeness(
        checks=tuple(check for check in checks if check is not None),
        expected=inventory.expected,
        notes=inventory.notes(),
    )


class _Inventory:
    """One agent's rollouts, counted."""

    def __init__(self, benchmark: Benchmark, agent: str, table: RolloutTable) -> None:
        self.benchmark, self.spec, self.agent, self.table = benchmark, benchmark.spec, agent, table
        self.most = int(table.counts.max(initial=0))
        asked, n = self.spec.expect.rollouts, self.spec.num_samples or self.most
        # rollouts that each task should have; None where any number will do
        self.wanted = asked if isinstance(asked, Count) else None
        if asked is None:
            self.wanted = Count(min=n, max=n)
        self.expected = np.maximum(table.counts, 0 if self.wanted is None else self.wanted.min)
        self.absent = int((self.expected - table.counts).sum())
        rewards = table.scores.get(self.spec.reward)
        self.scored = rewards is not None
        self.lacks_reward = (
            table.lacking(self.spec.row_columns) if rewards is None else np.isnan(rewards)
        )
        self.unscored = int(self.lacks_reward.sum())

    def notes(self) -> tuple[str, ...]:
        spec = self.spec
        if spec.expect.tasks is not None or spec.baseline is not None:  # it knows the tasks
            return ()
        tasks = len(self.table.tasks)
        of = f" of {self.agent}" if self.agent else ""
        were = f"1 task{of} was found" if tasks == 1 else f"{tasks} tasks{of} were found"
        unchecked = f"completeness is unchecked: {were}, and nothing says how many there are: "
        if self.benchmark.in_python:
            return (f'{unchecked}give expect={{"tasks": {tasks}}}',)
        samples = f" and `num_samples: {self.most}`"
        also = "" if spec.num_samples or spec.expect.rollouts else samples
        line = self.benchmark.line_of()
        return (f"{unchecked}add `expect: {{tasks: {tasks}}}`{also} below line {line}",)

    def check_tasks(self) -> Check | None:
        wanted = self.spec.expect.tasks
        if wanted is None:
            return None
        tasks, reason, hint = len(self.table.tasks), "", ""
        if tasks < wanted.min:
            reason = f"{of_many(wanted.min - tasks, wanted.min, 'task', 'is')} missing: "
            reason += f"{tasks} {'was' if tasks == 1 else 'were'} found"
            hint = "complete the run; or, where the benchmark has shrunk, set expect.tasks"
        elif not wanted.allows(tasks):
            more = tasks - wanted.min
            reason = f"{many(tasks, 'task', 'was')} found, {more} more than there should be"
            hint = "look for another run's rollouts in the files; or, where it has grown, set "
            hint += "expect.tasks"
        return self._count("tasks", tasks, wanted, ("expect", "tasks"), reason=reason, hint=hint)

    def check_rollouts(self, *, allowed: bool) -> Check | None:
        wanted, counts = self.wanted, self.table.counts
        if wanted is None:
            return None
        asked = self.spec.expect.rollouts is not None
        path = ("expect", "rollouts") if asked else ("num_samples",)
        more = (counts > wanted.max).nonzero()[0] if wanted.max is not None else counts[:0]
        if len(more) and wanted.max is not None:
            most = many(wanted.max, "rollout")
            reason = f"{of_many(len(more), len(counts), 'task', 'has')} more than {most}: "
            reason += listed([f"task {self.table.tasks[i]} has {counts[i]}" for i in more.tolist()])
            hint = "look for another run's rollouts in the files; or set num_samples"
            return self._count("rollouts", self.most, wanted, path, reason=reason, hint=hint)
        reason = hint = ""
        few = (counts < wanted.min).nonzero()[0].tolist()
        if few:
            stated = asked or self.spec.num_samples is not None
            than = f"than {many(wanted.min, 'rollout')}" if stated else "rollouts than the others"
            reason = f"{of_many(len(few), len(counts), 'task', 'has')} fewer {than}: " + listed(
                [f"task {self.table.tasks[i]} has {counts[i]} of {wanted.min}" for i in few]
            )
            allow = "expect: {max_missing: 2%}, or expect: {rollouts: any}"
            hint = "" if allowed else f"complete the run; or allow it: {allow}"
        least = int(counts.min(initial=self.most))
        return self._count("rollouts", least, wanted, path, reason=reason, hint=hint)

    def check_missing(self) -> Check:
        meaning, limit = missing_policy(self.spec.expect)
        filled = isinstance(meaning, float) and self.unscored > 0
        counted = self.absent + self.unscored
        if filled and self.spec.expect.max_missing is None:
            counted = self.absent  # what has a stated reward is not missing
        total = int(self.expected.sum())
        share = counted / total if total else 0.0
        reason = self._what_is_missing()
        if counted:
            reason += f", {share * 100:.3g} % of {many(total, 'rollout')}"
        verdict, hint = Verdict.PASS, ""
        if meaning == "error" and self.unscored:
            verdict = Verdict.FAIL
            hint = (
                "complete the run; or say what such a rollout means: "
                "expect: {missing_reward: exclude}, or {missing_reward: 0.0}"
            )
        elif share > limit:
            verdict = Verdict.FAIL
            reason += f", more than {limit * 100:.3g} %"
            hint = "complete the run; or set expect: {max_missing: ...}"
        elif filled:
            reason += f": counted as {meaning}"
        elif self.unscored:
            reason += ": left out"
        return Check(
            "expect",
            "missing",
            verdict,
            agent=self.agent,
            value=share,
            bound=f"<= {limit:.12g}",
            reason=reason,
            hint=hint,
            line=self.benchmark.line_of("expect", "max_missing"),
        )

    def _what_is_missing(self) -> str:
        parts = []
        if self.absent:
            are = f"{self.absent} rollouts are" if self.absent > 1 else "one rollout is"
            parts.append(f"{are} absent")
        if self.unscored:
            tasks = np.unique(self.table.task[self.lacks_reward]).tolist()
            has = "one rollout has" if self.unscored == 1 else f"{self.unscored} rollouts have"
            which = listed([self.table.tasks[i] for i in tasks])
            what = f"no finite {self.spec.reward}"
            if not self.scored:
                columns = ", ".join(self.spec.row_columns)
                what = f"not all of {columns}" if ", " in columns else f"no {columns}"
            parts.append(f"{has} {what} (task {which})")
        return " and ".join(parts)

    def _count(
        self, name: str, count: int, wanted: Count, path: tuple[str, ...], *, reason: str, hint: str
    ) -> Check:
        """Check a count, which fails where there is a hint."""
        return Check(
            "expect",
            name,
            Verdict.FAIL if hint else Verdict.PASS,
            agent=self.agent,
            value=count,
            bound=str(wanted) if wanted.max is None else f"== {wanted}",
            reason=reason,
            hint=hint,
            line=self.benchmark.line_of(*path),
        )


def check_numbers(benchmark: Benchmark, agent: str, result: AgentResult) -> Iterator[Check]:
    """Check that the numbers under thresholds are there; the reward has checks of its own."""
    spec = benchmark.spec
    _, limit = missing_policy(spec.expect)
    checked = set()
    for name in spec.thresholds:
        estimate = result.estimates[name]
        of = estimate.score or estimate.name
        if not _lacks(estimate, spec.reward) or (of, estimate.missing) in checked:
            continue
        checked.add((of, estimate.missing))
        total = estimate.missing + estimate.rollouts
        share = estimate.missing / total
        holds = share <= limit
        reason, hint = f"{_without(estimate)}, {share * 100:.3g} %", ""
        if holds:
            reason += ": left out"
        else:
            reason += f", more than {limit * 100:.3g} %" if limit else ""
            reason += f": {estimate.name} is of the others alone"
            hint = "complete the run; or say how many may lack it: expect: {max_missing: 2%}"
        yield Check(
            "expect",
            f"missing/{of}",
            Verdict.PASS if holds else Verdict.FAIL,
            agent=agent,
            value=share,
            bound=f"<= {limit:.12g}",
            reason=reason,
            hint=hint,
            line=benchmark.line_of("thresholds", name),
        )


def few_numbers(benchmark: Benchmark, agent: str, result: AgentResult) -> list[str]:
    """Say which other metrics that the benchmark lists rest on a part of the rollouts."""
    spec = benchmark.spec
    listed = dict.fromkeys((*spec.metrics, *(spec.key_metrics or ())))
    of = f"{agent}: " if agent else ""
    return [
        f"{of}{estimate.name} is of {estimate.rollouts} rollouts: {_without(estimate)}"
        for name in listed
        if name not in spec.thresholds and _lacks(estimate := result.estimates[name], spec.reward)
    ]


def unreached_threshold(benchmark: Benchmark, agent: str, table: RolloutTable) -> list[str]:
    """Tell of rewards none of which passes, though some are above 0: their scale is another."""
    spec, rewards = benchmark.spec, table.scores.get(benchmark.spec.reward)
    asked = () if spec.metrics == type(spec).metrics else spec.metrics  # not the default ones
    listed = dict.fromkeys((*asked, *(spec.key_metrics or ()), *spec.thresholds))
    rates = [name for name in listed if is_rate(name)]
    best = 0.0 if rewards is None or not rates else np.fmax.reduce(rewards, initial=0.0)
    if not 0 < best < spec.pass_threshold:
        return []
    of = f"{agent}: " if agent else ""
    note = f"{of}no {spec.reward} reaches pass_threshold {spec.pass_threshold:.12g} (the largest "
    note += f"is {best:.4g}), so that {', '.join(rates)} can't be above 0: set pass_threshold, "
    return [f"{note}line {benchmark.line_of('pass_threshold')}, to what passes"]


def _lacks(estimate: Estimate, reward: str) -> bool:
    return estimate.missing > 0 and estimate.score != reward


def _without(estimate: Estimate) -> str:
    what = (
        f"no finite {estimate.score}" if estimate.score else f"nothing that {estimate.name} reads"
    )
    total = estimate.missing + estimate.rollouts
    return f"{of_many(estimate.missing, total, 'rollout', 'has')} {what}"


def check_thresholds(
    benchmark: Benchmark,
    agent: str,
    result: AgentResult,
    intervals: Mapping[str, Interval | None],
    look: Look | None = None,
) -> Iterator[Check]:
    """Compare an agent's metrics, or ends of `intervals`, with the file's thresholds."""
    for name, threshold in benchmark.spec.thresholds.items():
        estimate, line = result.estimates[name], benchmark.line_of("thresholds", name)
        interval = intervals.get(name, estimate.interval)
        check = check_threshold(estimate, threshold, agent, line, interval)
        if look is not None:
            ends = (threshold.min, threshold.max)
            sure = look.settles(estimate.value, estimate.interval, *ends)
            check = replace(check, evidence={**check.evidence, "look": look.evidence(settled=sure)})
        yield check


def blind_thresholds(benchmark: Benchmark) -> Iterator[str]:
    """Report thresholds at the end of their metric's range, where nothing breaks them.

    What is outside of the range is refused when the file is read.
    """
    for text, threshold in benchmark.spec.thresholds.items():
        try:
            known = range_of(benchmark.spec, parse(text))
        except MetricError:  # a hook may name its numbers as it likes
            continue
        low, high = threshold.min, threshold.max
        if (low is None or low <= known.low) and (high is None or high >= known.high):
            line = benchmark.line_of("thresholds", text)
            yield f"the threshold {threshold} of line {line} can't fail: {text} is {known.why}"


def check_threshold(
    estimate: Estimate, threshold: Threshold, agent: str, line: int, interval: Interval | None
) -> Check:
    """Compare an estimate, or an end of `interval`, with a threshold.

    What is undefined can't be judged.
    """
    value, subject, bound = estimate.value, estimate.name, str(threshold)
    verdict, hint = Verdict.INCONCLUSIVE, ""
    if threshold.bound != "point" and not math.isnan(value):
        bound = threshold.described
    if math.isnan(value):
        reason = f"{subject} is undefined: {estimate.reason}"
    elif threshold.bound != "point" and interval is None:
        reason = f"{subject} has no interval: {estimate.reason}"
        hint = "drop `bound:`, or gate a metric that has an interval"
    else:
        if interval is not None and threshold.bound != "point":
            value = interval.low if threshold.bound == "lower" else interval.high
            subject = f"the {threshold.end} of {subject}"
        reason = _broken(subject, value, threshold)
        verdict = Verdict.FAIL if reason else Verdict.PASS
        if reason and estimate.of_tasks:
            reason += f" (of {', '.join(estimate.of_tasks)})"
    undefined = math.isnan(value)
    return Check(
        "threshold",
        estimate.name,
        verdict,
        agent=agent,
        value=None if undefined else value,
        bound=bound,
        reason=reason,
        hint=hint,
        estimate=None if undefined else estimate,
        line=line,
    )


def _broken(subject: str, value: float, threshold: Threshold) -> str:
    low, high = threshold.min, threshold.max
    if low is not None and value < low - _SLACK * max(1.0, abs(low)):
        return f"{subject} is {distinct(value, low)}, below {low:.12g}"
    if high is not None and value > high + _SLACK * max(1.0, abs(high)):
        return f"{subject} is {distinct(value, high)}, above {high:.12g}"
    return ""


def distinct(value: float, bound: float) -> str:
    """Write `value` with so many digits that it differs from `bound`."""
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if float(text) != float(f"{bound:.{digits}g}"):
            return text
    return repr(value)
