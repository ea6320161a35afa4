"""Judges held against people's labels, and systems against a pinned one, without calls."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta
from stages.making import benchmark, load, write_rows

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.estimates import Interval
from pytest_evalmetrics.model.reasons import Undefined
from pytest_evalmetrics.model.results import AgentResult
from pytest_evalmetrics.model.rollout_notes import CorrectedMean, TooFewLabels
from pytest_evalmetrics.model.rollout_table import Row, content_hash
from pytest_evalmetrics.model.scores import (
    Disagreement,
    JudgeCheck,
    JudgeUse,
    RowFailure,
)
from pytest_evalmetrics.model.scoring_notes import JudgeAgainstPeople, UnscoredAnchors
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.judges import (
    Judges,
    LabelledRows,
    human_labels,
    pinned_benchmark,
    with_corrected_mean,
    with_reference,
)
from pytest_evalmetrics.scoring.chat.models import Spending
from pytest_evalmetrics.scoring.door import Tokens
from pytest_evalmetrics.scoring.scorers import About
from pytest_evalmetrics.spec.model_keys import PriceSpec

# -- the scores of a judge beside labels -----------------------------------------------------


def labelled(labels):
    rows = [
        (Row(at, "", f"t{at}", 0, {}, where=f"labels.jsonl:{at + 1}"), None)
        for at in range(len(labels))
    ]
    return LabelledRows(scorer=None, score="q", rows=rows, labels=np.array(labels))


def checked(scores, labels, failed=()):
    """Hold a judge's scores against labels."""
    board = SimpleNamespace(
        columns={"q": np.array(scores)},
        failed={row.index: {("q",): row} for row in failed},
    )
    return labelled(labels).check(board)


def test_agreement_is_the_share_of_equal_scores_and_cohens_kappa():
    # of five rows three agree; by chance (3 x 3 + 2 x 2) / 25 = .52 would
    check = checked([1.0, 1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 1.0])
    assert (check.score, check.rows, check.failed) == ("q", 5, 0)
    assert check.accuracy == pytest.approx(0.6)
    assert check.kappa == pytest.approx((0.6 - 0.52) / (1 - 0.52))
    assert check.reason == ""


def test_the_quadratic_kappa_forgives_a_near_miss():
    # by hand: seen distances 1; expected 1/9 of all pairs of (1, 2, 3) and (1, 2, 2)
    check = checked([1.0, 2.0, 3.0], [1.0, 2.0, 2.0])
    seen = 1 / 3
    expected = ((0 + 1 + 1) + (1 + 0 + 0) + (4 + 1 + 1)) / 9
    assert check.quadratic_kappa == pytest.approx(1 - seen / expected)


def test_rows_with_another_score_are_named_with_both():
    check = checked([1.0, 0.0, 1.0], [1.0, 1.0, 0.0])
    assert check.first == (
        Disagreement(row="labels.jsonl:2", judge=0.0, label=1.0),
        Disagreement(row="labels.jsonl:3", judge=1.0, label=0.0),
    )


def test_only_twenty_rows_with_another_score_are_named():
    check = checked([1.0] * 30, [0.0] * 25 + [1.0] * 5)
    assert len(check.first) == 20
    assert check.accuracy == pytest.approx(5 / 30)


def test_a_rounding_error_is_no_other_score():
    check = checked([0.1 + 0.2, 1.0], [0.3, 1.0])
    assert check.accuracy == 1.0
    assert check.first == ()


def test_a_thousandth_is_another_score():
    assert checked([0.301, 1.0], [0.3, 1.0]).accuracy == 0.5


def test_judges_and_people_who_say_one_thing_have_no_kappa():
    check = checked([1.0, 1.0], [1.0, 1.0])
    assert check.accuracy == 1.0
    assert check.kappa is None
    assert check.quadratic_kappa is None
    assert check.reason == "all scores and labels are the same"


def test_rows_without_a_score_are_counted_and_the_first_is_named():
    failed = [
        RowFailure(2, "labels.jsonl:3", "no-score", "it says nothing"),
        RowFailure(1, "labels.jsonl:2", "http-500", "the server failed"),
    ]
    check = checked([1.0, math.nan, math.nan], [1.0, 1.0, 0.0], failed)
    assert check == JudgeCheck(
        score="q",
        rows=3,
        failed=2,
        accuracy=None,
        kappa=None,
        quadratic_kappa=None,
        reason=(
            "2 of 3 labelled rows have no q, such as labels.jsonl:2: the server failed"
        ),
    )


# -- the judges of a benchmark ---------------------------------------------------------------

RUBRIC = (("good", 1.0), ("bad", 0.0))
PRICE = PriceSpec(input=1.0, output=2.0)
PLAIN = SimpleNamespace(type="exact-match", scores=("exact",), about={}, judges=())


def asked(prompt=""):
    """Make a judge that answered once, on the second attempt."""
    spending = Spending()
    spending.add(2, 0.5, Tokens(prompt=10, completion=5, total=15))
    model = SimpleNamespace(name="j", spending=spending, price=PRICE)
    return SimpleNamespace(versions={"rubric": "7"}, prompt=prompt, model=model)


JUDGE = SimpleNamespace(
    type="llm-judge",
    scores=("q", "tone"),
    about={"q": About(RUBRIC)},
    judges=(asked(),),
)
CHECK = "judge_check: {rows: labels.jsonl, label: human}"


def judged_benchmark(folder, *, check=CHECK, keys="", thresholds=""):
    """Read a benchmark of one scorer that matches and one that judges."""
    text = f"""\
benchmark:
  name: a
  dataset: data.jsonl
  scorers:
    - {{type: exact-match, reference: "{{{{ say }}}}", candidate: "{{{{ say }}}}"}}
    - type: llm-judge
      model: {{url: "http://127.0.0.1:1/v1", name: j}}
      prompt_template: "{{{{ say }}}}"
      scores:
        - {{name: q, rubric: [{{label: good, value: 1}}, {{label: bad, value: 0}}]}}
        - {{name: tone}}
      {check}
  reward: q
  thresholds: {{{thresholds}}}
  {keys}
"""
    path = folder / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (read,) = load_benchmarks(path, shown="a.bench.yaml")
    return read


def judges_of(folder, labels, *, name="labels.jsonl", **keys):
    lines = [json.dumps(row) + "\n" for row in labels]
    (folder / name).write_text("".join(lines), encoding="utf-8")
    return Judges(judged_benchmark(folder, **keys), [PLAIN, JUDGE])


def scored_as(values):
    """Score any rows so, in their order."""

    def score(rows, scorers):
        assert scorers == [JUDGE]
        assert len(rows) == len(values)
        columns = dict.fromkeys(("q", "tone"), np.array(values))
        return SimpleNamespace(columns=columns, failed={})

    return score


LABELS = [
    {"say": "a", "human": "good"},
    {"say": "b", "human": "bad"},
    {"say": "c", "human": 1},
    {"say": "d", "human": False},
]


def test_labels_are_numbers_or_words_of_the_rubric(tmp_path):
    judges = judges_of(tmp_path, LABELS)
    judges.read_labels()
    (rows,) = judges.labelled
    assert rows.labels.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert rows.score == "q"
    assert rows.scorer is JUDGE


def test_a_judge_does_not_see_what_people_say(tmp_path):
    judges = judges_of(tmp_path, LABELS)
    judges.read_labels()
    rows = [row for row, _ in judges.labelled[0].rows]
    assert rows[1] == Row(
        index=1,
        agent="",
        task=1,
        sample=0,
        item={"say": "b"},
        sample_data={"say": "b"},
        where="labels.jsonl:2",
    )
    assert [row.index for row in rows] == [0, 1, 2, 3]


def test_the_words_of_a_panel_are_those_of_each_judge(tmp_path):
    about = {"q": About((), ("q@a", "q@b")), "q@a": About(RUBRIC)}
    panel = SimpleNamespace(
        type="llm-judge", scores=("q",), about=about, judges=("a", "b")
    )
    (tmp_path / "labels.jsonl").write_text(json.dumps(LABELS[0]))
    judges = Judges(judged_benchmark(tmp_path), [PLAIN, panel])
    judges.read_labels()
    assert judges.labelled[0].labels.tolist() == [1.0]


@pytest.mark.parametrize(
    ("labels", "check", "message", "where"),
    [
        (
            [*LABELS, {"human": "so-so"}],
            CHECK,
            "the label 'human' is \"so-so\", expected a number or one of good, bad",
            "labels.jsonl:5",
        ),
        (
            [{"say": "a"}],
            CHECK,
            "the label 'human' is null, expected a number or one of good, bad",
            "labels.jsonl:1",
        ),
        (
            [{"human": "good"}],
            "judge_check: {rows: labels.jsonl, label: human, score: tone}",
            "the label 'human' is \"good\", expected a number",
            "labels.jsonl:1",
        ),
    ],
    ids=["another word", "no label", "a score without a rubric"],
)
def test_a_label_that_says_nothing_is_refused_with_its_row(
    tmp_path, labels, check, message, where
):
    judges = judges_of(tmp_path, labels, check=check)
    with pytest.raises(DataError) as refused:
        judges.read_labels()
    assert refused.value.message == f"judge_check: {message}"
    assert refused.value.file == where


def test_labels_of_a_score_that_the_judge_does_not_give_are_refused(tmp_path):
    check = "judge_check: {rows: labels.jsonl, label: human, score: tome}"
    judges = judges_of(tmp_path, LABELS, check=check)
    with pytest.raises(DataError) as refused:
        judges.read_labels()
    assert refused.value.message == (
        "judge_check: the scorer gives no 'tome'; did you mean 'tone'? it gives: q, tone"
    )
    assert refused.value.line == 12


GATE = "judge_accuracy/q: '>= 0.5'"


def test_a_threshold_on_a_judge_without_labels_is_refused(tmp_path):
    judges = judges_of(tmp_path, LABELS, check="", thresholds=GATE)
    with pytest.raises(DataError) as refused:
        judges.read_labels()
    assert refused.value.message == (
        "judge_accuracy/q: there are no labels to check a judge against; scores with "
        "a judge_check: none"
    )
    assert refused.value.line == 14
    assert refused.value.hint == (
        "write judge_check: {rows: labels.jsonl, label: human} under the scorer"
    )


def test_thresholds_on_judges_are_no_metrics_of_the_benchmark(tmp_path):
    thresholds = f"{GATE}, mean_reward: '>= 0.1'"
    judges = judges_of(tmp_path, LABELS, thresholds=thresholds)
    assert list(judges.benchmark.spec.thresholds) == ["mean_reward"]


def test_a_judge_is_checked_on_its_labelled_rows(tmp_path):
    judges = judges_of(tmp_path, LABELS)
    judges.read_labels()
    outcome = judges.check(scored_as([1.0, 0.0, 0.0, 0.0]))
    (check,) = outcome.judge_checks
    assert check.accuracy == 0.75
    assert check.kappa == pytest.approx(0.5)
    assert outcome.notes == (
        JudgeAgainstPeople(score="q", agreed=3, rows=4, kappa=check.kappa),
    )
    assert outcome.checks == ()


def test_the_accuracy_of_a_judge_has_an_exact_interval(tmp_path):
    judges = judges_of(tmp_path, LABELS, thresholds=GATE)
    judges.read_labels()
    (check,) = judges.check(scored_as([1.0, 0.0, 0.0, 0.0])).checks
    estimate = check.estimate
    assert check.gate is Gate.THRESHOLD
    assert check.name == "judge_accuracy/q"
    assert check.line == 14
    assert (estimate.value, estimate.tasks, estimate.rollouts) == (0.75, 4, 4)
    # Clopper and Pearson 1934, of three in four
    assert estimate.interval.low == pytest.approx(beta.ppf(0.025, 3, 2))
    assert estimate.interval.high == pytest.approx(beta.ppf(0.975, 4, 1))
    assert estimate.interval.level == 0.95
    assert estimate.interval.method == "clopper-pearson"
    assert estimate.reason == ""


def test_a_kappa_below_its_threshold_fails_without_an_interval(tmp_path):
    judges = judges_of(tmp_path, LABELS, thresholds="judge_kappa/q: '>= 0.6'")
    judges.read_labels()
    (check,) = judges.check(scored_as([1.0, 0.0, 0.0, 0.0])).checks
    assert check.verdict is Verdict.FAIL
    assert check.estimate.value == pytest.approx(0.5)
    assert check.estimate.interval is None
    assert check.estimate.reason == "none is computed for kappa"


def test_a_kappa_that_is_undefined_is_not_judged(tmp_path):
    judges = judges_of(tmp_path, LABELS[:1], thresholds="judge_kappa/q: '>= 0.6'")
    judges.read_labels()
    outcome = judges.check(scored_as([1.0]))
    (check,) = outcome.checks
    assert check.verdict is Verdict.INCONCLUSIVE
    words = "all scores and labels are the same"
    assert check.reasons == (Undefined(metric="judge_kappa/q", words=words),)


def test_a_note_on_rows_without_a_score_has_no_count_of_agreement(tmp_path):
    judges = judges_of(tmp_path, LABELS[:1])
    judges.read_labels()
    failure = RowFailure(0, "labels.jsonl:1", "no-score", "silence")
    board = SimpleNamespace(columns={}, failed={0: {("q",): failure}})
    outcome = judges.check(lambda *_: board)
    words = "1 of 1 labelled rows have no q, such as labels.jsonl:1: silence"
    assert outcome.notes == (
        JudgeAgainstPeople(score="q", agreed=None, rows=1, kappa=None, words=words),
    )


def test_each_judge_is_listed_with_its_calls_and_the_versions_of_its_prompts(tmp_path):
    scorer = SimpleNamespace(**{**vars(JUDGE), "judges": (asked(prompt="abc"),)})
    judges = Judges(judged_benchmark(tmp_path, check=""), [PLAIN, scorer])
    (use,) = judges.check(scored_as([])).uses
    assert use == JudgeUse(
        scorer="llm-judge",
        scores=("q", "tone"),
        model="j",
        versions={"rubric": "7", "prompt": "abc"},
        calls=1,
        requests=2,
        prompt_tokens=10,
        completion_tokens=5,
        total_tokens=15,
        without_tokens=0,
        cost=pytest.approx(20e-6),
        latency_s={"mean": 0.5, "p50": 0.5, "p95": 0.5, "max": 0.5},
    )


def test_a_judge_without_a_prompt_has_no_version_of_one(tmp_path):
    judges = Judges(judged_benchmark(tmp_path, check=""), [PLAIN, JUDGE])
    (use,) = judges.check(scored_as([])).uses
    assert use.versions == {"rubric": "7"}


# -- anchors ---------------------------------------------------------------------------------


def anchored(folder, labels, keys="anchors: anchors.jsonl"):
    judges = judges_of(folder, labels, name="anchors.jsonl", check="", keys=keys)
    judges.read_labels()
    return judges


ANCHORS = [{"say": "a", "label": "good"}, {"say": "b", "label": 0}]


def test_anchors_are_scored_by_the_judge_of_the_reward(tmp_path):
    judges = anchored(tmp_path, ANCHORS)
    scores = judges.anchor_scores(scored_as([0.5, 0.25]))
    assert scores.score == "q"
    assert scores.rows == {
        content_hash({"say": "a"}): (0.5, 1.0),
        content_hash({"say": "b"}): (0.25, 0.0),
    }
    assert list(judges.anchor_notes(scores)) == []


def test_anchors_may_be_of_another_score(tmp_path):
    labels = [{"say": "a", "kind": 3}]
    keys = "anchors: {rows: anchors.jsonl, label: kind, score: tone}"
    judges = anchored(tmp_path, labels, keys)
    assert judges.anchor_scores(scored_as([2.0])).score == "tone"
    assert judges.anchors.labels.tolist() == [3.0]


def test_anchors_without_a_score_are_left_out_and_noted(tmp_path):
    judges = anchored(tmp_path, ANCHORS)
    scores = judges.anchor_scores(scored_as([math.nan, 0.25]))
    assert list(scores.rows.values()) == [(0.25, 0.0)]
    assert list(judges.anchor_notes(scores)) == [
        UnscoredAnchors(score="q", lost=1, anchors=2)
    ]


def test_a_benchmark_without_anchors_has_no_scores_of_them(tmp_path):
    judges = anchored(tmp_path, ANCHORS, keys="")
    assert judges.anchor_scores(scored_as([])) is None
    assert list(judges.anchor_notes(None)) == []


def test_anchors_of_a_score_that_no_judge_gives_are_refused(tmp_path):
    keys = "anchors: {rows: anchors.jsonl, score: exact}"
    with pytest.raises(DataError) as refused:
        anchored(tmp_path, ANCHORS, keys)
    assert refused.value.message == (
        "anchors: no judge gives the score 'exact'; scores of judges: q, tone"
    )
    assert refused.value.line == 15


def test_anchors_without_any_rows_are_refused(tmp_path):
    (tmp_path / "none.json").write_text("[]")
    with pytest.raises(DataError) as refused:
        anchored(tmp_path, [], "anchors: none.json")
    assert refused.value.message == "anchors: there are no labelled rows"
    assert refused.value.line == 15


# -- the mean that labels correct ------------------------------------------------------------


def with_labels(folder, labelled, tasks=40, keys="labels: human", **settings):
    """Correct the mean of a judge that passes all; people fail the odd tasks."""
    human = [float(task % 2 == 0) if task < labelled else None for task in range(tasks)]
    write_rows(folder, "new.jsonl", [[1.0]] * tasks, human=human, **settings)
    _, loaded = load(benchmark(folder, f"{keys}\nmetrics: [mean_reward]"))
    return loaded


RESULT = AgentResult(
    agent="agent", tasks=40, rollouts=40, missing=0, estimates={}, key_metrics={}
)


def corrected(loaded, shown=""):
    spec = loaded.benchmark.spec
    labels = human_labels(loaded.benchmark, spec.labels)
    after, note = with_corrected_mean(RESULT, loaded.table, spec, labels, shown=shown)
    return after.estimates["ppi/mean_reward"], note


def test_labels_are_read_by_agent_task_and_sample(tmp_path):
    loaded = with_labels(tmp_path, 3)
    labels = human_labels(loaded.benchmark, loaded.benchmark.spec.labels)
    assert labels == {
        ("agent", "t0", 0): 1.0,
        ("agent", "t1", 0): 0.0,
        ("agent", "t2", 0): 1.0,
    }


def test_labels_without_a_number_are_refused(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1.0]], human=[None])
    unlabelled = benchmark(tmp_path, "labels: human")
    with pytest.raises(DataError) as refused:
        human_labels(unlabelled, unlabelled.spec.labels)
    assert refused.value.message == "labels: no row has a number under 'human'"
    assert refused.value.line == 4


def test_a_mean_is_corrected_to_what_people_say(tmp_path):
    estimate, note = corrected(with_labels(tmp_path, 40), shown="kind")
    assert estimate.value == pytest.approx(0.5)
    assert (estimate.tasks, estimate.rollouts) == (40, 40)
    assert estimate.score == "reward"
    assert estimate.reason == ""
    low = estimate.interval.low
    high = estimate.interval.high
    assert estimate.interval == Interval(low, high, 0.95, "post-stratified")
    assert 0.3 < low < 0.4
    assert 0.6 < high < 0.7
    assert note == CorrectedMean(
        metric="ppi/mean_reward",
        value=estimate.value,
        low=low,
        high=high,
        level=0.95,
        judged=1.0,
        labelled=40,
        agent="kind",
    )


def test_thirty_labelled_tasks_are_enough(tmp_path):
    estimate, note = corrected(with_labels(tmp_path, 30))
    assert estimate.value == pytest.approx(0.5)
    assert note.labelled == 30


def test_twenty_nine_labelled_tasks_are_too_few(tmp_path):
    estimate, note = corrected(with_labels(tmp_path, 29), shown="agent")
    assert math.isnan(estimate.value)
    assert estimate.interval is None
    assert estimate.reason == "29 labelled tasks are too few: 30 are needed"
    assert note == TooFewLabels("ppi/mean_reward", 29, 30, agent="agent")


def test_the_interval_has_the_level_of_the_threshold(tmp_path):
    keys = (
        "labels: human\n"
        "thresholds: {ppi/mean_reward: {min: 0.1, bound: lower, confidence: 90%}}"
    )
    estimate, note = corrected(with_labels(tmp_path, 40, keys=keys))
    assert estimate.interval.level == 0.8
    assert note.level == 0.8
    assert estimate.interval.low == pytest.approx(0.388, abs=1e-3)


def test_labels_of_one_nameless_system_are_those_of_any_agent(tmp_path):
    loaded = with_labels(tmp_path, 40)
    spec = loaded.benchmark.spec
    labels = human_labels(loaded.benchmark, spec.labels)
    renamed = {("", task, sample): value for (_, task, sample), value in labels.items()}
    after, _ = with_corrected_mean(RESULT, loaded.table, spec, renamed, shown="")
    assert after.estimates["ppi/mean_reward"].value == pytest.approx(0.5)


def test_labels_of_two_other_agents_say_nothing(tmp_path):
    loaded = with_labels(tmp_path, 40)
    spec = loaded.benchmark.spec
    labels = {(name, f"t{t}", 0): 1.0 for name in ("x", "y") for t in range(40)}
    after, note = with_corrected_mean(RESULT, loaded.table, spec, labels, shown="")
    assert math.isnan(after.estimates["ppi/mean_reward"].value)
    assert note.labelled == 0


def test_clusters_count_as_the_labelled_units(tmp_path):
    topic = [f"c{task % 10}" for task in range(40)]
    keys = "labels: human\ncluster: topic"
    loaded = with_labels(tmp_path, 40, keys=keys, topic=topic)
    estimate, note = corrected(loaded)
    assert note == TooFewLabels("ppi/mean_reward", 10, 30, agent="")
    assert estimate.tasks == 40


def test_rollouts_without_a_reward_are_left_out_of_a_corrected_mean(tmp_path):
    human = [float(task % 2 == 0) for task in range(40)]
    rewards = [[1.0]] * 36 + [[None]] * 4
    write_rows(tmp_path, "new.jsonl", rewards, human=human)
    keys = "labels: human\nexpect: {max_missing: 10%, missing_reward: exclude}"
    _, loaded = load(benchmark(tmp_path, f"{keys}\nmetrics: [mean_reward]"))
    estimate, note = corrected(loaded)
    assert estimate.rollouts == 36
    assert note.labelled == 36


def test_labels_may_be_in_a_file_of_their_own(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1.0]] * 40)
    human = [float(task % 2 == 0) for task in range(40)]
    write_rows(tmp_path, "labels.jsonl", [[0.0]] * 40, human=human)
    fields = "{task: task, sample: sample, agent: agent}"
    rows = f"{{path: labels.jsonl, fields: {fields}}}"
    keys = f"labels: {{rows: {rows}, label: human}}\nmetrics: [mean_reward]"
    _, loaded = load(benchmark(tmp_path, keys))
    estimate, _ = corrected(loaded)
    assert estimate.value == pytest.approx(0.5)


# -- a pinned reference ----------------------------------------------------------------------


def with_pinned(folder, pinned, rewards=((1.0, 0.0), (0.5, 0.5)), agent="agent"):
    """Add the reference's rewards to a run of two tasks."""
    write_rows(folder, "new.jsonl", rewards)
    write_rows(folder, "pinned.jsonl", pinned, agent=agent)
    keys = "reference: {rollouts: pinned.jsonl}\nmetrics: [mean_reward/over_reference]"
    asked = benchmark(folder, keys)
    _, loaded = load(benchmark(folder, "metrics: [mean_reward]"))
    return asked, loaded.table


def test_a_rollout_has_the_mean_of_the_reference_and_what_it_is_above(tmp_path):
    asked, table = with_pinned(tmp_path, [[0.2, 0.6], [1.0, 0.5]])
    after = with_reference(asked, table, asked.spec.reference, None)
    assert after.scores["reference"] == pytest.approx([0.4, 0.4, 0.75, 0.75])
    assert after.scores["over_reference"] == pytest.approx([0.6, -0.4, -0.25, -0.25])
    assert after.scores["reward"].tolist() == [1.0, 0.0, 0.5, 0.5]


def test_each_agent_is_held_against_the_reference(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1.0]], agent="other")
    asked, table = with_pinned(tmp_path, [[0.25], [0.75]])
    after = with_reference(asked, table, asked.spec.reference, None)
    assert sorted(after.scores["over_reference"].tolist()) == [
        -0.25,
        -0.25,
        -0.25,
        0.75,
        0.75,
    ]


def test_tasks_that_the_reference_lacks_are_named(tmp_path):
    asked, table = with_pinned(tmp_path, [[0.2]])
    with pytest.raises(DataError) as refused:
        with_reference(asked, table, asked.spec.reference, None)
    assert refused.value.message == "1 of 2 tasks has no reward of the reference: t1"
    assert refused.value.hint == "measure the reference on the tasks of this run"
    assert refused.value.line == 4


def test_a_reference_of_two_systems_is_refused(tmp_path):
    write_rows(tmp_path, "pinned.jsonl", [[0.5], [0.5]], agent="other")
    asked, table = with_pinned(tmp_path, [[0.2], [0.3]])
    with pytest.raises(DataError) as refused:
        with_reference(asked, table, asked.spec.reference, None)
    assert refused.value.message == (
        "the reference has to be one system, and holds other, agent"
    )
    assert refused.value.line == 4


def test_a_reference_without_the_reward_is_refused(tmp_path):
    asked, table = with_pinned(tmp_path, [[0.2], [0.3]])
    bare = table.__replace__(scores={})
    with pytest.raises(DataError) as refused:
        with_reference(asked, bare, asked.spec.reference, None)
    assert refused.value.message == "a reference is compared by the reward 'reward'"
    assert refused.value.line == 4


def test_a_reference_that_was_asked_in_this_run_needs_no_file(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1.0, 0.0], [0.5, 0.5]])
    _, loaded = load(benchmark(tmp_path, "metrics: [mean_reward]"))
    scored = loaded.table
    reference = SimpleNamespace(rollouts=None)
    after = with_reference(loaded.benchmark, loaded.table, reference, scored)
    assert after.scores["over_reference"].tolist() == [0.5, -0.5, 0.0, 0.0]


def test_a_benchmark_without_a_reference_model_has_none_to_ask(tmp_path):
    asked, _ = with_pinned(tmp_path, [[0.2], [0.3]])
    assert pinned_benchmark(asked) is None
    assert pinned_benchmark(benchmark(tmp_path, "metrics: [mean_reward]")) is None
