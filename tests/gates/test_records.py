"""Records of this room: made once, and never changed."""

import pytest
from comparison.making import records_of


@pytest.mark.parametrize("record", records_of("pytest_evalmetrics.gates"))
def test_what_was_judged_cannot_be_changed(record):
    assert record.__struct_config__.frozen
