"""Each fault of a network and a server, met for real: a server process on loopback."""

import shutil
import socket
import ssl
import subprocess
import threading
from urllib.parse import quote

import pytest

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import (
    Call,
    EndpointError,
    RetryPolicy,
    Secret,
    Transport,
    run_bounded,
)

QUICK = RetryPolicy(base_s=0.01)
KEY = Secret("my-key", "MY_KEY", "sk-s3cr3t-value")


@pytest.fixture(scope="module")
def client():
    with Transport(policy=QUICK) as transport:
        yield transport


@pytest.fixture
def ask(client, shared_server):
    def ask(path, body=None, **settings):
        url = path if "://" in path else shared_server.url(path)
        return client.run(client.call(Call(Endpoint(url, **settings), body)))

    return ask


def test_a_large_body_goes_through(ask):
    assert len(ask("/echo", {"text": "x" * 3_000_000}).body["text"]) > 3_000_000


def test_connections_are_kept_alive(server):
    with Transport(policy=QUICK) as client:
        endpoint = Endpoint(server.url("/ok"), parallelism=4)
        client.run(
            run_bounded(lambda n: client.call(Call(endpoint, n)), range(200), 4, lambda *_: None)
        )
        assert server.seen()["connections"] <= 4 + 1


def test_cookies_are_not_kept(ask, shared_server):
    url = f"http://localhost:{shared_server.port}/cookie"  # a number would get none at all
    assert [ask(url, {}).body for _ in range(2)] == [{"cookie": None}] * 2


ROW_ERRORS = [
    ("/status?code=500", "http-500", r"answered 500 Internal Server Error.*\(4 attempts\)"),
    ("/status?code=422&said=bad+field", "http-422", "answered 422 .*, and said: bad field$"),
    ("/cut", "closed", r"closed the connection before the answer was whole \(4 attempts\)"),
    ("/close", "closed", "closed the connection"),
    ("/html?code=502", "http-502", "answered 502 Bad Gateway, and said: Bad gateway"),
    ("/type?type=text/plain", "content-type", "text/plain, expected .*/json, and said: 0.5"),
    ("/type?type=text/event-stream&body=data:", "content-type", "text/event-stream"),
    ("/raw?body={broken", "invalid-json", "no JSON: Expecting property name.*and said: {broken"),
    ("/raw?body=%C3%BF", "invalid-json", "not in utf-8"),
    ('/raw?body={"score":NaN}', "not-finite", "NaN, which is no finite number"),
    ("/empty", "empty", "empty body"),
    ("/empty?code=204", "empty", "answered 204 No Content with an empty body"),
    ("/garbage", "not-http", "did not answer in HTTP"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "kind", "message"), ROW_ERRORS, ids=[p for p, _, _ in ROW_ERRORS])
def test_an_answer_that_is_none(ask, path, kind, message):
    with pytest.raises(CallError, match=message) as error:
        ask(path.replace('"', quote('"')), {})
    assert error.value.kind == kind
    assert str(error.value).startswith("POST http://127.0.0.1:")


@pytest.mark.parametrize("chunked", ["", "&chunked=1"])
@pytest.mark.parametrize("code", [200, 400])
def test_a_huge_body_is_not_read(ask, chunked, code):
    with pytest.raises(CallError) as error:
        ask(f"/huge?bytes=500000000&code={code}{chunked}", {}, max_response_bytes=2**20)
    assert error.value.kind == ("too-large" if code == 200 else "http-400")
    if code == 200:
        assert "the answer is larger than 1 MiB" in str(error.value)


def test_a_small_one_that_unpacks_to_a_huge_one_is_not_either(ask):
    assert ask("/gzip?bytes=1000", {}).body == 1
    with pytest.raises(CallError, match="the answer is larger than 1 MiB"):
        ask("/gzip?bytes=50000000", {}, max_response_bytes=2**20)


def test_a_slow_drip_does_not_pass_the_timeout(ask):
    with pytest.raises(CallError, match=r"no whole answer within 0\.1 s \(2 attempts\)") as error:
        ask("/drip", {}, timeout_s=0.1, max_retries=1)
    assert error.value.kind == "timeout"


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_refusal_stops_everything_with_its_words_and_without_the_key(ask, code):
    with pytest.raises(
        EndpointError, match=f"answered {code} .*, and said: wrong key \\*\\*\\*"
    ) as error:
        ask(f"/status?code={code}&said=wrong+key+sk-s3cr3t-value", {}, secret=KEY)
    assert "s3cr3t" not in str(error.value)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server, code):
    url = server.url(f"/redirect?code={code}&to={quote(server.url('/echo'))}")
    with (
        Transport(policy=QUICK) as client,
        pytest.raises(EndpointError, match="redirects are not followed"),
    ):
        client.run(client.call(Call(Endpoint(url, KEY), {"secret": 1})))
    assert server.count("/echo") == 0


def test_a_refused_connection(ask):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        EndpointError, match=rf"127\.0\.0\.1:{port} refused the connection"
    ) as error:
        ask(f"http://127.0.0.1:{port}/x", {})
    assert "is the server running" in str(error.value)


def test_a_name_that_does_not_resolve(ask):
    """Reserved by RFC 6761: nobody has it. Without a name server it can't be known for sure."""
    with pytest.raises(
        (CallError, EndpointError), match=r"the name no-such-host\.invalid does not resolve"
    ) as error:
        ask("http://no-such-host.invalid/x", {})
    if isinstance(error.value, CallError):
        assert (error.value.kind, error.value.attempts) == ("dns", 4)


def test_tls_to_a_port_that_speaks_none(ask, shared_server):
    with pytest.raises(EndpointError, match=r"no TLS connection to 127\.0\.0\.1:\d+: ") as error:
        ask(shared_server.url("/ok", "https"), {})
    assert "http://" in str(error.value)


@pytest.fixture
def tls_port(tmp_path):
    """A TLS server with a certificate that nobody trusts."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "1", "-subj", "/CN=local"],
        cwd=tmp_path, capture_output=True, check=False,
    ) if shutil.which("openssl") else None  # fmt: skip
    if made is None or made.returncode:
        pytest.skip("openssl is not here to make a certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        try:
            connection, _ = listener.accept()
            with connection:
                context.wrap_socket(connection, server_side=True)
        except OSError:
            pass  # the client hangs up: that is what it should do

    thread = threading.Thread(target=accept)
    thread.start()
    yield listener.getsockname()[1]
    listener.close()
    thread.join()


def test_a_certificate_that_is_not_trusted(ask, tls_port):
    with pytest.raises(
        EndpointError, match=rf"certificate of 127\.0\.0\.1:{tls_port} is refused: self.signed"
    ) as error:
        ask(f"https://127.0.0.1:{tls_port}/x", {})
    assert "SSL_CERT_FILE" in str(error.value)


def test_a_proxy_of_the_environment_is_for_others_only(shared_server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:hunter2@127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with Transport(policy=QUICK) as client:
        for host in ("127.0.0.1", "localhost"):
            endpoint = Endpoint(f"http://{host}:{shared_server.port}/ok")
            assert client.run(client.call(Call(endpoint, {}))).status == 200
        with pytest.raises(EndpointError, match=r"the proxy 127\.0\.0\.1:9 can't be") as error:
            client.run(client.call(Call(Endpoint("http://api.example/x"), {})))
    assert "hunter2" not in str(error.value)
    assert "NO_PROXY=api.example goes past it" in str(error.value)


def test_an_endpoint_that_bears_little_gets_little(server):
    """It bears 4 at once and turns all others away; 32 are allowed: every row gets through."""
    outcomes = {}
    with Transport(policy=QUICK) as client:
        endpoint = Endpoint(server.url("/busy?bears=4"), parallelism=32, max_retries=20)
        call = lambda n: client.call(Call(endpoint, n))  # noqa: E731 - short
        client.run(run_bounded(call, range(300), 32, outcomes.__setitem__))
    assert all(not isinstance(o, CallError) for o in outcomes.values())
    assert len(outcomes) == 300
    assert server.count("/busy") < 600
