"""Where a thing is written, and whether two are one."""

from __future__ import annotations

from pytest_evalmetrics.registry import Registry, origin, same


def test_origin_says_where_a_thing_is_written() -> None:
    assert origin(Registry).startswith("pytest_evalmetrics.registry.names.Registry (")
    assert origin(Registry("thing", "", "")).startswith(
        "pytest_evalmetrics.registry.names.Registry ("
    )
    assert origin(dict) == "builtins.dict"


def test_two_things_of_one_name_are_two() -> None:
    def made(number: int) -> type:
        return type("Thing", (), {"number": number})

    assert same(made, made)
    assert not same(made(1), origin)
    assert not same(Registry("a", "", ""), Registry("a", "", ""))
