"""Results of evalplus: ``*_eval_results.json``."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.repeated_reports import RepeatedReports
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonValue
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.source import Source

_PASSED: Final = "pass"
_FAILED: Final = ("fail", "timeout")


class EvalPlus(ToolLoader):
    """Reads the results of HumanEval+ and MBPP+: a problem's solutions are its samples.

    ``base`` is whether a solution passes the tests of the original benchmark, and ``plus`` whether
    it passes these and the extra ones, as evalplus counts; it is the reward where it was computed.
    Further results of the same problems are attempts.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._reports = RepeatedReports()

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        results = Document.of(source, "the results of evalplus")
        passes: dict[str, dict[str, list[int]]] = {"base": {}, "plus": {}}
        rewards = ("base",)
        problems = results.object("eval")
        self._reports.add(source, problems)
        for task, solutions in problems.items():
            listed = json_values.objects(solutions)
            for number, solution in enumerate(listed or [{}]):
                scores = _scores(solution)
                if "plus" in scores:
                    rewards = ("plus",)
                for name, passed in scores.items():
                    if passed is not None:
                        passes[name].setdefault(task, []).append(passed)
                yield Rollout(
                    record=solution,
                    name=f"{source.shown}: {task}, solution {number}",
                    task=task,
                    sample=self._reports.sample(task),
                    scores=scores,
                    rewards=rewards,
                )
        note = self._reports.note(source)
        if note is not None:
            builder.notes.append(note)
        stated = results.get("pass_at_k")
        for name, tasks in passes.items():
            if tasks:
                ours = fmean(fmean(passed) for passed in tasks.values())
                theirs = json_values.lookup(stated, f"{name}.pass@1")
                builder.compare(f"pass@1 of {name}", theirs, ours)


def _scores(solution: JsonMapping) -> dict[str, int | None]:
    """Read whether a solution passes; None where it has no known status."""
    base = _passes(solution.get("base_status"))
    status = solution.get("plus_status")
    if status is None:  # --base-only
        return {"base": base}
    plus = _passes(status)
    if base is None or plus is None:
        return {"base": base, "plus": None}
    return {"base": base, "plus": min(base, plus)}


def _passes(status: JsonValue) -> int | None:
    if status == _PASSED:
        return 1
    return 0 if status in _FAILED else None
