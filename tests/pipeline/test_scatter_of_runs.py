"""How far runs scatter, from a history and from baselines of other benchmarks."""

import msgspec
import numpy as np
import pytest
from stages.making import benchmark, given, write_rows

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.baselines.several_runs import add_run
from pytest_evalmetrics.comparison import RunScatter
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.comparison import NoiseSource, PairedMetric
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.rollout_table import TaskRewards
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere, past_runs
from pytest_evalmetrics.pipeline.pooled_noise import scatters_in

# -- earlier runs ----------------------------------------------------------------------------

VALUES = [0.5, 0.55, 0.48, 0.52, 0.47, 0.53, 0.5, 0.56, 0.49, 0.51]


def run_of(value, *, tasks=20, rollouts=20, agent="agent", **changed):
    """Make an earlier run of twenty tasks."""
    point = HistoryPoint(value=value, tasks=tasks, rollouts=rollouts)
    facts = {
        "schema_version": 1,
        "benchmark": "b",
        "time": "2026-11-02T08:00:00Z",
        "commit": None,
        "branch": None,
        "url": None,
        "verdict": "PASS",
        "usable": True,
        "starts": False,
        "agents": {agent: {"mean_reward": point}},
    }
    return HistoryRun(**{**facts, **changed})


def runs_of(values):
    return tuple(run_of(value) for value in values)


def pair_of(tasks=20):
    """Pair two runs of so many tasks of one rollout, whose differences have a spread."""
    before = np.tile([0.75, 0.25], tasks // 2)
    now = np.tile([0.25, 0.25, 0.75, 0.25], tasks // 4)
    offsets = np.arange(tasks + 1)
    return PairedMetric(
        name="mean_reward",
        tasks=tuple(range(tasks)),
        baseline=before,
        current=now,
        value_baseline=float(before.mean()),
        value_current=float(now.mean()),
        rewards_baseline=TaskRewards(before, offsets),
        rewards_current=TaskRewards(now, offsets),
    )


PAIR = pair_of()


def history_of(past, agent="agent", pair=PAIR):
    """Return what earlier runs show of the noise beside a lone run; None for nothing."""
    noise = NoiseElsewhere(past=tuple(past)).of(None, pair, agent=agent, is_rate=True)
    return None if noise is None else noise.history


def variance_of(*stretches):
    """Return half the mean square of the differences of successive runs."""
    differences = np.concatenate([np.diff(values) for values in stretches])
    return np.mean(differences**2) / 2


def test_earlier_runs_scatter_as_each_differs_from_the_one_before():
    history = history_of(runs_of(VALUES))
    assert history.variance == pytest.approx(variance_of(VALUES))
    # von Neumann 1941: those of nine differences of normal values
    assert history.df == pytest.approx(2 * 81 / 26)


def test_a_lone_run_takes_its_noise_from_the_history():
    past = runs_of(VALUES)
    noise = NoiseElsewhere(past=past).of(None, PAIR, agent="agent", is_rate=True)
    assert noise.source is NoiseSource.HISTORY
    assert noise.is_rate
    assert noise.values == (PAIR.value_baseline,)
    assert noise.pool == ()


def test_without_earlier_runs_nothing_is_known():
    assert history_of([]) is None
    assert history_of(runs_of(VALUES[:2])) is None


def test_the_same_rollouts_again_are_no_other_run():
    doubled = [run_of(value) for value in VALUES for _ in range(2)]
    assert history_of(doubled) == history_of(runs_of(VALUES))


def test_an_accepted_change_is_no_noise():
    past = [
        *runs_of(VALUES[:5]),
        run_of(0.92, starts=True),
        *runs_of(np.add(VALUES[:4], 0.4)),
    ]
    history = history_of(past)
    after = [0.92, *np.add(VALUES[:4], 0.4)]
    assert history.variance == pytest.approx(variance_of(VALUES[:5], after))


def test_another_ruler_begins_anew():
    ruler = {"reward": {"score": "other"}}
    after = np.add(VALUES[:5], 0.4).tolist()
    past = [*runs_of(VALUES[:5]), *(run_of(value, ruler=ruler) for value in after)]
    assert history_of(past).variance == pytest.approx(variance_of(VALUES[:5], after))


@pytest.mark.parametrize("other", [{"tasks": 17}, {"rollouts": 23}])
def test_a_run_of_another_size_ends_a_stretch(other):
    past = [*runs_of(VALUES[:5]), run_of(0.9, **other), *runs_of(VALUES[5:])]
    expected = variance_of(VALUES[:5], VALUES[5:])
    assert history_of(past).variance == pytest.approx(expected)


@pytest.mark.parametrize("other", [{"tasks": 18}, {"rollouts": 22}])
def test_a_run_of_about_the_same_size_counts(other):
    past = [*runs_of(VALUES[:5]), run_of(0.52, **other), *runs_of(VALUES[5:])]
    values = [*VALUES[:5], 0.52, *VALUES[5:]]
    assert history_of(past).variance == pytest.approx(variance_of(values))


def test_the_only_agent_may_have_been_renamed():
    past = [run_of(value, agent="old") for value in VALUES]
    assert history_of(past, agent="new") == history_of(runs_of(VALUES))


def test_of_two_agents_each_counts_for_itself():
    others = {
        name: {"mean_reward": HistoryPoint(value=0.1, tasks=20, rollouts=20)}
        for name in ("a", "b")
    }
    past = [run_of(value, agents=others) for value in VALUES]
    assert history_of(past, agent="c") is None


def test_another_metric_of_a_run_does_not_count():
    other = {"agent": {"pass@1": HistoryPoint(value=0.1, tasks=20, rollouts=20)}}
    assert history_of([run_of(0, agents=other)] * 9) is None


def test_positive_values_scatter_by_factors_too():
    past = NoiseElsewhere(past=runs_of(VALUES))
    noise = past.of(None, PAIR, agent="agent", is_rate=False)
    expected = variance_of(np.log(VALUES))
    assert noise.history_of_logs.variance == pytest.approx(expected)
    assert noise.history_of_logs.se == pytest.approx(
        noise.history.se / PAIR.value_current
    )


def test_a_value_of_zero_has_no_logarithm():
    past = NoiseElsewhere(past=runs_of([*VALUES, 0.0]))
    noise = past.of(None, PAIR, agent="agent", is_rate=False)
    assert noise.history is not None
    assert noise.history_of_logs is None


def test_the_runs_of_a_baseline_are_joined_by_earlier_ones():
    past = runs_of(VALUES)
    baseline_runs = (
        NoiseElsewhere(past=past)
        .of(None, PAIR, agent="agent", is_rate=True)
        .__replace__(values=(0.5, 0.6), history=None)
    )
    noise = NoiseElsewhere(past=past, neighbours=NOISY).of(
        baseline_runs, PAIR, agent="agent", is_rate=True
    )
    assert noise.values == (0.5, 0.6)
    assert noise.source is NoiseSource.BASELINE
    assert noise.history == history_of(past)
    assert noise.pool == NOISY


# -- other benchmarks ------------------------------------------------------------------------

NOISY = (RunScatter(df=9, variance=0.04**2, se=0.01),)
QUIET = (RunScatter(df=9, variance=0.01**2, se=0.01),)


def of_neighbours(neighbours, *, is_rate=True):
    elsewhere = NoiseElsewhere(neighbours=neighbours)
    return elsewhere.of(None, PAIR, agent="agent", is_rate=is_rate)


def test_neighbours_that_show_noise_count_beside_a_lone_run():
    noise = of_neighbours(NOISY)
    assert noise.source is NoiseSource.NEIGHBOURS
    assert noise.pool == NOISY
    assert noise.history is None


def test_neighbours_that_show_no_noise_do_not_count():
    assert of_neighbours(QUIET) is None


def test_rates_of_neighbours_say_nothing_of_other_metrics():
    assert of_neighbours(NOISY, is_rate=False) is None


# -- the file of a history -------------------------------------------------------------------


def write_history(folder, runs):
    path = folder / "history.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in runs))
    return path


def test_without_a_history_there_are_no_earlier_runs():
    assert past_runs(None, "b") == ()


def test_the_judged_runs_of_a_benchmark_are_read(tmp_path):
    verdicts = ["PASS", "WARN", "FAIL", "INCONCLUSIVE"]
    runs = [run_of(0.5, verdict=verdict) for verdict in verdicts]
    path = write_history(tmp_path, [*runs, run_of(0.5, benchmark="other")])
    read = past_runs(path, "b")
    assert [run.verdict for run in read] == ["PASS", "WARN", "FAIL"]


def test_a_benchmark_that_the_history_does_not_hold_has_no_earlier_runs(tmp_path):
    assert past_runs(write_history(tmp_path, [run_of(0.5)]), "other") == ()


def test_only_the_last_sixty_runs_count(tmp_path):
    path = write_history(tmp_path, [run_of(at / 100) for at in range(70)])
    read = past_runs(path, "b")
    values = [run.agents["agent"]["mean_reward"].value for run in read]
    assert values == [at / 100 for at in range(10, 70)]


def test_a_history_that_cannot_be_read_has_no_earlier_runs(tmp_path):
    assert past_runs(tmp_path, "b") == ()


# -- baselines of several runs ---------------------------------------------------------------


def documents_of(folder, runs):
    """Make a baseline of each run, of so many passes of four of twenty tasks."""
    documents = []
    for rewards in runs:
        (folder / "new.jsonl").unlink(missing_ok=True)
        write_rows(folder, "new.jsonl", rewards)
        asked = benchmark(folder, "metrics: [mean_reward]\nbaseline: true")
        documents.append(evaluate(given(asked, updates=True)).baseline)
    return documents


def alternating(shift):
    return [[1.0, shift, 0.0], [shift, 0.5, 0.0]] * 10


RUNS = [alternating(shift) for shift in (0.5, 0.6, 0.4)]


def write_baseline(folder, runs, name="math.json", **changed):
    first, *others = documents_of(folder, runs)
    document = first
    for other in others:
        document = add_run(document, other, keep=10)
    provenance = document.provenance.__replace__(**changed)
    path = folder / "__baselines__" / "math.bench" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(stamped(document.__replace__(provenance=provenance))))
    return path


def test_a_baseline_of_several_runs_shows_how_they_scatter(tmp_path):
    path = write_baseline(tmp_path, RUNS)
    (scatter,) = scatters_in(tmp_path / "__baselines__")
    means = [np.mean(run) for run in RUNS]
    assert scatter.file == path
    assert scatter.scatter.df == 2
    assert scatter.scatter.variance == pytest.approx(np.var(means, ddof=1))


def test_a_baseline_of_one_run_shows_nothing(tmp_path):
    write_baseline(tmp_path, RUNS[:1])
    assert scatters_in(tmp_path / "__baselines__") == ()


def test_a_baseline_of_two_runs_shows_something(tmp_path):
    write_baseline(tmp_path, RUNS[:2])
    assert len(scatters_in(tmp_path / "__baselines__")) == 1


def test_rewards_beyond_a_rate_show_nothing_of_rates(tmp_path):
    above = [[[2 * reward for reward in task] for task in run] for run in RUNS]
    below = [[[reward - 0.5 for reward in task] for task in run] for run in RUNS]
    write_baseline(tmp_path, above, "above.json")
    write_baseline(tmp_path, below, "below.json")
    assert scatters_in(tmp_path / "__baselines__") == ()


def test_a_baseline_of_another_reward_shows_nothing_where_it_lacks_it(tmp_path):
    write_baseline(tmp_path, RUNS, ruler={"reward": {"score": "other"}})
    assert scatters_in(tmp_path / "__baselines__") == ()


@pytest.mark.parametrize("ruler", [None, {}, {"reward": {"score": 5}}])
def test_a_baseline_that_names_no_reward_is_of_the_usual_one(tmp_path, ruler):
    write_baseline(tmp_path, RUNS, ruler=ruler)
    assert len(scatters_in(tmp_path / "__baselines__")) == 1


@pytest.mark.parametrize("text", ["nonsense", '{"provenance": {"runs": [1, 2]}}'])
def test_a_baseline_that_cannot_be_read_is_left_to_its_own_benchmark(tmp_path, text):
    write_baseline(tmp_path, RUNS)
    (tmp_path / "__baselines__/math.bench/broken.json").write_text(text)
    assert len(scatters_in(tmp_path / "__baselines__")) == 1
