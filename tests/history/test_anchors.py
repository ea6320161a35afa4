"""The runs of a history, and the number that a run is compared with, in this process."""

import pytest
from msgspec.structs import asdict, replace

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.history import (
    Anchor,
    Anchors,
    append,
    read_history,
    run_of,
    usable_runs,
)
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult, Check
from pytest_evalmetrics.model.run_notes import (
    BrokenHistoryLine,
    FurtherBrokenLines,
    OtherHistorySchema,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.run_origin import RunOrigin

ORIGIN = RunOrigin(time="2026-05-04T10:00:00Z")


def run(value, tasks=10, agent="a", **fields):
    """Make a run with one metric."""
    point = HistoryPoint(value=value, tasks=tasks, rollouts=tasks)
    facts = {
        "schema_version": 1,
        "benchmark": "math",
        "verdict": "PASS",
        "usable": True,
        "starts": False,
        "agents": {agent: {"pass@1": point}},
        **asdict(ORIGIN),
        **fields,
    }
    return HistoryRun(**facts)


# -- the runs that count ---------------------------------------------------------------------


def test_a_run_that_did_not_pass_does_not_count():
    good = run(0.5)
    assert usable_runs([good, run(0.6, usable=False)]) == [good]


def test_no_run_before_the_last_accepted_change_counts():
    accepted = run(0.4, starts=True)
    later = run(0.5)
    assert usable_runs([run(0.9), accepted, later]) == [accepted, later]


# -- the number to compare with --------------------------------------------------------------


def anchors(*runs, against="best"):
    return Anchors(against=against, runs=runs, file="h.jsonl", min_coverage=0.9)


def anchor(*runs, against="best", tasks=10, agent="a", higher_is_better=True):
    return anchors(*runs, against=against).anchor(
        agent, "pass@1", tasks, higher_is_better=higher_is_better
    )


def test_the_best_run_is_named_with_its_day_and_commit():
    best = run(0.7, time="2026-05-02T10:00:00Z", commit="1a2b3c4d5e6f")
    assert anchor(run(0.5), best, run(0.6)) == Anchor(
        0.7, "the best of 3 runs, of 2026-05-02 (1a2b3c4)", 3
    )


def test_the_best_of_a_metric_that_should_be_low_is_the_lowest():
    assert anchor(run(0.5), run(0.4), higher_is_better=False).value == 0.4


def test_the_only_run_is_named_so():
    assert anchor(run(0.5)).origin == "the only run, of 2026-05-04"


def test_the_median_is_that_of_the_newest_runs():
    runs = [run(value) for value in (0.9, 0.1, 0.2, 0.6)]
    assert anchor(*runs, against="median-of-last-3") == Anchor(
        0.2, "the median of the last 3 runs", 3
    )


def test_the_median_of_one_run_is_that_run():
    assert anchor(run(0.5), against="median-of-last-5") == Anchor(
        0.5, "the only run", 1
    )


def test_a_history_without_a_run_has_no_number():
    assert anchor() == Anchor(
        None, "h.jsonl holds no run of this benchmark that counts yet"
    )


def test_a_metric_that_no_run_has_has_no_number():
    found = anchors(run(0.5)).anchor("a", "pass@2", 10, higher_is_better=True)
    assert found == Anchor(
        None, "h.jsonl holds no run of this benchmark that counts and has pass@2 yet"
    )


@pytest.mark.parametrize("tasks", [8, 12])
def test_runs_over_another_number_of_tasks_have_no_number(tasks):
    runs = [run(0.5, tasks=count) for count in (7, 8, tasks)]
    assert anchor(*runs) == Anchor(
        None,
        f"the runs in h.jsonl rest on another number of tasks: {tasks}, and now 10",
    )


@pytest.mark.parametrize("tasks", [9, 11])
def test_runs_over_nearly_as_many_tasks_are_compared_with(tasks):
    assert anchor(run(0.5, tasks=tasks)).value == 0.5


def test_the_only_agent_of_a_run_may_have_been_renamed():
    assert anchor(run(0.5, agent="old")).value == 0.5


def test_of_several_agents_none_was_renamed():
    points = {"pass@1": HistoryPoint(value=0.5, tasks=10, rollouts=10)}
    several = run(0.5, agents={"b": points, "c": points})
    assert anchor(several).value is None


def test_the_agents_are_those_of_the_last_run_that_counts():
    assert anchors(run(0.5, agent="old"), run(0.6, agent="new")).agents == ("new",)
    assert anchors().agents == ()


# -- the line of a run -----------------------------------------------------------------------


def estimate(name, value, interval=None):
    return Estimate(name, value, 10, 40, interval)


def result(*checks, **fields):
    estimates = {
        "pass@1": estimate("pass@1", 0.5, Interval(0.4, 0.6, 0.95, "t")),
        "mean/cost": estimate("mean/cost", 3.0),
        "pass@2": estimate("pass@2", 0.7),
    }
    agent = AgentResult("a", 10, 40, 0, estimates, {"pass@1": 0.5}, {})
    facts = {
        "id": "math.bench.yaml::math",
        "name": "math",
        "description": "",
        "file": "math.bench.yaml",
        "line": 1,
        "agents": (agent,),
        "checks": checks,
        **fields,
    }
    return BenchmarkResult(**facts)


def check(gate, verdict=Verdict.PASS, name="mean/cost", tier=Tier.REQUIRED):
    return Check(gate=gate, name=name, verdict=verdict, tier=tier)


def line_of(result, starts=False, **fields):
    return run_of(result, ORIGIN, starts=starts, **fields)


def test_a_line_has_the_key_metrics_and_those_that_a_baseline_gates():
    line = line_of(result(check(Gate.BASELINE), check(Gate.THRESHOLD, name="pass@2")))
    assert line.agents == {
        "a": {
            "pass@1": HistoryPoint(value=0.5, tasks=10, rollouts=40, low=0.4, high=0.6),
            "mean/cost": HistoryPoint(value=3.0, tasks=10, rollouts=40),
        }
    }


def test_a_run_that_passes_counts():
    line = line_of(result(check(Gate.BASELINE)))
    assert line.usable
    assert line.verdict == "PASS"
    assert line.benchmark == "math.bench.yaml::math"


def test_a_run_that_fails_for_its_drift_alone_counts():
    assert line_of(result(check(Gate.DRIFT, Verdict.FAIL))).usable


@pytest.mark.parametrize(
    "failing",
    [
        result(check(Gate.BASELINE, Verdict.FAIL)),
        result(check(Gate.DRIFT, Verdict.FAIL), check(Gate.EXPECT, Verdict.FAIL)),
        result(check(Gate.BASELINE, Verdict.WARN, tier=Tier.ADVISORY)),
        result(check(Gate.BASELINE), xfail=True),
        result(check(Gate.BASELINE), partial=True),
    ],
    ids=["fails", "fails beside its drift", "fails as advice", "xfail", "partial"],
)
def test_a_run_that_does_not_hold_does_not_count(failing):
    assert not line_of(failing).usable


def test_an_accepted_change_starts_a_history_with_its_reason():
    line = line_of(result(), starts=True, reason="a shorter prompt")
    assert line.starts
    assert line.reason == "a shorter prompt"


def test_a_change_that_was_accepted_of_a_failing_run_starts_nothing():
    failing = result(check(Gate.EXPECT, Verdict.FAIL))
    line = line_of(failing, starts=True, reason="a shorter prompt")
    assert not line.starts
    assert line.reason == ""


def test_a_reason_without_a_change_is_not_kept():
    assert line_of(result(), reason="a shorter prompt").reason == ""


# -- the file --------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    return tmp_path / "kept" / "by us" / "h.jsonl"


def read(file):
    return read_history(file, "h.jsonl")


def test_runs_are_read_by_benchmark_the_oldest_first(file):
    other = replace(run(0.1), benchmark="words")
    append(file, [run(0.5), other], "h.jsonl")
    append(file, [run(0.6)], "h.jsonl")
    runs, notes = read(file)
    values = [one.agents["a"]["pass@1"].value for one in runs["math"]]
    assert values == [0.5, 0.6]
    assert len(runs["words"]) == 1
    assert notes == []


def test_a_history_that_is_not_there_is_empty(file):
    assert read(file) == ({}, [])


def test_the_baseline_of_a_run_is_kept_as_it_was_written(file):
    append(file, [line_of(result(), baseline={"a": [1, 0.5]})], "h.jsonl")
    runs, _ = read(file)
    assert bytes(runs["math.bench.yaml::math"][0].baseline) == b'{"a":[1,0.5]}'


def test_an_unfinished_line_is_not_continued(file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b'{"schema_ver')
    append(file, [run(0.5)], "h.jsonl")
    runs, notes = read(file)
    assert len(runs["math"]) == 1
    assert [note.place for note in notes] == ["h.jsonl:1"]


def test_a_finished_line_is_followed_by_the_next(file):
    append(file, [run(0.5)], "h.jsonl")
    append(file, [run(0.6)], "h.jsonl")
    assert b"\n\n" not in file.read_bytes()


def test_three_broken_lines_are_named_and_the_rest_are_counted(file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\nbroken\n\n[]\n{}\nbroken\nbroken\n")
    runs, notes = read(file)
    assert runs == {}
    assert [note.place for note in notes[:3]] == ["h.jsonl:2", "h.jsonl:4", "h.jsonl:5"]
    assert isinstance(notes[0], BrokenHistoryLine)
    assert notes[3:] == [FurtherBrokenLines(2)]


def test_three_broken_lines_have_no_rest(file):
    file.parent.mkdir(parents=True)
    file.write_bytes(b"broken\nbroken\nbroken\n")
    _, notes = read(file)
    assert [note.place for note in notes] == ["h.jsonl:1", "h.jsonl:2", "h.jsonl:3"]


def test_a_line_of_another_version_is_no_run(file):
    append(file, [run(0.5, schema_version=2)], "h.jsonl")
    assert read(file) == ({}, [OtherHistorySchema("h.jsonl:1", 2, 1)])


def test_a_folder_in_its_place_can_not_be_read(tmp_path):
    with pytest.raises(BaselineError) as refused:
        read(tmp_path)
    assert refused.value.message == "this history can't be read: Is a directory"
    assert refused.value.file == "h.jsonl"
    assert refused.value.hint == "name a file that --evalmetrics-history writes"


def test_a_folder_in_its_place_can_not_be_written(tmp_path):
    with pytest.raises(ArtifactError) as refused:
        append(tmp_path, [run(0.5)], "h.jsonl")
    assert refused.value.message == "the history can't be written: Is a directory"
    assert refused.value.file == "h.jsonl"
    assert refused.value.hint == (
        "choose another file with --evalmetrics-history, or free some room"
    )
