"""Why a run is red: which check leads, which failures are shown, and what they have in common."""

import pytest
from reports.records import above, agent, below, benchmark, broken, compared, unchanged

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import triage

# -- the strength of a check -----------------------------------------------------------------


def surer(p, drop=0.2, **fields):
    return compared(changes={"p_adjusted": p, "drop": drop}, **fields)


@pytest.mark.parametrize(
    ("check", "strength"),
    [
        (surer(0.004), (0, 0.004, -0.2)),
        (surer(None, None), (0, 1.0, 0.0)),
        (below(), (0, 1.0, 0.0)),
        (broken(), (1, 1.0, 0.0)),
        (surer(0.04, verdict=Verdict.WARN), (2, 0.04, -0.2)),
        (above(), (2, 1.0, 0.0)),
    ],
)
def test_a_check_is_ranked_by_its_verdict_then_p_then_the_loss(check, strength):
    assert triage.strength(check) == strength


def worse_slice(p):
    return kinds.WorseSlice(
        name="pass@1[lang=de]", before=1.0, now=0.2, p=p, tasks=9, worse=8, worst=()
    )


SLICES = kinds.WorseSlices(
    slices=(worse_slice(0.003), worse_slice(0.001)), count=2, of=4
)


def worse_task(p):
    return kinds.WorseTask(task="t", before=1.0, now=0.0, p=p, log10_p=-3.0)


TASKS = kinds.WorseTasks(
    tasks=(worse_task(0.003), worse_task(0.0002)), count=2, of=9, reward="reward"
)


def test_slices_and_tasks_are_as_sure_as_the_surest_of_them():
    slices = compared(comparison=None, reasons=(SLICES,))
    assert triage.evidence(slices) == (0, 0.001, 0.0)
    tasks = compared(comparison=None, reasons=(TASKS,))
    assert triage.evidence(tasks) == (0, 0.0002, 0.0)
    surest = surer(0.0005, reasons=(SLICES,))
    assert triage.evidence(surest) == (0, 0.0005, -0.2)


# -- the order of checks ---------------------------------------------------------------------


def names(checks):
    return [f"{check.agent} {check.name}".strip() for check in checks]


def test_checks_stand_in_the_order_of_their_verdicts_agents_and_kinds():
    checks = [
        above("passes", agent="alpha"),
        surer(0.02, name="pass@1", agent="alpha"),
        surer(0.03, name="pass@2", agent="alpha"),
        surer(0.004, name="pass@1", agent="beta"),
        compared("slices", comparison=None, reasons=(), agent="beta"),
        broken(agent="alpha"),
        surer(0.001, name="warns", agent="alpha", verdict=Verdict.WARN),
    ]
    assert names(triage.in_turn(checks)) == [
        # the surest agent, what is of its slices before its metrics
        "beta slices",
        "beta pass@1",
        "alpha pass@1",
        "alpha pass@2",
        "alpha data",
        "alpha passes",
        "alpha warns",
    ]


# -- the check that leads --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checks", "leads"),
    [
        ([], None),
        ([above("tasks", gate=Gate.EXPECT)], None),
        ([above("pass@2"), unchanged("pass@1")], "pass@1"),
        ([above("pass@2")], "pass@2"),
        # the worst verdict
        ([surer(0.04, name="a", verdict=Verdict.WARN), below("b")], "b"),
        # without all rollouts no number counts
        ([surer(0.001, name="a"), below("tasks", gate=Gate.EXPECT)], "tasks"),
        ([surer(0.001, name="a"), broken(verdict=Verdict.FAIL)], "data"),
        # a compared metric says most
        ([below("a"), surer(0.001, name="b")], "b"),
        ([compared("slices", comparison=None), below("a")], "a"),
        ([compared("slices", comparison=None)], "slices"),
        ([compared("t", gate=Gate.TASK), below("a")], "a"),
        # of the agent with the surest check
        (
            [surer(0.01, name="a", agent="x"), surer(0.001, name="b", agent="y")],
            "y b",
        ),
    ],
)
def test_the_check_that_leads_says_most_in_one_line(checks, leads):
    check = triage.leading(benchmark(*checks))
    found = None if check is None else names([check])[0]
    assert found == leads


# -- the benchmarks that fail ----------------------------------------------------------------


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, id=name, **fields)


def test_what_fails_is_listed_the_surest_first():
    results = [
        named("passes", above()),
        named("warns", surer(0.001, verdict=Verdict.WARN)),
        named("broken", broken()),
        named("fails", surer(0.004)),
        named("surer", surer(0.001)),
        named("known", surer(0.0001), xfail=True),
    ]
    listed = [result.name for result in triage.failing(results)]
    assert listed == ["surer", "fails", "broken"]


def test_a_few_failures_are_each_shown():
    results = [named(f"b{n}", below()) for n in range(5)]
    assert triage.folded(results) == set()


def test_of_many_failures_the_first_of_each_cause_is_shown_while_there_is_room():
    alike = [named(f"b{n}", below()) for n in range(6)]
    assert triage.folded(alike) == {"b1", "b2", "b3", "b4", "b5"}
    # three failures of metrics take 42 of 45 lines
    others = [named(f"m{n}", below(f"m{n}")) for n in range(6)]
    assert triage.folded(others) == {"m3", "m4", "m5"}
    # a fourth of four lines would be the 46th
    mixed = [*others[:3], *(named(f"e{n}", broken(f"error {n}")) for n in range(3))]
    assert triage.folded(mixed) == {"e0", "e1", "e2"}
    # eleven of four lines each have room
    reasons = [named(f"e{n:02}", broken(f"error {n}")) for n in range(13)]
    assert triage.folded(reasons) == {"e11", "e12"}


# -- causes ----------------------------------------------------------------------------------


def heads(results):
    return [cause.head for cause in triage.triage(results)]


def test_fewer_than_five_failures_have_no_causes():
    assert triage.triage([named(f"b{n}", below()) for n in range(4)]) == []


def test_five_failures_have_causes_only_if_one_is_shared():
    apart = [named(f"b{n}", below(f"m{n}")) for n in range(5)]
    assert triage.triage(apart) == []
    shared = [named("b5", below("m0")), *apart[:4]]
    assert len(triage.triage(shared)) == 4
    assert len(triage.triage([*apart, named("b6", below("m6"))])) == 6


def test_a_cause_counts_its_benchmarks_and_shows_the_surest_with_its_command():
    results = [named(f"a.yaml::b {n}", surer(0.01 - n / 1000)) for n in range(5)]
    (cause,) = triage.triage(results)
    assert cause == triage.CauseLines(
        head="FAIL 5 of 5 failing benchmarks: pass@1",
        case=(
            "first b 4: pass@1 fell from 0.9 to 0.7: a loss of 0.2 [0.1, 0.3], p = 0.006 "
            "(exact sign flip, 40 tasks), 12 worse and 1 better"
        ),
        command="pytest 'a.yaml::b 4'",
        first="a.yaml::b 4",
    )


def test_a_cause_of_one_benchmark_is_named_by_it():
    shared = [named(f"a::b{n}", below()) for n in range(5)]
    alone = named("a::alone", below("other"))
    causes = triage.triage([*shared, alone])
    assert causes[1] == triage.CauseLines(
        head="FAIL alone: other",
        case="other is 0.5, below 0.7",
        command="pytest a::alone",
        first="a::alone",
    )


def test_the_largest_cause_comes_first_and_what_could_not_be_judged_last():
    results = [
        *(named(f"x{n}", broken()) for n in range(4)),
        named("y", below("pass@2")),
        *(named(f"z{n}", below()) for n in range(3)),
    ]
    assert heads(results) == [
        "FAIL 3 of 8 failing benchmarks: pass@1",
        "FAIL y: pass@2",
        "INCONCLUSIVE 4 of 8 failing benchmarks",
    ]


def test_of_many_causes_eight_are_described():
    results = [named(f"b{n}", below(f"m{n}")) for n in range(10)]
    causes = triage.triage(results)
    assert causes[7].head == "FAIL b7: m7"
    assert causes[8:] == [triage.CauseLines("and 2 more causes")]
    assert len(triage.triage(results[:8])) == 8
    assert triage.triage(results[:9])[8].head == "and 1 more cause"


def measured_by(version):
    """Make the check of a metric whose judge has another version."""
    change = kinds.MeasurementChange(
        kind=kinds.MeasuredBy.SCORER,
        entry="scorer llm-judge",
        key="version",
        before="0",
        now=version,
    )
    reason = kinds.MeasurementChanged(metric="pass@1", changes=(change,))
    return broken(reasons=(reason,))


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        (broken("no such file"), broken("no such file"), True),
        (broken("no such file"), broken("other"), False),
        # the same error of another file
        (
            broken(reasons=(kinds.Failed("bad row", place="a.jsonl:3"),)),
            broken(reasons=(kinds.Failed("bad row", place="b.jsonl:9"),)),
            True,
        ),
        (
            broken(reasons=(kinds.HookFailed(hook="h", error="e", place=""),)),
            broken(reasons=(kinds.HookFailed(hook="h", error="f", place=""),)),
            False,
        ),
        (
            broken(reasons=(kinds.InvalidKey("metrics", "w"),)),
            broken(reasons=(kinds.InvalidKey("metrics", "other words"),)),
            True,
        ),
        (
            broken(reasons=(kinds.InvalidKey("metrics", "w"),)),
            broken(reasons=(kinds.InvalidKey("baseline", "w"),)),
            False,
        ),
        (
            broken(reasons=(kinds.NotComparable("m", "w"),)),
            broken(reasons=(kinds.NotComparable("n", "w"),)),
            True,
        ),
        (
            broken(reasons=(kinds.NotComparable("m", "w"),)),
            broken(reasons=(kinds.Failed("w"),)),
            False,
        ),
        (
            broken(reasons=(kinds.HookFailed(hook="h", error="w", place=""),)),
            broken(reasons=(kinds.InvalidKey("w", "w"),)),
            False,
        ),
        (
            broken(reasons=(kinds.HookFailed(hook="h", error="w", place=""),)),
            broken(reasons=(kinds.Failed("w"),)),
            False,
        ),
        (measured_by("1"), measured_by("1"), True),
        (measured_by("1"), measured_by("2"), False),
        (
            broken(reasons=(kinds.MissingTasks(expected=5, found=4),)),
            broken(reasons=(kinds.ExtraTasks(expected=4, found=5),)),
            False,
        ),
        # numbers may differ
        (
            broken(reasons=(kinds.MissingTasks(expected=5, found=4),)),
            broken(reasons=(kinds.MissingTasks(expected=9, found=2),)),
            True,
        ),
        (below(), below(gate=Gate.BASELINE), False),
        (below(), below(value=0.1), True),
        # a drop, and rollouts that are lost
        (
            surer(0.004),
            surer(
                0.004,
                reasons=(kinds.MissingDecide("pass@1", baseline=0.9, current=0.4),),
            ),
            False,
        ),
    ],
)
def test_failures_are_one_cause_if_they_say_the_same(first, second, is_one):
    results = [named(f"a{n}", first) for n in range(5)]
    results.append(named("b", second))
    assert (len(triage.triage(results)) == 1) is is_one


def test_the_file_of_an_error_is_not_in_the_cause():
    reason = kinds.Failed("bad row", place="a.jsonl:3")
    results = [named(f"a{n}", broken(reasons=(reason,))) for n in range(5)]
    assert triage.triage(results)[0].case == "first a0: bad row"


def test_metrics_that_the_same_benchmarks_fail_for_are_one_cause():
    results = [named(f"b{n}", below("pass@1"), below("pass@2")) for n in range(5)]
    assert heads(results) == ["FAIL 5 of 5 failing benchmarks: pass@1, pass@2"]
    results.append(named("c", below("pass@2")))
    assert heads(results) == [
        "FAIL 6 of 6 failing benchmarks: pass@2",
        "FAIL 5 of 6 failing benchmarks: pass@1",
    ]


AGENTS = (agent("alpha"), agent("beta"))


def test_agents_that_fail_for_the_same_are_one_cause():
    checks = (below(agent="alpha"), below(agent="beta"))
    results = [named(f"b{n}", *checks, agents=AGENTS) for n in range(5)]
    assert heads(results) == ["FAIL 5 of 5 failing benchmarks: alpha, beta, pass@1"]


def test_agents_that_fail_for_other_metrics_are_causes_of_their_own():
    checks = (below(agent="alpha"), below("pass@2", agent="beta"))
    results = [named(f"b{n}", *checks, agents=AGENTS) for n in range(5)]
    assert heads(results) == [
        "FAIL 5 of 5 failing benchmarks: alpha, pass@1",
        "FAIL 5 of 5 failing benchmarks: beta, pass@2",
    ]


def test_agents_that_fail_otherwise_for_a_metric_are_causes_of_their_own():
    checks = (below(agent="alpha"), below(agent="beta", gate=Gate.BASELINE))
    results = [named(f"b{n}", *checks, agents=AGENTS) for n in range(5)]
    assert heads(results) == [
        "FAIL 5 of 5 failing benchmarks: alpha, pass@1",
        "FAIL 5 of 5 failing benchmarks: beta, pass@1",
    ]


def test_a_failure_of_no_agent_names_none_among_several():
    results = [named(f"b{n}", broken(), agents=()) for n in range(5)]
    results.append(named("two", above(), agents=AGENTS))
    assert heads(results) == ["INCONCLUSIVE 5 of 5 failing benchmarks"]


def test_the_only_agent_of_a_run_is_not_named():
    results = [
        named(f"b{n}", below(agent="alpha"), agents=AGENTS[:1]) for n in range(5)
    ]
    assert heads(results) == ["FAIL 5 of 5 failing benchmarks: pass@1"]


def test_slices_of_a_metric_are_parts_of_its_cause():
    name = "pass@1[lang=de]"
    results = [named(f"b{n}", below("pass@1"), below(name)) for n in range(5)]
    assert heads(results) == ["FAIL 5 of 5 failing benchmarks: pass@1, in lang=de"]


def test_the_parts_of_all_joined_metrics_are_named():
    checks = (below("pass@1"), below("pass@2[lang=de]"))
    results = [named(f"b{n}", *checks) for n in range(5)]
    assert heads(results) == [
        "FAIL 5 of 5 failing benchmarks: pass@1, pass@2, in lang=de"
    ]


def test_of_many_parts_six_are_named():
    checks = [below(f"pass@1[n={n}]") for n in range(8)]
    results = [named(f"b{n}", *checks) for n in range(5)]
    assert heads(results) == [
        "FAIL 5 of 5 failing benchmarks: pass@1, in n=0, n=1, n=2, n=3, n=4, n=5 and 2 more"
    ]
