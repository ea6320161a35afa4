"""--evalmetrics-calibrate: the noise of an unchanged system, and settings that fit it."""

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import yaml
from forked import completed

RUNS, TASKS, K = 6, 300, 4
SHIFTS = (0.06, -0.05, 0.02, -0.06, 0.05, -0.02)  # of each run as a whole


def rewards(seed, shift):
    draw, chances = random.Random(seed), random.Random(0)  # noqa: S311 - no secret
    of_task = [chances.betavariate(0.6, 0.6) for _ in range(TASKS)]
    return [[float(draw.random() < p + shift) for _ in range(K)] for p in of_task]


class Calibrated(msgspec.Struct, frozen=True):
    """A calibration of recorded runs."""

    folder: Path
    runs: np.ndarray  # rewards, shape (runs, tasks, rollouts)
    text: str  # what was printed

    @property
    def means(self) -> np.ndarray:
        """The mean reward of each run."""
        return self.runs.mean(axis=(1, 2))

    @property
    def noise_of_rollouts(self) -> float:
        """The standard error of a run's mean over its tasks, from differences of runs."""
        tasks = self.runs.mean(axis=2)
        variances = []
        for lag in (1, 2, 3):
            gaps = tasks - np.roll(tasks, -lag, axis=0)
            variances.append(gaps.var(axis=1, ddof=1) / TASKS)
        return float(np.sqrt(np.mean(variances) / 2))

    @property
    def noise_between_runs(self) -> float:
        """What is left of the spread of the runs' means."""
        left = self.means.var(ddof=1) - self.noise_of_rollouts**2
        return float(np.sqrt(max(left, 0)))


def calibrate(folder, *options):
    """Run a calibration; return what it prints."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    run = completed([*command, "--evalmetrics-calibrate", *options], folder)
    assert run.returncode == 0
    return run.stdout


def write_run(path, run):
    """Write one row per reward."""
    rows = [
        {"_ng_task_index": task, "_ng_rollout_index": sample, "reward": reward}
        for task, of_task in enumerate(run)
        for sample, reward in enumerate(of_task)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def calibrated(folder, shifts, least):
    """Calibrate six recorded runs whose chances are shifted, each as a whole."""
    runs = [rewards(seed, shift) for seed, shift in enumerate(shifts)]
    for number, run in enumerate(runs):
        write_run(folder / f"r{number}.jsonl", run)
    files = ", ".join(f"[r{number}.jsonl]" for number in range(RUNS))
    (folder / "math.bench.yaml").write_text(
        "benchmark:\n  name: math\n  rollouts: r0.jsonl\n  metrics: [mean_reward]\n"
        f"  thresholds: {{mean_reward: '>= {least}'}}\n  baseline:\n"
        f"    rollouts: [{files}]  # of last week\n    max_drop: 0.01\n",
        encoding="utf-8",
    )
    return Calibrated(folder, np.array(runs), calibrate(folder, "-q"))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    return calibrated(tmp_path_factory.mktemp("noisy"), SHIFTS, least=0.49)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    return calibrated(tmp_path_factory.mktemp("quiet"), [0.0] * RUNS, least=0.43)


@pytest.fixture(scope="module", params=["noisy", "quiet"])
def calibration(request):
    return request.getfixturevalue(request.param)


def test_tasks_with_rollouts_of_both_kinds_are_counted(calibration):
    of_task = calibration.runs.mean(axis=(0, 2))
    mixed = int(((of_task > 0) & (of_task < 1)).sum())
    assert f"flaky: {mixed} of {TASKS} tasks have rollouts" in calibration.text


def test_recorded_runs_give_their_noise(calibration):
    means = calibration.means
    spread = f"{means.mean():.4g}, {means.min():.4g} to {means.max():.4g}"
    assert f"mean_reward: {spread}" in calibration.text
    rollouts = calibration.noise_of_rollouts
    between = calibration.noise_between_runs
    assert f"rollouts {rollouts:.2g}, runs {between:.2g}" in calibration.text


def false_alarms(text):
    """Return those expected of a comparison with one run, in percent, and those counted."""
    expected = re.search(r"against one run: ([\d.]+) % expected", text)[1]
    counted = re.search(r"and (\d+) of 18 comparisons of these runs fail", text)[1]
    return float(expected), int(counted)


def test_noise_between_runs_shows_as_false_alarms(noisy):
    expected, counted = false_alarms(noisy.text)
    assert expected > 15
    assert counted > 3
    assert "noise between runs dominates" in noisy.text


def test_runs_that_are_alike_give_few_false_alarms(quiet):
    expected, counted = false_alarms(quiet.text)
    assert expected <= 15
    assert counted <= 3
    assert "noise between runs dominates" not in quiet.text


def test_a_comparison_with_all_runs_has_few_false_alarms(calibration):
    expected = re.search(r"against all others: ([\d.]+) % expected", calibration.text)
    assert float(expected[1]) <= 1.2


def test_settings_that_fit_are_not_patched(quiet):
    assert "as a patch" not in quiet.text


@pytest.fixture
def patched(noisy, tmp_path):
    """The folder of noisy runs, with the patch that their calibration printed."""
    shutil.copytree(noisy.folder, tmp_path, dirs_exist_ok=True)
    patch = noisy.text[noisy.text.index("--- a/math.bench.yaml") :]
    subprocess.run(["git", "apply"], input=patch, text=True, check=True, cwd=tmp_path)
    return tmp_path


def test_the_patch_puts_the_threshold_below_the_noise_and_keeps_comments(
    noisy, patched
):
    text = (patched / "math.bench.yaml").read_text(encoding="utf-8")
    thresholds = yaml.safe_load(text)["benchmark"]["thresholds"]
    least = float(thresholds["mean_reward"].removeprefix(">= "))
    assert least < noisy.means.mean() - 2 * noisy.means.std(ddof=1)
    assert "# of last week" in text


def test_patched_settings_fit(patched):
    assert "as a patch" not in calibrate(patched, "-q")


def data_of_page(calibrated):
    page = calibrated.folder / "evalmetrics" / "calibration.html"
    text = page.read_text(encoding="utf-8")
    return json.loads(text.partition('id="noise">')[2].partition("</script>")[0])


def test_the_page_is_all_that_a_calibration_leaves(quiet):
    left = quiet.folder / "evalmetrics"
    names = sorted(path.name for path in left.iterdir())
    assert names == [".gitignore", "calibration.html"]


def test_the_page_draws_each_run_with_its_interval(calibration):
    (chart,) = data_of_page(calibration)["benchmarks"][0]["charts"]
    assert chart["values"] == pytest.approx(calibration.means)
    half = (np.array(chart["highs"]) - chart["lows"]) / 2
    assert half == pytest.approx(1.959964 * calibration.noise_of_rollouts, rel=1e-5)


def test_the_page_holds_the_patch(noisy):
    assert data_of_page(noisy)["patch"] != []


@pytest.fixture
def target(project):
    """A project whose target is better in every other run; it writes down which run asks."""
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
    return project


def test_a_target_is_run_several_times_in_sequence(target):
    result = target.run("--evalmetrics-calibrate", "--evalmetrics-runs=4")
    text = result.stdout.str()
    assert "in 4 runs" in text
    calls = (target.path / "calls").read_text()
    first_calls = [calls.index(run) for run in "0123"]
    assert first_calls == sorted(first_calls)
    assert not list(target.path.rglob("__baselines__"))
    assert "noise between runs dominates" in text
    drops = re.findall(r"  max_drop: ([\d.]+) gives 1 % of false alarms", text)
    assert len(drops) == 2
    # which both metrics hold
    assert f"+  baseline: {{max_drop: {max(drops, key=float)}}}" in text


def test_one_run_of_a_target_shows_no_noise_between_runs(target):
    few = target.run("--evalmetrics-calibrate")
    few.stdout.fnmatch_lines(
        ["*two runs of the unchanged system are needed*", "*calibrate --runs 5`"]
    )
    assert few.ret == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--evalmetrics-runs=4",),
        ("--evalmetrics-calibrate", "--evalmetrics-runs=1"),
    ],
    ids=" ".join,
)
def test_runs_are_those_of_a_calibration_and_more_than_one(target, arguments):
    assert target.run(*arguments).ret == pytest.ExitCode.USAGE_ERROR


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
