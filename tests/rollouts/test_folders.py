"""Which files of a folder are its rollouts."""

import pytest

from pytest_evalmetrics.rollouts.folders import files_in


@pytest.fixture
def folder(tmp_path):
    """Make a folder ``runs`` of empty files, and choose among them."""

    def choose(*names):
        for name in names:
            path = tmp_path / "runs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return files_in("runs", tmp_path)

    return choose


def test_the_most_frequent_kind_is_read_and_the_others_are_named(folder):
    found = folder("a.jsonl", "b.jsonl", "results.csv", "notes.txt")
    assert found.pattern == "runs/*.jsonl"
    assert found.left_out == ("results.csv",)


def test_files_in_folders_below_are_read(folder):
    assert folder("a/1.json", "b/2.json").pattern == "runs/**/*.json"


def test_files_below_those_that_are_read_are_named(folder):
    found = folder("a.jsonl", "old/b.jsonl")
    assert found.pattern == "runs/*.jsonl"
    assert found.left_out == ("old/b.jsonl",)


def test_what_nemo_gym_writes_beside_rollouts_does_not_count(folder):
    found = folder(
        "r.jsonl",
        "r_aggregate_metrics.json",
        "r_agent_metrics.json",
        "r_reward_profiling.jsonl",
        "r_materialized_inputs.jsonl",
    )
    assert found.pattern == "runs/*.jsonl"
    assert found.left_out == ()


def test_the_artifacts_of_a_run_and_baselines_do_not_count(folder):
    found = folder(
        "a.jsonl",
        "evalmetrics/report.json",
        "evalmetrics/aggregate_metrics.json",
        "evalmetrics/row_scores.jsonl",
        "__baselines__/a/one.json",
        ".cache/two.json",
    )
    assert found.pattern == "runs/*.jsonl"
    assert found.left_out == ()


def test_folders_behind_links_are_read(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.jsonl").touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "today").symlink_to(tmp_path / "elsewhere")
    assert folder().pattern == "runs/**/*.jsonl"


def test_a_link_to_its_own_folder_ends(folder, tmp_path):
    folder("a/1.json")
    (tmp_path / "runs" / "a" / "again").symlink_to(tmp_path / "runs")
    assert folder().pattern == "runs/**/*.json"


def test_a_folder_without_rollouts_is_left_as_it_is(folder):
    assert folder("notes.txt").pattern == "runs"
