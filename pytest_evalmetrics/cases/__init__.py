"""``evalmetrics case add TRACE``: a failure in production becomes a task of a data set."""

from pytest_evalmetrics.cases.command import main

__all__ = ["main"]
