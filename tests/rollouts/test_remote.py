"""Rollouts that lie elsewhere: real servers on this machine's loopback."""

import json
import re
import socket
import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler

import pytest
from rollouts.conftest import serving
from rollouts.same import all_bits

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
ROWS = [
    {
        "_ng_task_index": n,
        "_ng_rollout_index": 0,
        "reward": n % 2,
        "text": "x" * (n % 90),
    }
    for n in range(400)
]
ROWS[57]["text"] = "x" * 200_000  # longer than a look at the end of a part
ROWS[300]["odd"] = float("nan")
TEXT = b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\r\n" for row in ROWS).encode()
PAGE = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
STATUS = {"denied": 403, "none": 404, "down": 503}


class Handler(BaseHTTPRequestHandler):
    """Serves rows and parts of them, and what the names of files say that goes wrong."""

    asked: list[str]

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.asked.append(self.headers.get("Range", ""))
        self.answer(body=True)

    def answer(self, *, body):
        name = self.path.partition("?")[0].strip("/").partition(".")[0]
        text = {"array": json.dumps(ROWS).encode(), "login": PAGE}.get(name, TEXT)
        status = STATUS.get(name, 200)
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if status != 200:
            text = b""
        elif part and name in ("runs", "array", "short"):
            text = text[int(part[1]) : int(part[2]) + 1 - (name == "short")]
            status = 206
        self.send_response(status)
        if name in ("runs", "array", "short"):
            self.send_header("Accept-Ranges", "bytes")
        if (
            name == "chunked"
        ):  # says no length, so that only its end tells that it is whole
            self.send_header("Transfer-Encoding", "chunked")
            text = b"%x\r\n%s\r\n" % (len(text), text)
        else:
            longer = (name == "cut") * 100 + (name == "shrinks" and not body) * 7
            self.send_header("Content-Length", str(len(text) + longer))
        self.end_headers()
        if body:
            self.wfile.write(text)


@pytest.fixture
def server():
    Handler.asked = []
    with serving(Handler) as place:
        yield f"http://{place}"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("denied", "access is denied: 403", ""),
        ("none", "there is no such file", ""),
        ("down", "this can't be fetched: 503", ""),
        (
            "cut",
            "the connection was closed before all of it had arrived: ",
            "try again",
        ),
        (
            "chunked",
            "the connection was closed before all of it had arrived",
            "try again",
        ),
        ("shrinks", f"only {len(TEXT)} of {len(TEXT) + 7} bytes arrived", ""),
        ("login", "this is a web page, not rollouts", "login page"),
    ],
)
def test_what_goes_wrong_over_http(folder, server, name, message, hint):
    url = f"{server.replace('://', '://user:word@')}/{name}.jsonl?token=secret"
    refused = folder.refused(url, scores=["reward"])
    assert refused.file == f"{server}/{name}.jsonl"
    assert message in refused.message
    assert hint in str(refused.hint)
    assert "secret" not in str(refused)
    assert "word" not in str(refused)


def closed_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:{port}/runs.jsonl", "the server can't be reached: "),
        ("http://no-such-host.invalid/runs.jsonl", "there is no such host: "),
        ("http://" + "a" * 70 + ".com/runs.jsonl", "this is not a valid URL: "),
        ("http://[::1/runs.jsonl", "this is not a valid URL: "),
        ("nowhere://a/b.jsonl", "this can't be fetched"),
    ],
)
def test_a_host_that_does_not_answer(folder, url, message):
    refused = folder.refused(url.format(port=closed_port()), scores=["reward"])
    assert refused.message.startswith(message)


def test_no_encryption_and_a_proxy_that_does_not_answer(folder, server, monkeypatch):
    refused = folder.refused(
        f"{server.replace('http', 'https')}/runs.jsonl", scores=["reward"]
    )
    assert refused.message.startswith("no encrypted connection can be made: ")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port()}")
    refused = folder.refused("http://example.invalid/runs.jsonl", scores=["reward"])
    assert refused.message.startswith("the proxy can't be reached: ")
    assert "HTTP_PROXY" in refused.hint


@pytest.mark.parametrize(
    ("url", "extra"),
    [
        ("s3://a/b.jsonl", "s3"),
        ("hf://datasets/a/b.jsonl", "hf"),
        ("https://a.invalid/b", "http"),
    ],
)
def test_what_has_to_be_installed(folder, monkeypatch, url, extra):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    refused = folder.refused(url)
    assert f'pip install "pytest-evalmetrics[{extra}]"' in str(refused.hint)


def test_processes_read_parts_of_what_nobody_copied_beside_whole_files(folder, server):
    folder.write(TEXT.replace(b'rollout_index": 0', b'rollout_index": 1'), "b.jsonl")
    paths = (f"{server}/runs.jsonl?token=secret", "b.jsonl")
    alone = folder.load(*paths, scores=["reward"])
    assert alone.scores["reward"].tolist() == [
        row["reward"] for row in ROWS for _ in "ab"
    ]
    source = alone.sources[0]
    assert (source.path, source.size) == (f"{server}/runs.jsonl", len(TEXT))
    assert "" in Handler.asked  # the whole of it
    Handler.asked.clear()
    shared = folder.shared(*paths, count=2, size=4000)
    assert shared is not None
    assert all_bits(shared) == all_bits(alone)
    assert "" not in Handler.asked
    assert len(Handler.asked) > 10


@pytest.mark.parametrize(
    ("name", "requests"), [("whole.jsonl", 1), ("short.jsonl", 1), ("array.json", 2)]
)
def test_what_can_not_be_read_in_parts_is_left_to_one_process(
    folder, server, name, requests
):
    assert folder.shared(f"{server}/{name}", count=2, size=4000) is None
    assert (
        len(Handler.asked) == requests
    )  # whether there are parts, then what it begins with
    assert Handler.asked[0] == "bytes=1-1"


class Store(BaseHTTPRequestHandler):
    """Answers as S3 and other stores do where credentials have run out, or may not read."""

    error: tuple[int, str, str]

    def log_message(self, *_):
        pass

    def do_GET(self):
        status, code, message = self.error
        text = (
            f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        )
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(text)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls


def credentials(patch, endpoint):
    patch.setenv("AWS_ENDPOINT_URL", f"http://{endpoint}")
    patch.setenv("AWS_ACCESS_KEY_ID", "key")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", ["a.jsonl", "*.jsonl"])
@pytest.mark.parametrize(
    "error",
    [
        (400, "ExpiredToken", "The provided token has expired."),
        (403, "ExpiredToken", "The provided token has expired."),
        (403, "AccessDenied", "Access Denied"),
    ],
)
def test_credentials_that_do_not_open_it(folder, monkeypatch, error, name):
    pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-yesterday")
    monkeypatch.setattr(Store, "error", error, raising=False)
    with serving(Store) as place:
        credentials(monkeypatch, place)
        refused = folder.refused(f"s3://runs/math/{name}")
    assert refused.file == f"s3://runs/math/{name}"
    assert refused.message.startswith("access is denied: ")
    assert "not expired" in str(refused.hint)
    assert "secret" not in str(refused)
    assert "token-of-yesterday" not in str(refused)
    assert error[2] in refused.message


def put(place, path, content=b""):
    """Write a bucket or a file of the store, which asks nobody who they are."""
    connection = HTTPConnection(place)
    connection.request("PUT", path, content)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_from_s3(folder, monkeypatch):
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    place = "{}:{}".format(*server.get_host_and_port())
    credentials(monkeypatch, place)
    put(place, "/runs")
    for name, rows in (("a", ROWS[:200]), ("b", ROWS[200:])):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        put(place, f"/runs/math/{name}.jsonl", text.encode())
    table = folder.load("s3://runs/math/*.jsonl", scores=["reward"])
    assert table.scores["reward"].tolist() == [row["reward"] for row in ROWS]
    assert [s.path for s in table.sources] == [
        f"s3://runs/math/{n}.jsonl" for n in "ab"
    ]
    assert len(folder.load("s3://runs/math/a.jsonl", scores=["reward"])) == 200
    assert folder.refused("s3://runs/math/c.jsonl").message == "there is no such file"
    assert folder.refused("s3://runs/math/c*").message == "this matches no file"
    assert "is a folder" in folder.refused("s3://runs/math").message
    server.stop()
