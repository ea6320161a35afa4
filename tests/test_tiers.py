"""``tier:`` and ``evalmetrics_policy``: what fails a build, and what is shown alone."""

from itertools import product
from textwrap import dedent

import pytest
from evaluated import evaluated

FAILING = "metrics: [mean_reward]\nthresholds: {mean_reward: '>= 0.9'}"
HALF = [[1, 0], [1, 0]]


def of_two(first: str, second: str) -> str:
    """Write two benchmarks of the same rollouts, whose mean of .5 fails."""
    lines = ["defaults:", "  rollouts: runs.jsonl"]
    lines += [f"  {line}" for line in FAILING.splitlines()]
    lines += ["benchmarks:", f"  - {{name: one, {first}}}"]
    lines.append(f"  - {{name: two, {second}}}")
    return "\n".join(lines)


def test_an_advisory_benchmark_is_shown_and_fails_nothing(project):
    project.rollouts(HALF)
    project.bench(f"{FAILING}\ntier: advisory")
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "ADVISORY  math.bench.yaml::math  mean_reward 0.5000 (>= 0.9)*",
            "    ADVISORY  mean_reward is 0.5, below 0.9",
        ]
    )


def test_the_report_says_that_a_check_is_advisory(project):
    project.rollouts(HALF)
    project.bench(f"{FAILING}\ntier: advisory")
    evaluated(project)
    check = project.checks()["mean_reward"]
    assert (check["verdict"], check["tier"]) == ("WARN", "advisory")


def test_a_required_check_says_nothing_of_its_tier(project):
    project.rollouts(HALF)
    project.bench(FAILING)
    evaluated(project)
    assert "tier" not in project.checks()["mean_reward"]


def test_an_advisory_threshold_leaves_the_others_required(project):
    project.rollouts(HALF)
    project.bench(
        "metrics: [mean_reward, pass_rate]\n"
        "thresholds:\n"
        "  mean_reward: {min: 0.9, tier: advisory}\n"
        "  pass_rate: '>= 0.9'"
    )
    assert not evaluated(project).passed
    verdicts = [(name, check["verdict"]) for name, check in project.checks().items()]
    assert ("mean_reward", "WARN") in verdicts
    assert ("pass_rate", "FAIL") in verdicts


def test_a_required_threshold_fails_an_advisory_benchmark(project):
    project.rollouts(HALF)
    project.bench(
        "tier: advisory\n"
        "metrics: [mean_reward]\n"
        "thresholds: {mean_reward: {min: 0.9, tier: required}}"
    )
    assert not evaluated(project).passed


def test_one_metric_of_a_baseline_is_advisory(project):
    project.rollouts([[1, 1]] * 30)
    project.bench(
        "metrics: [mean_reward, pass_rate]\n"
        "independent: true\n"
        "baseline: {single_tasks: false, metrics: {pass_rate: {tier: advisory}}}"
    )
    assert evaluated(project, updates=True).passed
    project.rollouts([[0, 0]] * 30)
    assert not evaluated(project).passed
    checks = project.checks()
    assert checks["pass_rate"]["verdict"] == "WARN"
    assert checks["mean_reward"]["verdict"] == "FAIL"


@pytest.mark.parametrize(
    ("tier", "verdict"), [("advisory", "WARN"), ("required", "FAIL")]
)
def test_slices_have_a_tier_of_their_own(project, tier, verdict):
    def write(of_german: float) -> None:
        rows = []
        for lang, tasks, reward in (("de", 12, of_german), ("en", 188, 1.0)):
            for task, attempt in product(range(tasks), range(4)):
                row = {"id": f"{lang}{task}", "try": attempt, "lang": lang}
                rows.append(row | {"reward": reward})
        for row in rows[60:760:2]:  # of English: half of the tasks vary
            row["reward"] = float(row["try"] % 3 > 0)
        project.rows("runs.jsonl", rows)

    fields = "{task: id, sample: try, reward: reward}"
    project.write(
        "math.bench.yaml",
        "benchmark:\n"
        "  name: math\n"
        f"  rollouts: {{path: runs.jsonl, fields: {fields}}}\n"
        "  metrics: [mean_reward]\n"
        "  breakdown: [lang]\n"
        "  independent: true\n"
        "  baseline: {max_drop: 10%, single_tasks: false, slices_tier: "
        f"{tier}}}\n",
    )
    write(1.0)
    assert evaluated(project, updates=True).passed
    write(0.0)
    result = evaluated(project)
    assert project.checks()["slices"]["verdict"] == verdict
    assert result.passed is (verdict == "WARN")


def test_an_advisory_failure_counts_in_drift_and_history(project):
    project.rollouts(HALF)
    project.bench(f"{FAILING}\ntier: advisory")
    project.run("--evalmetrics-history=history.jsonl")
    assert '"usable":false' in (project.path / "history.jsonl").read_text()


CHECK = """
    import pytest

    @pytest.mark.safety
    def test_a(evalmetrics):
        evalmetrics.check([[1, 0]] * 4, thresholds={"mean_reward": ">= 0.9"}, tier="advisory")
"""


def test_a_check_of_a_test_is_advisory(project):
    project.write("test_a.py", dedent(CHECK))
    assert project.run("-W", "ignore::pytest.PytestUnknownMarkWarning").ret == 0


def test_a_policy_requires_the_checks_of_a_test_with_its_mark(project):
    project.write("test_a.py", dedent(CHECK))
    policy = "evalmetrics_policy=required=safety"
    result = project.run("-o", policy, "-W", "ignore::pytest.PytestUnknownMarkWarning")
    assert result.ret == 1


# -- evalmetrics_policy ----------------------------------------------------------------------


def test_a_policy_requires_benchmarks_of_a_tag_whatever_their_file_says(project):
    project.rollouts(HALF)
    project.bench(f"{FAILING}\ntier: advisory\ntags: [safety]")
    assert project.run("-o", "evalmetrics_policy=required=safety").ret == 1


def test_a_required_tag_that_no_benchmark_has_fails_the_run(project):
    project.rollouts([[1, 1]])
    project.bench(FAILING)
    result = project.run_here("-o", "evalmetrics_policy=required=safety")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["evalmetrics_policy: no benchmark has the required tag 'safety'"]
    )


def test_a_required_tag_is_missed_where_there_is_no_benchmark_at_all(project):
    project.write("test_a.py", "def test_a(): pass")
    assert project.run_here("-o", "evalmetrics_policy=required=safety").ret == 1


def test_a_required_benchmark_that_is_skipped_fails_the_run(project):
    project.rollouts([[1, 1]])
    project.bench(f"{FAILING}\ntags: [safety]\nskip: later")
    result = project.run_here("-o", "evalmetrics_policy=required=safety")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["evalmetrics_policy: *::math is required by 'safety', and skipped: later"]
    )


@pytest.mark.parametrize("selection", [["-k", "two"], ["-m", "other"]])
def test_what_a_run_leaves_out_is_not_missing(project, selection):
    project.rollouts([[1, 1]])
    project.write("a.bench.yaml", of_two("tags: [safety]", "tags: [other]"))
    result = project.run_here("-o", "evalmetrics_policy=required=safety", *selection)
    result.assert_outcomes(passed=1, deselected=1)
    assert result.ret == 0


def test_a_run_of_one_file_misses_nothing(project):
    project.rollouts([[1, 1]])
    project.bench(FAILING)
    result = project.run_here(
        "-o", "evalmetrics_policy=required=safety", "math.bench.yaml"
    )
    assert result.ret == 0


def test_a_policy_bears_fewer_advisory_failures_than_it_names(project):
    project.rollouts(HALF)
    project.write("a.bench.yaml", of_two("tier: advisory", "tier: advisory"))
    assert project.run("-o", "evalmetrics_policy=advisory=3").ret == 0


def test_as_many_advisory_failures_as_the_policy_names_fail_the_run(project):
    project.rollouts(HALF)
    project.write("a.bench.yaml", of_two("tier: advisory", "tier: advisory"))
    result = project.run("-o", "evalmetrics_policy=advisory=2")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["evalmetrics_policy: 2 benchmarks with advisory failures, advisory=2 fails*"]
    )


def test_a_policy_holds_under_xdist(project):
    project.rollouts(HALF)
    project.write(
        "a.bench.yaml", of_two("tier: advisory", "tags: [safety], skip: later")
    )
    policy = "evalmetrics_policy=required=safety,other advisory=1"
    result = project.run("-n", "2", "-o", policy)
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        [
            "evalmetrics_policy: no benchmark has the required tag 'other'",
            "evalmetrics_policy: *::two is required by 'safety', and skipped: later",
            "evalmetrics_policy: 1 benchmark with advisory failures*",
        ]
    )


def test_an_invalid_policy_is_refused_before_anything_runs(project):
    result = project.run_here("-o", "evalmetrics_policy=advisory=0")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: evalmetrics_policy: found 'advisory=0'; expected required=*"]
    )
