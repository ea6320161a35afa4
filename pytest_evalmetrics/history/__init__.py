"""The history: one line per benchmark and run, of numbers alone."""

from pytest_evalmetrics.history.anchors import Anchor, Anchors
from pytest_evalmetrics.history.appending import append
from pytest_evalmetrics.history.origin import Origin, origin_of
from pytest_evalmetrics.history.reading import History, read_history
from pytest_evalmetrics.history.run import Point, Run, run_of

__all__ = [
    "Anchor",
    "Anchors",
    "History",
    "Origin",
    "Point",
    "Run",
    "append",
    "origin_of",
    "read_history",
    "run_of",
]
