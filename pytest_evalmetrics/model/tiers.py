"""Whether a failure fails the build."""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """What a failure means for the build."""

    REQUIRED = "required"  # it fails
    ADVISORY = "advisory"  # it is shown, and fails nothing
