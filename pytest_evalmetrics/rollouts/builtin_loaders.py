"""Importing this registers the loaders that come with the package."""

from __future__ import annotations

from pytest_evalmetrics.registry import register_loader
from pytest_evalmetrics.rollouts.formats import FORMATS

for _format in FORMATS:
    register_loader(_format.name)(_format.load())
