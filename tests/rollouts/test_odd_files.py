"""Files of unknown layouts are read right, or asked about, or refused; none is read wrongly."""

import math
from itertools import count

import pytest
from evaluated import evaluated
from rollouts.odd import Asks, Reads, Refuses
from rollouts.odd_files import BUILT_WITH
from rollouts.odd_files_exports import EXPORTS
from rollouts.odd_files_further import FURTHER
from rollouts.odd_files_held_back import HELD_BACK
from rollouts.odd_files_later import LATER
from rollouts.odd_files_layouts import LAYOUTS
from rollouts.odd_files_more import MORE
from rollouts.odd_files_numbers import NUMBERS
from rollouts.odd_files_unclear import UNCLEAR

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.rollouts.survey import write_benchmark

NUMBERS_OF_FOLDERS = count()


def write_files(odd, folder):
    for name, content in odd.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(content, str)
        path.write_bytes(content.encode() if is_text else content)
    for name, target in odd.links.items():
        (folder / name).symlink_to(target)


def outcome_of(odd, folder):
    write_files(odd, folder)
    try:
        written = write_benchmark(odd.path, folder)
    except EvalMetricsError as error:
        return Refuses(words=(str(error),))
    if written.open_lines:
        return Asks(words=tuple(written.open_lines))
    (benchmark,) = load_benchmarks(written.path, shown=written.path.name)
    table = load(benchmark.spec.rows, folder, scores=[benchmark.spec.reward])
    rewards = {}
    for task, value in zip(
        table.task.tolist(), table.scores[benchmark.spec.reward].tolist(), strict=True
    ):
        number = None if math.isnan(value) else value
        rewards.setdefault(table.tasks[task], []).append(number)
    return Reads(rewards=rewards, agents=len(table.agents))


def check(odd, folder):
    outcome = outcome_of(odd, folder)
    expected = odd.outcome
    assert type(outcome) is type(expected), outcome
    if isinstance(expected, Reads):
        assert outcome.rewards.keys() == expected.rewards.keys()
        assert expected.agents in (None, outcome.agents)
        for task, rewards in expected.rewards.items():
            assert outcome.rewards[task] == pytest.approx(rewards), task
        return
    text = "\n".join(outcome.words)
    for word in expected.words:
        assert word in text
    has_file = any(folder.glob("*.bench.yaml"))
    assert has_file is isinstance(expected, Asks)


@pytest.fixture
def folder(tmp_path_factory):
    """An empty folder: hundreds of `tmp_path` would count and link each other."""
    return tmp_path_factory.mktemp(f"odd-{next(NUMBERS_OF_FOLDERS)}", numbered=False)


@pytest.mark.parametrize("name", BUILT_WITH)
def test_files_that_the_guess_was_built_with(name, folder):
    check(BUILT_WITH[name], folder)


@pytest.mark.parametrize("name", HELD_BACK)
def test_files_that_were_held_back(name, folder):
    check(HELD_BACK[name], folder)


@pytest.mark.parametrize("name", MORE)
def test_files_that_were_found_later(name, folder):
    check(MORE[name], folder)


@pytest.mark.parametrize("name", FURTHER)
def test_files_whose_outcome_was_written_first(name, folder):
    check(FURTHER[name], folder)


@pytest.mark.parametrize("name", LATER)
def test_files_in_the_style_of_logs_that_people_send(name, folder):
    check(LATER[name], folder)


@pytest.mark.parametrize("name", EXPORTS)
def test_files_that_people_export_by_hand(name, folder):
    check(EXPORTS[name], folder)


@pytest.mark.parametrize("name", UNCLEAR)
def test_files_that_can_be_read_in_two_ways(name, folder):
    check(UNCLEAR[name], folder)


@pytest.mark.parametrize("name", LAYOUTS)
def test_files_in_the_layouts_of_tools(name, folder):
    check(LAYOUTS[name], folder)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_text(name, folder):
    check(NUMBERS[name], folder)


IN_TWO_COMMANDS = [
    "messages in rows",
    "attempts hold the reward",
    "one indented object a file",
    "words in German",
    "ticks and crosses",
    "thousands separators",
    "the unnamed index of pandas",
    "questions below a header",
    "lists by id",
]


@pytest.mark.parametrize("name", IN_TWO_COMMANDS)
def test_a_persons_own_file_is_gated_by_what_is_written_for_it(project, name):
    odd = BUILT_WITH[name]
    write_files(odd, project.path)
    write_benchmark(odd.path, project.path)
    assert evaluated(project, updates=True).passed
    assert evaluated(project).passed


def test_a_persons_own_file_is_gated_in_two_commands(project):
    odd = BUILT_WITH["messages in rows"]
    write_files(odd, project.path)
    assert project.run("--evalmetrics-init", odd.path).ret == 0
    assert project.run().ret == 0
