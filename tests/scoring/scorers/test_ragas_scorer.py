"""The scorer ``ragas``: what the package is given, and what becomes of its results.

A module stands in for the package, which is 600 MB and not installed everywhere; its metrics have
the interface of ``ragas.metrics.collections`` of RAGAS 0.4.3. tests/test_ragas.py has the real one.
"""

import json
import os
import sys
import warnings
from types import ModuleType, SimpleNamespace

import pytest
from pydantic import BaseModel
from scoring.scorers.inline_judge import MODEL, judged, said, scorer_of
from scoring.transport.fakes import Client, status

from pytest_evalmetrics.errors import EvalMetricsError, RowError
from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.wire import EndpointError, MissingExtraError


class Message:
    """A message, or a call of a tool, of ``ragas.messages``: its kind and its keys."""

    def __init__(self, **keys):
        self.keys = keys

    def __eq__(self, other):
        return type(self) is type(other) and self.keys == other.keys

    __hash__ = None


class HumanMessage(Message):
    pass


class AIMessage(Message):
    pass


class ToolMessage(Message):
    pass


class ToolCall(Message):
    pass


class InstructorBaseRagasLLM:
    """The base of RAGAS' models; ``agenerate`` and ``generate`` are abstract there."""


class Detail(BaseModel):
    words: list[str] = []


class Verdict(BaseModel):
    rating: int
    detail: Detail = Detail()


class Answer:
    """A metric that asks the judge once, or as often as it is told."""

    def __init__(self, llm, questions=1, ignores_errors=False):
        self.llm = llm
        self.questions = questions
        self.ignores_errors = ignores_errors

    async def ascore(self, user_input, response, reference, context=None):
        said = f"{user_input} {response} {reference} {context}"
        ratings = []
        for _ in range(self.questions):
            try:
                ratings.append((await self.llm.agenerate(said, Verdict)).rating)
            except EvalMetricsError:
                if not self.ignores_errors:
                    raise
        value = sum(ratings) / self.questions if ratings else float("nan")
        return SimpleNamespace(value=value, reason=f"of {self.questions}")


class Blocking:
    def __init__(self, llm):
        self.llm = llm

    async def ascore(self, response):
        return SimpleNamespace(value=self.llm.generate(response, Verdict), reason="")


class Seen:
    """A metric without a judge; it keeps what it is given."""

    given = None
    value = 0.5
    reason = None

    def __init__(self, mode="f1"):
        if mode not in ("f1", "recall"):
            raise ValueError(f"mode is {mode}")

    async def ascore(self, user_input, reference_tool_calls=None):
        Seen.given.append((user_input, reference_tool_calls))
        return SimpleNamespace(value=Seen.value, reason=Seen.reason)


class NeedsEmbeddings:
    def __init__(self, embeddings):
        self.embeddings = embeddings


class MayTakeEmbeddings:
    def __init__(self, embeddings=None):
        self.embeddings = embeddings

    async def ascore(self, response):
        return SimpleNamespace(value=1.0, reason=response)


@pytest.fixture(autouse=True)
def ragas(monkeypatch):
    """The package, as far as the scorer uses it."""
    monkeypatch.delenv("RAGAS_DO_NOT_TRACK", raising=False)
    monkeypatch.setattr(Seen, "given", [])
    collections = ModuleType("ragas.metrics.collections")
    metrics = {
        "AnswerAccuracy": Answer,
        "BlockingMetric": Blocking,
        "ToolCallAccuracy": Seen,
        "SemanticSimilarity": NeedsEmbeddings,
        "FactualCorrectness": MayTakeEmbeddings,
        "BaseMetric": object,
    }
    collections.__all__ = list(metrics)
    for name, metric in metrics.items():
        setattr(collections, name, metric)
    messages = ModuleType("ragas.messages")
    for kind in (HumanMessage, AIMessage, ToolMessage, ToolCall):
        setattr(messages, kind.__name__, kind)
    base = ModuleType("ragas.llms.base")
    base.InstructorBaseRagasLLM = InstructorBaseRagasLLM
    package = ModuleType("ragas")
    package.__version__ = "0.4.3"
    modules = (package, collections, messages, base)
    for module in (*modules, ModuleType("ragas.metrics"), ModuleType("ragas.llms")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return package


@pytest.fixture
def client(tmp_path):
    with Client(tmp_path / "journal.log") as client:
        yield client


def scorer(metric="AnswerAccuracy", judge=MODEL, **keys):
    asked = {"judge_model": judge} if judge else {}
    return scorer_of(type="ragas", metric=metric, **asked, **keys)


def without_judge(metric, **keys):
    return scorer(metric, judge=None, **keys)


ITEM = {"user_input": "2 + 3?", "response": "5", "reference": "five"}


# -- the metric ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["AnswerAccuracy", "answer_accuracy", "answeraccuracy"]
)
def test_a_metric_is_found_by_its_name(client, name):
    client(said({"rating": 1, "detail": {"words": []}}))
    assert judged(client, scorer(name), ITEM).reason == "of 1"


@pytest.mark.parametrize(
    ("metric", "score"),
    [("ToolCallAccuracy", "tool_call_accuracy"), ("RAGMetricNDCG", "rag_metric_ndcg")],
)
def test_the_score_has_the_name_of_the_metric_in_snake_case(ragas, metric, score):
    collections = sys.modules["ragas.metrics.collections"]
    assert ragas.__version__
    collections.__all__.append("RAGMetricNDCG")
    collections.RAGMetricNDCG = Seen
    assert without_judge(metric).scores == (score,)


def test_the_scores_name_can_be_given():
    assert without_judge("ToolCallAccuracy", name="calls").scores == ("calls",)


def refusal(**keys):
    with pytest.raises(EvalMetricsError) as raised:
        scorer(**keys)
    return raised.value


def test_an_unknown_metric_names_the_known_ones():
    assert refusal(metric="AnswerAcuracy").message == (
        "RAGAS has no metric 'AnswerAcuracy'; did you mean 'AnswerAccuracy'? its metrics: "
        "AnswerAccuracy, BlockingMetric, FactualCorrectness, SemanticSimilarity, "
        "ToolCallAccuracy"
    )


def test_the_base_of_all_metrics_is_none():
    assert "RAGAS has no metric 'BaseMetric'" in refusal(metric="BaseMetric").message


def test_a_metric_that_needs_embeddings_is_refused():
    assert refusal(metric="SemanticSimilarity").message == (
        "SemanticSimilarity of RAGAS needs embeddings: only judges are asked"
    )


def test_a_metric_that_may_take_embeddings_goes_without(client):
    client()
    result = judged(client, without_judge("FactualCorrectness"), ITEM)
    assert (result.scores, result.reason) == ({"factual_correctness": 1.0}, "5")


def test_a_metric_that_asks_a_judge_needs_one():
    error = refusal(metric="AnswerAccuracy", judge=None)
    assert error.message == "the metric AnswerAccuracy of RAGAS asks a judge"
    assert error.hint == "write judge_model: {url, name, api_key_secret}"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"mode": "f2"}, "mode is f2"),
        ({"x": 1}, "Seen.__init__() got an unexpected keyword argument 'x'"),
    ],
)
def test_arguments_that_a_metric_does_not_take_are_refused(arguments, fault):
    error = refusal(metric="ToolCallAccuracy", judge=None, arguments=arguments)
    assert error.message == (
        f"the metric ToolCallAccuracy of RAGAS can't be made of its arguments: {fault}"
    )


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ragas.metrics.collections", None)
    with pytest.raises(MissingExtraError, match="the scorer ragas needs") as raised:
        without_judge("ToolCallAccuracy")
    assert raised.value.hint == "pip install 'pytest-evalmetrics[ragas]'"


def test_the_package_is_told_not_to_track_and_its_warnings_are_not_shown(monkeypatch):
    class Loud(ModuleType):
        def __getattr__(self, name):
            warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
            assert name == "InstructorBaseRagasLLM"
            assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"
            return InstructorBaseRagasLLM

    monkeypatch.setitem(sys.modules, "ragas.llms.base", Loud("ragas.llms.base"))
    assert without_judge("ToolCallAccuracy").judges == ()


# -- the row ---------------------------------------------------------------------------------------


def test_a_metric_gets_the_columns_that_it_wants(client):
    client(said({"rating": 1}))
    judged(client, scorer(), ITEM)
    (body,) = client.sender.bodies
    assert json.loads(body)["messages"] == [
        {"role": "user", "content": "2 + 3? 5 five None"}
    ]


def test_a_metric_gets_a_column_that_it_may_take_where_the_row_has_it(client):
    client(said({"rating": 1}))
    judged(client, scorer(), {**ITEM, "context": "sums"})
    assert b"2 + 3? 5 five sums" in client.sender.bodies[0]


def test_the_response_is_the_generated_text(client):
    client(said({"rating": 1}))
    judged(client, scorer(), ITEM, {"output_text": "made"})
    assert b"2 + 3? made five" in client.sender.bodies[0]


def test_a_row_without_a_column_that_a_metric_needs_is_not_judged(client):
    client()
    with pytest.raises(RowError) as raised:
        judged(client, scorer(), {**ITEM, "reference": None})
    assert (raised.value.kind, raised.value.message) == (
        "no-reference",
        "the row has no reference",
    )
    assert client.sender.bodies == []


CALL = {"name": "f", "args": {"x": 1}}


@pytest.mark.parametrize(
    ("message", "given"),
    [
        ({"type": "human", "content": "hi"}, HumanMessage(content="hi")),
        ({"role": "user", "content": "hi"}, HumanMessage(content="hi")),
        ({"type": "tool", "content": "5"}, ToolMessage(content="5")),
        ({"role": "tool", "content": None}, ToolMessage(content="")),
        ({"type": "ai", "content": "ho"}, AIMessage(content="ho", tool_calls=[])),
        (
            {"role": "assistant", "tool_calls": [CALL]},
            AIMessage(content="", tool_calls=[ToolCall(**CALL)]),
        ),
        (
            {"role": "assistant", "content": "x", "tool_calls": None},
            AIMessage(content="x", tool_calls=[]),
        ),
    ],
)
def test_a_conversation_is_given_in_messages_of_ragas(client, message, given):
    client()
    judged(client, without_judge("ToolCallAccuracy"), {"user_input": [message]})
    assert Seen.given == [([given], None)]


def test_the_calls_of_a_reference_are_given_as_those_of_ragas(client):
    client()
    item = {"user_input": "go", "reference_tool_calls": [CALL]}
    judged(client, without_judge("ToolCallAccuracy"), item)
    assert Seen.given == [("go", [ToolCall(**CALL)])]


def test_a_message_of_another_kind_is_refused(client):
    client()
    item = {"user_input": [{"role": "system", "content": "x"}]}
    with pytest.raises(RowError) as raised:
        judged(client, without_judge("ToolCallAccuracy"), item)
    assert raised.value.kind == "bad-user_input"
    assert raised.value.message == "RAGAS knows no message of 'system'"


# -- the result ------------------------------------------------------------------------------------


def test_the_score_and_its_reason_are_those_of_the_metric(client, monkeypatch):
    monkeypatch.setattr(Seen, "value", 1)
    monkeypatch.setattr(Seen, "reason", "all of them")
    client()
    result = judged(client, without_judge("ToolCallAccuracy"), {"user_input": "go"})
    assert result.scores == {"tool_call_accuracy": 1.0}
    assert result.reason == "all of them"


def test_a_metric_without_a_reason_has_none(client):
    client()
    result = judged(client, without_judge("ToolCallAccuracy"), {"user_input": "go"})
    assert result.reason == ""


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_score_that_is_not_finite_is_missing(client, monkeypatch, value):
    monkeypatch.setattr(Seen, "value", float(value))
    client()
    with pytest.raises(RowError) as raised:
        judged(client, without_judge("ToolCallAccuracy"), {"user_input": "go"})
    assert raised.value.kind == "not-finite"
    assert raised.value.message == f"RAGAS gave {value} and no reason"


def test_a_fault_of_the_metric_is_that_rows_error(client, monkeypatch):
    monkeypatch.setattr(Seen, "value", "none")
    client()
    with pytest.raises(RowError, match="could not convert string to float"):
        judged(client, without_judge("ToolCallAccuracy"), {"user_input": "go"})


# -- the judge -------------------------------------------------------------------------------------


def test_the_judge_is_asked_for_the_metrics_form_with_closed_objects(client):
    client(said({"rating": 1}))
    judged(client, scorer(), ITEM)
    body = json.loads(client.sender.bodies[0])
    schema = body["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"]) == ("ragas", True)
    whole = schema["schema"]
    assert whole["required"] == ["rating", "detail"]
    assert whole["additionalProperties"] is False
    assert "default" not in json.dumps(whole)
    detail = whole["$defs"]["Detail"]
    assert detail["required"] == ["words"]
    assert detail["additionalProperties"] is False
    assert detail["properties"]["words"] == {
        "items": {"type": "string"},
        "title": "Words",
        "type": "array",
    }


def test_a_metric_may_ask_several_times(client):
    client(said({"rating": 1}), said({"rating": 2}))
    result = judged(client, scorer(arguments={"questions": 2}), ITEM)
    assert result.scores == {"answer_accuracy": 1.5}
    assert len(client.sender.bodies) == 2


def test_the_judge_is_named_with_the_version_of_ragas():
    (judge,) = scorer().judges
    assert judge.kind == "ragas"
    assert judge.versions == {"ragas": "0.4.3"}
    assert judge.model.name == "judge"


def test_answers_are_kept_and_asked_anew_with_another_version_of_ragas(client, ragas):
    client(said({"rating": 1}), mode="normal")
    judged(client, scorer(), ITEM)
    client(said({"rating": 0}), mode="normal")
    assert judged(client, scorer(), ITEM).scores == {"answer_accuracy": 1.0}
    ragas.__version__ = "0.5.0"
    assert judged(client, scorer(), ITEM).scores == {"answer_accuracy": 0.0}


def test_an_answer_of_another_form_is_asked_for_once_more(client):
    client(said({"rating": "many"}), said({"rating": 1}))
    assert judged(client, scorer(), ITEM).scores == {"answer_accuracy": 1.0}


def test_an_answer_that_stays_of_another_form_says_what_is_wrong(client):
    client(said({"rating": "many"}))
    with pytest.raises(RowError) as raised:
        judged(client, scorer(), ITEM)
    assert raised.value.kind == "bad-answer"
    assert raised.value.message.startswith(
        "the judge's answer is none: 1 validation error for Verdict rating Input should be"
    )
    assert raised.value.message.endswith(" (asked twice)")
    assert len(client.sender.bodies) == 2


def test_the_fault_of_an_answer_is_shown_in_200_characters(client):
    client(said({"rating": "x" * 500}))
    with pytest.raises(RowError) as raised:
        judged(client, scorer(), ITEM)
    reason = raised.value.message.removesuffix(" (asked twice)")
    assert len(reason.removeprefix("the judge's answer is none: ")) == 200


def test_a_row_whose_judge_failed_costs_no_further_question(client):
    client(said({"rating": 1}), status(422, "no"))
    of = scorer(arguments={"questions": 9, "ignores_errors": True})
    with pytest.raises(CallError, match="and said: no"):
        judged(client, of, ITEM)
    assert len(client.sender.bodies) == 2


def test_a_judge_that_refuses_stops_all_even_where_a_metric_makes_nan_of_it(client):
    client(status(401, "not you"))
    of = scorer(arguments={"ignores_errors": True})
    with pytest.raises(EndpointError, match="and said: not you"):
        judged(client, of, ITEM)
    assert len(client.sender.bodies) == 1


def test_a_metric_that_blocks_is_refused(client):
    client()
    with pytest.raises(RowError) as raised:
        judged(client, scorer("BlockingMetric"), ITEM)
    assert raised.value.kind == "not-async"
    assert raised.value.message == (
        "this metric of RAGAS asks its judge in a way that blocks"
    )


def test_a_row_is_judged_as_often_as_judge_repeats_says(client):
    client(said({"rating": 1}), said({"rating": 3}))
    result = judged(client, scorer(judge_repeats=2), ITEM)
    assert result.scores == {
        "answer_accuracy": 2.0,
        "answer_accuracy@1": 1.0,
        "answer_accuracy@2": 3.0,
    }
    assert result.reason == "1: of 1; 2: of 1"
