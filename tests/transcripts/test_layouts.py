"""The same conversation gives the same turns, whichever tool recorded it."""

import pytest
from transcripts.layouts import ROWS, STEPS, TURNS

from pytest_evalmetrics.transcripts import turns_of


@pytest.mark.parametrize("tool", ROWS)
def test_a_conversation_is_the_same_in_each_layout(tool):
    assert turns_of(ROWS[tool]) == TURNS


def test_steps_are_the_same_turns_without_the_system_prompt():
    row = {"question": "Fly me to Oslo on the 3rd.", "steps": STEPS}
    assert turns_of(row) == TURNS[1:]
