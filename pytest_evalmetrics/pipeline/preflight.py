"""Everything that can be known of a benchmark before it costs anything; nothing here calls."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import gates, metrics, registry, rollouts
from pytest_evalmetrics.errors import (
    EvalMetricsError,
    MetricError,
    Problem,
    RegistryError,
    RowError,
    ShapeError,
    did_you_mean,
)
from pytest_evalmetrics.layout import of_many
from pytest_evalmetrics.spec.metric_names import (
    JUDGE_METRICS,
    OVER_REFERENCE,
    PPI_MEAN,
    REFERENCE,
    STATISTICS,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.data import RolloutTable, Row
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

    Path = tuple[str | int, ...]

# what templates of an answer may name: `Generated.sample_data`
_OF_ANSWERS = ("output_text", "response", "reasoning", "tool_calls", "finish_reason")
_NO_TEMPLATES = frozenset({"type", "options", "url", "api_key_secret", "description"})
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_PLACEHOLDER = re.compile(
    r"<.*>|\.\.\.|(your|my)[-_ ]model([-_ ]name)?|todo|xxx+|changeme", re.IGNORECASE
)


def all_problems(benchmark: Benchmark, *, hooked: bool, replays: bool) -> Iterator[Problem]:
    """Find all that is wrong with a benchmark, without a call.

    `hooked` says that a hook computes metrics, and `replays` that no key is needed.
    """
    unknown = list(unknown_metrics(benchmark, hooked=hooked, imports=True))
    yield from unknown
    benchmark = _without(benchmark, {problem.path for problem in unknown})
    spec = benchmark.spec
    if spec.runs:
        from pytest_evalmetrics.transport import SecretError  # noqa: PLC0415 - few benchmarks call

        faults = list(_faults_of_scoring(benchmark, replays=replays))
        yield from (_problem(benchmark, path, error) for path, error in faults)
        for path, value in _walk({"model": spec.model, "scorers": spec.scorers}, ()):
            of_model = path[-2:-1] in (("model",), ("judge_model",)) or path[-3:-2] == ("judges",)
            if path[-1] == "name" and of_model and _PLACEHOLDER.fullmatch(value):
                message = f"{value!r} is a placeholder: write the name of a model that the url "
                yield located(benchmark, path, f"{message}serves")
        if not all(isinstance(error, SecretError) for _, error in faults):
            return
    if any(_URL.match(path) for path in spec.rows.path):
        return
    try:
        if spec.runs:
            from pytest_evalmetrics.pipeline.scoring import Scoring  # noqa: PLC0415 - loads asyncio

            calls_nothing: Any = SimpleNamespace(replays=True, asks_anew=False, budget=None)
            scoring = Scoring(benchmark, calls_nothing, "")
            spec = scoring.benchmark.spec
            plan = metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)
            yield from scoring.problems(plan, hooked=hooked)
            if not scoring.chosen.partial and scoring.chosen.whole is None:
                names = tuple(name for scorer in scoring.made for name in scorer.scores)
                yield from _count_problems(scoring.benchmark, scoring.chosen.table, names)
            return
        plan = metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)
        folder = benchmark.file.parent
        table = rollouts.load(spec.rows, folder, scores=plan.scores, categories=plan.categories)
        yield from metric_problems(benchmark, plan, table, (), hooked=hooked)
        yield from _count_problems(benchmark, table, ())
    except EvalMetricsError as error:
        source = "rollouts" if spec.dataset is None else "dataset"
        key = error.key if isinstance(error, ShapeError) else ()
        yield _problem(benchmark, (source, *key), error)


def _without(benchmark: Benchmark, paths: set[str]) -> Benchmark:
    """Take unknown metrics out of a benchmark, so that the rest of it can be checked."""
    spec = benchmark.spec
    bad = {text for path, text in _metric_texts(spec) if located(benchmark, path, "").path in paths}
    if not bad:
        return benchmark
    listed = spec.listing("mean_reward" if text in bad else text for text in spec.metrics)
    thresholds = {text: t for text, t in spec.thresholds.items() if text not in bad}
    known = replace(spec, metrics=listed, key_metrics=None, thresholds=thresholds, baseline=None)
    return replace(benchmark, spec=known)


def _faults_of_scoring(
    benchmark: Benchmark, *, replays: bool
) -> Iterator[tuple[Path, EvalMetricsError]]:
    """Make each scorer, and who answers, by itself: keys, functions, secrets."""
    from pytest_evalmetrics import generators, scorers  # noqa: PLC0415 - few benchmarks have any

    spec = benchmark.spec
    judging = spec.params if spec.model is None else None
    terms = scorers.Terms(replays=replays, judging=judging)
    makers: list[tuple[Path, Any, Any]] = [
        (("scorers", at), scorers.make_scorers, [each]) for at, each in enumerate(spec.scorers)
    ]
    answers = ("model" if spec.model is not None else "target",)
    for path, make, asked in (*makers, (answers, generators.make_generator, spec)):
        try:
            make(asked, terms, lambda *_: 0)
        except EvalMetricsError as error:
            error.line = error.line or None
            yield path, error


# -- metrics ---------------------------------------------------------------------------------


def _metric_texts(spec: BenchmarkSpec) -> Iterator[tuple[Path, str]]:
    """Yield each metric that a benchmark names, and where."""
    for key, texts in (("metrics", spec.metrics), ("key_metrics", spec.key_metrics or ())):
        yield from (((key, at), text) for at, text in enumerate(texts))
    for text in spec.thresholds:
        if text != PPI_MEAN and text.partition("/")[0] not in JUDGE_METRICS:
            yield ("thresholds", text), text
    for text in () if spec.baseline is None else spec.baseline.metrics:
        yield ("baseline", "metrics", text), text


def unknown_metrics(
    benchmark: Benchmark, *, hooked: bool, imports: bool = False
) -> Iterator[Problem]:
    """Look up the metrics of a benchmark; ``package.module:name`` only if it may be imported."""
    for path, text in _metric_texts(benchmark.spec):
        try:
            name = parse(text)
            keys = benchmark.spec.defined.get(name.metric)
            own = name.metric if keys is None else getattr(keys, "arguments", None) and keys.type
            if own and not name.is_statistic and (imports or ":" not in own):
                registry.metrics.find(own)
        except (MetricError, RegistryError) as error:
            if not hooked or path[0] == "metrics":
                yield _problem(benchmark, path, error)


def metric_problems(
    benchmark: Benchmark,
    plan: metrics.Plan,
    table: RolloutTable,
    given: Sequence[str],
    *,
    hooked: bool,
) -> Iterator[Problem]:
    """Find the metrics that can't be computed whatever the scores `given` will be.

    The scores, fields and values that they name have to be there, and enough rollouts.
    """
    pinned = () if plan.spec.reference is None else (REFERENCE, OVER_REFERENCE)
    stand_in = {name: np.zeros(len(table)) for name in (*given, *pinned)}
    table = replace(table, scores={**table.scores, **stand_in})
    spec, seen = plan.spec, set[Problem]()
    for _, part in table.by_agent():
        source = metrics.SampleSource(part, spec.reward, spec.cluster)
        for path, text in _metric_texts(spec):
            statistic, _, score = text.partition("/")
            if statistic in STATISTICS and score in part.scores:
                continue
            try:
                metric = plan.names.bind(text)
                sample = source.sample(metric)
                scored = metric.reads_rows and bool(given)  # their labels are not known yet
                if registry.is_ours(metric.target) and len(sample.rewards.values) and not scored:
                    metric.value(sample.rewards, sample.tasks)
            except EvalMetricsError as error:
                if hooked and path[0] != "metrics":
                    continue
                problem = _problem(benchmark, path, error)
                if problem not in seen:
                    yield problem
                seen.add(problem)


def _count_problems(
    benchmark: Benchmark, table: RolloutTable, given: Sequence[str]
) -> Iterator[Problem]:
    """Compare the numbers of tasks and rollouts with ``expect:``."""
    stand_in = {name: np.zeros(len(table)) for name in given}
    table = replace(table, scores={**table.scores, **stand_in})
    for agent, part in table.by_agent():
        shown = agent if len(table.agents) > 1 else ""
        for check in gates.check_completeness(benchmark, shown, part).checks:
            if check.name in ("tasks", "rollouts") and check.verdict.fails:
                of = f"{agent}: " if shown else ""
                yield located(benchmark, ("expect", check.name), f"{of}{check.reason}")


# -- templates -------------------------------------------------------------------------------


def template_problems(  # noqa: C901, PLR0912 - one pass over the rows, and its outcome
    benchmark: Benchmark, rows: Iterable[Row], rewarding: Sequence[int]
) -> Iterator[Problem]:
    """Find the names in templates that rows lack, and templates that fail for the first row.

    Rows that lack a name fail. What no row has is refused; what some lack is refused where
    ``expect`` allows no such share of rollouts without a reward. `rewarding` are the scorers
    that give the reward.
    """
    templates = list(_templates(benchmark.spec))
    if not templates:
        return
    generated, by_model = benchmark.spec.answers is not None, benchmark.spec.model is not None
    of_answers = [generated and path[0] == "scorers" for path, _, _ in templates]
    lacking: dict[tuple[int, tuple[str, ...]], tuple[int, str]] = {}
    total, first, last = 0, None, None
    columns = dict[str, None]()
    for row in rows:
        if row.item is last:  # another sample
            continue
        last, total, first = row.item, total + 1, first or row
        columns.update(dict.fromkeys(row.item))
        for number, (_, _, names) in enumerate(templates):
            for name in names:
                answered = name[0] == "sample" and (not by_model or name[-1] in _OF_ANSWERS)
                if of_answers[number] and (answered or name[-1] == "response"):
                    continue
                of_row = row.sample_data if name[0] == "sample" else row.item
                if name not in (("item",), ("sample",)) and name[-1] not in of_row:
                    count, where = lacking.get((number, name), (0, row.where))
                    lacking[number, name] = count + 1, where
    allowed = _allowed(benchmark)
    for (number, name), (count, where) in lacking.items():
        path, what = templates[number][0], name[-1]
        if count == total:
            guess = did_you_mean(what, columns, what="the row's columns")
            message = f"no row has {what!r}, which this template needs; {guess}"
            if name[0] == "sample":
                guess = did_you_mean(what, _OF_ANSWERS, what="an answer has")
                message = f"sample has no {what!r}, which this template needs; {guess}"
            yield located(benchmark, path, message)
        elif count / total > allowed and (path[0] != "scorers" or path[1] in rewarding):
            message = f"{of_many(count, total, 'row', 'has')} no {what!r}, which this template "
            message += (
                f"needs, such as {where}: complete them, or allow it: `expect: {{max_missing: 2%}}`"
            )
            yield located(benchmark, path, message)
    if first is not None and not lacking:
        from pytest_evalmetrics.expressions import compile_value  # noqa: PLC0415 - of the extra

        for (path, text, _), of_answer in zip(templates, of_answers, strict=True):
            if of_answer or (path[0] == "scorers" and "scores" in text):  # an llm-judge fills it in
                continue
            try:
                compile_value(text)(first.context)
            except RowError as error:
                message = f"{error.message} (the first row, {first.where})"
                yield located(benchmark, path, message)


def _allowed(benchmark: Benchmark) -> float:
    """Return the share of rollouts that may lack a reward."""
    expect = benchmark.spec.expect
    meaning, share = gates.missing_policy(expect)
    if meaning == "error":
        return 0.0
    return 1.0 if isinstance(meaning, float) and expect.max_missing is None else share


def _templates(spec: BenchmarkSpec) -> Iterator[tuple[Path, str, frozenset[tuple[str, ...]]]]:
    """Yield each template: where it is written, its text, and the names that it needs."""
    keys = ("prompt_template", "tools", "response_format", "scorers")
    for path, text in _walk({key: getattr(spec, key) for key in keys}, ()):
        if "{{" in text or "{%" in text:
            judges = {("scores",)} if path[0] == "scorers" else set()  # which an llm-judge fills in
            yield path, text, _needed(text) - judges


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts within a value, but those that can't be templates."""
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, str):
        yield path, value
    elif is_dataclass(value):
        inside = ((each.name, getattr(value, each.name)) for each in fields(value))
    elif isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list | tuple):
        inside = enumerate(value)
    for key, item in inside:
        if key not in _NO_TEMPLATES or not is_dataclass(value):
            yield from _walk(item, (*path, key))


def _needed(text: str) -> frozenset[tuple[str, ...]]:  # noqa: C901 - a kind of node each
    """Return the names that a template needs whatever a row holds: ``item.answer``, ``question``.

    What stands behind a condition, in a loop or before ``default`` need not be there.
    """
    with suppress(ImportError):  # of the extra: reported with the way out where it is made
        from jinja2 import Environment, nodes  # noqa: PLC0415 - of the extra
        from jinja2.exceptions import TemplateError  # noqa: PLC0415 - the same

        needed = set[tuple[str, ...]]()

        def visit(node: nodes.Node) -> None:
            always: Iterable[nodes.Node] = node.iter_child_nodes()
            if isinstance(node, nodes.If | nodes.CondExpr):
                always = (node.test,)
            elif isinstance(node, nodes.And | nodes.Or):
                always = (node.left,)
            elif isinstance(node, nodes.For):
                always = (node.iter,)
            elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
                always = (node.node.node, *node.args, *node.kwargs)  # of a method
            elif isinstance(node, nodes.Test | nodes.Macro) or (
                isinstance(node, nodes.Filter) and node.name in ("default", "d")
            ):
                always = ()
            if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(
                node.node, nodes.Name
            ):
                of = node.node.name
                key: Any = getattr(node, "attr", None) or getattr(node.arg, "value", None)  # type: ignore[union-attr]
                named = of in ("item", "sample") and isinstance(key, str)
                needed.add((of, key) if named else (of,))
            elif isinstance(node, nodes.Name):
                needed.add((node.name,))
            else:
                for child in always:
                    visit(child)

        environment = Environment()  # noqa: S701 - it renders nothing
        try:
            parsed = environment.parse(text)
        except TemplateError:  # reported when the file was read
            return frozenset()
        visit(parsed)
        defined = {n.name for n in parsed.find_all(nodes.Name) if n.ctx == "store"}
        defined |= {n.name for n in parsed.find_all(nodes.Macro)} | {*environment.globals, "self"}
        return frozenset(name for name in needed if name[0] not in defined)
    return frozenset()


# -- problems --------------------------------------------------------------------------------


def located(benchmark: Benchmark, path: Path, message: str) -> Problem:
    """Make the problem of a key of a benchmark."""
    from pytest_evalmetrics.config import show_path  # noqa: PLC0415 - errors only

    return Problem(benchmark.line_of(*path), show_path((*benchmark.path, *path)), message)


def _problem(benchmark: Benchmark, path: Path, error: EvalMetricsError) -> Problem:
    message = f"{error.where}: {error.message}" if error.file else error.message
    if error.hint and "did you mean" not in message:
        message += f"; {error.hint}"
    problem = located(benchmark, path, message)
    own = error.line is not None and not error.file
    return Problem(error.line or 1, problem.path, message) if own else problem
