import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.spec.metric_names import MetricName, fields_of, parse


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


def test_the_fields_of_breakdowns_are_found_in_the_names_of_metrics():
    names = ["pass@1", "pass@1[lang=de]", "mean/tokens[meta.split=test]", "lang/"]
    assert fields_of(names) == {"lang", "meta.split"}
