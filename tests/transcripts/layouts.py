"""One conversation in the layouts of many tools."""

import json

from pytest_evalmetrics.transcripts import ToolCall, ToolResult, Turn

FLIGHTS = {"to": "Oslo", "day": 3}
BOOK = {"flight": "SK 45"}

TURNS = (
    Turn("system", "Plan first."),
    Turn("user", "Fly me to Oslo on the 3rd."),
    Turn(
        "assistant",
        "",
        reasoning="I need the flights.",
        calls=(ToolCall("search_flights", '{"day":3,"to":"Oslo"}', "call_1"),),
    ),
    Turn("tool", "SK 45", result=ToolResult("call_1", "search_flights")),
    Turn(
        "assistant",
        "",
        reasoning="One flight.",
        calls=(
            ToolCall("book", '{"flight":"SK 45"}', "call_2", "Error: no seats left"),
        ),
    ),
    Turn(
        "tool",
        "Error: no seats left",
        result=ToolResult("call_2", "book", "Error: no seats left"),
    ),
    Turn("assistant", "SK 45 is full. Another day?"),
)


def _function(name, arguments, call_id):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


CHAT = [
    {"role": "system", "content": "Plan first."},
    {"role": "user", "content": "Fly me to Oslo on the 3rd."},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "I need the flights.",
        "tool_calls": [_function("search_flights", FLIGHTS, "call_1")],
    },
    {
        "role": "tool",
        "tool_call_id": "call_1",
        "name": "search_flights",
        "content": "SK 45",
    },
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "One flight.",
        "tool_calls": [_function("book", BOOK, "call_2")],
    },
    {
        "role": "tool",
        "tool_call_id": "call_2",
        "name": "book",
        "content": "Error: no seats left",
    },
    {"role": "assistant", "content": "SK 45 is full. Another day?"},
]

ITEMS = [
    {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "I need the flights."}],
    },
    {
        "type": "function_call",
        "call_id": "call_1",
        "name": "search_flights",
        "arguments": '{"to": "Oslo", "day": 3}',
    },
    {"type": "function_call_output", "call_id": "call_1", "output": "SK 45"},
    {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "One flight."}],
    },
    {
        "type": "function_call",
        "call_id": "call_2",
        "name": "book",
        "arguments": '{"flight": "SK 45"}',
    },
    {
        "type": "function_call_output",
        "call_id": "call_2",
        "output": "Error: no seats left",
    },
    {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "SK 45 is full. Another day?"}],
    },
]

ANTHROPIC = [
    {"role": "user", "content": "Fly me to Oslo on the 3rd."},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I need the flights.", "signature": "x"},
            {
                "type": "tool_use",
                "id": "call_1",
                "name": "search_flights",
                "input": FLIGHTS,
            },
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [{"type": "text", "text": "SK 45"}],
            }
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "One flight."},
            {"type": "tool_use", "id": "call_2", "name": "book", "input": BOOK},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_2",
                "is_error": True,
                "content": "Error: no seats left",
            }
        ],
    },
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "SK 45 is full. Another day?"}],
    },
]


def _inspect_call(name, arguments, call_id):
    return {"id": call_id, "type": "function", "function": name, "arguments": arguments}


INSPECT = [
    {"id": "m1", "role": "system", "content": "attachment://abc"},
    {"id": "m2", "role": "user", "content": "Fly me to Oslo on the 3rd."},
    {
        "id": "m3",
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "I need the flights."}],
        "tool_calls": [_inspect_call("search_flights", FLIGHTS, "call_1")],
    },
    {
        "id": "m4",
        "role": "tool",
        "tool_call_id": "call_1",
        "function": "search_flights",
        "content": "SK 45",
    },
    {
        "id": "m5",
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "One flight."}],
        "tool_calls": [_inspect_call("book", BOOK, "call_2")],
    },
    {
        "id": "m6",
        "role": "tool",
        "tool_call_id": "call_2",
        "function": "book",
        "content": "",
        "error": {"type": "unknown", "message": "Error: no seats left"},
    },
    {"id": "m7", "role": "assistant", "content": "SK 45 is full. Another day?"},
]


def _otel_message(role, *parts):
    return {"role": role, "parts": list(parts)}


def _otel_call(name, arguments, call_id):
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def _otel_result(call_id, response):
    return {"type": "tool_call_response", "id": call_id, "response": response}


def _said(content):
    return {"type": "text", "content": content}


def _thought(content):
    return {"type": "reasoning", "content": content}


OTEL_ASKED = [_otel_message("user", _said("Fly me to Oslo on the 3rd."))]
OTEL_FIRST = _otel_message(
    "assistant",
    _thought("I need the flights."),
    _otel_call("search_flights", FLIGHTS, "call_1"),
)
OTEL_SECOND = _otel_message(
    "assistant", _thought("One flight."), _otel_call("book", BOOK, "call_2")
)
OTEL_LAST = _otel_message("assistant", _said("SK 45 is full. Another day?"))
_OTEL_INPUTS = [
    OTEL_ASKED,
    [*OTEL_ASKED, OTEL_FIRST, _otel_message("tool", _otel_result("call_1", "SK 45"))],
    [
        *OTEL_ASKED,
        OTEL_FIRST,
        _otel_message("tool", _otel_result("call_1", "SK 45")),
        OTEL_SECOND,
        _otel_message("tool", _otel_result("call_2", "Error: no seats left")),
    ],
]


def _otel_span(number, asked, answered):
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system_instructions": json.dumps([_said("Plan first.")])
        if number == 0
        else "[]",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([answered]),
    }
    return {
        "name": "chat",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "attributes": [
            {"key": key, "value": {"stringValue": value}}
            for key, value in attributes.items()
        ],
    }


OTEL_SPANS = [
    _otel_span(
        0, [_otel_message("system", _said("Plan first.")), *OTEL_ASKED], OTEL_FIRST
    )
]
OTEL_SPANS[0]["attributes"] = [
    pair
    for pair in OTEL_SPANS[0]["attributes"]
    if pair["key"] != "gen_ai.system_instructions"
]
_SYSTEM = _otel_message("system", _said("Plan first."))
OTEL_SPANS += [
    _otel_span(1, [_SYSTEM, *_OTEL_INPUTS[1]], OTEL_SECOND),
    _otel_span(2, [_SYSTEM, *_OTEL_INPUTS[2]], OTEL_LAST),
]


def _event(name, **body):
    return {"name": f"gen_ai.{name}", "attributes": {}, "body": body}


OTEL_EVENTS = [
    _event("system.message", content="Plan first."),
    _event("user.message", content="Fly me to Oslo on the 3rd."),
    _event(
        "assistant.message",
        reasoning_content="I need the flights.",
        tool_calls=[_function("search_flights", FLIGHTS, "call_1")],
    ),
    _event("tool.message", id="call_1", content="SK 45"),
    _event(
        "assistant.message",
        reasoning_content="One flight.",
        tool_calls=[_function("book", BOOK, "call_2")],
    ),
    _event("tool.message", id="call_2", content="Error: no seats left"),
    _event(
        "choice",
        index=0,
        message={"role": "assistant", "content": "SK 45 is full. Another day?"},
    ),
]


def _flat_openinference():
    flat = {"openinference.span.kind": "LLM"}
    for at, message in enumerate(CHAT[:-1]):
        prefix = f"llm.input_messages.{at}.message"
        flat[f"{prefix}.role"] = message["role"]
        if message.get("content"):
            flat[f"{prefix}.content"] = message["content"]
        if message.get("reasoning_content"):
            flat[f"{prefix}.reasoning_content"] = message["reasoning_content"]
        if "tool_call_id" in message:
            flat[f"{prefix}.tool_call_id"] = message["tool_call_id"]
        for number, call in enumerate(message.get("tool_calls", ())):
            called = f"{prefix}.tool_calls.{number}.tool_call"
            flat[f"{called}.id"] = call["id"]
            flat[f"{called}.function.name"] = call["function"]["name"]
            flat[f"{called}.function.arguments"] = call["function"]["arguments"]
    flat["llm.output_messages.0.message.role"] = "assistant"
    flat["llm.output_messages.0.message.content"] = CHAT[-1]["content"]
    return flat


STEPS = [
    {
        "thought": "I need the flights.",
        "action": "search_flights",
        "action_input": FLIGHTS,
        "observation": "SK 45",
    },
    {
        "thought": "One flight.",
        "action": "book",
        "action_input": BOOK,
        "observation": "Error: no seats left",
    },
    {
        "thought": "",
        "action": "finish",
        "action_input": {"answer": "SK 45 is full. Another day?"},
    },
]

ATIF = [
    {"step_id": 1, "source": "system", "message": "Plan first."},
    {"step_id": 2, "source": "user", "message": "Fly me to Oslo on the 3rd."},
    {
        "step_id": 3,
        "source": "agent",
        "message": "",
        "reasoning_content": "I need the flights.",
        "tool_calls": [
            {
                "tool_call_id": "call_1",
                "function_name": "search_flights",
                "arguments": FLIGHTS,
            }
        ],
        "observation": {"results": [{"source_call_id": "call_1", "content": "SK 45"}]},
    },
    {
        "step_id": 4,
        "source": "agent",
        "message": "",
        "reasoning_content": "One flight.",
        "tool_calls": [
            {"tool_call_id": "call_2", "function_name": "book", "arguments": BOOK}
        ],
        "observation": {
            "results": [{"source_call_id": "call_2", "content": "Error: no seats left"}]
        },
    },
    {"step_id": 5, "source": "agent", "message": "SK 45 is full. Another day?"},
]

#: The same conversation as a row of each tool.
ROWS = {
    "openai chat": {"messages": CHAT},
    "openai chat, prompt and response": {
        "messages": CHAT[:-1],
        "response": {"choices": [{"message": CHAT[-1]}]},
    },
    "openai responses": {
        "input": CHAT[:2],
        "response": {"object": "response", "output": ITEMS},
    },
    "nemo gym": {
        "responses_create_params": {
            "instructions": "Plan first.",
            "input": [{"role": "user", "content": "Fly me to Oslo on the 3rd."}],
        },
        "response": {"output": ITEMS, "status": None},
        "reward": 1.0,
    },
    "anthropic": {"system": "Plan first.", "messages": ANTHROPIC},
    "inspect_ai": {
        "id": "a",
        "epoch": 1,
        "input": "Fly me to Oslo on the 3rd.",
        "messages": INSPECT,
        "output": {"model": "m", "choices": [{"message": INSPECT[-1]}]},
        "attachments": {"abc": "Plan first."},
    },
    "tau-bench": {"task_id": 0, "reward": 1.0, "traj": CHAT, "trial": 0},
    "verifiers": {"prompt": CHAT[:2], "completion": CHAT[2:], "reward": 1.0},
    "verifiers of 2025": {
        "prompt": CHAT[:2],
        "completion": [
            {
                **message,
                "tool_calls": [json.dumps(call) for call in message["tool_calls"]],
            }
            if "tool_calls" in message
            else message
            for message in CHAT[2:]
        ],
    },
    "otel spans": {"trace_id": "t", "spans": OTEL_SPANS},
    "otel document": {
        "resourceSpans": [
            {
                "resource": {"attributes": []},
                "scopeSpans": [{"scope": {"name": "a"}, "spans": OTEL_SPANS}],
            }
        ]
    },
    "otel events": {
        "name": "chat",
        "attributes": {"gen_ai.system": "openai"},
        "events": OTEL_EVENTS,
    },
    "openinference": {"name": "llm", "attributes": _flat_openinference()},
    "langfuse": {"input": CHAT[:2], "output": {"messages": CHAT}},
    "langfuse, the answer alone": {
        "input": {"messages": CHAT[:-1]},
        "output": CHAT[-1],
    },
    "langfuse, observations": {
        "id": "t",
        "input": {"question": "?"},
        "observations": [
            {"type": "SPAN", "name": "agent", "startTime": "2026-01-01T00:00:00Z"},
            {
                "type": "GENERATION",
                "startTime": "2026-01-01T00:00:01Z",
                "input": CHAT[:2],
                "output": CHAT[2],
            },
            {
                "type": "GENERATION",
                "startTime": "2026-01-01T00:00:02Z",
                "input": CHAT[:4],
                "output": CHAT[4],
            },
            {
                "type": "GENERATION",
                "startTime": "2026-01-01T00:00:03Z",
                "input": {"messages": CHAT[:6]},
                "output": "SK 45 is full. Another day?",
            },
        ],
    },
    "langsmith": {
        "inputs": {"messages": [CHAT[:-1]]},
        "outputs": {
            "generations": [[{"message": {"type": "ai", "data": CHAT[-1]}}]],
        },
    },
    "mlflow": {
        "info": {"trace_id": "t"},
        "data": {
            "spans": [
                {
                    "name": "chat",
                    "attributes": {
                        "mlflow.spanInputs": json.dumps({"messages": CHAT[:-1]}),
                        "mlflow.spanOutputs": json.dumps(
                            {"choices": [{"message": CHAT[-1]}]}
                        ),
                    },
                }
            ]
        },
    },
    "openai batch": {
        "messages": CHAT[:-1],
        "response": {"status_code": 200, "body": {"choices": [{"message": CHAT[-1]}]}},
    },
    "codex": {
        "transcript": [
            {"type": "response_item", "payload": {"type": "message", **message}}
            if "tool_calls" not in message and message["role"] != "tool"
            else {"type": "response_item", "payload": message}
            for message in CHAT
        ]
    },
    "verifiers 0.4": {
        "version": 3,
        "nodes": [
            {"parent": number - 1, "message": message}
            for number, message in enumerate(CHAT)
        ],
    },
    "atif": {"trajectory": {"schema_version": "ATIF-v1.2", "steps": ATIF}},
}
