"""What the page knows of a benchmark: its metrics, its row, its course, and its own page."""

import msgspec
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
    estimate,
    task,
    unchanged,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound, ThresholdBound
from pytest_evalmetrics.model.changes import ThresholdChanged
from pytest_evalmetrics.model.comparison import NoiseSource, RuleName
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.results import (
    Attempt,
    Flip,
    RecordedBaseline,
    SourceSummary,
    StaleBaseline,
)
from pytest_evalmetrics.model.scores import (
    Agreement,
    JudgeCheck,
    JudgeUse,
    RowFailure,
    ScorerFailures,
    ScoreSummary,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.reports.flipped_tasks import WorseTask
from pytest_evalmetrics.reports.html.benchmark_view import (
    AgentCounts,
    AgreementView,
    CheckView,
    FailedRow,
    FailureKind,
    FailureView,
    HistoryLine,
    HistoryView,
    Lead,
    Limit,
    MetricRow,
    PairedChange,
    ShownRun,
    about,
    history_of,
    in_order,
    metrics_of,
    overview,
    shown_run,
)

FELL = (
    "pass@1 fell from 0.9 to 0.7: a loss of 0.2 [0.1, 0.3], p = 0.004 "
    "(exact sign flip, 40 tasks), 12 worse and 1 better"
)


def rows(*checks, agents=None):
    return metrics_of(benchmark(*checks, agents=agents))


def row(*checks, agents=None):
    """Return the first metric."""
    return rows(*checks, agents=agents)[0]


def seen(result, **fields):
    """Return the row of the overview."""
    return overview(result, metrics_of(result), **fields)


def described(result, **fields):
    """Return the benchmark's page."""
    return about(result, metrics_of(result), **fields)


# -- metrics ---------------------------------------------------------------------------------


def test_a_metric_has_its_value_and_its_interval():
    own = agent(metrics={"pass@1": 0.5})
    whole = structs.replace(own, estimates={"pass@1": estimate()})
    assert row(agents=(whole,)) == MetricRow(
        agent="agent",
        name="pass@1",
        key=True,
        value=0.5,
        low=0.4,
        high=0.6,
        level=0.95,
        method="t",
        tasks=40,
    )


def test_a_metric_without_an_interval_says_why():
    unsure = estimate(interval=None, reason="one task")
    own = structs.replace(agent(), estimates={"pass@1": unsure}, key_metrics={})
    assert row(agents=(own,)) == MetricRow(
        agent="agent", name="pass@1", key=False, value=0.5, unsure="one task", tasks=40
    )


def test_a_key_metric_without_an_estimate_has_its_value():
    own = structs.replace(agent(metrics={"mean/cost": 0.25}), estimates={})
    assert row(agents=(own,)) == MetricRow(
        agent="agent", name="mean/cost", key=True, value=0.25, score="cost"
    )


@pytest.mark.parametrize(
    ("name", "score"), [("mean/latency_s", "latency_s"), ("pass@1", ""), ("my own", "")]
)
def test_a_metric_has_the_unit_of_its_score(name, score):
    assert row(agents=(agent(metrics={name: 1.0}),)).score == score


def test_gated_metrics_come_first_then_key_metrics():
    own = agent(metrics={"a": 1.0, "b": 1.0})
    own = structs.replace(
        own, estimates={**own.estimates, "c": estimate("c"), "d": estimate("d")}
    )
    found = rows(above("b"), above("d"), agents=(own,))
    assert [one.name for one in found] == ["b", "d", "a", "c"]


def test_each_agent_has_its_metrics_with_its_own_gates():
    agents = (agent("alpha"), agent("beta"))
    alpha, beta = sorted(
        rows(above(agent="alpha"), below(agent="beta"), agents=agents),
        key=lambda one: one.agent,
    )
    assert (alpha.agent, alpha.verdict) == ("alpha", "PASS")
    assert (beta.agent, beta.verdict) == ("beta", "FAIL")


def test_a_metric_has_the_worst_of_its_gates_and_all_their_bounds():
    found = row(above(), compared(tier=Tier.ADVISORY, verdict=Verdict.WARN), below())
    assert found.verdict == "FAIL"
    assert found.bounds == (
        ">= 0.4",
        "no drop >= 0.02 at p < 0.01 (practical), higher is better",
        ">= 0.7",
    )
    assert found.limits == (Limit(">=", 0.4), Limit(">=", 0.7))


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (Verdict.FAIL, Verdict.INCONCLUSIVE, "FAIL"),
        (Verdict.WARN, Verdict.INCONCLUSIVE, "INCONCLUSIVE"),
        (Verdict.PASS, Verdict.WARN, "WARN"),
    ],
)
def test_verdicts_are_ordered_by_their_severity(first, second, verdict):
    assert row(below(verdict=first), below(verdict=second)).verdict == verdict


def test_an_advisory_failure_is_worse_than_a_warning_and_better_than_any_other():
    advisory = below(tier=Tier.ADVISORY, verdict=Verdict.WARN)
    warning = below(verdict=Verdict.WARN)
    assert row(advisory, warning).verdict == "ADVISORY"
    assert row(warning, advisory).verdict == "ADVISORY"
    assert row(advisory, below(verdict=Verdict.INCONCLUSIVE)).verdict == "INCONCLUSIVE"


def test_checks_of_completeness_gate_no_metric():
    tasks = below("pass@1", gate=Gate.EXPECT)
    assert row(tasks).verdict == ""


@pytest.mark.parametrize(
    ("check", "limits"),
    [
        (above(bound=ThresholdBound(0.2, 0.8)), [(">=", 0.2), ("<=", 0.8)]),
        (above(bound=ThresholdBound(None, 0.8)), [("<=", 0.8)]),
        (above(bound=None), []),
        (compared(), []),
        # 0.9 - 0.25
        (compared(changes={"allowed_drop": 0.25}), [(">=", 0.65)]),
        (compared(changes={"allowed_drop": 0.25, "baseline": None}), []),
    ],
)
def test_the_lines_that_a_metric_must_not_cross(check, limits):
    assert row(check).limits == tuple(Limit(side, at) for side, at in limits)


LOWER = RuleBound(structs.replace(RULE, direction=Direction.LOWER))


def test_a_metric_of_which_less_is_better_must_not_rise():
    found = row(compared(bound=LOWER, changes={"allowed_drop": 0.25}))
    assert found.limits == (Limit("<=", 1.15),)
    assert found.less
    assert found.change == (0.2, 0.1, 0.3)


def test_a_compared_metric_has_its_change_and_what_is_tested():
    found = row(compared(changes={"detectable_drop": 0.06, "level": 0.9}))
    assert found.baseline == 0.9
    assert found.change == (-0.2, -0.3, -0.1)
    assert found.p == 0.004
    assert not found.less
    assert found.paired == PairedChange(
        gain=-0.2,
        low=-0.3,
        high=-0.1,
        level=0.9,
        matters=0.02,
        detectable=0.06,
        tasks=40,
        worse=12,
        better=1,
        unproven=False,
        unknown_noise=False,
    )


def test_a_gain_is_an_improvement_whatever_is_better():
    assert row(compared(bound=LOWER)).paired.gain == -0.2
    assert row(compared(bound=LOWER)).paired.matters == 0.02


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"drop": 0.0}, "gain", 0.0),
        ({"drop_high": None}, "low", None),
        ({"drop_low": None}, "high", None),
        ({"run_noise": NoiseSource.UNKNOWN}, "unknown_noise", True),
        ({"run_noise": NoiseSource.HISTORY}, "unknown_noise", False),
    ],
)
def test_what_is_unknown_of_a_change_is_none(changes, field, value):
    found = getattr(row(compared(changes=changes)).paired, field)
    assert found == value
    assert str(found) == str(value)  # 0.0, not -0.0


def test_any_drop_may_matter_and_a_drop_may_be_unproven():
    rule = RuleBound(structs.replace(RULE, rule=RuleName.STATISTICAL, max_drop=0.0))
    passing = compared(verdict=Verdict.PASS, bound=rule, changes={"p_adjusted": 0.2})
    assert row(passing).paired.matters is None
    assert row(passing).paired.unproven


def test_a_comparison_without_a_drop_has_no_change():
    found = row(compared(changes={"drop": None}))
    assert found.change is None
    assert found.paired is None
    assert found.baseline == 0.9
    assert row(compared(comparison=None)).paired is None


def test_a_metric_that_is_not_compared_has_no_baseline():
    found = row(below())
    assert (found.baseline, found.change, found.p, found.paired) == (None,) * 4


# -- the row of the overview -----------------------------------------------------------------


def test_a_row_has_the_verdict_the_sizes_and_the_reason():
    agents = (agent(missing=2),)
    found = seen(benchmark(compared(), agents=agents))
    assert (found.id, found.name, found.file) == ("a.yaml::math", "math", "a.yaml")
    assert (found.verdict, found.xfail) == ("FAIL", False)
    assert (found.tasks, found.rollouts, found.missing) == (40, 80, 2)
    assert found.agents == ()
    assert found.metric.name == "pass@1"
    assert found.shown == "change"
    assert (found.reason, found.reasons) == (FELL, 1)
    assert found.again == "pytest a.yaml::math"
    assert found.by_agent == {}
    assert (found.drift, found.stale, found.examples) == ((), "", ())


def test_what_passes_has_no_reason_and_no_command():
    found = seen(benchmark(above(), id="a b"))
    assert (found.verdict, found.reason, found.reasons, found.again) == (
        "PASS",
        "",
        0,
        "",
    )
    assert found.shown == "bound"


def test_a_benchmark_without_numbers_has_its_reason():
    found = seen(benchmark(broken(), agents=(), id="a b"))
    assert (found.tasks, found.rollouts, found.missing) == (0, 0, 0)
    assert found.metric is None
    assert found.shown == "reason"
    assert found.reason == "no such file"
    assert found.again == "pytest 'a b'"


def test_a_benchmark_of_no_file_has_no_command():
    assert seen(benchmark(below(), file="")).again == ""


def test_a_reason_has_at_most_three_hundred_letters():
    assert len(seen(benchmark(broken("x" * 400))).reason) == 300


def test_the_sizes_of_several_agents_are_the_most_tasks_and_all_rollouts():
    agents = (agent("alpha", tasks=3, missing=1), agent("beta", tasks=5, missing=1))
    found = seen(benchmark(agents=agents))
    assert (found.tasks, found.rollouts, found.missing) == (5, 160, 2)


def test_the_failing_agents_come_first_with_their_values():
    agents = (
        agent("alpha"),
        agent("beta", {"pass@1": 0.5}),
        agent("gamma", {"x": 1.0}),
    )
    checks = (
        above(agent="alpha"),
        below(agent="beta"),
        below("lost", agent="delta"),
    )
    found = seen(benchmark(*checks, agents=agents))
    assert found.agents == ("beta", "delta", "alpha", "gamma")
    assert found.by_agent == {
        "beta": ("FAIL", 0.5),
        "delta": ("FAIL", None),
        "alpha": ("PASS", 0.7),
        "gamma": ("", None),
    }


def test_an_agent_has_the_worst_of_its_verdicts():
    agents = (agent("alpha"), agent("beta"))
    checks = (below(agent="beta"), above(agent="beta"), above("x", agent="beta"))
    found = seen(benchmark(*checks, agents=agents))
    assert found.by_agent["beta"] == ("FAIL", 0.7)


def test_twenty_agents_are_in_the_matrix():
    agents = tuple(agent(f"a{number:02}") for number in range(22))
    found = seen(benchmark(agents=agents))
    assert len(found.agents) == 22
    assert list(found.by_agent) == [f"a{number:02}" for number in range(20)]


def past(time, value=0.5, drift=(), **fields):
    point = HistoryPoint(value, tasks=40, rollouts=80, low=0.25, high=0.75)
    return HistoryRun(
        **{
            "schema_version": 1,
            "benchmark": "a.yaml::math",
            "time": time,
            "commit": None,
            "branch": None,
            "url": None,
            "verdict": "PASS",
            "usable": True,
            "starts": False,
            "agents": {"agent": {"pass@1": point}},
            "drift": drift,
            **fields,
        }
    )


def test_drift_is_that_of_the_last_run():
    runs = (past("1", drift=("old",)), past("2", drift=("pass@1 fell",)))
    assert seen(benchmark(above()), runs=runs).drift == ("pass@1 fell",)


def test_a_baseline_that_is_too_old_is_said_so():
    stale = StaleBaseline(file="b.json", recorded="2026-01-02T", days=100, limit=90)
    found = seen(benchmark(above(), stale=stale))
    assert found.stale == "the baseline is 100 days old (recorded 2026-01-02)"


def test_the_different_reasons_for_the_verdict_are_counted():
    checks = (
        below(agent="a"),
        below(agent="b"),
        below("pass@2", agent="a"),
        broken("x"),
        compared(verdict=Verdict.WARN),
    )
    assert seen(benchmark(*checks)).reasons == 2


def test_the_agents_of_a_reason_are_named():
    other = below(agent="gamma", reasons=(kinds.Failed("other"),))
    checks = (below(agent="alpha"), below(agent="beta"), other)
    found = seen(benchmark(*checks, agents=()))
    assert found.reason == "alpha, beta: pass@1 is 0.5, below 0.7"


DECIDED = kinds.MissingDecide(metric="pass@1", baseline=0.9, current=0.4)


@pytest.mark.parametrize(
    ("check", "shown"),
    [
        (compared(), "change"),
        (compared(reasons=(DECIDED,)), "reason"),
        (compared(verdict=Verdict.INCONCLUSIVE), "reason"),
        (below(), "bound"),
        (above(), "bound"),
        (below(gate=Gate.TASK), "reason"),
        (above(gate=Gate.EXPECT), "change"),
    ],
)
def test_a_row_shows_what_the_benchmark_is_judged_by(check, shown):
    assert seen(benchmark(check)).shown == shown


METRICS = {"mean/cost": 1.0, "mean_reward": 0.5, "pass@1": 0.7}


def test_the_main_metric_is_that_of_the_leading_check():
    agents = (agent("alpha", METRICS), agent("beta", METRICS))
    result = benchmark(below("mean/cost", agent="beta"), agents=agents)
    main = seen(result).metric
    assert (main.agent, main.name) == ("beta", "mean/cost")


def test_the_main_metric_without_a_leading_check_is_a_key_metric_and_no_mean():
    own = agent(metrics=METRICS)
    own = structs.replace(own, estimates={"a": estimate("a"), **own.estimates})
    assert seen(benchmark(agents=(own,))).metric.name == "mean_reward"
    # a lost task names no metric
    lost = below("tasks", gate=Gate.EXPECT)
    gated = benchmark(lost, above("pass@1"), agents=(own,))
    assert seen(gated).metric.name == "pass@1"


def test_examples_are_as_many_as_are_asked_for_and_none_of_a_known_failure():
    check = compared(changes={"worst_tasks": (task("a"), task("b"))})
    assert seen(benchmark(check), examples=1).examples == (
        WorseTask(agent="agent", task="a", rewards="2/2 -> 0/2"),
    )
    assert seen(benchmark(check, xfail=True), examples=1).examples == ()


def test_benchmarks_are_in_natural_order_where_no_evidence_orders_them():
    results = [benchmark(above(), name=name) for name in ("b10", "b2", "a")]
    assert [one.name for one in in_order(results)] == ["a", "b2", "b10"]
    results.append(benchmark(below(), name="z"))
    assert next(one.name for one in in_order(results)) == "z"


# -- over the last runs ----------------------------------------------------------------------


def test_a_run_of_the_history_has_what_a_page_shows():
    run = past("2026-01-02", drift=("x",), commit="abc", url="https://x", reason="why")
    assert shown_run(run) == ShownRun(
        time="2026-01-02",
        verdict="PASS",
        commit="abc",
        reason="why",
        url="https://x",
        drift=("x",),
    )
    assert shown_run(past("1")) == ShownRun(time="1", verdict="PASS")


def test_what_a_run_has_none_of_is_not_written():
    shown = ShownRun(time="1", verdict="PASS")
    assert msgspec.to_builtins(shown) == {"time": "1", "verdict": "PASS"}
    texts = (shown.commit, shown.reason, shown.url, shown.href)
    assert (*texts, shown.drift) == ("", "", "", "", ())


def course(result, runs):
    return history_of(result, runs, metrics_of(result))


def test_a_metric_is_followed_with_its_intervals_and_its_baseline():
    gap = past("2", agents={})
    runs = (past("1"), gap, past("3", 0.6))
    found = course(benchmark(compared()), runs)
    assert found == HistoryView(
        runs=tuple(map(shown_run, runs)),
        lines=(
            HistoryLine(
                agent="",
                metric="pass@1",
                baseline=0.9,
                values=(0.5, None, 0.6),
                lows=(0.25, None, 0.25),
                highs=(0.75, None, 0.75),
            ),
        ),
    )


def test_the_lines_of_several_agents_name_them():
    agents = (agent(), agent("beta"))
    found = course(benchmark(above(), agents=agents), (past("1"), past("2")))
    assert [line.agent for line in found.lines] == ["agent"]


def test_a_metric_of_one_run_has_no_course():
    assert course(benchmark(above()), (past("1"),)) == HistoryView()


def test_the_last_sixty_runs_are_shown():
    runs = [past(f"{number:03}") for number in range(70)]
    found = course(benchmark(above()), runs)
    assert len(found.runs) == len(found.lines[0].values) == 60
    assert found.runs[-1].time == "069"


def test_eight_metrics_are_followed():
    names = [f"m{number}" for number in range(10)]
    points = {name: HistoryPoint(1.0, tasks=1, rollouts=1) for name in names}
    runs = [past("1", agents={"agent": points}), past("2", agents={"agent": points})]
    own = agent(metrics=dict.fromkeys(names, 1.0))
    found = course(benchmark(agents=(own,)), runs)
    assert [line.metric for line in found.lines] == names[:8]


# -- a benchmark's own page ------------------------------------------------------------------


def test_a_page_has_the_checks_with_their_texts():
    view = described(benchmark(compared(agent="x", line=None), description="sums"))
    assert view.description == "sums"
    assert view.line == 3
    assert view.checks == (
        CheckView(
            gate=Gate.BASELINE,
            name="pass@1",
            agent="x",
            verdict="FAIL",
            value=0.7,
            bound="no drop >= 0.02 at p < 0.01 (practical)",
            reason=FELL,
            hint=(
                "fix the regression; or, if the change is intended, "
                "accept it with `pytest --evalmetrics-update`"
            ),
            line=3,
            details=(
                (
                    "exact sign flip over 40 tasks, 80 rollouts before and 80 now; "
                    "p = 0.004 adjusted for the other metrics"
                ),
            ),
        ),
    )


def test_an_advisory_check_says_so_in_its_verdict_alone():
    check = broken(verdict=Verdict.WARN, tier=Tier.ADVISORY, line=9)
    (view,) = described(benchmark(check)).checks
    assert (view.verdict, view.reason, view.line) == ("ADVISORY", "no such file", 9)


def test_the_failing_agents_come_first_with_their_sizes():
    agents = (agent("alpha", missing=1), agent("beta", tasks=3))
    result = benchmark(above(agent="alpha"), below(agent="beta"), agents=agents)
    assert described(result).agents == (
        AgentCounts("beta", 3, 80, 0),
        AgentCounts("alpha", 40, 80, 1),
    )
    # an agent without any reward has no sizes
    lost = benchmark(below(agent="gone"), agents=agents)
    assert [one.agent for one in described(lost).agents] == ["alpha", "beta"]


def test_notes_begin_with_what_changed():
    result = benchmark(
        above(),
        changes=(ThresholdChanged("m", ">= 0.5", ">= 0.4"),),
        notes=(Remark("read from two files"),),
    )
    assert described(result).notes == (
        "changed: threshold m was >= 0.5, and is >= 0.4 now",
        "read from two files",
    )


FLIP = Flip("agent", "t", "", "", (Attempt(0, 1.0),), (Attempt(0, 0.0),))
USE = JudgeUse(
    scorer="llm-judge",
    scores=("quality",),
    model="big",
    versions={},
    calls=1,
    requests=1,
    prompt_tokens=0,
    completion_tokens=0,
    total_tokens=0,
    without_tokens=0,
    cost=None,
    latency_s={},
)
PEOPLE = JudgeCheck(
    score="quality", rows=9, failed=0, accuracy=1.0, kappa=1.0, quadratic_kappa=1.0
)
SERVER = RowFailure(0, "a.jsonl:3", "http-500", "the server failed", "try again")
RARE = RowFailure(99, "a.jsonl:99", "no-score", "it is empty")
FAILURES = ScorerFailures(
    scorer="remote",
    scores=("quality",),
    count=3,
    kinds={"http-500": 2, "no-score": 1, "unknown": 1},
    first=(SERVER, SERVER),
    rows=9,
    examples={"http-500": RARE, "no-score": RARE},
)


def test_rows_that_could_not_be_scored_are_shown_by_kind():
    view = described(benchmark(below(), failed_rows=(FAILURES,)))
    server = FailedRow("a.jsonl:3", "the server failed", "try again")
    rare = FailedRow("a.jsonl:99", "it is empty", "")
    assert view.failures == (
        FailureView(
            "remote",
            ("quality",),
            3,
            (
                FailureKind("http-500", 2, (server, server)),
                # of a rare kind there is an example
                FailureKind("no-score", 1, (rare,)),
                FailureKind("unknown", 1, ()),
            ),
        ),
    )


def test_the_agreement_of_judges_is_shown_for_each_score():
    agreement = Agreement(alpha=0.5, level="nominal", judges=2, rows=9, reason="few")
    scores = (
        ScoreSummary("tone", count=9, nan_count=0),
        ScoreSummary("quality", count=9, nan_count=0, agreement=agreement),
    )
    view = described(benchmark(agents=(agent(scores=scores),)))
    assert view.agreements == (
        AgreementView("agent", "quality", 0.5, "nominal", 2, 9, "few"),
    )


def test_a_page_is_whole_and_a_short_one_has_the_reasons_of_failures():
    saved = RecordedBaseline("b.json", written=True, metrics={})
    result = benchmark(
        above("a"),
        above("b"),
        above("c"),
        above("d"),
        below(),
        flips=(FLIP,),
        judges=(USE,),
        judge_checks=(PEOPLE,),
        failed_rows=(FAILURES,),
        recorded=saved,
        notes=tuple(Remark(f"note {number}") for number in range(3)),
        sources=tuple(SourceSummary(f"{number}", 1, 1) for number in range(3)),
        agents=(agent(metrics={f"m{number}": 1.0 for number in range(10)}),),
    )
    runs = [past("1", agents={"agent": {"m0": HistoryPoint(1.0, 1, 1)}})] * 2
    whole = described(result, runs=runs)
    assert not whole.short
    assert [check.name for check in whole.checks] == ["a", "b", "c", "d", "pass@1"]
    assert whole.flips == (FLIP,)
    assert whole.judges == (USE,)
    assert whole.judge_checks == (PEOPLE,)
    assert len(whole.failures) == 1
    assert whole.recorded == ("recorded b.json",)
    assert len(whole.notes) == len(whole.sources) == 3
    assert len(whole.metrics) == 10
    assert (whole.more_metrics, whole.more_sources) == (0, 0)
    assert len(whole.history.lines) == 1
    short = described(result, runs=runs, short=True)
    assert short.short
    assert [check.name for check in short.checks] == ["pass@1", "a", "b", "c"]
    assert short.flips == short.judges == short.judge_checks == ()
    assert short.failures == short.recorded == ()
    assert len(short.notes) == len(short.sources) == 2
    assert len(short.metrics) == 8
    assert (short.more_metrics, short.more_sources) == (2, 1)
    assert short.history == HistoryView()
    assert short.lead == whole.lead


def test_a_page_has_at_most_so_many_of_each_kind():
    result = benchmark(
        *(above(f"m{number}") for number in range(402)),
        notes=tuple(Remark(f"{number}") for number in range(52)),
        sources=tuple(SourceSummary(f"{number}", 1, 1) for number in range(102)),
        agents=(agent(metrics={f"m{number}": 1.0 for number in range(203)}),),
    )
    view = described(result)
    assert len(view.checks) == 400
    assert len(view.notes) == 50
    assert (len(view.sources), view.more_sources) == (100, 2)
    assert (len(view.metrics), view.more_metrics) == (200, 3)


def test_long_texts_are_cut():
    long = "x" * 2_001
    failures = structs.replace(
        FAILURES, first=(RowFailure(0, long, "http-500", long, long),)
    )
    hint = (kinds.Failed(long, long),)
    result = benchmark(
        broken(reasons=hint),
        description=long,
        notes=(Remark(long),),
        failed_rows=(failures,),
    )
    view = described(result)
    (check,) = view.checks
    (failed,) = view.failures[0].kinds[0].rows
    texts = (
        view.description,
        view.notes[0],
        check.reason,
        check.hint,
        failed.row,
        failed.reason,
        failed.hint,
        view.lead.why,
        view.lead.fix,
    )
    assert [len(text) for text in texts] == [2_000] * 9


# -- what the page says first ----------------------------------------------------------------

FIX = "fix the regression; or, if the change is intended, "


@pytest.mark.parametrize(
    ("check", "lead"),
    [
        (
            compared(agent="agent"),
            Lead(agent="agent", metric="pass@1", fix=f"{FIX}accept it"),
        ),
        (
            compared(acceptance=Acceptance.OTHER_RUN),
            Lead(agent="agent", metric="pass@1", fix=f"{FIX}compare with a newer run"),
        ),
        (
            compared(reasons=(DECIDED,)),
            Lead(
                why=f"{FELL}; missing rewards decide the verdict: at their worst pass@1 "
                "would be 0.4 against 0.9",
                fix="complete the run",
            ),
        ),
        (below(), Lead(why="pass@1 is 0.5, below 0.7")),
        (broken(reasons=(kinds.Failed("a", "b"),)), Lead(why="a", fix="b")),
        (unchanged(), Lead(agent="agent", metric="pass@1")),
        (above(), Lead()),
        (compared(changes={"drop": None}, verdict=Verdict.PASS), Lead()),
    ],
)
def test_the_page_begins_with_the_change_that_decides_or_the_reason(check, lead):
    found = described(benchmark(check)).lead
    if lead.fix == "complete the run":
        found = structs.replace(found, fix=lead.fix)
    assert found == lead


def test_without_a_leading_check_nothing_is_said_first():
    assert described(benchmark()).lead == Lead()


def test_a_benchmark_of_no_file_is_accepted_by_the_words_of_its_check():
    lead = described(benchmark(compared(), file="")).lead
    assert lead.fix == f"{FIX}accept it with `pytest --evalmetrics-update`"


def test_the_commands_evaluate_again_and_accept():
    view = described(benchmark(compared()))
    assert view.again == "pytest a.yaml::math"
    assert view.accept == 'evalmetrics accept a.yaml::math --reason "..."'
    assert described(benchmark(below())).accept == ""
    assert described(benchmark(compared(), file="")).accept == ""
