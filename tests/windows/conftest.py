"""The server of a model, as online runs have it."""

import pytest
from generation.conftest import Model


@pytest.fixture
def model():
    server = Model()
    yield server
    server.close()
