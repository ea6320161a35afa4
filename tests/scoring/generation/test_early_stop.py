"""Rounds of rollouts: a run stops as soon as its gates are sure, and pays for no more."""

import random

import pytest
from scoring.generation.running import online

BENCH = """\
- name: {name}
  rollouts: runs.jsonl
  metrics: [mean_reward, {metric}]
  num_samples: {samples}
  expect: {{tasks: 120}}
  {gate}
"""
EARLY = "{min: 2, max: 8, stop: early}"


def bench(project, *texts, file="math.bench.yaml"):
    lines = "".join(f"  {line}\n" for text in texts for line in text.splitlines())
    project.write(file, f"benchmarks:\n{lines}")


def recorded(name, samples=EARLY, gate="baseline: true", metric="pass@2"):
    return BENCH.format(name=name, samples=samples, gate=gate, metric=metric)


def rows(seed, drop=0.0):
    draw = random.Random(seed)  # noqa: S311 - no secret
    chances = [random.Random(task).betavariate(0.4, 0.4) for task in range(120)]  # noqa: S311
    return [
        {
            "_ng_task_index": task,
            "_ng_rollout_index": k,
            "reward": float(draw.random() < chance * (1 - 2 * drop)),
        }
        for task, chance in enumerate(chances)
        for k in range(8)
    ]


def mean_rewards(project):
    """Give the check of mean_reward of each benchmark."""
    return {
        entry["name"]: check
        for entry in project.report()["benchmarks"]
        for check in entry["checks"]
        if check["name"] == "mean_reward"
    }


# of the recorded run, which the benchmarks below are compared with
AGAINST_RECORDED = "baseline: {rollouts: recorded.jsonl}"


@pytest.fixture
def stopping(project):
    """A project whose benchmark `math` stops early, compared with a recorded run."""
    bench(project, recorded("math", gate=AGAINST_RECORDED))
    project.rows("recorded.jsonl", rows(1))
    return project


def test_the_plan_says_after_how_many_rollouts_a_run_stops(stopping):
    stopping.rows("runs.jsonl", rows(1))
    stopping.run("--evalmetrics-plan").stdout.fnmatch_lines(
        [
            "math.bench.yaml::math: stops early, for one gate: after about 3.5 of 8 rollouts of each*"
        ]
    )


@pytest.mark.parametrize(
    ("drop", "verdict", "rollouts", "words"),
    [
        (0.0, "PASS", 4, "*stopped early, at look 2 of 4: 480 rollouts*, 50 % saved"),
        (0.25, "FAIL", 2, "*stopped early, at look 1 of 4: 240 rollouts*, 75 % saved"),
    ],
    ids=["as good", "much worse"],
)
def test_recorded_rollouts_are_read_up_to_the_look_that_is_sure(
    stopping, drop, verdict, rollouts, words
):
    stopping.rows("runs.jsonl", rows(2, drop))
    stopping.run().stdout.fnmatch_lines([words])
    check = mean_rewards(stopping)["math"]
    assert check["verdict"] == verdict
    assert check["look"]["settled"] == verdict.lower()
    assert check["look"]["rollouts"] == rollouts


def test_a_drop_that_the_first_look_leaves_open_is_looked_at_again(stopping):
    stopping.rows("runs.jsonl", rows(4, 0.06))
    stopping.run()
    look = mean_rewards(stopping)["math"]["look"]
    assert look["number"] > 1
    assert look["drop_low"] < look["drop"] < look["drop_high"]


def test_a_benchmark_that_does_not_ask_for_it_is_read_whole(project):
    project.rows("recorded.jsonl", rows(1))
    project.rows("runs.jsonl", rows(2))
    bench(project, recorded("whole", 8, AGAINST_RECORDED, "pass@4"))
    project.run()
    assert project.report()["benchmarks"][0]["agents"][0]["rollouts"] == 960
    assert mean_rewards(project)["whole"]["look"] is None


def test_an_option_stops_every_benchmark_and_begins_with_what_its_metrics_need(project):
    project.rows("recorded.jsonl", rows(1))
    project.rows("runs.jsonl", rows(2))
    bench(project, recorded("whole", 8, AGAINST_RECORDED, "pass@4"))
    project.run("--evalmetrics-stop-early").stdout.fnmatch_lines(
        ["*stopped early, at look 1 of 4*"]
    )
    assert mean_rewards(project)["whole"]["look"]["rollouts"] == 4


def test_thresholds_stop_alike(project):
    gates = {
        "low": 'thresholds: {mean_reward: ">= 0.2"}',
        "high": 'thresholds: {mean_reward: ">= 0.9"}',
        "close": 'thresholds: {mean_reward: ">= 0.5"}',
    }
    entries = [
        recorded(name, gate=gate, metric="pass_rate") for name, gate in gates.items()
    ]
    bench(project, *entries)
    project.rows("runs.jsonl", rows(1))
    project.run()
    checks = mean_rewards(project)
    assert {name: check["look"]["number"] for name, check in checks.items()} == {
        "low": 1,
        "high": 1,
        "close": 4,
    }
    assert (checks["low"]["verdict"], checks["high"]["verdict"]) == ("PASS", "FAIL")
    assert checks["low"]["look"]["settled"] == "pass"
    assert checks["high"]["look"]["settled"] == "fail"


def test_a_file_is_refused_that_leaves_no_round(project):
    refused = {
        "{min: 8, max: 8, stop: early}": "num_samples: min 8 leaves no round before max 8*",
        "{min: 1, max: 8, stop: early}": "pass@2 needs 2 rollouts*num_samples: {min: 1}*",
        "{min: 1, max: 8}": "num_samples*stop*",
    }
    for number, samples in enumerate(refused):
        bench(project, recorded("math", samples), file=f"{number}.bench.yaml")
    project.run().stdout.fnmatch_lines(
        [
            f"*{number}.bench.yaml:*{words}"
            for number, words in enumerate(refused.values())
        ]
    )


EARLY_ONLINE = "{min: 1, max: 4, stop: early}"
ALL_TASKS_ONCE = 30
ALL_ROLLOUTS = 120


def asking(project, model, samples):
    """Write a benchmark of 30 tasks, which an answer settles at the first look."""
    tasks = ({"id": i, "question": f"{i} + 1", "answer": "1"} for i in range(30))
    project.rows("data.jsonl", tasks)
    threshold = "  thresholds: {mean_reward: '<= 0.9'}\n"
    project.write("a.bench.yaml", online(model.url, threshold, samples))


def test_a_whole_run_asks_only_for_what_a_run_that_stopped_did_not(project, model):
    asking(project, model, EARLY_ONLINE)
    project.run()
    asking(project, model, 4)
    project.run().assert_outcomes(passed=1)
    assert model.posts == ALL_ROLLOUTS


def test_the_answers_of_a_whole_run_serve_one_that_stops(project, model):
    asking(project, model, 4)
    project.run()
    asking(project, model, EARLY_ONLINE)
    project.run("--evalmetrics-replay").stdout.fnmatch_lines(
        ["*30 rollouts in place of 120*"]
    )


def test_a_run_asks_for_no_more_than_it_needs_and_a_replay_stops_at_the_same_look(
    project, model
):
    asking(project, model, EARLY_ONLINE)
    project.run().assert_outcomes(passed=1)
    assert model.posts == ALL_TASKS_ONCE
    checks = project.report()["benchmarks"][0]["checks"]
    project.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert project.report()["benchmarks"][0]["checks"] == checks
    assert model.posts == ALL_TASKS_ONCE


def test_a_baseline_is_recorded_from_all_rollouts(project, model):
    asking(project, model, EARLY_ONLINE)
    file = project.path / "a.bench.yaml"
    file.write_text(file.read_text() + "  baseline: true\n")
    project.run("--snapshot-update").assert_outcomes(passed=1)
    assert model.posts == ALL_ROLLOUTS


def test_without_a_journal_all_are_asked_at_once(project, model):
    asking(project, model, EARLY_ONLINE)
    # rounds would be paid for again
    project.run("--evalmetrics-no-journal").stdout.fnmatch_lines(
        ["*num_samples: all, because*"]
    )
    assert model.posts == ALL_ROLLOUTS


def test_a_target_without_a_version_is_asked_once(project):
    project.write(
        "unversioned.py",
        "def answer(row):\n    open('asked.txt', 'a').write('x')\n    return str(row['id'] % 2)\n",
    )
    project.rows("data.jsonl", ({"id": i, "answer": "1"} for i in range(30)))
    text = online("http://h/v1", "  thresholds: {mean_reward: '>= 0.45'}\n", 4)
    target = "  target: unversioned:answer\n"
    text = text[: text.index("  model")] + target + text[text.index("  scorers") :]
    project.write(
        "a.bench.yaml",
        text.replace("_samples: 4", "_samples: {min: 1, max: 4, stop: early}"),
    )
    result = project.run("-o", "pythonpath=.")
    result.stdout.fnmatch_lines(
        ["*num_samples: all, because*only if the target has a version*"]
    )
    assert len((project.path / "asked.txt").read_text()) == 120
