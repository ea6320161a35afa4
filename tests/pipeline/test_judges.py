"""The judges of a benchmark: labels to check them against, thresholds to hold them to."""

import json

import numpy as np
import pytest
from evaluated import evaluated

from pytest_evalmetrics.scoring.scorers import About, summarise_all

NAN = float("nan")
GATES = 'judge_accuracy/quality: ">= 0.5", judge_kappa/quality: ">= 0.5"'


def row(quality, human):
    return {"say": json.dumps({"quality": quality, "other": 0.5}), "human": human}


def bench(
    project,
    labels,
    *,
    text="label: human",
    url="http://127.0.0.1:1/v1",
    gates="",
    name="labels",
):
    project.rows(f"{name}.jsonl", labels)
    project.rows("data.jsonl", [{"id": "a"} | row("good", None)])
    project.write(
        f"{name}.bench.yaml",
        f"""\
benchmark:
  name: a
  dataset: data.jsonl
  scorers:
    - type: llm-judge
      model: {{url: "{url}", name: j}}
      prompt_template: "[[say: {{{{ say }}}}]]"
      scores:
        - {{name: quality, rubric: [{{label: good, value: 1}}, {{label: bad, value: 0}}]}}
        - {{name: other}}
      judge_check: {{rows: {name}.jsonl, {text}}}
  reward: quality
  thresholds: {{{gates}}}
""",
    )


def checked(project):
    """Run it; give the check of its judge, the gates on it, and what is noted."""
    evaluated(project)
    (entry,) = project.report()["benchmarks"]
    (check,) = entry["judge_checks"]
    gates = [gate for gate in entry["checks"] if gate["name"].startswith("judge_")]
    return check, gates, " ".join(entry["notes"])


def test_labels_may_be_numbers_or_those_of_the_rubric(project, judge_server):
    labels = [
        row("good", "good"),
        row("good", 1),
        row("bad", "good"),
        row("bad", False),
    ]
    bench(project, labels, url=judge_server.url())
    check, _, notes = checked(project)
    assert (check["rows"], check["accuracy"], check["kappa"]) == (4, 0.75, 0.5)
    assert [each["row"].rpartition("/")[2] for each in check["first"]] == [
        "labels.jsonl:3"
    ]
    agreement = (
        "judge check: quality is what people say in 3 of 4 labelled rows (kappa 0.5)"
    )
    assert agreement in notes
    assert judge_server.posts == 4  # the row that is scored is one of them


def test_what_is_undefined_holds_no_threshold(project, judge_server):
    bench(
        project, [row("good", 1), row("good", 1)], url=judge_server.url(), gates=GATES
    )
    _, (accuracy, kappa), _ = checked(project)
    assert accuracy["verdict"] == "PASS"
    assert accuracy["estimate"]["interval"]["low"] == pytest.approx(
        0.158114
    )  # the exact one of 2 in 2
    assert (kappa["verdict"], kappa["line"]) == ("INCONCLUSIVE", 13)
    assert "all scores and labels are the same" in kappa["reason"]


def test_a_labelled_row_without_a_score_leaves_nothing_judged(project, judge_server):
    bench(
        project, [row("good", 1), row("so-so", 1)], url=judge_server.url(), gates=GATES
    )
    check, gates, notes = checked(project)
    assert [gate["verdict"] for gate in gates] == ["INCONCLUSIVE"] * 2
    assert (check["failed"], check["accuracy"], check["kappa"]) == (1, None, None)
    assert "1 of 2 labelled rows have no quality, such as " in gates[0]["reason"]
    assert "labels.jsonl:2: " in gates[0]["reason"]
    assert "1 of 2 labelled rows" in notes


ONE = [row("good", 1)]
INVALID = {
    "text": ([row("good", "x")], {}, 'is "x", expected a number or one of good, bad'),
    "null": ([{"human": 1}, {}], {}, "is null"),
    "empty": ([], {}, "empty.jsonl: the file is empty"),
    "score": (
        ONE,
        {"text": "label: human, score: fun"},
        "gives no 'fun'; it gives: other, qual",
    ),
    "gate": (ONE, {"gates": 'judge_kappa/fun: ">= 1"'}, "judge_check: quality"),
    "bare": (ONE, {"gates": 'judge_kappa: ">= 1"'}, "judge_check: quality"),
}


def test_invalid_labels(project):
    for name, (labels, keys, _) in INVALID.items():
        bench(project, labels, name=name, **keys)
    result = project.run("-v", "--continue-on-collection-errors")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    for *_, message in INVALID.values():
        result.stdout.fnmatch_lines([f"*{message}*"])


LABELS = (("good", 1.0), ("bad", 0.0), ("never", 2.0))
# two judges of five rows, which disagree about the last one
PANEL = {
    "q": np.array([1.0, 0.0, 1.0, NAN, 0.0]),
    "q@a": np.array([1.0, 0.0, 1.0, NAN, 1.0]),
    "q@b": np.array([1.0, 0.0, 1.0, NAN, 0.0]),
}
ABOUT = {"q": About(LABELS, ("q@a", "q@b"), "nominal"), "q@a": About(LABELS)}


def test_a_rubric_is_summarised_by_its_labels():
    _, one, other = summarise_all(tuple(PANEL), PANEL, ABOUT)
    counts = [(label.label, label.count) for label in one.rubric_distribution]
    assert counts == [("good", 3), ("bad", 1), ("never", 0)]
    assert one.mode_category == "good"
    # a score without labels
    assert (other.rubric_distribution, other.mode_category) == ((), None)


def test_of_labels_that_are_as_frequent_the_first_by_name_is_the_mode():
    whole, *_ = summarise_all(tuple(PANEL), PANEL, ABOUT)
    counts = [(label.label, label.count) for label in whole.rubric_distribution]
    assert counts == [("good", 2), ("bad", 2), ("never", 0)]
    assert whole.mode_category == "bad"


def test_the_agreement_of_a_panel_is_krippendorffs_alpha():
    whole, one, _ = summarise_all(tuple(PANEL), PANEL, ABOUT)
    assert (whole.agreement.judges, whole.agreement.rows) == (2, 4)
    # by hand: units 11, 00, 11, 10: D_o = 1/4, D_e = 2 * 5 * 3 / (8 * 7)
    assert whole.agreement.alpha == pytest.approx(1 - (1 / 4) / (30 / 56))
    assert one.agreement is None


def test_judges_who_all_say_the_same_have_no_agreement():
    (same,) = summarise_all(["q"], dict.fromkeys(PANEL, np.ones(5)), ABOUT)
    assert same.agreement.alpha is None
    assert same.agreement.reason == "all their scores are the same"
