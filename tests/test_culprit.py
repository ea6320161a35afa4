"""--evalmetrics-culprit: the first worse of several runs, or of commits with their artifacts."""

import random
import re
import subprocess

import pytest

from pytest_evalmetrics.commands import main


def write(project, name, seed, drop=0.0):
    draw, chances = random.Random(seed), random.Random(0)  # noqa: S311 - no secret
    of_task = [chances.betavariate(0.4, 0.4) for _ in range(200)]
    runs = [[float(draw.random() < p - drop) for _ in range(4)] for p in of_task]
    project.rollouts(runs, name)


@pytest.fixture
def runs(project):
    """Six runs, of which the fourth is the first worse one."""
    for n in range(6):
        write(project, f"r{n}.jsonl", n + 1, 0.15 * (n >= 3))
    return [f"r{n}.jsonl" for n in range(6)]


def test_the_first_worse_run_is_named_with_its_confidence(project, runs):
    result = project.run("--evalmetrics-culprit", *runs)
    assert result.ret == 1
    first = r"(\S+) is the first worse run, ([\d.]+) % sure: from ([\d.]+) to"
    name, confidence, before = re.search(first, result.stdout.str()).groups()
    assert name == "r3.jsonl"
    assert float(confidence) > 90
    assert float(before) > 0.45


def test_runs_on_one_side_of_the_drop_have_no_culprit(project, runs):
    assert project.run("--evalmetrics-culprit", *runs[:3]).ret == 0
    assert project.run("--evalmetrics-culprit", *runs[3:]).ret == 0


def test_a_rise_is_no_culprit(project, runs):
    better = project.run("--evalmetrics-culprit", *runs[::-1])
    assert better.ret == 0
    better.stdout.fnmatch_lines(["*no run is worse than those before it*"])


def test_the_command_takes_a_metric_that_should_be_low(project, runs):
    command = ["culprit", "--metric", "mean/wer", "--reward", "wer"]
    command += ["--direction", "lower"]
    for name in runs:
        rows = (project.path / name).read_text()
        (project.path / f"wer-{name}").write_text(rows.replace('"reward"', '"wer"'))
    names = [f"wer-{name}" for name in runs]
    assert main([*command, *names]) == 0
    assert main([*command, *names[::-1]]) == 1


def test_one_run_has_nothing_before_it(runs):
    assert main(["culprit", runs[0]]) == 2


def test_a_run_that_is_not_there_is_an_error_of_usage(project, runs):
    assert project.run("--evalmetrics-culprit", runs[0], "gone.jsonl").ret == 2


def test_reports_of_commits_give_the_commit(project, runs):
    def git(*args):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args]
        return subprocess.check_output(command, cwd=project.path, text=True).strip()

    git("init", "-q")
    project.bench("metrics: [mean_reward]\nexpect: {tasks: 200}")
    commits = []
    for n, name in enumerate([runs[0], None, *runs[1:]]):
        git("commit", "-q", "--allow-empty", "-m", f"change {n}")
        commits.append(git("rev-parse", "HEAD"))
        if name is not None and n != 4:  # two commits without artifacts
            source = project.path / name
            (project.path / "runs.jsonl").write_bytes(source.read_bytes())
            project.run(f"--evalmetrics-output=artifacts/{commits[-1][:10]}/")
    span = f"{commits[0]}..HEAD=artifacts/{{commit}}/report.json"
    result = project.run("--evalmetrics-culprit", span)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"math mean_reward: {commits[5][:7]} is the first worse run, * % sure*",
            f"1 commit without artifacts between {commits[0][:7]} and {commits[2][:7]}",
            f"1 commit without artifacts between {commits[3][:7]} and {commits[5][:7]}",
        ]
    )
    assert main(["culprit", "nowhere..HEAD=artifacts/{commit}"]) == 2
    assert main(["culprit", f"{commits[0]}..HEAD=artifacts"]) == 2
