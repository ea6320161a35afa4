"""A judge in a process of its own, and rows that are judged without a pytest run."""

import json
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, Calls, Row, Terms
from pytest_evalmetrics.scorers import make_scorers
from pytest_evalmetrics.spec.model_keys import ModelSpec
from pytest_evalmetrics.transport import Journal, Occurrences, Transport

CHAT = "/v1/chat/completions"


class ServerProcess:
    """A process of a file of scorers/; it can be killed and come back on its port."""

    def __init__(self, file):
        self.file = Path(__file__).parent / "scorers" / file
        self.port = 0
        self.start()

    def start(self):
        command = [sys.executable, str(self.file), str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def at(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def seen(self, query=""):
        url = self.at(f"/{query}")
        with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - loopback
            return json.load(response)


class JudgeProcess(ServerProcess):
    """A process of scorers/judge.py; what it saw is counted from `forget` on."""

    def __init__(self):
        super().__init__("judge.py")
        self.forget()

    def url(self, query=""):
        return self.at(CHAT) + (f"?{query}" if query else "")

    def model(self, query="", **more):
        return ModelSpec(url=self.url(query), name="judge", **more)

    def entry(self, query="", **more):
        """Write the model as a benchmark file does."""
        return {"url": self.url(query), "name": "judge", **more}

    def forget(self):
        seen = self.seen()
        self._posts, self._bodies = seen["posts"], len(seen["bodies"])

    @property
    def posts(self):
        return int(self.seen()["posts"]) - self._posts

    @property
    def bodies(self):
        return list(self.seen()["bodies"][self._bodies :])


def row(**item):
    return Row(0, "agent", 0, 0, item, {}, "data.jsonl:1")


def run(work, path=None, of=None):
    """Do something with a row's calls; give what came out, and the calls."""
    with closing(Transport(None if path is None else Journal(path))) as transport:
        calls = Calls(transport, (of or row()).sample, Occurrences(), "x")
        return transport.run(work(calls)), calls


TERMS = Terms(timeout_s=10)


def scorer_of(terms=TERMS, **keys):
    """Make the scorer of an entry of a benchmark file."""
    whole = {"name": "x", "dataset": "d.jsonl", "scorers": [keys]}
    (scorer,) = make_scorers(
        TypeAdapter(BenchmarkSpec).validate_json(json.dumps(whole)).scorers, terms, lambda *_: 1
    )
    return scorer


def judged(scorer, found, path=None):
    """Score one row."""
    return run(lambda calls: scorer.score_with(found, calls), path, found)[0]
