"""The budget of a whole run, and the forecast of its calls."""

import pytest
from scoring.generation.running import online


@pytest.fixture
def asking(project, model):
    """Two benchmarks of ten questions each: 11 or 12 tokens an answer, at 1 and 2 a million."""
    for added, name in enumerate("ab"):
        rows = (
            {"id": i, "question": f"{i} + {added}", "answer": "1"} for i in range(10)
        )
        project.rows(f"{name}.jsonl", rows)
        text = online(model.url, "  thresholds: {mean_reward: '>= 0'}\n")
        text = text.replace("name: a\n", f"name: {name}\n").replace(
            "data.jsonl", f"{name}.jsonl"
        )
        project.write(f"{name}.bench.yaml", text)
    return project


def checks(project):
    entries = project.report()["benchmarks"]
    budgets = {
        e["name"]: [c for c in e["checks"] if c["name"] == "budget"] for e in entries
    }
    return {name: of[0] for name, of in budgets.items() if of}


def test_the_plan_counts_the_calls_and_makes_none(asking, model):
    asking.run("--evalmetrics-plan").stdout.fnmatch_lines(
        ["calls of a.bench.yaml::a: 10 calls", "calls of b.bench.yaml::b: 10 calls"]
    )
    assert model.posts == 0


def test_a_budget_that_is_no_limit_is_refused(asking, model):
    asking.run("--evalmetrics-budget", "14calls,1h").stderr.fnmatch_lines(
        ["*'1h' is not a limit*"]
    )
    assert model.posts == 0


# of b, after a has taken ten of 14 calls
REST = "6 calls, about 66 tokens, a cost of about 7.2e-05, about 0 s"


@pytest.fixture
def used_up(asking):
    """The project after a run with a budget of 14 calls."""
    result = asking.run("--evalmetrics-budget", "14calls")
    result.assert_outcomes(passed=1, failed=1)
    return asking


def test_a_run_stops_at_its_budget(used_up, model):
    assert model.posts == 14
    first, second = used_up.report()["benchmarks"]
    assert (first["verdict"], second["verdict"]) == ("PASS", "INCONCLUSIVE")
    budget = checks(used_up)["b"]
    assert budget["reason"] == (
        "the run's budget of 14 calls was used up, and 6 of 10 rollouts were not asked for"
    )
    assert f"the rest takes about {REST}" in budget["hint"]


def test_the_plan_of_a_run_that_stopped_counts_the_rest(used_up):
    used_up.run("--evalmetrics-plan").stdout.fnmatch_lines(
        [
            "calls of a.bench.yaml::a: 0 calls; 10 answered by the journal",
            f"calls of b.bench.yaml::b: {REST}; 4 answered by the journal",
        ]
    )


def test_a_run_goes_on_where_the_budget_of_another_ended(used_up, model):
    used_up.run("--evalmetrics-budget", "14calls").assert_outcomes(passed=2)
    assert model.posts == 20


def test_workers_share_a_budget(asking, model):
    for bench in asking.path.glob("*.bench.yaml"):
        bench.write_text(bench.read_text() + "  params: {parallelism: 1}\n")
    asking.run("-n", "2", "--evalmetrics-budget", "40tokens")
    assert model.posts in (4, 5, 6)  # those in flight are finished
    budgets = checks(asking)
    assert set(budgets) == {"a", "b"}
    assert "the run's budget of 40 tokens was used up" in budgets["a"]["reason"]


def test_a_budget_of_money_needs_a_price(asking, model):
    bench = asking.path / "a.bench.yaml"
    bench.write_text(bench.read_text().replace(", price: {input: 1, output: 2}", ""))
    asking.run("--evalmetrics-budget", "5usd,30min").assert_outcomes(passed=1, failed=1)
    # of b, which has a price
    assert model.posts == 10
    first, _ = asking.report()["benchmarks"]
    assert (
        first["checks"][0]["reason"] == "the run's budget is 5 usd, and m has no price"
    )


@pytest.mark.parametrize("limit", ["1e-05 minutes", "5e-05 eur"])
def test_a_run_stops_where_its_minutes_or_its_money_end(asking, model, limit):
    bench = asking.path / "b.bench.yaml"
    bench.write_text(bench.read_text() + "  params: {parallelism: 1}\n")
    option = limit.replace(" ", "").replace("minutes", "min")
    asking.run("--evalmetrics-budget", option, "-k", "b.bench")
    assert f"budget of {limit} was used up" in checks(asking)["b"]["reason"]
    assert model.posts < 10


def test_a_baseline_records_what_calls_take(asking):
    bench = asking.path / "a.bench.yaml"
    bench.write_text(bench.read_text() + "  baseline: true\n")
    asking.run("--snapshot-update", "-k", "a.bench")
    plan = asking.run(
        "--evalmetrics-plan", "--evalmetrics-refresh", "-k", "a.bench"
    ).stdout
    plan.fnmatch_lines(
        ["calls of a.bench.yaml::a: 10 calls, about 110 tokens, a cost of *"]
    )


def test_a_budget_goes_to_the_benchmarks_that_are_not_sure_yet(project, model):
    early = "{min: 1, max: 4, stop: early}"
    for name, bound in (("a", ">= 0.45"), ("b", "<= 0.9"), ("c", "<= 0.9")):
        rows = (
            {
                "id": i,
                "question": f"{i} + 1",
                "answer": str(i + i % 2) if name == "a" else "1",
            }
            for i in range(30)
        )
        project.rows(f"{name}.jsonl", rows)
        text = online(model.url, f"  thresholds: {{mean_reward: '{bound}'}}\n", early)
        text = text.replace("name: a\n", f"name: {name}\n").replace(
            "data.jsonl", f"{name}.jsonl"
        )
        project.write(f"{name}.bench.yaml", text.replace("name: m,", f"name: {name},"))
    project.run("--evalmetrics-budget", "120calls")
    verdicts = [entry["verdict"] for entry in project.report()["benchmarks"]]
    assert verdicts == [
        "INCONCLUSIVE",
        "PASS",
        "PASS",
    ]  # one after the other, a takes all
    assert model.posts == 120
    assert "rollouts were not asked for" in checks(project)["a"]["reason"]
    # workers share it, take the looks of their benchmarks in turns, and pay for none twice
    again = (
        "--evalmetrics-budget",
        "180calls",
        "--evalmetrics-journal-clear",
        "-n",
        "2",
    )
    project.run(*again).assert_outcomes(passed=3)
    assert model.posts == 120 + 180
