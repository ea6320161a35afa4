"""JSON Lines read a few rows at a time, so that short files have many blocks."""

from pytest_evalmetrics.rollouts.json_files import JsonLines

BLOCKS = "rollouts.small:Blocks"  # for `format:`


class Blocks(JsonLines):
    """What was learnt from the first block is used on those after it."""

    def __init__(self, request):
        super().__init__(request, block=400, ahead=2)
