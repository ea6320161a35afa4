"""Gates of single tasks: those that flipped, that the file names, and the task list."""

from datetime import date

import numpy as np
import pytest
from comparison.making import make_pair

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.ext import RolloutTable
from pytest_evalmetrics.gates.task_gates import (
    Flips,
    check_broken,
    check_single_tasks,
    check_task_list,
    flips_of,
    single_tasks,
    task_list_note,
)
from pytest_evalmetrics.model.bounds import (
    AllBound,
    CoverageBound,
    MostBound,
    UntilBound,
)
from pytest_evalmetrics.model.gate_notes import PairedById, PairedByPosition
from pytest_evalmetrics.model.reasons import (
    BrokenTasks,
    MaxBrokenTooLarge,
    MustPassFailed,
    NewTask,
    PassCount,
    Quarantined,
    TaskMove,
    UncomparableTasks,
)
from pytest_evalmetrics.model.rollout_table import Drift
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

NAN = float("nan")


def table(**tasks):
    """Make the rollouts of tasks, each a list of rewards."""
    counts = [len(rewards) for rewards in tasks.values()]
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(tasks)), counts),
        sample=np.concatenate([np.arange(count) for count in counts]),
        scores={
            "reward": np.array(
                [reward for rewards in tasks.values() for reward in rewards]
            )
        },
    )


# -- tasks that flipped ------------------------------------------------------------------


def test_a_task_flips_where_all_of_its_rollouts_do():
    before = [[1, 1], [1, 1], [0, 0], [0], [1, 0], [1, 1]]
    now = [[0], [0, 1], [1, 1], [0], [0, 0], [1]]
    flips = flips_of(make_pair(before, now), 1.0)
    assert flips == Flips(broken=(0,), mended=(2,), tasks=6)


def test_a_reward_passes_from_the_threshold_on():
    pair = make_pair([[0.5], [0.49]], [[0.49], [0.5]])
    assert flips_of(pair, 0.5) == Flips(broken=(0,), mended=(1,), tasks=2)


def broken(flips, most=1):
    return check_broken(
        flips, most, agent="blue", line=7, acceptance=Acceptance.OTHER_RUN
    )


@pytest.mark.parametrize(
    ("tasks", "verdict"), [(("a",), Verdict.PASS), (("b", "a"), Verdict.FAIL)]
)
def test_more_broken_tasks_than_allowed_fail(tasks, verdict):
    check = broken(Flips(broken=tasks, mended=(), tasks=9))
    assert (check.verdict, check.value) == (verdict, len(tasks))
    assert check.reasons == (BrokenTasks(tasks=tuple(sorted(tasks)), count=len(tasks)),)


def test_a_check_of_broken_tasks_names_what_was_asked():
    check = broken(Flips(broken=(), mended=("a",), tasks=9), most=2)
    assert (check.gate, check.name) == (Gate.BASELINE, "max_broken")
    assert (check.agent, check.line) == ("blue", 7)
    assert (check.bound, check.acceptance) == (MostBound(2), Acceptance.OTHER_RUN)
    assert (check.verdict, check.value, check.reasons) == (Verdict.PASS, 0, ())


def test_broken_tasks_are_named_in_natural_order_up_to_ten():
    tasks = tuple(f"t{number}" for number in range(12, 0, -1))
    (reason,) = broken(Flips(broken=tasks, mended=(), tasks=20)).reasons
    assert reason.tasks == tuple(f"t{number}" for number in range(1, 11))
    assert reason.count == 12


def test_what_cannot_be_compared_has_no_broken_tasks():
    check = broken(None)
    assert (check.verdict, check.value) == (Verdict.INCONCLUSIVE, None)
    assert check.reasons == (UncomparableTasks(),)


@pytest.mark.parametrize(("tasks", "is_judged"), [(3, False), (4, True)])
def test_a_limit_that_all_tasks_together_keep_is_not_judged(tasks, is_judged):
    check = broken(Flips(broken=(), mended=(), tasks=tasks), most=3)
    assert (check.verdict is Verdict.PASS) is is_judged
    if not is_judged:
        assert check.reasons == (MaxBrokenTooLarge(most=3, tasks=3),)


# -- tasks that the file names -----------------------------------------------------------


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


def named(asked, tasks, today=date(2026, 6, 1)):
    return single_tasks(asked.spec, tasks, today, asked.line_of)


def judged(asked, rollouts, today=date(2026, 6, 1)):
    single = named(asked, rollouts.tasks, today)
    checks = check_single_tasks(
        single, asked.spec, rollouts, agent="blue", line_of=asked.line_of
    )
    return list(checks)


PAYING = "  pass_threshold: 0.5\n  must_pass: ['pay-*', login]\n"


def test_a_task_that_must_pass_passes_in_all_of_its_rollouts(benchmark):
    rows = table(**{"login": [1.0, 0.5], "pay-card": [1.0], "search": [0.0]})
    (check,) = judged(benchmark(PAYING), rows)
    assert (check.gate, check.name) == (Gate.TASK, "must_pass")
    assert (check.agent, check.line) == ("blue", 5)
    assert (check.verdict, check.value, check.reasons) == (Verdict.PASS, 2, ())
    assert check.bound == AllBound(2)


def test_each_task_with_a_rollout_that_fails_is_named(benchmark):
    rows = table(
        **{"login": [1.0, 0.4], "pay-card": [1.0, NAN, 1.0], "pay-cash": [1.0]}
    )
    (check,) = judged(benchmark(PAYING), rows)
    failed = MustPassFailed(
        tasks=(PassCount("login", 1, 2), PassCount("pay-card", 2, 3)), count=2, of=3
    )
    assert (check.verdict, check.value) == (Verdict.FAIL, 1)
    assert check.reasons == (failed,)


def test_up_to_ten_tasks_that_must_pass_are_named(benchmark):
    rows = table(**{f"pay-{at:02}": [0.0] for at in range(12)})
    asked = benchmark("  must_pass: ['pay-*']\n")
    (check,) = judged(asked, rows)
    (reason,) = check.reasons
    assert [task.task for task in reason.tasks] == [f"pay-{at:02}" for at in range(10)]
    assert (reason.count, reason.of) == (12, 12)


def test_without_tasks_that_must_pass_there_is_no_check(benchmark):
    assert judged(benchmark(), table(login=[0.0])) == []


def test_an_id_with_the_signs_of_a_pattern_is_that_task_alone(benchmark):
    asked = benchmark("  must_pass: ['a*']\n")
    assert named(asked, ["a*", "ab", "ac"]).must_pass == {"a*"}
    assert named(asked, ["ab", "ac", "b"]).must_pass == {"ab", "ac"}


def test_tasks_that_are_numbers_are_named_by_their_digits(benchmark):
    asked = benchmark("  must_pass: ['7', '1?']\n")
    assert named(asked, [7, 11, 12, 70]).must_pass == {7, 11, 12}


QUARANTINE = """\
  quarantine:
    - {task: flaky, until: 2026-06-30, reason: "#12"}
    - {task: "f*", until: 2026-05-31, reason: "#13"}
"""


def test_a_task_in_quarantine_is_counted_and_passes(benchmark):
    rows = table(login=[1.0], flaky=[1.0, 0.0, NAN])
    (check,) = judged(benchmark(QUARANTINE), rows)
    quarantined = Quarantined(
        outcome=PassCount("flaky", 1, 3), until="2026-06-30", why="#12", is_over=False
    )
    assert (check.gate, check.name) == (Gate.TASK, "quarantine flaky")
    assert (check.agent, check.line) == ("blue", 4)
    assert (check.verdict, check.reasons) == (Verdict.PASS, (quarantined,))
    assert check.bound == UntilBound("2026-06-30")


def test_a_quarantine_that_is_over_fails_at_its_own_line(benchmark):
    rows = table(login=[1.0], flaky=[1.0], fresh=[0.0])
    flaky, fresh = judged(benchmark(QUARANTINE), rows)
    assert (flaky.verdict, flaky.line) == (Verdict.PASS, 4)
    assert (fresh.verdict, fresh.line) == (Verdict.FAIL, 6)
    assert fresh.reasons[0].is_over
    assert fresh.reasons[0].why == "#13"


@pytest.mark.parametrize("order", [1, -1])
def test_a_quarantine_in_force_counts_whichever_stands_first(benchmark, order):
    entries = [
        '    - {task: flaky, until: 2026-06-30, reason: "in force"}\n',
        '    - {task: flaky, until: 2026-05-31, reason: "over"}\n',
    ]
    asked = benchmark("  quarantine:\n" + "".join(entries[::order]))
    entry = named(asked, ["flaky"]).entries["flaky"]
    assert (entry.spec.reason, entry.is_over) == ("in force", False)


def test_of_two_quarantines_that_are_over_the_last_counts(benchmark):
    asked = benchmark(QUARANTINE)
    entry = named(asked, ["flaky"], date(2027, 1, 1)).entries["flaky"]
    assert (entry.spec.reason, entry.is_over, entry.line) == ("#13", True, 6)
    assert named(asked, ["flaky"], date(2027, 1, 1)).quarantined == frozenset()


def test_each_entry_that_names_no_task_is_a_check_at_its_line(benchmark):
    asked = benchmark(QUARANTINE + "  must_pass:\n    - login\n    - pay\n")
    unknown = named(asked, ["other"]).unknown
    assert [(check.name, check.line) for check in unknown] == [
        ("quarantine flaky", 5),
        ("quarantine f*", 6),
        ("must_pass login", 8),
        ("must_pass pay", 9),
    ]
    assert {check.gate for check in unknown} == {Gate.TASK}
    assert {check.verdict for check in unknown} == {Verdict.INCONCLUSIVE}


# -- the task list -----------------------------------------------------------------------


def listed(drift, rollouts=None, *, min_coverage=1.0):
    return check_task_list(
        drift,
        table(a=[1.0]) if rollouts is None else rollouts,
        "reward",
        agent="blue",
        line=7,
        min_coverage=min_coverage,
        acceptance=Acceptance.SNAPSHOT,
    )


def test_the_same_tasks_need_no_check():
    assert listed(Drift(expected=3)) is None


def test_a_task_that_is_gone_fails():
    check = listed(Drift(expected=3, lost=("b",)))
    (reason,) = check.reasons
    assert (check.gate, check.name) == (Gate.BASELINE, "tasks")
    assert (check.agent, check.line) == ("blue", 7)
    assert check.acceptance is Acceptance.SNAPSHOT
    assert (check.verdict, check.value) == (Verdict.FAIL, 2)
    assert check.bound == CoverageBound(least=1.0, of=3)
    assert (reason.expected, reason.lost, reason.lost_count) == (3, ("b",), 1)
    assert not reason.is_covered


def test_a_task_that_is_another_one_now_gives_no_verdict():
    check = listed(Drift(expected=3, edited=("b",)))
    (reason,) = check.reasons
    assert (check.verdict, check.value) == (Verdict.INCONCLUSIVE, 2)
    assert (reason.edited, reason.edited_count) == (("b",), 1)


def test_tasks_that_are_gone_or_edited_are_both_not_kept():
    check = listed(Drift(expected=10, lost=("b",), edited=("c", "d")), min_coverage=0.7)
    assert (check.verdict, check.value) == (Verdict.PASS, 7)
    check = listed(Drift(expected=10, lost=("b",), edited=("c", "d")), min_coverage=0.8)
    assert (check.verdict, check.value) == (Verdict.FAIL, 7)


def test_coverage_of_tasks_allows_for_rounding():
    # 0.55 * 100 is 55.00000000000001
    lost = tuple(map(str, range(45)))
    check = listed(Drift(expected=100, lost=lost), min_coverage=0.55)
    assert check.verdict is Verdict.PASS
    assert check.reasons[0].is_covered


def test_a_new_or_a_renamed_task_passes_with_a_remark():
    rows = table(a=[1.0], new=[1.0, NAN, 0.5])
    check = listed(Drift(expected=1, moved=(("b", "a"),), new=("new",)), rows)
    (reason,) = check.reasons
    assert (check.verdict, check.value) == (Verdict.PASS, 1)
    assert (reason.moved, reason.moved_count) == ((TaskMove("b", "a"),), 1)
    assert (reason.new, reason.new_count) == ((NewTask("new", 0.75),), 1)
    assert (reason.reward, reason.is_covered) == ("reward", True)


def test_a_new_task_without_rewards_has_no_mean():
    rows = table(a=[1.0], new=[NAN])
    (reason,) = listed(Drift(expected=1, new=("new",)), rows).reasons
    assert reason.new == (NewTask("new", None),)


def test_a_new_task_of_a_run_without_the_reward_has_no_mean():
    rows = RolloutTable(
        agents=("agent",),
        agent=np.zeros(1, np.int32),
        tasks=("new",),
        task=np.zeros(1, np.int64),
        sample=np.zeros(1, np.int64),
        scores={"f1": np.ones(1)},
    )
    (reason,) = listed(Drift(expected=1, new=("new",)), rows).reasons
    assert reason.new == (NewTask("new", None),)


NAMES = tuple(f"t{number}" for number in range(101, -1, -1))
FIRST = tuple(f"t{number}" for number in range(100))


def test_a_hundred_tasks_of_each_kind_are_listed_in_natural_order():
    moved = tuple((name, f"new {name}") for name in NAMES)
    drift = Drift(expected=500, lost=NAMES, edited=NAMES, moved=moved)
    (reason,) = listed(drift).reasons
    assert (reason.lost, reason.lost_count) == (FIRST, 102)
    assert (reason.edited, reason.edited_count) == (FIRST, 102)
    assert reason.moved == tuple(TaskMove(name, f"new {name}") for name in FIRST)
    assert reason.moved_count == 102


@pytest.mark.parametrize(("count", "reward"), [(100, 0.5), (101, None)])
def test_up_to_a_hundred_new_tasks_have_their_mean(count, reward):
    names = [f"t{number}" for number in range(count)]
    rows = table(**{name: [0.5] for name in names})
    (reason,) = listed(Drift(expected=1, new=tuple(names[::-1])), rows).reasons
    assert reason.new == tuple(NewTask(name, reward) for name in FIRST)
    assert reason.new_count == count


@pytest.mark.parametrize(
    ("drift", "note"),
    [
        (Drift(expected=1, unknown=True), PairedById(Acceptance.HISTORY)),
        (Drift(expected=1, unknown=True, blind=True), PairedById(Acceptance.HISTORY)),
        (Drift(expected=1, blind=True), PairedByPosition()),
        (Drift(expected=1), None),
    ],
)
def test_tasks_that_content_does_not_pair_are_noted(drift, note):
    assert task_list_note(drift, Acceptance.HISTORY, in_python=False) == note


def test_tasks_of_a_test_in_python_have_no_rows_to_be_numbered():
    drift = Drift(expected=1, blind=True)
    assert task_list_note(drift, Acceptance.HISTORY, in_python=True) is None
