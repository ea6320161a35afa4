"""Make the oracle numbers of row_metrics.json: run with scikit-learn installed, from anywhere."""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn import metrics as oracle

LABELS = ["ant", "bee", "cat", "dog"]


def agreement(rng):
    """Labels of four kinds, most of them right; every label is both true and predicted."""
    n = int(rng.integers(20, 60))
    gold = np.concatenate((np.arange(4), rng.integers(0, 4, n)))
    predicted = np.where(rng.random(n + 4) < 0.6, gold, rng.integers(0, 4, n + 4))
    predicted[:4] = np.arange(4)
    both, of = (gold, predicted), {"gold": "gold", "predicted": "predicted"}
    expected = [
        ({"type": "accuracy", **of}, oracle.accuracy_score(*both)),
        ({"type": "balanced_accuracy", **of}, oracle.balanced_accuracy_score(*both)),
        ({"type": "mcc", **of}, oracle.matthews_corrcoef(*both)),
        ({"type": "kappa", **of}, oracle.cohen_kappa_score(*both)),
    ]
    for average, positive in (
        ("macro", {}),
        ("micro", {}),
        ("binary", {"positive": "cat"}),
    ):
        sides = [side == 2 for side in both] if positive else both
        for name in ("precision", "recall", "f1"):
            value = getattr(oracle, f"{name}_score")(*sides, average=average)
            expected.append(
                ({"type": name, "average": average, **positive, **of}, value)
            )
    for weights in ("linear", "quadratic"):
        value = oracle.cohen_kappa_score(*both, weights=weights)
        expected.append(({"type": "kappa", "weights": weights, **of}, value))
    names = [[LABELS[i] for i in side] for side in both]
    return {"columns": {"gold": names[0], "predicted": names[1]}, "expected": expected}


def foretold(rng):
    """Outcomes and probabilities, some of them tied."""
    n = int(rng.integers(20, 80))
    score = np.round(rng.random(n) * 0.98 + 0.01, 2)
    gold = (rng.random(n) < score).astype(int)
    gold[:2] = 0, 1
    of = {"gold": "gold", "score": "p"}
    expected = [
        ({"type": "auroc", **of}, oracle.roc_auc_score(gold, score)),
        ({"type": "brier", **of}, oracle.brier_score_loss(gold, score)),
        ({"type": "log_loss", **of}, oracle.log_loss(gold, score)),
    ]
    return {
        "columns": {"gold": gold.tolist(), "p": score.tolist()},
        "expected": expected,
    }


def ranking(rng):
    """Five queries with ten documents each."""
    relevance = rng.integers(0, 4, (5, 10))
    relevance[:, 0] = 1
    score = rng.random((5, 10))
    keys = {"type": "ndcg_at_k", "relevance": "relevance", "score": "p"}
    expected = [
        (keys, oracle.ndcg_score(relevance, score)),
        ({**keys, "k": 3}, oracle.ndcg_score(relevance, score, k=3)),
    ]
    return {
        "columns": {"relevance": relevance.tolist(), "p": score.tolist()},
        "expected": expected,
    }


def main():
    """Write the file beside this one."""
    rng = np.random.default_rng(21)
    cases = [make(rng) for make in (agreement, foretold, ranking) for _ in range(2)]
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = f'{{"made_with": "scikit-learn {sklearn.__version__}", "cases": [\n{lines}\n]}}\n'
    Path(__file__).with_name("row_metrics.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
