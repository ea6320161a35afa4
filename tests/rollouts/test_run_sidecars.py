"""Files beside rollouts that hold none, by their names."""

import pytest

from pytest_evalmetrics.ext import RolloutFile
from pytest_evalmetrics.rollouts.run_sidecars import without_sidecars


def kept(folder, *names, content="{}"):
    files = [RolloutFile(folder.write(content, name), name) for name in names]
    return [file.shown for file in without_sidecars(files)]


@pytest.mark.parametrize(
    "sidecar",
    [
        *("a_materialized_inputs.jsonl", "a_reward_profiling.jsonl"),
        *("a_aggregate_metrics.json", "a_agent_metrics.json"),
    ],
)
def test_what_nemo_gym_writes_beside_its_rollouts_is_left_out(folder, sidecar):
    assert kept(folder, "a.jsonl", sidecar) == ["a.jsonl"]
    assert kept(folder, "b.jsonl", sidecar) == ["b.jsonl", sidecar]


def test_a_sidecar_of_compressed_rollouts_is_left_out(folder):
    names = ("a.jsonl.gz", "a_materialized_inputs.jsonl.gz")
    assert kept(folder, *names) == ["a.jsonl.gz"]


def test_failures_beside_rollouts_are_left_out_where_there_are_none(folder):
    names = ("a.jsonl", "a_failures.jsonl")
    assert kept(folder, *names) == list(names)
    assert kept(folder, *names, content="") == ["a.jsonl"]
    assert kept(folder, "b.jsonl", "a_failures.jsonl", content="") == [
        "b.jsonl",
        "a_failures.jsonl",
    ]


def test_failures_that_are_gone_or_elsewhere_are_kept(folder):
    rollouts = RolloutFile(folder.write("{}", "a.jsonl"), "a.jsonl")
    gone = RolloutFile(folder.path / "a_failures.jsonl", "a_failures.jsonl")
    assert without_sidecars([rollouts, gone]) == [rollouts, gone]
    empty = folder.write("", "a_failures.jsonl")
    remote = RolloutFile(empty, "a_failures.jsonl", url="https://localhost")
    assert without_sidecars([rollouts, remote]) == [rollouts, remote]


def test_the_artifacts_of_a_run_are_left_out(folder):
    names = ("aggregate_metrics.json", "report.json", "row_scores.jsonl", "a.jsonl")
    assert kept(folder, *names) == ["a.jsonl"]
    assert kept(folder, "row_scores.jsonl", "report.json") == [
        "row_scores.jsonl",
        "report.json",
    ]
