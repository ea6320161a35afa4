"""The tasks before and after: what is counted, what is listed first, what is cut."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pytest_evalmetrics.ext import RolloutTable
from pytest_evalmetrics.model.rollout_table import SourceFile
from pytest_evalmetrics.reports.html.page import as_data, page_texts
from pytest_evalmetrics.reports.html.picture import histogram, means, picture_of


def table(rewards, *, tasks=None, sources=(), **scores):
    """Make a table of one agent from the rewards of each task."""
    counts = [len(r) for r in rewards]
    total = sum(counts)
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(total, np.int32),
        tasks=tuple(range(len(rewards))) if tasks is None else tasks,
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]),
        scores={
            "reward": np.array([v for r in rewards for v in r], float),
            **{name: np.array(values, float) for name, values in scores.items()},
        },
        sources=sources or (SourceFile("runs.jsonl", total, 1, row_is_line=True),),
        read_as=np.arange(total),
    )


@pytest.fixture(scope="module")
def compared():
    """Three tasks of both runs, of which b broke and c came right; one new, one gone."""
    was = table([[1, 1], [0, 1], [0, 0], [1, 1]], tasks=("a", "b", "c", "gone"))
    now = table([[1, 1], [0, 0], [1, 1], [0.5, 0.5]], tasks=("a", "b", "c", "new"))
    return picture_of(now, reward="reward", compared=(was, np.array([0, 1, 2, -1])))


def test_tasks_of_both_runs_are_counted_by_how_they_changed(compared):
    counts = compared.about.compared
    assert (counts.worse, counts.better, counts.same) == (1, 1, 1)
    assert (counts.new, counts.gone) == (1, 1)
    # the mean before, the mean now, and how many tasks have them
    assert sorted(counts.pairs) == [(0, 1, 1), (0.5, 0, 1), (1, 1, 1)]


def test_the_tasks_that_broke_come_first_and_unchanged_ones_last(compared):
    assert compared.tasks.ids == ["b", "gone", "c", "new", "a"]


def test_a_task_has_its_mean_and_its_rewards_on_both_sides(compared):
    tasks = compared.tasks
    assert tasks.was[0] == [0.5, 1, 0, None, 1]
    assert tasks.now[0] == [0, None, 1, 0.5, 1]
    assert tasks.rewards_was == [[0, 1], [1, 1], [0, 0], None, [1, 1]]
    assert tasks.rewards_now == [[0, 0], None, [1, 1], [0.5, 0.5], [1, 1]]


def test_a_task_has_its_rows_in_this_run_alone(compared):
    of_b, of_gone, *_ = compared.tasks.rows
    # sample, file, line
    assert of_b == [[0, 0, 3], [1, 0, 4]]
    assert of_gone is None


def test_tasks_are_compared_by_a_score_that_the_baseline_keeps():
    now = table([[1], [1]], latency_s=[2.0, 1.0])
    was = structs.replace(now, scores={"latency_s": np.array([1.0, 1.0])})
    picture = picture_of(
        now,
        reward="reward",
        lower=frozenset({"latency_s"}),
        compared=(was, None),
    )
    assert picture.about.reward == "latency_s"
    compared = picture.about.compared
    assert (compared.worse, compared.better, compared.same) == (1, 0, 1)
    assert picture.tasks.rewards_was == [[1], [1]]


def test_less_may_be_better():
    picture = picture_of(
        table([[2], [5]]),
        reward="reward",
        lower=frozenset({"reward"}),
        compared=(table([[3], [4]]), None),
    )
    assert picture.about.compared.worse == 1
    assert picture.tasks.ids == ["1", "0"]


def test_rows_are_located_in_their_files():
    files = (
        SourceFile("a", 2, 1, row_is_line=True),
        SourceFile("empty", 0, 0),
        SourceFile("b", 3, 1),
    )
    tasks = picture_of(table([[1]] * 5, sources=files), reward="reward").tasks
    rows = dict(zip(tasks.ids, tasks.rows, strict=True))
    assert [rows[str(i)][0][1:] for i in range(5)] == [
        [0, 1],
        [0, 2],
        [2, 1],
        [2, 2],
        [2, 3],
    ]


def test_of_thousands_of_files_those_of_the_shown_tasks_are_listed():
    sources = tuple(SourceFile(f"{'a' * 200}{n}.json", 1, 1) for n in range(7_000))
    picture = picture_of(table([[1]] * 7_000, sources=sources), reward="reward")
    texts = page_texts({"a": picture})
    brief, shown = (json.loads(texts[name])["a"] for name in ("brief", "tasks"))
    assert len(texts["tasks"]) < 1_500_000
    assert len(brief["ids"]) == 50 < len(shown["ids"]) < 7_000
    for tasks in (brief, shown):
        assert len(tasks["files"]) == len(tasks["ids"])
        paths = [tasks["files"][file]["path"] for ((_, file, _),) in tasks["rows"]]
        assert paths == [sources[int(task)].path for task in tasks["ids"]]


def test_many_attempts_and_many_values_are_bounded():
    rng = np.random.default_rng(1)
    wide = table(rng.random((900, 40)).tolist())
    picture = picture_of(wide, reward="reward", compared=(wide, None))
    assert max(map(len, picture.tasks.rewards_now)) == 16
    before = table(rng.random((900, 40)).tolist())
    pairs = picture_of(
        wide, reward="reward", compared=(before, None)
    ).about.compared.pairs
    assert len(pairs) <= 25 * 25
    assert sum(n for *_, n in pairs) == 900


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80),
    st.none() | st.lists(st.floats(-1e6, 1e6), max_size=80),
)
def test_a_histogram_counts_every_value_once(now, was):
    bins = histogram(np.array(now), None if was is None else np.array(was))
    if bins is None:  # closer together than numbers can be split
        assert np.ptp(np.array(now + (was or []))) < 1e-9
        return
    assert sum(bins.now) == len(now)
    assert (bins.was is None) == (not was)
    assert not was or sum(bins.was) == len(was)
    assert len(bins.at) == len(bins.now)


REWARDS = st.lists(
    st.lists(st.none() | st.floats(-1e300, 1e300), min_size=1, max_size=4),
    min_size=1,
    max_size=9,
)


@settings(max_examples=40)
@given(REWARDS, REWARDS, st.booleans())
def test_every_task_is_counted_and_listed_once(before, after, lower):
    def side(rewards, tasks):
        return table(
            [[np.nan if r is None else r for r in t] for t in rewards], tasks=tasks
        )

    was = side(before, tuple(f"t{i}" for i in range(len(before))))
    now = side(after, tuple(f"t{i}" for i in range(2, len(after) + 2)))
    places = np.array([i if i < len(before) else -1 for i in range(2, len(after) + 2)])
    picture = picture_of(
        now,
        reward="reward",
        lower=frozenset({"reward"} if lower else ()),
        compared=(was, places),
    )
    tasks, counts = picture.tasks, picture.about.compared
    assert sorted(tasks.ids) == sorted({*was.tasks, *now.tasks})
    assert counts.new == len(set(now.tasks) - set(was.tasks))
    assert counts.gone == len(set(was.tasks) - set(now.tasks))
    both = [
        (a, b)
        for a, b in zip(tasks.was[0] or [], tasks.now[0], strict=bool(tasks.was[0]))
        if a is not None and b is not None
    ]
    assert counts.worse + counts.better + counts.same == len(both)
    as_data(picture)


def test_numbers_at_the_end_of_the_range_do_no_harm():
    rng = np.random.default_rng(2)
    ends = (
        rng.choice([-1.0, 1.0], (40, 3)) * rng.uniform(1e308, 1.7e308, (40, 3))
    ).tolist()
    tiny = rng.uniform(5e-324, 1e-320, (40, 3)).tolist()
    for rewards in (ends, tiny, [[1.7e308] * 3] * 40):
        now = table(rewards)
        picture = picture_of(
            now, reward="reward", compared=(table(rewards[::-1]), None)
        )
        assert b"NaN" not in as_data(picture)
        assert picture.about.compared.new == 0


def test_the_mean_of_a_task_is_over_its_rewards_that_are_there():
    rewards = table([[1, np.nan, 0.5], [0, 0]])
    assert means(rewards, "reward").tolist() == [0.75, 0.0]


def test_a_task_without_any_reward_has_no_mean():
    assert np.isnan(means(table([[np.nan, np.nan], [1]]), "reward")[0])
