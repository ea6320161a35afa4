"""Metrics over rows against scikit-learn's numbers, scipy, and plain loops over every choice."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from evaluated import evaluated
from scipy import stats as oracle

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.reports.sentences.notes import note_texts

CASES = json.loads(Path(__file__).with_name("row_metrics.json").read_text("utf-8"))[
    "cases"
]
AGREE = {"gold": "gold", "predicted": "predicted"}
FORETOLD = {"gold": "gold", "score": "p"}


@pytest.fixture
def measured(reduced, table):
    """Compute metrics that are defined by their keys, of columns with one list per task."""

    def measure(columns, notes=None, also=(), **defined):
        tasks = next(iter(columns.values()))
        nested = {
            n: c if isinstance(c[0], list) else [[v] for v in c]
            for n, c in columns.items()
        }
        sizes = nested[next(iter(nested))]
        flat = {n: [v for task in column for v in task] for n, column in nested.items()}
        text = {
            n for n, column in flat.items() if any(isinstance(v, str) for v in column)
        }
        rows = table(
            nested.get("reward", [[1.0] * len(task) for task in sizes]),
            labels={
                n: ["(missing)" if v is None else v for v in flat[n]] for n in text
            },
            **{n: flat[n] for n in flat.keys() - text - {"reward"}},
        )
        assert len(tasks) == len(rows.tasks)
        listed = [*({name: keys} for name, keys in defined.items()), *also]
        keys = {"breakdown": ["lang"]} if "lang" in columns else {}
        return reduced(rows, metrics=listed, notes=notes, **keys)

    return measure


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["expected"][0][0]["type"])
def test_against_scikit_learn(measured, case):
    defined = {f"m{i}": keys for i, (keys, _) in enumerate(case["expected"])}
    estimates = measured(case["columns"], **defined).estimates
    for name, (keys, value) in zip(defined, case["expected"], strict=True):
        assert estimates[name].value == pytest.approx(value, abs=1e-9, rel=0), keys
        interval = estimates[name].interval
        assert interval is None or interval.low <= value + 1e-9


def test_the_committed_numbers_are_those_of_an_installed_scikit_learn():
    pytest.importorskip("sklearn")
    import row_metric_oracles  # it imports scikit-learn

    rng = np.random.default_rng(21)
    assert row_metric_oracles.agreement(rng)["columns"] == CASES[0]["columns"]


RNG = np.random.default_rng(3)


def test_calibration_error_against_its_bins(measured):
    score, gold = RNG.random(200).tolist(), RNG.integers(0, 2, 200).tolist()
    error = 0.0
    for low in range(5):
        held = [i for i in range(200) if low / 5 < score[i] <= (low + 1) / 5]
        error += abs(sum(score[i] - gold[i] for i in held)) / 200
    keys = {"type": "ece", **FORETOLD, "bins": 5}
    estimates = measured({"gold": gold, "p": score}, ece=keys).estimates["ece"]
    assert estimates.value == pytest.approx(error, abs=1e-12)


def test_rankings_against_loops(measured):
    sizes = [4, 9, 1, 12]
    relevance = [[int(x) for x in RNG.integers(0, 2, n)] for n in sizes]
    for each in relevance:
        each[-1] = 1
    rank = [[float(x) for x in RNG.permutation(n) + 1] for n in sizes]
    keys = {"relevance": "relevance", "rank": "rank"}
    estimates = measured(
        {"relevance": relevance, "rank": rank, "total": [[20.0] * n for n in sizes]},
        recall={"type": "recall_at_k", "k": 3, **keys},
        of_all={"type": "recall_at_k", "k": 3, "relevant": "total", **keys},
        precision={"type": "precision_at_k", "k": 3, **keys},
        mrr={"type": "mrr", **keys},
    ).estimates
    hits, firsts = [], []
    for gains, places in zip(relevance, rank, strict=True):
        best = [gain for _, gain in sorted(zip(places, gains, strict=True))]
        hits.append(sum(best[:3]))
        firsts.append(1 / (1 + best.index(1)))
    totals = [sum(gains) for gains in relevance]
    recalls = [h / t for h, t in zip(hits, totals, strict=True)]
    assert estimates["recall"].value == pytest.approx(np.mean(recalls), abs=1e-12)
    assert estimates["of_all"].value == pytest.approx(np.mean(hits) / 20, abs=1e-12)
    assert estimates["precision"].value == pytest.approx(np.mean(hits) / 3, abs=1e-12)
    assert estimates["mrr"].value == pytest.approx(np.mean(firsts), abs=1e-12)
    assert estimates["mrr"].interval.method == "t"


def test_choices_against_every_choice(measured):
    tasks, n, k = 7, 6, 3
    reward = RNG.integers(0, 3, (tasks, n)).astype(float).tolist()
    answer = RNG.choice(["x", "y", "z"], (tasks, n)).tolist()
    by = RNG.integers(0, 4, (tasks, n)).astype(float).tolist()
    spent = RNG.integers(1, 9, (tasks, n)).astype(float).tolist()
    estimates = measured(
        {"reward": reward, "answer": answer, "by": by, "spent": spent},
        maj={"type": "majority_vote", "answer": "answer", "k": 5},
        chosen={"type": "best_of_n", "by": "by", "n": k},
        within={"type": "pass_within", "of": "spent", "budget": 9},
    ).estimates
    votes, bests, solved = [], [], []
    for rewards, answers, scores, costs in zip(reward, answer, by, spent, strict=True):
        by_answer = {
            a: [r for r, b in zip(rewards[:5], answers, strict=False) if a == b]
            for a in "xyz"
        }
        most = max(map(len, by_answer.values()))
        votes.append(
            np.mean([np.mean(r) for r in by_answer.values() if len(r) == most])
        )
        tops = []
        for chosen in itertools.combinations(range(n), k):
            top = max(scores[i] for i in chosen)
            # tied rollouts share the mean of all of their task
            tops.append(
                np.mean([r for r, s in zip(rewards, scores, strict=True) if s == top])
            )
        bests.append(np.mean(tops))
        upto = np.cumsum(costs)
        solved.append(
            any(r >= 1 and c <= 9 for r, c in zip(rewards, upto, strict=True))
        )
    assert estimates["maj"].value == pytest.approx(np.mean(votes), abs=1e-12)
    assert estimates["chosen"].value == pytest.approx(np.mean(bests), abs=1e-12)
    assert estimates["within"].value == pytest.approx(np.mean(solved), abs=1e-12)


def test_wins_ties_and_shares(measured):
    estimates = measured(
        {
            "winner": [["us", "tie"], ["them", "us"], ["us", "us"]],
            "ours": [[1.0, 2.0], [3.0, 3.0], [0.0, 9.0]],
            "theirs": [[1.0, 1.0], [4.0, 3.0], [1.0, 1.0]],
        },
        named={"type": "win_rate", "winner": "winner", "of": "us"},
        scored={"type": "win_rate", "score": "ours", "reference": "theirs"},
        ties={"type": "share", "of": "winner", "label": "tie"},
    ).estimates
    assert estimates["named"].value == pytest.approx((0.75 + 0.5 + 1) / 3)
    assert estimates["scored"].value == pytest.approx((0.75 + 0.25 + 0.5) / 3)
    assert estimates["ties"].value == pytest.approx(1 / 6)


def test_ratings_solve_the_equations_of_bradley_and_terry(measured):
    players = ["p", "q", "r", "s"]
    pairs = [RNG.choice(players, 2, replace=False).tolist() for _ in range(100)]
    winner = [RNG.choice([*pair, "tie"], p=[0.5, 0.3, 0.2]) for pair in pairs]
    columns = {
        "a": [p[0] for p in pairs],
        "b": [p[1] for p in pairs],
        "w": list(map(str, winner)),
    }
    keys = {"type": "elo", "a": "a", "b": "b", "winner": "w"}
    estimates = measured(columns, **{p: {**keys, "of": p} for p in players}).estimates
    rating = {p: estimates[p].value for p in players}
    assert np.mean(list(rating.values())) == pytest.approx(1000, abs=1e-6)
    for (
        player
    ) in players:  # at the greatest likelihood expected wins are those that were seen
        expected = seen = 0.0
        for pair, won in zip(pairs, winner, strict=True):
            if player in pair:
                (other,) = set(pair) - {player}
                expected += 1 / (1 + 10 ** ((rating[other] - rating[player]) / 400))
                seen += 0.5 if won == "tie" else won == player
        assert expected == pytest.approx(seen, abs=1e-9)


DRAWN = np.random.default_rng(23).exponential(1, 300)


def percentile(measured, q):
    name = f"p{q}/x"
    return measured({"x": DRAWN.tolist()}, also=[name]).estimates[name]


@pytest.mark.parametrize("q", [1, 50, 95, 99])
def test_a_percentile_is_numpys(measured, q):
    expected = pytest.approx(np.quantile(DRAWN, q / 100), rel=1e-12)
    assert percentile(measured, q).value == expected


def test_a_sum_is_numpys(measured):
    estimates = measured({"x": DRAWN.tolist()}, also=["sum/x"]).estimates
    assert estimates["sum/x"].value == pytest.approx(DRAWN.sum(), rel=1e-12)


@pytest.mark.parametrize("q", [50, 95])
def test_the_interval_of_a_percentile_is_scipys(measured, q):
    interval = percentile(measured, q).interval
    theirs = oracle.quantile_test(DRAWN, p=q / 100).confidence_interval(0.95)
    assert interval.method == "order statistics"
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("q", [1, 99])
def test_a_percentile_of_few_values_beyond_it_has_no_interval(measured, q):
    estimate = percentile(measured, q)
    assert estimate.interval is None
    assert "too few" in estimate.reason


@pytest.mark.parametrize(("m", "n"), [(1, 3), (2, 3), (3, 3), (4, 6)])
def test_reliability_against_the_hypergeometric_distribution(measured, m, n):
    reward = RNG.integers(0, 2, (9, 6)).astype(float)
    estimates = measured(
        {"reward": reward.tolist()}, also=[f"pass_{m}_of_{n}"]
    ).estimates
    expected = oracle.hypergeom.sf(m - 1, 6, reward.sum(axis=1), n).mean()
    assert estimates[f"pass_{m}_of_{n}"].value == pytest.approx(expected, abs=1e-12)


ELO = {"type": "elo", "a": "a", "b": "b", "winner": "w", "of": "x"}
ONE_LABEL = {"gold": ["a", "b"], "predicted": ["a", "a"]}
RANKED = {"type": "ndcg_at_k", "relevance": "relevance", "rank": "rank"}
NONE_PREDICTED = "no label is predicted that is 'b'"
WHICH_POSITIVE = "say which label of gold is positive, with `positive:`: 'a', 'b'"


@pytest.mark.parametrize(
    ("columns", "keys", "why"),
    [
        (
            {"gold": [1, 1], "p": [0.2, 0.9]},
            {"type": "auroc", **FORETOLD},
            "one outcome",
        ),
        (
            {"gold": [1, 0], "p": [0.2, 1.9]},
            {"type": "brier", **FORETOLD},
            "1.9, where a prob",
        ),
        (
            {"gold": [1, 0], "p": [0.0, 0.9]},
            {"type": "log_loss", **FORETOLD},
            "probability of",
        ),
        (ONE_LABEL, {"type": "mcc", **AGREE}, "one label"),
        ({**ONE_LABEL, "gold": ["a", "a"]}, {"type": "kappa", **AGREE}, "one label"),
        (ONE_LABEL, {"type": "precision", **AGREE, "average": "macro"}, NONE_PREDICTED),
        (ONE_LABEL, {"type": "f1", **AGREE}, WHICH_POSITIVE),
        (
            {"relevance": [[0], [1]], "rank": [[1.0], [2.0]]},
            RANKED,
            "1 of 2 queries have no rel",
        ),
        ({"a": ["x", "x"], "b": ["y", "y"], "w": ["a", "a"]}, ELO, "never lost"),
        (
            {"a": ["x", "x"], "b": ["y", "y"], "w": ["a", "draw"]},
            ELO,
            "'draw', which is not a player of its row, and no tie",
        ),
    ],
)
def test_what_is_undefined_is_an_error_with_its_reason(measured, columns, keys, why):
    with pytest.raises(MetricError, match=f"(?s)metric 'it'.*{why}"):
        measured(columns, it=keys)


def test_a_part_of_a_breakdown_may_be_undefined(measured):
    notes = []
    columns = {
        "gold": [1, 0, 1, 1],
        "p": [0.9, 0.1, 0.8, 0.7],
        "lang": ["de", "de", "en", "en"],
    }
    estimates = measured(columns, notes, auc={"type": "auroc", **FORETOLD})
    assert estimates.aggregate["agent_metrics"]["auc[lang=de]"] == 1.0
    assert "auc[lang=en]" not in estimates.aggregate["agent_metrics"]
    (note,) = note_texts(notes)
    assert "auc[lang=en]" in note
    assert "one outcome" in note


def test_two_players_and_labels_by_hand(measured):
    columns = {"a": ["us"] * 4, "b": ["them"] * 4, "w": ["a", "a", "a", "b"]}
    keys = {
        "type": "elo",
        "a": "a",
        "b": "b",
        "winner": "w",
        "of": "us",
        "against": "them",
    }
    estimates = measured(columns, elo=keys).estimates["elo"]
    assert estimates.value == pytest.approx(1000 + 400 * math.log10(3), abs=1e-9)
    # numbers are one label however they are written
    columns = {"gold": ["1", "2.0", "3"], "predicted": [1.0, 2.0, 2.0]}
    estimates = measured(columns, acc={"type": "accuracy", **AGREE}).estimates["acc"]
    assert estimates.value == pytest.approx(2 / 3)


def test_the_name_of_another_metric_is_refused(measured):
    with pytest.raises(
        RegistryError, match=r"'pass@3' is the name of a metric already"
    ):
        measured(
            {"gold": ["a"], "predicted": ["a"]},
            **{"pass@3": {"type": "accuracy", **AGREE}},
        )


# -- whole runs ----------------------------------------------------------------------------

BENCH = """
metrics:
  - macro_f1: {type: f1, gold: label, predicted: answer, average: macro}
  - p95/latency_s
breakdown: [lang]
baseline: true
"""


def _rows(wrong, slow=1.0, tasks=60):
    rng = np.random.default_rng(7)
    for task in range(tasks):
        label = str(rng.choice(["cat", "dog", "eel"]))
        answer = label if rng.random() > wrong else "cat"
        latency = float(np.round(rng.exponential() * slow, 3))
        yield {
            "_ng_task_index": task, "_ng_rollout_index": 0, "label": label, "answer": answer,
            "latency_s": latency, "lang": "de" if task % 2 else "en",
        }  # fmt: skip


@pytest.fixture
def recorded(project):
    """A project whose baseline of 60 tasks, 10 % of them wrong, holds the metrics' columns."""
    project.rows("runs.jsonl", _rows(0.1))
    project.bench(BENCH)
    assert evaluated(project, updates=True).passed
    return project


def test_a_baseline_keeps_the_columns_of_its_metrics(recorded):
    (path,) = recorded.path.glob("__baselines__/*/*.json")
    assert '"0": {"answer": ["eel"], "label": ["eel"], "latency_s": ' in path.read_text(
        "utf-8"
    )
    assert evaluated(recorded, reporters=("aggregate_metrics.json",)).passed
    assert recorded.aggregate()[0]["agent_metrics"]["macro_f1[lang=de]"] < 1


def test_a_baseline_that_lacks_a_metric_and_its_columns_is_inconclusive(project):
    project.rows("runs.jsonl", _rows(0.1))
    project.bench("metrics: [p95/latency_s]\nbaseline: true")
    assert evaluated(project, updates=True).passed
    project.bench(BENCH)
    result = evaluated(project)
    assert not result.passed
    result.says("INCONCLUSIVE *macro_f1*")


def test_a_regression_against_a_committed_baseline(recorded):
    recorded.rows("runs.jsonl", _rows(0.5, slow=3.0))
    result = evaluated(recorded)
    assert not result.passed
    result.says(
        "FAIL  *: worse than its baseline, 60 tasks x 1",
        "FAIL     *macro_f1 *",
        "FAIL     *",
    )


def test_a_row_that_lacks_a_column_of_a_metric_fails(project):
    rows = list(_rows(0.1))
    del rows[3]["answer"]
    project.rows("runs.jsonl", rows)
    project.bench(BENCH.replace("baseline: true\n", ""))
    evaluated(project).says(
        "FAIL *: one rollout has not all of *label*, latency_s (task 3)*"
    )


AGREEING = """
from pytest_evalmetrics import register_metric

@register_metric('agreeing')
class Agreeing:
    columns = ('label', 'answer', 'latency_s')

    def __init__(self, slack=0.0):
        self.slack = slack

    def compute(self, tasks):
        assert all(isinstance(x, float) for t in tasks for x in t['latency_s'])
        right = [t['label'] == t['answer'] for t in tasks]
        return sum(right) / len(right) + self.slack
"""


def test_your_own_metric_over_rows(project):
    project.write("conftest.py", AGREEING)
    project.rows("runs.jsonl", _rows(0.0, tasks=15))
    project.bench(
        "metrics:\n- agreeing\n- slack: {type: agreeing, slack: 1}\n"
        "baseline: {direction: higher}"
    )
    project.run("--snapshot-update").assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert metrics["slack"] == metrics["agreeing"] + 1
    project.rows("runs.jsonl", _rows(1.0, tasks=15))
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["FAIL  *: worse than its baseline, 15 tasks x 1", "FAIL     agreeing*"]
    )


def test_wrong_keys_are_reported_with_their_lines(project):
    project.rows("runs.jsonl", _rows(0.1))
    project.bench(
        "metrics:\n"
        "  - macro: {type: f1, gold: label, predicted: answer, averag: macro}\n"
        "  - kappa: {type: kappa, gold: label, predicted: answer, average: macro}\n"
        "  - none: {gold: label}"
    )
    project.run().stdout.fnmatch_lines(
        [
            "*math.bench.yaml:5: *metrics*macro*: unknown key 'averag': did you mean 'average'?*",
            "*math.bench.yaml:6: *metrics*kappa*: average is for precision, recall and f1*",
            "*math.bench.yaml:7: *metrics*none*: 'type' is missing: accuracy, *",
        ]
    )


def test_a_threshold_on_the_reward_makes_it_a_number_that_rows_must_have(project):
    rows = [
        {"_ng_task_index": i, "gold": "a", "predicted": "a", "reward": 1}
        for i in range(9)
    ]
    project.rows(
        "runs.jsonl", [*rows, rows[0] | {"_ng_task_index": 9, "reward": "yes"}]
    )
    defined = "- right: {type: accuracy, gold: gold, predicted: predicted}"
    project.bench(f"metrics:\n{defined}\nthresholds: {{mean_reward: '>= 0.5'}}")
    evaluated(project).says("*runs.jsonl:10: the score 'reward' is text*")
