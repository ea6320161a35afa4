"""Which gates are advisory: a metric's own tier comes before that of its benchmark."""

import pytest
from stages.making import benchmark

from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.tiers import tier_of, with_tiers

KEYS = """\
tier: advisory
thresholds: {mean_reward: {min: 0.5, tier: required}, pass_rate: '>= 0.5'}
baseline:
  rollouts: {path: old.jsonl, fields: {task: task}}
  metrics: {pass_rate: {tier: required}}
metrics: [mean_reward, pass_rate]
breakdown: [lang]
"""


def check(gate, name="mean_reward", verdict=Verdict.FAIL, **fields):
    return Check(gate=gate, name=name, verdict=verdict, **fields)


@pytest.mark.parametrize(
    ("failing", "tier"),
    [
        (check(Gate.THRESHOLD), Tier.REQUIRED),
        (check(Gate.THRESHOLD, "pass_rate"), Tier.ADVISORY),
        (check(Gate.BASELINE), Tier.ADVISORY),
        (check(Gate.BASELINE, "pass_rate"), Tier.REQUIRED),
        (check(Gate.BASELINE, "slices", bound=SlicesBound(0.01)), Tier.ADVISORY),
        (check(Gate.EXPECT, "tasks"), Tier.ADVISORY),
        (check(Gate.BEHAVIOUR, "calls"), Tier.ADVISORY),
    ],
)
def test_a_gate_has_the_tier_of_its_metric_or_of_the_benchmark(tmp_path, failing, tier):
    asked = benchmark(tmp_path, KEYS)
    assert tier_of(asked, failing, is_required=False) is tier


def test_a_policy_that_requires_a_benchmark_leaves_own_tiers_alone(tmp_path):
    asked = benchmark(
        tmp_path, KEYS.replace("min: 0.5, tier: required", "min: 0.5, tier: advisory")
    )
    threshold = check(Gate.THRESHOLD)
    assert tier_of(asked, threshold, is_required=True) is Tier.ADVISORY
    assert tier_of(asked, check(Gate.EXPECT), is_required=True) is Tier.REQUIRED


def test_a_failure_of_an_advisory_gate_warns(tmp_path):
    asked = benchmark(tmp_path, KEYS)
    checks = [
        check(Gate.EXPECT),
        check(Gate.EXPECT, verdict=Verdict.INCONCLUSIVE),
        check(Gate.EXPECT, verdict=Verdict.PASS),
        check(Gate.THRESHOLD),
    ]
    tiered = with_tiers(asked, checks, is_required=False)
    assert [(one.verdict, one.tier) for one in tiered] == [
        (Verdict.WARN, Tier.ADVISORY),
        (Verdict.WARN, Tier.ADVISORY),
        (Verdict.PASS, Tier.REQUIRED),
        (Verdict.FAIL, Tier.REQUIRED),
    ]
