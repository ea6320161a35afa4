"""Record the rollouts of this example: three classifiers on scikit-learn's digits.

Each of 200 held-out images is a task. A rollout is the answer of a classifier that was trained
with its own seed on its own bootstrap sample of the training images. The regressed forest stands
for a faulty change: its trees are limited to a depth of four.

    pip install scikit-learn
    python examples/digits/record.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SAMPLES = 4
TASKS = 200
RUNS = Path(__file__).parent / "runs"


def forest(seed: int) -> RandomForestClassifier:
    """Build the good agent."""
    return RandomForestClassifier(n_estimators=40, random_state=seed)


def regressed_forest(seed: int) -> RandomForestClassifier:
    """Build a deliberately worse agent."""
    return RandomForestClassifier(n_estimators=40, max_depth=4, random_state=seed)


def logistic(seed: int) -> object:
    """Build another agent."""
    return make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=500, random_state=seed)
    )


def record(name: str, build: object, data: tuple[np.ndarray, ...]) -> None:
    """Train one classifier per seed and write a row per task and seed."""
    train_x, test_x, train_y, test_y, _, images = data
    rows = []
    for sample in range(SAMPLES):
        rng = np.random.default_rng(sample)
        drawn = rng.integers(0, len(train_x), len(train_x))
        model = build(sample).fit(train_x[drawn], train_y[drawn])
        probabilities = model.predict_proba(test_x)
        for task, truth in enumerate(test_y.tolist()):
            answer = int(model.classes_[probabilities[task].argmax()])
            rows.append(
                {
                    "_ng_task_index": task,
                    "_ng_rollout_index": sample,
                    "agent_ref": {"name": name},
                    "responses_create_params": {"input": f"image {images[task]}"},
                    "digit": f"digit {truth}",
                    "answer": f"digit {answer}",
                    "reward": float(answer == truth),
                    "confidence": round(float(probabilities[task].max()), 4),
                }
            )
    rows.sort(key=lambda row: (row["_ng_task_index"], row["_ng_rollout_index"]))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (RUNS / f"{name}.jsonl").write_text(text, encoding="utf-8")
    print(f"{name}: {np.mean([row['reward'] for row in rows]):.4f}")


def main() -> None:
    """Record all agents."""
    digits = load_digits()
    data = train_test_split(
        digits.data,
        digits.target,
        np.arange(len(digits.target)),
        test_size=TASKS,
        random_state=0,
        stratify=digits.target,
    )
    RUNS.mkdir(exist_ok=True)
    for build in (forest, regressed_forest, logistic):
        record(build.__name__, build, data)


if __name__ == "__main__":
    main()
