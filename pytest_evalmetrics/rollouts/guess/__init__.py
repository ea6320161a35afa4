"""Guesses how to read a file that no loader knows: where its rows are, and what its fields mean.

A guess is shown with its evidence. Where two readings are as likely, or none is likely, the line
of the benchmark file is left open, and a person fills it in.
"""

from __future__ import annotations

from pytest_evalmetrics.rollouts.guess.proposal import Proposal as Proposal
from pytest_evalmetrics.rollouts.guess.proposal import propose as propose
