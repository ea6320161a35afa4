"""Judge: the checks of all gates, from what the stages before computed."""

import numpy as np
import pytest
from stages.making import FIELDS, against, benchmark, given, load, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.gates.thresholds import check_threshold
from pytest_evalmetrics.model.bounds import (
    AllBound,
    CountBound,
    CoverageBound,
    MostBound,
    ThresholdBound,
)
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.reasons import (
    BrokenTasks,
    FailedRows,
    LostAgent,
    LostWhereItFails,
    LowCoverage,
    MissingDecide,
    MissingRewards,
    MustPassFailed,
    NoInterval,
    OutOfBounds,
    Quarantined,
    TaskListChanged,
    UnknownTask,
    Unpassable,
)
from pytest_evalmetrics.model.scores import ScorerFailures
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline import judging
from pytest_evalmetrics.pipeline.reducing import Hooks, reduce_agents
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.spec import Threshold


def checks_of(asked, **settings):
    return evaluate(given(asked, **settings)).result.checks


def named(checks, name):
    (check,) = [check for check in checks if check.name == name]
    return check


def reason_in(check):
    (reason,) = check.reasons
    return reason


def test_a_threshold_fails_below_its_bound(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    asked = benchmark(tmp_path, "thresholds: {mean_reward: '>= 0.7'}")
    check = named(checks_of(asked), "mean_reward")
    assert check.gate is Gate.THRESHOLD
    assert check.verdict is Verdict.FAIL
    assert check.value == 0.5
    assert check.bound == ThresholdBound(least=0.7, most=None)
    assert check.line == 4
    assert isinstance(reason_in(check), OutOfBounds)


def test_an_end_of_an_interval_that_there_is_none_of_is_inconclusive():
    estimate = Estimate("mine", 1.0, tasks=2, rollouts=2, reason="a hook gives none")
    threshold = Threshold(min=0.7, bound="lower")
    check = check_threshold(estimate, threshold, None, agent="", line=4)
    assert (check.verdict, check.value) == (Verdict.INCONCLUSIVE, 1.0)
    assert check.reasons == (NoInterval(metric="mine", words="a hook gives none"),)


def test_the_checks_of_an_agent_bear_its_name_where_there_are_several(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    checks = checks_of(benchmark(tmp_path, "thresholds: {mean_reward: '>= 0.7'}"))
    thresholds = [check for check in checks if check.gate is Gate.THRESHOLD]
    assert [check.agent for check in thresholds] == ["a", "b"]


def test_tasks_and_rollouts_are_counted_first(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 1], [1, 1]])
    asked = benchmark(tmp_path, "num_samples: 2\nexpect: {tasks: 3}")
    checks = checks_of(asked)
    assert [check.name for check in checks[:3]] == ["tasks", "rollouts", "missing"]
    assert checks[0].bound == CountBound(3, 3)
    assert checks[0].verdict is Verdict.FAIL
    assert checks[1].verdict is Verdict.PASS


def test_must_pass_names_the_tasks_that_fail(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    check = named(checks_of(benchmark(tmp_path, "must_pass: [t0, t1]")), "must_pass")
    assert check.verdict is Verdict.FAIL
    assert check.value == 1
    assert check.bound == AllBound(2)
    reason = reason_in(check)
    assert isinstance(reason, MustPassFailed)
    assert [(task.task, task.passed) for task in reason.tasks] == [("t0", 1)]


def test_an_entry_that_names_no_task_is_inconclusive(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    check = named(checks_of(benchmark(tmp_path, "must_pass: [nope]")), "must_pass nope")
    assert check.verdict is Verdict.INCONCLUSIVE
    assert isinstance(reason_in(check), UnknownTask)
    assert check.line == 4


def quarantine(until):
    return f"quarantine:\n- {{task: t0, reason: flaky, until: {until}}}"


def test_a_quarantine_in_force_passes_and_tells_its_outcome(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[0, 1], [1, 1]])
    checks = checks_of(benchmark(tmp_path, quarantine("2999-01-01")))
    check = named(checks, "quarantine t0")
    assert check.verdict is Verdict.PASS
    assert reason_in(check).outcome.passed == 1
    assert reason_in(check).is_over is False


def test_a_quarantine_that_is_over_fails_at_its_own_line(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[0, 1], [1, 1]])
    check = named(
        checks_of(benchmark(tmp_path, quarantine("2000-01-01"))), "quarantine t0"
    )
    assert check.verdict is Verdict.FAIL
    assert isinstance(reason_in(check), Quarantined)
    assert check.line == 5


def test_lost_tasks_fail_although_the_rest_is_as_good(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 10)
    write_rows(tmp_path, "new.jsonl", [[1]] * 9)
    check = named(checks_of(benchmark(tmp_path, against())), "tasks")
    assert check.verdict is Verdict.FAIL
    assert check.value == 9
    assert check.bound == CoverageBound(least=1, of=10)
    assert reason_in(check).lost == ("t9",)


def test_lost_tasks_within_min_coverage_pass_and_are_told(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 10)
    write_rows(tmp_path, "new.jsonl", [[1]] * 9)
    asked = benchmark(tmp_path, against(rest=", min_coverage: 90%"))
    check = named(checks_of(asked), "tasks")
    assert check.verdict is Verdict.PASS
    assert reason_in(check).is_covered


def test_new_tasks_pass_and_are_told_with_their_reward(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    check = named(checks_of(benchmark(tmp_path, against())), "tasks")
    assert check.verdict is Verdict.PASS
    assert [(task.task, task.reward) for task in reason_in(check).new] == [("t1", 0)]


def test_more_broken_tasks_than_allowed_fail(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]] * 4)
    write_rows(tmp_path, "new.jsonl", [[0, 0]] * 2 + [[1, 1]] * 2)
    asked = benchmark(tmp_path, against(rest=", max_broken: 1"))
    check = named(checks_of(asked), "max_broken")
    assert check.verdict is Verdict.FAIL
    assert check.bound == MostBound(1)
    assert reason_in(check) == BrokenTasks(tasks=("t0", "t1"), count=2)


def test_as_many_broken_tasks_as_allowed_pass(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]] * 4)
    write_rows(tmp_path, "new.jsonl", [[0, 0]] * 2 + [[1, 1]] * 2)
    asked = benchmark(tmp_path, against(rest=", max_broken: 2"))
    assert named(checks_of(asked), "max_broken").verdict is Verdict.PASS


def test_an_agent_that_only_the_reference_has_is_inconclusive(tmp_path):
    for agent in ("a", "b"):
        write_rows(tmp_path, "old.jsonl", [[1]], agent=agent)
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    check = named(checks_of(benchmark(tmp_path, against())), "agent")
    assert check.verdict is Verdict.INCONCLUSIVE
    assert reason_in(check) == LostAgent("b")


def test_a_collapse_of_forty_tasks_fails_and_tells_the_drop(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 40)
    write_rows(tmp_path, "new.jsonl", [[0]] * 40)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    check = named(checks_of(asked), "mean_reward")
    assert check.verdict is Verdict.FAIL
    assert check.comparison.drop == 1
    assert check.comparison.worse == 40
    assert check.reasons == ()


def test_the_benchmarks_of_a_run_share_the_level(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 40)
    write_rows(tmp_path, "new.jsonl", [[0]] * 8 + [[1]] * 32)  # p = 2^-8
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    assert named(checks_of(asked), "mean_reward").verdict is Verdict.FAIL
    shared = named(checks_of(asked, benchmarks=100), "mean_reward")
    assert shared.verdict is Verdict.WARN
    assert shared.bound.settings.benchmarks == 100


def test_a_run_that_records_asserts_nothing_of_the_old_baseline(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 40)
    write_rows(tmp_path, "new.jsonl", [[0]] * 40)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    check = named(checks_of(asked, updates=True), "mean_reward")
    assert check.verdict is Verdict.PASS
    assert check.accepted
    assert check.comparison.drop == 1


def test_a_baseline_that_its_own_rows_would_not_pass_is_a_warning(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] + [[None]] * 3)
    keys = "metrics: [mean_reward]\nbaseline: true\n"
    keys += "expect: {missing_reward: exclude, max_missing: 100%}"
    check = named(checks_of(benchmark(tmp_path, keys), updates=True), "mean_reward")
    assert check.verdict is Verdict.WARN
    assert check.reasons[0] == Unpassable(tasks=("t1", "t2", "t3"), task_count=3)


def test_rows_that_a_scorer_failed_for_are_the_cause_of_missing_rewards(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [None]])
    asked = benchmark(tmp_path)
    rows, loaded = load(asked)
    reduced = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    failures = ScorerFailures("judge", ("reward",), 1, {"http-500": 1}, (), rows=2)
    checks = judging.judge_agent(
        asked, reduced.agents[0], single=None, failures=[failures], look=None
    )
    check = named(list(checks), "missing")
    assert check.reasons[0] == FailedRows(failures)
    assert isinstance(check.reasons[1], MissingRewards)


def test_a_task_list_is_told_in_a_run_that_records_too(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 3)
    write_rows(tmp_path, "new.jsonl", [[1]] * 2)
    check = named(checks_of(benchmark(tmp_path, against()), updates=True), "tasks")
    assert check.verdict is Verdict.PASS
    assert isinstance(reason_in(check), TaskListChanged)


# -- what is lost ----------------------------------------------------------------------------


def half_of_tasks_vary(rng, tasks=120, rollouts=4):
    chance = rng.beta(0.4, 0.4, (tasks, 1))
    return chance, (rng.random((tasks, rollouts)) < chance).astype(float)


def kept(rewards, lost, *, as_missing):
    """Rows of rewards, without the lost ones or with None in their place."""
    rows = []
    for task, gone in zip(rewards.tolist(), lost.tolist(), strict=True):
        pairs = list(zip(task, gone, strict=True))
        if as_missing:
            rows.append([None if is_lost else reward for reward, is_lost in pairs])
        else:
            rows.append([reward for reward, is_lost in pairs if not is_lost])
    return rows


def test_rewards_missing_at_random_never_fail_where_the_file_excludes_them(tmp_path):
    rng = np.random.default_rng(5)
    chance, before = half_of_tasks_vary(rng)
    now = (rng.random(before.shape) < chance).astype(float)
    lost = rng.random(now.shape) < 0.15
    write_rows(tmp_path, "old.jsonl", before.tolist())
    write_rows(tmp_path, "new.jsonl", kept(now, lost, as_missing=True))
    allowed = "expect: {missing_reward: exclude, max_missing: 20%}"
    keys = f"{allowed}\nmetrics: [mean_reward]\n{against()}"
    check = named(checks_of(benchmark(tmp_path, keys)), "mean_reward")
    assert check.verdict in (Verdict.PASS, Verdict.WARN)
    assert check.comparison.worst_case.verdict == "FAIL"


def test_failing_rollouts_that_vanish_fail_where_any_number_is_allowed(tmp_path):
    rng = np.random.default_rng(6)
    chance, before = half_of_tasks_vary(rng)
    now = (rng.random(before.shape) < 0.8 * chance).astype(float)
    lost = (now == 0) & (rng.random(now.shape) < 0.5)
    lost[:, 0] = False
    write_rows(tmp_path, "old.jsonl", before.tolist())
    write_rows(tmp_path, "new.jsonl", kept(now, lost, as_missing=False))
    keys = f"expect: {{rollouts: any}}\nmetrics: [mean_reward]\n{against()}"
    check = named(checks_of(benchmark(tmp_path, keys)), "mean_reward")
    assert check.verdict is Verdict.FAIL
    assert isinstance(reason_in(check), LostWhereItFails)


def test_broken_tasks_that_are_lost_fail_whatever_the_coverage(tmp_path):
    before = [[1, 1, 1, 1]] * 60 + [[0, 0, 0, 0]] * 60
    write_rows(tmp_path, "old.jsonl", before)
    write_rows(tmp_path, "new.jsonl", [[]] * 20 + before[20:])
    asked = benchmark(
        tmp_path, f"metrics: [mean_reward]\n{against(rest=', min_coverage: 80%')}"
    )
    check = named(checks_of(asked), "mean_reward")
    assert check.verdict is Verdict.FAIL
    assert isinstance(reason_in(check), LostWhereItFails)


def test_tasks_lost_at_random_warn_whatever_the_coverage(tmp_path):
    before = [[1, 1, 1, 1], [0, 0, 0, 0]] * 60
    write_rows(tmp_path, "old.jsonl", before)
    write_rows(tmp_path, "new.jsonl", [[]] * 20 + before[20:])
    asked = benchmark(
        tmp_path, f"metrics: [mean_reward]\n{against(rest=', min_coverage: 80%')}"
    )
    check = named(checks_of(asked), "mean_reward")
    assert check.verdict is Verdict.WARN
    assert isinstance(reason_in(check), MissingDecide)


def any_number(tmp_path, before, now, lost, *, allowed="any"):
    write_rows(tmp_path, "old.jsonl", before.tolist())
    write_rows(tmp_path, "new.jsonl", kept(now, lost, as_missing=False))
    keys = f"expect: {{rollouts: {allowed}}}\nmetrics: [mean_reward]\n{against()}"
    return checks_of(benchmark(tmp_path, keys))


def test_a_task_that_lost_all_its_rollouts_by_chance_is_told_and_fails_nothing(
    tmp_path,
):
    rng = np.random.default_rng(8)
    chance, before = half_of_tasks_vary(rng)
    now = (rng.random(before.shape) < chance).astype(float)
    lost = rng.random(now.shape) < 0.2
    lost[7] = True
    checks = any_number(tmp_path, before, now, lost)
    assert not any(check.verdict.fails for check in checks)
    assert "t7" in reason_in(named(checks, "tasks")).lost


def test_more_tasks_without_a_rollout_than_chance_explains_fail(tmp_path):
    rng = np.random.default_rng(8)
    chance, before = half_of_tasks_vary(rng)
    now = (rng.random(before.shape) < chance).astype(float)
    lost = rng.random(now.shape) < 0.02
    lost[[3, 7]] = True
    checks = any_number(tmp_path, before, now, lost)
    assert named(checks, "tasks").verdict is Verdict.FAIL
    assert named(checks, "mean_reward").verdict is Verdict.INCONCLUSIVE


def test_most_tasks_are_not_gone_by_chance_however_many_rollouts_are_lost(tmp_path):
    """Of ten tasks that passed half, all rollouts that fail are lost: six are gone."""
    before = np.array([[1, 0, 1, 0]] * 10)
    lost = np.ones(before.shape, dtype=bool)
    lost[:4, 0] = False
    checks = any_number(tmp_path, before, np.ones(before.shape), lost)
    check = named(checks, "mean_reward")
    assert check.verdict is Verdict.INCONCLUSIVE
    assert isinstance(reason_in(check), LowCoverage)


def test_a_task_whose_only_rollout_is_lost_fails_where_any_number_is_allowed(tmp_path):
    before = np.ones((120, 1))
    lost = np.zeros((120, 1), dtype=bool)
    lost[:6] = True
    checks = any_number(tmp_path, before, before, lost)
    assert named(checks, "tasks").verdict is Verdict.FAIL


def test_failing_rollouts_that_vanish_fail_where_a_least_number_is_asked_for(tmp_path):
    rng = np.random.default_rng(6)
    chance, before = half_of_tasks_vary(rng)
    now = (rng.random(before.shape) < 0.8 * chance).astype(float)
    lost = (now == 0) & (rng.random(now.shape) < 0.5)
    lost[:, 0] = False
    checks = any_number(tmp_path, before, now, lost, allowed="'>= 1'")
    check = named(checks, "mean_reward")
    assert check.verdict is Verdict.FAIL
    assert isinstance(reason_in(check), LostWhereItFails)


def test_a_loss_where_it_fails_that_few_tasks_can_not_prove_warns(tmp_path):
    before = np.array([[1, 1, 1, 1]] * 10 + [[1, 0, 0, 1]] * 10 + [[0, 0, 0, 0]] * 10)
    lost = np.zeros(before.shape, dtype=bool)
    lost[:5, 0] = True
    check = named(any_number(tmp_path, before, before, lost), "mean_reward")
    assert check.verdict is Verdict.WARN
    assert isinstance(reason_in(check), LostWhereItFails)


# -- what the checks of an agent bear


def test_broken_tasks_are_checked_at_the_line_that_limits_them(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]] * 4)
    write_rows(tmp_path, "new.jsonl", [[0, 0]] * 4)
    keys = (
        f"baseline:\n  rollouts: {{path: old.jsonl, fields: {FIELDS}}}\n  max_broken: 1"
    )
    assert named(checks_of(benchmark(tmp_path, keys)), "max_broken").line == 6


def test_an_agent_alone_is_compared_with_the_only_one_before_whatever_its_name(
    tmp_path,
):
    write_rows(tmp_path, "old.jsonl", [[1]], agent="then")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="now")
    names = [check.name for check in checks_of(benchmark(tmp_path, against()))]
    assert "agent" not in names


def test_two_agents_are_not_the_one_before(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]], agent="then")
    for agent in ("a", "b"):
        write_rows(tmp_path, "new.jsonl", [[1]], agent=agent)
    lost = [
        check.agent
        for check in checks_of(benchmark(tmp_path, against()))
        if check.name == "agent" and isinstance(check.reasons[0], LostAgent)
    ]
    assert lost == ["then"]


@pytest.mark.parametrize(
    "keys",
    [
        "thresholds: {mean_reward: '>= 0.5'}\nbaseline: true",
        "must_pass: [t0]\nbaseline: true",
        "baseline: {max_broken: 0}",
    ],
)
def test_what_another_gate_can_fail_is_no_baseline_that_nothing_can_fail(
    tmp_path, keys
):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    rows, loaded = load(benchmark(tmp_path, keys))
    reduced = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    assert judging.unfailable(loaded.benchmark, loaded.plan, reduced.gated) is None


def notes_of(folder, rows, keys, **columns):
    write_rows(folder, "new.jsonl", rows, **columns)
    result = evaluate(given(benchmark(folder, keys))).result
    return note_texts(result.notes)


def test_rollouts_that_belong_to_no_gated_group_are_noted(tmp_path):
    keys = 'breakdown: [lang]\nthresholds: {"pass_rate[lang=de]": ">= 0.5"}'
    notes = notes_of(tmp_path, [[1], [1], [0]], keys, lang=["de", "de", None])
    assert (
        "1 of 3 rollouts has no lang, so that no gated metric of its values counts them"
        in notes
    )


def test_rewards_that_never_reach_what_passes_are_noted_with_their_metrics(tmp_path):
    keys = "metrics: [pass_rate, pass@1]\npass_threshold: 1"
    notes = notes_of(tmp_path, [[0.5], [0.2]], keys)
    assert [
        note for note in notes if "so that pass_rate, pass@1 can't be above 0" in note
    ]


@pytest.mark.parametrize(("least", "noted"), [("0", 1), ("0.5", 0)])
def test_a_threshold_at_the_end_of_its_range_alone_is_noted(tmp_path, least, noted):
    keys = f'metrics: [pass_rate]\nthresholds: {{pass_rate: ">= {least}"}}'
    notes = notes_of(tmp_path, [[1], [0]], keys)
    assert sum("can't fail: pass_rate is" in note for note in notes) == noted
