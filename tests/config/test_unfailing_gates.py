"""Gates that no run could break, or that can't be judged: refused at their line."""

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


REFUSED = {  # keys from line 3 on, and what is said
    "thresholds:\n  pass@1: '>= 70'": (
        "4: pass@1 is a rate from 0 to 1: min 70 can never pass; did you mean 0.7 or 70%?"
    ),
    "thresholds:\n  pass_rate/ok[a=b]:\n    min: -1\n    max: 0.5": (
        "5: pass_rate/ok[a=b] is a rate from 0 to 1: min -1 can never fail"
    ),
    "thresholds: {pass^2: '<= -0.1'}": "3: pass^2 is a rate from 0 to 1: max -0.1 can never pass",
    "thresholds: {std/x: '<= -1'}": (
        "3: std/x is a standard deviation, from 0: max -1 can never pass"
    ),
    "thresholds:\n  max/x:\n    min: 1\n    bound: lower": (
        "6: max/x has no interval, and so no lower end: drop `bound:`"
    ),
    "metrics: [pass@1]\nbaseline:\n  rule: relative\n  max_drop: 10": (
        "6: max_drop 10 can never fail: pass@1 is a rate from 0 to 1; did you mean 10%?"
    ),
    "metrics: [pass@1]\nbaseline:\n  require_mde: 1": (
        "5: require_mde 1 can never fail: pass@1 is a rate from 0 to 1; did you mean 1%?"
    ),
    "metrics: [mean_reward, pass@1, pass^2]\nbaseline: {max_drop: 200}": (
        "4: max_drop 200 can never fail: pass@1, pass^2 is a rate from 0 to 1; what it is "
        "meant for can have it below `baseline: metrics:`"
    ),
    "metrics: [mean_reward]\nbaseline:\n  metrics:\n    pass@1:\n      max_drop: 5": (
        "7: max_drop 5 can never fail: pass@1 is a rate from 0 to 1; did you mean 5%?"
    ),
    "metrics: [pass@1]\nbaseline: {rule: relative, max_drop: 1}": (
        "4: max_drop 1 can never fail: pass@1 is a rate from 0 to 1; did you mean 1%?"
    ),
    "key_metrics: [pass^3]\nexpect: {rollouts: 2}": (
        "3: pass^3 needs 3 rollouts of each task, and a task has 2 (expect: {rollouts: 2}): "
        "choose a k of at most 2, or num_samples: 3"
    ),
    "baseline:\n  metrics:\n    pass@4: {}\nnum_samples: 2": (
        "5: pass@4 needs 4 rollouts of each task, and a task has 2 (num_samples: 2): choose a "
        "k of at most 2, or num_samples: 4"
    ),
    "metrics: [max/score]\nbaseline:\n  against: best\n  rule: noninferior\n  max_drop: 1": (
        "6: max/score has no interval, and the rule noninferior can't judge it"
    ),
    "key_metrics: [std/turns, std/reward]\nbaseline: true": (
        "4: nothing says which way is better for std/turns, std/reward: write `baseline: "
        "{metrics: {std/turns: {direction: higher}, std/reward: {direction: higher}}}`, "
        "or `direction: lower` where less is better"
    ),
    "baseline:\n  metrics:\n    std/turns[level=a b]: {max_drop: 2}": (
        "5: nothing says which way is better for std/turns[level=a b]: write `baseline: "
        '{metrics: {"std/turns[level=a b]": {direction: higher}}}`, or `direction: lower` '
        "where less is better"
    ),
    f"metrics: [mean/open_ended]\nbaseline: true\n{SCORERS}": (
        "4: nothing says which way is better for mean/open_ended: write `baseline: "
        "{metrics: {mean/open_ended: {direction: higher}}}`, or `direction: lower` where "
        "less is better"
    ),
    f"metrics: [pass_rate/slop]\nbaseline: true\n{SCORERS}": (
        "4: nothing says which way is better for pass_rate/slop, because lower is declared "
        "to be better for slop: write `baseline: {metrics: {pass_rate/slop: {direction: "
        "lower}}}`, or `direction: higher`"
    ),
    "metrics: [mean_reward]\nreward: cost_usd\nbaseline: true": (
        "5: nothing says which way is better for mean_reward, because lower is declared to "
        "be better for cost_usd: write `baseline: {metrics: {mean_reward: {direction: "
        "lower}}}`, or `direction: higher`"
    ),
    # a declared range is a range
    f"thresholds: {{mean/open_ended: '>= -2'}}\n{SCORERS}": (
        "3: mean/open_ended is of open_ended, which is a score from 0: min -2 can never fail"
    ),
    f"metrics: [median]\nbaseline: {{max_drop: 10}}\n{SCORERS}": (
        "4: max_drop 10 can never fail: median is of ten, which is a score from 0 to 10"
    ),
}
TAKEN = [
    "thresholds: {pass@1: '>= 0', mean_reward: '<= 70', mean/tokens: '<= 2000'}",
    "thresholds: {pass@1: {min: 0, max: 1}, my.module:Thing: '>= 5'}",
    "metrics: [pass@8]\nnum_samples: 2\npass_estimator: first_k",
    "metrics: [pass@8]\nnum_samples: 8",
    "metrics: [pass@8]\nnum_samples: 2\nexpect: {rollouts: '>= 2'}",
    "metrics: [pass@8]\nexpect: {rollouts: any}",
    "metrics: [mean_reward]\nbaseline: {max_drop: 5}",
    "metrics: [pass@1]\nbaseline: {rule: exact, max_drop: 5}",
    "metrics: [pass@1]\nbaseline: {max_drop: 0.99}",
    "metrics: [mean/tokens]\nbaseline: {rule: relative, max_drop: 2}",
    "metrics: [mean/turns]\nbaseline: {direction: lower}",
    "metrics: [mean/turns]\nbaseline: {metrics: {mean/turns: {direction: lower}}}",
    "metrics: [mean/turns]\nthresholds: {mean/turns: '<= 4'}",
    "metrics: [mean_reward, pass_rate, worst_task, my.module:Thing]\nreward: x\nbaseline: true",
    # a reward is to rise, whatever it is called
    "metrics: [mean_reward, mean/wer]\nreward: wer\nbaseline: true",
    # files that are not read yet may declare it
    "metrics: [mean/turns]\nbaseline: true",
    "metrics: [mean/output_tokens, p95/latency_s, cost_per_task]\nbaseline: true",
    "metrics: [mean_reward, mean/turns]\nkey_metrics: mean_reward\nbaseline: true",
    (
        "metrics: [pass@1]\nbaseline: true\nrollouts: {path: a, fields: {reward: failed}, "
        "map: {reward: {'true': 0, 'false': 1}}}"
    ),
    # a scorer can say which way is better
    f"key_metrics: [mean_reward, mean/ten, mean/slop]\nbaseline: true\n{SCORERS}",
]


def file(keys):
    rows = "" if "dataset:" in keys or "\nrollouts:" in keys else "\nrollouts: r"
    text = "".join(f"  {line}\n" for line in (keys + rows).splitlines())
    return f"benchmark:\n  name: a\n{text}"


def test_a_gate_that_can_not_fail_is_refused_at_its_line_with_what_was_meant(refusals):
    messages = refusals([file(keys) for keys in REFUSED])
    for expected, lines in zip(REFUSED.values(), messages, strict=True):
        (line,) = lines
        number, _, message = line.split(": ", 2)
        assert f"{number}: {message}" == expected


def test_what_can_fail_and_what_is_not_gated_is_taken(refusals):
    assert refusals([file(keys) for keys in TAKEN]) == [[]] * len(TAKEN)
