"""JSON Lines read a few rows at a time, so that short files have many blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.json_files import JsonLines

if TYPE_CHECKING:
    from pytest_evalmetrics.ext import Request

BLOCKS = "rollouts.small:Blocks"  # for `format:`


class Blocks(JsonLines):
    """What was learnt from the first block is used on those after it."""

    def __init__(self, request: Request) -> None:
        super().__init__(request, block=400, ahead=2)
