"""What files of other tools look like, for recognising them and for their loaders."""

from __future__ import annotations

from typing import Final


def sets(*lines: str) -> tuple[frozenset[str], ...]:
    """Return the words of each line as a set."""
    return tuple(frozenset(line.split()) for line in lines)


DEEPEVAL_CASES: Final = ("testCases", "conversationalTestCases", "test_results")
DEEPEVAL_METRICS: Final = ("metricsData", "metrics_data", "metricsMetadata")
HARBOR_TRIAL, HARBOR_JOB = sets("task_name trial_name", "n_total_trials stats")
LM_EVAL_RESULTS: Final = sets(
    "results configs",
    "results n-shot",
    "results group_subtasks",
    # up to version 0.3
    "results versions config.model",
)
(PROMPTFOO_ROW,) = sets("success score namedScores provider")


def csv_separator(line: str) -> str:
    """Choose the separator of a CSV file's cells by its first line."""
    return max(",\t;|", key=line.count)
