"""The judges of a benchmark: labels to check them against, thresholds to hold them to."""

import json

import numpy as np
import pytest
from judge_process import TERMS

from pytest_evalmetrics import scorers
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.pipeline.judge_checks import Judges
from pytest_evalmetrics.pipeline.scored_rows import with_reward
from pytest_evalmetrics.scorers import About, summarise_all
from pytest_evalmetrics.transport import Transport

NAN = float("nan")


def judges(folder, labels, text="label: human", *, url="", gates=""):
    (folder / "labels.jsonl").write_text("".join(json.dumps(x) + "\n" for x in labels))
    path = folder / "a.bench.yaml"
    path.write_text(
        f"""\
benchmark:
  name: a
  dataset: data.jsonl
  scorers:
    - type: llm-judge
      model: {{url: "{url or "http://127.0.0.1:1/v1"}", name: j}}
      prompt_template: "[[say: {{{{ say }}}}]]"
      scores:
        - {{name: quality, rubric: [{{label: good, value: 1}}, {{label: bad, value: 0}}]}}
        - {{name: other}}
      judge_check: {{rows: labels.jsonl, {text}}}
  thresholds: {{{gates}}}
"""
    )
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    made = scorers.make_scorers(benchmark.spec.scorers, TERMS, benchmark.line_of)
    return Judges(benchmark, made)


def row(quality, human):
    return {"say": json.dumps({"quality": quality, "other": 0.5}), "human": human}


def run(found):
    found.read_labels()
    with Transport() as transport:
        return found.judged(
            lambda: transport, lambda row, seen: scorers.Calls(transport, row.sample, seen, "x")
        )


def test_labels_may_be_numbers_or_those_of_the_rubric(judge_server, tmp_path):
    rows = [row("good", "good"), row("good", 1), row("bad", "good"), row("bad", False)]
    found = run(judges(tmp_path, rows, url=judge_server.url()))
    (check,) = found.checks
    assert (check.rows, check.accuracy, check.kappa) == (4, 0.75, 0.5)
    assert [d.row.rpartition("/")[2] for d in check.first] == ["labels.jsonl:3"]
    assert list(found.notes) == [
        "judge check: quality is what people say in 3 of 4 labelled rows (kappa 0.5)"
    ]
    (use,) = found.uses
    assert (use.calls, use.scores) == (4, ("quality", "other"))


GATES = 'judge_accuracy/quality: ">= 0.5", judge_kappa/quality: ">= 0.5"'


def test_what_is_undefined_holds_no_threshold(judge_server, tmp_path):
    rows = [row("good", 1), row("good", 1)]
    found = run(judges(tmp_path, rows, url=judge_server.url(), gates=GATES))
    accuracy, kappa = found.gates
    assert accuracy.verdict is Verdict.PASS
    assert accuracy.estimate is not None
    assert accuracy.estimate.interval is not None
    assert (kappa.verdict, kappa.line) == (Verdict.INCONCLUSIVE, 12)
    assert "all scores and labels are the same" in kappa.reason


def test_a_labelled_row_without_a_score_leaves_nothing_judged(judge_server, tmp_path):
    rows = [row("good", 1), row("so-so", 1)]
    found = run(judges(tmp_path, rows, url=judge_server.url(), gates=GATES))
    assert [check.verdict for check in found.gates] == [Verdict.INCONCLUSIVE] * 2
    (check,) = found.checks
    assert (check.failed, check.accuracy, check.kappa) == (1, None, None)
    assert "1 of 2 labelled rows have no quality, such as " in found.gates[0].reason
    assert "labels.jsonl:2: " in found.gates[0].reason
    assert "1 of 2 labelled rows" in next(found.notes)


@pytest.mark.parametrize(
    ("labels", "text", "gates", "message"),
    [
        ([row("good", "x")], "label: human", "", 'is "x", expected a number or one of good, bad'),
        ([row("good", None)], "label: human", "", "is null, expected a number"),
        ([{"human": 1}, {}], "label: human", "", "is null"),
        ([], "label: human", "", "no rows|empty|no labelled rows"),
        ([row("good", 1)], "label: human, score: fun", "", "gives no 'fun'; it gives: other, qual"),
        ([row("good", 1)], "label: human", 'judge_kappa/fun: ">= 1"', "judge_check: quality"),
        ([row("good", 1)], "label: human", 'judge_kappa: ">= 1"', "judge_check: quality"),
    ],
)
def test_labels_that_are_none(tmp_path, labels, text, gates, message):
    with pytest.raises(DataError, match=message):
        judges(tmp_path, labels, text, gates=gates).read_labels()


def test_each_judges_own_score_is_no_reward_unasked(tmp_path):
    path = tmp_path / "a.bench.yaml"
    path.write_text(
        """\
benchmark:
  name: a
  dataset: data.jsonl
  scorers:
    - type: llm-judge
      judges: [{url: "http://127.0.0.1:1/v1", name: a}, {url: "http://127.0.0.1:1/v1", name: b}]
      scores: [{name: quality}]
"""
    )
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    names = benchmark.spec.scorers[0].score_names
    assert names == ("quality", "quality@a", "quality@b")
    assert with_reward(benchmark, names).spec.reward == "quality"


def test_what_summaries_tell_of_rubrics_and_panels():
    columns = {
        "q": np.array([1.0, 0.0, 1.0, NAN, 0.0]),
        "q@a": np.array([1.0, 0.0, 1.0, NAN, 1.0]),
        "q@b": np.array([1.0, 0.0, 1.0, NAN, 0.0]),
    }
    labels = (("good", 1.0), ("bad", 0.0), ("never", 2.0))
    about = {"q": About(labels, ("q@a", "q@b"), "nominal"), "q@a": About(labels)}
    whole, one, other = summarise_all(tuple(columns), columns, about)
    assert [(r.label, r.count) for r in whole.rubric_distribution] == [
        ("good", 2),
        ("bad", 2),
        ("never", 0),
    ]
    assert whole.mode_category == "bad"  # of a tie the first by name
    assert whole.agreement is not None
    assert (whole.agreement.judges, whole.agreement.rows) == (2, 4)
    # by hand: units 11, 00, 11, 10: D_o = 1/4, D_e = 2 * 5 * 3 / (8 * 7)
    assert whole.agreement.alpha == pytest.approx(1 - (1 / 4) / (30 / 56))
    assert one.mode_category == "good"
    assert (one.agreement, other.rubric_distribution, other.mode_category) == (None, (), None)
    same = summarise_all(["q"], {"q": columns["q@b"], "q@a": np.ones(5), "q@b": np.ones(5)}, about)
    assert same[0].agreement is not None
    assert (same[0].agreement.alpha, same[0].agreement.reason) == (
        None,
        "all their scores are the same",
    )
