"""What a benchmark leaves on the disk for the process that writes the artifacts."""

import errno

import pytest

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.payload import leave, remove_left


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    def full():
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ArtifactError, match="No space left on device") as raised:
        leave(full(), tmp_path / "own")
    assert "TMPDIR" in (raised.value.hint or "")
    assert not list((tmp_path / "own").iterdir())


def test_what_a_worker_that_died_has_left_is_removed(tmp_path):
    leave([b"x"], tmp_path / "own")
    remove_left(tmp_path / "own")
    assert not list(tmp_path.iterdir())
    remove_left(tmp_path / "own")  # nothing was ever left there
