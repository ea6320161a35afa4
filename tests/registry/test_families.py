"""Which names are one of a family."""

from __future__ import annotations

import pytest

from pytest_evalmetrics.registry.families import is_family, numbers_in


@pytest.mark.parametrize(
    ("pattern", "name", "numbers"),
    [
        ("pass@{k}", "pass@3", {"k": 3}),
        ("pass@{k}", "pass@10", {"k": 10}),
        ("top{n}of{k}", "top1of20", {"n": 1, "k": 20}),
        ("pass@{k}", "pass@0", None),
        ("pass@{k}", "pass@03", None),
        ("pass@{k}", "pass@k", None),
        ("pass@{k}", "pass@{k}", None),
        ("a.b{k}", "axb3", None),
        ("pass", "pass", None),
    ],
)
def test_the_numbers_of_a_name(pattern: str, name: str, numbers: dict[str, int] | None) -> None:
    assert numbers_in(pattern, name) == numbers


@pytest.mark.parametrize(
    ("pattern", "name", "meant"),
    [
        ("pass@{k}", "pass@k", True),
        ("pass@{k}", "pass@{k}", True),
        ("top{n}of{k}", "topnofk", True),
        ("pass@{k}", "pass@3", False),
        ("pass@{k}", "pass@n", False),
        ("median", "median", False),
    ],
)
def test_how_a_family_itself_is_written(pattern: str, name: str, meant: bool) -> None:
    assert is_family(pattern, name) is meant
