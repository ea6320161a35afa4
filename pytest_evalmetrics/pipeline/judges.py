"""Human labels that measure a judge's error, and a pinned reference that reveals drift."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, metrics, rollouts, stats
from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.layout import listed, of_many, shown
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.rollout_notes import CorrectedMean, TooFewLabels
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row, content_hash
from pytest_evalmetrics.model.scores import Disagreement, JudgeCheck, JudgeUse
from pytest_evalmetrics.model.scoring_notes import JudgeAgainstPeople, UnscoredAnchors
from pytest_evalmetrics.pipeline.anchors import AnchorScores
from pytest_evalmetrics.spec.metric_names import (
    JUDGE_METRICS,
    OVER_REFERENCE,
    PPI_MEAN,
    REFERENCE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import AgentResult, Check
    from pytest_evalmetrics.pipeline.benchmark_rows import ScorerInput
    from pytest_evalmetrics.pipeline.board import Board
    from pytest_evalmetrics.scoring.door import BoundScorer
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, Threshold
    from pytest_evalmetrics.spec.benchmark import ReferenceSpec
    from pytest_evalmetrics.spec.model_keys import LabelsSpec
    from pytest_evalmetrics.spec.sources import FilesSpec

    ScoreRows = Callable[[Sequence[ScorerInput], Sequence[BoundScorer]], Board]
    Labels = dict[
        tuple[str, str, int], float
    ]  # of a rollout: its agent, task and sample

_FIRST = 20  # disagreements that the report holds
_SAME = 1e-9
_FEWEST = 30  # labelled tasks of an interval that can be relied on


# -- judge_check: a judge's scores against people's labels -----------------------------------


class LabelledRows(msgspec.Struct, frozen=True):
    """Rows with a person's label, for a score of one scorer."""

    scorer: BoundScorer
    score: str
    rows: list[ScorerInput]
    labels: NDArray[np.float64]

    def check(self, scored: Board) -> JudgeCheck:
        """Compare the judge's scores with the labels."""
        n = len(self.rows)
        failed = scored.failed
        if failed:
            (first,) = failed[min(failed)].values()
            reason = (
                f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
                f"{first.row}: {first.reason}"
            )
            return JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        labels = self.labels
        scores = scored.columns[self.score]
        scores = np.where(np.abs(scores - labels) <= _SAME, labels, scores)
        plain = stats.cohen_kappa(scores, labels)
        weighted = stats.cohen_kappa(scores, labels, "quadratic")
        disagreements = tuple(
            Disagreement(self.rows[at][0].where, float(scores[at]), float(labels[at]))
            for at in np.flatnonzero(scores != labels)[:_FIRST].tolist()
        )
        reason = ""
        if math.isnan(plain):
            reason = "all scores and labels are the same"
        return JudgeCheck(
            score=self.score,
            rows=n,
            failed=0,
            accuracy=float((scores == labels).mean()),
            kappa=None if math.isnan(plain) else plain,
            quadratic_kappa=None if math.isnan(weighted) else weighted,
            reason=reason,
            first=disagreements,
        )


class JudgeOutcome(msgspec.Struct, frozen=True):
    """The judges of a benchmark: their calls, and their agreement with people."""

    uses: tuple[JudgeUse, ...]
    judge_checks: tuple[JudgeCheck, ...]
    checks: tuple[Check, ...]  # of thresholds on judges
    notes: tuple[Note, ...]


class Judges:
    """The judges of a benchmark's scorers, and the labels that they are checked against."""

    def __init__(self, benchmark: Benchmark, bound: Sequence[BoundScorer]) -> None:
        self._scorers = bound
        self._benchmark = benchmark
        # the rows of each judge check, and the anchors; once `read_labels` has read them
        self.labelled: list[LabelledRows] = []
        self.anchors: LabelledRows | None = None
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
                place = ("scorers", index, "judge_check")
                self.labelled.append(
                    labelled_rows(self._benchmark, place, scorer, keys)
                )
        self.anchors = self._anchor_rows()
        scores = [each.score for each in self.labelled]
        for name in self._gates:
            if (score := name.partition("/")[2]) not in scores:
                guess = did_you_mean(score, scores, what="scores with a judge_check")
                raise DataError(
                    f"{name}: there are no labels to check a judge against; {guess}",
                    line=self._benchmark.line_of("thresholds", name),
                    hint="write judge_check: {rows: labels.jsonl, label: human} under the scorer",
                )

    def _anchor_rows(self) -> LabelledRows | None:
        """Read the anchors of the benchmark; None if it has none."""
        keys = self._benchmark.spec.anchors
        if keys is None:
            return None
        judging = [scorer for scorer in self._scorers if scorer.judges]
        names = [name for scorer in judging for name in scorer.scores]
        wanted = keys.score or self._benchmark.spec.reward
        if keys.score is None and wanted not in names:
            # the reward of a benchmark that does not name it
            wanted = names[0] if names else wanted
        for scorer in judging:
            if wanted in scorer.scores:
                named = replace(keys, score=wanted)
                return labelled_rows(self._benchmark, ("anchors",), scorer, named)
        guess = did_you_mean(wanted, names, what="scores of judges")
        raise DataError(
            f"anchors: no judge gives the score {wanted!r}; {guess}",
            line=self._benchmark.line_of("anchors"),
        )

    def anchor_scores(self, score: ScoreRows) -> AnchorScores | None:
        """Score the anchors; None if the benchmark has none. Rows without a score are left out."""
        anchors = self.anchors
        if anchors is None:
            return None
        scored = score(anchors.rows, [anchors.scorer]).columns[anchors.score].tolist()
        rows: dict[str, tuple[float, float]] = {}
        for at, label in enumerate(anchors.labels.tolist()):
            if not math.isnan(scored[at]):
                row, _ = anchors.rows[at]
                rows[content_hash(row.item)] = (scored[at], label)
        return AnchorScores(anchors.score, rows)

    def anchor_notes(self, scores: AnchorScores | None) -> Iterator[Note]:
        """Note anchors that the judge could not score, or that are there twice."""
        if scores is None or self.anchors is None:
            return
        count = len(self.anchors.rows)
        lost = count - len(scores.rows)
        if lost:
            yield UnscoredAnchors(scores.score, lost, count)

    def check(self, score: ScoreRows) -> JudgeOutcome:
        """Check the judges against people's labels and their thresholds."""
        judge_checks = tuple(
            labelled.check(score(labelled.rows, [labelled.scorer]))
            for labelled in self.labelled
        )
        by_score = {check.score: check for check in judge_checks}
        gated = tuple(
            self._gated(name, threshold, by_score[name.partition("/")[2]])
            for name, threshold in self._gates.items()
        )
        return JudgeOutcome(
            uses=tuple(self._uses()),
            judge_checks=judge_checks,
            checks=gated,
            notes=tuple(map(_note_of, judge_checks)),
        )

    def _gated(self, name: str, threshold: Threshold, check: JudgeCheck) -> Check:
        """Hold a judge's agreement with people against its threshold."""
        metric = name.partition("/")[0]
        value: float | None = getattr(check, metric.removeprefix("judge_"))
        interval = None
        reason = "none is computed for kappa"
        if value is None:
            value = math.nan
            reason = check.reason
        elif metric == "judge_accuracy":
            agreed = round(value * check.rows)
            low, high = stats.clopper_pearson(agreed, check.rows, threshold.level)
            interval = Interval(low, high, threshold.level, "clopper-pearson")
            reason = ""
        estimate = Estimate(name, value, check.rows, check.rows, interval, reason)
        line = self._benchmark.line_of("thresholds", name)
        return gates.check_threshold(estimate, threshold, interval, agent="", line=line)

    def _uses(self) -> Iterator[JudgeUse]:
        """Yield each judge with its calls."""
        for scorer in self._scorers:
            for judge in scorer.judges:
                versions = dict(judge.versions)
                if judge.prompt:
                    versions["prompt"] = judge.prompt
                yield JudgeUse(
                    scorer.type,
                    scorer.scores,
                    judge.model.name,
                    versions,
                    **judge.model.spending.as_dict(judge.model.price),
                )


def _note_of(check: JudgeCheck) -> Note:
    """Note how often a judge says what people say."""
    agreed = None
    if check.accuracy is not None:
        agreed = round(check.accuracy * check.rows)
    return JudgeAgainstPeople(
        score=check.score,
        agreed=agreed,
        rows=check.rows,
        kappa=check.kappa,
        words=check.reason,
    )


class LabelKeys(Protocol):
    """The keys that name labelled rows: of a judge check, and of anchors."""

    @property
    def rows(self) -> FilesSpec:
        """The rows."""
        ...

    @property
    def label(self) -> str:
        """The column with a person's score, or a label of the rubric."""
        ...

    @property
    def score(self) -> str | None:
        """Which score it is a label of; None for the scorer's first."""
        ...


def labelled_rows(
    benchmark: Benchmark,
    place: tuple[str | int, ...],
    scorer: BoundScorer,
    keys: LabelKeys,
) -> LabelledRows:
    """Read the rows that the keys at a place of the benchmark file name, with their labels."""
    key = place[-1]
    line = benchmark.line_of(*place)
    score = keys.score or scorer.scores[0]
    if score not in scorer.scores:
        guess = did_you_mean(score, scorer.scores, what="it gives")
        raise DataError(f"{key}: the scorer gives no {score!r}; {guess}", line=line)
    meaning = _meaning_of(scorer, score)
    rows: list[ScorerInput] = []
    labels: list[float] = []
    records = rollouts.records(keys.rows, benchmark.file.parent)
    for at, (where, item) in enumerate(records):
        label = item.get(keys.label)
        if isinstance(label, str):
            label = meaning.get(label, label)
        if not isinstance(label, bool | int | float) or not math.isfinite(label):
            expected = "a number"
            if meaning:
                expected += f" or one of {', '.join(meaning)}"
            fault = f"is {shown(label)}, expected {expected}"
            raise DataError(f"{key}: the label {keys.label!r} {fault}", file=where)
        labels.append(float(label))
        # a judge must not see what people say
        seen = {name: value for name, value in item.items() if name != keys.label}
        row = Row(
            index=at,
            agent="",
            task=at,
            sample=0,
            item=seen,
            sample_data=seen,
            where=where,
        )
        rows.append((row, None))
    if not labels:
        raise DataError(f"{key}: there are no labelled rows", line=line)
    return LabelledRows(scorer=scorer, score=score, rows=rows, labels=np.array(labels))


def _meaning_of(scorer: BoundScorer, score: str) -> dict[str, float]:
    """Return the labels of a score's rubric with their values; empty without a rubric."""
    about = scorer.about.get(score)
    if about is not None and about.judges:
        # the labels are those of each single one
        about = scorer.about.get(about.judges[0])
    return {} if about is None else dict(about.labels)


# -- labels: the mean of a judge's rewards, corrected by people's labels of some rollouts -----


def human_labels(benchmark: Benchmark, keys: LabelsSpec) -> Labels:
    """Read the labels that a benchmark names."""
    spec = benchmark.spec
    own_dataset = keys.rows is None and spec.dataset is not None
    load = rollouts.load_dataset if own_dataset else rollouts.load
    table = load(keys.rows or spec.rows, benchmark.file.parent, scores=(keys.label,))
    columns = (table.agent, table.task, table.sample, table.scores[keys.label])
    labels = {
        (table.agents[agent], str(table.tasks[task]), sample): label
        for agent, task, sample, label in zip(
            *(c.tolist() for c in columns), strict=True
        )
        if not math.isnan(label)
    }
    if not labels:
        message = f"labels: no row has a number under {keys.label!r}"
        raise DataError(message, line=benchmark.line_of("labels"))
    return labels


def with_corrected_mean(
    result: AgentResult,
    table: RolloutTable,
    spec: BenchmarkSpec,
    labels_of: Labels,
    *,
    shown: str,
) -> tuple[AgentResult, Note]:
    """Add the corrected mean to an agent's numbers; return a note on it too.

    `shown` is the agent's name in notes, empty if there is only one.
    """
    threshold = spec.thresholds.get(PPI_MEAN)
    level = 0.95 if threshold is None else threshold.level
    rewards = table.scores[spec.reward]
    agents = {agent for agent, _, _ in labels_of}
    name = result.agent
    if name not in agents and len(agents) == 1:  # the labels name no agent
        (name,) = agents
    tasks = [str(task) for task in table.tasks]
    places = zip(table.task.tolist(), table.sample.tolist(), strict=True)
    labels = np.array(
        [labels_of.get((name, tasks[t], sample), math.nan) for t, sample in places]
    )
    scored = ~np.isnan(rewards)
    clusters = (
        table.task if spec.cluster is None else table.categories[spec.cluster].codes
    )
    labels = labels[scored]
    rewards = rewards[scored]
    units = clusters[scored]
    has_label = ~np.isnan(labels)
    corrected = stats.labelled_mean(rewards, labels, units, level=level)
    value = corrected.mean
    interval = None
    note: Note
    reason = ""
    if corrected.labelled < _FEWEST:
        value = math.nan
        reason = (
            f"{corrected.labelled} labelled tasks are too few: {_FEWEST} are needed"
        )
        note = TooFewLabels(PPI_MEAN, corrected.labelled, _FEWEST, agent=shown)
    else:
        interval = Interval(corrected.low, corrected.high, level, "post-stratified")
        note = CorrectedMean(
            metric=PPI_MEAN,
            value=value,
            low=corrected.low,
            high=corrected.high,
            level=level,
            judged=float(rewards.mean()),
            labelled=int(has_label.sum()),
            agent=shown,
        )
    counts = (len(np.unique(table.task)), len(rewards))
    score = spec.reward
    estimate = Estimate(PPI_MEAN, value, *counts, interval, reason, score=score)
    return structs.replace(
        result, estimates={**result.estimates, PPI_MEAN: estimate}
    ), note


# -- reference: a pinned system, measured beside each run ------------------------------------


def pinned_benchmark(benchmark: Benchmark) -> Benchmark | None:
    """Return the benchmark with its reference model, or None if it has none."""
    reference = benchmark.spec.reference
    if reference is None or reference.model is None:
        return None
    return benchmark.but(model=reference.model, reference=None)


def with_reference(
    benchmark: Benchmark,
    table: RolloutTable,
    reference: ReferenceSpec,
    scored: RolloutTable | None,
) -> RolloutTable:
    """Add the reference's mean reward of each task, and the difference from it.

    `scored` are its rollouts where its model was asked in this run.
    """
    # What shifts both alike, as a judge may, is not in the second score: compared with a
    # baseline, that is a difference of differences.
    spec = benchmark.spec
    line = benchmark.line_of("reference")
    if reference.rollouts is not None:
        files = reference.rollouts.like(spec.rollouts)
        pinned = rollouts.load(files, benchmark.file.parent, scores=(spec.reward,))
    elif scored is not None:
        pinned = scored
    if len(pinned.agents) > 1:
        names = ", ".join(pinned.agents)
        raise DataError(
            f"the reference has to be one system, and holds {names}", line=line
        )
    if spec.reward not in table.scores:
        raise DataError(
            f"a reference is compared by the reward {spec.reward!r}", line=line
        )
    levels = []
    for _, part in table.by_agent():
        aligned, _ = metrics.align(part, pinned)
        sums = np.bincount(
            aligned.task, aligned.scores[spec.reward], len(aligned.tasks)
        )
        means = dict(zip(map(str, aligned.tasks), sums / aligned.counts, strict=True))
        of_task = np.array([means.get(str(task), np.nan) for task in part.tasks])
        if lacking := [
            str(part.tasks[at]) for at in np.flatnonzero(np.isnan(of_task)).tolist()
        ]:
            have = of_many(len(lacking), len(part.tasks), "task", "has")
            message = f"{have} no reward of the reference: {listed(lacking, 10)}"
            hint = "measure the reference on the tasks of this run"
            raise DataError(message, line=line, hint=hint)
        levels.append(of_task[part.task])
    level = np.concatenate(levels)
    more = {REFERENCE: level, OVER_REFERENCE: table.scores[spec.reward] - level}
    return structs.replace(table, scores={**table.scores, **more})
