"""Records of this room: made once, and never changed."""

import pytest
from comparison.making import records_of


@pytest.mark.parametrize("record", records_of("pytest_evalmetrics.stats"))
def test_what_was_computed_cannot_be_changed(record):
    assert record.__struct_config__.frozen
