"""A real server process on loopback, and a client."""

from pathlib import Path

import pytest
from judge_process import ServerProcess
from transport.fakes import Client


class Server(ServerProcess):
    """A process of server.py."""

    def __init__(self):
        super().__init__(Path(__file__).with_name("server.py"))

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
    return tmp_path / "journal.sqlite3"


@pytest.fixture
def client(path):
    with Client(path) as client:
        yield client
