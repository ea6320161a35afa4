"""The mean of a judge's rewards, corrected by people's labels of some."""

import pytest
from evaluated import evaluated


def rows(project, labelled, name="runs.jsonl", tasks=400):
    """Write rollouts whose judge is too kind to one in five; return the mean of all labels."""
    human = [float(t % 10 < 6) for t in range(tasks)]
    judge = [max(y, float(t % 5 == 4)) for t, y in enumerate(human)]
    lines = []
    for t, (y, f) in enumerate(zip(human, judge, strict=True)):
        line = {"_ng_task_index": t, "_ng_rollout_index": 0, "reward": f}
        lines.append(line | ({"human": y} if t * 7 % tasks < labelled else {}))
    project.rows(name, lines)
    return sum(human) / tasks


def test_a_judge_that_is_too_kind_is_corrected(project):
    truth = rows(project, 100)
    project.bench(
        "labels: human\nmetrics: [mean_reward]\nexpect: {tasks: 400}\n"
        "thresholds: {mean_reward: '>= 0.65', ppi/mean_reward: {min: 0.65, bound: point}}"
    )
    assert not evaluated(project).passed
    (entry,) = project.report()["benchmarks"]
    estimate = entry["agents"][0]["estimates"]["ppi/mean_reward"]
    assert estimate["value"] == pytest.approx(truth, abs=0.02)
    assert estimate["interval"]["low"] < truth < estimate["interval"]["high"]
    verdicts = {check["name"]: check["verdict"] for check in entry["checks"]}
    assert (verdicts["mean_reward"], verdicts["ppi/mean_reward"]) == ("PASS", "FAIL")
    assert any(
        "corrected by people's labels of 100 rollouts" in note
        for note in entry["notes"]
    )
    whole = estimate["interval"]
    # from a file of its own, and one end of the interval
    rows(project, 100, "labels.jsonl")
    project.bench(
        "labels: {rows: labels.jsonl, label: human}\nmetrics: [mean_reward]\nbaseline: true\n"
        "expect: {tasks: 400}\nthresholds: {ppi/mean_reward: {min: 0.5, bound: lower}}"
    )
    assert evaluated(project, updates=True).passed
    (entry,) = project.report()["benchmarks"]
    assert entry["agents"][0]["estimates"]["ppi/mean_reward"]["interval"] == whole


REFUSED = {
    "few": ("labels: human", "20 labelled tasks are too few: 30 are needed*"),
    "unknown": ("labels: nobody", "*nobody*"),
    "none": ("", "*it needs labels*"),
}


def test_labels_that_correct_nothing_are_refused(project):
    rows(project, 20)
    for name, (text, _) in REFUSED.items():
        project.bench(
            f"{text}\nthresholds: {{ppi/mean_reward: '>= 0.1'}}", f"{name}.bench.yaml"
        )
    result = project.run("--continue-on-collection-errors")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    report = project.report()  # whose JSON has no NaN
    assert [entry["verdict"] for entry in report["benchmarks"]] == ["INCONCLUSIVE"] * 2
    assert report["not_evaluated"] == ["none.bench.yaml"]
    for name, (_, message) in REFUSED.items():
        result.stdout.fnmatch_lines([f"*{name}.bench.yaml:*{message}"])
