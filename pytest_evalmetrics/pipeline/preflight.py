"""Checks of a benchmark before anything is paid for; nothing here makes calls."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import errors, gates, metrics, registry
from pytest_evalmetrics.config import show_path
from pytest_evalmetrics.config.declarations import undeclared_when_loaded
from pytest_evalmetrics.errors import Problem
from pytest_evalmetrics.layout import of_many
from pytest_evalmetrics.model.notes import Remark, Topic
from pytest_evalmetrics.reports import sentences
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, metric_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable, Row

    Path = tuple[str | int, ...]

# names that templates of an answer may use: `Generated.sample_data`
_OF_ANSWERS = ("output_text", "response", "reasoning", "tool_calls", "finish_reason")
_NO_TEMPLATES = frozenset({"type", "options", "url", "api_key_secret", "description"})
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
    for text in () if spec.baseline is None else spec.baseline.metrics:
        yield ("baseline", "metrics", text), text


def unknown_metrics(
    benchmark: Benchmark, *, hooked: bool, imports: bool = False
) -> Iterator[Problem]:
    """Look up the metrics of a benchmark; ``package.module:name`` only if it may be imported."""
    for path, text in metric_texts(benchmark.spec):
        try:
            name = metric_names.parse(text)
            keys = benchmark.spec.defined.get(name.metric)
            own = (
                name.metric
                if keys is None
                else getattr(keys, "arguments", None) and keys.type
            )
            if own and not name.is_statistic and (imports or ":" not in own):
                registry.metrics.find(own)
        except (errors.MetricError, errors.RegistryError) as error:
            if not hooked or path[0] == "metrics":
                yield problem_at(benchmark, path, error)


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
    spec, seen = plan.spec, set[Problem]()
    pinned = (
        (metric_names.REFERENCE, metric_names.OVER_REFERENCE) if spec.reference else ()
    )
    table = _with_zeros(table, (*given, *pinned))
    for _, part in table.by_agent():
        source = metrics.SampleSource(part, spec.reward, spec.cluster)
        for path, text in metric_texts(spec):
            statistic, _, score = text.partition("/")
            if statistic in metric_names.STATISTICS and score in part.scores:
                continue
            try:
                metric = plan.names.bind(text)
                sample = source.sample(metric)
                scored = metric.reads_rows and bool(
                    given
                )  # labels of scores are not known yet
                if (
                    registry.is_ours(metric.target)
                    and len(sample.rewards.values)
                    and not scored
                ):
                    metric.value(sample.rewards, sample.tasks)
            except errors.EvalMetricsError as error:
                problem = problem_at(benchmark, path, error)
                if problem not in seen and (not hooked or path[0] == "metrics"):
                    yield problem
                seen.add(problem)


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
    benchmark: Benchmark, rows: Iterable[Row], rewarding: Sequence[int]
) -> Iterator[Problem]:
    """Find the templates that fail for more rows than ``expect`` allows to have no reward."""
    keys = ("prompt_template", "tools", "response_format", "scorers")
    written = texts_below({key: getattr(benchmark.spec, key) for key in keys}, ())
    texts = {path: text for path, text in written if _is_template(text)}
    rows = iter(rows)
    first = next(rows, None)
    if first is not None:
        yield from _single_braces(benchmark, first.item)
        rows = chain((first,), rows)
    if not texts:
        return
    total, failures = _failures(benchmark.spec, texts, rows)
    allowed = _allowed_failures(benchmark.spec)
    names = ", ".join(map(repr, _OF_ANSWERS))
    for path, failure in failures.items():
        such_as = failure.example
        if benchmark.spec.model is not None and "sample" in texts[path]:
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
    values: dict[Path, Any] = {
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
        if not any(map(_is_template, texts)):
            yield path, texts


def constant_notes(spec: BenchmarkSpec) -> Iterator[Note]:
    """Note the requests that no row has a part in."""
    for path, _ in _constant_requests(spec):
        words = f"{show_path(path)} has no template: each row asks the same"
        yield Remark(words, Topic.CONSTANT_REQUEST)


def _is_template(text: str) -> bool:
    return "{{" in text or "{%" in text


def _single_braces(
    benchmark: Benchmark, columns: Mapping[str, Any]
) -> Iterator[Problem]:
    for path, texts in _constant_requests(benchmark.spec):
        for match in _SINGLE_BRACES.finditer("\n".join(texts)):
            if match[2] in columns:
                message = f"{match[0]} is sent as it is written: a column is {{{{ {match[2]} }}}}"
                yield located(benchmark, path, message)
                break


class _Failure(msgspec.Struct, frozen=True):
    """The failures of one template."""

    # rows that can't fill it in
    rows: int
    # the words of the first failure, and its row
    example: str


class _Contexts:
    """What the templates of scorers see of a row, before it is answered and scored."""

    def __init__(self, spec: BenchmarkSpec) -> None:
        from jinja2 import ChainableUndefined, UndefinedError  # of the extra

        class NotYetError(UndefinedError):
            """A template reads what comes later."""

        self.not_yet = NotYetError
        self.undefined = UndefinedError
        # stands for whatever comes later
        self._later = ChainableUndefined(name="?", exc=NotYetError)
        self._is_answered = bool(spec.answers)
        self._sample: object = self._later
        if spec.model is not None:
            self._sample = dict.fromkeys(_OF_ANSWERS, self._later)
        self._scores: dict[str | int, dict[str, object]] = {}
        for at, scorer in enumerate(spec.scorers):
            scores = getattr(scorer, "scores", None) or ()
            names = [getattr(score, "name", "") for score in scores]
            self._scores[at] = dict.fromkeys(names, self._later)

    def answered(self, row: Row, asked: dict[str, object]) -> dict[str, object]:
        """Return what all templates of scorers see of a row, which was `asked`."""
        if not self._is_answered:
            return asked
        item = {**row.item, "response": self._later}
        return {**item, "item": item, "sample": self._sample}

    def with_scores(
        self, context: dict[str, object], scorer: str | int
    ) -> dict[str, object]:
        """Add the scores of a scorer, which its own templates may name."""
        return {"scores": self._scores[scorer], **context}

    def names_a_column(self, error: errors.RowError) -> bool:
        """Check for a template that reads a column which the row does not have."""
        cause = error.__context__
        return isinstance(cause, self.undefined) and not isinstance(cause, self.not_yet)


def _failures(
    spec: BenchmarkSpec, texts: Mapping[Path, str], rows: Iterable[Row]
) -> tuple[int, dict[Path, _Failure]]:
    """Count all rows, and those that each template fails for."""
    from pytest_evalmetrics.expressions import compile_value  # of the extra

    rendered = {path: compile_value(text) for path, text in texts.items()}
    of_scorers = {path for path in texts if path[0] == "scorers"}
    of_scores = {path for path in of_scorers if "scores" in texts[path]}
    # these may be filled in once the row is answered
    incomplete = of_scorers if spec.answers else of_scores
    contexts = _Contexts(spec)
    failures: dict[Path, _Failure] = {}
    total = 0
    last: object = None
    for row in rows:
        if row.item is last:
            # another sample
            continue
        last = row.item
        total += 1
        asked = row.context
        answered = contexts.answered(row, asked)
        for path, render in rendered.items():
            context = answered if path in of_scorers else asked
            if path in of_scores:
                context = contexts.with_scores(context, path[1])
            try:
                render(context)
            except errors.RowError as error:
                if path in incomplete and not contexts.names_a_column(error):
                    continue
                before = failures.get(path)
                example = f"{error.message} ({row.where})"
                failures[path] = _Failure(
                    rows=1 if before is None else before.rows + 1,
                    example=example if before is None else before.example,
                )
    return total, failures


def texts_below(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts within a value, but those that can't be templates."""
    if isinstance(value, str):
        yield path, value
    elif is_dataclass(value):
        names = [each.name for each in fields(value) if each.name not in _NO_TEMPLATES]
        value = {name: getattr(value, name) for name in names}
    elif isinstance(value, list | tuple):
        value = dict(enumerate(value))
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from texts_below(item, (*path, key))


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
    return (
        problem
        if error.file or error.line is None
        else replace(problem, line=error.line)
    )
