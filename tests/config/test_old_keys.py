"""Renamed keys: the old name is read for two minor versions, with the line to write."""

import warnings

import pytest

from pytest_evalmetrics.config import old_keys
from pytest_evalmetrics.errors import ConfigError, RenamedKeyWarning
from pytest_evalmetrics.spec import renamed_keys
from pytest_evalmetrics.spec.renamed_keys import RenamedKey

IN_PLACE = RenamedKey(("baseline", "tolerance"), ("baseline", "max_drop"), (0, 1))
ELSEWHERE = RenamedKey(("max_regression",), ("baseline", "max_drop"), (0, 1))
OF_ITEMS = RenamedKey(("scorers", "*", "kind"), ("scorers", "*", "type"), (0, 1))

OLD = """\
benchmark:
  name: math
  rollouts: runs.jsonl
  baseline:
    rule: practical
    tolerance: 0.03
"""


@pytest.fixture
def rename(monkeypatch):
    """Let keys be renamed in this version."""
    return lambda *keys: monkeypatch.setattr(renamed_keys, "RENAMED", keys)


def test_the_value_goes_to_the_new_key(load, rename):
    rename(IN_PLACE)
    with pytest.warns(RenamedKeyWarning):
        (benchmark,) = load(OLD)
    assert benchmark.spec.baseline.max_drop == 0.03
    assert benchmark.spec.baseline.rule == "practical"


def test_the_warning_shows_the_line_to_write_at_its_place(load, rename, tmp_path):
    rename(IN_PLACE)
    with pytest.warns(RenamedKeyWarning) as caught:
        load(OLD)
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (str(tmp_path / "a.bench.yaml"), 6)
    assert str(warning.message) == (
        "benchmark.baseline.tolerance: 'tolerance' was renamed to 'max_drop' in version "
        "0.1, and is read until 0.3; write: max_drop: 0.03"
    )


def test_a_key_may_move_below_another_one(load, rename):
    rename(ELSEWHERE)
    text = "benchmark:\n  name: math\n  rollouts: a.jsonl\n  max_regression: 0.03\n"
    with pytest.warns(RenamedKeyWarning, match=r"write: baseline: \{max_drop: 0.03\}"):
        (benchmark,) = load(text)
    assert benchmark.spec.baseline.max_drop == 0.03


def test_a_key_that_moves_joins_the_keys_that_are_there(load, rename):
    rename(ELSEWHERE)
    text = OLD.replace("    tolerance: 0.03\n", "  max_regression: 0.03\n")
    with pytest.warns(RenamedKeyWarning):
        (benchmark,) = load(text)
    assert benchmark.spec.baseline.max_drop == 0.03
    assert benchmark.spec.baseline.rule == "practical"


def test_a_key_of_each_item_of_a_list_is_read(load, rename):
    rename(OF_ITEMS)
    text = """\
benchmark:
  name: calls
  dataset: rows.jsonl
  scorers:
    - kind: tool_call_accuracy
  reward: tool_call_accuracy
"""
    with pytest.warns(RenamedKeyWarning, match=r"scorers\[0\]\.kind"):
        (benchmark,) = load(text)
    assert benchmark.spec.scorers[0].type == "tool_call_accuracy"


def test_an_old_key_of_the_defaults_is_read_for_each_benchmark(load, rename):
    rename(IN_PLACE)
    text = """\
defaults:
  baseline: {tolerance: 0.03}
benchmarks:
  - {name: a, rollouts: a.jsonl}
  - {name: b, rollouts: b.jsonl, baseline: {max_drop: 0.05}}
"""
    with pytest.warns(RenamedKeyWarning) as caught:
        a, b = load(text)
    assert [warning.lineno for warning in caught] == [2]
    assert a.spec.baseline.max_drop == 0.03
    assert b.spec.baseline.max_drop == 0.05


def test_both_names_are_an_error_at_the_old_one(load, rename):
    rename(IN_PLACE)
    with pytest.raises(ConfigError) as error:
        load(OLD + "    max_drop: 0.01\n")
    (problem,) = error.value.problems
    assert problem.line == 6
    assert problem.message == (
        "'tolerance' was renamed to 'max_drop' in version 0.1, and "
        "benchmark.baseline.max_drop is here too: remove one of them"
    )


def test_after_two_minor_versions_the_old_name_is_an_error(load, rename, monkeypatch):
    rename(IN_PLACE)
    monkeypatch.setattr(old_keys, "version", lambda _: "0.3.0")
    with pytest.raises(ConfigError) as error:
        load(OLD)
    (problem,) = error.value.problems
    assert problem.line == 6
    assert problem.message == (
        "'tolerance' was renamed to 'max_drop' in version 0.1, and is read no more; "
        "write: max_drop: 0.03"
    )


def test_the_last_version_that_reads_the_old_name(load, rename, monkeypatch):
    rename(IN_PLACE)
    monkeypatch.setattr(old_keys, "version", lambda _: "0.2.7")
    with pytest.warns(RenamedKeyWarning):
        (benchmark,) = load(OLD)
    assert benchmark.spec.baseline.max_drop == 0.03


def test_a_warning_that_is_an_error_is_a_problem_of_the_file(load, rename):
    rename(IN_PLACE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RenamedKeyWarning)
        with pytest.raises(ConfigError) as error:
            load(OLD)
    (problem,) = error.value.problems
    assert problem.line == 6
    assert problem.message.endswith("write: max_drop: 0.03")


def test_an_invalid_value_is_reported_under_the_new_name(load, rename):
    rename(IN_PLACE)
    with pytest.warns(RenamedKeyWarning), pytest.raises(ConfigError) as error:
        load(OLD.replace("0.03", "often"))
    (problem,) = error.value.problems
    assert problem.line == 6
    assert problem.path == "benchmark.baseline.max_drop"


def test_nothing_is_renamed_twice_and_each_entry_has_a_new_name():
    old = [key.old for key in renamed_keys.RENAMED]
    assert len(old) == len(set(old))
    assert all(key.old != key.new for key in renamed_keys.RENAMED)
