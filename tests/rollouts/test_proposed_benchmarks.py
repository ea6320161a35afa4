"""The report on rollouts, and the benchmark file that init and inspect propose for them."""

import json

import pytest
import yaml
from rollouts.tool_files import lines

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.folders import FolderFiles, files_in
from pytest_evalmetrics.rollouts.survey import (
    Choices,
    decision_lines,
    survey,
    write_benchmark,
)
from pytest_evalmetrics.rollouts.tool_settings import migrated


def gym(task, sample, reward, **more):
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": reward,
    } | more


def surveyed(folder, rows, name="runs.jsonl"):
    folder.rows(rows, name)
    return survey(name, folder.path, str)


def written(folder, pattern="runs.jsonl", **choices):
    benchmark = write_benchmark(pattern, folder.path, Choices(**choices))
    return benchmark, benchmark.path.read_text()


PARTS = [gym(n // 2, n % 2, n / 8, turns=n) for n in range(6)]
VERDICTS = [gym(n // 2, n % 2, n % 3 % 2) for n in range(6)]


# -- the report --------------------------------------------------------------------------------


def test_the_report_of_rollouts(folder):
    assert surveyed(folder, PARTS).report == (
        "runs.jsonl: jsonl, 6 rollouts\n"
        "3 tasks, 2 rollouts each: 0, 1, 2\n"
        "  reward  mean 0.3125, from 0 to 0.625  <- the reward\n"
        "  turns   mean 2.5, from 0 to 5\n"
    )


def test_the_report_of_unequal_tasks_of_several_agents(folder):
    rows = [
        gym(task, sample, None if sample else 0.5, agent_ref={"name": agent})
        for agent in ("ada", "bea")
        for task in range(4)
        for sample in range(1 + (agent == "bea" and task == 0))
    ]
    assert surveyed(folder, rows).report.startswith(
        "runs.jsonl: jsonl, 9 rollouts\n"
        "agent ada: 4 tasks, 1 rollout each: 0, 1, 2 and 1 more\n"
        "agent bea: 4 tasks, 1 to 2 rollouts each: 0, 1, 2 and 1 more\n"
        "  reward  mean 0.5, from 0.5 to 0.5, 1 missing  <- the reward\n"
    )


def test_ten_files_are_listed(folder):
    for number in range(12):
        folder.rows([gym(number, 0, 0.5)], f"runs/{number:02}.jsonl")
    report = survey("runs/*.jsonl", folder.path, str).report.splitlines()
    assert report[9:11] == ["runs/09.jsonl: jsonl, 1 rollout", "and 2 more files"]
    assert report[11] == "12 tasks, 1 rollout each: 0, 1, 2 and 9 more"


def test_the_files_of_a_folder_that_are_not_read_are_named(folder):
    folder.rows(PARTS, "runs/a.jsonl")
    folder.write("x,y\n1,2\n", "runs/b.csv")
    report = survey("runs", folder.path, str).report.splitlines()
    assert report[0] == "not read, as runs/*.jsonl does not match them: b.csv"
    assert report[1] == "runs/a.jsonl: jsonl, 6 rollouts"


def test_a_json_file_of_lines_is_called_json(folder):
    folder.write(json.dumps(PARTS), "runs.json")
    assert survey("runs.json", folder.path, str).report.startswith("runs.json: json, ")


def test_notes_on_the_rollouts_end_the_report(folder):
    folder.json(deepeval(0.5, 0.5) | {"testPassed": 5}, "run.json")
    text = survey("run.json", folder.path, lambda note: type(note).__name__).report
    assert text.splitlines()[-1] == "OtherNumberStated"


# -- the benchmark -----------------------------------------------------------------------------


def test_the_benchmark_of_grades(folder):
    assert surveyed(folder, PARTS).benchmark == (
        "# a benchmark file to start from, such as runs.bench.yaml\n"
        "benchmark:\n"
        "  name: runs\n"
        "  rollouts: runs.jsonl\n"
        "  num_samples: 2\n"
        "  metrics: [mean_reward]\n"
        "  expect: {tasks: 3}\n"
        "  baseline: true  # record it with: pytest --evalmetrics-update\n"
    )


@pytest.mark.parametrize(
    ("rows", "metrics"),
    [
        (VERDICTS, ["pass@1", "pass@2", "pass^2"]),
        ([gym(n, 0, n % 2) for n in range(4)], ["pass@1"]),
        ([gym(n, 0, n / 2) for n in range(4)], ["mean_reward"]),
        ([gym(n, 0, None) for n in range(4)], ["mean_reward"]),
    ],
)
def test_the_metrics_of_verdicts_and_grades(folder, rows, metrics):
    benchmark = yaml.safe_load(surveyed(folder, rows).benchmark)["benchmark"]
    assert benchmark["metrics"] == metrics


def test_unequal_samples_and_missing_rewards(folder):
    rows = [*VERDICTS, gym(3, 0, None)]
    benchmark = yaml.safe_load(surveyed(folder, rows).benchmark)["benchmark"]
    assert "num_samples" not in benchmark
    assert benchmark["expect"] == {"tasks": 4, "missing_reward": "error"}
    assert benchmark["metrics"] == ["pass@1"]


def test_agents_of_unequal_tasks_expect_no_number(folder):
    rows = [gym(n, 0, n / 8, agent_ref={"name": "ab"[n % 3 % 2]}) for n in range(4)]
    assert "expect" not in surveyed(folder, rows).benchmark


def test_a_reward_that_should_be_low_has_its_direction(folder):
    rows = [{"task_id": f"q{n}", "wer": n / 8} for n in range(4)]
    folder.rows(rows)
    found, text = written(folder, task="task_id", reward="wer")
    assert (
        "  baseline: {direction: lower}  # the direction is proposed from the reward's name: "
        "check it\n"
    ) in text
    assert found.open_lines == ()
    assert found.has_baseline


def test_words_that_are_mapped_are_better_when_higher(folder):
    rows = [{"task_id": f"q{n}", "failed": ("yes", "no")[n % 2]} for n in range(4)]
    folder.rows(rows)
    _, text = written(folder)
    assert "baseline: true" in text


def test_verdicts_that_should_be_low_have_a_mean(folder):
    folder.rows([{"task_id": f"q{n}", "errors": n % 2} for n in range(4)])
    _, text = written(folder, reward="errors")
    assert "metrics: [mean_reward]" in text


def test_a_summary_has_a_threshold_to_fill_in(folder):
    folder.json({"model": "m", "accuracy": 0.123456}, "sum.json")
    found, text = written(folder, "sum.json", task="model", reward="accuracy")
    question = "'>= ...', the least that you accept; it is 0.1235"
    assert (
        "# baseline: none, because one number can't show which loss is noise\n" in text
    )
    assert found.open_lines == (f"sum.bench.yaml:13: mean_reward: ?  # {question}",)
    assert "baseline:" not in text.replace("# baseline:", "")
    assert not found.has_baseline


def test_a_summary_that_should_be_low_has_a_largest_value(folder):
    folder.json({"model": "m", "wer": 0.25}, "sum.json")
    found, _ = written(folder, "sum.json", task="model", reward="wer")
    assert "'<= ...', the most that you accept; it is 0.25" in found.open_lines[0]


def deepeval(*thresholds):
    cases = [
        {
            "name": f"c{n}",
            "input": f"q{n}",
            "success": True,
            "metricsData": [
                {"name": "tone", "score": 0.75 + n / 8, "threshold": threshold}
            ],
        }
        for n, threshold in enumerate(thresholds)
    ]
    return {"testCases": cases}


def test_thresholds_that_files_state_are_proposed(folder):
    folder.json(deepeval(0.5, 0.5), "run.json")
    _, text = written(folder, "run.json", reward="tone")
    benchmark = yaml.safe_load(text)["benchmark"]
    assert benchmark["thresholds"] == {"mean/tone": {"min": 0.5}}


def test_several_thresholds_of_a_score_are_not(folder):
    folder.json(deepeval(0.5, 0.25), "run.json")
    assert "thresholds" not in written(folder, "run.json", reward="tone")[1]


def opik(**scores):
    """Write two rollouts, with a value of each score."""
    tests = [
        {
            "test_case": {"dataset_item_id": f"i{n}"},
            "score_results": [
                {"name": name, "value": values[n]} for name, values in scores.items()
            ],
        }
        for n in range(2)
    ]
    return {"experiment_id": "e", "test_results": tests}


def test_the_reward_of_a_format_without_one_is_chosen(folder):
    folder.json(opik(tone=[0.5, 0.25], score=[1, 0]), "run.json")
    found, text = written(folder, "run.json")
    assert "# reward: score (0/1, 50 % are 1), by its name; or tone\n" in text
    assert "  reward: score\n" in text
    assert "  metrics: [pass@1]\n" in text
    assert found.open_lines == ()


def test_a_reward_that_is_not_clear_is_left_open(folder):
    folder.json(opik(f1=[0.5, 0.25], acc=[1, 0]), "run.json")
    found, text = written(folder, "run.json")
    question = "f1 (0.25..0.5) or acc (0/1, 50 % are 1)?"
    assert found.open_lines == (f"run.bench.yaml:6: reward: ?  # {question}",)
    assert "  metrics: [mean_reward]\n" in text


def test_an_absolute_path_outside_is_marked(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "runs.jsonl"
    other.write_text(lines([{"task_id": f"q{n}", "score": n / 8} for n in range(4)]))
    _, text = written(folder, str(other))
    comment = "an absolute path, which other machines do not have"
    assert f"path: {other.as_posix()}  # {comment}\n" in text


def test_an_absolute_path_below_is_written_as_a_relative_one(folder):
    folder.rows(PARTS)
    _, text = written(folder, str(folder.path / "runs.jsonl"))
    assert "rollouts: runs.jsonl\n" in text


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("a b/r*.jsonl", "a-b"),
        ("x.y/run one!.jsonl", "run-one"),
        ("*.jsonl", "benchmark"),
        ("r.jsonl.gz", "r"),
        ("größe.jsonl", "gr-e"),
    ],
)
def test_a_benchmark_is_named_by_its_files(folder, pattern, name):
    path = pattern.replace("*", "1")
    folder.write(lines(PARTS), path)
    found, text = written(folder, pattern)
    assert found.path.name == f"{name}.bench.yaml"
    assert f"name: {name}\n" in text


def test_a_file_that_is_there_is_kept(folder):
    folder.rows(PARTS)
    folder.write("mine", "runs.bench.yaml")
    with pytest.raises(DataError) as caught:
        written(folder)
    assert caught.value.message == "there is such a benchmark file already"
    assert caught.value.file == "runs.bench.yaml"
    assert caught.value.hint == "change it by hand, or rename it and start anew"


def test_a_file_that_can_not_be_written_is_an_error(folder):
    folder.rows(PARTS, "r" * 247 + ".jsonl")
    with pytest.raises(DataError) as caught:
        written(folder, "r" * 247 + ".jsonl")
    assert caught.value.message == "it can't be written: File name too long"


def test_a_drop_that_matters_is_part_of_the_baseline(folder):
    folder.rows(PARTS)
    assert "baseline: {max_drop: 0.05}\n" in written(folder, max_drop=0.05)[1]
    folder.rows([{"task_id": f"q{n}", "wer": n / 8} for n in range(4)], "low.jsonl")
    _, text = written(folder, "low.jsonl", task="task_id", reward="wer", max_drop=0.05)
    assert "baseline: {direction: lower, max_drop: 0.05}" in text


def test_a_summary_has_no_drop(folder):
    folder.json({"model": "m", "accuracy": 0.5}, "sum.json")
    with pytest.raises(DataError) as caught:
        written(folder, "sum.json", task="model", reward="accuracy", max_drop=0.1)
    assert caught.value.message == (
        "--max-drop is for a baseline, and a summary is gated by a threshold"
    )
    assert caught.value.hint == (
        "write its limit into the file, or give results of several tasks"
    )


def test_named_rows_are_read_as_they_are(folder):
    rows = [{"id": f"q{n}", "s": n / 8} for n in range(4)]
    folder.json({"a": rows, "b": {"c": rows}}, "r.json")
    found, text = written(folder, "r.json", rows="b.c", task="id", reward="s")
    assert yaml.safe_load(text)["benchmark"]["rollouts"] == {
        "path": "r.json",
        "rows": "b.c",
        "fields": {"task": ["id"], "reward": "s"},
    }
    assert found.report.startswith("r.json: json, 4 rollouts\n")


# -- the decisions -----------------------------------------------------------------------------


def test_the_decisions_about_rollouts(folder):
    folder.rows(PARTS)
    assert decision_lines("runs.jsonl", folder.path, Choices()) == [
        "  rows      as the file has them  6 rows  (--rows)",
        "  task      as its format says  3 tasks (0, 1, 2)  (--task)",
        "  reward    as its format says  mean 0.312, from 0 to 0.625  (--reward)",
        "  max-drop  the default, 0.01 of a rate  (--max-drop)",
    ]


def test_the_decisions_about_rollouts_of_an_unknown_layout(folder):
    rows = [
        {"lang": x, "id": n, "score": n / 8} for x in ("de", "fr") for n in range(2)
    ]
    folder.json({"results": rows}, "r.json")
    assert decision_lines("r.json", folder.path, Choices(max_drop=0.05)) == [
        "  rows      results  4 rows  (--rows)",
        "  task      lang/id  4 tasks (de/0, de/1, fr/0 and 1 more)  (--task)",
        "  reward    score  mean 0.0625, from 0 to 0.125  (--reward)",
        "  max-drop  0.05  (--max-drop)",
    ]


def test_the_decisions_that_are_open(folder):
    rows = {f"q{n}": {"score": n / 8, "rating": n / 4} for n in range(4)}
    folder.json(rows, "r.json")
    assert decision_lines("r.json", folder.path, Choices())[:3] == [
        "  rows      id  (--rows)",
        "  task      as its format says  (--task)",
        "  reward    ?  score (0..0.375) or rating (0..0.75)?  (--reward)",
    ]


# -- the files of a folder ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "pattern", "left_out"),
    [
        (["a.jsonl", "b.jsonl", "c.csv"], "f/*.jsonl", ("c.csv",)),
        (["a.csv", "b.csv", "c.jsonl"], "f/*.csv", ("c.jsonl",)),
        (["a.csv", "c.jsonl"], "f/*.jsonl", ("a.csv",)),
        (["a.jsonl", "b.jsonl.gz"], "f/*.jsonl*", ()),
        (["a.jsonl.gz"], "f/*.jsonl.gz", ()),
        (["x/a.json", "y/b.json"], "f/**/*.json", ()),
        (["a.json", "y/b.json", "x/c.json"], "f/*.json", ("x/c.json", "y/b.json")),
        ([".hidden.json", "a.eval"], "f/*.eval", ()),
        (["__baselines__/a.json", ".git/b.json", "c.parquet"], "f/*.parquet", ()),
        (["readme.txt"], "f", ()),
        (
            ["a.jsonl", "a_materialized_inputs.jsonl", "b.json"],
            "f/*.jsonl",
            ("b.json",),
        ),
    ],
)
def test_the_files_of_a_folder_of_the_most_frequent_kind(
    folder, files, pattern, left_out
):
    for name in files:
        folder.write("{}", f"f/{name}")
    expected = FolderFiles(pattern=pattern, left_out=left_out)
    assert files_in("f", folder.path) == expected


# -- the settings of other tools ---------------------------------------------------------------


def settings(folder, text):
    return migrated(folder.write(text, "settings.yaml"))


def test_the_settings_of_lm_eval_tests_of_vllm(folder):
    found = settings(
        folder,
        "model_name: org/m\nlimit: 250\nrtol: 0.05\ntasks:\n"
        '- {name: gsm8k, metrics: [{name: "em,strict", value: 0.5}, {name: "acc,none", '
        "value: 0.25}, {name: x, value: y}]}\n- {name: none}\n- {name: b, metrics: []}\n",
    )
    assert found.content == {
        "benchmarks": [
            {
                "name": "gsm8k",
                "description": "org/m",
                "rollouts": "results/**/samples_gsm8k_*.jsonl",
                "reward": "em,strict",
                "metrics": ["mean_reward"],
                "expect": {"tasks": 250},
                "thresholds": {
                    "mean/em,strict": {"value": 0.5, "rtol": "5%"},
                    "mean/acc": {"value": 0.25, "rtol": "5%"},
                },
            },
            {
                "name": "b",
                "description": "org/m",
                "rollouts": "results/**/samples_b_*.jsonl",
                "reward": "acc",
                "metrics": ["mean_reward"],
                "expect": {"tasks": 250},
            },
        ]
    }
    assert found.comments == {
        "rollouts": "the samples that lm-eval writes with --log_samples"
    }


@pytest.mark.parametrize("rtol", ["", "rtol: [1]\n"])
def test_the_tolerance_of_lm_eval_tests_of_vllm_is_eight_percent(folder, rtol):
    text = f"{rtol}tasks: [{{name: a, metrics: [{{name: acc, value: 0.5}}]}}]\n"
    (benchmark,) = settings(folder, text).content["benchmarks"]
    assert benchmark["thresholds"] == {"mean/acc": {"value": 0.5, "rtol": "8%"}}
    assert "description" not in benchmark
    assert "expect" not in benchmark


def test_the_settings_of_gsm8k_tests_of_vllm(folder):
    text = "model_name: org/m\naccuracy_threshold: 0.54\nnum_questions: 1319\n"
    found = settings(folder, text)
    assert found.content == {
        "benchmark": {
            "name": "gsm8k",
            "description": "org/m",
            "rollouts": "results/gsm8k.jsonl",
            "metrics": ["mean_reward"],
            "expect": {"tasks": 1319},
            "thresholds": {"mean_reward": {"min": 0.46}},
        }
    }
    assert found.comments == {
        "rollouts": "a row per question, with its task and reward",
        "mean_reward": "0.54 - 0.08",
    }


def test_the_settings_of_promptfoo(folder):
    text = (
        "description: sums\nproviders: [echo]\n"
        "defaultTest: {assert: [{type: llm-rubric, metric: tone, threshold: 0.5}]}\n"
        "tests:\n"
        "- assert:\n"
        "  - {type: similar, metric: tone, threshold: 0.75}\n"
        "  - {type: similar, metric: tone, threshold: 0.25}\n"
        "  - {type: latency, metric: time, threshold: 5}\n"
        "  - {type: cost, metric: cost, threshold: 5}\n"
        "  - {type: perplexity, metric: p, threshold: 5}\n"
        "  - {type: levenshtein, metric: l, threshold: 5}\n"
        "  - {type: not-similar, metric: other, threshold: 0.5}\n"
        "  - {type: similar, threshold: 0.5}\n"
        "  - {type: similar, metric: none}\n"
        "  - {type: similar, metric: last, threshold: 0.5}\n"
    )
    found = settings(folder, text)
    assert found.content == {
        "benchmark": {
            "name": "sums",
            "rollouts": "results.json",
            "reward": "success",
            "metrics": ["mean_reward"],
            "thresholds": {
                "mean_reward": ">= 1",
                "mean/tone": {"min": 0.75},
                "mean/last": {"min": 0.5},
            },
        }
    }
    assert found.comments == {
        "rollouts": "promptfoo eval -o results.json",
        "thresholds": (
            "all tests have to pass, as there; the others are its assertions'"
        ),
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("providers: [echo]\ntests: []\n", "promptfoo"),
        ("providers: [echo]\ndefaultTest: {}\n", "promptfoo"),
    ],
)
def test_the_settings_of_promptfoo_without_a_description(folder, text, name):
    assert settings(folder, text).content["benchmark"]["name"] == name


@pytest.mark.parametrize(
    "text",
    ["[1]\n", "a: 1\n", "providers: [echo]\n", "tests: []\n", "tasks: [{name: a}]\n"],
)
def test_other_settings_are_unknown(folder, text):
    assert settings(folder, text) is None


def test_broken_settings_are_an_error(folder):
    with pytest.raises(DataError) as caught:
        settings(folder, "a: [\n")
    assert caught.value.message.startswith(
        "these settings can't be read: while parsing"
    )
    assert "\n" not in caught.value.message
    assert caught.value.file == "settings.yaml"


def test_unknown_settings_are_no_rollouts(folder):
    folder.write("a: 1\n", "s.yaml")
    with pytest.raises(DataError) as caught:
        written(folder, "s.yaml")
    assert caught.value.message == "this YAML holds no results"
    assert caught.value.file == "s.yaml"
    assert caught.value.hint == (
        "give the files of results; of settings those of promptfoo and vLLM are known"
    )


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_settings_become_a_benchmark_file(folder, suffix):
    folder.write("accuracy_threshold: 0.5\n", f"s.{suffix}")
    found, text = written(folder, f"s.{suffix}")
    assert text.startswith("# written by evalmetrics init\nbenchmark:\n  name: gsm8k\n")
    assert (found.report, found.open_lines, found.has_baseline) == ("", (), True)
