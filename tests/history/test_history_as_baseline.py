"""``baseline: {history: N}``: the last runs of the history, task by task; reasons of changes."""

import json
import random

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
UPDATE = ("--snapshot-update", *KEEP)
FILE = "expect: {tasks: 60}\nmetrics: [pass@1]\nbaseline: {history: 3}"


def rollouts(project, seed, drop=0.0, tasks=60):
    draw = random.Random(seed)  # noqa: S311 - no secret
    chances = [0.2 + 0.01 * task - drop for task in range(tasks)]
    project.rollouts([[float(draw.random() < p) for _ in range(4)] for p in chances])


def gate(project):
    return project.checks()["pass@1"]


def value(project):
    agent = project.report()["benchmarks"][0]["agents"][0]
    return agent["estimates"]["pass@1"]["value"]


@pytest.fixture(scope="module")
def four_runs(new_project):
    """A project with four runs in its history, of which a worker made the last, and their values."""
    project = new_project()
    project.bench(FILE)
    rollouts(project, 1)
    assert project.run(*UPDATE).ret == 0
    values = [value(project)]
    for seed, workers in ((2, ()), (3, ()), (4, ("-n", "1"))):
        rollouts(project, seed)
        assert project.run(*KEEP, *workers).ret == 0
        values.append(value(project))
    return project, values


def test_a_history_without_runs_is_nothing_to_compare_with(project):
    project.bench(FILE)
    rollouts(project, 1)
    project.run(*KEEP).stdout.fnmatch_lines(
        ["*the history holds no run of this benchmark that counts*"]
    )


def test_a_run_is_held_against_the_last_runs_task_by_task(four_runs, copy_of):
    before, values = four_runs
    project = copy_of(before)
    rollouts(project, 5, drop=0.3)
    result = project.run(*KEEP)
    result.stdout.fnmatch_lines(
        [
            "FAIL*pass@1 fell from*3 runs of the baseline, sd*",
            "*accept it with `pytest --evalmetrics-up*",
        ]
    )
    facts = gate(project)["comparison"]
    assert facts["runs"] == 3
    assert facts["tasks"] == 60
    assert facts["rollouts_baseline"] == 720
    assert facts["baseline"] == pytest.approx(sum(values[1:]) / 3)


def test_a_failed_run_is_none_to_compare_with(four_runs, copy_of):
    before, values = four_runs
    project = copy_of(before)
    rollouts(project, 5, drop=0.3)
    assert project.run(*KEEP).ret == 1
    rollouts(project, 6)
    assert project.run(*KEEP).ret == 0
    baseline = gate(project)["comparison"]["baseline"]
    assert baseline == pytest.approx(sum(values[1:]) / 3)


def test_the_report_s_history_is_without_the_tasks_of_its_runs(four_runs):
    project, _ = four_runs
    runs = project.report()["history"]["math.bench.yaml::math"]
    assert ["baseline" in run for run in runs] == [False] * 4


@pytest.fixture(scope="module")
def accepted(new_project):
    """A project whose second run was accepted for a reason, and a run after it."""
    project = new_project()
    project.bench(FILE)
    rollouts(project, 1)
    project.run(*UPDATE)
    rollouts(project, 2, drop=0.3)
    reason = ("--evalmetrics-reason", "a cheaper\n model")
    assert project.run(*UPDATE, *reason).ret == 0
    rollouts(project, 3, drop=0.3)
    assert project.run(*KEEP).ret == 0
    return project


def test_an_accepted_change_starts_anew(accepted):
    assert gate(accepted)["comparison"]["runs"] == 1


def test_the_reason_of_an_accepted_change_is_kept(accepted):
    text = (accepted.path / "h.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line.get("reason") for line in lines] == [None, "a cheaper model", None]
    assert lines[1]["baseline"]["provenance"]["reason"] == "a cheaper model"


def test_the_summary_shows_the_reason_of_an_accepted_change(accepted):
    summary = (accepted.path / "evalmetrics/summary.md").read_text()
    assert "math, 20" in summary
    assert ": a cheaper model" in summary


def test_other_tasks_are_another_benchmark_until_they_are_accepted(accepted, copy_of):
    project = copy_of(accepted)
    rollouts(project, 4, drop=0.3, tasks=50)
    project.bench(FILE.replace("60", "50"))
    project.run(*KEEP).stdout.fnmatch_lines(
        [
            "*10 of the baseline's 60 tasks*",
            "*accept it with `pytest --evalmetrics-update*",
        ]
    )
    assert project.run(*UPDATE).ret == 0
    assert project.run(*KEEP).ret == 0


def test_the_history_may_be_another_file_and_must_be_one(project):
    project.bench(FILE)
    rollouts(project, 1)
    result = project.run()
    result.stdout.fnmatch_lines(
        ["*math.bench.yaml:6: history: 3 needs a history, and none is*"]
    )
    project.run(*UPDATE)
    project.bench(FILE.replace("history: 3", "history: h.jsonl, runs: 2"))
    assert project.run().ret == 0
    assert project.report()["benchmarks"][0]["checks"][-1]["gate"] == "baseline"


@pytest.mark.parametrize(
    "option", [("--evalmetrics-reason", "x"), ("--evalmetrics-add-run",)], ids=" ".join
)
def test_what_is_said_of_an_update_needs_one(project, option):
    project.bench(FILE.replace("{history: 3}", "true"))
    rollouts(project, 1)
    assert "needs --evalmetrics-update" in project.run(*option).stderr.str()


@pytest.fixture(scope="module")
def recorded_once(new_project):
    """A project whose committed baseline was recorded for a reason."""
    project = new_project()
    project.bench(FILE.replace("{history: 3}", "true"))
    rollouts(project, 1)
    project.run("--snapshot-update", "--evalmetrics-reason", "first one")
    assert recorded_reason(project) == "first one"
    return project


@pytest.fixture
def with_reason(recorded_once, copy_of):
    return copy_of(recorded_once)


def recorded_reason(project):
    return json.loads(project.baseline().read_bytes())["provenance"].get("reason")


def test_the_reason_stays_while_the_numbers_do(with_reason):
    before = with_reason.baseline().read_bytes()
    with_reason.run("--snapshot-update")
    assert with_reason.baseline().read_bytes() == before


def test_another_reason_replaces_the_first(with_reason):
    with_reason.run("--snapshot-update", "--evalmetrics-reason", "better said")
    assert recorded_reason(with_reason) == "better said"


def test_the_reason_goes_where_the_numbers_change(with_reason):
    rollouts(with_reason, 2)
    with_reason.run("--snapshot-update")
    assert recorded_reason(with_reason) is None
