"""Projects are run in this process."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this folder too


@pytest.fixture
def project(pytester):
    return Quick(pytester)
