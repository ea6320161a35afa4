"""What is said of a comparison that does not hold, and the way out."""

import pytest
from msgspec import structs

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.blindness import FewRuns
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import ComparisonFacts, RuleName, RuleSettings
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.reports.sentences import hint_of, reason_of
from pytest_evalmetrics.reports.sentences.comparisons import names_metric, values_text

RULE = RuleSettings(
    rule=RuleName.PRACTICAL,
    direction=Direction.HIGHER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.01,
)
ACCEPT = "accept it with `pytest --evalmetrics-update`"
RECORD = "record a new baseline with `pytest --evalmetrics-update`"


def check(reason, **fields):
    fields = {"verdict": Verdict.FAIL, "bound": RuleBound(RULE), **fields}
    return Check(
        gate=Gate.BASELINE,
        name="pass@1",
        reasons=(reason,),
        acceptance=Acceptance.SNAPSHOT,
        **fields,
    )


CONFIRMED = kinds.Confirmation(
    tasks=6,
    controls=5,
    rollouts=4,
    is_confirmed=True,
    p_first=0.002,
    p_both=0.00031,
    drop_first=0.5,
    drop_second=0.25,
)
SHIFT = kinds.JudgeShift(
    score="quality",
    anchors=40,
    shift=-0.1,
    low=-0.15,
    high=-0.05,
    agreed_before=38,
    agreed_now=34,
)
TEXTS = {
    "a second round confirms it": (
        CONFIRMED,
        (
            "confirmed by 4 more rollouts of the 6 tasks that got worse and of 5 others; their "
            "drop was 0.5 in the first round and 0.25 in the second; p = 0.002 in the first "
            "round and 0.00031 in both rounds together"
        ),
    ),
    "a second round without numbers": (
        structs.replace(CONFIRMED, is_confirmed=False, p_first=None, drop_second=None),
        "not confirmed by 4 more rollouts of the 6 tasks that got worse and of 5 others",
    ),
    "the judge moved": (
        kinds.Attributed(kinds.MovedBy.JUDGE, SHIFT),
        (
            "the judge moved by -0.1 on 40 anchors (99 % interval -0.15 to -0.05): it says what "
            "people say on 34 of 40, and did on 38 at the baseline"
        ),
    ),
    "the system moved": (
        kinds.Attributed(kinds.MovedBy.SYSTEM, SHIFT),
        (
            "it is the system: the judge moved by -0.1 on 40 anchors (99 % interval -0.15 to "
            "-0.05)"
        ),
    ),
    "either moved": (
        kinds.Attributed(kinds.MovedBy.UNCLEAR, SHIFT),
        (
            "the anchors can't tell the judge from the system: the judge moved by -0.1 on 40 "
            "anchors (99 % interval -0.15 to -0.05), which may be as much as the drop"
        ),
    ),
    "few units": (
        kinds.Untested("few_units"),
        "too few tasks, or clusters, to test a drop: at least two are needed",
    ),
    "no bound": (kinds.Untested("no_bound"), "too few tasks to bound the drop"),
    "by a hook": (
        kinds.Untested("by_hook", metric="cost", rule="practical"),
        "cost is computed by a hook, without tasks: rule practical can't test it",
    ),
    "no interval": (
        kinds.Untested("no_interval", metric="p99/x", rule="practical"),
        "p99/x has no interval: the rule practical can't judge it",
    ),
    "no interval, with a reason": (
        kinds.Untested(
            "no_interval", words="too few rows", metric="p99/x", rule="practical"
        ),
        "p99/x has no interval: too few rows: the rule practical can't judge it",
    ),
    "resampled": (
        kinds.Untested("resampled", words="of one label"),
        "on resampled tasks it is not defined: of one label",
    ),
    "the statistic's words": (kinds.Untested("words", words="no rank"), "no rank"),
    "few runs": (
        kinds.BlindGate(FewRuns(runs=2, alpha=0.01)),
        (
            "all is lost, but 2 runs of the baseline can't show how much runs differ by chance: "
            "p < 0.01 needs more of them, or a stated `run_noise:`"
        ),
    ),
    "missing rewards decide": (
        kinds.MissingDecide("pass@1", baseline=0.8, current=0.65),
        "missing rewards decide the verdict: at their worst pass@1 would be 0.65 against 0.8",
    ),
    "lost where it fails": (
        kinds.LostWhereItFails(
            "pass@1", baseline=0.8, current=0.65, p_side=0.001, p_outcome=0.02
        ),
        (
            "more is missing than in the baseline (p = 0.001), in tasks that did otherwise than "
            "the rest (p = 0.02): at their worst pass@1 would be 0.65 against 0.8"
        ),
    ),
    "noise between runs": (
        kinds.UnknownRunNoise(sd=0.012),
        (
            "one run in the baseline does not show the noise between runs, of which an sd of "
            "0.012 would explain this drop"
        ),
    ),
    "one of many benchmarks": (
        kinds.SharedLevel(alpha=0.01, benchmarks=20, is_surest=False),
        "p < 0.01, but one of 20 benchmarks may be by chance",
    ),
    "one of many, and never surer": (
        kinds.SharedLevel(alpha=0.01, benchmarks=20, is_surest=True),
        "p < 0.01, but one of 20 benchmarks may be by chance, and it can't be surer than that",
    ),
    "nothing can fail": (
        kinds.NothingCanFail("pass@1", tasks=3, rollouts=1, alpha=0.01),
        (
            "the baseline is not recorded: from 3 tasks with 1 rollout of each, no loss of "
            "pass@1 could be proven at p < 0.01, not even that of everything, so nothing could "
            "ever fail"
        ),
    ),
    "a real drop that is small": (
        kinds.SmallDrop(p=0.0002, max_drop=0.01),
        "a real drop (p = 0.0002), but under max_drop 0.01",
    ),
    "a hidden drop": (
        kinds.HiddenDrop(drop=0.25, p=0.0004, task="t7", before=1.5, now=90.0),
        (
            "most tasks got worse, by 0.25 on average (p = 0.0004, by the ranks of rollouts "
            "within tasks), and a few extreme rollouts hide it in the mean: task t7 went from "
            "1.5 to 90"
        ),
    ),
    "not shown to be no worse": (
        kinds.NotShown(upper=0.0345, max_drop=0.01),
        (
            "the drop may be as large as 0.0345, which is more than 0.01: not shown to be no "
            "worse"
        ),
    ),
    "power is unknown": (
        kinds.LowPower(wanted=0.05, visible=None, none_differs=False),
        (
            "too few tasks or rollouts: the detectable drop is unknown, where require_mde is "
            "0.05"
        ),
    ),
    "power is low": (
        kinds.LowPower(wanted=0.05, visible=0.12, none_differs=False),
        (
            "too few tasks or rollouts: 80 % power to see drops of 0.12 or more, where "
            "require_mde is 0.05"
        ),
    ),
    "power of tasks that move alike": (
        kinds.LowPower(wanted=0.05, visible=0.12, none_differs=True),
        (
            "too few tasks or rollouts: no two tasks moved differently, but a drop of 0.12 may "
            "go unseen, where require_mde is 0.05"
        ),
    ),
    "no common task": (
        kinds.NothingInCommon("pass@1", excluded=0),
        "pass@1 can't be compared: the run and its baseline have no task in common",
    ),
    "no common task with values": (
        kinds.NothingInCommon("pass@1", excluded=3),
        "pass@1 can't be compared: none of its 3 common tasks has a value on both sides",
    ),
    "low coverage": (
        kinds.LowCoverage(
            "pass@1",
            paired=7,
            of=10,
            min_coverage=0.9,
            removed=("a", "b"),
            removed_count=2,
            left_out=("c",),
            left_out_count=1,
        ),
        (
            "pass@1 is not judged: 7 of the baseline's 10 tasks can be compared, and "
            "min_coverage is 90 %; gone: a, b; without a value on one side: c"
        ),
    ),
    "many are missing": (
        kinds.ManyMissing("pass@1", share=0.4567),
        "pass@1 can't be compared: 45.7 % of the rewards are missing",
    ),
    "no number in the baseline": (
        kinds.NoValue("cost"),
        "the baseline has no cost",
    ),
    "no number in the history": (
        kinds.NoValue("cost", words="the history has no run"),
        "the history has no run",
    ),
    "a number rose": (
        kinds.ValueChanged("cost", before=1.25, now=2.5),
        "cost rose from 1.25 to 2.5",
    ),
    "a number fell": (
        kinds.ValueChanged("score", before=2.5, now=1.25),
        "score fell from 2.5 to 1.25",
    ),
    "a part of the samples": (
        kinds.MissingSamples(samples=1500, of=2000, is_allowed=False),
        "the aggregates are over 1,500 of 2,000 samples, 25 % are missing",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_each_reason_has_its_sentence(case):
    reason, text = TEXTS[case]
    assert reason_of(check(reason)) == text


WAYS_OUT = {
    "the judge moved": (
        kinds.Attributed(kinds.MovedBy.JUDGE, SHIFT),
        f"pin the judge's version, or {RECORD}",
    ),
    "either moved": (kinds.Attributed(kinds.MovedBy.UNCLEAR, SHIFT), "add anchors"),
    "untested": (
        kinds.Untested("few_units"),
        (
            "give it a rule that needs no test, below `baseline: metrics:`, such as {rule: "
            "absolute, max_drop: 0.01}"
        ),
    ),
    "nothing can fail": (
        kinds.NothingCanFail("pass@1", tasks=3, rollouts=1, alpha=0.01),
        (
            "add tasks, or record more rollouts of each (`num_samples`); or gate it without a "
            "test: `baseline: {rule: absolute, max_drop: ...}`, `must_pass`, or `thresholds`"
        ),
    ),
    "one of many benchmarks": (
        kinds.SharedLevel(alpha=0.01, benchmarks=20, is_surest=False),
        f"look at the tasks; if the change is intended, {ACCEPT}",
    ),
    "a part of the samples": (
        kinds.MissingSamples(samples=1500, of=2001, is_allowed=False),
        (
            "run it without --limit; or, where this part is meant, allow it: expect: "
            "{max_missing: 26%}"
        ),
    ),
    "a part that is allowed": (
        kinds.MissingSamples(samples=1500, of=2000, is_allowed=True),
        "",
    ),
    "too few rollouts": (
        kinds.TooFewRollouts(
            (), count=1, of=4, expected=2, is_stated=True, is_allowed=False
        ),
        (
            "complete the run; or allow it: expect: {max_missing: 2%}, or expect: {rollouts: "
            "any}"
        ),
    ),
    "no direction": (
        kinds.UnknownDirection("mean/x", score="x", by_hook=False),
        (
            'write `baseline: {metrics: {"mean/x": {direction: higher}}}`, or lower where less '
            "is better"
        ),
    ),
    "declared as lower": (
        kinds.UnknownDirection("mean/x", score="x", by_hook=False, declared_lower=True),
        (
            'write `baseline: {metrics: {"mean/x": {direction: lower}}}`, or higher if more of '
            "it is"
        ),
    ),
    "a sum of other rollouts": (
        kinds.UnequalSums("sum/x", score="x", before=3, now=4),
        f"gate mean/x, or {RECORD}",
    ),
    "a renamed benchmark": (
        kinds.NoBaseline(renamed_from="sums"),
        (
            "record one with `pytest --evalmetrics-update` and commit it; or name it sums as "
            "before, whose baseline is unused"
        ),
    ),
    "another tool": (
        kinds.MeasurementChanged(
            "pass@1",
            (
                kinds.MeasurementChange(
                    kind=kinds.MeasuredBy.TOOL,
                    entry="tool harbor",
                    key="version",
                    before="1",
                    now="2",
                ),
            ),
        ),
        f"{RECORD}, or score today's run as the baseline's was",
    ),
    "another scorer": (
        kinds.MeasurementChanged(
            "pass@1",
            (
                kinds.MeasurementChange(
                    kind=kinds.MeasuredBy.SCORER,
                    entry="scorer judge",
                    key="prompt",
                    before="1",
                    now="2",
                ),
            ),
        ),
        (
            f"{RECORD}; with `baseline: {{rescore: true}}` its rows are kept, and scored again "
            "then"
        ),
    ),
    "tasks without values": (
        kinds.NothingInCommon("pass@1", excluded=3),
        f"complete the run; or, if the change is intended, {ACCEPT}",
    ),
    "other tasks": (
        kinds.NothingInCommon("pass@1", excluded=0),
        (
            "run all tasks of the baseline; or, if the change is intended, record it with "
            "`pytest --evalmetrics-update --evalmetrics-accept-tasks`"
        ),
    ),
    "more tasks": (
        kinds.ExtraTasks(expected=3, found=5),
        (
            "look for another run's rollouts in the files; or, if the benchmark has grown, "
            "write expect: {tasks: 5}"
        ),
    ),
    "a baseline of a grown benchmark": (
        kinds.NotRecorded("incomplete", because=(kinds.ExtraTasks(3, 5),)),
        "if the benchmark has grown, write expect: {tasks: 5}, and record it then",
    ),
    "an incomplete baseline": (
        kinds.NotRecorded("incomplete"),
        "complete the run first; or say in `expect:` what is missing on purpose",
    ),
    "a baseline that drops tasks": (
        kinds.NotRecorded("drops_tasks"),
        "run all tasks; or, if the change is intended, add --evalmetrics-accept-tasks",
    ),
    "a run that can't be added": (
        kinds.NotRecorded("not_added"),
        "drop --evalmetrics-add-run to record it in place of those runs",
    ),
    "a report that is not this run's": (
        kinds.NotRecorded("not_as_reported"),
        "run pytest again, look at its report, and accept that",
    ),
    "a baseline that can't be written": (
        kinds.NotRecorded("not_written"),
        "give the right or the room to write there; what was there is as it was",
    ),
}


@pytest.mark.parametrize("case", WAYS_OUT)
def test_each_reason_has_its_way_out(case):
    reason, way_out = WAYS_OUT[case]
    assert hint_of(check(reason)) == way_out


def test_a_rule_of_ones_own_that_warns_leaves_the_way_out_open():
    failed = check(kinds.OwnRule(words="x"))
    warned = check(kinds.OwnRule(words="x"), verdict=Verdict.WARN)
    assert ACCEPT in hint_of(failed)
    assert ACCEPT not in hint_of(warned)


SLICE = kinds.WorseSlice(
    name="mean_reward[lang=de]",
    before=0.9,
    now=0.6,
    p=0.0004,
    tasks=20,
    worse=2,
    worst=("t3", "t7"),
)
TASK = kinds.WorseTask(task="t3", before=1.0, now=0.25, p=0.00031, log10_p=-3.5)
SINGLE_TASKS = {
    "a slice": (
        kinds.WorseSlices(slices=(SLICE,), count=1, of=4),
        (
            "1 of 4 slices got worse: mean_reward[lang=de] (0.9 to 0.6, p = 0.0004; 2 of its 20 "
            "tasks: t3, t7)"
        ),
    ),
    "a task": (
        kinds.WorseTasks(tasks=(TASK,), count=1, of=30, reward="reward"),
        "1 of 30 tasks got worse by their rollouts: t3 (1 to 0.25, p = 0.00031)",
    ),
    "a task beyond the smallest number": (
        kinds.WorseTasks(
            tasks=(structs.replace(TASK, p=0.0, log10_p=-412.3),),
            count=1,
            of=30,
            reward="reward",
        ),
        "1 of 30 tasks got worse by their rollouts: t3 (1 to 0.25, p = 1e-413)",
    ),
    "must_pass": (
        kinds.MustPassFailed(tasks=(kinds.PassCount("t1", 1, 4),), count=1, of=2),
        "1 of 2 tasks of must_pass failed: t1 (1 of 4 rollouts pass)",
    ),
    "in quarantine": (
        kinds.Quarantined(
            kinds.PassCount("t1", 1, 4), until="2026-12-31", why="flaky", is_over=False
        ),
        "task t1 is measured and not gated until 2026-12-31: flaky; 1 of 4 rollouts pass",
    ),
    "after its quarantine": (
        kinds.Quarantined(
            kinds.PassCount("t1", 1, 4), until="2026-01-31", why="flaky", is_over=True
        ),
        "the quarantine of task t1 ended on 2026-01-31: flaky; 1 of 4 rollouts pass",
    ),
}


@pytest.mark.parametrize("case", SINGLE_TASKS)
def test_each_reason_about_tasks_has_its_sentence(case):
    reason, text = SINGLE_TASKS[case]
    assert reason_of(check(reason)) == text


FACTS = ComparisonFacts(baseline=0.5, current=0.4, drop=0.1, tasks=20)


@pytest.mark.parametrize(
    ("current", "text"),
    [
        (0.4, "pass@1 fell from 0.5 to 0.4"),
        (0.6, "pass@1 rose from 0.5 to 0.6"),
        (0.5, "pass@1 went from 0.5 to 0.5"),
    ],
)
def test_both_values_are_given_with_the_way_they_went(current, text):
    facts = structs.replace(FACTS, current=current)
    assert values_text("pass@1", facts) == text


NOTHING_COMMON = kinds.NothingInCommon("pass@1", excluded=0)
SMALL = kinds.SmallDrop(p=0.001, max_drop=0.01)


@pytest.mark.parametrize(
    ("verdict", "reason", "facts", "is_named"),
    [
        (Verdict.FAIL, SMALL, FACTS, True),
        (Verdict.PASS, SMALL, FACTS, False),
        (Verdict.FAIL, SMALL, None, False),
        (Verdict.FAIL, SMALL, structs.replace(FACTS, tasks=0), False),
        (Verdict.INCONCLUSIVE, NOTHING_COMMON, FACTS, True),
    ],
)
def test_the_sentence_of_a_change_begins_with_its_metric(
    verdict, reason, facts, is_named
):
    judged = check(reason, verdict=verdict, comparison=facts)
    assert names_metric(judged) is is_named
