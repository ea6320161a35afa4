"""Checks of a benchmark before anything is paid for; nothing here makes calls."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics import errors, gates, metrics, registry
from pytest_evalmetrics.config import show_path
from pytest_evalmetrics.config.declarations import undeclared_when_loaded
from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.layout import of_many
from pytest_evalmetrics.model.scoring_notes import ConstantRequest
from pytest_evalmetrics.pipeline.template_trials import (
    OF_ANSWERS,
    TemplateTrials,
    is_template,
    texts_below,
)
from pytest_evalmetrics.reports import sentences
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, metric_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable, Row

    Path = tuple[str | int, ...]

_SINGLE_BRACES = re.compile(r"\{\s*(item\.)?(\w+)\s*\}")


# -- metrics ---------------------------------------------------------------------------------


def metric_texts(spec: BenchmarkSpec) -> Iterator[tuple[Path, str]]:
    """Yield the text of each metric that a benchmark names, with its place."""
    for key, texts in (
        ("metrics", spec.metrics),
        ("key_metrics", spec.key_metrics or ()),
    ):
        yield from (((key, at), text) for at, text in enumerate(texts))
    for text in spec.thresholds:
        if text.partition("/")[0] not in ("ppi", *metric_names.JUDGE_METRICS):
            yield ("thresholds", text), text
    if spec.baseline is not None:
        for text in spec.baseline.metrics:
            yield ("baseline", "metrics", text), text


def unknown_metrics(
    benchmark: Benchmark, *, hooked: bool, imports: bool = False
) -> Iterator[Problem]:
    """Look up the metrics of a benchmark; ``package.module:name`` only if it may be imported."""
    for path, text in metric_texts(benchmark.spec):
        try:
            own = _registered_name(benchmark, metric_names.parse(text))
            if own and (imports or ":" not in own):
                registry.metrics.find(own)
        except (errors.MetricError, errors.RegistryError) as error:
            if not hooked or path[0] == "metrics":
                yield problem_at(benchmark, path, error)


def _registered_name(benchmark: Benchmark, name: metric_names.MetricName) -> str:
    """Return the name that a metric is registered by; empty for one of the benchmark file."""
    if name.is_statistic:
        return ""
    keys = benchmark.spec.defined.get(name.metric)
    if keys is None:
        return name.metric
    return keys.type if getattr(keys, "arguments", None) else ""


def metric_problems(
    benchmark: Benchmark,
    plan: metrics.Plan,
    table: RolloutTable,
    given: Sequence[str],
    *,
    hooked: bool,
) -> Iterator[Problem]:
    """Find the metrics that can't be computed whatever the scores `given` will be."""
    yield from direction_problems(benchmark, plan, table, given)
    spec = plan.spec
    seen = set[Problem]()
    pinned: tuple[str, ...] = ()
    if spec.reference:
        pinned = (metric_names.REFERENCE, metric_names.OVER_REFERENCE)
    table = _with_zeros(table, (*given, *pinned))
    for _, part in table.by_agent():
        source = metrics.SampleSource(part, spec.reward, spec.cluster)
        for path, text in metric_texts(spec):
            statistic, _, score = text.partition("/")
            if statistic in metric_names.STATISTICS and score in part.scores:
                continue
            try:
                _try_metric(plan, text, source, is_scored=bool(given))
            except errors.EvalMetricsError as error:
                problem = problem_at(benchmark, path, error)
                if problem not in seen and (not hooked or path[0] == "metrics"):
                    yield problem
                seen.add(problem)


def _try_metric(
    plan: metrics.Plan, text: str, source: metrics.SampleSource, *, is_scored: bool
) -> None:
    """Compute one of our metrics, unless it reads labels that are yet to be scored."""
    metric = plan.names.bind(text)
    sample = source.sample(metric)
    is_unknown = metric.reads_rows and is_scored
    has_rewards = len(sample.rewards.values) > 0
    if registry.is_ours(metric.target) and has_rewards and not is_unknown:
        metric.value(sample.rewards, sample.tasks)


def count_problems(
    benchmark: Benchmark, table: RolloutTable, given: Sequence[str]
) -> Iterator[Problem]:
    """Find tasks and rollouts that `expect:` counts and a table lacks."""
    for agent, part in _with_zeros(table, given).by_agent():
        shown = agent if len(table.agents) > 1 else ""
        checks = gates.check_completeness(
            benchmark.spec,
            gates.completeness_of(benchmark.spec, part),
            agent=shown,
            line_of=benchmark.line_of,
        )
        for check in checks:
            if check.name in ("tasks", "rollouts") and check.verdict.fails:
                prefix = f"{agent}: " if shown else ""
                text = f"{prefix}{sentences.reason_of(check)}"
                yield located(benchmark, ("expect", check.name), text)


def _with_zeros(table: RolloutTable, scores: Sequence[str]) -> RolloutTable:
    """Add a column of zeros for each score that is yet to be computed."""
    return structs.replace(
        table, scores={**table.scores, **dict.fromkeys(scores, np.zeros(len(table)))}
    )


# -- templates -------------------------------------------------------------------------------


def template_problems(
    benchmark: Benchmark,
    first: Row | None,
    trials: TemplateTrials,
    numbers: Collection[int],
    rewarding: Sequence[int],
) -> Iterator[Problem]:
    """Find the templates that fail for more rows than ``expect`` allows to have no reward.

    `numbers` are those of the rows that are scored, of all in `trials`; `first` is one of them.
    """
    if first is not None:
        yield from _single_braces(benchmark, first.item)
    if not trials.texts:
        return
    total, failures = trials.counted(numbers)
    allowed = _allowed_failures(benchmark.spec)
    names = ", ".join(map(repr, OF_ANSWERS))
    for path, failure in failures.items():
        such_as = failure.example
        if benchmark.spec.model is not None and "sample" in trials.texts[path]:
            such_as += f"; sample has {names}"
        is_of_reward = path[0] != "scorers" or path[1] in rewarding
        if failure.rows == total:
            message = f"no row can fill in this template: {such_as}"
            yield located(benchmark, path, message)
        elif failure.rows / total > allowed and is_of_reward:
            have = of_many(failure.rows, total, "row")
            message = (
                f"{have} can't fill in this template, such as {such_as}: complete them, "
                "or allow it: `expect: {max_missing: 2%}`"
            )
            yield located(benchmark, path, message)


def _allowed_failures(spec: BenchmarkSpec) -> float:
    """Return the share of rows that may have no reward."""
    meaning, allowed = gates.missing_policy(spec.expect)
    if isinstance(meaning, float) and spec.expect.max_missing is None:
        # a missing reward counts as a number
        return 1.0
    return allowed


def _constant_requests(spec: BenchmarkSpec) -> Iterator[tuple[Path, list[str]]]:
    """Find the requests without a template, which are the same for every row, and their texts."""
    values: dict[Path, object] = {
        ("scorers", at, key): value
        for at, scorer in enumerate(spec.scorers)
        for key in ("body", "prompt_template")
        if (value := getattr(scorer, key, None)) is not None
    }
    if spec.model is not None:
        values["prompt_template",] = (
            spec.prompt_template,
            spec.tools,
            spec.response_format,
        )
    for path, value in values.items():
        texts = [text for _, text in texts_below(value, ())]
        if not any(map(is_template, texts)):
            yield path, texts


def constant_notes(spec: BenchmarkSpec) -> Iterator[Note]:
    """Note the requests that no row has a part in."""
    for path, _ in _constant_requests(spec):
        yield ConstantRequest(show_path(path))


def _single_braces(
    benchmark: Benchmark, columns: Mapping[str, object]
) -> Iterator[Problem]:
    for path, texts in _constant_requests(benchmark.spec):
        for match in _SINGLE_BRACES.finditer("\n".join(texts)):
            if match[2] in columns:
                message = f"{match[0]} is sent as it is written: a column is {{{{ {match[2]} }}}}"
                yield located(benchmark, path, message)
                break


def direction_problems(
    benchmark: Benchmark,
    plan: metrics.Plan,
    table: RolloutTable,
    given: Sequence[str] = (),
) -> Iterator[Problem]:
    """Find the gated metrics of which neither the files nor a class say which way is better."""
    scores = {*table.scores, *given}
    questions = undeclared_when_loaded(
        benchmark.spec, plan.facts_of, table.directions, scores
    )
    for question in questions:
        problem = located(benchmark, question.path, question.message)
        yield replace(problem, undeclared=question.metrics)


# -- problems --------------------------------------------------------------------------------


def located(benchmark: Benchmark, path: Path, message: str) -> Problem:
    """Make the problem of a key of a benchmark."""
    return Problem(
        benchmark.line_of(*path), show_path((*benchmark.path, *path)), message
    )


def problem_at(
    benchmark: Benchmark, path: Path, error: errors.EvalMetricsError
) -> Problem:
    """Make a problem of an error, at its key in the benchmark file."""
    message = f"{error.where}: {error.message}" if error.file else error.message
    has_guess = isinstance(error, errors.RegistryError) and error.meant is not None
    if error.hint and not has_guess:
        message += f"; {error.hint}"
    problem = located(benchmark, path, message)
    if error.file or error.line is None:
        return problem
    return replace(problem, line=error.line)
