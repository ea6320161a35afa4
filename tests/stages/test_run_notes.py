"""What a run as a whole cannot see, from rows to the sentence that says it."""

from evaluated import evaluated
from stages.making import against, benchmark, given, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.gate_notes import BlindBaseline
from pytest_evalmetrics.model.results import RunReport
from pytest_evalmetrics.model.verdicts import Gate
from pytest_evalmetrics.reports import run_wording
from pytest_evalmetrics.reports.sentences.notes import note_text
from pytest_evalmetrics.reports.summary import summary

HALF = [1, 1, 0, 0]
BLIND = (
    "5 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts of each, "
    "`rule: absolute` or `must_pass`"
)
UNSEEN = "the break of a single task is never seen"


def compared(folder, tasks, rollouts=HALF):
    folder.mkdir(exist_ok=True)
    rows = [rollouts] * tasks
    write_rows(folder, "old.jsonl", rows)
    write_rows(folder, "new.jsonl", rows)
    asked = benchmark(folder, f"metrics: [mean_reward]\n{against()}")
    return evaluate(given(asked)).result


def recorded(folder, tasks):
    write_rows(folder, "new.jsonl", [HALF] * tasks)
    asked = benchmark(folder, "metrics: [mean_reward]\nbaseline: true")
    return evaluate(given(asked, updates=True)).result


def text_of(*results):
    return summary(RunReport(benchmarks=results))


def test_rollouts_that_show_no_single_task_are_told_with_those_that_would(tmp_path):
    text = run_wording.unseen_tasks([compared(tmp_path, 70)])
    assert text == f"{UNSEEN}: 9 rollouts of each are needed on both sides"


def test_of_several_benchmarks_those_are_counted_in_which_no_single_task_is_seen(
    tmp_path,
):
    seen = compared(tmp_path / "seen", 70, HALF * 5)
    unseen = compared(tmp_path / "unseen", 70)
    text = run_wording.unseen_tasks([seen, unseen])
    assert text.startswith(f"{UNSEEN} in 1 benchmark: 9 rollouts")


def test_nothing_is_said_where_single_tasks_are_seen(tmp_path):
    assert run_wording.unseen_tasks([compared(tmp_path, 70, HALF * 5)]) == ""


def test_the_summary_says_that_single_tasks_are_not_seen(tmp_path):
    sentence = f"{UNSEEN}: 9 rollouts of each are needed on both sides."
    assert f"\n\nT{sentence[1:]}\n\n" in text_of(compared(tmp_path, 70))


def test_a_metric_that_no_loss_could_fail_is_told_beside_its_pass(tmp_path):
    (note,) = run_wording.blind_gates([compared(tmp_path, 5)])
    assert note == f"blind: math mean_reward: {BLIND}"


def test_the_summary_names_the_metrics_that_no_loss_could_fail(tmp_path):
    assert f"\n\nBlind: math mean_reward: {BLIND}.\n\n" in text_of(
        compared(tmp_path, 5)
    )


def test_metrics_of_the_same_reason_are_named_together(tmp_path):
    result = compared(tmp_path, 5)
    (note,) = run_wording.blind_gates([result] * 7)
    names = ", ".join(["math mean_reward"] * 5)
    assert note == f"blind: {names} and 2 more: {BLIND}"


def test_a_metric_that_a_loss_can_fail_is_not_named(tmp_path):
    assert list(run_wording.blind_gates([compared(tmp_path, 70)])) == []


def blind_baselines(result):
    return [note for note in result.notes if isinstance(note, BlindBaseline)]


def test_the_run_that_records_says_already_what_its_baseline_will_not_see(tmp_path):
    (note,) = blind_baselines(recorded(tmp_path, 5))
    assert note_text(note) == (
        f"no loss of mean_reward can fail against this baseline: {BLIND}"
    )


def test_the_run_that_records_says_nothing_of_a_baseline_that_sees(tmp_path):
    assert blind_baselines(recorded(tmp_path, 70)) == []


def test_a_run_that_records_for_the_first_time_holds_no_gate_against_anything(
    tmp_path,
):
    checks = recorded(tmp_path, 5).checks
    assert [check for check in checks if check.gate is Gate.BASELINE] == []


def test_a_metric_that_a_run_compares_and_records_is_named_once(project):
    project.rollouts([HALF] * 5)
    project.bench("metrics: [mean_reward]\nbaseline: true")
    assert evaluated(project, updates=True).passed
    result = project.run("--evalmetrics-update")
    result.stdout.fnmatch_lines(["note: blind: math mean_reward: 5 tasks: no drop *"])
    result.stdout.no_fnmatch_line("*no loss of mean_reward*")
