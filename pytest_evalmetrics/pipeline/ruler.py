"""The ruler: what measures a benchmark, as a fingerprint that its baseline keeps.

A number is compared only with one that was measured alike. What is measured may differ. Two things
show what a judge's scores are worth: people's labels, and a pinned reference that reveals drift.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass, replace
from hashlib import blake2b
from itertools import chain, count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from pytest_evalmetrics import gates, metrics, results, rollouts, stats
from pytest_evalmetrics.data import RolloutTable, Row
from pytest_evalmetrics.errors import DataError, EvalMetricsError, did_you_mean
from pytest_evalmetrics.layout import listed, many, of_many, shown
from pytest_evalmetrics.registry import is_ours, scorers, source_hash
from pytest_evalmetrics.spec.metric_names import JUDGE_METRICS, OVER_REFERENCE, PPI_MEAN, REFERENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.pipeline.benchmark_rows import ScorerInput
    from pytest_evalmetrics.pipeline.regressions import Reference
    from pytest_evalmetrics.pipeline.scoring import Board
    from pytest_evalmetrics.scorers import BoundScorer
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec
    from pytest_evalmetrics.spec.benchmark import ReferenceSpec
    from pytest_evalmetrics.spec.model_keys import LabelsSpec

    Fingerprint = Mapping[str, Mapping[str, Any]]
    ScoreRows = Callable[[Sequence[ScorerInput], Sequence[BoundScorer]], Board]
    Labels = dict[tuple[str, str, int], float]  # of a rollout: its agent, task and sample

_FIRST = 20  # disagreements that the report holds
_SAME = 1e-9
_FEWEST = 30  # labelled tasks of an interval that can be relied on
_LONGEST = 60  # characters of a value that is written out
_BEGINNING = 32  # of one that is not
_REWARD, _SCORER, _METRIC, _TOOL = "reward", "scorer ", "metric ", "tool "
_OF_TASKS = f"{_TOOL}lm_eval task "
_HOOK = "hook compute_metrics"
# keys of billing, waiting and texts for people don't affect the measurement
_NO_MEASURE = frozenset(
    {"type", "api_key_secret", "timeout_seconds", "max_retries", "price", "judge_check", "options"}
)
_SECRET = re.compile(
    r"^key$|(api|auth|access|private)[_-]?key|token$|secret|password|authori[sz]ation|credential",
    re.IGNORECASE,
)


# -- the fingerprint ------------------------------------------------------------------------


class RulerChange(msgspec.Struct, frozen=True):
    """One thing that measures otherwise than it did."""

    text: str  # ``judge m1 -> m2 (scorer llm-judge)``
    of: str  # the entry of the fingerprint
    key: str  # the key of that entry
    scores: frozenset[str] = frozenset()  # affected by it; empty if it is no scorer

    @property
    def by_scorer(self) -> bool:
        """Whether scores must be computed again: metrics always are, on both sides."""
        return self.of.startswith(_SCORER)

    @property
    def by_tool(self) -> bool:
        """Whether another tool scored: its scores can't be computed again."""
        return self.of.startswith(_TOOL)

    def touches_reward(self, reward: str) -> bool:
        """Whether the rewards, or the threshold at which they pass, depend on it."""
        return not self.of.startswith((_METRIC, _HOOK)) and (
            not self.scores or reward in self.scores
        )

    def touches(self, estimate: results.Estimate, target: Any, *, reward: str) -> bool:
        """Whether a metric depends on it; `target` computes the metric, None if a hook does."""
        if self.of.startswith(_METRIC):
            return self.of == f"{_METRIC}{estimate.name}"
        if self.of == _HOOK:
            return target is None
        if self.of == _REWARD and self.key != "score":
            return target is None or getattr(target, "options", None) is not None
        score = estimate.score
        return not score or score in (self.scores or {reward})


def ruler_of(
    spec: BenchmarkSpec,
    plan: metrics.Plan,
    bound: Sequence[BoundScorer],
    tools: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    hook: str,
    hide: Callable[[str], str],
) -> dict[str, dict[str, Any]]:
    """Describe what measures a benchmark: readable settings, without defaults and secrets."""
    reward = {"score": spec.reward, "pass_threshold": spec.pass_threshold}
    ruler: dict[str, dict[str, Any]] = {_REWARD: {**reward, "pass_estimator": spec.pass_estimator}}
    for asked, scorer in zip(spec.scorers, bound, strict=True):
        written = getattr(asked, "function", None) or scorer.type
        label = f"{_SCORER}{written}"
        numbered = (f"{label} {number}" for number in count(2))
        name = next(name for name in chain([label], numbered) if name not in ruler)
        ruler[name] = {"scores": sorted(scorer.scores), **_of_scorer(asked, scorer, written, hide)}
    for text in spec.gated:
        with suppress(EvalMetricsError):  # of a hook
            metric = plan.names.bind(text)
            if text in spec.defined:
                ruler[f"{_METRIC}{metric}"] = spec.defined[text].written()
            elif not is_ours(metric.target) and (source := source_hash(metric.target)):
                ruler[f"{_METRIC}{metric}"] = {"source": source}
    if hook:
        ruler[_HOOK] = {"source": hook}
    if spec.reference is not None and spec.reference.model is not None:
        settings = {k: _shown(v, hide) for k, v in _flat("", spec.reference.model)}
        ruler[f"{_TOOL}reference"] = {"scores": [REFERENCE, OVER_REFERENCE], **settings}
    for name, entry in tools.items():
        ruler[f"{_TOOL}{name}"] = {
            key: list(values) if key == "scores" else _shown(", ".join(values), hide)
            for key, values in entry.items()
            if not any(map(_SECRET.search, key.split()))
        }
    return ruler


def under_test_of(spec: BenchmarkSpec, hide: Callable[[str], str]) -> dict[str, Any]:
    """Describe what is measured, as far as a benchmark file says it; empty of recorded rollouts."""
    settings: dict[str, Any] = {}
    if spec.model is not None:
        settings["model"] = spec.model.name
        own = _settings(spec.model, "url", "name", "format")
        settings |= dict(_flat("", {**own.pop("inference", {}), **own}))
        settings |= dict(_flat("", spec.params.inference))
        if spec.params.system_prompt is not None:
            settings.setdefault("system_prompt", spec.params.system_prompt)
    if spec.target is not None:
        settings |= dict(_flat("target", spec.target))
    for key in ("prompt_template", "tools", "response_format"):
        if (value := getattr(spec, key)) is not None:
            settings[key] = value
    return {key: _shown(value, hide) for key, value in settings.items()}


def ruler_changes(before: Fingerprint, now: Fingerprint) -> tuple[RulerChange, ...]:
    """List what measures otherwise than it did, in the order of the fingerprints."""
    gone = {name: entry for name, entry in before.items() if name not in now}
    changes: list[RulerChange] = []
    for name, entry in now.items():
        kind, scores = _kind(name), _scores(entry)
        where = "" if name == _REWARD else f" ({name})"
        if (was := before.get(name)) is not None:
            changes += [
                RulerChange(f"{text}{where}", name, key, scores | _scores(was))
                for key, text in differences(was, entry)
                if key != "scores" or not name.startswith(_TOOL)
            ]
        elif not name.startswith(_OF_TASKS):  # the list of tasks shows these
            alike = (n for n in gone if _kind(n) == kind and scores & _scores(gone[n]))
            old = "none"
            if (replaced := next(alike, None)) is not None:
                old = replaced.removeprefix(kind)
                scores |= _scores(gone.pop(replaced))
            text = f"{kind}{old} -> {name.removeprefix(kind)}"
            changes.append(RulerChange(text, name, "", scores))
    changes += [
        RulerChange(f"{name} -> none", name, "", _scores(entry))
        for name, entry in gone.items()
        if not name.startswith(_OF_TASKS)
    ]
    return tuple(changes)


def _scores(entry: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(entry.get("scores", ()))


def changed_gates(
    before: Mapping[str, Any], now: Mapping[str, Any], reference: Reference
) -> Iterator[str]:
    """Describe how the thresholds differ, and which metrics are no longer gated."""
    old, new = before.get("thresholds", {}), now["thresholds"]
    for name in dict.fromkeys((*old, *new)) if before else ():
        if old.get(name) != new.get(name):
            was, is_ = old.get(name, "none"), new.get(name, "none")
            yield f"threshold {name} was {was}, and is {is_} now"
    for name in before.get("metrics", ()):
        if name not in now["metrics"]:
            values = [of[name] for of in reference.values.values() if name in of]
            was = f" (it was {', '.join(f'{value:.4g}' for value in values)})" if values else ""
            yield f"metric {name} is in {reference.where}, and is no longer gated{was}"


def _kind(name: str) -> str:
    return next((kind for kind in (_SCORER, _METRIC, _TOOL) if name.startswith(kind)), "")


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key whose value differs, and how: ``temperature 0 -> 0.7``."""
    for key in dict.fromkeys((*now, *before)):
        if before.get(key) != now.get(key):
            old, new = (_text(side.get(key, "none")) for side in (before, now))
            yield key, f"{key} {old} -> {new}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _of_scorer(
    asked: Any, scorer: BoundScorer, written: str, hide: Callable[[str], str]
) -> dict[str, Any]:
    entry: dict[str, Any] = {} if written == scorer.type else {"type": scorer.type}
    target = scorers.find(written).target
    if not is_ours(target) and (source := source_hash(target)):
        entry["source"] = source
    described = ("model", "judge_model", "judges", "scores")  # below, unless it is a text
    but = [key for key in described if not isinstance(getattr(asked, key, None), str)]
    entry |= dict(_flat("", _settings(asked, *but)))
    entry |= dict(_flat("", getattr(asked, "options", {})))
    for score in getattr(asked, "scores", None) or ():
        if is_dataclass(score):
            entry |= dict(_flat(f"score {getattr(score, 'name', '')}", score))
    for number, judge in enumerate(scorer.judges, start=1):
        name, model = "judge" if len(scorer.judges) == 1 else f"judge {number}", judge.model
        entry[name] = model.name
        more = {"system_prompt": model.system_prompt, "end_token": model.end_token}
        for key, value in (*judge.versions.items(), *model.inference.items(), *more.items()):
            if value is not None:
                entry[f"{name} {key}"] = value
    return {key: _shown(value, hide) for key, value in entry.items()}


def _settings(value: Any, *but: str) -> dict[str, Any]:
    """Return the fields of a specification that differ from their defaults."""
    settings = {}
    for each in fields(value):
        given = getattr(value, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if each.name not in (*_NO_MEASURE, *but) and given != default:
            settings[each.name] = given
    return settings


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Take nested settings apart: ``parser json_path`` -> ``$.score``."""
    if is_dataclass(value) and not isinstance(value, type):
        value = _settings(value)
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        if _SECRET.search(str(key)):
            continue
        path = f"{name} {key}".strip()
        if key == "url" and isinstance(inner, str):  # on this machine any port will do
            parts = urlsplit(inner)
            local = parts.hostname in ("localhost", "127.0.0.1", "::1")
            yield path, parts.path if local else f"{parts.hostname}{parts.path}"
        else:
            yield from _flat(path, inner)


def _shown(value: Any, hide: Callable[[str], str]) -> Any:
    """Write a value for people: a long one as its beginning and a digest."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_dataclass(value) or isinstance(value, Mapping | list | tuple):
        value = msgspec.json.encode(value, order="sorted", enc_hook=repr).decode()
    text = hide(str(value))
    if len(text) <= _LONGEST and text.isprintable():
        return text
    digest = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
    return f"{' '.join(text[:_BEGINNING].split())}... ({digest})"


# -- judge_check: a judge's scores against people's labels -----------------------------------


class _LabelledRows(msgspec.Struct, frozen=True):
    """Rows with a person's label, for a score of one scorer."""

    scorer: BoundScorer
    score: str
    rows: list[ScorerInput]
    labels: NDArray[np.float64]

    def check(self, scored: Board) -> results.JudgeCheck:
        n, failed = len(self.rows), scored.failed
        if failed:
            (first,) = failed[min(failed)].values()
            reason = f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
            reason += f"{first.row}: {first.reason}"
            return results.JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        scores, labels = scored.columns[self.score], self.labels
        scores = np.where(np.abs(scores - labels) <= _SAME, labels, scores)
        kappas = stats.cohen_kappa(scores, labels), stats.cohen_kappa(scores, labels, "quadratic")
        plain, weighted = (None if math.isnan(kappa) else kappa for kappa in kappas)
        alike = "all scores and labels are the same" if plain is None else ""
        disagreements = tuple(
            results.Disagreement(self.rows[i][0].where, float(scores[i]), float(labels[i]))
            for i in np.flatnonzero(scores != labels)[:_FIRST].tolist()
        )
        accuracy = float((scores == labels).mean())
        return results.JudgeCheck(self.score, n, 0, accuracy, plain, weighted, alike, disagreements)


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
                    line=self._benchmark.line_of("thresholds", name),
                    hint="write judge_check: {rows: labels.jsonl, label: human} under the scorer",
                )

    def check(self, score: ScoreRows) -> tuple[dict[str, Any], list[results.Check], list[str]]:
        """Check the judges against their thresholds; return a result's fields, checks and notes."""
        checks = tuple(each.check(score(each.rows, [each.scorer])) for each in self._labelled)
        by_score = {check.score: check for check in checks}
        gated = []
        for name, threshold in self._gates.items():
            metric, _, of = name.partition("/")
            line, check = self._benchmark.line_of("thresholds", name), by_score[of]
            value = getattr(check, metric.removeprefix("judge_"))
            interval, reason = None, "none is computed for kappa"
            if value is None:
                value, reason = math.nan, check.reason
            elif metric == "judge_accuracy":
                bounds = stats.wilson(round(value * check.rows), check.rows, threshold.level)
                interval = results.Interval(*bounds, threshold.level, "wilson")
                reason = ""
            estimate = results.Estimate(name, value, check.rows, check.rows, interval, reason)
            gated.append(gates.check_threshold(estimate, threshold, "", line, interval))
        uses = tuple(
            results.JudgeUse(
                scorer.type,
                scorer.scores,
                judge.model.name,
                {**judge.versions, **({"prompt": judge.prompt} if judge.prompt else {})},
                **judge.model.spending.as_dict(judge.model.price),
            )
            for scorer in self._scorers
            for judge in scorer.judges
        )
        notes = []
        for check in checks:
            words = check.reason
            if check.accuracy is not None:
                agreed = f"{round(check.accuracy * check.rows)} of {check.rows} labelled rows"
                kappa = check.reason if check.kappa is None else f"kappa {check.kappa:.4g}"
                words = f"{check.score} is what people say in {agreed} ({kappa})"
            notes.append(f"judge check: {words}")
        return {"judges": uses, "judge_checks": checks}, gated, notes


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
    meaning: Mapping[Any, float] = dict(about.labels) if about is not None else {}
    expected = f"a number or one of {', '.join(meaning)}" if meaning else "a number"
    rows: list[ScorerInput] = []
    labels = []
    for at, (where, item) in enumerate(rollouts.records(keys.rows, benchmark.file.parent)):
        label = item.get(keys.label)
        if isinstance(label, str):
            label = meaning.get(label, label)
        if not isinstance(label, bool | int | float) or not math.isfinite(label):
            is_not = f"is {shown(label)}, expected {expected}"
            raise DataError(f"judge_check: the label {keys.label!r} {is_not}", file=where)
        labels.append(float(label))
        rows.append((Row(at, "", at, 0, item, item, where), None))
    if not labels:
        raise DataError("judge_check: there are no labelled rows", line=line)
    return _LabelledRows(scorer, score, rows, np.array(labels))


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
        for agent, task, sample, label in zip(*(c.tolist() for c in columns), strict=True)
        if not math.isnan(label)
    }
    if not labels:
        message = f"labels: no row has a number under {keys.label!r}"
        raise DataError(message, line=benchmark.line_of("labels"))
    return labels


def with_corrected_mean(
    result: results.AgentResult, table: RolloutTable, spec: BenchmarkSpec, labels_of: Labels
) -> tuple[results.AgentResult, str]:
    """Add the corrected mean to an agent's numbers; return a note on it too."""
    threshold = spec.thresholds.get(PPI_MEAN)
    level = 0.95 if threshold is None else threshold.level
    rewards = table.scores[spec.reward]
    agents, name = {agent for agent, _, _ in labels_of}, result.agent
    if name not in agents and len(agents) == 1:  # the labels name no agent
        (name,) = agents
    tasks = [str(task) for task in table.tasks]
    places = zip(table.task.tolist(), table.sample.tolist(), strict=True)
    labels = np.array([labels_of.get((name, tasks[t], sample), math.nan) for t, sample in places])
    scored = ~np.isnan(rewards)
    clusters = table.task if spec.cluster is None else table.categories[spec.cluster].codes
    labels, rewards, units = labels[scored], rewards[scored], clusters[scored]
    has_label = ~np.isnan(labels)
    mean, share = stats.ppi_mean(rewards, labels, units)
    labelled = len(np.unique(units[has_label]))
    value, interval, reason = mean.mean, None, ""
    if labelled < _FEWEST:
        value, reason = math.nan, f"{labelled} labelled tasks are too few: {_FEWEST} are needed"
    note = f"{PPI_MEAN} is undefined: {reason}"
    if not reason and math.isfinite((bounds := stats.t_interval(mean, level)).low):
        interval = results.Interval(bounds.low, bounds.high, level, "ppi++")
        note = f"{PPI_MEAN} is {value:.4g} ({100 * level:.4g} % interval {bounds.low:.4g} to "
        note += f"{bounds.high:.4g}): the judge's {rewards.mean():.4g}, corrected by people's "
        note += f"labels of {many(int(has_label.sum()), 'rollout')}, with a weight of {share:.2g}"
    counts, score = (len(np.unique(table.task)), len(rewards)), spec.reward
    estimate = results.Estimate(PPI_MEAN, value, *counts, interval, reason, score=score)
    return replace(result, estimates={**result.estimates, PPI_MEAN: estimate}), note


# -- reference: a pinned system, measured beside each run ------------------------------------


def pinned_benchmark(benchmark: Benchmark) -> Benchmark | None:
    """Return the benchmark as its reference model answers it; None where there is no model."""
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
    """Add each task's mean reward by the reference to its rollouts, and what is above it."""
    # What shifts both alike, as a judge may, is not in the second score: compared with a
    # baseline, that is a difference of differences.
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
        sums = np.bincount(aligned.task, aligned.scores[spec.reward], len(aligned.tasks))
        means = dict(zip(map(str, aligned.tasks), sums / aligned.counts, strict=True))
        of_task = np.array([means.get(str(task), np.nan) for task in part.tasks])
        if lacking := [str(part.tasks[at]) for at in np.flatnonzero(np.isnan(of_task)).tolist()]:
            have = of_many(len(lacking), len(part.tasks), "task", "has")
            message = f"{have} no reward of the reference: {listed(lacking, 10)}"
            hint = "measure the reference on the tasks of this run"
            raise DataError(message, line=line, hint=hint)
        levels.append(of_task[part.task])
    level = np.concatenate(levels)
    more = {REFERENCE: level, OVER_REFERENCE: table.scores[spec.reward] - level}
    return replace(table, scores={**table.scores, **more})
