"""What a user sees of a gate that can't fail, of many gates, and of single tasks."""

import pytest


def many(project, benchmarks, rewards):
    text = "benchmarks:\n"
    for i in range(benchmarks):
        project.rollouts(rewards if i == 0 else [[1.0]] * 120, f"b{i}.jsonl")
        text += f"  - name: b{i}\n    rollouts: b{i}.jsonl\n    metrics: [pass@1]\n"
        text += "    baseline: true\n"
    project.write("many.bench.yaml", text)


def test_a_run_may_share_its_level(project):
    many(project, 8, [[1.0]] * 120)
    assert project.run("--snapshot-update").ret == 0
    many(project, 8, [[0.0]] * 8 + [[1.0]] * 112)  # p = 0.5 ** 9
    alone = project.run()
    alone.assert_outcomes(failed=1, passed=7)
    alone.stdout.fnmatch_lines(
        ["note: 8 benchmarks are tested: without any change up to 0.08 are expected to fail*"]
    )
    assert "8 benchmarks are tested" in (project.path / "evalmetrics/summary.md").read_text()
    project.write("pytest.ini", "[pytest]\nevalmetrics_family = run\n")
    for workers in ((), ("-n", "1")):
        together = project.run(*workers)
        together.assert_outcomes(passed=8, warnings=1)
        together.stdout.fnmatch_lines(["*but one of 8 benchmarks may be by chance*"])
        assert project.report()["benchmarks"][0]["verdict"] == "WARN"
    project.write("pytest.ini", "[pytest]\nevalmetrics_family = world\n")
    refused = project.run()
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*evalmetrics_family = world: expected one of benchmark, run*"])


def test_a_second_run_tells_what_single_rollouts_can_see(project):
    project.rollouts([[float(task % 3 > 0)] for task in range(90)])
    project.bench("metrics: [pass@1]\nbaseline: true")
    assert project.run("--snapshot-update").ret == 0
    same = project.run("--evalmetrics-plan")
    same.stdout.fnmatch_lines(["*one rollout of each task doesn't show*"])
    project.rollouts([[float((task + task // 30) % 3 > 0)] for task in range(90)])
    told = project.run("--evalmetrics-plan")
    told.stdout.fnmatch_lines(["*math*pass@1*90*1*0.*baseline and rollouts*"])
