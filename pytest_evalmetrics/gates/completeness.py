"""The ``expect`` gate: is everything there that the numbers are believed to rest on."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.layout import many, of_many
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import Count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.spec import Benchmark, ExpectSpec

__all__ = ["Completeness", "check_completeness", "policy_of"]

_SHOWN = 10
_DEFAULT_MAX_MISSING = 0.05  # with more than this share left out it is another benchmark


class Completeness(msgspec.Struct, frozen=True):
    """What is there of one agent's rollouts, and whether that is enough.

    Attributes
    ----------
    checks
        One for the tasks, the rollouts of each task, and the missing rewards.
    expected
        Rollouts that each task should have, shape (tasks,).
    missing
        Absent rollouts, and rollouts without a finite reward.
    notes
        What nothing in the benchmark file asks for, and the line that would.
    """

    checks: tuple[Check, ...]
    expected: NDArray[np.int64]
    missing: int
    notes: tuple[str, ...]


def policy_of(expect: ExpectSpec) -> tuple[str | float, float]:
    """Tell what a missing number means, and which share of rollouts may be missing."""
    meaning: str | float = "error" if expect.max_missing is None else "exclude"
    if expect.missing_reward is not None:
        meaning = expect.missing_reward
    if expect.max_missing is not None:
        return meaning, expect.max_missing
    return meaning, _DEFAULT_MAX_MISSING if meaning == "exclude" else 0.0


def check_completeness(benchmark: Benchmark, agent: str, table: RolloutTable) -> Completeness:
    """Hold the rollouts of one agent against ``expect`` and ``num_samples``.

    Parameters
    ----------
    benchmark
        The benchmark.
    agent
        The agent's name where a benchmark has several, else empty.
    table
        The agent's rollouts.
    """
    inventory = _Inventory(benchmark, agent, table)
    checks = (inventory.check_tasks(), inventory.check_rollouts(), inventory.missing_check)
    return Completeness(
        checks=tuple(check for check in checks if check is not None),
        expected=inventory.expected,
        missing=inventory.absent + inventory.unscored,
        notes=inventory.notes(),
    )


class _Inventory(msgspec.Struct, frozen=True, dict=True):
    """One agent's rollouts, counted."""

    benchmark: Benchmark
    agent: str
    table: RolloutTable

    @cached_property
    def most(self) -> int:
        return int(self.table.counts.max(initial=0))

    @cached_property
    def wanted(self) -> Count | None:
        """Rollouts that each task should have; None where any number will do."""
        spec = self.benchmark.spec
        if spec.expect.rollouts == "any":
            return None
        if isinstance(spec.expect.rollouts, Count):
            return spec.expect.rollouts
        n = spec.num_samples or self.most
        return Count(n, n)

    @cached_property
    def expected(self) -> NDArray[np.int64]:
        least = 0 if self.wanted is None else self.wanted.min
        return np.maximum(self.table.counts, least)

    @cached_property
    def absent(self) -> int:
        return int((self.expected - self.table.counts).sum())

    @cached_property
    def _lacks_reward(self) -> NDArray[np.bool_]:
        return np.isnan(self.table.scores[self.benchmark.spec.reward])

    @cached_property
    def unscored(self) -> int:
        return int(self._lacks_reward.sum())

    def notes(self) -> tuple[str, ...]:
        spec = self.benchmark.spec
        if spec.expect.tasks is not None or spec.baseline is not None:  # it knows the tasks
            return ()
        found = len(self.table.tasks)
        of = f" of {self.agent}" if self.agent else ""
        were = f"1 task{of} was found" if found == 1 else f"{found} tasks{of} were found"
        if self.benchmark.in_python:
            told = (
                f"completeness is unchecked: {were}, and nothing says how "
                f'many there are: give expect={{"tasks": {found}}}'
            )
            return (told,)
        also = (
            "" if spec.num_samples or spec.expect.rollouts else f" and `num_samples: {self.most}`"
        )
        note = (
            f"completeness is unchecked: {were}, and nothing says how many "
            f"there are: add `expect: {{tasks: {found}}}`{also} below line "
            f"{self.benchmark.line_of()}"
        )
        return (note,)

    def check_tasks(self) -> Check | None:
        wanted = self.benchmark.spec.expect.tasks
        if wanted is None:
            return None
        found = len(self.table.tasks)
        check = self._against("tasks", found, wanted, "expect", "tasks")
        if wanted.allows(found):
            return check()
        if found < wanted.min:
            return check(
                Verdict.FAIL,
                f"{of_many(wanted.min - found, wanted.min, 'task', 'is')} missing: "
                f"{found} {'was' if found == 1 else 'were'} found",
                "complete the run; or, where the benchmark has shrunk, set expect.tasks",
            )
        return check(
            Verdict.FAIL,
            f"{many(found, 'task', 'was')} found, {found - wanted.min} more than there should be",
            "look for another run's rollouts in the files; or, where it has grown, set "
            "expect.tasks",
        )

    def check_rollouts(self) -> Check | None:
        wanted, counts = self.wanted, self.table.counts
        if wanted is None:
            return None
        asked = self.benchmark.spec.expect.rollouts is not None
        path = ("expect", "rollouts") if asked else ("num_samples",)
        more = (counts > wanted.max).nonzero()[0] if wanted.max is not None else counts[:0]
        if len(more) and wanted.max is not None:
            return self._against("rollouts", self.most, wanted, *path)(
                Verdict.FAIL,
                f"{of_many(len(more), len(counts), 'task', 'has')} more than "
                f"{many(wanted.max, 'rollout')}: "
                + _listed(f"task {self.table.tasks[i]} has {counts[i]}" for i in more.tolist()),
                "look for another run's rollouts in the files; or set num_samples",
            )
        check = self._against("rollouts", int(counts.min(initial=self.most)), wanted, *path)
        few = (counts < wanted.min).nonzero()[0]
        if not len(few):
            return check()
        stated = asked or self.benchmark.spec.num_samples is not None
        than = f"than {many(wanted.min, 'rollout')}" if stated else "rollouts than the others"
        reason = f"{of_many(len(few), len(counts), 'task', 'has')} fewer {than}: " + _listed(
            f"task {self.table.tasks[i]} has {counts[i]} of {wanted.min}" for i in few.tolist()
        )
        if self.missing_check.verdict is Verdict.PASS:  # so few that max_missing allows them
            return check(Verdict.PASS, reason)
        return check(
            Verdict.FAIL,
            reason,
            "complete the run; or allow it: expect: {max_missing: 2%}, or expect: {rollouts: any}",
        )

    @cached_property
    def missing_check(self) -> Check:
        meaning, limit = policy_of(self.benchmark.spec.expect)
        filled = isinstance(meaning, float) and self.unscored > 0
        counted = self.absent + self.unscored
        if filled and self.benchmark.spec.expect.max_missing is None:
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
                "mend the run; or say what such a rollout means: "
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
            parts.append(
                "one rollout is absent"
                if self.absent == 1
                else f"{self.absent} rollouts are absent"
            )
        if self.unscored:
            tasks = np.unique(self.table.task[self._lacks_reward]).tolist()
            has = "one rollout has" if self.unscored == 1 else f"{self.unscored} rollouts have"
            which = _listed(str(self.table.tasks[i]) for i in tasks)
            parts.append(f"{has} no finite {self.benchmark.spec.reward} (task {which})")
        return " and ".join(parts)

    def _against(self, name: str, found: int, wanted: Count, *path: str) -> Callable[..., Check]:
        def check(verdict: Verdict = Verdict.PASS, reason: str = "", hint: str = "") -> Check:
            return Check(
                "expect",
                name,
                verdict,
                agent=self.agent,
                value=found,
                bound=str(wanted) if wanted.max is None else f"== {wanted}",
                reason=reason,
                hint=hint,
                line=self.benchmark.line_of(*path),
            )

        return check


def _listed(texts: Iterable[str]) -> str:
    """Join the first few, and say how many more there are."""
    known = list(texts)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more
