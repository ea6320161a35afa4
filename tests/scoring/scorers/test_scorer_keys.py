"""Keys of scorers by themselves: templates, lists of references, epsilon, judges in two forms."""

import pytest
from pydantic import ValidationError
from scoring.scorers.inline_judge import MODEL, judged, said, scorer_of
from scoring.scorers.offline import entry, make, recorded, refusal, row
from scoring.transport.fakes import Client

from pytest_evalmetrics.errors import RowError


def score(item, **keys):
    return make(entry(**keys)).score(recorded(item)).scores


def words_of(**keys):
    """Return what is said of an entry that is refused."""
    with pytest.raises(ValidationError) as raised:
        entry(**keys)
    return str(raised.value)


# -- templates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["exact-match", "f1", "bleu"])
def test_a_candidate_may_be_a_template(kind):
    item = {"reference": "the cat sat on a mat", "said": ["x", "the cat sat on a mat"]}
    scores = score(item, type=kind, candidate="{{ item.said[1] }}")
    assert next(iter(scores.values())) in (1.0, pytest.approx(100.0))
    other = score(item, type=kind, candidate="{{ item.said[0] }}")
    assert next(iter(other.values())) == 0.0


def test_a_candidate_that_is_no_text_is_refused():
    spec = entry(type="f1", candidate="{{ item.said }}")
    assert refusal(spec, recorded({"reference": "a", "said": 5})) == (
        "no-text: the candidate is 5, expected text"
    )


def test_a_row_without_an_answer_says_where_to_find_one():
    spec = entry(type="f1")
    with pytest.raises(RowError, match="the row has no response") as raised:
        make(spec).score(recorded({"reference": "a"}))
    assert raised.value.hint == (
        'say where the answer is: candidate: "{{ item.answer }}"'
    )


def test_the_generated_text_is_the_candidate():
    item = {"reference": "a", "response": "b"}
    assert make(entry(type="f1")).score(row(item, {"output_text": "a"})).scores == {
        "f1": 1.0
    }


# -- bleu ----------------------------------------------------------------------------------------------

CAT = "the cat sat on a mat"
DOG = "a dog lay in the sun"


@pytest.mark.parametrize(
    "references",
    [
        "{{ item.one }}",
        ["{{ item.one }}"],
        ["{{ item.two }}", "{{ item.one }}"],
        ["{{ item.both }}"],
    ],
)
def test_the_best_of_several_references_counts(references):
    item = {"one": CAT, "two": DOG, "both": [DOG, CAT], "response": CAT}
    scores = score(item, type="bleu", references=references)
    assert scores == {"sentence": pytest.approx(100.0)}


def test_an_empty_list_of_references_is_no_reference():
    assert refusal(
        entry(type="bleu"), recorded({"reference": [], "response": "x"})
    ) == ("no-reference: the row has no reference: its list is empty")


def test_bleu_is_smoothed_by_the_order_of_short_texts():
    # sacrebleu's sentence score of two words, as Post 2018 describes it
    scores = score({"reference": "the cat", "response": "the cat"}, type="bleu")
    assert scores == {"sentence": pytest.approx(100.0)}


# -- names ---------------------------------------------------------------------------------------------


def test_scores_may_be_named():
    item = {"reference": CAT, "response": CAT}
    assert score(item, type="f1", name="overlap") == {"overlap": 1.0}
    assert entry(type="rouge", name="r").score_names == (
        "r_rouge_1_score",
        "r_rouge_2_score",
        "r_rouge_3_score",
        "r_rouge_L_score",
    )


def test_bleu_goes_to_a_hundred_and_the_others_to_one():
    facts = entry(type="bleu").facts_of("sentence")
    assert (facts.low, facts.high) == (0.0, 100.0)
    facts = entry(type="f1").facts_of("f1")
    assert (facts.low, facts.high) == (0.0, 1.0)


# -- number-check --------------------------------------------------------------------------------------

SIDES = {"left_template": "{{ item.left }}", "right_template": "{{ item.right }}"}
DIFFERENCE = {"type": "number-check", "operation": "absolute difference", **SIDES}


@pytest.mark.parametrize(
    ("left", "right", "epsilon", "holds"),
    [
        (1.0, 1.5, 0.5, 1.0),
        (1.5, 1.0, 0.5, 1.0),
        (1.0, 1.75, 0.5, 0.0),
        (1.75, 1.0, 0.5, 0.0),
        (2, 2, 0, 1.0),
        (-1, 1, 1.5, 0.0),
    ],
)
def test_numbers_may_differ_by_epsilon(left, right, epsilon, holds):
    item = {"left": left, "right": right}
    assert score(item, **DIFFERENCE, epsilon=epsilon) == {"number-check": holds}


@pytest.mark.parametrize(
    "keys",
    [DIFFERENCE, {**DIFFERENCE, "operation": "==", "epsilon": 0.5}],
    ids=["without", "with another operation"],
)
def test_epsilon_belongs_to_a_difference_alone(keys):
    assert "epsilon is needed by, and only by, operation: absolute difference" in (
        words_of(**keys)
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (float("nan"), 1),
        (float("inf"), 1),
        (True, 1),
        ({"a": 1}, 1),
    ],
)
def test_what_is_no_number_is_refused(left, right):
    spec = entry(type="number-check", operation="==", **SIDES)
    message = refusal(spec, recorded({"left": left, "right": right}))
    assert message.startswith("no-number: the left value is ")
    assert message.endswith(", expected a text with a number")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("(3)-5", 5),
        ("[3]-5", 5),
        ("{3}-5", 5),
        ("3%-5", 5),
        ("x-5", 5),
        (" -5", -5),
        ("=-5", -5),
        ("--5", -5),
        ("-0.25", -0.25),
        ("+0.25", 0.25),
    ],
)
def test_a_dash_is_a_sign_where_nothing_ends_before_it(text, number):
    item = {"left": text, "right": number}
    keys = {"type": "number-check", "operation": "==", **SIDES}
    assert score(item, **keys) == {"number-check": 1.0}


# -- judges in two forms -------------------------------------------------------------------------------

ITEM = {"user_input": "?", "response": "a", "reference": "b"}


@pytest.mark.parametrize("keys", [{"judge_model": MODEL}, {"judge": {"model": MODEL}}])
def test_a_judge_may_be_written_in_two_forms(tmp_path, keys):
    with Client(tmp_path / "journal.log") as client:
        client(said({"rating": 4}))
        result = judged(client, scorer_of(type="answer_accuracy", **keys), ITEM)
    assert result.scores == {"nv_accuracy": 1.0}


def test_a_scorer_with_a_prompt_of_ours_needs_a_judge():
    assert "judge_model is missing: {url, name, api_key_secret}" in words_of(
        type="answer_accuracy"
    )


def test_a_judge_in_both_forms_is_refused():
    assert "judge_model and judge say the same: write one of them" in words_of(
        type="answer_accuracy", judge_model=MODEL, judge={"model": MODEL}
    )


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("answer_accuracy", "answer-accuracy"),
        ("topic-adherence", "topic-adherence"),
    ],
)
def test_a_judge_knows_its_scorer_and_the_version_of_its_prompts(kind, known):
    (judge,) = scorer_of(type=kind, judge_model=MODEL).judges
    assert judge.kind == known
    assert judge.versions == {"prompts": "2"}


@pytest.mark.parametrize(
    "tools", ["search, clock", " search ,,clock", ["search", "clock"]]
)
def test_tools_may_be_written_with_commas(tools):
    spec = entry(
        type="trajectory_evaluation", judge_model=MODEL, trajectory_used_tools=tools
    )
    assert spec.trajectory_used_tools == ("search", "clock")


@pytest.mark.parametrize("tools", ["", " , ", []])
def test_an_agent_has_a_tool(tools):
    words = words_of(
        type="trajectory_evaluation", judge_model=MODEL, trajectory_used_tools=tools
    )
    assert "names of tools, as a list or with commas between them" in words


def test_a_description_of_another_tool_is_refused():
    words = words_of(
        type="trajectory_evaluation",
        judge_model=MODEL,
        trajectory_used_tools=["search"],
        trajectory_custom_tools={"serch": "Finds."},
    )
    assert (
        "trajectory_custom_tools describes 'serch': did you mean 'search'? "
        "trajectory_used_tools: search"
    ) in words


# -- tool calls ----------------------------------------------------------------------------------------


def call(name, **args):
    return {"name": name, "args": args}


def test_all_faults_of_an_agents_calls_are_the_reason():
    calls = [{"name": "f", "args": "x"}, call("g"), {"name": "h", "args": "[1]"}]
    item = {
        "user_input": [{"role": "assistant", "tool_calls": calls}],
        "reference_tool_calls": [call("f"), call("g"), call("h")],
    }
    result = make(entry(type="tool_call_accuracy")).score(recorded(item))
    assert result.scores == {"tool_call_accuracy": pytest.approx(1 / 3)}
    first, second = result.reason.split("; ")
    assert first.startswith("the arguments of 'f' are \"x\"")
    assert second == "the arguments of 'h' are \"[1]\": they are no JSON object"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "no-reference: the row has no reference_tool_calls"),
        (
            {"reference_tool_calls": []},
            "no-response: the row has no user_input, and no response",
        ),
        (
            {"reference_tool_calls": [], "user_input": [{"role": "user"}]},
            (
                "no-response: the row has no message of the agent in user_input, and no "
                "response"
            ),
        ),
        (
            {"reference_tool_calls": [], "user_input": 5},
            "bad-user_input: user_input is 5, expected a list of messages",
        ),
        (
            {
                "reference_tool_calls": [],
                "user_input": [
                    {"role": "user"},
                    {"role": "assistant", "tool_calls": [call("f"), {"args": {}}]},
                ],
            },
            "bad-call: the agent's tool call 2 has no name",
        ),
    ],
)
def test_rows_without_calls_to_compare_say_why(item, message):
    assert refusal(entry(type="tool_call_accuracy"), recorded(item)) == message


def compared(made, wanted, **keys):
    message = {"role": "assistant", "tool_calls": made}
    item = {"user_input": [message], "reference_tool_calls": wanted}
    return score(item, type="tool_call_accuracy", **keys)["tool_call_accuracy"]


@pytest.mark.parametrize(
    ("made", "wanted", "share"),
    [
        ([call("f", x=1)], [call("f", x="1")], 1.0),
        ([call("f", x={"a": 1, "b": [2]})], [call("f", x={"b": [2], "a": 1})], 1.0),
        (
            [call("f", x=[1, {"b": 1, "a": 2}])],
            [call("f", x=[1, {"a": 2, "b": 1}])],
            1.0,
        ),
        ([call("f", x=1)], [call("f")], 0.0),
        ([call("f")], [call("f")], 1.0),
        ([call("f", x=1, y=2, z=3)], [call("f", x=1, y=0)], 0.5),
        ([call("f", x=1), call("f")], [call("f", x=1), call("f", y=1)], 0.5),
    ],
)
def test_the_share_of_arguments_that_are_the_same(made, wanted, share):
    assert compared(made, wanted) == share


def test_without_an_order_calls_of_one_name_are_paired_by_their_arguments():
    made = [call("f", x=2), call("g"), call("f", x=1)]
    wanted = [call("f", x=1), call("f", x=2), call("g")]
    assert compared(made, wanted) == 0.0
    assert compared(made, wanted, strict_order=False) == 1.0
