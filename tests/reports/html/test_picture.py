"""The tasks before and after: what is counted, what is listed first, what is cut."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from reports.html.small_inputs import table

from pytest_evalmetrics.model.rollout_table import Category, RowScores, SourceFile
from pytest_evalmetrics.model.scores import RowFailure
from pytest_evalmetrics.reports.html.page import as_data, page_texts
from pytest_evalmetrics.reports.html.picture import (
    RowNote,
    first,
    histogram,
    means,
    numbers,
    picture_of,
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


def test_of_other_scores_the_first_that_both_sides_keep_is_compared():
    now = table([[1], [1]], m=[2.0, 1.0], z=[1.0, 1.0])
    kept = {name: np.array([1.0, 1.0]) for name in ("a", "m", "z")}
    was = structs.replace(now, scores=kept)
    picture = picture_of(now, reward="reward", compared=(was, None))
    assert picture.about.reward == "m"


def test_without_a_common_score_no_task_is_compared():
    now = table([[1], [1]])
    was = structs.replace(now, scores={"a": np.array([1.0, 1.0])})
    picture = picture_of(now, reward="reward", compared=(was, None))
    assert picture.about.reward == "reward"
    counts = picture.about.compared
    assert (counts.worse, counts.better, counts.same, counts.pairs) == (0, 0, 0, [])


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


# -- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 2.0], [1, 2]),
        ([0.12345678, 2.0], [0.123457, 2]),
        ([np.nan, np.inf, -np.inf, 1.0], [None, None, None, 1]),
        ([1e15, 1.0], [1e15, 1]),
        ([-0.5, 0.0], [-0.5, 0]),
    ],
)
def test_numbers_have_six_digits_and_whole_ones_no_point(values, shown):
    found = numbers(np.array(values))
    assert found == shown
    assert [type(value) for value in found] == [type(value) for value in shown]


def test_a_histogram_of_few_values_has_a_bar_for_each():
    now = np.array([0.0, 1.0, 1.0, np.nan])
    was = np.array([0.5, 1.0, np.nan, np.nan])
    bars = histogram(now, was)
    assert (bars.at, bars.width) == ([0, 0.5, 1], 0)
    assert (bars.now, bars.was) == ([1, 0, 2], [0, 1, 1])
    assert (bars.now_is.count, bars.now_is.missing) == (3, 1)
    assert (bars.was_is.count, bars.was_is.missing) == (2, 2)


def test_a_histogram_of_many_values_has_thirty_bars_of_equal_width():
    values = np.arange(61) / 2  # 0 to 30
    bars = histogram(values, None)
    assert bars.width == 1
    assert bars.at == [at + 0.5 for at in range(30)]
    # the last bar includes its end
    assert bars.now == [2] * 29 + [3]
    assert bars.was is None
    assert bars.was_is is None


@pytest.mark.parametrize(("count", "bars"), [(12, 12), (13, 30)])
def test_up_to_twelve_values_have_a_bar_each(count, bars):
    assert len(histogram(np.arange(float(count)), None).at) == bars


def test_a_summary_has_its_quantiles_as_numpy_computes_them():
    values = np.array([5.0, 1.0, 3.0, 2.0, 8.0])
    found = histogram(values, None).now_is
    expected = np.quantile(values, [0.0, 0.1, 0.5, 0.9, 1.0]).tolist()
    shown = (found.min, found.p10, found.median, found.p90, found.max)
    assert shown == pytest.approx(expected)
    assert found.mean == pytest.approx(3.8)


def test_scores_without_any_number_have_no_histogram():
    assert histogram(np.array([np.nan, np.nan]), None) is None
    nothing_before = histogram(np.array([1.0]), np.array([np.nan]))
    assert nothing_before.was is None
    assert nothing_before.was_is is None


def test_rare_values_after_the_first_thousands_have_a_bar_too():
    values = np.zeros(5_000)
    values[-1] = 7.0
    assert histogram(values, None).at == [0, 7]
    many = np.zeros(5_000)
    many[4_096:] = np.arange(904)
    assert len(histogram(many, None).at) == 30


# -- pairs -----------------------------------------------------------------------------------


def pairs_of(was, now):
    """Return the pairs of tasks with one reward each."""
    picture = picture_of(
        table([[value] for value in now]),
        reward="reward",
        compared=(table([[value] for value in was]), None),
    )
    return picture.about.compared.pairs


def test_tasks_with_the_same_rewards_are_counted_together():
    assert pairs_of([1, 1, 0, 0.5], [0, 0, 1, 0.5]) == [
        (0, 1, 1),
        (0.5, 0.5, 1),
        (1, 0, 2),
    ]


def test_many_rewards_are_counted_on_a_grid_of_24_steps():
    was = np.arange(49.0)
    now = np.full(49, 48.0)
    found = pairs_of(was, now)
    # steps of 2, of which a half goes to the even one
    assert [before for before, _, _ in found] == list(range(0, 49, 2))
    assert {after for _, after, _ in found} == {48}
    assert sum(count for *_, count in found) == 49


@pytest.mark.parametrize(("values", "levels"), [(25, 25), (26, 25)])
def test_up_to_25_rewards_are_counted_as_they_are(values, levels):
    rewards = np.arange(float(values)) / 100
    assert len(pairs_of(rewards, rewards)) == levels


def test_without_a_common_task_there_are_no_pairs():
    now = table([[1]], tasks=("a",))
    was = table([[1]], tasks=("b",))
    picture = picture_of(now, reward="reward", compared=(was, np.array([-1])))
    counts = picture.about.compared
    assert counts.pairs == []
    assert (counts.new, counts.gone) == (1, 1)


# -- all tasks -------------------------------------------------------------------------------


def test_a_run_that_is_compared_with_nothing_has_its_tasks_the_lowest_first():
    picture = picture_of(
        table([[1], [0], [np.nan], [0.5]]), reward="reward", against="b"
    )
    assert picture.about.compared is None
    assert picture.about.parts == []
    assert picture.about.tasks == 4
    assert picture.about.against == "b"
    # a task without a value comes first
    assert picture.tasks.ids == ["2", "1", "3", "0"]
    assert picture.tasks.was == [None]
    assert picture.tasks.rewards_was == [None] * 4
    assert picture.tasks.of == 4
    assert picture.tasks.attempts == 16


def test_the_lowest_is_the_best_where_less_is_better():
    lower = frozenset({"reward", "other"})
    picture = picture_of(table([[1], [0], [0.5]]), reward="reward", lower=lower)
    assert picture.tasks.ids == ["0", "2", "1"]
    assert picture.about.lower == ["reward"]


def test_tasks_that_changed_are_ordered_by_how_much():
    was = table([[1], [1], [0], [0], [0.5], [0.25]])
    now = table([[0.5], [0], [1], [0.5], [0.5], [0.25]])
    picture = picture_of(now, reward="reward", compared=(was, None))
    # worse, better, the same from the lowest on
    assert picture.tasks.ids == ["1", "0", "2", "3", "5", "4"]


def test_the_reward_comes_first_of_twelve_scores():
    scores = {f"s{number:02}": [1.0, 2.0] for number in range(13)}
    picture = picture_of(table([[1], [0]], **scores), reward="reward")
    names = ["reward", *(f"s{number:02}" for number in range(11))]
    assert picture.tasks.scores == names
    assert [one.score for one in picture.about.distributions] == names


def test_scores_that_the_baseline_lacks_have_no_means_before():
    now = table([[1], [0]], cost=[1.0, 2.0])
    picture = picture_of(now, reward="reward", compared=(table([[1], [1]]), None))
    assert picture.tasks.scores == ["reward", "cost"]
    assert picture.tasks.was == [[1, 1], None]
    assert picture.tasks.now == [[0, 1], [2, 1]]
    reward, cost = picture.about.distributions
    assert reward.was == [0, 2]
    assert cost.was is None


def test_the_files_of_a_baseline_are_named_in_five_hundred_letters():
    picture = picture_of(table([[1]]), reward="reward", against="x" * 600)
    assert picture.about.against == "x" * 500


# -- fields ----------------------------------------------------------------------------------


def category(codes, *labels):
    return Category(np.array(codes, np.int32), labels)


def broken_down(**categories):
    """Compare four tasks of two rollouts, of which one broke and one came right."""
    was = table([[1, 1], [1, 1], [0, 0], [1, 1]])
    now = table([[1, 1], [0, 0], [1, 1], [1, 0]])
    now = structs.replace(now, categories=categories)
    return picture_of(now, reward="reward", compared=(was, None))


def test_the_values_of_a_field_are_compared_the_worst_first():
    codes = [0, 0, 1, 1, 0, 0, 1, 1]
    (part,) = broken_down(lang=category(codes, "en", "de")).about.parts
    assert part.field == "lang"
    assert [structs.astuple(row) for row in part.values] == [
        # tasks 1 and 3: from 1 to 0.25
        ("de", 2, 1, 0.25, 2, 0),
        ("en", 2, 0.5, 1, 0, 1),
    ]


def test_a_value_without_a_common_task_has_no_row():
    codes = [0, 0, 0, 0, 1, 1, 1, 1]
    field = category(codes, "en", "de", "none")
    (part,) = broken_down(lang=field).about.parts
    assert [row.value for row in part.values] == ["en", "de"]


@pytest.mark.parametrize(("labels", "fields"), [(1, 0), (2, 1), (50, 1), (51, 0)])
def test_fields_of_two_to_fifty_values_are_broken_down(labels, fields):
    names = [f"v{number}" for number in range(labels)]
    picture = broken_down(lang=category([0] * 8, *names))
    assert len(picture.about.parts) == fields
    assert len(picture.tasks.slices) == fields


def test_each_task_has_its_place_among_the_values_of_a_field():
    was = table([[1], [1]], tasks=("a", "gone"))
    now = structs.replace(
        table([[0], [1]], tasks=("a", "new")),
        categories={"lang": category([1, 0], "en", "de")},
    )
    picture = picture_of(now, reward="reward", compared=(was, np.array([0, -1])))
    (sliced,) = picture.tasks.slices
    assert picture.tasks.ids == ["a", "gone", "new"]
    assert (sliced.field, sliced.values) == ("lang", ["en", "de"])
    assert sliced.places == [1, -1, 0]


# -- rows ------------------------------------------------------------------------------------


def scored(rows, failed=None, reasons=lambda _: b"[]"):
    return RowScores(table=rows, names=(), failed=failed or {}, reasons=reasons)


SERVER = RowFailure(3, "a.jsonl:4", "http-500", "x" * 1_001)


def test_rows_that_failed_come_first_with_their_messages():
    rows = table([[1, 1], [1, 1]])
    failed = {3: {("quality",): SERVER}}
    picture = picture_of(rows, reward="reward", rows=scored(rows, failed))
    assert picture.tasks.ids == ["1", "0"]
    assert picture.tasks.notes == {
        "0": [
            RowNote(
                sample=1, reason=f"{'x' * 1_000} …", kind="http-500", row="a.jsonl:4"
            )
        ]
    }


def test_the_reasons_of_scores_are_beside_their_tasks():
    rows = table([[1, 1], [0, 1]])

    def reasons(row):
        if row == 1:
            return b'[{"scores": ["quality"], "reason": "why"}]'
        return b"[]"

    picture = picture_of(rows, reward="reward", rows=scored(rows, reasons=reasons))
    assert picture.tasks.ids == ["1", "0"]
    assert picture.tasks.notes == {
        "1": [RowNote(sample=1, reason="why", scores=["quality"])]
    }


def test_three_hundred_messages_are_kept():
    rows = table([[1]] * 400)
    reasons = lambda _: b'[{"scores": [], "reason": "why"}]'  # noqa: E731
    picture = picture_of(rows, reward="reward", rows=scored(rows, reasons=reasons))
    assert len(picture.tasks.notes) == 300


def test_rows_of_no_file_have_neither_places_nor_messages():
    rows = structs.replace(table([[1, 1]]), read_as=None)
    failed = {0: {("quality",): SERVER}}
    picture = picture_of(rows, reward="reward", rows=scored(rows, failed))
    assert picture.tasks.rows == [[]]
    assert picture.tasks.notes == {}


def test_a_row_that_stands_for_another_is_found_where_that_one_is():
    rows = table([[1], [1]], sources=(SourceFile("a", 9, 1),))
    picture = picture_of(rows, reward="reward", chosen=np.array([8, 4]))
    assert picture.tasks.ids == ["0", "1"]
    assert picture.tasks.rows == [[[0, 0, 9]], [[0, 0, 5]]]


def test_sixteen_attempts_of_a_task_are_kept():
    picture = picture_of(table([[1] * 20, [0]]), reward="reward")
    assert picture.tasks.ids == ["1", "0"]
    assert [len(one) for one in picture.tasks.rewards_now] == [1, 16]
    assert [len(one) for one in picture.tasks.rows] == [1, 16]


# -- the first tasks -------------------------------------------------------------------------


def test_the_first_tasks_are_kept_with_all_that_is_theirs():
    was = table([[1, 1], [1, 1], [1, 1]])
    now = structs.replace(
        table([[0, 0], [0, 1], [1, 1]]),
        categories={"lang": category([0, 0, 1, 1, 1, 1], "en", "de")},
    )
    reasons = lambda row: b'[{"scores": [], "reason": "%d"}]' % row  # noqa: E731
    picture = picture_of(
        now, reward="reward", compared=(was, None), rows=scored(now, reasons=reasons)
    )
    kept = first(picture.tasks, 2)
    assert kept.of == 3
    assert kept.ids == ["0", "1"]
    assert kept.now == [[0, 0.5]]
    assert kept.was == [[1, 1]]
    assert kept.rewards_now == [[0, 0], [0, 1]]
    assert kept.rewards_was == [[1, 1], [1, 1]]
    assert kept.rows == [[[0, 0, 1], [1, 0, 2]], [[0, 0, 3], [1, 0, 4]]]
    assert list(kept.notes) == ["0", "1"]
    assert kept.slices[0].places == [0, 1]
    assert kept.files == picture.tasks.files


def test_the_first_tasks_of_a_score_without_any_before_have_none():
    picture = picture_of(table([[1], [0]]), reward="reward")
    assert first(picture.tasks, 1).was == [None]


@pytest.mark.parametrize(("count", "files"), [(1_000, 1_000), (1_001, 2)])
def test_files_are_listed_if_they_are_few_or_of_a_shown_task(count, files):
    sources = tuple(SourceFile(f"f{number}", 1, 1) for number in range(count))
    picture = picture_of(table([[1]] * count, sources=sources), reward="reward")
    kept = first(picture.tasks, 2)
    assert len(kept.files) == files
    assert [kept.files[file].path for ((_, file, _),) in kept.rows] == ["f0", "f1"]


def test_files_of_many_are_numbered_anew_and_an_absent_task_has_none():
    count = 1_002
    sources = tuple(SourceFile(f"f{number}", 1, 1) for number in range(count))
    now = table([[1]] * count, sources=sources, tasks=tuple(range(1, count + 1)))
    was = table([[1]], tasks=(0,))
    picture = picture_of(now, reward="reward", compared=(was, np.full(count, -1)))
    kept = first(picture.tasks, 3)
    assert kept.ids == ["0", "1", "2"]
    assert kept.rows == [None, [[0, 0, 1]], [[0, 1, 1]]]
    assert [file.path for file in kept.files] == ["f0", "f1"]
