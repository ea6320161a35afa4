"""Do two versions of the package give the same verdicts and numbers?

python tests/perf/same_verdicts.py BEFORE/bin/python AFTER/bin/python [--setups 200] [--seed 0]

Each interpreter has one version installed. Both judge the same random setups, in which a
run is compared with another one: few and many tasks, equal and unequal rollouts, binary,
graded and unbounded rewards, missing ones, clusters, several agents, all rules. What
differs is printed, check by check.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

METRICS = (
    ("mean_reward",),
    ("mean_reward", "pass_rate", "pass@1"),
    ("pass@1", "pass^1"),
    ("worst_task", "mean_reward"),
    ("median_reward",),
)
RULES = (
    "exact",
    "absolute",
    "relative",
    "statistical",
    "practical",
    "practical",
    "practical",
    "noninferior",
)
# keys of a check's numbers in both forms of report.json
NUMBERS = (
    "baseline",
    "current",
    "drop",
    "drop_low",
    "drop_high",
    "p",
    "p_adjusted",
    "p_rollouts",
    "se",
    "tasks",
    "units",
    "worse",
    "better",
    "draws",
    "run_sd",
    "missing",
    "improved",
    "unseen_flips",
)
RENAMED = {"detectable_drop": "mde"}
CONFTEST = '''
import statistics

from pytest_evalmetrics import register_metric


@register_metric("median_reward")
class MedianReward:
    """The median of the tasks' means."""

    name = "median_reward"
    bounded = True
    direction = "higher"

    def compute(self, task_rewards):
        return statistics.median(sum(task) / len(task) for task in task_rewards)
'''


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--setups", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_setups(folder, options.setups, random.Random(options.seed))
        before = judged(os.path.abspath(options.before), folder, "before")  # noqa: PTH100 - no link is followed
        after = judged(os.path.abspath(options.after), folder, "after")  # noqa: PTH100
    differences = compare(before, after)
    checks = sum(len(found) for found in before.values())
    verdicts = Counter(
        facts["verdict"] for found in before.values() for facts in found.values()
    )
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in verdicts.most_common()
    )
    print(
        f"{len(before)} setups, {checks} checks ({counts}): {len(differences)} differ"
    )
    for difference in differences:
        print(difference)
    return bool(differences)


# -- setups ----------------------------------------------------------------------------------


def write_setups(folder: Path, count: int, rng: random.Random) -> None:
    """Write benchmark files, each with its two runs."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for number in range(count):
        write_setup(folder, f"setup{number:03}", rng)


def write_setup(folder: Path, name: str, rng: random.Random) -> None:
    kind = rng.choice(("binary", "binary", "graded", "unbounded"))
    tasks = rng.choice((1, 2, 3, 5, 8, 12, 20, 40, 80))
    agents = ["agent"] if rng.random() < 0.8 else ["a", "b"]
    counts = rng.choice(((1, 1), (2, 2), (4, 4), (8, 8), (8, 1), (1, 4), (4, 2)))
    loss = rng.choice((0.0, 0.0, 0.05, 0.2, 0.5, 1.0))
    missing = rng.choice((0.0, 0.0, 0.0, 0.02))
    chances = [rng.betavariate(0.6, 0.4) for _ in range(tasks)]
    for side, samples in zip(("old", "new"), counts, strict=True):
        lost = loss if side == "new" else 0.0
        rows = []
        for agent in agents:
            for task, chance in enumerate(chances):
                for sample in range(samples):
                    row = {
                        "agent": agent,
                        "task": f"t{task}",
                        "sample": sample,
                        "group": f"g{task % 9}",
                        "reward": reward(kind, chance * (1 - lost), rng),
                    }
                    if rng.random() < missing:
                        row["reward"] = None
                    rows.append(row)
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.{side}.jsonl").write_text(lines)
    rule = rng.choice(RULES)
    baseline: dict[str, Any] = {"rollouts": files(f"{name}.old.jsonl"), "rule": rule}
    if rule in ("absolute", "noninferior"):
        baseline["max_drop"] = rng.choice((0.02, 0.1))
    if rule == "relative":
        baseline["max_drop"] = "10%"
    metrics = list(rng.choice(METRICS))
    benchmark = {
        "name": name,
        "rollouts": files(f"{name}.new.jsonl"),
        "metrics": metrics,
        "key_metrics": metrics,
        "baseline": baseline,
        "thresholds": {"mean_reward": ">= 0.4"},
    }
    if missing:
        benchmark["expect"] = {"max_missing": "10%"}
    if rng.random() < 0.15:
        benchmark["cluster"] = "group"
    # JSON is YAML
    text = json.dumps({"benchmark": benchmark}, indent=1)
    (folder / f"{name}.bench.yaml").write_text(text)


def files(path: str) -> dict[str, Any]:
    keys = {"task": "task", "sample": "sample", "agent": "agent"}
    return {"path": path, "fields": keys}


def reward(kind: str, chance: float, rng: random.Random) -> float:
    if kind == "binary":
        return float(rng.random() < chance)
    if kind == "graded":
        return round(min(max(rng.gauss(chance, 0.2), 0.0), 1.0), 3)
    return round(10 * chance + rng.gauss(0, 2), 3)


# -- judged by one version -------------------------------------------------------------------


def judged(python: str, folder: Path, label: str) -> dict[str, dict[str, Any]]:
    """Return by setup its checks: the verdict and the numbers of each."""
    output = f"{label}/"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    run = subprocess.run(
        [*command, f"--evalmetrics-output={output}"],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    path = folder / output / "report.json"
    if not path.exists():
        sys.exit(f"{python} wrote no report:\n{run.stdout}{run.stderr}")
    report = json.loads(path.read_text())
    return {
        entry["name"]: {
            f"{check['gate']} {check['agent']} {check['name']}": facts_of(check)
            for check in entry["checks"]
        }
        for entry in report["benchmarks"]
    }


def facts_of(check: dict[str, Any]) -> dict[str, Any]:
    """Return a check's verdict and numbers, from either form of report.json."""
    numbers = check.get("comparison") or check.get("evidence") or {}
    facts = {"verdict": check["verdict"], "value": check["value"]}
    for name in NUMBERS:
        if numbers.get(name) is not None:
            facts[name] = numbers[name]
    for new, old in RENAMED.items():
        value = numbers.get(new, numbers.get(old))
        if value is not None:
            facts[new] = value
    return facts


def compare(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]
) -> list[str]:
    differences = []
    for setup in sorted(before.keys() | after.keys()):
        was, now = before.get(setup, {}), after.get(setup, {})
        for check in sorted(was.keys() | now.keys()):
            different = changes(was.get(check, {}), now.get(check, {}))
            if different:
                differences.append(f"{setup} {check}: {different}")
    return differences


def changes(was: dict[str, Any], now: dict[str, Any]) -> str:
    """Describe the numbers that differ beyond rounding."""
    texts = []
    for name in sorted(was.keys() | now.keys()):
        old, new = was.get(name), now.get(name)
        if old is None and was:  # a later form may hold more
            continue
        both_numbers = isinstance(old, float) and isinstance(new, float)
        if both_numbers and math.isclose(old, new, rel_tol=1e-12, abs_tol=1e-15):
            continue
        # a number of no use is left out of one form, and 0 or false in the other
        if old != new and not (not old and not new):
            texts.append(f"{name} {old} -> {new}")
    return ", ".join(texts)


if __name__ == "__main__":
    sys.exit(main())
