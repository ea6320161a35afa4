"""Settings that fit how much the runs of a benchmark differ."""

import pytest
from msgspec import structs

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.run_series.noise import Noise
from pytest_evalmetrics.run_series.proposals import Proposal, percent, proposed

NOISY = Noise(
    values=(0.8, 0.7, 0.9, 0.75, 0.85, 0.8), tasks=0.01, pooled=True, is_rate=True
)
SINGLE = structs.replace(NOISY, pooled=False)  # against one run, which shows no noise
QUIET = Noise(
    values=(0.80, 0.81, 0.79, 0.80, 0.80, 0.80), tasks=0.01, pooled=True, is_rate=True
)


@pytest.fixture
def proposals(tmp_path):
    """Give what is proposed for mean_reward of a benchmark with some keys."""

    def propose(keys, noise, attempts=4):
        text = f"benchmark:\n  name: a\n  rollouts: r\n  metrics: [mean_reward]\n{keys}"
        file = tmp_path / "a.bench.yaml"
        file.write_text(text, encoding="utf-8")
        (benchmark,) = load_benchmarks(file, shown="a.bench.yaml")
        return list(proposed(benchmark, "mean_reward", noise, attempts))

    return propose


def of_thresholds(found):
    return [proposal for proposal in found if proposal.why.startswith("threshold ")]


def of_key(found, key):
    return [proposal for proposal in found if proposal.key == key]


def test_noise_between_runs_needs_a_larger_drop(proposals):
    found = proposals("  baseline: {max_drop: 0.01}\n", SINGLE)
    (larger,) = of_key(found, ("baseline", "max_drop"))
    assert float(larger.value) == pytest.approx(SINGLE.drop(0.01), rel=0.005)
    assert larger.why.startswith(f"max_drop: {larger.value} gives 1 % of false alarms")


def test_the_drop_of_one_metric_is_changed_where_it_is_written(proposals):
    keys = "  baseline: {metrics: {mean_reward: {max_drop: 0.01}}}\n"
    found = proposals(keys, SINGLE)
    path = ("baseline", "metrics", "mean_reward", "max_drop")
    assert len(of_key(found, path)) == 1


def test_a_rule_without_a_margin_becomes_practical_by_hand(proposals):
    found = proposals("  baseline: {rule: exact}\n", NOISY)
    (larger,) = [one for one in found if one.why.startswith("rule: practical, ")]
    assert larger.key == ()


def test_no_rate_drops_below_0(proposals):
    # their drop is above their mean, 0.25
    apart = structs.replace(NOISY, values=(0.35, 0.05, 0.35))
    found = proposals("  baseline: {rule: absolute, max_drop: 0.02}\n", apart)
    drop, samples = found
    assert drop.why == "no max_drop fits: find out why these runs differ so much"
    assert samples.why.startswith("no num_samples shows a drop of 0.02 with 80 % power")


def test_no_rate_rises_above_1(proposals):
    apart = structs.replace(NOISY, values=(0.65, 0.95, 0.65), sign=-1.0)
    keys = "  baseline: {rule: absolute, max_drop: 0.02, direction: lower}\n"
    found = proposals(keys, apart)
    assert found[0].why == "no max_drop fits: find out why these runs differ so much"


def test_the_drop_of_a_number_that_is_no_rate_may_be_of_any_size(proposals):
    seconds = structs.replace(NOISY, values=(90.0, 90.0, 90.0, 30.0), is_rate=False)
    found = proposals("  baseline: {rule: absolute, max_drop: 0.02}\n", seconds)
    (larger,) = of_key(found, ("baseline", "max_drop"))
    assert float(larger.value) > 1


def test_quiet_runs_need_no_larger_drop(proposals):
    found = proposals("  baseline: {max_drop: 0.05}\n", QUIET)
    assert of_key(found, ("baseline", "max_drop")) == []


def test_more_attempts_show_a_drop_that_tasks_hide(proposals):
    noise = Noise(values=(0.8,) * 6, tasks=0.03, is_rate=True)
    (more,) = proposals("  baseline: {max_drop: 0.08}\n", noise)
    # 4 attempts of a variance of 0.03^2, for 0.08 at (2.326 + 0.842) errors of two runs
    assert more.why == "num_samples: 12 shows a drop of 0.08 with 80 % power; now 4"
    assert more.value == "12"
    assert more.key == ()  # recorded rollouts can't be drawn again


def test_the_drop_of_a_rate_is_a_point_unless_the_file_says_another(proposals):
    (more,) = proposals("  baseline: true\n", QUIET)
    assert more.why == "num_samples: 47 shows a drop of 0.01 with 80 % power; now 4"


def test_no_attempts_show_a_drop_that_runs_hide(proposals):
    found = proposals("  baseline: {rule: absolute, max_drop: 0.02}\n", NOISY)
    texts = [proposal.why for proposal in found]
    assert any(text.startswith("no num_samples shows a drop of ") for text in texts)
    assert all("compare with more runs" in t for t in texts if t.startswith("no num"))


def test_no_attempts_are_proposed_where_any_drop_counts(proposals):
    """A number that is no rate has no smallest drop, unless the file names one."""
    seconds = structs.replace(QUIET, is_rate=False)
    assert proposals("  baseline: true\n", seconds) == []


def test_a_threshold_is_moved_to_where_the_runs_seldom_fall(proposals):
    found = proposals('  thresholds: {mean_reward: ">= 0.79"}\n', NOISY)
    (wider,) = of_key(found, ("thresholds", "mean_reward"))
    least = 0.8 - NOISY.drop(0.01)
    bound = float(wider.value.strip('"').removeprefix(">= "))
    assert bound == pytest.approx(least, abs=1e-4)
    assert bound <= least
    assert wider.why.startswith(f"threshold >= {bound:g} fails 1 % of such runs, ")


def test_a_threshold_is_the_same_whatever_a_further_run_is_compared_with(proposals):
    keys = '  thresholds: {mean_reward: ">= 0.79"}\n'
    against_one = of_thresholds(proposals(keys, SINGLE))
    assert against_one == of_thresholds(proposals(keys, NOISY))


def test_an_upper_threshold_is_moved_upwards(proposals):
    found = proposals('  thresholds: {mean_reward: "<= 0.81"}\n', NOISY)
    (wider,) = of_key(found, ("thresholds", "mean_reward"))
    most = 0.8 + NOISY.drop(0.01)
    bound = float(wider.value.strip('"').removeprefix("<= "))
    assert bound == pytest.approx(most, abs=1e-4)
    assert bound >= most


def test_both_ends_of_a_threshold_are_moved_by_hand(proposals):
    keys = "  thresholds: {mean_reward: {min: 0.79, max: 0.81}}\n"
    found = of_thresholds(proposals(keys, NOISY))
    assert [proposal.key for proposal in found] == [(), ()]


def test_a_threshold_with_room_is_left_as_it_is(proposals):
    found = proposals('  thresholds: {mean_reward: ">= 0.3"}\n', NOISY)
    assert of_thresholds(found) == []


def test_a_threshold_as_far_away_as_is_proposed_is_left_as_it_is(proposals):
    noise = Noise(values=(-1.0, 0.0, 1.0), tasks=0.5, pooled=True)
    room = noise.drop(0.01)
    exact = proposals(f'  thresholds: {{mean_reward: ">= {-room!r}"}}\n', noise)
    assert of_thresholds(exact) == []
    near = proposals(f'  thresholds: {{mean_reward: ">= {-0.99 * room!r}"}}\n', noise)
    assert len(of_thresholds(near)) == 1


def test_a_threshold_on_an_intervals_end_is_left_as_it_is(proposals):
    keys = "  thresholds: {mean_reward: {min: 0.79, bound: lower}}\n"
    assert of_thresholds(proposals(keys, NOISY)) == []


def test_of_several_metrics_the_largest_drop_counts():
    settings = {}
    for value in ("0.02", "0.1", "0.03"):
        Proposal("why", ("baseline", "max_drop"), value).add_to(settings)
    assert settings == {("baseline", "max_drop"): "0.1"}


def test_a_proposal_without_a_key_changes_no_file():
    settings = {}
    Proposal("why").add_to(settings)
    assert settings == {}


@pytest.mark.parametrize(
    ("share", "text"), [(0.01, "1 %"), (0.1234, "12 %"), (0.00056, "0.056 %")]
)
def test_a_share_is_written_with_two_digits(share, text):
    assert percent(share) == text
