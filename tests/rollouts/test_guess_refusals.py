"""What is said of an unknown file that holds no rows, odd rows, or rows that no key reads."""

import pytest

from pytest_evalmetrics.errors import DataError, NoTaskError, WordScoreError
from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.rollouts.guess import propose
from pytest_evalmetrics.rollouts.guess.sketch import sketch


def refusal(folder, name, named=None):
    with pytest.raises(DataError) as caught:
        propose(name, folder.path, named)
    return caught.value


def refused_document(folder, document):
    folder.json(document, "r.json")
    return refusal(folder, "r.json")


def refused_table(folder, *lines, named=None):
    folder.write("\n".join(lines) + "\n", "r.csv")
    return refusal(folder, "r.csv", named)


# -- no rows -----------------------------------------------------------------------------------

SUMMARY = (
    "if each file is one task, name all files: a glob such as 'runs/*.json'; a summary is gated "
    "by a threshold"
)
IN_PYTHON = " in a Python test: evalmetrics.check([NUMBER], thresholds={'mean_reward': '>= ...'})"


def test_an_empty_list_holds_no_rows(folder):
    error = refused_document(folder, [])
    assert error.message == "nothing in this file looks like rows"
    assert error.file == "r.json"
    assert error.hint == "rows are objects: one a line, or in a list that rows: names"


@pytest.mark.parametrize("name", ["r.jsonl", "r.json"])
def test_an_empty_file_is_of_a_run_that_failed(folder, name):
    folder.write("\n", name)
    error = refusal(folder, name)
    assert error.message == "the file holds no row"
    assert error.hint == "did the run that writes it fail?"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"error": "rate limit"}, "rate limit"),
        ({"status": 404, "Message": "Not Found"}, "Not Found"),
        ({"error": {"code": 429, "message": "slow down"}}, "slow down"),
        ({"code": "x1", "detail": "d" * 50}, "d" * 40 + "…"),
    ],
)
def test_the_error_of_a_server_is_shown(folder, document, message):
    error = refused_document(folder, document)
    assert error.message == f"this is an error message, not results: {message}"
    assert error.hint == "did the export or the download fail?"


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"error": "rate limit", "score": 0}, id="a score"),
        pytest.param({"status": "ok", "code": 200}, id="no message"),
        pytest.param({"error": 5, "status": 1}, id="a number"),
    ],
)
def test_other_documents_are_no_errors_of_a_server(folder, document):
    assert refused_document(folder, document).message == (
        "there is one row, and a benchmark needs several tasks: is it a summary?"
    )


def test_a_summary_is_gated_by_its_name_and_its_reward(folder):
    error = refused_document(folder, {"model": "m", "n": 3.5, "accuracy": 0.5})
    assert error.hint == (
        f"{SUMMARY}: name what it is of, and its number, such as --task model --reward n"
    )


def test_a_summary_with_verdicts_is_gated_by_those(folder):
    error = refused_document(folder, {"model": "m", "n": 3.5, "scores": [1, 0]})
    assert error.hint.endswith("such as --task model --reward scores")


@pytest.mark.parametrize("document", [{"accuracy": 0.5}, {"model": "m", "n": "x"}])
def test_a_summary_without_a_name_or_a_number_is_gated_in_python(folder, document):
    assert refused_document(folder, document).hint == SUMMARY + IN_PYTHON


def test_numbers_in_several_objects_are_tasks_or_a_summary(folder):
    document = {name: {name: 0.5} for name in ("sums", "roots", "logs", "lines")}
    document["powers"] = {"rate": 0.5, "cost": 2}
    error = refused_document(folder, document)
    assert error.message == (
        "the file holds few numbers in several objects: sums, roots, logs, lines; is each number the reward "
        "of a task, or are they a summary?"
    )
    assert error.hint == (
        "of tasks, write a benchmark file with rollouts: {path: r.json, rows: '*', keyed: id, "
        "fields: {task: [_parent._key, id], reward: value}}; a summary is gated by a threshold"
        + IN_PYTHON
    )


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"sums": {"acc": 0.5}}, id="one object"),
        pytest.param({"sums": {"acc": 0.5}, "roots": {"model": "m"}}, id="a text"),
        pytest.param({"sums": {"acc": 0.5}, "mean": 0.5}, id="a number outside"),
    ],
)
def test_other_numbers_may_be_a_summary(folder, document):
    assert refused_document(folder, document).message.startswith("there is one row")


# -- odd rows ----------------------------------------------------------------------------------


def test_ids_that_count_on_from_the_header_are_values(folder):
    error = refused_table(
        folder, "q0,high", "q1,low", "q2,high", named=FieldMap(task="q0", reward="high")
    )
    assert error.where == "r.csv:1"
    assert error.message == (
        "the first line is 'q0,high': values, in place of the names of the columns"
    )
    assert error.hint == "write a header above it, such as: task,reward"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["id,score", "q1,0.5", "q2,1"], id="no digit in the name"),
        pytest.param(["id2,score", "q1,0.5", "q2,1"], id="ids of another form"),
        pytest.param(["q0,score", "q1,0.5", "xx,1"], id="one id of another form"),
        pytest.param(["id2,score", "1,0.5", "2,1"], id="numbers"),
    ],
)
def test_other_first_lines_are_a_header(folder, lines):
    folder.write("\n".join(lines) + "\n", "r.csv")
    named = FieldMap(task=lines[0].split(",")[0])
    assert propose("r.csv", folder.path, named).reward == "score"


def test_a_header_among_the_rows_is_refused(folder):
    error = refused_table(folder, "id,score", "q1,1", "q2,0", "id,score", "q3,1")
    assert error.message == "row 3 is the header again, as where files were joined"
    assert error.hint == "remove the line, or name the files one by one"


def test_the_first_header_among_the_rows_is_named(folder):
    rows = ["q1,1", "id,score"] * 3
    assert refused_table(folder, "id,score", *rows).message.startswith("row 2 is the")


def test_a_row_with_the_name_of_one_column_is_no_header(folder):
    folder.write("id,note,score\nq1,note,1\nq2,x,0\n", "r.csv")
    assert propose("r.csv", folder.path).reward == "score"


def test_the_name_of_the_only_column_is_no_header(folder):
    folder.write("id\nid\nb\nc\n", "r.csv")
    assert propose("r.csv", folder.path).spec.fields.task == "id"


@pytest.mark.parametrize("word", ["mean", "accuracy", "macro avg"])
def test_the_header_of_a_second_table_is_refused(folder, word):
    rows = [f"q{n},{n / 8}" for n in range(8)]
    error = refused_table(folder, "id,score", *rows, f"model,{word}", "m,0.5")
    assert error.message == (
        f"row 9 has {word!r} at 'score', as the header of a second table"
    )
    assert error.hint == "keep one table in a file"


@pytest.mark.parametrize("word", ["fail", "#REF!", "n/a"])
def test_other_words_among_numbers_are_no_second_table(folder, word):
    rows = [f"q{n},{n / 8}" for n in range(8)]
    folder.write("\n".join(["id,score", *rows, f"q9,{word}"]) + "\n", "r.csv")
    assert propose("r.csv", folder.path).reward == "score"


@pytest.mark.parametrize(
    "word",
    [
        *("total", "Totals", "sum", "mean", "average", "avg", "overall", "ALL"),
        *("summary", "std", "stdev", "stddev", "deviation", "median", "min", "max"),
        *("minimum", "maximum", "variance", "gesamt", "Summe", "Mittelwert"),
        *("Durchschnitt", "moyenne", "promedio", "media", "平均", "合計", "合计"),
        *("macro avg", "micro average", "weighted mean", "Grand Total", "mean_score"),
        *("standard deviation", "total of scores", "sum of tasks", "all rows"),
    ],
)
def test_the_last_row_is_no_total(folder, word):
    folder.rows(
        [{"id": f"q{n}", "score": n / 8} for n in range(4)]
        + [{"id": word, "score": 0.5}]
    )
    error = refusal(folder, "runs.jsonl")
    assert error.message == (
        f"the last row, id: {word}, looks like a total of the others"
    )
    assert error.hint == "remove it from the file"


def test_the_first_row_is_no_total(folder):
    error = refused_table(folder, "id,score", "mean,0.5", "q1,1", "q2,0")
    assert error.message == "the first row, id: mean, looks like a total of the others"


def test_the_last_key_is_no_total(folder):
    document = {f"q{n}": n / 8 for n in range(5)}
    error = refused_document(folder, {**document, "mean": 0.25})
    assert error.message == "the last row, id: mean, looks like a total of the others"


def test_a_word_of_a_total_beside_keys_is_none(folder):
    parts = ("easy", "hard", "all")
    rows = {f"q{n}": {"part": parts[n], "score": n / 8} for n in range(3)}
    folder.json(rows, "r.json")
    assert propose("r.json", folder.path).spec.keyed == "id"


def test_a_total_is_found_where_the_task_is_not_clear(folder):
    rows = [{"place": "a", "trace": "b", "score": n / 8} for n in range(4)]
    folder.rows([*rows, {"place": "a", "trace": "total", "score": 1}])
    assert refusal(folder, "runs.jsonl").message == (
        "the last row, trace: total, looks like a total of the others"
    )


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["mean", "max", "total"], id="all are such words"),
        pytest.param(["a", "mean", "b"], id="in the middle"),
        pytest.param(["a", "sum of two", "b", "sum of roots"], id="other words too"),
        pytest.param(["a", "score"], id="no word of a total"),
    ],
)
def test_other_ids_are_no_totals(folder, ids):
    folder.rows([{"id": id_, "score": n / 8} for n, id_ in enumerate(ids)])
    assert propose("runs.jsonl", folder.path).spec.fields.task == "id"


def test_a_word_of_a_total_beside_the_ids_is_none(folder):
    splits = ("easy", "hard", "all")
    rows = [{"id": f"q{n}", "part": splits[n], "score": n / 8} for n in range(3)]
    folder.rows(rows)
    assert propose("runs.jsonl", folder.path).spec.fields.task == "id"


def test_a_total_is_found_beside_a_field_of_such_words(folder):
    rows = [{"stat": ("mean", "max")[n % 2], "place": f"p{n % 2}"} for n in range(4)]
    folder.rows([*rows, {"stat": "mean", "place": "total"}])
    assert refusal(folder, "runs.jsonl").message.startswith(
        "the last row, place: total"
    )


def test_a_total_that_several_rows_have_is_a_task(folder):
    folder.rows(
        [
            {"task_id": t, "seed": s, "score": s / 2}
            for s in (0, 1)
            for t in (
                "a",
                "total",
            )
        ]
    )
    assert propose("runs.jsonl", folder.path).spec.fields.task == "task_id"


def test_the_columns_of_pandas_are_refused(folder):
    columns = {"id": {"0": "a", "1": "b"}, "score": {"0": 1, "1": 0}}
    error = refused_document(folder, columns)
    assert error.message == (
        "this holds the columns of a table (pandas' orient='columns'), not rows"
    )
    assert error.hint == ("write rows: df.to_json(path, orient='records', lines=True)")


# -- rows that no key reads --------------------------------------------------------------------


def test_rows_without_a_task_are_shown_with_the_keys_that_read_them(folder):
    rows = [{"question_id": f"q{n}", "score": n / 8} for n in range(4)]
    folder.json({"model": "m", "results": rows}, "r.json")
    error = folder.refused("r.json", scores=["reward"])
    assert isinstance(error, NoTaskError)
    assert error.message == (
        "the rows name no task; the file holds {model, results: [{question_id, score}, of 4 "
        "values]}; tried as rows: its own rows, results"
    )
    assert error.hint == (
        "write under rollouts: rows: results, fields: {task: question_id, reward: score}"
    )


def test_what_is_open_is_asked_below_the_keys(folder):
    folder.rows(
        [{"question_id": f"q{n}", "score": n % 2, "ok": n > 1} for n in range(4)]
    )
    error = folder.refused("runs.jsonl", scores=["reward"])
    assert error.hint == (
        "write under rollouts: fields: {task: question_id, reward: ?}\n"
        "  reward: ok (0/1, 50 % are 1) or score (0/1, 50 % are 1)?"
    )


def test_a_file_without_any_task_is_sketched(folder):
    folder.json({"model": "m", "accuracy": 0.5}, "r.json")
    error = folder.refused("r.json", scores=["reward"])
    assert error.message == "the rows name no task; the file holds {model, accuracy}"
    assert error.hint == "say where it is, under rollouts: `fields: {task: KEY}`"
    assert error.file == "r.json"


def test_six_layouts_that_were_tried_are_named(folder):
    lists = {f"list{n}": [{f"k{n}": 1}, {f"k{n}": 2}] for n in range(8)}
    folder.json({"model": "m", **lists}, "r.json")
    assert folder.refused("r.json", scores=["reward"]).message.endswith(
        "tried as rows: its own rows, list0, list1, list2, list3, list4 and 3 more"
    )


def test_a_task_in_rows_of_a_list_is_found_by_the_list(folder):
    rows = [{"question_id": f"q{n}", "score": n / 8} for n in range(4)]
    folder.json({"results": rows}, "r.json")
    error = folder.refused("r.json", scores=["reward"], fields={"task": "question_id"})
    assert error.hint == (
        "write under rollouts: rows: results, fields: {task: question_id, reward: score}"
    )


def test_a_task_in_plain_rows_is_another_name(folder):
    folder.rows([{"question_id": f"q{n}", "score": n / 8} for n in range(4)])
    error = folder.refused("runs.jsonl", scores=["reward"], fields={"task": "question"})
    assert "tried as rows" not in error.message


def test_the_words_of_a_reward_are_shown_with_their_worth(folder):
    words = ("pass", "fail", "unclear", "n/a")
    folder.rows([{"task": n, "verdict": words[n % 4]} for n in range(12)])
    fields = {"task": "task", "reward": "verdict"}
    error = folder.refused("runs.jsonl", scores=["reward"], fields=fields)
    assert isinstance(error, WordScoreError)
    assert error.hint == (
        "say what its words are worth, under rollouts: map: {reward: {fail: 0, n/a: null, "
        "pass: 1, unclear: ?}}"
    )
    assert error.where == "runs.jsonl:1"
    assert "verdict" in error.message or "reward" in error.message


def test_the_words_of_another_score_are_shown_with_their_worth(folder):
    rows = [{"task": n, "tone": ("good", "bad")[n % 2], "r": 1.0} for n in range(4)]
    folder.rows(rows)
    fields = {"task": "task", "reward": "r", "scores": {"voice": "tone"}}
    error = folder.refused("runs.jsonl", scores=["voice"], fields=fields)
    assert error.hint == (
        "say what its words are worth, under rollouts: map: {voice: {bad: 0, good: 1}}"
    )


def test_the_words_of_a_score_without_a_path_are_those_of_its_field(folder):
    folder.rows([{"task": n, "tone": ("warm", "cold")[n % 2]} for n in range(4)])
    error = folder.refused("runs.jsonl", scores=["tone"], fields={"task": "task"})
    assert error.hint.endswith("map: {tone: {cold: ?, warm: ?}}")


def test_the_keys_are_written_on_one_line(folder):
    name = f"question_{'x' * 90}_id"
    folder.rows([{name: f"q{n}", "score": n / 8} for n in range(4)])
    error = folder.refused("runs.jsonl", scores=["reward"])
    assert error.hint == (
        f"write under rollouts: fields: {{task: {name}, reward: score}}"
    )


def test_an_open_word_is_asked_about_below_the_keys(folder):
    words = ("pass", "fail", "unclear")
    folder.rows([{"question_id": n, "verdict": words[n % 3]} for n in range(6)])
    assert folder.refused("runs.jsonl", scores=["reward"]).hint == (
        "write under rollouts: fields: {task: question_id, reward: verdict}, map: {reward: "
        "{fail: 0, pass: 1, unclear: ?}}\n"
        "  unclear: its worth: a number, or null if nobody judged"
    )


def test_the_keys_are_written_in_all_letters(folder):
    folder.rows([{"größe_id": f"q{n}", "score": n / 8} for n in range(4)])
    error = folder.refused("runs.jsonl", scores=["reward"])
    assert error.hint == "write under rollouts: fields: {task: größe_id, reward: score}"


@pytest.mark.parametrize(("count", "is_shown"), [(12, True), (13, False)])
def test_twelve_words_are_labels(folder, count, is_shown):
    folder.rows([{"task": n, "tone": f"word {n}"} for n in range(count)])
    fields = {"task": "task", "reward": "tone"}
    error = folder.refused("runs.jsonl", scores=["reward"], fields=fields)
    assert ("say what its words are worth" in error.hint) is is_shown


def test_rows_of_several_files_are_not_guessed_anew(folder):
    folder.json({"results": [{"id": 1}]}, "a.json")
    folder.json({"results": [{"id": 2}]}, "b.json")
    error = folder.refused("a.json", "b.json", scores=["reward"])
    assert "the file holds" not in error.message


# -- the first levels of a document ------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        ("text", ""),
        ({"a": {}, "b": [], "c": 1}, "{a: {}, b: [], c}"),
        ({"a": ["x"]}, "{a: [1 value]}"),
        ({"a": {"b": {"c": {"d": 1}}}}, "{a: {b: {c: {...}}}}"),
        ({"a": {"b": {"c": {}}}}, "{a: {b: {c: {}}}}"),
        ([{"a": 1}], "[{a}, of 1 value]"),
        ([1, 2], "[2 values]"),
        (dict.fromkeys("abcdef"), "{a, b, c, d, e, f}"),
        (dict.fromkeys("abcdefg"), "{a, b, c, d, e, f, and 1 more key}"),
        ({"k" * 24: 1, "l" * 25: 1}, "{" + "k" * 24 + ", " + "l" * 24 + "…}"),
    ],
)
def test_a_document_is_sketched(document, text):
    assert sketch(document) == text
