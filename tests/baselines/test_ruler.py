"""What measures is compared before any number is: another ruler, another threshold, by hand."""

import json
import sys

import pytest

from pytest_evalmetrics.baselines.document import stamped

UPDATE = "--snapshot-update"
STRICT = """
def strict(item):
    return float(item["response"].strip() == item["reference"])
"""


def bench(quick, scorer="python: scoring:strict", text="metrics: [mean_reward]\nbaseline: true"):
    quick.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  dataset: {path: runs.jsonl, fields: {task: id}}\n"
        f"  scorers: [{{{scorer}}}]\n" + "".join(f"  {line}\n" for line in text.splitlines()),
    )


@pytest.fixture
def scored(quick, monkeypatch):
    quick.pytester.syspathinsert()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions in one second
    quick.write("scoring.py", STRICT)
    row = {"reference": "Paris", "response": "Paris"}
    quick.rows("runs.jsonl", [{"id": f"t{n}"} | row for n in range(30)])
    bench(quick)
    assert quick.run(UPDATE).ret == 0
    return quick


def baseline(quick):
    return json.loads(quick.baseline().read_text(encoding="utf-8"))


def test_another_scorer_of_the_same_score_and_other_settings(scored):
    bench(scored, "type: exact-match, name: strict")
    scored.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *the ruler changed: scorer scoring:strict -> exact-match"]
    )
    assert scored.run(UPDATE).ret == 0
    bench(scored, 'type: exact-match, name: strict, reference: "{{ response }}"')
    scored.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *reference * -> {{ response }} (scorer exact-match)"]
    )


def test_a_baseline_without_a_fingerprint_is_compared_with_a_note(quick):
    quick.rollouts([[1.0]] * 20)
    quick.bench("metrics: [mean_reward]\nbaseline: true")
    assert quick.run(UPDATE).ret == 0
    doc = baseline(quick)
    for key in ("ruler", "gates", "under_test"):
        doc["provenance"].pop(key, None)
    quick.baseline().write_text(json.dumps(stamped(doc)))
    result = quick.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*holds no fingerprint of what measures*--snapshot-update*"])


def test_an_earlier_report_tells_its_ruler_too(scored):
    bench(scored, text="metrics: [mean_reward]\nbaseline: {report: main/report.json}")
    scored.write("main/report.json", (scored.path / "evalmetrics/report.json").read_text())
    assert scored.run().ret == 0
    scored.write("scoring.py", STRICT.replace("==", "<="))
    scored.run().stdout.fnmatch_lines(["INCONCLUSIVE *the ruler changed: source *"])


def test_kept_rows_are_judged_once_by_another_judge(quick, judge_server):
    def judged(model):
        said = {"url": judge_server.url(), "name": model}
        quick.write(
            "math.bench.yaml",
            "benchmark:\n  name: math\n  metrics: mean_reward\n  baseline: {rescore: true}\n"
            "  dataset: {path: data.jsonl, fields: {task: id}}\n"
            f"  scorers:\n    - type: llm-judge\n      model: {json.dumps(said)}\n"
            "      prompt_template: 'Rate {{ id }}. [[say: {{ say }}]]'\n"
            "      scores: [{name: quality, minimum: 1, maximum: 5}]\n",
        )

    def answers(quality):
        quick.rows(
            "data.jsonl",
            [{"id": f"t{n}", "say": json.dumps({"quality": quality})} for n in range(30)],
        )

    def run(*args):
        return quick.pytester.runpytest_inprocess(*args)  # with a cache, which holds the journal

    answers(4)
    judged("m1")
    assert run(UPDATE).ret == 0
    judged("m2")
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*measured now: judge m1 -> m2 (scorer llm-judge)"])
    asked = judge_server.posts
    assert run().ret == 0
    assert judge_server.posts == asked
    answers(2)
    run().stdout.fnmatch_lines(["FAIL *mean_reward fell from 4 to 2: *"])
    assert judge_server.posts == asked + 30


def test_generated_rows_are_kept_with_their_answers(quick, monkeypatch):
    quick.pytester.syspathinsert()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    agent = "def answer(item):\n    return item['reference'] {}\n"
    judge = (
        "def right(item, sample):\n    return float(sample['output_text'] {} item['reference'])\n"
    )
    quick.write("agent.py", agent.format(""))
    quick.write("judging.py", judge.format("=="))
    quick.rows("data.jsonl", [{"id": f"t{n}", "reference": "Paris"} for n in range(30)])
    quick.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  metrics: mean_reward\n  baseline: {rescore: true}\n"
        "  num_samples: 2\n  dataset: {path: data.jsonl, fields: {task: id}}\n"
        "  target: agent:answer\n"
        "  scorers: [{python: judging:right}]\n",
    )
    assert quick.run(UPDATE).ret == 0
    quick.write("judging.py", judge.format("!="))
    result = quick.run()
    result.assert_outcomes(passed=1)
    assert quick.checks()["mean_reward"]["evidence"]["baseline"] == 0
    quick.write("agent.py", agent.format("+ '!'"))
    quick.write("judging.py", judge.format("<="))
    result = quick.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *mean_reward fell from 1 to 0: *"])


def test_a_hook_that_computes_metrics_is_a_part_of_the_ruler(quick):
    hook = "def pytest_evalmetrics_compute_metrics(tasks):\n    return {{'mine': {}}}\n"
    quick.write("conftest.py", hook.format(0.5))
    quick.rollouts([[1.0]] * 20)
    quick.bench(
        "metrics: [mean_reward]\nbaseline: {metrics: {mine: {rule: exact, direction: higher}}}"
    )
    assert quick.run(UPDATE).ret == 0
    quick.write("conftest.py", "# better\n" + hook.format(0.5))
    assert quick.run().ret == 0
    quick.write("conftest.py", hook.format(0.9))
    result = quick.run()
    result.stdout.fnmatch_lines(["INCONCLUSIVE *mine can't*source * -> * (hook compute_metrics)"])
    assert quick.checks()["mean_reward"]["verdict"] == "PASS"


def over(quick, rollouts, text=""):
    quick.bench(f"{text}metrics: [mean_reward]\nbaseline: true")
    path = quick.path / "math.bench.yaml"
    path.write_text(path.read_text().replace("runs.jsonl", rollouts))


def promptfoo(**of):
    rubric = {"type": "llm-rubric", "value": "polite", "provider": of["judge"]}
    rows = [
        {
            "testCase": {
                "description": f"t{n}",
                "vars": {"q": str(n)},
                "assert": [
                    {"type": "equals", "value": str(n)},
                    {"type": "similar", "value": str(n), "threshold": of["threshold"]},
                    rubric | {"config": {"apiKey": "sk-secret"}},
                ],
            },
            "success": True,
            "score": 1,
            "namedScores": {},
            "provider": {"id": "m"},
        }
        for n in range(20)
    ]
    meta = {"promptfooVersion": of["version"]}
    return json.dumps({"results": {"version": 3, "results": rows}, "metadata": meta})


def deepeval(**of):
    metric = {"name": "Faithful", "score": 1.0, "success": True, "threshold": of["threshold"]}
    metric["evaluationModel"] = of["judge"]
    cases = [
        {"name": f"t{n}", "input": str(n), "success": True, "metricsData": [metric]}
        for n in range(20)
    ]
    return json.dumps({"testCases": cases, "metricsScores": []})


def inspect_ai(**of):
    samples = [
        {"id": f"t{n}", "epoch": 1, "input": str(n), "scores": {"qa": {"value": "C"}}}
        for n in range(20)
    ]
    spec = {
        "task": "sums",
        "model": "m",
        "task_version": of["version"],
        "scorers": [{"name": "ours/qa", "options": {"partial": of["threshold"]}}],
        "model_roles": {"grader": {"model": of["judge"], "args": {"api_key": "sk-secret"}}},
    }
    return json.dumps({"version": 2, "status": "success", "eval": spec, "samples": samples})


def pydantic_evals(**of):
    source = {"name": "LLMJudge", "arguments": {"rubric": "polite", "model": of["judge"]}}
    found = {"name": "tone", "value": 1.0, "source": source, "evaluator_version": of["version"]}
    cases = [
        {"name": f"t{n}", "inputs": n, "scores": {"tone": found}, "assertions": {}, "labels": {}}
        | {"task_duration": 1.0}
        for n in range(20)
    ]
    return json.dumps({"name": "report", "cases": cases, "failures": []})


def verifiers_traces(**of):
    reward = {"score": 1.0, "weight": of["threshold"]}
    rows = [{"task": {"key": f"t{n}"}, "traces": [{"rewards": {"ok": reward}}]} for n in range(20)]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("tool", "reward", "told"),
    [
        (
            promptfoo,
            "success",
            [
                "provider j1 -> j2 (tool promptfoo llm-rubric)",
                "threshold 0.8 -> 0.4 (tool promptfoo similar)",
                "version 1 -> 2 (tool promptfoo equals)",
            ],
        ),
        (deepeval, "success", ["evaluationModel j1 -> j2 (tool deepeval Faithful)"]),
        (deepeval, "Faithful", ["threshold 0.8 -> 0.4 (tool deepeval Faithful)"]),
        (
            inspect_ai,
            "",
            [
                "grader model j1 -> j2 (tool inspect_ai qa)",
                "options partial 0.8 -> 0.4 (tool inspect_ai qa)",
            ],
        ),
        (inspect_ai, "qa", ["task_version 1 -> 2 (tool inspect_ai qa)"]),
        (pydantic_evals, "", ["arguments model j1 -> j2 (tool pydantic_evals tone)"]),
        (pydantic_evals, "tone", ["version 1 -> 2 (tool pydantic_evals tone)"]),
        (verifiers_traces, "", ["weight 0.8 -> 0.4 (tool verifiers ok)"]),
    ],
)
def test_what_scored_in_the_files_of_a_tool_is_a_part_of_the_ruler(quick, tool, reward, told):
    quick.write("runs.json", tool(judge="j1", threshold=0.8, version=1))
    over(quick, "runs.json", f"reward: {reward}\n" if reward else "")
    assert quick.run(UPDATE).ret == 0
    assert "sk-secret" not in json.dumps(baseline(quick))
    assert quick.run().ret == 0
    quick.write("runs.json", tool(judge="j2", threshold=0.4, version=2))
    quick.run().assert_outcomes(failed=1)
    check = quick.checks()["mean_reward"]
    assert check["verdict"] == "INCONCLUSIVE"
    assert all(line in check["reason"] for line in told), check["reason"]
    assert check["hint"].startswith("record a new baseline with --snapshot-update, or score ")
    assert "rescore" not in check["hint"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("fields: {task: t}", "fields: {task: t, reward: lax}", "fields: reward none -> lax"),
        ("fields: {task: t, reward: reward}", "fields: {task: t}", ""),
        ("fields: {task: t, reward: lax}", "fields: {task: t}", "fields: reward lax -> none"),
        ("fields: {task: t, scores: {a: lax}}", "fields: {task: t, scores: {a: reward}}", ""),
        (
            "fields: {task: t}, where: {by: lax}",
            "fields: {task: t}, where: {by: strict}",
            'where {"by":["lax"]} -> {"by":["strict"]}',
        ),
    ],
)
def test_where_the_files_hold_the_reward_is_a_part_of_the_ruler(quick, before, after, told):
    rows = [{"t": i, "by": by, "reward": 1, "lax": 1} for i in range(9) for by in ("lax", "strict")]
    quick.rows("runs.jsonl", rows)
    for rollouts, arguments in (before, [UPDATE]), (after, []):
        text = f"  rollouts: {{path: runs.jsonl, {rollouts}}}\n  metrics: [mean_reward]\n"
        quick.write("math.bench.yaml", f"benchmark:\n  name: math\n{text}  baseline: true\n")
        assert quick.run(*arguments).ret == bool(told and not arguments)
    check = quick.checks()["mean_reward"]
    assert check["verdict"] == ("INCONCLUSIVE" if told else "PASS")
    assert check["reason"].endswith(told)


def test_the_version_of_a_task_of_lm_eval(quick):
    def wrote(task, version, metric="acc"):
        row = {"doc": {}, "filtered_resps": ["x"], "filter": "none", "metrics": ["acc"], "acc": 1.0}
        lines = [json.dumps({"doc_id": n, **row, "doc": {"q": n}}) + "\n" for n in range(20)]
        date = f"2026-01-0{len(task)}T03-04-05.6"
        quick.write(f"out/samples_{task}_{date}.jsonl", "".join(lines))
        config = {task: {"metric_list": [{"metric": metric, "aggregation": "mean"}]}}
        results = {"results": {}, "configs": config, "versions": {task: version}}
        quick.write(f"out/results_{date}.json", json.dumps(results))

    wrote("law", 1.0)
    over(quick, "out/samples_*.jsonl")
    assert quick.run(UPDATE).ret == 0
    wrote("arts", 1.0)  # a task more is told of as a new task
    assert quick.run().ret == 0
    wrote("law", 2.0)
    quick.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *the ruler changed: version 1.0 -> 2.0 (tool lm_eval task law)"]
    )


def test_a_test_more_with_its_own_assertion_changes_no_ruler(quick):
    whole = json.loads(promptfoo(judge="j", threshold=0.8, version=1))
    over(quick, "runs.json", "reward: success\n")
    last = whole["results"]["results"].pop()
    quick.write("runs.json", json.dumps(whole))
    assert quick.run(UPDATE).ret == 0
    whole["results"]["results"].insert(0, last)
    quick.write("runs.json", json.dumps(whole))
    assert quick.run().ret == 0
