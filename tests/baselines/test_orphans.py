"""Baselines that no benchmark file declares: reported by whole runs, deleted when asked.

Nothing but --evalmetrics-delete-unused deletes any, whatever a run selects or leaves out.
"""

import subprocess

import pytest
from baselines.conftest import BEFORE, ONE

UPDATE = "--snapshot-update"
DELETE = "--evalmetrics-delete-unused"


@pytest.fixture
def same(evals):
    """Let the run be the recorded one: only orphans are to be seen."""
    evals.rollouts(BEFORE)
    return evals


ORPHAN = "evals/__baselines__/one.bench/gone.json"


@pytest.mark.parametrize("args", [("-n1", "evals/one.bench.yaml"), ("evals",)])
def test_an_orphan_fails_a_run_that_could_have_used_it(same, args):
    same.orphan()
    result = same.run(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "1 unused baseline: `evalmetrics baselines delete` deletes it",
            f"    {ORPHAN}",
        ]
    )
    result.stdout.no_fnmatch_line("*snapshot report summary*")


@pytest.mark.parametrize("option", [UPDATE, f"{DELETE}=list"])
def test_neither_an_update_nor_a_list_deletes_an_orphan(same, option):
    orphan = same.orphan()
    assert same.run_here(option, "evals").ret == 0
    assert orphan.exists()


def test_an_orphan_is_listed_and_deleted_by_an_option_of_its_own(same):
    orphan = same.orphan()
    result = same.run_here("evals", f"{DELETE}=list")
    result.stdout.fnmatch_lines([f"unused: {ORPHAN}", "1 unused baseline: *"])
    result = same.run_here("evals", DELETE)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"unused: {ORPHAN}", "1 *baseline deleted"])
    assert not orphan.exists()
    assert same.rewritten() == set()


@pytest.mark.parametrize(
    "args", [("-k", "nothing"), ("evals/one.bench.yaml::math",), (".",)]
)
def test_deleting_knows_all_benchmark_files_whatever_is_selected(same, args):
    same.write("one.bench.yaml", ONE.replace("  - {name: math-old}\n", ""))
    same.folder.joinpath("two.bench.yaml").unlink()
    same.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items): items[:] = items[:1]\n",
    )
    same.run(*args, DELETE).stdout.fnmatch_lines(["2 unused baselines deleted"])
    gone = {"one.bench/math-old.json", "two.bench/other.json"}
    assert set(same.baselines()) == set(same.recorded) - gone
    assert not (same.folder / "__baselines__" / "two.bench").exists()


def test_a_file_that_may_be_a_benchmark_file_in_another_setting(same):
    same.orphan("gone.bench/a.json")
    for name, last in (
        ("gone.bench.md", "1 unused baseline: *"),
        ("gone.bench.yml", "no *"),
    ):
        same.write(name, "")
        same.run_here(
            "-o", "evalmetrics_files=*.bench.yaml", f"{DELETE}=list"
        ).stdout.fnmatch_lines([last])


@pytest.mark.parametrize(
    "args", [("--evalmetrics-plan", UPDATE), (DELETE,), (DELETE, UPDATE)]
)
def test_what_evaluates_nothing_leaves_everybodys_snapshots_alone(same, args):
    same.write("test_own.py", "def test_own(snapshot): assert 1 == snapshot\n")
    same.run_here(UPDATE, "evals/test_own.py")
    own = same.folder / "__snapshots__" / "test_own.ambr"
    before = own.read_bytes()
    assert same.run_here(*args).ret == 0
    assert own.read_bytes() == before
    assert same.rewritten() == set()


def test_a_selection_reports_no_orphans(same):
    same.orphan("one.bench/math-older.json")
    for args in (("-k", "math"), ("-m", "nightly"), ("evals/one.bench.yaml::math",)):
        assert same.run_here(*args).ret == 0
        assert same.run_here(UPDATE, *args).ret == 0
    assert len(same.baselines()) == 5


def test_an_orphan_is_reported_whatever_goes_wrong(same):
    same.orphan()
    (same.folder / "runs.jsonl").unlink()
    result = same.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["1 unused baseline: *"])
    # an interrupt keeps its own code: not 2 | 1, an internal error
    same.write(
        "conftest.py", "def pytest_runtest_teardown(item): raise KeyboardInterrupt\n"
    )
    assert same.run().ret == pytest.ExitCode.INTERRUPTED


def test_a_renamed_benchmark_is_guessed(same):
    same.write(
        "two.bench.yaml",
        (same.folder / "two.bench.yaml").read_text().replace("r}", "rs}"),
    )
    same.run_here("evals/two.bench.yaml").stdout.fnmatch_lines(
        ["INCONCLUSIVE*no baseline yet to compare with: was it renamed from other[?]*"]
    )


def test_an_unused_baseline_only_warns_with_syrupys_option_for_that(same):
    same.orphan()
    result = same.run_here("--snapshot-warn-unused")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 unused baseline: *"])


def test_the_last_baseline_of_a_file_that_keeps_none_any_more_is_unused(project):
    project.rollouts([[1.0], [1.0]])
    project.bench("metrics: [pass@1]\nbaseline: true")
    assert project.run_here(UPDATE).ret == 0
    project.bench("metrics: [pass@1]", "other.bench.yaml")
    (project.path / "math.bench.yaml").unlink()
    result = project.run_here()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["1 unused baseline: *", "    __baselines__/math.bench/math.json (*"]
    )


def test_every_worker_names_the_unused_baselines_that_it_knows(same):
    same.orphan()
    result = same.run("-n", "2", "evals")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["1 unused baseline: *", "    evals/__baselines__/one.bench/gone.json"]
    )


def git(folder, *args):
    identity = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True)


@pytest.mark.parametrize("args", [("other/b.bench.yaml",), ("other",)])
def test_a_committed_baseline_whose_file_is_deleted_fails_a_run_of_other_files(
    project, args
):
    for name in ("first/a.bench.yaml", "other/b.bench.yaml"):
        folder = name.partition("/")[0]
        project.rollouts([[1, 0]] * 10, f"{folder}/runs.jsonl")
        project.bench("metrics: [pass@1]\nbaseline: true", name)
    project.write("pytest.ini", "[pytest]\n")
    assert project.run_here("--evalmetrics-update").ret == 0
    git(project.path, "init", "-q")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-q", "-m", "recorded")
    assert project.run_here(*args).ret == 0
    (project.path / "first/a.bench.yaml").unlink()
    result = project.run_here(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["    first/__baselines__/a.bench/math.json (a.bench.yaml is gone)"]
    )
    assert project.run_here(*args, "-k", "math").ret == 0  # a selection looks for none
