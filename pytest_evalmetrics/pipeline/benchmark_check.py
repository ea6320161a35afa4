"""All that is wrong with a benchmark, as a linter reports it; nothing here makes calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_evalmetrics import depends, errors
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.preflight import (
    count_problems,
    located,
    metric_problems,
    metric_texts,
    problem_at,
    unknown_metrics,
)
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of
from pytest_evalmetrics.pipeline.template_trials import texts_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.errors import Problem
    from pytest_evalmetrics.spec import Benchmark

    Path = tuple[str | int, ...]

_URL = re.compile(r"[a-z][a-z0-9+.-]+://")
_PLACEHOLDER = re.compile(
    r"<.*>|\.\.\.|(your|my)[-_ ]model([-_ ]name)?|todo|xxx+|changeme", re.IGNORECASE
)


def all_problems(
    benchmark: Benchmark, *, hooked: bool, replays: bool
) -> Iterator[Problem]:
    """Find all that is wrong with a benchmark; where it `replays` no key is needed."""
    unknown = list(unknown_metrics(benchmark, hooked=hooked, imports=True))
    yield from unknown
    benchmark = _without(benchmark, {problem.path for problem in unknown})
    spec = benchmark.spec
    yield from _unmatched_globs(benchmark)
    yield from _unknown_behaviour(benchmark)
    if spec.runs:
        from pytest_evalmetrics.scoring.door import SecretError  # few benchmarks call

        faults = list(_faults_of_scoring(benchmark, replays=replays))
        for path, error in faults:
            yield problem_at(benchmark, path, error)
        yield from _placeholders(benchmark)
        if not all(isinstance(error, SecretError) for _, error in faults):
            return
    if any(_URL.match(path) for path in spec.rows.path):
        return
    try:
        if spec.runs:
            yield from _problems_of_scoring(benchmark, hooked=hooked)
        else:
            yield from _problems_of_rollouts(benchmark, hooked=hooked)
    except errors.EvalMetricsError as error:
        source = "rollouts" if spec.dataset is None else "dataset"
        key = error.key if isinstance(error, errors.ShapeError) else ()
        yield problem_at(benchmark, (source, *key), error)


def _problems_of_rollouts(benchmark: Benchmark, *, hooked: bool) -> Iterator[Problem]:
    """Find what recorded rollouts lack."""
    plan = plan_of(benchmark)
    table = rollouts_of(benchmark, plan)
    yield from metric_problems(benchmark, plan, table, (), hooked=hooked)
    yield from count_problems(benchmark, table, ())


def _problems_of_scoring(benchmark: Benchmark, *, hooked: bool) -> Iterator[Problem]:
    """Find what the rows of scorers, or of a model, lack."""
    from pytest_evalmetrics.pipeline.scoring import Scoring  # loads asyncio

    scoring = Scoring(benchmark, None, "")
    plan = plan_of(scoring.benchmark)
    scoring.choose(plan)
    yield from scoring.problems(plan, hooked=hooked)
    if scoring.chosen.partial or scoring.chosen.frame is not None:
        return
    names: list[str] = []
    for scorer in scoring.scorers:
        names.extend(scorer.scores)
    yield from count_problems(scoring.benchmark, scoring.chosen.table, tuple(names))


def _placeholders(benchmark: Benchmark) -> Iterator[Problem]:
    """Find names of models that are those of a template."""
    spec = benchmark.spec
    for path, value in texts_below({"model": spec.model, "scorers": spec.scorers}, ()):
        of_model = path[-2:-1] in (("model",), ("judge_model",))
        of_judges = path[-3:-2] == ("judges",)
        is_name = path[-1] == "name" and (of_model or of_judges)
        if is_name and _PLACEHOLDER.fullmatch(value):
            placeholder = f"{value!r} is a placeholder"
            way_out = "write the name of a model that the url serves"
            yield located(benchmark, path, f"{placeholder}: {way_out}")


def _unknown_behaviour(benchmark: Benchmark) -> Iterator[Problem]:
    if benchmark.spec.behaviour is None:
        return
    from pytest_evalmetrics.pipeline.behaving import means_of  # only if asked for

    try:
        means_of(benchmark, benchmark.spec.behaviour)
    except errors.EvalMetricsError as error:
        yield problem_at(benchmark, ("behaviour",), error)


def _unmatched_globs(benchmark: Benchmark) -> Iterator[Problem]:
    """Find globs of ``depends:`` without a file; where rows are answered that is a fault anyway."""
    spec = benchmark.spec
    if spec.answers is None:
        for pattern in depends.unmatched(spec.depends, benchmark.file.parent):
            place = ("depends", spec.depends.index(pattern))
            yield located(benchmark, place, f"no file matches {pattern!r}")


def _without(benchmark: Benchmark, paths: set[str]) -> Benchmark:
    """Take unknown metrics out of a benchmark, so that the rest of it can be checked."""
    spec = benchmark.spec
    bad = {
        text
        for path, text in metric_texts(spec)
        if located(benchmark, path, "").path in paths
    }
    if not bad:
        return benchmark
    listed = spec.listing(
        "mean_reward" if text in bad else text for text in spec.metrics
    )
    thresholds = {text: t for text, t in spec.thresholds.items() if text not in bad}
    return benchmark.but(
        metrics=listed, key_metrics=None, thresholds=thresholds, baseline=None
    )


def _faults_of_scoring(
    benchmark: Benchmark, *, replays: bool
) -> Iterator[tuple[Path, errors.EvalMetricsError]]:
    """Create each scorer and the generator on its own, and yield their errors."""
    # few benchmarks have any
    from pytest_evalmetrics.scoring.door import Terms, make_generator, make_scorers

    spec = benchmark.spec
    terms = Terms(replays=replays)
    if not spec.model:
        terms = Terms(replays=replays, judging=spec.params)
    for at, scorer in enumerate(spec.scorers):
        try:
            make_scorers([scorer], terms, lambda *_: 0)
        except errors.EvalMetricsError as error:
            error.line = error.line or None
            yield ("scorers", at), error
    try:
        folder = benchmark.file.parent
        make_generator(spec, terms, lambda *_: 0, folder)
    except errors.EvalMetricsError as error:
        error.line = error.line or None
        key = "target" if spec.model is None else "model"
        yield (key,), error
