"""The judges of a benchmark's scorers: what they took, and how far they agree with people."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_evalmetrics import gates, stats
from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.pipeline.labels import labelled_rows
from pytest_evalmetrics.results import Check, Estimate, Interval, JudgeCheck, JudgeUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_evalmetrics.pipeline.labels import LabelledRows, MakeCalls
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Transport

__all__ = ["Judged", "Judges", "judge_notes"]

_METRICS = {
    "judge_accuracy": "accuracy",
    "judge_kappa": "kappa",
    "judge_quadratic_kappa": "quadratic_kappa",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """What is known of the judges after all rows were scored."""

    uses: tuple[JudgeUse, ...]  # what they took
    checks: tuple[JudgeCheck, ...]  # how far they agree with people
    gates: tuple[Check, ...]  # the thresholds that they were held against


class Judges:
    """The judges of a benchmark's scorers, and the labels that they are checked against."""

    def __init__(self, benchmark: Benchmark, made: Sequence[BoundScorer]) -> None:
        self._made = made
        self._asking = benchmark
        self._labelled: tuple[LabelledRows, ...] = ()
        spec = benchmark.spec
        self._gates = {
            name: t for name, t in spec.thresholds.items() if name.partition("/")[0] in _METRICS
        }
        rest = {name: t for name, t in spec.thresholds.items() if name not in self._gates}
        # the same without the thresholds on judges: no metric of its rewards has their
        # names
        self.benchmark = replace(benchmark, spec=replace(spec, thresholds=rest))
        # what scores stand for beyond their numbers, by name
        self.about = {name: a for scorer in made for name, a in scorer.about.items()}

    def read_labels(self) -> None:
        """Read the labels, and see that they are enough: before anything is paid for."""
        self._labelled = tuple(labelled_rows(self._asking, self._made))
        known = [one.score for one in self._labelled]
        for name in self._gates:
            score = name.partition("/")[2]
            if score not in known:
                raise DataError(
                    f"{name}: there are no labels to check a judge against; "
                    + did_you_mean(score, known, what="scores with a judge_check"),
                    hint="write judge_check: {rows: labels.jsonl, label: human} under the scorer",
                    line=self._asking.line_of("thresholds", name),
                )

    def judged(self, transport: Callable[[], Transport], make_calls: MakeCalls) -> Judged:
        """Check the judges, and tell what they took."""
        parallelism = self._asking.spec.params.parallelism
        checks = tuple(
            transport().run(one.check(transport(), make_calls, parallelism))
            for one in self._labelled
        )
        return Judged(_uses(self._made), checks, tuple(self._gated(checks)))

    def _gated(self, checks: Sequence[JudgeCheck]) -> Iterator[Check]:
        by_score = {check.score: check for check in checks}
        for name, threshold in self._gates.items():
            metric, _, score = name.partition("/")
            line = self._asking.line_of("thresholds", name)
            estimate = _estimate(name, metric, by_score[score])
            yield gates.check_threshold(estimate, threshold, "", line)


def judge_notes(checks: Sequence[JudgeCheck]) -> Iterator[str]:
    """Tell how far judges agree with people."""
    for check in checks:
        if check.accuracy is None:
            yield f"judge check: {check.reason}"
            continue
        kappa = check.reason if check.kappa is None else f"kappa {check.kappa:.4g}"
        yield (
            f"judge check: {check.score} is what people say in "
            f"{round(check.accuracy * check.rows)} of {check.rows} labelled rows ({kappa})"
        )


def _uses(made: Sequence[BoundScorer]) -> tuple[JudgeUse, ...]:
    return tuple(
        JudgeUse(
            scorer.type,
            scorer.scores,
            judge.model.name,
            {**judge.versions, **({"prompt": judge.prompt} if judge.prompt else {})},
            **judge.model.spending.as_dict(judge.model.price),
        )
        for scorer in made
        for judge in scorer.judges
    )


def _estimate(name: str, metric: str, check: JudgeCheck) -> Estimate:
    value = getattr(check, _METRICS[metric])
    interval, reason = None, "none is computed for kappa"
    if value is None:
        return Estimate(name, math.nan, check.rows, check.rows, None, check.reason)
    if metric == "judge_accuracy":
        low, high = stats.wilson(round(value * check.rows), check.rows)
        interval, reason = Interval(low, high, 0.95, "wilson"), ""
    return Estimate(name, value, check.rows, check.rows, interval, reason)
