"""NeMo Gym's own rollouts, and the aggregate metrics that it computed from them."""

import json

import pytest
from msgspec.structs import replace

AGGREGATES = [
    "asr_with_pc/example_rollouts", "blackjack/example_rollouts",
    "circle_count/example_rollouts", "claude_code_agent/example_math_rollouts",
    "litmus_agent/example_rollouts", "structeval/example_rollouts",
    "structeval/structeval_nonrenderable_example_rollouts",
]  # fmt: skip
PROFILES = [
    "asr_with_pc/example_rollouts",
    "circle_click/example_rollouts",
    "ether0/example_rollouts",
]
NOT_OURS = {"rollout_infos", "sample"}
STATISTICS = ("mean", "max", "min", "median", "std")


def read(path, table):
    """Read rollouts as `facts` say that NeMo Gym does."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: (row["_ng_task_index"], row["_ng_rollout_index"]))
    numbers = []
    for row in rows:
        usage = (row.get("response") or {}).get("usage") or {}
        numbers.append(
            {
                name: value
                for name, value in (row | usage).items()
                if isinstance(value, int | float) and not name.startswith("_")
            }
        )
    names = list(dict.fromkeys(name for row in numbers for name in row))
    columns = {name: [row.get(name) for row in numbers] for name in names}
    tasks = {}
    for row in rows:
        tasks.setdefault(row["_ng_task_index"], []).append(row["reward"])
    del columns["reward"]
    rollouts = table(
        list(tasks.values()),
        tasks=list(tasks),
        integers=[
            n for n in names if all(isinstance(r.get(n), int | None) for r in numbers)
        ],
        **columns,
    )
    return replace(
        rollouts, scores={name: rollouts.scores[name] for name in names}
    )  # the file's order


def base(metrics, rollouts):
    """Keep the base statistics: the other keys come from a server's own hook."""
    names = [
        f"{statistic}/{score}" for statistic in STATISTICS for score in rollouts.scores
    ]
    return {k: v for k, v in metrics.items() if k in names}


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_aggregate_is_gyms_to_the_last_digit(acceptance, table, reduced, name):
    path = acceptance / "gym" / f"{name}_aggregate_metrics.json"
    (theirs,) = json.loads(path.read_text(encoding="utf-8"))
    rollouts = read(acceptance / "gym" / f"{name}.jsonl", table)
    agent = theirs["agent_ref"]["name"]
    ours = reduced(rollouts, agent=agent, metrics=["mean/reward"]).aggregate
    assert list(ours) == list(theirs)
    assert ours["agent_ref"] == theirs["agent_ref"]
    expected = base(theirs["agent_metrics"], rollouts)
    assert base(ours["agent_metrics"], rollouts) == expected
    assert list(base(ours["agent_metrics"], rollouts)) == list(expected)
    if theirs["key_metrics"] == {
        k: v for k, v in expected.items() if k.startswith("mean/")
    }:
        assert ours["key_metrics"] == theirs["key_metrics"]
    for mine, other in zip(
        ours["group_level_metrics"], theirs["group_level_metrics"], strict=True
    ):
        assert mine["sample"] == {"agent_ref": {"name": agent}}
        if "num_rollouts" in other:  # the newer form
            wanted = {k: v for k, v in other.items() if k not in NOT_OURS}
            assert [k for k in mine if k in wanted] == list(wanted)
            assert {k: v for k, v in mine.items() if k not in NOT_OURS} == wanted
            assert list(mine) == [k for k in other if k != "rollout_infos"]
        else:
            assert base(mine, rollouts) == base(other, rollouts)
            assert list(base(mine, rollouts)) == list(base(other, rollouts))
            assert mine["_ng_task_index"] == other["_ng_task_index"]


@pytest.mark.parametrize("name", PROFILES)
def test_so_are_the_two_older_files(acceptance, table, reduced, name):
    folder = acceptance / "gym"
    rollouts = read(folder / f"{name}.jsonl", table)
    ours = reduced(rollouts, metrics=["mean/reward"]).aggregate
    (agent,) = json.loads(
        (folder / f"{name}_agent_metrics.json").read_text(encoding="utf-8")
    )
    assert base(ours["agent_metrics"], rollouts) == base(agent, rollouts)
    assert list(base(ours["agent_metrics"], rollouts)) == list(base(agent, rollouts))
    profile = (folder / f"{name}_reward_profiling.jsonl").read_text(encoding="utf-8")
    tasks = [base(json.loads(line), rollouts) for line in profile.splitlines()]
    assert [base(entry, rollouts) for entry in ours["group_level_metrics"]] == tasks
