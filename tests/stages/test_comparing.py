"""Compare: each agent's rollouts paired with those of its reference."""

import json

import pytest
from stages.making import FIELDS, against, benchmark, load, write_rows

from pytest_evalmetrics.comparison import RunScatter
from pytest_evalmetrics.gates import Gated
from pytest_evalmetrics.metrics import Pairing
from pytest_evalmetrics.model.gate_notes import RunNoiseOfHistory, RunNoiseOfNeighbours
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.reasons import (
    CannotFail,
    MeasuredBy,
    MeasurementChange,
    MeasurementChanged,
    NotComparable,
    UnequalSums,
    UnknownAgent,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Verdict
from pytest_evalmetrics.pipeline.comparing import (
    ComparisonTerms,
    compare_agents,
    comparison_input,
    pairing_notes,
)
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere
from pytest_evalmetrics.pipeline.reducing import Hooks, reduce_agents
from pytest_evalmetrics.pipeline.references import reference_of
from pytest_evalmetrics.reports.sentences.notes import note_texts


def compared(asked, **changed):
    """Pair the agents of `new.jsonl` with those of the benchmark's reference."""
    rows, loaded = load(asked)
    agents = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    terms = ComparisonTerms(
        benchmark=loaded.benchmark,
        plan=loaded.plan,
        reference=reference_of(loaded.benchmark, loaded.plan, None),
        **changed,
    )
    return terms, compare_agents(terms, agents.gated)


def one(asked, **changed):
    _, (agent,) = compared(asked, **changed)
    return agent


def only_reason(check):
    (reason,) = check.reasons
    return reason


def test_a_gated_metric_is_paired_task_by_task(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1], [0, 1]])
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    (gated,) = one(
        benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    ).judgeable
    assert isinstance(gated, Gated)
    pair = gated.compared.pair
    assert pair.tasks == ("t0", "t1")
    assert pair.baseline.tolist() == [1, 0.5]
    assert pair.current.tolist() == [0.5, 1]


def test_a_gated_metric_has_its_rule_its_line_and_its_estimate(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[0]])
    keys = f"metrics: [mean_reward]\n{against(rest=', rule: absolute, max_drop: 0.1')}"
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    assert gated.compared.rule.rule == "absolute"
    assert gated.compared.rule.max_drop == 0.1
    assert gated.compared.rule.direction is Direction.HIGHER
    assert gated.line == 5
    assert gated.estimate.value == 0
    assert gated.compared.gate_id == "math::agent"


def test_missing_rewards_are_paired_at_their_worst_too(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1]])
    write_rows(tmp_path, "new.jsonl", [[1], [None]])
    keys = "metrics: [mean_reward]\nexpect: {missing_reward: exclude}\n" + against()
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    assert gated.compared.pair.tasks == ("t0",)
    assert gated.worst.current.tolist() == [1, 0]
    assert gated.missing == 0.5


def test_an_agent_that_the_reference_lacks_is_not_judged(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    _, agents = compared(benchmark(tmp_path, against()))
    assert agents[0].unknown is None
    assert agents[1].unknown.verdict is Verdict.INCONCLUSIVE
    assert only_reason(agents[1].unknown) == UnknownAgent("b", known=("a",))
    assert agents[1].judgeable == ()


def test_a_lone_agent_may_have_another_name(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]], agent="before")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="now")
    assert one(benchmark(tmp_path, against())).unknown is None


def test_tasks_in_quarantine_are_left_out_on_both_sides(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1]])
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    agent = one(asked, quarantined=frozenset({"t1"}))
    assert agent.drift.expected == 1
    assert agent.drift.lost == ()


def test_tasks_outside_of_the_sample_are_not_lost(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 10)
    write_rows(tmp_path, "new.jsonl", [[1]] * 10)
    asked = benchmark(tmp_path, f"sample: {{tasks: 4, seed: 1}}\n{against()}")
    _, loaded = load(asked)
    agent = one(asked, frames={"agent": loaded.frame})
    assert agent.drift.expected == 4
    assert agent.drift.lost == ()


def test_lost_and_new_tasks_are_counted(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1], [1]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    agent = one(benchmark(tmp_path, against()))
    assert agent.drift.expected == 3
    assert agent.drift.lost == ("t2",)
    assert agent.drift.new == ()


def test_tasks_that_flip_are_those_that_change_sides_whole(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1], [0, 0], [1, 1], [1, 0]])
    write_rows(tmp_path, "new.jsonl", [[0, 0], [1, 1], [1, 0], [1, 0]])
    flips = one(benchmark(tmp_path, against())).flips
    assert flips.broken == ("t0",)
    assert flips.mended == ("t1",)
    assert flips.tasks == 4


def test_the_rollouts_of_a_task_are_told_of_both_sides(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1, 1], [1, 1, 1]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    assert one(benchmark(tmp_path, against())).rollouts == (3, 1)


def change_of(kind, **changed):
    entry = f"{kind} x"
    return MeasurementChange(
        kind=kind, entry=entry, key="k", before="1", now="2", **changed
    )


def test_a_metric_whose_scorer_changed_is_not_compared(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[0]])
    change = change_of(MeasuredBy.SCORER, scores=("reward",))
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    agent = one(asked, measurement_changes=(change,))
    (check,) = agent.judgeable
    assert check.verdict is Verdict.INCONCLUSIVE
    assert only_reason(check) == MeasurementChanged("mean_reward", changes=(change,))
    assert check.acceptance is Acceptance.OTHER_RUN
    assert agent.flips is None


def test_a_metric_of_another_score_is_compared_all_the_same(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[0]])
    change = change_of(MeasuredBy.SCORER, scores=("other",))
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    (gated,) = one(asked, measurement_changes=(change,)).judgeable
    assert isinstance(gated, Gated)


def test_a_sum_over_another_number_of_rollouts_is_not_compared(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]])
    write_rows(tmp_path, "new.jsonl", [[1]])
    (check,) = one(benchmark(tmp_path, f"metrics: [sum/reward]\n{against()}")).judgeable
    assert only_reason(check) == UnequalSums("sum/reward", "reward", before=2, now=1)


def test_runs_of_the_reference_that_hold_other_tasks_cant_be_compared(tmp_path):
    write_rows(tmp_path, "old1.jsonl", [[1], [1]])
    write_rows(tmp_path, "old2.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    runs = "[[old1.jsonl], [old2.jsonl]]"
    keys = "metrics: [mean_reward]\n" + against(name=runs)
    (check,) = one(benchmark(tmp_path, keys)).judgeable
    assert only_reason(check) == NotComparable(
        "mean_reward", words="its runs hold 2, 1 of the 2 compared tasks"
    )
    assert check.value == 1


def test_several_runs_are_paired_one_by_one_for_the_noise_between_them(tmp_path):
    write_rows(tmp_path, "old1.jsonl", [[1], [1]])
    write_rows(tmp_path, "old2.jsonl", [[1], [0]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    runs = "[[old1.jsonl], [old2.jsonl]]"
    keys = "metrics: [mean_reward]\n" + against(name=runs)
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    assert gated.compared.runs.values == (1, 0.5)
    assert gated.compared.pair.value_baseline == 0.75


def test_runs_of_which_rewards_are_missing_are_compared_over_the_tasks_of_all(tmp_path):
    write_rows(tmp_path, "old1.jsonl", [[1], [1], [0], [1]])
    write_rows(tmp_path, "old2.jsonl", [[None], [1], [0], [0]])
    write_rows(tmp_path, "new.jsonl", [[1], [1], [1], [1]])
    runs = "[[old1.jsonl], [old2.jsonl]]"
    expect = "expect: {missing_reward: exclude, max_missing: 50%}\n"
    keys = f"metrics: [mean_reward]\n{expect}{against(name=runs)}"
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    # of three tasks that both runs have a reward of: two, and one, passed
    assert gated.compared.runs.values == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert len(gated.compared.pair.tasks) == 4


def test_runs_that_lack_tasks_are_compared_where_the_file_allows_it(tmp_path):
    write_rows(tmp_path, "old1.jsonl", [[1], [1], [0], [1]])
    write_rows(tmp_path, "old2.jsonl", [[1], [1], [0]])
    write_rows(tmp_path, "new.jsonl", [[1], [1], [1], [1]])
    runs = "[[old1.jsonl], [old2.jsonl]]"
    keys = "metrics: [mean_reward]\n" + against(name=runs, rest=", min_coverage: 70%")
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    assert gated.compared.runs.values == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_a_reference_of_numbers_too_large_to_square_cant_be_compared(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1e200], [2e200]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    keys = f"metrics: [mean_reward]\n{against(rest=', direction: higher')}"
    (check,) = one(benchmark(tmp_path, keys)).judgeable
    assert only_reason(check) == NotComparable(
        "mean_reward",
        words=(
            "a value of 2e+200 is too large to compare: look for a broken number in its "
            "rollouts"
        ),
    )


def test_a_drop_of_a_rate_by_one_or_more_can_never_fail(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]])
    write_rows(tmp_path, "new.jsonl", [[0]])
    keys = f"metrics: [mean_reward]\n{against(rest=', rule: absolute, max_drop: 5')}"
    (check,) = one(benchmark(tmp_path, keys)).judgeable
    assert only_reason(check) == CannotFail(
        metric="mean_reward",
        key="max_drop",
        drop=5,
        is_rate=True,
        baseline=1,
        worst=0,
        largest=1,
    )


def test_a_drop_below_the_worst_value_can_never_fail(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] + [[0]] * 9)
    write_rows(tmp_path, "new.jsonl", [[0]] * 10)
    keys = f"metrics: [pass@1]\n{against(rest=', rule: absolute, max_drop: 0.2')}"
    (check,) = one(benchmark(tmp_path, keys)).judgeable
    reason = only_reason(check)
    assert reason.is_rate is False
    assert reason.largest == 0.1


def test_a_relative_drop_is_a_share_of_the_baseline_s_value(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] + [[0]] * 9)
    write_rows(tmp_path, "new.jsonl", [[0]] * 10)
    keys = f"metrics: [pass@1]\n{against(rest=', rule: relative, max_drop: 0.5')}"
    # from .1 to .05, where the same number as an absolute drop could never fail
    (gated,) = one(benchmark(tmp_path, keys)).judgeable
    assert not isinstance(gated, Check)


def test_tasks_whose_ids_are_positions_are_noted_once_an_agent(tmp_path):
    rows = '{"_ng_task_index": 0, "reward": 1}\n'
    for name in ("old.jsonl", "new.jsonl"):
        (tmp_path / name).write_text(rows)
    text = """benchmark:
  name: math
  rollouts: new.jsonl
  baseline: {rollouts: old.jsonl}
"""
    path = tmp_path / "math.bench.yaml"
    path.write_text(text)
    from pytest_evalmetrics.config import load_benchmarks

    (asked,) = load_benchmarks(path, shown="math.bench.yaml")
    terms, agents = compared(asked)
    (note,) = note_texts(pairing_notes(terms, agents))
    assert note.startswith("tasks are paired by position alone")


def test_stated_noise_between_runs_belongs_to_each_metric(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1], [0, 1]])
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    keys = "metrics: [mean_reward, pass@1]\n" + against(
        rest=", run_noise: 1%, metrics: {pass@1: {run_noise: 2%}}"
    )
    agent = one(benchmark(tmp_path, keys))
    stated = [gated.compared.run_noise for gated in agent.judgeable]
    assert stated == [0.01, 0.02]


def test_rollouts_over_a_reference_share_its_error(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    write_rows(tmp_path, "pinned.jsonl", [[1], [0]])
    keys = (
        f"reference: {{rollouts: {{path: pinned.jsonl, fields: {FIELDS}}}}}\n"
        "metrics: [mean_reward, mean_reward/over_reference]"
    )
    _, loaded = load(benchmark(tmp_path, keys))
    table = loaded.table
    itself = Pairing(loaded.plan, table, table, table.counts)
    plain = comparison_input(loaded.benchmark, "mean_reward", itself)
    over = comparison_input(loaded.benchmark, "mean_reward/over_reference", itself)
    assert not plain.shares_error
    assert over.shares_error


def test_a_comparison_keeps_the_pairs_of_tasks(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [0]])
    write_rows(tmp_path, "new.jsonl", [[1], [1]])
    pairing = one(benchmark(tmp_path, against())).pairing
    assert list(pairing.baseline.tasks) == ["t0", "t1"]


def notes_of_runs(folder, runs, keys=""):
    """Compare with so many earlier runs, and return the notes about them."""
    names = [f"old{number}.jsonl" for number in range(runs)]
    for name in (*names, "new.jsonl"):
        write_rows(folder, name, [[1], [0]] * 10)
    paths = ", ".join(f"[{name}]" for name in names)
    sides = f"{{path: [{paths}], fields: {FIELDS}}}"
    asked = benchmark(folder, f"baseline: {{rollouts: {sides}{keys}}}")
    terms, agents = compared(asked)
    notes = note_texts(pairing_notes(terms, agents))
    return [note for note in notes if "between runs" in note]


def test_two_runs_are_noted_to_find_only_large_drops(tmp_path):
    (note,) = notes_of_runs(tmp_path, 2)
    assert note.startswith("the baseline has 2 runs, which show little of the noise")


def test_five_runs_are_enough_to_be_silent(tmp_path):
    assert notes_of_runs(tmp_path, 5) == []


def test_where_the_noise_between_runs_is_declared_two_runs_are_enough(tmp_path):
    assert notes_of_runs(tmp_path, 2, ", run_noise: 1%") == []


def test_the_most_rollouts_of_a_task_are_counted_on_both_sides(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1, 0, 1]])
    write_rows(tmp_path, "new.jsonl", [[1, 1], [0]])
    asked = benchmark(tmp_path, f"expect: {{rollouts: any}}\n{against()}")
    assert one(asked).rollouts == (3, 2)


def test_a_reference_whose_tasks_are_all_in_quarantine_has_no_rollouts(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1]])
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    asked = benchmark(tmp_path, against())
    assert one(asked, quarantined=frozenset({"t0", "t1"})).rollouts == (0, 1)


# -- where the noise between runs is taken from ----------------------------------------------


def noise_notes(folder, elsewhere):
    """Compare with one earlier run beside what else says how far runs scatter."""
    write_rows(folder, "old.jsonl", [[1, 0], [0, 0], [1, 1]] * 8)
    write_rows(folder, "new.jsonl", [[0, 1], [0, 1], [1, 0]] * 8)
    terms, agents = compared(benchmark(folder, against()), elsewhere=elsewhere)
    return list(pairing_notes(terms, agents))


def test_noise_of_other_benchmarks_is_noted_with_their_number(tmp_path):
    noisy = RunScatter(df=9, variance=0.04**2, se=0.01)
    notes = noise_notes(tmp_path, NoiseElsewhere(neighbours=(noisy, noisy)))
    assert notes == [RunNoiseOfNeighbours(2)]


def test_noise_of_earlier_runs_is_noted(tmp_path):
    past = [
        HistoryRun(
            schema_version=1,
            benchmark="math",
            time="2026-11-02T08:00:00Z",
            commit=None,
            branch=None,
            url=None,
            verdict="PASS",
            usable=True,
            starts=False,
            agents={"agent": {"mean_reward": HistoryPoint(value, 24, 48)}},
        )
        for value in (0.5, 0.55, 0.48, 0.52, 0.47, 0.53, 0.5, 0.56)
    ]
    assert noise_notes(tmp_path, NoiseElsewhere(past=tuple(past))) == [
        RunNoiseOfHistory()
    ]


def test_without_any_noise_nothing_is_noted(tmp_path):
    assert noise_notes(tmp_path, NoiseElsewhere()) == []


# -- slices ----------------------------------------------------------------------------------


def slices_of(folder, metrics, before, now):
    """Cut the tasks of two runs by their topic."""
    topic = [f"c{task % 2}" for task in range(len(before))]
    write_rows(folder, "old.jsonl", before, topic=topic)
    write_rows(folder, "new.jsonl", now, topic=topic)
    keys = f"metrics: [{metrics}]\nbreakdown: [topic]\n{against()}"
    return one(benchmark(folder, keys)).slices


HALVES = ([[1, 0], [0.5, 0]] * 8, [[0, 1], [0.5, 1]] * 8)


def test_a_mean_is_cut_into_the_values_of_a_field(tmp_path):
    slices = slices_of(tmp_path, "mean_reward", *HALVES)
    assert [one.value for one in slices.slices] == ["c0", "c1"]
    assert slices.line == 5


def test_beside_a_median_the_mean_of_the_reward_is_cut(tmp_path):
    slices = slices_of(tmp_path, "median", *HALVES)
    assert {one.whole.pair.name for one in slices.slices} == {"mean_reward"}


def test_a_rule_without_a_test_cuts_nothing(tmp_path):
    topic = [f"c{task % 2}" for task in range(16)]
    for name, rewards in zip(("old.jsonl", "new.jsonl"), HALVES, strict=True):
        write_rows(tmp_path, name, rewards, topic=topic)
    rule = against(rest=", rule: absolute, max_drop: 0.1")
    keys = f"metrics: [mean_reward]\nbreakdown: [topic]\n{rule}"
    assert one(benchmark(tmp_path, keys)).slices is None


def test_a_task_of_several_values_belongs_to_no_slice(tmp_path):
    rows = []
    for task in range(16):
        for sample in range(2):
            topic = f"c{task % 2}" if task else f"c{sample}"
            row = {"agent": "agent", "task": f"t{task}", "sample": sample}
            rows.append(json.dumps(row | {"topic": topic, "reward": sample}) + "\n")
    for name in ("old.jsonl", "new.jsonl"):
        (tmp_path / name).write_text("".join(rows))
    keys = f"metrics: [mean_reward]\nbreakdown: [topic]\n{against()}"
    slices = one(benchmark(tmp_path, keys)).slices.slices
    assert [len(one.compared.pair.tasks) for one in slices] == [7, 8]
