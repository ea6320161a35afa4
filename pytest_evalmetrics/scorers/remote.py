"""``remote``: scores by an endpoint of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.reading import as_number, shown
from pytest_evalmetrics.transport import MissingExtraError

if TYPE_CHECKING:
    from pytest_evalmetrics.expressions.json_paths import JsonPath
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import RemoteScorerSpec, RemoteScoreSpec

__all__ = ["RemoteScorer"]

_KIND = "remote/1"


@register_scorer("remote")
class RemoteScorer:
    """POSTs a body made of the row, and finds scores in the answer.

    Parameters
    ----------
    spec
        What the benchmark file says.
    terms
        On what terms endpoints are called.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    SecretError
        The key is not in the environment.
    """

    def __init__(self, spec: RemoteScorerSpec, terms: Terms) -> None:
        try:
            from pytest_evalmetrics.expressions.json_paths import (  # noqa: PLC0415 - of the extra
                JsonPath,
            )
            from pytest_evalmetrics.expressions.templates import (  # noqa: PLC0415 - of the extra
                compile_value,
            )
        except ImportError as error:
            raise MissingExtraError(
                f"the scorer remote needs {error.name}, which is not installed",
                hint="pip install 'pytest-evalmetrics[remote]'",
            ) from None
        self.scores = spec.score_names
        self._endpoint = terms.endpoint(
            spec.url,
            secret=spec.api_key_secret,
            timeout_s=spec.timeout_seconds,
            max_retries=spec.max_retries,
        )
        self._body = compile_value(spec.body)
        self._wanted = [(score, JsonPath(score.parser.json_path)) for score in spec.scores]

    async def score(self, row: Row, calls: Calls) -> dict[str, float]:
        """Score one row."""
        found: dict[str, float] = {}

        def look_at(answer: Any) -> None:
            found.update((s.name, _score(s, path, answer)) for s, path in self._wanted)

        await calls.post(self._endpoint, self._body(row.context), kind=_KIND, check=look_at)
        return found


def _score(score: RemoteScoreSpec, path: JsonPath, answer: Any) -> float:
    matches, value = path.first(answer)
    if not matches:
        raise RowError("no-score", f"the answer has nothing at {path.query}: {shown(answer)}")
    number = as_number(value, f"{path.query} of the answer")
    low, high = score.minimum, score.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = " and ".join(
            f"{word} {bound:.12g}"
            for word, bound in (("at least", low), ("at most", high))
            if bound is not None
        )
        raise RowError("out-of-range", f"{score.name} is {number:.12g}, expected {bounds}")
    return number
