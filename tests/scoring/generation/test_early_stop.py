"""Rounds of rollouts: a run stops as soon as its gates are sure, and pays for no more."""

import random

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


def test_recorded_rollouts_are_read_up_to_the_look_that_is_sure(project):
    bench(project, recorded("math"), recorded("whole", samples=8, metric="pass@4"))
    project.rows("runs.jsonl", rows(1))
    project.run("--snapshot-update").assert_outcomes(passed=2)
    assert project.report()["benchmarks"][0]["agents"][0]["rollouts"] == 960
    project.run("--evalmetrics-plan").stdout.fnmatch_lines(
        [
            "math.bench.yaml::math: stops early, for one gate: after about 3.5 of 8 rollouts of each*"
        ]
    )

    for drop, verdict, number, saved in ((0.0, "PASS", 2, 50), (0.25, "FAIL", 1, 75)):
        project.rows("runs.jsonl", rows(2, drop))
        project.run().stdout.fnmatch_lines(
            [
                f"*stopped early, at look {number} of 4: {240 * number} rollouts*, {saved} % saved"
            ]
        )
        first = project.report()["benchmarks"]
        check = mean_rewards(project)["math"]
        assert check["verdict"] == verdict
        assert check["look"]["settled"] == verdict.lower()
        assert check["look"]["rollouts"] == 2 * number
        assert mean_rewards(project)["whole"]["look"] is None
    project.run()
    assert project.report()["benchmarks"] == first

    project.rows("runs.jsonl", rows(4, 0.06))  # not sure at once
    project.run()
    check = mean_rewards(project)["math"]
    look = check["look"]
    assert look["number"] > 1
    assert look["drop_low"] < look["drop"] < look["drop_high"]
    assert look["drop"] < check["comparison"]["drop"] or look["settled"] == "pass"

    # the option does the same to a plain number; what needs more rollouts begins with them
    project.rows("runs.jsonl", rows(2))
    project.run("--evalmetrics-stop-early", "-k", "whole").stdout.fnmatch_lines(
        ["*stopped early, at look 1 of 4*"]
    )
    assert mean_rewards(project)["whole"]["look"]["rollouts"] == 4


def test_thresholds_stop_alike(project):
    thresholds = {"low": ">= 0.2", "high": ">= 0.9", "close": ">= 0.5"}
    gates = {
        name: f'thresholds: {{mean_reward: "{text}"}}'
        for name, text in thresholds.items()
    }
    bench(
        project,
        *(
            recorded(name, gate=gate, metric="pass_rate")
            for name, gate in gates.items()
        ),
    )
    project.rows("runs.jsonl", rows(1))
    project.run()
    checks = mean_rewards(project)
    looks = {name: check["look"] for name, check in checks.items()}
    assert {n: look["number"] for n, look in looks.items()} == {
        "low": 1,
        "high": 1,
        "close": 4,
    }
    for name, verdict in (("low", "PASS"), ("high", "FAIL")):
        assert (checks[name]["verdict"], looks[name]["settled"]) == (
            verdict,
            verdict.lower(),
        )


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


def test_an_online_run_pays_for_no_more_than_it_needs(project, model):
    project.rows(
        "data.jsonl",
        ({"id": i, "question": f"{i} + 1", "answer": "1"} for i in range(30)),
    )
    text = online(
        model.url, "  baseline: true\n  thresholds: {mean_reward: '<= 0.9'}\n", 4
    )
    text = text.replace("num_samples: 4", "num_samples: {min: 1, max: 4, stop: early}")
    file = project.write("a.bench.yaml", text)
    project.run("--snapshot-update").assert_outcomes(passed=1)
    assert model.posts == 120  # a baseline takes all

    project.run("--evalmetrics-replay").stdout.fnmatch_lines(
        ["*30 rollouts in place of 120*"]
    )
    assert model.posts == 120  # the answers of a whole run serve one that stops
    file.write_text(text.replace("name: m,", "name: other,"))
    project.run("--evalmetrics-journal-clear").assert_outcomes(passed=1)
    assert model.posts == 120 + 30
    first = project.report()["benchmarks"][0]["checks"]
    project.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert project.report()["benchmarks"][0]["checks"] == first
    assert model.posts == 150

    # and the reverse: the whole run asks only for the rest
    file.write_text(file.read_text().replace("{min: 1, max: 4, stop: early}", "4"))
    project.run().assert_outcomes(passed=1)
    assert model.posts == 150 + 90

    # without the journal rounds would be paid for again
    file.write_text(text)
    project.run("--evalmetrics-no-journal").stdout.fnmatch_lines(
        ["*num_samples: all, because*"]
    )
    assert model.posts == 240 + 120


def test_a_target_without_a_version_is_asked_once(project):
    project.write(
        "unversioned.py",
        "def answer(row):\n    open('asked.txt', 'a').write('x')\n    return str(row['id'] % 2)\n",
    )
    project.rows("data.jsonl", ({"id": i, "answer": "1"} for i in range(30)))
    text = online("http://h/v1", "  thresholds: {mean_reward: '>= 0.45'}\n", 4)
    target, scorers = "  target: unversioned:answer\n", text[text.index("  scorers") :]
    text = text[: text.index("  model")] + target + scorers
    project.write(
        "a.bench.yaml",
        text.replace("_samples: 4", "_samples: {min: 1, max: 4, stop: early}"),
    )
    result = project.run("-o", "pythonpath=.")
    result.stdout.fnmatch_lines(
        ["*num_samples: all, because*only if the target has a version*"]
    )
    assert len((project.path / "asked.txt").read_text()) == 120
