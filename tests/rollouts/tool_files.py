"""The outcome that files of tools should have, and helpers to write such files."""

import json
import math

import msgspec


class ToolFiles(msgspec.Struct, frozen=True):
    """Some files, how a benchmark reads them, and what comes of it."""

    files: dict  # name -> text, or a value that is written as JSON
    rollouts: str  # the value of `rollouts:`
    reward: str = "reward"
    rewards: dict | None = None  # task -> one a rollout, None where nobody judged
    refused: str | None = None  # words of the message, where the files are refused
    says: tuple = ()  # words of the notes


def lines(rows):
    """Write JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def text_of(content):
    return content if isinstance(content, str) else json.dumps(content)


# -- promptfoo -------------------------------------------------------------------------------


def part(score, metric=None, reason="Assertion passed", kind="contains", **more):
    """Make the result of one assertion."""
    assertion = {"type": kind, **({"metric": metric} if metric else {})}
    passed = score >= 0.5
    return {
        "pass": passed,
        "score": score,
        "reason": reason,
        "assertion": assertion,
        **more,
    }


def crashed(reason, metric=None, kind="python"):
    return part(0, metric=metric, reason=reason, kind=kind)


def promptfoo_row(task, parts, named=None, *, weights=None, case=None, **more):
    """Make a result as promptfoo records it; the weights are those of newer versions."""
    passed = all(each["pass"] for each in parts)
    grading = {"pass": passed, "componentResults": parts, "namedScores": named or {}}
    if weights is not None:
        grading["namedScoreWeights"] = weights
    return {
        "success": passed,
        "score": sum(each["score"] for each in parts) / len(parts),
        "namedScores": named or {},
        "provider": {"id": "echo"},
        "promptIdx": 0,
        "testCase": {"description": task, "vars": {"q": task}, **(case or {})},
        "gradingResult": grading,
        "failureReason": int(not passed),
        **more,
    }


def promptfoo(*rows):
    return {"evalId": "e", "results": {"version": 3, "prompts": [], "results": rows}}


# -- deepeval --------------------------------------------------------------------------------


def deepeval_case(name, *metrics):
    listed = [
        {"name": metric, "score": score, "success": score > 0.5 and score < math.inf}
        for metric, score in metrics
    ]
    success = all(metric["success"] for metric in listed)
    return {"name": name, "input": name, "success": success, "metricsData": listed}


# -- NeMo Gym --------------------------------------------------------------------------------


def gym_row(task, sample, reward, **more):
    question = [{"role": "user", "content": f"question {task}"}]
    return {
        "responses_create_params": {"input": question},
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": reward,
        **more,
    }
