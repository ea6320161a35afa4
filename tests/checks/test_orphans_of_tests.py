"""Which baselines of checks are unused: only where their test ran without them, or is gone."""

from itertools import chain, product

import pytest

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


@pytest.fixture
def folder(project):
    """Where all baselines of the file lie, as recorded."""
    project.write("test_x.py", TEXT)
    assert project.run(UPDATE).ret == 0
    folder = project.path / "__baselines__" / "test_x"
    assert names(folder) == ALL
    return folder


def names(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_a_check_that_its_test_makes_no_more(project, folder):
    project.write("test_x.py", TEXT.replace('name="other"', 'name="new"'))
    result = project.run("--snapshot-details", "-k", "not named")
    assert result.ret == 0  # a selection says nothing
    assert project.run().ret == 1  # the new one is missing, so that its test fails
    assert names(folder) == ALL
    assert project.run(UPDATE).ret == 0
    assert names(folder) == ALL | {"test_named-new.json"}
    result = project.run("--snapshot-details", "-n", "1")
    assert result.ret == 1
    result.assert_outcomes(passed=5)
    assert [
        entry["id"].partition("::")[2] for entry in project.report()["benchmarks"]
    ] == [
        "TestCode::TestHard::test_sums::easy",
        "test_last",
        "test_models[a]",
        "test_models[large v2]",
        "test_named::kept",
        "test_named::new",
    ]
    result.stdout.fnmatch_lines(
        ["1 unused baseline: *", "    __baselines__/test_x/test_named-other.json"]
    )


def test_a_test_or_a_file_that_is_gone(project, folder):
    project.write("test_x.py", TEXT.partition("def test_last")[0])
    assert project.run().ret == 1
    assert project.run(UPDATE).ret == 0
    assert names(folder) == ALL
    assert project.run(DELETE).ret == 0
    assert names(folder) == ALL - {"test_last.json"}
    project.write(
        "test_y.py", "def test_y(evalmetrics): evalmetrics.check([1], baseline=True)\n"
    )
    assert project.run(UPDATE, "--ignore", "test_x.py").ret == 0
    assert names(folder) == ALL - {"test_last.json"}
    (project.path / "test_x.py").unlink()
    project.run(DELETE).stdout.fnmatch_lines(["5 unused baselines deleted"])
    assert names(folder) == set()


def test_inherited_and_generated_tests_and_what_a_conftest_leaves_out(project):
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
    folder = project.path / "__baselines__" / "test_x"
    before = names(folder)
    assert before == {"TestX.test_inherited.json", "test_made.json"}
    project.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items): items[:] = items[-1:]\n",
    )
    selections = (
        (),
        ("-k", "test"),
        ("--deselect", "test_x.py::test_plain"),
        ("test_x.py::test_made",),
    )
    for args in product(((), (UPDATE,), (f"{DELETE}=list",), (DELETE,)), selections):
        result = project.run(*chain(*args))
        result.stdout.no_fnmatch_line("*unused: *")
        result.stdout.no_fnmatch_line("*unused baseline:*")
        assert names(folder) == before


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
