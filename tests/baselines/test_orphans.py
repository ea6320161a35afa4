"""Baselines that no benchmark file declares: told as syrupy tells of them, deleted when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from baselines.conftest import BEFORE, ONE, TWO

from pytest_evalmetrics.baselines.extension import BaselineExtension

if TYPE_CHECKING:
    from pathlib import Path

    from baselines.conftest import Evals

UPDATE = "--snapshot-update"


@pytest.fixture
def same(evals: Evals) -> Evals:
    """Let the run be the recorded one: only orphans are to be seen."""
    evals.rollouts(BEFORE)
    return evals


@pytest.mark.parametrize(
    "args", [(), ("evals",), (".",), ("evals/one.bench.yaml",), ("-n2", "evals/one.bench.yaml")]
)
def test_an_orphan_is_told_and_deleted_by_an_explicit_update(
    same: Evals, args: tuple[str, ...]
) -> None:
    orphan = same.orphan()
    result = same.run(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*1 snapshot unused*", "*Re-run pytest with --snapshot-update to*"]
    )
    assert orphan.exists()
    result = same.run(UPDATE, *args)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 unused snapshot deleted*", "Deleted gone (evals/*gone.json)"])
    assert not orphan.exists()
    assert same.rewritten() == set()


def test_an_orphan_may_be_a_mere_warning(same: Evals) -> None:
    same.orphan()
    result = same.run("--snapshot-warn-unused")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 snapshot unused*"])


def test_a_benchmark_or_a_file_that_is_gone_leaves_orphans(same: Evals) -> None:
    same.write("one.bench.yaml", ONE.replace("  - {name: math-old}\n", ""))
    same.folder.joinpath("two.bench.yaml").unlink()
    result = same.run("--snapshot-details")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*2 snapshots unused*", "Unused math-old*", "Unused other*"])
    assert same.run("evals/one.bench.yaml", UPDATE).ret == 0  # a file speaks for itself alone
    assert set(same.baselines()) == set(same.recorded) - {"one.bench/math-old.json"}
    assert same.run(UPDATE).ret == 0
    assert not (same.folder / "__baselines__" / "two.bench").exists()


def test_a_selection_says_nothing_of_orphans(same: Evals) -> None:
    same.orphan("one.bench/math-older.json")
    for args in (("-k", "math"), ("-m", "nightly"), ("evals/one.bench.yaml::math",)):
        assert same.run(*args).ret == 0
        assert same.run(UPDATE, *args).ret == 0
    assert len(same.baselines()) == 5


def test_an_orphan_is_told_although_no_benchmark_can_be_evaluated(same: Evals) -> None:
    same.orphan()
    (same.folder / "runs.jsonl").unlink()
    result = same.run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["*1 snapshot unused*"])


def test_a_benchmark_that_has_no_baseline_any_more_is_declared_still(same: Evals) -> None:
    same.write("two.bench.yaml", TWO.replace("name: other", "name: other, baseline: false"))
    assert same.run(UPDATE).ret == 0
    assert same.rewritten() == set()


def test_files_of_another_name_are_no_orphans(same: Evals) -> None:
    other = same.folder / "__baselines__" / "one.bench"
    (other / "README.md").write_text("why")
    (other / ".hidden.json").write_text("{}")
    (same.folder / "__baselines__" / "notes.json").write_text("{}")
    assert same.run(UPDATE).ret == 0
    assert len(list(other.iterdir())) == 5


def test_an_interrupted_run_has_the_code_of_an_interrupt_whatever_is_unused(same: Evals) -> None:
    same.orphan()
    same.write("conftest.py", "def pytest_runtest_teardown(item): raise KeyboardInterrupt\n")
    assert (
        same.project.run_apart().ret == pytest.ExitCode.INTERRUPTED
    )  # and not 2 | 1, an internal error


def test_an_orphan_that_cannot_be_deleted_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(pytest.PytestWarning, match="an unused baseline can't be deleted"):
        BaselineExtension().delete_snapshots(
            snapshot_location=str(tmp_path), snapshot_names={"a folder"}
        )
