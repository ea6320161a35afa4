"""What a run says: the text of a failure, the section at the end, and what is folded in it."""

from functools import cache

import pytest
from conftest import SharedProject
from evaluated import evaluated

ODD = "odd\n::stop-commands::\x1b[31m$x$ @you"


def test_a_failed_threshold_is_its_reason_its_place_and_the_interval(
    project, monkeypatch
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "no/where.md")
    project.rollouts([[1.0], [0.0]] * 2)
    project.bench(
        'expect: {tasks: 4}\nmetrics: [pass@1]\nthresholds: {pass@1: ">= 0.7"}'
    )
    project.write("gone.bench.yaml", "benchmark: {name: gone, rollouts: gone.jsonl}\n")
    result = project.run()
    result.stdout.fnmatch_lines(
        [
            "FAIL  math.bench.yaml:6: pass@1 is 0.5, below 0.7",
            "  ├─────────●────┊────┤  ┊ 0.7000; 95 % interval 0.0676 to 0.9324",
            "  more: evalmetrics/report.html#/math.bench.yaml::math",
            "  again:  pytest math.bench.yaml::math",
        ],
        consecutive=True,
    )
    result.stdout.fnmatch_lines(
        [
            "FAIL  math.bench.yaml::math  pass@1",
            "artifacts: evalmetrics/aggregate_metrics.json, *",
            "no/where.md: the job summary can't be written: *",
            "FAILED math.bench.yaml::math - pass@1 is 0.5, below 0.7",
        ]
    )
    result.stdout.fnmatch_lines(["  -> paths are relative to *"])


SAFE_NAMES = r"worst, odd\n::stop-commands::\x1b[31m$x$ @you"


@pytest.fixture(scope="module")
def agents(shared_project):
    """A project with nine agents, two of which fail, one with an odd name; it runs once."""
    agents = {"best": 1.0, "worst": 0.0, ODD: 0.0} | dict.fromkeys("abcdef", 1.0)
    rows = [
        {"_ng_task_index": 0, "reward": reward, "agent_ref": {"name": name}}
        for name, reward in agents.items()
    ]
    shared_project.rows("runs.jsonl", rows)
    shared_project.bench('metrics: [mean_reward]\nthresholds: {mean_reward: ">= 0.7"}')
    shared_project.run = cache(shared_project.run)
    return shared_project


@pytest.fixture
def crowd(agents, monkeypatch):
    """The project in GitHub's CI."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(agents.path.parent))
    return agents


def test_of_many_agents_the_failing_come_first(crowd):
    lines = crowd.run().stdout.lines
    reason = "mean_reward is 0, below 0.7"
    assert f"FAIL  math.bench.yaml:5: {SAFE_NAMES}: {reason}" in lines
    failed = lines.index(f"FAIL  math.bench.yaml::math  mean_reward ({SAFE_NAMES})")
    assert lines.index("      best: mean_reward 1 (>= 0.7)") > failed


def test_each_failing_agent_has_an_annotation_at_its_line(crowd):
    lines = crowd.run().stdout.lines
    annotations = [line for line in lines if line.startswith("::")]
    start = (
        f"::error file={crowd.path.name}/math.bench.yaml,line=5,title=math%3A FAIL::"
    )
    assert [line.startswith(start) for line in annotations] == [True, True]
    worst = [line for line in annotations if "worst" in line]
    assert worst[0].endswith("::worst: mean_reward is 0, below 0.7")


def test_nothing_in_the_name_of_an_agent_is_a_command(crowd):
    lines = crowd.run().stdout.lines
    assert "\x1b" not in "".join(lines)
    # of both agents that fail, and of no name
    assert len([line for line in lines if line.startswith("::")]) == 2
    text = (crowd.path / "evalmetrics" / "summary.md").read_text(encoding="utf-8")
    assert text.replace("\n", "").isprintable()
    assert "\n::" not in text


def test_the_same_note_of_many_agents_is_folded(crowd):
    lines = crowd.run().stdout.lines
    (note,) = [line for line in lines if line.startswith("note: ")]
    assert note.endswith(" (and 8 more such notes: -v)")


@pytest.fixture
def many(project):
    """Fifty benchmarks that pass, four that fail before them, and twelve that are skipped."""
    project.rollouts([[1.0]])
    entries = [f"{{name: f{i}, thresholds: {{mean_reward: '>= 2'}}}}" for i in range(4)]
    entries += [f"{{name: p{i:02}}}" for i in range(50)]
    entries += [f"{{name: s{i:02}, skip: later}}" for i in range(12)]
    each = "".join(f"- {entry}\n" for entry in entries)
    project.write(
        "a.bench.yaml", f"defaults: {{rollouts: runs.jsonl}}\nbenchmarks:\n{each}"
    )
    return project


def test_many_passing_benchmarks_are_folded_and_a_few_failing_ones_never(many):
    short, long = many.run().stdout.lines, many.run("-v").stdout.lines
    assert sum(line.startswith("FAIL  a.bench.yaml::") for line in short) == 4
    assert "... and 20 more that pass (-v shows them)" in short
    assert "... and 2 more skipped (-v shows them)" in short
    assert sum(line.startswith("PASS  a.bench.yaml::") for line in long) == 50


def test_of_many_missing_results_the_first_are_reported(many):
    lines = many.run("-x").stdout.lines
    first = lines.index("INCONCLUSIVE  a.bench.yaml::f1  was not evaluated")
    assert (
        lines[first + 10] == "... and 55 more that were not evaluated (-v shows them)"
    )
    quiet = many.run("-x", "-q").stdout
    quiet.fnmatch_lines(
        [
            "=* benchmarks =*",
            "FAIL  a.bench.yaml::f0  mean_reward is 1, below 2",
            "1 benchmark: 1 FAIL, 65 not evaluated",
            "artifacts: *",
            "=*",
        ],
        consecutive=True,
    )


# -- a failing benchmark, and one that passes over a loss -------------------------------------


def compared(project, now):
    """Write a benchmark that compares rows with those of `runs.jsonl`."""
    project.rollouts([[1.0, 1.0]] * len(now))
    rows = (
        {"_ng_task_index": task, "_ng_rollout_index": sample, "reward": reward}
        for task, rewards in enumerate(now)
        for sample, reward in enumerate(rewards)
    )
    project.rows("now.jsonl", rows)
    project.write(
        "math.bench.yaml",
        "benchmark:\n"
        "  name: math\n"
        "  rollouts: now.jsonl\n"
        "  metrics: [mean_reward]\n"
        "  baseline: {rollouts: runs.jsonl}\n",
    )


@pytest.fixture(scope="module")
def lost(tmp_path_factory):
    """A benchmark that lost 12 of its 40 tasks; it runs once with each option."""
    project = SharedProject(tmp_path_factory.mktemp("lost"))
    compared(project, [[0.0, 0.0]] * 12 + [[1.0, 1.0]] * 28)
    project.run = cache(project.run)
    return project


def test_checks_that_hold_are_in_the_table_of_a_failure_with_v_alone(lost):
    short, long = lost.run().stdout.lines, lost.run("-v").stdout.lines
    assert not any(line.startswith("PASS     missing") for line in short)
    assert any(line.startswith("PASS     missing") for line in long)


def test_the_basis_of_a_test_is_shown_with_v_alone(lost):
    short, long = lost.run().stdout.lines, lost.run("-v").stdout.lines
    assert not any("40 tasks, 80 rollouts before and 80 now" in line for line in short)
    assert any("40 tasks, 80 rollouts before and 80 now" in line for line in long)


def test_three_tasks_that_got_worse_are_shown_below_the_first_reason(lost):
    lines = lost.run().stdout.lines
    flips = [line for line in lines if line.endswith("  2/2 -> 0/2")]
    assert flips == ["  0  2/2 -> 0/2", "  1  2/2 -> 0/2", "  2  2/2 -> 0/2"]
    assert "  ... 9 more: evalmetrics/report.html#/math.bench.yaml::math" in lines


def test_a_failure_is_the_same_where_a_worker_of_xdist_ran_it(lost):
    alone, apart = lost.run().stdout.lines, lost.run("-n", "1").stdout.lines
    begins = next(line for line in alone if line.startswith("FAIL  math.bench.yaml:"))
    ends = next(
        line for line in alone if line.startswith("= ") or "benchmarks =" in line
    )
    assert begins in alone
    first, last = alone.index(begins), alone.index(ends, alone.index(begins))
    there = apart.index(begins)
    assert apart[there : there + last - first] == alone[first:last]
    assert "FAILED math.bench.yaml::math - mean_reward fell from 1 to 0.7" in alone[-2]
    assert alone[-2] == apart[-2]


def test_a_benchmark_that_passes_over_a_loss_says_what_it_knows(project):
    now = [[0.0, 0.0]] + [[1.0, 1.0]] * 29
    compared(project, now)
    lines = evaluated(project).lines
    (line,) = [line for line in lines if "math.bench.yaml::math  " in line]
    assert "mean_reward 0.9667 (was 1, -0.0333, p " in line


def test_an_unchanged_metric_says_no_p_value(project):
    compared(project, [[1.0, 1.0]] * 30)
    lines = evaluated(project).lines
    (line,) = [line for line in lines if line.startswith("PASS  math")]
    assert "mean_reward 1 (was 1" in line
    assert ", p " not in line


def test_a_quiet_line_that_is_too_long_leaves_out_the_file_before_a_number(
    project, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    project.rollouts([[1, 0]] * 4, name="benchmarks/of_the_agent/runs.jsonl")
    name = "benchmarks/of_the_agent/long.bench.yaml"
    project.bench(
        "metrics: [mean_reward]\nbaseline: {rule: absolute, max_drop: 10%}", name
    )
    evaluated(project, updates=True)
    project.run("-q").stdout.fnmatch_lines(
        ["PASS  ...::math  mean_reward 0.5000 (was 0.5000), 4 tasks, 8 rollouts"]
    )


def test_benchmarks_stand_in_natural_order(project):
    project.rollouts([[1.0], [1.0]])
    names = "".join(
        f"  - {{name: suite-{number}, rollouts: runs.jsonl}}\n" for number in (10, 2, 1)
    )
    project.write("all.bench.yaml", f"benchmarks:\n{names}")
    lines = project.run("all.bench.yaml").stdout.lines
    passing = [line.split()[1] for line in lines if line.startswith("PASS ")]
    assert passing == [
        "all.bench.yaml::suite-1",
        "all.bench.yaml::suite-2",
        "all.bench.yaml::suite-10",
    ]


def test_why_a_benchmark_warns_is_said_whole_and_the_first_tasks_are_named(
    project, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    project.rollouts([[1.0] * 8] * 40)
    project.bench("num_samples: 8\nmetrics: [pass@1]\nbaseline: {}")
    assert evaluated(project, updates=True).passed
    project.rollouts([[0.0] * 8, *([[1.0] * 8] * 39)])
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "    WARN  1 of 40 tasks got worse by their rollouts: 0 (1 to 0, p = 7.8e-05);",
            "      unproven, as it takes independent rollouts, and those of too few tasks",
            "      differ to show it: if each was drawn anew, state `independent: true`",
            "    changed: 1 task went from all passing to none: 0",
        ],
        consecutive=True,
    )


def test_a_change_is_over_the_compared_tasks_and_quarantine_is_counted(
    project, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "80")
    project.bench(
        "metrics: [mean_reward]\nbaseline: true\n"
        "quarantine: [{task: 0, until: 2999-01-01, reason: flaky}]"
    )
    project.rollouts([[1.0], [1.0], [1.0], [1.0]])
    assert evaluated(project, updates=True).passed
    project.rollouts([[0.0], [1.0], [1.0], [1.0]])
    project.run().stdout.fnmatch_lines(
        [
            "PASS  math.bench.yaml::math  mean_reward 0.7500 (1 in 3 compared tasks, was 1),",
            "      4 tasks, 4 rollouts, 1 in quarantine",
        ],
        consecutive=True,
    )
