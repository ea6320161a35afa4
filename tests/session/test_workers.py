"""What crosses from workers of pytest-xdist, with the plugin itself.

The selection, lost items and unused baselines of workers are tested in `test_session` and in
`baselines`.
"""

import pytest

from pytest_evalmetrics.session.workers import shared_folder, starts_workers

CHECK = "def test_{name}(evalmetrics): evalmetrics.check([1.0], thresholds={{'mean_reward': '>= 1'}})\n"


@pytest.fixture
def checks(project):
    """Checks in two files, of which a worker each takes one."""
    for name in ("one", "two"):
        project.write(f"test_{name}.py", CHECK.format(name=name))
    return project


def test_a_test_of_a_worker_is_known_by_its_first_report(checks):
    assert checks.run("-n", "2").ret == 0
    assert [entry["id"] for entry in checks.report()["benchmarks"]] == [
        "test_one.py::test_one",
        "test_two.py::test_two",
    ]


def test_a_large_result_of_a_worker_arrives_and_its_file_is_removed(
    project, tmp_path, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    project.rollouts([[1.0, 0.0]] * 40_000)
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    assert project.run("-n", "1").ret == 0
    (entry,) = project.report()["benchmarks"]
    assert entry["agents"][0]["tasks"] == 40_000
    assert not list(temporary.glob("**/*.jsonl"))


def test_a_failure_of_a_worker_is_shown_by_its_parts(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    alone = project.run("-p", "no:cacheprovider")
    in_worker = project.run("-p", "no:cacheprovider", "-n", "1")
    reason = "*mean_reward is 0, below 0.5*"
    alone.stdout.fnmatch_lines([reason])
    in_worker.stdout.fnmatch_lines([reason])
    in_worker.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(("arguments", "starts"), [([], False), (["-n", "2"], True)])
def test_a_run_with_n_starts_workers(pytester, arguments, starts):
    assert starts_workers(pytester.parseconfig(*arguments)) is starts


def test_the_folder_of_all_processes_is_one_in_the_temporary_folder(
    pytester, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = pytester.parseconfig()
    folder = shared_folder(config)
    assert folder.parent == tmp_path
    assert shared_folder(config) == folder
