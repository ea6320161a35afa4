"""Baselines that no benchmark file declares: told as syrupy tells of them, deleted when asked.

Nothing but --evalmetrics-delete-unused deletes any, whatever a run selects or leaves out.
"""

import pytest
from baselines.conftest import BEFORE, ONE

UPDATE = "--snapshot-update"
DELETE = "--evalmetrics-delete-unused"


@pytest.fixture
def same(evals):
    """Let the run be the recorded one: only orphans are to be seen."""
    evals.rollouts(BEFORE)
    return evals


@pytest.mark.parametrize(
    "args", [(), ("evals",), (".",), ("evals/one.bench.yaml",), ("-n2", "evals/one.bench.yaml")]
)
def test_an_orphan_is_told_and_deleted_by_its_own_option_alone(same, args):
    orphan = same.orphan()
    result = same.run(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["unused baselines: delete them with --evalmetrics-delete-unused", "*1 snapshot unused*"]
    )
    result.stdout.no_fnmatch_line("*Re-run pytest with --snapshot-update*")  # it deletes none
    assert same.run(UPDATE, *args).ret == 0
    assert orphan.exists()
    if "-n2" in args:
        return
    told = f"unused: evals/__baselines__/{orphan.parent.name}/gone.json"
    result = same.run(*args, f"{DELETE}=list")
    assert result.ret == 0
    result.stdout.fnmatch_lines([told, "1 unused baseline: *"])
    assert orphan.exists()
    result = same.run(*args, DELETE)
    assert result.ret == 0
    result.stdout.fnmatch_lines([told, "1 unused baseline deleted"])
    assert not orphan.exists()
    assert same.rewritten() == set()


@pytest.mark.parametrize("args", [("-k", "nothing"), ("evals/one.bench.yaml::math",), (".",)])
def test_deleting_knows_all_benchmark_files_whatever_is_selected(same, args):
    same.write("one.bench.yaml", ONE.replace("  - {name: math-old}\n", ""))
    same.write("conftest.py", "def pytest_collection_modifyitems(items): items[:] = items[:1]\n")
    same.run(*args, DELETE).stdout.fnmatch_lines(["1 unused baseline deleted"])
    assert set(same.baselines()) == set(same.recorded) - {"one.bench/math-old.json"}


def test_the_baselines_of_a_file_that_cannot_be_read_are_kept(same):
    same.write("one.bench.yaml", "benchmark: [")
    same.run(DELETE).stdout.fnmatch_lines(
        ["kept: the baselines of evals/one.bench.yaml: *", "no baseline is unused"]
    )
    assert set(same.baselines()) == set(same.recorded)


@pytest.mark.parametrize("option", ["--evalmetrics-plan", DELETE, f"{DELETE}=list"])
@pytest.mark.parametrize("update", [(), (UPDATE,)])
def test_what_evaluates_nothing_leaves_everybodys_snapshots_alone(same, option, update):
    same.write("test_own.py", "def test_own(snapshot): assert 1 == snapshot\n")
    same.run(UPDATE, "evals/test_own.py")
    own = same.folder / "__snapshots__" / "test_own.ambr"
    before = own.read_bytes()
    assert same.run(option, *update).ret == 0
    assert own.read_bytes() == before
    assert same.rewritten() == set()


def test_a_benchmark_or_a_file_that_is_gone_leaves_orphans(same):
    same.write("one.bench.yaml", ONE.replace("  - {name: math-old}\n", ""))
    same.folder.joinpath("two.bench.yaml").unlink()
    result = same.run("--snapshot-details")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 snapshots unused*", "Unused math-old*", "Unused other*"])
    assert same.run(UPDATE).ret == 0
    assert set(same.baselines()) == set(same.recorded)
    same.run(DELETE).stdout.fnmatch_lines(["2 unused baselines deleted"])
    gone = {"one.bench/math-old.json", "two.bench/other.json"}
    assert set(same.baselines()) == set(same.recorded) - gone
    assert not (same.folder / "__baselines__" / "two.bench").exists()


def test_a_selection_says_nothing_of_orphans(same):
    same.orphan("one.bench/math-older.json")
    for args in (("-k", "math"), ("-m", "nightly"), ("evals/one.bench.yaml::math",)):
        assert same.run(*args).ret == 0
        assert same.run(UPDATE, *args).ret == 0
    assert len(same.baselines()) == 5


def test_an_orphan_is_told_although_no_benchmark_can_be_evaluated(same):
    same.orphan()
    (same.folder / "runs.jsonl").unlink()
    result = same.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*1 snapshot unused*"])


def test_an_interrupted_run_has_the_code_of_an_interrupt_whatever_is_unused(same):
    same.orphan()
    same.write("conftest.py", "def pytest_runtest_teardown(item): raise KeyboardInterrupt\n")
    assert (
        same.project.run_apart().ret == pytest.ExitCode.INTERRUPTED
    )  # and not 2 | 1, an internal error


def test_a_renamed_benchmark_is_guessed(same):
    path = same.folder / "one.bench.yaml"
    text = path.read_text()
    name = text.partition("name: ")[2].split()[0].strip(",}")
    path.write_text(text.replace(f"name: {name}", "name: another"))
    result = same.run("evals/one.bench.yaml")
    result.stdout.fnmatch_lines(
        [f"INCONCLUSIVE*no baseline yet to compare with: was it renamed from {name}[?]*"]
    )
