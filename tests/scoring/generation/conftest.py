"""A real server process on loopback that speaks as OpenAI's API does."""

from pathlib import Path

import pytest
from scoring.transport.conftest import Server


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


@pytest.fixture(scope="session")
def model_process():
    server = Model()
    yield server
    server.close()


@pytest.fixture
def model(model_process):
    """One model for all tests, whose requests are counted from here on."""
    model_process.seen("?reset")
    return model_process
