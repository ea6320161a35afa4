"""The same rows leave the same bytes, whichever NumPy and Python computes them.

Where ``EVALMETRICS_OTHER_PYTHON`` names an interpreter with another version of NumPy (and this
package), a whole run is repeated in it.
"""

import json
import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics import sums

SIZES = [1, 2, 3, 7, 8, 9, 127, 129, 1000, 8191, 8192, 8193, 16384, 50_000, 100_003]


def stretch(values):
    """Add up to 8192 numbers as all versions of NumPy do: by halves, down to 128 in eight lanes."""
    n = len(values)
    if n < 8:
        result = -0.0
        for value in values:
            result += value
        return result
    if n <= 128:
        lanes = values[:8]
        for at in range(8, n - n % 8, 8):
            lanes = [lane + value for lane, value in zip(lanes, values[at:], strict=False)]
        a, b, c, d, e, f, g, h = lanes
        result = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for value in values[n - n % 8 :]:
            result += value
        return result
    half = n // 2 - n // 2 % 8
    return stretch(values[:half]) + stretch(values[half:])


@pytest.mark.parametrize("n", SIZES)
def test_a_sum_is_that_of_its_stretches(n):
    values = np.random.default_rng(n).normal(size=n) * 7
    listed = values.tolist()
    parts = [stretch(listed[at : at + 8192]) for at in range(0, n, 8192)]
    assert sums.total(values) == math.fsum(parts)
    # how the numbers lie in memory makes no difference
    assert sums.total(np.column_stack([values, values])[:, 1]) == math.fsum(parts)
    assert sums.mean_of(values) == math.fsum(parts) / n
    assert sums.row_totals(np.stack([values, -values])).tolist() == [
        sums.total(values),
        sums.total(-values),
    ]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300))
@settings(deadline=None)
def test_sums_and_squares_are_near_the_exact_ones(values):
    array = np.array(values)
    size = sum(map(abs, values))
    assert sums.total(array) == pytest.approx(math.fsum(values), abs=1e-13 * size)
    assert sums.squares(array) == pytest.approx(math.fsum(v * v for v in values), rel=1e-13)


def test_what_does_not_fit_into_a_float_is_infinite():
    with np.errstate(over="ignore", invalid="ignore"):
        assert sums.total(np.full(20_000, 1e308)) == math.inf
        assert math.isnan(sums.total(np.repeat([math.inf, -math.inf], 10_000)))


RUN = """\
benchmarks:
  - name: one
    rollouts: now.jsonl
    metrics: [mean_reward, pass_rate, pass@1, pass@2, max@2, median, worst_task, pass^2/accuracy]
    key_metrics: [mean_reward, max@2, median, pass@2, mean/latency_s, mean/cost]
    pass_threshold: 0.5
    baseline: true
  - name: two
    rollouts: now.jsonl
    metrics: [mean_reward, max@2, median, mean/cost]
    thresholds: {mean_reward: {min: 0.1, bound: lower}}
    baseline: {rollouts: before.jsonl}
"""


def write_rows(path, seed, tasks, rollouts):
    chance = random.Random(seed)  # noqa: S311 - rewards are no secrets
    lines = []
    for task in range(tasks):
        ability = chance.gauss(0.5, 0.3)
        lines += [
            json.dumps(
                {
                    "_ng_task_index": task,
                    "_ng_rollout_index": sample,
                    "reward": ability + chance.gauss(0, 0.2),
                    "accuracy": float(chance.random() < ability),
                    "latency_s": chance.expovariate(1),
                    "cost": chance.random() / 1000,
                }
            )
            for sample in range(rollouts)
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def left_by(python, folder):
    """Run it all and return what it leaves, but for the time of recording."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--snapshot-update"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "baselines: 1 recorded" in done.stdout, done.stdout + done.stderr
    baseline = (folder / "__baselines__/a.bench/one.json").read_text("utf-8")
    return {
        "baseline": [s for s in baseline.splitlines() if '"recorded"' not in s],
        **{
            name: (folder / "evalmetrics" / name).read_bytes()
            for name in ("aggregate_metrics.json", "report.json", "summary.md")
        },
    }


@pytest.mark.parametrize(("tasks", "rollouts"), [(3, 2), (57, 5), (300, 9), (2500, 4)])
def test_another_numpy_leaves_the_same_bytes(tmp_path, tasks, rollouts):
    other = os.environ.get("EVALMETRICS_OTHER_PYTHON")
    if not other:
        pytest.skip("EVALMETRICS_OTHER_PYTHON names no interpreter with another NumPy")
    found = []
    for number, python in enumerate((sys.executable, other)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.bench.yaml").write_text(RUN, encoding="utf-8")
        write_rows(folder / "before.jsonl", tasks, tasks, rollouts)
        write_rows(folder / "now.jsonl", tasks + 1, tasks, rollouts)
        found.append(left_by(python, folder))
    assert found[0] == found[1]
