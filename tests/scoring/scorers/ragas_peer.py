"""The same rows, scored by RAGAS; runs in an environment of its own.

    python ragas_peer.py URL < rows.json > scores.json

Rows and scores are lists by metric. Every call goes to the judge at URL.
"""

import asyncio
import json
import os
import sys
import time

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before it is imported

from openai import AsyncOpenAI
from ragas.llms.base import llm_factory
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from ragas.metrics.collections import (
    AgentGoalAccuracyWithoutReference,
    AgentGoalAccuracyWithReference,
    AnswerAccuracy,
    ToolCallAccuracy,
    TopicAdherence,
)

AT_ONCE = 16


def message(turn):
    match turn["type"]:
        case "human":
            return HumanMessage(content=turn["content"])
        case "tool":
            return ToolMessage(content=turn["content"])
    calls = [ToolCall(**call) for call in turn.get("tool_calls", ())]
    return AIMessage(content=turn["content"], tool_calls=calls)


def ready(row):
    sample = dict(row)
    if isinstance(row.get("user_input"), list):
        sample["user_input"] = [message(turn) for turn in row["user_input"]]
    if "reference_tool_calls" in row:
        sample["reference_tool_calls"] = [
            ToolCall(**c) for c in row["reference_tool_calls"]
        ]
    return sample


async def main(url, rows):
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    llm = llm_factory("judge", client=client)
    metrics = {
        "precision": TopicAdherence(llm=llm, mode="precision"),
        "recall": TopicAdherence(llm=llm, mode="recall"),
        "f1": TopicAdherence(llm=llm, mode="f1"),
        "goal": AgentGoalAccuracyWithReference(llm=llm),
        "goal-without": AgentGoalAccuracyWithoutReference(llm=llm),
        "answer": AnswerAccuracy(llm=llm),
        "tools": ToolCallAccuracy(),
        "tools-flexible": ToolCallAccuracy(strict_order=False),
    }
    scores, seconds = {}, {}
    for name, of_metric in rows.items():
        limit = asyncio.Semaphore(AT_ONCE)

        async def score(row, metric=metrics[name], limit=limit):
            async with limit:
                return (await metric.ascore(**ready(row))).value

        started = time.perf_counter()
        scores[name] = await asyncio.gather(*map(score, of_metric))
        seconds[name] = time.perf_counter() - started
    return {"scores": scores, "seconds": seconds}


if __name__ == "__main__":
    json.dump(asyncio.run(main(sys.argv[1], json.load(sys.stdin))), sys.stdout)
