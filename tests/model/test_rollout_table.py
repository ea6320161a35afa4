"""Tables of rollouts: rows by task and agent, what they lack, and several runs in one."""

import hashlib

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.model.rollout_table import (
    HASH_SIZE,
    Category,
    RolloutTable,
    TaskRewards,
    TaskRows,
    content_hash,
    in_order,
    join_versions,
    pool,
    question_of,
)

NAN = float("nan")


def table(rewards, tasks=None, **fields):
    """Make a table of one agent from the rewards of each task."""
    counts = [len(task) for task in rewards]
    values = [reward for task in rewards for reward in task]
    samples = [np.arange(count) for count in counts]
    return RolloutTable(
        **{
            "agents": ("a",),
            "agent": np.zeros(sum(counts), dtype=np.int32),
            "tasks": tuple(range(len(rewards))) if tasks is None else tasks,
            "task": np.repeat(np.arange(len(rewards)), counts),
            "sample": np.concatenate([np.arange(0), *samples]),
            "scores": {"reward": np.array(values, dtype=np.float64)},
            **fields,
        }
    )


def labels(codes, *names):
    return Category(np.array(codes, dtype=np.int32), names)


# -- contents --------------------------------------------------------------------------------


def test_the_order_of_keys_does_not_matter_to_a_content():
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    assert content_hash({"a": 1}) != content_hash({"a": 2})


def test_a_hash_has_twelve_digits_and_that_of_nothing_is_empty():
    assert len(content_hash("x")) == 12
    assert content_hash(None) == ""


def test_a_column_of_hashes_has_room_for_all_their_digits():
    assert len(content_hash("x")) == HASH_SIZE


def test_the_hash_of_a_content_never_changes():
    # baselines hold it
    content = {"question": "Où?", "choices": ["a", 2.5, None]}
    written = '{"choices":["a",2.5,null],"question":"Où?"}'.encode()
    expected = hashlib.blake2b(written, digest_size=6).hexdigest()
    assert content_hash(content) == expected == "4475230f95c8"


@pytest.mark.parametrize("content", [1 + 2j, "half a pair: \ud83d"])
def test_what_json_can_not_write_has_a_hash_of_its_representation(content):
    assert len(content_hash({"a": content})) == 12


def test_what_json_can_not_write_has_a_hash():
    assert content_hash({"a": 1 + 2j}) != content_hash({"a": 1 + 3j})


def test_the_order_of_keys_does_not_matter_where_json_can_not_write_a_value():
    first = {"a": 1 + 2j, "b": 1}
    assert content_hash(first) == content_hash({"b": 1, "a": 1 + 2j})


def test_versions_are_joined_once_in_their_order():
    assert join_versions("b", "a+c", "b") == "a+b+c"


def test_a_question_is_a_conversation_without_its_system_prompt():
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hi", "id": "m1", "source": "s", "metadata": {}},
        "more",
    ]
    assert question_of(messages) == [{"role": "user", "content": "Hi"}, "more"]


def test_a_question_that_is_no_conversation_is_itself():
    assert question_of("Hi") == "Hi"


# -- rewards by task -------------------------------------------------------------------------

UNEQUAL = TaskRewards.from_lists([[1, 0], [], [1]])
ONE_EACH = TaskRewards.from_lists([[1], [0], [1]])


def test_rewards_are_counted_by_task():
    assert UNEQUAL.counts.tolist() == [2, 0, 1]
    assert UNEQUAL.task.tolist() == [0, 0, 2]
    assert len(UNEQUAL) == 3


@pytest.mark.parametrize(
    ("rewards", "is_so"),
    [(ONE_EACH, True), (UNEQUAL, False), (TaskRewards.from_lists([[], [1, 0]]), False)],
)
def test_each_task_has_exactly_one_reward(rewards, is_so):
    assert rewards.is_one_each is is_so


def test_chosen_rewards_are_counted_by_task():
    rewards = TaskRewards.from_lists([[1, 0], [1], [1, 1, 0]])
    assert rewards.count(rewards.values > 0).tolist() == [1, 1, 2]
    assert ONE_EACH.count(ONE_EACH.values > 0).tolist() == [1, 0, 1]


def test_tasks_are_taken_in_any_order_and_more_than_once():
    taken = UNEQUAL.take(np.array([2, 0, 0]))
    assert taken.to_lists() == [[1], [1, 0], [1, 0]]
    assert ONE_EACH.take(np.array([1, 1])).to_lists() == [[0], [0]]
    assert ONE_EACH.take(np.array([2, 1, 0])).to_lists() == [[1], [0], [1]]


def test_rewards_are_the_same_task_by_task():
    assert UNEQUAL.same_as(TaskRewards.from_lists([[1, 0], [], [1]]))
    assert not UNEQUAL.same_as(TaskRewards.from_lists([[1], [0], [1]]))
    assert not UNEQUAL.same_as(TaskRewards.from_lists([[1, 1], [], [1]]))


def test_tasks_of_one_size_are_a_block():
    rewards = TaskRewards.from_lists([[1, 0], [], [1], [0, 0]])
    blocks = [(tasks.tolist(), block.tolist()) for tasks, block in rewards.blocks()]
    assert blocks == [([2], [[1]]), ([0, 3], [[1, 0], [0, 0]])]


def test_what_is_computed_once_is_kept():
    calls = []
    for _ in range(2):
        UNEQUAL.once("a key of this test", lambda: calls.append(1))
    assert calls == [1]


def test_tasks_of_several_sizes_are_blocks_by_their_size():
    rewards = TaskRewards.from_lists([[1], [0, 1, 1], [0], [1, 1, 0], [1]])
    sizes = [block.shape for _, block in rewards.blocks()]
    assert sizes == [(3, 1), (2, 3)]


def rows_of(codes, labels, numbers):
    """Make rows of two tasks: one row, and the others."""
    count = len(codes)
    return TaskRows(
        values=np.arange(count, dtype=np.float64),
        offsets=np.array([0, 1, count]),
        columns={"lang": np.array(codes), "cost": np.array(numbers, dtype=np.float64)},
        labels=labels,
        coded=frozenset(["lang"]),
        worth=np.ones(count),
    )


def test_rows_of_two_runs_stand_beside_each_other():
    ours = rows_of([0, 1, 1], ("de", "en"), [1, 2, 3])
    theirs = rows_of([0, 1], ("en", "fr"), [4, 5])
    now, then = ours.beside(theirs)
    assert now.to_lists() == ours.to_lists()
    assert then.to_lists() == theirs.to_lists()
    assert now.labels == then.labels == ("de", "en", "fr")
    assert then["lang"].tolist() == [1, 2]
    assert then["cost"].tolist() == [4, 5]


def test_rows_are_the_same_by_what_they_hold():
    ours = rows_of([0, 1, 1], ("de", "en"), [1, 2, 3])
    same = rows_of([1, 0, 0], ("en", "de"), [1, 2, 3])
    other = rows_of([0, 1, 1], ("de", "en"), [1, 2, 4])
    assert ours.same_as(same)
    assert not ours.same_as(other)


def test_labels_are_sorted_numbers_first():
    assert in_order(["b", "10", "9", "a", "-1.5"]) == ("-1.5", "9", "10", "a", "b")


# -- tables ----------------------------------------------------------------------------------


def test_a_tables_rewards_leave_missing_ones_out():
    rewards = table([[1, NAN], [NAN], [0]]).rewards("reward")
    assert rewards.to_lists() == [[1], [], [0]]


def test_a_tables_missing_rewards_may_count():
    rewards = table([[1, NAN], [NAN], [0]]).rewards("reward", missing=0.0)
    assert rewards.to_lists() == [[1, 0], [0], [0]]


def test_rows_that_lack_a_number_or_a_label_are_found():
    rows = table(
        [[1, NAN], [0, 1]],
        categories={"lang": labels([0, 1, -1, 0], "de", "(missing)")},
    )
    assert rows.lacking(["reward"]).tolist() == [False, True, False, False]
    assert rows.lacking(["nothing"]).tolist() == [False] * 4
    assert rows.lacking(["lang"]).tolist() == [False, True, True, False]
    assert rows.lacking(["reward", "lang"]).tolist() == [False, True, True, False]


def test_rows_that_all_have_a_label_lack_none():
    rows = table([[1, 0]], categories={"lang": labels([0, 1], "de", "en")})
    assert rows.lacking(["lang"]).tolist() == [False, False]


def test_a_part_of_a_table_has_the_tasks_of_its_rows():
    whole = table(
        [[1, 0], [1], [0]],
        content=np.array([b"x", b"x", b"y", b"z"]),
        categories={"lang": labels([0, 0, 1, 1], "de", "en")},
    )
    part = whole.where(np.array([True, False, False, True]))
    assert part.tasks == (0, 2)
    assert part.task.tolist() == [0, 1]
    assert part.scores["reward"].tolist() == [1, 0]
    assert part.content.tolist() == [b"x", b"z"]
    assert part.categories["lang"].codes.tolist() == [0, 1]


def test_each_agent_has_a_table_of_its_own_tasks():
    both = structs.replace(
        table([[1], [0], [1]]),
        agents=("a", "b"),
        agent=np.array([0, 1, 1], dtype=np.int32),
    )
    parts = dict(both.by_agent())
    assert parts["a"].tasks == (0,)
    assert parts["b"].tasks == (1, 2)


def test_contents_are_those_of_tasks():
    rows = table([[1, 0], [1]], content=np.array([b"x", b"x", b"y"]))
    assert rows.contents.tolist() == [b"x", b"y"]
    assert table([[1]]).contents is None


# -- several runs ----------------------------------------------------------------------------


def test_runs_are_pooled_by_task():
    runs = pool([table([[1], [0]]), table([[1, 1], [0]], tasks=(1, 2))])
    assert runs.tasks == (0, 1, 2)
    assert runs.rewards("reward").to_lists() == [[1], [0, 1, 1], [0]]
    assert runs.sample.tolist() == [0, 0, 1, 2, 0]


def test_one_run_is_itself():
    alone = table([[1]])
    assert pool([alone]) is alone


def test_ids_of_pooled_runs_are_in_order():
    numbers = pool([table([[1], [1]], tasks=(10, 9)), table([[1]], tasks=(2,))])
    assert numbers.tasks == (2, 9, 10)
    texts = pool([table([[1], [1]], tasks=("b", 9)), table([[1]], tasks=("a",))])
    assert texts.tasks == (9, "a", "b")


def test_a_score_that_a_run_lacks_is_missing_in_it():
    cost = {"reward": np.array([1.0]), "cost": np.array([5.0])}
    runs = pool([table([[1]], scores=cost), table([[0]])])
    np.testing.assert_array_equal(runs.scores["cost"], [5, np.nan])


def test_labels_of_pooled_runs_are_those_of_all():
    first = table([[1], [1]], categories={"lang": labels([0, 1], "de", "en")})
    second = table([[1], [1]], categories={"lang": labels([1, 0], "fr", "de")})
    lang = pool([first, second]).categories["lang"]
    assert lang.labels == ("de", "en", "fr")
    assert lang.codes.tolist() == [0, 0, 1, 2]


def test_labels_that_one_run_lacks_are_left_out():
    first = table([[1]], categories={"lang": labels([0], "de")})
    assert pool([first, table([[1]])]).categories == {}


def test_contents_are_pooled_where_all_runs_have_them():
    first = table([[1]], content=np.array([b"x"]))
    assert pool([first, first]).content.tolist() == [b"x", b"x"]
    assert pool([first, table([[1]])]).content is None


@pytest.mark.parametrize("places", [(True, False), (False, True), (True, True)])
def test_runs_of_which_one_is_numbered_are(places):
    runs = [table([[1]], positional=positional) for positional in places]
    assert pool(runs).positional
