"""What tells a judge from the truth, and drift from a change: labels, and a pinned reference."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import gates, metrics, rollouts, stats
from pytest_evalmetrics.data import Row
from pytest_evalmetrics.errors import DataError, RowError, did_you_mean
from pytest_evalmetrics.layout import many, of_many, shown
from pytest_evalmetrics.records import record
from pytest_evalmetrics.results import Disagreement, Estimate, Interval, JudgeCheck, JudgeUse
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec.metric_names import JUDGE_METRICS, OVER_REFERENCE, PPI_MEAN, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.pipeline.board import Board
    from pytest_evalmetrics.results import AgentResult, Check
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.benchmark import ReferenceSpec
    from pytest_evalmetrics.spec.model_keys import LabelsSpec

    ScoreRows = Callable[[Sequence[tuple[Row, RowError | None]], BoundScorer], Board]

_FIRST = 20  # disagreements that the report holds
_SAME = 1e-9
_FEWEST = 30  # labelled tasks of an interval that can be relied on


# -- judge_check: a judge's scores against people's labels -----------------------------------


class _LabelledRows(msgspec.Struct, frozen=True):
    """Rows with a person's label, for a score of one scorer."""

    scorer: BoundScorer
    score: str
    rows: list[tuple[Row, RowError | None]]
    labels: NDArray[np.float64]

    def check(self, board: Board) -> JudgeCheck:
        """Compare their scores with the labels."""
        n, failed = len(self.rows), board.failed
        if failed:
            first = failed[min(failed)][0]
            reason = f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
            reason += f"{first.where}: {first.reason}"
            return JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        scores, labels = board.columns[self.score], self.labels
        scores = np.where(np.abs(scores - labels) <= _SAME, labels, scores)
        kappas = stats.cohen_kappa(scores, labels), stats.cohen_kappa(scores, labels, "quadratic")
        plain, weighted = (None if math.isnan(kappa) else kappa for kappa in kappas)
        alike = "all scores and labels are the same" if plain is None else ""
        disagreements = tuple(
            Disagreement(self.rows[i][0].where, float(scores[i]), float(labels[i]))
            for i in np.flatnonzero(scores != labels)[:_FIRST].tolist()
        )
        accuracy = float((scores == labels).mean())
        return JudgeCheck(self.score, n, 0, accuracy, plain, weighted, alike, disagreements)


class Judges:
    """The judges of a benchmark's scorers, and the labels that they are checked against."""

    def __init__(self, benchmark: Benchmark, bound: Sequence[BoundScorer]) -> None:
        self._scorers, self._benchmark = bound, benchmark
        self._labelled: list[_LabelledRows] = []
        rest = dict(benchmark.spec.thresholds)
        gated = [name for name in rest if name.partition("/")[0] in JUDGE_METRICS]
        self._gates = {name: rest.pop(name) for name in gated}
        # without the thresholds on judges: no metric of the benchmark's rewards has their names
        self.benchmark = benchmark.but(thresholds=rest)

    def read_labels(self) -> None:
        """Read the labels, and check that each threshold has some: before anything is paid for."""
        for index, scorer in enumerate(self._scorers):
            keys = getattr(self._benchmark.spec.scorers[index], "judge_check", None)
            if keys is not None:
                self._labelled.append(_labelled_rows(self._benchmark, index, scorer, keys))
        scores = [each.score for each in self._labelled]
        for name in self._gates:
            if (score := name.partition("/")[2]) not in scores:
                guess = did_you_mean(score, scores, what="scores with a judge_check")
                raise DataError(
                    f"{name}: there are no labels to check a judge against; {guess}",
                    hint="write judge_check: {rows: labels.jsonl, label: human} under the scorer",
                    line=self._benchmark.line_of("thresholds", name),
                )

    def check(
        self, score: ScoreRows
    ) -> tuple[tuple[JudgeUse, ...], tuple[JudgeCheck, ...], list[Check]]:
        """Check the judges, and hold them against their thresholds; `score` scores rows."""
        checks = tuple(each.check(score(each.rows, each.scorer)) for each in self._labelled)
        by_score = {check.score: check for check in checks}
        gated = []
        for name, threshold in self._gates.items():
            metric, _, of = name.partition("/")
            line = self._benchmark.line_of("thresholds", name)
            estimate = _estimate(name, metric, by_score[of], threshold.level)
            gated.append(gates.check_threshold(estimate, threshold, "", line, estimate.interval))
        uses = tuple(
            JudgeUse(
                scorer.type,
                scorer.scores,
                judge.model.name,
                {**judge.versions, **({"prompt": judge.prompt} if judge.prompt else {})},
                **judge.model.spending.as_dict(judge.model.price),
            )
            for scorer in self._scorers
            for judge in scorer.judges
        )
        return uses, checks, gated


def agreement_notes(checks: Sequence[JudgeCheck]) -> Iterator[str]:
    """Describe the agreement of judges with people."""
    for check in checks:
        if check.accuracy is None:
            yield f"judge check: {check.reason}"
            continue
        kappa = check.reason if check.kappa is None else f"kappa {check.kappa:.4g}"
        agreed = round(check.accuracy * check.rows)
        yield (
            f"judge check: {check.score} is what people say in {agreed} of {check.rows} labelled "
            f"rows ({kappa})"
        )


def _labelled_rows(
    benchmark: Benchmark, index: int, scorer: BoundScorer, keys: Any
) -> _LabelledRows:
    line = benchmark.line_of("scorers", index, "judge_check")
    score = keys.score or scorer.scores[0]
    if score not in scorer.scores:
        guess = did_you_mean(score, scorer.scores, what="it gives")
        raise DataError(f"judge_check: the scorer gives no {score!r}; {guess}", line=line)
    about = scorer.about.get(score)
    if about is not None and about.judges:  # the labels are those of each single one
        about = scorer.about.get(about.judges[0])
    meaning = dict(about.labels) if about is not None else {}
    rows: list[tuple[Row, RowError | None]] = []
    labels = []
    for at, (where, item) in enumerate(records(keys.rows, benchmark.file.parent)):
        labels.append(_label(item, keys.label, meaning, where))
        rows.append((Row(at, "", at, 0, item, item, where), None))
    if not labels:
        raise DataError("judge_check: there are no labelled rows", line=line)
    return _LabelledRows(scorer, score, rows, np.array(labels))


def _label(item: Mapping[str, Any], key: str, meaning: Mapping[str, float], where: str) -> float:
    value = item.get(key)
    if isinstance(value, str) and value in meaning:
        return meaning[value]
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    expected = f"a number or one of {', '.join(meaning)}" if meaning else "a number"
    raise DataError(
        f"judge_check: the label {key!r} is {shown(value)}, expected {expected}", file=where
    )


def _estimate(name: str, metric: str, check: JudgeCheck, level: float) -> Estimate:
    value = getattr(check, metric.removeprefix("judge_"))
    if value is None:
        return Estimate(name, math.nan, check.rows, check.rows, None, check.reason)
    interval, reason = None, "none is computed for kappa"
    if metric == "judge_accuracy":
        low, high = stats.wilson(round(value * check.rows), check.rows, level)
        interval, reason = Interval(low, high, level, "wilson"), ""
    return Estimate(name, value, check.rows, check.rows, interval, reason)


# -- labels: the mean of a judge's rewards, corrected by people's labels of some rollouts -----


@record
class HumanLabels:
    """The labels of one benchmark, and the threshold on the corrected mean."""

    benchmark: Benchmark
    labels: dict[tuple[str, str, int], float]  # agent, task, sample -> label

    @classmethod
    def of(cls, benchmark: Benchmark, keys: LabelsSpec) -> HumanLabels:
        """Read the labels that a benchmark names."""
        spec, line = benchmark.spec, benchmark.line_of("labels")
        own_dataset = keys.rows is None and spec.dataset is not None
        load = rollouts.load_dataset if own_dataset else rollouts.load
        table = load(keys.rows or spec.rows, benchmark.file.parent, scores=(keys.label,))
        columns = (table.agent, table.task, table.sample, table.scores[keys.label])
        labels = {
            (table.agents[agent], str(table.tasks[task]), sample): label
            for agent, task, sample, label in zip(*(c.tolist() for c in columns), strict=True)
            if not math.isnan(label)
        }
        if not labels:
            raise DataError(f"labels: no row has a number under {keys.label!r}", line=line)
        return cls(benchmark, labels)

    @property
    def rest(self) -> Benchmark:
        """The benchmark without that threshold: no metric of its rewards has its name."""
        thresholds = dict(self.benchmark.spec.thresholds)
        thresholds.pop(PPI_MEAN, None)
        return self.benchmark.but(thresholds=thresholds)

    def corrected(
        self, result: AgentResult, table: RolloutTable, agent: str
    ) -> tuple[AgentResult, list[Check], str]:
        """Add the corrected mean to an agent's numbers; return its checks, and a note of it."""
        spec = self.benchmark.spec
        threshold = spec.thresholds.get(PPI_MEAN)
        level = 0.95 if threshold is None else threshold.level
        rewards = table.scores[spec.reward]
        name = table.agents[table.agent[0]] if len(table) else ""
        agents = {agent for agent, _, _ in self.labels}
        if name not in agents and len(agents) == 1:  # the labels name no agent
            (name,) = agents
        tasks = [str(task) for task in table.tasks]
        places = zip(table.task.tolist(), table.sample.tolist(), strict=True)
        labels = np.array(
            [self.labels.get((name, tasks[task], sample), math.nan) for task, sample in places]
        )
        scored = ~np.isnan(rewards)
        clusters = table.task if spec.cluster is None else table.categories[spec.cluster].codes
        labels, rewards, units = labels[scored], rewards[scored], clusters[scored]
        has_label = ~np.isnan(labels)
        mean, share = stats.ppi_mean(rewards, labels, units)
        labelled = len(np.unique(units[has_label]))
        interval, reason = None, ""
        if labelled < _FEWEST:
            reason = f"{labelled} labelled tasks are too few: {_FEWEST} are needed"
        elif math.isfinite((bounds := stats.t_interval(mean, level)).low):
            interval = Interval(bounds.low, bounds.high, level, "ppi++")
        value = mean.mean if labelled >= _FEWEST else math.nan
        counts, score = (len(np.unique(table.task)), len(rewards)), spec.reward
        estimate = Estimate(PPI_MEAN, value, *counts, interval, reason, score=score)
        checks = []
        if threshold is not None:
            line = self.benchmark.line_of("thresholds", PPI_MEAN)
            checks = [gates.check_threshold(estimate, threshold, agent, line, interval)]
        of = f"{agent}: " if agent else ""
        note = f"{of}{PPI_MEAN} is undefined: {reason}"
        if interval is not None:
            note = (
                f"{of}{PPI_MEAN} is {value:.4g} ({100 * level:.4g} % interval {interval.low:.4g} "
                f"to {interval.high:.4g}): the judge's {rewards.mean():.4g}, corrected by people's "
                f"labels of {many(int(has_label.sum()), 'rollout')}, with a weight of {share:.2g}"
            )
        estimates = {**result.estimates, PPI_MEAN: estimate}
        return replace(result, estimates=estimates), checks, note


# -- reference: a pinned system, measured beside each run ------------------------------------


def pinned_benchmark(benchmark: Benchmark) -> Benchmark | None:
    """Give the benchmark as the model of its reference answers it; None where there is no model."""
    reference = benchmark.spec.reference
    if reference is None or reference.model is None:
        return None
    return benchmark.but(model=reference.model, reference=None)


def with_reference(
    benchmark: Benchmark,
    table: RolloutTable,
    reference: ReferenceSpec,
    score: Callable[[Benchmark], RolloutTable],
) -> RolloutTable:
    """Add two scores to each rollout: the reference's mean reward on its task, and what is above.

    Whatever shifts the run and its reference alike, as a judge or a server may, is in the first
    and not in the second: compared with a baseline, that is a difference of differences. `score`
    answers and scores the rows of a benchmark.
    """
    spec, line = benchmark.spec, benchmark.line_of("reference")
    if reference.rollouts is not None:
        files = reference.rollouts.like(spec.rollouts)
        pinned = rollouts.load(files, benchmark.file.parent, scores=(spec.reward,))
    elif (answered := pinned_benchmark(benchmark)) is not None:
        pinned = score(answered)
    if len(pinned.agents) > 1:
        names = ", ".join(pinned.agents)
        raise DataError(f"the reference has to be one system, and holds {names}", line=line)
    if spec.reward not in table.scores:
        raise DataError(f"a reference is compared by the reward {spec.reward!r}", line=line)
    levels = []
    for _, part in table.by_agent():
        aligned, _ = metrics.align(part, pinned)
        rewards = aligned.scores[spec.reward]
        sums = np.bincount(aligned.task, rewards, len(aligned.tasks))
        means = dict(zip(map(str, aligned.tasks), sums / aligned.counts, strict=True))
        of_task = np.array([means.get(str(task), np.nan) for task in part.tasks])
        if lacking := [str(part.tasks[at]) for at in np.flatnonzero(np.isnan(of_task)).tolist()]:
            raise DataError(
                f"{of_many(len(lacking), len(part.tasks), 'task', 'has')} no reward of the "
                f"reference: {', '.join(lacking[:10])}",
                line=line,
                hint="measure the reference on the tasks of this run",
            )
        levels.append(of_task[part.task])
    level = np.concatenate(levels)
    above = table.scores[spec.reward] - level
    return replace(table, scores={**table.scores, REFERENCE: level, OVER_REFERENCE: above})
