"""The expect gate on a few rows: what is absent, and what lacks a reward."""

import numpy as np
import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.ext import Estimate, RolloutTable
from pytest_evalmetrics.gates.completeness import (
    check_completeness,
    completeness_of,
    lacks_numbers,
    unchecked_tasks,
)
from pytest_evalmetrics.gates.thresholds import metrics_of_a_part
from pytest_evalmetrics.model.gate_notes import MetricOfPart, UncheckedTasks
from pytest_evalmetrics.model.reasons import (
    ExtraTasks,
    MissingOutcome,
    MissingRewards,
    MissingTasks,
    TaskCount,
    TooFewRollouts,
)
from pytest_evalmetrics.model.verdicts import Verdict

NAN = float("nan")


@pytest.fixture
def benchmark(tmp_path):
    """Read a benchmark with further keys."""

    def read(keys=""):
        path = tmp_path / "a.bench.yaml"
        text = f"benchmark:\n  name: a\n  rollouts: runs.jsonl\n{keys}"
        path.write_text(text, encoding="utf-8")
        (read,) = load_benchmarks(path, shown="a.bench.yaml")
        return read

    return read


def table(*tasks):
    """Make the rollouts of tasks, each a list of rewards."""
    counts = [len(rewards) for rewards in tasks]
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), np.int32),
        tasks=tuple(f"t{at}" for at in range(len(tasks))),
        task=np.repeat(np.arange(len(tasks)), counts),
        sample=np.concatenate([np.arange(count) for count in counts]),
        scores={
            "reward": np.array([reward for rewards in tasks for reward in rewards])
        },
    )


def checks_of(asked, rollouts):
    found = completeness_of(asked.spec, rollouts)
    checks = check_completeness(asked.spec, found, agent="agent", line_of=asked.line_of)
    return {check.name: check for check in checks}


def test_absent_and_unscored_rollouts_are_missing_together(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {max_missing: 60%}\n")
    missing = checks_of(asked, table([1.0, NAN], [1.0]))["missing"]
    assert missing.value == 0.5
    (reason,) = missing.reasons
    assert isinstance(reason, MissingRewards)
    assert (reason.absent, reason.unscored, reason.counted) == (1, 1, 2)
    assert reason.outcome is MissingOutcome.LEFT_OUT


def test_what_is_missing_is_checked_at_its_line(benchmark):
    asked = benchmark("  num_samples: 2\n  expect:\n    max_missing: 10%\n")
    assert checks_of(asked, table([1.0, NAN]))["missing"].line == 6


def test_few_absent_rollouts_pass_where_max_missing_allows_them(benchmark):
    asked = benchmark("  num_samples: 2\n  expect: {max_missing: 50%}\n")
    rollouts = checks_of(asked, table([1.0, 1.0], [1.0]))["rollouts"]
    assert rollouts.verdict is Verdict.PASS
    too_few = TooFewRollouts(
        tasks=(TaskCount("t1", 1),),
        count=1,
        of=2,
        expected=2,
        is_stated=True,
        is_allowed=True,
    )
    assert rollouts.reasons == (too_few,)


def test_a_single_missing_number_of_another_score_is_noted():
    estimate = Estimate("mean/f1", 0.5, 2, 3, None, missing=1, score="f1")
    assert lacks_numbers(estimate, "reward")
    assert not lacks_numbers(estimate, "f1")


def test_the_note_on_a_metric_over_a_part_of_the_rollouts_names_its_agent(benchmark):
    asked = benchmark("  metrics: [mean_reward, mean/f1]\n")
    estimates = {
        "mean_reward": Estimate("mean_reward", 0.5, 2, 4, None, score="reward"),
        "mean/f1": Estimate("mean/f1", 0.5, 2, 3, None, missing=1, score="f1"),
    }
    assert list(metrics_of_a_part(asked.spec, estimates, agent="coder")) == [
        MetricOfPart(metric="mean/f1", score="f1", rollouts=3, missing=1, agent="coder")
    ]


def test_the_note_that_nothing_says_how_many_tasks_there_are_has_the_line(benchmark):
    asked = benchmark()
    found = completeness_of(asked.spec, table([1.0], [1.0]))
    note = unchecked_tasks(asked.spec, found, agent="", line=2, in_python=False)
    assert note == UncheckedTasks(tasks=2, rollouts=1, line=2)


def test_fewer_tasks_than_expected_fail_at_their_line(benchmark):
    asked = benchmark("  expect:\n    tasks: 3\n")
    tasks = checks_of(asked, table([1.0], [1.0]))["tasks"]
    assert (tasks.verdict, tasks.value, tasks.line) == (Verdict.FAIL, 2, 5)
    assert tasks.reasons == (MissingTasks(expected=3, found=2),)


def test_more_tasks_than_expected_fail(benchmark):
    asked = benchmark("  expect: {tasks: 1}\n")
    tasks = checks_of(asked, table([1.0], [1.0]))["tasks"]
    assert tasks.reasons == (ExtraTasks(expected=1, found=2),)
