"""The ``expect`` and ``thresholds`` gates: complete rollouts, and metrics within bounds."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from pytest_evalmetrics.config.declarations import counts_passes, range_of
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.results import (
    AgentResult,
    Check,
    Estimate,
    Interval,
    Verdict,
)
from pytest_evalmetrics.model.rollout_table import STATED_COUNT, STATED_TOTAL
from pytest_evalmetrics.spec import Benchmark, Count, ExpectSpec, Threshold
from pytest_evalmetrics.spec.metric_names import fields_of, parse
from pytest_evalmetrics.sums import reaches, stays_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_DEFAULT_MAX_MISSING = (
    0.05  # with more than this share left out it is another benchmark
)


def missing_policy(expect: ExpectSpec) -> tuple[str | float, float]:
    """Return the policy for missing numbers, and the share of rollouts that may be missing."""
    meaning: str | float = "error" if expect.max_missing is None else "exclude"
    if expect.missing_reward is not None:
        meaning = expect.missing_reward
    if expect.max_missing is not None:
        return meaning, expect.max_missing
    return meaning, _DEFAULT_MAX_MISSING if meaning == "exclude" else 0.0


class Completeness:
    """One agent's rollouts, counted and compared with ``expect`` and ``num_samples``."""

    # `agent` is empty if there is one; `expected` has the rollouts of each task, (tasks,).

    def __init__(self, benchmark: Benchmark, agent: str, table: RolloutTable) -> None:
        self.benchmark, self.spec, self.agent, self.table = (
            benchmark,
            benchmark.spec,
            agent,
            table,
        )
        self.most = int(table.counts.max(initial=0))
        asked, n = self.spec.expect.rollouts, self.spec.num_samples or self.most
        # rollouts that each task should have; None if any number will do
        self.wanted = asked if isinstance(asked, Count) else None
        if asked is None:
            self.wanted = Count(min=n, max=n)
        least = 0 if self.wanted is None else self.wanted.min
        self.expected: NDArray[np.int64] = np.maximum(table.counts, least)
        self.absent = int((self.expected - table.counts).sum())
        self.rewards = table.scores.get(self.spec.reward)
        if self.rewards is None:
            self.lacking = table.lacking(self.spec.row_columns)
        else:
            self.lacking = np.isnan(self.rewards)

    def checks(self) -> list[Check]:
        """Check the tasks, the rollouts of each task, and the missing rewards."""
        missing = self._missing()
        few_allowed = (
            missing.verdict is Verdict.PASS
        )  # so few that max_missing allows them
        checks = (
            self._tasks(),
            self._rollouts(allowed=few_allowed),
            missing,
            self._coverage(),
        )
        return [check for check in checks if check is not None]

    def notes(self) -> tuple[str, ...]:
        """Report the checks that the benchmark file lacks, and the lines that add them."""
        spec, tasks = self.spec, len(self.table.tasks)
        if (
            spec.expect.tasks is not None or spec.baseline is not None
        ):  # the task list is known
            return ()
        count = many(tasks, "task") + (f" of {self.agent}" if self.agent else "")
        unchecked = f"completeness is unchecked: {count} {'was' if tasks == 1 else 'were'} found, "
        unchecked += "and nothing says how many there are: "
        if self.benchmark.in_python:
            return (f'{unchecked}give expect={{"tasks": {tasks}}}',)
        also = f" and `num_samples: {self.most}`"
        if spec.num_samples or spec.expect.rollouts:
            also = ""
        line = self.benchmark.line_of()
        return (f"{unchecked}add `expect: {{tasks: {tasks}}}`{also} below line {line}",)

    def _tasks(self) -> Check | None:
        wanted, tasks = self.spec.expect.tasks, len(self.table.tasks)
        if wanted is None:
            return None
        reason = hint = ""
        if tasks < wanted.min:
            reason = (
                f"{of_many(wanted.min - tasks, wanted.min, 'task', 'is')} missing: "
            )
            reason += f"{tasks} {'was' if tasks == 1 else 'were'} found"
            hint = (
                "complete the run; or, where the benchmark has shrunk, set expect.tasks"
            )
        elif not wanted.allows(tasks):
            reason = (
                f"{many(tasks, 'task', 'was')} found, {tasks - wanted.min} too many"
            )
            hint = "look for another run's rollouts in the files; if it has grown, set expect.tasks"
        path = "expect", "tasks"
        return self._check(
            "tasks", tasks, _bound(wanted), path, reason=reason, hint=hint
        )

    def _rollouts(self, *, allowed: bool) -> Check | None:
        wanted, counts, names = self.wanted, self.table.counts, self.table.tasks
        if wanted is None:
            return None
        stated = self.spec.expect.rollouts is not None
        value, reason, hint = int(counts.min(initial=self.most)), "", ""
        few = np.flatnonzero(counts < wanted.min).tolist()
        more = (
            [] if wanted.max is None else np.flatnonzero(counts > wanted.max).tolist()
        )
        if more:
            value = self.most
            each = [f"task {names[i]} has {counts[i]}" for i in more]
            than = f"more than {many(wanted.min, 'rollout')}"
            reason = f"{of_many(len(more), len(counts), 'task', 'has')} {than}: {listed(each)}"
            hint = "look for another run's rollouts in the files; or set num_samples"
        elif few:
            than = "rollouts than the others"
            if stated or self.spec.num_samples is not None:
                than = f"than {many(wanted.min, 'rollout')}"
            each = [f"task {names[i]} has {counts[i]} of {wanted.min}" for i in few]
            reason = f"{of_many(len(few), len(counts), 'task', 'has')} fewer {than}: {listed(each)}"
            allow = "expect: {max_missing: 2%}, or expect: {rollouts: any}"
            hint = "" if allowed else f"complete the run; or allow it: {allow}"
        path = ("expect", "rollouts") if stated else ("num_samples",)
        return self._check(
            "rollouts", value, _bound(wanted), path, reason=reason, hint=hint
        )

    def _missing(self) -> Check:
        meaning, limit = missing_policy(self.spec.expect)
        unscored, total = int(self.lacking.sum()), int(self.expected.sum())
        filled = isinstance(meaning, float) and unscored > 0
        counted = self.absent + unscored
        if filled and self.spec.expect.max_missing is None:
            counted = self.absent  # a rollout with a stated reward is not missing
        share = counted / total if total else 0.0
        reason, hint = self._what_is_missing(unscored), ""
        if counted:
            reason += f", {share * 100:.3g} % of {many(total, 'rollout')}"
        if meaning == "error" and unscored:
            hint = "complete the run; or say what such a rollout means: "
            hint += "expect: {missing_reward: exclude}, or {missing_reward: 0.0}"
        elif share > limit:
            reason += f", more than {limit * 100:.3g} %"
            hint = "complete the run; or set expect: {max_missing: ...}"
        elif filled:
            reason += f": counted as {meaning}"
        elif unscored:
            reason += ": left out"
        path = "expect", "max_missing"
        return self._check(
            "missing", share, f"<= {limit:.12g}", path, reason=reason, hint=hint
        )

    def _coverage(self) -> Check | None:
        """Check that aggregates are computed over all samples that their files state."""
        count = self.table.scores.get(STATED_COUNT + self.spec.reward)
        total = self.table.scores.get(STATED_TOTAL + self.spec.reward)
        if count is None or total is None:
            return None
        stated = np.isfinite(count) & np.isfinite(total) & (total > 0)
        samples = float(count[stated].sum())
        whole = float(total[stated].sum())
        if not whole:
            return None
        _, limit = missing_policy(self.spec.expect)
        share = 1 - samples / whole
        reason = hint = ""
        if share > 0:
            reason = f"the aggregates are over {samples:,.0f} of {whole:,.0f} samples, "
            reason += f"{share * 100:.3g} % are missing"
        if share > limit:
            hint = "run it without --limit; or, where this part is meant, allow it: "
            hint += f"expect: {{max_missing: {math.ceil(share * 100)}%}}"
        path = "expect", "max_missing"
        bound = f"<= {limit:.12g}"
        return self._check("samples", share, bound, path, reason=reason, hint=hint)

    def _what_is_missing(self, unscored: int) -> str:
        parts = []
        if self.absent:
            are = f"{self.absent} rollouts are" if self.absent > 1 else "one rollout is"
            parts.append(f"{are} absent")
        if unscored:
            has = "one rollout has" if unscored == 1 else f"{unscored} rollouts have"
            what = f"no finite {self.spec.reward}"
            if self.rewards is None:
                columns = ", ".join(self.spec.row_columns)
                what = f"not all of {columns}" if ", " in columns else f"no {columns}"
            tasks = [
                self.table.tasks[i]
                for i in np.unique(self.table.task[self.lacking]).tolist()
            ]
            parts.append(f"{has} {what} (task {listed(tasks)})")
        return " and ".join(parts)

    def _check(
        self, name: str, value: float, bound: str, path: Sequence[str], **why: str
    ) -> Check:
        line = self.benchmark.line_of(*path)
        return _complete(name, value, bound, agent=self.agent, line=line, **why)


def _bound(wanted: Count) -> str:
    return str(wanted) if wanted.max is None else f"== {wanted}"


def _complete(name: str, value: float, bound: str, *, hint: str, **more: Any) -> Check:
    """Create a check of completeness; it fails if there is a hint."""
    verdict = Verdict.FAIL if hint else Verdict.PASS
    return Check("expect", name, verdict, value=value, bound=bound, hint=hint, **more)


def check_numbers(
    benchmark: Benchmark, agent: str, result: AgentResult
) -> Iterator[Check]:
    """Check the missing share of scores with thresholds, other than the reward."""
    _, limit = missing_policy(benchmark.spec.expect)
    checked = set()
    for name in benchmark.spec.thresholds:
        estimate = result.estimates[name]
        of = estimate.score or estimate.name
        if (
            not _lacks(estimate, benchmark.spec.reward)
            or (of, estimate.missing) in checked
        ):
            continue
        checked.add((of, estimate.missing))
        share = estimate.missing / (estimate.missing + estimate.rollouts)
        reason, hint = f"{_without(estimate)}, {share * 100:.3g} %", ""
        if share <= limit:
            reason += ": left out"
        else:
            reason += f", more than {limit * 100:.3g} %" if limit else ""
            reason += f": {estimate.name} is of the others alone"
            hint = "complete the run; or say how many may lack it: expect: {max_missing: 2%}"
        line, bound = benchmark.line_of("thresholds", name), f"<= {limit:.12g}"
        yield _complete(
            f"missing/{of}",
            share,
            bound,
            agent=agent,
            reason=reason,
            hint=hint,
            line=line,
        )


def few_numbers(benchmark: Benchmark, agent: str, result: AgentResult) -> list[str]:
    """Name the other listed metrics that are computed over a part of the rollouts."""
    spec, of = benchmark.spec, f"{agent}: " if agent else ""
    return [
        f"{of}{estimate.name} is of {estimate.rollouts} rollouts: {_without(estimate)}"
        for name in dict.fromkeys((*spec.metrics, *(spec.key_metrics or ())))
        if name not in spec.thresholds
        and _lacks(estimate := result.estimates[name], spec.reward)
    ]


def unlabelled(benchmark: Benchmark, agent: str, table: RolloutTable) -> Iterator[str]:
    """Report rollouts that belong to no group of a field by which metrics are gated."""
    for field in sorted(fields_of((*benchmark.spec.gated, *benchmark.spec.thresholds))):
        if lacking := int(table.lacking((field,)).sum()):
            of, what = (
                f"{agent}: " if agent else "",
                of_many(lacking, len(table), "rollout", "has"),
            )
            yield f"{of}{what} no {field}, so that no gated metric of its values counts them"


def misplaced_threshold(
    benchmark: Benchmark, agent: str, table: RolloutTable
) -> list[str]:
    """Report a pass_threshold on another scale than the rewards: none of them passes, or each."""
    spec, rewards = benchmark.spec, table.scores.get(benchmark.spec.reward)
    chosen = (
        () if spec.metrics == type(spec).metrics else spec.metrics
    )  # not the default ones
    names = dict.fromkeys((*chosen, *(spec.key_metrics or ()), *spec.thresholds))
    rates = [name for name in names if counts_passes(spec, name)]
    if rewards is None or not rates or not np.isfinite(rewards).any():
        return []
    least, best = np.nanmin(rewards), np.nanmax(rewards)
    limit = f"pass_threshold {spec.pass_threshold:.12g}"
    if best > 0 and not reaches(best, spec.pass_threshold):
        what, end = (
            f"no {spec.reward} reaches {limit} (the largest is {best:.4g})",
            "above 0",
        )
    elif spec.pass_threshold <= 0 <= least:
        what, end = (
            f"each {spec.reward} reaches {limit} (the least is {least:.4g})",
            "below 1",
        )
    else:
        return []
    note = f"{f'{agent}: ' if agent else ''}{what}, so that {', '.join(rates)} can't be {end}: "
    return [
        f"{note}set pass_threshold, line {benchmark.line_of('pass_threshold')}, to what passes"
    ]


def _lacks(estimate: Estimate, reward: str) -> bool:
    return estimate.missing > 0 and estimate.score != reward


def _without(estimate: Estimate) -> str:
    score, name = estimate.score, estimate.name
    what = f"no finite {score}" if score else f"nothing that {name} reads"
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
            sure = look.settles(
                estimate.value, estimate.interval, threshold.min, threshold.max
            )
            check = structs.replace(
                check, evidence={"look": look.evidence(settled=sure)}
            )
        yield check


def blind_thresholds(benchmark: Benchmark) -> Iterator[str]:
    """Report thresholds at the end of their metric's range, which nothing can break."""
    for text, threshold in benchmark.spec.thresholds.items():
        try:
            limits = range_of(benchmark.spec, parse(text))
        except MetricError:  # a hook may name its numbers as it likes
            continue
        low, high = threshold.min, threshold.max
        if (low is None or low <= limits.low) and (high is None or high >= limits.high):
            line = benchmark.line_of("thresholds", text)
            yield f"the threshold {threshold} of line {line} can't fail: {text} is {limits.why}"


def check_threshold(
    estimate: Estimate,
    threshold: Threshold,
    agent: str,
    line: int,
    interval: Interval | None,
) -> Check:
    """Compare an estimate, or an end of `interval`, with a threshold; INCONCLUSIVE if undefined."""
    value, subject, hint = estimate.value, estimate.name, ""
    check = partial(Check, "threshold", estimate.name, agent=agent, line=line)
    if math.isnan(value):
        reason = f"{subject} is undefined: {estimate.reason}"
        return check(Verdict.INCONCLUSIVE, bound=str(threshold), reason=reason)
    if threshold.bound != "point" and interval is None:
        verdict, reason = (
            Verdict.INCONCLUSIVE,
            f"{subject} has no interval: {estimate.reason}",
        )
        hint = "drop `bound:`, or gate a metric that has an interval"
    else:
        if interval is not None and threshold.bound != "point":
            value = interval.low if threshold.bound == "lower" else interval.high
            subject = f"the {threshold.end} of {subject}"
        reason = _broken(subject, value, threshold)
        verdict = Verdict.FAIL if reason else Verdict.PASS
        if reason and estimate.of_tasks:
            reason += f" (of {', '.join(estimate.of_tasks)})"
    bound = threshold.described
    return check(
        verdict, value=value, bound=bound, reason=reason, hint=hint, estimate=estimate
    )


def _broken(subject: str, value: float, threshold: Threshold) -> str:
    low, high = threshold.min, threshold.max
    # a mean of seven passes in ten is not always 0.7 to the last bit
    if low is not None and not reaches(value, low):
        return f"{subject} is {distinct(value, low)}, below {low:.12g}"
    if high is not None and not stays_within(value, high):
        return f"{subject} is {distinct(value, high)}, above {high:.12g}"
    return ""


def distinct(value: float, bound: float) -> str:
    """Write `value` with so many digits that it differs from `bound`."""
    for digits in range(4, 17):
        text = f"{value:.{digits}g}"
        if float(text) != float(f"{bound:.{digits}g}"):
            return text
    return repr(value)
