"""Jobs that are handed in while others read them."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.helpers import jobs as module
from pytest_evalmetrics.helpers.jobs import HandedIn, jobs_of

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> list[object]:
    return [pickle.loads(job) for job in jobs_of(path)]  # noqa: S301 - our own


def test_they_are_read_in_their_order(tmp_path: Path) -> None:
    handed_in = HandedIn(tmp_path / "jobs")
    handed_in.add(["a", {"b": 1}])
    handed_in.add([])
    handed_in.add([None])
    handed_in.complete()
    assert read(tmp_path / "jobs") == ["a", {"b": 1}, None]
    assert len(handed_in) == 3
    assert handed_in[1] == {"b": 1}


def test_half_a_job_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = HandedIn(tmp_path / "whole")
    whole.add(["first", "second"])
    whole.complete()
    content = (tmp_path / "whole").read_bytes()
    pauses = 0
    with (tmp_path / "jobs").open("wb", buffering=0) as file:

        def a_byte_more(_: float) -> None:
            nonlocal pauses
            file.write(content[pauses : pauses + 1])
            pauses += 1

        monkeypatch.setattr(module.time, "sleep", a_byte_more)
        found = read(tmp_path / "jobs")
    assert found == ["first", "second"]
    assert pauses == len(content)


def test_nothing_comes_after_what_had_no_room(tmp_path: Path) -> None:
    class Full(io.RawIOBase):
        def write(self, content: object) -> int:
            del content
            return 3

    handed_in = HandedIn(tmp_path / "jobs")
    handed_in.add(["a"])
    handed_in._file.close()
    handed_in._file = Full()
    with pytest.raises(OSError, match="no room"):
        handed_in.add(["b"])
    handed_in._file = io.BytesIO()
    with pytest.raises(OSError, match="no room"):
        handed_in.add(["c"])
    with pytest.raises(OSError, match="no room"):
        handed_in.complete()
    assert handed_in._file.getvalue() == b""
    assert len(handed_in) == 1
