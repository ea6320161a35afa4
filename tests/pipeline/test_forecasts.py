"""The calls that a run is still to make, and what of a budget has no price, without a call."""

import json

import pytest
from scoring.generation.running import Run

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.scoring import Scoring
from pytest_evalmetrics.scoring.door import Budget
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

offer_scorers()
URL = "http://127.0.0.1:1/v1"
ROWS = [{"id": f"t{at}", "question": f"{at}?", "answer": "a"} for at in range(3)]
MODEL = f'model: {{url: "{URL}", name: m}}\n  prompt_template: "{{{{ question }}}}"'
MATCH = '{type: exact-match, reference: "{{ item.answer }}"}'
JUDGE = f"""{{type: llm-judge, model: {{url: "{URL}", name: j}},
    prompt_template: "{{{{ question }}}}", scores: [{{name: kind}}], MORE}}"""


@pytest.fixture
def scoring(tmp_path):
    """Make the scorers of a data set whose journal holds nothing."""
    runs = []

    def make(scorers, keys="", mode="plan", budget=None):
        lines = [json.dumps(row) + "\n" for row in ROWS]
        (tmp_path / "data.jsonl").write_text("".join(lines), encoding="utf-8")
        text = f"""\
benchmark:
  name: a
  dataset: {{path: data.jsonl, fields: {{task: id}}}}
  scorers: [{scorers.replace(", MORE", "")}]
  metrics: [mean_reward]
  {keys}
"""
        path = tmp_path / "a.bench.yaml"
        path.write_text(text, encoding="utf-8")
        (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
        run = Run(tmp_path, mode)
        run.budget = budget
        runs.append(run)
        return Scoring(benchmark, run, "a.bench.yaml::a")

    yield make
    for run in runs:
        run.transport().close()


def forecast(scoring, recorded=None):
    return scoring.forecast(plan_of(scoring.benchmark), recorded or {})


def test_each_answer_that_the_journal_lacks_is_a_call(scoring):
    expected, answered = forecast(scoring(MATCH, f"{MODEL}\n  num_samples: 2"))
    assert expected.calls == 6
    assert answered == 0
    assert (expected.tokens, expected.cost, expected.seconds) == (None, None, None)


def test_a_judge_that_is_asked_for_each_answer_doubles_the_calls(scoring):
    expected, _ = forecast(scoring(JUDGE, MODEL))
    assert expected.calls == 6


def test_each_judge_of_a_panel_is_asked_for_each_answer(scoring):
    judges = f'[{{url: "{URL}", name: j}}, {{url: "{URL}", name: k}}]'
    panel = JUDGE.replace(f'model: {{url: "{URL}", name: j}}', f"judges: {judges}")
    expected, _ = forecast(scoring(panel, MODEL))
    assert expected.calls == 3 * (1 + 2)


def test_a_judge_that_repeats_itself_is_asked_as_often(scoring):
    expected, _ = forecast(scoring(JUDGE.replace("MORE", "judge_repeats: 4"), MODEL))
    assert expected.calls == 3 * (1 + 4)


def test_recorded_rows_are_judged_once_each(scoring):
    expected, _ = forecast(scoring(JUDGE))
    assert expected.calls == 3


def test_rows_of_a_judge_check_are_judged_too(scoring, tmp_path):
    labels = [{"question": "x?", "human": 1}, {"question": "y?", "human": 0}]
    text = "".join(json.dumps(row) + "\n" for row in labels)
    (tmp_path / "labels.jsonl").write_text(text)
    check = "judge_check: {rows: labels.jsonl, label: human}"
    expected, _ = forecast(scoring(JUDGE.replace("MORE", check)))
    assert expected.calls == 5


def test_anchors_are_judged_too(scoring, tmp_path):
    text = "".join(json.dumps({"question": f"{q}?", "label": 1}) + "\n" for q in "xyz")
    (tmp_path / "anchors.jsonl").write_text(text)
    expected, _ = forecast(scoring(JUDGE, "anchors: anchors.jsonl"))
    assert expected.calls == 6


def test_without_answers_the_baseline_says_what_an_answer_takes(scoring):
    recorded = {"mean/total_tokens": 100.0, "mean/cost": 0.5, "mean/latency_s": 8.0}
    keys = f"{MODEL}\n  params: {{parallelism: 4}}"
    expected, _ = forecast(scoring(MATCH, keys), recorded)
    assert expected.calls == 3
    assert expected.tokens == 300.0
    assert expected.cost == 1.5
    assert expected.seconds == 3 * 8.0 / 4


def test_what_a_baseline_does_not_say_is_not_expected(scoring):
    expected, _ = forecast(scoring(MATCH, MODEL), {"mean/total_tokens": 100.0})
    assert (expected.tokens, expected.cost, expected.seconds) == (300.0, None, None)


# -- budgets in money ------------------------------------------------------------------------


def money():
    return Budget({"cost": (1.0, "1 usd")})


@pytest.mark.parametrize(
    ("scorers", "keys", "name"),
    [(MATCH, MODEL, "m"), (JUDGE, "", "j"), (JUDGE, MODEL, "m")],
    ids=["a model", "a judge", "both"],
)
def test_a_budget_in_money_needs_a_price_of_each_model(scoring, scorers, keys, name):
    with pytest.raises(DataError) as refused:
        scoring(scorers, keys, budget=money())
    assert (
        refused.value.message == f"the run's budget is 1 usd, and {name} has no price"
    )
    assert refused.value.hint == (
        "write price: {input: ..., output: ...} under it, per million tokens"
    )


def test_models_with_a_price_keep_to_a_budget_in_money(scoring):
    price = "name: m, price: {input: 1, output: 2}"
    assert scoring(MATCH, MODEL.replace("name: m", price), budget=money()).asks


def test_a_budget_of_requests_needs_no_price(scoring):
    assert scoring(MATCH, MODEL, budget=Budget({"requests": (9, "9 requests")})).asks


def test_scorers_without_calls_ask_nothing(scoring):
    assert not scoring(MATCH.replace("reference", "candidate: x, reference")).asks


# -- the terms of calls ----------------------------------------------------------------------

PARAMS = "params: {parallelism: 3, request_timeout: 7, max_retries: 5, max_wait: 11}"


def test_calls_are_made_on_the_terms_of_the_file(scoring):
    terms = scoring(MATCH, f"{MODEL}\n  {PARAMS}", mode="replay")._terms
    assert (terms.parallelism, terms.timeout_s) == (3, 7)
    assert (terms.max_retries, terms.max_wait_s) == (5, 11)
    assert terms.replays
    assert terms.judging is None


def test_judges_of_recorded_rows_have_the_terms_of_the_file(scoring):
    made = scoring(JUDGE, PARAMS, mode="normal")
    assert made._terms.judging is made.benchmark.spec.params
    assert not made._terms.replays
