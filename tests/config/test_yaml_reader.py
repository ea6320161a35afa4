import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_evalmetrics.config.yaml_reader import (
    LOADERS,
    YamlNode,
    columns_of,
    parse_yaml,
    read_yaml,
)

LOADER = pytest.mark.parametrize("loader", LOADERS, ids=lambda loader: loader.__name__)


def values(text, loader=None):
    source = parse_yaml(text, loader)
    assert source.problems == ()
    return source.root.plain()


def problems(text, loader=None):
    return [f"{p.line}: {p.text}" for p in parse_yaml(text, loader).problems]


@LOADER
def test_values_and_their_lines(loader):
    text = """\
# a comment
a: 1
b:
  - x
  - "1"

  - {c: yes,
     d: [true, ~]}
e: |
  two
  lines
f: 'it''s'
"""
    source = parse_yaml(text, loader)
    assert source.root is not None
    assert source.root.plain() == {
        "a": 1,
        "b": ["x", "1", {"c": "yes", "d": [True, None]}],
        "e": "two\nlines\n",
        "f": "it's",
    }
    assert source.root.lines() == {
        (): 2,
        ("a",): 2,
        ("b",): 3,
        ("b", 0): 4,
        ("b", 1): 5,
        ("b", 2): 7,
        ("b", 2, "c"): 7,
        ("b", 2, "d"): 8,
        ("b", 2, "d", 0): 8,
        ("b", 2, "d", 1): 8,
        ("e",): 9,
        ("f",): 12,
    }


@LOADER
def test_aliases_and_merge_keys(loader):
    text = """\
one: &one {a: 1, b: 1, c: 1}
two: &two {b: 2, d: 2}
same: *one
both:
  <<: [*two, *one]
  c: 3
inline:
  <<: {z: 0}
quoted:
  "<<": 4
"""
    assert values(text, loader) == {
        "one": {"a": 1, "b": 1, "c": 1},
        "two": {"b": 2, "d": 2},
        "same": {"a": 1, "b": 1, "c": 1},
        "both": {"a": 1, "b": 2, "c": 3, "d": 2},  # the first of the list is on top
        "inline": {"z": 0},
        "quoted": {"<<": 4},
    }


@LOADER
def test_tags_of_the_core_schema(loader):
    text = """\
a: !!str 1
b: !!float 1
c: !!int "2"
d: !!bool true
e: !!null ''
f: !!map {x: !!seq [1]}
"""
    assert values(text, loader) == {
        "a": "1",
        "b": 1,
        "c": 2,
        "d": True,
        "e": None,
        "f": {"x": [1]},
    }


def json_values():
    # YAML forbids control characters, PyYAML breaks lines at three more characters
    text = st.text(
        st.characters(
            min_codepoint=0x20,
            exclude_categories=["Cs", "Cc"],
            exclude_characters="\u2028\u2029\ufffe\uffff",
        ),
        max_size=20,
    )
    number = st.integers(-(2**70), 2**70) | st.floats(
        allow_nan=False, allow_infinity=False
    )
    return st.recursive(
        st.none() | st.booleans() | number | text,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4)
        ),
        max_leaves=12,
    )


@given(
    st.dictionaries(st.just("k"), json_values(), min_size=1),
    st.sampled_from([None, 0, 2]),
)
@example({"k": {"": -0.0, "<<": [1e16, 5e-324]}}, None)
def test_json_is_read_as_json_reads_it(value, indent):
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    for loader in LOADERS:
        assert values(text, loader) == json.loads(text)


def written(value, path, out):
    """Write block YAML and note the line of everything: an oracle for `lines`."""
    lines = []
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        at = (*path, key)
        head = f"{key}:" if isinstance(value, dict) else "-"
        if isinstance(child, dict | list) and child:
            below = []
            inner = written(child, at, below)
            lines.append(head)
            line = len(lines)
            out.append((at, line if isinstance(value, dict) else line + 1))
            out += [(p, line + n) for p, n in below]
            lines += ["  " + text for text in inner]
        else:
            lines.append(f"{head} {json.dumps(child)}")
            out.append((at, len(lines)))
    return lines


@given(
    st.recursive(
        st.integers() | st.text("abc", max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("xyz", min_size=1), inner)
        ),
        max_leaves=20,
    )
)
def test_every_line_is_the_one_on_which_it_is_written(value):
    out = []
    lines = written({"top": value}, (), out)
    for loader in LOADERS:
        source = parse_yaml("\n".join(lines), loader)
        assert source.root is not None
        assert source.root.lines() == {(): 1, **dict(out)}


REFUSED = {
    "a: 1\nb: 2\na: 3": "3: the key 'a' is written twice: lines 1 and 3",
    "a:\n  b: {c: 1, c: 2}": "2: a.b: the key 'c' is written twice: on line 2",
    "1: x\ntrue: x\n~: x\n2.5: x\n.nan: x\na: !foo\n": (
        '1: the key 1 is not text: write "1"\n'
        '2: the key true is not text: write "true"\n'
        '3: the key ~ is not text: write "~"\n'
        '4: the key 2.5 is not text: write "2.5"\n'
        '5: the key .nan is not text: write ".nan"\n'
        "6: a: the tag !foo means nothing here: write a plain value"
    ),
    "a: {{ x }}": "1: a: a key has to be text, found a mapping; text that holds {{ }} needs quotes",
    "? [a]\n: b": "1: a key has to be text, found a list; text that holds {{ }} needs quotes",
    "a: !!python/object/apply:os.system [echo]": (
        "1: a: the tag !!python/object/apply:os.system means nothing here: write a plain value"
    ),
    "!!python/name:os.system x: 1": (
        "1: the tag !!python/name:os.system means nothing here: write a plain value"
    ),
    "a: !!int x": "1: a: 'x' is no !!int",
    "a: 1e999": "1: a: the number 1e999 is out of range",
    "a: " + "9" * 5000: "1: a: a number of 5000 digits is out of range",
    "a: 0x" + "F" * 290: f"1: a: the number 0x{'F' * 58} is out of range",
    "a:\n  <<: b": "2: a: '<<' merges a mapping, or a list of them: write <<: *name",
    "a: &a {x: 1}\nb: &b {x: 2}\nc:\n  <<: *a\n  <<: *b": (
        "5: c: the key '<<' is written twice: lines 4 and 5"
    ),
    "a: &a\n  b: [*a]": "1: a.b[0]: this alias refers to a node that contains it",
    "a: &a\n  x: 1\n  <<: *a": "3: a: this alias refers to a node that contains it",
    "a: &a {x: !foo 1, x: 2}\nb: *a\nc: {<<: *a}": (
        "1: a.x: the tag !foo means nothing here: write a plain value\n"
        "1: a: the key 'x' is written twice: on line 1"
    ),
    "a: 1\nb: \x00": "2: the control character U+0000 is not allowed in a YAML file",
    "a: \x1b[31m": "1: the control character U+001B is not allowed in a YAML file",
    "": "1: the file is empty: expected benchmark: or benchmarks:",
    "# a\n# b\n": "1: the file holds nothing but comments: expected benchmark: or benchmarks:",
    # what the scanner refuses, in plain words
    "benchmark:\n  name: a\n\trollouts: b": "3: line 3 is indented with a tab; YAML wants spaces",
    "benchmark:\n  \tname: a\n": "2: line 2 is indented with a tab; YAML wants spaces",
    "rollouts: *.jsonl": "1: put quotes around a value that starts with * or &: *.jsonl",
    "rollouts: *runs": (
        "1: there is no anchor above for the alias *runs; put quotes around a text that starts "
        "with *"
    ),
    "a:\n  pass@1: >= 0.70": "2: put quotes around a value that starts with > or |: >= 0.70",
    "thresholds: {pass@1: >= 0.70}": "1: a value can't start with '>': put quotes around it",
    "description: note: this": (
        "1: there is a second ': ' on this line: put quotes around a value that holds one"
    ),
    "name: a\n  rollouts: b": (
        "2: this key does not fit the line above: check its indentation, and the ':' after the "
        "key of that line"
    ),
    "a:\n    b: a\n  c: b": "3: the indentation of this line fits none of the lines above",
    "metrics:\n    - a\n  - b": (
        "3: this list item fits neither a list above nor the keys that start on line 1: check "
        "its indentation"
    ),
    "- a\nb: 1": "2: expected '- ', because a list starts on line 1",
    "metrics: - a": "1: a list starts on the line after its key",
    "name: a\nrollouts": "2: there is no ': ' after this key",
    "a: 1\n: b": "2: there is no key before this ':'",
    "name: 'it's'": "1: there is text after the end of a value: put quotes around the whole of it",
    "a: 1\nname: 'a\nb: 2\n": "2: the quote that is opened on line 2 is never closed",
    "metrics: [a,\n  b\nname: c": (
        "3: the '[' of line 1 is not closed by ']', or a ',' is missing before this"
    ),
    "expect: {tasks: 1\n\n": (
        "1: the '{' of line 1 is not closed by '}', or a ',' is missing before this"
    ),
    "expect: [": "1: the file ends where a value was expected: is a '[' or '{' left open?",
    'path: "C:\\data"': (
        "1: in double quotes a backslash starts an escape: write \\\\ or use single quotes"
    ),
    "a: &x 1\nb: &x 2": "2: this anchor is given to something else on line 1 already",
    "a: 1\n---\nb: 2": (
        "2: a second document starts here: a benchmark file holds one; write several "
        "benchmarks as a list under benchmarks:"
    ),
    "a: 1\n...\nb": "3: there is text after the end of the document",
    "a: !e!x 1": "1: a word that starts with ! is a tag, which means nothing here: quote a text",
}


@LOADER
def test_errors_are_reported_with_their_lines(loader):
    for text, expected in REFUSED.items():
        assert problems(text, loader) == expected.splitlines()


def test_half_a_character_is_refused_by_each_scanner_in_its_own_way():
    for loader in LOADERS:
        (problem,) = problems('a: "\\ud800"', loader)
        assert problem.startswith("1: ")
        assert "\\u escape" in problem


def test_other_errors_are_reported_in_the_scanners_words():
    (problem,) = problems("%YAML 2.0\n---\na: 1", LOADERS[-1])
    assert problem.startswith("1: this is not YAML: found incompatible YAML document")


@LOADER
@pytest.mark.parametrize("bracket", ["[", "{a: ", "- "])
def test_depth_is_limited_before_the_stack_is_full(bracket, loader):
    assert problems(bracket * 100_000, loader) == [
        "1: this is nested more than 50 levels deep"
    ]


def test_depth_by_aliases_is_limited():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000))]
    (problem,) = problems("\n".join(lines))
    assert problem.endswith("aliases nest more than 50 levels deep")


@LOADER
@pytest.mark.parametrize(
    "first",
    ["[x, x, x, x, x, x, x, x, x, x]", '"' + "x" * 50_000 + '"'],
    ids=["many", "long"],
)
def test_an_alias_bomb_is_no_danger(first, loader):
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (problem,) = problems("\n".join(lines), loader)
    assert problem.endswith("aliases repeat far too much of this file")


def test_a_byte_order_mark_and_line_ends_of_windows(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xa4\r\nb:\r\n  c: 2\r\n")
    source = read_yaml(path)
    assert source.root is not None
    assert source.root.plain() == {"a": "ä", "b": {"c": 2}}
    assert source.root.lines()[("b", "c")] == 3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b"a: 1\nb: \xe4\n",
            "line 2: the byte 0xe4 is not UTF-8: save the file as UTF-8",
        ),
        (
            "a: 1".encode("utf-16"),
            "line 1: the byte 0xff is not UTF-8: save the file as UTF-8",
        ),
        (
            b"a: \xed\xa0\x80",
            "line 1: the byte 0xed is not UTF-8: save the file as UTF-8",
        ),
        (None, "line 1: the file can't be read: it is a directory"),
        (..., "line 1: the file can't be read: No such file or directory"),
    ],
)
def test_what_can_t_be_read(tmp_path, data, expected):
    path = tmp_path / "a.yaml"
    if data is None:
        path.mkdir()
    elif data is not ...:
        path.write_bytes(data)
    assert [f"line {p.line}: {p.text}" for p in read_yaml(path).problems] == [expected]


OPEN = {
    "reward: ?  # correct or score?": ("reward", ": correct or score?"),
    "  - 'a key': ?": ("a key", ""),
    '"b": ?': ("b", ""),
}


@pytest.mark.parametrize("line", OPEN)
def test_a_line_that_is_left_open_is_reported_with_its_choices(line):
    key, choices = OPEN[line]
    (problem,) = parse_yaml(f"benchmark: [\n{line}\n").problems
    assert (problem.line, problem.path) == (2, key)
    assert problem.message == (
        f"this is left open: write a value in place of the question mark{choices}"
    )


def test_every_line_that_is_left_open_is_reported():
    text = "benchmark:\n  task: ?  # id\n  reward: ?\n  name: a\n"
    assert [problem.line for problem in parse_yaml(text).problems] == [2, 3]


def test_each_key_and_item_has_its_column(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a:\n  b: [x, y]\n  c: {d: 1}\n")
    assert columns_of(path) == {
        (1, ""): 1,
        (1, "a"): 1,
        (2, ""): 3,
        (2, "a.b"): 3,
        (2, "a.b[0]"): 7,
        (2, "a.b[1]"): 10,
        (3, ""): 3,
        (3, "a.c"): 3,
        (3, "a.c.d"): 7,
    }


def test_a_file_that_is_no_yaml_has_no_columns(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: [")
    assert columns_of(path) == {}


def test_a_node_is_in_the_first_column_unless_it_is_known():
    node = YamlNode(3, 1, ())
    assert (node.column, node.broken) == (1, False)
    assert node.plain_keys() == {}
