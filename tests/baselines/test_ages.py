"""Baselines that were recorded long ago are warned of, with who recorded them and why."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from pytest_evalmetrics.baselines import document
from pytest_evalmetrics.baselines.ages import stale_baseline

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def stale(recorded, limit=90, path=Path("math.json")):
    return stale_baseline(
        path, "math.json", recorded=recorded, reason="", now=NOW, limit=limit
    )


def test_a_baseline_is_too_old_on_the_day_of_the_limit():
    assert stale("2026-08-29T12:00:01Z") is None
    assert stale("2026-08-29T12:00:00Z").days == 90


def test_no_limit_means_never():
    assert stale("2001-01-01T00:00:00Z", limit=0) is None


@pytest.mark.parametrize("recorded", ["", "yesterday", "2026-08-01T00:00:00"])
def test_an_unknown_time_has_no_age(recorded):
    assert stale(recorded) is None


def test_who_recorded_it_is_who_committed_it(tmp_path):
    def git(*words):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "math.json").write_text("{}")
    git("init")
    git("add", "math.json")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(*who, "commit", "-m", "Record math")
    assert stale("2026-01-01T00:00:00Z", path=tmp_path / "math.json").by == "Ada"


def test_without_git_nobody_is_named(tmp_path):
    assert stale("2026-01-01T00:00:00Z", path=tmp_path / "math.json").by == ""


@pytest.fixture
def old(project):
    """A benchmark with a baseline of January 2025."""
    project.rollouts([[1.0], [0.0]] * 10)
    project.bench("metrics: [pass@1]\nexpect: {tasks: 20}\nbaseline: true")
    reason = "--evalmetrics-reason=a smaller prompt"
    assert project.run_here("--snapshot-update", reason).ret == 0
    path = project.baseline()
    kept = document.parse(path.read_text(), file=str(path), benchmark="math")
    recorded = structs.replace(kept.provenance, recorded="2025-01-15T08:00:00Z")
    aged = document.stamped(structs.replace(kept, provenance=recorded))
    path.write_text(document.render(aged))
    return project


def test_the_terminal_and_the_summary_warn_with_the_age_the_date_and_the_reason(old):
    result = old.run_here()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "warning: math: the baseline is * days old (recorded 2025-01-15: a smaller prompt)"
        ]
    )
    summary = (old.path / "evalmetrics/summary.md").read_text()
    assert "- ⚠️ math: the baseline is " in summary


def test_the_setting_says_after_how_many_days(old):
    old.write("pytest.ini", "[pytest]\nevalmetrics_baseline_age = 0\n")
    result = old.run_here()
    assert result.ret == 0
    assert "days old" not in result.stdout.str()


def test_a_setting_that_is_no_number_is_refused(old):
    old.write("pytest.ini", "[pytest]\nevalmetrics_baseline_age = 3 months\n")
    result = old.run_here()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*evalmetrics_baseline_age: expected a number of days, found '3 months'*"]
    )


def test_a_new_baseline_ends_the_warning(old):
    old.rollouts([[1.0], [1.0], *[[1.0], [0.0]] * 9])
    assert "days old" not in old.run_here("--snapshot-update").stdout.str()
    assert "days old" not in old.run_here().stdout.str()
