"""The rule by which a metric is judged: its defaults, what a file says, and rules of one's own."""

import pytest
from stages.making import benchmark

from pytest_evalmetrics import registry
from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.gates import Change
from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Verdict
from pytest_evalmetrics.pipeline.gate_settings import (
    acceptance_of,
    own_rule_of,
    rule_of,
)


def rule(folder, keys="true", metric="mean_reward", **settings):
    asked = benchmark(folder, f"metrics: [{metric}]\nbaseline: {keys}")
    return rule_of(asked, metric, **({"bounded": True} | settings))


def test_a_rate_may_lose_a_point_by_default(tmp_path):
    assert rule(tmp_path) == RuleSettings(
        rule=RuleName.PRACTICAL,
        direction=Direction.HIGHER,
        alpha=0.01,
        warn_alpha=0.05,
        max_drop=0.01,
    )


def test_an_amount_may_lose_nothing_by_default(tmp_path):
    assert rule(tmp_path, bounded=False).max_drop == 0


@pytest.mark.parametrize(
    ("direction", "baseline", "max_drop"),
    [
        ("higher", 0.5, 0.01),
        ("higher", 0.1, 0.01),
        ("higher", 0.04, 0.004),
        ("higher", 0.0, 0.01),
        ("lower", 0.5, 0.01),
        ("lower", 0.96, 0.004),
        ("lower", 1.0, 0.01),
    ],
)
def test_a_rate_near_its_end_may_lose_a_tenth_of_what_is_left(
    tmp_path, direction, baseline, max_drop
):
    settings = rule(tmp_path, f"{{direction: {direction}}}", baseline=baseline)
    assert settings.max_drop == max_drop


def test_what_the_file_says_counts(tmp_path):
    text = (
        "{rule: absolute, direction: lower, alpha: 0.002, warn_alpha: 0.1, "
        "max_drop: 0.2, require_mde: 0.03}"
    )
    assert rule(tmp_path, text, baseline=0.04) == RuleSettings(
        rule=RuleName.ABSOLUTE,
        direction=Direction.LOWER,
        alpha=0.002,
        warn_alpha=0.1,
        max_drop=0.2,
        require_mde=0.03,
    )


@pytest.mark.parametrize(
    ("baseline", "acceptance"),
    [
        ("true", Acceptance.SNAPSHOT),
        ("{history: 5}", Acceptance.HISTORY),
        ("{report: old.json}", Acceptance.REPORT),
        ("{rollouts: old.jsonl}", Acceptance.OTHER_RUN),
    ],
)
def test_a_change_is_accepted_where_the_reference_is(tmp_path, baseline, acceptance):
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\nbaseline: {baseline}")
    assert acceptance_of(asked) is acceptance


# -- rules of one's own ----------------------------------------------------------------------


class Steps:
    """A rule with an option, a bound and a test."""

    tests = True

    def __init__(self, *, most=0.25):
        self.most = most
        self.bound = f"drop <= {most}"

    def decide(self, change):
        return Verdict.PASS if change.drop <= self.most else Verdict.FAIL


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.setattr(registry.gate_rules, "_entries", [])
    registry.register_gate_rule("steps")(Steps)


CHANGE = Change(
    metric="mean_reward",
    direction=Direction.HIGHER,
    baseline=0.9,
    current=0.6,
    drop=0.3,
    interval=(0.2, 0.4),
    p=0.001,
    differences=None,
    max_drop=0.01,
    alpha=0.01,
    warn_alpha=0.05,
)


@pytest.mark.usefixtures("steps")
def test_a_rule_of_ones_own_is_known_by_its_name_its_bound_and_its_test(tmp_path):
    settings = rule(tmp_path, "{rule: steps}")
    assert settings.rule is RuleName.OWN
    assert settings.name == "steps"
    assert settings.own_bound == "drop <= 0.25"
    assert settings.tests


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize(
    ("options", "verdict"), [("", Verdict.FAIL), (", most: 0.5", Verdict.PASS)]
)
def test_a_rule_of_ones_own_decides_with_its_options(tmp_path, options, verdict):
    keys = f"metrics: [mean_reward]\nbaseline: {{rule: {{name: steps{options}}}}}"
    own = own_rule_of(benchmark(tmp_path, keys), "mean_reward")
    assert own.decide(CHANGE) is verdict


@pytest.mark.usefixtures("steps")
def test_an_option_that_a_rule_does_not_take_is_refused(tmp_path):
    with pytest.raises(RegistryError) as refused:
        rule(tmp_path, "{rule: {name: steps, least: 1}}")
    assert refused.value.message.startswith("the gate rule steps can't be made: ")
    assert refused.value.hint == "check its options under rule:"


def test_a_built_in_rule_is_none_of_ones_own(tmp_path):
    asked = benchmark(tmp_path, "metrics: [mean_reward]\nbaseline: {rule: exact}")
    assert own_rule_of(asked, "mean_reward") is None
