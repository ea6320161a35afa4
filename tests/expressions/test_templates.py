"""Templates in JSON-like values."""

import json

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.expressions import compile_value, faults_of

ITEM = {
    "want": 1,
    "lst": [1, 2],
    "d": {"a": 1},
    "values": 5,
    "text": "7",
    "none": None,
    "_ng_task_index": 3,
}


def render(value, item=None, *, body=False):
    item = ITEM if item is None else item
    return compile_value(value, body=body)({**item, "item": item, "sample": {}})


@pytest.fixture
def sdk_cases(acceptance):
    """Templates and what the NeMo Evaluator SDK makes of them."""
    path = acceptance / "nemo_sdk" / "cases.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_templates_give_what_the_nemo_sdk_gives(sdk_cases):
    cases = [case for case in sdk_cases["template"] if "error" not in case]
    assert len(cases) > 5
    for case in cases:
        value = render(case["template"], sdk_cases["template_context"], body=True)
        assert value == case["value"], case
        assert type(value) is type(case["value"]), case


def test_templates_fail_where_those_of_the_nemo_sdk_do(sdk_cases):
    cases = [
        case
        for case in sdk_cases["template"]
        # others are found before anything runs
        if "error" in case and not list(faults_of(case["template"]))
    ]
    assert cases
    for case in cases:
        with pytest.raises(RowError) as raised:
            render(case["template"], sdk_cases["template_context"])
        assert case["message"] in str(raised.value)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("plain { text", "plain { text"),
        ("{{ item.text }}", "7"),  # text stays text, also where it looks like a number
        ("{{- item.lst -}}", [1, 2]),
        ("{{ item.lst | map('string') }}", ["1", "2"]),
        ("{{ item.lst }}\n", [1, 2]),  # a YAML block ends with a line feed
        ("  {{ item.want }}\n ", 1),
        ("{% if item.want %}yes{% endif %}", "yes"),
        ("[INST] {{ item.text }} [/INST]", "[INST] 7 [/INST]"),
        ("{{ item.d.a }} of {{ text }}\n", "1 of 7"),
        ("{{ item.text }}: {{ item.d }}", "7: {'a': 1}"),
        ("{% raw %}{{ x }}{% endraw %} {{ item.values }}", "{{ x }} 5"),
        ("[{{ item.want }}, {{ item.text }}]", "[1, 7]"),  # text is never parsed
        ('{"a": {{ item.lst | tojson }}}', '{"a": [1, 2]}'),
        ("{{ item.d | tojson }}", '{"a": 1}'),
        ("{{ item.text | untrusted }}", '"7"'),
        ("{{ item.values }}", 5),  # a column, not the method of a dict
        ("{{ item._ng_task_index }}", 3),
        ("{{ range(2) | list }}", [0, 1]),
        ("{{ '<b>' | escape }}", "&lt;b&gt;"),
        (
            {"k": ["{{ want }}", None, {"x": "{{ item }}"}]},
            {"k": [1, None, {"x": ITEM}]},
        ),
        (5, 5),
    ],
)
def test_what_a_template_becomes(template, value):
    rendered = render(template)
    assert rendered == value
    assert type(rendered) is type(value)


ATTACK = 'x", "reference": "x'


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"reference": "r", "a": "{{ item.x }}"}', {"reference": "r", "a": ATTACK}),
        (
            '{"n": {{ item.n }}, "l": [{{ item.x }}, "{{ item.n }}"]}',
            {"n": 1, "l": [ATTACK, 1]},
        ),
        ('{"a": "is {{ item.x }}"}', {"a": f"is {ATTACK}"}),
        (
            '{"a": "\\"{{ item.n }}\\" \\u00fc", "b": {{ item.l }}}',
            {"a": '"1" ü', "b": [1]},
        ),
        ("[{{ item.d | tojson }}]\n", [{"k": 1}]),
        ('{"n": {{ item.n\n }}, "a": "{{ item.x\n }}"}', {"n": 1, "a": ATTACK}),
        (
            {"deep": ["{{ item.d | tojson }}", "{{ item.x }}"]},
            {"deep": [{"k": 1}, ATTACK]},
        ),
        ({"a": "[{{ item.json }}]"}, {"a": "[1, 2]"}),
        ("{{ item.json }}", "1, 2"),
        ("{{ item.d }}", {"k": 1}),
        ('{"a": 1}', {"a": 1}),
        ("[INST] {{ item.n }} [/INST]", "[INST] 1 [/INST]"),
    ],
)
def test_data_is_never_structure_of_a_body(body, value):
    item = {"x": ATTACK, "n": 1, "l": [1], "d": {"k": 1}, "json": "1, 2"}
    assert render(body, item, body=True) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"a": "{{ item.x }}",}', "looks like JSON and is none"),
        ('{"{{ item.x }}": 1}', "a key can't be a template"),
        ('{"a": [{% for x in item.l %}{{ x }},{% endfor %}]}', "can't make JSON"),
        ('{"a": "{{ item. }}"}', "invalid template"),
    ],
)
def test_a_body_that_is_no_json_is_refused_when_it_is_read(body, message):
    faults = list(faults_of(body, body=True))
    assert len(faults) == 1
    assert message in faults[0][1]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ item.wnt }}", "no attribute 'wnt'; did you mean 'want'?"),
        ("{{ item.zzzz }}", "no attribute 'zzzz'; the row's columns: "),
        ("{{ zzzz }}", "'zzzz' is undefined; the row's columns: "),
        ("x {{ item.nope.deeper }}", "no attribute 'nope'"),
        ("{{ item.keys }}", "a method, not a value"),
        ("x {{ item.keys }}", "a method, not a value"),
        ("{{ item.want / 0 }}", "division by zero"),
        ("{{ item.lst.append(3) }}", "append"),
        ("{{ range(999999999) | list }}", "Range too big"),
    ],
)
def test_what_a_row_cant_fill_in(template, message):
    with pytest.raises(RowError) as raised:
        render(template)
    assert raised.value.kind == "template"
    assert ITEM["lst"] == [1, 2]
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "template", ["Reference: {{ item.none }}", "x {{ item.none | string }}"]
)
def test_null_within_a_text_fails_the_row(template):
    with pytest.raises(RowError, match="this is null") as raised:
        render(template)
    assert raised.value.kind == "template"


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("Reference: {{ item.none | default('(none)') }}", "Reference: (none)"),
        ("Reference: {{ item.nope | default('(none)') }}", "Reference: (none)"),
        ("Reference: {{ item.none | d(0) }}", "Reference: 0"),
        ("Reference: {{ item.none or '-' }}", "Reference: -"),
        ("Reference: {{ item.none | tojson }}", "Reference: null"),
        ("{{ item.none }}", None),
        ("{% if item.none %}x{% else %}y{% endif %}", "y"),
    ],
)
def test_null_that_a_template_says_what_to_do_with(template, value):
    assert render(template) == value


def test_faults_have_their_places():
    value = {
        "a": ["{{ item.x }}", "{{ item. }}"],
        "b": {"c": "{% for %}"},
        "d": "{{ ''.__class__ }}",
    }
    faults = dict(faults_of(value))
    assert list(faults) == [("a", 1), ("b", "c"), ("d",)]
    assert all("invalid template" in message for message in faults.values())
    with pytest.raises(ValueError, match="invalid template"):
        compile_value(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a text", "said: a text!"),
        (3, "said: 3!"),
        (0.5, "said: 0.5!"),
        (True, "said: True!"),
        (["a", 1], "said: ['a', 1]!"),
        ({"a": None}, "said: {'a': None}!"),
        ("{{ item.b }}", "said: {{ item.b }}!"),
    ],
)
def test_words_and_a_path_read_as_jinja_writes_them(value, text):
    path = compile_value("said: {{ item.a }}!")
    as_expression = compile_value("said: {{ item.a if true }}!")
    context = {"item": {"a": value}}
    assert path(context) == as_expression(context) == text


@pytest.mark.parametrize("item", [{"a": None}, {}])
def test_words_and_a_path_without_a_value_are_refused(item):
    with pytest.raises(RowError):
        compile_value("said: {{ item.a }}!")({"item": item})


@pytest.mark.parametrize("value", [0, False, "", []])
def test_a_default_does_not_replace_what_is_false_or_empty(value):
    assert render("{{ item.a | default('none') }}", {"a": value}) == value


@pytest.mark.parametrize("value", [0, False, "", [], None])
def test_a_default_replaces_what_is_false_where_it_is_told_to(value):
    assert render("{{ item.a | default('none', true) }}", {"a": value}) == "none"


def test_a_default_without_a_value_is_an_empty_text():
    assert render("Reference: {{ item.a | default }}", {"a": None}) == "Reference: "


def test_a_name_that_a_row_lacks_is_said_with_its_columns():
    with pytest.raises(RowError) as raised:
        compile_value("{{ wnt }}")({"want": 1, "text": "x"})
    assert str(raised.value).endswith(
        "'{{ wnt }}': 'wnt' is undefined; did you mean 'want'? the row's columns: "
        "text, want"
    )


def test_a_long_template_is_shortened_in_the_message():
    template = f"{{{{ wnt }}}} {'x' * 60}"
    with pytest.raises(RowError) as raised:
        compile_value(template)({"want": 1})
    assert str(raised.value) == (
        f"'{template[:60]}…': 'wnt' is undefined; did you mean 'want'? the row's "
        "columns: want"
    )
