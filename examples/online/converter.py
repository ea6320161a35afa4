"""A small agent that converts units: it reads a question, calls a tool, and answers.

It has two faults that the benchmark finds: it does not know nautical miles, and every other
attempt rounds too early.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

# the size of each unit in base units
UNITS = {
    "m": 1.0,
    "km": 1000.0,
    "miles": 1609.344,
    "feet": 0.3048,
    "kg": 1.0,
    "g": 0.001,
    "pounds": 0.45359237,
    "ounces": 0.028349523125,
}
QUESTION = re.compile(r"How many (?P<to>[a-z ]+) are (?P<n>[\d.]+) (?P<of>[a-z ]+)\?")


def convert(n: float, of: str, to: str) -> float:
    """Convert a number; this is the agent's tool."""
    return n * UNITS[of] / UNITS[to]


async def answer(row: dict[str, Any], sample: int) -> dict[str, Any]:
    """Answer a row's question; `sample` is the attempt's number, from 0."""
    asked = QUESTION.match(row["question"])
    if asked is None:
        raise ValueError(f"I don't understand {row['question']!r}")
    await asyncio.sleep(0)  # a real agent would wait for its model here
    arguments = {"n": float(asked["n"]), "of": asked["of"], "to": asked["to"]}
    call = {"function": {"name": "convert", "arguments": json.dumps(arguments)}}
    try:
        found = convert(**arguments)
    except KeyError as unknown:
        text = f"I don't know {unknown}."
    else:
        text = f"{found:.0f}" if sample % 2 and found < 1 else f"{found:.3g}"
    usage = {"input_tokens": len(row["question"]) // 4, "output_tokens": 12 + len(text)}
    return {"output": text, "tool_calls": [call], "usage": usage}
