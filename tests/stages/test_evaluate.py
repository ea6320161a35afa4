"""The stages in order: what an evaluation keeps, and what an error leaves of it."""

import json

import msgspec
from stages.making import against, benchmark, given, load, write_rows

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.changes import RolloutsOfTasks
from pytest_evalmetrics.model.comparison import TaskGroup
from pytest_evalmetrics.model.gate_notes import BetterThanBaseline
from pytest_evalmetrics.model.reasons import Failed, FirstRun, NoBaseline
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.pipeline.reducing import Hooks
from pytest_evalmetrics.reports.sentences.notes import note_texts


class Snapshot:
    """A committed baseline, or none."""

    def __init__(self, text=None, former=""):
        self._text, self._former = text, former

    def read(self):
        return None if self._text is None else (self._text, "math.json")

    def renamed_from(self):
        return self._former

    def read_rows(self):
        return None


def evaluated(asked, **settings):
    return evaluate(given(asked, **settings))


def only(checks, gate):
    (check,) = [check for check in checks if check.gate is gate]
    return check


def test_what_cant_be_read_is_inconclusive_with_the_errors_words(tmp_path):
    result = evaluated(benchmark(tmp_path)).result
    check = only(result.checks, Gate.DATA)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert isinstance(check.reasons[0], Failed)
    assert check.line == 3


def test_an_agent_that_cant_be_reduced_is_told_after_the_checks_of_the_others(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    keys = "metrics: [pass@2]\nthresholds: {pass@2: '>= 0.5'}"
    result = evaluated(benchmark(tmp_path, keys)).result
    assert [agent.agent for agent in result.agents] == ["a"]
    assert only(result.checks, Gate.THRESHOLD).agent == "a"
    assert result.checks[-1].gate is Gate.DATA


def test_without_a_baseline_the_run_says_how_to_record_one(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline: true")
    result = evaluated(asked, baseline=Snapshot(former="maths")).result
    check = only(result.checks, Gate.BASELINE)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.reasons == (NoBaseline(renamed_from="maths"),)


def test_a_run_that_records_needs_no_baseline(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline: true")
    outcome = evaluated(asked, baseline=Snapshot(), updates=True)
    assert outcome.result.verdict is Verdict.PASS
    assert outcome.baseline.agents.keys() == {"agent"}


def test_a_broken_baseline_is_replaced_and_not_compared_with(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline: true")
    broken = Snapshot(text="{")
    assert evaluated(asked, baseline=broken, updates=True).result.passed
    assert not evaluated(asked, baseline=broken).result.passed


def test_the_first_run_against_a_report_only_warns(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline:\n  report: main.json")
    check = only(evaluated(asked, first_run=True).result.checks, Gate.BASELINE)
    assert check == Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.WARN,
        reasons=(FirstRun("main.json"),),
        line=5,
        acceptance=Acceptance.REPORT,
    )


def test_a_later_run_needs_the_report(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline: {report: main.json}")
    assert not evaluated(asked).result.passed


def history_of(folder, values):
    """Write a history of runs with these means of 100 tasks."""
    point = {"tasks": 100, "rollouts": 100, "se": 0.01}
    lines = [
        {
            "schema_version": 1,
            "benchmark": "math.bench.yaml::math",
            "time": f"2026-01-{day:02}T00:00:00Z",
            "commit": f"{day:040x}",
            "branch": None,
            "url": None,
            "verdict": "PASS",
            "usable": True,
            "starts": False,
            "agents": {"agent": {"mean_reward": {"value": value, **point}}},
        }
        for day, value in enumerate(values, start=1)
    ]
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# a step from .9 to .5, with a little noise
FALLING = [(0.9 if run < 12 else 0.5) + 0.01 * (-1) ** run for run in range(20)]


def test_a_drift_over_the_history_fails_where_the_file_asks_for_it(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 50 + [[0]] * 50)
    keys = "metrics: [mean_reward]\nbaseline: {against: best, rule: absolute, max_drop: 0.5, drift: fail}"
    history = history_of(tmp_path, FALLING)
    checks = evaluated(benchmark(tmp_path, keys), history=history).result.checks
    assert [check.name for check in checks if check.verdict is Verdict.FAIL] == [
        "drift"
    ]


def test_a_run_that_records_does_not_fail_by_a_drift(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 50 + [[0]] * 50)
    keys = "metrics: [mean_reward]\nbaseline: {against: best, rule: absolute, max_drop: 0.5, drift: fail}"
    history = history_of(tmp_path, FALLING)
    checks = evaluated(
        benchmark(tmp_path, keys), history=history, updates=True
    ).result.checks
    assert "drift" not in [check.name for check in checks]


def test_what_was_noted_while_reading_is_told_where_the_rest_fails(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 1]])
    keys = "metrics: [pass@5]\nthresholds: {pass@5: '>= 0.5'}"
    result = evaluated(benchmark(tmp_path, keys)).result
    assert result.verdict is Verdict.INCONCLUSIVE
    assert any("completeness is unchecked" in note for note in note_texts(result.notes))


def test_a_task_outside_of_the_sample_is_a_known_name(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 30)
    keys = "sample: {tasks: 5}\nmust_pass: ['t*']"
    result = evaluated(benchmark(tmp_path, keys)).result
    names = {check.name for check in result.checks if check.verdict.fails}
    assert names == set()


def test_an_incomplete_run_leaves_no_baseline(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [None]])
    outcome = evaluated(
        benchmark(tmp_path, "baseline: true"), baseline=Snapshot(), updates=True
    )
    assert outcome.baseline is None


def test_a_baseline_counts_tasks_and_rollouts_and_names_its_files(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 1], [1, 1]])
    asked = benchmark(tmp_path, "metrics: [mean_reward]\nbaseline: true")
    outcome = evaluated(asked, baseline=Snapshot(), updates=True)
    provenance = outcome.baseline.provenance
    assert provenance.tasks == 2
    assert provenance.rollouts == 4
    assert [file["path"] for file in provenance.files] == ["new.jsonl"]
    assert provenance.gates == {"metrics": ["mean_reward"], "thresholds": {}}


def test_another_number_of_rollouts_is_a_remark(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]])
    write_rows(tmp_path, "new.jsonl", [[1]])
    result = evaluated(benchmark(tmp_path, against())).result
    assert result.changes == (RolloutsOfTasks(before=2, now=1),)


def test_tasks_that_flipped_are_a_remark(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1], [1]])
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    (change,) = evaluated(benchmark(tmp_path, against())).result.changes
    assert change.broken == TaskGroup(1, ("t1",))
    assert change.mended.count == 0


def test_a_benchmark_that_gates_nothing_says_so(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    notes = note_texts(evaluated(benchmark(tmp_path)).result.notes)
    assert any(note.startswith("nothing is gated") for note in notes)


def test_a_benchmark_that_passes_is_pictured_only_in_detail(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "thresholds: {mean_reward: '>= 0.5'}")
    assert evaluated(asked, detailed=False).pictures == {}
    assert evaluated(asked, detailed=True).pictures.keys() == {"agent"}


def test_a_benchmark_that_fails_is_pictured_anyway(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[0]])
    asked = benchmark(tmp_path, "thresholds: {mean_reward: '>= 0.5'}")
    assert evaluated(asked, detailed=False).pictures.keys() == {"agent"}


def test_hooks_that_measure_are_part_of_what_the_baseline_keeps(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path, "baseline: true")
    hooks = Hooks(compute_metrics=lambda **_: [], source="abc")
    ruler = evaluated(
        asked, baseline=Snapshot(), updates=True, hooks=hooks
    ).result.ruler
    assert ruler["hook compute_metrics"] == {"source": "abc"}


def test_a_result_is_the_same_after_it_crossed_a_process(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 10)
    write_rows(tmp_path, "new.jsonl", [[0]] * 9)
    result = evaluated(benchmark(tmp_path, against())).result
    agents = tuple(msgspec.structs.replace(a, aggregate={}) for a in result.agents)
    result = msgspec.structs.replace(result, agents=agents)
    builtins = msgspec.to_builtins(result)
    assert msgspec.convert(builtins, BenchmarkResult) == result


def test_a_benchmark_whose_tasks_are_all_in_quarantine_can_not_be_judged(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    entry = "{task: t0, reason: flaky, until: 2999-01-01}"
    result = evaluated(benchmark(tmp_path, f"quarantine: [{entry}]")).result
    check = only(result.checks, Gate.DATA)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert check.reasons[0].words.startswith("every task is in quarantine")


def recorded_snapshot(folder, **provenance):
    """Record the rollouts of a benchmark as its baseline."""
    asked = benchmark(folder, "metrics: [mean_reward]\nbaseline: true")
    baseline = evaluated(asked, baseline=Snapshot(), updates=True).baseline
    provenance = msgspec.structs.replace(baseline.provenance, **provenance)
    baseline = msgspec.structs.replace(baseline, provenance=provenance)
    return asked, Snapshot(text=render(stamped(baseline)))


def test_when_and_why_its_baseline_was_recorded_is_kept(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0]] * 10)
    asked, snapshot = recorded_snapshot(
        tmp_path, recorded="2026-05-04T10:00:00Z", reason="a shorter prompt"
    )
    outcome = evaluated(asked, baseline=snapshot)
    assert outcome.recorded == "2026-05-04T10:00:00Z"
    assert outcome.reason == "a shorter prompt"


def test_a_baseline_that_does_not_say_when_and_why_has_no_time_and_reason(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0]] * 10)
    asked, snapshot = recorded_snapshot(tmp_path)
    outcome = evaluated(asked, baseline=snapshot)
    assert (outcome.recorded, outcome.reason) == ("", "")


def test_a_result_is_of_the_file_in_its_id_unless_another_is_named(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(tmp_path)
    assert evaluated(asked).result.file == "math.bench.yaml"
    assert evaluated(asked, file="test_it.py").result.file == "test_it.py"


def test_a_benchmark_that_is_expected_to_fail_says_so(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    assert evaluated(benchmark(tmp_path, "xfail: later")).result.xfail
    assert not evaluated(benchmark(tmp_path)).result.xfail


def test_an_advisory_gate_fails_no_run_unless_the_policy_requires_it(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[0]])
    keys = "tier: advisory\nthresholds: {mean_reward: '>= 0.5'}"
    asked = benchmark(tmp_path, keys)
    assert evaluated(asked).result.passed
    assert not evaluated(asked, is_required=True).result.passed


# -- what a comparison is made of ------------------------------------------------------------


def improvements_in(result):
    return [note for note in result.notes if isinstance(note, BetterThanBaseline)]


def test_a_metric_that_is_better_than_another_run_is_noted(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[0, 0]] * 40)
    write_rows(tmp_path, "new.jsonl", [[1, 1]] * 40)
    keys = f"metrics: [mean_reward]\n{against()}"
    (note,) = improvements_in(evaluated(benchmark(tmp_path, keys)).result)
    assert (note.metric, note.before, note.now) == ("mean_reward", 0.0, 1.0)
    assert not note.is_committed


def test_a_metric_that_is_better_than_a_committed_baseline_can_be_accepted(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[0, 0]] * 40)
    asked, snapshot = recorded_snapshot(tmp_path)
    (tmp_path / "new.jsonl").unlink()
    write_rows(tmp_path, "new.jsonl", [[1, 1]] * 40)
    (note,) = improvements_in(evaluated(asked, baseline=snapshot).result)
    assert note.is_committed


def test_a_task_in_quarantine_is_not_compared(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 40)
    write_rows(tmp_path, "new.jsonl", [[0]] + [[1]] * 39)
    keys = f"metrics: [mean_reward]\n{against()}"
    entry = "quarantine: [{task: t0, reason: flaky, until: 2999-01-01}]"
    whole = only(evaluated(benchmark(tmp_path, keys)).result.checks, Gate.BASELINE)
    rest = evaluated(benchmark(tmp_path, f"{keys}\n{entry}")).result.checks
    assert whole.comparison.current == 0.975
    assert only(rest, Gate.BASELINE).comparison.current == 1.0


def test_the_texts_of_a_baseline_are_kept_of_rollouts_in_files_alone(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 3)
    asked = benchmark(tmp_path, "baseline: {answers: true}")
    _, loaded = load(asked)
    recording = {"baseline": Snapshot(), "updates": True}
    assert evaluated(asked, **recording).kept_rows is not None
    assert evaluated(asked, **recording, table=loaded.table).kept_rows is None
