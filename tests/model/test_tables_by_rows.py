"""What tables and results in memory hold where nothing is stated, and rows of theirs."""

import math

import numpy as np

from pytest_evalmetrics.model.comparison import (
    Comparison,
    NoiseSource,
    PairedMetric,
)
from pytest_evalmetrics.model.rollout_table import (
    STATED_COUNT,
    STATED_ERROR,
    STATED_TOTAL,
    Category,
    RolloutTable,
    TaskRows,
    pool,
)


def table(tasks, task, sample, **fields):
    """Make a table of one agent, whose rewards are the numbers of its rows."""
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(len(task), dtype=np.int32),
        tasks=tasks,
        task=np.array(task),
        sample=np.array(sample),
        scores={"reward": np.arange(len(task), dtype=np.float64)},
        **fields,
    )


def defaults_of(record):
    """Return the defaults of a record's last fields, but for what is made anew."""
    defaults = record.__struct_defaults__
    names = record.__struct_fields__[-len(defaults) :]
    pairs = zip(names, defaults, strict=True)
    return {name: value for name, value in pairs if "factory" not in repr(value)}


# -- what is not stated ----------------------------------------------------------------------


def test_a_table_states_nothing_but_its_rows():
    assert defaults_of(RolloutTable) == {
        "integers": frozenset(),
        "sources": (),
        "notes": (),
        "read_as": None,
        "marks": None,
        "content": None,
        "positional": False,
        "unnumbered": frozenset(),
    }


def test_a_pair_states_nothing_but_its_two_sides():
    assert defaults_of(PairedMetric) == {
        "difference": None,
        "reduce": None,
        "task_values": None,
        "extreme": "",
        "excluded": (),
        "added": (),
        "removed": (),
        "clusters": None,
        "combine_weighted": None,
        "bounded": False,
        "quantile": None,
    }


def test_a_comparison_is_of_one_run_whose_noise_is_unknown():
    defaults = defaults_of(Comparison)
    numbers = {
        name: defaults.pop(name) for name in list(defaults) if is_nan(defaults[name])
    }
    assert list(numbers) == [
        "p_rollouts",
        "detectable",
        "run_sd",
        "upper_by_factors",
        "p_tasks",
        "unseen_run_sd",
    ]
    assert defaults == {
        "blind": None,
        "by_rollouts": False,
        "independence": None,
        "lost_all": False,
        "tasks_with_room": 0,
        "coins": None,
        "had_most_to_lose": False,
        "unseen": None,
        "draws": 0,
        "untested": None,
        "proven": (),
        "runs": 1,
        "noise_source": NoiseSource.UNKNOWN,
        "improved": False,
        "seed": 0,
        "typical": None,
    }


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def test_columns_of_what_a_tool_states_have_names_that_no_row_has():
    assert STATED_ERROR == "(standard error) "
    assert STATED_COUNT == "(samples) "
    assert STATED_TOTAL == "(samples in all) "


# -- rows ------------------------------------------------------------------------------------


def test_chosen_rows_keep_all_that_a_table_says_of_them():
    kind = Category(np.array([0, 1, 0], dtype=np.int32), ("x", "y"))
    whole = table(
        ("p", "q"),
        [0, 0, 1],
        [4, 7, 2],
        categories={"kind": kind},
        read_as=np.array([5, 6, 3]),
        content=np.array([b"1", b"1", b"2"]),
    )
    part = whole.where(np.array([False, True, True]))
    assert part.tasks == ("p", "q")
    assert part.task.tolist() == [0, 1]
    assert part.sample.tolist() == [7, 2]
    assert part.scores["reward"].tolist() == [1, 2]
    assert part.categories["kind"].codes.tolist() == [1, 0]
    assert part.read_as.tolist() == [6, 3]
    assert part.content.tolist() == [b"1", b"2"]


def test_runs_are_pooled_by_their_tasks():
    first = table(("p", "q"), [0, 1], [0, 0])
    second = table(("q", "r"), [0, 1], [0, 0])
    both = pool([first, second])
    assert both.tasks == ("p", "q", "r")
    assert both.task.tolist() == [0, 1, 1, 2]
    assert both.sample.tolist() == [0, 0, 1, 0]
    assert both.scores["reward"].tolist() == [0, 1, 0, 1]


def rows(values, worth, **labels):
    return TaskRows(
        values=np.array(values, dtype=np.float64),
        offsets=np.array([0, len(values)]),
        columns={name: np.array(codes) for name, (codes, _) in labels.items()},
        labels=tuple(next(iter(labels.values()))[1]),
        coded=frozenset(labels),
        worth=np.array(worth, dtype=np.float64),
    )


def test_rows_beside_others_are_places_in_the_columns_of_both():
    ours, theirs = rows([0, 1], [1, 0], gold=([0, 1], "ab")).beside(
        rows([1], [0.5, 0.25], gold=([0, 1], "bc"))
    )
    assert ours.labels == theirs.labels == ("a", "b", "c")
    assert ours.columns["gold"].tolist() == [0, 1, 1, 2]
    assert ours.worth.tolist() == theirs.worth.tolist() == [1, 0, 0.5, 0.25]
    assert ours["gold"].tolist() == [0, 1]
    assert theirs["gold"].tolist() == [2]
