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
# files whose key metrics are all means, as they are where no hook of a server chose them
WITHOUT_HOOK = [
    "blackjack/example_rollouts",
    "circle_count/example_rollouts",
    "claude_code_agent/example_math_rollouts",
]
# and files whose tasks are of the newer form
NEWER = ["blackjack/example_rollouts", "litmus_agent/example_rollouts"]
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


@pytest.fixture(params=AGGREGATES)
def both(acceptance, table, reduced, request):
    """NeMo Gym's aggregate of a file of rollouts, ours, and the rollouts."""
    folder = acceptance / "gym"
    path = folder / f"{request.param}_aggregate_metrics.json"
    (theirs,) = json.loads(path.read_text(encoding="utf-8"))
    rollouts = read(folder / f"{request.param}.jsonl", table)
    agent = theirs["agent_ref"]["name"]
    ours = reduced(rollouts, agent=agent, metrics=["mean/reward"]).aggregate
    return theirs, ours, rollouts


def items_of(entry):
    """List the keys and values, for a comparison in order."""
    return list(entry.items())


def test_an_agents_metrics_are_gyms_to_the_last_digit_in_its_order(both):
    theirs, ours, rollouts = both
    assert list(ours) == list(theirs)
    assert ours["agent_ref"] == theirs["agent_ref"]
    expected = base(theirs["agent_metrics"], rollouts)
    assert items_of(base(ours["agent_metrics"], rollouts)) == items_of(expected)


@pytest.mark.parametrize("both", WITHOUT_HOOK, indirect=True)
def test_key_metrics_are_gyms_where_no_hook_chose_them(both):
    theirs, ours, _ = both
    assert ours["key_metrics"] == theirs["key_metrics"]


def test_a_tasks_metrics_are_gyms_to_the_last_digit_in_its_order(both):
    theirs, ours, rollouts = both
    agent = theirs["agent_ref"]["name"]
    groups = theirs["group_level_metrics"]
    assert len(ours["group_level_metrics"]) == len(groups) > 0
    for mine, other in zip(ours["group_level_metrics"], groups, strict=True):
        assert mine["sample"] == {"agent_ref": {"name": agent}}
        assert mine["_ng_task_index"] == other["_ng_task_index"]
        assert items_of(base(mine, rollouts)) == items_of(base(other, rollouts))


@pytest.mark.parametrize("both", NEWER, indirect=True)
def test_a_task_has_the_keys_of_gyms_newer_form(both):
    theirs, ours, _ = both
    groups = theirs["group_level_metrics"]
    assert ["num_rollouts" in group for group in groups] == [True] * len(groups)
    for mine, other in zip(ours["group_level_metrics"], groups, strict=True):
        wanted = {key: v for key, v in other.items() if key not in NOT_OURS}
        assert {key: v for key, v in mine.items() if key not in NOT_OURS} == wanted
        assert list(mine) == [key for key in other if key != "rollout_infos"]


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
