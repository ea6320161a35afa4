import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics import base_statistics


@pytest.fixture(scope="module")
def statistics(reduced):
    """Compute the base statistics of all rows, and of each task, without what else there is."""

    def statistics(rollouts, **keys):
        statistic = reduced(rollouts, **keys).aggregate
        everything = statistic["agent_metrics"], *statistic["group_level_metrics"]
        return [{k: v for k, v in entry.items() if "/" in k} for entry in everything]

    return statistics


def test_a_number_that_overflows_is_an_error(table, statistics):
    with pytest.raises(MetricError, match=r"mean/tokens is too large") as caught:
        statistics(table([[1, 1]], tokens=[1.7e308, 1.7e308]))
    assert "broken value of 'tokens'" in str(caught.value)
    with pytest.raises(MetricError, match=r"std/tokens is too large"):
        statistics(table([[1, 1]], tokens=[1e200, -1e200]))


# -- against pandas, to the last digit ----------------------------------------------------


def described(frame):
    """Describe a frame as NeMo Gym does, with pandas."""
    statistic = {
        name: getattr(frame, name)() for name in ("mean", "max", "min", "median", "std")
    }
    if statistic["std"].isna().all():
        full = frame.columns[frame.notna().all()]
        statistic["std"][full] = statistic["std"][full].fillna(0)
    return {
        f"{name}/{column}": values[column].item()
        for name, values in statistic.items()
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
    records = []
    columns = {
        name: (draw(st.sampled_from([0.0, 0.2, 0.8])), draw(st.booleans()))
        for name in "bac"
    }
    for task, count in enumerate(counts):
        for _ in range(count):
            row = {"task": task}
            for name, (missing, whole) in columns.items():
                if draw(st.floats(0, 1)) >= missing:
                    value = draw(VALUES)
                    row[name] = (
                        int(value) if whole or isinstance(value, bool) else value
                    )
            records.append(row)
    return records


def as_table(records, table):
    names = list(
        dict.fromkeys(name for row in records for name in row if name != "task")
    )
    by_task = {}
    for row in records:
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


@given(rows().filter(lambda records: any(len(row) > 1 for row in records)))
@settings(max_examples=25)
def test_the_numbers_are_those_of_pandas_to_the_last_digit(table, statistics, records):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.from_records(records)
    first = next(name for row in records for name in row if name != "task")
    statistic = statistics(
        as_table(records, table), reward=first, metrics=[f"mean/{first}"]
    )
    frames = [frame, *(task for _, task in frame.groupby("task"))]
    for mine, rows in zip(statistic, frames, strict=True):
        theirs = described(rows.drop(columns=["task"]))
        assert list(mine) == list(theirs)
        assert mine == theirs
        assert [type(v) for v in mine.values()] == [type(v) for v in theirs.values()]


def test_missing_are_absent_rollouts_and_those_without_a_reward(table, reduced):
    whole = table([[1, 0, 1, 1], [1, 0], [None, 1, None, 0], [None]])
    many = table(
        [[1, 0, None], [None, None, None]]
    )  # more than expected hide no missing one
    names = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts")
    names = (*names, "reward_profile_completion_pct")
    for rollouts, expected, counts in (
        (whole, 4, [(4, 4, 0, 100), (2, 4, 2, 50), (4, 4, 2, 50), (1, 4, 4, 0)]),
        (many, 2, [(3, 2, 1, 50), (3, 2, 3, 0)]),
    ):
        entries = reduced(rollouts, expected=expected).aggregate["group_level_metrics"]
        assert [tuple(entry[name] for name in names) for entry in entries] == counts


@pytest.mark.parametrize("block", [1, 2, 3, 4096])
def test_entries_are_the_same_however_they_are_asked_for(
    table, reduced, monkeypatch, block
):
    monkeypatch.setattr(base_statistics, "_BLOCK", block)
    rewards = [[1, 0.1, None], [0.7], [None], [0, 1, 1, 0.25], [0.3, None]]
    costs = [0.1 * i if i % 4 else None for i in range(11)]
    rollouts = table(rewards, **{'cö"st': costs})
    entries = reduced(rollouts, expected=3).aggregate["group_level_metrics"]
    one_by_one = list(entries)
    assert len(entries) == len(one_by_one) == 5
    assert 'mean/cö"st' in one_by_one[1]
    assert "std/reward" not in one_by_one[4]
    assert [entries[i] for i in range(5)] == entries[:] == one_by_one
    assert entries[-1] == one_by_one[-1]
    with pytest.raises(IndexError):
        entries[5]
    text = b"[" + b",".join(entries.pieces()) + b"]"
    assert text == msgspec.json.encode(one_by_one)


@pytest.mark.parametrize(
    ("integers", "kind"),
    [(("reward", "tokens"), int), (("tokens",), float), ((), float)],
    ids=["all", "one", "none"],
)
def test_extremes_of_tasks_are_whole_where_every_column_is(
    table, statistics, integers, kind
):
    _, task = statistics(table([[1, 0]], tokens=[3, 5], integers=integers))
    assert type(task["max/tokens"]) is kind
    assert type(task["min/tokens"]) is kind
    assert task["max/tokens"] == 5


def test_a_missing_number_makes_extremes_no_whole_numbers(table, statistics):
    integers = ("reward", "tokens")
    _, task, _ = statistics(
        table([[1, 0], [1, 0]], tokens=[3, 5, None, 7], integers=integers)
    )
    assert type(task["max/reward"]) is float
