"""Thresholds on other scores than the reward: as many rollouts as a user believes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Project


def rows(project: Project, *, told: int, of: int = 200) -> None:
    """Write rollouts, of which so many say how many tokens they took."""
    project.rows(
        "runs.jsonl",
        [
            {
                "_ng_task_index": i // 4,
                "_ng_rollout_index": i % 4,
                "reward": 1,
                "kind": "hard" if i % 4 else "easy",
                **({"output_tokens": 100} if i < told else {}),
            }
            for i in range(of)
        ],
    )


def test_a_threshold_on_a_few_of_the_rollouts_is_red(project: Project) -> None:
    rows(project, told=4)
    project.bench("thresholds: {mean/output_tokens: '<= 2000', pass@1/output_tokens: '>= 0.1'}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL * missing/output_tokens *0.9800 * <= 0",
            "FAIL  math.bench.yaml:4: 196 of 200 rollouts have no finite output_tokens, 98 %: *",
            "  -> complete the run; or say how many may lack it: expect: {max_missing: 2%}",
        ]
    )
    assert result.stdout.str().count("have no finite output_tokens, 98 %: mean") == 1


@pytest.mark.parametrize(
    ("told", "expect", "failed"),
    [
        (200, "", 0),
        (199, "", 1),
        (196, "expect: {max_missing: 2%}", 0),
        (195, "expect: {max_missing: 2%}", 1),
        (190, "expect: {missing_reward: exclude}", 0),
        (189, "expect: {missing_reward: exclude}", 1),
        (199, "expect: {missing_reward: 0.0}", 1),  # says nothing of tokens
    ],
)
def test_what_may_be_missing_is_what_expect_says(
    project: Project, told: int, expect: str, failed: int
) -> None:
    rows(project, told=told)
    project.bench(f"{expect}\nthresholds: {{mean/output_tokens: '<= 2000'}}")
    project.run().assert_outcomes(failed=failed, passed=1 - failed)


@pytest.mark.parametrize("metric", ["tokens_per_task", "mean/output_tokens[kind=hard]"])
def test_so_it_is_of_what_is_made_of_several_and_of_a_part(project: Project, metric: str) -> None:
    project.rows(
        "runs.jsonl",
        [
            {
                "_ng_task_index": i // 4,
                "_ng_rollout_index": i % 4,
                "reward": 1,
                "kind": "hard" if i % 4 else "easy",
                **({"input_tokens": 1, "output_tokens": 2} if i % 4 < 3 else {}),
            }
            for i in range(40)
        ],
    )
    project.bench(f"thresholds: {{'{metric}': '<= 2000'}}")
    result = project.run()
    result.assert_outcomes(failed=1)
    of = "10 of 40" if metric == "tokens_per_task" else "10 of 30"
    what = (
        "nothing that tokens_per_task reads" if "per_task" in metric else "no finite output_tokens"
    )
    result.stdout.fnmatch_lines([f"FAIL *: {of} rollouts have {what}, *"])


def test_what_no_threshold_rests_on_is_told(project: Project) -> None:
    rows(project, told=4)
    project.bench("metrics: [pass@1, mean/output_tokens]\nthresholds: {pass@1: '>= 0.5'}")
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*note: *mean/output_tokens is of 4 rollouts: 196 of 200 rollouts have no finite output_*"]
    )


SCORERS = """
import pytest_evalmetrics as em

@em.register_scorer("sound")
class Sound:
    scores = ("sound",)

    def score(self, row):
        return 1.0

@em.register_scorer("fluent")
class Fluent:
    scores = ("fluent",)

    def score(self, row):
        if row.item["_ng_task_index"]:
            raise em.RowError("no-words", "there is nothing to read")
        return 1.0
"""


def test_a_scorer_that_fails_on_most_rows_is_red_where_it_is_gated(project: Project) -> None:
    project.write("conftest.py", SCORERS)
    project.rollouts([[1]] * 10)
    project.bench(
        "scorers: [{type: sound}, {type: fluent}]\nreward: sound\n"
        "thresholds: {mean/fluent: '>= 0.9', mean/sound: '>= 0.9'}"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    cause = "9 of 10 rows have no fluent (no-words), such as runs.jsonl:2: there is nothing to read"
    result.stdout.fnmatch_lines(
        [f"FAIL * {cause}; 9 of 10 rollouts have no finite fluent, 90 %: *"]
    )


def test_the_rewards_own_missing_ones_are_told_once(project: Project) -> None:
    project.rollouts([[1, None], [1, 1]])
    project.bench("thresholds: {mean/reward: '>= 0.5', pass@1: '>= 0.5'}")
    result = project.run()
    result.assert_outcomes(failed=1)
    assert result.stdout.str().count("no finite reward (task 0)") == 2  # the error, the last line
