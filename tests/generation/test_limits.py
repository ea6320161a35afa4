"""Budgets, chosen rows, and data sets that changed."""

import json

import pytest
from generation.running import online, rows, run

from pytest_evalmetrics.baselines import render, stamped
from pytest_evalmetrics.ext import Verdict


def sums(n):
    return [{"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(n)]


def split_mix(z):
    """Mix as SplitMix64 does (Steele, Lea, Flood 2014), in Python's whole numbers."""
    z = z * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def check(evaluated, name):
    return next((c for c in evaluated.result.checks if c.name == name), None)


def test_a_budget_of_requests_holds_and_the_next_run_goes_on(tmp_path, model):
    rows(tmp_path / "data.jsonl", sums(10))
    text = online(model.url, "  budget: {requests: 7}\n  expect: {max_missing: 1}\n", samples=2)
    found, lines = run(tmp_path, text)
    assert model.posts == 7
    budget = check(found, "budget")
    assert budget.verdict is Verdict.INCONCLUSIVE
    assert budget.reason == (
        "the budget of 7 requests was used up, and 13 of 20 rollouts were not asked for"
    )
    assert found.result.verdict.fails
    assert found.baseline is None
    assert len(lines) == 20
    assert found.result.agents[0].estimates["mean_reward"].value == 1.0
    for posts in (14, 20):
        found, _ = run(tmp_path, text)
        assert model.posts == posts
    assert found.result.verdict is Verdict.PASS  # 6 requests, fewer than the budget
    assert check(found, "budget") is None


@pytest.mark.parametrize(
    ("budget", "said"), [("tokens: 30", "30 tokens"), ("cost: 0.00003", "a cost of 3e-05")]
)
def test_the_other_budgets(tmp_path, model, budget, said):
    rows(tmp_path / "data.jsonl", sums(8))
    rest = f"  budget: {{{budget}}}\n  params: {{parallelism: 1}}\n"
    found, _ = run(tmp_path, online(model.url, rest))
    assert check(found, "budget").reason.startswith(f"the budget of {said} was used up")
    assert model.posts == 3  # 11 tokens each


def test_a_budget_stops_scorers_too(tmp_path, model):
    rows(tmp_path / "data.jsonl", [{"id": i, "score": 1} for i in range(6)])
    text = f"""\
benchmark:
  name: a
  dataset: data.jsonl
  budget: {{requests: 4}}
  params: {{parallelism: 2}}
  scorers:
    - type: remote
      url: "{model.url}/chat/completions"
      body: {{messages: [{{role: user, content: "{{{{ id }}}}"}}]}}
      scores: [{{name: s, parser: {{type: json, json_path: $.usage.prompt_tokens}}}}]
"""
    found, _ = run(tmp_path, text)
    assert model.posts == 4
    assert "2 of 6 rollouts were not asked for" in check(found, "budget").reason


def test_a_part_of_a_data_set(tmp_path, shared_model):
    rows(tmp_path / "data.jsonl", sums(20))

    def taken(spec, rest=""):
        text = online(shared_model.url, rest).replace("dataset: data.jsonl", f"dataset: {spec}")
        found, lines = run(tmp_path, text)
        assert found.result.agents[0].estimates["mean_reward"].value == 1.0
        assert (found.baseline is None) == bool(rest)
        return [line["id"] for line in lines]

    assert taken("{path: data.jsonl, limit: 3}") == ["q0", "q1", "q2"]
    chosen = taken("{path: data.jsonl, limit: 6, shuffle: true}")
    # the seed and the row's number alone decide: the same on every machine and in every version
    ranked = sorted(range(20), key=lambda i: split_mix(i + 1))
    assert chosen == [f"q{i}" for i in sorted(ranked[:6])]
    assert taken("{path: data.jsonl, limit: 6, shuffle: true, seed: 0}") == chosen
    other = taken("{path: data.jsonl, limit: 6, shuffle: 7}")
    assert other != chosen
    assert len(other) == 6
    few = taken("{path: data.jsonl, limit: 6, shuffle: 7}", "  params: {limit_samples: 2}\n")
    assert set(few) < set(other)
    assert len(few) == 2


def test_rows_of_tables_are_answered(tmp_path, shared_model):
    text = "id,question,answer\na,1 + 1,2\nb,2 + 2,4\n"
    (tmp_path / "data.csv").write_text(text)
    text = online(shared_model.url).replace("data.jsonl", "data.csv")
    found, _ = run(tmp_path, text)
    assert found.result.agents[0].estimates["mean_reward"].value == 1.0
    assert found.result.agents[0].tasks == 2


def test_two_rows_of_one_task_are_refused_before_anything_is_paid(tmp_path, model):
    rows(tmp_path / "data.jsonl", [*sums(3), sums(1)[0]])
    found, _ = run(tmp_path, online(model.url, samples=2))
    assert "the task 'q0' stands in several rows" in found.result.checks[0].reason
    assert model.posts == 0


def test_a_changed_data_set_is_noticed(tmp_path, shared_model):
    before = sums(4)
    rows(tmp_path / "data.jsonl", before)
    text = online(shared_model.url, "  baseline: true\n")
    found, _ = run(tmp_path, text)
    assert found.baseline is not None
    (agent,) = found.baseline["agents"].values()
    assert list(agent["content"]) == ["q0", "q1", "q2", "q3"]
    written = render(stamped(found.baseline))

    def task_lists(now):
        rows(tmp_path / "data.jsonl", now)
        again, _ = run(tmp_path, text, snapshot=lambda: (written, "b.json"))
        return [c for c in again.result.checks if c.gate == "baseline" and c.name == "tasks"]

    assert task_lists(before) == []
    # neither the order nor the layout of the rows is content
    assert task_lists([dict(reversed(row.items())) for row in reversed(before)]) == []
    edited = [{**before[0], "question": "0 + 1 "}, *before[2:], *sums(6)[4:]]
    (check,) = task_lists(edited)
    assert check.verdict is Verdict.FAIL
    assert {key: check.evidence[key]["tasks"] for key in ("edited", "lost", "new")} == {
        "edited": ["q0"],
        "lost": ["q1"],
        "new": ["q4", "q5"],
    }


def test_numbers_of_rollouts_survive_a_line_that_is_odd(tmp_path, model):
    odd = {"question": "1 + 1", "answer": "2", "nan": float("nan"), "big": 2**60, "half": "x\ud800"}
    rows(tmp_path / "data.jsonl", [{"id": "ü\u2028", **odd}, {"id": "b", **odd, "big": 10**30}])
    _, (line, other) = run(tmp_path, online(model.url))
    assert (line["id"], line["nan"], line["big"]) == ("ü\u2028", None, 2**60)
    assert (other["big"], other["half"], other["exact-match"]) == (10**30, "x\\ud800", 1.0)
    assert json.loads((tmp_path / "rollouts.jsonl").read_text().split("\n")[1]) == other
