"""Benchmarks whose rows are answered and scored in the run: what each stage makes of them."""

import sys

import pytest
from scoring.generation.running import rows, run

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError
from pytest_evalmetrics.ext import Terms
from pytest_evalmetrics.model.reasons import BudgetUsedUp
from pytest_evalmetrics.model.scoring_notes import (
    ConstantRequest,
    CutAnswers,
    FailedRequestsLeftOut,
    UnscoredRows,
)
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.measurement import measurement_of, under_test_of
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.scoring.scorer_types import offer_scorers
from pytest_evalmetrics.scoring.scorers import make_scorers

offer_scorers()
AGENT = """\
def adds(row):
    if row.get("fails"):
        raise ValueError("no tool")
    return {
        "output": str(row["q"] + 1),
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        "finish_reason": "length" if row["q"] == 1 else "stop",
    }
"""
ANSWERED = """\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: 2
  target: {function: agent_of_a_test:adds, version: "1"}
  scorers: [{type: exact-match, reference: "{{ a }}"}]
  metrics: [mean_reward, mean/output_tokens]
"""
RECORDED = """\
benchmark:
  name: a
  rollouts: {path: data.jsonl, fields: {task: q}}
  scorers: [{type: exact-match, reference: "{{ a }}"}]
  metrics: [mean_reward]
"""
SUMS = [{"q": q, "a": str(q + 1)} for q in range(4)]
WITH_A_FAULT = [*SUMS[:3], {"q": 3, "a": "4", "fails": True}]


@pytest.fixture
def evaluated(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "agent_of_a_test.py").write_text(AGENT, encoding="utf-8")

    def evaluate(text, data, **settings):
        rows(tmp_path / "data.jsonl", data)
        return run(tmp_path, text, **settings)[0]

    yield evaluate
    sys.modules.pop("agent_of_a_test", None)


def values(evaluation):
    (agent,) = evaluation.result.agents
    return {name: estimate.value for name, estimate in agent.estimates.items()}


def notes(evaluation, kind):
    return [note for note in evaluation.result.notes if isinstance(note, kind)]


def check(evaluation, name):
    (found,) = [one for one in evaluation.result.checks if one.name == name]
    return found


# -- answers and scores ----------------------------------------------------------------------


def test_each_row_is_answered_and_scored_as_often_as_the_file_says(evaluated):
    evaluation = evaluated(ANSWERED, SUMS)
    (agent,) = evaluation.result.agents
    assert (agent.tasks, agent.rollouts, agent.missing) == (4, 8, 0)
    assert values(evaluation)["mean_reward"] == 1.0


def test_what_answers_took_is_measured(evaluated):
    measured = values(evaluated(ANSWERED, SUMS))
    assert measured["mean/output_tokens"] == 2.0
    assert measured["mean/total_tokens"] == 5.0
    assert measured["mean/truncated"] == 0.25


def test_a_number_that_no_answer_gives_is_no_metric(evaluated):
    assert "mean/cost" not in values(evaluated(ANSWERED, SUMS))


def test_answers_that_were_cut_off_are_noted(evaluated):
    assert notes(evaluated(ANSWERED, SUMS), CutAnswers) == [CutAnswers(2, 8)]


def test_answers_that_fail_are_counted_by_what_failed(evaluated):
    (failed,) = evaluated(ANSWERED, WITH_A_FAULT).result.failed_rows
    assert (failed.scorer, failed.scores) == ("target", ("output_text",))
    assert (failed.count, failed.rows) == (2, 8)
    assert failed.kinds == {"raised-ValueError": 2}


def test_an_answer_that_fails_is_shown_with_its_row_and_its_reason(evaluated):
    (failed,) = evaluated(ANSWERED, WITH_A_FAULT).result.failed_rows
    first = failed.first[0]
    assert first.row == "data.jsonl:4"
    assert first.reason == "the target raised ValueError: no tool"
    assert failed.examples == {"raised-ValueError": first}


def test_a_run_with_an_answer_that_fails_leaves_no_baseline(evaluated):
    evaluation = evaluated(ANSWERED, WITH_A_FAULT)
    assert check(evaluation, "missing").verdict is Verdict.FAIL
    assert evaluation.baseline is None


def test_rows_without_an_answer_are_noted_by_their_kind(evaluated):
    (note,) = notes(evaluated(ANSWERED, WITH_A_FAULT), UnscoredRows)
    assert (note.kind, note.count, note.rows) == ("raised-ValueError", 2, 8)
    assert not note.of_baseline


def test_failed_requests_may_be_left_out(evaluated):
    text = f"{ANSWERED}  params: {{ignore_request_failure: true}}\n"
    evaluation = evaluated(text, WITH_A_FAULT)
    assert evaluation.result.verdict is Verdict.PASS
    assert notes(evaluation, FailedRequestsLeftOut) == [
        FailedRequestsLeftOut(failed=2, rollouts=8, lost_tasks=1, tasks=4)
    ]
    assert evaluation.result.agents[0].rollouts == 6


def test_a_run_of_failed_requests_alone_leaves_nothing_out(evaluated):
    text = f"{ANSWERED}  params: {{ignore_request_failure: true}}\n"
    evaluation = evaluated(text, [{**row, "fails": True} for row in SUMS])
    assert notes(evaluation, FailedRequestsLeftOut) == []
    assert evaluation.result.verdict.fails


def test_a_budget_of_requests_stops_a_run_that_is_not_judged(evaluated):
    text = f"{ANSWERED}  params: {{parallelism: 1}}\n  budget: {{requests: 3}}\n"
    evaluation = evaluated(text, SUMS)
    budget = check(evaluation, "budget")
    assert (budget.verdict, budget.value, budget.line) == (Verdict.INCONCLUSIVE, 3, 9)
    (reason,) = budget.reasons
    assert isinstance(reason, BudgetUsedUp)
    assert (reason.left, reason.of) == (5, 8)
    assert reason.words == "the budget of 3 requests was used up"
    assert evaluation.baseline is None


def test_recorded_responses_are_scored(evaluated):
    data = [{**row, "response": "1"} for row in SUMS]
    assert values(evaluated(RECORDED, data))["mean_reward"] == 0.25


def test_a_recorded_row_that_can_not_be_scored_is_a_failed_row(evaluated):
    data = [{**row, "response": row["a"]} for row in SUMS]
    del data[2]["response"]
    evaluation = evaluated(RECORDED, data)
    (failed,) = evaluation.result.failed_rows
    assert (failed.scorer, failed.kinds) == ("exact-match", {"no-response": 1})
    assert failed.first[0].row == "data.jsonl:3"
    assert values(evaluation)["mean_reward"] == 1.0


# -- before anything is paid -----------------------------------------------------------------


def problem(evaluation):
    """Return the line and the words of what stopped a benchmark before it began."""
    (data,) = evaluation.result.checks
    assert (data.gate, data.verdict) == (Gate.DATA, Verdict.INCONCLUSIVE)
    return data.line, reason_of(data)


def test_a_template_that_no_row_can_fill_in_is_refused(evaluated):
    line, words = problem(evaluated(ANSWERED.replace("{{ a }}", "{{ b }}"), SUMS))
    assert line == 6
    assert words.startswith(
        "benchmark.scorers[0].reference: no row can fill in this template: '{{ b }}'"
    )


def test_a_template_that_some_rows_can_not_fill_in_is_refused(evaluated):
    _, words = problem(evaluated(ANSWERED, [*SUMS[:3], {"q": 3}]))
    assert "1 of 4 rows can't fill in this template" in words
    assert "expect: {max_missing: 2%}" in words


@pytest.mark.parametrize(
    "expect", ["{missing_reward: exclude, max_missing: 25%}", "{missing_reward: 0.0}"]
)
def test_rows_that_may_be_missing_need_no_template(evaluated, expect):
    text = f"{ANSWERED}  expect: {expect}\n"
    evaluation = evaluated(text, [*SUMS[:3], {"q": 3}])
    assert evaluation.result.agents[0].rollouts == 8


MODEL = """\
benchmark:
  name: a
  dataset: data.jsonl
  model: {{url: "http://localhost:9/v1", name: m, inference: {{temperature: 0.5}}}}
  prompt_template: "{prompt}"
  params: {{inference: {{seed: 1, temperature: 0}}, system_prompt: Be brief}}
  scorers:
  - {{type: exact-match, reference: "{{{{ a }}}}"}}
  metrics: [mean_reward]
"""


def test_a_column_in_single_braces_is_refused(evaluated):
    line, words = problem(evaluated(MODEL.format(prompt="{ q }"), SUMS))
    assert line == 5
    assert words == (
        "benchmark.prompt_template: { q } is sent as it is written: a column is {{ q }}"
    )


CONSTANT = """\
  - type: llm-judge
    model: {url: "http://localhost:9/v1", name: j}
    prompt_template: "Rate it"
    scores: [{name: s}]
"""


def test_what_is_under_test_is_described_without_keys(tmp_path):
    made = benchmark(tmp_path, MODEL.format(prompt="{{ q }}"))
    assert under_test_of(made, str) == {
        "model": "m",
        "seed": 1,
        "temperature": 0.5,
        "system_prompt": "Be brief",
        "prompt_template": "{{ q }}",
    }


def test_recorded_rollouts_have_nothing_under_test(tmp_path):
    assert under_test_of(benchmark(tmp_path, RECORDED), str) == {}


def benchmark(folder, text):
    path = folder / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (made,) = load_benchmarks(path, shown="a.bench.yaml")
    return made


# -- what measures it ------------------------------------------------------------------------


def ruler_of(folder, text, hide=str):
    made = benchmark(folder, text)
    bound = make_scorers(made.spec.scorers, Terms(), lambda *_: 1)
    return measurement_of(made.spec, plan_of(made), bound, {}, hook="", hide=hide)


def test_a_baseline_describes_what_measured_it_and_what_was_under_test(evaluated):
    evaluation = evaluated(f"{ANSWERED}  baseline: true\n", SUMS, updates=True)
    assert evaluation.result.ruler == {
        "reward": {
            "score": "exact-match",
            "pass_threshold": 1.0,
            "pass_estimator": "unbiased",
        },
        "scorer exact-match": {"scores": ["exact-match"], "reference": "{{ a }}"},
    }
    under_test = evaluation.baseline.provenance.under_test
    assert under_test["target function"] == "agent_of_a_test:adds"
    assert under_test["target version"] == "1"
    assert len(under_test["target source"]) == 12


JUDGED = """\
  - type: llm-judge
    model:
      url: "http://localhost:9/v1"
      name: j
      api_key_secret: MY_KEY
      inference: {temperature: 0.5}
      system_prompt: Be strict
    prompt_template: "Rate {{ q }}"
    scores: [{name: s, minimum: 1, maximum: 5}]
    judge_repeats: 2
"""


def test_a_judge_is_described_by_its_model_and_its_prompt(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a-key-of-mine-17")
    text = MODEL.format(prompt="{{ q }}").replace("  metrics", f"{JUDGED}  metrics")
    text += "  reward: exact-match\n"
    ruler = ruler_of(tmp_path, text)
    assert ruler["scorer llm-judge"] == {
        "scores": ["s", "s@1", "s@2"],
        "prompt_template": "Rate {{ q }}",
        "score s minimum": 1.0,
        "score s maximum": 5.0,
        "judge_repeats": 2,
        "score s name": "s",
        "judge": "j",
        "judge temperature": 0.5,
        "judge system_prompt": "Be strict",
    }


REMOTE = """\
benchmark:
  name: a
  rollouts: {path: data.jsonl, fields: {task: q, reward: checks.score}}
  scorers:
  - type: remote
    url: "http://scores.example:8000/x"
    body: {text: "{{ a }}", api_key: sk-1, limit: 5}
    timeout_seconds: 3
    scores: [{name: s, parser: {json_path: $.s}}]
  - {type: exact-match, reference: "{{ a }}"}
  - {type: exact-match, reference: "{{ q }}", name: second}
  reward: s
  metrics: [mean_reward]
"""


def test_settings_that_do_not_measure_and_keys_are_no_part_of_it(tmp_path):
    ruler = ruler_of(tmp_path, REMOTE)
    entry = ruler["scorer remote"]
    assert entry["body text"] == "{{ a }}"
    assert entry["body limit"] == 5
    assert entry["score s parser json_path"] == "$.s"
    assert not any("timeout" in key or "api_key" in key for key in entry)


def test_scorers_of_one_type_are_numbered(tmp_path):
    ruler = ruler_of(tmp_path, REMOTE)
    assert ruler["scorer exact-match"]["scores"] == ["exact-match"]
    assert ruler["scorer exact-match 2"]["reference"] == "{{ q }}"


def test_a_secret_in_a_setting_is_hidden(tmp_path):
    text = REMOTE.replace("text: ", "text: s3cr3t ").replace('s3cr3t "', '"s3cr3t ')
    ruler = ruler_of(tmp_path, text, hide=lambda text: text.replace("s3cr3t", "***"))
    assert ruler["scorer remote"]["body text"] == "*** {{ a }}"


def test_a_score_that_two_scorers_give_is_refused(tmp_path):
    text = REMOTE.replace(", name: second", "")
    with pytest.raises(ConfigError, match="is given by scorer 2 already"):
        benchmark(tmp_path, text)


def test_a_request_that_is_the_same_for_each_row_is_noted(tmp_path):
    from pytest_evalmetrics.pipeline.preflight import constant_notes

    text = MODEL.format(prompt="{{ q }}").replace("  metrics", f"{CONSTANT}  metrics")
    made = benchmark(tmp_path, f"{text}  reward: exact-match\n")
    assert list(constant_notes(made.spec)) == [
        ConstantRequest("scorers[1].prompt_template")
    ]
