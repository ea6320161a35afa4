"""The names of metrics, ``metric[/score][[field=value]]``, and names with a fixed meaning.

``pass@1`` is of the benchmark's reward, ``pass@1/accuracy`` of another score,
``pass@1[difficulty=hard]`` over the rollouts whose field has that value, ``mean/output_tokens``
a base statistic of a score, pooled over all rollouts.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Iterable

# scores of each generated answer, and those of them that are counts
COUNTED_SCORES: Final = ("input_tokens", "output_tokens", "total_tokens", "truncated")
GENERATED_SCORES: Final = (*COUNTED_SCORES[:3], "latency_s", "cost", "truncated")
# scores of a benchmark with ``reference:``: its mean reward on a task, and the difference from it
REFERENCE: Final = "reference"
OVER_REFERENCE: Final = "over_reference"
# key of a generated rollout: the scorers' input, or its failure
MARK: Final = "_evalmetrics"
STATISTICS: Final = ("mean", "max", "min", "median", "std")
PPI_MEAN: Final = "ppi/mean_reward"  # the mean reward, corrected by ``labels:``
JUDGE_METRICS: Final = ("judge_accuracy", "judge_kappa", "judge_quadratic_kappa")


class MetricName(msgspec.Struct, frozen=True):
    """The parts of a metric's name.

    Attributes
    ----------
    metric
        A registered name, ``package.module:attribute``, or one of `STATISTICS`.
    score
        The score that it reduces; None for the benchmark's reward.
    field, value
        The field and its value that rollouts must have; None for all rollouts.
    """

    metric: str
    score: str | None = None
    field: str | None = None
    value: str | None = None

    @property
    def is_statistic(self) -> bool:
        """Whether it is a base statistic: ``median/reward`` is one, ``median`` is a metric."""
        return self.score is not None and self.metric in STATISTICS

    def over(self, field: str, value: str) -> MetricName:
        """Return the same metric, restricted to rollouts whose `field` has a `value`."""
        return structs.replace(self, field=field, value=value)

    def __str__(self) -> str:
        score = "" if self.score is None else f"/{self.score}"
        where = "" if self.field is None else f"[{self.field}={self.value}]"
        return f"{self.metric}{score}{where}"


@lru_cache(maxsize=1024)  # benchmarks of a run mostly name the same
def parse(text: str) -> MetricName:
    """Parse a metric's name; raise MetricError if it is invalid."""
    head, field, value = _without_value(text)
    metric, slash, score = head.partition("/")
    if not metric or (slash and not score):
        forms = "metric, metric/score, or either with [field=value]"
        hint = f"write {forms}: pass@1/accuracy[difficulty=hard]"
        raise MetricError(f"{text!r} is not a metric's name", hint=hint)
    if not slash:
        return MetricName(metric, None, field, value)
    return MetricName(metric, score, field, value)


def _without_value(text: str) -> tuple[str, str | None, str | None]:
    """Split ``pass@1[difficulty=hard]`` into its head, the field and the value."""
    if not text.endswith("]"):
        return text, None, None
    # the first bracket with a `field=`; the rest of the text is the value
    start = text.find("[")
    while start >= 0:
        end = text.find("=", start)
        field = text[start + 1 : end]
        if end < 0:
            break
        if field and "[" not in field and "]" not in field:
            return text[:start], field, text[end + 1 : -1]
        start = text.find("[", start + 1)
    return text, None, None


def fields_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the breakdown fields of metrics; the name of a hook's metric has none."""
    fields = set()
    for text in texts:
        with suppress(MetricError):
            fields.add(parse(text).field)
    return frozenset(field for field in fields if field)
