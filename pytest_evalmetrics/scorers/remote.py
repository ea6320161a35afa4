"""``remote``: scores by an endpoint of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.reading import as_number, shown, within
from pytest_evalmetrics.scorers.texts import compiled
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.expressions.json_paths import JsonPath
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import RemoteScorerSpec, RemoteScoreSpec

__all__ = ["RemoteScorer"]

_KIND = "remote/1"


@register_scorer("remote")
class RemoteScorer:
    """POSTs a body made of the row, and finds scores in the answer."""

    def __init__(self, spec: RemoteScorerSpec, terms: Terms) -> None:
        with needs_extra("remote", f"the scorer {spec.type}"):
            from pytest_evalmetrics.expressions.json_paths import (  # noqa: PLC0415 - of the extra
                JsonPath,
            )

            self._wanted = [(score, JsonPath(score.parser.json_path)) for score in spec.scores]
        self.scores = spec.score_names
        self._endpoint = terms.endpoint(
            spec.url,
            secret=spec.api_key_secret,
            timeout_s=spec.timeout_seconds,
            max_retries=spec.max_retries,
        )
        self._body = compiled(spec.body, spec.type)

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
    return within(score.name, number, score.minimum, score.maximum)
