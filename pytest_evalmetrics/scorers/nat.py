"""``nemo-agent-toolkit-remote``: scores by an evaluator on a server of the NeMo Agent Toolkit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.reading import as_number, shown

if TYPE_CHECKING:
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import NatScorerSpec

__all__ = ["NatScorer"]

_KIND = "nemo-agent-toolkit-remote/1"
# how the toolkit's evaluators begin a text instead of a reasoning when they crash
_CRASHED = re.compile(
    r"\s*(traceback \(most recent|(evaluator|evaluation) (error|failed)\b"
    r"|error (in|during|from|while) (the )?(evaluat|scor|pars)|\w*(Error|Exception): )",
    re.IGNORECASE,
)


@register_scorer("nemo-agent-toolkit-remote")
class NatScorer:
    """POSTs ``{evaluator_name, item: row}`` and reads ``$.result.score``.

    A server answers 200 also where it could not evaluate: ``success: false``, a score of
    null, and a score of 0.0 with an error in ``reasoning`` are failed rows.
    """

    def __init__(self, spec: NatScorerSpec, terms: Terms) -> None:
        self.scores = spec.score_names
        self._name = spec.evaluator_name
        self._endpoint = terms.endpoint(
            spec.url,
            secret=spec.api_key_secret,
            timeout_s=spec.timeout_seconds,
            max_retries=spec.max_retries,
        )

    async def score(self, row: Row, calls: Calls) -> float:
        """Score one row."""
        body = {"evaluator_name": self._name, "item": row.item}
        return _score(await calls.post(self._endpoint, body, kind=_KIND, check=_score))


def _score(answer: Any) -> float:
    if not isinstance(answer, dict):
        raise RowError("no-score", f"the answer is no object: {shown(answer)}")
    if answer.get("success") is False:
        raise RowError("not-successful", f"the evaluator failed: {_words(answer.get('error'))}")
    result = answer.get("result")
    if not isinstance(result, dict) or "score" not in result:
        raise RowError("no-score", f"the answer has nothing at $.result.score: {shown(answer)}")
    if result.get("error"):
        raise RowError("evaluator-crashed", f"the evaluator crashed: {_words(result['error'])}")
    score = as_number(result["score"], "$.result.score")
    crash = _crash(result.get("reasoning")) if score == 0.0 else None
    if crash is not None:
        raise RowError("evaluator-crashed", f"the evaluator crashed and said 0.0: {crash}")
    return score


def _crash(reasoning: Any) -> str | None:
    """Find the error in a reasoning; None where it is one indeed."""
    if isinstance(reasoning, dict):
        error = reasoning.get("error") or reasoning.get("exception")
        return _words(error) if error else None
    if isinstance(reasoning, str) and _CRASHED.match(reasoning):
        return _words(reasoning)
    return None


def _words(error: Any) -> str:
    if isinstance(error, str) and error.strip():
        return " ".join(error.split())[:300]
    return shown(error) if error else "it says no reason"
