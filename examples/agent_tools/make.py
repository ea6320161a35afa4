"""Write the conversations of this example: a travel agent that sometimes calls the wrong tools.

Each of 40 requests is a task with two attempts. An attempt may ask for the wrong day, omit a
call, or change the order of its calls. `conversations.jsonl` contains whole conversations with
one tool call at a time; `responses.jsonl` contains single answers with parallel calls, in the
form of an OpenAI-compatible endpoint. The seed is fixed, so each run writes the same files.

    python examples/agent_tools/make.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

TASKS, SAMPLES = 40, 2
CITIES = ("Paris", "Oslo", "Lima", "Kyoto", "Accra")
RUNS = Path(__file__).parent / "runs"


def wanted(task: int) -> list[dict[str, Any]]:
    """List the expected calls of a request: one, two or three."""
    city, day = CITIES[task % len(CITIES)], 1 + task % 28
    calls = [
        {"name": "get_weather", "args": {"city": city, "day": day}},
        {
            "name": "search_flights",
            "args": {"to": city, "day": day, "seats": 1 + task % 3},
        },
        {"name": "book_hotel", "args": {"city": city, "day": day, "nights": 2}},
    ]
    return calls[: 1 + task % len(calls)]


def made(calls: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """List the calls that the agent makes: mostly the expected ones."""
    found: list[dict[str, Any]] = json.loads(json.dumps(calls))
    luck = chance.random()
    if luck < 0.06:
        chance.choice(found)["args"]["day"] += 1
    elif luck < 0.09:
        found.pop()
    elif luck < 0.12:
        found.reverse()
    return found


def conversation(task: int, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write the agent's calls as a conversation, one message each."""
    city = CITIES[task % len(CITIES)]
    said: list[dict[str, Any]] = [
        {"type": "human", "content": f"I'd like to go to {city}, request {task}."}
    ]
    for call in calls:
        said.append({"type": "ai", "content": "One moment.", "tool_calls": [call]})
        said.append({"type": "tool", "content": "done"})
    return [*said, {"type": "ai", "content": "All set."}]


def openai(call: dict[str, Any], *, as_text: bool) -> dict[str, Any]:
    """Write a call in the form of OpenAI's API, where a model's arguments are text."""
    args = json.dumps(call["args"]) if as_text else call["args"]
    return {"type": "function", "function": {"name": call["name"], "arguments": args}}


def response(calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Write calls as a response of a chat completions endpoint."""
    tool_calls = [openai(call, as_text=True) for call in calls]
    return {"choices": [{"message": {"role": "assistant", "tool_calls": tool_calls}}]}


def main() -> None:
    """Write both files."""
    RUNS.mkdir(exist_ok=True)
    chance = random.Random(20)
    conversations, responses = [], []
    for task in range(TASKS):
        calls = wanted(task)
        for sample in range(SAMPLES):
            row = {
                "_ng_task_index": task,
                "_ng_rollout_index": sample,
                "calls": ("one", "two", "three")[len(calls) - 1],
            }
            said = conversation(task, made(calls, chance))
            conversations.append(
                {**row, "user_input": said, "reference_tool_calls": calls}
            )
            reference = [openai(call, as_text=False) for call in calls]
            answer = response(made(calls, chance))
            responses.append({**row, "tool_calls": reference, "response": answer})
    for name, rows in (("conversations", conversations), ("responses", responses)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (RUNS / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
