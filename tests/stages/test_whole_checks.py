"""Checks of the stages, whole: gate, name, verdict, agent, line, reasons, acceptance."""

from stages.making import FIELDS, against, benchmark, given, load, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.history import Anchors
from pytest_evalmetrics.model.bounds import CoverageBound, MostBound
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.reasons import (
    BrokenTasks,
    Failed,
    InvalidKey,
    LostAgent,
    MeasuredBy,
    MeasurementChange,
    MeasurementChanged,
    NoBaseline,
    UnknownAgent,
    UnknownDirection,
    ValueChanged,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.pipeline.comparing import (
    ComparisonTerms,
    compare_agents,
    reference_notes,
)
from pytest_evalmetrics.pipeline.reducing import Hooks, reduce_agents
from pytest_evalmetrics.pipeline.references import Reference
from pytest_evalmetrics.reports.sentences.notes import note_texts


def checks_of(asked, **settings):
    return evaluate(given(asked, **settings)).result.checks


def named(checks, name):
    (check,) = [check for check in checks if check.name == name]
    return check


# -- what there is to compare with


def test_a_missing_baseline_is_one_check_at_the_line_of_the_key(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    check = named(checks_of(benchmark(tmp_path, "baseline: true")), "baseline")
    assert check == Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(NoBaseline(),),
        line=4,
        acceptance=Acceptance.SNAPSHOT,
    )


def test_a_history_without_a_run_that_counts_is_named(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    (tmp_path / "history.jsonl").write_text("")
    asked = benchmark(tmp_path, "baseline: {history: 3}")
    check = named(checks_of(asked, history=tmp_path / "history.jsonl"), "baseline")
    assert check.reasons == (NoBaseline(is_history=True),)
    assert check.acceptance is Acceptance.HISTORY


def test_a_history_that_nobody_named_is_an_error_at_its_key(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    check = named(
        checks_of(benchmark(tmp_path, "baseline: {history: 3}")), "evaluation"
    )
    assert check.gate is Gate.DATA
    assert check.line == 4
    assert check.reasons[0].words.startswith("history: 3 needs a history")
    assert check.reasons[0].hint.startswith("name it: --evalmetrics-history FILE")


def test_an_error_of_another_file_names_that_file_and_no_line_of_the_benchmarks(
    tmp_path,
):
    write_rows(tmp_path, "new.jsonl", [[1]])
    (tmp_path / "old.jsonl").write_text("{\n")
    check = named(checks_of(benchmark(tmp_path, against())), "evaluation")
    assert check.line is None
    assert isinstance(check.reasons[0], Failed)
    assert check.reasons[0].words.startswith("old.jsonl:1: ")


def test_an_undeclared_direction_is_an_invalid_key_with_its_metrics(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]], blocked=[0.9])
    write_rows(tmp_path, "new.jsonl", [[1]], blocked=[0.2])
    keys = f"metrics: [mean/blocked]\n{against()}"
    (check,) = checks_of(benchmark(tmp_path, keys))
    assert check.gate is Gate.DATA
    assert check.name == "evaluation"
    assert check.verdict is Verdict.INCONCLUSIVE
    (reason,) = check.reasons
    assert isinstance(reason, InvalidKey)
    assert reason.undeclared == ("mean/blocked",)
    assert reason.path.endswith("baseline")
    assert "direction: higher" in reason.words


# -- agents and tasks


def test_an_unknown_agent_is_a_whole_check(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    checks = checks_of(benchmark(tmp_path, against()))
    assert named(checks, "agent") == Check(
        gate=Gate.BASELINE,
        name="agent",
        verdict=Verdict.INCONCLUSIVE,
        agent="b",
        reasons=(UnknownAgent("b", known=("a",)),),
        line=4,
        acceptance=Acceptance.OTHER_RUN,
    )


def test_a_lost_agent_is_a_whole_check(tmp_path):
    for agent in ("a", "b"):
        write_rows(tmp_path, "old.jsonl", [[1]], agent=agent)
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    checks = checks_of(benchmark(tmp_path, against()))
    assert named(checks, "agent") == Check(
        gate=Gate.BASELINE,
        name="agent",
        verdict=Verdict.INCONCLUSIVE,
        agent="b",
        reasons=(LostAgent("b"),),
        line=4,
        acceptance=Acceptance.OTHER_RUN,
    )


def test_a_lost_task_is_told_with_its_agent_line_and_acceptance(tmp_path):
    for agent in ("a", "b"):
        write_rows(tmp_path, "old.jsonl", [[1], [1]], agent=agent)
    write_rows(tmp_path, "new.jsonl", [[1], [1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    check = named(checks_of(benchmark(tmp_path, against())), "tasks")
    assert check.agent == "b"
    assert check.line == 4
    assert check.bound == CoverageBound(least=1.0, of=2)
    assert check.acceptance is Acceptance.OTHER_RUN
    assert check.reasons[0].reward == "reward"


def test_broken_tasks_are_a_whole_check(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 4)
    write_rows(tmp_path, "new.jsonl", [[0]] + [[1]] * 3)
    asked = benchmark(tmp_path, against(rest=", max_broken: 0"))
    assert named(checks_of(asked), "max_broken") == Check(
        gate=Gate.BASELINE,
        name="max_broken",
        verdict=Verdict.FAIL,
        value=1,
        bound=MostBound(0),
        reasons=(BrokenTasks(tasks=("t0",), count=1),),
        line=4,
        acceptance=Acceptance.OTHER_RUN,
    )


# -- numbers of a history


def history_run(value, tasks=2, **changed):
    point = HistoryPoint(value=value, tasks=tasks, rollouts=tasks)
    run = HistoryRun(
        schema_version=1,
        benchmark="math.bench.yaml::math",
        time="2026-01-02T03:04:05Z",
        commit="1a2b3c4d",
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={"agent": {"mean_reward": point}},
    )
    return HistoryRun(
        **({name: getattr(run, name) for name in run.__struct_fields__} | changed)
    )


def compared_with_history(tmp_path, runs, rule="absolute", **changed):
    """Hold the mean of two tasks against the best of a history's runs."""
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    keys = f"metrics: [mean_reward]\nbaseline: {{against: best, rule: {rule}, max_drop: 0.1}}"
    rows, loaded = load(benchmark(tmp_path, keys))
    reduced = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    reference = Reference(
        acceptance=Acceptance.HISTORY,
        anchors=Anchors("best", runs, "history.jsonl", 1.0),
    )
    terms = ComparisonTerms(
        benchmark=loaded.benchmark, plan=loaded.plan, reference=reference, **changed
    )
    (agent,) = compare_agents(terms, reduced.gated)
    (check,) = agent.judgeable
    return check


def test_a_metric_below_the_best_run_fails_and_names_that_run(tmp_path):
    check = compared_with_history(tmp_path, [history_run(0.7), history_run(0.8)])
    assert (check.gate, check.name) == (Gate.BASELINE, "mean_reward")
    assert (check.verdict, check.value) == (Verdict.FAIL, 0.5)
    best = "the best of 2 runs, of 2026-01-02 (1a2b3c4)"
    assert check.reasons == (
        ValueChanged("mean_reward", before=0.8, now=0.5, against=best),
    )


def test_a_check_against_a_history_says_what_it_was_compared_with(tmp_path):
    check = compared_with_history(tmp_path, [history_run(0.7), history_run(0.8)])
    facts = check.comparison
    assert (facts.against, facts.runs) == ("best", 2)
    assert facts.anchor == "the best of 2 runs, of 2026-01-02 (1a2b3c4)"


def test_a_check_against_a_history_is_accepted_there_and_has_the_metrics_line(tmp_path):
    check = compared_with_history(tmp_path, [history_run(0.8)])
    assert check.acceptance is Acceptance.HISTORY
    assert check.line == 5


def test_a_metric_near_the_best_run_passes(tmp_path):
    check = compared_with_history(tmp_path, [history_run(0.55)])
    assert check.verdict is Verdict.PASS
    assert check.reasons == ()


def test_a_run_over_other_tasks_is_no_anchor(tmp_path):
    check = compared_with_history(tmp_path, [history_run(0.9, tasks=5)])
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.comparison.runs == 0
    assert "another number of tasks" in check.reasons[0].words


def test_a_metric_that_is_measured_otherwise_is_not_held_against_a_history(tmp_path):
    change = MeasurementChange(
        kind=MeasuredBy.SCORER, entry="scorer x", key="k", before="1", now="2"
    )
    check = compared_with_history(
        tmp_path, [history_run(0.9)], measurement_changes=(change,)
    )
    assert check.reasons == (MeasurementChanged("mean_reward", changes=(change,)),)


# -- a pinned reference


def test_a_pinned_system_whose_mean_changed_is_a_note(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    write_rows(tmp_path, "pinned.jsonl", [[1], [1]])
    keys = (
        f"reference: {{rollouts: {{path: pinned.jsonl, fields: {FIELDS}}}}}\n"
        "metrics: [mean_reward, mean/reference, mean/over_reference]"
    )
    rows, loaded = load(benchmark(tmp_path, keys))
    assert loaded.table.scores["over_reference"].tolist() == [0, -1]
    reduced = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    reference = Reference(
        runs={"agent": [loaded.table]}, values={"agent": {"mean/reference": 0.5}}
    )
    terms = ComparisonTerms(
        benchmark=loaded.benchmark, plan=loaded.plan, reference=reference
    )
    assert list(note_texts(reference_notes(terms, reduced.gated))) == [
        (
            "the mean reward of the reference was 0.5, and is 1: over_reference is free "
            "of what shifts both"
        )
    ]


def test_a_gain_is_a_note_with_both_values(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[0]] * 40)
    write_rows(tmp_path, "new.jsonl", [[1]] * 40)
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    notes = note_texts(evaluate(given(asked)).result.notes)
    assert "better than the baseline: mean_reward went from 0 to 1" in notes


def test_what_to_add_to_a_file_that_gates_nothing_is_said(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    notes = note_texts(evaluate(given(benchmark(tmp_path))).result.notes)
    (note,) = [note for note in notes if note.startswith("nothing is gated")]
    assert "add `thresholds:`" in note


def test_a_rollout_that_a_task_should_have_is_counted_as_absent(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 1], [1]])
    outcome = evaluate(given(benchmark(tmp_path, "num_samples: 2")))
    (missing,) = [c for c in outcome.result.checks if c.name == "missing"]
    assert missing.reasons[0].absent == 1


# -- numbers of hooks


def held_against_history(tmp_path, keys):
    """Hold a number of a hook, 4 now and 3 before, against a history."""
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    rows, loaded = load(benchmark(tmp_path, keys))
    hooks = Hooks(
        compute_metrics=lambda agent, tasks: [{"turns": 4.0}]  # noqa: ARG005 - the hook's
    )
    reduced = reduce_agents(
        loaded, rows, hooks, quarantined=frozenset(), names_tasks=False
    )
    assert reduced.error is None
    point = HistoryPoint(value=3.0, tasks=2, rollouts=2)
    run = history_run(0.5, agents={"agent": {"turns": point}})
    reference = Reference(
        acceptance=Acceptance.HISTORY,
        anchors=Anchors("best", [run], "history.jsonl", 1.0),
    )
    terms = ComparisonTerms(
        benchmark=loaded.benchmark, plan=loaded.plan, reference=reference
    )
    (agent,) = compare_agents(terms, reduced.gated)
    return named(agent.judgeable, "turns")


def test_a_hooks_number_of_unknown_direction_is_not_judged(tmp_path):
    keys = "key_metrics: [turns]\nbaseline: {against: best, rule: exact}"
    check = held_against_history(tmp_path, keys)
    assert check == Check(
        gate=Gate.BASELINE,
        name="turns",
        verdict=Verdict.INCONCLUSIVE,
        value=4.0,
        reasons=(UnknownDirection("turns", score="", by_hook=True),),
        estimate=check.estimate,
        line=5,
        acceptance=Acceptance.HISTORY,
    )


def test_a_hooks_number_of_declared_direction_is_judged_at_its_own_line(tmp_path):
    keys = (
        "key_metrics: [turns]\n"
        "baseline:\n"
        "  against: best\n"
        "  rule: exact\n"
        "  metrics:\n"
        "    turns: {direction: lower}"
    )
    check = held_against_history(tmp_path, keys)
    assert check.verdict is Verdict.FAIL
    assert check.line == 9
    assert check.comparison.baseline == 3.0
