"""The formula of RAGAS, by hand and by an independent writing of it, and where the calls are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring.scorers.offline import entry, make, recorded, refusal

STRICT = entry(type="tool_call_accuracy")
FLEXIBLE = entry(type="tool_call_accuracy", strict_order=False)

A = {"name": "search", "args": {"city": "Paris", "days": 2}}
B = {"name": "book", "args": {"id": 7}}


def ai(*calls, **more):
    return {"type": "ai", "content": "", "tool_calls": list(calls), **more}


def talk(*messages, reference):
    return {
        "user_input": [{"type": "human", "content": "hi"}, *messages],
        "reference_tool_calls": reference,
    }


def score(item, spec=STRICT):
    (value,) = make(spec).score(recorded(item)).scores.values()
    return value


@pytest.mark.parametrize(
    ("messages", "reference", "strict", "flexible"),
    [
        ([ai(A, B)], [A, B], 1, 1),
        ([ai()], [A], 0, 0),
        ([ai(A)], [], 0, 0),
        ([ai()], [], 1, 1),
        ([{"type": "ai", "content": "x"}], [], 1, 1),
        ([ai(B, A)], [A, B], 0, 1),
        ([ai(A, B, B)], [A, B], 0, 0),
        ([ai(A)], [A, B], 0, 0),
        ([ai(A), {"type": "tool", "content": "x"}, ai(B)], [A, B], 1, 1),
        ([ai({"name": "look", "args": A["args"]})], [A], 0, 0),
        # one of two arguments of one of two calls
        (
            [ai({"name": "search", "args": {"city": "Rome", "days": 2}}, B)],
            [A, B],
            0.75,
            0.75,
        ),
        ([ai({"name": "search", "args": {"city": "Rome", "days": 2}})], [A], 0.5, 0.5),
        ([ai({"name": "search", "args": {"days": 2}})], [A], 0.5, 0.5),
        ([ai({"name": "search", "args": {**A["args"], "more": 1}})], [A], 1, 1),
        ([ai({"name": "now", "args": {"x": 1}})], [{"name": "now", "args": {}}], 0, 0),
        ([ai({"name": "now", "args": {}})], [{"name": "now", "args": {}}], 1, 1),
        # texts are compared
        ([ai({"name": "book", "args": {"id": "7"}})], [B], 1, 1),
        ([ai({"name": "book", "args": {"id": 7.0}})], [B], 0, 0),
        ([ai(B)], [{"name": "book", "args": {"id": "7"}}], 1, 1),
        (
            [ai({"name": "f", "args": {"x": {"b": 1, "a": [2]}}})],
            [{"name": "f", "args": {"x": {"a": [2], "b": 1}}}],
            1,
            1,
        ),
        ([ai({"name": "Book", "args": {"id": 7}})], [B], 0, 0),
    ],
)
def test_by_hand(messages, reference, strict, flexible):
    assert score(talk(*messages, reference=reference)) == strict
    assert score(talk(*messages, reference=reference), FLEXIBLE) == flexible


@pytest.mark.parametrize(
    "form",
    [
        {"name": "book", "args": {"id": 7}},
        {"name": "book", "args": '{"id": 7}'},
        {"name": "book", "arguments": {"id": 7}},
        {"type": "tool_call", "id": "1", "name": "book", "args": {"id": 7}},
        {"function": {"name": "book", "arguments": {"id": 7}}},
        {
            "id": "1",
            "type": "function",
            "function": {"name": "book", "arguments": '{"id": 7}'},
        },
        {
            "type": "function_call",
            "name": "book",
            "arguments": '{"id":7}',
            "call_id": "c",
        },
    ],
)
def test_every_form_of_a_call(form):
    item = {
        "user_input": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": None, "tool_calls": [form]},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
            {"role": "assistant", "content": "done", "tool_calls": None},
        ]
    }
    for reference in ([form], json.dumps([form]), [B]):
        assert score({**item, "reference_tool_calls": reference}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no JSON: "),
        ("{'id': 7}", "no JSON: "),
        ('{"id": NaN}', "no JSON: NaN is not JSON"),
        ("[" * 100_000, "nested too deep"),
        ("[1]", "no JSON object"),
        ('"{}"', "no JSON object"),
        (7, "no JSON object"),
    ],
)
def test_arguments_that_are_none_are_the_models_fault(arguments, message):
    broken = {"function": {"name": "book", "arguments": arguments}}
    result = make(STRICT).score(recorded(talk(ai(broken), reference=[B])))
    assert result.scores == {"tool_call_accuracy": 0}
    assert result.reason.startswith("the arguments of 'book' are ")
    assert message in result.reason
    assert len(result.reason) < 400
    reason = refusal(STRICT, recorded(talk(ai(B), reference=[broken])))
    assert reason.startswith(
        "bad-reference: reference_tool_calls[0]: the arguments of 'book'"
    )


def test_a_response_of_the_responses_api_and_a_lone_message():
    output = [
        {"type": "reasoning", "summary": []},
        {
            "type": "function_call",
            "name": "book",
            "arguments": '{"id": 7}',
            "call_id": "c",
        },
    ]
    item = {"user_input": "Book it", "reference_tool_calls": [B]}
    assert score({**item, "response": {"output": output}}) == 1
    assert score({**item, "response": {"role": "assistant", "tool_calls": [B]}}) == 1


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"user_input": [ai(A)]}, "no-reference: the row has no reference_tool_calls"),
        (
            {"reference_tool_calls": []},
            "no-response: the row has no user_input, and no response",
        ),
        (
            talk(reference=[]),
            "no-response: the row has no message of the agent in user_input",
        ),
        (
            talk({"type": "AI", "tool_calls": [A]}, reference=[A]),
            "bad-user_input: user_input[1]",
        ),
        (
            talk("hello", reference=[A]),
            'bad-user_input: user_input[1] is "hello", expected a ',
        ),
        (
            talk({"role": "assistant", "tool_calls": A}, reference=[A]),
            "bad-call: user_input[1].tool_calls is {",
        ),
        (
            talk(ai({"function": {"arguments": "{}"}}), reference=[A]),
            "bad-call: the agent's tool ",
        ),
        (
            talk(ai("book"), reference=[A]),
            'bad-call: user_input[1].tool_calls[0] is "book"',
        ),
        (
            talk(ai(A), reference=None),
            "bad-reference: reference_tool_calls is null, expected a ",
        ),
        (
            talk(ai(A), reference=[{"name": "a"}]),
            'bad-reference: reference_tool_calls[0] is {"na',
        ),
        (
            talk(ai(A), reference=[{"args": {}}]),
            "bad-reference: reference_tool_calls[0] is {",
        ),
        (
            talk(ai(A), reference="a(1)"),
            "bad-reference: reference_tool_calls is text that is no",
        ),
        (
            {"user_input": 7, "reference_tool_calls": []},
            "bad-user_input: user_input is 7, expec",
        ),
        (
            {"user_input": "x", "reference_tool_calls": [], "response": {"text": "x"}},
            'bad-response: the response is {"text": "x"}, expected choices[0]',
        ),
    ],
)
def test_malformed_rows_are_reported_in_clear_words(item, message):
    assert refusal(STRICT, recorded(item)).startswith(message)


# -- laws -------------------------------------------------------------------------------

VALUES = st.sampled_from([0, 1, 1.0, True, None, "1", "x", [1], {"k": 1}])
CALLS = st.lists(
    st.builds(
        lambda name, args: {"name": name, "args": args},
        st.sampled_from("ab"),
        st.dictionaries(st.sampled_from("pq"), VALUES, max_size=2),
    ),
    max_size=4,
)


def by_definition(calls, wanted, *, strict):
    """Write the formula down again, as RAGAS describes it."""

    def key(call):
        return [
            call["name"],
            *(t for k in sorted(call["args"]) for t in (k, str(call["args"][k]))),
        ]

    if not calls or not wanted:
        return float(not calls and not wanted)
    if not strict:
        calls, wanted = sorted(calls, key=key), sorted(wanted, key=key)
    if [c["name"] for c in calls] != [c["name"] for c in wanted]:
        return 0.0
    total = 0.0
    for one, ref in zip(calls, wanted, strict=True):
        args, expected = one["args"], ref["args"]
        if not expected:
            total += not args
        else:
            hits = [
                k for k in expected if k in args and str(args[k]) == str(expected[k])
            ]
            total += len(hits) / len(expected)
    return total / len(wanted)


REORDERED = CALLS.flatmap(
    lambda calls: st.tuples(st.just(calls), st.permutations(calls))
)


@given(st.tuples(CALLS, CALLS) | REORDERED, st.booleans())
def test_it_is_the_formula(lists, strict):
    calls, wanted = lists
    spec = STRICT if strict else FLEXIBLE
    expected = by_definition(calls, wanted, strict=strict)
    assert score(talk(ai(*calls), reference=wanted), spec) == pytest.approx(
        expected, abs=1e-12
    )
