"""The page as a file: what it says of the run, and which texts it holds of each benchmark."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import msgspec
import pytest
from msgspec import structs
from reports.html.small_inputs import Kept, table
from reports.records import above, below, benchmark, broken, compared, run, task

from pytest_evalmetrics.model.history import HistoryRun
from pytest_evalmetrics.model.results import SkippedItem, StaleBaseline
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.html import page as pages
from pytest_evalmetrics.reports.html.conversations import TaskConversations, fitting
from pytest_evalmetrics.reports.html.page import (
    LeftOut,
    PagePart,
    fit,
    page,
    page_of,
    page_texts,
)
from pytest_evalmetrics.reports.html.picture import picture_of
from pytest_evalmetrics.reports.html.static_page import static_page
from pytest_evalmetrics.run_origin import RunOrigin
from pytest_evalmetrics.transcripts.turns import Turn

ELEMENT = re.compile(
    '<script type="application/json" id="([^"]*)">(.*?)</script>\n', re.DOTALL
)


def written(report, kept=None, origin=None):
    """Return the data of the page's elements, by their ids."""
    text = b"".join(page(report, kept or Kept(), origin)).decode()
    return {name: json.loads(data) for name, data in ELEMENT.findall(text)}


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, **fields)


# -- the run ---------------------------------------------------------------------------------


def test_the_run_is_counted_by_verdict_without_known_failures():
    results = [
        benchmark(below()),
        benchmark(below(), xfail=True),
        benchmark(above(), xfail=True),
        benchmark(broken()),
        benchmark(compared(verdict=Verdict.WARN)),
        benchmark(compared(verdict=Verdict.WARN, tier=Tier.ADVISORY)),
    ]
    found = written(run(*results))["run"]
    assert found["verdict"] == "FAIL"
    assert found["benchmarks"] == 6
    assert found["counts"] == {
        "FAIL": 1,
        "INCONCLUSIVE": 1,
        "ADVISORY": 1,
        "WARN": 1,
        "PASS": 1,
    }
    assert next(iter(found["counts"])) == "FAIL"
    assert found["known_to_fail"] == 1
    assert found["chance"].startswith("false alarms where nothing changed: at most ")


def test_what_has_no_result_is_listed():
    report = run(
        benchmark(below(), id="t.py::x::named"),
        not_evaluated=("t.py::x", "t.py::y"),
        skipped=(SkippedItem("z", "later"),),
        deselected=("a", "b"),
    )
    found = written(report)["run"]
    assert (found["not_evaluated"], found["lost"]) == (["t.py::x", "t.py::y"], 2)
    assert found["broken_off"] == ["t.py::x"]
    assert found["skipped"] == [{"id": "z", "reason": "later"}]
    assert (found["skips"], found["deselected"]) == (1, 2)


def test_a_thousand_without_a_result_are_listed():
    lost = tuple(f"l{number:04}" for number in range(1002))
    skipped = tuple(SkippedItem(f"s{number}", "later") for number in range(1003))
    found = written(run(not_evaluated=lost, skipped=skipped))["run"]
    assert (len(found["not_evaluated"]), found["lost"]) == (1000, 1002)
    assert (len(found["skipped"]), found["skips"]) == (1000, 1003)


def past(*drift):
    return HistoryRun(
        schema_version=1,
        benchmark="a.yaml::math",
        time="1",
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={},
        drift=drift,
    )


def test_fifty_warnings_are_listed():
    drift = [f"m{number}" for number in range(52)]
    stale = StaleBaseline(file="b.json", recorded="2026-01-02T", days=100, limit=90)
    results = [named(f"b{number}", above(), stale=stale) for number in range(53)]
    found = written(run(*results, history={"a.yaml::b0": (past(*drift),)}))["run"]
    assert found["drifts"] == drift[:50]
    assert len(found["stale"]) == 50
    assert found["stale"][0] == "b0: the baseline is 100 days old (recorded 2026-01-02)"


def test_the_causes_of_many_failures_are_listed():
    results = [named(f"b{number}", below()) for number in range(6)]
    (cause,) = written(run(*results))["run"]["causes"]
    assert cause[0] == "FAIL 6 of 6 failing benchmarks: pass@1"


def test_the_page_says_when_and_what_was_judged():
    origin = RunOrigin(commit="abc", branch=None, url="", time="2026-01-02T03:04:05Z")
    found = written(run(), origin=origin)["run"]
    assert found["origin"] == {"commit": "abc", "time": "2026-01-02T03:04:05Z"}
    assert written(run())["run"]["origin"] == {}


# -- the benchmarks --------------------------------------------------------------------------

BRIEF = b'{"agent":"brief"}'
TASKS = b'{"agent":"all of its tasks"}'
ABOUT = b'{"agent":{"tasks":2}}'


def test_each_benchmark_has_its_row_and_the_failing_come_first():
    found = written(
        run(named("b10", above()), named("b2", above()), named("z", below()))
    )
    assert [row["name"] for row in found["overview"]] == ["z", "b2", "b10"]


def test_a_benchmark_that_passes_without_tasks_has_its_row_alone():
    found = written(run(named("math", above())))
    assert set(found) == {"run", "overview"}
    assert found["run"]["left_out"] == {
        "rows": 0,
        "about": 1,
        "short": 0,
        "tasks": 0,
        "brief": 0,
    }


def test_a_benchmark_with_tasks_has_its_page_its_tasks_and_its_conversations():
    name = "a.yaml::math"
    kept = Kept(
        about={name: ABOUT},
        brief={name: BRIEF},
        tasks={name: TASKS},
        talks={name: b'{"agent":{}}'},
    )
    found = written(run(named("fails", below()), named("math", above())), kept)
    assert set(found) == {
        "run",
        "overview",
        "about-0",
        "about-1",
        "tasks-1",
        "talks-1",
    }
    assert found["about-0"]["pictures"] == {}
    assert found["about-0"]["lead"]["why"] == "pass@1 is 0.5, below 0.7"
    assert found["about-1"]["pictures"] == {"agent": {"tasks": 2}}
    assert found["about-1"]["checks"][0]["name"] == "pass@1"
    assert found["tasks-1"] == {"agent": "all of its tasks"}
    assert found["talks-1"] == {"agent": {}}


def test_a_page_that_is_short_has_no_pictures(monkeypatch):
    monkeypatch.setattr(pages, "_FAILING", 0)
    kept = Kept(about={"a.yaml::math": ABOUT}, brief={"a.yaml::math": BRIEF})
    found = written(run(benchmark(below())), kept)
    assert found["about-0"]["short"]
    assert found["about-0"]["pictures"] == {}
    assert found["run"]["left_out"]["short"] == 1
    assert "tasks-0" not in found


def test_the_course_of_a_benchmark_is_on_its_page():
    drifting = written(
        run(benchmark(below()), history={"a.yaml::math": (past("pass@1 fell"),)})
    )
    assert drifting["overview"][0]["drift"] == ["pass@1 fell"]


def test_eight_benchmarks_have_three_examples_each():
    worst = tuple(task(f"t{number}") for number in range(5))
    check = compared(changes={"worst_tasks": worst})
    found = written(run(*(named(f"b{number}", check) for number in range(10))))
    counts = [len(row["examples"]) for row in found["overview"]]
    assert counts == [3] * 8 + [0] * 2


def test_without_scripts_the_page_shows_the_run_s_table():
    report = run(benchmark(below()))
    text = b"".join(page(report, Kept(), None)).decode()
    assert static_page(report) in text
    assert "{{" not in text.partition("<script>")[0]


@pytest.mark.parametrize("name", ["site", "noise"])
def test_a_page_of_another_kind_has_its_data_alone(name):
    text = b"".join(page_of(name, {"a": "<b>"})).decode()
    assert ELEMENT.findall(text) == [(name, '{"a":"\\u003cb\\u003e"}')]
    assert "<noscript><p>This page draws itself with a script.</p></noscript>" in text


# -- what fits -------------------------------------------------------------------------------


def part(name="a", **fields):
    return PagePart(
        **{"name": name, "row": b"r" * 10, "brief": 20, "tasks": 60, **fields}
    )


def describing(size):
    """Return a function that describes a benchmark in so many bytes."""

    def describe(_, *, short=False):
        return b"s" * 5 if short else b"d" * size

    return describe


def fitted(monkeypatch, *parts, about=30, **limits):
    """Fit parts into limits; return what is left out."""
    for name, value in limits.items():
        monkeypatch.setattr(pages, name, value)
    return fit(parts, describing(about))


@pytest.mark.parametrize(
    ("limit", "listed"),
    [(100, "tasks"), (99, "brief"), (60, "brief"), (59, "")],
)
def test_all_tasks_are_listed_or_some_or_none(monkeypatch, limit, listed):
    # 10 of the row and 30 of the page leave the rest for 60 or 20 of its tasks
    one = part()
    left_out = fitted(monkeypatch, one, LIMIT=limit)
    assert one.listed == listed
    assert left_out == LeftOut(
        rows=0, about=0, short=0, tasks=int(not listed), brief=int(listed == "brief")
    )


def test_what_one_benchmark_lists_is_not_left_for_the_next(monkeypatch):
    parts = [part("a"), part("b"), part("c")]
    fitted(monkeypatch, *parts, LIMIT=3 * 40 + 60 + 20 + 19)
    assert [one.listed for one in parts] == ["tasks", "brief", ""]


@pytest.mark.parametrize(
    ("limit", "has_talks", "listed"),
    [
        (40 + 15 + 60, True, "tasks"),
        (40 + 15 + 59, True, "brief"),
        (40 + 15 + 20, True, "brief"),
        # conversations leave room for some tasks
        (40 + 15 + 19, False, "brief"),
    ],
)
def test_conversations_come_before_further_tasks(monkeypatch, limit, has_talks, listed):
    one = part(talks=15)
    fitted(monkeypatch, one, LIMIT=limit)
    assert (one.has_talks, one.listed) == (has_talks, listed)


def test_a_benchmark_without_conversations_shows_none(monkeypatch):
    one = part()
    fitted(monkeypatch, one)
    assert one.has_talks is False


def test_rows_that_fail_are_there_and_others_as_long_as_they_fit(monkeypatch):
    parts = [part("f", fails=True), part("a"), part("wide", row=b"r" * 11), part("b")]
    left_out = fitted(monkeypatch, *parts, _ROWS=30)
    assert [one.in_overview for one in parts] == [True, True, False, True]
    assert left_out.rows == 1
    assert fitted(monkeypatch, part("f", fails=True), _ROWS=0).rows == 0


def test_pages_of_passing_benchmarks_share_a_room(monkeypatch):
    parts = [part("a"), part("b"), part("c")]
    left_out = fitted(monkeypatch, *parts, _ABOUT=60)
    assert [bool(one.about) for one in parts] == [True, True, False]
    assert left_out.about == 1


def test_pages_of_failing_benchmarks_have_a_room_of_their_own_and_short_ones(
    monkeypatch,
):
    parts = [part("a", fails=True), part("b", fails=True), part("c")]
    left_out = fitted(monkeypatch, *parts, _ABOUT=30, _FAILING=59)
    assert [one.about for one in parts] == [b"d" * 30, b"s" * 5, b"d" * 30]
    assert [one.is_short for one in parts] == [False, True, False]
    assert left_out == LeftOut(rows=0, about=0, short=1, tasks=0, brief=0)


def test_a_room_that_is_nearly_full_describes_nothing_more(monkeypatch):
    names = []

    def describe(name):
        names.append(name)
        return b"d" * 100

    monkeypatch.setattr(pages, "_ABOUT", 101)
    fit([part("a"), part("b")], describe)
    # 100 of 101 bytes are more than 99 %
    assert names == ["a"]
    monkeypatch.setattr(pages, "_ABOUT", 200)
    names.clear()
    fit([part("a"), part("b"), part("c")], describe)
    assert names == ["a", "b"]


def test_a_benchmark_of_which_nothing_more_is_to_be_shown_has_its_row(monkeypatch):
    one = part(detailed=False)
    left_out = fitted(monkeypatch, one)
    assert (one.about, one.listed) == (b"", "")
    assert left_out.about == 1


def test_without_tasks_none_are_counted_as_left_out(monkeypatch):
    assert fitted(monkeypatch, part(brief=0, tasks=0)).tasks == 0


# -- the tasks of a benchmark ----------------------------------------------------------------


def test_a_benchmark_without_pictures_has_no_texts():
    assert page_texts({}) == {}


def lists(count):
    return picture_of(table([[1.0]] * count), reward="reward")


def test_the_texts_of_a_page_are_of_each_agent():
    texts = page_texts({"a": lists(60), "b": lists(2)})
    assert texts["talks"] == ""
    about = json.loads(texts["about"])
    assert [about[name]["tasks"] for name in "ab"] == [60, 2]
    tasks = json.loads(texts["tasks"])
    assert [len(tasks[name]["ids"]) for name in "ab"] == [60, 2]
    brief = json.loads(texts["brief"])
    assert [len(brief[name]["ids"]) for name in "ab"] == [50, 2]


def test_tasks_that_are_too_many_bytes_are_fewer(monkeypatch):
    picture = lists(200)
    whole = len(page_texts({"a": picture})["tasks"])
    monkeypatch.setattr(pages, "_TASKS", whole)
    assert len(page_texts({"a": picture})["tasks"]) == whole
    monkeypatch.setattr(pages, "_TASKS", whole // 2)
    texts = page_texts({"a": picture})
    assert len(texts["tasks"]) <= whole // 2
    # nine tenths of what there would be room for, or a little less
    assert 60 <= len(json.loads(texts["tasks"])["a"]["ids"]) <= 90


def talk(text):
    return TaskConversations({"0": (Turn("user", text),)}, {"0": (Turn("user", text),)})


def test_conversations_of_the_first_tasks_that_fit_are_kept(monkeypatch):
    talks = {
        "a": talk("x" * 100),
        "empty": TaskConversations({}, {}),
        "b": talk("y" * 100),
    }
    one = structs.replace(lists(2), conversations=talks)
    texts = page_texts({"a": one, "b": lists(2)})
    found = json.loads(texts["talks"])
    assert list(found["a"]) == ["a", "b"]
    assert found["b"] == {}
    # agents share the room
    size = len(msgspec.json.encode(talks["a"]))
    monkeypatch.setattr(pages, "_TALKS", 2 * size)
    assert list(json.loads(page_texts({"a": one, "b": lists(2)})["talks"])["a"]) == [
        "a"
    ]


def test_a_conversation_that_does_not_fit_ends_the_list():
    talks = {"a": talk("x"), "long": talk("y" * 1_000), "b": talk("z")}
    assert list(fitting(talks, 500)) == ["a"]
    assert list(fitting(talks, 5_000)) == ["a", "long", "b"]


def test_a_conversation_fits_to_the_last_byte():

    one = talk("x")
    size = len(msgspec.json.encode(one))
    assert list(fitting({"a": one}, size)) == ["a"]
    assert list(fitting({"a": one}, size - 1)) == []


# -- its scripts -----------------------------------------------------------------------------


def hash_of(text):
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def test_the_policy_allows_the_page_s_own_scripts_and_style_alone():
    text = b"".join(page_of("noise", {})).decode()
    library, code = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    assert policy == (
        f"default-src 'none'; script-src {hash_of(library)} {hash_of(code)}; "
        f"style-src {hash_of(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )


def test_the_page_holds_its_library_its_scripts_and_its_styles():
    text = b"".join(page_of("noise", {})).decode()
    library, code = re.findall("<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    assets = files("pytest_evalmetrics") / "reports" / "html" / "assets"
    scripts = [file for file in assets.iterdir() if file.name.endswith(".js")]
    sheets = [file for file in assets.iterdir() if file.name.endswith(".css")]
    assert len(scripts) > 10
    for file in scripts:
        assert f"\n{file.read_text(encoding='utf-8')}\n" in code, file.name
    for file in sheets:
        assert file.read_text(encoding="utf-8") in style, file.name
    minified = (assets / "uplot" / "uPlot.iife.min.js").read_text(encoding="utf-8")
    assert library == minified
    # one scope for all of them, and what comes first is defined first
    assert code.startswith('"use strict";\n(() => {\n')
    assert code.endswith("\n})();\n")
    for name in ("dom.js", "numbers.js"):
        text_of = (assets / name).read_text(encoding="utf-8")
        assert code.index(text_of) < code.index((assets / "main.js").read_text("utf-8"))


def test_no_place_of_the_page_s_frame_is_left_open():
    text = b"".join(page_of("noise", {})).decode()
    frame = re.sub("<(script|style)[^>]*>.*?</\\1>", "", text, flags=re.DOTALL)
    assert "{{" not in frame
    assert frame.rstrip().endswith("</html>")
