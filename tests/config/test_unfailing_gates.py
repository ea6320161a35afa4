# ruff: noqa: E501 - messages stand in one piece
"""Gates that no run could break, or that can't be judged: refused at their line."""

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError

SCORERS = """\
dataset: d
scorers:
  - type: remote
    url: http://localhost/score
    body: {}
    scores:
      - {name: ten, parser: {json_path: $.a}, minimum: 0, maximum: 10}
      - {name: slop, parser: {json_path: $.b}, direction: lower}
      - {name: open_ended, parser: {json_path: $.c}, minimum: 0}
reward: ten
"""


def problems(tmp_path, keys, rows="rollouts: r\n"):
    """What is said of a file whose keys start on line 3, each as `line: message`."""
    path = tmp_path / "a.bench.yaml"
    text = "".join(f"  {line}\n" for line in (keys + rows).splitlines())
    path.write_text(f"benchmark:\n  name: a\n{text}", encoding="utf-8")
    try:
        load_benchmarks(path, shown="a.bench.yaml")
    except ConfigError as error:
        return [f"{p.line}: {p.message}" for p in error.problems]
    return []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            "thresholds:\n  pass@1: {max: 70}\n",
            "4: pass@1 is a rate from 0 to 1: max 70 can never fail; did you mean 0.7 or 70%?",
        ),
        (
            "thresholds:\n  pass@1: '>= 70'\n",
            "4: pass@1 is a rate from 0 to 1: min 70 can never pass; did you mean 0.7 or 70%?",
        ),
        (
            "thresholds:\n  pass_rate/ok[a=b]:\n    min: -1\n    max: 0.5\n",
            "5: pass_rate/ok[a=b] is a rate from 0 to 1: min -1 can never fail",
        ),
        (
            "thresholds: {pass^2: '<= -0.1'}\n",
            "3: pass^2 is a rate from 0 to 1: max -0.1 can never pass",
        ),
        (
            "thresholds: {std/x: '<= -1'}\n",
            "3: std/x is a standard deviation, from 0: max -1 can never pass",
        ),
        (
            "thresholds:\n  max/x:\n    min: 1\n    bound: lower\n",
            "6: max/x has no interval, and so no lower end: drop `bound:`",
        ),
        (
            "metrics: [pass@1]\nbaseline:\n  max_drop: 5\n",
            "5: max_drop 5 can never fail: pass@1 is a rate from 0 to 1; did you mean 5%?",
        ),
        (
            "metrics: [pass@1]\nbaseline:\n  rule: relative\n  max_drop: 10\n",
            "6: max_drop 10 can never fail: pass@1 is a rate from 0 to 1; did you mean 10%?",
        ),
        (
            "metrics: [pass@1]\nbaseline:\n  require_mde: 1\n",
            "5: require_mde 1 can never fail: pass@1 is a rate from 0 to 1; did you mean 1%?",
        ),
        (
            "metrics: [mean_reward, pass@1, pass^2]\nbaseline: {max_drop: 200}\n",
            (
                "4: max_drop 200 can never fail: pass@1, pass^2 is a rate from 0 to 1; what it is meant "
                "for can have it below `baseline: metrics:`"
            ),
        ),
        (
            "metrics: [mean_reward]\nbaseline:\n  metrics:\n    pass@1:\n      max_drop: 5\n",
            "7: max_drop 5 can never fail: pass@1 is a rate from 0 to 1; did you mean 5%?",
        ),
        (
            "metrics: [pass@8]\nnum_samples: 2\n",
            (
                "3: pass@8 needs 8 rollouts of each task, and a task has 2 (num_samples: 2): choose a k "
                "of at most 2, or num_samples: 8"
            ),
        ),
        (
            "key_metrics: [pass^3]\nexpect: {rollouts: 2}\n",
            (
                "3: pass^3 needs 3 rollouts of each task, and a task has 2 (expect: {rollouts: 2}): "
                "choose a k of at most 2, or num_samples: 3"
            ),
        ),
        (
            "thresholds:\n  max@3/x[a=b]: '>= 1'\nnum_samples: 2\n",
            (
                "4: max@3/x[a=b] needs 3 rollouts of each task, and a task has 2 (num_samples: 2): "
                "choose a k of at most 2, or num_samples: 3"
            ),
        ),
        (
            "baseline:\n  metrics:\n    pass@4: {}\nnum_samples: 2\n",
            (
                "5: pass@4 needs 4 rollouts of each task, and a task has 2 (num_samples: 2): choose a k "
                "of at most 2, or num_samples: 4"
            ),
        ),
        (
            "metrics: [max/score]\nbaseline:\n  against: best\n  rule: noninferior\n  max_drop: 1\n",
            "6: max/score has no interval, and the rule noninferior can't judge it",
        ),
        (
            "key_metrics: [mean/turns, mean/sentiment, mean/accuracy]\nbaseline: true\n",
            (
                "4: nothing says which way is better for mean/turns, mean/sentiment: write `baseline: "
                "{metrics: {mean/turns: {direction: higher}, mean/sentiment: {direction: higher}}}`, or "
                "lower where less is better"
            ),
        ),
        (
            "baseline:\n  metrics:\n    mean/turns[level=a b]: {max_drop: 2}\n",
            (
                "5: nothing says which way is better for mean/turns[level=a b]: write `baseline: "
                '{metrics: {"mean/turns[level=a b]": {direction: higher}}}`, or lower where less is '
                "better"
            ),
        ),
        (
            "metrics: [mean_reward]\nreward: wer\nbaseline: true\n",
            (
                "5: nothing says which way is better for mean_reward: write `baseline: {metrics: "
                "{mean_reward: {direction: higher}}}`, or lower where less is better"
            ),
        ),
    ],
)
def test_it_is_refused_at_its_line_with_what_was_meant(tmp_path, keys, expected):
    assert problems(tmp_path, keys) == [expected]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            "thresholds: {mean_reward: '<= 20'}\n",
            "mean_reward is of ten, which is a score from 0 to 10: max 20 can never fail",
        ),
        (
            "thresholds: {mean/open_ended: '>= -2'}\n",
            "mean/open_ended is of open_ended, which is a score from 0: min -2 can never fail",
        ),
        (
            "metrics: [median]\nbaseline: {max_drop: 10}\n",
            "max_drop 10 can never fail: median is of ten, which is a score from 0 to 10",
        ),
    ],
)
def test_a_declared_range_is_a_range(tmp_path, keys, expected):
    found = problems(tmp_path, keys, SCORERS)
    assert [message.partition(": ")[2] for message in found] == [expected]


@pytest.mark.parametrize(
    "keys",
    [
        "thresholds: {pass@1: '>= 0', mean_reward: '<= 70', mean/tokens: '<= 2000', spread: '>= 5'}\n",
        "thresholds: {pass@1: {min: 0, max: 1}}\n",
        "metrics: [pass@8]\nnum_samples: 2\npass_estimator: first_k\n",
        "metrics: [pass@8]\nnum_samples: 8\n",
        "metrics: [pass@8]\nnum_samples: 2\nexpect: {rollouts: '>= 2'}\n",
        "metrics: [pass@8]\nexpect: {rollouts: any}\n",
        "metrics: [mean_reward]\nbaseline: {max_drop: 5}\n",
        "metrics: [pass@1]\nbaseline: {rule: exact, max_drop: 5}\n",
        "metrics: [pass@1]\nbaseline: {max_drop: 0.99}\n",
        "metrics: [mean/tokens]\nbaseline: {rule: relative, max_drop: 2}\n",
        "metrics: [mean/turns]\nbaseline: {direction: lower}\n",
        "metrics: [mean/turns]\nbaseline: {metrics: {mean/turns: {direction: lower}}}\n",
        "metrics: [mean/turns]\nthresholds: {mean/turns: '<= 4'}\n",
        "metrics: [mean_reward, pass_rate, worst_task, my.module:Thing]\nreward: x\nbaseline: true\n",
        "metrics: [mean_reward, mean/turns]\nkey_metrics: mean_reward\nbaseline: true\n",
    ],
)
def test_what_can_fail_and_what_is_not_gated_is_taken(tmp_path, keys):
    assert problems(tmp_path, keys) == []


@pytest.mark.parametrize("keys", ["mean/slop", "mean/ten", "mean_reward", "mean/ten, mean/slop"])
def test_a_scorer_can_say_which_way_is_better(tmp_path, keys):
    assert problems(tmp_path, f"key_metrics: [{keys}]\nbaseline: true\n", SCORERS) == []
