"""What a site knows of many runs: where they are, what each judged, and how numbers moved."""

import json
import os
import re

import pytest
from reports.html.small_inputs import Kept
from reports.records import above, agent, below, benchmark, run

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.verdicts import Gate
from pytest_evalmetrics.reports.html.page import page
from pytest_evalmetrics.reports.html.site import build_site
from pytest_evalmetrics.reports.report_json import report_document
from pytest_evalmetrics.run_origin import RunOrigin

DAY = 86_400


class Runs:
    """A folder of runs."""

    def __init__(self, folder):
        self.folder = folder
        self.output = folder.parent / "site"

    def add(self, name, *results, day=1, origin=None, prefix="", **fields):
        """Write the report of a run, and its page if it has an origin."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        report = run(*results, **fields)
        file = folder / f"{prefix}report.json"
        file.write_text(json.dumps(report_document(report)), encoding="utf-8")
        os.utime(file, (day * DAY, day * DAY))
        if origin is not None:
            pieces = page(report, Kept(), origin)
            (folder / f"{prefix}report.html").write_bytes(b"".join(pieces))

    def build(self):
        """Make the site; return the data of its first page."""
        index, self.notes = build_site(self.folder, self.output)
        assert index == self.output / "index.html"
        text = index.read_text(encoding="utf-8")
        return json.loads(re.search('id="site">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    return Runs(folder)


def judged(value, name="math", **fields):
    """Make a benchmark with a metric of some value."""
    return benchmark(
        above(), name=name, agents=(agent(metrics={"pass@1": value}),), **fields
    )


ORIGIN = RunOrigin(
    commit="abc", branch="main", url="https://x/1", time="2026-01-02T03:04:05Z"
)


# -- runs ------------------------------------------------------------------------------------


def test_a_run_has_what_its_page_says_of_it(runs):
    runs.add("one", judged(0.5), benchmark(below(), name="sums"), origin=ORIGIN)
    (found,) = runs.build()["runs"]
    assert found == {
        "name": "one",
        "slug": "one",
        "href": "runs/one/report.html",
        "verdict": "FAIL",
        "benchmarks": 2,
        "red": 1,
        "commit": "abc",
        "branch": "main",
        "url": "https://x/1",
        "time": "2026-01-02T03:04:05Z",
    }
    copied = runs.output / "runs" / "one" / "report.html"
    assert copied.read_bytes() == (runs.folder / "one" / "report.html").read_bytes()


def test_a_run_without_a_page_has_the_time_of_its_report(runs):
    runs.add("one", judged(0.5), day=20_000)
    (found,) = runs.build()["runs"]
    assert found["time"] == "2024-10-04T00:00:00Z"
    assert (found["href"], found["commit"], found["branch"], found["url"]) == ("",) * 4
    assert not (runs.output / "runs").exists()


def test_a_page_of_another_kind_says_nothing_of_its_run(runs):
    runs.add("one", judged(0.5), day=20_000)
    (runs.folder / "one" / "report.html").write_text("<html>", encoding="utf-8")
    (found,) = runs.build()["runs"]
    assert found["time"] == "2024-10-04T00:00:00Z"
    assert found["href"] == "runs/one/report.html"


def test_runs_are_ordered_by_time_and_then_by_name(runs):
    runs.add("b", judged(0.5), day=2)
    runs.add("a", judged(0.5), day=2)
    runs.add("c", judged(0.5), day=1)
    assert [one["name"] for one in runs.build()["runs"]] == ["c", "a", "b"]


def test_a_run_is_named_by_its_folder_and_its_prefix(runs):
    runs.add("x y/z", judged(0.5), origin=ORIGIN)
    runs.add("w", judged(0.5), prefix="run_1_", origin=ORIGIN)
    found = {one["name"]: one["href"] for one in runs.build()["runs"]}
    assert found == {
        "x y/z": "runs/x-y-z/report.html",
        "w/run_1": "runs/w-run_1/report.html",
    }
    assert (runs.output / "runs" / "w-run_1" / "report.html").exists()


def test_a_single_run_is_named_by_the_folder_itself(runs):
    runs.add("", judged(0.5), origin=ORIGIN)
    (found,) = runs.build()["runs"]
    assert (found["name"], found["slug"]) == ("runs", "run")


def test_the_site_itself_is_no_run(runs):
    runs.add("one", judged(0.5))
    runs.output = runs.folder / "site"
    runs.add("site/runs/old", judged(0.5))
    assert [one["name"] for one in runs.build()["runs"]] == ["one"]


def test_a_report_that_can_t_be_read_is_noted(runs):
    runs.add("one", judged(0.5))
    (runs.folder / "broken").mkdir()
    file = runs.folder / "broken" / "report.json"
    file.write_text("{}", encoding="utf-8")
    assert len(runs.build()["runs"]) == 1
    (note,) = runs.notes
    assert note.startswith(f"{file}: no report that can be read: ValidationError: ")


def test_a_folder_without_reports_is_refused(runs):
    with pytest.raises(EvalMetricsError) as refused:
        runs.build()
    assert refused.value.message == "no run: there is no report.json below it"
    assert refused.value.file == str(runs.folder)
    assert refused.value.hint == (
        "name the folder that holds the artifacts of runs, each in a folder of its own"
    )


def test_a_site_that_can_t_be_written_is_reported(runs):
    runs.add("one", judged(0.5), origin=ORIGIN)
    runs.output.write_text("a file", encoding="utf-8")
    with pytest.raises(EvalMetricsError) as refused:
        runs.build()
    assert refused.value.message == "can't be written: Not a directory"
    assert refused.value.file == str(runs.output)


# -- benchmarks ------------------------------------------------------------------------------


def test_a_benchmark_is_followed_through_the_runs(runs):
    runs.add("1", judged(0.5), day=1, origin=ORIGIN)
    runs.add("2", benchmark(above(), name="other"), day=20_500)
    runs.add("3", judged(0.75), day=20_501)
    found = runs.build()["benchmarks"]
    assert [one["name"] for one in found] == ["math", "other"]
    math, other = found
    assert (math["id"], math["file"], math["verdict"]) == (
        "a.yaml::math",
        "a.yaml",
        "PASS",
    )
    assert [one["in_last"] for one in found] == [True, False]
    assert math["runs"] == [
        {
            "time": "2026-01-02T03:04:05Z",
            "verdict": "PASS",
            "commit": "abc",
            "url": "https://x/1",
            "href": "runs/1/report.html",
        },
        {"time": "2026-02-17T00:00:00Z", "verdict": "PASS"},
    ]
    assert math["lines"] == [
        {
            "agent": "",
            "metric": "pass@1",
            "baseline": None,
            "values": [0.5, 0.75],
            "lows": [None, None],
            "highs": [None, None],
            "changes": [],
        }
    ]
    # one value is no course
    assert (other["runs"], other["lines"]) == ([], [])


def test_the_interval_of_a_value_is_kept(runs):
    for day in (1, 2):
        own = agent(metrics={"pass@1": 0.5})
        whole = own.__class__(
            own.agent,
            own.tasks,
            own.rollouts,
            own.missing,
            {"pass@1": above().estimate},
            own.key_metrics,
        )
        runs.add(str(day), benchmark(above(), agents=(whole,)), day=day)
    (line,) = runs.build()["benchmarks"][0]["lines"]
    assert (line["lows"], line["highs"]) == ([0.4, 0.4], [0.6, 0.6])


def test_where_a_level_changed_is_marked_beside_gaps(runs):
    for day in range(1, 12):
        runs.add(f"{day:02}", judged(0.5 + 0.001 * (day % 2)), day=day)
    without = benchmark(above(), agents=(agent(metrics={"x": 1.0}),))
    runs.add("12", without, day=12)
    for day in range(13, 20):
        runs.add(f"{day:02}", judged(0.1 + 0.001 * (day % 2)), day=day)
    (line,) = [
        line
        for line in runs.build()["benchmarks"][0]["lines"]
        if line["metric"] == "pass@1"
    ]
    assert line["values"][11] is None
    assert line["changes"] == [12]


def test_a_benchmark_has_the_verdict_of_the_last_run_that_has_it(runs):
    runs.add("1", judged(0.5), day=1)
    runs.add("2", benchmark(below()), day=2)
    runs.add("3", judged(0.5, "other"), day=3)
    found = {one["name"]: one for one in runs.build()["benchmarks"]}
    assert found["math"]["verdict"] == "FAIL"
    assert not found["math"]["in_last"]


def test_benchmarks_that_fail_come_first_and_known_failures_last(runs):
    runs.add(
        "1",
        judged(0.5, "b"),
        judged(0.5, "a"),
        benchmark(below(), name="z"),
        benchmark(below(), name="y", xfail=True),
    )
    assert [one["name"] for one in runs.build()["benchmarks"]] == ["z", "a", "b", "y"]


def test_sixty_runs_of_a_benchmark_are_shown(runs):
    for day in range(1, 63):
        runs.add(f"{day:02}", judged(0.5), day=day)
    (found,) = runs.build()["benchmarks"]
    assert len(found["runs"]) == len(found["lines"][0]["values"]) == 60
    assert found["runs"][0]["time"] == "1970-01-04T00:00:00Z"


def test_completeness_is_no_metric_of_a_site(runs):
    own = agent(metrics={"mean/cost": 1.0, "pass@1": 0.5})
    tasks = above("mean/cost", gate=Gate.EXPECT)
    for day in (1, 2):
        runs.add(str(day), benchmark(tasks, above(), agents=(own,)), day=day)
    metrics = [line["metric"] for line in runs.build()["benchmarks"][0]["lines"]]
    assert metrics == ["pass@1"]
