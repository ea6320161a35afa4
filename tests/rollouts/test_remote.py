"""Rollouts that lie elsewhere: real servers on this machine's loopback."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_evalmetrics.rollouts import remote

pytest.importorskip("fsspec")
ROWS = [{"_ng_task_index": n, "_ng_rollout_index": 0, "reward": n % 2} for n in range(50)]
TEXT = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


class Handler(BaseHTTPRequestHandler):
    """Serves rows, and what goes wrong with them."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        name = self.path.partition("?")[0]
        status = {"/denied.jsonl": 403, "/none.jsonl": 404, "/down.jsonl": 503}.get(name, 200)
        self.send_response(status)
        text = TEXT if status == 200 else b""
        if name == "/chunked.jsonl":  # says no length, so that only its end tells that it is whole
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if body:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            return
        self.send_header("Content-Length", str(len(text) + (name == "/cut.jsonl") * 100))
        self.end_headers()
        if body:
            self.wfile.write(text)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("aiohttp")
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


def test_over_http(folder, server):
    table = folder.load(f"{server}/runs.jsonl?token=secret", scores=["reward"])
    assert table.scores["reward"].tolist() == [row["reward"] for row in ROWS]
    ((source),) = table.sources
    assert (source.path, source.size) == (f"{server}/runs.jsonl", len(TEXT))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("denied", "access is denied: 403"),
        ("none", "there is no such file"),
        ("down", "this can't be fetched: 503"),
        ("cut", "the connection was closed before all of it had arrived: "),
    ],
)
def test_what_goes_wrong_over_http(folder, server, name, message):
    url = f"{server.replace('://', '://user:word@')}/{name}.jsonl?token=secret"
    refused = folder.refused(url)
    assert refused.file == f"{server}/{name}.jsonl"
    assert message in refused.message
    assert "secret" not in str(refused)
    assert "word" not in str(refused)


@pytest.mark.parametrize("name", ["cut", "chunked"])
def test_a_connection_that_is_closed_in_the_middle(folder, server, name):
    refused = folder.refused(f"{server}/{name}.jsonl?token=secret", scores=["reward"])
    assert refused.file == f"{server}/{name}.jsonl"
    assert refused.message.startswith("the connection was closed before all of it had arrived")
    assert "try again" in str(refused.hint)


class Expired(BaseHTTPRequestHandler):
    """Answers as S3 does where temporary credentials have run out, or may not read."""

    code = "ExpiredToken"
    said = "The provided token has expired."

    def log_message(self, *_):
        pass

    def answer(self, status, *, body):
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{self.code}</Code><Message>{self.said}</Message></Error>"
        ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if body:
            self.wfile.write(text)

    def do_HEAD(self):
        self.answer(400 if self.code == "ExpiredToken" else 403, body=False)

    def do_GET(self):
        self.answer(400 if self.code == "ExpiredToken" else 403, body=True)


class Denied(Expired):
    """Answers as S3 does where the credentials hold and may not read."""

    code = "AccessDenied"
    said = "Access Denied"


class Forbidden(Expired):
    """Answers as other stores do, with 403."""

    def do_HEAD(self):
        self.answer(403, body=False)

    def do_GET(self):
        self.answer(403, body=True)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("name", ["a.jsonl", "*.jsonl"])
@pytest.mark.parametrize("answers", [Expired, Forbidden, Denied])
def test_credentials_that_do_not_open_it(folder, monkeypatch, answers, name):
    pytest.importorskip("s3fs")
    made = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-of-yesterday")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    try:
        refused = folder.refused(f"s3://runs/math/{name}")
    finally:
        made.shutdown()
        made.server_close()
        thread.join()
    assert refused.file == f"s3://runs/math/{name}"
    assert refused.message.startswith("access is denied: ")
    assert "not expired" in str(refused.hint)
    assert "secret" not in str(refused)
    assert "token-of-yesterday" not in str(refused)
    assert answers.said in refused.message


@pytest.fixture(scope="module")
def bucket():
    pytest.importorskip("s3fs")
    boto3 = pytest.importorskip("boto3")
    moto = pytest.importorskip("moto.server")
    made = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    made.start()
    host, port = made.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "word")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3")
        client.create_bucket(Bucket="runs")
        half = len(ROWS) // 2
        for name, rows in (("a", ROWS[:half]), ("b", ROWS[half:])):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            client.put_object(Bucket="runs", Key=f"math/{name}.jsonl", Body=text.encode())
        client.close()
        yield
    made.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.usefixtures("bucket")
def test_from_s3(folder):
    table = folder.load("s3://runs/math/*.jsonl", scores=["reward"])
    assert table.scores["reward"].tolist() == [row["reward"] for row in ROWS]
    assert [s.path for s in table.sources] == [f"s3://runs/math/{n}.jsonl" for n in "ab"]
    assert len(folder.load("s3://runs/math/a.jsonl", scores=["reward"])) == 25
    assert folder.refused("s3://runs/math/c.jsonl").message == "there is no such file"
    assert folder.refused("s3://runs/math/c*").message == "this matches no file"
    assert "is a folder" in folder.refused("s3://runs/math").message


def test_a_file_that_grows_shorter(folder, server, monkeypatch):
    made = remote.system_of

    def system(url):
        found, path = made(url)
        monkeypatch.setattr(found, "info", lambda _: {"size": len(TEXT) + 7})
        return found, path

    monkeypatch.setattr(remote, "system_of", system)
    refused = folder.refused(f"{server}/runs.jsonl")
    assert refused.message == f"only {len(TEXT)} of {len(TEXT) + 7} bytes arrived"


@pytest.mark.parametrize(
    ("url", "extra"),
    [("s3://a/b.jsonl", "s3"), ("hf://datasets/a/b.jsonl", "hf"), ("https://a.invalid/b", "http")],
)
def test_what_has_to_be_installed(folder, monkeypatch, url, extra):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    refused = folder.refused(url)
    assert f'pip install "pytest-evalmetrics[{extra}]"' in str(refused.hint)


def test_a_place_that_nobody_knows(folder):
    refused = folder.refused("nowhere://a/b.jsonl")
    assert refused.file == "nowhere://a/b.jsonl"
    assert "can't be fetched" in refused.message
