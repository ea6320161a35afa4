"""Which rows are evaluated, under which names, and how a baseline keeps them."""

import gzip
from collections import Counter

import numpy as np
import pytest

from pytest_evalmetrics.errors import BaselineError, DataError, RowError
from pytest_evalmetrics.model.rollout_table import Category, RolloutTable, Row
from pytest_evalmetrics.model.scoring_notes import (
    DrawnGroup,
    DrawnSample,
    KeysInTaskIds,
)
from pytest_evalmetrics.pipeline.benchmark_rows import (
    Chosen,
    draw,
    first_rollouts,
    keep,
    kept_rows,
    with_hidden_ids,
)
from pytest_evalmetrics.spec.sources import Rounds, SampleSpec


def table_of(counts, tasks=None, **fields):
    """Make a table of one agent with so many rollouts of each task, in the order of the files."""
    rows = sum(counts)
    return RolloutTable(
        **{
            "agents": ("a",),
            "agent": np.zeros(rows, np.int32),
            "tasks": tuple(tasks or (f"t{at}" for at in range(len(counts)))),
            "task": np.repeat(np.arange(len(counts)), counts),
            "sample": np.concatenate([np.arange(count) for count in counts]),
            "scores": {},
            "read_as": np.arange(rows),
            **fields,
        }
    )


# -- samples of the tasks --------------------------------------------------------------------


def test_so_many_tasks_are_drawn_with_all_of_their_rollouts():
    drawn, note = draw(table_of([2] * 10), SampleSpec(tasks=4))
    assert (len(drawn.tasks), len(drawn)) == (4, 8)
    assert note == DrawnSample(drawn=4, tasks=10)


def test_a_sample_of_all_tasks_is_the_table():
    table = table_of([1, 1])
    drawn, note = draw(table, SampleSpec(tasks=5))
    assert drawn is table
    assert note == DrawnSample(drawn=2, tasks=2)


def test_the_same_seed_draws_the_same_tasks_and_another_one_others():
    table = table_of([1] * 50)
    first, _ = draw(table, SampleSpec(tasks=10, seed=1))
    again, _ = draw(table, SampleSpec(tasks=10, seed=1))
    other, _ = draw(table, SampleSpec(tasks=10, seed=2))
    assert first.tasks == again.tasks
    assert first.tasks != other.tasks


def test_tasks_are_drawn_by_their_content_and_not_by_their_names():
    content = np.array([f"{at:012}".encode() for at in range(20)], dtype="S12")
    one = table_of([1] * 20, content=content)
    other = table_of([1] * 20, [f"x{at}" for at in range(20)], content=content)
    drawn_of_one, _ = draw(one, SampleSpec(tasks=5))
    drawn_of_other, _ = draw(other, SampleSpec(tasks=5))
    assert drawn_of_one.content.tolist() == drawn_of_other.content.tolist()


def test_groups_have_their_share_of_a_sample_by_the_largest_remainders():
    languages = Category(
        np.array([0] * 6 + [1] * 3 + [2] * 1, np.int32), ("de", "en", "fr")
    )
    table = table_of([1] * 10, categories={"lang": languages})
    drawn, note = draw(table, SampleSpec(tasks=4, by="lang"))
    # of 2.4, 1.2 and 0.4 tasks the largest remainder is rounded up
    assert note == DrawnSample(
        drawn=4,
        tasks=10,
        by="lang",
        groups=(DrawnGroup("de", 3, 6), DrawnGroup("en", 1, 3), DrawnGroup("fr", 0, 1)),
    )
    codes = drawn.categories["lang"].codes.tolist()
    labels = [drawn.categories["lang"].labels[code] for code in codes]
    assert Counter(labels) == {"de": 3, "en": 1}


# -- rounds ----------------------------------------------------------------------------------


def test_a_look_sees_the_first_rollouts_of_each_task():
    seen = first_rollouts(table_of([3, 1, 2]), Rounds.at(2, 2, 4))
    assert seen.tolist() == [True, True, False, True, True, True]


def test_the_rollouts_of_each_agent_are_counted_by_themselves():
    table = table_of([4], agents=("a", "b"), agent=np.array([0, 0, 1, 1], np.int32))
    assert first_rollouts(table, Rounds.at(1, 1, 4)).tolist() == [
        True,
        False,
        True,
        False,
    ]


def test_more_rollouts_than_the_last_look_are_refused():
    with pytest.raises(
        DataError, match="task t1 has 5 rollouts, more than num_samples"
    ):
        first_rollouts(table_of([4, 5]), Rounds.at(2, 2, 4))


# -- keys in ids -----------------------------------------------------------------------------


def hidden(*tasks):
    chosen = Chosen(
        table=table_of([1] * len(tasks), tasks),
        rows=np.arange(len(tasks)),
        samples=1,
        notes=(),
        partial=False,
    )
    return with_hidden_ids(chosen, lambda text: text.replace("s3cr3t", "***"))


def test_ids_without_keys_stay():
    chosen = hidden("b", "a")
    assert chosen.table.tasks == ("b", "a")
    assert chosen.notes == ()


def test_a_key_in_an_id_is_hidden_and_noted():
    chosen = hidden("x", "s3cr3t")
    assert chosen.table.tasks == ("***", "x")
    assert chosen.notes == (KeysInTaskIds(1),)


def test_tasks_whose_ids_are_the_same_without_keys_stay_apart():
    chosen = hidden("a-s3cr3t", "a-***", "s3cr3t-s3cr3t")
    assert chosen.table.tasks == ("***-***", "a-***", "a-*** (1)")
    # the second row of the file is the one whose own id that is
    assert chosen.table.read_as.tolist() == [2, 1, 0]


def test_hiding_ids_keeps_each_row_with_its_task():
    chosen = hidden("x", "s3cr3t", "a")
    names = [chosen.table.tasks[task] for task in chosen.table.task]
    by_row = dict(zip(chosen.table.read_as.tolist(), names, strict=True))
    assert by_row == {0: "x", 1: "***", 2: "a"}


# -- the rows that a baseline keeps ----------------------------------------------------------


def rows_to_keep():
    item = {"q": "2 + 2"}
    return [
        (Row(0, "a", "t0", 0, item, item, "d.jsonl:1"), None),
        (Row(1, "a", "t1", 0, item, {"output_text": "4"}, "d.jsonl:2"), None),
        (
            Row(2, "a", "t2", 0, item, {}, "d.jsonl:3"),
            RowError("refusal", "it refused"),
        ),
    ]


def kept():
    return keep(rows_to_keep(), table_of([1, 1, 1]))


def test_kept_rows_are_what_scorers_saw():
    data, description = kept()
    rows, places = kept_rows(data, description, {"a": table_of([1, 1, 1])})
    assert places == {"a": [0, 1, 2]}
    assert description["count"] == 3
    first, second, third = (row for row, _ in rows)
    assert first.sample_data == first.item == {"q": "2 + 2"}
    assert second.sample_data == {"output_text": "4"}
    assert third.where == "the baseline's row 3"
    failures = [failure and (failure.kind, failure.message) for _, failure in rows]
    assert failures == [None, None, ("refusal", "it refused")]


def test_the_same_rows_are_the_same_bytes():
    assert kept() == kept()


def test_kept_rows_are_in_the_order_of_the_table():
    table = table_of([1, 1, 1], read_as=np.array([2, 0, 1]))
    data, _ = keep(rows_to_keep(), table)
    lines = gzip.decompress(data).splitlines()
    assert [b'"t2"' in line for line in lines] == [True, False, False]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "the file with the baseline's rows is gone"),
        (b"no gzip", "the file with the baseline's rows can't be read"),
        (gzip.compress(b"{}\n"), "the file with the baseline's rows can't be read"),
        (gzip.compress(b""), "the file holds other rows than the baseline's"),
    ],
    ids=["gone", "damaged", "other form", "empty"],
)
def test_rows_that_are_not_those_of_the_baseline_are_refused(data, words):
    with pytest.raises(BaselineError, match=words) as raised:
        kept_rows(data, kept()[1], {"a": table_of([1, 1, 1])})
    assert raised.value.hint == (
        "restore it from version control, or record a new baseline with "
        "`pytest --evalmetrics-update`"
    )


def test_rows_of_other_tasks_are_refused():
    data, description = kept()
    other = table_of([1, 1, 1], ("t0", "t1", "t9"))
    with pytest.raises(BaselineError, match="other rows than the baseline's"):
        kept_rows(data, description, {"a": other})
