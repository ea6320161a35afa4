"""Tests with checks in them, run in this process, which is faster by far."""

import pytest
from baselines.conftest import Quick, _loaded  # noqa: F401 - a fixture of this folder too


@pytest.fixture
def quick(pytester):
    return Quick(pytester)
