"""--evalmetrics-history: who appends, what is shown of it, and what is held against it."""

import json

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
UPDATE = "--snapshot-update"
PLAIN = "num_samples: 1\nexpect: {tasks: 10}\nmetrics: [pass@1]\n"
BEST = PLAIN + "baseline: {against: best, rule: absolute, max_drop: 0.15}\n"


def lines(quick, name="h.jsonl"):
    return [json.loads(line) for line in (quick.path / name).read_text().splitlines()]


def test_a_run_appends_a_line_per_benchmark(quick, passing, monkeypatch):
    monkeypatch.setenv("CI_COMMIT_SHA", "1a2b3c")
    monkeypatch.setenv("CI_COMMIT_REF_NAME", "main")
    passing(7)
    quick.bench(PLAIN + 'thresholds: {pass@1: ">= 0.5"}')
    quick.bench(PLAIN + 'thresholds: {pass@1: ">= 0.9"}', name="sub/hard.bench.yaml")
    quick.rollouts([[1.0]] * 10, "sub/runs.jsonl")
    assert quick.run(*KEEP).ret == 0
    first, second = lines(quick)
    assert first["benchmark"] == "math.bench.yaml::math"
    assert second["benchmark"] == "sub/hard.bench.yaml::math"
    point = first["agents"]["agent"]["pass@1"]
    assert (point["value"], point["tasks"], point["rollouts"]) == (0.7, 10, 10)
    assert point["low"] < 0.7 < point["high"]
    assert (first["commit"], first["branch"], first["verdict"]) == ("1a2b3c", "main", "PASS")
    assert first["usable"] is True


@pytest.mark.parametrize("args", [("--collect-only",), ("--evalmetrics-plan",), ("-k", "none")])
def test_what_evaluates_nothing_appends_nothing(quick, passing, args):
    passing(7)
    quick.bench(PLAIN + "baseline: true")
    quick.run(*KEEP, *args)
    assert not (quick.path / "h.jsonl").exists()


def test_workers_append_nothing_themselves(quick, passing):
    passing(7)
    quick.write(
        "many.bench.yaml",
        "defaults: {rollouts: runs.jsonl, expect: {tasks: 10}}\nbenchmarks:\n"
        + "".join(f"  - {{name: b{i}}}\n" for i in range(6)),
    )
    quick.write("pytest.ini", "[pytest]\nevalmetrics_history = kept/h.jsonl\n")
    assert quick.run("-n", "1").ret == 0
    assert [line["benchmark"] for line in lines(quick, "kept/h.jsonl")] == [
        f"many.bench.yaml::b{i}" for i in range(6)
    ]
    assert quick.run(*KEEP).ret == 0  # the command line wins
    assert len(lines(quick)) == len(lines(quick, "kept/h.jsonl")) == 6


def test_what_is_known_to_fail_or_not_complete_does_not_count(quick, passing):
    passing(7)
    for text in (
        'xfail: true\nthresholds: {pass@1: ">= 0.9"}',
        'thresholds: {pass@1: ">= 0.9"}',
        "expect: {tasks: 11}",
    ):
        quick.bench(PLAIN.replace("expect: {tasks: 10}\n", "") + text)
        quick.run(*KEEP)
    assert [line["usable"] for line in lines(quick)] == [False] * 3


def test_the_trend_is_in_the_summary_and_in_the_report(quick, passing):
    quick.bench(PLAIN)
    for count in (5, 8, 9):
        passing(count)
        quick.run(*KEEP)
    summary = (quick.path / "evalmetrics/summary.md").read_text()
    assert "| math | pass@1 | ▁▆█ | 0.5000, 0.8000, 0.9000 |" in summary
    runs = quick.report()["history"]["math.bench.yaml::math"]
    assert [run["agents"]["agent"]["pass@1"]["value"] for run in runs] == [0.5, 0.8, 0.9]
    assert runs == lines(quick)
    quick.run()
    assert quick.report()["history"] == {}
    assert "last runs" not in (quick.path / "evalmetrics/summary.md").read_text()


def test_a_broken_line_is_told_and_left_alone(quick, passing):
    passing(7)
    quick.bench(PLAIN)
    quick.run(*KEEP)
    with (quick.path / "h.jsonl").open("a") as file:
        file.write("{half")
    result = quick.run(*KEEP)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["warning: history: h.jsonl:2: this is no run: *"])
    assert "\n{half\n" in (quick.path / "h.jsonl").read_text()
    assert len(quick.report()["history"]["math.bench.yaml::math"]) == 2


def test_a_history_that_can_t_be_written_fails_the_run_and_keeps_the_reports(quick, passing):
    passing(7)
    quick.bench(PLAIN)
    result = quick.run("--evalmetrics-history", ".")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this history can't be read: *"])
    assert quick.report()["benchmarks"]


# -- against ------------------------------------------------------------------------------


def test_best_has_to_be_started_then_holds_and_is_accepted_anew(quick, passing):
    quick.bench(BEST)
    passing(7)
    result = quick.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *: h.jsonl holds no run of this benchmark that counts yet",
            "  -> start with it: `pytest --snapshot-update --evalmetrics-history FILE`",
        ]
    )
    result = quick.run(*KEEP, UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *accepted: from this run on its history counts anew"])
    passing(9)
    assert quick.run(*KEEP).ret == 0
    passing(8)
    assert quick.run(*KEEP).ret == 0
    for _ in range(2):
        passing(7)  # more than 0.15 below the best
        result = quick.run(*KEEP)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [
                "FAIL *: pass@1 fell from 0.9 to 0.7 (the best of 3 runs, of *)",
                "*fix the regression; or, *",
            ]
        )
    assert quick.run(*KEEP, UPDATE).ret == 0
    assert quick.run(*KEEP).ret == 0  # 0.9 counts no more
    evidence = quick.checks()["pass@1"]["evidence"]
    assert (evidence["against"], evidence["baseline"], evidence["runs"]) == ("best", 0.7, 1)


def test_without_a_history_to_append_to_nothing_is_accepted(quick, passing):
    quick.bench(BEST)
    passing(7)
    for args in ((), (UPDATE,)):
        result = quick.run(*args)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [
                "INCONCLUSIVE *:*: against: best needs a history, and none is named",
                "  -> name it: *",
            ]
        )


def test_the_median_of_a_history_beside_the_benchmark_file(quick, passing):
    quick.bench(PLAIN)
    for count in (9, 6, 7):
        passing(count)
        quick.run("--evalmetrics-history", "main.jsonl")
    quick.bench(PLAIN + "baseline: {against: median-of-last-3, history: main.jsonl, rule: exact}\n")
    passing(7)
    assert quick.run().ret == 0
    passing(6)
    result = quick.run("-n", "1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAIL *pass@1 fell from 0.7 to 0.6 (the median of the last 3 runs)"]
    )
    assert len(lines(quick, "main.jsonl")) == 3


def test_noninferior_rests_on_the_interval(quick, passing):
    rule = "baseline: {against: best, rule: noninferior, max_drop: %s}\n"
    passing(7)
    quick.bench(PLAIN)
    quick.run(*KEEP)
    low = lines(quick)[0]["agents"]["agent"]["pass@1"]["low"]  # Wilson's
    for drop, verdict in ((0.7 - low + 0.001, "PASS"), (0.7 - low - 0.001, "INCONCLUSIVE")):
        quick.bench(PLAIN + rule % drop)
        quick.run(*KEEP)
        assert quick.checks()["pass@1"]["verdict"] == verdict
    passing(1)
    quick.run(*KEEP)
    assert quick.checks()["pass@1"]["verdict"] == "FAIL"


def test_a_benchmark_that_has_grown_is_no_longer_comparable(quick, passing):
    passing(7)
    quick.bench(BEST)
    assert quick.run(*KEEP, UPDATE).ret == 0
    quick.rollouts([[1.0]] * 20)
    quick.bench(BEST.replace("10", "20"))
    result = quick.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*rest on another number of tasks: 10, and now 20"])


def test_an_agent_that_is_gone_is_missed(quick):
    rows = [
        {"agent_ref": {"name": a}, "_ng_task_index": t, "_ng_rollout_index": 0, "reward": 1.0}
        for a in ("a", "b")
        for t in range(10)
    ]
    quick.bench(BEST)
    quick.rows("runs.jsonl", rows)
    assert quick.run(*KEEP, UPDATE).ret == 0
    assert quick.run(*KEEP).ret == 0
    quick.rows("runs.jsonl", rows[:10])
    result = quick.run(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this run has no agent 'b', which the history has"])


@pytest.mark.parametrize(
    ("baseline", "told"),
    [
        ("{against: best}", "with against: best use one of exact, absolute, relative, noninferior"),
        ("{against: best, rule: statistical}", "the rule statistical compares task by task"),
        (
            "{against: best, rule: exact, metrics: {pass@1: {rule: practical}}}",
            "metrics.pass@1: the rule practical compares task by task",
        ),
        ("{against: best, rule: exact, require_mde: 0.1}", "require_mde needs a test task by task"),
        ("{against: worst}", "expected snapshot, best, or median-of-last-5"),
        ("{against: median-of-last-0, rule: exact}", "expected snapshot, best, or median"),
        ("{history: 0}", "expected a number of runs from 1 to 50, or the history's file"),
        ("{history: 5, report: r.json}", "history: takes the history: drop rollouts, or report"),
        ("{against: best, rule: exact, history: 5}", "takes the history's file here, or nothing"),
        ("{against: best, rule: exact, report: r.json}", "takes the history: drop rollouts"),
    ],
)
def test_what_a_history_can_t_do_is_told_before_anything_runs(quick, baseline, told):
    quick.bench(f"baseline: {baseline}")
    result = quick.run()
    assert result.ret == 2
    assert told in result.stdout.str()
