"""People's labels of some rollouts, by which the mean of a judge's rewards is corrected."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import gates, rollouts, stats
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.records import record
from pytest_evalmetrics.results import AgentResult, Check, Estimate, Interval
from pytest_evalmetrics.spec.metric_names import PPI_MEAN

if TYPE_CHECKING:
    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.model_keys import LabelsSpec

_FEWEST = 30  # labelled tasks of an interval that can be relied on


@record
class HumanLabels:
    """The labels of one benchmark, and the threshold on the corrected mean."""

    benchmark: Benchmark  # without that threshold: no metric of its rewards has its name
    threshold: Any
    line: int  # of the threshold
    labels: dict[tuple[str, str, int], float]  # agent, task, sample -> label

    @classmethod
    def of(cls, benchmark: Benchmark, asked: LabelsSpec) -> HumanLabels:
        """Read the labels that a benchmark names."""
        spec, line = benchmark.spec, benchmark.line_of("labels")
        own_dataset = asked.rows is None and spec.dataset is not None
        load = rollouts.load_dataset if own_dataset else rollouts.load
        table = load(asked.rows or spec.rows, benchmark.file.parent, scores=(asked.label,))
        columns = (table.agent, table.task, table.sample, table.scores[asked.label])
        labels = {
            (table.agents[agent], str(table.tasks[task]), sample): label
            for agent, task, sample, label in zip(*(c.tolist() for c in columns), strict=True)
            if not math.isnan(label)
        }
        if not labels:
            raise DataError(f"labels: no row has a number under {asked.label!r}", line=line)
        thresholds = dict(spec.thresholds)
        threshold = thresholds.pop(PPI_MEAN, None)
        return cls(
            replace(benchmark, spec=replace(spec, thresholds=thresholds)),
            threshold,
            benchmark.line_of("thresholds", PPI_MEAN),
            labels,
        )

    def corrected(
        self, result: AgentResult, table: RolloutTable, agent: str
    ) -> tuple[AgentResult, list[Check], str]:
        """Add the corrected mean to an agent's numbers; return its checks, and a note of it."""
        spec = self.benchmark.spec
        level = 0.95 if self.threshold is None else self.threshold.level
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
        if self.threshold is not None:
            checks = [gates.check_threshold(estimate, self.threshold, agent, self.line, interval)]
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
