"""The judges of a benchmark's scorers: what they cost, and how far they agree with people."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import gates, scorers, stats
from pytest_evalmetrics.errors import DataError, RowError, did_you_mean
from pytest_evalmetrics.results import Check, Disagreement, Estimate, Interval, JudgeCheck, JudgeUse
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.transport import Occurrences, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Transport

    MakeCalls = Callable[[Row, Occurrences], scorers.Calls]

__all__ = ["Judged", "Judges", "LabelledRows", "MakeCalls", "judge_notes", "labelled_rows"]


_FIRST = 20
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows with a person's label, for one scorer."""

    scorer: BoundScorer
    score: str
    rows: tuple[Row, ...]
    labels: tuple[float, ...]

    async def check(
        self, transport: Transport, make_calls: MakeCalls, parallelism: int
    ) -> JudgeCheck:
        """Score them, and compare."""
        occurrences = Occurrences()
        found = np.full(len(self.rows), np.nan)
        failed: dict[int, str] = {}

        async def score(row: Row) -> None:
            calls = make_calls(row, occurrences)
            try:
                found[row.index] = (await self.scorer.score_with(row, calls))[self.score]
            except RowError as error:
                failed[row.index] = f"{row.where}: {transport.hide(error.message)}"

        await run_bounded(score, iter(self.rows), parallelism, lambda _row, _none: None)
        return self._compared(found, failed)

    def _compared(self, found: np.ndarray, failed: Mapping[int, str]) -> JudgeCheck:
        n, labels = len(self.rows), np.array(self.labels)
        if failed:
            reason = (
                f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
                f"{failed[min(failed)]}"
            )
            return JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        found = np.where(np.abs(found - labels) <= _SAME, labels, found)
        kappa = _defined(stats.cohen_kappa(found, labels))
        differ = np.flatnonzero(found != labels)[:_FIRST].tolist()
        return JudgeCheck(
            self.score,
            n,
            0,
            float((found == labels).mean()),
            kappa,
            _defined(stats.cohen_kappa(found, labels, "quadratic")),
            "" if kappa is not None else "all scores and labels are the same",
            tuple(
                Disagreement(self.rows[i].where, float(found[i]), float(labels[i])) for i in differ
            ),
        )


def labelled_rows(benchmark: Benchmark, made: Sequence[BoundScorer]) -> Iterator[LabelledRows]:
    """Read the labels of every scorer that has some."""
    for index, (spec, scorer) in enumerate(zip(benchmark.spec.scorers, made, strict=True)):
        asked = getattr(spec, "judge_check", None)
        if asked is None:
            continue
        line = benchmark.line_of("scorers", index, "judge_check")
        score = asked.score or scorer.scores[0]
        if score not in scorer.scores:
            raise DataError(
                f"judge_check: the scorer gives no {score!r}; "
                + did_you_mean(score, scorer.scores, what="it gives"),
                line=line,
            )
        about = scorer.about.get(score)
        meant = dict(about.labels) if about is not None else {}
        rows, labels = [], []
        for at, (where, item) in enumerate(records(asked.rows, benchmark.file.parent)):
            labels.append(_label(item, asked.label, meant, where))
            rows.append(scorers.Row(at, "", at, 0, item, item, where))
        if not rows:
            raise DataError("judge_check: there are no labelled rows", line=line)
        yield LabelledRows(scorer, score, tuple(rows), tuple(labels))


def _label(item: Mapping[str, Any], key: str, meant: Mapping[str, float], where: str) -> float:
    value = item.get(key)
    if isinstance(value, str) and value in meant:
        return meant[value]
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    expected = f"a number or one of {', '.join(meant)}" if meant else "a number"
    raise DataError(
        f"judge_check: the label {key!r} is {scorers.shown(value)}, expected {expected}", file=where
    )


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


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
