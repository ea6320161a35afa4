"""One HTTP request: what aiohttp is asked for, and what becomes of its errors."""

import asyncio
import errno
import os
import socket
import ssl
from types import SimpleNamespace

import aiohttp
import pytest
from msgspec import structs
from scoring.transport.fakes import KEY, WORD

from pytest_evalmetrics.ext import Endpoint
from pytest_evalmetrics.scoring.transport.http_sender import HttpSender
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.wire import SendFailure

ENDPOINT = Endpoint("https://api.example/score?v=1")
PLACE = SimpleNamespace(host="api.example", port=443, is_ssl=True, ssl=True)
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


class Posted:
    """The request that aiohttp was asked for, and its answer: an error, or a response."""

    def __init__(self):
        self.url = None
        self.keys = {}
        self.answer = ConnectionError()

    def post(self, url, **keys):
        self.url = url
        self.keys = keys
        return self

    async def __aenter__(self):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def __aexit__(self, *_):
        pass


class Response:
    """A response of aiohttp's, whose body is in memory."""

    def __init__(self, status, body):
        self.status = status
        self.headers = {"X-Id": "7"}
        self.content = self
        self.left = body
        self.is_closed = False

    async def readexactly(self, count):
        if len(self.left) < count:
            raise asyncio.IncompleteReadError(self.left, count)
        return self.left[:count]

    def close(self):
        self.is_closed = True


@pytest.fixture
def posted(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    posted = Posted()
    monkeypatch.setattr(
        aiohttp.ClientSession,
        "post",
        lambda _session, url, **keys: posted.post(url, **keys),
    )
    return posted


def send(endpoint=ENDPOINT, payload=b"{}"):
    async def work():
        sender = HttpSender()
        try:
            return await sender.send(endpoint, payload)
        finally:
            await sender.close()

    return asyncio.run(work())


def failure_of(posted, error, endpoint=ENDPOINT):
    posted.answer = error
    with pytest.raises(SendFailure) as raised:
        send(endpoint)
    return raised.value


# -- the request ---------------------------------------------------------------------------------


def test_a_request_is_posted_once_to_the_whole_url(posted):
    posted.answer = Response(200, b"{}")
    send()
    assert posted.url == "https://api.example/score?v=1"
    assert posted.keys["allow_redirects"] is False
    assert posted.keys["proxy"] is None


@pytest.mark.parametrize(
    ("settings", "headers"),
    [
        ({}, {}),
        ({"secret": KEY}, {"Authorization": f"Bearer {WORD}"}),
        ({"secret": KEY, "key_header": "x-api-key"}, {"x-api-key": WORD}),
        ({"key_header": "x-api-key"}, {}),
        (
            {"secret": KEY, "headers": (("version", "1"),)},
            {"version": "1", "Authorization": f"Bearer {WORD}"},
        ),
    ],
)
def test_a_key_is_sent_in_its_header(posted, settings, headers):
    posted.answer = Response(200, b"{}")
    send(structs.replace(ENDPOINT, **settings))
    assert posted.keys["headers"] == headers


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        (2, aiohttp.BytesPayload),
        (2**20 - 1, aiohttp.BytesPayload),
        (2**20, aiohttp.BytesIOPayload),
    ],
)
def test_a_body_is_json_and_a_large_one_is_sent_in_pieces(posted, size, kind):
    posted.answer = Response(200, b"{}")
    send(payload=b"x" * size)
    body = posted.keys["data"]
    assert type(body) is kind
    assert body.content_type == "application/json"
    assert body.size == size


def test_a_request_without_a_body_sends_none(posted):
    posted.answer = Response(200, b"{}")
    send(payload=None)
    assert posted.keys["data"] is None


def test_every_request_says_what_it_is_and_what_it_takes():
    async def headers():
        sender = HttpSender()
        try:
            return dict(sender._session.headers)
        finally:
            await sender.close()

    assert asyncio.run(headers()) == {
        "Accept": "application/json",
        "User-Agent": "pytest-evalmetrics",
    }


# -- the answer ----------------------------------------------------------------------------------


def test_an_answer_has_its_status_its_headers_and_its_body(posted):
    posted.answer = Response(201, b'{"score": 1}')
    answer = send()
    assert (answer.status, answer.body) == (201, b'{"score": 1}')
    assert answer.headers == {"X-Id": "7"}


@pytest.mark.parametrize(("status", "size"), [(200, 10), (299, 10)])
def test_an_answer_may_be_as_large_as_its_bound(posted, status, size):
    posted.answer = Response(status, b"x" * size)
    assert send(structs.replace(ENDPOINT, max_response_bytes=size)).body == b"x" * size
    assert posted.answer.is_closed is False


def test_a_larger_answer_is_refused_and_its_connection_closed(posted):
    posted.answer = Response(200, b"x" * (3 * 2**19 + 1))
    with pytest.raises(SendFailure) as raised:
        send(structs.replace(ENDPOINT, max_response_bytes=3 * 2**19))
    assert raised.value.kind == "too-large"
    assert raised.value.message == "the answer is larger than 1.5 MiB"
    assert raised.value.fault is None
    assert posted.answer.is_closed is True


@pytest.mark.parametrize("status", [199, 300, 500])
@pytest.mark.parametrize(("bound", "read"), [(10, 10), (2**20, 64 * 2**10)])
def test_an_error_page_is_read_to_its_bound(posted, status, bound, read):
    posted.answer = Response(status, b"x" * 2**17)
    answer = send(structs.replace(ENDPOINT, max_response_bytes=bound))
    assert answer.body == b"x" * read
    assert posted.answer.is_closed is True


# -- errors --------------------------------------------------------------------------------------


def os_error(number):
    return OSError(number, os.strerror(number))


def test_a_certificate_that_is_not_trusted_says_why_and_how_to_trust_it(posted):
    refused = ssl.SSLCertVerificationError()
    refused.verify_message = "self-signed certificate"
    error = aiohttp.ClientConnectorCertificateError(PLACE, refused)
    failure = failure_of(posted, error)
    assert failure.kind == "tls"
    assert failure.message == (
        "the TLS certificate of api.example:https is refused: self-signed certificate"
    )
    assert failure.hint == "SSL_CERT_FILE names the certificates that are trusted"
    assert failure.fatal is True


def test_a_certificate_that_is_refused_without_words_is_not_trusted(posted):
    error = aiohttp.ClientConnectorCertificateError(PLACE, ssl.CertificateError())
    failure = failure_of(posted, error)
    assert failure.message.endswith("is refused: not trusted")


def tls_error(reason):
    error = ssl.SSLError(1, "told by OpenSSL")
    if reason is not None:
        error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "words"),
    [("WRONG_VERSION_NUMBER", "wrong version number"), (None, "the handshake failed")],
)
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_port_that_speaks_no_tls_says_what_to_write(
    posted, reason, words, is_wrapped
):
    error = tls_error(reason)
    if is_wrapped:
        error = aiohttp.ClientConnectorSSLError(PLACE, error)
    failure = failure_of(posted, error, Endpoint("https://api.example:8443/x"))
    assert failure.kind == "tls"
    assert failure.message == f"no TLS connection to api.example:8443: {words}"
    assert failure.hint == "does this port speak TLS? If not, write http://"
    assert failure.fatal is True


def test_a_refused_connection_asks_whether_the_server_runs(posted):
    error = aiohttp.ClientConnectorError(PLACE, os_error(errno.ECONNREFUSED))
    failure = failure_of(posted, error)
    assert failure.kind == "refused"
    assert failure.message == "api.example:https refused the connection"
    assert failure.hint == "is the server running, and on this port?"
    assert failure.fault is Fault.DOWN


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (os_error(errno.EHOSTUNREACH), os.strerror(errno.EHOSTUNREACH)),
        (OSError(1, "x"), os.strerror(1)),
        (OSError(0, "x"), "no connection"),
        (OSError(-5, "x"), "no connection"),
        (OSError("x"), "no connection"),
    ],
)
def test_a_host_that_can_not_be_reached_says_why(posted, error, why):
    failure = failure_of(posted, aiohttp.ClientConnectorError(PLACE, error))
    assert failure.kind == "unreachable"
    assert failure.message == f"api.example:https can't be reached: {why}"
    assert failure.fault is Fault.DOWN


def test_a_name_that_nobody_has_stops_all(posted):
    error = socket.gaierror(socket.EAI_NONAME, "unknown")
    failure = failure_of(posted, aiohttp.ClientConnectorDNSError(PLACE, error))
    assert failure.kind == "dns"
    assert failure.message == "the name api.example does not resolve"
    assert failure.hint == (
        "is the host's name right, and is it known to this machine?"
    )
    assert failure.fatal is True
    assert failure.fault is None


def test_a_name_server_without_an_answer_may_have_one_later(posted):
    error = socket.gaierror(socket.EAI_AGAIN, "later")
    failure = failure_of(posted, aiohttp.ClientConnectorDNSError(PLACE, error))
    assert failure.kind == "dns"
    assert failure.message == (
        "the name api.example does not resolve now; the name server gave no answer"
    )
    assert failure.hint == (
        "is the host's name right, and is it known to this machine?"
    )
    assert failure.fault is Fault.DOWN
    assert failure.fatal is False


@pytest.mark.parametrize("error", [aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError])
def test_a_url_that_aiohttp_refuses_is_shown_without_its_path(posted, error):
    failure = failure_of(posted, error("https://api.example/secret"))
    assert failure.kind == "bad-url"
    assert failure.message == "https://api.example:https is not a usable URL"
    assert failure.fatal is True


def test_a_body_in_another_encoding_is_that_rows_error(posted):
    error = aiohttp.ClientPayloadError()
    error.__cause__ = aiohttp.http_exceptions.ContentEncodingError("bad")
    failure = failure_of(posted, error)
    assert failure.kind == "encoding"
    assert failure.message == (
        "api.example:https answered in another encoding than its head says"
    )
    assert failure.fault is None


def test_an_answer_that_is_not_http_is_that_rows_error(posted):
    failure = failure_of(posted, aiohttp.ClientResponseError(None, ()))
    assert failure.kind == "not-http"
    assert failure.message == "api.example:https did not answer in HTTP"
    assert failure.fault is None


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError(),
        ConnectionResetError(),
    ],
    ids=repr,
)
def test_a_closed_connection_may_be_asked_again(posted, error):
    failure = failure_of(posted, error)
    assert failure.kind == "closed"
    assert failure.message == (
        "api.example:https closed the connection before the answer was whole"
    )
    assert failure.fault is Fault.BROKEN


def test_a_timeout_of_aiohttps_is_a_timeout(posted):
    posted.answer = aiohttp.ServerTimeoutError()
    with pytest.raises(TimeoutError) as raised:
        send()
    assert type(raised.value) is TimeoutError


# -- proxies -------------------------------------------------------------------------------------


def test_a_proxy_that_can_not_be_reached_is_named_without_its_password(
    posted, monkeypatch
):
    monkeypatch.setenv("HTTPS_PROXY", "http://user:hunter2@proxy.example:3128")
    error = aiohttp.ClientProxyConnectionError(PLACE, os_error(errno.ECONNREFUSED))
    failure = failure_of(posted, error)
    assert failure.kind == "unreachable"
    assert failure.message == "the proxy proxy.example:3128 can't be reached"
    assert failure.hint == (
        "the environment names it in HTTP(S)_PROXY; NO_PROXY=api.example goes past it"
    )
    assert failure.fault is Fault.DOWN


def test_a_proxy_that_refuses_is_named_with_its_answer(posted, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    error = aiohttp.ClientHttpProxyError(None, (), status=407)
    failure = failure_of(posted, error)
    assert failure.message == (
        "the proxy proxy.example:3128 answered 407 Proxy Authentication Required"
    )


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "https://api.example/x", "http://p:1"),
        ({"HTTPS_PROXY": "https://p:1"}, "https://api.example/x", "https://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://api.example/x", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://api.example/x", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://api.example/x", "http://p:1"),
        ({"ALL_PROXY": "socks5://p:1"}, "https://api.example/x", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://localhost:8000/x", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://127.9.9.9/x", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://[::1]/x", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://10.0.0.1/x", "http://p:1"),
        (
            {"HTTP_PROXY": "http://p:1", "NO_PROXY": "api.example"},
            "http://api.example/x",
            None,
        ),
    ],
)
def test_the_proxy_of_the_environment_is_for_other_machines(
    posted, monkeypatch, environ, url, proxy
):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    posted.answer = Response(200, b"{}")
    send(Endpoint(url))
    assert posted.keys["proxy"] == proxy
