"""The case in the spans of a trace: the topmost question, and what was below it."""

import pytest

from pytest_evalmetrics.cases.payloads import Message
from pytest_evalmetrics.cases.spans import Span, case_of
from pytest_evalmetrics.errors import DataError

# the user's request, a retriever, a model and its call of a tool
TRACE = (
    Span("http", "t1", name="POST /chat", record={"n": 1}),
    Span(
        "chain",
        "t1",
        "http",
        question="Why?",
        messages=(Message("user", "Why?"),),
        record={"n": 2},
    ),
    Span("retriever", "t1", "chain", context=("one", "two"), record={"n": 3}),
    Span("model", "t1", "chain", question="Prompt", answer="So.", error="slow"),
    Span("tool", "t1", "model", answer="12", context=("two", "three"), error="late"),
    Span("beside", "t1", "http", answer="Other.", context=("four",)),
)


def case(spans=TRACE, wanted=""):
    return case_of(spans, wanted, "trace.json")


def test_the_case_is_that_of_the_topmost_question():
    found = case()
    assert found.trace_id == "t1"
    assert found.span_id == "chain"
    assert found.question == "Why?"
    assert found.messages == (Message("user", "Why?"),)


def test_the_first_answer_and_the_first_error_below_the_question_count():
    found = case()
    assert found.wrong_answer == "So."
    assert found.error == "slow"


def test_what_was_retrieved_below_the_question_is_context_once():
    assert case().context == ("one", "two", "three")


def test_the_records_of_the_whole_trace_are_searched_for_names():
    assert [record.get("n") for record in case().records] == [1, 2, None, 3, None, None]


@pytest.mark.parametrize("wanted", ["t1", "http", "chain"])
def test_a_span_or_a_trace_may_be_named(wanted):
    assert case(wanted=wanted).span_id == "chain"


def test_a_span_that_is_named_is_the_top():
    found = case(wanted="model")
    assert found.question == "Prompt"
    assert found.context == ("two", "three")


def test_a_span_whose_parent_is_not_exported_is_a_top():
    assert case(TRACE[1:]).question == "Why?"


def test_spans_that_are_parents_of_each_other_are_read_once():
    spans = [
        Span("a", "t", "c", question="Why?"),
        Span("b", "t", "a", answer="So."),
        Span("c", "t", "b"),
    ]
    found = case(spans, wanted="a")
    assert found.wrong_answer == "So."
    assert len(found.records) == 3


def test_a_case_without_answer_and_error_has_empty_ones():
    found = case([Span("a", "t", question="Why?")])
    assert found.wrong_answer == ""
    assert found.error == ""


def test_a_text_that_an_export_lacks_is_empty():
    span = Span("a", "t")
    texts = (span.parent_id, span.name, span.question, span.answer, span.error)
    assert texts == ("",) * 5
    assert span.messages == span.context == ()
    assert span.record == {}


def refusal(spans, wanted=""):
    with pytest.raises(DataError) as refused:
        case(spans, wanted)
    assert refused.value.file == "trace.json"
    return refused.value.message, refused.value.hint


def test_an_unknown_span_is_refused_with_the_traces():
    message, hint = refusal(TRACE, "t9")
    assert message == "there is no span and no trace 't9'"
    assert hint == "it has t1"


def test_several_traces_are_refused_and_the_first_five_are_named():
    spans = [Span(f"s{n}", f"t{n}", question="Why?") for n in range(6)]
    message, hint = refusal(spans)
    assert message == "the file holds 6 traces: t0, t1, t2, t3, t4 and 1 more"
    assert hint == "name one of them, or a span, with --span ID"
    message, _ = refusal(spans[:5])
    assert message == "the file holds 5 traces: t0, t1, t2, t3, t4"


def test_one_trace_of_several_may_be_named():
    spans = [Span(f"s{n}", f"t{n}", question=f"{n}?") for n in range(3)]
    assert case(spans, "t1").question == "1?"


def test_a_trace_without_a_question_is_refused():
    message, hint = refusal([Span("a", "t"), Span("b", "t", "a", answer="So.")])
    assert message == "none of the 2 spans of this trace has an input"
    assert hint == (
        "export the trace with its inputs and outputs; many tools leave them out unless "
        "recording content is switched on"
    )
