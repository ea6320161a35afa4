"""Analysis of several runs: the noise of an unchanged system, and the first worse run."""

from __future__ import annotations

import math
import re
import subprocess
from contextlib import suppress
from dataclasses import replace
from difflib import unified_diff
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import yaml
from msgspec import structs

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.comparison import run_noise
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.errors import DataError, EvalMetricsError, MetricError
from pytest_evalmetrics.gates import Gated
from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.comparison import ComparisonFacts, RuleName, RuleSettings
from pytest_evalmetrics.model.rollout_table import RolloutTable, pool
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Verdict
from pytest_evalmetrics.pipeline.benchmark_rows import with_reward
from pytest_evalmetrics.pipeline.comparing import comparison_input
from pytest_evalmetrics.pipeline.gate_settings import own_rule_of, plan_of, rule_of
from pytest_evalmetrics.pipeline.power import rollouts_for
from pytest_evalmetrics.pipeline.references import reference_of
from pytest_evalmetrics.reports import sentences
from pytest_evalmetrics.spec.sources import Rounds
from pytest_evalmetrics.stats import normal_log_sf, normal_ppf
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.evaluate import Evaluated
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.spec import Benchmark

    Runs = Sequence[RolloutTable]
    Values = dict[tuple[str, ...], str]  # of keys of a benchmark

_POWER = 0.8
_NEAR = 3  # other runs that each run is compared with, one by one
_NAMED = 5  # flaky tasks
_SURE = 0.95  # of the range of runs that holds the first worse one
_SHORT = (40, 12, 10, 8, 7)  # digits of a commit in the name of its artifacts
_HOW = (
    "add each run of the unchanged system to the baseline (--snapshot-update "
    "--evalmetrics-add-run), name their files (baseline: {rollouts: [[run1/*], [run2/*]]}), keep "
    "them in the history (baseline: {history: 10}), or make some now: --evalmetrics-runs 5"
)


def calibrate(
    benchmark: Benchmark,
    *,
    count: int,
    evaluate: Callable[[Benchmark], Evaluated],
    **reading: Any,
) -> tuple[list[str], Values, list[dict[str, object]]]:
    """Describe the noise of a baseline, or of `count` new runs: lines, settings, charts."""
    spec = benchmark.spec
    recorded = {}
    benchmark = with_reward(benchmark)
    plan = plan_of(benchmark)
    if spec.baseline is not None:
        with suppress(*([EvalMetricsError] if count else [])):
            reference = reference_of(benchmark, plan, **reading)
            recorded = {} if reference is None else {**reference.runs}
    today = max(map(len, recorded.values()), default=1)  # runs in the baseline
    several = _made_now(benchmark, count, evaluate) if count and spec.runs else recorded
    if min(map(len, several.values()), default=0) < 2:  # one shows no noise
        raise DataError(
            "two runs of the unchanged system are needed, better ten", hint=_HOW
        )
    proposed: Values = {}
    lines = list[str]()
    charts = list[dict[str, object]]()
    for agent, runs in several.items():
        shown = agent if len(several) > 1 else ""
        lines += [f"agent {agent}"] if shown else []
        lines += _flaky_tasks(benchmark, runs)
        m = len(runs)
        judge = _judge_noise(benchmark, runs)
        alone = [
            _checks(benchmark, plan, run, [runs[(at + step) % m]])
            for step in range(1, min(_NEAR + 1, m))
            for at, run in enumerate(runs)
        ]
        others = [
            _checks(benchmark, plan, run, [*runs[:at], *runs[at + 1 :]])
            for at, run in enumerate(runs[: m if m > 2 else 0])  # the same if two
        ]
        for text in alone[0]:
            failed = [
                f"{sum(each[text].verdict is Verdict.FAIL for each in checks)} of {len(checks)}"
                for checks in (alone, others)
            ]
            facts = [_facts(checks[text]) for checks in alone]
            # of the difference of two runs
            errors = [compared.se for compared in facts if compared.se is not None]
            if len(errors) < len(facts):
                lines.append(
                    f"{text}: no mean over tasks, so that its noise can't be told apart"
                )
                continue
            values = tuple(float(compared.current or 0.0) for compared in facts[:m])
            of_one_run = math.sqrt(float(np.mean(np.square(errors))) / 2)
            noise = Noise(
                values,
                of_one_run,
                pooled=today > 1 and plan.names.bind(text).unbiased,
                is_rate=declarations.may_be_rate(benchmark.spec, text)
                and all(0 <= value <= 1 for value in values),
            )
            of_score = (
                judge if text in benchmark.spec.metrics and "/" not in text else 0.0
            )
            lines += _described(benchmark, text, noise, failed, of_score)
            half = -normal_ppf(0.025) * of_one_run  # of the interval over tasks alone
            ends = {
                "lows": [v - half for v in values],
                "highs": [v + half for v in values],
            }
            charts.append({"agent": shown, "metric": text, "values": values, **ends})
            k = int(np.median(runs[0].counts))
            for key, value, why in _proposals(benchmark, text, noise, k):
                lines.append(f"  {why}")
                if key[-1:] == (
                    "max_drop",
                ):  # of several metrics the one that needs most
                    value = max(value, proposed.get(key, "0"), key=float)  # noqa: PLW2901
                if key:
                    proposed[key] = value
    return lines, proposed, charts


# -- the runs --------------------------------------------------------------------------------


def _made_now(
    benchmark: Benchmark, count: int, evaluate: Callable[[Benchmark], Evaluated]
) -> dict[str, Runs]:
    """Make runs: a model's one after the other, of recorded answers judgements of each row."""
    spec = benchmark.spec
    answered = spec.answers is not None
    k = (
        spec.num_samples.most
        if isinstance(spec.num_samples, Rounds)
        else spec.num_samples or 1
    )
    given: tuple[Any, ...] = spec.scorers
    scorers = tuple(
        replace(s, judge_repeats=max(s.judge_repeats, 2 if answered else count))
        if hasattr(s, "judge_repeats") and not getattr(s, "judges", None)
        else s
        for s in given
    )
    if not answered and all(getattr(s, "judge_repeats", 1) < count for s in scorers):
        raise DataError(
            "nothing of it varies: there is no model, and no judge that repeats"
        )
    expect = replace(spec.expect, rollouts=None) if answered else spec.expect
    first = count if spec.forgets else 1  # else the journal answers the runs before
    for run in range(first, count + 1) if answered else (1,):
        samples = k * run if answered else spec.num_samples
        evaluated = evaluate(
            benchmark.but(scorers=scorers, expect=expect, num_samples=samples)
        )
        rows = evaluated.row_scores
        if evaluated.baseline is None or rows is None:
            failed = (
                sentences.reason_of(check)
                for check in evaluated.result.checks
                if check.verdict.fails
            )
            reason = next(failed, "rows are left out on purpose")
            raise DataError(f"run {run} of {count} is not complete: {reason}")
    reward = benchmark.spec.reward

    def run_of(part: RolloutTable, run: int) -> RolloutTable:
        if answered:
            return part.where(part.sample // k == run)
        return structs.replace(
            part, scores={**part.scores, reward: part.scores[f"{reward}@{run + 1}"]}
        )

    parts = () if rows is None else rows.table.by_agent()
    return {agent: [run_of(part, run) for run in range(count)] for agent, part in parts}


def _judge_noise(benchmark: Benchmark, runs: Runs) -> float:
    """Return a judge's share in the noise of one run, by its repeats; 0 where it has none."""
    scores = runs[0].scores
    reward = benchmark.spec.reward
    repeats = [
        scores[name]
        for name in scores
        if re.fullmatch(rf"{re.escape(reward)}@\d+", name)
    ]
    if len(repeats) < 2:  # no spread
        return 0.0
    each = (
        benchmark.spec.answers is not None
    )  # otherwise a run is one of the judgements
    variance = float(np.nanmean(np.var(repeats, axis=0, ddof=1))) / (
        len(repeats) if each else 1
    )
    return math.sqrt(variance / max(len(runs[0]), 1))


def _flaky_tasks(benchmark: Benchmark, runs: Runs) -> Iterator[str]:
    table = pool(runs)
    spec = benchmark.spec
    rewards = table.scores.get(spec.reward, np.empty(0))
    passed = reaches(rewards, spec.pass_threshold)
    if not len(passed):
        return
    sums = np.bincount(table.task, passed, len(table.tasks)).astype(int)
    rest = np.minimum(sums, table.counts - sums)
    order = np.argsort(-rest / table.counts, kind="stable")[: int((rest > 0).sum())]
    named = [f"{table.tasks[at]} ({sums[at]} of {table.counts[at]})" for at in order]
    have = of_many(len(order), len(table.tasks), "task", "has")
    text = f"flaky: {have} rollouts that pass and rollouts that fail"
    yield f"{text}: {listed(named, _NAMED)}" if named else text


def _facts(check: Check) -> ComparisonFacts:
    """Return what a check of the baseline gate compared."""
    if check.comparison is None:
        raise ValueError("a check of the baseline gate has a comparison")
    return check.comparison


def _checks(
    benchmark: Benchmark, plan: metrics.Plan, run: RolloutTable, others: Runs
) -> dict[str, Check]:
    """Hold a run against other runs, by the gate and its settings as they are."""
    pooled, *each = (
        metrics.Pairing(plan, run, metrics.align(run, other)[0], run.counts)
        for other in (pool(others), *others)
    )
    gated: dict[str, Gated] = {}
    for text in dict.fromkeys((*benchmark.spec.gated, *benchmark.spec.thresholds)):
        with suppress(MetricError):  # of a hook, or of a judge
            metric = plan.names.bind(text)
            pairing = pooled if metric.unbiased else each[-1]
            gated[text] = Gated(
                compared=comparison_input(benchmark, text, pairing, each),
                own=own_rule_of(benchmark, text),
            )
    checks = gates.check_regression(
        list(gated.values()),
        min_coverage=0,
        acceptance=Acceptance.SNAPSHOT,
        benchmarks=1,
        look=None,
    )
    return dict(zip(gated, checks, strict=True))


# -- the noise -------------------------------------------------------------------------------


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


class Noise(msgspec.Struct, frozen=True):
    """The variation of one metric between runs of an unchanged system."""

    values: tuple[float, ...]  # of each run
    tasks: float  # standard error of one run's value, by its tasks' rollouts
    pooled: bool = (
        False  # a further run is held against the mean of all runs, else against one
    )
    is_rate: bool = False

    @property
    def runs(self) -> float:
        """The standard deviation between runs, beyond what tasks explain."""
        return structs.replace(self, pooled=False).against(1.0).sd

    @property
    def further(self) -> float:
        """The variance of a drop, as a multiple of that of one run's value."""
        return 1 + (1 / len(self.values) if self.pooled else 1)

    def against(self, drop: float, level: float = 0.95) -> run_noise.RunNoise:
        """Hold a drop against the noise."""
        se = self.tasks * math.sqrt(self.further)
        log_p = 0.0 if drop <= 0 else -math.inf
        if se:
            log_p = normal_log_sf(drop / se)
        runs = run_noise.Runs(self.values, self.pooled, 1.0, is_rate=self.is_rate)
        return run_noise.with_run_noise(
            runs, drop=drop, log_p=log_p, se=se, alpha=0.01, level=level
        )

    def chance(self, drop: float) -> float:
        """Return the chance that a further run is that much worse, though nothing changed."""
        return 1 - self.chance(-drop) if drop < 0 else self.against(drop).p

    def drop(self, chance: float) -> float:
        """Return by how much a further run is worse with a chance."""
        noise = self.against(1.0, level=1 - 2 * chance)
        plain = -normal_ppf(chance) * math.sqrt(
            self.further * (self.tasks**2 + noise.sd**2)
        )
        return plain if math.isnan(noise.half) else noise.half

    def alarms(self, rule: RuleSettings) -> float:
        """Return the chance that a rule fails a further run, though nothing changed."""
        if not rule.tests:
            allowed = rule.allowed(float(np.mean(self.values)))
            return self.chance(rule.max_drop if allowed is None else allowed)
        by_tasks = -normal_ppf(rule.alpha) * self.tasks * math.sqrt(2)
        tested = self.drop(rule.alpha) if self.pooled else by_tasks
        return self.chance(
            max(tested, rule.max_drop if rule.rule is RuleName.PRACTICAL else 0.0)
        )


def _described(
    benchmark: Benchmark, text: str, noise: Noise, failed: Sequence[str], judge: float
) -> Iterator[str]:
    rule = rule_of(benchmark, text, bounded=True)
    values = noise.values
    m = len(noise.values)
    yield f"{text}: {np.mean(values):.4g}, {min(values):.4g} to {max(values):.4g} in {m} runs"
    which = "between runs" if noise.runs > noise.tasks else "of rollouts"
    which = (
        "of the judge" if judge**2 > max(noise.tasks**2 / 2, noise.runs**2) else which
    )
    sds = f"rollouts {noise.tasks:.2g}, runs {noise.runs:.2g}"
    sds += f", the judge {judge:.2g}" if judge else ""
    yield f"  standard deviations of a run's value: {sds}; the noise {which} dominates"
    one, rest = (
        f"{_percent(structs.replace(noise, pooled=pooled).alarms(rule))} expected, and {fails}"
        for pooled, fails in zip((False, True), failed, strict=True)
    )
    alarms = f"false alarms of '{sentences.rule_text(rule)}' against one run"
    yield f"  {alarms}: {one} comparisons of these runs fail"
    if m > 2:  # the same if two
        yield f"  against all others: {rest} runs fail"


def _proposals(
    benchmark: Benchmark, text: str, noise: Noise, k: int
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield settings, each with its key, or none, its value and the reason."""
    spec = benchmark.spec
    rule = rule_of(benchmark, text, bounded=True)
    drop = rule.max_drop
    if text in spec.gated:
        alarms = noise.alarms(rule)
        if alarms > 1.2 * rule.alpha and noise.runs > 0:
            drop = float(f"{noise.drop(rule.alpha):.3g}")
            key: tuple[str, ...] = ("baseline", "metrics", text, "max_drop")
            key = key if key in benchmark.lines else ("baseline", "max_drop")
            levels = f"{_percent(rule.alpha)} of false alarms, not {_percent(alarms)}"
            why = f"max_drop: {drop:g} gives {levels}"
            # in others it means something else
            if rule.rule not in (RuleName.PRACTICAL, RuleName.ABSOLUTE):
                key = ()
                why = f"rule: practical, {why}"
            yield key, f"{drop:g}", why
        per_drop = -normal_ppf(rule.alpha) + normal_ppf(_POWER)
        allowed = (drop / per_drop) ** 2 / noise.further - noise.runs**2
        needed = rollouts_for(k * noise.tasks**2, allowed)
        seen = f"a drop of {drop:g} with {_percent(_POWER)} power"
        if needed is None and drop > 0:
            yield (
                (),
                "",
                f"no num_samples shows {seen}: compare with more runs, or more tasks",
            )
        elif needed is not None and needed > k:
            key = ("num_samples",) if spec.answers is not None else ()
            yield key, f"{needed}", f"num_samples: {needed} shows {seen}; now {k}"
    threshold = spec.thresholds.get(text)
    if threshold is None or threshold.bound != "point":
        return
    noise = structs.replace(noise, pooled=True)
    mean = float(np.mean(noise.values))
    room = noise.drop(rule.alpha)
    for bound, sign in ((threshold.min, 1), (threshold.max, -1)):
        if bound is not None and sign * (mean - bound) < room:
            new = sign * math.floor(sign * (mean - sign * room) * 1e4) / 1e4
            value = f"{'>=' if sign > 0 else '<='} {new:g}"
            why = f"threshold {value} fails {_percent(rule.alpha)} of such runs, {threshold} "
            why += _percent(noise.chance(sign * (mean - bound)))
            key = ("thresholds", text) if None in (threshold.min, threshold.max) else ()
            yield key, f'"{value}"', why


# -- the patch -------------------------------------------------------------------------------


def patch(benchmarks: Sequence[tuple[Benchmark, Values]], shown: str) -> Iterator[str]:
    """Write settings of the benchmarks of one file as a patch to it."""
    file = benchmarks[0][0].file
    text = old = file.read_text(encoding="utf-8")
    # from the last line to the first, so that lines of keys stay where they are
    edits = [
        (b.line_of(*key), b, key, value)
        for b, of in benchmarks
        for key, value in of.items()
    ]
    for _, benchmark, key, value in sorted(edits, key=lambda edit: -edit[0]):
        edited = _with_value(text.split("\n"), benchmark, key, value)
        with suppress(yaml.YAMLError, LookupError, TypeError):
            place = reduce(
                lambda at, k: at[k], (*benchmark.path, *key), yaml.safe_load(edited)
            )
            text = edited if place == yaml.safe_load(value) else text
    names = f"a/{shown}", f"b/{shown}"
    yield from unified_diff(old.splitlines(), text.splitlines(), *names, lineterm="")


def _with_value(
    lines: list[str], benchmark: Benchmark, key: tuple[str, ...], value: str
) -> str:
    """Write a value into a benchmark file, in the style of its surroundings."""
    depth = max(n for n in range(len(key) + 1) if not n or key[:n] in benchmark.lines)
    at = benchmark.line_of(*(key[:depth] or ("name",))) - 1
    line = lines[at]
    new = f"{key[-1]}: {value}"
    if depth == 0:  # beside the name
        new = new if len(key) == 1 else f"{key[0]}: {{{new}}}"
        lines.insert(at + 1, f"{' ' * line.index('name')}{new}")
        return "\n".join(lines)
    match = re.search(rf"(?<!\w){re.escape(key[depth - 1])}[\"']?\s*:\s*", line)
    if match is None:
        return ""
    head = line[: match.end()]
    rest = line[match.end() :]
    if depth == len(key):
        lines[at] = head + re.sub(r"^(\"[^\"]*\"|'[^']*'|[^,}#\s]+)", value, rest)
    elif rest.startswith("{"):
        comma = "" if rest[1:].lstrip().startswith("}") else ", "
        lines[at] = f"{head}{{{new}{comma}{rest[1:]}"
    elif rest and not rest.startswith("#"):
        lines[at] = f"{head}{{{new}}}"
    else:
        indent = re.match(r"\s*", lines[at + 1])
        lines.insert(at + 1, f"{indent[0] if indent else ''}{new}")
    return "\n".join(lines)


# -- the first worse run ---------------------------------------------------------------------


def first_worse(
    plan: metrics.Plan,
    text: str,
    tables: Runs,
    names: Sequence[str],
    rule: RuleSettings,
) -> tuple[str, float]:
    """Find the run from which on a metric is worse; return that in words, and p of no change.

    A run's value has an error by its tasks' rollouts, the median of what neighbouring runs show,
    and one by noise between runs, with the prior of the gate (see `comparison.run_noise`). The
    likelihood of two levels, averaged over that noise, weighs the places of the change; p is that
    of the likeliest one times their number (Bonferroni).
    """
    values = _task_values(plan, text, tables)
    n, tasks = values.shape
    if tasks < 2:  # no spread
        raise DataError(
            f"{many(tasks, 'task')} in all of these runs: two or more are needed"
        )
    y = values.mean(axis=1) * (
        1 if rule.direction is Direction.LOWER else -1
    )  # more is worse
    spread = np.median(np.diff(values, axis=0).var(axis=1, ddof=1)) / 2 / tasks
    scale = math.sqrt(max(float(spread), 1e-12 / tasks))
    is_rate = bool(((values >= 0) & (values <= 1)).all())
    prior = run_noise.prior_of(scale, is_rate=is_rate)
    variance = scale**2 + prior.sds**2
    drops = np.array([y[at:].mean() - y[:at].mean() for at in range(1, n)])
    rest = np.array([y[:at].var() * at + y[at:].var() * (n - at) for at in range(1, n)])
    log = (
        -(n - 2) / 2 * np.log(variance)
        - rest[:, None] / (2 * variance)
        + np.log(prior.weights)
    )
    weights = np.exp(log - log.max())  # of each place, and each noise
    by_place = np.where(drops > 0, weights.sum(axis=1), 0.0)
    if not by_place.any():
        return "no run is worse than those before it (p = 1)", 1.0
    by_place /= by_place.sum()
    at = int(by_place.argmax())
    first = at + 1  # the likeliest
    errors = np.sqrt(variance * (1 / first + 1 / (n - first)))
    noise = weights[at] / weights[at].sum()
    p = min(1.0, (n - 1) * run_noise.tail_of(float(drops[at]), errors, noise))
    if p >= rule.alpha:
        return f"no run is worse than those before it (p = {p:.2g})", p
    before = values[:first].mean()
    after = values[first:].mean()
    words = (
        f"{names[first]} is the first worse run, {100 * by_place[at]:.3g} % sure: from "
    )
    words += f"{before:.4g} to {after:.4g} over {many(tasks, 'task')} (p = {p:.2g} that nothing "
    words += "changed)"
    low = high = at
    while by_place[low : high + 1].sum() < _SURE:
        left = by_place[low - 1] if low else -1.0
        right = by_place[high + 1] if high + 1 < len(by_place) else -1.0
        low, high = (low - 1, high) if left > right else (low, high + 1)
    if low < high:
        words += (
            f"; {100 * _SURE:g} % sure: one of {names[low + 1]} to {names[high + 1]}"
        )
    return words, p


def _task_values(plan: metrics.Plan, text: str, tables: Runs) -> NDArray[np.float64]:
    """Compute a metric's value of each task that all runs have, shape (runs, tasks)."""
    metric = plan.names.bind(text)
    runs = []
    for table in tables:
        aligned = metrics.align(tables[-1], table)[0]
        rewards = metrics.SampleSource(aligned, plan.spec.reward).sample(metric).rewards
        parts = metric.parts(rewards)
        if parts is None or parts.combine is not None:
            raise DataError(f"{text} is not a mean over tasks: name one with --metric")
        names = [
            str(task)
            for task, held in zip(aligned.tasks, parts.held, strict=True)
            if held
        ]
        runs.append(dict(zip(names, parts.values[parts.held].tolist(), strict=True)))
    common = [task for task in runs[-1] if all(task in run for run in runs)]
    return np.array([[run[task] for task in common] for run in runs], dtype=np.float64)


def runs_of_commits(asked: str) -> tuple[list[str], list[str], list[str]]:
    """Find the artifacts of the commits in ``FROM..TO=PATTERN``: names, paths and notes."""
    span, _, pattern = asked.partition("=")
    first, _, last = span.partition("..")
    if "{commit}" not in pattern:
        raise EvalMetricsError(
            f"{asked}: expected {{commit}} in the pattern of the artifacts"
        )
    commits = _git("rev-parse", f"{first}^{{commit}}")
    commits += _git("rev-list", "--reverse", "--first-parent", f"{first}..{last}")
    runs = []
    for at, commit in enumerate(commits):
        places = (pattern.replace("{commit}", commit[:digits]) for digits in _SHORT)
        path = next((place for place in places if Path(place).exists()), None)
        if path is not None:
            runs.append((at, commit[:7], path))
    notes = [
        f"{many(at - before - 1, 'commit')} without artifacts between {earlier} and {name}"
        for (before, earlier, _), (at, name, _) in pairwise(runs)
        if at - before > 1
    ]
    return [name for _, name, _ in runs], [path for _, _, path in runs], notes


def _git(*args: str) -> list[str]:
    command = ["git", *args]  # the user's own, wherever it is
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - two fixed commands
    if done.returncode:
        raise EvalMetricsError(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.split()
