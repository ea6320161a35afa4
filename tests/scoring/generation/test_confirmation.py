"""A failure that may be by chance draws one more round of rollouts."""

import importlib
import sys
import threading
from collections import Counter

import pytest
from comparison.making import make_pair
from msgspec import structs
from scoring.generation.running import Run, rows

from pytest_evalmetrics import confirming
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.confirming import tasks_to_draw, with_confirmation
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound
from pytest_evalmetrics.model.reasons import Confirmation, FirstRun
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.run_notes import SecondRoundFailed
from pytest_evalmetrics.model.verdicts import Gate, Verdict

TASKS = 40
SAMPLES = 4
AGENT = """\
def answers(row):
    return {"output": answering.answer(int(row["question"]))}
"""
BENCHMARK = """\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: 4
  target: {function: "agent_that_is_asked_again:answers", version: "1"}
  scorers: [{type: exact-match, reference: "{{ answer }}"}]
  metrics: [mean_reward]
  baseline: {rollouts: {path: old.jsonl, fields: {task: task, sample: sample}}, confirm: true}
"""


class Agent:
    """Answers each question by a rule of the question and of how often it was asked."""

    is_right = staticmethod(lambda _question, _time: True)

    def __init__(self):
        self.asked = Counter()
        self.lock = threading.Lock()

    def answer(self, question):
        with self.lock:
            time = self.asked[question]
            self.asked[question] += 1
        return "yes" if self.is_right(question, time) else f"no {time}"


@pytest.fixture
def answering(tmp_path, monkeypatch):
    (tmp_path / "agent_that_is_asked_again.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("agent_that_is_asked_again")
    module.answering = Agent()
    yield module.answering
    sys.modules.pop("agent_that_is_asked_again")


def evaluated(folder, mode="normal", text=BENCHMARK):
    """Evaluate 40 questions x 4 against a recorded run in which nearly all pass."""
    questions = [{"question": str(task), "answer": "yes"} for task in range(TASKS)]
    rows(folder / "data.jsonl", questions)
    before = [
        {"task": row, "sample": sample, "exact-match": float(sample > 0 or row < 30)}
        for row in range(TASKS)
        for sample in range(SAMPLES)
    ]
    rows(folder / "old.jsonl", before)
    path = folder / "a.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    runtime = Run(folder, mode)
    given = EvaluationInput(
        benchmark=benchmark, item_id="a.bench.yaml::a", runtime=runtime
    )
    try:
        return with_confirmation(given).result
    finally:
        runtime.transport().close()


def twice_asked(agent):
    """Return the questions that were asked in both rounds."""
    return {question for question, times in agent.asked.items() if times == 2 * SAMPLES}


def mean_reward(result):
    (check,) = [check for check in result.checks if check.name == "mean_reward"]
    return check


def confirmation(check):
    (reason,) = [one for one in check.reasons if isinstance(one, Confirmation)]
    return reason


def test_a_run_that_passes_draws_no_second_round(tmp_path, answering):
    result = evaluated(tmp_path)
    assert mean_reward(result).verdict == "PASS"
    assert set(answering.asked.values()) == {SAMPLES}


def test_a_drop_that_both_rounds_show_fails(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    result = evaluated(tmp_path)
    check = mean_reward(result)
    assert check.verdict == "FAIL"
    assert confirmation(check).is_confirmed


def test_the_worse_tasks_and_as_many_others_are_asked_again(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 15 or time % 4 == 0
    evaluated(tmp_path)
    again = twice_asked(answering)
    assert again >= set(range(15))
    assert len(again) == 30


def test_a_drop_that_is_gone_in_the_second_round_warns(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time >= SAMPLES
    result = evaluated(tmp_path)
    check = mean_reward(result)
    assert check.verdict == "WARN"
    assert not confirmation(check).is_confirmed


def test_both_rounds_are_in_the_report(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time >= SAMPLES
    reason = confirmation(mean_reward(evaluated(tmp_path)))
    assert reason.tasks == 20
    assert reason.controls == 20
    assert reason.rollouts == SAMPLES
    assert reason.drop_first == pytest.approx(0.4375)
    assert reason.drop_second == pytest.approx(-0.0625)


def test_a_failure_that_no_rollout_turns_draws_no_second_round(tmp_path, answering):
    # a threshold fails beside the drop
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    text = BENCHMARK + "  thresholds: {mean_reward: '>= 0.99'}\n"
    evaluated(tmp_path, text=text)
    assert set(answering.asked.values()) == {SAMPLES}


def test_tasks_that_can_t_be_drawn_again_leave_the_failure_and_a_note(
    tmp_path, answering, monkeypatch
):
    def out_of_order(_given):
        raise DataError("the model is out of order")

    monkeypatch.setattr(confirming, "score", out_of_order)
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    result = evaluated(tmp_path)
    assert mean_reward(result).verdict == "FAIL"
    assert result.notes[-1] == SecondRoundFailed("the model is out of order")


def test_where_no_answer_is_kept_the_second_round_is_drawn_by_itself(
    tmp_path, answering
):
    answering.is_right = lambda question, time: question >= 20 or time >= SAMPLES
    result = evaluated(tmp_path, mode="off")
    reason = confirmation(mean_reward(result))
    assert reason.drop_second == pytest.approx(-0.0625)
    assert len(twice_asked(answering)) == 40


def test_a_drop_that_is_confirmed_has_the_p_of_each_round_and_of_both(
    tmp_path, answering
):
    # the second round is worse than the first
    answering.is_right = lambda question, time: question >= 20 or time in (0, 1)
    reason = confirmation(mean_reward(evaluated(tmp_path)))
    assert reason.p_both < reason.p_first < 0.05


def test_tasks_are_drawn_again_where_none_is_tested_by_itself(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    text = BENCHMARK.replace("confirm: true", "confirm: true, single_tasks: false")
    result = evaluated(tmp_path, text=text)
    assert confirmation(mean_reward(result)).tasks == 20


@pytest.mark.parametrize("rollouts", ["4", "any"])
def test_the_second_round_is_more_than_the_file_expects(tmp_path, answering, rollouts):
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    text = f"{BENCHMARK}  expect: {{rollouts: {rollouts}}}\n"
    result = evaluated(tmp_path, text=text)
    assert confirmation(mean_reward(result)).is_confirmed
    (failed,) = [check for check in result.checks if check.verdict != "PASS"]
    assert failed.name == "mean_reward"


def test_a_rule_without_a_test_draws_no_second_round(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    text = BENCHMARK.replace("confirm: true", "confirm: true, rule: exact")
    assert mean_reward(evaluated(tmp_path, text=text)).verdict == "FAIL"
    assert set(answering.asked.values()) == {SAMPLES}


# -- both rounds decide ----------------------------------------------------------------------

RULE = RuleBound(settings=None)
ROUND = Confirmation(
    tasks=2,
    controls=1,
    rollouts=4,
    is_confirmed=False,
    p_first=None,
    p_both=None,
    drop_first=0.5,
    drop_second=0.25,
)


def judged(verdict, bound=RULE, reasons=()):
    return Check(
        gate=Gate.BASELINE,
        name="mean_reward",
        verdict=verdict,
        bound=bound,
        reasons=reasons,
    )


FAILED = judged(Verdict.FAIL)


@pytest.mark.parametrize("both", [None, judged(Verdict.INCONCLUSIVE)])
def test_what_both_rounds_can_not_judge_stays_a_failure(both):
    assert confirming._decided(FAILED, both, ROUND) is FAILED


@pytest.mark.parametrize(
    ("both", "drop", "bound", "is_confirmed"),
    [
        (Verdict.FAIL, 0.25, RULE, True),
        (Verdict.FAIL, None, RULE, True),
        (Verdict.FAIL, 0.0, RULE, False),
        (Verdict.FAIL, -0.25, RULE, False),
        (Verdict.FAIL, -0.25, SingleTasksBound(alpha=0.01), True),
        (Verdict.PASS, 0.25, RULE, False),
        (Verdict.WARN, 0.25, RULE, False),
        (Verdict.PASS, 0.25, SingleTasksBound(alpha=0.01), False),
    ],
)
def test_a_failure_is_confirmed_by_both_rounds_and_by_the_second(
    both, drop, bound, is_confirmed
):
    round_ = structs.replace(ROUND, drop_second=drop)
    first = judged(Verdict.FAIL, bound)
    decided = confirming._decided(first, judged(both, bound), round_)
    assert decided.verdict == (Verdict.FAIL if is_confirmed else Verdict.WARN)
    assert decided.reasons == (structs.replace(round_, is_confirmed=is_confirmed),)


def test_a_confirmed_failure_keeps_the_reasons_of_both_rounds():
    other = FirstRun("main.json")
    both = judged(Verdict.FAIL, reasons=(other,))
    decided = confirming._decided(FAILED, both, ROUND)
    assert decided.reasons == (other, structs.replace(ROUND, is_confirmed=True))


# -- which tasks are drawn again -------------------------------------------------------------


def drawn_of(before, after, sign=1.0):
    """Choose among tasks of one rollout each, numbered from 0."""
    pair = make_pair([[value] for value in before], [[value] for value in after])
    return tasks_to_draw([(pair, sign)])


def test_tasks_that_got_worse_and_as_many_that_did_not_are_drawn():
    worse, others = drawn_of([1, 1, 1, 1, 1], [0, 0, 1, 1, 1])
    assert worse == [0, 1]
    assert len(others) == 2
    assert set(others) < {2, 3, 4}


def test_tasks_that_got_better_are_drawn_before_unchanged_ones():
    worse, others = drawn_of([1, 0.5, 0, 0.5, 0.5], [0, 0.5, 1, 1, 0.5])
    assert worse == [0]
    assert others == [2]


def test_where_a_rise_is_damage_the_tasks_that_rose_are_drawn():
    worse, _ = drawn_of([0, 1], [1, 0], sign=-1.0)
    assert worse == [0]


def test_where_few_tasks_are_unchanged_all_of_them_are_drawn():
    worse, others = drawn_of([1, 1, 1], [0, 0, 1])
    assert worse == [0, 1]
    assert others == [2]


def test_the_same_unchanged_tasks_are_drawn_in_each_run():
    before = [1.0] * 20
    after = [0.0] * 2 + [1.0] * 18
    assert drawn_of(before, after) == drawn_of(before, after)


def test_unchanged_tasks_are_drawn_from_everywhere():
    _, others = drawn_of([1.0] * 40, [0.0] * 5 + [1.0] * 35)
    assert sorted(others) != [5, 6, 7, 8, 9]


def test_of_several_agents_a_task_has_the_damage_of_the_worst():
    improved = make_pair([[0], [1]], [[1], [1]])
    worse = make_pair([[1], [1]], [[0], [1]])
    assert tasks_to_draw([(worse, 1.0), (improved, 1.0)]) == ([0], [1])


def test_a_metric_without_values_of_tasks_draws_none():
    pair = make_pair([[1.0]], [[0.0]], baseline=None, current=None)
    assert tasks_to_draw([(pair, 1.0)]) == ([], [])


def test_agents_behind_one_without_values_of_tasks_are_looked_at():
    without = make_pair([[1.0]], [[0.0]], baseline=None, current=None)
    pair = make_pair([[1.0], [1.0]], [[0.0], [1.0]])
    assert tasks_to_draw([(without, 1.0), (pair, 1.0)]) == ([0], [1])
