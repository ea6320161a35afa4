"""--evalmetrics-history: who appends, what is shown of it, and what is held against it."""

import json

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
UPDATE = "--snapshot-update"
PLAIN = "num_samples: 1\nexpect: {tasks: 10}\nmetrics: [pass@1]\n"
BEST = PLAIN + "baseline: {against: best, rule: absolute, max_drop: 0.15}\n"


def lines(project, name="h.jsonl"):
    return [json.loads(line) for line in (project.path / name).read_text().splitlines()]


def test_a_run_appends_a_line_per_benchmark(project, passing):
    passing(7)
    project.bench(PLAIN + 'thresholds: {pass@1: ">= 0.5"}')
    project.bench(PLAIN + 'thresholds: {pass@1: ">= 0.9"}', name="sub/hard.bench.yaml")
    project.rollouts([[1.0]] * 10, "sub/runs.jsonl")
    assert project.run(*KEEP).ret == 0
    first, second = lines(project)
    names = ("math.bench.yaml::math", "sub/hard.bench.yaml::math")
    assert (first["benchmark"], second["benchmark"]) == names
    point = first["agents"]["agent"]["pass@1"]
    assert (point["value"], point["tasks"], point["rollouts"]) == (0.7, 10, 10)
    assert point["low"] < 0.7 < point["high"]
    assert (first["verdict"], first["usable"]) == ("PASS", True)


def test_what_evaluates_nothing_appends_nothing(project, passing):
    passing(7)
    project.bench(PLAIN + "baseline: true")
    for args in (("--collect-only",), ("--evalmetrics-plan",), ("-k", "none")):
        project.run(*KEEP, *args)
        assert not (project.path / "h.jsonl").exists()


def test_workers_append_nothing_themselves(project, passing):
    passing(7)
    project.write(
        "many.bench.yaml",
        "defaults: {rollouts: runs.jsonl, expect: {tasks: 10}}\nbenchmarks:\n"
        + "".join(f"  - {{name: b{i}}}\n" for i in range(6)),
    )
    project.write("pytest.ini", "[pytest]\nevalmetrics_history = kept/h.jsonl\n")
    assert project.run("-n", "1").ret == 0
    assert [line["benchmark"] for line in lines(project, "kept/h.jsonl")] == [
        f"many.bench.yaml::b{i}" for i in range(6)
    ]
    assert project.run(*KEEP).ret == 0  # the command line wins
    assert len(lines(project)) == len(lines(project, "kept/h.jsonl")) == 6


def test_an_xfailed_or_incomplete_run_does_not_count(project, passing):
    passing(7)
    for text in (
        'xfail: true\nthresholds: {pass@1: ">= 0.9"}',
        'thresholds: {pass@1: ">= 0.9"}',
        "expect: {tasks: 11}",
    ):
        project.bench(PLAIN.replace("expect: {tasks: 10}\n", "") + text)
        project.run(*KEEP)
    assert [line["usable"] for line in lines(project)] == [False] * 3


def test_best_needs_a_history(project, passing):
    project.bench(BEST)
    passing(9)
    # without a history to append to, an update accepts nothing
    result = project.run(UPDATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *:*: against: best needs a history, and none is named",
            "  -> name it: *",
        ]
    )


def test_a_history_has_to_be_started(project, passing):
    project.bench(BEST)
    passing(9)
    result = project.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *: h.jsonl holds no run of this benchmark that counts yet",
            "  -> start with it: `pytest --evalmetrics-update --evalmetrics-history FILE`",
        ]
    )


@pytest.fixture(scope="module")
def started(new_project):
    """A project whose history holds one run, which passed 9 of 10 tasks."""
    project = new_project()
    project.bench(BEST)
    project.rollouts([[float(i < 9)] for i in range(10)])
    result = project.run(*KEEP, UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: *accepted: from this run on its history counts anew"]
    )
    return project


@pytest.fixture
def best_is_9(started, copy_of):
    return copy_of(started)


def test_runs_below_the_best_fail_until_they_are_fixed(best_is_9, passing):
    passing(7)
    # the first of them does not lower what the second is compared with
    best_is_9.run(*KEEP)
    result = best_is_9.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "FAIL *: pass@1 fell from 0.9 to 0.7 (the only run, of *)",
            "*fix the regression; or, *",
        ]
    )


def test_an_accepted_run_is_the_best_from_then_on(best_is_9, passing):
    passing(7)
    assert best_is_9.run(*KEEP, UPDATE).ret == 0
    assert best_is_9.run(*KEEP).ret == 0
    facts = best_is_9.checks()["pass@1"]["comparison"]
    assert (facts["against"], facts["baseline"], facts["runs"]) == ("best", 0.7, 1)


def test_the_median_of_a_history_beside_the_benchmark_file(project, passing):
    project.bench(PLAIN)
    for count in (6, 1, 4, 5, 9):
        passing(count)
        project.run("--evalmetrics-history", "main.jsonl")
    passing(0)
    for last, value, runs in (
        (4, 0.45, "the median of the last 4 runs"),
        (9, 0.5, "the median of the last 5 runs"),
    ):
        against = f"median-of-last-{last}, history: main.jsonl"
        project.bench(f"{PLAIN}baseline: {{against: {against}, rule: exact}}\n")
        result = project.run()
        assert result.ret == 1
        result.stdout.fnmatch_lines([f"FAIL *pass@1 fell from {value} to 0 ({runs})"])
    assert len(lines(project, "main.jsonl")) == 5


@pytest.mark.parametrize("tasks", [5, 20])
def test_a_benchmark_that_has_grown_or_shrunk_is_no_longer_comparable(best_is_9, tasks):
    best_is_9.rollouts([[1.0]] * tasks)
    best_is_9.bench(BEST.replace("10", str(tasks)))
    result = best_is_9.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"*rest on another number of tasks: 10, and now {tasks}"]
    )


def of_agents(project, *agents):
    """Write ten tasks, which each agent solves."""
    project.rows(
        "runs.jsonl",
        [
            {
                "agent_ref": {"name": agent},
                "_ng_task_index": task,
                "_ng_rollout_index": 0,
                "reward": 1.0,
            }
            for agent in agents
            for task in range(10)
        ],
    )


def test_an_agent_that_is_missed_is_inconclusive_until_that_is_accepted(project):
    project.bench(BEST)
    of_agents(project, "a", "b")
    assert project.run(*KEEP, UPDATE).ret == 0
    of_agents(project, "a")
    result = project.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this run has no agent 'b', which the history has"])
    assert project.run(*KEEP, UPDATE).ret == 0


def test_the_only_agent_of_a_history_may_be_renamed(project):
    project.bench(BEST)
    of_agents(project, "a")
    assert project.run(*KEEP, UPDATE).ret == 0
    of_agents(project, "c")
    assert project.run(*KEEP).ret == 0


def test_a_metric_that_no_run_of_the_history_has_is_inconclusive(best_is_9):
    best_is_9.bench(BEST.replace("[pass@1]", "[mean/reward, pass@1, max@1]"))
    best_is_9.run(*KEEP).stdout.fnmatch_lines(
        ["*h.jsonl holds no run of this benchmark that counts and has max@1 yet"]
    )


IMPOSSIBLE = {
    "{against: best}": "with against: best use one of exact, absolute, relative, noninferior",
    "{against: best, rule: statistical}": "the rule statistical compares task by task",
    "{against: best, rule: exact, metrics: {pass@1: {rule: practical}}}": (
        "metrics.pass@1: the rule practical compares task by task"
    ),
    "{against: best, rule: exact, require_mde: 0.1}": "require_mde needs a test task by task",
    "{against: worst}": "expected snapshot, best, or median-of-last-5",
    "{against: median-of-last-0, rule: exact}": "expected snapshot, best, or median",
    "{history: 0}": "expected a number of runs from 1 to 50, or the history's file",
    "{history: 5, report: r.json}": "history: takes the history: drop rollouts, or report",
    "{against: best, rule: exact, history: 5}": "takes the history's file here, or nothing",
    "{against: best, rule: exact, report: r.json}": "takes the history: drop rollouts",
}


def test_an_impossible_history_is_refused_before_anything_runs(project):
    for number, baseline in enumerate(IMPOSSIBLE):
        project.bench(f"baseline: {baseline}", f"{number}.bench.yaml")
    result = project.run()
    assert result.ret == 2
    lines = [line for line in result.outlines if ".bench.yaml:4: " in line]
    for number, (line, message) in enumerate(
        zip(lines, IMPOSSIBLE.values(), strict=True)
    ):
        assert line.startswith(f"{number}.bench.yaml:")
        assert message in line


def test_a_history_that_was_measured_otherwise_is_not_compared_until_it_starts_anew(
    best_is_9,
):
    best_is_9.bench(f"{BEST}\npass_threshold: 0.5")
    result = best_is_9.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*the history: the ruler changed: pass_threshold 1.0 -> 0.5*"]
    )
    assert best_is_9.run(*KEEP, UPDATE).ret == 0
    assert best_is_9.run(*KEEP).ret == 0


def test_a_history_whose_measurement_is_damaged_is_not_compared(best_is_9):
    path = best_is_9.path / "h.jsonl"
    path.write_text(path.read_text().replace('"score":"reward"', '"scores":5'))
    best_is_9.run(*KEEP).stdout.fnmatch_lines(
        ["INCONCLUSIVE *the history: the ruler changed: *"]
    )
