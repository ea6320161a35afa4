"""--evalmetrics-culprit: the first worse of several runs, or of commits with their artifacts."""

import json
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


# -- in this process -------------------------------------------------------------------------

TASKS = 40
# levels of runs that are slightly worse from the third on
SLIGHT = (0.5, 0.5, 0.5, 0.45, 0.45)


def drawn(level, seed):
    """Draw a reward of each task around a level."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    return [level + draw.gauss(0, 0.02) for _ in range(TASKS)]


def record(path, rewards, **fields):
    rows = [
        json.dumps({"id": f"t{task}", "reward": reward, **fields}) + "\n"
        for task, reward in enumerate(rewards)
    ]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(rows)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, and a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def culprit(capsys):
    """Search for the first worse run; give the exit status and the lines."""

    def search(*arguments):
        status = main(["culprit", *arguments])
        return status, capsys.readouterr().out.splitlines()

    return search


def record_days(folder, levels):
    """Record a run of each level; give the names of their files."""
    names = []
    for day, level in enumerate(levels):
        name = f"day{day}.jsonl"
        record(folder / name, drawn(level, seed=day))
        names.append(name)
    return names


def test_a_single_run_is_refused_in_words(folder, capsys):
    record_days(folder, [0.5])
    assert main(["culprit", "day0.jsonl"]) == 2
    assert "two runs or more are needed, the oldest first" in capsys.readouterr().err


def test_runs_in_folders_are_named_by_what_tells_them_apart(folder, culprit):
    names = []
    for day, level in enumerate([0.8, 0.8, 0.8, 0.2, 0.2]):
        (folder / f"day{day}").mkdir()
        record(folder / f"day{day}" / "runs.jsonl", drawn(level, seed=day))
        names.append(f"day{day}/runs.jsonl")
    status, lines = culprit(*names)
    assert status == 1
    assert lines[0].startswith("mean_reward: day3/runs.jsonl is the first worse run, ")


def test_the_metrics_of_a_search_share_the_level_of_one(folder, culprit):
    """p is 0.006: less than the level alone, more than half of it."""
    names = record_days(folder, SLIGHT)
    status, (line,) = culprit(*names)
    assert status == 1
    p = float(re.search(r"\(p = ([\d.]+) that nothing changed\)", line)[1])
    assert 0.005 < p < 0.01
    status, lines = culprit(*names, "--metric", "mean_reward", "--metric", "pass@1")
    assert status == 0
    assert (
        lines[0] == f"mean_reward: no run is worse than those before it (p = {p:.2g})"
    )


def test_a_level_that_is_named_is_that_of_the_search(folder, culprit):
    names = record_days(folder, SLIGHT)
    status, (line,) = culprit(*names, "--alpha", "0.001")
    assert status == 0
    assert line.startswith(
        "mean_reward: no run is worse than those before it (p = 0.00"
    )


def test_each_agent_is_searched_by_itself(folder, culprit):
    names = []
    for day, level in enumerate([0.8, 0.8, 0.8, 0.2, 0.2]):
        path = folder / f"day{day}.jsonl"
        record(path, drawn(level, seed=day), agent="fast")
        record(path, drawn(0.5, seed=day + 9), agent="slow")
        names.append(path.name)
    status, lines = culprit(*names, "--agent", "agent")
    assert status == 1
    assert lines[0].startswith("fast mean_reward: day3.jsonl is the first worse run, ")
    assert lines[1].startswith("slow mean_reward: no run is worse than those before it")


@pytest.mark.parametrize("unit", [0.001, 1])
def test_a_latency_below_a_second_is_no_rate(folder, culprit, unit):
    """Runs of latencies differ by a factor, in seconds as in milliseconds."""
    names = []
    for day, level in enumerate([300, 310, 290, 360, 370]):
        draw = random.Random(day)  # noqa: S311 - no secret
        rows = [
            {"id": f"t{task}", "reward": 1, "latency": unit * draw.gauss(level, 20)}
            for task in range(TASKS)
        ]
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / f"day{day}.jsonl").write_text("".join(lines))
        names.append(f"day{day}.jsonl")
    metric = ["--metric", "mean/latency", "--direction", "lower"]
    _, (line,) = culprit(*names, *metric, "--reward", "reward", "--alpha", "0.05")
    assert " over 40 tasks (p = 0.026 that nothing changed)" in line


def test_a_score_of_which_nothing_says_which_way_is_better_is_asked_about(
    folder, capsys
):
    for day in range(2):
        record(folder / f"day{day}.jsonl", drawn(0.5, seed=day), oddness=0.5)
    arguments = ["culprit", "day0.jsonl", "day1.jsonl", "--metric", "mean/oddness"]
    assert main([*arguments, "--task", "id", "--reward", "reward"]) == 2
    error = capsys.readouterr().err
    assert "nothing says which way is better for mean/oddness" in error


# -- reports ---------------------------------------------------------------------------------


def write_report(path, benchmarks):
    """Write as much of a report as is read: rewards by benchmark and agent."""
    entries = []
    for name, rewards_by_agent in benchmarks.items():
        agents = [
            {
                "agent": agent,
                "estimates": {},
                "key_metrics": {},
                "task_scores": {
                    f"t{task}": {"reward": [reward]}
                    for task, reward in enumerate(rewards)
                },
            }
            for agent, rewards in rewards_by_agent.items()
        ]
        entry = {"name": name, "file": "a.yaml", "agents": agents, "checks": []}
        entries.append(entry)
    path.parent.mkdir()
    path.write_text(json.dumps({"schema_version": 2, "benchmarks": entries}))


def test_each_benchmark_of_reports_is_searched_by_itself(folder, culprit):
    for day, level in enumerate([0.8, 0.8, 0.8, 0.2, 0.2]):
        sums = {"a": drawn(level, seed=day)}
        words = {"a": drawn(0.5, seed=day + 9)}
        path = folder / f"day{day}" / "report.json"
        write_report(path, {"sums": sums, "words": words})
    status, lines = culprit(*[f"day{day}" for day in range(5)])
    assert status == 1
    assert lines[0].startswith("sums mean_reward: day3 is the first worse run, ")
    assert lines[1].startswith(
        "words mean_reward: no run is worse than those before it"
    )


def test_an_agent_is_searched_in_the_reports_that_have_it(folder, culprit):
    for day, level in enumerate([0.5, 0.8, 0.8, 0.8, 0.2, 0.2]):
        agents = {"old": drawn(0.5, seed=day + 9)}
        if day > 0:
            agents["new"] = drawn(level, seed=day)
        write_report(folder / f"day{day}" / "report.json", {"sums": agents})
    status, lines = culprit(*[f"day{day}" for day in range(6)])
    assert status == 1
    assert lines[0].startswith(
        "sums old mean_reward: no run is worse than those before"
    )
    assert lines[1].startswith("sums new mean_reward: day4 is the first worse run, ")


def test_an_agent_of_one_report_has_nothing_before_it(folder, culprit):
    for day in range(3):
        agents = {"old": drawn(0.5, seed=day)}
        if day == 2:
            agents["new"] = drawn(0.5, seed=day)
        write_report(folder / f"day{day}" / "report.json", {"sums": agents})
    status, lines = culprit("day0", "day1", "day2")
    assert status == 0
    assert lines[0].startswith("sums old mean_reward: no run is worse")
    assert lines[1] == "sums new: day2 alone has it, so that nothing came before it"


def test_the_only_agent_of_reports_may_have_been_renamed(folder, culprit):
    for day, level in enumerate([0.8, 0.8, 0.8, 0.2, 0.2]):
        agents = {f"agent-{day}": drawn(level, seed=day)}
        write_report(folder / f"day{day}" / "report.json", {"sums": agents})
    status, lines = culprit(*[f"day{day}" for day in range(5)])
    assert status == 1
    assert lines[0].startswith("sums mean_reward: day3 is the first worse run, ")


def test_the_reports_of_commits_give_the_commit(folder, culprit):
    def git(*words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
        return subprocess.check_output(command, text=True).strip()

    git("init", "-q")
    commits = []
    for change, level in enumerate([0.8, None, 0.8, 0.8, None, 0.2, 0.2]):
        git("commit", "-q", "--allow-empty", "-m", f"change {change}")
        commits.append(git("rev-parse", "HEAD"))
        if level is not None:
            path = folder / commits[-1][:10] / "report.json"
            write_report(path, {"sums": {"a": drawn(level, seed=change)}})
    status, lines = culprit(f"{commits[0]}..HEAD={{commit}}/report.json")
    assert status == 1
    worse, *notes = lines
    names = [commit[:7] for commit in commits]
    assert worse.startswith(f"sums mean_reward: {names[5]} is the first worse run, ")
    assert notes == [
        f"1 commit without artifacts between {names[0]} and {names[2]}",
        f"1 commit without artifacts between {names[3]} and {names[5]}",
    ]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "commits", ["nowhere..HEAD=artifacts/{commit}", "HEAD~1..HEAD=artifacts"]
)
def test_commits_that_are_not_there_and_a_pattern_without_one_are_refused(commits):
    assert main(["culprit", commits]) == 2
