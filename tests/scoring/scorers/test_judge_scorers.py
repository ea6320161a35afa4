"""Scorers that ask a judge with prompts of ours: formulas, calls, what is no input."""

import json

import pytest
from judge_process import judged, row, scorer_of

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import CallError, Row

CALL = {"name": "weather", "args": {"city": "Paris"}}
RAGAS = [
    {"type": "human", "content": "Weather?"},
    {"type": "ai", "content": "Let me see.", "tool_calls": [CALL]},
    {"type": "tool", "content": "sunny"},
]
OPENAI = [
    {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [
            {"function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
        ],
    },
    {"role": "tool", "content": "sunny"},
]


def make(judge_server, kind, query="", **keys):
    return scorer_of(type=kind, judge_model=judge_server.entry(query), **keys)


def lines_asked(judge_server, call=0):
    """Parse the lines of a prompt that are JSON."""
    lines = judge_server.bodies[call]["messages"][-1]["content"].splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


# -- conversations


@pytest.mark.parametrize("messages", [RAGAS, OPENAI])
def test_a_conversation_is_one_object_a_line(judge_server, messages):
    turn = {"role": "user", "content": "[[topics: a]]"}
    item = {
        "user_input": [*messages, turn],
        "reference_topics": ["a"],
        "response": "recorded",
    }
    judged(make(judge_server, "topic_adherence"), row(**item))
    spoken = [
        {"from": "User", "text": "Weather?"},
        {"from": "Agent", "text": "Let me see."},
        {"from": "Agent", "calls": "weather", "arguments": {"city": "Paris"}},
        {"from": "Tool result", "text": "sunny"},
        {"from": "User", "text": "[[topics: a]]"},
    ]
    assert lines_asked(judge_server) == spoken  # the conversation has its own end
    judge_server.forget()
    generated = Row(0, "x", 0, 0, item, {"output_text": "made"})
    judged(make(judge_server, "topic_adherence"), generated)
    assert lines_asked(judge_server) == [*spoken, {"from": "Agent", "text": "made"}]


# -- topic_adherence


def talk(topics, refused="none"):
    text = f"[[topics: {topics}]] [[refused: {refused}]]"
    return [{"type": "human", "content": text}, {"type": "ai", "content": "Well."}]


@pytest.mark.parametrize(
    ("mode", "expected"), [("precision", 2 / 4), ("recall", 2 / 3), ("f1", 4 / 7)]
)
def test_topic_adherence(judge_server, mode, expected):
    name = f"topic_adherence(mode={mode})"
    # health and food answered on topic, cars and wine off topic, sport refused on topic
    sample = row(
        user_input=talk("health, food, cars, sport, tax, wine", "sport, tax"),
        reference_topics=["health", "food", "sport"],
    )
    result = judged(make(judge_server, "topic-adherence", metric_mode=mode), sample)
    assert result.scores == {name: pytest.approx(expected, abs=1e-9)}
    assert "cars: answered, off topic" in result.reason
    assert "sport: refused, on topic" in result.reason
    assert judge_server.posts == 6 + 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hello", "no-topics"),
        (f"[[topics: {', '.join(map(str, range(101)))}]]", "too-many-topics"),
    ],
)
def test_no_topics_and_too_many_are_no_score(judge_server, text, kind):
    sample = row(user_input=text, reference_topics=["a"])
    with pytest.raises(RowError) as raised:
        judged(make(judge_server, "topic_adherence"), sample)
    assert raised.value.kind == kind
    assert judge_server.posts == 1


# -- agent_goal_accuracy


def errand(goal, end):
    return [
        {"role": "user", "content": f"[[goal: {goal}]] [[end: {end}]]"},
        {"role": "tool", "content": [{"type": "text", "text": "booked"}]},
    ]


@pytest.mark.parametrize(
    ("use_reference", "reference", "end", "expected"),
    [
        (True, "booked", "booked", 1),
        (True, "nothing", "booked", 0),
        (False, None, "booked", 0),
        (False, "booked", "booked", 0),
        (False, None, "a table", 1),
    ],
)
def test_agent_goal_accuracy(judge_server, use_reference, reference, end, expected):
    sample = row(user_input=errand("a table", end), reference=reference)
    result = judged(
        make(judge_server, "agent_goal_accuracy", use_reference=use_reference), sample
    )
    assert result.scores == {"agent_goal_accuracy": expected}
    assert result.reason == f"goal: a table; end: {end}; compared"
    assert judge_server.posts == 2


# -- answer_accuracy


@pytest.mark.parametrize("rating", [1, 3, 5, -1])
def test_a_rating_that_was_not_offered_is_no_rating(judge_server, rating):
    sample = row(
        user_input="?", response=f"[[rating: {rating}]]", reference="[[rating: 4]]"
    )
    with pytest.raises((RowError, CallError), match="expected 0, 2 or 4") as raised:
        judged(make(judge_server, "answer_accuracy"), sample)
    assert raised.value.kind == "bad-answer"  # the other rating alone is no score
    assert judge_server.posts == 3


def test_a_new_version_of_a_prompt_asks_anew(judge_server, tmp_path, monkeypatch):
    sample = row(user_input="?", response="[[rating: 4]]", reference="[[rating: 4]]")

    def posts():
        judge_server.forget()
        judged(make(judge_server, "answer_accuracy"), sample, tmp_path / "j")
        return judge_server.posts

    assert [posts(), posts()] == [2, 0]
    keys = "pytest_evalmetrics.scoring.scorers.judge_scorers.AnswerAccuracySpec"
    monkeypatch.setattr(f"{keys}.version", "next")
    assert [posts(), posts()] == [2, 0]


# -- trajectory_evaluation

STEPS = [
    {"payload": {"event_type": "LLM_START", "name": "m"}},
    {
        "payload": {
            "event_type": "LLM_END",
            "name": "m",
            "data": {"input": "?", "output": "Act\n"},
        }
    },
    {
        "payload": {
            "event_type": "TOOL_END",
            "name": "search",
            "data": {"output": {"hits": [1]}},
        }
    },
]


def trajectory(judge_server):
    return make(
        judge_server,
        "system/trajectory-evaluation",
        trajectory_used_tools="search, clock",
        trajectory_custom_tools={"search": "Finds pages."},
    )


def agent_run(score, **more):
    return {
        "question": f'What? [[say: {{"reasoning": "why", "score": {score}}}]]',
        "generated_answer": "That.",
        "answer": "This.",
        "intermediate_steps": STEPS,
        **more,
    }


@pytest.mark.parametrize(
    ("grade", "expected"), [(1, 0), (2, 0.25), (3.0, 0.5), (4, 0.75), (5, 1)]
)
def test_trajectory_evaluation(judge_server, grade, expected):
    result = judged(trajectory(judge_server), row(**agent_run(grade, answer=None)))
    assert (result.scores, result.reason) == (
        {"trajectory_evaluation": expected},
        "why",
    )
    (asked,) = lines_asked(judge_server)
    assert asked.pop("question").startswith("What?")
    assert asked == {
        "tools": {"search": "Finds pages.", "clock": ""},
        "steps": [
            {"model": "m", "input": "?", "output": "Act\n"},
            {"tool": "search", "output": {"hits": [1]}},
        ],
        "final_answer": "That.",
    }


@pytest.mark.parametrize("grade", ["true", '"4"', "2.5", "0", "[3]"])
def test_what_is_no_grade(judge_server, grade):
    with pytest.raises(RowError, match="expected 1, 2, 3, 4 or 5"):
        judged(trajectory(judge_server), row(**agent_run(grade)))


@pytest.mark.parametrize("answer", ['{"reasoning": "no score"}', "[1]", "3"])
def test_an_answer_without_the_field(judge_server, answer):
    with pytest.raises((RowError, CallError), match="has no 'score'"):
        judged(
            trajectory(judge_server),
            row(**agent_run(3, question=f"? [[say: {answer} ]]")),
        )


# -- rows that can't be judged

TOPIC = {"user_input": "[[topics: a]]", "reference_topics": ["a"]}
ANSWER = {"user_input": "?", "response": "a", "reference": "b"}
BROKEN = {
    "topic_adherence": [
        (TOPIC, "user_input", None, "no-user_input"),
        (TOPIC, "reference_topics", None, "no-reference_topics"),
        (TOPIC, "reference_topics", [], "bad-reference_topics"),
        (TOPIC, "reference_topics", "a", "bad-reference_topics"),
        (TOPIC, "reference_topics", [1], "bad-reference_topics"),
        (TOPIC, "reference_topics", ["a", " "], "bad-reference_topics"),
        (TOPIC, "user_input", [], "bad-user_input"),
        (TOPIC, "user_input", 3, "bad-user_input"),
        (TOPIC, "user_input", ["a"], "bad-user_input"),
        (TOPIC, "user_input", [{"content": "a"}], "bad-user_input"),
        (TOPIC, "user_input", [{"type": ["ai"]}], "bad-user_input"),
        (TOPIC, "user_input", [{"type": "ai", "content": 3}], "bad-response"),
        (TOPIC, "user_input", [{"type": "ai", "tool_calls": [3]}], "bad-call"),
    ],
    "agent_goal_accuracy": [({"user_input": "a"}, "reference", None, "no-reference")],
    "answer_accuracy": [(ANSWER, key, None, f"no-{key}") for key in ANSWER],
    "trajectory": [
        (agent_run(3), "question", None, "no-question"),
        (agent_run(3), "generated_answer", None, "no-generated_answer"),
        (agent_run(3), "answer", 3, "bad-answer"),
        (agent_run(3), "intermediate_steps", None, "no-intermediate_steps"),
        *(
            (agent_run(3), "intermediate_steps", steps, "bad-intermediate_steps")
            for steps in (
                "x",
                [],
                ["x"],
                STEPS[:1],
                [{"payload": {"event_type": "TOOL_END"}}],
            )
        ),
    ],
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_row_that_can_not_be_judged_costs_nothing(judge_server, kind):
    scorer = (
        trajectory(judge_server) if kind == "trajectory" else make(judge_server, kind)
    )
    for item, key, value, error in BROKEN[kind]:
        with pytest.raises(RowError) as raised:
            judged(scorer, row(**{**item, key: value}))
        assert raised.value.kind == error
    assert judge_server.posts == 0
