import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics import base_statistics
from pytest_evalmetrics.metrics.base_statistics import Counts, GroupEntries, pooled_statistics


def statistics_of_tasks(made):
    """Return each task's statistics without what else an entry holds."""
    entries = GroupEntries(made, "agent", Counts.of(made, "reward"))
    return [{k: v for k, v in entry.items() if "/" in k} for entry in entries]


def test_the_std_of_one_row_is_0_and_of_one_value_among_more_is_left_out(table):
    made = table([[0.5], [0.5, None]], cost=[None, 1, 2])
    one, other = statistics_of_tasks(made)
    assert one["std/reward"] == 0.0
    assert "std/cost" not in one
    assert "std/reward" not in other
    assert other["std/cost"] == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    ("tokens", "integers", "whole"),
    [
        ([3, 4], ("reward", "tokens"), True),
        ([3, 4], ("reward",), False),  # 4.0 in the file
        ([3, None], ("reward", "tokens"), False),
    ],
)
def test_max_and_min_are_whole_only_where_every_column_is(table, tokens, integers, whole):
    made = table([[1, 0]], tokens=tokens, integers=integers)
    for found in (pooled_statistics(made), *statistics_of_tasks(made)):
        kinds = {name: type(value) for name, value in found.items()}
        assert kinds["max/reward"] is (int if whole else float)
        assert kinds["min/tokens"] is (int if whole else float)
        assert {kinds[f"{s}/reward"] for s in ("mean", "median", "std")} == {float}


def test_a_number_that_overflows_is_an_error(table):
    with pytest.raises(MetricError, match=r"mean/reward is too large") as caught:
        pooled_statistics(table([[1.7e308, 1.7e308]]))
    assert "broken value of 'reward'" in str(caught.value)
    with pytest.raises(MetricError, match=r"std/reward is too large"):
        statistics_of_tasks(table([[1e200, -1e200]]))


# -- against pandas, to the last digit ----------------------------------------------------


def described(frame):
    """Describe a frame as NeMo Gym does, with pandas."""
    found = {name: getattr(frame, name)() for name in ("mean", "max", "min", "median", "std")}
    if found["std"].isna().all():
        full = frame.columns[frame.notna().all()]
        found["std"][full] = found["std"][full].fillna(0)
    return {
        f"{name}/{column}": values[column].item()
        for name, values in found.items()
        for column in frame.columns
        if values[column] == values[column]
    }


VALUES = st.one_of(
    st.floats(-1e6, 1e6), st.integers(-5, 5), st.integers(10**6, 10**9), st.booleans()
)


@st.composite
def rows(draw):
    """Rows of some tasks: columns may be sparse, whole, mixed, or appear late."""
    counts = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    if draw(st.booleans()):
        counts = [counts[0]] * len(counts)
    made = []
    columns = {
        name: (draw(st.sampled_from([0.0, 0.2, 0.8])), draw(st.booleans())) for name in "bac"
    }
    for task, count in enumerate(counts):
        for _ in range(count):
            row = {"task": task}
            for name, (missing, whole) in columns.items():
                if draw(st.floats(0, 1)) >= missing:
                    value = draw(VALUES)
                    row[name] = int(value) if whole or isinstance(value, bool) else value
            made.append(row)
    return made


def as_table(made, table):
    names = list(dict.fromkeys(name for row in made for name in row if name != "task"))
    by_task = {}
    for row in made:
        by_task.setdefault(row["task"], []).append(row)
    flat = [row for task in by_task.values() for row in task]
    columns = {name: [row.get(name) for row in flat] for name in names}
    whole = [n for n, c in columns.items() if all(isinstance(v, int | None) for v in c)]
    return table(
        [[row.get(names[0]) for row in task] for task in by_task.values()],
        score=names[0],
        integers=whole,
        **{n: c for n, c in columns.items() if n != names[0]},
    )


@given(rows().filter(lambda made: any(len(row) > 1 for row in made)))
@settings(max_examples=60, deadline=None)
def test_the_numbers_are_those_of_pandas_to_the_last_digit(table, made):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.from_records(made)
    ours = as_table(made, table)
    assert_same(pooled_statistics(ours), described(frame.drop(columns=["task"])))
    for task, mine in zip(frame.groupby("task"), statistics_of_tasks(ours), strict=True):
        assert_same(mine, described(task[1].drop(columns=["task"])))


def assert_same(mine, theirs):
    assert list(mine) == list(theirs)
    assert mine == theirs
    assert [type(v) for v in mine.values()] == [type(v) for v in theirs.values()]


def counts(entries):
    names = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts")
    return [tuple(entry[name] for name in names) for entry in entries]


def test_missing_are_absent_rollouts_and_those_without_a_reward(table):
    made = table([[1, 0, 1, 1], [1, 0], [None, 1, None, 0], [None]])
    completeness = Counts.of(made, "reward", 4)
    assert completeness.missing.tolist() == [0, 2, 2, 4]
    entries = GroupEntries(made, "agent", completeness)
    assert counts(entries) == [(4, 4, 0), (2, 4, 2), (4, 4, 2), (1, 4, 4)]
    assert [e["reward_profile_completion_pct"] for e in entries] == [100.0, 50.0, 50.0, 0.0]


def test_more_rollouts_than_expected_hide_no_missing_one(table):
    made = table([[1, 0, None]])
    entries = GroupEntries(made, "agent", Counts.of(made, "reward", 2))
    assert counts(entries) == [(3, 2, 1)]
    assert entries[0]["reward_profile_completion_pct"] == 50.0
    made = table([[None, None, None]])
    (entry,) = GroupEntries(made, "agent", Counts.of(made, "reward", 2))
    assert entry["reward_profile_completion_pct"] == 0.0


@pytest.mark.parametrize("block", [1, 2, 3, 4096])
@pytest.mark.parametrize("field", ["cost", 'c"st', "é"])
def test_entries_are_the_same_however_they_are_asked_for(table, monkeypatch, block, field):
    monkeypatch.setattr(base_statistics, "_BLOCK", block)
    rewards = [[1, 0.1, None], [0.7], [None], [0, 1, 1, 0.25], [0.3, None]]
    costs = [0.1 * i if i % 4 else None for i in range(11)]
    made = table(rewards, **{field: costs})
    entries = GroupEntries(made, "agent", Counts.of(made, "reward", 3))
    one_by_one = list(entries)
    assert len(entries) == len(one_by_one) == 5
    assert f"mean/{field}" in one_by_one[1]
    assert "std/reward" not in one_by_one[4]
    assert [entries[i] for i in range(5)] == entries[:] == one_by_one
    assert entries[-1] == one_by_one[-1]
    with pytest.raises(IndexError):
        entries[5]
    text = b"[" + b",".join(entries.pieces()) + b"]"
    assert text == msgspec.json.encode(one_by_one)
