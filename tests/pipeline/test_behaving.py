"""What agents do, observed in rows, kept in a baseline and compared: without a pytest run."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from behaviour.making import CITY, row, run
from stages.making import no_scoring

from pytest_evalmetrics.behaviour.columns import texts_of
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError, RegistryError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.model.behaviour import (
    AnswerDistance,
    BehaviourFacts,
    ScoreChange,
)
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.gate_notes import (
    NoRecordedBehaviour,
    OtherFormOfAnswers,
    SampledBehaviour,
    UnreadTranscripts,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.pipeline import behaving, loading


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def asked(folder, behaviour, baseline="{rollouts: old.jsonl}", keys=""):
    """Read a benchmark of an agent's recorded rollouts."""
    text = f"""\
benchmark:
  name: agent
  rollouts: runs.jsonl
  metrics: [mean_reward]
  baseline: {baseline}
  behaviour: {behaviour}
  {keys}
"""
    path = folder / "agent.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (read,) = load_benchmarks(path, shown="agent.bench.yaml")
    return read


def input_of(benchmark, **settings):
    return EvaluationInput(
        benchmark=benchmark, item_id="agent.bench.yaml::agent", **settings
    )


@pytest.fixture
def compared(tmp_path):
    """Compare an agent with another run of it."""

    def compare(before, now, behaviour="true", *, keys="", **settings):
        write(tmp_path / "old.jsonl", before)
        write(tmp_path / "runs.jsonl", now)
        benchmark = asked(tmp_path, behaviour, keys=keys)
        return evaluate(input_of(benchmark, **settings)).result

    return compare


def behaviour_checks(result):
    return [check for check in result.checks if check.gate is Gate.BEHAVIOUR]


def change(facts, name):
    (found,) = [change for change in facts.changes if change.name == name]
    return found


# -- what is observed ------------------------------------------------------------------------


def observed(folder, rows, behaviour="true"):
    write(folder / "runs.jsonl", rows)
    prepared = loading.prepare(asked(folder, behaviour, baseline="true"), no_scoring)
    read = loading.read_rows(prepared, table=None, engine=None, has_hooks=False)
    loaded = loading.arrange(read, no_scoring)
    spec = loaded.benchmark.spec.behaviour
    return behaving.observe(loaded, read, spec, prepared.behaviour)


def test_each_rollout_is_observed_in_its_own_row(tmp_path):
    rows = [
        row(0, 0, [("plan", CITY)]),
        row(0, 1, []),
        row(1, 0, [("book", CITY), ("plan", CITY)]),
    ]
    (table,) = observed(tmp_path, rows[::-1]).tables.values()
    assert table.scores["tool_calls"].tolist() == [1.0, 0.0, 2.0]
    assert texts_of(table, "calls") == [
        "plan(city:text)",
        "",
        "book(city:text) plan(city:text)",
    ]


def test_agents_are_observed_each_on_its_own(tmp_path):
    rows = [
        row(0, 0, [("plan", CITY)]) | {"agent_ref": {"name": "one"}},
        row(0, 0, [("plan", CITY)] * 3) | {"agent_ref": {"name": "two"}},
    ]
    tables = observed(tmp_path, rows).tables
    calls = {
        name: table.scores["tool_calls"].tolist() for name, table in tables.items()
    }
    assert calls == {"one": [1.0], "two": [3.0]}


def test_very_many_rollouts_are_observed_in_the_same_part_of_their_tasks(tmp_path):
    rows = [row(task, 0, []) for task in range(8_000)]
    few = [one | {"agent_ref": {"name": "small"}} for one in rows[:20]]
    tables = observed(tmp_path, [*rows, *few]).tables
    again = observed(tmp_path, [*few, *rows[::-1]]).tables
    # 6,000 of 8,000, by a hash: two standard deviations are 77
    assert len(tables["agent"]) == pytest.approx(6_000, abs=100)
    assert set(again["agent"].tasks) == set(tables["agent"].tasks)
    assert len(tables["small"]) == 20


def test_answers_are_kept_of_half_as_many_rollouts(tmp_path):
    rows = [row(task, 0, []) for task in range(6_000)]
    (table,) = observed(tmp_path, rows).tables.values()
    kept = [answer for answer in texts_of(table, "answer") if answer]
    assert len(table) == 6_000
    assert len(kept) == pytest.approx(3_000, abs=100)


def test_rules_are_checked_in_all_of_very_many_rollouts(tmp_path):
    rows = [row(task, 0, []) for task in range(6_001)]
    (table,) = observed(tmp_path, rows, "{tools: {forbid: [search]}}").tables.values()
    assert len(table) == 6_001


class Texts:
    """A distance that keeps answers as they are."""

    keeps_texts = True

    def kept(self, answer):
        return answer


class Scoring:
    """The rows of a benchmark that scored some answers."""

    def __init__(self, answers):
        self._answers = answers

    def hide(self, text):
        return text.replace("s3cr3t", "***")

    def as_scored(self, wanted):
        for at, answer in enumerate(self._answers):
            if at in wanted:
                item = {"question": f"{at}?"}
                yield Row(at, "", at, 0, item, {"output_text": answer}, "x:1"), None


def test_answers_of_this_run_are_observed_and_kept_without_keys():
    answers = ["It is booked.", "The key is s3cr3t."]
    order = np.arange(2)
    table = RolloutTable(
        agents=("agent",),
        agent=np.zeros(2, np.int32),
        tasks=("a", "b"),
        task=order,
        sample=np.zeros(2, np.int64),
        scores={},
        read_as=order[::-1].copy(),
    )
    loaded = SimpleNamespace(table=table)
    rows = SimpleNamespace(prepared=SimpleNamespace(scoring=Scoring(answers)))
    means = behaving.BehaviourMeans((), Texts())
    spec = SimpleNamespace(has_rules=False)
    observed_answers = behaving.observe(loaded, rows, spec, means)
    kept = texts_of(observed_answers.tables["agent"], "answer")
    assert kept == ["The key is ***.", "It is booked."]


# -- features and distances that are not built in --------------------------------------------


def means(folder, behaviour):
    benchmark = asked(folder, behaviour)
    return behaving.means_of(benchmark, benchmark.spec.behaviour)


def exclamations(turns):
    return turns[-1].text.count("!")


def test_a_feature_of_ones_own_is_found_by_its_module(tmp_path):
    name = f"{__name__}:exclamations"
    found = means(tmp_path, f"{{features: ['{name}']}}")
    ((feature),) = found.own
    assert feature.name == name
    assert feature.function.__name__ == "exclamations"


def test_an_unknown_feature_is_refused_at_its_line(tmp_path):
    with pytest.raises(RegistryError) as refused:
        means(tmp_path, "\n    features: [\n      nonsense\n    ]")
    assert refused.value.line == 7
    assert refused.value.message == (
        "there is no behaviour 'nonsense': behaviours there are: none"
    )


def test_an_unknown_feature_of_a_limit_is_refused_at_its_line(tmp_path):
    with pytest.raises(RegistryError) as refused:
        means(tmp_path, "\n    allow: 1%\n    limits:\n      nonsense: {max: 1}")
    assert refused.value.line == 9


def test_embeddings_that_are_not_found_are_refused_at_their_line(tmp_path):
    with pytest.raises((DataError, RegistryError)) as refused:
        means(tmp_path, "\n    allow: 1%\n    embeddings: 'no.such:function'")
    assert refused.value.line == 8


def test_answers_are_compared_by_their_words(tmp_path):
    assert means(tmp_path, "true").distance.kind is AnswerDistance.WORDS


# -- what a baseline keeps -------------------------------------------------------------------


def test_a_new_baseline_keeps_what_each_rollout_did(tmp_path):
    write(tmp_path / "runs.jsonl", run(1, tasks=5, samples=2))
    benchmark = asked(tmp_path, "true", baseline="true")
    documents = evaluate(input_of(benchmark, updates=True)).documents
    (document,) = documents.values()
    assert list(document.behaviour.tasks) == ["0", "1", "2", "3", "4"]
    assert document.behaviour.summary["tool_calls"] == pytest.approx(2.2, abs=0.3)
    assert document.behaviour.texts is False


def test_a_run_that_records_nothing_keeps_no_behaviour(tmp_path):
    write(tmp_path / "runs.jsonl", run(1, tasks=5, samples=2))
    benchmark = asked(tmp_path, "true", baseline="true")
    (document,) = evaluate(input_of(benchmark)).documents.values()
    assert document.behaviour is None


# -- compared --------------------------------------------------------------------------------


def test_a_tool_that_is_called_more_often_is_a_change(compared):
    (facts,) = compared(run(1, searches=0.2), run(2, searches=0.7)).behaviour
    searches = change(facts, "search")
    assert facts.agent == "agent"
    assert (facts.rollouts, facts.unread) == (160, 0)
    assert (facts.tasks, facts.of_tasks) == (40, 40)
    assert searches.before == pytest.approx(0.2, abs=0.08)
    assert searches.now == pytest.approx(0.7, abs=0.08)
    assert searches.is_significant
    assert searches.tasks == 40
    assert facts.score is ScoreChange.SAME
    assert facts.acceptance is Acceptance.OTHER_RUN
    assert not facts.lacks_baseline
    assert not facts.lacks_answers


def test_an_agent_that_does_the_same_has_no_change(compared):
    (facts,) = compared(run(1), run(2)).behaviour
    assert facts.significant == ()
    assert facts.churn.tasks == 40
    assert not facts.churn.is_significant


def test_answers_in_other_words_are_churn_where_the_scores_are_equal(compared):
    now = run(2, answer=["quite", "another", "way", "to", "put", "it"])
    (facts,) = compared(run(1), now).behaviour
    assert facts.churn.is_significant
    assert facts.churn.changed == 1.0
    assert facts.churn.measure is AnswerDistance.WORDS


def test_tasks_of_one_run_alone_are_not_compared(compared):
    result = compared(run(1, tasks=30), run(2, tasks=30)[8:])
    (facts,) = result.behaviour
    assert (facts.tasks, facts.of_tasks) == (28, 28)
    assert change(facts, "search").tasks == 28


def test_an_agent_that_was_renamed_is_compared(compared):
    before = [one | {"agent_ref": {"name": "old"}} for one in run(1, searches=0.1)]
    now = [one | {"agent_ref": {"name": "new"}} for one in run(2, searches=0.9)]
    (facts,) = compared(before, now).behaviour
    assert change(facts, "search").is_significant


def test_a_benchmark_without_behaviour_has_no_facts(compared):
    result = compared(run(1), run(2), "false")
    assert result.behaviour == ()
    assert behaviour_checks(result) == []


def test_a_rise_above_its_limit_fails_and_is_recorded_by_an_update(compared):
    before = run(1, searches=0.1)
    now = run(2, searches=0.9)
    limit = "{tool_calls: {max_rise: 20%}}"
    (check,) = behaviour_checks(compared(before, now, limit))
    assert check.verdict is Verdict.FAIL
    (check,) = behaviour_checks(compared(before, now, limit, updates=True))
    assert check.verdict is Verdict.PASS


def calls(tasks, twice=0):
    """Make a row of each task; so many first ones call a tool twice."""
    return [
        row(task, 0, [("plan", CITY)] * (2 if task < twice else 1))
        for task in range(tasks)
    ]


def verdicts_of_rises(compared, rises, agents=("one",), **settings):
    """Return the verdicts on agents in which so many tasks rose above their limit."""
    names = [{"agent_ref": {"name": name}} for name in agents]
    before = [one | name for name in names for one in calls(40)]
    now = [one | name for name in names for one in calls(40, twice=rises)]
    limit = "{tool_calls: {max_rise: 0%}}"
    return [
        check.verdict
        for check in behaviour_checks(compared(before, now, limit, **settings))
    ]


def test_two_agents_share_the_level_of_a_limit(compared):
    # by a test of six tasks that all rose
    assert verdicts_of_rises(compared, 6) == [Verdict.FAIL]
    both = verdicts_of_rises(compared, 6, ("one", "two"))
    assert both == [Verdict.WARN, Verdict.WARN]


def test_two_benchmarks_share_the_level_of_a_limit(compared):
    assert verdicts_of_rises(compared, 6, benchmarks=2) == [Verdict.WARN]


def test_a_rule_needs_no_baseline(tmp_path):
    write(tmp_path / "runs.jsonl", run(1, searches=1.0))
    benchmark = asked(tmp_path, "{tools: {forbid: [search]}}", baseline="false")
    (check,) = behaviour_checks(evaluate(input_of(benchmark)).result)
    assert check.verdict is Verdict.FAIL
    assert check.value == 1.0
    assert check.line == 6


# -- a committed baseline --------------------------------------------------------------------


class Committed:
    """A baseline that an earlier run recorded."""

    def __init__(self, text):
        self.text = text

    def read(self):
        return self.text, "agent.json"

    def renamed_from(self):
        return ""

    def read_rows(self):
        return None


def recorded(folder, rows, behaviour="true"):
    """Record a baseline of some rows."""
    from pytest_evalmetrics.baselines.document import render, stamped

    write(folder / "runs.jsonl", rows)
    benchmark = asked(folder, behaviour, baseline="true")
    evaluated = evaluate(input_of(benchmark, updates=True))
    return Committed(render(stamped(evaluated.baseline)))


def test_a_committed_baseline_is_compared_by_what_it_keeps(tmp_path):
    committed = recorded(tmp_path, run(1, searches=0.2))
    write(tmp_path / "runs.jsonl", run(2, searches=0.7))
    benchmark = asked(tmp_path, "true", baseline="true")
    result = evaluate(input_of(benchmark, baseline=committed)).result
    (facts,) = result.behaviour
    assert facts.acceptance is Acceptance.SNAPSHOT
    assert change(facts, "search").is_significant
    assert facts.churn.tasks == 40


def test_a_baseline_without_behaviour_is_noted(tmp_path):
    committed = recorded(tmp_path, run(1), "false")
    benchmark = asked(tmp_path, "true", baseline="true")
    result = evaluate(input_of(benchmark, baseline=committed)).result
    (facts,) = result.behaviour
    assert facts.lacks_baseline
    assert facts.changes == ()
    assert NoRecordedBehaviour(Acceptance.SNAPSHOT) in result.notes


def test_sketches_in_the_baseline_are_no_texts_to_compare(tmp_path):
    committed = recorded(tmp_path, run(1))
    behaviour = f"{{embeddings: '{__name__}:lengths'}}"
    benchmark = asked(tmp_path, behaviour, baseline="true")
    result = evaluate(input_of(benchmark, baseline=committed)).result
    (facts,) = result.behaviour
    assert facts.lacks_answers
    assert facts.churn is None
    assert OtherFormOfAnswers(Acceptance.SNAPSHOT) in result.notes


def lengths(texts):
    """Embed texts by their lengths."""
    return np.array([[float(len(text)), 1.0] for text in texts])


# -- notes -----------------------------------------------------------------------------------


def facts_of(**changed):
    facts = {"agent": "a", "rollouts": 8, "unread": 0, "tasks": 4, "of_tasks": 4}
    return BehaviourFacts(**{**facts, **changed})


@pytest.mark.parametrize(
    ("facts", "notes"),
    [
        (facts_of(), []),
        (facts_of(unread=3), [UnreadTranscripts(3, 8)]),
        (facts_of(tasks=3), [SampledBehaviour(3, 4)]),
        (
            facts_of(lacks_baseline=True, acceptance=Acceptance.HISTORY),
            [NoRecordedBehaviour(Acceptance.HISTORY)],
        ),
        (
            facts_of(lacks_answers=True, acceptance=Acceptance.SNAPSHOT),
            [OtherFormOfAnswers(Acceptance.SNAPSHOT)],
        ),
    ],
)
def test_what_could_not_be_compared_is_noted(facts, notes):
    assert list(behaving.notes_of(facts)) == notes


def test_rollouts_without_a_transcript_are_counted(compared):
    now = run(2)
    for one in now[:5]:
        del one["response"]
    result = compared(run(1), now)
    (facts,) = result.behaviour
    assert (facts.unread, facts.rollouts) == (5, 160)
    assert UnreadTranscripts(5, 160) in result.notes


# -- the scores beside behaviour -------------------------------------------------------------


def score_check(baseline, current, verdict=Verdict.PASS, improved=False):
    facts = ComparisonFacts(baseline=baseline, current=current, improved=improved)
    return Check(gate=Gate.BASELINE, name="m", verdict=verdict, comparison=facts)


@pytest.mark.parametrize(
    ("check", "score"),
    [
        (score_check(0.5, 0.5), ScoreChange.SAME),
        (score_check(0.5, 0.4955), ScoreChange.SAME),
        (score_check(0.5, 0.506), ScoreChange.NOT_SHOWN),
        (score_check(200.0, 201.0), ScoreChange.SAME),
        (score_check(200.0, 198.9), ScoreChange.NOT_SHOWN),
        (score_check(-200.0, -201.0), ScoreChange.SAME),
        (score_check(0.5, 0.5, Verdict.WARN), ScoreChange.CHANGED),
        (score_check(0.5, 0.5, Verdict.FAIL), ScoreChange.CHANGED),
        (score_check(0.5, 0.5, improved=True), ScoreChange.CHANGED),
        (score_check(None, 0.5), ScoreChange.UNKNOWN),
        (score_check(0.5, None), ScoreChange.UNKNOWN),
    ],
)
def test_half_a_point_is_the_same_score(check, score):
    assert behaving._change_of(check) is score


SAME = score_check(0.5, 0.5)
NOT_SHOWN = score_check(0.5, 0.52)
CHANGED = score_check(0.5, 0.3, Verdict.FAIL)


@pytest.mark.parametrize(
    ("checks", "score"),
    [
        ([], ScoreChange.UNKNOWN),
        ([SAME], ScoreChange.SAME),
        ([SAME, NOT_SHOWN], ScoreChange.NOT_SHOWN),
        ([NOT_SHOWN, CHANGED, SAME], ScoreChange.CHANGED),
    ],
)
def test_of_several_metrics_the_largest_change_counts(checks, score):
    assert behaving._score_change(checks) is score


def test_a_score_that_fell_is_a_change_beside_behaviour(compared):
    now = [one | {"reward": 0.0} for one in run(2)]
    (facts,) = compared(run(1), now).behaviour
    assert facts.score is ScoreChange.CHANGED


# -- several runs ----------------------------------------------------------------------------


def of_runs(folder, shifts, now, behaviour="true"):
    """Compare with several runs, each with its own chance of a search."""
    for number, searches in enumerate(shifts):
        write(folder / f"run{number}.jsonl", run(number, searches=searches))
    write(folder / "runs.jsonl", run(9, searches=now))
    files = [[f"run{number}.jsonl"] for number in range(len(shifts))]
    benchmark = asked(folder, behaviour, baseline=f"{{rollouts: {json.dumps(files)}}}")
    (facts,) = evaluate(input_of(benchmark)).result.behaviour
    return change(facts, "search")


def test_a_change_from_one_run_is_one(tmp_path):
    assert of_runs(tmp_path, [0.15], 0.55).is_significant


def test_a_change_as_large_as_those_between_runs_is_none(tmp_path):
    searches = of_runs(tmp_path, [0.15, 0.45, 0.2, 0.5, 0.3], 0.55)
    assert not searches.is_significant
    assert searches.before == pytest.approx(0.32, abs=0.05)
