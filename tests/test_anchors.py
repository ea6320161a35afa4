"""Rows with people's labels tell whether the judge or the system moved."""

import json

import pytest
from evaluated import evaluated

BENCH = """\
benchmark:
  name: a
  dataset: {{path: data.jsonl, fields: {{task: id}}}}
  scorers:
    - type: llm-judge
      model: {{url: "{url}", name: judge}}
      scores: [{{name: quality, minimum: 0, maximum: 5}}]
  metrics: [mean_reward]
  baseline: {{max_drop: 0.1, direction: higher}}
  anchors: {{rows: anchors.jsonl, label: human}}
"""


def said(text, quality):
    return f'{text} [[say: {{"quality": {quality}}}]]'


class Judged:
    """A project whose answers a judge scores, beside anchors."""

    def __init__(self, project, judge):
        self.project = project
        self.judge = judge
        project.write("a.bench.yaml", BENCH.format(url=judge.url()))
        self.anchors([4, 3, 4, 2, 4, 3, 4, 1])
        self.answers("first", 4)

    def answers(self, version, quality):
        rows = [
            {"id": f"t{i}", "question": f"{i}?", "response": said(version, quality)}
            for i in range(20)
        ]
        self.project.rows("data.jsonl", rows)

    def anchors(self, labels):
        rows = [
            {
                "question": f"anchor {i}?",
                "response": said("That.", label),
                "human": label,
            }
            for i, label in enumerate(labels)
        ]
        self.project.rows("anchors.jsonl", rows)

    def be_harsher(self, by):
        self.judge.seen(f"?harsher={by}")

    def run(self, *args):
        return self.project.run("--evalmetrics-journal=journal.sqlite3", *args)

    def record(self):
        assert evaluated(self.project, updates=True).passed

    def evaluate(self):
        return evaluated(self.project)

    def check(self):
        return self.project.checks()["mean_reward"]

    @property
    def text(self):
        return json.dumps(self.project.report()["benchmarks"][0])


@pytest.fixture
def judged(project, judge_server):
    yield Judged(project, judge_server)
    judge_server.seen("?harsher=0")


def test_a_judge_that_moved_leaves_the_comparison_without_a_verdict(judged):
    judged.record()
    judged.be_harsher(1)
    judged.answers("second", 4)
    evaluation = judged.evaluate()
    assert not evaluation.passed
    assert judged.check()["verdict"] == "INCONCLUSIVE"
    evaluation.says("*the judge moved by -1 on 8 anchors*")


def test_a_judge_that_became_milder_hides_no_regression(judged):
    judged.record()
    judged.be_harsher(-1)
    judged.answers("second", 3)
    assert not judged.evaluate().passed
    assert judged.check()["verdict"] == "INCONCLUSIVE"
    assert "the judge moved by +1 on 8 anchors" in judged.text


def test_where_the_anchors_hold_the_system_fell(judged):
    judged.record()
    judged.answers("second", 3)
    evaluation = judged.evaluate()
    assert not evaluation.passed
    assert judged.check()["verdict"] == "FAIL"
    assert "it is the system: the judge moved by +0 on 8 anchors" in judged.text


def test_anchors_that_hold_leave_a_pass_as_it_is(judged):
    judged.record()
    judged.answers("second", 4)
    assert judged.evaluate().passed
    assert "the judge moved" not in judged.text


def test_anchors_are_asked_anew_where_anything_is_asked(judged, judge_server):
    judged.run("--snapshot-update")
    assert judge_server.posts == 20 + 8
    judged.run()
    assert judge_server.posts == 20 + 8
    judged.answers("second", 4)
    judged.run()
    assert judge_server.posts == 2 * (20 + 8)
    judged.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert judge_server.posts == 2 * (20 + 8)


def test_the_agreement_with_people_is_told(judged):
    judged.record()
    judged.be_harsher(1)
    judged.answers("second", 4)
    judged.evaluate()
    assert "it says what people say on 0 of 8, and did on 8" in judged.text


def test_the_judge_does_not_see_the_labels(judged, judge_server):
    judged.run()
    asked = [body["messages"][-1]["content"] for body in judge_server.bodies]
    assert sum("anchor" in text for text in asked) == 8
    assert not any("human" in text for text in asked)


def test_anchors_without_a_score_are_noted(judged):
    judged.anchors([4, 3, 4, 2, 9])
    judged.run()
    assert "1 of 5 anchors has no quality of its own" in judged.text


def test_a_baseline_without_anchors_says_so(judged):
    bench = judged.project.path / "a.bench.yaml"
    whole = bench.read_text()
    bench.write_text(whole.partition("  anchors:")[0])
    judged.run("--snapshot-update").assert_outcomes(passed=1)
    bench.write_text(whole)
    judged.run().assert_outcomes(passed=1)
    assert "keeps no scores of the anchors" in judged.text


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ("{rows: gone.jsonl}", "gone.jsonl"),
        ("{rows: anchors.jsonl, label: nobody}", "the label 'nobody' is null"),
        ("{rows: anchors.jsonl, label: human, score: tone}", "no judge gives"),
    ],
)
def test_what_anchors_need_is_checked_before_anything_is_paid(
    judged, judge_server, anchors, message
):
    text = BENCH.format(url=judge_server.url()).partition("  anchors:")[0]
    judged.project.write("a.bench.yaml", f"{text}  anchors: {anchors}\n")
    judged.run().assert_outcomes(failed=1)
    assert message in judged.text
    assert judge_server.posts == 0


def test_the_plan_counts_the_calls_for_anchors(judged):
    planned = judged.run("--evalmetrics-plan")
    planned.stdout.fnmatch_lines(["calls of a.bench.yaml::a: 28 calls*"])


def test_the_plan_counts_anchors_that_are_asked_anew(judged):
    judged.run("--snapshot-update").assert_outcomes(passed=1)
    planned = judged.run("--evalmetrics-plan")
    planned.stdout.fnmatch_lines(["calls of a.bench.yaml::a: 0 calls; 28 answered*"])
    judged.answers("second", 4)
    planned = judged.run("--evalmetrics-plan")
    planned.stdout.fnmatch_lines(["calls of a.bench.yaml::a: 28 calls*"])


def test_the_plan_counts_the_calls_of_a_judge_check(judged):
    text = judged.project.path.joinpath("a.bench.yaml").read_text()
    check = "      judge_check: {rows: anchors.jsonl, label: human}\n      scores:"
    text = text.replace("  anchors: {rows: anchors.jsonl, label: human}\n", "")
    judged.project.write("a.bench.yaml", text.replace("      scores:", check))
    planned = judged.run("--evalmetrics-plan")
    planned.stdout.fnmatch_lines(["calls of a.bench.yaml::a: 28 calls*"])
