"""Settings are written into a benchmark file where its style has room for them."""

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.run_series.settings_patch import patch

DROP = ("baseline", "max_drop")


@pytest.fixture
def patched(tmp_path):
    """Give the lines that a setting removes from a file and adds to it."""

    def change(text, *settings):
        file = tmp_path / "a.bench.yaml"
        file.write_text(text, encoding="utf-8")
        benchmarks = load_benchmarks(file, shown="a.bench.yaml")
        values = zip(benchmarks, settings, strict=True)
        lines = list(patch(list(values), "a.bench.yaml"))
        marked = [line for line in lines if line[0] in "+-"]
        return [line for line in marked if line[:3] not in ("+++", "---")]

    return change


ONE = "benchmark:\n  name: a\n  rollouts: r\n"


@pytest.mark.parametrize(
    ("baseline", "lines"),
    [
        (
            "  baseline: {max_drop: 0.01, alpha: 0.01}\n",
            [
                "-  baseline: {max_drop: 0.01, alpha: 0.01}",
                "+  baseline: {max_drop: 0.03, alpha: 0.01}",
            ],
        ),
        (
            "  baseline:\n    max_drop: 0.01  # as agreed\n",
            ["-    max_drop: 0.01  # as agreed", "+    max_drop: 0.03  # as agreed"],
        ),
        (
            "  baseline: {alpha: 0.01}\n",
            [
                "-  baseline: {alpha: 0.01}",
                "+  baseline: {max_drop: 0.03, alpha: 0.01}",
            ],
        ),
        ("  baseline: {}\n", ["-  baseline: {}", "+  baseline: {max_drop: 0.03}"]),
        ("  baseline: true\n", ["-  baseline: true", "+  baseline: {max_drop: 0.03}"]),
        ("  baseline:\n    alpha: 0.01\n", ["+    max_drop: 0.03"]),
        ("  baseline:  # main\n    alpha: 0.01\n", ["+    max_drop: 0.03"]),
        ("", ["+  baseline: {max_drop: 0.03}"]),
    ],
    ids=[
        "a value in braces",
        "a value on its line",
        "beside others in braces",
        "empty braces",
        "a word",
        "beside others below",
        "below a comment",
        "nothing",
    ],
)
def test_a_setting_is_written_in_the_style_of_its_place(patched, baseline, lines):
    assert patched(f"{ONE}{baseline}", {DROP: "0.03"}) == lines


def test_a_key_of_the_benchmark_itself_is_written_beside_its_name(patched):
    assert patched(ONE, {("num_samples",): "8"}) == ["+  num_samples: 8"]


def test_a_threshold_in_quotes_is_replaced(patched):
    text = f'{ONE}  thresholds: {{pass@1: ">= 0.7"}}\n'
    lines = patched(text, {("thresholds", "pass@1"): '">= 0.65"'})
    assert lines == [
        '-  thresholds: {pass@1: ">= 0.7"}',
        '+  thresholds: {pass@1: ">= 0.65"}',
    ]


def test_benchmarks_of_one_file_are_changed_together(patched):
    text = (
        "defaults: {rollouts: r}\nbenchmarks:\n"
        "- name: a\n  baseline: {max_drop: 0.01}\n"
        "- name: b\n"
    )
    lines = patched(text, {DROP: "0.02"}, {DROP: "0.03"})
    assert lines == [
        "-  baseline: {max_drop: 0.01}",
        "+  baseline: {max_drop: 0.02}",
        "+  baseline: {max_drop: 0.03}",
    ]


def test_a_benchmark_in_braces_is_left_as_it_is_where_the_value_would_not_hold(patched):
    text = "benchmark: {name: a, rollouts: r}\n"
    assert patched(text, {DROP: "0.03"}) == []


def test_a_key_that_is_not_followed_by_its_value_is_left_as_it_is(patched):
    text = f"{ONE}  baseline:\n    ? max_drop\n    : 0.01\n"
    assert patched(text, {DROP: "0.03"}) == []


def test_a_value_that_comes_from_the_defaults_is_left_as_it_is(patched):
    text = (
        "defaults: {rollouts: r, baseline: {max_drop: 0.01}}\nbenchmarks:\n- name: a\n"
    )
    lines = patched(text, {DROP: "0.03"})
    assert lines == []


def test_a_patch_names_the_file(tmp_path):
    file = tmp_path / "a.bench.yaml"
    file.write_text(ONE, encoding="utf-8")
    (benchmark,) = load_benchmarks(file, shown="a.bench.yaml")
    head, to, hunk, *_ = patch([(benchmark, {DROP: "0.03"})], "evals/a.bench.yaml")
    assert head == "--- a/evals/a.bench.yaml"
    assert to == "+++ b/evals/a.bench.yaml"
    assert hunk.startswith("@@ -1,3 +1,4 @@")
