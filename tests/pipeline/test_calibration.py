"""--evalmetrics-calibrate: the noise of an unchanged system, and settings that fit it."""

import json
import random
import re
import subprocess

import numpy as np
import pytest
import yaml

RUNS, TASKS, K = 6, 300, 4
SHIFTS = (0.06, -0.05, 0.02, -0.06, 0.05, -0.02)  # of each run as a whole


def rewards(seed, shift):
    draw, chances = random.Random(seed), random.Random(0)  # noqa: S311 - no secret
    of_task = [chances.betavariate(0.6, 0.6) for _ in range(TASKS)]
    return [[float(draw.random() < p + shift) for _ in range(K)] for p in of_task]


@pytest.mark.parametrize("noisy", [True, False])
def test_recorded_runs_give_their_noise_and_fitting_settings(project, noisy):
    runs = [rewards(n, shift * noisy) for n, shift in enumerate(SHIFTS)]
    for n, run in enumerate(runs):
        project.rollouts(run, f"r{n}.jsonl")
    files = ", ".join(f"[r{n}.jsonl]" for n in range(RUNS))
    project.rollouts(runs[0])
    least = 0.49 if noisy else 0.43
    project.bench(
        f"metrics: [mean_reward]\nthresholds: {{mean_reward: '>= {least}'}}\nbaseline:\n"
        f"  rollouts: [{files}]  # of last week\n  max_drop: 0.01"
    )
    result = project.run("--evalmetrics-calibrate", "-q")
    assert result.ret == 0
    text = result.stdout.str()
    block = np.array(runs)
    mixed = int(((block.mean(axis=(0, 2)) % 1) > 0).sum())
    assert f"flaky: {mixed} of {TASKS} tasks have rollouts" in text
    values, by_task = block.mean(axis=(1, 2)), block.mean(axis=2)
    gaps = [
        by_task[i] - by_task[(i + s) % RUNS] for s in (1, 2, 3) for i in range(RUNS)
    ]
    of_tasks = np.sqrt(np.mean([gap.var(ddof=1) / TASKS for gap in gaps]) / 2)
    between = np.sqrt(max(values.var(ddof=1) - of_tasks**2, 0))
    assert (
        f"mean_reward: {values.mean():.4g}, {values.min():.4g} to {values.max():.4g}"
        in text
    )
    assert f"rollouts {of_tasks:.2g}, runs {between:.2g}" in text
    assert ("noise between runs dominates" in text) is noisy
    alarms = float(re.search(r"against one run: ([\d.]+) % expected", text)[1])
    failed = int(re.search(r"and (\d+) of 18 comparisons of these runs fail", text)[1])
    assert (alarms > 15, failed > 3) == (noisy, noisy)
    assert float(re.search(r"against all others: ([\d.]+) % expected", text)[1]) <= 1.2
    if not noisy:
        assert "as a patch" not in text
        return
    patch = text[text.index("--- a/math.bench.yaml") :]
    subprocess.run(
        ["git", "apply"], input=patch, text=True, check=True, cwd=project.path
    )
    spec = yaml.safe_load((project.path / "math.bench.yaml").read_text())["benchmark"]
    low = float(spec["thresholds"]["mean_reward"].removeprefix(">= "))
    assert low < values.mean() - 2 * values.std(ddof=1)
    assert "# of last week" in (project.path / "math.bench.yaml").read_text()
    again = project.run("--evalmetrics-calibrate", "-q").stdout.str()
    assert "as a patch" not in again
    left = project.path / "evalmetrics"
    assert sorted(path.name for path in left.iterdir()) == [
        ".gitignore",
        "calibration.html",
    ]
    page = (left / "calibration.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="noise">')[2].partition("</script>")[0])
    (chart,) = data["benchmarks"][0]["charts"]
    assert chart["values"] == pytest.approx(values)
    half = (np.array(chart["highs"]) - chart["lows"]) / 2
    assert half == pytest.approx(1.959964 * of_tasks, rel=1e-5)
    assert data["patch"] == []


def test_a_target_is_run_several_times_in_sequence(project):
    project.write(
        "agent.py",
        "import random\n"
        "def answer(row, sample):\n"
        "    shift = (0.1, -0.1, 0.1, -0.1)[sample // 2]\n"
        "    chance = random.Random(f'{row[\"id\"]} {sample}').random()\n"
        "    with open('calls', 'a') as calls:\n"
        "        calls.write(f'{sample // 2}')\n"
        "    return 'yes' if chance < 0.5 + shift else 'no'\n",
    )
    project.rows("data.jsonl", ({"id": n, "answer": "yes"} for n in range(150)))
    project.write(
        "math.bench.yaml",
        "benchmark:\n  name: math\n  dataset: data.jsonl\n  num_samples: 2\n"
        "  target: agent:answer\n  expect: {tasks: 150}\n  baseline: true\n  scorers:\n"
        "    - {type: exact_match, reference: '{{ answer }}'}\n  metrics: [mean_reward, pass@2]\n",
    )
    result = project.run("--evalmetrics-calibrate", "--evalmetrics-runs=4")
    text = result.stdout.str()
    assert "in 4 runs" in text
    order = (project.path / "calls").read_text()
    assert [order.index(run) for run in "0123"] == sorted(
        order.index(run) for run in "0123"
    )
    assert "noise between runs dominates" in text
    drops = re.findall(r"  max_drop: ([\d.]+) gives 1 % of false alarms", text)
    assert len(drops) == 2
    assert f"+  baseline: {{max_drop: {max(drops, key=float)}}}" in text  # both hold it
    assert not list(project.path.rglob("__baselines__"))
    few = project.run("--evalmetrics-calibrate")
    few.stdout.fnmatch_lines(
        ["*two runs of the unchanged system are needed*", "*calibrate --runs 5`"]
    )
    assert few.ret == 1
    for wrong in (
        ["--evalmetrics-runs=4"],
        ["--evalmetrics-calibrate", "--evalmetrics-runs=1"],
    ):
        assert project.run(*wrong).ret == pytest.ExitCode.USAGE_ERROR


def test_the_noise_of_a_judge_that_is_asked_again(project, judge_server):
    project.rollouts([[0.0]] * 12, say='{"quality": 2, "reasoning": "so"}')
    judge = f"{{url: '{judge_server.url('drifts=yes')}', name: judge}}"
    project.bench(
        "metrics: [mean_reward]\nparams: {parallelism: 1}\nscorers:\n  - type: llm-judge\n"
        f"    model: {judge}\n"
        "    prompt_template: 'Rate {{ _ng_task_index }}. [[say: {{ say }}]]'\n"
        "    scores: [{name: quality, minimum: 1, maximum: 5}]"
    )
    text = project.run("--evalmetrics-calibrate", "--evalmetrics-runs=3").stdout.str()
    assert judge_server.posts == 36
    assert "in 3 runs" in text
    assert "noise of the judge dominates" in text
