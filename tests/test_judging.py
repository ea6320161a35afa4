"""Judged benchmarks, run by a real pytest against a real judge process."""

import json

import pytest
from conftest import Project


class Judged(Project):
    """A project with one benchmark whose rows say what the judge is to answer."""

    def __init__(self, pytester, server):
        super().__init__(pytester)
        self.server = server
        self.qualities(1, 2, 3, 4)

    def qualities(self, *qualities):
        answers = [
            {"quality": q, "reasoning": f"so {n}"} for n, q in enumerate(qualities)
        ]
        rows = [{"n": n, "say": json.dumps(answer)} for n, answer in enumerate(answers)]
        self.rows("data.jsonl", rows)

    def bench(self, scorer="", text="", query="", **model):
        model = self.server.entry(query, **model)
        self.write(
            "a.bench.yaml",
            "benchmark:\n  name: judged\n  dataset: data.jsonl\n  metrics: mean_reward\n"
            "  expect: {tasks: 4}\n  scorers:\n    - type: llm-judge\n"
            f"      model: {json.dumps(model)}\n"
            '      prompt_template: "Rate {{ n }}. [[say: {{ say }}]]"\n'
            "      scores: [{name: quality, minimum: 1, maximum: 5}]\n"
            + "".join(f"      {line}\n" for line in scorer.splitlines())
            + "".join(f"  {line}\n" for line in text.splitlines()),
        )

    def entry(self):
        (entry,) = self.report()["benchmarks"]
        return entry

    def artifacts(self):
        folder = self.path / "evalmetrics"
        return [
            (folder / name).read_bytes() for name in ("report.json", "row_scores.jsonl")
        ]


@pytest.fixture
def judged(pytester, judge_server):
    return Judged(pytester, judge_server)


PRICE = {"input": 2, "output": 10}
# eight answers, 100 tokens in and ten out each
COST = (8 * 100 * 2 + 8 * 10 * 10) / 1e6
REASONS = ["so 0", "so 1", "so 2", "so 3"]
FIRST_REFUSES_A_SCHEMA = "bad=first&takes=json_object"


@pytest.fixture
def used(judged):
    """A judged project in its second run; the first asked for two of its four rows."""
    judged.bench("", "params: {limit_samples: 2}", FIRST_REFUSES_A_SCHEMA, price=PRICE)
    judged.run()
    judged.bench(query=FIRST_REFUSES_A_SCHEMA, price=PRICE)
    result = judged.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [f"*judges: judge: 8 answers, 880 tokens, cost {COST:.4g}, 95 % within * s"]
    )
    return judged


def test_the_use_of_a_judge_covers_what_earlier_runs_asked(used):
    (use,) = used.entry()["judges"]
    assert (use["calls"], use["requests"], use["total_tokens"]) == (8, 8, 880)
    assert use["cost"] == pytest.approx(COST)
    assert set(use["latency_s"]) == {"mean", "p50", "p95", "max"}
    assert list(use["versions"]) == ["prompt"]
    # eight, and one in each run to find out which form it takes
    assert used.server.posts == 10


def test_a_replay_reports_the_same_use_of_a_judge(used):
    report, row_scores = used.artifacts()
    lines = row_scores.decode().splitlines()
    reasons = [reason for line in lines for reason in REASONS if reason in line]
    assert reasons == REASONS
    used.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert used.artifacts() == [report, row_scores]
    assert used.server.posts == 10


def test_unusable_answers_are_failed_rows_and_cost_no_more_than_they_may(judged):
    judged.qualities(1, 9, 3, 4)
    judged.bench(text="params: {max_retries: 1}")
    result = judged.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*out-of-range*quality is 9, expected at least 1 and at most 5*"]
    )
    assert judged.server.posts == 5
    judged.run()
    assert judged.server.posts == 6  # only what was refused is asked again


def test_a_judge_is_asked_again_and_agrees_with_itself(judged):
    judged.bench()
    judged.run().assert_outcomes(passed=1)
    judged.bench("judge_repeats: 3", "thresholds: {mean/quality@2: '>= 1'}")
    judged.run().assert_outcomes(passed=1)
    # the first answers are those of the journal
    assert judged.server.posts == 4 * 3
    (agent,) = judged.entry()["agents"]
    scores = {score["name"]: score for score in agent["scores"]}
    assert list(scores) == ["quality", "quality@1", "quality@2", "quality@3"]
    agreement = scores["quality"]["agreement"]
    assert (agreement["alpha"], agreement["judges"], agreement["rows"]) == (1.0, 3, 4)
    assert agent["key_metrics"]["mean_reward"] == 2.5


def test_a_replay_gives_a_repeated_judge_the_same_scores(judged):
    judged.bench("judge_repeats: 3")
    judged.run()
    _, row_scores = judged.artifacts()
    judged.run("--evalmetrics-replay").assert_outcomes(passed=1)
    assert judged.artifacts()[1] == row_scores


def test_a_judge_that_does_not_agree_with_itself_is_noted(judged):
    judged.bench("judge_repeats: 3", "params: {parallelism: 1}", query="drifts=yes")
    judged.run().assert_outcomes(passed=1)
    entry = judged.entry()
    assert entry["agents"][0]["scores"][0]["agreement"]["alpha"] < 0.5
    notes = "\n".join(entry["notes"])
    assert "quality: the judge agrees with itself" in notes


def test_several_judges_are_not_asked_again(judged):
    two = "[{url: 'http://a', name: a}, {url: 'http://b', name: b}]"
    judged.bench(f"judge_repeats: 3\njudges: {two}")
    judged.run().stdout.fnmatch_lines(
        ["*judges are several models, judge_repeats asks one*"]
    )
