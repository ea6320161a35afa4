"""Scores in an endpoint's answer; an error beside a score is a failed row."""

import asyncio

import pytest
from scoring.scorers.offline import entry, make, row

from pytest_evalmetrics.errors import RowError


def score(path="$.score"):
    """Read one entry of a remote scorer's `scores:`."""
    parser = {"type": "json", "json_path": path}
    scores = [{"name": "s", "parser": parser}]
    return entry(type="remote", url="http://h/x", body={}, scores=scores).scores[0]


@pytest.mark.parametrize(
    ("path", "answer", "expected"),
    [
        ("$.score", {"score": 0.5}, 0.5),
        ("$.score", {"score": "0.5"}, 0.5),
        ("$.score", {"error": None, "score": 0.5}, 0.5),
        ("$.score", {"error": "", "errors": [], "score": 0.5}, 0.5),
        ("$.score", {"error": 0.25, "score": 0.5}, 0.5),
        ("$.error", {"error": 0.25, "score": 0.5}, 0.25),
        ("$.result.score", {"result": {"score": 0.5}, "success": True}, 0.5),
        ("$.success", {"success": False}, 0.0),
        ("$.score", {"status": "ok", "score": 0.5}, 0.5),
        ("$.score", {"status": "fail", "score": 0}, 0.0),
        ("$.score", {"status": 200, "score": 0.5}, 0.5),
        ("$.status_code", {"status_code": 404}, 404.0),
        ("$[0].score", [{"score": 0.5}, {"error": "no judge"}], 0.5),
    ],
)
def test_a_score_is_read(path, answer, expected):
    assert score(path).read(answer) == expected


@pytest.mark.parametrize(
    ("path", "answer", "kind"),
    [
        ("$.score", {"error": "no judge", "score": 0.0}, "error-in-answer"),
        ("$.score", {"error": {"code": 429}, "score": 0}, "error-in-answer"),
        ("$.score", {"error": True, "score": 0}, "error-in-answer"),
        ("$.score", {"error": 500, "score": 0}, "error-in-answer"),
        ("$.score", {"errors": ["no judge"], "score": 0}, "error-in-answer"),
        ("$.score", {"success": False, "score": 0}, "error-in-answer"),
        ("$.score", {"ok": False, "score": 0}, "error-in-answer"),
        ("$.score", {"status": "error", "score": 0}, "error-in-answer"),
        ("$.score", {"status": "FAILED", "score": 0}, "error-in-answer"),
        ("$.score", {"status": 500, "score": 0}, "error-in-answer"),
        ("$.score", {"exception": "KeyError: 'x'", "score": 0}, "error-in-answer"),
        ("$.score", {"error_message": "no judge", "score": 0}, "error-in-answer"),
        ("$[0].score", [{"error": "no judge", "score": 0}], "error-in-answer"),
        ("$['score']", {"error": "no judge", "score": 0}, "error-in-answer"),
        (
            "$.result.score",
            {"error": "no judge", "result": {"score": 0}},
            "error-in-answer",
        ),
        (
            "$.result.score",
            {"result": {"error": "no judge", "score": 0}},
            "error-in-answer",
        ),
        ("$.score", {"score": "1_0"}, "no-number"),
        ("$.score", {"score": "nan"}, "no-number"),
        ("$.score", {"score": "\uff11"}, "no-number"),
        ("$.score", {"score": None}, "no-score"),
        ("$.score", {"other": 1}, "no-score"),
    ],
)
def test_what_is_no_score(path, answer, kind):
    with pytest.raises(RowError) as raised:
        score(path).read(answer)
    assert raised.value.kind == kind


class Calls:
    """Answers a call, and keeps what was posted."""

    def __init__(self, answer):
        self.answer = answer
        self.posted = []

    async def post(self, endpoint, body, *, kind, check):
        self.posted.append((endpoint.url, body, kind))
        check(self.answer)
        return self.answer


TWO_SCORES = [
    {"name": name, "parser": {"type": "json", "json_path": f"$.{name}"}}
    for name in ("kind", "right")
]


def test_the_body_is_filled_in_and_all_scores_are_read_from_one_answer():
    body = {"said": "{{ item.response }}", "limit": 5}
    scorer = make(entry(type="remote", url="http://h/x", body=body, scores=TWO_SCORES))
    calls = Calls({"kind": 0.25, "right": 1, "more": 7})
    scored = asyncio.run(scorer.score_with(row({"response": "hello"}), calls))
    assert scored.scores == {"kind": 0.25, "right": 1.0}
    # the kind is part of the key under which paid answers are kept
    assert calls.posted == [("http://h/x", {"said": "hello", "limit": 5}, "remote/1")]


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        ("$.s", {"error": " no\n judge ", "s": 0}, "answered with an error: no judge"),
        ("$.s", {"error": {"code": 1}, "s": 0}, 'an error: {"code": 1}'),
        ("$.s", {"ok": False, "s": 0}, "answered with ok: false: "),
        ("$.s", {"state": "Timeout ", "s": 0}, "answered with state: Timeout : "),
        ("$.s", {"status_code": 599, "s": 0}, "answered with status_code: 599: "),
        ('$["s"]', {"error": "x", "s": 0}, "an error: x"),
        ("$.a[1].s", {"a": [{}, {"error": "x", "s": 0}]}, "an error: x"),
        ("$.s", {"other": 0}, "the answer has nothing at $.s: "),
        ("$.a[2].s", {"a": [0]}, "the answer has nothing at $.a[2].s: "),
        ("$.s", [1], "the answer has nothing at $.s: "),
    ],
)
def test_an_answer_without_a_score_says_what_is_there(path, answer, words):
    with pytest.raises(RowError) as raised:
        score(path).read(answer)
    assert words in raised.value.message


@pytest.mark.parametrize("state", [True, 200, 399, 600, "done", None])
def test_these_states_are_no_failure(state):
    assert score().read({"status": state, "score": 0.5}) == 0.5


def test_a_score_out_of_its_range_is_refused():
    parser = {"type": "json", "json_path": "$.s"}
    scores = [{"name": "s", "parser": parser, "minimum": 0, "maximum": 1}]
    spec = entry(type="remote", url="http://h/x", body={}, scores=scores)
    with pytest.raises(RowError, match="s is 2, expected at least 0 and at most 1"):
        spec.scores[0].read({"s": 2})
    facts = spec.facts_of("s")
    assert (facts.low, facts.high) == (0, 1)
    assert spec.facts_of("t").low is None
