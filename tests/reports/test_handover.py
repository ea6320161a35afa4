"""What a benchmark leaves on the disk for the process that writes the artifacts."""

import errno
import io

import pytest

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.payload import handover_folder, leave, remove_left, take


def test_what_is_left_is_taken_once_and_is_gone_then(tmp_path):
    path = leave((b"%d\n" % n for n in range(3)), tmp_path / "own")
    assert (tmp_path / "own").stat().st_mode & 0o077 == 0
    into = io.BytesIO(b"x")
    into.seek(1)
    assert take(path, into) == 6
    assert into.getvalue() == b"x0\n1\n2\n"
    assert not list((tmp_path / "own").iterdir())
    with pytest.raises(FileNotFoundError):
        take(path, into)


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


def test_every_run_has_a_folder_of_its_own():
    assert handover_folder() != handover_folder()
    assert not handover_folder().exists()
