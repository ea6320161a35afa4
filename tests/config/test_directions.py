"""Which way is better: what declares it, and the question where nothing does."""

import pytest
from evaluated import evaluated

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.builtin_metrics import USAGE_COLUMNS
from pytest_evalmetrics.model.metric_facts import USAGE_SCORES, Range, facts_of

ASKED = "nothing says which way is better for "


def bench(project, keys):
    rows = [
        {"_ng_task_index": task, "reward": 1, "jailbreak_blocked": 0.9, "cost_usd": 2}
        for task in range(8)
    ]
    project.rows("runs.jsonl", rows)
    project.bench(keys)


def recorded(project, keys):
    bench(project, keys)
    return project.run("--snapshot-update")


def test_a_score_that_nothing_declares_is_asked_for_at_its_line(project):
    result = recorded(project, "metrics: [mean/jailbreak_blocked]\nbaseline: true")
    result.assert_outcomes(failed=1)
    said = (
        f"INCONCLUSIVE  math.bench.yaml:5: *{ASKED}mean/jailbreak_blocked: write "
        "`baseline: {metrics: {mean/jailbreak_blocked: {direction: higher}}}`, "
        "or `direction: lower` where less is better"
    )
    result.stdout.fnmatch_lines([said])
    assert not project.baseline().exists()


def test_a_listed_score_that_is_not_gated_is_reported_only(project):
    keys = (
        "metrics: [mean_reward, mean/jailbreak_blocked]\nkey_metrics: [mean_reward]\n"
    )
    result = recorded(project, keys + "baseline: true")
    result.assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert metrics["mean/jailbreak_blocked"] == pytest.approx(0.9)


def test_a_threshold_needs_no_direction(project):
    keys = "metrics: [mean/jailbreak_blocked]\nthresholds: {mean/jailbreak_blocked: '>= 0.5'}"
    bench(project, keys)
    assert evaluated(project, updates=True).passed


@pytest.mark.parametrize(
    "metric", ["mean/cost_usd", "cost_per_task", "mean_reward", "mean/reward", "pass@1"]
)
def test_the_project_declares_its_metrics_its_usage_and_the_reward(project, metric):
    bench(project, f"metrics: [{metric}]\nbaseline: true")
    assert evaluated(project, updates=True).passed


def test_the_reward_is_to_rise_whatever_it_is_called(project):
    keys = "reward: jailbreak_blocked\nmetrics: [mean_reward]\nbaseline: true"
    bench(project, keys)
    assert evaluated(project, updates=True).passed


OWN = """\
from pytest_evalmetrics import register_metric

@register_metric("spread")
class Spread:
    name = "spread"
    {stated}

    def compute(self, task_rewards):
        return max(map(sum, task_rewards)) - min(map(sum, task_rewards))
"""


def test_a_metric_of_your_own_states_its_direction_in_its_class(project):
    project.write("conftest.py", OWN.format(stated='direction = "lower"'))
    keys = "metrics: [spread]\nbaseline: true"
    recorded(project, keys).assert_outcomes(passed=1)


def test_a_registered_metric_without_a_direction_is_refused_when_the_file_is_read(
    project,
):
    project.write("conftest.py", OWN.format(stated=""))
    result = recorded(project, "metrics: [spread]\nbaseline: true")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"math.bench.yaml:5: *{ASKED}spread: *its class*"])


def test_a_metric_by_its_module_is_asked_for_before_anything_is_recorded(project):
    project.write("own.py", OWN.format(stated=""))
    result = recorded(project, "metrics: ['own:Spread']\nbaseline: true")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"INCONCLUSIVE *{ASKED}own:Spread: *"])


SCORER = """\
from pytest_evalmetrics import register_scorer

@register_scorer("words")
class Words:
    scores = ("words",)
    {stated}

    def score(self, row):
        return len(row.item["response"].split())
"""
SCORED = (
    "scorers: [{type: words}]\nreward: reward\nmetrics: [mean/words]\nbaseline: true"
)


def test_a_scorer_of_your_own_states_the_directions_of_its_scores(project):
    stated = 'directions = {"words": "lower"}'
    project.write("conftest.py", SCORER.format(stated=stated))
    rows = [
        {"_ng_task_index": task, "reward": 1, "response": "so it is"}
        for task in range(8)
    ]
    project.rows("runs.jsonl", rows)
    project.bench(SCORED)
    project.run("--snapshot-update").assert_outcomes(passed=1)
    longer = [row | {"response": "so it is and more"} for row in rows]
    project.rows("runs.jsonl", longer)
    project.bench(SCORED.replace("true", "{rule: exact}"))
    project.run().stdout.fnmatch_lines(["  gate: no rise"])


def test_a_scorer_without_directions_is_asked_about(project):
    project.write("conftest.py", SCORER.format(stated=""))
    project.rows(
        "runs.jsonl", [{"_ng_task_index": 0, "reward": 1, "response": "so it is"}]
    )
    project.bench(SCORED)
    result = project.run("--snapshot-update")
    result.stdout.fnmatch_lines([f"INCONCLUSIVE *{ASKED}mean/words: *"])


def test_an_unknown_direction_of_a_scorer_is_an_error(project):
    stated = 'directions = {"words": "less"}'
    project.write("conftest.py", SCORER.format(stated=stated))
    project.rows(
        "runs.jsonl", [{"_ng_task_index": 0, "reward": 1, "response": "so it is"}]
    )
    project.bench(SCORED)
    project.run().stdout.fnmatch_lines(
        ["*the scorer 'words' has directions = {'words': 'less'}, expected *"]
    )


def test_check_asks_as_a_run_does(project):
    bench(project, "metrics: [mean/jailbreak_blocked]\nbaseline: true")
    result = project.run("--evalmetrics-check")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*math.bench.yaml:5*{ASKED}mean/jailbreak_blocked*"])


def test_each_column_that_a_metric_of_usage_reads_is_usage():
    of_metrics = {
        name
        for alternatives in USAGE_COLUMNS.values()
        for names in alternatives
        for name in names
    }
    assert of_metrics <= USAGE_SCORES


def test_an_unknown_direction_of_a_class_is_an_error():
    class Odd:
        direction = "up"

    with pytest.raises(MetricError, match=r"direction of .*Odd is 'up', expected"):
        facts_of(Odd)


@pytest.mark.parametrize("wrong", [5, (1, 0), ("a", "b"), (0, 1, 2), (False, True)])
def test_limits_that_are_none_are_an_error(wrong):
    class Odd:
        limits = wrong

    with pytest.raises(MetricError, match="expected two numbers, the lower first"):
        facts_of(Odd)


def test_a_class_states_its_range():
    class Marks:
        limits = (1, 6)

    assert facts_of(Marks).range() == Range(1.0, 6.0, "from 1 to 6")
