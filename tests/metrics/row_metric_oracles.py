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
    both = gold, predicted
    kinds = {"accuracy": oracle.accuracy_score(*both)}
    scores = {
        "precision": oracle.precision_score,
        "recall": oracle.recall_score,
        "f1": oracle.f1_score,
    }
    for average in ("macro", "micro", "binary"):
        sides = [side == 2 for side in both] if average == "binary" else both
        for name, score in scores.items():
            kinds[f"{name} {average}"] = score(*sides, average=average)
    kinds |= {
        "balanced_accuracy": oracle.balanced_accuracy_score(*both),
        "mcc": oracle.matthews_corrcoef(*both),
        "kappa": oracle.cohen_kappa_score(*both),
    }
    for weights in ("linear", "quadratic"):
        kinds[f"kappa {weights}"] = oracle.cohen_kappa_score(*both, weights=weights)
    names = [[LABELS[i] for i in side] for side in both]
    return {"columns": {"gold": names[0], "predicted": names[1]}, "expected": kinds}


def foretold(rng):
    """Outcomes and probabilities, some of them tied."""
    n = int(rng.integers(20, 80))
    score = np.round(rng.random(n) * 0.98 + 0.01, 2)
    gold = (rng.random(n) < score).astype(int)
    gold[:2] = 0, 1
    kinds = {
        "auroc": oracle.roc_auc_score(gold, score),
        "brier": oracle.brier_score_loss(gold, score),
        "log_loss": oracle.log_loss(gold, score),
    }
    return {"columns": {"gold": gold.tolist(), "p": score.tolist()}, "expected": kinds}


def ranking(rng):
    """Five queries with ten documents each."""
    relevance = rng.integers(0, 4, (5, 10))
    relevance[:, 0] = 1
    score = rng.random((5, 10))
    kinds = {
        "ndcg_at_k": oracle.ndcg_score(relevance, score),
        "ndcg_at_k 3": oracle.ndcg_score(relevance, score, k=3),
    }
    columns = {"relevance": relevance.tolist(), "p": score.tolist()}
    return {"columns": columns, "expected": kinds}


def main():
    """Write the file beside this one."""
    rng = np.random.default_rng(21)
    made = [make(rng) for make in (agreement, foretold, ranking) for _ in range(2)]
    doc = {"made_with": f"scikit-learn {sklearn.__version__}", "cases": made}
    lines = ",\n".join(json.dumps(case) for case in made)
    text = f'{{"made_with": {json.dumps(doc["made_with"])}, "cases": [\n{lines}\n]}}\n'
    Path(__file__).with_name("row_metrics.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
