"""Files on other machines, read in parts by several processes."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rollouts.same import all_bits

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Request, RolloutFile
from pytest_evalmetrics.rollouts import remote
from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.large import read_large

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")
ROWS = [
    {"_ng_task_index": n, "_ng_rollout_index": 0, "reward": n % 2, "text": "x" * (n % 90)}
    for n in range(400)
]
ROWS[57]["text"] = "x" * 200_000  # longer than a look at the end of a part
ROWS[300]["odd"] = float("nan")
TEXT = b"\xef\xbb\xbf" + "".join(json.dumps(row) + "\r\n" for row in ROWS).encode()


class Handler(BaseHTTPRequestHandler):
    """Serves parts; ``whole`` no parts, and of ``short`` less than it was asked for."""

    asked: list[str]

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        text = TEXT if "array" not in self.path else json.dumps(ROWS).encode()
        part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if body:
            self.asked.append(self.headers.get("Range", ""))
        if part and "whole" not in self.path:
            text = text[int(part[1]) : int(part[2]) + 1 - ("short" in self.path)]
            self.send_response(206)
        else:
            self.send_response(200)
        if "whole" not in self.path:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if body:
            self.wfile.write(text)


@pytest.fixture
def server():
    Handler.asked = []
    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()
    thread.join()


def shared(path, *urls):
    files = find_files(urls, path, fetch=False)
    return read_large(files, None, Request(FieldMap(), ("reward",)), count=2, size=4000)


def test_processes_read_parts_of_what_nobody_copied(folder, server):
    url = f"{server}/runs.jsonl?token=secret"
    alone = folder.load(url, scores=["reward"])
    assert "" in Handler.asked  # the whole of it
    Handler.asked.clear()
    found = shared(folder.path, url)
    assert found is not None
    assert all_bits(found) == all_bits(alone)
    assert "" not in Handler.asked
    assert len(Handler.asked) > 10


def test_parts_of_some_files_and_the_whole_of_others(folder, server):
    folder.write(TEXT.replace(b'rollout_index": 0', b'rollout_index": 1'), "b.jsonl")
    urls = (f"{server}/a.jsonl", "b.jsonl")
    found = shared(folder.path, *urls)
    assert found is not None
    assert all_bits(found) == all_bits(folder.load(*urls, scores=["reward"]))


@pytest.mark.parametrize("name", ["whole.jsonl", "array.json", "short.jsonl", "none.csv"])
def test_what_can_not_be_read_in_parts_is_left_to_one_process(folder, server, name):
    if name == "none.csv":
        ranges_of = RolloutFile(folder.path, name, "ftp://127.0.0.1:1/none.csv", 5000)
        assert remote.look(ranges_of) is None
        return
    assert shared(folder.path, f"{server}/{name}") is None


def test_less_than_was_asked_for_is_an_error(server):
    with pytest.raises(DataError) as raised:
        remote.read_range(f"{server}/short.jsonl?token=secret", "short.jsonl", 10, 30)
    assert raised.value.message == "only 19 of 20 bytes arrived"
