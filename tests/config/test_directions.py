import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.spec.metric_names import named_direction

GATES = Path(__file__).parents[2] / "docs" / "gates.md"


# fmt: off
NAMES = {  # beside the words that docs/gates.md lists
    "lower": [
        "output_tokens", "outputTokens", "response.usage.total_tokens", "tokens", "token_count",
        "total_token", "cost_usd", "cost-per-token", "cost_per_second", "latency_s", "wall_time_s",
        "duration_seconds", "elapsed_s", "seconds_per_token", "time_per_task",
        "time_to_first_token", "errors", "error_rate", "num_errors", "LLMErrors", "eval_loss",
        "WER", "word_error_rate", "toxicity_score", "hallucinations", "hallucination_rate",
        "violations", "failures", "failed_tool_calls", "edit_distance", "bug_count",
        "benign_refusal_rate", "refusals_of_benign_prompts", "over_refusals",
        "false_positive_rate", "attack_success_rate", "accuracy_loss", "loss_of_accuracy",
        "cost_per_success", "unsafe_responses",
    ],
    "higher": [
        "token_f1", "token_accuracy", "bleu4", "rougeL", "rouge_1_score", "answer_similarity",
        "answer_relevancy", "exact_match", "tokens_per_s", "time_saved", "cost_efficiency",
        "latency_ok", "error_detection_accuracy", "non_toxicity", "jailbreak_resistance",
        "harmful_refusal_rate", "log_likelihood", "win_rate", "true_positive_rate", "fail_to_pass",
        "on_time_rate",
    ],
    None: [
        "sentiment", "items", "confidence", "turns", "steps", "length", "tool_calls",
        "refusal_rate", "entropy", "temperature", "x", "", "...", "latency_score",
        "hallucination_detection", "token_type", "error_handling",
    ],
}
# fmt: on


@pytest.mark.parametrize("direction", NAMES)
def test_a_name_says_which_way_is_better_or_nothing(direction):
    directions = {name: named_direction(name) for name in NAMES[direction]}
    assert directions == dict.fromkeys(NAMES[direction], direction)


def rows():
    """Each word of the table in docs/gates.md, with the side on which it stands."""
    text = GATES.read_text(encoding="utf-8").partition("<!-- directions -->")[2]
    words = []
    for line in text.partition("<!-- /directions -->")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in ("lower", "higher"):
            words += [(word, cells[0]) for word in re.findall(r"`([^`]+)`", cells[-1])]
    return words


def test_the_documented_words_have_the_documented_direction():
    documented = rows()
    assert len(documented) > 200
    assert [(w, d) for w, d in documented if named_direction(w) != d] == []


@given(st.text(max_size=40))
def test_any_text_can_be_a_name(name):
    assert named_direction(name) in ("higher", "lower", None)


@given(st.sampled_from([w for w, _ in rows() if w.isalpha() and w.islower()]))
def test_case_and_a_prefix_of_no_meaning_change_nothing(word):
    direction = named_direction(word)
    assert named_direction(f"my_{word}") == direction
    assert named_direction(f"my{word.title()}") == direction
