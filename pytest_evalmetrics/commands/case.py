"""``evalmetrics case``: a failure in production becomes a task of a data set."""

from pytest_evalmetrics.cases import main

__all__ = ["main"]
