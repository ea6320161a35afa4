"""Notes: a sentence for each kind, and one line for notes of one group."""

from typing import get_args

import msgspec
import pytest

from pytest_evalmetrics.model import gate_notes as gates
from pytest_evalmetrics.model import rollout_notes as rollouts
from pytest_evalmetrics.model import run_notes as runs
from pytest_evalmetrics.model import scoring_notes as scoring
from pytest_evalmetrics.model.blindness import AllLost
from pytest_evalmetrics.model.notes import Note, OfReference, Remark
from pytest_evalmetrics.model.results import StopForecast
from pytest_evalmetrics.model.scores import RowFailure
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.reports.sentences.notes import note_text
from pytest_evalmetrics.reports.sentences.run_notes import stop_forecast_text

RENEW = "record a new baseline with `pytest --evalmetrics-update`"
DOWN = RowFailure(
    index=0, row="rows.jsonl:1", kind="http-500", reason="it is down", hint="wait"
)
SLOW = RowFailure(index=0, row="r.jsonl:1", kind="late", reason="it took 9 s")

OF_ROLLOUTS = [
    (
        rollouts.NumbersCountAsMissing("f1", "NaN", 2, first="a.jsonl:3"),
        "f1: 2 values are NaN and count as missing (a.jsonl:3)",
    ),
    (
        rollouts.NumbersCountAsMissing("f1", "null", 1),
        "f1: 1 value is null and counts as missing",
    ),
    (
        rollouts.TextsCountAsMissing("f1", "a.jsonl:3"),
        "f1: in some rows this is not a number and counts as missing, first in a.jsonl:3",
    ),
    (
        rollouts.FailedRollouts("timeout", is_graded=False, rollouts=2, first="a:1"),
        "timeout: 2 rollouts without a score, which is missing (first a:1)",
    ),
    (
        rollouts.FailedRollouts("timeout", is_graded=True, rollouts=1, first="a:1"),
        "timeout: 1 rollout graded all the same (first a:1)",
    ),
    (
        rollouts.MixedQuestions(2, "t1"),
        (
            "2 tasks have rollouts of different questions, such as 't1': content does not "
            "pair these tasks. Where two data sets share ids, give each its own benchmark"
        ),
    ),
    (
        rollouts.EditedTask("t1", 2, agent="coder"),
        (
            "the task 't1' of the agent 'coder' has rollouts of 2 versions, which count as "
            "one task: was it edited in the middle of the run, or does the path match "
            "several runs?"
        ),
    ),
    (
        rollouts.AgreeingAttempts(2, 3, "question"),
        (
            "2 files hold the same 3 task ids; 'question' agrees in their rows, so these are "
            "attempts"
        ),
    ),
    (
        rollouts.FurtherAttempts("b.json", "a.json"),
        (
            "b.json has the tasks of a.json, and is read as further attempts at them; "
            "reports of several models need a benchmark each"
        ),
    ),
    (
        rollouts.FilteredRows("", "split", ("dev", "test"), 9, 4, 2, "t1"),
        (
            "where: leaves out 4 of 9 rows, whose split is not dev or test; 2 tasks have no "
            "row left, such as t1"
        ),
    ),
    (
        rollouts.UnjoinedRows(1, "a.jsonl:1"),
        "join: 1 row without the other half, the first at a.jsonl:1",
    ),
    (
        rollouts.UnclearColumn("tokens", "1.250", "a.csv:2"),
        (
            "tokens is left out: '1.250' at a.csv:2 may have a thousands separator; say with "
            "decimal: which sign it has"
        ),
    ),
    (
        rollouts.UnreadList("a.json", "errors", 3),
        "a.json: 3 values of 'errors' beside the rows are not read: are tasks missing?",
    ),
    (
        rollouts.OtherNumberStated("a.json", "accuracy", 0.5, 0.25),
        "a.json: accuracy is 0.5, and the rollouts give 0.25",
    ),
    (
        rollouts.AggregatesAlone("a.json"),
        (
            "a.json holds aggregates without samples: a drop is judged by Welch's test "
            "of their standard errors, which pairs no questions"
        ),
    ),
    (
        rollouts.AggregatesAlone("a.json", option="--log_samples"),
        (
            "a.json holds aggregates without samples: a drop is judged by Welch's test "
            "of their standard errors, which pairs no questions; with --log_samples a "
            "smaller one is seen"
        ),
    ),
    (
        rollouts.GroupsLeftOut("a.json", ("mmlu", "bbh")),
        "a.json: groups are left out: mmlu, bbh",
    ),
    (
        rollouts.ScoredOnce("a.jsonl", 3),
        (
            "a.jsonl: each document was answered 3 times and scored once, which makes it "
            "one rollout"
        ),
    ),
    (
        rollouts.LimitedRun("a.json", documents=10, of=200),
        "a.json: the run was limited to 10 of the 200 documents of its task",
    ),
    (
        rollouts.OtherInstancesLeftOut("a.json", 4),
        ("a.json: instances of other splits, or with perturbations, are left out: 4"),
    ),
    (
        rollouts.UnfinishedRun("a.eval", "cancelled"),
        "a.eval: the status of this eval is 'cancelled'",
    ),
    (
        rollouts.UnsubmittedInstances("a.json", 2),
        "a.json: instances that were not submitted are left out: 2",
    ),
    (
        rollouts.AmbiguousFailures("a.json", 2),
        (
            "a.json: unresolved instances whose environment may have failed "
            "(failure_reasons) count as unresolved: 2"
        ),
    ),
    (
        rollouts.OtherReducers("f1", ("max", "median")),
        (
            "f1: the log's own numbers reduce the epochs of a sample by max, median, and "
            "mean_reward is the mean of all epochs"
        ),
    ),
    (
        rollouts.MetricsLeftOut(("pass@1", "pass_rate")),
        "left out, because there are no rollouts: pass@1, pass_rate",
    ),
    (
        rollouts.SliceWithoutRewards("lang", "de", 3),
        "breakdown: lang = de is left out, because none of its 3 rollouts has a reward",
    ),
    (
        rollouts.SliceWithoutRewards("lang", "de", 1),
        "breakdown: lang = de is left out, because its only rollout has no reward",
    ),
    (
        rollouts.UndefinedSlice("auc[lang=de] is undefined: all rows have one outcome"),
        "breakdown: left out: auc[lang=de] is undefined: all rows have one outcome",
    ),
    (
        rollouts.CorrectedMean(
            metric="ppi_mean",
            value=0.625,
            low=0.5,
            high=0.75,
            level=0.95,
            judged=0.7,
            labelled=40,
            agent="coder",
        ),
        (
            "coder: ppi_mean is 0.625 (95 % interval 0.5 to 0.75): the judge's 0.7, "
            "corrected by people's labels of 40 rollouts"
        ),
    ),
    (
        rollouts.TooFewLabels("ppi_mean", 2, 5),
        "ppi_mean is undefined: 2 labelled tasks are too few: 5 are needed",
    ),
]
OF_SCORING = [
    (scoring.DrawnSample(5, 40), "sample: 5 of 40 tasks"),
    (
        scoring.DrawnSample(
            5,
            40,
            by="lang",
            groups=(scoring.DrawnGroup("de", 2, 10), scoring.DrawnGroup("en", 3, 30)),
        ),
        "sample: 5 of 40 tasks, by lang: de 2 of 10, en 3 of 30",
    ),
    (
        scoring.LimitedRows(2, 9),
        (
            "incomplete on purpose: params.limit_samples takes the first 2 of 9 rows, and no "
            "baseline is recorded"
        ),
    ),
    (
        scoring.FailedRequestsLeftOut(3, 8, 1, 4),
        (
            "left out of every metric: 3 of 8 rollouts, whose request failed, because "
            "params.ignore_request_failure says so; 1 of 4 tasks has none left"
        ),
    ),
    (
        scoring.FailedRequestsLeftOut(3, 8, 0, 4),
        (
            "left out of every metric: 3 of 8 rollouts, whose request failed, because "
            "params.ignore_request_failure says so"
        ),
    ),
    (
        scoring.DefaultReward("strict", "drop"),
        (
            "the reward is strict, the stricter score of drop: write `reward:` for another "
            "one"
        ),
    ),
    (
        scoring.ConstantRequest("scorers[0].body"),
        "scorers[0].body has no template: each row asks the same",
    ),
    (
        scoring.UntrustedValues("llm-judge", ("response", "item.notes")),
        (
            "the prompt of llm-judge has response, item.notes as written in the row, where a "
            "text can talk to the judge: write {{ response | untrusted }}"
        ),
    ),
    (
        scoring.KeyInFile(),
        (
            "the benchmark file holds a key: it is hidden in reports, but everyone who reads "
            "the file has it; write the name of an environment variable instead"
        ),
    ),
    (
        scoring.KeyInUrl(),
        (
            "a URL holds a key: it is hidden in reports, but proxies and servers log URLs; "
            "api_key_secret sends it in a header"
        ),
    ),
    (
        scoring.KeyInUrl("MY_KEY"),
        (
            "a URL holds the value of MY_KEY: it is hidden in reports, but proxies and "
            "servers log URLs; api_key_secret sends it in a header"
        ),
    ),
    (
        scoring.KeysInTaskIds(2),
        "2 task ids with a key in it: it is hidden in baselines and reports",
    ),
    (
        scoring.UnscoredRows(("f1",), "http-500", 1, 4, DOWN),
        "1 of 4 rows has no f1 (http-500), at rows.jsonl:1: it is down (wait)",
    ),
    (
        scoring.UnscoredRows(("f1", "em"), "late", 2, 4, SLOW, of_baseline=True),
        (
            "of the baseline's rows: 2 of 4 rows have no f1, em (late), such as r.jsonl:1: "
            "it took 9 s"
        ),
    ),
    (
        scoring.CutAnswers(1, 4),
        (
            "1 of 4 answers was cut off at the most tokens that the model may write "
            "(finish_reason: length): raise max_tokens; the score truncated says which"
        ),
    ),
    (
        scoring.UncountedTokens(2, 4),
        "2 of 4 answers don't say how many tokens they took",
    ),
    (
        scoring.JudgeAgainstItself("quality", 0.8125, 3, 20),
        (
            "quality: the judge agrees with itself by Krippendorff's alpha 0.812, over 3 "
            "answers to each of 20 rows"
        ),
    ),
    (
        scoring.JudgeAgainstPeople("quality", 15, 20, 0.5),
        "judge check: quality is what people say in 15 of 20 labelled rows (kappa 0.5)",
    ),
    (
        scoring.JudgeAgainstPeople("quality", 15, 20, None, "all labels are equal"),
        (
            "judge check: quality is what people say in 15 of 20 labelled rows (all labels "
            "are equal)"
        ),
    ),
    (
        scoring.JudgeAgainstPeople("quality", None, 0, None, "no row was scored"),
        "judge check: no row was scored",
    ),
    (
        scoring.UnscoredAnchors("quality", 1, 20),
        (
            "1 of 20 anchors has no quality of its own: not scored, or the same row as "
            "another one"
        ),
    ),
]
OF_GATES = [
    (
        gates.NothingGated("pass@1", 2),
        (
            "nothing is gated: add `thresholds:` or `baseline:` below line 2, such as "
            '`thresholds: {pass@1: ">= 0.9"}`'
        ),
    ),
    (
        gates.NothingGated("pass@1", 2, in_python=True),
        (
            "nothing is gated: give thresholds= or baseline=, such as "
            'thresholds={"pass@1": ">= 0.9"}'
        ),
    ),
    (
        gates.UncheckedTasks(tasks=2, rollouts=4, line=3, agent="coder"),
        (
            "completeness is unchecked: 2 tasks of coder were found, and nothing says how "
            "many there are: add `expect: {tasks: 2}` and `num_samples: 4` below line 3"
        ),
    ),
    (
        gates.UncheckedTasks(tasks=1, rollouts=None, line=3),
        (
            "completeness is unchecked: 1 task was found, and nothing says how many there "
            "are: add `expect: {tasks: 1}` below line 3"
        ),
    ),
    (
        gates.UncheckedTasks(tasks=2, rollouts=None, line=3, in_python=True),
        (
            "completeness is unchecked: 2 tasks were found, and nothing says how many there "
            'are: give expect={"tasks": 2}'
        ),
    ),
    (
        gates.MetricOfPart(metric="mean/f1", score="f1", rollouts=3, missing=1),
        "mean/f1 is of 3 rollouts: 1 of 4 rollouts has no finite f1",
    ),
    (
        gates.MetricOfPart(
            metric="macro_f1", score="", rollouts=3, missing=1, agent="coder"
        ),
        (
            "coder: macro_f1 is of 3 rollouts: 1 of 4 rollouts has nothing that macro_f1 "
            "reads"
        ),
    ),
    (
        gates.UngroupedRollouts(field="lang", lacking=1, rollouts=3),
        "1 of 3 rollouts has no lang, so that no gated metric of its values counts them",
    ),
    (
        gates.MisplacedPassThreshold(
            score="reward",
            threshold=5,
            all_pass=False,
            nearest=0.9,
            metrics=("pass@1", "pass_rate"),
            line=4,
        ),
        (
            "no reward reaches pass_threshold 5 (the largest is 0.9), so that pass@1, "
            "pass_rate can't be above 0: set pass_threshold, line 4, to what passes"
        ),
    ),
    (
        gates.MisplacedPassThreshold(
            score="reward",
            threshold=0,
            all_pass=True,
            nearest=0.1,
            metrics=("pass@1",),
            line=4,
            agent="coder",
        ),
        (
            "coder: each reward reaches pass_threshold 0 (the least is 0.1), so that pass@1 "
            "can't be below 1: set pass_threshold, line 4, to what passes"
        ),
    ),
    (
        gates.BlindThreshold(
            metric="pass@1", least=0, most=None, line=5, words="a rate, from 0 to 1"
        ),
        "the threshold >= 0 of line 5 can't fail: pass@1 is a rate, from 0 to 1",
    ),
    (
        gates.SingleTasksNotGated(),
        "single tasks are not gated: the file says `single_tasks: false`",
    ),
    (
        gates.PairedById(Acceptance.OTHER_RUN),
        (
            "tasks are paired by id alone: the baseline's run holds no content of its tasks "
            "yet; compare with a run that holds it"
        ),
    ),
    (
        gates.PairedByPosition(),
        (
            "tasks are paired by position alone: their ids are numbers of rows, which change "
            "where a row is added; say what identifies a task with `fields: {content: KEY}`, "
            "such as the key of its question"
        ),
    ),
    (
        gates.RunNoiseOfNeighbours(2),
        (
            "the baseline has one run: the noise between runs is taken from 2 other "
            "benchmarks whose baselines are beside it"
        ),
    ),
    (
        gates.RunNoiseOfHistory(),
        (
            "the baseline has one run: the noise between runs is taken from earlier "
            "runs in the history"
        ),
    ),
    (
        gates.FewBaselineRuns(2),
        (
            "the baseline has 2 runs, which show little of the noise between runs, so that "
            "only large drops fail: record five or more, or declare `run_noise:`"
        ),
    ),
    (
        gates.PinnedSystemMoved(
            metric="over_reference", before=0.5, now=0.25, agent="coder"
        ),
        (
            "coder: the mean reward of the reference was 0.5, and is 0.25: over_reference is "
            "free of what shifts both"
        ),
    ),
    (
        gates.NoFingerprint(Acceptance.SNAPSHOT),
        (
            "the baseline holds no fingerprint of what measures: another scorer, judge or "
            f"prompt goes unseen until you {RENEW}"
        ),
    ),
    (
        gates.UnannouncedCode("1.2"),
        (
            "the code of the target changed since the baseline, and its version (1.2) did "
            "not: its answers are new"
        ),
    ),
    (
        gates.NoAnchorScores(Acceptance.HISTORY),
        (
            "the history keeps no scores of the anchors (three or more of the same): the "
            "judge can't be told from the system until you accept it with "
            "`pytest --evalmetrics-update --evalmetrics-history FILE`"
        ),
    ),
    (
        gates.BetterThanBaseline(
            metric="pass@1", before=0.5, now=1, is_committed=False, agent="coder"
        ),
        "better than the baseline: coder: pass@1 went from 0.5 to 1",
    ),
    (
        gates.BetterThanBaseline(metric="pass@1", before=0.5, now=1, is_committed=True),
        (
            "better than the baseline: pass@1 went from 0.5 to 1; record it with "
            "`pytest --evalmetrics-update`"
        ),
    ),
    (
        gates.BlindBaseline(metrics=("pass@1",), cause=AllLost(0.01), agent="coder"),
        (
            "coder: no loss of pass@1 can fail against this baseline: all is lost, but "
            "too few tasks had anything to lose for p < 0.01"
        ),
    ),
    (
        gates.BlindBaseline(metrics=tuple("abcdefg"), cause=AllLost(0.01)),
        (
            "no loss of a, b, c, d, e and 2 more can fail against this baseline: all is "
            "lost, but too few tasks had anything to lose for p < 0.01"
        ),
    ),
    (
        gates.AcceptedBefore("pass@1", 0.5),
        (
            "evalmetrics-accepted.yaml: pass@1 0.5 was accepted in an earlier run, and "
            "counts no more: remove the entry"
        ),
    ),
    (
        gates.AcceptedNow("pass@1", 0.75, 0.5, "a harder prompt"),
        "accepted by evalmetrics-accepted.yaml: pass@1 from 0.75 to 0.5: a harder prompt",
    ),
    (
        gates.UnreadTranscripts(1, 8),
        "behaviour: 1 of 8 rollouts has no transcript that can be read",
    ),
    (
        gates.SampledBehaviour(100, 900),
        "behaviour: 100 of 900 tasks are compared, chosen by a hash, for speed",
    ),
    (
        gates.NoRecordedBehaviour(Acceptance.SNAPSHOT),
        f"behaviour: the baseline holds none, so nothing is compared: {RENEW}",
    ),
    (
        gates.OtherFormOfAnswers(Acceptance.SNAPSHOT),
        (
            "behaviour: answers are not compared, of which the baseline keeps another form: "
            f"{RENEW}"
        ),
    ),
]
OF_RUNS = [
    (
        runs.StoppedEarly(look=2, looks=4, rollouts=2, most=8, tasks=10),
        (
            "num_samples: stopped early, at look 2 of 4: 20 rollouts in place of 80, 75 % "
            "saved"
        ),
    ),
    (
        runs.StoppedAtLastLook(4),
        "num_samples: stopped at the last look, look 4 of 4: no gate was sure before",
    ),
    (
        runs.AllAtOnce(forgets=False),
        (
            "num_samples: all, because without the journal every round would pay again for "
            "those before"
        ),
    ),
    (
        runs.AllAtOnce(forgets=True),
        (
            "num_samples: all, because without the journal every round would pay again for "
            "those before; it keeps a target's answers only if the target has a version"
        ),
    ),
    (
        runs.SecondRoundFailed("it is down"),
        "confirm: the second round failed, and the first decides: it is down",
    ),
    (
        runs.NotRecordedXfail(),
        "its baseline is as it was: what is known to fail (xfail) is not recorded",
    ),
    (
        runs.BrokenHistoryLine("runs.jsonl:3", "JSON is malformed"),
        (
            "history: runs.jsonl:3: this is not a run: JSON is malformed; the line is left "
            "out"
        ),
    ),
    (
        runs.OtherHistorySchema("runs.jsonl:3", 9, 1),
        (
            "history: runs.jsonl:3: this run has the schema version 9, and 1 is known; the "
            "line is left out"
        ),
    ),
    (runs.FurtherBrokenLines(4), "history: and 4 more broken lines"),
    (
        runs.RunsNotCompared(1, 5, "other tasks"),
        "history: 1 of 5 runs is not compared with: other tasks",
    ),
    (
        runs.HistoryStartsAnew(),
        "accepted: from this run on its history counts anew",
    ),
    (
        runs.ReplacedName(
            kind="scorer", name="brief", place="a/conftest.py:3", replaced="c.py:9"
        ),
        "the scorer 'brief' is the one of a/conftest.py:3, which replaces that of c.py:9",
    ),
    (
        runs.ReplacedName(
            kind="metric", name="pass_rate", place="conftest.py:3", replaced=""
        ),
        (
            "the metric 'pass_rate' is the one of conftest.py:3, which replaces the built-in "
            "one"
        ),
    ),
    (
        runs.ReplacedBuiltin("pass_rate", "my_pkg.metrics:Rate"),
        "the metric 'pass_rate' is my_pkg.metrics:Rate, which replaces the built-in one",
    ),
    (
        runs.TaskGroupsApart(12_000, "group_level_metrics.json"),
        (
            "the entries of 12,000 tasks are in group_level_metrics.json, not in "
            "aggregate_metrics.json"
        ),
    ),
]
OTHERS = [
    (Remark("their own words"), "their own words"),
    (
        OfReference(scoring.CutAnswers(1, 4)),
        (
            "the reference: 1 of 4 answers was cut off at the most tokens that the model may "
            "write (finish_reason: length): raise max_tokens; the score truncated says which"
        ),
    ),
]
CASES = [*OF_ROLLOUTS, *OF_SCORING, *OF_GATES, *OF_RUNS, *OTHERS]


@pytest.mark.parametrize(("note", "text"), CASES)
def test_a_note_has_its_sentence(note, text):
    assert note_text(note) == text


@pytest.mark.parametrize(("note", "text"), CASES)
def test_a_note_crosses_processes_as_builtins(note, text):
    assert note_text(msgspec.convert(msgspec.to_builtins(note), Note)) == text


def test_each_kind_of_note_is_among_the_cases():
    assert {type(note) for note, _ in CASES} == set(get_args(Note))


def test_a_forecast_of_early_stops_gives_both_numbers_of_rollouts():
    forecast = StopForecast(most=8, unchanged=3.52, dropped=2.5)
    assert stop_forecast_text(forecast) == (
        "stops early, for one gate: after about 3.5 of 8 rollouts of each task if "
        "nothing changed, 2.5 at a drop seen with 80 % power"
    )


# -- groups


def test_notes_of_one_kind_are_one_group_whatever_their_numbers():
    first = gates.MetricOfPart(metric="f1", score="f1", rollouts=3, missing=1)
    second = gates.MetricOfPart(metric="em", score="em", rollouts=2, missing=2)
    assert first.group == second.group


def test_kinds_of_one_subject_are_one_group():
    assert scoring.KeyInFile().group == scoring.KeysInTaskIds(1).group


def test_kinds_without_a_subject_are_groups_of_their_own():
    assert gates.SingleTasksNotGated().group != runs.NotRecordedXfail().group


def test_remarks_of_others_are_one_group_if_they_say_the_same():
    assert Remark("group: a").group != Remark("group: b").group
    assert Remark("group: a").group == Remark("group: a").group


def test_failures_of_rollouts_are_grouped_by_the_word_of_their_tool():
    timeouts = rollouts.FailedRollouts("timeout", False, 2, "a.jsonl:1")
    crashes = rollouts.FailedRollouts("crash", False, 2, "a.jsonl:1")
    assert timeouts.group != crashes.group


def test_a_note_on_the_pinned_system_is_no_note_on_the_one_under_test():
    note = scoring.CutAnswers(1, 4)
    assert OfReference(note).group != note.group
