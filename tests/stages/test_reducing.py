"""Reduce: the rollouts of each agent to estimates."""

import pytest
from stages.making import benchmark, given, load, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.rollout_notes import UndefinedSlice
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.pipeline.reducing import Hooks, reduce_agents


def reduced(asked, hooks=None, quarantined=frozenset(), *, names_tasks=False):
    rows, loaded = load(asked)
    return reduce_agents(
        loaded,
        rows,
        hooks or Hooks(),
        quarantined=quarantined,
        names_tasks=names_tasks,
    )


def test_each_listed_metric_has_an_estimate(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    agents = reduced(benchmark(tmp_path, "metrics: [mean_reward, pass@2, pass^2]"))
    estimates = agents.results[0].estimates
    assert estimates["mean_reward"].value == 0.75
    assert estimates["pass@2"].value == 1
    assert estimates["pass^2"].value == 0.5


def test_each_agent_is_reduced_by_itself_and_shown_by_name(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[0]], agent="b")
    agents = reduced(benchmark(tmp_path)).agents
    assert [agent.shown for agent in agents] == ["a", "b"]
    assert [agent.result.estimates["mean_reward"].value for agent in agents] == [1, 0]


def test_a_lone_agent_is_not_shown_by_name(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    assert [agent.shown for agent in reduced(benchmark(tmp_path)).agents] == [""]


def test_tasks_in_quarantine_are_reported_and_not_gated(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    agents = reduced(
        benchmark(tmp_path), quarantined=frozenset({"t1"}), names_tasks=True
    )
    (agent,) = agents.agents
    assert agent.result.estimates["mean_reward"].value == 0.5
    assert agent.gated.result.estimates["mean_reward"].value == 1
    assert agent.gated.table.tasks == ("t0",)
    assert agent.gated.expected.tolist() == [1]


def test_all_tasks_in_quarantine_are_an_error_and_leave_nothing_to_gate(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(
        tmp_path, "quarantine:\n- {task: t0, reason: r, until: 2099-01-01}"
    )
    agents = reduced(asked, quarantined=frozenset({"t0"}), names_tasks=True)
    assert agents.error.message.startswith("every task is in quarantine")
    assert agents.error.hint == "take one of them out, or skip the benchmark"
    assert agents.error.line == 4
    assert agents.gated == ()
    assert len(agents.results) == 1


def test_an_agent_that_cant_be_reduced_keeps_those_before_and_counts_those_behind(
    tmp_path,
):
    write_rows(tmp_path, "new.jsonl", [[1, 1]], agent="a")
    write_rows(tmp_path, "new.jsonl", [[1]], agent="b")
    write_rows(tmp_path, "new.jsonl", [[1, 1]], agent="c")
    agents = reduced(benchmark(tmp_path, "metrics: [pass@2]"))
    assert [agent.agent for agent in agents.agents] == ["a", "b", "c"]
    assert [result.agent for result in agents.results] == ["a"]
    assert [run.result.agent for run in agents.gated] == ["a"]
    assert agents.error is not None


def test_a_hook_computes_from_the_tasks_of_its_agent(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    asked_for = []

    def compute(*, agent, tasks):
        asked_for.append(agent)
        return [{"rollouts": sum(len(task) for task in tasks)}]

    agents = reduced(benchmark(tmp_path), Hooks(compute_metrics=compute))
    assert asked_for == ["agent"]
    assert agents.results[0].key_metrics["mean/reward"] == 0.75


def test_a_hook_chooses_the_key_metrics(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])

    def choose(*, agent, agent_metrics):
        return {"mean/reward": agent_metrics["mean/reward"]} if agent else {}

    agents = reduced(benchmark(tmp_path), Hooks(key_metrics=choose))
    assert dict(agents.results[0].key_metrics) == {"mean/reward": 0.75}


def test_the_baseline_would_keep_the_reward_of_each_rollout(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    (agent,) = reduced(benchmark(tmp_path, "baseline: true")).agents
    assert agent.document.tasks == {
        "t0": {"reward": (1, 0)},
        "t1": {"reward": (1, 1)},
    }


def test_an_interval_is_at_the_confidence_of_its_threshold(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]] * 20)
    keys = "thresholds: {mean_reward: {min: 0.1, bound: lower, confidence: 80%}}"
    (agent,) = reduced(benchmark(tmp_path, keys)).agents
    assert agent.intervals["mean_reward"].level == pytest.approx(0.6)


def test_a_slice_without_any_number_of_another_score_is_left_out(tmp_path):
    rewards = [[1], [0], [1]]
    write_rows(
        tmp_path, "new.jsonl", rewards, lang=["de", "en", "en"], speed=[None, 2, 4]
    )
    expect = "expect: {missing_reward: exclude, max_missing: 50%}"
    keys = f"metrics: [mean/speed]\nbreakdown: [lang]\n{expect}"
    result = evaluate(given(benchmark(tmp_path, keys))).result
    assert result.verdict is Verdict.PASS
    (words,) = [note.words for note in result.notes if isinstance(note, UndefinedSlice)]
    assert words.startswith("metric 'mean/speed[lang=de]' is undefined")
