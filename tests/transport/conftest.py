"""A real server process on loopback, and the pieces of a client."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest


class Server:
    """A process of server.py; it can be killed and come back on its port."""

    def __init__(self):
        self.port = 0
        self.start()

    def start(self):
        path = Path(__file__).with_name("server.py")
        self.process = subprocess.Popen(
            [sys.executable, str(path), str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()

    def url(self, path, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def seen(self):
        """Say what the server saw since it was started."""
        with urllib.request.urlopen(self.url("/seen"), timeout=10) as response:  # noqa: S310 - loopback
            return json.load(response)

    def count(self, path):
        return int(self.seen()["paths"].get(path, 0))


@pytest.fixture(scope="session")
def shared_server():
    """One server for all tests that don't count what it saw."""
    server = Server()
    yield server
    server.kill()


@pytest.fixture
def server():
    """A server of the test's own."""
    server = Server()
    yield server
    server.kill()
