"""The board of a run: scores, answers and failures as they come in, in any order."""

import numpy as np
import pytest

from pytest_evalmetrics.errors import ArtifactError, RowError
from pytest_evalmetrics.ext import CallError, Reply
from pytest_evalmetrics.model.rollout_table import RolloutTable, Row
from pytest_evalmetrics.model.scoring_notes import CutAnswers, UncountedTokens
from pytest_evalmetrics.pipeline.board import Board, RowTexts
from pytest_evalmetrics.scoring.door import AnswerAttempt, Progress, Tokens
from pytest_evalmetrics.scoring.generation import Generated
from pytest_evalmetrics.spec.metric_names import GENERATED_SCORES


class Giver:
    """What the board reads of a scorer or a generator."""

    def __init__(self, kind, *scores):
        self.type = kind
        self.scores = scores


class NoCalls:
    """The calls of an answer that shows none."""

    from_journal = False
    exchanges = ()


EXACT = Giver("exact-match", "exact")
TWO = Giver("two", "kind", "right")
MODEL = Giver("model", *GENERATED_SCORES)


def table_of(rows, **fields):
    """Make a table of tasks of one rollout each; the files hold them in reverse."""
    order = np.arange(rows)
    return RolloutTable(
        **{
            "agents": ("",),
            "agent": np.zeros(rows, np.int32),
            "tasks": tuple(range(rows)),
            "task": order,
            "sample": np.zeros(rows, np.int64),
            "scores": {},
            "read_as": order[::-1].copy(),
            **fields,
        }
    )


def row(index):
    return Row(index, "", f"t{index}", 0, {}, {}, f"data.jsonl:{index + 1}")


def board_of(rows=3, names=("exact",), generator=None, hide=str, **fields):
    return Board(table_of(rows, **fields), names, generator, Progress(), hide)


def score(board, index, value, why="", scorer=EXACT):
    scores = dict.fromkeys(scorer.scores, value)
    board.scored(row(index), scorer, scores, why, from_journal=False)


def lack(board, index, kind, words="no number", *, scorer=EXACT, hint=None):
    board.lacks(row(index), scorer.scores, RowError(kind, words, hint=hint), words)


def test_a_score_stands_where_its_row_stands_in_the_table():
    board = board_of()
    score(board, 0, 0.25)
    score(board, 2, 0.75)
    column = board.table().scores["exact"]
    # the last row of the table was the first of the files
    assert column[2] == 0.25
    assert column[0] == 0.75
    assert np.isnan(column[1])


def test_scores_take_the_place_of_recorded_ones():
    recorded = {"exact": np.ones(3), "other": np.ones(3)}
    board = board_of(scores=recorded, integers=frozenset({"exact", "other"}))
    score(board, 0, 0.5)
    table = board.table()
    assert table.scores["exact"][2] == 0.5
    assert table.scores["other"].tolist() == [1, 1, 1]
    assert table.integers == {"other"}
    assert "exact" not in board.table(without={"exact"}).scores


def test_the_mean_so_far_is_that_of_the_rows_that_have_the_score():
    board = board_of()
    assert board.mean_so_far("exact") is None
    score(board, 0, 0.25)
    score(board, 1, 0.75)
    assert board.mean_so_far("exact") == ("exact", 0.5)
    assert board.mean_so_far("other") is None


def test_the_progress_counts_what_is_scored_and_what_fails():
    board = board_of()
    score(board, 0, 1.0)
    lack(board, 1, "no-number")
    assert board.progress.done == 2
    assert dict(board.progress.failures) == {"no-number": 1}


def test_failures_are_grouped_the_most_frequent_first():
    board = board_of(rows=5)
    lack(board, 4, "timeout", "late")
    lack(board, 1, "no-number", "first")
    lack(board, 0, "http-500")
    lack(board, 3, "no-number", "second")
    (failed,) = board.failures([EXACT])
    assert (failed.scorer, failed.scores, failed.count, failed.rows) == (
        "exact-match",
        ("exact",),
        4,
        5,
    )
    assert list(failed.kinds.items()) == [
        ("no-number", 2),
        ("http-500", 1),
        ("timeout", 1),
    ]
    assert [failure.index for failure in failed.first] == [0, 1, 3, 4]
    assert failed.examples["no-number"].reason == "first"
    assert failed.examples["no-number"].row == "data.jsonl:2"


def test_at_most_twenty_failures_are_reported():
    board = board_of(rows=25)
    for index in range(25):
        lack(board, index, "no-number")
    (failed,) = board.failures([EXACT])
    assert (failed.count, len(failed.first)) == (25, 20)


def test_each_scorer_has_its_own_failures():
    board = board_of(names=("exact", "kind", "right"))
    lack(board, 0, "no-number")
    lack(board, 0, "timeout", scorer=TWO)
    assert [failed.scorer for failed in board.failures([EXACT, TWO])] == [
        "exact-match",
        "two",
    ]
    assert list(board.failures([])) == []


def test_rows_that_fail_for_a_reason_are_counted_once():
    board = board_of(names=("exact", "kind", "right"))
    lack(board, 0, "timeout")
    lack(board, 0, "timeout", scorer=TWO)
    lack(board, 1, "no-number")
    assert board.failed_rows("timeout") == 1
    assert board.failed_rows("other") == 0


def test_a_secret_in_a_hint_is_hidden():
    board = board_of(hide=lambda text: text.replace("s3cr3t", "***"))
    lack(board, 0, "no-number", hint="ask s3cr3t")
    assert board.failed[0]["exact",].hint == "ask ***"


def test_reasons_and_requests_of_a_row_are_in_the_order_of_the_scorers():
    board = board_of(names=("exact", "kind", "right"))
    score(board, 0, 1.0, "second", TWO)
    score(board, 0, 1.0, "first")
    score(board, 1, 1.0)
    assert board.reasons.of(0) == (
        b'[{"scores":["exact"],"reason":"first"},'
        b'{"scores":["kind","right"],"reason":"second"}]'
    )
    assert board.reasons.of(1) == b"[]"
    board.asked(row(0), TWO, [{"request": "2", "answer": None}])
    board.asked(row(0), EXACT, [{"request": "1", "answer": "x"}])
    board.asked(row(1), EXACT, [])
    assert board.requests.of(0) == (
        b'[{"request":"1","answer":"x"},{"request":"2","answer":null}]'
    )
    assert board.requests.of(1) == b"[]"


def test_a_disk_that_is_full_is_named_with_the_way_out(monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(ArtifactError, match="No space left on device") as raised:
        RowTexts("reasons").add(0, 0, b"1")
    assert "the reasons of the rows can't be kept" in raised.value.message
    assert "TMPDIR" in raised.value.hint


# -- answers ---------------------------------------------------------------------------------


def attempt(board, index, *, failure=None, finish="stop", tokens=None, answered=True):
    reply = Reply("4", finish_reason=finish, tokens=tokens)
    generated = Generated(reply, {}, latency_s=0.5) if answered else None
    board.attempted(
        AnswerAttempt(row(index), NoCalls(), generated, failure, "why", b'{"item":{}}')
    )


def answered_board(rows=4):
    return board_of(rows, names=tuple(GENERATED_SCORES), generator=MODEL)


def test_an_answer_is_kept_and_measured():
    board = answered_board()
    attempt(board, 0, tokens=Tokens(5, 3, 8))
    assert board.answers.of(0) == b'[{"item":{}}]'
    assert board.columns["output_tokens"][3] == 3.0
    assert board.progress.unit == "rollouts"
    assert board.progress.done == 1


def test_answers_that_were_cut_or_name_no_tokens_are_noted():
    board = answered_board()
    attempt(board, 0, finish="length", tokens=Tokens(5, 3, 8))
    attempt(board, 1)
    attempt(board, 2, failure=CallError("http-500", "x"), answered=False)
    attempt(board, 3, failure=CallError("http-500", "x"), answered=False)
    assert list(board.answer_notes()) == [CutAnswers(1, 2), UncountedTokens(1, 2)]


def test_answers_with_all_their_tokens_need_no_note():
    board = answered_board(rows=2)
    attempt(board, 0, tokens=Tokens(5, 3, 8))
    attempt(board, 1, failure=CallError("http-500", "x"), answered=False)
    assert list(board.answer_notes()) == []


def test_a_row_without_an_answer_is_a_failure_of_the_model():
    board = answered_board(rows=2)
    attempt(board, 1, failure=CallError("http-500", "x"), answered=False)
    (failed,) = board.failures([])
    assert (failed.scorer, failed.scores) == ("model", ("output_text",))
    assert failed.first[0].reason == "why"
    assert dict(board.progress.failures) == {"http-500": 1}


@pytest.mark.parametrize(
    ("failure", "left"),
    [
        (CallError("http-500", "x"), 1),
        (CallError("budget", "x"), 2),
        (CallError("bad-request", "x"), 2),
        (RowError("refusal", "x"), 2),
    ],
)
def test_only_a_request_that_failed_may_be_left_out(failure, left):
    board = answered_board(rows=2)
    attempt(board, 0)
    attempt(board, 1, failure=failure, answered=False)
    kept, notes = board.without_failed_requests(board.table())
    assert len(kept) == left
    assert len(notes) == (left == 1)
