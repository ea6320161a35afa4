"""``evalmetrics``: one command for everything beside a run."""

import json
import os
import subprocess
import sys

import pytest
from forked import Run, can_fork, completed

from pytest_evalmetrics.commands import main

NAMES = (
    "accept",
    "baselines",
    "calibrate",
    "check",
    "compare",
    "culprit",
    "explain",
    "init",
    "inspect",
    "journal",
    "list",
    "power",
    "schema",
    "site",
)
OWN_METRIC = """
from pytest_evalmetrics import register_metric


@register_metric("own_mean")
class OwnMean:
    "The mean of ours."
    name = "own_mean"
    direction = "higher"

    def compute(self, task_rewards):
        return sum(map(sum, task_rewards)) / sum(map(len, task_rewards))
"""


@pytest.fixture
def command(project):
    """Run a command in the project's folder, as a shell does."""

    def run(*args):
        program = [sys.executable, "-m", "pytest_evalmetrics"]
        return completed([*program, *args], project.path)

    return run


@pytest.mark.parametrize("name", NAMES)
def test_each_command_has_a_help_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as done:
        main([name, "--help"])
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert "example" in text
    assert f"  evalmetrics {name}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as done:
        main([])
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert [name for name in NAMES if f"  {name} " not in text] == []


def test_an_unknown_command_is_refused_with_those_that_there_are(capsys):
    assert main(["chekc"]) == 2
    said = capsys.readouterr().err
    assert (
        "there is no command 'chekc': did you mean 'check'? there are: accept," in said
    )


@pytest.mark.parametrize("name", ["power", "calibrate", "check"])
def test_a_command_without_a_benchmark_file_says_so_and_fails(command, name):
    done = command(name)
    assert done.returncode == 1
    assert done.stdout.startswith("no benchmark file was found: they are named *.bench")


def test_the_help_loads_neither_numpy_nor_pydantic():
    code = (
        "import sys\n"
        "from pytest_evalmetrics.commands import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["list", "explain"])
def test_names_of_conftest_are_known_as_in_a_run(project, command, name):
    project.write("conftest.py", OWN_METRIC)
    done = command(name, *(["own_mean"] if name == "explain" else []))
    assert done.returncode == 0
    assert "own_mean" in done.stdout


def test_runs_are_compared_by_a_metric_of_conftest(project, command):
    project.write("conftest.py", OWN_METRIC)
    project.rollouts([[1.0]] * 30, "a.jsonl")
    project.rollouts([[0.0]] * 30, "b.jsonl")
    done = command("compare", "a.jsonl", "b.jsonl", "--metric", "own_mean")
    assert done.returncode == 1
    assert "FAIL" in done.stdout
    assert "own_mean" in done.stdout


@pytest.mark.parametrize("name", ["check", "power"])
def test_one_process_is_enough_whatever_the_configuration_adds(project, command, name):
    project.write("pytest.ini", "[pytest]\naddopts = -n 2 --dist loadfile\n")
    project.rollouts([[1.0, 0.0]] * 30)
    project.bench("thresholds: {mean_reward: '>= 0.3'}")
    done = command(name)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "math" in done.stdout or "no problems" in done.stdout


@pytest.mark.parametrize(
    "asked",
    [("list",), ("explain", "pass@k"), ("check",), ("power",), ("init", "a.jsonl")],
)
def test_a_project_that_makes_errors_of_warnings_can_use_commands(
    project, command, asked
):
    project.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")
    project.rollouts([[1.0, 0.0]] * 30)
    project.rollouts([[1.0, 0.0]] * 30, name="a.jsonl")
    project.bench("thresholds: {mean_reward: '>= 0.3'}")
    done = command(*asked)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_check_prints_its_lines_alone(project, command):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    done = command("check")
    assert done.stdout.rstrip() == "no problems: 1 benchmark file, 1 benchmark"


def test_a_check_fails_where_there_is_no_benchmark_file(command):
    done = command("check")
    assert done.returncode == 1
    assert done.stdout.startswith("no benchmark file was found: they are named *.bench")


def test_a_check_names_the_line_of_a_problem(project, command):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_rewrad: '>= 0.5'}")
    done = command("check")
    assert done.returncode == 1
    assert "math.bench.yaml:4" in done.stdout
    assert "1 problem in 1 of 1 benchmark file" in done.stdout


def test_an_unreadable_run_is_an_error_in_a_line(command):
    done = command("compare", "a.jsonl", "b.jsonl")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "evalmetrics compare: there is no file or folder a.jsonl\n"
    )


def test_inspect_writes_nothing(project, command):
    project.rollouts([[1.0]] * 3)
    before = sorted(project.path.iterdir())
    done = command("inspect", "runs.jsonl")
    assert done.returncode == 0
    assert "runs.jsonl: jsonl, 3 rollouts" in done.stdout
    assert "benchmark:" in done.stdout
    assert sorted(project.path.iterdir()) == before


def test_the_schema_is_that_of_benchmark_files(command):
    done = command("schema")
    assert '"title": "Benchmark file of pytest-evalmetrics"' in done.stdout


def test_a_journal_that_is_not_there_yet_is_said_so(command):
    done = command("journal", "show")
    assert done.returncode == 0
    assert done.stdout.endswith("there is no journal yet\n")


def test_the_ages_of_baselines_are_listed_with_their_reasons(project, command):
    project.rollouts([[1.0]] * 10)
    project.bench("baseline: true")
    project.run("--snapshot-update", "--evalmetrics-reason=first level")
    done = command("baselines", "age")
    assert done.returncode == 0
    assert done.stdout.startswith("0 days  __baselines__/math.bench/math.json  20")
    assert done.stdout.endswith(": first level\n")


def test_unused_baselines_are_listed_and_deleted(project, command):
    project.rollouts([[1.0]] * 10)
    project.bench("baseline: true")
    project.run("--snapshot-update")
    (project.path / "math.bench.yaml").unlink()
    listed = command("baselines", "unused")
    assert "unused: __baselines__/math.bench/math.json" in listed.stdout
    assert (project.path / "__baselines__/math.bench/math.json").exists()
    assert command("baselines", "delete").returncode == 0
    assert not (project.path / "__baselines__").exists()


# -- accepting


@pytest.fixture
def fallen(project):
    """A benchmark that fell from 1 to 0, as its report says."""
    project.rollouts([[1.0]] * 40)
    project.bench("baseline: true")
    project.run("--evalmetrics-update")
    project.rollouts([[0.0]] * 40)
    assert project.run().ret == 1
    return project


def mean_of_baseline(project):
    path = project.path / "__baselines__/math.bench/math.json"
    (agent,) = json.loads(path.read_text())["agents"].values()
    return agent["key_metrics"]["mean_reward"]["value"]


def test_what_the_last_report_showed_is_accepted_with_a_reason(fallen, command):
    done = command("accept", "--reason", "meant so")
    assert done.returncode == 0
    assert done.stdout.startswith("accepting math.bench.yaml::math\n")
    assert mean_of_baseline(fallen) == 0
    assert fallen.run().ret == 0
    text = (fallen.path / "__baselines__/math.bench/math.json").read_text()
    assert "meant so" in text


def test_what_changed_since_the_report_is_not_accepted(fallen, command):
    fallen.rollouts([[0.0]] * 20 + [[1.0]] * 20)
    done = command("accept", "--reason", "meant so")
    assert done.returncode == 1
    assert "mean_reward is 0.5, and was 0 in the report" in done.stdout
    assert mean_of_baseline(fallen) == 1


def test_there_is_nothing_to_accept_where_every_baseline_is_met(fallen, command):
    fallen.rollouts([[1.0]] * 40)
    assert fallen.run().ret == 0
    done = command("accept", "--reason", "meant so")
    assert done.returncode == 0
    assert done.stdout.startswith("nothing to accept")


@pytest.mark.usefixtures("fallen")
def test_an_unknown_id_is_refused_with_those_of_the_report(command):
    done = command("accept", "math.bench.yaml::maths", "--reason", "meant so")
    assert done.returncode == 2
    assert "did you mean 'math.bench.yaml::math'?" in done.stderr


def test_without_a_report_there_is_nothing_to_accept_from(command):
    done = command("accept", "--reason", "meant so")
    assert done.returncode == 2
    assert "run pytest first" in done.stderr


def test_an_update_of_benchmarks_leaves_other_snapshots_alone(fallen):
    fallen.write("test_it.py", "def test_it(snapshot):\n    assert 1 == snapshot\n")
    fallen.run("--evalmetrics-update", "--evalmetrics-reason=meant so")
    assert mean_of_baseline(fallen) == 0
    assert not (fallen.path / "__snapshots__").exists()


def test_the_help_of_pytest_stays_short(project):
    lines = project.run("--help").stdout.lines
    assert sum("evalmetrics" in line for line in lines) <= 15


OLD_SPELLINGS = [
    ("--evalmetrics-plan", "evalmetrics power"),
    ("--evalmetrics-check", "evalmetrics check"),
    ("--evalmetrics-list", "evalmetrics list"),
    ("--evalmetrics-explain=pass@k", "evalmetrics explain NAME"),
    ("--evalmetrics-inspect=runs.jsonl", "evalmetrics inspect FILE"),
    ("--evalmetrics-delete-unused", "evalmetrics baselines delete (or unused)"),
]


@pytest.mark.parametrize(("option", "new"), OLD_SPELLINGS)
def test_an_option_of_old_works_and_names_the_command(project, option, new):
    project.rollouts([[1.0]])
    result = project.run(option, "-q")
    name = option.partition("=")[0]
    notes = [ln for ln in result.stderr.lines if ln.startswith("note:")]
    assert notes == [f"note: {name} is a command now: {new}"]


@pytest.mark.parametrize("arguments", [["power"], ["init", "runs.jsonl"]])
def test_a_command_names_no_option(command, project, arguments):
    project.rollouts([[1.0], [0.0]])
    done = command(*arguments)
    assert "is a command now" not in done.stderr


def start(program, folder, out, err):
    """Start a command, forked where that makes no difference."""
    if can_fork(program, os.environ):
        return Run(program, folder, os.environ, out, err)
    return subprocess.Popen(program, cwd=folder, stdout=out, stderr=err)


@pytest.mark.parametrize("name", ["init", "inspect", "list"])
def test_a_reader_that_is_gone_ends_a_command_without_a_traceback(project, name):
    rows = [{"id": f"t{n}", "correct": n % 2} for n in range(12)]
    project.rows("runs.jsonl", rows)
    arguments = [] if name == "list" else ["runs.jsonl"]
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does, after a few lines
    program = [sys.executable, "-m", "pytest_evalmetrics", name, *arguments]
    said = project.path / "said.txt"
    with os.fdopen(writer, "wb") as out, said.open("wb") as err:
        status = start(program, project.path, out, err).wait()
    assert status == 141
    assert "Traceback" not in said.read_text()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["compare", "a.jsonl"], "name two runs or more"),
        (
            ["compare", "a.jsonl", "b.jsonl", "--margin", "0"],
            "--margin: expected a number above 0, found 0",
        ),
        (
            ["compare", "a.jsonl", "b.jsonl", "--margin", "inf"],
            "--margin: expected a number above 0, found inf",
        ),
        (["journal", "export"], "export needs FILE"),
        (["journal", "import"], "import needs FILE"),
        (["journal", "clear", "a.jsonl"], "clear takes no FILE"),
        (["inspect", "a", "--label", "x"], "--label needs --to-parquet"),
        (["init", "a", "--max-drop", "0"], "--max-drop: expected a number above 0"),
        (["init", "a", "--max-drop", "inf"], "--max-drop: expected a number above 0"),
        (["accept"], "the following arguments are required: --reason"),
        (["baselines", "remove"], "invalid choice: 'remove' (choose from"),
        (["schema", "baseline"], "invalid choice: 'baseline' (choose from"),
        (
            ["compare", "a.jsonl", "b.jsonl", "--direction", "up"],
            "invalid choice: 'up' (choose from",
        ),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, problem, capsys):
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_site_over_nothing_is_refused(tmp_path, capsys):
    assert main(["site", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("evalmetrics site: ")
    assert "there is no report.json below it" in error
