"""A whole run in words: its counts, what was lost, and what limits its verdicts."""

import pytest
from msgspec import structs
from reports.records import (
    RULE,
    above,
    agent,
    below,
    benchmark,
    broken,
    compared,
    run,
    unchanged,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.bounds import (
    MoveBound,
    OrderBound,
    RuleBound,
    SingleTasksBound,
    SlicesBound,
)
from pytest_evalmetrics.model.comparison import NoiseSource, RuleName
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.results import (
    RecordedBaseline,
    SkippedItem,
    StaleBaseline,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import run_wording


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, **fields)


def names(results):
    return [result.name for result in results]


# -- counts ----------------------------------------------------------------------------------

ADVISORY = compared(tier=Tier.ADVISORY, verdict=Verdict.WARN)


def test_benchmarks_are_counted_by_their_words_the_worst_last():
    results = [
        benchmark(below()),
        benchmark(broken()),
        benchmark(ADVISORY),
        benchmark(compared(verdict=Verdict.WARN)),
        benchmark(unchanged()),
        benchmark(above()),
    ]
    assert run_wording.verdict_counts(run(*results)) == (
        "2 PASS, 1 WARN, 1 ADVISORY, 1 INCONCLUSIVE, 1 FAIL"
    )


def test_what_gates_nothing_is_counted_among_the_passing():
    tasks = above("tasks", gate=Gate.EXPECT)
    data = broken(verdict=Verdict.PASS)
    saved = RecordedBaseline("b.json", written=True, metrics={})
    results = [
        benchmark(tasks),
        benchmark(data),
        benchmark(),
        benchmark(tasks, data),
        benchmark(tasks, above()),
        # a new baseline will gate it
        benchmark(tasks, recorded=saved),
        benchmark(below(gate=Gate.EXPECT)),
    ]
    assert run_wording.verdict_counts(run(*results)) == (
        "6 PASS (4 with nothing gated), 1 FAIL"
    )


def test_failures_that_are_known_are_counted_among_the_failing():
    results = [
        benchmark(below(), xfail=True),
        benchmark(below()),
        # it passes, which is no known failure
        benchmark(above(), xfail=True),
    ]
    counts = run_wording.verdict_counts(run(*results))
    assert counts == "1 PASS, 2 FAIL (1 known, by xfail)"


def test_what_has_no_result_is_counted_at_the_end():
    report = run(
        benchmark(above()),
        not_evaluated=("a", "b"),
        skipped=(SkippedItem("c", "later"),),
        deselected=("d", "e", "f"),
    )
    assert run_wording.verdict_counts(report) == (
        "1 PASS, 2 not evaluated, 1 skipped, 3 deselected"
    )


# -- false alarms ----------------------------------------------------------------------------


def alarms(*results):
    return run_wording.false_alarms(results)


def test_the_chance_of_a_false_alarm_is_the_sum_of_the_levels():
    # 0.01 + 0.01
    assert alarms(benchmark(compared()), benchmark(unchanged())) == (
        "false alarms where nothing changed: at most 1 in 50 runs (2 benchmarks are tested)"
    )


def test_metrics_of_a_benchmark_share_its_level_and_so_do_benchmarks():
    lower = structs.replace(RULE, alpha=0.02, benchmarks=4)
    result = benchmark(compared(), compared("pass@2", bound=RuleBound(lower)))
    # the larger of 0.01 and 0.02 / 4
    assert alarms(result) == (
        "false alarms where nothing changed: at most 1 in 100 runs (1 benchmark is tested)"
    )


def test_single_tasks_slices_and_behaviour_have_levels_beside_that_of_the_metrics():
    beside = [
        SingleTasksBound(0.01),
        SlicesBound(0.01),
        # the limits of each of two agents share one level
        MoveBound(rise=0.1, fall=None, alpha=0.005),
        MoveBound(rise=None, fall=0.1, alpha=0.005),
        OrderBound(0.005),
    ]
    checks = [compared(bound=bound, comparison=None) for bound in beside]
    agents = (agent("alpha"), agent("beta"))
    # 0.01 + 0.01 + 0.01 + 2 * 0.005
    assert alarms(benchmark(compared(), *checks, agents=agents)) == (
        "false alarms where nothing changed: at most 1 in 25 runs (1 benchmark is tested)"
    )
    alone = benchmark(compared(), checks[2], agents=())
    # 0.01 + 0.005
    assert "1 in 67 runs" in alarms(alone)


def unseen(needed, *, sees_some=False):
    reason = kinds.SingleTasksUnseen(
        tasks=40, sees_some=sees_some, rollouts=2, needed=needed
    )
    bound = SingleTasksBound(0.01)
    return compared("single tasks", Verdict.PASS, bound=bound, reasons=(reason,))


def test_single_tasks_that_can_t_fail_raise_no_false_alarm():
    assert "1 in 100 runs" in alarms(benchmark(compared(), unseen(8)))
    assert "1 in 50 runs" in alarms(benchmark(compared(), unseen(8, sees_some=True)))


def test_many_benchmarks_may_expect_a_false_alarm_in_each_run():
    results = [benchmark(compared())] * 150
    assert alarms(*results) == (
        "false alarms where nothing changed: at most 1.5 a run (150 benchmarks are tested)"
    )
    assert "at most 1 a run" in alarms(
        *[benchmark(compared(bound=RuleBound(structs.replace(RULE, alpha=0.5))))] * 2
    )


@pytest.mark.parametrize(
    "check",
    [
        above(),
        compared(comparison=None),
        compared(changes={"p": None}),
        compared(bound=RuleBound(structs.replace(RULE, rule=RuleName.ABSOLUTE))),
        # without a tested metric
        compared(bound=SlicesBound(0.01), comparison=None),
    ],
)
def test_what_is_not_tested_raises_no_false_alarm(check):
    assert alarms(benchmark(check)) == ""


# -- what limits the verdicts ----------------------------------------------------------------

NOISE = "(one run in the baseline, no neighbours, no history): record more runs, or declare `run_noise:`"
UNKNOWN = benchmark(below(), compared(changes={"run_noise": NoiseSource.UNKNOWN}))
KNOWN = benchmark(compared(changes={"run_noise": NoiseSource.HISTORY}))


def test_noise_that_is_unknown_is_said_once():
    text = "the noise between runs is unknown"
    assert run_wording.unknown_noise([UNKNOWN]) == f"{text} {NOISE}"
    of_one = f"{text} for 1 benchmark {NOISE}"
    assert run_wording.unknown_noise([UNKNOWN, KNOWN]) == of_one
    of_two = f"{text} for 2 benchmarks {NOISE}"
    assert run_wording.unknown_noise([UNKNOWN, KNOWN, UNKNOWN]) == of_two
    assert run_wording.unknown_noise([KNOWN, benchmark(below())]) == ""


def test_the_rollouts_that_would_show_a_single_task_are_said_once():
    text = "the break of a single task is never seen"
    needed = "rollouts of each are needed on both sides"
    few = benchmark(unseen(8), unseen(6))
    many = benchmark(unseen(12))
    assert run_wording.unseen_tasks([few]) == f"{text}: 8 {needed}"
    seeing = benchmark(unseen(20, sees_some=True))
    assert run_wording.unseen_tasks([many, few, seeing]) == (
        f"{text} in 2 benchmarks: 12 {needed}"
    )
    assert run_wording.unseen_tasks([seeing, benchmark()]) == ""


FEW = FewUnits(unit="task", units=3, needed=7, alpha=0.01)
FEW_TEXT = (
    "3 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts "
    "of each, `rule: absolute` or `must_pass`"
)


def test_blind_gates_are_named_together_by_their_reason():
    blind = unchanged(comparison=structs.replace(unchanged().comparison, blind=FEW))
    other = structs.replace(blind, name="pass@2")
    fewer = structs.replace(FEW, units=2)
    facts = structs.replace(blind.comparison, blind=fewer)
    results = [
        named("a", blind, other),
        named("b", structs.replace(blind, comparison=facts)),
        named("c", blind),
    ]
    assert list(run_wording.blind_gates(results)) == [
        f"blind: a pass@1, a pass@2, c pass@1: {FEW_TEXT}",
        f"blind: b pass@1: {FEW_TEXT.replace('3 tasks', '2 tasks')}",
    ]
    many = [named(letter, blind) for letter in "abcdefg"]
    (line,) = run_wording.blind_gates(many)
    named_gates = "a pass@1, b pass@1, c pass@1, d pass@1, e pass@1 and 2 more"
    assert line == f"blind: {named_gates}: {FEW_TEXT}"


@pytest.mark.parametrize(
    "check",
    [
        compared(changes={"blind": FEW}),  # which fails
        unchanged(),
        compared(verdict=Verdict.PASS, bound=None, changes={"blind": FEW}),
    ],
)
def test_a_gate_that_can_fail_or_that_tests_nothing_is_not_blind(check):
    assert list(run_wording.blind_gates([benchmark(check)])) == []


# -- order -----------------------------------------------------------------------------------


def surer(p, **fields):
    return compared(changes={"p_adjusted": p}, **fields)


def test_benchmarks_are_ordered_by_what_a_reader_has_to_know_first():
    unproven = compared(verdict=Verdict.PASS, changes={"p_adjusted": 0.2})
    results = [
        named("known", surer(0.00001), xfail=True),
        named("passing", unchanged()),
        named("unproven", unproven),
        named("warning", compared(verdict=Verdict.WARN)),
        named("inconclusive", broken()),
        named("failing", surer(0.004)),
        named("surer", surer(0.001)),
        named("larger", surer(0.004, value=0.1)),
    ]
    larger = results[-1].checks[0]
    drop = structs.replace(larger.comparison, drop=0.5)
    results[-1] = named("larger", structs.replace(larger, comparison=drop))
    assert names(run_wording.by_evidence(results)) == [
        "surer",
        "larger",
        "failing",
        "inconclusive",
        "warning",
        "unproven",
        "passing",
        "known",
    ]


def test_what_fails_comes_before_what_could_not_be_judged():
    results = [named("inconclusive", broken()), named("failing", below())]
    assert names(run_wording.by_evidence(results)) == ["failing", "inconclusive"]


def test_warnings_are_ordered_by_their_evidence():
    results = [
        named("warning", surer(0.04, verdict=Verdict.WARN)),
        named("surer", surer(0.02, verdict=Verdict.WARN)),
        named("passing", unchanged()),
    ]
    assert names(run_wording.by_evidence(results)) == ["surer", "warning", "passing"]


# -- drift and age ---------------------------------------------------------------------------


def past(time, values=(0.5,), drift=(), agents=("agent",), metric="pass@1", **fields):
    """Make a run of the history."""
    points = {
        name: {metric: HistoryPoint(value, tasks=40, rollouts=80)}
        for name, value in zip(agents, values, strict=True)
    }
    return HistoryRun(
        schema_version=1,
        benchmark="a.yaml::math",
        time=time,
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents=points,
        drift=drift,
        **fields,
    )


HISTORY = {
    "a.yaml::math": (past("1", drift=("old",)), past("2", drift=("pass@1 fell",))),
    "a.yaml::sums": (past("1", drift=("old",)), past("2")),
}


def test_what_drifts_is_that_of_the_last_run():
    report = run(benchmark(), history=HISTORY)
    assert run_wording.drifts_of(report) == ["pass@1 fell"]
    assert run_wording.drifts_by_benchmark(report) == {"a.yaml::math": ("pass@1 fell",)}


def test_a_history_without_runs_has_no_drift():
    report = run(benchmark(), history={"a.yaml::math": ()})
    assert run_wording.drifts_of(report) == []
    assert run_wording.drifts_by_benchmark(report) == {}


def stale(days):
    return StaleBaseline(
        file="b.json", recorded="2026-01-02T03:04:05Z", days=days, limit=90
    )


def test_baselines_that_are_too_old_are_named_the_oldest_first():
    results = [
        named("young", stale=stale(100)),
        named("new"),
        named("old", stale=stale(400)),
    ]
    assert run_wording.stale_baselines(results) == [
        "old: the baseline is 400 days old (recorded 2026-01-02)",
        "young: the baseline is 100 days old (recorded 2026-01-02)",
    ]


# -- what has no complete result -------------------------------------------------------------


def test_a_test_that_ended_after_a_check_was_not_evaluated_to_its_end():
    result = benchmark(below(), id="t.py::test_x::named")
    other = benchmark(below(), id="t.py::test_y")
    lost = ("t.py::test_x", "t.py::test_y", "t.py::test_z")
    report = run(result, other, not_evaluated=lost)
    assert run_wording.lost_ones(report) == [
        ("t.py::test_x", "was not evaluated to its end"),
        ("t.py::test_y", "was not evaluated to its end"),
        ("t.py::test_z", "was not evaluated"),
    ]


# -- metrics over several runs ---------------------------------------------------------------


def test_a_benchmark_s_gates_are_named_without_its_completeness():
    result = benchmark(above(), compared("pass@2"), above("tasks", gate=Gate.EXPECT))
    assert run_wording.gated_names(result) == {"pass@1", "pass@2"}


KEYS = {"mean/tokens": 10.0, "mean_reward": 0.5, "pass@1": 0.7, "mean/cost": 1.0}


@pytest.mark.parametrize(
    ("gated", "metrics"),
    [
        (set(), ["mean_reward", "pass@1"]),
        ({"pass@1"}, ["pass@1", "mean_reward"]),
        ({"mean/cost"}, ["mean/cost", "mean_reward", "pass@1"]),
    ],
)
def test_headline_metrics_are_the_gated_ones_and_no_other_means(gated, metrics):
    headline = run_wording.headline_metrics(gated, KEYS)
    assert list(headline.items()) == [(name, KEYS[name]) for name in metrics]


def test_means_are_the_headline_where_there_is_nothing_else():
    means = {"mean/tokens": 10.0, "mean/cost": 1.0}
    assert run_wording.headline_metrics(set(), means) == means


def test_a_trend_has_the_values_of_the_runs_that_know_the_metric():
    runs = (
        past("1", values=(0.5,)),
        past("2", values=(0.1,), metric="pass@2"),
        past("3", values=(0.2,), agents=("other",)),
        past("4", values=(0.7,)),
    )
    result = benchmark(above(), agents=(agent(metrics={"pass@1": 0.7, "pass@2": 0.1}),))
    report = run(result, benchmark(name="sums"), history={"a.yaml::math": runs})
    assert list(run_wording.trends_of(report)) == [
        (result, run_wording.Trend("agent", "pass@1", (0.5, 0.7)))
    ]


def test_trends_are_those_of_headline_metrics_in_the_agent_s_order():
    metrics = {"mean/tokens": 10.0, "pass@2": 0.5, "pass@1": 0.7}
    point = HistoryPoint(1.0, tasks=40, rollouts=80)
    points = {"a": dict.fromkeys(metrics, point)}
    trends = run_wording.trends({"pass@1"}, {"a": metrics}, [points, points])
    assert [trend.metric for trend in trends] == ["pass@2", "pass@1"]
