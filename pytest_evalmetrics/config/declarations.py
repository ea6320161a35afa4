"""What is known of a benchmark's metrics: direction, range and the rollouts they need.

A metric's class states it, a scorer states it of its scores, and files of rollouts may.
Nothing is concluded from the words of a name.
"""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.model.metric_facts import (
    AS_SCORE,
    STATISTIC_FACTS,
    USAGE_SCORES,
    DirectionName,
    MetricFacts,
    Range,
    ScoreFacts,
    facts_of,
    score_range,
)
from pytest_evalmetrics.registry import is_ours
from pytest_evalmetrics.registry import metrics as registered_metrics
from pytest_evalmetrics.spec.gate_keys import GateSpec
from pytest_evalmetrics.spec.metric_names import (
    OVER_REFERENCE,
    MetricName,
    parse,
)
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from pytest_evalmetrics.registry import Found
    from pytest_evalmetrics.spec import BenchmarkSpec

    FactsOf = Callable[[str], MetricFacts | None]

_NONE: Final[Mapping[str, DirectionName]] = MappingProxyType({})
_PLAIN_KEY: Final = re.compile(r"[\w./@^+-]+")


# -- what a metric's class states ----------------------------------------------------------


def declared_facts(spec: BenchmarkSpec, name: MetricName) -> MetricFacts | None:
    """Return what a metric's class states; None if it is not known before a run.

    That is a metric of ``package.module:attribute``, which is not imported to read a
    file, and a number that a hook computes.
    """
    if name.is_statistic:
        return STATISTIC_FACTS[name.metric]
    registered = name.metric
    keys = spec.defined.get(registered)
    if keys is not None:
        if not hasattr(keys, "arguments"):
            return keys.facts
        registered = keys.type
    if ":" in registered:
        return None
    try:
        found = registered_metrics.find(registered)
    except RegistryError:
        return None
    return _registered_facts(found)


def _registered_facts(found: Found) -> MetricFacts:
    target = found.target
    if is_ours(target) and inspect.isclass(target):
        # k is known of the objects of pass@{k} alone
        with suppress(TypeError, ValueError):
            return facts_of(target(**found.numbers))
    return facts_of(target)


def has_interval(spec: BenchmarkSpec, name: MetricName) -> bool:
    """Check whether a metric can have a confidence interval, as far as is known."""
    facts = declared_facts(spec, name)
    return facts is None or facts.has_interval


def counts_passes(spec: BenchmarkSpec, text: str) -> bool:
    """Check whether a metric counts the rollouts whose reward passes."""
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return False
    facts = declared_facts(spec, name)
    return name.score is None and facts is not None and facts.counts_passes


# -- ranges --------------------------------------------------------------------------------


def range_of(spec: BenchmarkSpec, name: MetricName) -> Range:
    """Return the range of a metric, as far as what is read of it determines it."""
    return range_by(spec, name, declared_facts(spec, name))


def range_by(spec: BenchmarkSpec, name: MetricName, facts: MetricFacts | None) -> Range:
    """Return the range of a metric, as its class and the benchmark file state it."""
    if facts is None or facts.limits is None:
        return Range()
    if facts.limits == AS_SCORE:
        return _range_of_score(spec, name.score or spec.reward)
    if name.is_statistic:
        return structs.replace(facts.range(), why="a standard deviation, from 0")
    keys = spec.defined.get(name.metric)
    if keys is None:
        return facts.range()
    return facts.range(named=keys.type)


def _range_of_score(spec: BenchmarkSpec, score: str) -> Range:
    facts = _facts_of_score(spec, score)
    if facts is None:
        spent = score in USAGE_SCORES
        return Range(low=0.0, why="never below 0") if spent else Range()
    fill = spec.expect.missing_reward
    if score != spec.reward or fill is None or isinstance(fill, str):
        return score_range(score, facts)
    # a missing reward counts as this number, which may be outside of the range
    low = None if facts.low is None else min(facts.low, fill)
    high = None if facts.high is None else max(facts.high, fill)
    return score_range(score, structs.replace(facts, low=low, high=high))


def _facts_of_score(spec: BenchmarkSpec, score: str) -> ScoreFacts | None:
    """Return what the scorer of a score states; None if no scorer of the file gives it."""
    for scorer in spec.scorers:
        if score in scorer.score_names:
            return scorer.facts_of(score)
    return None


def may_be_rate(spec: BenchmarkSpec, text: str) -> bool:
    """Check whether a metric all of whose values lie in [0, 1] is taken for a rate.

    Time, tokens and money are none. Neither is a score beside the reward that should be
    low, unless its scorer states the range: seconds may lie in [0, 1] by chance.
    """
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return True
    facts = declared_facts(spec, name)
    if facts is None or facts.limits is None:
        return True
    if facts.limits != AS_SCORE:
        return facts.range().high <= 1
    score = name.score or spec.reward
    of_scorer = _facts_of_score(spec, score)
    if of_scorer is not None and of_scorer.high is not None:
        return of_scorer.high <= 1
    if score == spec.reward:
        return score not in USAGE_SCORES
    gate = None if spec.baseline is None else spec.baseline.gate_of(text)
    is_low = gate is not None and gate.direction == "lower"
    return not is_low and score not in USAGE_SCORES


# -- the rollouts that a metric needs --------------------------------------------------------


class Shortage(msgspec.Struct, frozen=True):
    """A benchmark whose tasks have fewer rollouts than a metric needs.

    Attributes
    ----------
    needed, given
        The rollouts of a task.
    setting
        The key that sets them, as it would be written: ``num_samples: 2``.
    """

    needed: int
    given: int
    setting: str


def shortage_of(spec: BenchmarkSpec, name: MetricName) -> Shortage | None:
    """Return the shortage of rollouts for a metric; None if the file asks for enough."""
    facts = declared_facts(spec, name)
    if facts is None or facts.rollouts <= 1 or spec.pass_estimator == "first_k":  # noqa: S105
        return None
    given, setting = _rollouts_of_a_task(spec)
    if given is None or facts.rollouts <= given:
        return None
    return Shortage(needed=facts.rollouts, given=given, setting=setting)


def _rollouts_of_a_task(spec: BenchmarkSpec) -> tuple[int | None, str]:
    """Return how many rollouts a task has at most, and the key that says so."""
    most = spec.num_samples
    setting = f"num_samples: {most}"
    if isinstance(most, Rounds) and most.least != most:
        most = most.least
        setting = f"num_samples: {{min: {most}}}"
    if spec.answers is not None:
        if most is None:
            return 1, "num_samples, which is 1 by default"
        return most, setting
    expected = spec.expect.rollouts
    if expected is None:
        return most, setting
    if expected == "any":
        return None, ""
    return expected.max, f"expect: {{rollouts: {expected}}}"


# -- which way is better -------------------------------------------------------------------


def direction_of(
    spec: BenchmarkSpec,
    name: MetricName,
    facts: MetricFacts | None,
    directions: Mapping[str, DirectionName] = _NONE,
) -> DirectionName | None:
    """Return which way is better for a metric; None if nothing declares it.

    Parameters
    ----------
    spec
        The benchmark.
    name
        The metric's name.
    facts
        What its class states; None if that is not known.
    directions
        Score -> its direction, as the files of rollouts declare it.
    """
    if facts is None or facts.direction is None:
        return None
    score = name.score or spec.reward
    if score == OVER_REFERENCE and spec.reference is not None:
        score = spec.reward
    of_score = _direction_of_score(spec, score, directions)
    if facts.direction == AS_SCORE:
        return of_score
    # more rollouts that reach a loss are not better
    if facts.counts_passes and _declared_lower(spec, score, directions):
        return None
    return facts.direction


def direction_when_read(spec: BenchmarkSpec, text: str) -> DirectionName | None:
    """Return the direction of a metric as far as the benchmark file alone decides it."""
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return None
    return direction_of(spec, name, declared_facts(spec, name))


def _direction_of_score(
    spec: BenchmarkSpec, score: str, directions: Mapping[str, DirectionName]
) -> DirectionName | None:
    """Return the direction of a score; the reward is maximised, unless its source objects."""
    facts = _facts_of_score(spec, score)
    if facts is not None and facts.direction is not None:
        return facts.direction
    declared = _declared_direction(spec, score, directions)
    if score == spec.reward:
        return None if declared == "lower" else "higher"
    return declared


def _declared_lower(
    spec: BenchmarkSpec, score: str, directions: Mapping[str, DirectionName]
) -> bool:
    facts = _facts_of_score(spec, score)
    if facts is not None:
        return facts.direction == "lower"
    return _declared_direction(spec, score, directions) == "lower"


def _declared_direction(
    spec: BenchmarkSpec, score: str, directions: Mapping[str, DirectionName]
) -> DirectionName | None:
    """Return what the files, or the project's own columns of usage, say of a score."""
    if score in directions:
        return directions[score]
    is_scored = _facts_of_score(spec, score) is not None
    return "lower" if score in USAGE_SCORES and not is_scored else None


class Undeclared(msgspec.Struct, frozen=True):
    """Gated metrics of which nothing says which way is better.

    Attributes
    ----------
    metrics
        Their names, as the benchmark file writes them.
    path
        The key of the benchmark that would say so.
    score
        The score that its source declares as better when lower, where a reward or a
        rate of passes says the opposite; empty where nothing is declared at all.
    by_class
        Whether their classes could state it: they are metrics of the user's own.
    """

    metrics: tuple[str, ...]
    path: tuple[str, ...]
    score: str = ""
    by_class: bool = False

    @property
    def message(self) -> str:
        """The question, with what can be pasted into the benchmark file."""
        first = "lower" if self.score else "higher"
        answers = [f"{_as_key(text)}: {{direction: {first}}}" for text in self.metrics]
        question = f"nothing says which way is better for {', '.join(self.metrics)}"
        paste = f"write `baseline: {{metrics: {{{', '.join(answers)}}}}}`"
        if self.score:
            why = f"because lower is declared to be better for {self.score}"
            return f"{question}, {why}: {paste}, or `direction: higher`"
        other = "or `direction: lower` where less is better"
        if self.by_class:
            other += '; or state `direction = "higher"`, or "lower", in its class'
        return f"{question}: {paste}, {other}"


def _as_key(text: str) -> str:
    """Write a metric's name as a key of YAML."""
    return text if _PLAIN_KEY.fullmatch(text) else f'"{text}"'


def undeclared_when_read(spec: BenchmarkSpec) -> Iterator[Undeclared]:
    """Yield the gated metrics whose direction nothing that is read later can declare."""
    gated: dict[str, MetricFacts] = {}
    for text, name in _without_direction(spec):
        facts = declared_facts(spec, name)
        if facts is not None and not _may_be_declared_by_files(spec, name, facts):
            gated[text] = facts
    return _undeclared(spec, gated, _NONE)


def undeclared_when_loaded(
    spec: BenchmarkSpec,
    facts_of_name: FactsOf,
    directions: Mapping[str, DirectionName],
    scores: Collection[str],
) -> Iterator[Undeclared]:
    """Yield the gated metrics whose direction nothing declares.

    Parameters
    ----------
    spec
        The benchmark.
    facts_of_name
        Returns what the class of a metric states; None for a number that a hook computes.
    directions
        Score -> its direction, as the files of rollouts declare it.
    scores
        The scores that the rollouts have or will have: a metric of another one is
        reported for that.
    """
    gated: dict[str, MetricFacts] = {}
    for text, name in _without_direction(spec):
        if name.score is not None and name.score not in scores:
            continue
        facts = facts_of_name(text)
        if facts is not None:
            gated[text] = facts
    return _undeclared(spec, gated, directions)


def with_directions(
    spec: BenchmarkSpec, facts_of_name: FactsOf, directions: Mapping[str, DirectionName]
) -> BenchmarkSpec:
    """Write the declared direction of each gated metric into the baseline's settings."""
    if spec.baseline is None:
        return spec
    settings = dict(spec.baseline.metrics)
    for text, name in _without_direction(spec):
        direction = direction_of(spec, name, facts_of_name(text), directions)
        if direction is not None:
            own = settings.get(text, GateSpec())
            settings[text] = replace(own, direction=direction)
    return replace(spec, baseline=replace(spec.baseline, metrics=settings))


def _without_direction(spec: BenchmarkSpec) -> Iterator[tuple[str, MetricName]]:
    """Yield the gated metrics for which the benchmark file gives no direction."""
    if spec.baseline is None:
        return
    for text in spec.gated:
        # a hook may name its numbers as it likes
        with suppress(MetricError):
            if spec.baseline.gate_of(text).direction is None:
                yield text, parse(text)


def _may_be_declared_by_files(
    spec: BenchmarkSpec, name: MetricName, facts: MetricFacts
) -> bool:
    """Check whether files of rollouts that are not read yet may give the direction."""
    if facts.direction != AS_SCORE:
        return False
    score = name.score or spec.reward
    is_scored = _facts_of_score(spec, score) is not None
    return not is_scored and score != spec.reward and score not in USAGE_SCORES


def _undeclared(
    spec: BenchmarkSpec,
    gated: Mapping[str, MetricFacts],
    directions: Mapping[str, DirectionName],
) -> Iterator[Undeclared]:
    of_score: dict[str, list[str]] = {}
    of_class: list[str] = []
    for text, facts in gated.items():
        name = parse(text)
        if direction_of(spec, name, facts, directions) is not None:
            continue
        score = name.score or spec.reward
        objects = facts.direction is not None and _declared_lower(
            spec, score, directions
        )
        if facts.direction is None and not _is_ours(spec, name):
            of_class.append(text)
        elif objects:
            of_score.setdefault(score, []).append(text)
        else:
            of_score.setdefault("", []).append(text)
    for score, texts in of_score.items():
        yield Undeclared(tuple(texts), _place_of(spec, texts), score=score)
    if of_class:
        yield Undeclared(tuple(of_class), _place_of(spec, of_class), by_class=True)


def _is_ours(spec: BenchmarkSpec, name: MetricName) -> bool:
    """Check whether a metric is a base statistic, or of a type that is built in."""
    keys = spec.defined.get(name.metric)
    return name.is_statistic or (keys is not None and not hasattr(keys, "arguments"))


def _place_of(spec: BenchmarkSpec, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the key of the only metric, where it is written, else that of all of them."""
    settings = () if spec.baseline is None else spec.baseline.metrics
    if len(texts) == 1 and texts[0] in settings:
        return ("baseline", "metrics", texts[0])
    return ("baseline",)
