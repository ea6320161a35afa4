import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.spec.metric_names import MetricName, named_direction, parse

GATES = Path(__file__).parents[2] / "docs" / "gates.md"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pass@1", MetricName("pass@1")),
        ("pass^4", MetricName("pass^4")),
        ("pass@1/accuracy", MetricName("pass@1", "accuracy")),
        ("pass@1[difficulty=hard]", MetricName("pass@1", None, "difficulty", "hard")),
        (
            "pass@1/accuracy[level=hard]",
            MetricName("pass@1", "accuracy", "level", "hard"),
        ),
        ("mean/output_tokens", MetricName("mean", "output_tokens")),
        (
            "max/tokens[meta.split=test]",
            MetricName("max", "tokens", "meta.split", "test"),
        ),
        ("my_pkg.metrics:Median", MetricName("my_pkg.metrics:Median")),
        (
            "my_pkg.metrics:Median/accuracy",
            MetricName("my_pkg.metrics:Median", "accuracy"),
        ),
        # a score's name is what stands behind the first slash, whatever it holds
        ("mean/rubric/clarity", MetricName("mean", "rubric/clarity")),
        ("mean/score[0]", MetricName("mean", "score[0]")),
        ("mean/score[0][topic=x]", MetricName("mean", "score[0]", "topic", "x")),
        # and a value is any text, to the last bracket
        ("pass@1[topic=a[b=c]]", MetricName("pass@1", None, "topic", "a[b=c]")),
        ("pass@1[topic=x/y = z]", MetricName("pass@1", None, "topic", "x/y = z")),
        # an open bracket is no breakdown
        ("pass@1[topic=x", MetricName("pass@1[topic=x")),
        ("pass@1[topic=]", MetricName("pass@1", None, "topic", "")),
        (
            "pass@1[topic=line\nbreak]",
            MetricName("pass@1", None, "topic", "line\nbreak"),
        ),
    ],
)
def test_a_name_is_taken_apart_and_put_together(text, expected):
    assert parse(text) == expected
    assert str(parse(text)) == text


@pytest.mark.parametrize("text", ["", "/accuracy", "pass@1/", "[a=b]", "pass@1/[a=b]"])
def test_a_name_without_a_metric_or_a_score_is_refused(text):
    with pytest.raises(MetricError, match="is not a metric's name"):
        parse(text)


@given(
    st.sampled_from(["pass@3", "mean", "my.pkg:Thing"]),
    st.none() | st.text(st.characters(exclude_characters="[]"), min_size=1),
    st.text(st.characters(exclude_characters="[]="), min_size=1),
    st.text(),
)
def test_any_value_of_a_breakdown_survives(metric, score, field, value):
    name = MetricName(metric, score).over(field, value)
    assert parse(str(name)) == name


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
        "cost_per_success", "unsafe_responses", "jailbreak_success_rate", "errors_remaining",
        "prompt_injection_success", "harmful_request_compliance", "false_match_rate",
    ],
    "higher": [
        "token_f1", "token_accuracy", "bleu4", "rougeL", "rouge_1_score", "answer_similarity",
        "answer_relevancy", "exact_match", "tokens_per_s", "time_saved", "cost_efficiency",
        "latency_ok", "error_detection_accuracy", "non_toxicity", "jailbreak_resistance",
        "harmful_refusal_rate", "log_likelihood", "win_rate", "true_positive_rate", "fail_to_pass",
        "on_time_rate", "brier_skill_score", "mean_time_between_failures", "saved_tokens",
    ],
    None: [
        "sentiment", "items", "confidence", "turns", "steps", "length", "tool_calls",
        "refusal_rate", "entropy", "temperature", "x", "", "...", "latency_score",
        "hallucination_detection", "token_type", "error_handling",
        "bugs_found", "fault_tolerance", "jailbreak_defense_success", "error_correction",
    ],
}
# fmt: on


@pytest.mark.parametrize("direction", NAMES)
def test_a_name_implies_a_direction_or_none(direction):
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
