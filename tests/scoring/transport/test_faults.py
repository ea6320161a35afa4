"""Each fault of a network and a server, met for real: a server process on loopback."""

import shutil
import socket
import ssl
import subprocess
import threading
from urllib.parse import quote

import pytest
from scoring.transport.fakes import KEY

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.wire import EndpointError


@pytest.fixture
def ask(client, server):
    client(network=True, base_s=0.01)

    def ask(path, body=None, **settings):
        url = path if "://" in path else server.at(path)
        return client.ask(body, url=url, **settings).body

    return ask


def test_a_large_body_goes_through(ask):
    assert len(ask("/echo", {"text": "x" * 3_000_000})["text"]) > 3_000_000


def test_connections_are_kept_alive_and_no_cookies(client, ask, server):
    url = f"http://localhost:{server.port}/cookie"  # a number would get none at all
    assert [ask(url) for _ in range(2)] == [{"cookie": None}] * 2
    client.ask_many(range(200), 4, url=server.at("/ok"))
    assert server.seen()["connections"] <= 1 + 4 + 1


@pytest.mark.parametrize(
    ("at", "kind", "message"),
    [
        (
            "/status?code=500",
            "http-500",
            "answered 500 Internal Server Error, and said: no such",
        ),
        (
            "/cut",
            "closed",
            r"closed the connection before the answer was whole \(4 attempts\)",
        ),
        ("/close", "closed", "closed the connection"),
        ("/garbage", "not-http", "did not answer in HTTP"),
    ],
)
def test_an_answer_that_is_none(ask, at, kind, message):
    with pytest.raises(CallError, match=message) as error:
        ask(at)
    assert error.value.kind == kind
    assert str(error.value).startswith("POST http://127.0.0.1:")


LIES = {
    "a longer body": "not-http",
    "a shorter body": "closed",
    "two lengths": "not-http",
    "a length that is no number": "not-http",
    "gzip": "encoding",
    "half of the gzip": "invalid-json",
    "half of the chunks": "closed",
    "a chunk's size": "not-http",
    "utf-16": "invalid-json",
    "a charset of its own": "invalid-json",
    "a charset that is no text": "invalid-json",
    "3 MB of spaces": "empty",
    "zeros": "invalid-json",
    "no content": "empty",
    "a head without an end": "not-http",
}


@pytest.mark.parametrize("about", LIES)
def test_an_answer_that_is_not_what_its_head_says_fails_its_row_alone(ask, about):
    assert ask("/ok")["score"] == 1.0
    with pytest.raises(CallError) as error:
        ask(f"/lie?about={quote(about)}", max_retries=0)
    assert error.value.kind == LIES[about]
    assert ask("/ok", {"row": 2})["score"] == 1.0


@pytest.mark.parametrize(
    "about",
    [
        "no length",
        "no content type",
        "an encoding of its own",
        "3 MB of spaces before it",
    ],
)
def test_an_answer_with_a_poor_head_is_read(ask, about):
    assert ask(f"/lie?about={quote(about)}") == {"score": 1.0}


def test_a_page_of_a_503_is_asked_again_and_its_title_is_shown(client, server):
    client(network=True, give_up_s=0.2)
    with pytest.raises(EndpointError, match="said: 503 Service Temporarily") as error:
        client.ask(url=server.at(f"/lie?about={quote('a page of a 503')}"))
    assert "nothing was answered for 0.2 s" in str(error.value)


@pytest.mark.parametrize("chunked", ["", "&chunked=1"])
@pytest.mark.parametrize("code", [200, 400])
def test_a_huge_body_is_not_read(ask, chunked, code):
    with pytest.raises(CallError) as error:
        ask(f"/huge?bytes=500000000&code={code}{chunked}", max_response_bytes=2**20)
    assert error.value.kind == ("too-large" if code == 200 else "http-400")
    assert ("the answer is larger than 1 MiB" in str(error.value)) == (code == 200)


def test_a_small_one_that_unpacks_to_a_huge_one_is_not_either(ask):
    assert ask("/gzip?bytes=1000") == 1
    with pytest.raises(CallError, match="the answer is larger than 1 MiB"):
        ask("/gzip?bytes=50000000", max_response_bytes=2**20)


def test_a_slow_drip_does_not_pass_the_timeout(ask):
    with pytest.raises(
        CallError, match=r"no whole answer within 0\.1 s \(2 attempts\)"
    ) as error:
        ask("/drip", timeout_s=0.1, max_retries=1)
    assert error.value.kind == "timeout"


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(ask, server, code):
    with pytest.raises(EndpointError, match="redirects are not followed"):
        ask(f"/redirect?code={code}&to={quote(server.at('/echo'))}", secret=KEY)
    assert server.count("/echo") == 0


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        (
            "http://127.0.0.1:{free}/x",
            r"127\.0\.0\.1:{free} refused",
            "is the server running",
        ),
        (
            "https://127.0.0.1:{used}/x",
            r"no TLS connection to 127\.0\.0\.1:{used}: ",
            "http://",
        ),
    ],
)
def test_a_server_that_is_not_there_and_one_without_tls(
    ask, server, url, message, hint
):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        ports = {"free": free.getsockname()[1], "used": server.port}
    with pytest.raises(EndpointError, match=message.format(**ports)) as error:
        ask(url.format(**ports))
    assert hint in str(error.value)


@pytest.fixture
def tls_port(tmp_path):
    """A TLS server with a certificate that nobody trusts."""
    process = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "1", "-subj", "/CN=local"],
        cwd=tmp_path, capture_output=True, check=False,
    ) if shutil.which("openssl") else None  # fmt: skip
    if process is None or process.returncode:
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
        EndpointError,
        match=rf"certificate of 127\.0\.0\.1:{tls_port} is refused: self.signed",
    ) as error:
        ask(f"https://127.0.0.1:{tls_port}/x")
    assert "SSL_CERT_FILE" in str(error.value)


def test_a_proxy_of_the_environment_is_for_others_only(ask, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://user:hunter2@127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for host in ("127.0.0.1", "localhost"):
        assert ask(f"http://{host}:{server.port}/ok")["score"] == 1.0
    with pytest.raises(
        EndpointError, match=r"the proxy 127\.0\.0\.1:9 can't be"
    ) as error:
        ask("http://api.example/x")
    assert "hunter2" not in str(error.value)
    assert "NO_PROXY=api.example goes past it" in str(error.value)


def test_a_name_that_does_not_resolve(ask):
    """Reserved by RFC 6761: nobody has it. Without a name server it can't be known for sure."""
    with pytest.raises(
        (CallError, EndpointError),
        match=r"the name no-such-host\.invalid does not resolve",
    ):
        ask("http://no-such-host.invalid/x", {})
