"""What judges are asked, word for word, and what is made of their answers.

The prompts are the files of judge_prompts/. Whoever changes one counts up its scorer's version,
because the answers of a journal are those to the old words.
"""

from pathlib import Path

import pytest
from scoring.scorers.inline_judge import MODEL, judged, make, prompts, said, scorer_of
from scoring.transport.fakes import Client

from pytest_evalmetrics.errors import RowError

FOLDER = Path(__file__).parent / "judge_prompts"


@pytest.fixture
def client(tmp_path):
    with Client(tmp_path / "journal.log") as client:
        yield client


def prompt_of(name):
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


TALK = [
    {"role": "user", "content": "Book a table; and how is the weather?"},
    {
        "role": "assistant",
        "content": "Booked.",
        "tool_calls": [{"name": "book", "args": {"at": "8 pm"}}],
    },
    {"role": "tool", "content": "ok"},
]


def goal(client, **keys):
    client(
        said({"user_goal": "a table", "end_state": "booked"}),
        said({"reasoning": "it is", "verdict": 1}),
    )
    item = {"user_input": TALK, "reference": "a table at 8"}
    return judged(client, make("agent_goal_accuracy", **keys), item)


def test_the_goal_of_an_agent_is_asked_for_and_compared_with_the_reference(client):
    result = goal(client)
    assert result.scores == {"agent_goal_accuracy": 1.0}
    assert result.reason == "goal: a table; end: booked; it is"
    assert prompts(client) == [prompt_of("goal"), prompt_of("goal_compared")]


def test_without_a_reference_the_end_is_compared_with_the_goal(client):
    goal(client, use_reference=False)
    assert '"wanted": "a table"' in prompts(client)[1]


def test_a_verdict_without_a_reasoning_ends_with_the_end_state(client):
    client(said({"user_goal": "a", "end_state": "b"}), said({"verdict": 0}))
    item = {"user_input": TALK, "reference": "a"}
    result = judged(client, make("agent_goal_accuracy"), item)
    assert (result.scores, result.reason) == (
        {"agent_goal_accuracy": 0.0},
        "goal: a; end: b",
    )


ANSWERED = {"user_input": "How far is the sun?", "response": "1 au", "reference": "far"}


def test_an_answer_is_rated_by_the_reference_and_the_other_way_round(client):
    client(said({"reasoning": "all", "rating": 4}), said({"rating": 2}))
    result = judged(client, make("answer_accuracy"), ANSWERED)
    assert result.scores == {"nv_accuracy": 0.75}
    assert result.reason == "4: all; 2"
    assert prompts(client) == [prompt_of("answer"), prompt_of("answer_turned")]


def test_a_judge_that_repeats_the_row_gives_no_rating(client):
    client(said({"rating": 4, "response": "1 au"}))
    with pytest.raises(RowError) as raised:
        judged(client, make("answer_accuracy"), {**ANSWERED, "rating": 4})
    assert raised.value.kind == "echo"
    assert raised.value.message == (
        "the judge repeated the row in place of a verdict: "
        '{"rating": 4, "response": "1 au"} (asked twice)'
    )


def test_the_question_of_an_answer_may_be_a_conversation(client):
    client(said({"rating": 4}))
    judged(client, make("answer_accuracy"), {**ANSWERED, "user_input": TALK})
    assert '"question": [{"from": "User", "text": "Book a table' in prompts(client)[0]
    assert "1 au" not in prompts(client)[0].partition('"answer_a"')[0]


def topics(client, *refused, matches=None, mode="f1"):
    """Judge a talk about a table and the weather, of which only the table is on topic."""
    matches = matches or [
        {"topic": "table", "on_topic": True},
        {"topic": "weather", "on_topic": False},
    ]
    client(
        said({"topics": ["table", "weather", "table"]}),
        said({"matches": matches}),
        *(said({"reasoning": "x", "refused": one}) for one in refused),
    )
    item = {"user_input": TALK, "reference_topics": ["bookings"]}
    return judged(client, make("topic_adherence", metric_mode=mode), item)


def test_topics_are_listed_and_each_is_matched_and_asked_for(client):
    result = topics(client, False, True)
    assert result.scores["topic_adherence(mode=f1)"] == pytest.approx(1.0)
    assert result.reason == "table: answered, on topic; weather: refused, off topic"
    assert prompts(client) == [
        prompt_of("topics"),
        prompt_of("topics_matched"),
        prompt_of("topic_refused").replace("TOPIC", "table"),
        prompt_of("topic_refused").replace("TOPIC", "weather"),
    ]


@pytest.mark.parametrize(
    ("refused", "mode", "score"),
    [
        ((False, False), "precision", 0.5),
        ((False, False), "recall", 1.0),
        ((True, False), "precision", 0.0),
        ((True, False), "recall", 0.0),
        ((False, False), "f1", 2 / 3),
    ],
)
def test_the_adherence_of_topics_by_hand(client, refused, mode, score):
    result = topics(client, *refused, mode=mode)
    name = f"topic_adherence(mode={mode})"
    assert result.scores == {name: pytest.approx(score, abs=1e-9)}


@pytest.mark.parametrize(
    ("mode", "less"), [("precision", 1.0), ("recall", 1.0), ("f1", 1.5)]
)
def test_a_tiny_number_is_added_to_each_denominator(client, mode, less):
    # as RAGAS does: p = r = 1 / (1 + 1e-10), and f1 = 2pr / (p + r + 1e-10)
    (score,) = topics(client, False, True, mode=mode).scores.values()
    assert (1 - score) / 1e-10 == pytest.approx(less, abs=1e-3)


def test_topics_in_other_words_are_matched_by_their_order(client):
    matches = [
        {"topic": "a table", "on_topic": False},
        {"topic": "weather", "on_topic": True},
    ]
    result = topics(client, False, False, matches=matches)
    assert result.reason == "table: answered, off topic; weather: answered, on topic"


def test_topics_in_another_order_are_matched_by_their_words(client):
    matches = [
        {"topic": "weather", "on_topic": False},
        {"topic": "table", "on_topic": True},
    ]
    result = topics(client, False, False, matches=matches)
    assert result.reason == "table: answered, on topic; weather: answered, off topic"


def listed(client, count):
    client(said({"topics": [str(number) for number in range(count)]}))
    item = {"user_input": TALK, "reference_topics": ["bookings"]}
    with pytest.raises(RowError) as raised:
        judged(client, make("topic_adherence"), item)
    return raised.value.kind, raised.value.message


def test_a_conversation_without_topics_is_no_score(client):
    assert listed(client, 0) == (
        "no-topics",
        "the judge found no topic in the conversation",
    )


def test_more_than_a_hundred_topics_are_not_asked_for(client):
    assert listed(client, 101) == (
        "too-many-topics",
        "the judge found 101 topics, each of which is a call; at most 100 are asked for",
    )
    assert len(client.sender.bodies) == 1


def test_topics_that_are_no_texts_are_shown(client):
    client()
    item = {"user_input": TALK, "reference_topics": ["a", ""]}
    with pytest.raises(RowError) as raised:
        judged(client, make("topic_adherence"), item)
    assert raised.value.message == (
        'reference_topics is ["a", ""], expected a list of texts'
    )


STEPS = [
    {"payload": {"event_type": "LLM_START", "name": "m"}},
    {"payload": {"event_type": "LLM_END", "name": "m", "data": {"input": "?"}}},
    {"payload": {"event_type": "TOOL_END", "data": {"output": 1, "more": 2}}},
]
RUN = {"question": "What?", "generated_answer": "That.", "intermediate_steps": STEPS}
TOOLS = {
    "trajectory_used_tools": ["search", "clock"],
    "trajectory_custom_tools": {"search": "Finds pages."},
}


def trajectory(client, item, **answer):
    client(said({"reasoning": "fine", "score": 4, **answer}))
    return judged(client, make("trajectory_evaluation", **TOOLS), item)


def test_the_steps_of_an_agent_are_graded(client):
    result = trajectory(client, {**RUN, "answer": "This."})
    assert result.scores == {"trajectory_evaluation": 0.75}
    assert result.reason == "fine"
    assert prompts(client) == [prompt_of("trajectory")]


def test_without_a_right_answer_none_is_shown(client):
    trajectory(client, RUN)
    assert "right_answer" not in prompts(client)[0]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("x", 'intermediate_steps is "x", expected a list'),
        ([5], "intermediate_steps[0] is 5, expected payload.event_type"),
        (
            [STEPS[1], {"payload": {}}],
            'intermediate_steps[1] is {"payload": {}}, expected payload.event_type',
        ),
        (
            [{"payload": {"event_type": "TOOL_END"}}],
            'intermediate_steps[0].payload has no data: {"event_type": "TOOL_END"}',
        ),
        (
            STEPS[:1],
            "intermediate_steps has no step that ends a call of a model (LLM_END) or a tool (TOOL_END)",
        ),
    ],
)
def test_steps_that_can_not_be_graded_say_why(client, steps, message):
    with pytest.raises(RowError) as raised:
        trajectory(client, {**RUN, "intermediate_steps": steps})
    assert raised.value.kind == "bad-intermediate_steps"
    assert raised.value.message == message


# -- llm-judge -----------------------------------------------------------------------------------------

SCORES = [
    {"name": "quality", "minimum": 1, "maximum": 5, "description": "how good it is"},
    {"name": "length", "minimum": 0},
    {"name": "errors", "maximum": 9},
    {"name": "mood"},
    {
        "name": "tone",
        "rubric": [
            {"label": "kind", "value": 1, "description": "it is friendly"},
            {"label": "cold", "value": 0},
        ],
    },
]


def by_default(client, item, sample=None):
    answer = {"quality": 4, "length": 3, "errors": 2, "mood": 1, "tone": "kind"}
    client(said({**answer, "reasoning": "so  it\nis"}))
    scorer = scorer_of(type="llm-judge", model=MODEL, scores=SCORES)
    return judged(client, scorer, item, sample)


def test_a_judge_without_a_prompt_is_asked_by_the_scores_of_the_file(client):
    result = by_default(client, {"question": "?", "response": "5"})
    assert result.scores == {
        "quality": 4.0,
        "length": 3.0,
        "errors": 2.0,
        "mood": 1.0,
        "tone": 1.0,
    }
    assert result.reason == "so it is"
    assert prompts(client) == [prompt_of("default")]


def test_a_generated_answer_is_what_is_judged(client):
    by_default(client, {"question": "?"}, {"output_text": "5"})
    assert prompts(client) == [prompt_of("default_answer")]
