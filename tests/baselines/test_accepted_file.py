"""``evalmetrics-accepted.yaml``: an intended drop against a report or a history, once."""

import shutil

import pytest
from evaluated import evaluated

from pytest_evalmetrics.baselines.accepted_file import read_accepted
from pytest_evalmetrics.errors import BaselineError

ENTRY = (
    "- benchmark: math.bench.yaml::math\n"
    "  metric: mean_reward\n"
    "  level: 0.5\n"
    "  reason: shorter prompt\n"
)
GOOD = [[1.0]] * 40
WORSE = [[1.0]] * 20 + [[0.0]] * 20
BAD = [[0.0]] * 40


@pytest.fixture
def main(project):
    """A branch that is held against the report of main, where all tasks pass."""
    project.rollouts(GOOD)
    project.bench("metrics: [mean_reward]\nexpect: {tasks: 40}")
    evaluated(project)
    project.bench(
        "metrics: [mean_reward]\nexpect: {tasks: 40}\nbaseline: {report: main.json}"
    )
    publish(project)
    return project


def publish(project):
    """Let the last report be that of main."""
    shutil.copy(project.path / "evalmetrics/report.json", project.path / "main.json")


def test_a_drop_is_refused_with_the_file_that_accepts_it(main):
    main.rollouts(WORSE)
    result = evaluated(main)
    assert not result.passed
    assert "evalmetrics-accepted.yaml" in result.text


def test_a_level_that_is_accepted_passes_and_is_said(main):
    main.rollouts(WORSE)
    main.write("evalmetrics-accepted.yaml", ENTRY)
    result = evaluated(main)
    assert result.passed
    result.says(
        "*accepted by evalmetrics-accepted.yaml: mean_reward from 1 to 0.5: shorter prompt*"
    )


def test_less_than_the_level_fails(main):
    main.rollouts(BAD)
    main.write("evalmetrics-accepted.yaml", ENTRY)
    assert not evaluated(main).passed


def test_the_change_is_honoured_once(main):
    main.rollouts(WORSE)
    main.write("evalmetrics-accepted.yaml", ENTRY)
    evaluated(main)
    publish(main)  # main has the new level, and the report says that it was accepted
    main.rollouts(GOOD)
    assert evaluated(main).passed
    publish(main)  # and it recovers
    main.rollouts(WORSE)
    result = main.run()
    assert result.ret == 1
    assert "counts no more: remove the entry" in result.stdout.str()


def test_an_entry_for_another_benchmark_accepts_nothing(main):
    main.rollouts(WORSE)
    main.write("evalmetrics-accepted.yaml", ENTRY.replace("::math", "::maths"))
    assert not evaluated(main).passed


@pytest.mark.parametrize(
    "text",
    ["- {benchmark: a}\n", "- {\n"],
)
def test_a_file_that_is_no_list_of_entries_is_refused(main, text):
    main.rollouts(WORSE)
    main.write("evalmetrics-accepted.yaml", text)
    result = main.run()
    assert result.ret == 1
    shown = result.stdout.str()
    assert "evalmetrics-accepted.yaml" in shown
    assert "Traceback" not in shown


def test_a_history_begins_anew_with_an_accepted_level(project):
    keys = "metrics: [mean_reward]\nexpect: {tasks: 40}\nbaseline: {history: 5}"
    project.rollouts(GOOD)
    project.bench(keys)
    history = "--evalmetrics-history=history.jsonl"
    project.run(history, "--evalmetrics-update")
    project.rollouts(WORSE)
    assert project.run(history).ret == 1
    project.write("evalmetrics-accepted.yaml", ENTRY)
    assert project.run(history).ret == 0
    (project.path / "evalmetrics-accepted.yaml").unlink()
    assert project.run(history).ret == 0


def test_accepted_changes_are_read_in_this_process(tmp_path):
    (tmp_path / "evalmetrics-accepted.yaml").write_text(
        "- {benchmark: a.yaml::math, metric: mean_reward, level: 0.71, reason: prompt}\n"
    )
    (accepted,) = read_accepted(tmp_path)
    assert accepted.benchmark == "a.yaml::math"
    assert accepted.level == 0.71


def test_a_project_without_the_file_accepts_nothing(tmp_path):
    assert read_accepted(tmp_path) == ()


def test_a_file_that_is_no_yaml_is_refused_in_a_line(tmp_path):
    (tmp_path / "evalmetrics-accepted.yaml").write_text("- {benchmark: [")
    with pytest.raises(BaselineError) as refused:
        read_accepted(tmp_path)
    assert refused.value.message.startswith("it can't be read: while parsing")
    assert "\n" not in refused.value.message
    assert refused.value.hint.startswith("write a list of entries such as {benchmark: ")


@pytest.mark.parametrize(
    "text", ["level: 1\n", "- {benchmark: a}\n", "- [1]\n", ENTRY + "  level2: 1\n"]
)
def test_entries_that_lack_or_exceed_what_is_known_are_refused(tmp_path, text):
    (tmp_path / "evalmetrics-accepted.yaml").write_text(text)
    with pytest.raises(BaselineError) as refused:
        read_accepted(tmp_path)
    assert refused.value.file == "evalmetrics-accepted.yaml"
