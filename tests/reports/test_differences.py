"""Recorded runs against the first one, in text, Markdown and JSON."""

import json

import pytest
from msgspec import structs

from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import differences
from pytest_evalmetrics.reports.differences import (
    Difference,
    Finding,
    as_json,
    as_markdown,
    as_text,
)

FELL = Difference(
    run="new",
    benchmark="",
    agent="",
    metric="pass@1",
    verdict=Verdict.FAIL,
    reason="it fell",
    baseline=0.9,
    value=0.7,
    change=-0.2,
    low=-0.3,
    high=-0.1,
    p=0.004,
    tasks=40,
    worse=12,
    better=1,
    churn=0.123,
)
SAME = Difference(
    run="same", benchmark="", agent="", metric="pass@1", verdict=Verdict.PASS
)
SEPARATOR = Separator(
    agent="agent",
    field="lang",
    value="de",
    tasks_with=10,
    worse_with=8,
    tasks_without=30,
    worse_without=1,
    odds=100.0,
    p=0.001,
    fields=4,
    values=20,
)


def finding(difference=FELL, **changes):
    of_finding = {
        name: changes.pop(name)
        for name in ("names_metric", "separators")
        if name in changes
    }
    return Finding(structs.replace(difference, **changes), **of_finding)


class Output:
    """A file that can write any letter."""

    encoding = "utf-8"


class System:
    """The module `sys` as far as it is read."""

    stdout = Output()


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Let the terminal have 200 columns."""
    monkeypatch.setattr(differences, "sys", System())
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "24")


def blocks(*findings):
    """Return the blocks of the text, each as lines."""
    text = as_text(findings, "old.jsonl")
    assert text.endswith("\n")
    return [block.split("\n") for block in text.removesuffix("\n").split("\n\n")]


# -- names -----------------------------------------------------------------------------------


def test_a_difference_is_of_a_run_a_benchmark_and_an_agent():
    whole = structs.replace(FELL, benchmark="math", agent="beta")
    assert whole.names == ["new", "math", "beta"]
    assert whole.whose == "new math beta"
    assert FELL.names == ["new"]


@pytest.mark.parametrize(
    ("p", "is_equivalent"), [(None, None), (0.049, True), (0.05, False)]
)
def test_runs_are_equivalent_where_a_test_shows_it(p, is_equivalent):
    assert structs.replace(FELL, p_equivalent=p).equivalent is is_equivalent


# -- text ------------------------------------------------------------------------------------


def test_the_text_has_the_first_run_the_table_a_picture_and_the_words():
    title, table, picture, words = blocks(finding())
    assert title == ["against old.jsonl"]
    assert table == [
        (
            "verdict  run  metric  first   now     change   95% interval        p      "
            "tasks  worse  better  churn"
        ),
        (
            "FAIL     new  pass@1  0.9000  0.7000  -0.2000  [-0.3000, -0.1000]  0.004  "
            "40     12     1       12.3%"
        ),
    ]
    assert picture == ["new pass@1  ├───────●──────┤       │  │ no change"]
    assert words == ["new pass@1: it fell"]


def test_the_names_of_what_can_t_be_printed_are_escaped():
    _title, table, picture, words = blocks(finding(run="a\x1b"))
    assert r"a\x1b" in table[1]
    assert picture[0].startswith(r"a\x1b pass@1  ")
    assert words == [r"a\x1b pass@1: it fell"]
    assert as_text([finding()], "o\x1b").startswith("against o\\x1b\n")


def test_what_is_not_compared_has_no_cells_and_no_picture():
    _title, table = blocks(finding(SAME))
    assert table == ["verdict  run   metric", "PASS     same  pass@1"]


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"p_equivalent": 0.01, "margin": 0.05}, "within 0.05"),
        ({"p_equivalent": 0.2, "margin": 0.05}, "not shown"),
    ],
)
def test_the_test_of_equivalence_has_a_cell(changes, cell):
    table = blocks(finding(SAME, **changes))[1]
    assert table == ["verdict  run   metric  same", f"PASS     same  pass@1  {cell}"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["new pass@1: it fell"]),
        # the reason names the metric
        ({"names_metric": True}, ["new: it fell"]),
        ({"benchmark": "math", "agent": "b"}, ["new math b pass@1: it fell"]),
        (
            {"worst": ("t1", "t2")},
            ["new pass@1: it fell", "worse tasks: t1, t2, ..."],
        ),
        (
            {"worst": ("t1", "t2"), "worse": 2},
            ["new pass@1: it fell", "worse tasks: t1, t2"],
        ),
        ({"worst": ("t1",), "verdict": Verdict.WARN}, ["new pass@1: it fell"]),
        (
            {"behaviour": "it calls more tools"},
            ["new pass@1: it fell", "new: it calls more tools"],
        ),
        # of a reason nobody asks what would have been seen
        ({"detectable": 0.061}, ["new pass@1: it fell"]),
        (
            {"reason": "", "detectable": 0.0612},
            ["new pass@1: a loss of 0.061 would be seen with 80 % power"],
        ),
    ],
)
def test_words_say_why_and_which_tasks_are_worse(changes, words):
    written = blocks(finding(**changes))[3]
    assert [line.strip() for line in written] == words


def test_what_the_worse_tasks_share_is_said_with_its_basis():
    line = blocks(finding(separators=(SEPARATOR,)))[3][1]
    assert line.startswith("  in common: lang de (8 of 10 worse; others 1 of 30); ")


def test_nothing_is_said_of_a_run_that_does_not_differ():
    assert len(blocks(finding(reason=""))) == 3


def test_words_are_wrapped_and_no_word_is_broken(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    reason = f"it fell, as {'x' * 50} and in some quite long words well-known"
    assert as_text([finding(reason=reason)], "old").endswith(
        f"\nnew pass@1: it fell, as\n    {'x' * 50}\n    and in some quite long words\n    well-known\n"
    )


@pytest.mark.parametrize(
    ("columns", "header"),
    [
        ("101", "95% interval        p      tasks  worse  better  churn"),
        ("100", "95% interval        p      worse  better  churn"),
        ("93", "95% interval        p      worse  churn"),
        ("85", "95% interval        p      churn"),
        ("78", "p      churn"),
        ("58", "p"),
    ],
)
def test_a_narrow_table_goes_without_columns(monkeypatch, columns, header):
    monkeypatch.setenv("COLUMNS", columns)
    whole = f"verdict  run  metric  first   now     change   {header}"
    assert blocks(finding())[1][0] == whole


def test_what_is_too_narrow_for_a_table_is_a_block_for_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    table = blocks(finding(benchmark="math", agent="beta"), finding(SAME))[1]
    assert table == [
        "FAIL  new  math  beta  pass@1",
        "  first         0.9000",
        "  now           0.7000",
        "  change        -0.2000",
        "  95% interval  [-0.3000, -0.1000]",
        "  p             0.004",
        "  tasks         40",
        "  worse         12",
        "  better        1",
        "  churn         12.3%",
        "PASS  same  pass@1",
    ]


def test_no_terminal_is_narrower_than_forty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    forty = as_text([finding()], "old")
    monkeypatch.setenv("COLUMNS", "10")
    assert as_text([finding()], "old") == forty


def test_a_log_has_two_hundred_columns(monkeypatch):
    def no_terminal(_):
        raise OSError

    whole = as_text([finding(reason="word " * 60)], "old")
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr("os.get_terminal_size", no_terminal)
    assert as_text([finding(reason="word " * 60)], "old") == whole


# -- pictures --------------------------------------------------------------------------------


def test_changes_of_a_metric_share_a_scale_and_the_mark_is_explained_once():
    small = finding(run="b", change=0.1, low=0.0, high=0.2)
    other = finding(run="c", metric="cost", change=5.0, low=0.0, high=10.0)
    _, _, picture, _ = blocks(finding(), small, finding(SAME), other)
    assert picture == [
        "new pass@1  ├────●───┤    │           │ no change",
        "b pass@1                  │───●────┤",
        "c cost      │───────────●──────────┤",
    ]


def test_where_there_is_no_room_the_mark_is_explained_below(monkeypatch):
    _, _, picture, _ = blocks(finding())
    monkeypatch.setenv("COLUMNS", str(len(picture[0])))
    assert blocks(finding())[2] == picture
    monkeypatch.setenv("COLUMNS", str(len(picture[0]) - 1))
    assert blocks(finding())[2] == [
        "new pass@1  ├───────●──────┤       │",
        "│ no change",
    ]


@pytest.mark.parametrize("end", ["change", "low", "high"])
def test_a_change_without_an_interval_is_not_drawn(end):
    assert len(blocks(finding(**{end: None}))) == 3


def test_a_long_name_leaves_room_for_its_picture(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    picture = blocks(finding(run="r" * 30 + "s" * 30))[2]
    assert picture[0].startswith(f"{'r' * 14}...{'s' * 7} pass@1  ├")
    assert max(map(len, picture)) <= 60


def test_an_output_that_can_t_write_lines_gets_others(monkeypatch):
    monkeypatch.setattr(Output, "encoding", "ascii")
    assert blocks(finding())[2] == ["new pass@1  [-------o------]       |  | no change"]


# -- Markdown --------------------------------------------------------------------------------


def test_markdown_has_a_table_and_the_words_as_a_list():
    text = as_markdown([finding(worst=("t_1",)), finding(SAME)], "old_1.jsonl")
    assert text.splitlines() == [
        r"Against old\_1.jsonl:",
        "",
        "|  | run | metric | before -> now | change | p | worse / better | churn |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        (
            r"| ❌ | new | pass@1 | 0.9000 -\> 0.7000 | -0.2000 \(-0.3000 to -0.1000\) | "
            "0.004 | 12 / 1 | 12.3% |"
        ),
        r"| ✅ | same | pass@1 | -\> |  |  |  |  |",
        "",
        "- new pass@1: it fell",
        r"- worse tasks: t\_1, ...",
    ]


def test_a_markdown_row_names_its_benchmark_and_its_agent():
    text = as_markdown([finding(benchmark="ma_th", agent="b", low=None)], "old")
    row = text.splitlines()[4]
    assert row.startswith(
        r"| ❌ | new / ma\_th / b | pass@1 | 0.9000 -\> 0.7000 | -0.2000 | "
    )


def test_markdown_has_the_test_of_equivalence():
    text = as_markdown([finding(SAME, p_equivalent=0.01, margin=0.05)], "old")
    assert text.splitlines()[2:] == [
        "|  | run | metric | before -> now | same |",
        "| --- | --- | --- | --- | --- |",
        r"| ✅ | same | pass@1 | -\> | within 0.05 |",
    ]


def test_markdown_without_words_ends_with_its_table():
    text = as_markdown([finding(SAME)], "old")
    assert text.endswith(" |\n")


# -- JSON ------------------------------------------------------------------------------------


def test_json_has_each_difference_with_its_equivalence():
    text = as_json([finding(p_equivalent=0.01, worst=("t1",))], "old.jsonl")
    assert text.startswith('{\n  "first": "old.jsonl",\n')
    assert text.endswith("}\n")
    (entry,) = json.loads(text)["differences"]
    assert entry == {
        "run": "new",
        "benchmark": "",
        "agent": "",
        "metric": "pass@1",
        "verdict": "FAIL",
        "reason": "it fell",
        "baseline": 0.9,
        "value": 0.7,
        "change": -0.2,
        "low": -0.3,
        "high": -0.1,
        "p": 0.004,
        "tasks": 40,
        "worse": 12,
        "better": 1,
        "churn": 0.123,
        "margin": None,
        "p_equivalent": 0.01,
        "detectable": None,
        "worst": ["t1"],
        "behaviour": "",
        "equivalent": True,
    }
