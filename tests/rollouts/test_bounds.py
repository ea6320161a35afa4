"""Bounds on what is read: a row's length, a compressed file's expansion, one value per key."""

import gzip
import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def bomb(path, start, block):
    """Write 320 MiB of one block after a start, as members of a compressed file."""
    pack = gzip.compress if path.suffix == ".gz" else zstd.compress
    path.write_bytes(pack(start.encode()) + pack(block.encode() * (1 << 20)) * 320)


_READ = """
import re, resource, sys, time
from pathlib import Path
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.spec import RolloutsSpec
start = time.process_time()
try:
    load(RolloutsSpec(path=(sys.argv[1],)), Path(), scores=["reward"])
except DataError as error:
    print(time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's peak too, unless one asks here
        peak = int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1])
    print(peak / 1024)
    print(error.message)
"""


@pytest.mark.parametrize(
    ("name", "start", "text", "bound"),
    [
        ("bomb.jsonl.gz", '{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES"),
        ("bomb.jsonl.zst", '{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES"),
        ("bomb.json.gz", '[{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES"),
        ("bomb.csv.gz", "_ng_task_index,reward\n1,", "1", "EVALMETRICS_MAX_ROW_BYTES"),
        ("bomb.jsonl.gz", "", " ", "EVALMETRICS_MAX_EXPANSION"),
        (
            "bomb.jsonl.gz",
            '{"_ng_task_index": 1, "reward": 1}\n',
            "\n",
            "EVALMETRICS_MAX_EXPANSION",
        ),
    ],
)
def test_a_bomb_is_refused_soon_and_in_little_memory(tmp_path, name, start, text, bound):
    """320 MiB are enough: what is read does not depend on what follows."""
    bomb(tmp_path / name, start, text)
    read = [sys.executable, "-c", _READ, name]
    out = subprocess.run(read, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    seconds, mebibytes, message = out.splitlines()
    assert bound in message
    assert float(seconds) < 10
    assert float(mebibytes) < 300


def test_the_bounds_can_be_set(folder, monkeypatch):
    row = {"_ng_task_index": 0, "reward": 1, "text": "x" * (5 << 20)}
    folder.rows([row])
    folder.write(json.dumps([row]), "runs.json")
    assert len(folder.load(scores=["reward"])) == 1
    monkeypatch.setenv("EVALMETRICS_MAX_ROW_BYTES", "1000000")
    for name in ("runs.jsonl", "runs.json"):
        refused = folder.refused(name, scores=["reward"])
        assert refused.line == 1
        assert "more than 1,000,000 bytes, which EVALMETRICS_MAX_ROW_BYTES" in refused.message
    monkeypatch.setenv("EVALMETRICS_MAX_ROW_BYTES", "many")
    assert "EVALMETRICS_MAX_ROW_BYTES is 'many'" in folder.refused().message


def test_the_expansion_can_be_set(folder, monkeypatch):
    start = '{"_ng_task_index": 0, "reward": 1}'
    bomb(folder.path / "runs.jsonl.zst", start, "\n")
    assert "EVALMETRICS_MAX_EXPANSION" in folder.refused("runs.jsonl.zst").message
    monkeypatch.setenv("EVALMETRICS_MAX_EXPANSION", "1000000")
    assert len(folder.load("runs.jsonl.zst", scores=["reward"])) == 1


# -- one value per key --------------------------------------------------------------------------


def lines(count, odd, text):
    rows = [
        f'{{"_ng_task_index": {n}, "reward": 1, "usage": {{"t": {n}}}}}\n' for n in range(count)
    ]
    rows[odd] = text + "\n"
    return "".join(rows)


@pytest.mark.parametrize("odd", [0, 1, 70, 199])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"_ng_task_index": 9000, "reward": 1, "reward": 0, "usage": {"t": 1}}', "reward"),
        ('{"_ng_task_index": 9000, "_ng_task_index": 9001, "reward": 1}', "_ng_task_index"),
        ('{"_ng_task_index": 9000, "reward": 1, "usage": {"t": 1, "t": 2}}', "t"),
        ('{"_ng_task_index": 9000, "reward": NaN, "usage": {"t": 1, "\\u0074": 2}}', "t"),
    ],
)
def test_a_key_that_stands_twice_is_refused(folder, odd, text, key):
    folder.write(lines(200, odd, text))
    refused = folder.refused(scores=["reward"])
    assert (refused.file, refused.line) == ("runs.jsonl", odd + 1)
    assert refused.message == f"the key {key!r} stands twice in one object of this row"


def test_it_is_refused_in_every_row_of_a_large_file(folder):
    row = '{"_ng_task_index": %d, "reward": 1, "reward": 0, "text": "' + "x" * 4000 + '"}\n'
    folder.write("".join(row % n for n in range(2000)))
    assert folder.refused(scores=["reward"]).line == 1


@pytest.mark.parametrize("odd", [1, 170])
def test_it_is_refused_in_an_array(folder, odd):
    rows = lines(200, odd, '{"_ng_task_index": 9000, "a": 1, "a": 2}').splitlines()
    folder.write("[" + ",\n".join(rows) + "]", "a.json")
    refused = folder.refused("a.json", scores=["reward"])
    assert refused.line == odd + 1
    assert "the key 'a' stands twice" in refused.message


def test_an_underscore_makes_no_number_of_a_cell(folder):
    folder.write("_ng_task_index,reward\n1, 1_000 \n", "a.csv")
    refused = folder.refused("a.csv", scores=["reward"])
    assert refused.message == "the score 'reward' is '1_000'; expected a number"


# -- places that can't be reached ---------------------------------------------------------------


class LoginPage(BaseHTTPRequestHandler):
    """Answers everything with a page."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        text = b"\n<!DOCTYPE html><html><title>Sign in</title></html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(text)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls


@pytest.fixture
def login():
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    made = ThreadingHTTPServer(("127.0.0.1", 0), LoginPage)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


def closed_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def test_a_login_page_is_no_file_of_rollouts(folder, login):
    refused = folder.refused(f"http://{login}/runs.jsonl", scores=["reward"])
    assert refused.message == "this is a web page, not rollouts"
    assert "login page" in str(refused.hint)
    refused = folder.refused(f"https://{login}/runs.jsonl", scores=["reward"])
    assert refused.message.startswith("no encrypted connection can be made: ")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:{port}/runs.jsonl", "the server can't be reached: "),
        ("http://no-such-host.invalid/runs.jsonl", "there is no such host: "),
        ("http://" + "a" * 70 + ".com/runs.jsonl", "this is no valid URL: "),
        ("http://[::1/runs.jsonl", "this is no valid URL: "),
    ],
)
def test_a_host_that_does_not_answer(folder, url, message):
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    refused = folder.refused(url.format(port=closed_port()), scores=["reward"])
    assert refused.message.startswith(message)


def test_a_proxy_that_does_not_answer(folder, monkeypatch):
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port()}")
    refused = folder.refused("http://example.invalid/runs.jsonl", scores=["reward"])
    assert refused.message.startswith("the proxy can't be reached: ")
    assert "HTTP_PROXY" in refused.hint
