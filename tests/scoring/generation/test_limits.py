"""Budgets, chosen rows, and data sets that changed."""

import json

import pytest
from scoring.generation.running import online, rows, run

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.reports.sentences import reason_of


def sums(n):
    return [
        {"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(n)
    ]


def split_mix(z):
    """Mix as SplitMix64 does (Steele, Lea, Flood 2014), in Python's whole numbers."""
    z = z * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def budget_of(evaluated):
    (check,) = (c for c in evaluated.result.checks if c.name == "budget")
    return check


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        ("requests: 3", "3 requests was used up"),
        ("tokens: 30", "30 tokens was used up"),
        ("cost: 0.00003", "a cost of 3e-05 was used up"),
        (
            "cost: 9",
            "a cost of 9 can't be counted: an answer doesn't say how many tokens it took",
        ),
        (
            "requests: 9, tokens: 900",
            "900 tokens can't be counted: an answer doesn't say how many tokens it took",
        ),
    ],
)
def test_a_budget_holds_and_no_baseline_is_written(tmp_path, model, budget, limit):
    prompt = "mode=nousage {{ question }}" if "counted" in limit else "{{ question }}"
    rows(tmp_path / "data.jsonl", sums(8))
    rest = f"  budget: {{{budget}}}\n  params: {{parallelism: 1}}\n"
    evaluated, lines = run(tmp_path, online(model.url, rest, prompt=f'"{prompt}"'))
    check = budget_of(evaluated)
    assert check.verdict is Verdict.INCONCLUSIVE
    asked = 1 if "counted" in limit else 3  # 11 tokens each
    assert reason_of(check) == (
        f"the budget of {limit}, and {8 - asked} of 8 rollouts were not asked for"
    )
    assert model.posts == asked
    assert evaluated.baseline is None
    assert len(lines) == 8


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
    evaluated, _ = run(tmp_path, text)
    assert model.posts == 4
    assert "2 of 6 rollouts were not asked for" in reason_of(budget_of(evaluated))


@pytest.fixture
def taken(tmp_path, model):
    """Run over a data set of 20 rows, described so; give the ids of the rows that were taken."""
    table = [",".join(row.values()) for row in sums(20)]
    (tmp_path / "data.csv").write_text("\n".join(["id,question,answer", *table]))

    def run_over(data_set, rest=""):
        text = online(model.url, rest).replace("data.jsonl", data_set)
        evaluated, lines = run(tmp_path, text)
        assert evaluated.result.agents[0].estimates["mean_reward"].value == 1.0
        # a part that is chosen for one run alone is no baseline
        assert (evaluated.baseline is None) == bool(rest)
        return [line["id"] for line in lines]

    return run_over


def test_the_first_rows_of_a_data_set_are_taken(taken):
    assert taken("{path: data.csv, limit: 3}") == ["q0", "q1", "q2"]


def test_the_seed_and_the_row_s_number_alone_decide_which_rows_are_drawn(taken):
    chosen = taken("{path: data.csv, limit: 6, shuffle: true}")
    # the same on every machine and in every version
    ranked = sorted(range(20), key=lambda number: split_mix(number + 1))
    assert chosen == [f"q{number}" for number in sorted(ranked[:6])]
    assert taken("{path: data.csv, limit: 6, shuffle: true, seed: 0}") == chosen


def test_another_seed_draws_other_rows(taken):
    seven = taken("{path: data.csv, limit: 6, shuffle: 7}")
    assert len(seven) == 6
    assert seven != taken("{path: data.csv, limit: 6, shuffle: true}")


def test_a_limit_of_samples_takes_some_of_the_drawn_rows(taken):
    drawn = taken("{path: data.csv, limit: 6, shuffle: 7}")
    limit = "  params: {limit_samples: 2}\n"
    few = taken("{path: data.csv, limit: 6, shuffle: 7}", limit)
    assert len(few) == 2
    assert set(few) < set(drawn)


def test_two_rows_of_one_task_are_refused_before_anything_is_paid(tmp_path, model):
    other = {**sums(1)[0], "question": "the same in another way"}
    rows(tmp_path / "data.jsonl", [*sums(3), other])
    evaluated, _ = run(tmp_path, online(model.url, samples=2))
    assert "the task 'q0' occurs in several rows" in reason_of(
        evaluated.result.checks[0]
    )
    assert model.posts == 0


def test_a_changed_data_set_is_noticed(project, model):
    before = sums(4)
    project.write("a.bench.yaml", online(model.url, "  baseline: true\n"))

    def changed(now, *args):
        project.rows("data.jsonl", now)
        project.run(*args)
        return project.checks().get("tasks")

    changed(before, "--snapshot-update")
    # neither the order nor the layout of the rows is content
    assert changed([dict(reversed(row.items())) for row in reversed(before)]) is None
    check = changed([{**before[0], "question": "0 + 1 "}, *before[2:], *sums(6)[4:]])
    assert check["verdict"] == "FAIL"
    (reason,) = check["reasons"]
    assert reason["edited"] == ["q0"]
    assert reason["lost"] == ["q1"]
    assert [task["task"] for task in reason["new"]] == ["q4", "q5"]


def test_numbers_of_rollouts_survive_a_line_that_is_odd(tmp_path, model):
    odd = {
        "question": "1 + 1",
        "answer": "2",
        "nan": float("nan"),
        "big": 2**60,
        "half": "x\ud800",
    }
    rows(
        tmp_path / "data.jsonl",
        [{"id": "ü\u2028", **odd}, {"id": "b", **odd, "big": 10**30}],
    )
    _, (line, other) = run(tmp_path, online(model.url))
    assert (line["id"], line["nan"], line["big"]) == ("ü\u2028", None, 2**60)
    assert (other["big"], other["half"], other["exact-match"]) == (
        10**30,
        "x\\ud800",
        1.0,
    )
    assert json.loads((tmp_path / "rollouts.jsonl").read_text().split("\n")[1]) == other
