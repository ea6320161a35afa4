"""A file that nobody has described is gated in two commands."""

import json

import pytest
import yaml

N = 12
PASSES = [n % 3 > 0 for n in range(N)]  # two of three


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


WORDS = ["PASS" if p else "FAIL" for p in PASSES]

# a name, what it holds, and what is proposed: the shape, and the metric with its value
ODD = {
    "wrapped.json": (
        {
            "run": {"id": "r1", "date": "2026-01-01"},
            "results": [
                {"question_id": f"q{n}", "prompt": "?", "verdict": w} for n, w in enumerate(WORDS)
            ],
        },
        (
            "{rows: results, fields: {task: question_id, reward: verdict, content: [prompt]}, "
            "map: {reward: {FAIL: 0, PASS: 1}}}"
        ),
        "pass@1",
        2 / 3,
    ),
    "trials.json": (
        {
            "tasks": [
                {
                    "task_id": f"t{n}",
                    "trials": [{"trial": k, "reward": {"value": k / 2}} for k in range(3)],
                }
                for n in range(N)
            ]
        },
        (
            "{rows: tasks.*.trials, "
            "fields: {task: _parent.task_id, sample: trial, reward: reward.value}}"
        ),
        "mean_reward",
        0.5,
    ),
    "keyed.json": (
        {f"case-{n}": {"ok": p, "answer": "x"} for n, p in enumerate(PASSES)},
        "{keyed: id, fields: {reward: ok}}",
        "pass@1",
        2 / 3,
    ),
    "numbers.json": (
        {f"item{n}": n / 11 for n in range(N)},
        "{keyed: id, fields: {reward: value}}",
        "mean_reward",
        0.5,
    ),
    "lists.json": (
        {"total": 3, "resolved_ids": ["a", "b"], "unresolved_ids": ["c"]},
        "{lists: {resolved_ids: 1, unresolved_ids: 0}}",
        "pass@1",
        2 / 3,
    ),
    "long.jsonl": (
        lines(
            {"trace_id": f"tr{n}", "name": name, "value": n / 11, "created_at": "2026-01-01"}
            for n in range(N)
            for name in ("correctness", "fluency")
        ),
        (
            "{pivot: {by: trace_id, name: name, value: value}, "
            "fields: {task: trace_id, reward: correctness}}"
        ),
        "mean_reward",
        0.5,
    ),
    "own_ids.jsonl": (
        lines(
            {"id": f"{n}-{k}", "input": f"q {n}", "model": "m", "score": k / 4, "ts": 1.7e9 + n}
            for n in range(N)
            for k in range(5)
        ),
        "{fields: {task: input, agent: model}}",
        "mean_reward",
        0.5,
    ),
    "tickets.jsonl": (
        lines({"note": f"n{n}", "ticket_id": f"k{n}", "ok": p} for n, p in enumerate(PASSES)),
        "{fields: {task: ticket_id}}",
        "pass@1",
        2 / 3,
    ),
    "table.json": (
        {
            "columns": ["inputs", "outputs", "exact_match/score"],
            "data": [[f"q{n}", "a", int(p)] for n, p in enumerate(PASSES)],
        },
        "{rows: data, fields: {task: inputs}}",
        "pass@1",
        2 / 3,
    ),
    "deep.jsonl": (
        lines(
            {"meta": {"example": {"id": n}}, "grading": {"correct": w.lower()}}
            for n, w in enumerate(WORDS)
        ),
        (
            "{fields: {task: meta.example.id, reward: grading.correct}, "
            "map: {reward: {fail: 0, pass: 1}}}"
        ),
        "pass@1",
        2 / 3,
    ),
    "deutsch.csv": (
        "Frage;Modell;richtig\n"
        + "".join(f"Frage {n};m1;{str(p).lower()}\n" for n, p in enumerate(PASSES)),
        "{fields: {task: Frage}}",
        "pass@1",
        2 / 3,
    ),
    "slips.jsonl": (
        lines({"uid": f"n{n}", "all": {"wer": n / 11}, "note": "x"} for n in range(N)),
        "{fields: {task: uid, reward: all.wer}}",
        "mean_reward",
        0.5,
    ),
    "failures.jsonl": (
        lines({"uid": f"n{n}", "failed": "no" if p else "yes"} for n, p in enumerate(PASSES)),
        "{fields: {task: uid, reward: failed}, map: {reward: {'no': 1, 'yes': 0}}}",
        "pass@1",
        2 / 3,
    ),
    "braces.json": (
        [{"test": {"name": f"n{n}"}, "scores": {"Facts": n / 11}} for n in range(N)],
        "{fields: {task: test.name, reward: scores.Facts}}",
        "mean_reward",
        0.5,
    ),
}


def write(project, name):
    content = ODD[name][0]
    project.write(name, content if isinstance(content, str) else json.dumps(content))


def found(project, name):
    text = project.path.joinpath(name.partition(".")[0] + ".bench.yaml").read_text()
    return yaml.safe_load(text)["benchmark"], text


def test_odd_files_are_gated_in_two_commands(project):
    for name, (_, shape, _, _) in ODD.items():
        write(project, name)
        begun = project.run("--evalmetrics-init", name)
        assert begun.ret == 0, begun.stdout.str()
        benchmark, written = found(project, name)
        assert benchmark["rollouts"] == {"path": name, **yaml.safe_load(shape)}
        assert "# reward: " in written or "lists" in shape
        assert benchmark["baseline"] == ({"direction": "lower"} if name == "slips.jsonl" else True)
    assert project.run().ret == 0
    measured = {b["name"]: b["agents"][0]["estimates"] for b in project.report()["benchmarks"]}
    for name, (_, _, metric, value) in ODD.items():
        assert measured[name.partition(".")[0]][metric]["value"] == pytest.approx(value)
    project.write("keyed.json", json.dumps(ODD["keyed.json"][0]).replace("true", "false"))
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL  keyed.bench.yaml:*: pass@1 fell from 0.6667 to 0*"])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("runs.jsonl", None, "there is no file 'runs.jsonl'"),
        ("empty.jsonl", "", "empty.jsonl: the file is empty"),
        ("half.json", '{"results": [{"id": 1', "half.json"),
        ("texts.json", '["a", "b"]', "texts.json"),
        ("nan.jsonl", '{"id": NaN}\n', "nan.jsonl"),
        *[("other.yaml", text, "other.yaml") for text in ("[1, 2", "a: 1", "- 1", "")],
    ],
)
def test_what_cannot_be_read_is_said(project, name, text, expected):
    if text is not None:
        project.write(name, text)
    result = project.run("--evalmetrics-init", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert expected in result.stderr.str()
    assert not list(project.path.glob("*.bench.yaml"))


def test_no_file_is_written_over(project):
    write(project, "keyed.json")
    project.write("keyed.bench.yaml", "mine")
    result = project.run("--evalmetrics-init", "keyed.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*keyed.bench.yaml: there is such a benchmark file already*"])
    assert (project.path / "keyed.bench.yaml").read_text() == "mine"


VLLM = """
model_name: meta-llama/Meta-Llama-3-8B-Instruct
tasks:
- name: gsm8k
  metrics:
  - {name: "exact_match,strict-match", value: 0.75}
  - {name: "exact_match,flexible-extract", value: 0.9}
limit: 8
RTOL
"""


@pytest.mark.parametrize(("rtol", "status"), [("", 0), ("rtol: 0.01", 1)])
def test_settings_of_vllms_lm_eval_tests(project, rtol, status):
    project.write("Llama.yaml", VLLM.replace("RTOL", rtol))
    begun = project.run("--evalmetrics-init", "Llama.yaml")
    assert begun.ret == 0
    begun.stdout.fnmatch_lines(["*Name the rollouts in it, then: pytest Llama.bench.yaml"])
    project.rows(
        "results/samples_gsm8k_2026-01-01T00-00-00.jsonl",
        [
            {
                "doc_id": n,
                "doc": {},
                "target": "",
                "resps": [["a"]],
                "arguments": [["q"]],
                "filtered_resps": ["a"],
                "filter": name,
                "metrics": ["exact_match"],
                "exact_match": float(n > low),
            }
            for name, low in (("strict-match", 1), ("flexible-extract", 0))
            for n in range(8)
        ],
    )
    result = project.run()
    assert result.ret == status  # .75 is met; .875 lies 2.8 % below .9
    if status:
        result.stdout.fnmatch_lines(["FAIL *mean/exact_match,flexible-extract*0.875*"])


@pytest.mark.parametrize(
    ("name", "text", "thresholds"),
    [
        (
            "Qwen.yaml",
            "model_name: Qwen\naccuracy_threshold: 0.54\nnum_questions: 1319\n",
            {"mean_reward": {"min": 0.46}},
        ),
        (
            "promptfooconfig.yaml",
            json.dumps(
                {
                    "providers": ["a"],
                    "tests": [
                        {"assert": [{"type": "similar", "threshold": t, "metric": "Same"}, {}]}
                        for t in (0.8, 0.6)
                    ],
                }
            ),
            {"mean_reward": ">= 1", "mean/Same": {"min": 0.8}},
        ),
    ],
)
def test_settings_of_other_tools(project, name, text, thresholds):
    project.write(name, text)
    assert project.run("--evalmetrics-init", name).ret == 0
    (file,) = project.path.glob("*.bench.yaml")
    assert yaml.safe_load(file.read_text())["benchmark"]["thresholds"] == thresholds
    assert project.run("--collect-only", "-q").ret == 0


def test_thresholds_that_a_file_of_deepeval_names(project):
    metric = {"name": "Faithfulness", "threshold": 0.7, "success": True, "score": 0.9}
    case = {"input": "q", "actualOutput": "a", "success": True, "metricsData": [metric]}
    cases = [{**case, "name": f"case {n}", "input": f"q{n}", "order": n} for n in range(4)]
    project.write("run.json", json.dumps({"testCases": cases, "conversationalTestCases": []}))
    assert project.run("--evalmetrics-init", "run.json").ret == 0
    assert found(project, "run.json")[0]["thresholds"] == {"mean/Faithfulness": {"min": 0.7}}
