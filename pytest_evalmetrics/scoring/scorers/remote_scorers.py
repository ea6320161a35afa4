"""``remote`` and ``nemo-agent-toolkit-remote``: scores that an endpoint computes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import shown
from pytest_evalmetrics.model.metric_facts import ScoreFacts
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.prompts import compile_templates
from pytest_evalmetrics.scoring.chat.row_calls import Calls
from pytest_evalmetrics.scoring.scorers.row_reading import (
    as_number,
    compiled_path,
    within,
)
from pytest_evalmetrics.scoring.transport import Endpoint, Terms
from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec import scorer_keys as shared
from pytest_evalmetrics.spec.validation import Keys, doc

_Score = Callable[[Row, Calls], Awaitable[object]]


def _endpoint(spec: RemoteScorerSpec | NatScorerSpec, terms: Terms) -> Endpoint:
    return terms.endpoint(
        spec.url,
        secret=spec.api_key_secret,
        timeout_s=spec.timeout_seconds,
        max_retries=spec.max_retries,
    )


@dataclass(frozen=True, kw_only=True)
class ParserSpec(Keys):
    """The place of a score in a response."""

    type: Annotated[Literal["json"], doc("the answer is JSON")] = "json"
    json_path: Annotated[types.JsonPathText, doc("JSONPath; the first match counts")]


@dataclass(frozen=True, kw_only=True)
class RemoteScoreSpec(Keys):
    """One score of a response."""

    name: shared.ScoreName
    parser: Annotated[ParserSpec, doc("its place in the answer")]
    description: Annotated[str, doc("a description shown in reports")] = ""
    minimum: shared.Minimum = None
    maximum: shared.Maximum = None
    direction: shared.Better = None

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        shared.check_range(self.minimum, self.maximum)

    def read(self, answer: object) -> float:
        """Read it in an answer."""
        path = self.parser.json_path
        _refuse_error(answer, path)
        matches, value = compiled_path(path).first(answer)
        if not matches:
            raise RowError(
                "no-score", f"the answer has nothing at {path}: {shown(answer)}"
            )
        number = as_number(value, f"{path} of the answer")
        return within(self.name, number, self.minimum, self.maximum)


@dataclass(frozen=True, kw_only=True)
class RemoteScorerSpec(Keys):
    """POST a body with values of the row, and read scores from the answer."""

    type: Annotated[Literal["remote"], doc("an endpoint of your own")]
    url: types.Url
    body: Annotated[
        types.BodyValue,
        doc("the request; {{ item.column }} in it is filled in for each row"),
    ]
    scores: Annotated[
        tuple[RemoteScoreSpec, ...],
        Field(min_length=1, strict=False, description="the scores in the answer"),
        AfterValidator(shared.check_score_names),
    ]
    api_key_secret: types.SecretName = None
    timeout_seconds: types.TimeoutSeconds = None
    max_retries: types.MaxRetries = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores."""
        return tuple(score.name for score in self.scores)

    def facts_of(self, score: str) -> ScoreFacts:
        """Return the direction and the range that the file gives a score."""
        for spec in self.scores:
            if spec.name == score:
                return ScoreFacts(spec.direction, spec.minimum, spec.maximum)
        return ScoreFacts()

    def make(self, terms: Terms) -> _Score:
        """Make the function that scores a row."""
        body = compile_templates(self.body, f"the scorer {self.type}", body=True)
        endpoint = _endpoint(self, terms)
        for spec in self.scores:  # a missing package is found before anything is paid
            compiled_path(spec.parser.json_path)

        def read(answer: object) -> dict[str, float]:
            return {score.name: score.read(answer) for score in self.scores}

        async def score(row: Row, calls: Calls) -> dict[str, float]:
            request = body(row.context)
            answer = await calls.post(endpoint, request, kind="remote/1", check=read)
            return read(answer)

        return score


# how the toolkit's evaluators begin a text instead of a reasoning when they crash
_CRASHED = re.compile(
    r"\s*(traceback \(most recent|(evaluator|evaluation) (error|failed)\b"
    r"|error (in|during|from|while) (the )?(evaluat|scor|pars)|\w*(Error|Exception): )",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class NatScorerSpec(shared.NamedScores):
    """POST ``{evaluator_name, item: row}`` and read ``$.result.score``.

    A server of the NeMo Agent Toolkit answers 200 also where it could not evaluate:
    ``success: false``, a score of null, and a score of 0.0 with an error in ``reasoning`` are
    failed rows.
    """

    type: Annotated[
        Literal["nemo-agent-toolkit-remote", "nemo_agent_toolkit_remote"],
        doc("a server of the NeMo Agent Toolkit"),
    ]
    better = None
    url: types.Url
    evaluator_name: Annotated[
        types.Name, doc("the evaluator's name on the server; names the score too")
    ]
    minimum: shared.Minimum = None
    maximum: shared.Maximum = None
    api_key_secret: types.SecretName = None
    timeout_seconds: types.TimeoutSeconds = None
    max_retries: types.MaxRetries = None

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        shared.check_range(self.minimum, self.maximum)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The evaluator's name, without characters that a score's name can't hold."""
        return (re.sub(r"[^\w.-]+", "_", self.evaluator_name),)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The settings of the benchmark file."""
        return self.minimum, self.maximum

    def make(self, terms: Terms) -> _Score:
        """Make the function that scores a row."""
        endpoint = _endpoint(self, terms)
        kind = "nemo-agent-toolkit-remote/1"

        async def score(row: Row, calls: Calls) -> float:
            body = {"evaluator_name": self.evaluator_name, "item": row.item}
            answer = await calls.post(endpoint, body, kind=kind, check=self._read)
            return self._read(answer)

        return score

    def _read(self, answer: object) -> float:
        if not isinstance(answer, dict):
            raise RowError("no-score", f"the answer is not an object: {shown(answer)}")
        if answer.get("success") is False or answer.get("error"):
            words = f"the evaluator failed: {_words(answer.get('error'))}"
            raise RowError("not-successful", words)
        result = answer.get("result")
        if not isinstance(result, dict) or "score" not in result:
            words = f"the answer has nothing at $.result.score: {shown(answer)}"
            raise RowError("no-score", words)
        if result.get("error"):
            words = f"the evaluator crashed: {_words(result['error'])}"
            raise RowError("evaluator-crashed", words)
        score = as_number(result["score"], "$.result.score")
        if score == 0.0:
            crash = _crash_in(result.get("reasoning"))
            if crash:
                words = f"the evaluator crashed and said 0.0: {_words(crash)}"
                raise RowError("evaluator-crashed", words)
        return within(self.score_names[0], score, self.minimum, self.maximum)


def _crash_in(reasoning: object) -> object:
    """Return the error that stands in place of a reasoning; None without one."""
    if isinstance(reasoning, dict):
        return reasoning.get("error") or reasoning.get("exception")
    if isinstance(reasoning, str) and _CRASHED.match(reasoning):
        return reasoning
    return None


# -- a failure beside a score ---------------------------------------------------------------

# the steps of a path: a name behind a point, a quoted one, a place in a list
_STEP = re.compile(
    r"\.(?P<name>\w+)|\[\s*(?:'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\"|(?P<place>\d+))\s*\]"
)
_ERROR_KEYS = (
    "error",
    "errors",
    "error_message",
    "errorMessage",
    "is_error",
    "isError",
    "exception",
    "traceback",
)
_SUCCESS_KEYS = ("success", "succeeded", "ok")
_STATUS_KEYS = ("status", "state", "status_code", "statusCode", "http_status")
_SIGNS = frozenset({*_ERROR_KEYS, *_SUCCESS_KEYS, *_STATUS_KEYS})
# "fail" and "failing" are verdicts, too, and say nothing of the endpoint
_FAILED_STATES = frozenset(
    {
        "error",
        "errored",
        "exception",
        "failed",
        "failure",
        "crashed",
        "timeout",
        "timed_out",
        "cancelled",
        "canceled",
        "aborted",
    }
)


def _refuse_error(answer: object, path: str) -> None:
    """Refuse a score beside an error: an endpoint that failed says 0, too."""
    holder = answer
    for step in _steps_of(path):
        if isinstance(step, int):
            if not isinstance(holder, list) or step >= len(holder):
                return
            holder = holder[step]
            continue
        if not isinstance(holder, dict):
            return
        fault = _fault_beside(holder, step)
        if fault is not None:
            message = f"the endpoint answered with {fault}"
            raise RowError("error-in-answer", message)
        holder = holder.get(step)


@cache
def _steps_of(path: str) -> tuple[str | int, ...]:
    """Return the keys of a path, and its places in lists."""
    steps: list[str | int] = []
    for step in _STEP.finditer(path):
        if step["place"] is not None:
            steps.append(int(step["place"]))
        else:
            steps.append(step["name"] or step["one"] or step["two"] or "")
    return tuple(steps)


def _fault_beside(holder: Mapping[str, object], key: str) -> str | None:
    """Return the failure that stands beside a key, in words; None if there is none."""
    if _SIGNS.isdisjoint(holder):
        return None
    if "error" not in key:
        for name in _ERROR_KEYS:
            if _is_failure(holder.get(name)):
                return f"an error: {_words(holder[name])}"
    for name in _SUCCESS_KEYS:
        if name != key and holder.get(name) is False:
            return f"{name}: false: {shown(holder)}"
    for name in _STATUS_KEYS:
        if name != key and _is_failed_state(holder.get(name)):
            return f"{name}: {holder[name]}: {shown(holder)}"
    return None


def _is_failure(error: object) -> bool:
    """Check whether a value is an error: a fraction, or an empty one, is none."""
    return bool(error) and not isinstance(error, float)


def _is_failed_state(state: object) -> bool:
    """Check for the word of a failure, or a status of HTTP that is one."""
    if isinstance(state, str):
        return state.strip().lower() in _FAILED_STATES
    if isinstance(state, bool) or not isinstance(state, int):
        return False
    return 400 <= state < 600  # HTTP


def _words(error: object) -> str:
    if isinstance(error, str) and error.strip():
        return " ".join(error.split())[:300]
    if not error:
        return "it says no reason"
    return shown(error)
