"""Projects in this room are run by pytest in this process, which is faster by far."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this folder too


@pytest.fixture
def project(pytester):
    return Quick(pytester)
