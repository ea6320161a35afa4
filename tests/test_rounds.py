"""Runs that take rollouts in rounds, evaluated in this process."""

import random
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import ModuleType

import pytest
from scoring.generation.running import Run
from stages.making import benchmark, given

from pytest_evalmetrics import rounds
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.results import Power, PowerSource
from pytest_evalmetrics.model.run_notes import (
    AllAtOnce,
    StoppedAtLastLook,
    StoppedEarly,
)
from pytest_evalmetrics.rounds import in_rounds, looks_at, stop_forecast, with_rounds
from pytest_evalmetrics.spec.sources import Rounds

TASKS = 120
EARLY = "metrics: [mean_reward]\nnum_samples: {min: 2, max: 8, stop: early}\n"


def write(folder, name, seed, drop=0.0, samples=8):
    """Record rollouts whose chance to pass is that of their task, less a drop."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    chances = [random.Random(task).betavariate(0.4, 0.4) for task in range(TASKS)]  # noqa: S311
    rows = [
        f'{{"task": "t{task}", "sample": {sample}, "agent": "a", '
        f'"reward": {float(draw.random() < chance * (1 - drop))}}}\n'
        for task, chance in enumerate(chances)
        for sample in range(samples)
    ]
    (folder / name).write_text("".join(rows))


def asked(folder, gate=None):
    """Read a benchmark that stops early, compared with recorded rollouts."""
    if gate is None:
        write(folder, "old.jsonl", seed=1)
        fields = "{task: task, sample: sample, agent: agent}"
        gate = f"baseline: {{rollouts: {{path: old.jsonl, fields: {fields}}}}}"
    return benchmark(folder, f"{EARLY}expect: {{tasks: {TASKS}}}\n{gate}")


def stop_of(folder, gate=None):
    """Evaluate round by round; give the note on when that stopped."""
    evaluated = in_rounds(given(asked(folder, gate)))
    return evaluated.result.notes[0], evaluated.result


# -- when a run stops ------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "look"), [(2, 1), (5, 2), (11, 3)])
def test_a_run_that_is_as_good_stops_as_soon_as_that_is_sure(tmp_path, seed, look):
    write(tmp_path, "new.jsonl", seed=seed)
    note, result = stop_of(tmp_path)
    assert note == StoppedEarly(
        look=look, looks=4, rollouts=2 * look, most=8, tasks=TASKS
    )
    assert result.passed


def test_a_run_that_is_much_worse_stops_at_the_first_look(tmp_path):
    write(tmp_path, "new.jsonl", seed=2, drop=0.5)
    note, result = stop_of(tmp_path)
    assert note == StoppedEarly(look=1, looks=4, rollouts=2, most=8, tasks=TASKS)
    assert not result.passed


@pytest.mark.parametrize(
    ("bound", "look"), [(">= 0.2", 1), (">= 0.9", 1), ("<= 0.9", 1), ("<= 0.2", 1)]
)
def test_a_threshold_far_away_is_sure_at_the_first_look(tmp_path, bound, look):
    write(tmp_path, "new.jsonl", seed=1)
    note, _ = stop_of(tmp_path, gate=f"thresholds: {{mean_reward: '{bound}'}}")
    assert note.look == look


def test_a_threshold_nearby_needs_all_rollouts(tmp_path):
    write(tmp_path, "new.jsonl", seed=1)
    note, _ = stop_of(tmp_path, gate="thresholds: {mean_reward: '>= 0.5'}")
    assert note == StoppedAtLastLook(4)


def test_a_run_without_a_gate_has_nothing_to_be_sure_of(tmp_path):
    write(tmp_path, "new.jsonl", seed=1)
    note, _ = stop_of(tmp_path, gate="description: no gate")
    assert note == StoppedAtLastLook(4)


def test_a_run_that_lacks_tasks_stops_at_the_first_look(tmp_path):
    write(tmp_path, "new.jsonl", seed=1)
    lines = (tmp_path / "new.jsonl").read_text().splitlines()[:-8]
    (tmp_path / "new.jsonl").write_text("\n".join(lines))
    note, result = stop_of(tmp_path)
    assert note.look == 1
    assert not result.passed


@pytest.mark.parametrize("drop", [0.0, 0.5], ids=["as good", "much worse"])
def test_a_rule_without_a_test_needs_all_rollouts(tmp_path, drop):
    write(tmp_path, "new.jsonl", seed=2, drop=drop)
    write(tmp_path, "old.jsonl", seed=1)
    fields = "{task: task, sample: sample, agent: agent}"
    rollouts = f"{{path: old.jsonl, fields: {fields}}}"
    gate = f"baseline: {{rule: absolute, max_drop: 0.1, rollouts: {rollouts}}}"
    note, result = stop_of(tmp_path, gate)
    assert note == StoppedAtLastLook(4)
    assert result.passed is (drop == 0)


def write_task(folder, name, passes):
    """Record anew whether each rollout of the task t0 passes."""
    lines = (folder / name).read_text().splitlines(keepends=True)
    rows = [line for line in lines if '"t0"' not in line]
    rows += [
        f'{{"task": "t0", "sample": {sample}, "agent": "a", "reward": {passed}}}\n'
        for sample, passed in enumerate(passes)
    ]
    (folder / name).write_text("".join(rows))


@pytest.mark.parametrize(
    ("passes", "look"),
    [
        ([1, 1, 1, 1, 1, 1, 1, 1], 4),
        ([1, 1, 1, 0, 1, 1, 1, 1], 2),
        ([0, 1, 1, 1, 1, 1, 1, 1], 1),
    ],
)
def test_a_task_that_must_pass_is_sure_once_it_fails(tmp_path, passes, look):
    write(tmp_path, "new.jsonl", seed=1)
    write_task(tmp_path, "new.jsonl", passes)
    gate = "thresholds: {mean_reward: '>= 0.2'}\nmust_pass: [t0]"
    _, result = stop_of(tmp_path, gate)
    assert result.agents[0].rollouts == 2 * look * TASKS
    assert result.passed is all(passes)


def test_a_task_that_fails_its_first_rollouts_is_not_broken_for_good(tmp_path):
    write(tmp_path, "new.jsonl", seed=2)
    write_task(tmp_path, "new.jsonl", [0, 0, 1, 1, 1, 1, 1, 1])
    write(tmp_path, "old.jsonl", seed=1)
    write_task(tmp_path, "old.jsonl", [1] * 8)
    fields = "{task: task, sample: sample, agent: agent}"
    rollouts = f"{{path: old.jsonl, fields: {fields}}}"
    note, result = stop_of(
        tmp_path, f"baseline: {{max_broken: 0, rollouts: {rollouts}}}"
    )
    assert note.look == 2
    assert result.passed


def test_each_look_evaluates_all_rollouts_so_far(tmp_path):
    write(tmp_path, "new.jsonl", seed=1)
    looks = looks_at(given(asked(tmp_path, gate="thresholds: {mean_reward: '>= 0.5'}")))
    rollouts = [evaluated.result.agents[0].rollouts for _, evaluated in looks]
    assert rollouts == [TASKS * samples for samples in (2, 4, 6, 8)]


def test_a_number_of_rollouts_that_is_expected_is_that_of_all_looks(tmp_path):
    write(tmp_path, "new.jsonl", seed=2)
    gate = "thresholds: {mean_reward: '>= 0.2'}"
    expecting = asked(tmp_path, gate)
    text = expecting.file.read_text()
    text = text.replace(f"{{tasks: {TASKS}}}", f"{{tasks: {TASKS}, rollouts: 8}}")
    expecting.file.write_text(text)
    from pytest_evalmetrics.config import load_benchmarks

    (again,) = load_benchmarks(expecting.file, shown="math.bench.yaml")
    evaluated = in_rounds(given(again))
    assert evaluated.result.notes[0].look == 1
    assert evaluated.result.passed


ANSWERED = """\
benchmark:
  name: a
  dataset: [{q: "1"}, {q: "2"}]
  num_samples: {min: 1, max: 3, stop: early}
  target: {function: "agent_of_rounds:answer"}
  scorers: [{type: exact-match, reference: "{{ q }}"}]
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.5"}
"""


def test_a_run_whose_answers_are_not_kept_takes_all_rollouts_at_once(
    tmp_path, monkeypatch
):
    module = ModuleType("agent_of_rounds")
    module.answer = lambda row: {"output": row["q"]}
    monkeypatch.setitem(sys.modules, "agent_of_rounds", module)
    file = tmp_path / "a.bench.yaml"
    file.write_text(ANSWERED, encoding="utf-8")
    (read,) = load_benchmarks(file, shown="a.bench.yaml")
    runtime = Run(tmp_path, "normal")
    result = in_rounds(given(read, runtime=runtime)).result
    runtime.transport().close()
    assert result.notes[0] == AllAtOnce(forgets=True)
    (agent,) = result.agents
    assert agent.estimates["mean_reward"].rollouts == 6


def test_a_benchmark_without_rounds_takes_none(tmp_path):
    write(tmp_path, "new.jsonl", seed=1)
    whole = benchmark(tmp_path, "metrics: [mean_reward]")
    with pytest.raises(TypeError, match="takes all its rollouts at once"):
        next(looks_at(given(whole)))
    assert evaluate(given(whole)).result.passed


# -- rounds for every benchmark --------------------------------------------------------------


def rounds_of(folder, keys):
    samples = with_rounds(benchmark(folder, keys).spec).num_samples
    return isinstance(samples, Rounds) and (samples.least, samples.most)


@pytest.mark.parametrize(
    ("keys", "rounds"),
    [
        ("num_samples: 8", (2, 8)),
        ("num_samples: 9", (3, 9)),
        ("num_samples: 8\nmetrics: [pass@4]", (4, 8)),
        ("num_samples: 8\nthresholds: {pass@4: '>= 0.1'}", (4, 8)),
        ("num_samples: 8\nmetrics: [pass@8]", False),
        ("num_samples: 8\nmetrics: [pass@4, no_such_metric]", (4, 8)),
        ("num_samples: 1", False),
        ("metrics: [mean_reward]", False),
        ("num_samples: {min: 3, max: 5, stop: early}", (3, 5)),
    ],
)
def test_the_first_round_is_a_quarter_or_what_the_metrics_need(tmp_path, keys, rounds):
    assert rounds_of(tmp_path, keys) == rounds


# -- what is forecast ------------------------------------------------------------------------


def test_a_metric_that_can_not_be_read_is_refused_where_it_is_looked_up(tmp_path):
    spec = benchmark(tmp_path, "metrics: [mean_reward]\nnum_samples: 8\n").spec
    broken = replace(spec, metrics=("mean_reward[",))
    assert with_rounds(broken).num_samples == Rounds.at(8, 2, 8)


def power(source=PowerSource.BASELINE, rollouts=8):
    return Power("a", "mean_reward", TASKS, rollouts, 0.05, 0.01, None, source)


def test_an_unchanged_run_stops_earlier_than_after_all_rollouts(tmp_path):
    forecast = stop_forecast(asked(tmp_path), [power()])
    assert forecast.most == 8
    assert forecast.unchanged == pytest.approx(3.5, abs=0.1)
    assert forecast.unchanged < forecast.dropped < 8


def test_a_baseline_of_more_rollouts_is_sure_later(tmp_path):
    """Each look then has less of the information of the last."""
    few = stop_forecast(asked(tmp_path), [power(rollouts=8)])
    many = stop_forecast(asked(tmp_path), [power(rollouts=64)])
    assert many.unchanged > few.unchanged


def test_a_baseline_of_one_rollout_is_the_least(tmp_path):
    one = stop_forecast(asked(tmp_path), [power(rollouts=1)])
    two = stop_forecast(asked(tmp_path), [power(rollouts=2)])
    assert one.unchanged < two.unchanged


def test_without_a_recorded_baseline_it_has_as_many_rollouts_as_the_run(tmp_path):
    assumed = stop_forecast(asked(tmp_path), [power(PowerSource.ROLLOUTS, 64)])
    assert assumed == stop_forecast(asked(tmp_path), [power(rollouts=8)])


def test_nothing_is_forecast_without_rounds_a_baseline_or_a_power(tmp_path):
    early = asked(tmp_path)
    assert stop_forecast(early, []) is None
    assert stop_forecast(benchmark(tmp_path, "baseline: true"), [power()]) is None
    gate = "thresholds: {mean_reward: '>= 0.5'}"
    assert stop_forecast(asked(tmp_path, gate), [power()]) is None


# -- benchmarks in turns ---------------------------------------------------------------------


class Limit:
    """A budget for a number of looks."""

    def __init__(self, looks):
        self.left = looks

    def used_up(self):
        self.left -= 1
        return self.left < 0


@pytest.fixture
def taken(monkeypatch):
    """Take looks in turns of benchmarks that need so many; give them in their order."""
    order = []

    def looks_of(name, looks):
        for look in range(looks):
            if look == 1 and name == "broken":
                raise ValueError("its rows can't be read")
            order.append(name)
            yield look

    def take(budget, **looks):
        monkeypatch.setattr(
            rounds, "looks_at", lambda name: looks_of(name, looks[name])
        )
        rounds.in_turns([(name, nullcontext()) for name in looks], budget)
        return order

    return take


def test_benchmarks_take_their_looks_in_turns(taken):
    order = taken(Limit(100), first=3, second=1, third=2)
    assert order == ["first", "second", "third", "first", "third", "first"]


def test_no_look_is_taken_beyond_the_budget(taken):
    assert taken(Limit(4), first=3, second=3) == ["first", "second", "first", "second"]


def test_a_benchmark_that_fails_leaves_the_others_their_looks(taken):
    order = taken(Limit(100), broken=3, second=3)
    assert order == ["broken", "second", "second", "second"]


def test_each_look_is_taken_in_the_scope_of_its_benchmark(monkeypatch):
    active = []
    seen = []

    @contextmanager
    def scope(name):
        active.append(name)
        yield
        active.remove(name)

    def look_of(name):
        seen.append((name, list(active)))
        yield name

    monkeypatch.setattr(rounds, "looks_at", look_of)
    rounds.in_turns([("first", scope("a")), ("second", scope("b"))], Limit(100))
    assert seen == [("first", ["a"]), ("second", ["b"])]
