"""An error in the body of a 200 is the failure that it names."""

import json

import pytest
from scoring.transport.fakes import ok, raw

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.wire import EndpointError


def gateway(error, **beside):
    return ok({"error": error, **beside})


MAY_PASS = [
    gateway({"code": 429, "message": "slow down"}),
    gateway({"code": "429", "message": "slow down"}),
    gateway({"type": "rate_limit_error", "message": "slow down"}),
    gateway({"status": "RESOURCE_EXHAUSTED", "message": "slow down"}),
    gateway({"code": 502, "message": "upstream"}, user_id="u"),
    gateway({"type": "overloaded_error", "message": "overloaded"}, type="error"),
    gateway({"message": "Provider returned error"}),
    gateway("too many requests", code=429),
    ok({"choices": [{"error": {"code": 502}, "finish_reason": "error"}]}),
    raw(b'data: {"error": {"code": 429}}\n\ndata: [DONE]\n', "text/event-stream"),
    gateway({"http_code": 503, "message": "upstream"}),
    gateway("Model is overloaded", error_type="overloaded"),
    gateway("Model m is currently loading", estimated_time=20.5),
    ok([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}]),
    ok({"statusCode": 429, "message": "Rate limit is exceeded."}),
    ok({"__type": "ThrottlingException", "message": "Too many requests"}),
    ok({"__type": "com.amazon#ServiceUnavailableException", "message": "later"}),
    ok({"object": "error", "type": "InternalServerError", "message": "x", "code": 500}),
    ok({"code": "Throttling.RateQuota", "message": "slow down", "request_id": "r"}),
    ok({"error_code": 18, "error_msg": "Open api qps request limit reached"}),
    ok({"base_resp": {"status_code": 1002, "status_msg": "limit"}, "choices": None}),
    ok({"errors": [{"status": "429", "title": "Too Many Requests"}]}),
    ok({"success": False, "errors": [{"code": 10000, "message": "x"}], "result": None}),
    ok({"type": "about:blank", "title": "Too Many Requests", "status": 429}),
    ok(
        {
            "fault": {
                "faultstring": "x",
                "detail": {"errorcode": "a.SpikeArrestViolation"},
            }
        }
    ),
    ok({"status": "error", "code": 503, "message": "upstream"}),
    raw(b': PROCESSING\n\ndata: {"error": {"code": 502}}\n\n', "text/event-stream"),
    raw(b'event: error\ndata: {"type": "error", "error": {"type": "api_error"}}\n\n'),
]


@pytest.mark.parametrize("answer", MAY_PASS, ids=range(len(MAY_PASS)))
def test_an_error_that_may_pass_is_asked_again(client, answer):
    answered = client(ok(), answer, answer, ok({"score": 0.5}))
    answered.ask("another")
    assert answered.ask().body == {"score": 0.5}
    assert len(client.sender.bodies) == 4


OF_THE_ROW = [
    ok(
        {
            "object": "error",
            "type": "BadRequestError",
            "message": "too long",
            "code": 400,
        }
    ),
    ok({"__type": "ValidationException", "message": "too long"}),
    ok({"code": "InvalidParameter", "message": "too long", "request_id": "r"}),
]


@pytest.mark.parametrize("answer", OF_THE_ROW, ids=range(len(OF_THE_ROW)))
def test_an_error_of_the_row_in_another_form_is_not_asked_again(client, answer):
    client(ok(), answer, ok()).ask("another")
    with pytest.raises(CallError, match="too long") as raised:
        client.ask()
    assert raised.value.attempts == 1


@pytest.mark.parametrize("code", [401, 402, 403, 404, "invalid_api_key"])
def test_an_error_that_stops_all_stops_all(client, code):
    answer = gateway({"code": code, "message": "not you"})
    with pytest.raises(EndpointError, match=r"with the error 40.*, and said: not you"):
        client(answer).ask_many(range(1000), 64)
    assert len(client.sender.bodies) == 1


def test_an_error_that_is_this_rows_own_fails_it_at_once(client):
    error = {"code": "context_length_exceeded", "type": "invalid_request_error"}
    client(ok(), gateway({**error, "message": "too long"}), ok()).ask("another")
    with pytest.raises(CallError, match="too long") as raised:
        client.ask()
    assert raised.value.kind == "http-400"
    assert raised.value.status == 400
    assert raised.value.attempts == 1


def test_it_is_not_kept_in_the_journal(client):
    failing = gateway({"code": 400, "message": "no"})
    client(ok(), failing, ok({"score": 1}), mode="normal").ask("another")
    with pytest.raises(CallError):
        client.ask()
    assert client.ask().body == {"score": 1}


ANSWERS = [
    {"error": None, "score": 1},
    {"status": 429, "message": "of the row", "score": 1},
    {"status": "completed", "message": "done"},
    {"code": 0, "message": "success"},
    {"code": 429},
    {"success": False, "error": "the evaluator failed"},
    {"result": {"score": 1}, "status": 500, "message": "an answer with a result"},
    {"base_resp": {"status_code": 0, "status_msg": "success"}, "score": 1},
    {"errors": [], "score": 1},
    {"error": "", "score": 1},
    {"error": "none", "score": 1},
    {"error": False, "score": 1},
    {"error": "the row can't be evaluated"},
    {"result": {"error": {"code": 500}}},
    {"text": json.dumps({"error": {"code": 500}})},
]


@pytest.mark.parametrize("body", ANSWERS, ids=range(len(ANSWERS)))
def test_what_is_no_error_of_a_gateway_is_the_callers_to_judge(client, body):
    assert client(ok(body)).ask().body == body
