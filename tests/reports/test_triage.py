"""Many failures at once: what the terminal, the summary and the annotations show of them."""

import json
import math

import pytest
from evaluated import evaluated

from pytest_evalmetrics.model.results import RunReport
from pytest_evalmetrics.reports.benchmark_lines import Reading
from pytest_evalmetrics.reports.terminal import section

WIDTH = 80
AGENTS = {"mid": 0.0, "big": 1.0}


def many(project, count, failing):
    """Write benchmarks in one file, some of which fall to zero for one of two agents."""
    for name, reward in (("good", 1.0), ("bad", 0.0)):
        project.rows(
            f"{name}.jsonl",
            (
                {
                    "_ng_task_index": t,
                    "reward": max(reward, better),
                    "agent_ref": {"name": agent},
                }
                for agent, better in AGENTS.items()
                for t in range(8)
            ),
        )
    entries = [
        {
            "name": f"topic-{i:03}",
            "rollouts": "bad.jsonl" if i < failing else "good.jsonl",
            "metrics": ["mean_reward"],
            "thresholds": {"mean_reward": ">= 0.9"},
            "baseline": {"rollouts": "good.jsonl"},
        }
        for i in range(count)
    ]
    project.write("all.bench.yaml", json.dumps({"benchmarks": entries}, indent=1))


def section_of(project):
    """Evaluate benchmarks in this process; return the lines of the section."""
    report = RunReport(benchmarks=tuple(evaluated(project).results))
    return [line for line, _ in section(report, [], Reading())]


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_many_failures_are_grouped_by_cause_and_folded(project, workers, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    many(project, count=30, failing=24)
    result = project.run(*workers)
    assert result.parseoutcomes() == {"failed": 24, "passed": 6}
    lines = result.stdout.lines
    assert sum(math.ceil(max(len(line), 1) / WIDTH) for line in lines) < 150
    result.stdout.fnmatch_lines(
        [
            "FAIL 24 of 24 failing benchmarks: mid, mean_reward",
            "FAIL  all.bench.yaml::topic-000  mean_reward (mid)",
            "FAIL  all.bench.yaml::topic-001  mid: mean_reward 0 (was 1, p 0.0039)",
            "... and 18 more that fail (-v shows them)",
            "PASS  all.bench.yaml::topic-024  mid: mean_reward 1 (>= 0.9; was 1)...",
        ]
    )
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == 10
    assert all("fell from 1 to 0" in line for line in errors)  # the strongest evidence
    assert "::notice::38 more errors in the summary" in lines
    text = (project.path / "evalmetrics" / "summary.md").read_text()
    assert "- **FAIL 24 of 24 failing benchmarks: mid, mean\\_reward**\n" in text


def test_agents_that_fail_alike_are_one_cause(project):
    tasks = range(8)
    for file, missing in (("good.jsonl", 0), ("short.jsonl", 3)):
        project.rows(
            file,
            (
                {"_ng_task_index": t, "reward": 1.0, "agent_ref": {"name": agent}}
                for agent in AGENTS
                for t in tasks[missing:]
            ),
        )
    shared = "{baseline: {rollouts: good.jsonl}, metrics: [mean_reward]}"
    names = "".join(f"  - {{name: t{n}, rollouts: short.jsonl}}\n" for n in range(6))
    project.write("all.bench.yaml", f"defaults: {shared}\nbenchmarks:\n{names}")
    lines = section_of(project)
    causes = [line for line in lines if "failing benchmarks" in line]
    assert causes[0] == "FAIL 6 of 6 failing benchmarks: mid, big, tasks"
    assert not any(line.startswith("FAIL") for line in causes[1:])


def test_eleven_benchmarks_of_three_agents_take_at_most_forty_lines(project):
    agents = ("ada", "bob", "eve")
    project.rows(
        "runs.jsonl",
        (
            {
                "_ng_task_index": task,
                "_ng_rollout_index": sample,
                "reward": float(task % 3 > 0),
                "agent_ref": {"name": agent},
            }
            for agent in agents
            for task in range(12)
            for sample in range(2)
        ),
    )
    shared = (
        "{num_samples: 2, rollouts: runs.jsonl, metrics: [mean_reward, pass@2, pass^2], "
        "baseline: {rollouts: runs.jsonl}}"
    )
    names = "".join(f"  - name: suite-{n}\n" for n in range(11))
    project.write("all.bench.yaml", f"defaults: {shared}\nbenchmarks:\n{names}")
    evaluation = evaluated(project)
    assert len(evaluation.lines) <= 38  # between a rule and the last line of pytest
    evaluation.says(
        "PASS  all.bench.yaml::suite-7  ada: mean_reward 0.6667 (was 0.6667)*"
    )


def test_a_few_failures_are_each_shown(project):
    many(project, count=10, failing=10)
    result = project.run()
    assert sum(line.startswith("FAILED ") for line in result.stdout.lines) == 10


def test_warnings_are_shown_once_and_by_pytest_too_with_v(project):
    project.rollouts([[1.0]] * 20, "old.jsonl")
    project.rollouts([[0.0]] * 5 + [[1.0]] * 15)  # p = 1/32
    each = "".join(f"  - {{name: b{n}}}\n" for n in range(12))
    shared = "{rollouts: runs.jsonl, metrics: [mean_reward], baseline: {rollouts: old.jsonl}}"
    project.write("all.bench.yaml", f"defaults: {shared}\nbenchmarks:\n{each}")
    short, long = project.run("-Wdefault"), project.run("-Wdefault", "-v")
    assert (
        short.parseoutcomes() == long.parseoutcomes() == {"passed": 12, "warnings": 12}
    )
    counts = [str(run.stdout).count(" RegressionWarning: b") for run in (short, long)]
    assert counts == [0, 12]
    assert sum(line.startswith("WARN  ") for line in short.stdout.lines) == 12


def test_fewer_lines_with_a_shorter_traceback_style(project):
    many(project, count=1, failing=1)
    long, short, line = (
        project.run(f"--tb={style}").stdout for style in ("long", "short", "line")
    )
    short.fnmatch_lines(["FAIL  all.bench.yaml:*: mid: mean_reward is 0, below 0.9"])
    short.no_fnmatch_line("verdict  *")
    line.fnmatch_lines(["mid: mean_reward fell from 1 to 0, p 0.0039"])
    line.no_fnmatch_line("FAIL  all.bench.yaml:[0-9]*")
    assert len(line.lines) < len(short.lines) < len(long.lines)


def test_a_cause_of_one_benchmark_names_it(project):
    """Three benchmarks fail alike, and three for reasons of their own."""
    project.rows("bad.jsonl", [{"_ng_task_index": t, "reward": 0.0} for t in range(4)])
    names = "".join(f"  - {{name: same-{n}}}\n" for n in range(5))
    alone = "  - {name: alone, metrics: [pass@1], thresholds: {pass@1: '>= 0.5'}}\n"
    shared = (
        "{rollouts: bad.jsonl, metrics: [mean_reward], "
        "thresholds: {mean_reward: '>= 0.9'}}"
    )
    project.write("all.bench.yaml", f"defaults: {shared}\nbenchmarks:\n{names}{alone}")
    lines = section_of(project)
    assert "FAIL 6 of 6 failing benchmarks: mean_reward" in lines
    assert "FAIL alone: pass@1" in lines


def test_a_run_that_lost_rollouts_is_no_drop_of_the_same_metric(project):
    steady = [[1.0] * 4] * 40
    project.rollouts([*steady, *[[1.0, 0.0, 1.0, 0.0]] * 20], "old.jsonl")
    project.rollouts([*steady, *[[0.0] * 4] * 20], "worse.jsonl")
    project.rollouts([*steady, *[[1.0]] * 20], "lost.jsonl")
    shared = {
        "metrics": ["pass@1"],
        "expect": {"rollouts": "any"},
        "baseline": {"rollouts": "old.jsonl"},
    }
    entries = [{"name": f"worse-{i}", "rollouts": "worse.jsonl"} for i in range(5)]
    entries.append({"name": "lost", "rollouts": "lost.jsonl"})
    text = json.dumps({"defaults": shared, "benchmarks": entries}, indent=1)
    project.write("all.bench.yaml", text)
    lines = section_of(project)
    assert "FAIL 5 of 6 failing benchmarks: pass@1" in lines
    assert "FAIL lost: pass@1" in lines
