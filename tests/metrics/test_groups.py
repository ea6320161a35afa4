from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from pytest_evalmetrics.metrics import groups
from pytest_evalmetrics.metrics.groups import Completeness, GroupEntries

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.data import RolloutTable


def counts(entries: GroupEntries) -> list[tuple[int, ...]]:
    names = ("num_rollouts", "expected_num_rollouts", "missing_num_rollouts")
    return [tuple(entry[name] for name in names) for entry in entries]


def test_missing_are_absent_rollouts_and_those_without_a_reward(
    table: Callable[..., RolloutTable],
) -> None:
    made = table([[1, 0, 1, 1], [1, 0], [None, 1, None, 0], [None]])
    completeness = Completeness.of(made, "reward", 4)
    assert completeness.missing.tolist() == [0, 2, 2, 4]
    entries = GroupEntries(made, "agent", completeness)
    assert counts(entries) == [(4, 4, 0), (2, 4, 2), (4, 4, 2), (1, 4, 4)]
    assert [e["reward_profile_completion_pct"] for e in entries] == [100.0, 50.0, 50.0, 0.0]


def test_without_an_expectation_as_many_as_there_are_are_expected(
    table: Callable[..., RolloutTable],
) -> None:
    made = table([[1, 0, None], [1]])
    entries = GroupEntries(made, "agent", Completeness.of(made, "reward"))
    assert counts(entries) == [(3, 3, 1), (1, 1, 0)]
    assert entries[0]["reward_profile_completion_pct"] == pytest.approx(200 / 3)


def test_each_task_may_have_its_own_expectation(table: Callable[..., RolloutTable]) -> None:
    made = table([[1, 0], [1]])
    found = Completeness.of(made, "reward", np.array([2, 3]))
    assert found.missing.tolist() == [0, 2]


def test_more_rollouts_than_expected_hide_no_missing_one(
    table: Callable[..., RolloutTable],
) -> None:
    made = table([[1, 0, None]])
    entries = GroupEntries(made, "agent", Completeness.of(made, "reward", 2))
    assert counts(entries) == [(3, 2, 1)]
    assert entries[0]["reward_profile_completion_pct"] == 50.0
    made = table([[None, None, None]])
    (entry,) = GroupEntries(made, "agent", Completeness.of(made, "reward", 2))
    assert entry["reward_profile_completion_pct"] == 0.0


def test_where_there_is_no_reward_at_all_every_rollout_is_missing(
    table: Callable[..., RolloutTable],
) -> None:
    made = table([[1, 0]], score="accuracy")
    assert Completeness.of(made, "reward", 2).missing.tolist() == [2]


def test_an_entry_has_gyms_keys_in_gyms_order_and_the_tasks_id_as_it_is(
    table: Callable[..., RolloutTable],
) -> None:
    made = table([[1, 0], [1, 1]], tasks=["b/2", "c"], integers=["reward"])
    first, second = GroupEntries(made, "math agent", Completeness.of(made, "reward"))
    assert list(first) == [
        "_ng_task_index", "mean/reward", "max/reward", "min/reward", "median/reward", "std/reward",
        "sample", "num_rollouts", "expected_num_rollouts", "missing_num_rollouts",
        "reward_profile_completion_pct",
    ]  # fmt: skip
    assert first["_ng_task_index"] == "b/2"
    assert second["sample"] == {"agent_ref": {"name": "math agent"}}
    kinds = {type(value) for entry in (first, second) for value in entry.values()}
    assert kinds == {str, float, int, dict}  # builtins alone


@pytest.mark.parametrize("block", [1, 2, 3, 4096])
@pytest.mark.parametrize("field", ["cost", 'c"st', "é"])
def test_entries_are_the_same_however_they_are_asked_for(
    table: Callable[..., RolloutTable], monkeypatch: pytest.MonkeyPatch, block: int, field: str
) -> None:
    monkeypatch.setattr(groups, "_BLOCK", block)
    rewards = [[1, 0.1, None], [0.7], [None], [0, 1, 1, 0.25], [0.3, None]]
    costs = [0.1 * i if i % 4 else None for i in range(11)]
    made = table(rewards, **{field: costs})
    entries = GroupEntries(made, "agent", Completeness.of(made, "reward", 3))
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
