"""The judges of a benchmark's scorers: their use, and their agreement with people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import gates, scorers, stats
from pytest_evalmetrics.errors import DataError, RowError, did_you_mean
from pytest_evalmetrics.records import record
from pytest_evalmetrics.results import Check, Disagreement, Estimate, Interval, JudgeCheck, JudgeUse
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.scorers import BoundScorer, Row
from pytest_evalmetrics.spec.metric_names import JUDGE_METRICS
from pytest_evalmetrics.transport import Occurrences, Transport, run_bounded

if TYPE_CHECKING:
    from pytest_evalmetrics.spec import Benchmark

MakeCalls = Callable[[Row, Occurrences], scorers.Calls]

_FIRST = 20
_SAME = 1e-9


@record
class Judged:
    """The judges, after all rows were scored."""

    uses: tuple[JudgeUse, ...]
    checks: tuple[JudgeCheck, ...]
    gates: tuple[Check, ...]  # of thresholds on judges

    @property
    def notes(self) -> Iterator[str]:
        """Their agreement with people, in words."""
        for check in self.checks:
            if check.accuracy is None:
                yield f"judge check: {check.reason}"
                continue
            kappa = check.reason if check.kappa is None else f"kappa {check.kappa:.4g}"
            yield (
                f"judge check: {check.score} is what people say in "
                f"{round(check.accuracy * check.rows)} of {check.rows} labelled rows ({kappa})"
            )


class _LabelledRows:
    """Rows with a person's label, for one scorer."""

    def __init__(self, benchmark: Benchmark, index: int, scorer: BoundScorer, asked: Any) -> None:
        line = benchmark.line_of("scorers", index, "judge_check")
        self._scorer = scorer
        self.score = asked.score or scorer.scores[0]
        if self.score not in scorer.scores:
            guess = did_you_mean(self.score, scorer.scores, what="it gives")
            raise DataError(f"judge_check: the scorer gives no {self.score!r}; {guess}", line=line)
        about = scorer.about.get(self.score)
        if about is not None and about.judges:  # the labels are those of each single one
            about = scorer.about.get(about.judges[0])
        meaning = dict(about.labels) if about is not None else {}
        self._rows: list[Row] = []
        labels = []
        for at, (where, item) in enumerate(records(asked.rows, benchmark.file.parent)):
            labels.append(_label(item, asked.label, meaning, where))
            self._rows.append(Row(at, "", at, 0, item, item, where))
        if not labels:
            raise DataError("judge_check: there are no labelled rows", line=line)
        self._labels = np.array(labels)

    async def check(self, transport: Transport, calls: MakeCalls, parallelism: int) -> JudgeCheck:
        """Score them, and compare the scores with the labels."""
        occurrences, n = Occurrences(), len(self._rows)
        scores = np.full(n, np.nan)
        failed: dict[int, str] = {}

        async def score(row: Row) -> None:
            of_row = calls(row, occurrences)
            try:
                scores[row.index] = (await self._scorer.score_with(row, of_row))[self.score]
            except RowError as error:
                failed[row.index] = f"{row.where}: {transport.hide(error.message)}"

        await run_bounded(score, iter(self._rows), parallelism)
        if failed:
            reason = f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
            reason += failed[min(failed)]
            return JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        labels = self._labels
        scores = np.where(np.abs(scores - labels) <= _SAME, labels, scores)
        kappas = stats.cohen_kappa(scores, labels), stats.cohen_kappa(scores, labels, "quadratic")
        one, other = (None if math.isnan(kappa) else kappa for kappa in kappas)
        alike = "all scores and labels are the same" if one is None else ""
        first = tuple(
            Disagreement(self._rows[i].where, float(scores[i]), float(labels[i]))
            for i in np.flatnonzero(scores != labels)[:_FIRST].tolist()
        )
        accuracy = float((scores == labels).mean())
        return JudgeCheck(self.score, n, 0, accuracy, one, other, alike, first)


def _label(item: Mapping[str, Any], key: str, meaning: Mapping[str, float], where: str) -> float:
    value = item.get(key)
    if isinstance(value, str) and value in meaning:
        return meaning[value]
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    expected = f"a number or one of {', '.join(meaning)}" if meaning else "a number"
    raise DataError(
        f"judge_check: the label {key!r} is {scorers.shown(value)}, expected {expected}", file=where
    )


class Judges:
    """The judges of a benchmark's scorers, and the labels that they are checked against."""

    def __init__(self, benchmark: Benchmark, made: Sequence[BoundScorer]) -> None:
        self._made = made
        self._asking = benchmark
        self._labelled: list[_LabelledRows] = []
        rest = dict(benchmark.spec.thresholds)
        gated = [name for name in rest if name.partition("/")[0] in JUDGE_METRICS]
        self._gates = {name: rest.pop(name) for name in gated}
        # without the thresholds on judges: no metric of the benchmark's rewards has their names
        self.benchmark = replace(benchmark, spec=replace(benchmark.spec, thresholds=rest))

    def read_labels(self) -> None:
        """Read the labels, and check that each threshold has some: before anything is paid for."""
        for index, scorer in enumerate(self._made):
            asked = getattr(self._asking.spec.scorers[index], "judge_check", None)
            if asked is not None:
                self._labelled.append(_LabelledRows(self._asking, index, scorer, asked))
        scores = [one.score for one in self._labelled]
        for name in self._gates:
            if (score := name.partition("/")[2]) not in scores:
                guess = did_you_mean(score, scores, what="scores with a judge_check")
                raise DataError(
                    f"{name}: there are no labels to check a judge against; {guess}",
                    hint="write judge_check: {rows: labels.jsonl, label: human} under the scorer",
                    line=self._asking.line_of("thresholds", name),
                )

    def judged(self, transport: Callable[[], Transport], calls: MakeCalls) -> Judged:
        """Check the judges, and hold them against their thresholds."""
        parallelism = self._asking.spec.params.parallelism
        checks = tuple(
            transport().run(one.check(transport(), calls, parallelism)) for one in self._labelled
        )
        by_score = {check.score: check for check in checks}
        gated = []
        for name, threshold in self._gates.items():
            metric, _, score = name.partition("/")
            line = self._asking.line_of("thresholds", name)
            estimate = _estimate(name, metric, by_score[score], threshold.level)
            gated.append(gates.check_threshold(estimate, threshold, "", line, estimate.interval))
        uses = tuple(
            JudgeUse(
                scorer.type,
                scorer.scores,
                judge.model.name,
                {**judge.versions, **({"prompt": judge.prompt} if judge.prompt else {})},
                **judge.model.spending.as_dict(judge.model.price),
            )
            for scorer in self._made
            for judge in scorer.judges
        )
        return Judged(uses, checks, tuple(gated))


def _estimate(name: str, metric: str, check: JudgeCheck, level: float) -> Estimate:
    value = getattr(check, metric.removeprefix("judge_"))
    if value is None:
        return Estimate(name, math.nan, check.rows, check.rows, None, check.reason)
    interval, reason = None, "none is computed for kappa"
    if metric == "judge_accuracy":
        low, high = stats.wilson(round(value * check.rows), check.rows, level)
        interval, reason = Interval(low, high, level, "wilson"), ""
    return Estimate(name, value, check.rows, check.rows, interval, reason)
