"""Which baselines of checks are unused: only where their test ran without them, or is gone."""

import shutil
from pathlib import Path

import pytest
from conftest import SharedProject

UPDATE = "--snapshot-update"
DELETE = "--evalmetrics-delete-unused"
TEXT = """
import pytest

@pytest.mark.parametrize("model", ["a", "large v2"])
def test_models(evalmetrics, model):
    evalmetrics.check([1, 1], baseline=True)

class TestCode:
    class TestHard:
        def test_sums(self, evalmetrics):
            evalmetrics.check([1, 1], name="easy", baseline=True)

def test_named(evalmetrics):
    evalmetrics.check([1, 1], name="kept", baseline=True)
    evalmetrics.check([1, 1], name="other", baseline=True)

def test_last(evalmetrics):
    evalmetrics.check([1, 1], baseline=True)
"""
ALL = {
    "TestCode.TestHard.test_sums-easy.json",
    "test_models%5Ba%5D.json",
    "test_models%5Blarge v2%5D.json",
    "test_named-kept.json",
    "test_named-other.json",
    "test_last.json",
}


BASELINES = Path("__baselines__", "test_x")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project with all baselines of the file."""
    project = SharedProject(tmp_path_factory.mktemp("recorded"))
    project.write("test_x.py", TEXT)
    assert project.run(UPDATE).ret == 0
    assert names(project.path / BASELINES) == ALL
    return project


def copied(recorded, project):
    """Go on from what another project has recorded."""
    shutil.copytree(recorded.path, project.path, dirs_exist_ok=True)
    return project


@pytest.fixture
def folder(project, recorded):
    """Where all baselines of the file lie, as recorded."""
    return copied(recorded, project).path / BASELINES


def names(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


@pytest.fixture(scope="module")
def recorded_anew(tmp_path_factory, recorded):
    """The project with its check `other` renamed to `new`, and recorded again."""
    project = SharedProject(tmp_path_factory.mktemp("renamed"))
    copied(recorded, project)
    project.write("test_x.py", TEXT.replace('name="other"', 'name="new"'))
    assert project.run(UPDATE).ret == 0
    assert names(project.path / BASELINES) == ALL | {"test_named-new.json"}
    return project


@pytest.fixture
def renamed(project, recorded_anew):
    return copied(recorded_anew, project)


def test_a_selection_without_the_test_of_a_check_says_nothing_of_it(project, folder):
    project.write("test_x.py", TEXT.replace('name="other"', 'name="new"'))
    result = project.run("-k", "not named")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*unused*")
    assert names(folder) == ALL


def test_a_check_that_its_test_makes_no_more_is_unused(renamed):
    result = renamed.run("-n", "1")
    assert result.ret == 1
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        ["1 unused baseline: *", "    __baselines__/test_x/test_named-other.json"]
    )


def test_each_check_of_a_test_has_an_entry_in_the_report(renamed):
    renamed.run()
    entries = renamed.report()["benchmarks"]
    assert [entry["id"].partition("::")[2] for entry in entries] == [
        "TestCode::TestHard::test_sums::easy",
        "test_last",
        "test_models[a]",
        "test_models[large v2]",
        "test_named::kept",
        "test_named::new",
    ]


def test_the_baseline_of_a_test_that_is_gone_is_unused(project, folder):
    project.write("test_x.py", TEXT.partition("def test_last")[0])
    assert project.run().ret == 1
    # recording deletes nothing
    assert project.run(UPDATE).ret == 0
    assert names(folder) == ALL
    assert project.run(DELETE).ret == 0
    assert names(folder) == ALL - {"test_last.json"}


def test_the_baselines_of_a_file_that_is_left_out_are_kept(project, folder):
    project.write(
        "test_y.py", "def test_y(evalmetrics): evalmetrics.check([1], baseline=True)\n"
    )
    assert project.run(UPDATE, "--ignore", "test_x.py").ret == 0
    assert names(folder) == ALL


def test_the_baselines_of_a_file_that_is_gone_are_unused(project, folder):
    project.write(
        "test_y.py", "def test_y(evalmetrics): evalmetrics.check([1], name='y')\n"
    )
    (project.path / "test_x.py").unlink()
    project.run(DELETE).stdout.fnmatch_lines(["6 unused baselines deleted"])
    assert names(folder) == set()


@pytest.fixture(scope="module")
def recorded_by_others(tmp_path_factory):
    """A project whose baselines are of tests that no file defines by their names."""
    project = SharedProject(tmp_path_factory.mktemp("generated"))
    project.write(
        "base.py",
        "class Base:\n"
        "    def test_inherited(self, evalmetrics): evalmetrics.check([1, 1], baseline=True)\n",
    )
    project.write(
        "test_x.py",
        "from base import Base\nclass TestX(Base): pass\n"
        "def one(evalmetrics): evalmetrics.check([1, 1], baseline=True)\n"
        "globals()['test_made'] = one\ndef test_plain(): pass\n",
    )
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    assert project.run(UPDATE).ret == 0
    assert names(project.path / BASELINES) == GENERATED
    return project


@pytest.fixture
def generated(project, recorded_by_others):
    return copied(recorded_by_others, project)


GENERATED = {"TestX.test_inherited.json", "test_made.json"}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (UPDATE,),
        (f"{DELETE}=list",),
        (DELETE,),
        (DELETE, "-k", "test"),
        (DELETE, "--deselect", "test_x.py::test_plain"),
        (DELETE, "test_x.py::test_made"),
    ],
    ids=" ".join,
)
def test_baselines_of_tests_that_a_conftest_leaves_out_are_kept(generated, arguments):
    generated.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items): items[:] = items[-1:]\n",
    )
    result = generated.run(*arguments)
    result.stdout.no_fnmatch_line("*unused: *")
    result.stdout.no_fnmatch_line("*unused baseline:*")
    assert names(generated.path / BASELINES) == GENERATED


CHANGES = [
    ('["a", "large v2"]', '["a"]'),  # another run may have the other one
    ("def test_last", "@pytest.mark.skipif(True, reason='here')\ndef test_last"),
    ("def test_last(evalmetrics):", "def test_last(evalmetrics):\n    1 / 0"),
    ("def test_named(evalmetrics):", "def test_named(evalmetrics):\n    pytest.skip()"),
    ("def test_last", "if False:\n  def test_last"),
]


def test_what_may_still_be_asked_for_is_kept(project, folder):
    for change in CHANGES:
        text = TEXT.replace(*change)
        assert text != TEXT
        project.write("test_x.py", text)
        result = project.run(UPDATE)
        result.stdout.no_fnmatch_line("*unused*")
        assert names(folder) == ALL


def test_a_file_of_benchmarks_of_the_same_stem(project, folder):
    project.write("pytest.ini", "[pytest]\nevalmetrics_files = *.yaml\n")
    project.rollouts([[1.0]])
    project.write(
        "test_x.yaml", "benchmark: {name: a, rollouts: runs.jsonl, baseline: true}"
    )
    result = project.run(UPDATE)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *test_x.py and test_x.yaml would keep their baselines in one folder*"
        ]
    )
    assert names(folder) == ALL | {"a.json"}
