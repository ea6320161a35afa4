"""Answers that are failures: whose fault each is, and what a person reads of it."""

import pytest
from msgspec import structs
from scoring.transport.fakes import KEY, ok, raw, secret, status

from pytest_evalmetrics.ext import Endpoint
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.refusals import (
    fault_of,
    named_error,
    named_failure,
    refusal_of,
)

ENDPOINT = Endpoint("http://api.example/score")
NOW = 1.7e9  # Tue, 14 Nov 2023 22:13:20 GMT


def refusal(answer, endpoint=ENDPOINT, longest_wait_s=60.0):
    return refusal_of(answer, endpoint, longest_wait_s, NOW)


# -- whose fault it is ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "fault"),
    [
        ([429, 503, 529], Fault.BUSY),
        ([408, 425, 500, 502, 504, 506, 520, 599], Fault.BROKEN),
        ([400, 404, 407, 409, 422, 424, 426, 499, 501, 505, 600], None),
    ],
)
def test_a_status_says_whose_fault_a_failure_is(codes, fault):
    assert [fault_of(code) for code in codes] == [fault] * len(codes)


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_has_its_fault_and_stops_nothing(code):
    failure = refusal(status(code, "later"))
    assert failure.fault is fault_of(code)
    assert failure.fatal is False
    assert failure.status == code
    assert failure.kind == f"http-{code}"
    assert failure.hint is None


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            401,
            "answered 401 Unauthorized",
            "the endpoint wants a key: name it with api_key_secret",
        ),
        (
            402,
            "answered 402 Payment Required",
            "the account has no credit: add some, and run again; paid answers are kept",
        ),
        (
            403,
            "answered 403 Forbidden",
            (
                "the endpoint wants a key that is allowed to do this: name it with "
                "api_key_secret"
            ),
        ),
        (
            404,
            "answered 404 Not Found",
            "nothing answers there: check the path of the URL, and the names in the request",
        ),
        (
            405,
            "answered 405 Method Not Allowed",
            "nothing takes a POST there: check the path of the URL",
        ),
    ],
)
def test_a_status_that_stops_all_says_the_way_out(code, message, hint):
    failure = refusal(status(code))
    assert failure.fatal is True
    assert failure.fault is None
    assert failure.message == message
    assert failure.hint == hint


def test_a_refused_placeholder_says_what_to_set():
    endpoint = structs.replace(ENDPOINT, secret=secret("sk-no-key-required"))
    assert refusal(status(401), endpoint).hint == (
        "the key is that of the variable MY_KEY (secret 'my-key'), whose value is a "
        "placeholder: set it to a key of the endpoint"
    )


def test_a_key_has_nothing_to_do_with_a_missing_page():
    endpoint = structs.replace(ENDPOINT, secret=KEY)
    assert refusal(status(404), endpoint).hint.startswith("nothing answers there")


@pytest.mark.parametrize(
    ("location", "to"),
    [
        ("http://other.example/x?token=secret", "http://other.example/x"),
        ("/ok", "/ok"),
        ("", "nowhere"),
    ],
)
@pytest.mark.parametrize("code", [300, 307, 399])
def test_a_redirect_says_where_it_leads_without_its_query(code, location, to):
    failure = refusal(status(code, Location=location))
    assert failure.message.startswith(f"answered {code}")
    assert failure.message.endswith(f", a redirect to {to}; redirects are not followed")
    assert failure.fatal is True
    assert failure.kind == f"http-{code}"
    assert failure.status == code
    assert failure.hint == "write the URL that answers itself"


def test_a_redirect_without_a_location_leads_nowhere():
    assert "a redirect to nowhere;" in refusal(raw(b"", status=302)).message


def test_the_words_of_a_refusal_are_kept_and_unreadable_bytes_replaced():
    assert refusal(raw(b"caf\xe9", status=400)).text == "caf\ufffd"


# -- an account without credit -------------------------------------------------------------------

SPENT = [
    b'{"error": {"code": "insufficient_quota"}}',
    b'{"error": {"type":"billing_hard_limit_reached"}}',
    b'{"error": {"status" : "billing_not_active"}}',
    b'{"reason": "credit_balance_too_low"}',
    b'{"code": "insufficient_credits"}',
    b'{"code": "insufficient_credit"}',
    b'{"code": "insufficient_balance"}',
    b'{"code": "INSUFFICIENT_FUNDS"}',
    b"Insufficient balance",
    b"you are out of credits",
    b"no more credits",
    b"no credits",
    b"Your credit balance is too low",
]


@pytest.mark.parametrize("body", SPENT, ids=str)
def test_a_429_for_a_spent_quota_will_not_pass(body):
    failure = refusal(raw(body, status=429))
    assert failure.fatal is True
    assert failure.fault is None
    assert failure.hint == (
        "the account has no credit: add some, and run again; paid answers are kept"
    )


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (429, b'{"message": "insufficient_quota of requests a minute"}'),
        (429, b"slow down: you have 5 credits a minute"),
        (500, b"no credits"),
    ],
)
def test_a_limit_of_the_rate_is_no_spent_quota(code, body):
    assert refusal(raw(body, status=code)).fatal is False


# -- the wait that is asked for ------------------------------------------------------------------


def test_the_wait_that_an_endpoint_asks_for_is_kept():
    assert refusal(status(429, Retry_After="7")).retry_after_s == 7.0


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_longer_wait_than_allowed_says_how_to_allow_it(code):
    failure = refusal(status(code, Retry_After="90.4"), longest_wait_s=60.0)
    assert failure.fatal is True
    assert failure.fault is None
    assert failure.message.endswith(
        " and asked to wait 1 min 30 s, over the 60 s of max_wait"
    )
    assert failure.hint == (
        "run again later: paid answers are kept; or wait longer with params: "
        "{max_wait: 90}"
    )


def test_the_longest_wait_itself_is_allowed():
    assert refusal(status(429, Retry_After="60"), longest_wait_s=60.0).fatal is False


def test_a_row_that_can_not_be_scored_does_not_stop_all_with_a_wait():
    failure = refusal(status(422, Retry_After="90"), longest_wait_s=60.0)
    assert failure.fatal is False


# -- errors in an answer that is none ------------------------------------------------------------

WORDS = {
    400: [
        # OpenAI and Anthropic
        "invalid_request_error",
        "context_length_exceeded",
        "string_above_max_length",
        "content_filter",
        # Google
        "INVALID_ARGUMENT",
        "FAILED_PRECONDITION",
        "OUT_OF_RANGE",
        # AWS and Alibaba
        "ValidationException",
        "InvalidParameter",
        "DataInspectionFailed",
        "BadRequestError",
        "400",
    ],
    401: [
        "authentication_error",
        "invalid_api_key",
        "UNAUTHENTICATED",
        "unauthorized",
    ],
    402: ["billing_error", "Arrearage"],
    403: [
        "permission_error",
        "PERMISSION_DENIED",
        "AccessDeniedException",
        "Forbidden",
    ],
    404: ["not_found_error", "model_not_found", "ResourceNotFoundException"],
    413: ["request_too_large"],
    429: [
        "insufficient_quota",
        "too_many_requests",
        "rate_limit_error",
        "rate_limit_exceeded",
        "requests",
        "tokens",
        "RESOURCE_EXHAUSTED",
        "ThrottlingException",
        "com.amazon.coral#ThrottlingException",
        "Throttling.RateQuota",
        "policies.ratelimit.SpikeArrestViolation",
        " 429 ",
    ],
    500: [
        "api_error",
        "INTERNAL",
        "InternalFailure",
        "InternalServerException",
        "server_error",
        "a word that nobody knows",
    ],
    502: ["bad_gateway"],
    503: [
        "engine_overloaded_error",
        "ModelNotReadyException",
        "overloaded_error",
        "ServiceUnavailableException",
        "UNAVAILABLE",
    ],
    504: [
        "timeout_error",
        "gateway_timeout",
        "ModelTimeoutException",
        "DEADLINE_EXCEEDED",
    ],
}


@pytest.mark.parametrize(
    ("word", "code"), [(word, code) for code in WORDS for word in WORDS[code]]
)
def test_an_error_is_known_by_the_word_that_its_provider_has_for_it(word, code):
    assert named_error(ok({"error": {"type": word}})).status == code


@pytest.mark.parametrize(
    "key",
    [
        "code",
        "status_code",
        "statusCode",
        "http_code",
        "http_status",
        "status",
        "type",
        "error_type",
        "errorcode",
        "__type",
    ],
)
def test_the_code_of_an_error_is_found_under_the_names_that_gateways_have_for_it(key):
    assert named_error(ok({"error": {key: 404}})).status == 404


@pytest.mark.parametrize(
    ("value", "code"),
    [(399, 500), (400, 400), (599, 599), (600, 500), (True, 500), (429.0, 500)],
)
def test_only_a_status_of_an_error_is_one(value, code):
    assert named_error(ok({"error": {"code": value}})).status == code


def test_a_code_beside_an_error_says_what_the_error_does_not():
    assert named_error(ok({"error": {"message": "x"}, "code": 404})).status == 404


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"errors": [{"status": "404"}]}, 404),
        ({"errors": [{"status": "404"}, {"status": "500"}]}, 404),
        ({"fault": {"faultstring": "x", "code": 404}}, 404),
        ({"fault": {"code": 500, "detail": {"errorcode": "a.NotFound"}}}, 404),
        ({"choices": [{"error": {"code": 404}}]}, 404),
        ({"base_resp": {"status_code": 404}}, 404),
        ({"base_resp": {"status_code": 1004}}, 500),
        ({"error": "loading", "estimated_time": 5.0}, 503),
        ({"error_code": 17}, 500),
        ({"error_code": 17, "code": 404}, 404),
        ({"status": 404, "title": "Not Found"}, 404),
        ({"status": 404, "message": "not found"}, 404),
        ({"status": 404, "error": "not found"}, 404),
    ],
)
def test_an_error_is_found_in_the_forms_of_gateways(document, code):
    assert named_error(ok(document)).status == code


# whole bodies, as servers write them, each of a 404
BODIES = {
    "vLLM": {
        "object": "error",
        "message": "no such model",
        "type": "NotFoundError",
        "param": None,
        "code": 404,
    },
    "Spring": {
        "timestamp": "2026-01-01T00:00:00Z",
        "status": 404,
        "error": "Not Found",
        "message": "no page",
        "path": "/score",
    },
    "problem details (RFC 9457)": {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "no page",
        "instance": "/score",
    },
    "Cloudflare": {
        "success": False,
        "errors": [{"code": 404}],
        "messages": [],
        "result": None,
    },
    "a router": {
        "error": "no such model",
        "code": 404,
        "id": "gen-1",
        "model": "m",
        "provider": "p",
        "created": 1,
        "usage": None,
        "user_id": "u",
        "warnings": [],
    },
    "Baidu": {"error_code": 336000, "error_msg": "no page", "id": "1", "code": 404},
    "Alibaba": {"code": "ModelNotFound", "message": "no model", "request_id": "r"},
}


@pytest.mark.parametrize("server", BODIES)
def test_the_whole_body_of_a_server_is_an_error(server):
    assert named_error(ok(BODIES[server])).status == 404


@pytest.mark.parametrize(
    "document",
    [
        {"status": 404},
        {"status": 404, "message": ""},
        {"status": 404, "message": "not found", "answer": 42},
        {"status": 404, "message": "not found", "result": [1]},
        {"status": 200, "message": "fine"},
        {"error_code": 0, "error_msg": ""},
        {"errors": [], "code": 404},
        {"errors": ["in words"], "score": 1},
        {"fault": "none", "score": 1},
        {"choices": [], "score": 1},
        {"choices": ["x"], "score": 1},
        {"base_resp": {"status_code": 0}, "score": 1},
        {"base_resp": {"status_msg": "success"}, "score": 1},
        [{"error": {"code": 500}}, {"error": {"code": 500}}],
        ["error", 1],
        "error",
    ],
)
def test_what_is_no_error_of_a_gateway_is_an_answer(document):
    assert named_error(ok(document)) is None


def test_the_text_of_an_error_is_its_json():
    error = named_error(ok([{"error": {"code": 500, "message": "oh"}}]))
    assert error.text == '{"error": {"code": 500, "message": "oh"}}'


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"choices": []}\n\ndata: {"error": {"code": 404}}\n\n',
        b'event: error\ndata: {"error": {"code": 404}}\n\n',
        b'id: 7\ndata:{"error": {"code": 404}}\n\n',
        b': a comment\n\ndata: {"error": {"code": 404}}\n\ndata: [DONE]\n\n',
        b'data: {"error": {"code": 404}}\n\ndata: {"error": {"code": 500}}\n\n',
    ],
)
def test_the_first_error_of_a_stream_counts(stream):
    assert named_error(raw(stream, "text/event-stream")).status == 404


@pytest.mark.parametrize(
    "body", [b'{"error": ', b'"error"' + b"[" * 100_000, b'\xff{"error": {}}']
)
def test_a_body_that_is_no_json_is_the_readers_to_refuse(body):
    assert named_error(raw(body)) is None


def test_an_error_in_an_answer_is_the_failure_of_its_status():
    answer = ok({"error": {"code": 401, "message": "not you"}})
    failure = named_failure(named_error(answer), answer, ENDPOINT, 60.0, NOW)
    assert failure.message == "answered 200 OK with the error 401 Unauthorized"
    assert failure.kind == "http-401"
    assert failure.status == 401
    assert failure.fatal is True
    assert failure.hint == "the endpoint wants a key: name it with api_key_secret"
    assert failure.text == '{"error": {"code": 401, "message": "not you"}}'


def test_an_error_in_an_answer_may_ask_for_a_wait():
    answer = ok({"error": {"code": 429, "message": "slow down"}})
    answer.headers["Retry-After"] = "Tue, 14 Nov 2023 22:14:50 GMT"
    failure = named_failure(named_error(answer), answer, ENDPOINT, 60.0, NOW)
    assert failure.retry_after_s == 90.0
    assert failure.message == (
        "answered 200 OK with the error 429 Too Many Requests and asked to wait "
        "1 min 30 s, over the 60 s of max_wait"
    )
