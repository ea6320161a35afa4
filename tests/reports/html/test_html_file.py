"""The file itself: the same bytes whatever the order, bounded, and with a policy that holds."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.reports.html.page import as_data

SCRIPT = re.compile(r"<script(?P<kind>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
UPLOT = files("pytest_evalmetrics") / "reports/html/assets/uplot"


def _page(project):
    return (project.path / "evalmetrics" / "report.html").read_text(encoding="utf-8")


def _data(page, name):
    (text,) = [m["text"] for m in SCRIPT.finditer(page) if f'id="{name}"' in m["kind"]]
    return json.loads(text)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
        ),
    )
)
def test_data_holds_no_markup_and_reads_as_it_was(value):
    data = as_data(value)
    assert not re.search(rb"[<>&]|\xe2\x80[\xa8\xa9]", data)
    assert msgspec.json.decode(data) == value


def test_the_policy_names_the_hash_of_each_script_and_style(project):
    project.rollouts([[1.0], [0.0]])
    project.bench("expect: {tasks: 2}")
    project.run()
    page = _page(project)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[
        1
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    code = [m["text"] for m in SCRIPT.finditer(page) if not m["kind"]]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    assert len(code) == 2
    for text in (*code, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.search(
        r"\son\w+=|style=|src=|url\(|@import", re.sub(SCRIPT, "", page)
    )


def test_what_failed_comes_first_and_rows_are_named_by_line_only_where_each_stands_on_one(
    project,
):
    rows = '{"_ng_task_index": 0, "reward": 1}', '{"_ng_task_index": 1, "reward": 0}\n'
    project.write("apart.jsonl", "\n\n".join(rows))
    project.write("runs.jsonl", "\n".join(rows))
    project.write(
        "some.bench.yaml",
        "defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, num_samples: 1}\n"
        "benchmarks:\n"
        "  - {name: fine, rollouts: apart.jsonl}\n"
        "  - {name: known, xfail: {reason: x}, thresholds: {mean_reward: '>= 0.9'}}\n"
        "  - {name: bad, thresholds: {mean_reward: '>= 0.9'}}\n",
    )
    project.run()
    page = _page(project)
    assert [row["name"] for row in _data(page, "overview")] == ["bad", "fine", "known"]
    run = _data(page, "run")
    assert run["known_to_fail"] == 1
    assert run["counts"] == {
        "FAIL": 1,
        "INCONCLUSIVE": 0,
        "ADVISORY": 0,
        "WARN": 0,
        "PASS": 1,
    }
    named = [next(iter(_data(page, f"tasks-{i}").values()))["files"] for i in range(2)]
    assert named == [
        [{"path": "runs.jsonl", "lines": True}],
        [{"path": "apart.jsonl", "lines": False}],
    ]


@pytest.mark.parametrize("name", ["LICENSE", "uPlot.iife.min.js", "uPlot.min.css"])
def test_the_library_comes_with_its_licence_and_version(name):
    text = (UPLOT / name).read_text(encoding="utf-8")
    assert (
        ("Leon Sorokin" in text)
        if name == "LICENSE"
        else ("uPlot" in text or "uplot" in text)
    )
