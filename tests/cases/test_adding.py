"""`evalmetrics case add` appends a task without secrets and personal details."""

import json

import pytest

from pytest_evalmetrics.cases import main
from pytest_evalmetrics.cases.removal import Redactor

KEY = "sk-proj-h3Kd92mXq81LzPt0vR5s"


def trace(tmp_path, question, answer="12", **more):
    file = tmp_path / "trace.json"
    record = {"id": "run-1", "run_type": "chain", "inputs": {"question": question}}
    record |= {"outputs": {"answer": answer}} | more
    file.write_text(json.dumps(record))
    return file


def add(file, data, *options):
    return main(
        ["add", str(file), "--reason", "old price", "--dataset", str(data), *options]
    )


def rows(data):
    return [json.loads(line) for line in data.read_text().splitlines()]


def test_a_new_data_set_holds_the_task_with_its_reason(tmp_path, capsys):
    data = tmp_path / "data" / "cases.jsonl"
    assert add(trace(tmp_path, "What is 7 + 6?"), data) == 0
    assert rows(data) == [
        {
            "id": "case-run-1",
            "question": "What is 7 + 6?",
            "reference": None,
            "context": [],
            "wrong_answer": "12",
            "reason": "old price",
            "source": {"tool": "langsmith", "trace": "run-1", "span": "run-1"},
            "removed": {},
        }
    ]
    assert capsys.readouterr().out.splitlines() == [
        f"appended task case-run-1 to {data}",
        "  question      What is 7 + 6?",
        "  wrong answer  12",
        "  reason        old price",
        "  -> write the right answer under 'reference', or give it with --expected",
        "  -> read the row before you commit it: a name that no field holds is not found",
    ]


def test_what_was_removed_is_printed_with_its_places(tmp_path, capsys):
    file = trace(tmp_path, "a@x.org wrote to b@x.org", "ask a@x.org")
    assert add(file, tmp_path / "cases.jsonl", "--expected", "b@x.org") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  question      [email 1] wrote to [email 2]",
        "  wrong answer  ask [email 1]",
        "  reason        old price",
        "  removed       [email 1], in 2 places",
        "  removed       [email 2], in 2 places",
        "  -> read the row before you commit it: a name that no field holds is not found",
    ]


@pytest.mark.parametrize(
    ("question", "printed"),
    [
        ("x" * 72, "x" * 72),
        ("x" * 73, "x" * 69 + "..."),
        ("two\n  lines", "two lines"),
    ],
)
def test_a_long_text_is_printed_on_one_line(tmp_path, capsys, question, printed):
    assert add(trace(tmp_path, question), tmp_path / "cases.jsonl") == 0
    _, line, *_ = capsys.readouterr().out.splitlines()
    assert line == f"  question      {printed}"


def test_a_case_without_an_answer_is_printed_as_one(tmp_path, capsys):
    file = trace(tmp_path, "Why?", outputs=None)
    assert add(file, tmp_path / "cases.jsonl") == 0
    assert "  wrong answer  (none)" in capsys.readouterr().out.splitlines()


def test_the_task_has_the_keys_of_the_data_set_and_its_lines_keep_their_bytes(tmp_path):
    data = tmp_path / "support.jsonl"
    before = '{"task_id":"a",  "prompt":"Hi","expected":"Hello"}'
    data.write_text(before)  # without a line feed at its end
    assert add(trace(tmp_path, "What is 7 + 6?"), data, "--expected", "13") == 0
    first, second = data.read_text().splitlines()
    assert first == before
    added = json.loads(second)
    assert added["task_id"] == "case-run-1"
    assert added["prompt"] == "What is 7 + 6?"
    assert added["expected"] == "13"


def test_secrets_and_personal_details_are_replaced_by_marks(tmp_path):
    data = tmp_path / "cases.jsonl"
    question = (
        f"I am Ada Lovelace, ada@example.org, +44 20 7946 0958. My key is {KEY}. "
        "My card is 4111 1111 1111 1111 since 2024-05-01."
    )
    extra = {"metadata": {"customer_name": "Ada Lovelace"}}
    assert add(trace(tmp_path, question, "Dear Ada Lovelace", extra=extra), data) == 0
    (row,) = rows(data)
    assert row["question"] == (
        "I am [name 1], [email 1], [phone 1]. My key is [key 1]. "
        "My card is [account 1] since 2024-05-01."
    )
    assert row["wrong_answer"] == "Dear [name 1]"
    for secret in ("Lovelace", "example.org", "7946", KEY, "4111"):
        assert secret not in data.read_text()


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("mail a.b+c@mail.example.co.uk now", "mail [email 1] now"),
        ("call (555) 123-4567", "call [phone 1]"),
        ("call 555-123-4567, please", "call [phone 1], please"),
        ("call 030 1234567", "call [phone 1]"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [account 1]"),
        ("password: hunter22!", "password: [key 1]"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [key 1]"),
    ],
)
def test_a_personal_detail_or_a_secret_is_found(text, marked):
    assert Redactor([]).marked(text) == marked


@pytest.mark.parametrize(
    "text",
    [
        "It happened on 2024-05-01 at 10:30:00.",
        "Order 1234567 costs 1,299.00 dollars, 3.14159265358979 rad.",
        "Version 1.2.3, section 4.5.6, 192.168.100.200",
        "The password was changed.",
        "see https://example.org/a/2024/05/01/12345678",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert Redactor([]).marked(text) == text


def test_the_same_value_has_the_same_mark(tmp_path):
    data = tmp_path / "cases.jsonl"
    file = trace(tmp_path, "a@x.org wrote to b@x.org", "ask a@x.org")
    assert add(file, data) == 0
    (row,) = rows(data)
    assert row["question"] == "[email 1] wrote to [email 2]"
    assert row["wrong_answer"] == "ask [email 1]"
    assert row["removed"] == {"[email 1]": "email", "[email 2]": "email"}


def test_a_kind_that_the_question_needs_can_be_kept(tmp_path):
    data = tmp_path / "cases.jsonl"
    file = trace(tmp_path, "Is a@x.org valid, or +49 30 1234567?")
    assert add(file, data, "--keep", "email") == 0
    assert rows(data)[0]["question"] == "Is a@x.org valid, or [phone 1]?"


def test_earlier_turns_of_the_conversation_are_kept(tmp_path):
    data = tmp_path / "cases.jsonl"
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is Basic?"},
        {"role": "assistant", "content": "A plan."},
        {"role": "user", "content": "What does it cost?"},
    ]
    file = trace(tmp_path, "", inputs={"messages": messages})
    assert add(file, data) == 0
    (row,) = rows(data)
    assert row["question"] == "What does it cost?"
    assert row["messages"] == messages[1:]


def test_a_conversation_of_one_turn_is_its_question_alone(tmp_path):
    data = tmp_path / "cases.jsonl"
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is Basic?"},
    ]
    assert add(trace(tmp_path, "", inputs={"messages": messages}), data) == 0
    (row,) = rows(data)
    assert "messages" not in row


def test_details_are_removed_from_every_text_of_the_task(tmp_path):
    data = tmp_path / "cases.jsonl"
    turns = [
        {"role": "user", "content": "I am a@x.org"},
        {"role": "assistant", "content": "Hi a@x.org"},
        {"role": "user", "content": "Is a@x.org valid?"},
    ]
    tool = {
        "id": "tool-1",
        "run_type": "tool",
        "inputs": {},
        "outputs": {"output": "a@x.org is valid"},
        "parent_run_id": "run-1",
        "trace_id": "run-1",
    }
    file = trace(
        tmp_path,
        "",
        "No, a@x.org",
        inputs={"messages": turns},
        error="a@x.org not found",
        child_runs=[tool],
    )
    options = ["--reason", "a@x.org is", "--expected", "Yes, a@x.org"]
    assert main(["add", str(file), "--dataset", str(data), *options]) == 0
    assert rows(data) == [
        {
            "id": "case-run-1",
            "question": "Is [email 1] valid?",
            "reference": "Yes, [email 1]",
            "context": ["[email 1] is valid"],
            "wrong_answer": "No, [email 1]",
            "reason": "[email 1] is",
            "messages": [
                {"role": "user", "content": "I am [email 1]"},
                {"role": "assistant", "content": "Hi [email 1]"},
                {"role": "user", "content": "Is [email 1] valid?"},
            ],
            "error": "[email 1] not found",
            "source": {"tool": "langsmith", "trace": "run-1", "span": "run-1"},
            "removed": {"[email 1]": "email"},
        }
    ]


def test_a_task_is_named_by_the_first_digits_of_its_span_or_by_its_option(tmp_path):
    data = tmp_path / "cases.jsonl"
    digits = "0123456789abcdef"
    assert add(trace(tmp_path, "What is 7 + 6?", id=digits), data) == 0
    assert add(trace(tmp_path, "What is 7 + 7?", id="2"), data, "--id", "sum") == 0
    assert [row["id"] for row in rows(data)] == ["case-0123456789ab", "sum"]


IN_IT_ALREADY = "the case is in the data set already"
SAME = {
    "id": ("case-run-1", "give the task another id with --id, or leave it as it is"),
    "question": ("What is 7 + 6?", IN_IT_ALREADY),
    "source": (
        {"tool": "langsmith", "trace": "run-1", "span": "run-1"},
        IN_IT_ALREADY,
    ),
}


@pytest.mark.parametrize("key", SAME)
def test_a_case_that_is_in_the_data_set_is_not_added_again(tmp_path, capsys, key):
    value, hint = SAME[key]
    data = tmp_path / "cases.jsonl"
    before = json.dumps({"id": "a"}) + "\n" + json.dumps({key: value}) + "\n"
    data.write_text(before)
    assert add(trace(tmp_path, "What is 7 + 6?"), data) == 2
    message = f"row 2 has the same {key}: nothing was appended"
    error = " ".join(capsys.readouterr().err.split())
    assert error == f"evalmetrics case: {data}: {message} {hint}"
    assert data.read_text() == before


def test_a_data_set_that_is_no_json_lines_is_refused(tmp_path, capsys):
    data = tmp_path / "cases.csv"
    assert add(trace(tmp_path, "What is 7 + 6?"), data) == 2
    assert "a data set of JSON Lines" in capsys.readouterr().err


def test_a_broken_line_of_the_data_set_is_named(tmp_path, capsys):
    data = tmp_path / "cases.jsonl"
    data.write_text('{"id": 1}\n{"id":\n')
    assert add(trace(tmp_path, "What is 7 + 6?"), data) == 2
    assert "cases.jsonl:2: this line is not JSON" in capsys.readouterr().err


def test_an_empty_reason_is_refused(tmp_path, capsys):
    file = trace(tmp_path, "What is 7 + 6?")
    assert main(["add", str(file), "--reason", " "]) == 2
    assert "a case needs a reason" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([], "the following arguments are required: add"),
        (["add"], "the following arguments are required: TRACE, --reason"),
        (["add", "t.json"], "the following arguments are required: --reason"),
        (
            ["add", "t.json", "--reason", "r", "--keep", "shoe size"],
            "argument --keep: invalid choice: 'shoe size' (choose from ",
        ),
    ],
)
def test_a_command_that_lacks_something_is_refused(capsys, command, said):
    with pytest.raises(SystemExit) as stopped:
        main(command)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_the_data_set_is_cases_jsonl_unless_another_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trace(tmp_path, "What is 7 + 6?")
    assert main(["add", "trace.json", "--reason", "wrong"]) == 0
    assert [row["reason"] for row in rows(tmp_path / "cases.jsonl")] == ["wrong"]


def test_several_kinds_may_be_kept(tmp_path):
    data = tmp_path / "cases.jsonl"
    file = trace(tmp_path, "Is a@x.org valid, or +49 30 1234567?")
    assert add(file, data, "--keep", "email", "--keep", "phone") == 0
    assert rows(data)[0]["question"] == "Is a@x.org valid, or +49 30 1234567?"
