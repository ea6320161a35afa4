"""Projects whose runs of pytest take place in this process."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this folder too


@pytest.fixture
def project(pytester):
    pytester.syspathinsert()  # as `python -m pytest` does
    return Quick(pytester)
