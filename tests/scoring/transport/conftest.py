"""A real server process on loopback, and a client."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from scoring.transport.fakes import Client


class Server:
    """A process of server.py; it can be killed and come back on its port."""

    script = Path(__file__).with_name("server.py")

    def __init__(self):
        self.port = 0
        self.start()

    def start(self):
        command = [sys.executable, str(self.script), str(self.port)]
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
        """Say what the server saw since it was started, or since `?reset`."""
        url = self.at(f"/seen{query}")
        with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - loopback
            return json.load(response)

    def count(self, path):
        return int(self.seen()["paths"].get(path, 0))


@pytest.fixture(scope="session")
def server_process():
    server = Server()
    yield server
    server.kill()


@pytest.fixture
def server(server_process):
    """One server for all tests, whose requests are counted from here on."""
    server_process.seen("?reset")
    return server_process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.log"


@pytest.fixture
def client(path):
    with Client(path) as client:
        yield client
