import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.spec.metric_names import named_direction

GATES = Path(__file__).parents[2] / "docs" / "gates.md"


@pytest.mark.parametrize(
    "name",
    [
        "output_tokens", "outputTokens", "response.usage.total_tokens", "tokens", "token_count",
        "total_token", "cost", "cost_usd", "cost-per-token", "cost_per_second", "price",
        "latency_s", "latency_ms", "time", "wall_time_s", "duration_seconds", "elapsed_s",
        "seconds_per_token", "time_per_task", "tokens_per_task", "time_to_first_token",
        "error", "errors", "error_rate", "num_errors", "LLMErrors", "loss", "eval_loss", "wer",
        "WER", "cer", "word_error_rate", "toxicity", "toxicity_score", "hallucination",
        "hallucinations", "hallucination_rate", "perplexity", "bias", "violations", "failures",
        "failed_tool_calls", "rmse", "mae", "mse", "brier", "ece", "edit_distance", "bug_count",
        "benign_refusal_rate", "refusals_of_benign_prompts", "over_refusals", "overrefusal",
        "false_refusal", "harmful", "harmfulness", "noise_sensitivity", "false_positive_rate",
        "attack_success_rate", "accuracy_loss", "loss_of_accuracy", "cost_per_success",
        "negative_log_likelihood", "cross_entropy", "incorrect", "truncated", "unsafe_responses",
    ],
)  # fmt: skip
def test_less_of_it_is_better(name):
    assert named_direction(name) == "lower"


@pytest.mark.parametrize(
    "name",
    [
        "reward", "score", "accuracy", "f1", "token_f1", "token_accuracy", "bleu", "bleu4",
        "rougeL", "rouge_1_score", "similarity", "answer_similarity", "faithfulness",
        "answer_relevancy", "relevance", "exact_match", "tokens_per_second", "tokens_per_s",
        "time_saved", "cost_efficiency", "latency_ok", "error_detection_accuracy", "error_free",
        "non_toxicity", "no_hallucinations", "harmlessness", "jailbreak_resistance",
        "harmful_refusal_rate", "throughput", "helpfulness", "log_likelihood", "win_rate",
        "cost_reduction", "true_positive_rate", "fail_to_pass", "on_time_rate", "ndcg",
    ],
)  # fmt: skip
def test_more_of_it_is_better(name):
    assert named_direction(name) == "higher"


@pytest.mark.parametrize(
    "name",
    [
        "sentiment", "items", "confidence", "turns", "steps", "length", "tool_calls",
        "refusal_rate", "entropy", "temperature", "x", "", "...", "latency_score",
        "hallucination_detection", "token_type", "error_handling",
    ],
)  # fmt: skip
def test_a_name_that_says_nothing_has_no_direction(name):
    assert named_direction(name) is None


def rows():
    """Each word of the table in docs/gates.md, with the side on which it stands."""
    text = GATES.read_text(encoding="utf-8").partition("<!-- directions -->")[2]
    found = []
    for line in text.partition("<!-- /directions -->")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in ("lower", "higher"):
            found += [(word, cells[0]) for word in re.findall(r"`([^`]+)`", cells[-1])]
    return found


def test_the_documented_words_have_the_documented_direction():
    documented = rows()
    assert len(documented) > 200
    assert [(w, d) for w, d in documented if named_direction(w) != d] == []


@given(st.text(max_size=40))
def test_any_text_can_be_a_name(name):
    assert named_direction(name) in ("higher", "lower", None)


@given(st.sampled_from([w for w, _ in rows() if w.isalpha() and w.islower()]))
def test_case_and_a_prefix_of_no_meaning_change_nothing(word):
    known = named_direction(word)
    assert named_direction(f"my_{word}") == known
    assert named_direction(f"my{word.title()}") == known
