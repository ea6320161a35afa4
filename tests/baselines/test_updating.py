"""What an update records, what it says, and when it is refused."""

import json
import re

import pytest

UPDATE = "--snapshot-update"
GOOD = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]] * 2
WORSE = [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0], *GOOD[4:]]
BASELINE = "metrics: [pass@1]\nexpect: {tasks: 8}\nbaseline: true"


@pytest.fixture
def recorded(project):
    project.rollouts(GOOD)
    project.bench(BASELINE)
    result = project.run_here(UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "    recorded __baselines__/math.bench/math.json",
            "        pass@1 0.6250 (new)",
        ]
    )
    return project


def test_the_time_of_the_recording_is_kept_to_the_second_in_utc(recorded):
    provenance = json.loads(recorded.baseline().read_text())["provenance"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", provenance["recorded"])


def test_an_agent_that_was_renamed_is_compared_with_what_it_was(recorded):
    recorded.rollouts(WORSE, agent_ref={"name": "new name"})
    result = recorded.run_here(UPDATE)
    result.stdout.fnmatch_lines(["        pass@1 0.6250 -> 0.5625"])
    assert "no longer recorded" not in result.stdout.str()


def test_what_stays_within_tolerance_is_recorded_too(recorded):
    recorded.rollouts([[0.99, 1.0], *GOOD[1:]])
    text = BASELINE.replace("true", "{max_drop: 20%}")
    recorded.bench(text)
    assert recorded.run_here().ret == 0
    recorded.bench(text.replace("[pass@1]", "[pass^2, pass@1]"))
    recorded.run_here(UPDATE).stdout.fnmatch_lines(
        [
            "*pass^2 0.3750 (new)",
            "*pass@1 0.6250 -> 0.5625",
            "*mean/reward 0.6250 -> 0.6244",
        ]
    )
    kept = json.loads(recorded.baseline().read_text())["agents"]["agent"]["tasks"]["0"]
    assert kept == {"reward": [0.99, 1]}
    recorded.bench(BASELINE)
    recorded.run_here(UPDATE).stdout.fnmatch_lines(
        [
            "        pass^2 0.3750 -> no longer recorded",
            "        as before: pass@1, mean/reward",
        ]
    )


def test_the_bytes_do_not_depend_on_the_order_of_rows_scores_and_agents(project):
    rows = [
        {
            "_ng_task_index": task,
            "_ng_rollout_index": sample,
            "agent_ref": {"name": agent},
            "reward": float((task + sample) % 2),
            **(
                {"speed": 0.1 * task, "accuracy": 0.5}
                if task
                else {"accuracy": 0.25, "speed": 1}
            ),
        }
        for agent in ("b", "a")
        for task in range(12)
        for sample in range(2)
    ]
    project.bench(
        "metrics: [mean_reward, mean_reward/speed, mean_reward/accuracy]\nexpect: {tasks: 12}\n"
        "baseline: {direction: higher}"
    )
    texts = []
    for order in (rows, rows[::-1], rows[7:] + rows[:7]):
        project.rows("runs.jsonl", order)
        assert project.run_here(UPDATE).ret == 0
        texts.append(project.baseline().read_bytes())
    assert texts[0] == texts[1] == texts[2]
    doc = json.loads(texts[0])
    assert list(doc["agents"]) == ["a", "b"]
    metrics = ["mean_reward", "mean_reward/speed", "mean_reward/accuracy"]
    agent = doc["agents"]["a"]
    assert list(agent["key_metrics"]) == [
        *metrics,
        "mean/accuracy",
        "mean/reward",
        "mean/speed",
    ]
    assert list(agent["tasks"]) == [str(task) for task in range(12)]
    scores = [("reward", [1, 0]), ("accuracy", [0.5, 0.5]), ("speed", [0.1, 0.1])]
    assert list(agent["tasks"]["1"].items()) == scores


def test_a_full_disk_leaves_the_old_one(recorded):
    before = recorded.baseline().read_bytes()
    recorded.rollouts(WORSE)
    recorded.write(
        "conftest.py",
        """
import resource, signal, sys
import pytest

sys.dont_write_bytecode = True  # it would be cut off

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):  # a file may hold 100 bytes, then the disk is full
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        return (yield)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
""",
    )
    result = recorded.run(UPDATE, "--capture=sys")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE *math.json: this baseline can't be written: File too large",
            "  -> *is as it was",
        ]
    )
    assert recorded.baseline().read_bytes() == before
    assert [p.name for p in recorded.baseline().parent.iterdir()] == ["math.json"]


def test_the_way_out_for_a_grown_data_set_is_the_number_of_its_tasks(project):
    project.rollouts([[1, 0]] * 10)
    project.bench("expect: {tasks: 10}\nmetrics: [pass@1]\nbaseline: true")
    assert project.run_here(UPDATE).ret == 0
    project.rollouts([[1, 0]] * 12)
    refused = project.run_here(UPDATE)
    refused.stdout.fnmatch_lines(
        [
            (
                "  -> look for another run's rollouts in the files; or, if the benchmark has grown, "
                "write expect: {tasks: 12}"
            ),
            "INCONCLUSIVE  no baseline was recorded, *",
            "  -> if the benchmark has grown, write expect: {tasks: 12}, and record it then",
        ]
    )
    project.bench("expect: {tasks: 12}\nmetrics: [pass@1]\nbaseline: true")
    recorded = project.run_here(UPDATE)
    assert recorded.ret == 0
    recorded.stdout.fnmatch_lines(["*2 new tasks not in the baseline: 10 (*), 11 (*)"])
