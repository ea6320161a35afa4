"""What the NeMo Evaluator SDK answered, where we differ on purpose, and laws of multisets."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.scorers.offline import entry, make, recorded, refusal

SPEC = entry(type="tool-calling", reference="{{tool_calls}}")
NAMES, WHOLE = "function_name_accuracy", "function_name_and_args_accuracy"
# where docs/scoring.md says that we differ: name of the case -> what we give
ON_PURPOSE = {
    # a boolean is no number in JSON
    "1 vs true": (1, 0),
    "ref args JSON string": (1, 1),
    "dot in ref name": (1, 1),
    "dup pred last wins": (0, 0),
    "empty-string args": (1, 0),
}


def answer(*calls):
    return {"choices": [{"message": {"role": "assistant", "tool_calls": list(calls)}}]}


def call(name, arguments):
    return {"function": {"name": name, "arguments": arguments}}


def scores(calls, wanted):
    item = {"tool_calls": wanted, "response": answer(*calls)}
    values = make(SPEC).score(recorded(item)).scores
    assert list(values) == [NAMES, WHOLE]
    return values[NAMES], values[WHOLE]


@pytest.fixture
def sdk_cases(acceptance):
    path = acceptance / "nemo_sdk/cases.json"
    return json.loads(path.read_text(encoding="utf-8"))["tool_calling"]


def row_of(case):
    return recorded({"tool_calls": case["reference"], "response": case["response"]})


def test_scores_are_those_of_the_sdk_but_for_a_few_on_purpose(sdk_cases):
    differing = {}
    for case in sdk_cases:
        if "error" not in case:
            ours = make(SPEC).score(row_of(case)).scores
            if ours != case["scores"]:
                differing[case["name"]] = (ours[NAMES], ours[WHOLE])
    assert differing == ON_PURPOSE


def test_what_the_sdk_can_not_score_is_a_failed_row(sdk_cases):
    failing = [case for case in sdk_cases if "error" in case]
    assert failing
    for case in failing:
        reason = refusal(SPEC, row_of(case))
        assert reason.startswith(("bad-reference: ", "bad-response: ", "bad-call: "))


@pytest.mark.parametrize(
    ("calls", "wanted", "expected"),
    [
        ([call("a", '{"x": 1}')], [call("a", {"x": 1})], (1, 1)),
        ([call("a", {"x": 1})], [call("a", '{"x": 1}')], (1, 1)),
        ([call("a", '{"x": 1}')] * 2, [call("a", {"x": 1})], (0, 0)),
        ([call("a", "{}")] * 2, [call("a", {})] * 2, (1, 1)),
        (
            [call("a", '{"x": 1}')] * 2,
            [call("a", {"x": 1}), call("a", {"x": 2})],
            (1, 0),
        ),
        (
            [call("a", {"x": 2}), call("b", {}), call("a", {"x": 1})],
            [call("a", {"x": 1}), call("a", {"x": 2}), call("b", {})],
            (1, 1),
        ),
        ([call("a_b", {})], [call("a.b", {})], (1, 1)),
        ([call("a.b", {})], [call("a_b", {})], (1, 1)),
        ([call("A", {})], [call("a", {})], (0, 0)),
        ([call("a", {"x": "P"})], [call("a", {"x": "p"})], (1, 0)),
        ([call("a", {"x": 1, "y": 2})], [call("a", {"x": 1})], (1, 0)),
        (
            [call("a", '{"y": {"q": 1, "p": 2}}')],
            [call("a", {"y": {"p": 2, "q": 1}})],
            (1, 1),
        ),
        ([call("a", None)], [call("a", {})], (1, 1)),
        ([{"function": {"arguments": "{}"}}], [], (1, 1)),
        ([], [], (1, 1)),
        ([], [call("a", {})], (0, 0)),
        ([call("a", {})], [], (0, 0)),
    ],
)
def test_by_hand(calls, wanted, expected):
    assert scores(calls, wanted) == expected


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"response": answer()},
            "template: '{{tool_calls}}': 'tool_calls' is undefined",
        ),
        ({"tool_calls": []}, "no-response: the row has no response"),
        (
            {"tool_calls": [], "response": {}},
            "bad-response: the response is {}, expected choi",
        ),
        (
            {"tool_calls": [], "response": {"choices": [{}]}},
            "bad-response: response.choices is",
        ),
        (
            {
                "tool_calls": [],
                "response": {"choices": [{"message": {"tool_calls": "a"}}]},
            },
            'bad-call: response.tool_calls is "a", expected a list',
        ),
        (
            {"tool_calls": [], "response": {"output": "text"}},
            'bad-response: response.output is "text"',
        ),
        (
            {"tool_calls": 3, "response": answer()},
            "bad-reference: the reference is 3, expected a ",
        ),
    ],
)
def test_failed_rows(item, message):
    assert refusal(SPEC, recorded(item)).startswith(message)


CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["a", "a.b", "a_b"]),
        st.dictionaries(
            st.sampled_from("pq"), st.sampled_from([0, 1, True, 1.0, "1"]), max_size=2
        ),
    ),
    max_size=5,
)


def as_json(argument):
    """Tell booleans from numbers, which Python takes for equal."""
    name, value = argument
    return name, type(value) is bool, str(float(value)) + str(type(value) is str)


REORDERED = CALLS.flatmap(
    lambda calls: st.tuples(st.just(calls), st.permutations(calls))
)


@given(st.tuples(CALLS, CALLS) | REORDERED)
def test_it_compares_multisets(lists):
    functions = [[each["function"] for each in calls] for calls in lists]
    names = [Counter(f["name"].replace(".", "_") for f in calls) for calls in functions]
    whole = [
        Counter(
            (f["name"].replace(".", "_"), *sorted(map(as_json, f["arguments"].items())))
            for f in calls
        )
        for calls in functions
    ]
    as_text = [call(f["name"], json.dumps(f["arguments"])) for f in functions[0]]
    assert scores(as_text, lists[1]) == (names[0] == names[1], whole[0] == whole[1])


@pytest.mark.parametrize(
    ("made", "wanted", "equal"),
    [
        ('{"on": 1}', {"on": True}, 0),
        ('{"n": false}', {"n": 0}, 0),
        ('{"o": {"l": [true, 0]}}', {"o": {"l": [1, 0]}}, 0),
        ('{"n": 1.0}', {"n": 1}, 1),
        ('{"n": "1"}', {"n": 1}, 0),
        ('{"city": "Z\u00fcrich"}', {"city": "Zu\u0308rich"}, 1),
        ('{"o": {"b": 1, "a": null}}', {"o": {"a": None, "b": 1}}, 1),
    ],
)
def test_arguments_are_compared_as_json(made, wanted, equal):
    assert scores([call("f", made)], [call("f", wanted)]) == (1, equal)


def test_a_key_that_is_there_twice_is_a_fault_of_the_call():
    item = recorded(
        {
            "tool_calls": [call("f", {"a": 2})],
            "response": answer(call("f", '{"a": 1, "a": 2}')),
        }
    )
    scored = make(SPEC).score(item)
    assert scored.scores[WHOLE] == 0
    assert "the key 'a' occurs twice" in scored.reason
