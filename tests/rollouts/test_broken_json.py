"""What is said of JSON that is broken: of a row, of a document, of a tool's document."""

import json

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.json_text import has_unique_keys, read_document
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source

INTERRUPTED = (
    "was the run that writes it interrupted? rollouts are JSON, JSON Lines, CSV, Parquet or "
    "Arrow, in UTF-8"
)
CUT = "was it cut off, or written by two processes at once? fix or delete it"
ONCE = "only one of the values can be meant: write the key once"


def source_of(folder, content, name="r.json"):
    return open_source(RolloutFile(folder.write(content, name), name))


def refused(function, *arguments):
    with pytest.raises(DataError) as caught:
        function(*arguments)
    error = caught.value
    return error.where, error.message, error.hint


# -- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where", "message", "hint"),
    [
        (
            '{"a": 1}\n{"a": 1, b}\n{"a": 2}\n',
            "r.json:2",
            (
                "this line is not JSON: Expecting property name enclosed in double quotes at "
                "column 10, near '{\"a\": 1, b}'"
            ),
            CUT,
        ),
        (
            '{"a": 1}\n{"a": "' + "x" * 60 + '" 5}\n{"a": 2}\n',
            "r.json:2",
            (
                "this line is not JSON: Expecting ',' delimiter at column 70, near "
                f"'{'x' * 18}\" 5}}'"
            ),
            CUT,
        ),
        (
            '{"a": 1}\n{"a": 2',
            "r.json:2",
            "the file ends in the middle of a row: was the run interrupted?",
            "delete this line, or run again what is missing",
        ),
        (
            '{"a": 1}\n{\n"a": 2}\n',
            "r.json:2",
            "this line is not a JSON object: it holds only its opening brace",
            "write each row on one line, or all rows as one JSON array",
        ),
        (
            '{"a": 1}\n{"a": 1}{"a": 2}\n{"a": 3}\n',
            "r.json:2",
            "two JSON values stand on one line, with no line break between them",
            "write one a line: jq -c . FILE > rows.jsonl",
        ),
        (
            '{"a": 1}\n{"a": 1},\n{"a": 3}\n',
            "r.json:2",
            "a comma follows the JSON value, as in an array",
            "write one value a line without commas, or all in one array: [ ... ]",
        ),
        (
            '{"a": 1}\n{"a": 1, "b": 2, "a": NaN}\n',
            "r.json:2",
            "the key 'a' occurs twice in one object",
            ONCE,
        ),
        (
            '{"a": 1}\n[1]\n',
            "r.json:2",
            "this row is not a JSON object: found '[1]'",
            'each row is an object such as {"task": "q1", "reward": 1.0}',
        ),
        (
            '{"_ng_task_index": 1}\n[1]\n',
            "r.json:2",
            "this row is not a JSON object: found '[1]'",
            'each row is an object such as {"_ng_task_index": 0, "reward": 1.0}',
        ),
        (
            '[{"a": 1},\n{"a": x}]',
            "r.json:2",
            "row 2: this row is not JSON: Expecting value at column 7, near '{\"a\": x}'",
            CUT,
        ),
    ],
)
def test_a_row_that_is_broken_is_named(folder, content, where, message, hint):
    source = source_of(folder, content)
    assert refused(lambda: list(rows_of(source))) == (where, message, hint)


@pytest.mark.parametrize(
    "content",
    ['{"a": 1}\n\n{"a": 2}\n', '[{"a": 1}, {"a": 2}]', '{"a": 1}\n{\n"a": 2\n}'],
)
def test_rows_are_read_one_by_one(folder, content):
    if content.startswith('{"a": 1}\n{'):
        content = '{\n"a": 1\n}\n{\n"a": 2\n}'
    rows = [row for _, row in rows_of(source_of(folder, content))]
    assert rows == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("texts", "are_unique"),
    [
        ([b'{"a": 1}', b'{"a": {"a": 2}}'], True),
        ([b'{"a": 1}', b'{"a": 1, "a": 2}'], False),
        ([b'{"b": {"a": 1, "a": 2}}'], False),
        ([b"{"], False),
    ],
)
def test_keys_that_are_unique(texts, are_unique):
    assert has_unique_keys(texts) is are_unique


# -- documents ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "where", "message", "hint"),
    [
        (
            "[1,\n2 3 4]",
            "r.json:2",
            "this is not JSON: Expecting ',' delimiter at column 3, near '[1,'",
            INTERRUPTED,
        ),
        (
            '[{"a": 1}]\n[{"a": 2}]',
            "r.json:2",
            "a second array begins here, behind the first",
            "join them: jq -c '.[]' FILE > rows.jsonl",
        ),
        ("[{}] [{}]", "r.json:1", None, None),
        (
            '[{"a": 1, "a": 2}]',
            "r.json",
            "the key 'a' occurs twice in one object",
            ONCE,
        ),
        (
            "5",
            "r.json",
            "this is not a JSON object or array: found '5'",
            INTERRUPTED,
        ),
        (
            b'["\xff"]',
            "r.json",
            (
                "this can't be read: 'utf-8' codec can't decode byte 0xff in position 2: invalid "
                "start byte"
            ),
            INTERRUPTED,
        ),
    ],
)
def test_a_document_that_is_broken_is_named(folder, content, where, message, hint):
    source = source_of(folder, content)
    error = refused(read_document, source)
    if message is None:
        message = "two JSON values stand on one line, with no line break between them"
        hint = "write one a line: jq -c . FILE > rows.jsonl"
    assert error == (where, message, hint)


def test_a_document_may_hold_nan(folder):
    document = read_document(source_of(folder, '{"a": [Infinity, 1]}'))
    assert document == {"a": [float("inf"), 1]}


# -- documents of tools ------------------------------------------------------------------------


def document_of(folder, value):
    text = value if isinstance(value, str) else json.dumps(value)
    return Document.of(source_of(folder, text), "a log")


ANOTHER = "was it written by another version of the tool, or changed since?"
BY_HAND = (
    "was the run, its copy or its download interrupted, or the file changed by hand?"
)


def test_the_parts_of_a_document(folder):
    document = document_of(
        folder, {"a": {"b": 1}, "c": [{"d": 1}, {"d": 2}], "e": None}
    )
    assert document.get("a") == {"b": 1}
    assert document.get("x") is None
    assert document.object("a") == {"b": 1}
    assert document.object("e") == {}
    assert list(document.items("c")) == [{"d": 1}, {"d": 2}]
    assert document.items("e") is None
    assert document.items("x") is None
    assert document.whole(("a", "x")) == {"a": {"b": 1}}
    assert list(document.whole()) == ["a", "c", "e"]


def test_a_document_with_nan_has_the_same_parts(folder):
    document = document_of(folder, '{"a": NaN, "c": [{"d": 1}], "o": {"x": 1}}')
    assert document.object("o") == {"x": 1}
    assert list(document.items("c")) == [{"d": 1}]


@pytest.mark.parametrize("start", ["", '"n": NaN, '])
@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda document: document.object("c"),
            "this looks like a log, and 'c' is a list: [1]; expected an object",
        ),
        (
            lambda document: list(document.items("o")),
            "this looks like a log, and 'o' is an object: {}; expected a list",
        ),
        (
            lambda document: list(document.items("c")),
            "this looks like a log, and c[0] is 1; expected an object",
        ),
    ],
)
def test_a_part_of_another_kind_is_refused(folder, start, read, message):
    document = document_of(folder, f'{{{start}"c": [1], "o": {{}}}}')
    assert refused(read, document) == ("r.json", message, ANOTHER)


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        ("[1]", "r.json", "is not a JSON object"),
        (
            '{"a": 1\n"b": 2}',
            "r.json:2",
            "is not JSON: Expecting ',' delimiter at column 1",
        ),
        ('{"a": 1,\n"b": ', "r.json:2", "the file ends in the middle of it"),
        ('{"a": "x', "r.json:1", "the file ends in the middle of it"),
    ],
)
def test_a_document_of_a_tool_that_is_broken_is_named(folder, content, where, problem):
    error = refused(document_of, folder, content)
    assert error == (where, f"this looks like a log, and {problem}", BY_HAND)


def test_a_document_beside_another(folder):
    folder.json({"a": 1}, "x/b.json")
    source = source_of(folder, "{}", "x/r.json")
    assert Document.beside(source, "b.json", "a log").get("a") == 1
    assert Document.beside(source, "c.json", "a log").whole() == {}
    folder.write("{", "x/d.json")
    where, _, _ = refused(Document.beside, source, "d.json", "a log")
    assert where == "x/d.json:1"
