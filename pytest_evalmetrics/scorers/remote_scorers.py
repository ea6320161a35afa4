"""``remote`` and ``nemo-agent-toolkit-remote``: scores that an endpoint computes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import compile_templates
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.row_reading import as_number, shown, within
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from pytest_evalmetrics.chat import Calls
    from pytest_evalmetrics.scorers.interface import Row, Terms
    from pytest_evalmetrics.spec.scorer_keys import NatScorerSpec, RemoteScorerSpec
    from pytest_evalmetrics.transport import Endpoint


def _endpoint(spec: RemoteScorerSpec | NatScorerSpec, terms: Terms) -> Endpoint:
    return terms.endpoint(
        spec.url,
        secret=spec.api_key_secret,
        timeout_s=spec.timeout_seconds,
        max_retries=spec.max_retries,
    )


@register_scorer("remote")
class RemoteScorer:
    """POST a body made of the row, and read scores from the answer."""

    def __init__(self, spec: RemoteScorerSpec, terms: Terms) -> None:
        with needs_extra("remote", f"the scorer {spec.type}"):
            from pytest_evalmetrics.expressions import (  # noqa: PLC0415 - of the extra
                JsonPath,
            )

            self._parsers = [(score, JsonPath(score.parser.json_path)) for score in spec.scores]
        self.scores = spec.score_names
        self._endpoint = _endpoint(spec, terms)
        self._body = compile_templates(spec.body, f"the scorer {spec.type}")

    async def score(self, row: Row, calls: Calls) -> dict[str, float]:
        """Score one row."""
        scores: dict[str, float] = {}
        body = self._body(row.context)
        await calls.post(
            self._endpoint, body, kind="remote/1", check=lambda a: scores.update(self._read(a))
        )
        return scores

    def _read(self, answer: Any) -> dict[str, float]:
        scores = {}
        for score, path in self._parsers:
            matches, value = path.first(answer)
            if not matches:
                raise RowError(
                    "no-score", f"the answer has nothing at {path.query}: {shown(answer)}"
                )
            number = as_number(value, f"{path.query} of the answer")
            scores[score.name] = within(score.name, number, score.minimum, score.maximum)
        return scores


# how the toolkit's evaluators begin a text instead of a reasoning when they crash
_CRASHED = re.compile(
    r"\s*(traceback \(most recent|(evaluator|evaluation) (error|failed)\b"
    r"|error (in|during|from|while) (the )?(evaluat|scor|pars)|\w*(Error|Exception): )",
    re.IGNORECASE,
)


@register_scorer("nemo-agent-toolkit-remote")
class NatScorer:
    """POST ``{evaluator_name, item: row}`` and read ``$.result.score``.

    A server of the NeMo Agent Toolkit answers 200 also where it could not evaluate:
    ``success: false``, a score of null, and a score of 0.0 with an error in ``reasoning`` are
    failed rows.
    """

    def __init__(self, spec: NatScorerSpec, terms: Terms) -> None:
        self.scores = spec.score_names
        self._name = spec.evaluator_name
        self._endpoint = _endpoint(spec, terms)

    async def score(self, row: Row, calls: Calls) -> float:
        """Score one row."""
        body = {"evaluator_name": self._name, "item": row.item}
        kind = "nemo-agent-toolkit-remote/1"
        return _score(await calls.post(self._endpoint, body, kind=kind, check=_score))


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
    crash: Any = None
    if score == 0.0:
        crash = result.get("reasoning")
        if isinstance(crash, dict):
            crash = crash.get("error") or crash.get("exception")
        elif not (isinstance(crash, str) and _CRASHED.match(crash)):
            crash = None
    if crash:
        raise RowError("evaluator-crashed", f"the evaluator crashed and said 0.0: {_words(crash)}")
    return score


def _words(error: Any) -> str:
    if isinstance(error, str) and error.strip():
        return " ".join(error.split())[:300]
    return shown(error) if error else "it says no reason"
