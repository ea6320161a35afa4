"""Which rows of a benchmark are scored, as which tasks, and what their reward is."""

import json

import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.scoring_notes import (
    DefaultReward,
    DrawnSample,
    LimitedRows,
)
from pytest_evalmetrics.pipeline.benchmark_rows import (
    choose,
    recorded_rows,
    reward_notes,
    rows_of,
    with_reward,
)
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.scoring.scorer_types import offer_scorers

offer_scorers()
ROWS = [{"id": f"t{at}", "question": f"{at}?", "kind": "ab"[at % 2]} for at in range(6)]
MATCH = {"type": "exact-match", "reference": "x", "candidate": "y"}
MODEL = {"url": "http://127.0.0.1:1/v1", "name": "m"}


def write(folder, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "data.jsonl").write_text(text, encoding="utf-8")


def asked(folder, **keys):
    """Read a benchmark of a data set, with further keys."""
    written = {
        "name": "b",
        "dataset": {"path": "data.jsonl", "fields": {"task": "id"}},
        "scorers": [MATCH],
        "metrics": ["mean_reward"],
        **keys,
    }
    file = folder / "a.bench.yaml"
    text = json.dumps(
        {"benchmark": {k: v for k, v in written.items() if v is not None}}
    )
    file.write_text(text, encoding="utf-8")
    (read,) = load_benchmarks(file, shown="a.bench.yaml")
    return read


def chosen(folder, rows=ROWS, only_tasks=None, **keys):
    """Choose the rows of a benchmark; return it, and what was chosen."""
    write(folder, rows)
    read = with_reward(asked(folder, **keys))
    return read, choose(read, plan_of(read), ["exact-match"], only_tasks=only_tasks)


def scored(folder, **settings):
    """List the rows that are scored: their tasks, samples and places."""
    read, rows = chosen(folder, **settings)
    return [(row.task, row.sample, row.where) for row in rows_of(read, rows)]


def tasks(folder, **settings):
    return [task for task, _, _ in scored(folder, **settings)]


# -- which rows ------------------------------------------------------------------------------


def test_every_row_is_scored_in_the_order_of_the_file(tmp_path):
    assert scored(tmp_path, rows=ROWS[:3]) == [
        ("t0", 0, "data.jsonl:1"),
        ("t1", 0, "data.jsonl:2"),
        ("t2", 0, "data.jsonl:3"),
    ]


def test_a_row_that_a_model_answers_twice_is_scored_twice(tmp_path):
    keys = {"model": MODEL, "prompt_template": "{{ question }}", "num_samples": 2}
    assert scored(tmp_path, rows=ROWS[:2], **keys) == [
        ("t0", 0, "data.jsonl:1"),
        ("t0", 1, "data.jsonl:1"),
        ("t1", 0, "data.jsonl:2"),
        ("t1", 1, "data.jsonl:2"),
    ]


def test_a_row_of_a_data_set_holds_no_answer(tmp_path):
    read, rows = chosen(tmp_path, rows=ROWS[:1])
    (row,) = rows_of(read, rows)
    assert row.item == ROWS[0]
    assert row.sample_data == {}
    assert row.index == 0


def test_a_recorded_row_is_its_own_answer(tmp_path):
    rollouts = {"path": "data.jsonl", "fields": {"task": "id"}}
    read, rows = chosen(tmp_path, rows=ROWS[:1], dataset=None, rollouts=rollouts)
    (row,) = rows_of(read, rows)
    assert row.sample_data == ROWS[0]


def test_a_limit_takes_the_first_rows_and_is_noted(tmp_path):
    read, rows = chosen(tmp_path, params={"limit_samples": 2})
    assert [row.task for row in rows_of(read, rows)] == ["t0", "t1"]
    assert rows.partial
    assert rows.notes == (LimitedRows(taken=2, rows=6),)
    assert rows.rows.tolist() == [0, 1]


@pytest.mark.parametrize("limit", [6, 9])
def test_a_limit_of_all_rows_leaves_none_out(tmp_path, limit):
    _, rows = chosen(tmp_path, params={"limit_samples": limit})
    assert not rows.partial
    assert rows.notes == ()
    assert len(rows.table) == 6


def test_a_data_set_may_be_its_first_rows(tmp_path):
    dataset = {"path": "data.jsonl", "fields": {"task": "id"}, "limit": 3}
    _, rows = chosen(tmp_path, dataset=dataset)
    assert rows.rows.tolist() == [0, 1, 2]
    assert not rows.partial


@pytest.mark.parametrize("shuffle", [{"shuffle": True}, {"shuffle": 0}])
def test_a_shuffled_data_set_is_ordered_by_splitmix64(tmp_path, shuffle):
    # its first numbers for the seed 0 begin with e2, 6e, 06, f8 and 1b
    dataset = {"path": "data.jsonl", "fields": {"task": "id"}, "limit": 3, **shuffle}
    _, rows = chosen(tmp_path, rows=ROWS[:5], dataset=dataset)
    assert rows.rows.tolist() == [1, 2, 4]


def test_another_seed_shuffles_otherwise(tmp_path):
    fields = {"task": "id"}
    dataset = {"path": "data.jsonl", "fields": fields, "limit": 3, "shuffle": 7}
    _, rows = chosen(tmp_path, rows=ROWS[:5], dataset=dataset)
    assert rows.rows.tolist() != [1, 2, 4]


def test_a_sample_of_the_tasks_is_drawn_from_all_of_them(tmp_path):
    _, rows = chosen(tmp_path, sample={"tasks": 2, "seed": 1})
    assert len(rows.table.tasks) == 2
    assert len(rows.frame.tasks) == 6
    assert rows.notes == (DrawnSample(drawn=2, tasks=6),)
    assert not rows.partial


def test_a_sample_of_a_limited_run_is_of_its_rows(tmp_path):
    sample = {"tasks": 6, "seed": 1}
    _, rows = chosen(tmp_path, sample=sample, params={"limit_samples": 3})
    assert rows.rows.tolist() == [0, 1, 2]
    assert rows.notes == (DrawnSample(drawn=6, tasks=6), LimitedRows(taken=3, rows=6))


def test_tasks_may_be_chosen_by_name(tmp_path):
    names = frozenset({"t4", "t1", "other"})
    assert tasks(tmp_path, only_tasks=names) == ["t1", "t4"]


def test_tasks_are_known_by_their_content(tmp_path):
    _, rows = chosen(tmp_path, baseline=True)
    _, moved = chosen(tmp_path, rows=ROWS[::-1], baseline=True)
    assert len(set(rows.table.content.tolist())) == 6
    assert sorted(rows.table.content) == sorted(moved.table.content)


def test_a_benchmark_that_compares_nothing_hashes_no_contents(tmp_path):
    _, rows = chosen(tmp_path)
    assert rows.table.content is None


# -- tasks in several rows -------------------------------------------------------------------

TWICE = [ROWS[0], ROWS[1], ROWS[0]]


def test_a_task_in_two_rows_that_are_scored_is_refused(tmp_path):
    with pytest.raises(DataError) as refused:
        chosen(tmp_path, rows=TWICE)
    assert refused.value.message == (
        "the task 't0' occurs in several rows, of which each would be scored as a task "
        "of its own"
    )
    assert refused.value.hint == (
        "say which key tells them apart: dataset: {path: ..., fields: {task: KEY}}; or, "
        "where they are attempts at one task, num_samples"
    )


def test_a_task_in_two_rows_that_are_answered_is_refused(tmp_path):
    keys = {"model": MODEL, "prompt_template": "{{ question }}", "num_samples": 2}
    with pytest.raises(DataError) as refused:
        chosen(tmp_path, rows=TWICE, **keys)
    assert "of which each would be answered as a task" in refused.value.message
    assert "num_samples" not in refused.value.hint


@pytest.mark.parametrize(
    "keys",
    [
        {"num_samples": 2},
        {"expect": {"rollouts": 2}},
        {"dataset": {"path": "data.jsonl", "fields": {"task": "id", "sample": "n"}}},
    ],
    ids=["num_samples", "expect", "a field of samples"],
)
def test_attempts_at_a_task_may_be_in_several_rows(tmp_path, keys):
    rows = [row | {"n": at} for at, row in enumerate(TWICE)]
    assert sorted(tasks(tmp_path, rows=rows, **keys)) == ["t0", "t0", "t1"]


# -- files that change -----------------------------------------------------------------------


def test_files_that_lost_rows_while_they_were_read_are_refused(tmp_path):
    read, rows = chosen(tmp_path)
    write(tmp_path, ROWS[:4])
    with pytest.raises(DataError) as refused:
        list(rows_of(read, rows))
    assert refused.value.message == (
        "the rows' files changed while they were read: 4 rows, after 6"
    )
    assert refused.value.hint == "run again when nothing writes to them"


def test_rows_of_a_run_are_read_again_with_their_tasks(tmp_path):
    read, rows = chosen(tmp_path)
    again = recorded_rows(read.spec.rows, [4, 1], base=tmp_path, table=rows.table)
    assert [(row.index, row.task, row.item) for row, _ in again] == [
        (1, "t1", ROWS[1]),
        (4, "t4", ROWS[4]),
    ]


def test_all_rows_of_a_run_may_be_read_again(tmp_path):
    read, rows = chosen(tmp_path)
    again = recorded_rows(read.spec.rows, base=tmp_path, table=rows.table)
    assert [row.task for row, _ in again] == [row["id"] for row in ROWS]


def test_files_that_are_too_large_are_not_read_again(tmp_path):
    read, rows = chosen(tmp_path)
    size = (tmp_path / "data.jsonl").stat().st_size

    def again(most):
        found = recorded_rows(
            read.spec.rows, base=tmp_path, table=rows.table, most=most
        )
        return len(list(found))

    assert again(size) == 6
    assert again(size - 1) == 0


# -- the reward ------------------------------------------------------------------------------

TOOL_CALLS = {"type": "tool-calling", "reference": "{{ item.calls }}"}
TWO = {
    "type": "llm-judge",
    "model": MODEL,
    "prompt_template": "{{ question }}",
    "scores": [{"name": "tone"}, {"name": "kind"}],
}


def test_the_only_score_of_a_scorer_is_the_reward(tmp_path):
    assert with_reward(asked(tmp_path)).spec.reward == "exact-match"


def test_a_benchmark_without_scorers_keeps_its_reward(tmp_path):
    rollouts = {"path": "data.jsonl", "fields": {"task": "id"}}
    read = asked(tmp_path, dataset=None, scorers=None, rollouts=rollouts)
    assert with_reward(read) is read


def test_of_two_scores_nothing_says_which_is_the_reward(tmp_path):
    with pytest.raises(DataError) as refused:
        with_reward(asked(tmp_path, scorers=[TWO]))
    assert refused.value.message == (
        "the scorers give tone, kind: nothing says which of them the metrics reduce"
    )
    assert refused.value.hint == "write `reward: tone`"


def test_the_reward_that_is_written_counts(tmp_path):
    read = asked(tmp_path, scorers=[TWO], reward="kind")
    assert with_reward(read).spec.reward == "kind"
    assert reward_notes(read) == []


def test_a_reward_that_no_scorer_gives_is_refused(tmp_path):
    with pytest.raises(DataError) as refused:
        with_reward(asked(tmp_path, scorers=[TWO], reward="kinds"))
    assert refused.value.message == (
        "no scorer gives the reward 'kinds'; did you mean 'kind'? they give: kind, tone"
    )
    assert refused.value.line == 1


def test_a_measured_number_may_be_the_reward(tmp_path):
    read = asked(tmp_path, scorers=[TWO], reward="latency_s")
    after = with_reward(read, ("tone", "kind"), measured=("latency_s",))
    assert after.spec.reward == "latency_s"


def test_scorers_that_are_not_made_yet_settle_nothing(tmp_path):
    read = asked(tmp_path)
    assert with_reward(read, ()) is read


def test_the_strictest_score_of_tool_calls_is_the_reward_and_that_is_noted(tmp_path):
    read = asked(tmp_path, scorers=[TOOL_CALLS])
    name = "function_name_and_args_accuracy"
    assert with_reward(read).spec.reward == name
    assert reward_notes(read) == [DefaultReward(score=name, scorer="tool-calling")]


def test_of_two_scorers_none_has_a_reward_by_default(tmp_path):
    read = asked(tmp_path, scorers=[TOOL_CALLS, MATCH])
    assert reward_notes(read) == []
    with pytest.raises(DataError, match="nothing says which of them"):
        with_reward(read)
