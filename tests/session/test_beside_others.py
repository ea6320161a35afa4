"""Other plugins: testmon's selection, and syrupy's unused snapshots."""

from pathlib import Path

import pytest

from pytest_evalmetrics.session.beside_syrupy import lines_of_unused, only_warns
from pytest_evalmetrics.session.beside_testmon import BenchmarksBesideTestmon

SELECTION = "TestmonSelect"
PLAIN = "test_plain.py"
BENCHMARK = "math.bench.yaml"


class Item:
    """An item of a file, as far as a selection looks at it."""

    def __init__(self, name):
        self.path = Path(name)


class Testmon:
    """A plugin that selects no file."""

    __test__ = False

    def pytest_ignore_collect(self, collection_path):
        return collection_path.suffix != ""


@pytest.fixture
def config(pytester):
    return pytester.parseconfig()


def steps(generator):
    """Run a wrapper around nothing."""
    for _ in generator:
        pass


def test_testmon_does_not_see_benchmarks(config):
    config.pluginmanager.register(Testmon(), SELECTION)
    items = [Item(PLAIN), Item(BENCHMARK)]
    beside = BenchmarksBesideTestmon()
    beside.pytest_take_benchmarks_out(config, items)
    assert [item.path.name for item in items] == [PLAIN]
    steps(beside.pytest_put_benchmarks_back(items))
    assert [item.path.name for item in items] == [PLAIN, BENCHMARK]


def test_without_testmon_items_stay_where_they_are(config):
    items = [Item(BENCHMARK), Item(PLAIN)]
    beside = BenchmarksBesideTestmon()
    beside.pytest_take_benchmarks_out(config, items)
    steps(beside.pytest_put_benchmarks_back(items))
    assert [item.path.name for item in items] == [BENCHMARK, PLAIN]


def ignored(config, name, answer):
    """Ask whether a file is left out, where all plugins together have answered."""
    beside = BenchmarksBesideTestmon()
    wrapper = beside.pytest_ignore_collect(config.rootpath / name, config)
    next(wrapper)
    with pytest.raises(StopIteration) as stopped:
        wrapper.send(answer)
    return stopped.value.value


def test_a_benchmark_file_that_testmon_leaves_out_is_collected(config):
    config.pluginmanager.register(Testmon(), SELECTION)
    assert not ignored(config, BENCHMARK, answer=True)


@pytest.mark.parametrize("answer", [True, False, None])
def test_other_files_are_left_out_as_testmon_says(config, answer):
    config.pluginmanager.register(Testmon(), SELECTION)
    assert ignored(config, PLAIN, answer) is answer


@pytest.mark.parametrize("answer", [True, False, None])
def test_without_testmon_benchmark_files_are_left_out_as_asked(config, answer):
    assert ignored(config, BENCHMARK, answer) is answer


def test_unused_baselines_are_listed_in_order():
    text = "\n".join(lines_of_unused(["b.json", "a.json"]))
    assert text.index("a.json") < text.index("b.json")


def test_nothing_is_said_where_no_baseline_is_unused():
    assert lines_of_unused([]) == []


@pytest.mark.parametrize(
    ("arguments", "warns"), [([], False), (["--snapshot-warn-unused"], True)]
)
def test_unused_baselines_warn_where_unused_snapshots_do(pytester, arguments, warns):
    assert only_warns(pytester.parseconfig(*arguments)) is warns
