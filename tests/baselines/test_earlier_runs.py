"""A baseline elsewhere: another run's rollouts, or its report."""

import json

import pytest
from evaluated import evaluated

from pytest_evalmetrics.model.verdicts import Verdict

GOOD = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
WORSE = [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
COMMON = "metrics: [pass@1]\nexpect: {tasks: '>= 1'}\n"
KINDS = {
    "rollouts": "{rollouts: main/*.jsonl, rule: exact}",
    "report": "{report: main/report.json, rule: exact}",
}


@pytest.fixture
def main(project):
    """Leave what a run on the main branch leaves, and its rollouts."""
    project.rollouts(GOOD, "main/runs.jsonl")
    project.rollouts(GOOD)
    project.bench(COMMON)
    assert evaluated(project, output="main/").passed
    return project


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_leaves_another_run_alone(main, kind):
    before = {p: p.read_bytes() for p in (main.path / "main").iterdir()}
    main.rollouts(WORSE)
    main.bench(f"{COMMON}baseline: {KINDS[kind]}")
    main.run("--snapshot-update").assert_outcomes(failed=1)  # and nothing is accepted
    assert not (main.path / "__baselines__").exists()
    assert {p: p.read_bytes() for p in (main.path / "main").iterdir()} == before
    (entry,) = main.report()["benchmarks"]
    assert entry["recorded"] is None


def edited(project, change, folder):
    """Write the changed report to a folder, without the run.json that holds its digest."""
    report = json.loads((project.path / "main/report.json").read_text())
    change(report)
    project.write(f"{folder}/main/report.json", json.dumps(report))


BAD = {
    "other name": (
        lambda report: report["benchmarks"][0].update(name="maths"),
        "the report holds no benchmark named 'math': did you mean 'maths'? it holds: maths",
    ),
    "twice": (
        lambda report: report["benchmarks"].append(report["benchmarks"][0]),
        "the report holds several benchmarks named 'math': *",
    ),
    "none": (
        lambda report: report.update(benchmarks=[]),
        "the report holds no benchmark *none",
    ),
    "list": (
        lambda report: report.update(benchmarks={}),
        "this is not a report of an earlier run: *",
    ),
    "text": (
        lambda report: report["benchmarks"][0]["agents"][0]["task_scores"]["0"].update(
            reward="1"
        ),
        "this is not a report of an earlier run: Expected `array`, got `str`*",
    ),
    "lengths": (
        lambda report: report["benchmarks"][0]["agents"][0]["task_scores"]["0"].update(
            other=[]
        ),
        "task '0' of agent has scores of different lengths or names",
    ),
    "damaged": (
        lambda report: report["benchmarks"][0]["agents"][0].update(
            task_content={"0": "\u00e9"}
        ),
        "a hash of the content of a task of agent is damaged",
    ),
    "agentless": (
        lambda report: report["benchmarks"][0].update(agents=[]),
        "the baseline has no agent 'agent': it has none",
    ),
}


def test_a_report_that_does_not_hold_it(main):
    for kind, (change, _) in BAD.items():
        edited(main, change, kind)
        main.rollouts(GOOD, f"{kind}/runs.jsonl")
        main.bench(
            f"{COMMON}baseline: {{report: main/report.json}}", f"{kind}/a.bench.yaml"
        )
    (main.path / "math.bench.yaml").unlink()
    result = evaluated(main, verbosity=1)
    verdicts = [result.verdict for result in result.results]
    assert verdicts == [Verdict.INCONCLUSIVE] * len(BAD)
    for _, reason in BAD.values():
        result.says(f"INCONCLUSIVE *{reason}")


def test_the_file_selects_between_two_benchmarks_of_one_name(main):
    other = {"file": "other.bench.yaml", "agents": []}
    edited(main, lambda r: r["benchmarks"].append(r["benchmarks"][0] | other), "two")
    main.bench(f"{COMMON}baseline: {{report: two/main/report.json}}")
    assert evaluated(main).passed


def test_an_earlier_run_that_is_not_complete_is_no_baseline(project):
    project.rollouts(GOOD[:3])
    project.bench("metrics: [pass@1]\nexpect: {tasks: 4}")
    assert not evaluated(project, output="main/").passed
    project.rollouts(GOOD)
    project.bench(
        "metrics: [pass@1]\nexpect: {tasks: 4}\nbaseline: {report: main/report.json}"
    )
    result = evaluated(project)
    assert not result.passed
    result.says("INCONCLUSIVE *the earlier run of math is not complete: 1 of 4 tasks *")


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("rollouts", "", "*main/[*].jsonl*"),
        ("report", "", "main/report.json: there is no such report to compare with"),
        ("report", "{", " main/report.json: this is not a report of an earlier run: *"),
        ("report", "a folder", " main/report.json: *can't be read: Is a directory"),
    ],
)
def test_an_earlier_run_that_is_not_there(project, kind, content, reason):
    project.rollouts(GOOD)
    if content == "a folder":
        (project.path / "main" / "report.json").mkdir(parents=True)
    elif content:
        project.write("main/report.json", content)
    project.bench(f"{COMMON}baseline: {KINDS[kind]}\nthresholds: {{pass@1: '>= 0.5'}}")
    result = evaluated(project)
    assert not result.passed
    result.says(f"INCONCLUSIVE *{reason}", "  -> *")
    assert project.checks()["pass@1"]["verdict"] == "PASS"


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_relative_to_the_benchmark_file_and_agents_are_kept_apart(
    project, kind
):
    def rows(rewards):
        return [
            {"_ng_task_index": t, "agent_ref": {"name": agent}, "reward": reward}
            for agent, of_agent in rewards.items()
            for t, reward in enumerate(of_agent)
        ]

    text = "benchmark: {name: math, rollouts: runs.jsonl, metrics: [pass@1], expect: {tasks: 2}"
    project.write("sub/math.bench.yaml", f"{text}}}")
    for name in ("sub/runs.jsonl", "sub/main/runs.jsonl"):
        project.rows(name, rows({"a": [1.0, 0.0], "b": [1.0, 1.0]}))
    assert evaluated(project, output="sub/main/").passed
    project.write("sub/math.bench.yaml", f"{text}, baseline: {KINDS[kind]}}}")
    assert evaluated(project).passed
    project.rows("sub/runs.jsonl", rows({"b": [1.0, 0.0], "a": [1.0, 0.0]}))
    result = evaluated(project)
    assert not result.passed
    result.says("FAIL *b: pass@1 fell from 1 to 0.5*")
    project.rows("sub/runs.jsonl", rows({"a": [1.0, 0.0]}))
    result = evaluated(project)
    assert not result.passed
    result.says("INCONCLUSIVE *this run has no agent 'b'*", "  -> *a run that holds*")


# -- another run's files are read in the form of the benchmark's own, unless they say their own --

FIELDS = "fields: {task: q.id, reward: graded.ok}"


KEYS = (
    "baseline: {rollouts: 50.json}",
    "baseline: {rollouts: [[30.json], [new.json]]}",  # several runs
    "reference: {rollouts: 20.json}, thresholds: {mean/over_reference: '>= 0.16'}",
    f"baseline: {{rollouts: {{path: plain.json, {FIELDS}}}}}",  # a form of its own
)


def test_a_baseline_is_read_as_the_run_is(project):
    for name, solved in (
        ("new", 30),
        ("50", 50),
        ("30", 30),
        ("20", 20),
        ("plain", 30),
    ):
        rows = [{"q": {"id": str(t)}, "graded": {"ok": t < solved}} for t in range(60)]
        text = json.dumps(rows if name == "plain" else {"results": rows})
        project.write(f"{name}.json", text)
    defaults = f"defaults: {{rollouts: {{path: new.json, rows: results, {FIELDS}}}}}\n"
    benchmarks = "".join(f"- {{name: b{i}, {keys}}}\n" for i, keys in enumerate(KEYS))
    project.write("a.bench.yaml", f"{defaults}benchmarks:\n{benchmarks}")
    result = evaluated(project)
    assert [each["verdict"] for each in project.report()["benchmarks"]] == ["FAIL"] + [
        "PASS"
    ] * 3
    result.says("FAIL *mean_reward* 0.8333 *0.5000 *")
