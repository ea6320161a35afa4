"""Slices beside the whole: from rows to verdicts."""

from stages.making import against, benchmark, given, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import sentences


def passes(passed, rollouts=4):
    return [1] * passed + [0] * (rollouts - passed)


# 200 tasks in five languages, 12 of them German
LANGUAGES = ["de"] * 12 + ["en", "fr", "it", "es"] * 47


def result_of(folder, before, now, keys="breakdown: [lang]\n", rest=""):
    write_rows(folder, "old.jsonl", before, lang=LANGUAGES)
    write_rows(folder, "new.jsonl", now, lang=LANGUAGES)
    asked = benchmark(folder, f"metrics: [mean_reward]\n{keys}{against(rest=rest)}")
    return evaluate(given(asked)).result


def named(result, name):
    (check,) = [check for check in result.checks if check.name == name]
    return check


OTHERS = [passes(2), passes(3)] * 94
BETTER = [passes(3), passes(3)] * 94
GERMAN = [passes(4)] * 12
COLLAPSED = [passes(1), passes(2), passes(1), passes(1)] * 3


def test_a_slice_that_collapses_under_a_rising_mean_fails_by_name(tmp_path):
    result = result_of(tmp_path, GERMAN + OTHERS, COLLAPSED + BETTER)
    assert named(result, "mean_reward").verdict is Verdict.PASS
    check = named(result, "slices")
    assert check.verdict is Verdict.FAIL
    (worse,) = check.reasons[0].slices
    assert worse.name == "mean_reward[lang=de]"
    assert worse.before == 1.0
    assert worse.now == 0.3125
    assert worse.worst[0] == "t0"


def test_the_message_names_the_slice_its_numbers_and_its_tasks(tmp_path):
    result = result_of(tmp_path, GERMAN + OTHERS, COLLAPSED + BETTER)
    text = sentences.reason_of(named(result, "slices"))
    assert text.startswith(
        "1 of 5 slices got worse: mean_reward[lang=de] (1 to 0.3125, p = "
    )
    assert "12 of its 12 tasks: t0, t2, t3" in text


def test_beside_a_median_alone_the_mean_reward_of_slices_is_tested(tmp_path):
    write_rows(tmp_path, "old.jsonl", GERMAN + OTHERS, lang=LANGUAGES)
    write_rows(tmp_path, "new.jsonl", COLLAPSED + BETTER, lang=LANGUAGES)
    keys = f"metrics: [median]\nbreakdown: [lang]\n{against()}"
    result = evaluate(given(benchmark(tmp_path, keys))).result
    assert named(result, "median").verdict is Verdict.PASS
    check = named(result, "slices")
    assert check.verdict is Verdict.FAIL
    assert check.reasons[0].slices[0].name == "mean_reward[lang=de]"


def test_slices_that_did_not_change_pass(tmp_path):
    result = result_of(tmp_path, GERMAN + OTHERS, GERMAN + OTHERS)
    check = named(result, "slices")
    assert check.verdict is Verdict.PASS
    assert check.bound == SlicesBound(0.0012)


def test_the_whole_keeps_all_of_its_level_but_the_share_of_slices(tmp_path):
    result = result_of(tmp_path, GERMAN + OTHERS, GERMAN + OTHERS)
    assert named(result, "mean_reward").bound.settings.alpha == 0.0088


def test_without_a_breakdown_no_slice_is_tested(tmp_path):
    result = result_of(tmp_path, GERMAN + OTHERS, GERMAN + OTHERS, keys="")
    assert "slices" not in [check.name for check in result.checks]
    assert named(result, "mean_reward").bound.settings.alpha == 0.01


def test_a_rule_without_a_test_tests_no_slice(tmp_path):
    rest = ", rule: absolute, max_drop: 0.1"
    result = result_of(tmp_path, GERMAN + OTHERS, GERMAN + OTHERS, rest=rest)
    assert "slices" not in [check.name for check in result.checks]


def test_a_slice_that_falls_as_runs_scatter_passes(tmp_path):
    result = result_of(
        tmp_path, GERMAN + OTHERS, COLLAPSED + BETTER, rest=", run_noise: 20%"
    )
    assert named(result, "slices").verdict is Verdict.PASS


def test_a_slice_is_told_without_the_noise_between_runs(tmp_path):
    result = result_of(
        tmp_path, GERMAN + OTHERS, COLLAPSED + BETTER, rest=", run_noise: 2%"
    )
    (slice_,) = named(result, "slices").reasons[0].slices
    assert slice_.before == 1.0
