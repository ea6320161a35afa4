"""What is proposed of other tools' settings and results, and where a join is refused."""

import pytest
from rollouts.conftest import spec_of

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.survey import Choices, decision_lines
from pytest_evalmetrics.rollouts.tool_settings import migrated
from pytest_evalmetrics.spec.sources import JoinSpec


def test_an_assertion_for_all_tests_of_promptfoo_is_a_threshold(folder):
    text = (
        "providers: [echo]\n"
        "defaultTest: {assert: [{type: llm-rubric, metric: tone, threshold: 0.5}]}\n"
    )
    found = migrated(folder.write(text, "settings.yaml"))
    thresholds = found.content["benchmark"]["thresholds"]
    assert thresholds == {"mean_reward": ">= 1", "mean/tone": {"min": 0.5}}


def test_a_reward_that_a_person_chose_is_the_decision(folder):
    folder.rows([{"id": f"q{n}", "success": n % 2, "score": n / 4} for n in range(4)])
    lines = decision_lines("runs.jsonl", folder.path, Choices(reward="score"))
    assert lines[2] == "  reward    score  mean 0.375, from 0 to 0.75  (--reward)"


def test_two_rows_that_join_to_one_are_refused_at_the_key(folder):
    folder.rows([{"id": "a", "correct": 1}], "runs.jsonl")
    folder.rows([{"id": "a", "level": 1}, {"id": "a", "level": 2}], "other.jsonl")
    spec = spec_of(
        (),
        {"task": "id", "reward": "correct"},
        join=JoinSpec(path=("other.jsonl",), on=("id",)),
    )
    with pytest.raises(DataError) as refused:
        folder.load(spec=spec)
    assert refused.value.message == (
        "other.jsonl:2: join: on: the same id as other.jsonl:1"
    )
    assert refused.value.key == ("join", "on")
    assert refused.value.hint == "add to on: what tells them apart"
