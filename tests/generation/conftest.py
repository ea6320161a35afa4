"""A real server process on loopback that speaks as OpenAI's API does."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest


class Model:
    """A process of openai_server.py."""

    def __init__(self):
        path = Path(__file__).with_name("openai_server.py")
        self.process = subprocess.Popen(
            [sys.executable, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def close(self):
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def seen(self):
        with urllib.request.urlopen(self.url, timeout=10) as response:  # noqa: S310 - loopback
            return json.load(response)

    @property
    def posts(self):
        return int(self.seen()["posts"])


@pytest.fixture
def model():
    """One whose requests are counted."""
    server = Model()
    yield server
    server.close()


@pytest.fixture(scope="module")
def shared_model():
    """One for all tests that don't count what it saw."""
    server = Model()
    yield server
    server.close()
