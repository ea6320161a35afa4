"""Trajectories: a thought, an action and what came of it, step by step."""

import pytest

from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn
from pytest_evalmetrics.transcripts.conversation import Conversation
from pytest_evalmetrics.transcripts.steps import add_steps, is_step


def turns_of_steps(*steps):
    conversation = Conversation()
    add_steps(conversation, steps)
    return conversation.turns


@pytest.mark.parametrize(
    "value",
    [
        {"action": "ls"},
        {"observation": "a.py"},
        {"thought": "look"},
        {"step_number": 1, "tool_calls": []},
        {"source": "agent", "message": ""},
        {"source": "user", "message": ""},
        {"source": "system", "message": ""},
        [{"tool": "ls", "tool_input": "."}, "a.py"],
    ],
)
def test_a_step_is_known_by_its_keys(value):
    assert is_step(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "action",
        {},
        {"step_number": 1},
        {"tool_calls": []},
        {"source": "web", "message": ""},
        {"source": "agent"},
        [{"tool": "ls"}],
        [{"tool": "ls"}, "a", "b"],
        [{"name": "ls"}, "a"],
        ["ls", "a"],
    ],
)
def test_anything_else_is_no_step(value):
    assert not is_step(value)


@pytest.mark.parametrize("key", ["thought", "reasoning", "thinking", "log"])
def test_a_thought_is_reasoning(key):
    (turn,) = turns_of_steps({key: "look", "text": "a"})
    assert (turn.reasoning, turn.text) == ("look", "a")


@pytest.mark.parametrize("key", ["text", "message", "content"])
def test_what_a_step_says_is_text(key):
    (turn,) = turns_of_steps({key: "a"})
    assert turn == Turn("assistant", "a")


CALL = ToolCall("ls", '{"path":"src"}', "call_1")


@pytest.mark.parametrize(
    "step",
    [
        {"action": {"name": "ls", "args": {"path": "src"}}},
        {"tool": {"name": "ls", "args": {"path": "src"}}},
        {"action": "ls", "action_input": {"path": "src"}},
        {"tool": "ls", "tool_input": {"path": "src"}},
        {"action": "ls", "arguments": '{"path": "src"}'},
        {"action": "ls", "args": {"path": "src"}},
        {"tool_calls": [{"name": "ls", "args": {"path": "src"}}]},
    ],
)
@pytest.mark.parametrize(
    "key", ["observation", "observations", "result", "output", "tool_output"]
)
def test_an_action_is_a_call_and_what_came_of_it_its_result(step, key):
    assert turns_of_steps({**step, key: "a.py"}) == [
        Turn("assistant", calls=(CALL,)),
        Turn("tool", "a.py", result=ToolResult("call_1", "ls")),
    ]


def test_the_id_of_an_action_stays():
    first, _ = turns_of_steps(
        {"action": "ls", "args": {}, "call_id": "c1", "observation": "a.py"}
    )
    assert first.calls == (ToolCall("ls", "{}", "c1"),)
    first, _ = turns_of_steps({"action": "ls", "id": "c1", "observation": "a.py"})
    assert first.calls == (ToolCall("ls", "{}", "c1"),)


def test_an_action_without_an_observation_has_no_result():
    (turn,) = turns_of_steps({"action": "ls", "observation": None})
    assert turn.calls[0].name == "ls"


def test_a_step_that_failed_marks_its_call():
    call, result = turns_of_steps(
        {"action": "ls", "observation": "", "error": "timeout"}
    )
    assert call.calls[0].error == "timeout"
    assert result.result.error == "timeout"


@pytest.mark.parametrize(
    ("action", "name", "arguments"),
    [
        ("ls -la src", "ls", '{"command":"-la src"}'),
        ("ls", "ls", "{}"),
        (" ls src ", "ls", '{"command":"src"}'),
        ("edit\nfile", "edit", "{}"),
    ],
)
def test_a_command_of_a_shell_is_a_call_of_its_program(action, name, arguments):
    (turn,) = turns_of_steps({"action": action})
    assert turn.calls == (ToolCall(name, arguments, "call_1"),)


@pytest.mark.parametrize("action", ["", " ", None, 3, {}])
def test_a_step_without_an_action_has_no_call(action):
    (turn,) = turns_of_steps({"thought": "look", "action": action})
    assert turn.calls == ()


def test_of_several_calls_the_last_one_is_observed():
    calls = [{"name": "f", "id": "1"}, {"name": "g", "id": "2"}]
    first, result = turns_of_steps({"tool_calls": calls, "observation": "r"})
    assert [call.name for call in first.calls] == ["f", "g"]
    assert result.result == ToolResult("2", "g")


@pytest.mark.parametrize(
    "name", ["finish", "Final_Answer", "final answer", "submit_answer"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        {"answer": "42"},
        {"response": "42"},
        {"text": "42"},
        {"output": "42"},
        "42",
    ],
)
def test_the_action_that_ends_is_the_answer(name, arguments):
    step = {"action": name, "action_input": arguments, "observation": "done"}
    assert turns_of_steps(step) == [Turn("assistant", "42")]


def test_a_message_without_content_is_no_step_of_its_own():
    assert turns_of_steps({"role": "user"}) == []
    assert turns_of_steps({}) == [Turn("assistant")]


def test_pairs_of_langchain_are_steps():
    turns = turns_of_steps([{"tool": "ls", "tool_input": {"path": "src"}}, "a.py"])
    assert turns == [
        Turn("assistant", calls=(CALL,)),
        Turn("tool", "a.py", result=ToolResult("call_1", "ls")),
    ]


def test_what_is_no_step_is_left_out():
    assert turns_of_steps("text", None, ["a", "b"]) == []


# -- steps that name their source ------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "role"),
    [("agent", "assistant"), ("user", "user"), ("system", "system")],
)
def test_a_step_is_said_by_its_source(source, role):
    assert turns_of_steps({"source": source, "message": "a"}) == [Turn(role, "a")]


def test_a_step_of_an_agent_has_reasoning_calls_and_results():
    results = [
        {"source_call_id": "2", "content": "of g"},
        "no result",
        {"id": "1", "content": "of f", "is_error": True},
    ]
    turns = turns_of_steps(
        {
            "source": "agent",
            "message": "a",
            "reasoning_content": "look",
            "tool_calls": [{"name": "f", "id": "1"}, {"name": "g", "id": "2"}],
            "observation": {"results": results},
        }
    )
    assert turns == [
        Turn(
            "assistant",
            "a",
            reasoning="look",
            calls=(ToolCall("f", "{}", "1", "of f"), ToolCall("g", "{}", "2")),
        ),
        Turn("tool", "of g", result=ToolResult("2", "g")),
        Turn("tool", "of f", result=ToolResult("1", "f", "of f")),
    ]


@pytest.mark.parametrize("observation", [None, "r", {}, {"results": "r"}])
def test_a_step_of_an_agent_without_results_has_none(observation):
    step = {"source": "agent", "message": "a", "observation": observation}
    assert turns_of_steps(step) == [Turn("assistant", "a")]
