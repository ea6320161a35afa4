"""What a benchmark leaves for the process that writes the artifacts: texts and files."""

import errno
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.payload import leave, write_aggregates


class Groups(list[dict[str, Any]]):
    """Entries that write themselves, two at a time."""

    def pieces(self):
        for start in range(0, len(self), 2):
            yield msgspec.json.encode(self[start : start + 2])[1:-1]


def aggregate(tasks, kind, agent="é"):
    groups = kind({"_ng_task_index": i, "mean/reward": i / 7} for i in range(tasks))
    return {
        "agent_ref": {"name": agent},
        "agent_metrics": {},
        "group_level_metrics": groups,
    }


@pytest.mark.parametrize("tasks", [0, 1, 5, 120_000])
def test_pieces_are_the_whole(tasks):
    plain = write_aggregates("b", [aggregate(tasks, list), aggregate(1, list, "x")])
    pieces = write_aggregates(
        "b", [aggregate(tasks, Groups), aggregate(1, Groups, "x")]
    )
    assert pieces == plain
    assert pieces.path == ""
    assert ("\n" in pieces.text) == (tasks < 120_000)  # nobody reads so many
    first, second = json.loads(f"[{pieces.text}]")
    assert first == {"benchmark": "b", **aggregate(tasks, list)}
    assert second["agent_ref"] == {"name": "x"}


def test_a_large_text_goes_to_a_file(tmp_path):
    text = write_aggregates("b", [aggregate(120_000, Groups)]).text
    handed = write_aggregates("b", [aggregate(120_000, Groups)], tmp_path)
    assert handed.text == ""
    assert Path(handed.path).parent == tmp_path
    assert Path(handed.path).read_text(encoding="utf-8") == text


def test_what_is_no_json_leaves_no_file(tmp_path):
    bad = {"agent_metrics": object()}
    with pytest.raises(TypeError):
        write_aggregates("b", [aggregate(120_000, Groups), bad], tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    def full():
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ArtifactError, match="No space left on device") as raised:
        leave(full(), tmp_path / "own")
    assert "TMPDIR" in (raised.value.hint or "")
    assert not list((tmp_path / "own").iterdir())
