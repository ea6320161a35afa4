"""How a metric is written: ``metric[/score][[field=value]]``.

======================================  ==============================================
``pass@1``                              of the benchmark's reward
``pass@1/accuracy``                     of another score
``pass@1[difficulty=hard]``             over the rollouts whose field has that value
``pass@1/accuracy[difficulty=hard]``    both
``mean/output_tokens``                  a base statistic: mean, max, min, median or std
                                        of a score, pooled over all rollouts
``my_pkg.metrics:Median/accuracy``      one of the user's own
======================================  ==============================================
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError

__all__ = ["STATISTICS", "MetricName", "parse"]

STATISTICS = ("mean", "max", "min", "median", "std")
_FIELD = re.compile(r"[^\[\]=]+=")


class MetricName(msgspec.Struct, frozen=True):
    """A metric's name, taken apart.

    Attributes
    ----------
    metric
        A registered name, ``package.module:attribute``, or one of `STATISTICS`.
    score
        Which score it reduces; None is the benchmark's reward.
    field, value
        Over which rollouts; None is all of them. The value may be any text.
    """

    metric: str
    score: str | None = None
    field: str | None = None
    value: str | None = None

    @property
    def is_statistic(self) -> bool:
        """Whether it is a base statistic: ``median`` is a metric, ``median/reward`` none."""
        return self.score is not None and self.metric in STATISTICS

    def over(self, field: str, value: str) -> MetricName:
        """Return the same metric over the rollouts whose `field` has that `value`."""
        return structs.replace(self, field=field, value=value)

    def __str__(self) -> str:
        score = "" if self.score is None else f"/{self.score}"
        where = "" if self.field is None else f"[{self.field}={self.value}]"
        return f"{self.metric}{score}{where}"


@lru_cache(maxsize=1024)  # benchmarks of a run mostly name the same
def parse(text: str) -> MetricName:
    """Take a metric's name apart.

    Raises
    ------
    MetricError
        If there is no metric in it, or no score behind its slash.
    """
    head, field, value = _split_breakdown(text)
    metric, slash, score = head.partition("/")
    if not metric or (slash and not score):
        raise MetricError(
            f"{text!r} is no metric's name",
            hint="write metric, metric/score, or either with [field=value]: "
            "pass@1/accuracy[difficulty=hard]",
        )
    return MetricName(metric, score if slash else None, field, value)


def _split_breakdown(text: str) -> tuple[str, str | None, str | None]:
    # the first bracket that opens a `field=`; what follows it, to the end, is the value
    if text.endswith("]"):
        for bracket in re.finditer(r"\[", text):
            if _FIELD.match(text, bracket.end()):
                field, _, value = text[bracket.end() : -1].partition("=")
                return text[: bracket.start()], field, value
    return text, None, None
