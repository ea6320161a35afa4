"""What an agent does, beside what it scores: fingerprints of rollouts, and how they differ.

Submodules: `fingerprint` reads the turns of a rollout, `columns` keeps many of them,
`documents` writes them into a baseline, `changes` tests each feature against the
baseline, `churn` how many answers changed, and `rules` checks single rollouts.
"""

from __future__ import annotations

from pytest_evalmetrics.behaviour.changes import Sides, compare_behaviour
from pytest_evalmetrics.behaviour.columns import Observer, observed_of
from pytest_evalmetrics.behaviour.documents import described, recorded
from pytest_evalmetrics.behaviour.rules import violations

__all__ = [
    "Observer",
    "Sides",
    "compare_behaviour",
    "described",
    "observed_of",
    "recorded",
    "violations",
]
