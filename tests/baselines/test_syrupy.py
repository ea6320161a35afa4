"""Without syrupy, beside a plugin that conflicts with it, and two benchmarks in one place."""

import json

import pytest

UPDATE = "--snapshot-update"
TWO = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}
benchmarks:
  - {name: kept, baseline: true}
  - {name: other, baseline: {rollouts: runs.jsonl}}
  - {name: free, thresholds: {mean_reward: ">= 0.1"}}
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_without_syrupy_only_committed_baselines_can_t_be_had(project, workers):
    project.rollouts([[1.0], [0.0]])
    project.write("math.bench.yaml", TWO)
    assert project.run(UPDATE).ret == 0
    before = project.baseline("math.bench/kept.json").read_bytes()
    result = project.run("-p", "no:syrupy", *workers)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *baselines are kept through syrupy, which is switched off",
            "  -> drop `-p no:syrupy`, or set `baseline: false` for this benchmark",
        ]
    )
    assert project.baseline("math.bench/kept.json").read_bytes() == before


def test_a_threshold_that_fails_is_no_failed_snapshot(project):
    project.rollouts([[1.0], [0.0]])
    project.bench("metrics: [pass@1]\nbaseline: true\nthresholds: {pass@1: '>= 0.9'}")
    assert project.run(UPDATE).ret == 1
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["1 snapshot passed."])


def test_a_plugin_with_the_same_option_is_named_at_the_start(project):
    project.write(
        "snapshot.py",
        "def pytest_addoption(parser):\n"
        "    parser.getgroup('snapshot').addoption('--snapshot-update', action='store_true')\n",
    )
    # the other plugin comes first, then syrupy is refused: we have to be there before that
    result = project.run("-p", "evalmetrics", "-p", "snapshot")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stderr.str()
    assert "two plugins declare the option --snapshot-update" in text
    assert "`-p no:snapshot`" in text
    assert "Traceback" not in text


def test_two_files_of_one_stem_do_not_share_a_folder(evals):
    twin = evals.write("two.bench.yml", "benchmark: {name: mine, rollouts: runs.jsonl}")
    for args in ((), (UPDATE,), (UPDATE, "evals/two.bench.yaml")):
        result = evals.run(*args)
        result.stdout.fnmatch_lines(
            [
                "INCONCLUSIVE *two.bench.yaml and two.bench.yml would keep their baselines in one *"
            ]
        )
        assert "two.bench/other.json" not in evals.rewritten()
    twin.rename(evals.folder / "three.bench.yml")
    assert evals.run(UPDATE).ret == 0
    assert "two.bench/other.json" in evals.rewritten()


def test_two_names_that_differ_by_case_alone_do_not_share_a_file(project):
    project.rollouts([[1.0], [0.0]])
    text = TWO.replace(
        "other, baseline: {rollouts: runs.jsonl}", "KEPT, baseline: true"
    )
    project.write("math.bench.yaml", text)
    result = project.run(UPDATE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *the benchmarks 'kept' and 'KEPT' would have one baseline *ignore case*"
        ]
        * 2
    )
    assert not (project.path / "__baselines__").exists()
    project.write("math.bench.yaml", text.replace("KEPT, baseline: true", "KEPT"))
    assert project.run(UPDATE).ret == 0


def test_every_name_has_a_file_of_its_own(project):
    names = [
        "mmlu/physics",
        "mmluphysics",
        "mmlu%2Fphysics",
        "naïve",
        "nai\u0308ve",
        "数学",
        "😀",
    ]
    names += [
        "x" * 300,
        "x" * 299 + "y",
        "con",
        "a.",
        ".a",
        "a b",
        "a[1]",
        "-",
        "..",
        '*?"<>|\\',
    ]
    project.rollouts([[1.0], [0.0]])
    keys = {"rollouts": "runs.jsonl", "metrics": ["mean_reward"], "baseline": True}
    whole = {"defaults": keys, "benchmarks": [{"name": name} for name in names]}
    project.write("math.bench.yaml", json.dumps(whole, ensure_ascii=False))
    project.run(UPDATE).assert_outcomes(passed=len(names))
    files = sorted((project.path / "__baselines__" / "math.bench").iterdir())
    assert len(files) == len(names)
    assert all(file.name.isascii() for file in files)
    result = project.run()
    result.assert_outcomes(passed=len(names))
    assert result.ret == 0  # none of them looks like an orphan
