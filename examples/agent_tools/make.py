"""Write the conversations of this example: a travel agent that sometimes calls the wrong tools.

Each of 40 requests is a task with two attempts. An attempt may ask for the wrong day, omit a
call, or change the order of its calls. `conversations.jsonl` contains whole conversations with
one tool call at a time; `responses.jsonl` contains single answers with parallel calls, in the
form of an OpenAI-compatible endpoint. `before.jsonl` and `after.jsonl` are the same agent with
two system prompts: the trips that it books are as good, and it does other things to find them.
The seeds are fixed, so each run writes the same files.

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


# -- two prompts -----------------------------------------------------------------------------

PROMPTS = {
    "before": "Plan the trip, then look up what it needs.",
    "after": "Check what is available first, then plan the trip. Compare prices.",
}


def planned(task: int, prompt: str, chance: random.Random) -> list[dict[str, Any]]:
    """List the calls of an agent that plans and looks things up, as its prompt asks."""
    city, day = CITIES[task % len(CITIES)], 1 + task % 28
    plan = {"name": "plan_trip", "args": {"city": city, "day": day}}
    search = {"name": "search_flights", "args": {"to": city, "day": day, "seats": 1}}
    calls = [plan, search]
    if prompt == "after":
        if chance.random() < 0.6:
            calls.reverse()
        if chance.random() < 0.7:
            calls.append({"name": "compare_prices", "args": {"to": city, "day": day}})
    elif chance.random() < 0.1:
        calls.append({"name": "compare_prices", "args": {"to": city, "day": day}})
    calls.append({"name": "book_flight", "args": {"to": city, "day": day, "seats": 1}})
    return calls


def answer(task: int, chance: random.Random) -> str:
    """Write what the agent says at the end."""
    city, day = CITIES[task % len(CITIES)], 1 + task % 28
    greeting = chance.choice(("All set.", "Done.", "Your trip is booked."))
    end = chance.choice(("Have a good trip!", "Anything else?", "Enjoy your stay."))
    return f"{greeting} The flight to {city} leaves on the {day}. {end}"


def prompted(prompt: str, seed: int) -> list[dict[str, Any]]:
    """Write the rows of a run with one of the prompts; the rewards are those of both."""
    chance = random.Random(seed)
    luck = random.Random(44)
    rows = []
    for task in range(TASKS):
        for sample in range(SAMPLES):
            said = conversation(task, planned(task, prompt, chance))
            messages = [
                {"role": "system", "content": PROMPTS[prompt]},
                *said[:-1],
                {"type": "ai", "content": answer(task, chance)},
            ]
            rows.append(
                {
                    "_ng_task_index": task,
                    "_ng_rollout_index": sample,
                    "reward": float(luck.random() < 0.8),
                    "messages": messages,
                }
            )
    return rows


def main() -> None:
    """Write all files."""
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
    files = {
        "conversations": conversations,
        "responses": responses,
        "before": prompted("before", 1),
        "after": prompted("after", 2),
    }
    for name, rows in files.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (RUNS / f"{name}.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
