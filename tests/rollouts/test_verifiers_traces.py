"""Episodes of verifiers from version 0.4 on."""

from itertools import count

import numpy as np

from pytest_evalmetrics.reports.sentences.notes import note_texts

NUMBERS = count()


def trace(rewards=None, **more):
    agent = {"name": "agent", "trainable": True, "config": {}}
    keys = {
        "version": 1,
        "id": f"t{next(NUMBERS)}",
        "agent": agent,
        "ok": True,
        "errors": [],
    }
    return {**keys, "rewards": rewards or {}, **more}


def episode(key, *traces, **more):
    task = {"type": "Task", "data": {"idx": 1}, "key": key, "hash": f"hash-{key}"}
    keys = {
        "id": "e",
        "env": {"id": "gsm8k"},
        "ok": True,
        "is_timeout": False,
        "errors": [],
    }
    return {**keys, "task": task, "traces": list(traces), **more}


def call(**usage):
    return {"model": "org/m", "usage": usage}


def test_rewards_are_summed_by_their_weights(folder):
    rewards = {
        "exact": {"score": 1.0, "weight": 0.5},
        "tone": {"score": 0.25},
        "late": None,
    }
    folder.rows(
        [
            episode("a", trace(rewards, metrics={"turns": 3})),
            episode("b", trace(rewards)),
        ]
    )
    table = folder.load(scores=["reward"])
    assert table.tasks == ("a", "b")
    assert table.scores["reward"].tolist() == [0.75, 0.75]
    assert table.scores["exact"].tolist() == [1, 1]
    np.testing.assert_equal(table.scores["turns"], [3, np.nan])
    assert np.isnan(table.scores["late"]).all()
    assert note_texts(table.notes) == ()


def test_what_the_calls_took(folder):
    calls = [
        call(prompt_tokens=10, completion_tokens=2, cached_input_tokens=5, cost=0.25),
        call(prompt_tokens=20, completion_tokens=3),
        {"model": "org/m", "error": {"type": "E", "message": ""}},
    ]
    timing = {"agent": {"start": 100.0, "end": 107.5}}
    folder.rows(
        [episode("a", trace({"r": {"score": 1.0}}, calls=calls, timing=timing))]
    )
    table = folder.load(scores=["reward"])
    assert {name: column.tolist() for name, column in table.scores.items()} == {
        "reward": [1],
        "r": [1],
        "latency_s": [7.5],
        "prompt_tokens": [35],  # cache reads included, as in every format
        "completion_tokens": [5],
        "cached_tokens": [5],
        "cost_usd": [0.25],
    }
    assert table.agents == ("org/m",)


def test_episodes_of_one_task_are_its_samples(folder):
    rows = [
        episode("a", trace({"r": {"score": s}}), group={"id": "g"}) for s in (1.0, 0.0)
    ]
    del rows[0]["task"]["key"], rows[1]["task"]["key"]  # then it is known by its hash
    folder.rows(rows)
    table = folder.load(scores=["reward"])
    assert (table.tasks, table.sample.tolist()) == (("hash-a",), [0, 1])
    assert table.scores["reward"].tolist() == [1, 0]


def test_several_agents_in_an_episode(folder):
    solver, second = (
        trace({"r": {"score": 1.0}}, agent={"name": "solver"}) for _ in range(2)
    )
    judge = trace({}, agent={"name": "judge", "trainable": False})
    folder.rows([episode("a", solver, second, judge)])
    table = folder.load(scores=["reward"])
    assert (table.agents, table.sample.tolist()) == (("solver",), [0, 1])
    folder.rows(
        [episode("a", {**judge, "rewards": {"r": {"score": 0.5}}})]
    )  # all are frozen
    assert folder.load(scores=["reward"]).scores["reward"].tolist() == [0.5]


def test_errors_are_missing_unless_they_were_graded(folder):
    error = {"type": "SandboxError", "message": "gone"}
    broken = {"ok": False, "errors": [error]}
    good = {"r": {"score": 1.0}}
    folder.rows(
        [
            episode("a", trace({"r": None}, **broken), **broken),
            episode("b", trace(good, **broken), **broken),
            episode("c", trace(good, errors=[error])),  # it went well when tried again
            episode("d", **broken),
            episode("e", trace({}, stop_condition="max_turns")),
        ]
    )
    table = folder.load(scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 1, 1, np.nan, np.nan])
    assert table.agents == ("agent",)
    notes = "\n".join(note_texts(table.notes))
    assert (
        "SandboxError: 2 rollouts without a score, which is missing (first runs.jsonl:1"
        in notes
    )
    assert "SandboxError: 1 rollout graded all the same (first runs.jsonl:2" in notes
    assert (
        "not scored: 1 rollout without a score, which is missing (first runs.jsonl:5"
        in notes
    )


def test_rows_that_are_refused(folder):
    nameless = episode(None, trace(), task={"type": "T", "data": {}})
    newer = episode("a", trace(version=7))
    for row, message in (
        (nameless, "neither a key nor a hash"),
        (newer, "of version 7"),
    ):
        folder.rows([episode("x", trace({"r": {"score": 1.0}})), row])
        refused = folder.refused()
        assert message in refused.message
        assert refused.line == 2
