"""A failure that may be by chance: one more round of rollouts, and both together decide.

The rule is fixed beforehand. A metric fails if it fails in its first round, if it fails
with the rollouts of both rounds together, each at the whole level, and if the tasks that
were drawn again are worse in the second round by itself. So an unchanged run fails no
more often than without a second round, whatever that shows. Drawn again are the tasks
that got worse, and as many others: first those that got better, so that luck of either
sign is measured anew, then unchanged ones. A single task fails by both rounds together.
"""

from __future__ import annotations

import math
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import means_of
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.evaluate import evaluate_stages, score
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound, SlicesBound
from pytest_evalmetrics.model.reasons import Confirmation
from pytest_evalmetrics.model.rollout_table import pool
from pytest_evalmetrics.model.run_notes import SecondRoundFailed
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.spec import Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.evaluation import Evaluated, EvaluationInput, Stages
    from pytest_evalmetrics.model.comparison import PairedMetric
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskId
    from pytest_evalmetrics.spec import Benchmark


class _Second(msgspec.Struct, frozen=True):
    """The second round, and what both rounds come to together."""

    both: Evaluated
    round: Confirmation  # not decided yet


def with_confirmation(given: EvaluationInput) -> Evaluated:
    """Evaluate a benchmark, and let a failure that may be by chance be confirmed."""
    first, stages = evaluate_stages(given)
    if stages is None:
        return first
    failed = [check for check in first.result.checks if check.verdict.fails]
    # what fails for another reason fails anyway: a further round would be paid for nothing
    if not failed or not all(map(_rests_on_sampling, failed)):
        return first
    pairs = _pairs(stages)
    worse, controls = tasks_to_draw(pairs)
    if not worse:
        return first
    try:
        second = _second_round(given, stages, pairs, worse=worse, controls=controls)
    except EvalMetricsError as error:
        return _with_note(first, SecondRoundFailed(error.message))
    again = {_key(check): check for check in second.both.result.checks}
    checks = []
    for check in first.result.checks:
        decided = check
        if check.verdict.fails:
            decided = _decided(check, again.get(_key(check)), second.round)
        checks.append(decided)
    result = structs.replace(first.result, checks=tuple(checks))
    return structs.replace(first, result=result)


def _rests_on_sampling(check: Check) -> bool:
    """Check whether other rollouts of the same tasks could turn a failure."""
    if check.verdict is not Verdict.FAIL:
        return False
    if isinstance(check.bound, RuleBound):
        return check.bound.settings.tests
    return isinstance(check.bound, SingleTasksBound | SlicesBound)


# -- the tasks that are drawn again ----------------------------------------------------------


def tasks_to_draw(
    pairs: Sequence[tuple[PairedMetric, float]],
) -> tuple[list[TaskId], list[TaskId]]:
    """Choose the tasks that got worse, and as many others.

    `pairs` has the rewards of each agent on both sides, and 1 where a fall is damage or
    -1 where a rise is.
    """
    damages: dict[TaskId, float] = {}
    for pair, sign in pairs:
        if pair.baseline is None or pair.current is None:
            continue
        values = sign * (pair.baseline - pair.current)
        for task, damage in zip(pair.tasks, values.tolist(), strict=True):
            damages[task] = max(damages.get(task, damage), damage)
    worse = [task for task, damage in damages.items() if damage > 0]
    others = [task for task, damage in damages.items() if not damage > 0]
    others.sort(key=lambda task: (damages[task], _draw(task)))
    return worse, others[: len(worse)]


def _draw(task: TaskId) -> bytes:
    """Return a task's place among tasks of equal damage: the same in each run."""
    return blake2b(str(task).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _pairs(stages: Stages) -> list[tuple[PairedMetric, float]]:
    pairs = []
    for compared in stages.compared.agents:
        if compared.tasks is not None:
            pairs.append((compared.tasks.pair, compared.tasks.sign))
            continue
        for judgeable in compared.judgeable:
            sides = getattr(judgeable, "compared", None)
            if sides is not None:
                pairs.append((sides.pair, sides.rule.sign))
                break
    return pairs


# -- both rounds together --------------------------------------------------------------------


def _second_round(
    given: EvaluationInput,
    stages: Stages,
    pairs: Sequence[tuple[PairedMetric, float]],
    *,
    worse: Sequence[TaskId],
    controls: Sequence[TaskId],
) -> _Second:
    """Draw as many rollouts of some tasks again, and evaluate both rounds together."""
    benchmark = given.benchmark
    samples = int(benchmark.spec.num_samples or 1)
    tasks = frozenset(map(str, (*worse, *controls)))
    second = _drawn_again(given, tasks, samples)
    rows = stages.rows
    merged = pool((rows.table, second))
    merged = structs.replace(merged, directions=rows.table.directions)
    both, _ = evaluate_stages(given, structs.replace(rows, table=merged))
    reward = rows.benchmark.spec.reward
    round_ = Confirmation(
        tasks=len(worse),
        controls=len(controls),
        rollouts=samples,
        is_confirmed=False,
        p_first=None,
        p_both=None,
        drop_first=_drop_of(rows.table, pairs, reward, tasks),
        drop_second=_drop_of(second, pairs, reward, tasks),
    )
    return _Second(both, round_)


def _drawn_again(
    given: EvaluationInput, tasks: frozenset[str], samples: int
) -> RolloutTable:
    """Draw as many rollouts of some tasks as in the first round."""
    most = samples
    if not _asks_anew(given):
        # the journal answers the rollouts of the first round
        most = 2 * samples
    asked = _with_rollouts(given.benchmark, samples, most).but(num_samples=most)
    drawn = score(structs.replace(given, benchmark=asked, only_tasks=tasks)).table
    return drawn.where(drawn.sample >= most - samples)


def _asks_anew(given: EvaluationInput) -> bool:
    """Check whether the journal has no answers of the first round."""
    is_new = given.runtime is not None and given.runtime.asks_anew
    return given.benchmark.spec.forgets or is_new


def _drop_of(
    table: RolloutTable,
    pairs: Sequence[tuple[PairedMetric, float]],
    reward: str,
    tasks: frozenset[str],
) -> float | None:
    """Return by how much the tasks' mean reward is worse than in the baseline."""
    means = _means_of_tasks(table, reward, tasks)
    drops: list[float] = []
    for pair, sign in pairs:
        of_baseline = means_of(pair.rewards_baseline)
        for task, before in zip(pair.tasks, of_baseline, strict=True):
            if task in means:
                drops.append(sign * (before - means[task]))
    if not drops:
        return None
    return float(f"{math.fsum(drops) / len(drops):.6g}")


def _means_of_tasks(
    table: RolloutTable, reward: str, tasks: frozenset[str]
) -> dict[TaskId, float]:
    """Return the mean reward of each of some tasks that has one."""
    numbers = table.scores.get(reward)
    if numbers is None:
        return {}
    is_known = ~np.isnan(numbers)
    counts = np.bincount(table.task[is_known], minlength=len(table.tasks))
    sums = np.bincount(table.task[is_known], numbers[is_known], len(table.tasks))
    means = {}
    for place, task in enumerate(table.tasks):
        if counts[place] and str(task) in tasks:
            means[task] = float(sums[place] / counts[place])
    return means


def _with_rollouts(benchmark: Benchmark, least: int, most: int) -> Benchmark:
    """Expect either number of rollouts of a task."""
    if benchmark.spec.expect.rollouts == "any":
        return benchmark
    rollouts = Count(min=least, max=most)
    return benchmark.but(expect=replace(benchmark.spec.expect, rollouts=rollouts))


# -- the verdict -----------------------------------------------------------------------------


def _key(check: Check) -> tuple[str, str]:
    return check.agent, check.name


def _p_of(check: Check) -> float | None:
    if check.comparison is None:
        return None
    return check.comparison.p_adjusted


def _decided(check: Check, both: Check | None, round_: Confirmation) -> Check:
    """Let both rounds together decide on a failure of the first."""
    # what both rounds together can't judge stays as it was
    if both is None or both.verdict is Verdict.INCONCLUSIVE:
        return check
    second = round_.drop_second
    is_metric = isinstance(check.bound, RuleBound)
    is_worse_again = not is_metric or second is None or second > 0
    reason = structs.replace(
        round_,
        is_confirmed=both.verdict is Verdict.FAIL and is_worse_again,
        p_first=_p_of(check),
        p_both=_p_of(both),
    )
    if reason.is_confirmed:
        return structs.replace(both, reasons=(*both.reasons, reason))
    return structs.replace(both, verdict=Verdict.WARN, reasons=(reason,))


def _with_note(evaluated: Evaluated, note: Note) -> Evaluated:
    result = evaluated.result
    result = structs.replace(result, notes=(*result.notes, note))
    return structs.replace(evaluated, result=result)
