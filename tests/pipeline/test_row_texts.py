"""Texts of rows on the disk."""

from __future__ import annotations

import errno
import io
import json
import random

import pytest

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.pipeline.scored_rows import RowTexts


def test_every_rows_texts_come_back_in_the_order_of_the_scorers() -> None:
    texts = RowTexts(50, 2, "requests")
    places = [(row, scorer) for row in range(49) for scorer in range(2) if (row, scorer) != (7, 0)]
    random.Random(1).shuffle(places)  # noqa: S311 - the order in which answers come
    for row, scorer in places:
        texts.add(row, scorer, b'"%d.%d"' % (row, scorer))
        assert json.loads(texts.of(row))[-1].startswith(f"{row}.")  # read between the writes
    assert json.loads(texts.of(3)) == ["3.0", "3.1"]
    assert json.loads(texts.of(7)) == ["7.1"]
    assert texts.of(49) == b"[]"


def test_nothing_is_opened_for_nothing() -> None:
    def never() -> io.BytesIO:
        raise AssertionError("opened")

    assert RowTexts(3, 1, "reasons", never).of(1) == b"[]"


def test_a_full_disk_is_told() -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            del data
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ArtifactError, match=r"the requests of the rows.*No space left") as raised:
        RowTexts(1, 1, "requests", Full).add(0, 0, b"1")
    assert "TMPDIR" in (raised.value.hint or "")
