"""What measures is compared before any number is: another ruler, another threshold, by hand."""

import json
import sys

import pytest
from baselines.conftest import write_stamped
from evaluated import evaluated

from pytest_evalmetrics.model.verdicts import Verdict

UPDATE = "--snapshot-update"
STRICT = """
def strict(item):
    return float(item["response"].strip() == item["reference"])
"""


def bench(
    project,
    scorer="python: exact:strict",
    text="metrics: [mean_reward]\nbaseline: true",
):
    project.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  dataset: {path: runs.jsonl, fields: {task: id}}\n"
        f"  scorers: [{{{scorer}}}]\n"
        + "".join(f"  {line}\n" for line in text.splitlines()),
    )


@pytest.fixture
def scored(project, monkeypatch):
    project.pytester.syspathinsert()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions in one second
    project.write("exact.py", STRICT)
    row = {"reference": "Paris", "response": "Paris"}
    project.rows("runs.jsonl", [{"id": f"t{n}"} | row for n in range(30)])
    bench(project)
    assert evaluated(project, updates=True).passed
    return project


def baseline(project):
    return json.loads(project.baseline().read_text(encoding="utf-8"))


def test_another_scorer_of_the_same_score_is_another_ruler(scored):
    bench(scored, "type: exact-match, name: strict")
    evaluated(scored).says(
        "INCONCLUSIVE *the ruler changed: scorer exact:strict -> exact-match"
    )


def test_other_settings_of_a_scorer_are_another_ruler(scored):
    bench(scored, "type: exact-match, name: strict")
    assert evaluated(scored, updates=True).passed
    bench(scored, 'type: exact-match, name: strict, reference: "{{ response }}"')
    evaluated(scored).says(
        "INCONCLUSIVE *reference * -> {{ response }} (scorer exact-match)"
    )


def test_a_baseline_without_a_fingerprint_is_compared_with_a_note(project):
    project.rollouts([[1.0]] * 20)
    project.bench("metrics: [mean_reward]\nbaseline: true")
    assert evaluated(project, updates=True).passed
    doc = baseline(project)
    for key in ("ruler", "gates", "under_test"):
        doc["provenance"].pop(key, None)
    write_stamped(project.baseline(), doc)
    result = evaluated(project, verbosity=1)
    assert result.passed
    result.says("*holds no fingerprint of what measures*--evalmetrics-update*")


def test_an_earlier_report_has_its_ruler_too(scored):
    assert evaluated(scored, output="main/").passed
    bench(scored, text="metrics: [mean_reward]\nbaseline: {report: main/report.json}")
    assert evaluated(scored).passed
    scored.write("exact.py", STRICT.replace("==", "<="))
    evaluated(scored).says("INCONCLUSIVE *the ruler changed: source *")


HELPED = """\
from helping import equal


def strict(item):
    return float(equal(item["response"].strip(), item["reference"]))
"""


def test_code_of_the_project_that_a_scorer_imports_is_a_part_of_the_ruler(scored):
    scored.write("helping.py", "def equal(a, b):\n    return a == b\n")
    scored.write("exact.py", HELPED)
    assert evaluated(scored, updates=True).passed
    scored.write("helping.py", "def equal(a, b):\n    return a == b  # the same\n")
    assert evaluated(scored).passed
    scored.write("helping.py", "def equal(a, b):\n    return a <= b\n")
    evaluated(scored).says("INCONCLUSIVE *the ruler changed: source *")


@pytest.fixture
def rescored(project, judge_server):
    """A project with a baseline that judge m1 recorded, and that another judge scores anew."""
    answers_of_quality(project, 4)
    judged_by(project, judge_server, "m1")
    assert evaluated(project, updates=True).passed
    judged_by(project, judge_server, "m2")
    return project


def judged_by(project, judge_server, model):
    project.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  metrics: mean_reward\n  baseline: {rescore: true}\n"
        "  dataset: {path: data.jsonl, fields: {task: id}}\n"
        "  scorers:\n    - type: llm-judge\n"
        f"      model: {{url: '{judge_server.url()}', name: {model}}}\n"
        "      prompt_template: 'Rate {{ id }}. [[say: {{ say }}]]'\n"
        "      scores: [{name: quality, minimum: 1, maximum: 5}]\n",
    )


def answers_of_quality(project, quality):
    say = json.dumps({"quality": quality})
    project.rows("data.jsonl", [{"id": f"t{n}", "say": say} for n in range(30)])


def test_kept_rows_are_judged_once_by_another_judge(rescored, judge_server):
    result = rescored.pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*measured now: judge m1 -> m2 (scorer llm-judge)"])
    paid = judge_server.posts
    assert rescored.pytester.runpytest_subprocess().ret == 0
    assert judge_server.posts == paid


def test_a_run_is_compared_with_what_another_judge_says_of_kept_rows(rescored):
    answers_of_quality(rescored, 2)
    evaluated(rescored).says("FAIL *mean_reward fell from 4 to 2: *")


OLD_MODEL = "m-2024-05-13"
NEW_MODEL = "m-2024-08-06"


@pytest.fixture
def answers_as(project, judge_server):
    """Run a benchmark whose judge answers under this name."""
    say = json.dumps({"quality": 4})
    project.rows("runs.jsonl", [{"id": f"t{n}", "say": say} for n in range(30)])

    def run(name, **options):
        bench(
            project,
            f"type: llm-judge, model: {{url: '{judge_server.url('as=' + name)}', name: m}}, "
            "prompt_template: '{{ id }} [[say: {{ say }}]]', "
            "scores: [{name: quality, direction: higher}]",
        )
        return evaluated(project, **options)

    assert run(OLD_MODEL, updates=True).passed
    return run


def test_a_judge_that_answers_as_another_model_is_another_ruler(answers_as, project):
    ruler = baseline(project)["provenance"]["ruler"]
    assert ruler["answers of m"]["model"] == [OLD_MODEL]
    assert answers_as(OLD_MODEL).passed
    changed = f"model {OLD_MODEL} -> {NEW_MODEL} (answers of m)"
    answers_as(NEW_MODEL).says(f"INCONCLUSIVE *the ruler changed: {changed}")


BOTH_MODELS = {"scores": ["quality"], "model": [OLD_MODEL, NEW_MODEL]}


@pytest.mark.parametrize(
    ("recorded", "is_changed"),
    [
        ({"answers of m": BOTH_MODELS}, False),
        ({"answers of m": {}}, True),
        ({}, False),
    ],
    ids=["a router that asked both", "damaged", "without names"],
)
def test_a_model_is_compared_with_all_that_the_baseline_names(
    answers_as, project, recorded, is_changed
):
    document = baseline(project)
    del document["provenance"]["ruler"]["answers of m"]
    document["provenance"]["ruler"] |= recorded
    write_stamped(project.baseline(), document)
    result = answers_as(NEW_MODEL)
    assert ("the ruler changed" in result.text) is is_changed
    assert result.passed is not is_changed


def test_generated_rows_are_kept_with_their_answers(project, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    agent = "def answer(item):\n    return item['reference'] {}\n"
    judge = "def right(item, sample):\n    return float(sample['output_text'] {} item['reference'])\n"
    project.write("agent.py", agent.format(""))
    project.write("judging.py", judge.format("=="))
    project.rows(
        "data.jsonl", [{"id": f"t{n}", "reference": "Paris"} for n in range(30)]
    )
    project.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  metrics: mean_reward\n  baseline: {rescore: true}\n"
        "  num_samples: 2\n  dataset: {path: data.jsonl, fields: {task: id}}\n"
        "  target: agent:answer\n"
        "  scorers: [{python: judging:right}]\n",
    )
    assert project.run(UPDATE).ret == 0
    project.write("judging.py", judge.format("!="))
    result = project.run()
    result.assert_outcomes(passed=1)
    assert project.checks()["mean_reward"]["comparison"]["baseline"] == 0
    project.write("agent.py", agent.format("+ '!'"))
    project.write("judging.py", judge.format("<="))
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL *mean_reward fell from 1 to 0: *"])


def test_a_hook_that_computes_metrics_is_a_part_of_the_ruler(project):
    hook = "def pytest_evalmetrics_compute_metrics(tasks):\n    return {{'mine': {}}}\n"
    project.write("conftest.py", hook.format(0.5))
    project.rollouts([[1.0]] * 20)
    project.bench(
        "metrics: [mean_reward]\nbaseline: {metrics: {mine: {rule: exact, direction: higher}}}"
    )
    assert project.run(UPDATE).ret == 0
    project.write("conftest.py", "# better\n" + hook.format(0.5))
    assert project.run().ret == 0
    project.write("conftest.py", hook.format(0.9))
    result = project.run()
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE *mine can't*source * -> * (hook compute_metrics)"]
    )
    assert project.checks()["mean_reward"]["verdict"] == "PASS"


def over(project, rollouts, reward="reward", name="math", baseline="true"):
    project.write(
        f"{name}.bench.yaml",
        f"benchmark:\n  name: math\n  rollouts: {rollouts}\n  reward: {reward}\n"
        f"  metrics: [mean_reward]\n  baseline: {baseline}\n",
    )


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
    metric = {
        "name": "Faithful",
        "score": 1.0,
        "success": True,
        "threshold": of["threshold"],
    }
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
        "model_roles": {
            "grader": {"model": of["judge"], "args": {"api_key": "sk-secret"}}
        },
    }
    return json.dumps(
        {"version": 2, "status": "success", "eval": spec, "samples": samples}
    )


def pydantic_evals(**of):
    source = {
        "name": "LLMJudge",
        "arguments": {"rubric": "polite", "model": of["judge"]},
    }
    score = {
        "name": "tone",
        "value": 1.0,
        "source": source,
        "evaluator_version": of["version"],
    }
    cases = [
        {
            "name": f"t{n}",
            "inputs": n,
            "scores": {"tone": score},
            "assertions": {},
            "labels": {},
        }
        | {"task_duration": 1.0}
        for n in range(20)
    ]
    return json.dumps({"name": "report", "cases": cases, "failures": []})


def verifiers_traces(**of):
    reward = {"score": 1.0, "weight": of["threshold"]}
    rows = [
        {"task": {"key": f"t{n}"}, "traces": [{"rewards": {"ok": reward}}]}
        for n in range(20)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


TOOLS = [
    # the writer of its file, the reward, what changed
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
        "reward",
        [
            "grader model j1 -> j2 (tool inspect_ai qa)",
            "options partial 0.8 -> 0.4 (tool inspect_ai qa)",
        ],
    ),
    (inspect_ai, "qa", ["task_version 1 -> 2 (tool inspect_ai qa)"]),
    (pydantic_evals, "reward", ["arguments model j1 -> j2 (tool pydantic_evals tone)"]),
    (pydantic_evals, "tone", ["version 1 -> 2 (tool pydantic_evals tone)"]),
    (verifiers_traces, "reward", ["weight 0.8 -> 0.4 (tool verifiers ok)"]),
]


BEFORE = {"judge": "j1", "threshold": 0.8, "version": 1}
AFTER = {"judge": "j2", "threshold": 0.4, "version": 2}


def write_files(project, measures, stem="runs"):
    """Write a file of each tool, scored by these measures."""
    for number, (write, _, _) in enumerate(TOOLS):
        project.write(f"{stem}{number}.json", write(**measures))


def write_benchmarks(project, **keys):
    for number, (_, reward, _) in enumerate(TOOLS):
        over(project, f"runs{number}.json", reward, name=f"tool{number}", **keys)


@pytest.fixture
def tools(project):
    """A recorded benchmark over a file of each tool."""
    write_benchmarks(project)
    write_files(project, BEFORE)
    assert evaluated(project, updates=True).passed
    return project


def mean_rewards(project):
    """Return the check of each benchmark's mean reward, beside what changed in its file."""
    checks = []
    for entry in project.report()["benchmarks"]:
        (check,) = [c for c in entry["checks"] if c["name"] == "mean_reward"]
        checks.append(check)
    changes = [changes for _, _, changes in TOOLS]
    return zip(checks, changes, strict=True)


def test_no_secret_of_a_tool_s_file_is_recorded(tools):
    for number in range(len(TOOLS)):
        baseline = tools.baseline(f"tool{number}.bench/math.json")
        assert "sk-secret" not in baseline.read_text()


def test_files_that_were_scored_alike_are_compared(tools):
    assert evaluated(tools).passed


def test_what_scored_in_the_files_of_a_tool_is_a_part_of_the_ruler(tools):
    write_files(tools, AFTER)
    verdicts = [result.verdict for result in evaluated(tools).results]
    assert verdicts == [Verdict.INCONCLUSIVE] * len(TOOLS)
    for check, changes in mean_rewards(tools):
        assert check["verdict"] == "INCONCLUSIVE"
        for change in changes:
            assert change in check["reason"]


def test_the_way_out_is_a_new_baseline_for_nothing_can_score_a_tool_s_file_anew(tools):
    write_files(tools, AFTER)
    evaluated(tools)
    for check, _ in mean_rewards(tools):
        way = "record a new baseline with `pytest --evalmetrics-update`, or score "
        assert check["hint"].startswith(way)
        assert "rescore" not in check["hint"]


def against_other_files(project):
    """Compare each tool's file with another run's."""
    for number, (_, reward, _) in enumerate(TOOLS):
        other = f"{{rollouts: old{number}.json}}"
        file = f"runs{number}.json"
        over(project, file, reward, name=f"tool{number}", baseline=other)
    write_files(project, BEFORE, stem="old")


def test_another_run_s_files_say_what_scored_them_too(project):
    against_other_files(project)
    write_files(project, AFTER)
    verdicts = [result.verdict for result in evaluated(project).results]
    assert verdicts == [Verdict.INCONCLUSIVE] * len(TOOLS)
    for check, changes in mean_rewards(project):
        assert check["verdict"] == "INCONCLUSIVE"
        for change in changes:
            assert change in check["reason"]


def test_another_run_s_files_that_were_scored_alike_are_compared(project):
    against_other_files(project)
    write_files(project, BEFORE)
    assert evaluated(project).passed


def test_another_run_s_file_that_says_nothing_of_its_scorer_is_noted(project):
    against_other_files(project)
    write_files(project, BEFORE)
    plain = [{"_ng_task_index": n, "reward": 1, "success": 1} for n in range(3)]
    project.rows("old0.json", plain)
    evaluated(project)
    notes = project.report()["benchmarks"][0]["notes"]
    assert any("holds no fingerprint of what measures" in note for note in notes)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (
            "fields: {task: t}",
            "fields: {task: t, reward: lax}",
            "fields: reward none -> lax",
        ),
        ("fields: {task: t, reward: reward}", "fields: {task: t}", ""),
        (
            "fields: {task: t, reward: lax}",
            "fields: {task: t}",
            "fields: reward lax -> none",
        ),
        (
            "fields: {task: t, scores: {a: lax}}",
            "fields: {task: t, scores: {a: reward}}",
            "",
        ),
        (
            "fields: {task: t}, where: {by: lax}",
            "fields: {task: t}, where: {by: strict}",
            'where {"by":["lax"]} -> {"by":["strict"]}',
        ),
    ],
)
def test_where_the_files_hold_the_reward_is_a_part_of_the_ruler(
    project, before, after, change
):
    rows = [
        {"t": i, "by": by, "reward": 1, "lax": 1}
        for i in range(9)
        for by in ("lax", "strict")
    ]
    project.rows("runs.jsonl", rows)
    for rollouts, updates in (before, True), (after, False):
        text = (
            f"  rollouts: {{path: runs.jsonl, {rollouts}}}\n  metrics: [mean_reward]\n"
        )
        project.write(
            "math.bench.yaml", f"benchmark:\n  name: math\n{text}  baseline: true\n"
        )
        evaluated(project, updates=updates)
    check = project.checks()["mean_reward"]
    assert check["verdict"] == ("INCONCLUSIVE" if change else "PASS")
    assert check["reason"].endswith(change)


def test_the_version_of_a_task_of_lm_eval(project):
    def wrote(task, version, metric="acc"):
        row = {
            "doc": {},
            "filtered_resps": ["x"],
            "filter": "none",
            "metrics": ["acc"],
            "acc": 1.0,
        }
        lines = [
            json.dumps({"doc_id": n, **row, "doc": {"q": n}}) + "\n" for n in range(20)
        ]
        date = f"2026-01-0{len(task)}T03-04-05.6"
        project.write(f"out/samples_{task}_{date}.jsonl", "".join(lines))
        config = {task: {"metric_list": [{"metric": metric, "aggregation": "mean"}]}}
        results = {"results": {}, "configs": config, "versions": {task: version}}
        project.write(f"out/results_{date}.json", json.dumps(results))

    wrote("law", 1.0)
    over(project, "out/samples_*.jsonl")
    assert evaluated(project, updates=True).passed
    wrote("arts", 1.0)  # a task more is told of as a new task
    assert evaluated(project).passed
    wrote("law", 2.0)
    evaluated(project).says(
        "INCONCLUSIVE *the ruler changed: version 1.0 -> 2.0 (tool lm_eval task law)"
    )


def test_a_test_more_with_its_own_assertion_changes_no_ruler(project):
    whole = json.loads(promptfoo(judge="j", threshold=0.8, version=1))
    over(project, "runs.json", "success")
    last = whole["results"]["results"].pop()
    project.write("runs.json", json.dumps(whole))
    assert evaluated(project, updates=True).passed
    whole["results"]["results"].insert(0, last)
    project.write("runs.json", json.dumps(whole))
    assert evaluated(project).passed


OWN_METRIC = """\
from pytest_evalmetrics import register_metric


@register_metric("solved")
class Solved:
    name = "solved"
    direction = "higher"

    def compute(self, task_rewards):
        return sum(max(task) {} 1 for task in task_rewards) / len(task_rewards)
"""


def test_the_code_of_a_metric_of_the_users_is_a_part_of_the_ruler(project, monkeypatch):
    # two versions in one second
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    project.rollouts([[1.0]] * 20)
    project.bench("metrics: [solved]\nexpect: {tasks: 20}\nbaseline: {rule: exact}")
    project.write("conftest.py", OWN_METRIC.format(">="))
    assert project.run(UPDATE).ret == 0
    project.write("conftest.py", OWN_METRIC.format("=="))
    project.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *the ruler changed: source * -> * (metric solved)"]
    )
