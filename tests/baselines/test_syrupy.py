"""Beside syrupy: its report of ordinary snapshots, runs without it, and shared places."""

import json
import sys

import pytest
from forked import completed

UPDATE = "--snapshot-update"
TWO = """
defaults: {rollouts: runs.jsonl, expect: {tasks: 2}, metrics: [mean_reward]}
benchmarks:
  - {name: kept, baseline: true}
  - {name: other, baseline: {rollouts: runs.jsonl}}
  - {name: free, thresholds: {mean_reward: ">= 0.1"}}
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_without_syrupy_a_committed_baseline_is_compared_with(project, workers):
    project.rollouts([[1.0], [1.0]])
    project.write("math.bench.yaml", TWO)
    assert project.run(UPDATE).ret == 0
    before = project.baseline("math.bench/kept.json").read_bytes()
    result = project.run("-p", "no:syrupy", *workers)
    result.assert_outcomes(passed=3)
    assert project.baseline("math.bench/kept.json").read_bytes() == before


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_without_syrupy_a_missing_baseline_says_what_would_record_it(project, workers):
    project.rollouts([[1.0], [1.0]])
    project.write("math.bench.yaml", TWO)
    result = project.run("-p", "no:syrupy", *workers)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *there is no baseline, and syrupy, which records them, is switched off",
            "  -> drop `-p no:syrupy`, or set `baseline: false` for this benchmark",
        ]
    )


SNAPSHOT_TESTS = """
def test_text(snapshot):
    assert "hello" == snapshot

def test_more(snapshot):
    assert "more" == snapshot
"""


def snapshot_report(result):
    """Return what syrupy reports of a run; its lines follow a title of their own."""
    lines = result.outlines
    titles = [n for n, line in enumerate(lines) if "snapshot report summary" in line]
    if not titles:
        return []
    begin = titles[0] + 1
    end = next(n for n in range(begin, len(lines)) if lines[n].startswith("==="))
    return lines[begin:end]


ORDINARY = {
    "all are used": SNAPSHOT_TESTS,
    "one is unused": SNAPSHOT_TESTS.replace("test_more", "test_other"),
    "one differs": SNAPSHOT_TESTS.replace('"more"', '"less"'),
    "no test asks for one any more": "def test_plain(): pass\n",
}


RUNS = """\
{"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0}
{"_ng_task_index": 1, "_ng_rollout_index": 0, "reward": 1.0}
"""
AMBER = "__snapshots__/test_texts.ambr"
BASELINE = "__baselines__/math.bench/math.json"
BENCH = "metrics: [pass@1]\nbaseline: true"


@pytest.fixture(scope="module")
def recorded_once(tmp_path_factory):
    """The snapshots of the ordinary tests and the baseline of a benchmark, recorded once."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "test_texts.py").write_text(SNAPSHOT_TESTS)
    (folder / "runs.jsonl").write_text(RUNS)
    (folder / "math.bench.yaml").write_text(
        f"benchmark: {{name: math, rollouts: runs.jsonl, {', '.join(BENCH.splitlines())}}}\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", UPDATE]
    assert completed(command, folder).returncode == 0
    return {name: (folder / name).read_bytes() for name in (AMBER, BASELINE)}


@pytest.mark.parametrize("tests", ORDINARY.values(), ids=ORDINARY)
@pytest.mark.parametrize(
    "args", [(), (UPDATE,), ("-n", "1"), ("-k", "test_text or math")]
)
def test_syrupy_reports_ordinary_snapshots_as_if_there_were_no_benchmarks(
    project, recorded_once, tests, args
):
    def put(name):
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(recorded_once[name])

    def snapshots():
        amber = project.path / AMBER
        return amber.read_bytes() if amber.exists() else None

    project.write("test_texts.py", tests)
    put(AMBER)
    run = project.run if "-n" in args else project.run_here
    alone = run(*args)
    left_alone = snapshots()

    put(AMBER)
    put(BASELINE)
    project.write("runs.jsonl", RUNS)
    project.bench(BENCH)
    beside = run(*args)

    assert snapshot_report(beside) == snapshot_report(alone)
    assert snapshots() == left_alone
    assert beside.ret == alone.ret
    beside.stdout.fnmatch_lines(["PASS  math.bench.yaml::math *"])


def test_one_update_accepts_benchmarks_and_ordinary_snapshots(project):
    project.rollouts([[1.0], [1.0]])
    project.bench("metrics: [pass@1]\nbaseline: true")
    project.write("test_texts.py", SNAPSHOT_TESTS)
    result = project.run(UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*recorded __baselines__/math.bench/math.json", "2 snapshots generated."]
    )
    assert project.run().ret == 0


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
        result = evals.run_here(*args)
        result.stdout.fnmatch_lines(
            [
                "INCONCLUSIVE *two.bench.yaml and two.bench.yml would keep their baselines in one *"
            ]
        )
        assert "two.bench/other.json" not in evals.rewritten()
    twin.rename(evals.folder / "three.bench.yml")
    assert evals.run_here(UPDATE).ret == 0
    assert "two.bench/other.json" in evals.rewritten()


def test_two_names_that_differ_by_case_alone_do_not_share_a_file(project):
    project.rollouts([[1.0], [1.0]])
    text = TWO.replace(
        "other, baseline: {rollouts: runs.jsonl}", "KEPT, baseline: true"
    )
    project.write("math.bench.yaml", text)
    result = project.run_here(UPDATE)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *the benchmarks 'kept' and 'KEPT' would have one baseline *ignore case*"
        ]
        * 2
    )
    assert not (project.path / "__baselines__").exists()
    project.write("math.bench.yaml", text.replace("KEPT, baseline: true", "KEPT"))
    assert project.run_here(UPDATE).ret == 0


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
    project.rollouts([[1.0], [1.0]])
    keys = {"rollouts": "runs.jsonl", "metrics": ["mean_reward"], "baseline": True}
    whole = {"defaults": keys, "benchmarks": [{"name": name} for name in names]}
    project.write("math.bench.yaml", json.dumps(whole, ensure_ascii=False))
    project.run_here(UPDATE).assert_outcomes(passed=len(names))
    files = sorted((project.path / "__baselines__" / "math.bench").iterdir())
    assert len(files) == len(names)
    assert all(file.name.isascii() for file in files)
    result = project.run_here()
    result.assert_outcomes(passed=len(names))
    assert result.ret == 0  # none of them looks like an orphan
