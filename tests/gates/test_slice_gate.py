"""The gate of slices, from rollouts to a check."""

import numpy as np
import pytest
from comparison.making import make_pair, rule
from scipy import stats as oracle

from pytest_evalmetrics.comparison import ComparisonInput, slices_of
from pytest_evalmetrics.gates.slice_gate import SlicesToTest, check_slices
from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.reasons import DependentRollouts, WorseSlices
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict


def tasks(passed, of):
    return [[1.0]] * passed + [[0.0]] * (of - passed)


# 40 tasks in German and 40 in English
LABELS = np.array([0] * 40 + [1] * 40)


def agent_of(german, english, *, name="", before=40, rule_name="practical", **settings):
    """Make an agent of whose tasks so many pass now; `before` of 40 did in each language."""
    pair = make_pair(tasks(before, 40) * 2, tasks(german, 40) + tasks(english, 40))
    whole = ComparisonInput(pair=pair, rule=rule(rule_name, **settings), gate_id="g")
    slices = tuple(slices_of(whole, "lang", ["de", "en"], LABELS))
    return SlicesToTest(agent=name, slices=slices, alpha=0.01, line=7)


def checked(*agents, **settings):
    return check_slices(agents, **settings)


def test_a_slice_that_got_worse_fails_at_the_line_of_its_key():
    (check,) = checked(agent_of(20, 40))
    assert check.verdict is Verdict.FAIL
    assert (check.gate, check.name, check.line) == (Gate.BASELINE, "slices", 7)


def test_slices_that_got_worse_are_counted_among_all():
    (check,) = checked(agent_of(20, 40))
    (reason,) = check.reasons
    assert check.value == 1
    assert (reason.count, reason.of) == (1, 2)


def worse_slice():
    """Return what the reason says of 20 of 40 German tasks that broke."""
    (check,) = checked(agent_of(20, 40))
    (reason,) = check.reasons
    assert isinstance(reason, WorseSlices)
    (worse,) = reason.slices
    return worse


def test_a_slice_that_got_worse_has_its_name_and_its_value_on_both_sides():
    worse = worse_slice()
    assert worse.name == "mean_reward[lang=de]"
    assert (worse.before, worse.now) == (1.0, 0.5)


def test_the_p_of_a_slice_is_of_a_paired_t_test_and_counts_for_both_slices():
    drops = [1.0] * 20 + [0.0] * 20
    of_one = oracle.ttest_1samp(drops, 0.0, alternative="greater").pvalue
    assert worse_slice().p == pytest.approx(2 * of_one, rel=1e-5)


def test_the_worst_tasks_of_a_slice_are_named_up_to_ten():
    worse = worse_slice()
    assert (worse.tasks, worse.worse) == (40, 20)
    assert worse.worst == tuple(str(task) for task in range(20, 30))


def test_slices_that_are_the_same_pass():
    (check,) = checked(agent_of(40, 40))
    assert check.verdict is Verdict.PASS
    assert (check.value, check.reasons) == (0, ())


def test_a_slice_that_got_better_passes():
    (check,) = checked(agent_of(40, 20, before=20))
    assert check.verdict is Verdict.PASS


def test_slices_share_twelve_percent_of_the_level():
    (check,) = checked(agent_of(40, 40))
    assert check.bound == SlicesBound(0.0012)
    (check,) = checked(agent_of(40, 40), benchmarks=2)
    assert check.bound == SlicesBound(0.0006)


def test_many_benchmarks_share_the_level_of_slices():
    few = agent_of(27, 40)
    assert checked(few)[0].verdict is Verdict.FAIL
    assert checked(few, benchmarks=1_000_000)[0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("max_drop", "verdict"), [(0.5, Verdict.FAIL), (0.51, Verdict.PASS)]
)
def test_a_drop_that_does_not_matter_to_the_rule_passes(max_drop, verdict):
    (check,) = checked(agent_of(20, 40, max_drop=max_drop))
    assert check.verdict is verdict


def test_a_rule_that_tests_alone_fails_any_drop_that_is_proven():
    (check,) = checked(agent_of(20, 40, max_drop=0.9, rule_name="statistical"))
    assert check.verdict is Verdict.FAIL


def test_a_slice_that_lost_everything_fails_whatever_drop_matters():
    (check,) = checked(agent_of(0, 40, max_drop=2.0))
    assert check.verdict is Verdict.FAIL


def test_each_agent_has_a_check_of_its_own_slices():
    worse, same = checked(agent_of(20, 40, name="a"), agent_of(40, 40, name="b"))
    assert (worse.agent, worse.verdict) == ("a", Verdict.FAIL)
    assert (same.agent, same.verdict) == ("b", Verdict.PASS)


def test_the_check_says_how_a_change_is_accepted():
    (check,) = checked(agent_of(40, 40), acceptance=Acceptance.HISTORY)
    assert check.acceptance is Acceptance.HISTORY
    assert checked(agent_of(40, 40))[0].acceptance is Acceptance.SNAPSHOT


def test_without_agents_there_is_no_check():
    assert checked() == []


def test_no_slice_is_in_doubt_where_tasks_prove_it():
    (check,) = checked(agent_of(20, 20))
    assert check.verdict is Verdict.FAIL
    assert not any(isinstance(reason, DependentRollouts) for reason in check.reasons)
    assert [one.name for one in check.reasons[0].slices] == [
        "mean_reward[lang=de]",
        "mean_reward[lang=en]",
    ]


# -- slices that lost everything ---------------------------------------------------------

COPIES = [[1.0] * 4, [0.0] * 4] * 10
VARIED = [[1.0, 0.0, 1.0, 1.0]] * 20


def three_lost(others):
    """An agent whose first three tasks lost all, beside other tasks."""
    pair = make_pair([[1.0] * 4] * 3 + others, [[0.0] * 4] * 3 + others)
    whole = ComparisonInput(pair=pair, rule=rule(), gate_id="g")
    labels = np.array([0] * 3 + [1] * len(others))
    slices = tuple(slices_of(whole, "lang", ["de", "en"], labels))
    return SlicesToTest(agent="", slices=slices, alpha=0.01)


def test_a_loss_that_rests_on_rollouts_that_may_be_copies_warns():
    (check,) = checked(three_lost(COPIES))
    assert check.verdict is Verdict.WARN
    assert isinstance(check.reasons[0], WorseSlices)
    assert check.reasons[1:] == (DependentRollouts(Independence.UNSHOWN),)


def test_a_loss_that_rests_on_independent_rollouts_fails():
    (check,) = checked(three_lost(VARIED))
    assert check.verdict is Verdict.FAIL
    assert len(check.reasons) == 1


def test_a_slice_beside_one_in_doubt_fails_if_its_tasks_prove_it():
    before = [[1.0] * 4] * 3 + [[1.0] * 4] * 40
    now = [[0.0] * 4] * 3 + [[0.0] * 4] * 20 + [[1.0] * 4] * 20
    pair = make_pair(before, now)
    whole = ComparisonInput(pair=pair, rule=rule(), gate_id="g")
    labels = np.array([0] * 3 + [1] * 40)
    slices = tuple(slices_of(whole, "lang", ["de", "en"], labels))
    agent = SlicesToTest(agent="", slices=slices, alpha=0.01)
    (check,) = checked(agent)
    assert check.verdict is Verdict.FAIL
    assert not any(isinstance(reason, DependentRollouts) for reason in check.reasons)


def test_up_to_ten_slices_are_named():
    before = [[1.0]] * 480
    now = [[0.0]] * 12 * 30 + [[1.0]] * 120
    whole = ComparisonInput(pair=make_pair(before, now), rule=rule(), gate_id="g")
    labels = np.repeat(np.arange(16), 30)
    names = [f"l{at}" for at in range(16)]
    slices = tuple(slices_of(whole, "lang", names, labels))
    (check,) = checked(SlicesToTest(agent="", slices=slices, alpha=0.01))
    (reason,) = check.reasons
    assert len(reason.slices) == 10
    assert (reason.count, reason.of, check.value) == (12, 16, 12)
