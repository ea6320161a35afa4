"""Unused baselines, searched for in this process."""

import subprocess

import pytest

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.unused import (
    handle_unused,
    unused_in,
    unused_of_run,
)
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.settings import BASELINES

KEEPS_MATH = "benchmark: {name: math, rollouts: r, baseline: true}\n"
# it collects garbage five times at the end of each configuration
FAST = ("-p", "no:unraisableexception")


class Evals:
    """A project with a benchmark file, and with baselines that it uses or does not."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.path = pytester.path

    def write(self, name, text=""):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def baseline(self, name):
        """Leave a baseline; what it holds is not read."""
        folder, _, rest = name.rpartition("/__baselines__/")
        return self.write(f"{folder}/__baselines__/{rest}", "{}")

    def config(self, *arguments):
        return self.pytester.parseconfigure(*FAST, *arguments)

    def items(self, *arguments):
        items, _ = self.pytester.inline_genitems(*FAST, *arguments)
        return items

    def listed(self, *, delete=False):
        return handle_unused(self.config(), delete=delete)


@pytest.fixture
def evals(pytester):
    project = Evals(pytester)
    project.write("evals/one.bench.yaml", KEEPS_MATH)
    project.baseline("evals/__baselines__/one.bench/math.json")
    return project


# -- listed and deleted ----------------------------------------------------------------------


def test_a_baseline_that_a_benchmark_file_declares_is_used(evals):
    assert evals.listed() == (["no baseline is unused"], True)


def test_an_unused_baseline_is_listed_with_the_command_that_deletes_it(evals):
    evals.baseline("evals/__baselines__/one.bench/gone.json")
    lines, is_done = evals.listed()
    assert lines == [
        "unused: evals/__baselines__/one.bench/gone.json",
        "1 unused baseline: `evalmetrics baselines delete` deletes it",
    ]
    assert is_done


def test_several_unused_baselines_are_counted(evals):
    evals.baseline("evals/__baselines__/one.bench/gone.json")
    evals.baseline("evals/__baselines__/two.bench/math.json")
    lines, _ = evals.listed()
    assert (
        lines[-1] == "2 unused baselines: `evalmetrics baselines delete` deletes them"
    )


def test_an_unused_baseline_is_deleted_with_its_rows(evals):
    gone = evals.baseline("evals/__baselines__/one.bench/gone.json")
    rows = gone.with_name("gone.rows.jsonl.gz")
    rows.write_bytes(b"")
    lines, is_done = evals.listed(delete=True)
    assert lines == [
        "unused: evals/__baselines__/one.bench/gone.json",
        "1 unused baseline deleted",
    ]
    assert is_done
    assert not gone.exists()
    assert not rows.exists()


def test_the_baselines_beside_a_deleted_one_are_kept(evals):
    evals.baseline("evals/__baselines__/one.bench/gone.json")
    evals.listed(delete=True)
    kept = evals.path / "evals/__baselines__/one.bench"
    assert [path.name for path in kept.iterdir()] == ["math.json"]


def test_a_folder_that_keeps_no_baseline_any_more_is_deleted(evals):
    evals.baseline("more/__baselines__/gone.bench/math.json")
    evals.listed(delete=True)
    assert list((evals.path / "more").iterdir()) == []


def test_a_baseline_that_can_not_be_deleted_is_named_with_the_cause(evals):
    gone = evals.baseline("evals/__baselines__/one.bench/gone.json")
    gone.with_name("gone.rows.jsonl.gz").mkdir()
    lines, is_done = evals.listed(delete=True)
    assert lines == [
        "unused: evals/__baselines__/one.bench/gone.json",
        "  can't be deleted: Is a directory",
        "0 unused baselines deleted",
    ]
    assert not is_done


def test_the_baselines_of_a_file_that_can_not_be_read_are_kept(evals):
    evals.write("evals/one.bench.yaml", "benchmark: [")
    lines, is_done = evals.listed(delete=True)
    assert lines[0].startswith("kept: the baselines of evals/one.bench.yaml: ")
    assert "\n" not in lines[0]
    assert lines[1:] == ["no baseline is unused"]
    assert is_done


def test_a_broken_file_without_baselines_is_not_mentioned(evals):
    evals.write("evals/two.bench.yaml", "benchmark: [")
    assert evals.listed() == (["no baseline is unused"], True)


def test_a_folder_that_is_named_as_a_benchmark_file_is_none(evals):
    evals.write("evals/two.bench.yaml/notes.txt")
    assert evals.listed() == (["no baseline is unused"], True)


def test_a_benchmark_that_keeps_no_baseline_any_more_still_declares_it(evals):
    evals.write("evals/one.bench.yaml", KEEPS_MATH.replace(", baseline: true", ""))
    assert evals.listed() == (["no baseline is unused"], True)


@pytest.mark.parametrize(
    "name", ["one.bench/notes.txt", "one.bench/.hidden.json", ".cache/gone.json"]
)
def test_other_files_of_the_folder_are_no_baselines(evals, name):
    evals.write(f"evals/__baselines__/{name}")
    assert evals.listed() == (["no baseline is unused"], True)


@pytest.mark.parametrize("folder", ["node_modules", "__pycache__", "skipped", "x.egg"])
def test_a_folder_that_pytest_skips_is_not_searched(evals, folder):
    evals.write("pytest.ini", "[pytest]\nnorecursedirs = skipped *.egg\n")
    evals.baseline(f"{folder}/__baselines__/gone.bench/math.json")
    assert evals.listed() == (["no baseline is unused"], True)


def test_a_virtual_environment_is_not_searched(evals):
    evals.write("env/pyvenv.cfg")
    evals.baseline("env/lib/__baselines__/gone.bench/math.json")
    assert evals.listed() == (["no baseline is unused"], True)


# -- reported by a run -----------------------------------------------------------------------


def collected(evals, *arguments):
    """Give the configuration of a run that found the folders of baselines of `evals`."""
    config = evals.config(*arguments)
    config.stash[BASELINES] = [
        evals.path / "evals/__baselines__",
        evals.path / "evals/more/__baselines__",
        evals.path / "more/__baselines__",
    ]
    benchmarks = load_benchmarks(evals.path / "evals/one.bench.yaml", shown="one")
    file = benchmarks[0].file
    Declared.of(config).add(file, [benchmark.spec for benchmark in benchmarks])
    return config


def test_a_run_names_the_unused_baselines_beside_its_files(evals):
    evals.baseline("evals/__baselines__/one.bench/gone.json")
    evals.baseline("evals/__baselines__/one.bench/also-gone.json")
    assert unused_of_run(collected(evals, "evals")) == [
        "evals/__baselines__/one.bench/also-gone.json",
        "evals/__baselines__/one.bench/gone.json",
    ]


def test_a_run_of_one_file_names_those_beside_it(evals):
    evals.baseline("evals/__baselines__/two.bench/gone.json")
    (item,) = evals.items("evals/one.bench.yaml")
    assert unused_of_run(item.config) == [
        "evals/__baselines__/two.bench/gone.json (two.bench.yaml is gone)"
    ]


def test_a_run_of_a_folder_names_none_of_another_folder(evals):
    evals.baseline("more/__baselines__/gone.bench/math.json")
    assert unused_of_run(collected(evals, "evals")) == []


def test_a_run_of_a_folder_searches_the_folders_below(evals):
    evals.baseline("evals/more/__baselines__/gone.bench/math.json")
    assert unused_of_run(collected(evals, "evals")) == [
        "evals/more/__baselines__/gone.bench/math.json (gone.bench.yaml is gone)"
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("evals/one.bench.yaml::math",),
        ("evals", "-k", "math"),
        ("evals", "-m", "not slow"),
        ("evals", "--deselect", "evals/two.bench.yaml"),
        ("evals", "--last-failed"),
        ("evals", "--stepwise"),
        ("evals", "--snapshot-update"),
        ("evals", "--evalmetrics-update"),
        ("evals", "--snapshot-disable-unused"),
    ],
    ids=" ".join,
)
def test_a_run_of_a_selection_and_an_update_name_none(evals, arguments):
    evals.baseline("evals/__baselines__/one.bench/gone.json")
    assert unused_of_run(collected(evals, *arguments)) == []


@pytest.fixture
def committed(evals):
    """A repository that tracks the baselines of `evals`, of files and tests that are gone."""
    evals.baseline("more/__baselines__/gone.bench/math.json")
    evals.baseline("more/__baselines__/test_gone/test_a.json")
    evals.write("more/__baselines__/README.json", "{}")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=evals.path, check=True)
    return evals


def test_a_committed_baseline_whose_file_is_gone_is_named_by_every_run(committed):
    assert unused_of_run(collected(committed, "evals")) == [
        "more/__baselines__/gone.bench/math.json (gone.bench.yaml is gone)",
        "more/__baselines__/test_gone/test_a.json (test_gone.py is gone)",
    ]


def test_a_baseline_that_is_deleted_with_its_file_is_not_named(committed):
    (committed.path / "more/__baselines__/gone.bench/math.json").unlink()
    (committed.path / "more/__baselines__/test_gone/test_a.json").unlink()
    assert unused_of_run(collected(committed, "evals")) == []


# -- of tests --------------------------------------------------------------------------------

TESTS = """
class TestSums:
    def test_large(self): pass

def test_words(): pass

def test_words_more(): pass
"""


@pytest.fixture
def tests(evals):
    """A file of tests, and a function that names the unused ones of its baselines."""
    file = evals.write("tests/test_it.py", TESTS)

    def unused(*names, ended=(), asked=(), arguments=("tests",)):
        for name in names:
            evals.baseline(f"tests/__baselines__/test_it/{name}.json")
        config = evals.items(*arguments)[0].config
        for test in ended:
            Declared.of(config).ended(file, test)
        for benchmark in asked:
            Declared.of(config).asked(file, benchmark)
        paths = unused_in(file.parent / "__baselines__", config)
        return [path.stem for path in paths]

    return unused


def test_the_baseline_of_a_test_that_did_not_run_is_used(tests):
    assert tests("test_words", "TestSums.test_large", "test_words-check") == []


def test_the_baseline_of_a_test_that_ended_without_it_is_unused(tests):
    names = ("test_words", "test_words-first", "test_words-other")
    unused = tests(*names, ended=["test_words"], asked=["test_words-first"])
    assert unused == ["test_words-other", "test_words"]


def test_a_test_that_ended_leaves_the_baselines_of_others(tests):
    assert tests("test_words_more", ended=["test_words"]) == []


def test_the_baseline_of_a_function_that_is_gone_is_unused(tests):
    names = ("test_gone[large]", "TestSums.test_gone", "test_words[a.b]")
    assert tests(*names) == ["TestSums.test_gone", "test_gone[large]"]


def test_the_baseline_of_a_function_that_the_file_defines_otherwise_is_used(tests):
    assert tests("TestOther.test_large") == []


def test_a_run_of_one_test_finds_none_of_a_function_that_is_gone(tests):
    assert tests("test_gone", arguments=("tests/test_it.py::test_words",)) == []


def test_a_run_of_last_failures_finds_none_of_a_function_that_is_gone(tests):
    assert tests("test_gone", arguments=("tests", "--last-failed")) == []
