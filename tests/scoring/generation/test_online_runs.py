"""Real pytest runs of online benchmarks: files, an interrupt, several benchmarks."""

import json
import os
import signal
import subprocess
import sys
import time

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


def test_a_run_leaves_its_rollouts_and_no_key(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cr3t-key-of-mine")
    write(project, model.url)
    result = project.pytester.runpytest_subprocess("-q")
    assert result.ret == 0, result.stdout.str()
    assert "evalmetrics/rollouts.jsonl" in result.stdout.str()
    text = (project.path / "evalmetrics/rollouts.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 24
    assert model.seen()["keys"][0] == "Bearer s3cr3t-key-of-mine"
    for path in project.path.rglob("*"):
        assert not path.is_file() or b"s3cr3t-key-of-mine" not in path.read_bytes(), (
            path
        )
    write(project, model.url, name="others")
    result = project.pytester.runpytest_subprocess("-q")
    assert result.ret == 0
    assert "evalmetrics/rollouts/others.bench.yaml_others.jsonl" in result.stdout.str()
    assert model.posts == 24  # the same requests: the journal answers them


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


def test_an_interrupted_run_goes_on_where_it_stopped(project, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k")
    url = f"{model.url}/chat/completions?latency=0.05"
    write(project, url, n=30, rest="  params: {parallelism: 2}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while model.posts < 20 and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0].decode()
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    out = process.communicate(timeout=60)[0].decode()
    assert "KeyboardInterrupt" in out
    assert "never retrieved" not in out
    assert "was destroyed" not in out
    assert "interrupted: 0 benchmarks evaluated, 1 not" in out
    assert "run the same command again: answers that were paid for are kept" in out
    paid = model.posts
    assert 20 <= paid < 60
    result = project.pytester.runpytest_subprocess("-q")
    assert result.ret == 0, result.stdout.str()
    assert model.posts - 60 <= 2  # what was in flight when it was interrupted
    lines = (
        (project.path / "evalmetrics/rollouts.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert [json.loads(line)["exact-match"] for line in lines] == [1.0] * 60


def test_a_pinned_model_is_asked_in_the_same_run(project, model):
    sums = (
        {"id": i, "question": f"{i} + 1", "answer": str(i + i % 2)} for i in range(20)
    )
    project.rows("data.jsonl", sums)
    text = online(model.url, "  baseline: true\n", 2)
    pinned = f'  reference: {{model: {{url: "{model.url}", name: pinned}}}}\n'
    asked = "metrics: [mean_reward, mean_reward/over_reference]"
    bench = project.write(
        "a.bench.yaml", text.replace("metrics: [mean_reward]", asked) + pinned
    )
    plan = project.run("--evalmetrics-plan")
    each = [
        f"calls of a.bench.yaml::a{whose}: 40 calls"
        for whose in ("", ", its reference")
    ]
    plan.stdout.fnmatch_lines(each)
    assert model.posts == 0
    project.run("--snapshot-update").assert_outcomes(passed=1)
    (entry,) = project.report()["benchmarks"]
    estimates = entry["agents"][0]["key_metrics"]
    assert (estimates["mean/reference"], estimates["mean/over_reference"]) == (0.5, 0.0)
    assert model.posts == 2 * 20 * 2
    project.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert model.posts == 80

    whole = bench.read_text()
    bench.write_text(whole.replace("name: pinned}", "name: another}"))
    project.run().stdout.fnmatch_lines(
        ["INCONCLUSIVE *: the ruler changed: name pinned -> another (*reference)"]
    )
    same = "name: m, max_retries: 2, price: {input: 1, output: 2}}"
    for old, new, words in (
        (
            "name: pinned}",
            same,
            "*:10: benchmark.reference.model: it is the model under test*",
        ),
        (
            "{model: {url",
            "{rollouts: r, model: {url",
            "*benchmark.reference: *give one of them*",
        ),
        (
            "  model: ",
            "  target: t:f\n  #",
            "*reference.model: it answers in place of model:*",
        ),
    ):
        bench.write_text(whole.replace(old, new, 1))
        project.run().stdout.fnmatch_lines([words])
