"""What is taken from a record of each harness: the whole rollout, and what measured it."""

import pytest
from rollouts.loaded import load_with
from rollouts.tool_files import lines

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_notes import (
    AggregatesAlone,
    GroupsLeftOut,
    LimitedRun,
    OtherNumberStated,
    ScoredOnce,
)
from pytest_evalmetrics.rollouts.loaders.deepeval import DeepEval
from pytest_evalmetrics.rollouts.loaders.every_eval_ever import EveryEvalEver
from pytest_evalmetrics.rollouts.loaders.harbor import Harbor
from pytest_evalmetrics.rollouts.loaders.lm_eval import LmEval
from pytest_evalmetrics.rollouts.loaders.verifiers import Verifiers, VerifiersTraces
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import Rollout, aggregate


def refused(loader_class, folder, name):
    with pytest.raises(DataError) as caught:
        load_with(loader_class, folder, name)
    return caught.value


def other_number(file, claim, stated, computed):
    return OtherNumberStated(file=file, claim=claim, stated=stated, computed=computed)


# -- verifiers up to 0.3 -----------------------------------------------------------------------


def verifiers(folder, *rows, **metadata):
    folder.write(lines(rows), "run/results.jsonl")
    if metadata:
        folder.json(metadata, "run/metadata.json")
    return load_with(Verifiers, folder, "run/results.jsonl")


def test_a_row_of_verifiers(folder):
    row = {
        "example_id": 3,
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "1 + 1?"},
        ],
        "answer": "2",
        "reward": 0.5,
        "exact": 1,
        "is_completed": True,
        "is_truncated": False,
        "generation_ms": 5.0,
        "total_ms": 9.0,
        "scoring_ms": 1.0,
        "task": "sums",
        "metrics": {"turns": 2.0, "exact": 0.25},
        "token_usage": {"input_tokens": 10, "output_tokens": 4},
        "timing": {"generation_ms": 1500.0, "total_ms": 9000.0},
    }
    loaded = verifiers(
        folder,
        row,
        model="org/m",
        env_id="gsm8k",
        env_args={"split": "test"},
        version_info={"env_version": "0.1"},
        avg_reward=0.25,
        num_examples=2,
        rollouts_per_example=3,
    )
    assert loaded.rollouts == [
        Rollout(
            record=row,
            name="run/results.jsonl:1",
            task=3,
            agent="org/m",
            scores={"reward": 0.5, "exact": 0.25, "turns": 2.0},
            usage={"latency_s": 1.5, "prompt_tokens": 10, "completion_tokens": 4},
            rewards=("reward",),
            content=[[{"role": "user", "content": "1 + 1?"}], "2"],
        )
    ]
    assert loaded.positional
    assert loaded.notes == [
        other_number(
            "run/results.jsonl",
            "avg_reward in metadata.json, where a missing one counts as 0,",
            0.25,
            0.5,
        ),
        other_number(
            "run/results.jsonl",
            "num_examples * rollouts_per_example in metadata.json",
            6,
            1,
        ),
    ]
    assert {
        ("verifiers", "environment", "gsm8k"),
        ("verifiers", "version", "0.1"),
        ("verifiers", "arguments split", "test"),
        ("verifiers", "scores", "reward"),
    } <= loaded.ruler


def test_a_row_of_an_early_verifiers(folder):
    row = {"id": "a", "reward": 1, "generation_ms": 250.0, "prompt": "q"}
    loaded = verifiers(folder, row, env="sums")
    (rollout,) = loaded.rollouts
    assert (rollout.task, rollout.usage) == ("a", {"latency_s": 0.25})
    assert (rollout.content, rollout.scores) == (["q", None], {"reward": 1})
    assert ("verifiers", "environment", "sums") in loaded.ruler
    assert not loaded.positional


def test_the_time_of_a_row_of_verifiers_in_seconds(folder):
    row = {"example_id": 1, "timing": {"generation": {"duration": 2.5}}}
    assert verifiers(folder, row).rollouts[0].usage == {"latency_s": 2.5}
    row = {"example_id": 1, "timing": {"total_ms": 500}}
    assert verifiers(folder, row).rollouts[0].usage == {"latency_s": 0.5}


def test_the_mean_of_verifiers_counts_a_reward_that_lacks_as_0(folder):
    rows = [{"example_id": 0, "reward": 1}, {"example_id": 1, "reward": None}]
    stated = {"avg_reward": 0.5, "num_examples": 2, "rollouts_per_example": 1}
    assert verifiers(folder, *rows, **stated).notes == []


@pytest.mark.parametrize(
    ("stated", "error"),
    [
        ("ValueError: no", RolloutError("ValueError", "ValueError: no")),
        (
            {"error": "InfraError", "message": "down"},
            RolloutError("InfraError", "down"),
        ),
        (
            {"type": "T", "error_chain_str": "a -> b", "message": "c"},
            RolloutError("T", "a -> b"),
        ),
        ({"error_chain_repr": "E()"}, RolloutError("error", "E()")),
        ({"code": 5}, RolloutError("error", "")),
    ],
)
def test_an_error_of_a_row_of_verifiers(folder, stated, error):
    row = {"example_id": 0, "reward": 0.0, "exact": 1.0, "error": stated}
    (rollout,) = verifiers(folder, row).rollouts
    assert rollout.error == error
    assert rollout.scores == {"reward": None, "exact": None}


def test_a_graded_row_of_verifiers_keeps_its_reward_beside_an_error(folder):
    row = {"example_id": 0, "reward": 0.5, "error": "late"}
    assert verifiers(folder, row).rollouts[0].scores == {"reward": 0.5}


@pytest.mark.parametrize("id_", [None, 1.5, True])
def test_a_row_of_verifiers_without_an_id_is_refused(folder, id_):
    folder.write(lines([{"example_id": id_, "reward": 1}]), "results.jsonl")
    error = refused(Verifiers, folder, "results.jsonl")
    assert error.message == f"this row's example_id is {id_!r}"
    assert error.hint == "is this the output of verifiers?"
    assert error.where == "results.jsonl:1"


def test_the_ids_of_an_early_verifiers_are_numbered_by_their_questions(folder):
    rows = [{"id": n // 2, "prompt": "ab"[n % 2], "reward": 1} for n in range(4)]
    assert [one.task for one in verifiers(folder, *rows).rollouts] == [0, 1, 0, 1]
    rows = [{"id": 5 + n // 2, "prompt": "ab"[n // 2], "reward": 1} for n in range(4)]
    assert [one.task for one in verifiers(folder, *rows).rollouts] == [5, 5, 6, 6]


# -- verifiers from 0.4 on ---------------------------------------------------------------------

TASK = {"key": "k", "hash": "h", "data": {"idx": 1}}


def traces(folder, *rows):
    folder.write(lines(rows), "traces.jsonl")
    return load_with(VerifiersTraces, folder, "traces.jsonl")


def test_a_trace_of_verifiers(folder):
    trace = {
        "version": 1,
        "id": "t1",
        "agent": {"name": "agent", "trainable": True, "config": {"model": "org/m"}},
        "ok": True,
        "rewards": {
            "exact": {"score": 1.0, "weight": 0.5},
            "tone": {"score": 0.25},
            "late": None,
        },
        "metrics": {"turns": 3},
        "calls": [
            {"usage": {"prompt_tokens": 5, "completion_tokens": 2}},
            {
                "usage": {
                    "prompt_tokens": 1,
                    "cached_input_tokens": 4,
                    "completion_tokens": 3,
                }
            },
        ],
        "timing": {"agent": {"start": 10.0, "end": 12.5}},
    }
    row = {"task": TASK, "traces": [trace]}
    loaded = traces(folder, row)
    assert loaded.rollouts == [
        Rollout(
            record=dict.fromkeys({**row, **trace}),
            name="traces.jsonl:1",
            task="k",
            agent="org/m",
            scores={
                "reward": 0.75,
                "exact": 1.0,
                "tone": 0.25,
                "late": None,
                "turns": 3,
            },
            usage={
                "latency_s": 2.5,
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "cached_tokens": 4,
            },
            rewards=("reward",),
            content="h",
            record_id="t1",
        )
    ]
    assert {
        ("verifiers exact", "weight", "0.5"),
        ("verifiers exact", "scores", "exact"),
        ("verifiers exact", "scores", "reward"),
        ("verifiers tone", "scores", "tone"),
    } <= loaded.ruler


@pytest.mark.parametrize(
    ("task", "id_", "content"),
    [
        ({"key": "k", "hash": "h"}, "k", "h"),
        ({"hash": "h", "data": {"idx": 5}}, "h", "h"),
        ({"data": {"idx": 5, "id": "i"}}, 5, {"idx": 5, "id": "i"}),
        ({"data": {"id": "i"}}, "i", {"id": "i"}),
    ],
)
def test_the_task_of_an_episode_of_verifiers(folder, task, id_, content):
    loaded = traces(folder, {"task": task, "traces": [{"rewards": {}}]})
    (rollout,) = loaded.rollouts
    assert (rollout.task, rollout.content) == (id_, content)
    assert loaded.positional is isinstance(id_, int)


@pytest.mark.parametrize(
    ("trace", "agent"),
    [
        ({"agent": {"name": "coder", "config": {"model": "m"}}}, "coder"),
        ({"agent": {"name": "agent"}, "calls": [{"model": "c"}, {"model": "d"}]}, "c"),
        ({"agent": {"config": {"model": "m"}}, "calls": [{"model": "c"}]}, "m"),
        ({"agent": {"name": "agent"}}, "agent"),
        ({}, None),
    ],
)
def test_the_agent_of_a_trace_of_verifiers(folder, trace, agent):
    (rollout,) = traces(folder, {"task": TASK, "traces": [trace]}).rollouts
    assert rollout.agent == agent


def test_an_episode_of_verifiers_without_a_trace_is_of_the_only_agent(folder):
    named = {"agent": {"name": "coder"}}
    loaded = traces(folder, {"task": TASK, "traces": [named]}, {"task": TASK})
    assert [rollout.agent for rollout in loaded.rollouts] == ["coder", "coder"]
    other = {"agent": {"name": "writer"}}
    loaded = traces(folder, {"task": TASK, "traces": [named, other]}, {"task": TASK})
    assert loaded.rollouts[-1].agent is None


def test_the_traces_of_agents_that_are_trained_are_the_rollouts(folder):
    judge = {"agent": {"name": "judge", "trainable": False}}
    coder = {"agent": {"name": "coder", "trainable": True}}
    plain = {"agent": {"name": "plain"}}
    loaded = traces(folder, {"task": TASK, "traces": [judge, coder, plain]})
    assert [rollout.agent for rollout in loaded.rollouts] == ["coder", "plain"]
    loaded = traces(folder, {"task": TASK, "traces": [judge]})
    assert [rollout.agent for rollout in loaded.rollouts] == ["judge"]


@pytest.mark.parametrize(
    ("trace", "row", "error"),
    [
        pytest.param(
            {"ok": False, "errors": [{"type": "A"}, {"type": "B", "message": "b"}]},
            {},
            RolloutError("B", "b"),
            id="the last one",
        ),
        pytest.param(
            {"ok": False, "stop_condition": "turns"},
            {},
            RolloutError("not ok", "turns"),
            id="a stop",
        ),
        pytest.param(
            {"ok": False, "errors": [{"code": 1}]},
            {},
            RolloutError("error", ""),
            id="no words",
        ),
        pytest.param(
            {"ok": True, "errors": [{"type": "A"}]},
            {"ok": False, "errors": [{"type": "E", "message": "e"}]},
            RolloutError("E", "e"),
            id="of the episode",
        ),
        pytest.param(
            {"errors": [{"type": "A"}], "stop_condition": "late"},
            {},
            RolloutError("not scored", "late", of_grader=True),
            id="no reward",
        ),
        pytest.param(
            {}, {}, RolloutError("not scored", "", of_grader=True), id="no reason"
        ),
        pytest.param(
            {"rewards": {"a": {"score": 0.0}}, "errors": [{"type": "A"}]},
            {},
            None,
            id="an error before a retry",
        ),
    ],
)
def test_an_error_of_a_trace_of_verifiers(folder, trace, row, error):
    loaded = traces(folder, {"task": TASK, "traces": [trace], **row})
    assert loaded.rollouts[0].error == error


def test_an_episode_of_verifiers_without_a_task_is_refused(folder):
    folder.write(lines([{"task": {"key": True}, "traces": []}]), "traces.jsonl")
    error = refused(VerifiersTraces, folder, "traces.jsonl")
    assert error.message == "this episode's task has neither a key nor a hash"
    assert error.hint == "is this the output of verifiers?"
    assert error.where == "traces.jsonl:1"


def test_a_trace_of_verifiers_of_an_unknown_version_is_refused(folder):
    folder.write(lines([{"task": TASK, "traces": [{"version": 2}]}]), "traces.jsonl")
    error = refused(VerifiersTraces, folder, "traces.jsonl")
    assert error.message == "this trace is of version 2; known are (1,)"
    assert error.hint == "update pytest-evalmetrics"


# -- Harbor ------------------------------------------------------------------------------------


def at(second):
    return f"2026-08-25T03:00:{second:02d}+00:00"


def trial_of(name="a__x", **more):
    return {
        "id": f"id-{name}",
        "task_name": f"org/{name.partition('__')[0]}",
        "trial_name": name,
        "started_at": at(1),
        "finished_at": at(9),
        **more,
    }


def harbor(folder, path="job", **files):
    for name, document in files.items():
        folder.json(document, f"job/{name.replace('__at__', '/')}.json")
    return load_with(Harbor, folder, path)


def test_a_trial_of_harbor(folder):
    trial = trial_of(
        task_checksum="sum",
        agent_info={"name": "coder", "model_info": {"name": "m1"}},
        agent_result={
            "n_input_tokens": 10,
            "n_output_tokens": 4,
            "n_cache_tokens": 2,
            "cost_usd": 0.5,
        },
        agent_execution={"started_at": at(2), "finished_at": at(5)},
        verifier_result={"rewards": {"reward": 1.0, "style": 0.5}},
        exception_info=None,
    )
    loaded = harbor(folder, a__x__at__result=trial)
    assert loaded.rollouts == [
        Rollout(
            record=trial,
            name="job/a__x/result.json",
            task="org/a",
            agent="coder__m1",
            scores={"reward": 1.0, "style": 0.5},
            usage={
                "latency_s": 3.0,
                "prompt_tokens": 10,
                "completion_tokens": 4,
                "cached_tokens": 2,
                "cost_usd": 0.5,
            },
            started=1787626801.0,
            content="sum",
            record_id="id-a__x",
        )
    ]
    assert loaded.versioned
    assert loaded.attempts


@pytest.mark.parametrize(
    ("more", "scores"),
    [
        ({"verifier_result": {"reward": 0.5}}, {"reward": 0.5}),
        ({"verifier_result": {"rewards": {"r": 1}, "reward": 0}}, {"r": 1}),
        ({"verifier_result": {"rewards": None, "reward": 0}}, {}),
        (
            {"verifier_result": {"rewards": {"r": 1}}, "reward_valid": False},
            {"r": None},
        ),
        ({"verifier_result": {"rewards": {"r": 1}}, "reward_valid": True}, {"r": 1}),
        ({}, {}),
    ],
)
def test_the_rewards_of_a_trial_of_harbor(folder, more, scores):
    (rollout,) = harbor(folder, a__x__at__result=trial_of(**more)).rollouts
    assert rollout.scores == scores


STEP = {
    "agent_result": {"n_input_tokens": 3},
    "agent_execution": {"started_at": at(3), "finished_at": at(4)},
}


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({}, {"latency_s": 8.0}),
        ({"step_results": [STEP, STEP]}, {"latency_s": 2.0, "prompt_tokens": 6}),
        (
            {"step_results": [STEP], "agent_result": {"n_input_tokens": 5}},
            {"latency_s": 1.0, "prompt_tokens": 5},
        ),
    ],
)
def test_the_usage_of_a_trial_of_harbor_of_several_steps(folder, more, usage):
    (rollout,) = harbor(folder, a__x__at__result=trial_of(**more)).rollouts
    assert rollout.usage == usage


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (
            {"exception_info": {"exception_type": "T", "exception_message": "m"}},
            RolloutError("T", "m"),
        ),
        ({"exception_info": {}}, RolloutError("error", "")),
        (
            {"step_results": [{}, {"exception_info": {"exception_type": "S"}}]},
            RolloutError("S", ""),
        ),
        ({"step_results": [{}]}, None),
    ],
)
def test_the_exception_of_a_trial_of_harbor(folder, more, error):
    (rollout,) = harbor(folder, a__x__at__result=trial_of(**more)).rollouts
    assert rollout.error == error


@pytest.mark.parametrize(
    ("info", "agent"),
    [
        ({"name": "coder"}, "coder"),
        ({"name": "coder", "model_info": {"name": "m"}}, "coder__m"),
        ({"model_info": {"name": "m"}}, None),
    ],
)
def test_the_agent_of_a_trial_of_harbor(folder, info, agent):
    (rollout,) = harbor(folder, a__x__at__result=trial_of(agent_info=info)).rollouts
    assert rollout.agent == agent


def unfinished(folder, config, *trials):
    files = {f"{trial['trial_name']}__at__result": trial for trial in trials}
    loaded = harbor(folder, a__y__at__config=config, **files)
    return loaded.rollouts[-1]


def test_a_trial_of_harbor_without_a_result_is_missing(folder):
    config = {
        "trial_name": "a__y",
        "task": {"path": "tasks\\sums\\"},
        "agent": {"name": "coder", "model_name": "org/m1"},
    }
    assert unfinished(folder, config) == Rollout(
        record={"trial_name": "a__y"},
        name="job/a__y",
        task="sums",
        agent="coder__m1",
        error=RolloutError(
            "no result", "the trial has no result.json: was the job interrupted?"
        ),
    )


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ({"name": "org/a", "path": "x/b"}, "org/a"),
        ({"path": "x/b/"}, "b"),
        ({"path": "b"}, "b"),
        ({}, "a"),
    ],
)
def test_the_task_of_a_trial_of_harbor_without_a_result(folder, task, name):
    rollout = unfinished(folder, {"trial_name": "a__y", "task": task})
    assert (rollout.task, rollout.agent) == (name, None)


def test_a_trial_of_harbor_without_a_result_is_of_the_task_of_its_attempts(folder):
    other = trial_of("b__x", agent_info={"name": "writer"})
    same = trial_of("a__x", agent_info={"name": "coder"})
    config = {"trial_name": "a__y", "task": {"name": "t"}, "agent": {"name": "z"}}
    rollout = unfinished(folder, config, same, other)
    assert (rollout.task, rollout.agent) == ("org/a", "coder")


def test_the_numbers_of_a_job_of_harbor_are_compared(folder):
    job = {
        "n_total_trials": 3,
        "stats": {
            "evals": {
                "coder__adhoc": {"metrics": [{"reward": 0.5}, {"other": 1}]},
                "coder__set": {"metrics": [{"mean": 0.25}]},
                "writer__adhoc": {"metrics": [{"reward": 1}]},
            }
        },
    }

    def trial(name, reward, **more):
        return trial_of(
            name,
            agent_info={"name": "coder"},
            verifier_result={"rewards": {"reward": reward}},
            **more,
        )

    loaded = harbor(
        folder,
        result=job,
        a__x__at__result=trial("a__x", 1.0),
        b__x__at__result=trial("b__x", 1.0, source="set"),
    )
    assert loaded.notes == [
        other_number("job/result.json", "n_total_trials", 3, 2),
        other_number(
            "job/result.json",
            "the mean reward of coder__adhoc, a missing one counted as 0,",
            0.5,
            1.0,
        ),
        other_number(
            "job/result.json",
            "the mean reward of coder__set, a missing one counted as 0,",
            0.25,
            1.0,
        ),
    ]


def test_a_missing_reward_counts_as_0_in_a_mean_of_harbor(folder):
    stats = {"evals": {"coder__adhoc": {"metrics": [{"mean": 0.5}]}}}
    info = {"agent_info": {"name": "coder"}}
    loaded = harbor(
        folder,
        result={"n_total_trials": 2, "stats": stats},
        a__x__at__result=trial_of(
            "a__x", verifier_result={"rewards": {"reward": 1.0}}, **info
        ),
        b__x__at__result=trial_of("b__x", **info),
    )
    assert loaded.notes == []


def test_a_mean_of_harbor_of_several_rewards_has_no_name(folder):
    stats = {"evals": {"coder__adhoc": {"metrics": [{"mean": 0.5}]}}}
    rewards = {"rewards": {"reward": 1.0, "style": 0.0}}
    loaded = harbor(
        folder,
        result={"n_total_trials": 1, "stats": stats},
        a__x__at__result=trial_of(
            verifier_result=rewards, agent_info={"name": "coder"}
        ),
    )
    assert loaded.notes == []


@pytest.mark.parametrize("path", [".", "job", "job/a__x", "job/a__x/result.json"])
def test_trials_of_harbor_are_found_in_folders(folder, path):
    folder.json(trial_of(), "job/a__x/result.json")
    folder.json(trial_of(), "job/a__x/logs/result.json")
    (rollout,) = load_with(Harbor, folder, path).rollouts
    assert rollout.name == "job/a__x/result.json"


def test_trials_of_harbor_are_read_once(folder):
    folder.json(trial_of(), "jobs/one/a__x/result.json")
    (folder.path / "jobs/latest").symlink_to("one")
    loaded = load_with(Harbor, folder, "jobs")
    assert [rollout.task for rollout in loaded.rollouts] == ["org/a"]


def test_a_folder_without_a_trial_of_harbor_is_refused(folder):
    folder.json({"n_total_trials": 0, "stats": {}}, "job/result.json")
    error = refused(Harbor, folder, "job")
    assert error.message == "there is no Harbor trial here"
    assert error.hint == (
        "give the folder of a job, or of trials, each with its result.json"
    )


@pytest.mark.parametrize(
    ("result", "message", "hint"),
    [
        (
            trial_of(schema_version=2),
            "this Harbor trial is of the schema version 2; known is 1",
            "update pytest-evalmetrics",
        ),
        (
            {"task_name": "a", "stats": {}},
            (
                "this is not a Harbor result: it has neither task_name and trial_name, nor "
                "n_total_trials and stats"
            ),
            "was it written by another version of Harbor, or by another tool?",
        ),
        (
            trial_of(task_name=5),
            "the task_name of this trial is 5; expected text",
            None,
        ),
    ],
)
def test_a_result_of_harbor_that_is_not_known_is_refused(folder, result, message, hint):
    folder.json(result, "job/a__x/result.json")
    error = refused(Harbor, folder, "job")
    assert error.message == message
    assert error.file == "job/a__x/result.json"
    assert error.hint == hint


def test_a_cut_configuration_of_harbor_is_named(folder):
    folder.write('{"trial_name": {', "job/a__x/config.json")
    error = refused(Harbor, folder, "job")
    assert error.message.startswith("this looks like the configuration of a trial, ")
    assert error.file == "job/a__x/config.json"


def test_other_folders_of_harbor_hold_no_trial(folder):
    folder.json({"model": "m"}, "job/settings/config.json")
    folder.json(trial_of(), "job/a__x/result.json")
    assert len(load_with(Harbor, folder, "job").rollouts) == 1


def test_a_trial_of_harbor_of_the_first_schema_is_read(folder):
    assert (
        len(harbor(folder, a__x__at__result=trial_of(schema_version=1)).rollouts) == 1
    )


# -- lm-evaluation-harness ---------------------------------------------------------------------

DATE = "2026-01-02T03-04-05.678901"
SAMPLES = f"out/samples_toy_{DATE}.jsonl"


def lm_eval(folder, *rows, **results):
    folder.write(lines(rows), SAMPLES)
    if results:
        folder.json(
            {"results": {}, "configs": {}, **results}, f"out/results_{DATE}.json"
        )
    return load_with(LmEval, folder, SAMPLES)


def sample(number=0, **more):
    return {"doc_id": number, "filter": "none", **more}


def test_a_sample_of_lm_eval(folder):
    row = sample(4, doc={"q": "?"}, doc_hash="h", metrics=["acc"], acc=1.0, n=5)
    loaded = lm_eval(
        folder,
        row,
        model_name="org/m",
        versions={"toy": 2},
        configs={
            "toy": {
                "metric_list": [{"metric": "acc", "aggregation": "mean"}],
                "filter_list": [{"name": "none"}],
                "process_results": "p",
                "doc_to_target": "{{a}}",
                "num_fewshot": 5,
            }
        },
        higher_is_better={"toy": {"acc": True}},
        results={"toy": {"acc,none": 0.5, "alias": "toy"}},
    )
    assert loaded.rollouts == [
        Rollout(
            record=dict.fromkeys([*row, "task"]) | {"task": "toy"},
            name=f"{SAMPLES}:1",
            task="toy/4",
            sample=0,
            agent="org/m",
            scores={"acc": 1.0},
            content="h",
        )
    ]
    assert loaded.positional
    assert loaded.directions == {"acc": "higher"}
    assert loaded.notes == [
        other_number(SAMPLES, f"acc,none in results_{DATE}.json", 0.5, 1.0)
    ]
    assert loaded.ruler == {
        ("lm_eval task toy", "scores", "acc"),
        ("lm_eval task toy", "version", "2"),
        ("lm_eval task toy", "metric_list 0 metric", "acc"),
        ("lm_eval task toy", "metric_list 0 aggregation", "mean"),
        ("lm_eval task toy", "filter_list 0 name", "none"),
        ("lm_eval task toy", "process_results", "p"),
        ("lm_eval task toy", "doc_to_target", "{{a}}"),
    }


def test_a_sample_of_lm_eval_in_a_file_of_another_name(folder):
    folder.write(lines([sample("a", doc="d", acc=1, acc_norm=0.5)]), "samples.jsonl")
    loaded = load_with(LmEval, folder, "samples.jsonl")
    (rollout,) = loaded.rollouts
    assert (rollout.task, rollout.content, rollout.agent) == ("a", "d", None)
    assert rollout.scores == {"acc": 1, "acc_norm": 0.5}
    assert (loaded.positional, loaded.ruler) == (False, set())


def test_the_number_of_a_document_of_lm_eval_is_no_score(folder):
    assert lm_eval(folder, sample(3, acc=1)).rollouts[0].scores == {"acc": 1}


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_name_of_a_packed_file_of_lm_eval_names_the_task(folder, suffix):
    folder.write(lines([sample(1, acc=1)]), SAMPLES + suffix)
    (rollout,) = load_with(LmEval, folder, SAMPLES + suffix).rollouts
    assert rollout.task == "toy/1"


def test_the_filters_of_lm_eval_are_scores_of_one_document(folder):
    loaded = lm_eval(
        folder,
        sample(0, metrics=["acc"], acc=1, filter="strict"),
        sample(1, metrics=["acc"], acc=0, filter="strict"),
        sample(0, metrics=["acc", 5], acc=0, filter="loose"),
    )
    assert [rollout.scores for rollout in loaded.rollouts] == [
        {"acc,strict": 1, "acc,loose": 0},
        {"acc,strict": 0},
    ]


def test_scores_of_lm_eval_that_are_none(folder):
    row = sample(0, metrics=["bypass", "perplexity"], bypass=999, perplexity=-1.5)
    (rollout,) = lm_eval(folder, row).rollouts
    assert rollout.scores == {"bypass": None, "log_likelihood": -1.5}


def test_answers_of_lm_eval_that_are_scored_once_are_noted(folder):
    row = sample(0, acc=1, resps=[["a", "b", "c"], ["d"], "e"])
    assert lm_eval(folder, row).notes == [ScoredOnce(SAMPLES, 3)]


@pytest.mark.parametrize(
    "more",
    [{"resps": [["a"]]}, {"resps": "abc"}, {"resps": [["a", "b"]], "filter": None}],
)
def test_single_answers_of_lm_eval_are_not(folder, more):
    assert lm_eval(folder, sample(0, acc=1, **more)).notes == []


def test_a_limited_run_of_lm_eval_is_noted(folder):
    counts = {"n-samples": {"toy": {"original": 9, "effective": 2}}}
    assert lm_eval(folder, sample(0, acc=1), **counts).notes == [
        other_number(SAMPLES, f"n-samples in results_{DATE}.json", 2, 1),
        LimitedRun(f"results_{DATE}.json", documents=2, of=9),
    ]


def test_a_whole_run_of_lm_eval_is_not(folder):
    counts = {"n-samples": {"toy": {"original": 1, "effective": 1}}}
    assert lm_eval(folder, sample(0, acc=1), **counts).notes == []


@pytest.mark.parametrize(
    ("how", "claim"),
    [
        ("f1", "acc,none in results_{}.json (by f1)"),
        ("mean", "acc,none in results_{}.json"),
        ("<function f>", "acc,none in results_{}.json"),
        (None, "acc,none in results_{}.json"),
    ],
)
def test_how_lm_eval_aggregates_is_said(folder, how, claim):
    loaded = lm_eval(
        folder,
        sample(0, acc=1.0),
        configs={"toy": {"metric_list": [{"metric": "acc", "aggregation": how}]}},
        results={"toy": {"acc,none": 0.5}},
    )
    assert loaded.notes == [other_number(SAMPLES, claim.format(DATE), 0.5, 1.0)]


def test_a_document_of_lm_eval_that_occurs_again_is_refused(folder):
    folder.write(lines([sample(0, acc=1), sample(1, acc=1), sample(0, acc=0)]), SAMPLES)
    error = refused(LmEval, folder, SAMPLES)
    assert error.message == (
        f"the document 0 with the filter 'none' occurs here and in {SAMPLES}:1"
    )
    assert error.where == f"{SAMPLES}:3"
    assert error.hint == "was a run appended to the file of another?"


@pytest.mark.parametrize("id_", [None, True, 1.5])
def test_a_sample_of_lm_eval_without_an_id_is_refused(folder, id_):
    folder.write(lines([{"doc_id": id_, "acc": 1}]), SAMPLES)
    error = refused(LmEval, folder, SAMPLES)
    assert error.message == f"this row's doc_id is {id_!r}; expected a whole number"
    assert error.hint == (
        "is this the output of lm-evaluation-harness with --log_samples?"
    )
    assert error.where == f"{SAMPLES}:1"


def aggregates(folder, **results):
    folder.json({"configs": {}, **results}, "results.json")
    return load_with(LmEval, folder, "results.json")


def test_the_results_of_lm_eval_alone_are_aggregates(folder):
    loaded = aggregates(
        folder,
        results={
            "toy": {
                "alias": "toy",
                "acc,none": 0.5,
                "acc_stderr,none": 0.1,
                "f1,strict": 0.25,
            },
            "group": {"acc,none": 0.5},
        },
        group_subtasks={"group": ["toy"], "toy": []},
        higher_is_better={"toy": {"acc": True, "f1": False}},
        model_name="org/m",
        **{"n-samples": {"toy": {"original": 9, "effective": 4}}},
    )
    assert loaded.rollouts == [
        Rollout(
            record={"task": "toy"},
            name="results.json: toy",
            task="toy",
            sample=0,
            agent="org/m",
            scores={
                **aggregate("acc", 0.5, error=0.1, samples=4, documents=9),
                **aggregate("f1,strict", 0.25, error=None, samples=4, documents=9),
            },
            rewards=["acc", "f1,strict"],
        )
    ]
    assert loaded.directions == {"acc": "higher", "f1,strict": "lower"}
    assert loaded.notes == [
        GroupsLeftOut("results.json", ("group",)),
        AggregatesAlone("results.json", option="--log_samples"),
    ]


def test_the_results_of_an_early_lm_eval(folder):
    loaded = aggregates(
        folder,
        results={"toy": {"acc": 0.5, "acc_stderr": 0.1, "name": "x", "ok": True}},
        versions={"toy": 1},
        config={"model": "hf", "model_args": "pretrained=org/m,dtype=x", "limit": 7},
    )
    (rollout,) = loaded.rollouts
    assert rollout.scores == aggregate("acc", 0.5, error=0.1, samples=7, documents=None)
    assert rollout.agent == "org/m"
    assert loaded.notes == [AggregatesAlone("results.json", option="--log_samples")]


@pytest.mark.parametrize(
    ("limit", "samples"), [(0.5, None), (None, None), (1, 1), ("x", None)]
)
def test_a_limit_of_lm_eval_is_a_number_of_documents(folder, limit, samples):
    loaded = aggregates(
        folder,
        results={"toy": {"acc": 0.5}},
        versions={},
        config={"model": "hf", "limit": limit},
    )
    (rollout,) = loaded.rollouts
    assert rollout.scores == aggregate(
        "acc", 0.5, error=None, samples=samples, documents=None
    )
    assert rollout.agent == "hf"


# -- deepeval ----------------------------------------------------------------------------------


def deepeval(folder, *cases, **more):
    folder.json({"testCases": cases, **more}, "run.json")
    return load_with(DeepEval, folder, "run.json")


def metric(name="tone", score=0.75, *, success=True, **more):
    return {"name": name, "score": score, "threshold": 0.5, "success": success, **more}


def case(*metrics, name="a", success=True, **more):
    return {"name": name, "success": success, "metricsData": list(metrics), **more}


def test_a_case_of_deepeval(folder):
    one = case(
        metric(strictMode=True, evaluationModel="m"),
        metric("cost", 0.25),
        input="q",
        expectedOutput="e",
        completionTime=1.5,
        tokenCost=0.5,
        inputTokenCount=3,
        outputTokenCount=2,
        order=4,
    )
    loaded = deepeval(
        folder, one, hyperparameters={"model": "org/m"}, testPassed=2, testFailed=1
    )
    assert loaded.rollouts == [
        Rollout(
            record=one,
            name="run.json, testCases[0]",
            task="a",
            agent="org/m",
            scores={"success": True, "tone": 0.75, "cost": 0.25},
            usage={
                "latency_s": 1.5,
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "cost_usd": 0.5,
            },
            started=4,
            content=["q", "e"],
        )
    ]
    assert loaded.directions == {"success": "higher", "tone": "higher", "cost": "lower"}
    assert not loaded.positional
    assert loaded.notes == [
        other_number("run.json", "testPassed", 2, 1),
        other_number("run.json", "testFailed", 1, 0),
    ]
    assert loaded.ruler == {
        ("deepeval tone", "scores", "tone"),
        ("deepeval tone", "scores", "success"),
        ("deepeval tone", "threshold", "0.5"),
        ("deepeval tone", "strictMode", "true"),
        ("deepeval tone", "evaluationModel", "m"),
        ("deepeval cost", "scores", "cost"),
        ("deepeval cost", "scores", "success"),
        ("deepeval cost", "threshold", "0.5"),
    }


@pytest.mark.parametrize("kind", ["conversationalTestCases", "test_results"])
@pytest.mark.parametrize("metrics", ["metrics_data", "metricsMetadata"])
def test_a_case_of_deepeval_of_another_kind(folder, kind, metrics):
    one = {
        "name": "a",
        "scenario": "s",
        "expected_output": "e",
        metrics: [{"metric": "tone", "score": 1, "strict_mode": True}],
    }
    loaded = deepeval(folder, **{kind: [one]})
    (rollout,) = loaded.rollouts
    assert rollout.name == f"run.json, {kind}[0]"
    assert rollout.scores == {"success": None, "tone": 1}
    assert rollout.content == ["s", "e"]
    assert ("deepeval tone", "strict_mode", "true") in loaded.ruler


def test_a_case_of_deepeval_without_a_name_is_a_place(folder):
    loaded = deepeval(folder, case(metric(), name=None))
    assert loaded.rollouts[0].task == "run.json, testCases[0]"
    assert loaded.rollouts[0].content is None
    assert deepeval(folder, case(metric(), name="test_case_0")).positional


def test_cases_of_deepeval_of_one_name_are_told_apart_by_their_inputs(folder):
    cases = [case(metric(), input=input_) for input_ in ("q", "q", "r")]
    tasks = [rollout.task for rollout in deepeval(folder, *cases).rollouts]
    assert tasks == ["a [q]", "a [q]", "a [r]"]


def test_metrics_of_deepeval_of_one_name_are_numbered(folder):
    names = ("tone", "tone", "success", "tone")
    one = case(*[metric(name, n / 8) for n, name in enumerate(names)])
    assert deepeval(folder, one).rollouts[0].scores == {
        "success": True,
        "tone": 0.0,
        "tone 2": 0.125,
        "success 2": 0.25,
        "tone 3": 0.375,
    }


@pytest.mark.parametrize(
    ("failed", "message"),
    [
        ({"score": 0.75, "error": "late", "reason": "r"}, "late"),
        ({"score": None, "reason": "r"}, "r"),
        ({"score": "x"}, "its score is x"),
        ({"score": None}, ""),
    ],
)
def test_a_metric_of_deepeval_that_was_not_judged(folder, failed, message):
    one = case(
        metric("first"), {"name": "tone", **failed}, {"name": "k"}, success=False
    )
    (rollout,) = deepeval(folder, one).rollouts
    assert rollout.error == RolloutError("tone was not judged", message, of_grader=True)
    assert rollout.scores == {"success": None, "first": 0.75, "tone": None, "k": None}


@pytest.mark.parametrize(
    ("other", "broken", "success"),
    [
        pytest.param(metric(success=False), {"name": "k"}, False, id="another failed"),
        pytest.param(metric(), {"name": "k"}, None, id="none failed"),
        pytest.param(
            metric(success=False, flaky=True), {"name": "k"}, None, id="a flaky one"
        ),
        pytest.param(
            metric(), {"name": "k", "flaky": True}, False, id="of a flaky one"
        ),
    ],
)
def test_the_success_of_a_case_of_deepeval(folder, other, broken, success):
    (rollout,) = deepeval(folder, case(other, broken, success=False)).rollouts
    assert rollout.scores["success"] is success


@pytest.mark.parametrize(
    ("one", "direction"),
    [
        (metric(score=0.75), "higher"),
        (metric(score=0.25, success=False), "higher"),
        (metric(score=0.25), "lower"),
        (metric(score=0.75, success=False), "lower"),
        (metric(score=0.5), None),
        (metric(success=None), None),
        (metric() | {"threshold": None}, None),
    ],
)
def test_the_direction_of_a_metric_of_deepeval(folder, one, direction):
    assert deepeval(folder, case(one)).directions.get("tone") == direction


def test_a_case_of_deepeval_without_metrics_is_not_scored(folder):
    (rollout,) = deepeval(folder, case()).rollouts
    assert rollout.scores == {"success": None}
    assert rollout.error == RolloutError(
        "not scored", "the case has no metrics", of_grader=True
    )


# -- Every Eval Ever ---------------------------------------------------------------------------


def record(sample_="s1", result="r1", score=1.0, **more):
    return {
        "evaluation_name": "math",
        "sample_id": sample_,
        "model_id": "org/m",
        "evaluation_result_id": result,
        "evaluation": {"score": score},
        **more,
    }


def every_eval(folder, *records, results=()):
    folder.write(lines(records), "e_samples.jsonl")
    if results:
        folder.json({"evaluation_results": results}, "e.json")
    return load_with(EveryEvalEver, folder, "e_samples.jsonl")


def test_a_record_of_every_eval_ever(folder):
    one = record(
        metadata={"epoch": 2},
        sample_hash="h",
        token_usage={"input_tokens": 3, "output_tokens": 1},
        performance={"latency_ms": 500},
    )
    loaded = every_eval(
        folder,
        one,
        record(result="r2", score=0.5, metadata={"epoch": 2}),
        results=[
            {
                "evaluation_result_id": "r1",
                "evaluation_name": "math",
                "metric_config": {"lower_is_better": False},
                "score_details": {"score": 0.5},
            },
            {
                "evaluation_result_id": "r2",
                "evaluation_name": "math",
                "metric_config": {"lower_is_better": True},
                "score_details": {"score": 0.5},
            },
            {
                "evaluation_result_id": "r1",
                "evaluation_name": "other",
                "score_details": {"score": 0.25},
            },
        ],
    )
    assert loaded.rollouts == [
        Rollout(
            record=one,
            name="e_samples.jsonl:1",
            task="math/s1",
            sample=1,
            agent="org/m",
            scores={"r1": 1.0, "r2": 0.5},
            usage={"latency_s": 0.5, "prompt_tokens": 3, "completion_tokens": 1},
            content="h",
        )
    ]
    assert loaded.directions == {"r1": "higher", "r2": "lower"}
    assert loaded.notes == [other_number("e_samples.jsonl", "r1 in e.json", 0.5, 1.0)]


def test_a_result_of_every_eval_ever_that_comes_again_is_another_attempt(folder):
    loaded = every_eval(
        folder,
        record(),
        record(result="r2", score=0.5),
        record(score=0.0),
        record(model_id="org/n"),
        record("s2"),
    )
    assert [(one.name, one.scores) for one in loaded.rollouts] == [
        ("e_samples.jsonl:1", {"r1": 1.0, "r2": 0.5}),
        ("e_samples.jsonl:3", {"r1": 0.0, "r2": None}),
        ("e_samples.jsonl:4", {"r1": 1.0, "r2": None}),
        ("e_samples.jsonl:5", {"r1": 1.0, "r2": None}),
    ]
    assert [one.sample for one in loaded.rollouts] == [None] * 4


@pytest.mark.parametrize("key", ["evaluation_name", "metadata"])
def test_records_of_every_eval_ever_of_another_epoch_or_evaluation(folder, key):
    other = {"evaluation_name": "logic", "metadata": {"epoch": 2}}[key]
    first = record(metadata={"epoch": 1})
    second = {**first, "evaluation_result_id": "r2", key: other}
    assert len(every_eval(folder, first, second).rollouts) == 2


def test_records_of_every_eval_ever_that_name_no_result(folder):
    (rollout,) = every_eval(folder, record(result=None)).rollouts
    assert (rollout.scores, rollout.error) == ({"score": 1.0}, None)


def test_a_record_of_every_eval_ever_with_an_error_is_missing(folder):
    one = record(error="ValueError: no")
    (rollout,) = every_eval(folder, one).rollouts
    assert rollout.scores == {"r1": None}
    assert rollout.error == RolloutError("ValueError", "ValueError: no")
    assert rollout.record == {**one, "evaluation": None}


def test_a_record_of_every_eval_ever_that_no_result_counts_is_missing(folder):
    rollout = every_eval(folder, record(), record("s2", result=None)).rollouts[1]
    assert rollout.scores == {"r1": None}
    assert rollout.error == RolloutError(
        "not scored", "no result counts it, and its score is made up", of_grader=True
    )


def test_the_results_of_every_eval_ever_alone_are_aggregates(folder):
    def result(name, score, evaluation="math", **more):
        return {
            "evaluation_result_id": name,
            "evaluation_name": evaluation,
            "score_details": {"score": score, **more},
        }

    uncertainty = {"standard_error": {"value": 0.1}, "num_samples": 5}
    first = result("r1", 0.5, uncertainty=uncertainty)
    first["source_data"] = {"samples_number": 9}
    results = [first, result(None, 0.25), result("r1", 0.75, "logic")]
    evaluation = {"model_info": {"id": "org/m"}, "evaluation_results": results}
    folder.json(evaluation, "e.json")
    loaded = load_with(EveryEvalEver, folder, "e.json")
    assert loaded.rollouts == [
        Rollout(
            record={"evaluation_name": "math"},
            name="e.json: math",
            task="math",
            sample=0,
            agent="org/m",
            scores={
                **aggregate("r1", 0.5, error=0.1, samples=5, documents=9),
                **aggregate("score", 0.25, error=None, samples=None, documents=None),
            },
            rewards=["r1", "score"],
        ),
        Rollout(
            record={"evaluation_name": "logic"},
            name="e.json: logic",
            task="logic",
            sample=0,
            agent="org/m",
            scores=aggregate("r1", 0.75, error=None, samples=None, documents=None),
            rewards=["r1"],
        ),
    ]
    assert loaded.notes == [AggregatesAlone("e.json")]


def test_two_results_of_every_eval_ever_of_one_id_are_refused(folder):
    one = {"evaluation_result_id": "r", "evaluation_name": "math"}
    folder.json({"evaluation_results": [one, one]}, "e.json")
    error = refused(EveryEvalEver, folder, "e.json")
    assert error.message == "evaluation_results[1] is a second 'r' of 'math'"
    assert error.hint == "read the instances instead, which are beside it"
