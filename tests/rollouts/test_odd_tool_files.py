"""Odd files of tools: read right, or refused with the reason."""

import math

import pytest
from rollouts.odd_tool_files import ODD_FILES
from rollouts.test_shape import spec_of
from rollouts.tool_files import text_of

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.reports.sentences.notes import note_texts


def rewards_of(table, name):
    rewards = {}
    for task, value in zip(
        table.task.tolist(), table.scores[name].tolist(), strict=True
    ):
        rewards.setdefault(table.tasks[task], []).append(
            None if math.isnan(value) else value
        )
    return rewards


REFUSED = [name for name, given in ODD_FILES.items() if given.refused is not None]
READ = [name for name in ODD_FILES if name not in REFUSED]


def written(folder, name):
    """Write an odd file; return what is known of it, and how it is read."""
    given = ODD_FILES[name]
    for file, content in given.files.items():
        folder.write(text_of(content), file)
    return given, spec_of(folder, given.rollouts)


@pytest.mark.parametrize("name", REFUSED)
def test_odd_files_are_refused(folder, name):
    given, spec = written(folder, name)
    with pytest.raises(DataError) as caught:
        folder.load(spec=spec, scores=[given.reward])
    assert given.refused in str(caught.value)


@pytest.mark.parametrize("name", READ)
def test_odd_files_are_read_right(folder, name):
    given, spec = written(folder, name)
    table = folder.load(spec=spec, scores=[given.reward])
    assert rewards_of(table, given.reward) == given.rewards
    notes = "\n".join(note_texts(table.notes))
    for words in given.says:
        assert words in notes
