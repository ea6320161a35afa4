"""Runs of pytest that the tests fork: one that is stopped leaves the next one alone."""

import os
import subprocess
import sys
import tempfile

import pytest
from forked import Run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
COMMAND = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
SLOW = "import time; time.sleep(600)"


@pytest.fixture
def start(tmp_path):
    """Start a run of a test with this body."""
    with tempfile.TemporaryFile() as out:

        def started(body):
            (tmp_path / "test_it.py").write_text(f"def test_it(): {body}\n")
            return Run(COMMAND, tmp_path, os.environ, out, out)

        yield started


def test_a_run_ends_with_its_exit_code(start):
    assert start("assert True").wait(60) == 0
    assert start("assert False").wait(60) == 1


def test_a_run_that_takes_too_long_leaves_the_next_one_alone(start):
    slow = start(SLOW)
    with pytest.raises(subprocess.TimeoutExpired):
        slow.wait(0.1)
    assert slow.returncode < 0
    assert start("assert True").wait(60) == 0


def test_a_run_that_is_killed_leaves_the_next_one_alone(start):
    start(SLOW).kill()
    assert start("assert True").wait(60) == 0
