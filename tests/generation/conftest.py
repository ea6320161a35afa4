"""A real server process on loopback that speaks as OpenAI's API does."""

from pathlib import Path

import pytest
from transport.conftest import Server


class Model(Server):
    """A process of openai_server.py."""

    script = Path(__file__).with_name("openai_server.py")
    close = Server.kill

    @property
    def url(self):
        return self.at("/v1")

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
