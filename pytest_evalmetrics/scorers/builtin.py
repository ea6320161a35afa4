"""The scorers that come with the package: importing this registers them.

A new one is a file beside this one with its registration, a file in ``spec/scorers/`` that says
what its keys are, a line here and there, and a test file.
"""

from __future__ import annotations

from pytest_evalmetrics.scorers import nat, remote

__all__ = ["nat", "remote"]
