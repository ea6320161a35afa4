"""A benchmark file that is gone while its baseline is there fails the run, and is named."""

import shutil

import pytest
from evaluated import evaluated

LINES = [
    "1 unused baseline: `evalmetrics baselines delete` deletes it",
    "    evals/__baselines__/math.bench/math.json (math.bench.yaml is gone)",
]


@pytest.fixture
def left(project):
    """Baselines of a benchmark whose file was deleted, beside an ordinary test."""
    (project.path / "evals").mkdir()
    project.rollouts([[1.0]] * 10, "evals/runs.jsonl")
    project.bench("baseline: true", name="evals/math.bench.yaml")
    project.write("test_it.py", "def test_it(): pass\n")
    assert evaluated(project, updates=True).passed
    (project.path / "evals/math.bench.yaml").unlink()
    return project


def test_the_only_benchmark_that_is_gone_fails_the_run(left):
    result = left.run_here()
    assert result.ret == 1
    result.stdout.fnmatch_lines(LINES)


def test_so_it_is_where_nothing_else_is_collected(left):
    (left.path / "test_it.py").unlink()
    result = left.run_here()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(LINES)


@pytest.mark.parametrize("args", [("evals", "test_it.py"), ("-n", "1")])
def test_so_it_is_in_the_folder_alone_and_with_workers(left, args):
    result = left.run(*args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(LINES)


def test_so_it_is_beside_benchmarks_of_other_folders(left):
    (left.path / "more").mkdir()
    left.rollouts([[1.0]] * 10, "more/runs.jsonl")
    left.bench("thresholds: {mean_reward: '>= 0.5'}", name="more/fine.bench.yaml")
    result = left.run_here()
    assert result.ret == 1
    result.stdout.fnmatch_lines(LINES)


@pytest.mark.parametrize("args", [("-k", "test_it"), ("test_it.py",), ("more",)])
def test_a_run_that_does_not_select_it_is_green(left, args):
    shutil.copytree(left.path / "evals", left.path / "more", dirs_exist_ok=True)
    shutil.rmtree(left.path / "more/__baselines__")
    left.write("more/test_more.py", "def test_it(): pass\n")
    assert left.run_here(*args).ret == 0


def test_a_warning_is_enough_where_syrupy_is_told_so(left):
    result = left.run_here("--snapshot-warn-unused")
    assert result.ret == 0
    result.stdout.fnmatch_lines(LINES)
