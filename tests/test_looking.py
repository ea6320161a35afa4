"""Whether one file is still what it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.looking import is_unchanged, look_at

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_text("{}", encoding="utf-8")
    return path


def test_what_was_seen_is_told(file: Path) -> None:
    look = look_at(file)
    assert look.path == str(file)
    assert look == look_at(str(file))
    assert is_unchanged(look)
    file.write_text("[]", encoding="utf-8")
    assert not is_unchanged(look)


def test_what_is_no_plain_file_can_not_be_looked_at(file: Path) -> None:
    with pytest.raises(FileNotFoundError):
        look_at(file.with_name("none.json"))
    with pytest.raises(OSError, match="no plain file"):
        look_at(file.parent)
    if hasattr(os, "mkfifo"):
        pipe = file.with_name("pipe")
        os.mkfifo(pipe)
        with pytest.raises(OSError, match="no plain file"):
            look_at(pipe)


def test_what_is_gone_is_an_error(file: Path) -> None:
    look = look_at(file)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        is_unchanged(look)
