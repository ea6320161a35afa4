"""The import of what runs with benchmarks need, and what is left of it when Python exits."""

import os
import subprocess
import sys

import pytest

from pytest_evalmetrics.import_for_good import import_for_good

FROZEN_AT_EXIT = """
import atexit, gc
atexit.register(lambda: print("frozen:", gc.get_freeze_count() > 1_000))
from pytest_evalmetrics.import_for_good import import_for_good
def load():
    import wave
import_for_good(load)
"""

NOTHING_LEFT_TO_IMPORT = """
import gc, wave
from pytest_evalmetrics.import_for_good import import_for_good
def load():
    import wave
gc.get_freeze_count = None  # which would take long
import_for_good(load)
"""

COLLECTIONS = """
import gc
from pytest_evalmetrics.import_for_good import import_for_good
imported, collections = [], []
def load():
    import wave
    imported.extend([] for _ in range(50_000))
gc.callbacks.append(lambda phase, facts: collections.append(phase))
import_for_good(load)
gc.callbacks.clear()
print("collections:", len(collections))
"""

# a file that nobody closes, which only a collection finds
LEFT_OPEN = """
class Log:
    def __init__(self):
        self.file = open("log.txt", "w")
        self.itself = self

log = Log()
log.file.write("the last words")
"""


def run_python(folder, *arguments):
    """Run Python in a folder, and return what it prints."""
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_what_is_installed_stays_frozen_at_exit(tmp_path):
    assert run_python(tmp_path, "-c", FROZEN_AT_EXIT) == "frozen: True\n"


def test_what_is_imported_is_frozen_before_it_is_collected(tmp_path):
    assert run_python(tmp_path, "-c", COLLECTIONS) == "collections: 0\n"


def test_frozen_objects_are_not_counted_again_where_nothing_is_left_to_import(tmp_path):
    assert run_python(tmp_path, "-c", NOTHING_LEFT_TO_IMPORT) == ""


def test_the_objects_of_a_project_are_thawed_at_exit(tmp_path):
    (tmp_path / "own_code.py").write_text("")
    code = f"import own_code\n{FROZEN_AT_EXIT}"
    assert run_python(tmp_path, "-c", code) == "frozen: False\n"


@pytest.mark.parametrize("name", ["conftest.py", "test_log.py"])
def test_a_file_that_a_project_leaves_open_is_written_when_a_run_ends(tmp_path, name):
    (tmp_path / name).write_text(LEFT_OPEN)
    (tmp_path / "runs.jsonl").write_text('{"_ng_task_index": 0, "reward": 1}\n')
    (tmp_path / "a.bench.yaml").write_text(
        "benchmark: {name: a, rollouts: runs.jsonl, thresholds: {mean_reward: '>= 1'}}\n"
    )
    run_python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert (tmp_path / "log.txt").read_text() == "the last words"


def test_an_import_that_fails_is_raised_where_it_is_asked_for():
    def load():
        raise ImportError("no module named numpy")

    with pytest.raises(ImportError, match="no module named numpy"):
        import_for_good(load)
