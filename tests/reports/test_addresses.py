"""Addresses on the run's page, as links from a comment and a terminal have them."""

import pytest
from reports.records import agent, benchmark

from pytest_evalmetrics.reports.addresses import of_benchmark, of_task


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("a/b.yaml::math", "#/a%2Fb.yaml::math"),
        ("t.py::x[a=1,b@c!]", "#/t.py::x[a=1,b@c!]"),
        ("a b#c\u65e5", "#/a%20b%23c%E6%97%A5"),
        ("100%", "#/100%25"),
    ],
)
def test_a_benchmark_s_id_ends_no_part_of_its_address(name, address):
    assert of_benchmark(name) == address


@pytest.mark.parametrize(
    ("name", "place"), [("alpha", "a0"), ("beta", "a1"), ("", "a0"), ("gone", "a0")]
)
def test_a_task_is_found_by_the_place_of_its_agent(name, place):
    result = benchmark(agents=(agent("alpha"), agent("beta")))
    assert of_task(result, name, "t/1:@") == f"#/a.yaml::math/{place}/t%2F1:@"
