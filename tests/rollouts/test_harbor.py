"""Jobs of Harbor."""

import json

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts


def span(start, seconds):
    return {
        "started_at": f"2026-08-25T03:{start:02d}:00Z",
        "finished_at": f"2026-08-25T03:{start:02d}:{seconds:09.6f}Z",
    }


def failed(kind):
    return {"exception_type": kind, "exception_message": f"{kind} happened"}


def trial(folder, task, code, reward=None, *, job="job", **more):
    name = f"{task}__{code}"
    result = {
        "id": name,
        "task_name": f"org/{task}",
        "trial_name": name,
        "exception_info": None,
        "agent_info": {"name": "coder", "version": "1", "model_info": {"name": "m1"}},
        "verifier_result": None if reward is None else {"rewards": reward},
    }
    folder.json({**result, **span(1, 50), **more}, f"{job}/{name}/result.json")


def job(folder, planned, name="job", **evals):
    result = {
        "id": "1",
        "n_total_trials": planned,
        "stats": {"n_completed_trials": planned},
    }
    result["stats"]["evals"] = evals
    folder.json(result, f"{name}/result.json")


@pytest.fixture
def reward0(real):
    """A job of one trial, whose reward is 0."""
    return real.load("harbor/job_reward0", scores=["reward"])


def test_a_reward_of_0_is_a_reward(reward0, real):
    path = real.path / "harbor/job_reward0/result.json"
    (own,) = json.loads(path.read_text())["stats"]["evals"].values()
    assert reward0.scores["reward"].tolist() == [0]
    assert own["metrics"][0]["mean"] == 0
    assert note_texts(reward0.notes) == ()


@pytest.mark.parametrize(
    ("score", "counted_by_harbor", "tokens"),
    [
        ("prompt_tokens", "n_input_tokens", 2700),
        ("completion_tokens", "n_output_tokens", 160),
        ("cached_tokens", "n_cache_tokens", 768),
    ],
)
def test_tokens_are_those_that_harbor_counts(
    reward0, real, score, counted_by_harbor, tokens
):
    path = real.path / "harbor/job_reward0/result.json"
    stats = json.loads(path.read_text())["stats"]
    assert reward0.scores[score].sum() == tokens
    assert stats[counted_by_harbor] == tokens


def test_a_trial_of_unknown_costs_has_none(reward0):
    assert "cost_usd" not in reward0.scores


def test_the_latency_of_a_trial_is_that_of_its_agent(reward0):
    assert reward0.scores["latency_s"].tolist() == [pytest.approx(2.946077)]


def test_the_agent_of_a_trial_is_named_with_its_model(reward0):
    assert reward0.agents == ("matched-subscription-smoke__gpt-5.6-sol",)


def test_a_trial_of_an_unknown_schema_is_refused(folder):
    trial(folder, "a", "x", {"reward": 1}, schema_version=2)
    refused = folder.refused("job", scores=["reward"])
    assert "of the schema version 2; known is 1" in refused.message


def test_a_job_whose_trial_crashed(real):
    table = real.load("harbor/job_errored", scores=["reward"])
    assert table.tasks == ("terminal-bench/pytorch-model-recovery",)
    assert np.isnan(table.scores["reward"]).tolist() == [
        True
    ]  # Harbor's own mean says 0
    (note,) = note_texts(table.notes)
    assert note.startswith("RuntimeError: 1 rollout without a score, which is missing")
    assert (
        "job_errored/pytorch-model-recovery__HCjaKtr/result.json: pi subscription"
        in note
    )


def test_trials_without_a_job_in_the_order_of_their_start(real):
    folder = real.path / "harbor/trials_claude_3attempts"
    results = [json.loads(p.read_text()) for p in folder.glob("*/result.json")]
    results.sort(key=lambda r: r["started_at"])
    for path in ("harbor", "harbor/**/result.json"):  # many jobs at once
        rewards = real.load(path, scores=["reward"]).scores["reward"]
        np.testing.assert_equal(rewards, [0, np.nan, 1, 1, 1])
    for path in (
        "harbor/trials_claude_3attempts",
        "harbor/trials_claude_3attempts/*/result.json",
    ):
        table = real.load(path, scores=["reward"])
        assert table.tasks == ("terminal-bench/asset-sync-repair",)
        assert table.sample.tolist() == [0, 1, 2]
        assert table.scores["reward"].tolist() == [1, 1, 1]
        costs = [r["agent_result"]["cost_usd"] for r in results]
        assert table.scores["cost_usd"].tolist() == costs
        (note,) = note_texts(
            table.notes
        )  # one of the trials is of another job, with another checksum
        start = "the task 'terminal-bench/asset-sync-repair' has rollouts of 2 versions"
        assert note.startswith(start)


@pytest.mark.parametrize(
    "path", ["job", "job/", "jo*", "job/result.json", "job/*/result.json"]
)
def test_however_a_job_is_named(folder, path):
    trial(folder, "b", "x", {"reward": 0.5})
    trial(folder, "a", "z", {"reward": 0}, **span(3, 9))
    trial(folder, "a", "y", {"reward": 1}, **span(4, 9))
    if "*/" not in path:
        job(folder, 3)
    table = folder.load(path, scores=["reward"])
    assert table.tasks == ("org/a", "org/b")
    assert table.scores["reward"].tolist() == [0, 1, 0.5]
    assert note_texts(table.notes) == ()


def test_versions_of_a_task_are_a_content_that_no_single_version_has(folder):
    trial(folder, "a", "1", {"reward": 1}, task_checksum="one")
    once = folder.load("job").content
    trial(folder, "a", "2", {"reward": 0}, task_checksum="two")
    for path in ("job", "job/*/result.json"):
        table = folder.load(path)
        assert table.content is not None
        assert once is not None
        assert table.content[0] == table.content[1] != once[0]
    trial(folder, "a", "3", {"reward": 0}, agent_info={"name": "other"})
    assert "of the agent 'coder" in note_texts(folder.load("job").notes)[0]


def test_errors_are_missing_unless_they_were_graded(folder):
    trial(folder, "a", "1", exception_info=failed("DockerError"), agent_result=None)
    trial(folder, "b", "2", {"reward": 0.0}, exception_info=failed("AgentTimeoutError"))
    trial(folder, "c", "3")
    trial(folder, "d", "4", {})
    steps = [{"exception_info": failed("StepError")}]
    trial(folder, "e", "5", {"reward": None}, step_results=steps)
    limited = {"exception_info": failed("ApiRateLimitError"), "reward_valid": False}
    trial(folder, "f", "6", {"reward": 1}, **limited)
    job(folder, 6, coder__m1__adhoc={"n_trials": 1, "metrics": [{"mean": 0.0}]})
    table = folder.load("job", scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 0, *[np.nan] * 4])
    notes = "\n".join(note_texts(table.notes))
    assert (
        "DockerError: 1 rollout without a score, which is missing (first job/a__1/"
        in notes
    )
    assert "AgentTimeoutError: 1 rollout graded all the same (first job/b__2/" in notes
    assert (
        "not scored: 2 rollouts without a score, which is missing (first job/c__3/"
        in notes
    )
    assert "StepError: 1 rollout" in notes
    assert "ApiRateLimitError: 1 rollout without a score" in notes
    assert "mean reward" not in notes


def test_a_trial_that_left_no_result_is_missing(folder):
    trial(folder, "a", "1", {"reward": 1})
    for name in ("a__2", "gone__3"):
        config = {
            "trial_name": name,
            "task": {"path": "C:\\tasks\\lost"},
            "agent": {"name": "x"},
        }
        folder.json(config, f"job/{name}/config.json")
    folder.write("{}", "job/config.json")  # the job's own, without a trial's name
    job(folder, 3)
    table = folder.load("job", scores=["reward"])
    assert table.tasks == ("lost", "org/a")
    np.testing.assert_equal(
        sorted(table.scores["reward"].tolist()), [1, np.nan, np.nan]
    )
    assert "n_total_trials is 3, and the rollouts give 1" in note_texts(table.notes)[0]
    assert "no result: 2 rollouts without a score" in note_texts(table.notes)[1]


def test_steps_are_added_up(folder):
    used = {
        "n_input_tokens": 100,
        "n_output_tokens": 10,
        "n_cache_tokens": 7,
        "cost_usd": 0.5,
    }
    steps = [
        {"agent_result": used, "agent_execution": span(1, 2)},
        {
            "agent_result": {**used, "n_cache_tokens": None},
            "agent_execution": span(2, 3),
        },
        {"agent_result": None},
    ]
    trial(folder, "a", "1", {"reward": 1}, step_results=steps, agent_result=None)
    scores = folder.load("job", scores=["reward"]).scores
    assert {name: scores[name].tolist() for name in scores} == {
        "reward": [1],
        "latency_s": [5],
        "cost_usd": [1],
        "prompt_tokens": [200],
        "completion_tokens": [20],
        "cached_tokens": [7],
    }


def test_several_rewards_need_a_name(folder):
    trial(folder, "a", "1", {"tests": 1, "style": 0.25})
    job(folder, 1, coder__m1__adhoc={"metrics": [{"tests": 1.0, "style": 0.5}]})
    assert "tests, style" in folder.refused("job", scores=["reward"]).message
    table = folder.load("job", scores=["style"])
    assert table.scores["style"].tolist() == [0.25]
    assert [
        "mean style" in note and "0.5" in note for note in note_texts(table.notes)
    ] == [True]


def test_one_reward_of_another_name_and_those_of_early_versions(folder):
    trial(folder, "a", "1", {"accuracy": 0.5})
    assert folder.load("job", scores=["reward"]).scores["reward"].tolist() == [0.5]
    trial(folder, "a", "1", verifier_result={"reward": 0.25})
    assert folder.load("job", scores=["reward"]).scores["reward"].tolist() == [0.25]


def test_the_jobs_own_mean_is_compared_with_missing_as_0(folder):
    trial(folder, "a", "1", {"reward": 1}, source="bench")
    trial(folder, "b", "2", exception_info=failed("E"), source="bench")
    job(folder, 2, coder__m1__bench={"n_trials": 1, "metrics": [{"mean": 0.5}]})
    notes = note_texts(folder.load("job", scores=["reward"]).notes)
    assert not any("mean" in note for note in notes)
    job(folder, 2, coder__m1__bench={"n_trials": 1, "metrics": [{"mean": 1.0}]})
    notes = note_texts(folder.load("job", scores=["reward"]).notes)
    assert (
        "mean reward of coder__m1__bench, a missing one counted as 0, is 1, and"
        in notes[0]
    )
    assert "the rollouts give 0.5" in notes[0]


def test_labels_and_names_by_path(folder):
    trial(folder, "a", "1", {"reward": 1}, source="bench", started_at="soon")
    fields = {"agent": "agent_info.version", "task": "source"}
    table = folder.load(
        "job", scores=["reward"], fields=fields, categories=["agent_info.name"]
    )
    assert (table.agents, table.tasks) == (("1",), ("bench",))
    assert table.categories["agent_info.name"].labels == ("coder",)
    refused = folder.refused("job", fields={"task": "nowhere"})
    assert "which 'nowhere' is to hold, is null" in refused.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"task_name": "a", "trial_name": "b", "agent_i', "ends in the middle of it"),
        ("[1]", "not a JSON object"),
        ('{"task_name": 3, "trial_name": "b"}', "the task_name of this trial is 3"),
        ('{"trials": []}', "not a Harbor result"),
        (
            '{"task_name": "a", "trial_name": "b", "verifier_result": 3}',
            "expected an object",
        ),
        (
            '{"task_name": "a", "trial_name": "b", "verifier_result": {"reward": "1"}}',
            "is text",
        ),
    ],
)
def test_one_bad_trial_among_many_is_named(folder, content, message):
    for n in range(19, 22):
        trial(folder, f"task{n}", "x", {"reward": 1})
    folder.write(content, "job/task20__x/result.json")
    refused = folder.refused("job", scores=["reward"])
    assert refused.file == "job/task20__x/result.json"
    assert message in refused.message


def test_a_job_without_trials(folder):
    job(folder, 3)
    assert "no Harbor trial here" in folder.refused("job").message
    (folder.path / "empty").mkdir()
    assert "is a folder, not a file" in folder.refused("empty").message
    assert "no Harbor trial here" in folder.refused("empty", format="harbor").message


@pytest.mark.parametrize(
    "paths",
    [
        ("jobs/", "jobs/a/"),
        ("jobs/a/", "jobs/"),
        ("jobs/*/*/result.json", "jobs/"),
        ("jobs/latest/", "jobs/a/"),
    ],
)
def test_a_folder_that_several_paths_lead_to_is_read_once(folder, paths):
    for number in range(2):
        trial(folder, f"t{number}", "x", {"reward": 1}, job="jobs/a")
    (folder.path / "jobs/latest").symlink_to("a")
    table = folder.load(*paths, scores=["reward"])
    assert table.tasks == ("org/t0", "org/t1")
    assert len(table) == 2
