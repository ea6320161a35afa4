"""Files of SWE-bench, evalplus, BFCL and HELM, with the tools' own numbers beside ours."""

import json

import numpy as np
import pytest
from rollouts.layouts import LAYOUTS

from pytest_evalmetrics.reports.sentences.notes import note_texts


def write(folder, name):
    """Write the files of a layout, and return the name of the first."""
    layout = LAYOUTS[name]
    folder.write(layout.data(), layout.file)
    for file, content in layout.beside.items():
        folder.write(content, file)
    return layout.file


def rewards(table, score="reward"):
    named = (table.tasks[task] for task in table.task.tolist())
    return dict(zip(named, table.scores[score].tolist(), strict=True))


# -- SWE-bench -------------------------------------------------------------------------------


def test_a_published_report_of_swe_bench_gives_its_own_number(real):
    path = "intake/real/swebench_report_real.json"
    stated = json.loads((real.path / path).read_text())
    table = real.load(path, scores=["reward"])
    assert table.scores["reward"].sum() == stated["resolved_instances"] == 25
    assert len(table) == stated["submitted_instances"] == 40
    (note,) = note_texts(table.notes)
    assert note.endswith("instances that were not submitted are left out: 460")


def test_an_infrastructure_failure_is_missing_though_it_counts_as_unresolved(folder):
    report = {
        "submitted_instances": 5,
        "resolved_instances": 1,
        "submitted_ids": ["a", "b", "c", "d", "e"],
        "resolved_ids": ["a"],
        "unresolved_ids": ["b", "c"],
        "infra_failure_ids": ["c", "d"],
        "empty_patch_ids": ["e"],
        "error_ids": ["d"],
        "failure_reasons": {"c": "docker_pull_failed", "d": "disk_full"},
    }
    folder.json(report, "model.run.json")
    table = folder.load("model.run.json", scores=["reward"])
    expected = {"a": 1, "b": 0, "c": np.nan, "d": np.nan, "e": 0}
    np.testing.assert_equal(rewards(table), expected)
    (note,) = note_texts(table.notes)
    assert note.startswith("infrastructure failure: 2 rollouts without a score")
    assert note.endswith("c: docker_pull_failed)")


def test_an_ambiguous_failure_counts_and_is_noted(folder):
    report = {**report_of("a"), "ambiguous_failure_ids": ["b"], "schema_version": 2}
    folder.json(report, "model.run.json")
    table = folder.load("model.run.json", scores=["reward"])
    assert rewards(table) == {"a": 1, "b": 0, "c": 0}
    (note,) = note_texts(table.notes)
    assert note.endswith("(failure_reasons) count as unresolved: 1")


def test_a_report_of_an_unknown_schema_is_refused(folder):
    folder.json({**report_of("a"), "schema_version": 3}, "model.run.json")
    refused = folder.refused("model.run.json", scores=["reward"])
    assert "of the schema version 3; known is 2" in refused.message


def test_a_report_whose_lists_broke_off_is_noted(folder):
    report = {"resolved_instances": 9, "resolved_ids": ["a"], "unresolved_ids": ["b"]}
    folder.json(report, "model.run.json")
    (note,) = note_texts(folder.load("model.run.json", scores=["reward"]).notes)
    assert note == "model.run.json: resolved_instances is 9, and the rollouts give 1"


def report_of(resolved, instances="abc"):
    return {
        "resolved_ids": list(resolved),
        "unresolved_ids": [name for name in instances if name not in resolved],
    }


def test_several_reports_of_the_same_instances_are_attempts(folder):
    folder.json(report_of("a"), "m.run1.json")
    folder.json(report_of("ab"), "m.run2.json")
    table = folder.load("m.*.json", scores=["reward"])
    assert table.scores["reward"].tolist() == [1, 1, 0, 1, 0, 0]
    (note,) = note_texts(table.notes)
    assert "m.run2.json has the tasks of m.run1.json" in note


def test_reports_of_other_instances_are_no_attempts(folder):
    folder.json(report_of("a"), "m.run1.json")
    folder.json(report_of("a", "abd"), "m.run2.json")
    refused = folder.refused("m.*.json", scores=["reward"])
    assert "2 tasks are in one of them, such as 'c'" in refused.message


def test_reports_of_two_models_are_refused(folder):
    folder.json(report_of("a"), "m.run1.json")
    folder.json(report_of("ab"), "other.run1.json")
    refused = folder.refused("*.json", scores=["reward"])
    assert "several models by their names: m and other" in refused.message


# -- evalplus --------------------------------------------------------------------------------


def evaluated(*statuses):
    return [{"base_status": base, "plus_status": plus} for base, plus in statuses]


def results_of_evalplus(**more):
    solutions = {
        "HumanEval/0": evaluated(("pass", "pass"), ("fail", "pass")),
        "HumanEval/1": evaluated(("pass", "fail"), ("pass", "pass")),
    }
    return {"date": "2026-01-01 00:00", "hash": "x", "eval": solutions, **more}


def test_evalplus_counts_base_and_plus(folder):
    stated = {"base": {"pass@1": 0.75}, "plus": {"pass@1": 0.5}}
    folder.json(results_of_evalplus(pass_at_k=stated), "s_eval_results.json")
    table = folder.load("s_eval_results.json", scores=["reward"])
    assert table.scores["reward"].tolist() == [1, 0, 0, 1]
    assert table.scores["reward"].mean() == stated["plus"]["pass@1"]
    assert table.scores["base"].mean() == stated["base"]["pass@1"]
    assert table.sample.tolist() == [0, 1, 0, 1]
    assert note_texts(table.notes) == ()


def test_evalplus_with_other_numbers_than_its_own_is_noted(folder):
    stated = {"plus": {"pass@1": 0.667}}
    folder.json(results_of_evalplus(pass_at_k=stated), "s_eval_results.json")
    (note,) = note_texts(folder.load("s_eval_results.json", scores=["reward"]).notes)
    assert note.endswith("pass@1 of plus is 0.667, and the rollouts give 0.5")


def test_evalplus_without_its_extra_tests(folder):
    solutions = {"HumanEval/0": [{"base_status": "pass", "plus_status": None}]}
    folder.json({"date": "x", "hash": "y", "eval": solutions}, "s_eval_results.json")
    table = folder.load("s_eval_results.json", scores=["reward"])
    assert table.scores["reward"].tolist() == [1]


def test_a_solution_of_evalplus_without_a_status_is_missing(folder):
    solutions = {
        "HumanEval/0": evaluated(("pass", "pass")),
        "HumanEval/1": evaluated((None, None)),
        "HumanEval/2": evaluated(("pass", "timeout")),
        "HumanEval/3": [],
    }
    results = {"date": "2026-01-01", "hash": "0", "eval": solutions}
    folder.json(results, "s_eval_results.json")
    table = folder.load("s_eval_results.json", scores=["plus"])
    np.testing.assert_equal(table.scores["plus"], [1, np.nan, 0, np.nan])


# -- BFCL ------------------------------------------------------------------------------------


def test_a_file_of_scores_of_bfcl_gives_the_accuracy_of_its_first_line(folder):
    write(folder, "bfcl")
    table = folder.load("BFCL_v4_multiple_score.json", scores=["reward"])
    assert rewards(table) == {"multiple_0": 1, "multiple_1": 0, "multiple_2": 1}
    assert table.scores["reward"].mean() == pytest.approx(2 / 3)


def test_bfcl_where_it_writes_its_files_itself(folder):
    layout = LAYOUTS["bfcl"]
    folder.write(layout.data(), f"result/m/{layout.file}")
    for file, content in layout.beside.items():
        folder.write(content, f"score/m/{file}")
    table = folder.load("score/m/*_score.json", scores=["reward"])
    assert (len(table), table.agents) == (3, ("m",))


def test_scores_of_bfcl_that_broke_off_are_refused(real):
    refused = real.refused("intake/bfcl-cut-score/*_score.json", scores=["reward"])
    assert "the first line counts 5 failures, and 2 are listed" in refused.message


def test_scores_of_bfcl_alone_are_one_aggregate(folder):
    write(folder, "bfcl")
    (folder.path / LAYOUTS["bfcl"].file).unlink()
    table = folder.load("BFCL_v4_multiple_score.json", scores=["reward"])
    assert rewards(table) == {"BFCL_v4_multiple": pytest.approx(2 / 3)}


# -- HELM ------------------------------------------------------------------------------------


def test_helm_gives_the_number_of_its_test_split(real):
    path = "intake/real/helm_mmlu_per_instance_stats.json"
    stats = json.loads((real.path / "intake/real/helm_mmlu_stats.json").read_text())
    name = {"name": "exact_match", "split": "test"}
    (stated,) = [stat["mean"] for stat in stats if stat["name"] == name]
    table = real.load(path, scores=["exact_match"])
    assert table.scores["exact_match"].mean() == pytest.approx(stated)
    (note,) = note_texts(table.notes)
    assert note.endswith("or with perturbations, are left out: 1")


def test_an_instance_of_helm_without_statistics_is_missing(folder):
    table = folder.load(write(folder, "helm"), scores=["exact_match"])
    expected = {"id0": 1, "id1": 0, "id2": np.nan}
    np.testing.assert_equal(rewards(table, "exact_match"), expected)


def test_results_of_the_same_problems_are_attempts(folder):
    for run, status in (("run1", "pass"), ("run2", "fail")):
        solutions = {"HumanEval/0": evaluated((status, status))}
        results = {"date": "2026-01-01", "hash": "0", "eval": solutions}
        folder.json(results, f"{run}_eval_results.json")
    table = folder.load("*_eval_results.json", scores=["plus"])
    assert table.scores["plus"].tolist() == [1, 0]
