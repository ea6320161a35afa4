"""The entry of the plugin: what its hooks do by themselves, and where they lead."""

import json
import sys

import pytest

from pytest_evalmetrics import plugin, settings
from pytest_evalmetrics.plugin import OurByteCode

FILE = "math.bench.yaml"


# -- our modules are found by Python itself --------------------------------------------------


def test_a_module_of_ours_is_found_by_python_itself():
    spec = OurByteCode.find_spec(
        "pytest_evalmetrics.errors", sys.modules["pytest_evalmetrics"].__path__
    )
    assert spec.origin.endswith("errors.py")


@pytest.mark.parametrize(
    "name", ["pytest_evalmetrics", "json", "pytest_evalmetrics2.x"]
)
def test_other_modules_are_left_to_the_other_finders(name):
    assert OurByteCode.find_spec(name) is None


def test_the_finder_is_there_once_until_the_run_ends(pytester):
    was_there = OurByteCode in sys.meta_path
    pytester.parseconfig()
    pytester.parseconfig()
    assert sys.meta_path.count(OurByteCode) == 1
    plugin.pytest_unconfigure()
    assert OurByteCode not in sys.meta_path
    if was_there:  # this run goes on
        sys.meta_path.insert(0, OurByteCode)


# -- what is collected -----------------------------------------------------------------------


def test_a_folder_of_baselines_is_noticed_and_not_collected(pytester):
    config = pytester.parseconfig()
    folder = pytester.mkdir("__baselines__")
    assert plugin.pytest_ignore_collect(folder, config) is True
    assert config.stash[settings.BASELINES] == [folder]


def test_a_file_that_is_called_as_a_folder_of_baselines_is_no_folder(pytester):
    config = pytester.parseconfig()
    file = pytester.path / "__baselines__"
    file.touch()
    assert plugin.pytest_ignore_collect(file, config) is None
    assert settings.BASELINES not in config.stash


@pytest.mark.parametrize("name", [FILE, "test_x.py"])
def test_a_run_leaves_no_file_out(pytester, name):
    path = pytester.path / name
    assert plugin.pytest_ignore_collect(path, pytester.parseconfig()) is None


@pytest.mark.parametrize(("name", "ignored"), [(FILE, None), ("test_x.py", True)])
def test_a_check_looks_at_benchmark_files_alone(pytester, name, ignored):
    config = pytester.parseconfig("--evalmetrics-check")
    assert plugin.pytest_ignore_collect(pytester.path / name, config) is ignored


def test_a_check_looks_into_folders(pytester):
    config = pytester.parseconfig("--evalmetrics-check")
    folder = pytester.mkdir("suite")
    assert plugin.pytest_ignore_collect(folder, config) is None


# -- options that print something ------------------------------------------------------------


@pytest.fixture
def answered(pytester, capsys):
    """Answer the options of a command line; return the status and what is printed."""

    def answer(*arguments):
        config = pytester.parseconfig(*arguments)
        capsys.readouterr()
        status = plugin.pytest_cmdline_main(config)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return answer


def test_a_run_without_such_options_goes_on(answered):
    assert answered() == (None, "", "")


def test_the_list_of_names_is_printed_in_place_of_a_run(answered):
    status, out, err = answered("--evalmetrics-list")
    assert status == 0
    assert out.startswith("metrics (")
    assert err == "note: --evalmetrics-list is a command now: evalmetrics list\n"


def test_a_name_is_explained_in_place_of_a_run(answered):
    status, out, _ = answered("--evalmetrics-explain", "pass_rate")
    assert status == 0
    assert out.startswith("pass_rate: metric")


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["--evalmetrics-schema"], "benchmark"),
        (["--evalmetrics-schema", "benchmark"], "benchmark"),
        (["--evalmetrics-schema", "report"], "report"),
    ],
)
def test_a_schema_is_printed_in_place_of_a_run(answered, arguments, title):
    status, out, _ = answered(*arguments)
    assert status == 0
    assert title in json.loads(out)["title"].lower()


@pytest.fixture
def rows(pytester):
    """A file of one rollout."""
    row = {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1, "level": "easy"}
    path = pytester.path / "runs.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    return path


def test_a_file_is_inspected_in_place_of_a_run(answered, rows):
    status, out, _ = answered("--evalmetrics-inspect", rows.name)
    assert status == 0
    assert "reward" in out


def test_a_file_is_converted_with_the_labels_that_are_asked_for(answered, rows):
    parquet = pytest.importorskip("pyarrow.parquet")
    target = rows.with_suffix(".parquet")
    status, _, _ = answered(
        "--evalmetrics-inspect",
        rows.name,
        "--evalmetrics-to-parquet",
        target.name,
        "--evalmetrics-label",
        "level",
    )
    assert status == 0
    assert "level" in str(parquet.read_schema(target))


def test_runs_that_are_compared_must_be_there(answered):
    status, _, err = answered("--evalmetrics-compare", "old.jsonl", "new.jsonl")
    assert status == 2
    assert "old.jsonl" in err


def test_runs_of_which_the_culprit_is_looked_for_must_be_there(answered):
    status, _, err = answered("--evalmetrics-culprit", "a.jsonl", "b.jsonl")
    assert status == 2
    assert "a.jsonl" in err


def test_a_first_benchmark_needs_rollouts(pytester):
    config = pytester.parseconfig("--evalmetrics-init", "gone.jsonl")
    with pytest.raises(pytest.UsageError, match=r"gone\.jsonl"):
        plugin.pytest_cmdline_main(config)


def test_the_command_init_says_its_own_name(pytester, capsys):
    config = pytester.parseconfig("--evalmetrics-init", "gone.jsonl")
    config.stash[settings.COMMAND] = True
    assert plugin.pytest_cmdline_main(config) == 2
    assert capsys.readouterr().err.startswith("evalmetrics init: ")


def test_a_mistake_in_the_policy_stops_before_anything_begins(pytester):
    config = pytester.parseconfig("-o", "evalmetrics_policy=needed=safety")
    with pytest.raises(pytest.UsageError, match="needed"):
        plugin.pytest_cmdline_main(config)


def test_a_commit_that_is_not_there_stops_before_anything_begins(pytester):
    config = pytester.parseconfig("--evalmetrics-affected", "HEAD")
    with pytest.raises(pytest.UsageError, match="git says"):
        plugin.pytest_cmdline_main(config)


# -- in place of the tests -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "title", "line"),
    [
        ("--evalmetrics-check", "check", "no problems: 1 benchmark file, 1 benchmark"),
        ("--evalmetrics-plan", "what the gates can detect", f"{FILE}::math*"),
        (
            "--evalmetrics-delete-unused=list",
            "baselines",
            "no baseline is unused",
        ),
    ],
)
def test_what_an_option_asks_for_is_printed_and_nothing_is_run(
    project, option, title, line
):
    project.rollouts([[1.0], [0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.9'}")
    result = project.run(option)
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes().get("failed", 0) == 0
    result.stdout.fnmatch_lines([f"*= {title} =*", line])


def test_a_check_that_finds_problems_fails(project):
    project.bench("metrics: [mean_rewards]")
    result = project.run("--evalmetrics-check")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
