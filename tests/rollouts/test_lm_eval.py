"""Samples of lm-evaluation-harness."""

import json
import math

import numpy as np
import pytest
from evaluated import evaluated
from scipy.stats import ttest_ind_from_stats

from pytest_evalmetrics.reports.sentences.notes import note_texts

DATE = "2026-01-02T03-04-05.678901"


def row(doc, *, filter="none", **metrics):  # noqa: A002
    return {
        "doc_id": doc,
        "doc": {"q": "?", "subject": "math"},
        "target": "4",
        "resps": [["a"]],
        "filtered_resps": ["a"],
        **({} if filter is None else {"filter": filter, "metrics": list(metrics)}),
        **metrics,
    }


def run(folder, rows, task="toy", **results):
    folder.rows(rows, f"out/samples_{task}_{DATE}.jsonl")
    if results:
        document = {"results": {}, "configs": {}, "model_name": "org/model", **results}
        folder.json(document, f"out/results_{DATE}.json")


def test_what_the_tool_wrote(real):
    (path,) = (real.path / "formats/lm_eval").glob("*/results_*.json")
    stated = json.loads(path.read_text())["results"]["toy_add"]["exact_match,none"]
    table = real.load("formats/lm_eval/*/samples_*.jsonl", scores=["reward"])
    assert table.scores["reward"].mean() == pytest.approx(stated)
    assert table.scores["exact_match"].tolist() == [0, 1, 0]
    assert table.tasks == ("toy_add/0", "toy_add/1", "toy_add/2")
    assert table.sample.tolist() == [0, 0, 0]
    assert table.agents == ("qdpv68r5",)
    assert [
        "answered 3 times and scored once" in note for note in note_texts(table.notes)
    ] == [True]


def test_each_filter_has_its_own_scores(folder):
    strict = [row(n, filter="strict", exact_match=n % 2) for n in range(3)]
    loose = [row(n, filter="loose", exact_match=1) for n in range(3)]
    run(folder, strict + loose)
    refused = folder.refused("out/*.jsonl", scores=["reward"])
    assert "exact_match,strict, exact_match,loose" in refused.message
    table = folder.load("out/*.jsonl", scores=["exact_match,strict"])
    assert len(table) == 3
    assert table.scores["exact_match,strict"].tolist() == [0, 1, 0]
    assert table.scores["exact_match,loose"].tolist() == [1, 1, 1]


def test_samples_of_a_limited_run_say_so(folder):
    counts = {"n-samples": {"toy": {"original": 9, "effective": 3}}}
    run(folder, [row(n, acc=1) for n in range(3)], **counts)
    (note,) = note_texts(folder.load("out/*.jsonl", scores=["acc"]).notes)
    assert note.endswith("the run was limited to 3 of the 9 documents of its task")


def test_rows_of_early_versions(folder):
    rows = [row(n, filter=None, acc=n % 2) for n in range(4)]
    folder.write(
        json.dumps(rows, indent=1), "toy.jsonl"
    )  # an array, whatever it is called
    table = folder.load("toy.jsonl", scores=["reward"])
    assert (table.tasks, table.agents) == ((0, 1, 2, 3), ("agent",))
    assert table.scores["reward"].tolist() == [0, 1, 0, 1]


def test_tasks_of_several_files_and_their_distinguishing_label(folder):
    run(folder, [row(0, acc=1)], "mmlu_law")
    run(folder, [row(0, acc=0)], "mmlu_art")
    table = folder.load(
        "out/*.jsonl", scores=["acc"], categories=["task", "doc.subject"]
    )
    assert table.tasks == ("mmlu_art/0", "mmlu_law/0")
    assert set(table.categories["task"].labels) == {"mmlu_art", "mmlu_law"}
    assert table.categories["doc.subject"].labels == ("math",)


@pytest.mark.parametrize(
    ("aggregation", "stated", "noted"),
    [
        ("mean", 0.5, ""),
        ("mean", 0.75, ".json"),
        (None, 0.75, ".json"),
        ("f1", 0.75, ".json (by f1)"),
    ],
)
def test_the_results_are_compared_with_the_means(folder, aggregation, stated, noted):
    metrics = [{"metric": "acc", "aggregation": aggregation}] if aggregation else None
    run(
        folder,
        [row(0, acc=1), row(1, acc=0)],
        results={"toy": {"alias": "toy", "acc,none": stated, "acc_stderr,none": 0.1}},
        configs={"toy": {"metric_list": metrics}},
        **{"n-samples": {"toy": {"original": 9, "effective": 3}}},
    )
    notes = note_texts(folder.load("out/samples*", scores=["acc"]).notes)
    difference = f"acc,none in results_{DATE}{noted} is 0.75, and the rollouts give 0.5"
    assert any("acc,none" in note for note in notes) is bool(noted)
    assert any(difference in note for note in notes) is bool(noted)
    assert any("json is 3, and the rollouts give 2" in note for note in notes)


def test_what_is_no_number(folder):
    run(
        folder,
        [
            row(0, acc=1, word_perplexity=[-3.5, 4]),
            row(1, acc=None, word_perplexity=None),
        ],
    )
    table = folder.load("out/*", scores=["acc"])
    np.testing.assert_equal(table.scores["acc"], [1, np.nan])
    assert any("not scored: 1 rollout" in note for note in note_texts(table.notes))
    assert any(
        "word_perplexity: in some rows this is not a number" in note
        for note in note_texts(table.notes)
    )
    refused = folder.refused("out/*", scores=["word_perplexity"])
    assert "is a list: [-3.5, 4]" in refused.message


def test_log_likelihoods_of_perplexities_and_answers_without_a_score(folder):
    run(folder, [row(0, perplexity=-1.5, acc=1), row(1, perplexity=-0.5, acc=0)])
    table = folder.load("out/*", scores=["log_likelihood"])
    assert table.scores["log_likelihood"].tolist() == [-1.5, -0.5]
    assert "is in no row" in folder.refused("out/*", scores=["perplexity"]).message
    run(folder, [row(0, bypass=999), row(1, bypass=999)])  # --predict_only
    table = folder.load("out/*", scores=["reward"])
    assert np.isnan(table.scores["reward"]).all()
    assert note_texts(table.notes)[0].startswith("not scored: 2 rollouts")


@pytest.mark.parametrize("files", ["samples", "results"])
def test_a_score_of_which_the_files_say_that_less_is_better(project, files):
    for name, score in (("old", 0.25), ("new", 0.75)):
        rows = [row(n, score=score) for n in range(20)]
        project.write(
            f"{name}/samples_toy_{DATE}.jsonl", "\n".join(map(json.dumps, rows))
        )
        stated = {"score,none": score, "score_stderr,none": 0.01}
        results = {"results": {"toy": stated}, "configs": {}, "model_name": "m"}
        results |= {"n-samples": {"toy": {"effective": 20}}}
        results |= {"higher_is_better": {"toy": {"score": False}}}
        project.write(f"{name}/results_{DATE}.json", json.dumps(results))
    bench = f"benchmark: {{name: x, rollouts: new/{files}*, reward: score, metrics: [mean_reward], "
    bench += f"baseline: {{rollouts: old/{files}*}}}}\n"
    for more, reason in (
        (
            "",
            "mean_reward, because lower is declared to be better for score",
        ),
        (", direction: lower", "mean_reward rose from 0.25 to 0.75"),
    ):
        project.write("x.bench.yaml", bench.replace("}}", f"{more}}}}}"))
        evaluation = evaluated(project)
        assert not evaluation.passed
        assert reason in evaluation.text
    project.write(
        "x.bench.yaml", bench.replace(" reward: score,", "").replace("new/", "old/")
    )
    assert (
        "the only score is 'score', and of a reward more is better"
        in evaluated(project).text
    )


@pytest.mark.parametrize(
    ("higher_is_better", "verdict"), [(True, "PASS"), (False, "FAIL")]
)
def test_a_metric_goes_the_way_that_its_files_declare(
    project, higher_is_better, verdict
):
    for name, score in (("old", 0.25), ("new", 0.75)):
        rows = [row(n, acc=1, score=score) for n in range(20)]
        project.write(
            f"{name}/samples_toy_{DATE}.jsonl", "\n".join(map(json.dumps, rows))
        )
        results = {"results": {"toy": {"score,none": score}}, "configs": {}}
        results["higher_is_better"] = {"toy": {"score": higher_is_better}}
        project.write(f"{name}/results_{DATE}.json", json.dumps(results))
    project.write(
        "x.bench.yaml",
        "benchmark: {name: x, rollouts: new/samples*, reward: acc, "
        "metrics: [mean/score], baseline: {rollouts: old/samples*}}\n",
    )
    evaluated(project)
    assert project.checks()["mean/score"]["verdict"] == verdict


def test_rows_that_are_refused(folder):
    twice = "the document 0 with the filter 'none' occurs here and in"
    for wrong, message in ((row(0, acc=0), twice), (row(None), "doc_id is None")):
        folder.rows([row(0, filter=None, acc=1), wrong])
        refused = folder.refused()
        assert message in refused.message
        assert refused.line == 2


def results_alone(accuracy, stderr, n=1319):
    """Write a file of results as lm-evaluation-harness 0.4 does, without samples."""
    metrics = {
        "exact_match,strict-match": accuracy,
        "exact_match_stderr,strict-match": stderr,
    }
    return json.dumps(
        {
            "results": {
                "gsm8k": {"alias": "gsm8k", **metrics},
                "all": {"alias": "all", **metrics},
            },
            "group_subtasks": {"gsm8k": [], "all": ["gsm8k"]},
            "n-samples": {"gsm8k": {"original": n, "effective": n}},
            "higher_is_better": {"gsm8k": {"exact_match": True}},
            "model_name": "m",
        }
    )


def standard_error(accuracy):
    return math.sqrt(accuracy * (1 - accuracy) / 1318)


AGAINST_RESULTS = "benchmark: {name: x, rollouts: results.json, baseline: true}\n"


@pytest.fixture
def recorded_results(project):
    """A baseline of results without samples: an accuracy of 0.72 over 1,319 questions."""
    project.write("results.json", results_alone(0.72, standard_error(0.72)))
    project.write("x.bench.yaml", AGAINST_RESULTS)
    assert evaluated(project, updates=True).passed
    return project


@pytest.mark.parametrize(("accuracy", "passes"), [(0.70, True), (0.64, False)])
def test_results_without_samples_are_gated_by_welch(recorded_results, accuracy, passes):
    project = recorded_results
    project.write("results.json", results_alone(accuracy, standard_error(accuracy)))
    assert evaluated(project).passed is passes
    before, now = (
        (mean, standard_error(mean) * math.sqrt(1319), 1319)
        for mean in (0.72, accuracy)
    )
    welch = ttest_ind_from_stats(*before, *now, equal_var=False, alternative="greater")
    facts = project.checks()["mean_reward"]["comparison"]
    assert facts["p"] == pytest.approx(welch.pvalue, rel=1e-9)


def test_results_without_samples_say_what_they_leave_out(recorded_results):
    recorded_results.write("results.json", results_alone(0.64, standard_error(0.64)))
    text = evaluated(recorded_results).text
    assert "Welch's t of the stated standard errors" in text
    assert "groups are left out: all" in text
    assert "left out, because there are no rollouts: pass_rate" in text


def test_results_that_do_not_vary_are_compared(project):
    project.write("results.json", results_alone(1.0, 0.0))
    against = "{rollouts: results.json, max_drop: 0}"
    project.write("x.bench.yaml", AGAINST_RESULTS.replace("true", against))
    assert evaluated(project).passed


def test_results_without_a_standard_error_are_inconclusive(recorded_results):
    recorded_results.write("results.json", results_alone(0.64, "N/A"))
    evaluation = evaluated(recorded_results)
    assert not evaluation.passed
    assert "reward of gsm8k has no standard error in this run" in evaluation.text


def test_a_threshold_of_rollouts_has_none_in_results_alone(project):
    project.write("results.json", results_alone(0.64, standard_error(0.64)))
    threshold = "thresholds: {pass_rate: '>= .5'}"
    project.write("x.bench.yaml", AGAINST_RESULTS.replace("baseline: true", threshold))
    evaluation = evaluated(project)
    assert not evaluation.passed
    assert "pass_rate is of rollouts, and these are aggregates" in evaluation.text


def test_results_of_version_0_3_have_metrics_without_a_filter(folder):
    old = {
        "results": {"toy": {"acc": 0.75, "acc_stderr": 0.01, "alias": "toy"}},
        "versions": {"toy": 0},
        "config": {"model": "hf", "model_args": "pretrained=org/name"},
    }
    folder.json(old, "results.json")
    table = folder.load("results.json", scores=["acc"])
    assert table.scores["acc"].tolist() == [0.75]
    assert table.agents == ("org/name",)
