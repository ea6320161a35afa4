"""No good baseline is ever deleted, nor rewritten but where its benchmark ran to its end."""

import json
import signal

import pytest
from baselines.conftest import ALL, BEFORE, MATH, OLD, ONE, OTHER, PHYSICS

UPDATE = "--snapshot-update"


@pytest.mark.parametrize(
    ("args", "rewritten"),
    [
        (("-k", "math and not old"), {MATH}),
        (("-m", "nightly"), {MATH}),
        (("--deselect", "evals/one.bench.yaml::math-old"), {MATH, PHYSICS, OTHER}),
        (
            ("--deselect", "evals/one.bench.yaml::math"),
            {PHYSICS, OTHER},
        ),  # it is a prefix
        (("--ignore", "evals/one.bench.yaml"), {OTHER}),
        (("--ignore-glob", "*two*"), {MATH, OLD, PHYSICS}),
        (("evals/one.bench.yaml::math",), {MATH}),
        (("evals/one.bench.yaml::math", "evals/two.bench.yaml"), {MATH, OTHER}),
    ],
)
def test_a_selection_touches_what_it_selects(evals, args, rewritten):
    orphan = evals.orphan()
    result = evals.run_here(UPDATE, *args)
    result.assert_outcomes(
        passed=len(rewritten), deselected=result.parseoutcomes().get("deselected", 0)
    )
    assert evals.rewritten() == rewritten
    # a run of the whole of its file
    may_be_gone = args == ("--ignore-glob", "*two*")
    assert orphan.exists() or may_be_gone


def test_workers_write_what_one_process_writes(evals):
    orphan = evals.orphan("gone.bench/gone.json")
    evals.run(UPDATE, "-n", "2", "--dist", "loadfile")
    of_workers = evals.baselines()
    assert evals.rewritten() == set(ALL)
    assert evals.run(UPDATE).ret == 0
    assert (
        evals.baselines() == of_workers
    )  # to the byte, and the time of the recording is theirs
    assert orphan.exists()


def test_workers_update_what_is_selected(evals):
    evals.run(UPDATE, "-n", "2", "--dist", "each", "-k", "math")
    assert evals.rewritten() == {MATH, OLD}


@pytest.mark.parametrize("args", [("-x",), ("-n", "1", "-x")])
def test_a_benchmark_that_cannot_be_evaluated_keeps_its_baseline(evals, args):
    evals.write(
        "one.bench.yaml",
        ONE.replace("{name: math,", "{rollouts: no.jsonl, name: math,"),
    )
    result = evals.run(UPDATE, *args)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    result.stdout.fnmatch_lines(
        ["*no.jsonl*", "*no baseline was recorded*not complete*"]
    )
    assert MATH not in evals.rewritten()


def test_a_benchmark_that_cannot_be_evaluated_keeps_no_other_from_its_baseline(evals):
    evals.write(
        "one.bench.yaml",
        ONE.replace("{name: math,", "{rollouts: no.jsonl, name: math,"),
    )
    evals.run_here(UPDATE)
    assert evals.rewritten() == {OLD, PHYSICS, OTHER}


def test_what_errors_before_it_is_evaluated_keeps_its_baseline(evals):
    evals.write(
        "conftest.py",
        "def pytest_runtest_setup(item):\n"
        "    if item.name == 'math':\n"
        "        raise OSError('no GPU')\n",
    )
    evals.run(UPDATE).assert_outcomes(passed=3, errors=1)
    assert evals.rewritten() == {OLD, PHYSICS, OTHER}
    evals.write(
        "conftest.py", "def pytest_runtest_call(item): raise RuntimeError('no GPU')"
    )
    evals.run(UPDATE).assert_outcomes(failed=4)
    assert evals.rewritten() == {OLD, PHYSICS, OTHER}


def test_a_skipped_or_xfailed_benchmark_keeps_its_baseline(evals):
    text = ONE.replace("{name: math-old", "{name: math-old, skip: true").replace(
        "{name: mmlu/physics", "{name: mmlu/physics, xfail: weak"
    )
    evals.write("one.bench.yaml", text)
    evals.write(
        "conftest.py",
        """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "other":
            item.add_marker(pytest.mark.xfail(strict=False))
""",
    )
    result = evals.run(UPDATE)
    result.assert_outcomes(passed=1, skipped=1, xpassed=2)
    result.stdout.fnmatch_lines(["*what is known to fail (xfail) is not recorded*"])
    assert evals.rewritten() == {MATH}
    evals.run(UPDATE, "--runxfail").assert_outcomes(passed=3, skipped=1)
    assert evals.rewritten() == {MATH, PHYSICS, OTHER}


@pytest.mark.parametrize("args", [(), ("-n", "1")])
def test_a_crash_in_the_middle(evals, args):
    orphan = evals.orphan("gone.bench/gone.json")
    evals.write(
        "conftest.py",
        """
import os

def pytest_evalmetrics_benchmark_finished(result):
    if result.name == "math-old":
        os._exit(9)
""",
    )
    result = evals.project.run(UPDATE, *args)
    assert result.ret != 0
    assert evals.rewritten() >= {MATH, OLD}  # they were complete
    assert all(json.loads(text) for text in evals.baselines().values())
    assert orphan.exists() or args  # another worker took over


def test_an_interrupt(evals):
    orphan = evals.orphan("gone.bench/gone.json")
    evals.write(
        "conftest.py",
        f"""
import os

def pytest_runtest_setup(item):
    if item.name == "mmlu/physics":
        os.kill(os.getpid(), {int(signal.SIGINT)})
""",
    )
    result = evals.project.run(UPDATE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert evals.rewritten() == {MATH, OLD}
    assert orphan.exists()


def test_a_broken_benchmark_file_makes_nothing_an_orphan(evals):
    evals.write("one.bench.yaml", "benchmarks: [")
    result = evals.run_here(UPDATE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert evals.rewritten() == set()
    evals.run_here(UPDATE, "--continue-on-collection-errors").assert_outcomes(
        passed=1, errors=1
    )
    assert evals.rewritten() == {OTHER}


SNAPSHOT_TEST = """
def test_text(snapshot):
    assert "hello" == snapshot

def test_more(snapshot):
    assert "more" == snapshot
"""


def test_other_snapshots_in_the_same_folder(evals):
    evals.write("test_texts.py", SNAPSHOT_TEST)
    evals.rollouts(BEFORE)
    evals.run(UPDATE, "-k", "test_texts").assert_outcomes(passed=2, deselected=4)
    amber = evals.folder / "__snapshots__" / "test_texts.ambr"
    written = amber.read_bytes()
    # without our plugin nobody collects the benchmarks, and the snapshots are looked through
    evals.run("-p", "no:evalmetrics", UPDATE).assert_outcomes(passed=2)
    assert evals.rewritten() == set()
    for selection in (("-k", "math"), ("evals/one.bench.yaml",), ()):
        evals.run(UPDATE, *selection)
        assert evals.rewritten() == set()
        assert amber.read_bytes() == written


@pytest.mark.parametrize(
    ("args", "ret"),
    [
        (("--snapshot-update-new-only",), 1),
        (("--snapshot-no-cleanup", UPDATE), 0),
        (("--snapshot-disable-unused", UPDATE), 0),
        (("--co", UPDATE), 0),
    ],
)
def test_what_keeps_even_an_orphan(evals, args, ret):
    orphan = evals.orphan()
    assert evals.run_here(*args).ret == ret
    assert orphan.exists()
    updated = set(ALL) if UPDATE in args and "--co" not in args else set()
    assert evals.rewritten() == updated


def test_only_new_ones_are_recorded_where_that_is_asked(evals):
    (evals.folder / "__baselines__" / PHYSICS).unlink()
    result = evals.run_here("--snapshot-update-new-only")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["*recorded evals/__baselines__/one.bench/mmlu%2Fphysics.json"]
    )
    assert evals.rewritten() == {PHYSICS}  # anew, from other rollouts


def test_last_failed_touches_what_failed_last(evals):
    run = evals.project.pytester.runpytest_subprocess
    evals.write(
        "one.bench.yaml",
        ONE.replace("name: math-old", "name: math-old, rollouts: no.jsonl"),
    )
    run().assert_outcomes(passed=3, failed=1)
    evals.write("one.bench.yaml", ONE)
    run(UPDATE, "--lf").assert_outcomes(passed=1)
    assert evals.rewritten() == {OLD}
