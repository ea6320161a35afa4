"""Tasks that a benchmark names: which of them are there, and whose quarantine applies."""

from datetime import date

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.gates.task_gates import single_tasks
from pytest_evalmetrics.model.reasons import UnknownTask
from pytest_evalmetrics.model.verdicts import Verdict

BENCHMARK = """\
benchmark:
  name: a
  rollouts: runs.jsonl
  must_pass: [login, "pay-*"]
  quarantine:
    - {task: flaky, until: 2026-06-30, reason: "#12"}
"""


@pytest.fixture
def benchmark(tmp_path):
    path = tmp_path / "a.bench.yaml"
    path.write_text(BENCHMARK, encoding="utf-8")
    (read,) = load_benchmarks(path, shown="a.bench.yaml")
    return read


def named(benchmark, tasks, today=date(2026, 6, 1)):
    return single_tasks(benchmark.spec, tasks, today, benchmark.line_of)


def test_tasks_are_found_by_their_id_and_by_a_pattern(benchmark):
    found = named(benchmark, ["login", "pay-card", "pay-cash", "flaky", "search"])
    assert found.must_pass == {"login", "pay-card", "pay-cash"}
    assert found.unknown == ()


def test_a_task_is_in_quarantine_until_its_day(benchmark):
    tasks = ["login", "pay-card", "flaky"]
    assert named(benchmark, tasks).quarantined == {"flaky"}
    assert named(benchmark, tasks, date(2026, 6, 30)).quarantined == {"flaky"}
    assert named(benchmark, tasks, date(2026, 7, 1)).quarantined == set()


def test_a_task_that_is_not_there_is_inconclusive_with_a_guess(benchmark):
    (check,) = named(benchmark, ["logins", "pay-card", "flaky"]).unknown
    assert (check.name, check.line) == ("must_pass login", 4)
    assert check.verdict is Verdict.INCONCLUSIVE
    (reason,) = check.reasons
    assert isinstance(reason, UnknownTask)
    assert (reason.key, reason.pattern) == ("must_pass", "login")
    assert reason.guess.startswith("did you mean 'logins'?")


def test_a_quarantine_of_no_task_is_inconclusive_at_its_line(benchmark):
    (check,) = named(benchmark, ["login", "pay-card"]).unknown
    assert (check.name, check.line) == ("quarantine flaky", 6)
