"""What was to be evaluated and was not, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["broken_off", "lost_ones"]


def lost_ones(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say of each benchmark and test that was not evaluated what is not known of it."""
    half = broken_off(report)
    return [
        (item, "was not evaluated" + (" to its end" if item in half else ""))
        for item in report["not_evaluated"]
    ]


def broken_off(report: Mapping[str, Any]) -> set[str]:
    """Find the tests that ended by themselves after a check, which has an entry."""
    ids = [entry["id"] for entry in report["benchmarks"]]
    tests = {*ids, *(i.rpartition("::")[0] for i in ids)}  # a check may have a name of its own
    return tests.intersection(report["not_evaluated"])
