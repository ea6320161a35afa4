"""Runs that are made now: which rollouts are asked for, and which run each is of."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.reasons import MissingTasks
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.rollout_table import RolloutTable
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.run_series.calibrating import calibrate
from pytest_evalmetrics.run_series.made_runs import make_runs

ONLINE = """\
benchmark:
  name: math
  dataset: [{q: 1, a: 1}, {q: 2, a: 2}]
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ q }}"
  scorers: [{type: exact_match, reference: "{{ a }}"}]
  reward: exact-match
"""
# a target whose answers are not kept
TARGET = """\
benchmark:
  name: math
  dataset: [{q: 1, a: 1}, {q: 2, a: 2}]
  target: agent:answer
  num_samples: 2
  scorers: [{type: exact_match, reference: "{{ a }}"}]
  reward: exact-match
"""
TASKS = 12


def table_of(rewards):
    """Make a table of rewards, shape (tasks, rollouts)."""
    tasks, rollouts = rewards.shape
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(rewards.size, dtype=np.int32),
        tasks=tuple(f"t{task}" for task in range(tasks)),
        task=np.repeat(np.arange(tasks), rollouts),
        sample=np.tile(np.arange(rollouts), tasks),
        scores={"exact-match": rewards.ravel().astype(np.float64)},
    )


class Rows:
    def __init__(self, table):
        self.table = table


class Evaluated:
    """As much of an evaluation as is read of it."""

    class result:  # noqa: N801 - a field
        checks = ()

    def __init__(self, table, *, is_complete=True):
        self.row_scores = Rows(table)
        self.baseline = object() if is_complete else None


class System:
    """A system whose answers differ by chance, and what was asked of it."""

    def __init__(self, *, is_complete=True):
        self.asked = []
        self.is_complete = is_complete

    def __call__(self, benchmark):
        self.asked.append(benchmark.spec.num_samples)
        asked = self.answers(seed=7)[:, : benchmark.spec.num_samples]
        return Evaluated(table_of(asked), is_complete=self.is_complete)

    @staticmethod
    def answers(seed):
        """Draw whether each answer is right, shape (tasks, rollouts)."""
        rng = np.random.default_rng(seed)
        return rng.random((TASKS, 40)) < np.linspace(0.2, 0.9, TASKS)[:, None]


def lost_tasks(found):
    reason = MissingTasks(expected=TASKS, found=found)
    return Check(
        gate=Gate.EXPECT, name="tasks", verdict=Verdict.FAIL, reasons=(reason,)
    )


@pytest.fixture
def online(tmp_path):
    """Read a benchmark of a model, with further keys."""

    def read(keys=""):
        file = tmp_path / "math.bench.yaml"
        file.write_text(f"{ONLINE}{keys}", encoding="utf-8")
        (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
        return benchmark

    return read


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ("", [1, 2, 3]),
        ("  num_samples: 4\n", [4, 8, 12]),
        ("  num_samples: {min: 2, max: 4, stop: early}\n", [4, 8, 12]),
    ],
)
def test_each_run_asks_for_as_many_rollouts_more(online, keys, asked):
    system = System()
    make_runs(online(keys), 3, system)
    assert system.asked == asked


def test_rollouts_belong_to_the_run_that_asked_for_them(online):
    runs = make_runs(online("  num_samples: 2\n"), 3, System())["a"]
    samples = [sorted(set(run.sample.tolist())) for run in runs]
    assert samples == [[0, 1], [2, 3], [4, 5]]


def test_a_run_that_lacks_rows_is_refused(online):
    with pytest.raises(DataError) as refused:
        make_runs(online(), 3, System(is_complete=False))
    assert refused.value.message == (
        "run 1 of 3 is not complete: rows are left out on purpose"
    )


def test_a_run_is_refused_in_the_words_of_the_first_gate_that_fails(online):
    checks = [
        Check(gate=Gate.EXPECT, name="tasks", verdict=Verdict.PASS),
        lost_tasks(found=9),
        lost_tasks(found=8),
    ]

    def evaluate(_benchmark):
        evaluated = Evaluated(None, is_complete=False)
        evaluated.result = SimpleNamespace(checks=checks)
        return evaluated

    with pytest.raises(DataError) as refused:
        make_runs(online(), 3, evaluate)
    assert refused.value.message == (
        "run 1 of 3 is not complete: 3 of 12 tasks are missing: 9 were found"
    )


def test_a_run_without_rows_is_refused(online):
    def evaluate(_benchmark):
        evaluated = Evaluated(None)
        evaluated.row_scores = None
        return evaluated

    with pytest.raises(DataError, match=r"^run 1 of 3 is not complete: "):
        make_runs(online(), 3, evaluate)


def test_no_number_of_rollouts_is_expected_of_runs_that_are_made(online):
    expected = []

    def evaluate(benchmark):
        expected.append(benchmark.spec.expect)
        return System()(benchmark)

    keys = "  num_samples: 2\n  expect: {tasks: 12, rollouts: 2}\n"
    make_runs(online(keys), 2, evaluate)
    assert [expect.rollouts for expect in expected] == [None, None]
    assert [expect.tasks.min for expect in expected] == [12, 12]


def test_a_target_that_says_no_version_is_asked_for_all_runs_at_once(tmp_path):
    """None of its answers are kept, so that runs before would be asked again."""
    file = tmp_path / "math.bench.yaml"
    file.write_text(TARGET, encoding="utf-8")
    (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
    system = System()
    make_runs(benchmark, 3, system)
    assert system.asked == [6]


@pytest.mark.parametrize("count", [2, 3])
def test_recorded_answers_without_a_judge_do_not_vary(tmp_path, count):
    file = tmp_path / "math.bench.yaml"
    file.write_text(
        "benchmark:\n  name: math\n  rollouts: r\n  scorers: [{type: exact_match}]\n"
    )
    (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
    with pytest.raises(DataError) as refused:
        make_runs(benchmark, count, System())
    assert refused.value.message == (
        "nothing of it varies: there is no model, and no judge that repeats"
    )


def recorded(folder, runs):
    """Record runs of the system; give the keys that compare with them."""
    for run in range(runs):
        rewards = System.answers(seed=run)[:, :4]
        rows = [
            {"task": f"t{task}", "sample": sample, "exact-match": float(reward)}
            for (task, sample), reward in np.ndenumerate(rewards)
        ]
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / f"r{run}.jsonl").write_text("".join(lines))
    fields = "{task: task, sample: sample, reward: exact-match}"
    files = ", ".join(f"[r{run}.jsonl]" for run in range(runs))
    return (
        "  metrics: [mean_reward]\n  num_samples: 4\n"
        f"  baseline: {{max_drop: 0.2, rollouts: {{path: [{files}], fields: {fields}}}}}\n"
    )


# -- and their noise -------------------------------------------------------------------------


def calibrated(benchmark, count=4):
    return calibrate(benchmark, count=count, evaluate=System())


def test_runs_are_made_where_the_baseline_can_not_be_read(online):
    benchmark = online("  metrics: [mean_reward]\n  baseline: {rollouts: gone.jsonl}\n")
    lines, _, _ = calibrate(benchmark, count=4, evaluate=System(), snapshot=None)
    assert lines[1].endswith(" in 4 runs")


def test_runs_are_recorded_and_not_made_where_none_are_asked_for(online, tmp_path):
    benchmark = online(recorded(tmp_path, runs=2))
    lines, _, _ = calibrate(benchmark, count=0, evaluate=None, snapshot=None)
    assert lines[1].endswith(" in 2 runs")


@pytest.mark.parametrize(
    ("runs", "needed"), [(1, 10), (2, 6)], ids=["against one", "against several"]
)
def test_a_baseline_of_several_runs_needs_fewer_attempts(
    online, tmp_path, runs, needed
):
    """One recorded run stays one, however many runs are made."""
    benchmark = online(recorded(tmp_path, runs))
    _, settings, _ = calibrate(benchmark, count=4, evaluate=System(), snapshot=None)
    assert settings == {("num_samples",): f"{needed}"}


def test_one_run_shows_no_noise(online):
    with pytest.raises(DataError) as refused:
        calibrated(online(), count=1)
    assert refused.value.message == (
        "two runs of the unchanged system are needed, better ten"
    )


def test_tasks_that_pass_and_fail_are_named_the_most_uneven_first(online):
    lines, _, _ = calibrated(online("  num_samples: 4\n  metrics: [mean_reward]\n"))
    assert lines[0] == (
        "flaky: 11 of 12 tasks have rollouts that pass and rollouts that fail: t3 (8 of "
        "16), t5 (7 of 16), t7 (9 of 16), t8 (9 of 16), t4 (6 of 16) and 6 more"
    )


def test_the_chart_of_a_metric_has_its_value_in_each_run(online):
    benchmark = online("  num_samples: 4\n  metrics: [mean_reward]\n")
    runs = make_runs(benchmark, 4, System())["a"]
    means = [float(run.scores["exact-match"].mean()) for run in runs]
    _, _, (chart,) = calibrated(benchmark)
    assert chart["agent"] == ""
    assert chart["metric"] == "mean_reward"
    assert list(chart["values"]) == pytest.approx(means)


def test_a_metric_that_is_no_mean_leaves_the_others_their_noise(online):
    keys = "  num_samples: 4\n  metrics: [worst_task, mean_reward]\n"
    lines, _, charts = calibrated(online(keys))
    none = "worst_task: no mean over tasks, so that its noise can't be told apart"
    assert none in lines
    assert [chart["metric"] for chart in charts] == ["mean_reward"]


# -- judges ----------------------------------------------------------------------------------

JUDGED = """\
benchmark:
  name: math
  metrics: [mean_reward]
  reward: quality
  scorers:
    - type: llm-judge
      prompt_template: "Rate {{ answer }}"
      scores: [{name: quality, minimum: 1, maximum: 5}]
"""
ONE_JUDGE = '      model: {url: "http://127.0.0.1:9/v1", name: judge}\n'
ANSWERED = """\
  model: {url: "http://127.0.0.1:9/v1", name: m}
  prompt_template: "{{ q }}"
"""
TWO_JUDGES = """\
      judges:
        - {url: "http://127.0.0.1:9/v1", name: one}
        - {url: "http://127.0.0.1:9/v1", name: other}
"""
# of each judgement of each task
QUALITIES = np.array([[0.2, 0.4, 0.8, 0.8], [0.4, 0.4, 0.6, 0.8], [0.3, 0.4, 0.7, 0.8]])

SECONDS = np.array([1.0, 2.0, 3.0, 4.0])


class Answers:
    """New answers, which are judged by 0.1 more and by 0.1 less than their mean."""

    def __init__(self, judgements=2):
        self.judgements = judgements

    def __call__(self, benchmark):
        rng = np.random.default_rng(3)
        rewards = rng.uniform(0.3, 0.7, (TASKS, 10))[:, : benchmark.spec.num_samples]
        table = table_of(rewards)
        mean = rewards.ravel()
        judged = {"quality@1": mean - 0.1, "quality@2": mean + 0.1}
        names = [f"quality@{number + 1}" for number in range(self.judgements)]
        scores = {"quality": mean, **{name: judged[name] for name in names}}
        return Evaluated(structs.replace(table, scores=scores))


class Judge:
    """A judge that judges each task anew, and how often it was asked to."""

    def __init__(self):
        self.repeats = []

    def __call__(self, benchmark):
        (scorer,) = benchmark.spec.scorers
        self.repeats.append(scorer.judge_repeats)
        qualities = QUALITIES[: scorer.judge_repeats]
        scores = {f"quality@{n + 1}": values for n, values in enumerate(qualities)}
        tasks = QUALITIES.shape[1]
        table = RolloutTable(
            agents=("a",),
            agent=np.zeros(tasks, dtype=np.int32),
            tasks=tuple(f"t{task}" for task in range(tasks)),
            task=np.arange(tasks),
            sample=np.zeros(tasks, dtype=np.int64),
            scores={"quality": qualities.mean(axis=0), "seconds": SECONDS, **scores},
        )
        return Evaluated(table)


@pytest.fixture
def judged(tmp_path):
    """Read a benchmark that a judge scores, of recorded answers unless other rows are named."""

    def read(judge, rows="rollouts: r"):
        file = tmp_path / "math.bench.yaml"
        file.write_text(f"{JUDGED}{judge}  {rows}\n", encoding="utf-8")
        (benchmark,) = load_benchmarks(file, shown="math.bench.yaml")
        return benchmark

    return read


def test_a_judge_of_recorded_answers_judges_once_for_each_run(judged):
    judge = Judge()
    runs = make_runs(judged(ONE_JUDGE), 3, judge)["a"]
    assert judge.repeats == [3]
    rewards = [run.scores["quality"].tolist() for run in runs]
    assert rewards == QUALITIES.tolist()


def test_a_judge_that_repeats_more_often_than_there_are_runs_goes_on_to(judged):
    judge = Judge()
    make_runs(judged(f"{ONE_JUDGE}      judge_repeats: 3\n"), 2, judge)
    assert judge.repeats == [3]


def test_several_judges_are_not_asked_again(judged):
    with pytest.raises(DataError, match="nothing of it varies"):
        make_runs(judged(TWO_JUDGES), 2, Judge())


def test_the_judges_share_in_the_noise_is_that_of_its_judgements(judged):
    lines, _, _ = calibrate(judged(ONE_JUDGE), count=3, evaluate=Judge())
    variances = QUALITIES.var(axis=0, ddof=1)
    deviation = np.sqrt(variances.mean() / 4)
    deviations = next(line for line in lines if "standard deviations" in line)
    assert f", the judge {deviation:.2g}; " in deviations


def test_the_noise_of_a_judge_that_alone_varies_dominates(judged):
    lines, _, _ = calibrate(judged(ONE_JUDGE), count=3, evaluate=Judge())
    assert any(line.endswith("; the noise of the judge dominates") for line in lines)


def test_a_judge_has_no_share_in_the_noise_of_another_score(judged):
    keys = "thresholds: {mean/seconds: '<= 9'}\n  rollouts: r"
    lines, _, charts = calibrate(judged(ONE_JUDGE, keys), count=3, evaluate=Judge())
    assert [chart["metric"] for chart in charts] == ["mean_reward", "mean/seconds"]
    of_reward, of_seconds = [line for line in lines if "deviations" in line]
    assert "the judge" in of_reward
    assert "the judge" not in of_seconds


def test_a_system_without_a_judge_has_no_noise_of_a_judge(online):
    lines, _, _ = calibrated(online("  metrics: [mean_reward]\n"))
    assert not any("judge" in line for line in lines)


def test_the_judge_of_new_answers_judges_each_twice(judged):
    repeats = []

    def evaluate(benchmark):
        (scorer,) = benchmark.spec.scorers
        repeats.append(scorer.judge_repeats)
        return System()(benchmark)

    make_runs(judged(f"{ONE_JUDGE}{ANSWERED}", "dataset: [{q: 1}]"), 2, evaluate)
    assert repeats == [2, 2]


def test_the_noise_of_judged_answers_is_that_of_the_mean_of_their_judgements(judged):
    """Of recorded answers it is that of one judgement."""
    online = judged(f"{ONE_JUDGE}{ANSWERED}  num_samples: 1\n", "dataset: [{q: 1}]")
    lines, _, _ = calibrate(online, count=2, evaluate=Answers())
    # each answer's judgements differ by 0.2, the variance of a judgement is 0.02
    deviation = np.sqrt(0.02 / 2 / TASKS)
    deviations = next(line for line in lines if "standard deviations" in line)
    assert f", the judge {deviation:.2g}; " in deviations


def test_a_single_judgement_shows_no_noise_of_the_judge(judged):
    online = judged(f"{ONE_JUDGE}{ANSWERED}  num_samples: 1\n", "dataset: [{q: 1}]")
    lines, _, _ = calibrate(online, count=2, evaluate=Answers(judgements=1))
    assert not any("judge" in line for line in lines)
