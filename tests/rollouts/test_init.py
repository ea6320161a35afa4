"""A file that nobody has described is gated in two commands."""

import json
import re

import pytest
import yaml
from evaluated import evaluated
from rollouts.test_lm_eval import row as sample

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.survey import write_benchmark

N = 12
PASSES = [n % 3 > 0 for n in range(N)]  # two of three


WORDS = ["PASS" if p else "FAIL" for p in PASSES]
VALUES = {"pass@1": 2 / 3, "mean_reward": 0.5}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


ODD = {  # what a file holds, and what is proposed: the shape, and the metric
    "wrapped.json": (
        {
            "run": {"id": "r1", "date": "2026-01-01"},
            "results": [
                {"question_id": f"q{n}", "prompt": "?", "verdict": w}
                for n, w in enumerate(WORDS)
            ],
        },
        (
            "{rows: results, fields: {task: question_id, reward: verdict, content: [prompt]}, "
            "map: {reward: {FAIL: 0, PASS: 1}}}"
        ),
        "pass@1",
    ),
    "trials.json": (
        {
            "tasks": [
                {
                    "task_id": n,
                    "trials": [{"trial": k, "reward": {"v": k / 2}} for k in range(3)],
                }
                for n in range(N)
            ]
        },
        "{rows: tasks.*.trials, fields: {task: _parent.task_id, sample: trial, reward: reward.v}}",
        "mean_reward",
    ),
    "keyed.json": (
        {f"case-{n}": {"ok": p, "answer": "x"} for n, p in enumerate(PASSES)},
        "{keyed: id, fields: {reward: ok}}",
        "pass@1",
    ),
    "numbers.json": (
        {f"item{n}": n / 11 for n in range(N)},
        "{keyed: id, fields: {reward: value}}",
        "mean_reward",
    ),
    "models.json": (
        {
            "date": {},
            "by": {m: {f"t{n}": n / 11 for n in range(N)} for m in ("m1", "m2")},
        },
        "{rows: by.*, keyed: id, fields: {agent: _parent._key, reward: value}}",
        "mean_reward",
    ),
    "runs.json": (
        {
            m: [{"task_id": n, "passed": p} for n, p in enumerate(PASSES)]
            for m in ("m1", "m2")
        },
        "{rows: '*', fields: {task: task_id, reward: passed, agent: _parent._key}}",
        "pass@1",
    ),
    "summary.json": (
        {
            "sum": {"passed": 8},
            "rows": [{"id": n, "g": {"ok": p}} for n, p in enumerate(PASSES)],
        },
        "{rows: rows, fields: {task: id, reward: g.ok}}",
        "pass@1",
    ),
    "graded.jsonl": (
        lines(
            {
                "id": n,
                "input": f"q {n % 6}",
                "scores": [
                    {"name": m, "value": n / 11} for m in ("correctness", "fluency")
                ],
            }
            for n in range(N)
        ),
        (
            "{rows: scores, pivot: {by: _parent.id, name: name, value: value}, "
            "fields: {task: _line._parent.input, reward: correctness}}"
        ),
        "mean_reward",
    ),
    "own_ids.jsonl": (
        lines(
            {
                "id": f"{n}-{k}",
                "input": f"q {n}",
                "model": "m",
                "score": k / 4,
                "ts": 1.7e9 + n,
            }
            for n in range(N)
            for k in range(5)
        ),
        "{fields: {task: input, reward: score, agent: model}}",
        "mean_reward",
    ),
    "tickets.jsonl": (
        lines(
            {"note": f"n{n}", "ticket_id": f"k{n}", "ok": p}
            for n, p in enumerate(PASSES)
        ),
        "{fields: {task: ticket_id, reward: ok}}",
        "pass@1",
    ),
    "table.json": (
        {
            "columns": ["inputs", "outputs", "exact_match/score"],
            "data": [[f"q{n}", "a", int(p)] for n, p in enumerate(PASSES)],
        },
        "{rows: data, fields: {task: inputs, reward: exact_match/score}}",
        "pass@1",
    ),
    "deep.jsonl": (
        lines(
            {"meta": {"id": n}, "grading": {"correct": w.lower()}}
            for n, w in enumerate(WORDS)
        ),
        "{fields: {task: meta.id, reward: grading.correct}, map: {reward: {fail: 0, pass: 1}}}",
        "pass@1",
    ),
    "deutsch.csv": (
        "Frage;Modell;richtig\n"
        + "".join(f"Frage {n};m1;{str(p).lower()}\n" for n, p in enumerate(PASSES)),
        "{fields: {task: Frage, reward: richtig, agent: Modell}}",
        "pass@1",
    ),
    "slips.jsonl": (
        lines({"uid": f"n{n}", "all": {"wer": n / 11}, "note": "x"} for n in range(N)),
        "{fields: {task: uid, reward: all.wer}}",
        "mean_reward",
    ),
    "failures.jsonl": (
        lines(
            {"uid": f"n{n}", "failed": "no" if p else "yes"}
            for n, p in enumerate(PASSES)
        ),
        "{fields: {task: uid, reward: failed}, map: {reward: {'no': 1, 'yes': 0}}}",
        "pass@1",
    ),
    "braces.json": (
        [{"test": {"name": f"n{n}"}, "scores": {"Facts": n / 11}} for n in range(N)],
        "{fields: {task: test.name, reward: scores.Facts}}",
        "mean_reward",
    ),
}


REASONS = {  # the comments of some of the proposals
    "trials.json": [
        "rows: the objects of the lists at 'tasks.*.trials'",
        "task: _parent.task_id, 12 values in 36 rows",
        "sample: trial, which tells the rows of a task apart",
        "reward: reward.v (0..1), by its name",
    ],
    "numbers.json": [
        "rows: the 12 numbers at the top, by their keys",
        "reward: value (0..1), by its name",
    ],
    "models.json": [
        "rows: those of the runs m1, m2",
        "agent: _parent._key, the name of the run",
        "reward: value (0..1), by its name",
    ],
    "own_ids.jsonl": [
        "task: input, 12 values in 60 rows; or id",
        "agent: model, by its name",
        "reward: score (0..1), by its name",
    ],
}


def write(project, name):
    content = ODD[name][0]
    project.write(name, content if isinstance(content, str) else json.dumps(content))


def proposed(project, name):
    """Let init write a benchmark file for one of the odd files, and read it."""
    write(project, name)
    path = write_benchmark(name, project.path).path
    return yaml.safe_load(path.read_text())["benchmark"]


def written_for(project, name):
    """Give the text of the benchmark file that init writes for a file."""
    return write_benchmark(name, project.path).path.read_text()


def comments_of(project, name):
    write(project, name)
    lines = written_for(project, name).splitlines()
    return [line.removeprefix("# ") for line in lines if line.startswith("# ")]


@pytest.mark.parametrize("name", ODD)
def test_the_shape_of_an_odd_file_is_proposed(project, name):
    _, shape, _ = ODD[name]
    rollouts = proposed(project, name)["rollouts"]
    assert rollouts == {"path": name, **yaml.safe_load(shape)}


@pytest.mark.parametrize("name", REASONS)
def test_the_reasons_for_a_shape_are_written_above_it(project, name):
    written = ["written by evalmetrics init", *REASONS[name]]
    assert comments_of(project, name) == written


@pytest.mark.parametrize("name", ODD)
def test_there_is_a_reason_for_every_reward(project, name):
    reasons = comments_of(project, name)
    assert any(reason.startswith("reward: ") for reason in reasons)


def test_a_word_error_rate_is_better_when_it_is_lower(project):
    assert proposed(project, "slips.jsonl")["baseline"] == {"direction": "lower"}


def test_a_share_of_passes_has_the_default_baseline(project):
    assert proposed(project, "tickets.jsonl")["baseline"] is True


def test_odd_files_have_their_values(project):
    for name in ODD:
        proposed(project, name)
    assert evaluated(project, updates=True).passed
    values = {}
    for benchmark in project.report()["benchmarks"]:
        values[benchmark["name"]] = benchmark["agents"][0]["estimates"]
    for name, (_, _, metric) in ODD.items():
        estimate = values[name.partition(".")[0]][metric]
        assert estimate["value"] == pytest.approx(VALUES[metric]), name


def test_an_odd_file_is_gated_in_two_commands(project):
    write(project, "keyed.json")
    assert project.run("--evalmetrics-init", "keyed.json").ret == 0
    worse = json.dumps(ODD["keyed.json"][0]).replace("true", "false")
    project.write("keyed.json", worse)
    result = project.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAIL  keyed.bench.yaml:*: pass@1 fell from 0.6667 to 0*"]
    )


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("runs.jsonl", None, "there is no file 'runs.jsonl'"),
        ("empty.jsonl", "", "empty.jsonl: the file is empty"),
        ("half.json", '{"results": [{"id": 1', "half.json"),
        ("texts.json", '["a", "b"]', "texts.json"),
        ("nan.jsonl", '{"id": NaN}\n', "nan.jsonl"),
        ("one.json", '{"model": "m", "accuracy": 0.7}', "there is one row"),
        *[("other.yaml", text, "other.yaml") for text in ("[1, 2", "a: 1", "- 1", "")],
    ],
)
def test_unreadable_files_are_reported(project, name, text, expected):
    if text is not None:
        project.write(name, text)
    with pytest.raises(EvalMetricsError, match=re.escape(expected)):
        write_benchmark(name, project.path)
    assert not list(project.path.glob("*.bench.yaml"))


def test_no_file_is_written_over(project):
    write(project, "keyed.json")
    project.write("keyed.bench.yaml", "mine")
    result = project.run("--evalmetrics-init", "keyed.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*keyed.bench.yaml: there is such a benchmark file already*"]
    )
    assert (project.path / "keyed.bench.yaml").read_text() == "mine"


VLLM = """\
model_name: meta-llama/Meta-Llama-3-8B-Instruct
tasks:
- name: gsm8k
  metrics:
  - {name: "exact_match,strict-match", value: 0.75}
  - {name: "exact_match,flexible-extract", value: 0.9}
limit: 8
RTOL
"""


@pytest.fixture
def vllm(project):
    """Run vLLM's settings of a test of lm-eval: 0.75 and 0.875, of which the second is low."""

    def run(rtol):
        project.write("Llama.yaml", VLLM.replace("RTOL", rtol))
        write_benchmark("Llama.yaml", project.path)
        strict = [
            sample(n, filter="strict-match", exact_match=float(n > 1)) for n in range(8)
        ]
        flexible = [
            sample(n, filter="flexible-extract", exact_match=float(n > 0))
            for n in range(8)
        ]
        project.rows(
            "results/samples_gsm8k_2026-01-01T00-00-00.jsonl", [*strict, *flexible]
        )
        return evaluated(project)

    return run


def test_init_says_what_is_left_to_do_for_settings(project):
    project.write("Llama.yaml", VLLM.replace("RTOL", ""))
    result = project.run("--evalmetrics-init", "Llama.yaml")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*Name the rollouts in it, then: pytest Llama.bench.yaml"]
    )


def test_a_value_within_vllms_tolerance_passes(vllm):
    assert vllm("").passed


def test_a_value_below_vllms_tolerance_fails(vllm):
    evaluation = vllm("rtol: 0.01")  # 0.875 lies 2.8 % below 0.9
    assert not evaluation.passed
    evaluation.says("FAIL *mean/exact_match,flexible-extract*0.875*")


SIMILAR = "{assert: [{type: similar, threshold: %s, metric: Same}, {}]}"


@pytest.mark.parametrize(
    ("name", "text", "thresholds"),
    [
        (
            "Qwen.yaml",
            "{model_name: Qwen, accuracy_threshold: 0.54, num_questions: 1319}",
            {"mean_reward": {"min": 0.46}},
        ),
        (
            "promptfooconfig.yaml",
            f"{{providers: [a], tests: [{SIMILAR % 0.8}, {SIMILAR % 0.6}]}}",
            {"mean_reward": ">= 1", "mean/Same": {"min": 0.8}},
        ),
    ],
)
def test_settings_of_other_tools(project, name, text, thresholds):
    project.write(name, text)
    file = write_benchmark(name, project.path).path
    (benchmark,) = load_benchmarks(file, shown=file.name)
    assert yaml.safe_load(file.read_text())["benchmark"]["thresholds"] == thresholds
    assert benchmark.spec.thresholds.keys() == thresholds.keys()


def test_thresholds_that_a_file_of_deepeval_names(project):
    metric = {"name": "Faithfulness", "threshold": 0.7, "success": True, "score": 0.9}
    case = {"input": "q", "actualOutput": "a", "success": True, "metricsData": [metric]}
    cases = [
        {**case, "name": f"case {n}", "input": f"q{n}", "order": n} for n in range(4)
    ]
    project.write(
        "run.json", json.dumps({"testCases": cases, "conversationalTestCases": []})
    )
    text = written_for(project, "run.json")
    assert "reward: ?" in text
    assert "mean/Faithfulness: {min: 0.7}" in text


ASKED = [{"task_id": f"q{n}", "correct": n % 2, "score": n / 16} for n in range(12)]


def test_two_likely_rewards_are_asked_about_and_nothing_is_recorded(project):
    project.rows("runs.jsonl", ASKED)
    result = project.run("--evalmetrics-init", "runs.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "Nothing is recorded yet. Fill in:",
            "  runs.bench.yaml:10: reward: [?]  # correct (0/1, 50 % are 1) or score (0..0.6875)[?]",
            "Then record the baseline: pytest runs.bench.yaml --evalmetrics-update",
        ]
    )
    assert not project.path.joinpath("__baselines__").exists()


def test_an_open_line_is_an_error_at_its_line(project):
    project.rows("runs.jsonl", ASKED)
    write_benchmark("runs.jsonl", project.path)
    result = project.run()
    assert result.ret != 0
    result.stdout.fnmatch_lines(
        [
            "*runs.bench.yaml:10: reward: this is left open: *correct (0/1, 50 % are 1) or *"
        ]
    )


def test_a_file_that_was_filled_in_is_recorded(project):
    project.rows("runs.jsonl", ASKED)
    file = write_benchmark("runs.jsonl", project.path).path
    file.write_text(file.read_text().replace("reward: ?", "reward: correct"))
    assert evaluated(project, updates=True).passed
    assert evaluated(project).passed


def test_a_format_of_several_scores_is_asked_about(project):
    cases = [
        {"name": n, "scores": {"a": {"value": s}, "b": {"value": 1 - s}}}
        for n, s in [("x", 0.5), ("y", 0.25)]
    ]
    for case in cases:
        case["task_duration"] = 1.0
    report = {"name": "t", "cases": cases, "failures": [], "analyses": []}
    project.write("report.json", json.dumps(report))
    (line,) = write_benchmark("report.json", project.path).open_lines
    assert line.endswith("reward: ?  # a (0.25..0.5) or b (0.5..0.75)?")


def test_init_needs_no_workers(project):
    project.write("pytest.ini", "[pytest]\naddopts = -n 2\n")
    write(project, "keyed.json")
    result = project.run("--evalmetrics-init", "keyed.json", "-p", "xdist")
    assert result.ret == 0
    assert project.run("-n", "0").ret == 0


def test_init_says_that_a_bare_pytest_passes_over_the_file(project):
    project.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    project.write("tests/test_nothing.py", "def test_it(): pass\n")
    write(project, "keyed.json")
    result = project.run("--evalmetrics-init", "keyed.json")
    result.stdout.fnmatch_lines(
        ["A bare pytest does not collect it: testpaths is tests. Add keyed.bench.yaml*"]
    )


def test_an_absolute_path_is_written_as_a_relative_one(project):
    write(project, "keyed.json")
    written = write_benchmark(str(project.path / "keyed.json"), project.path)
    benchmark = yaml.safe_load(written.path.read_text())["benchmark"]
    assert benchmark["rollouts"]["path"] == "keyed.json"


def attempts(tasks):
    return lines(
        {"task_id": f"q{n}", "sample": k, "correct": (n + k) % 3 > 0}
        for n in range(tasks)
        for k in range(4)
    )


def test_init_says_what_its_gates_detect_and_what_a_drop_of_005_takes(project):
    project.write("r.jsonl", attempts(60))
    written = project.run("--evalmetrics-init", "r.jsonl").stdout
    planned = project.run("r.bench.yaml", "--evalmetrics-plan").stdout
    written.fnmatch_lines(
        [
            "What its gates detect with 80 % power, over 60 tasks x 4 rollouts:",
            "  pass@1: a drop of *; 0.05 takes * rollouts of each task",
        ]
    )
    (line,) = [text for text in written.lines if text.startswith("  pass@1: a drop of")]
    detected = line.split("a drop of ")[1].partition(";")[0]
    planned.fnmatch_lines([f"*pass@1 *60 *4 *{detected} *"])


def test_init_says_why_nothing_is_known_of_too_few_tasks(project):
    project.write("r.jsonl", attempts(3))
    written = project.run("--evalmetrics-init", "r.jsonl").stdout
    written.fnmatch_lines(
        [
            "  pass@1: not known: there are too few tasks to test their mean, *",
            "  pass@4, pass^4: not known: 3 tasks: no drop of any size can reach *",
        ]
    )


def test_no_threshold_is_made_of_the_seconds_that_promptfoo_allows(project, acceptance):
    text = (acceptance / "formats/promptfoo/results.json").read_text()
    project.write("results.json", text)
    assert "thresholds" not in written_for(project, "results.json")


def test_a_test_that_crashed_does_not_make_success_rare(project, acceptance):
    text = (acceptance / "formats/promptfoo/results.json").read_text()
    project.write("results.json", text)  # two of six crashed
    written = written_for(project, "results.json")
    assert "# reward: success (0/1, 50 % are 1), by its name" in written


def test_rollouts_without_any_number_end_in_a_sentence(project, acceptance):
    log = "2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"
    content = (acceptance / "formats/inspect_ai" / log).read_bytes()
    (project.path / "log.eval").write_bytes(content)
    result = project.run("--evalmetrics-init", "log.eval")
    text = result.stdout.str()
    assert "mean_reward: not known: no rollout has a number" in text
    assert "10 rollouts have no finite reward" in text


def test_the_zeros_of_crashed_rows_are_no_evidence(project):
    rows = [{"task_id": f"t{n}", "reward": n % 2, "error": None} for n in range(20)]
    rows[0]["error"] = "RateLimitError: 429"
    project.rows("runs.jsonl", rows)
    written = written_for(project, "runs.jsonl")
    assert "# reward: reward (0/1, 53 % are 1), by its name" in written  # 10 of 19


def test_settings_that_are_not_known_are_refused(project):
    project.write("task.yaml", "task: toy\ndataset_path: json\n")
    result = project.run("--evalmetrics-init", "task.yaml")
    result.stderr.fnmatch_lines(["ERROR: task.yaml: this YAML holds no results"])


def test_a_summary_is_offered_as_a_threshold_once_its_fields_are_named(project):
    project.write("summary.json", '{"model": "m1", "accuracy": 0.87, "n": 100}')
    refused = project.run("--evalmetrics-init", "summary.json")
    assert refused.ret != 0
    refused.stderr.fnmatch_lines(
        ["*a summary is gated by a threshold: *--task model --reward accuracy"]
    )
    choices = '{"task": "model", "reward": "accuracy"}'
    written = project.run(
        "--evalmetrics-init=summary.json", f"--evalmetrics-choices={choices}"
    )
    written.stdout.fnmatch_lines(
        [
            "    mean_reward: ?  # '>= ...', the least that you accept; it is 0.87",
            "Nothing is recorded yet. Fill in:",
            "Then: pytest summary.bench.yaml",
        ]
    )
    file = project.path / "summary.bench.yaml"
    text = file.read_text()
    assert "baseline: true" not in text
    file.write_text(text.replace("mean_reward: ?", "mean_reward: '>= 0.85'"))
    assert evaluated(project).passed
    project.write("summary.json", '{"model": "m1", "accuracy": 0.84, "n": 100}')
    assert not evaluated(project).passed


def test_a_summary_without_a_name_is_offered_a_python_test(project):
    project.write("summary.json", '{"accuracy": 0.87}')
    refused = project.run("--evalmetrics-init", "summary.json")
    refused.stderr.fnmatch_lines(["*in a Python test: evalmetrics.check(*"])


def test_a_task_that_nobody_judged_is_no_warning(project):
    words = [*["PASS", "FAIL"] * 8, "ERROR"]
    cells = "".join(f"q{n},{word}\n" for n, word in enumerate(words))
    project.write("runs.csv", "case,result\n" + cells)
    result = project.run("--evalmetrics-init", "runs.csv")
    result.stdout.fnmatch_lines(["*1 missing*"])
    assert "RuntimeWarning" not in f"{result.stdout}{result.stderr}"
