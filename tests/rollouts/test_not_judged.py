"""What plain rows and documents state of themselves: errors, means, totals, further attempts."""

import math

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_notes import FurtherAttempts, OtherNumberStated
from pytest_evalmetrics.rollouts.not_judged import (
    RolloutError,
    error_in,
    exception_of,
    is_verdict,
    judged,
)
from pytest_evalmetrics.rollouts.repeated_reports import RepeatedReports
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.rollouts.stated_means import (
    is_unfinished_log,
    other_mean_stated,
)
from pytest_evalmetrics.rollouts.stated_totals import failures_stated


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("ValueError: no", "ValueError"),
        ("ValueError('no')", "ValueError"),
        (" openai.RateLimitError : 429", "openai.RateLimitError"),
        ("the model is down", "error"),
        ("5xx: down", "error"),
        ("", "error"),
    ],
)
def test_the_name_of_an_exception_starts_its_message(message, kind):
    assert exception_of(message) == RolloutError(kind, message)


@pytest.mark.parametrize(
    "key",
    [
        *("error", "exception", "traceback", "judge_error", "grader_error"),
        *("scorer_error", "scoring_error", "evaluation_error", "info.error"),
    ],
)
def test_an_error_at_any_of_its_places(key):
    assert error_in({key: "E: x"}) == RolloutError("E", "E: x")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"type": "T", "message": "m"}, RolloutError("T", "m")),
        ({"exception_type": "T", "exception_message": "m"}, RolloutError("T", "m")),
        ({"code": 429, "detail": "slow"}, RolloutError("429", "slow")),
        ({"name": "N"}, RolloutError("N", "{'name': 'N'}")),
        ({"x": 1}, RolloutError("error", "{'x': 1}")),
        ({}, None),
        ("  ", None),
        (True, RolloutError("error")),
        (False, None),
        (1, None),
        (["remark"], None),
    ],
)
def test_the_words_of_an_error(value, error):
    assert error_in({"error": value}) == error


@pytest.mark.parametrize("key", ["is_error", "has_error", "errored", "crashed"])
def test_a_flag_of_an_error(key):
    assert error_in({key: True}) == RolloutError("error")
    assert error_in({key: "yes"}) is None


@pytest.mark.parametrize(
    "status",
    [
        *(
            "error",
            "errored",
            "crashed",
            "exception",
            "infrastructure_error",
            "skipped",
        ),
        *("infra_error", "cancelled", "canceled", "pending", "not_run", "not run"),
        *("not_evaluated", "unscored", " Error "),
    ],
)
def test_a_status_of_what_nobody_judged(status):
    assert error_in({"status": status}) == RolloutError(f"status {status.strip()}")


@pytest.mark.parametrize("status", ["success", "failed", "done", 500, None])
def test_another_status_is_no_error(status):
    assert error_in({"status": status}) is None


@pytest.mark.parametrize(
    ("reason", "is_error"),
    [("user_error", True), ("infrastructure_error", True), ("agent_stop", False)],
)
def test_a_conversation_that_others_ended(reason, is_error):
    error = RolloutError(reason) if is_error else None
    assert error_in({"termination_reason": reason}) == error


def test_the_failure_of_a_row_of_nemo_gym_voids_it():
    row = {"_ng_failure_class": "timeout", "error": "x"}
    assert error_in(row) == RolloutError("timeout", voids=True)


def test_a_scoring_that_failed_voids_its_row():
    voided = {"of_grader": True, "voids": True}
    row = {"scoring_failed": True}
    assert error_in(row) == RolloutError("scoring_failed", "", **voided)
    row["error"] = "late"
    assert error_in(row) == RolloutError("scoring_failed", "late", **voided)
    assert error_in({"scoring_failed": "no"}) is None


@pytest.mark.parametrize(
    ("score", "says"),
    [
        (0.5, True),
        (0, True),
        (True, True),
        (math.nan, False),
        (None, False),
        ("1", False),
    ],
)
def test_a_verdict_is_a_finite_number(score, says):
    assert is_verdict(score) is says


ERROR = RolloutError("E")


@pytest.mark.parametrize(
    ("scores", "error", "rewards", "kept"),
    [
        ({"a": 0, "b": 5}, None, None, {"a": 0, "b": 5}),
        ({"a": 0, "b": 0.0}, ERROR, None, {"a": None, "b": None}),
        ({"a": 0, "b": 5}, ERROR, None, {"a": 0, "b": 5}),
        ({"a": 0, "b": 5}, ERROR, ["a"], {"a": None, "b": None}),
        ({"a": 1, "b": 0}, ERROR, ["a"], {"a": 1, "b": 0}),
        ({"a": math.nan}, ERROR, None, {"a": None}),
        ({"a": 1}, RolloutError("E", voids=True), None, {"a": None}),
    ],
)
def test_scores_beside_an_error_are_void_where_none_shows_a_verdict(
    scores, error, rewards, kept
):
    assert judged(scores, error, rewards) == kept


# -- means and totals --------------------------------------------------------------------------

SIMPLE = {"metrics": {}, "htmls": [], "convos": [], "metadata": {}}
TERMINAL = {"results": [], "n_resolved": 1}


def compared(document, rewards, path="score"):
    note = other_mean_stated(document, rewards, path=path, file="f")
    return None if note is None else (note.claim, note.stated, note.computed)


@pytest.mark.parametrize(
    ("document", "path", "claim"),
    [
        ({**SIMPLE, "score": 0.25}, "score", "score"),
        (
            {"final_report": {"accuracy": 0.25}},
            "data.correct",
            "accuracy in its final_report",
        ),
        ({**TERMINAL, "accuracy": 0.25}, "is_resolved", "accuracy"),
        (
            {"summary": {"comparison": {"scores": {"tone": {"score": 0.25}}}}},
            "scores.tone",
            "the score of tone in its summary",
        ),
    ],
)
def test_a_mean_that_a_document_states_is_compared(document, path, claim):
    assert compared(document, [1, 0], path) == (claim, 0.25, 0.5)
    assert compared(document, [0.5, 0], path) is None
    assert compared(document, [0.5000009, 0], path) is None


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({**SIMPLE, "score": 0.25}, "other"),
        ({"score": 0.25}, "score"),
        ({**SIMPLE, "score": "x"}, "score"),
        ({"final_report": {"accuracy": 0.25}}, "data.other"),
        ({"final_report": {}}, "data.correct"),
        ({"accuracy": 0.25}, "is_resolved"),
        ({**TERMINAL, "accuracy": 0.25}, "other"),
        ({"summary": {"comparison": {"scores": {"x": {"score": 1}}}}}, "scores.tone"),
    ],
)
def test_what_states_no_mean_is_not_compared(document, path):
    assert compared(document, [1, 0], path) is None


def test_how_a_reward_that_lacks_counts_in_a_mean():
    assert compared({**SIMPLE, "score": 0.25}, [1, None])[2] == 1
    stated = {**TERMINAL, "accuracy": 0.25}
    assert compared(stated, [True, None], "is_resolved")[2] == 0.5


def test_a_mean_of_simple_evals_is_cut_to_0_to_1():
    assert compared({**SIMPLE, "score": 0.25}, [3, 1])[2] == 1
    assert compared({**SIMPLE, "score": 0.25}, [-3, 1])[2] == 0
    stated = {"final_report": {"accuracy": 0.25}}
    assert compared(stated, [3, 1], "data.correct")[2] == 2


@pytest.mark.parametrize("rewards", [[], [None], ["pass", 1]])
def test_rewards_that_are_no_numbers_have_no_mean(rewards):
    assert compared({**SIMPLE, "score": 0.25}, rewards) is None


def test_a_note_on_a_mean_names_its_file():
    note = other_mean_stated({**SIMPLE, "score": 1}, [0], path="score", file="f")
    assert note == OtherNumberStated(file="f", claim="score", stated=1, computed=0)


SPEC = {"spec": {"eval_name": "e", "run_config": {}}}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([SPEC, {"data": 1}], True),
        ([SPEC, {"final_report": {}}], False),
        ([{"data": 1}, SPEC], False),
        ([{"spec": {"eval_name": "e"}}], False),
        ([{"spec": {"run_config": {}}}], False),
        ([{"spec": 5}], False),
        ([], False),
    ],
)
def test_a_log_of_openai_evals_without_its_end(lines, says):
    assert is_unfinished_log(lines) is says


@pytest.mark.parametrize(
    ("row", "failures"),
    [
        ({"accuracy": 0.5, "correct_count": 3, "total_count": 5}, 2),
        ({"correct_count": 3, "total_count": 5}, None),
        ({"accuracy": 0.5, "correct_count": "x", "total_count": 5}, None),
        ({"accuracy": 0.5, "correct_count": 3, "total_count": None}, None),
    ],
)
def test_the_failures_that_a_first_line_counts(row, failures):
    assert failures_stated(row) == failures


# -- further reports ---------------------------------------------------------------------------


@pytest.fixture
def reports(folder):
    paths = [folder.json({}, name) for name in ("a.json", "b.json")]
    return [open_source(RolloutFile(path, path.name)) for path in paths]


def test_further_reports_of_the_same_tasks_are_attempts(reports):
    first, second = reports
    read = RepeatedReports()
    read.add(first, ["x", "y"])
    assert [read.sample("x"), read.sample("y"), read.sample("x")] == [0, 0, 1]
    assert read.note(first) is None
    read.add(second, ["y", "x"])
    assert read.note(second) == FurtherAttempts(file="b.json", first="a.json")


def test_a_report_of_other_tasks_is_refused(reports):
    first, second = reports
    read = RepeatedReports()
    read.add(first, ["x", "y"])
    with pytest.raises(DataError) as caught:
        read.add(second, ["y", "z"])
    assert caught.value.message == (
        "this report has other tasks than a.json: 2 tasks are in one of them, such as 'x'; "
        "reports of the same tasks are attempts"
    )
    assert caught.value.file == "b.json"
    assert caught.value.hint == (
        "give each its own benchmark, or name the files of one run"
    )
