"""Real pytest runs of online benchmarks: files, an interrupt, several benchmarks."""

import json
import os
import signal
import sys

import pytest
from forked import Run
from scoring.generation.running import online


def write(project, url, n=12, rest="", name="sums"):
    project.rows(
        "data.jsonl",
        [
            {"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)}
            for i in range(n)
        ],
    )
    text = f"""\
benchmark:
  name: {name}
  dataset: data.jsonl
  num_samples: 2
  model: {{url: "{url}", name: m, api_key_secret: my-key}}
  prompt_template: "{{{{ question }}}}"
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward, pass@2]
  thresholds: {{mean_reward: ">= 0.9"}}
  expect: {{tasks: {n}}}
{rest}"""
    project.write(f"{name}.bench.yaml", text)


KEY = "s3cr3t-key-of-mine"


def test_a_run_writes_its_rollouts(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    write(project, model.url)
    project.run().stdout.fnmatch_lines(["*evalmetrics/rollouts.jsonl*"])
    text = (project.path / "evalmetrics/rollouts.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 24


def test_a_key_is_sent_and_stays_in_no_file(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    write(project, model.url, n=1)
    # with pytest's cache, which holds the journal
    assert project.pytester.runpytest_subprocess("-q").ret == 0
    assert model.seen()["keys"][0] == f"Bearer {KEY}"
    files = [path for path in project.path.rglob("*") if path.is_file()]
    assert project.path / "evalmetrics/rollouts.jsonl" in files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_each_of_several_benchmarks_has_a_rollouts_file(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    write(project, model.url)
    write(project, model.url, name="others")
    project.run().stdout.fnmatch_lines(
        ["*evalmetrics/rollouts/others.bench.yaml_others.jsonl*"]
    )
    # the same requests: the journal answers the second benchmark's
    assert model.posts == 24


def test_a_changed_seed_or_temperature_is_named_among_the_changes(
    project, model, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "k")
    params = (
        "  baseline: {{}}\n  params: {{inference: {{temperature: {}, seed: {}}}}}\n"
    )
    write(project, model.url, rest=params.format(0, 1))
    project.run("--snapshot-update")
    write(project, model.url, rest=params.format(0.5, 2))
    project.run()
    (entry,) = project.report()["benchmarks"]
    assert entry["changes"] == ["under test: temperature 0 -> 0.5, seed 1 -> 2"]


def test_an_interrupted_run_says_how_to_go_on_and_goes_on_where_it_stopped(
    project, model, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "k")
    url = f"{model.url}/chat/completions?latency=0.03"
    write(project, url, n=30, rest="  params: {parallelism: 2}\n")
    command = [sys.executable, "-m", "pytest", "-q"]
    with (project.path / "out").open("w+", encoding="utf-8") as out:
        run = Run(command, project.path, os.environ, out, out)
        run.wait_until(lambda: model.posts >= 20)
        os.kill(run.pid, signal.SIGINT)
        run.wait(timeout=60)
        out.seek(0)
        interrupted = out.read()
    assert 20 <= model.posts < 60
    for text in (
        "KeyboardInterrupt",
        "interrupted: 0 benchmarks evaluated, 1 not",
        "run the same command again: answers that were paid for are kept",
    ):
        assert text in interrupted
    # nothing that asyncio says of tasks which nobody waited for
    for text in ("never retrieved", "was destroyed"):
        assert text not in interrupted

    assert project.pytester.runpytest_subprocess("-q").ret == 0
    # at most the two requests that were in flight are asked again
    assert model.posts - 60 <= 2
    text = (project.path / "evalmetrics/rollouts.jsonl").read_text(encoding="utf-8")
    scores = [json.loads(line)["exact-match"] for line in text.splitlines()]
    assert scores == [1.0] * 60


ASKED = "  metrics: [mean_reward, mean_reward/over_reference]\n"


@pytest.fixture
def pinned(project, model):
    """Write a benchmark whose reference is a pinned model: 20 tasks, of which both know half."""
    sums = (
        {"id": i, "question": f"{i} + 1", "answer": str(i + i % 2)} for i in range(20)
    )
    project.rows("data.jsonl", sums)
    text = online(model.url, "  baseline: true\n", 2)
    text = text.replace("  metrics: [mean_reward]\n", ASKED)
    reference = f'  reference: {{model: {{url: "{model.url}", name: pinned}}}}\n'
    return project.write("a.bench.yaml", text + reference)


@pytest.mark.usefixtures("pinned")
def test_the_plan_counts_the_calls_of_a_pinned_model(project, model):
    project.run("--evalmetrics-plan").stdout.fnmatch_lines(
        [
            "calls of a.bench.yaml::a: 40 calls",
            "calls of a.bench.yaml::a, its reference: 40 calls",
        ]
    )
    assert model.posts == 0


def test_a_pinned_model_is_asked_in_the_same_run(pinned, project, model):
    project.run("--snapshot-update").assert_outcomes(passed=1)
    (entry,) = project.report()["benchmarks"]
    estimates = entry["agents"][0]["key_metrics"]
    assert (estimates["mean/reference"], estimates["mean/over_reference"]) == (0.5, 0.0)
    # both models, 20 tasks, 2 rollouts
    assert model.posts == 80
    project.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert model.posts == 80

    pinned.write_text(pinned.read_text().replace("name: pinned}", "name: another}"))
    project.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *: the ruler changed: name pinned -> another (*reference)"]
    )
