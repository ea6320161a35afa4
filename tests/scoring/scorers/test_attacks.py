"""What is judged can't leave its place in a prompt: attacks, against the prompts that were sent.

Each attack stands in every column that a judge is shown. The prompt has to be the one of a
harmless row, with another text in place of the harmless one, and nothing else.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ATTACKS = json.loads(
    (Path(__file__).parent / "attacks.json").read_text(encoding="utf-8")
)
SAFE = "harmless"
JUDGE = "judge_model: {url: URL, name: judge}"
SCORERS = f"""\
    - {{type: answer_accuracy, {JUDGE}}}
    - {{type: agent_goal_accuracy, {JUDGE}}}
    - {{type: topic_adherence, {JUDGE}}}
    - {{type: trajectory_evaluation, trajectory_used_tools: [a], {JUDGE}}}
    - {{type: llm-judge, {JUDGE}, scores: [{{name: by_default}}]}}
    - type: llm-judge
      {JUDGE}
      prompt_template: |
        Rate {{{{ item.response | untrusted }}}}
        by {{{{ reference | untrusted }}}}
        {{% for s in scores.values() %}}{{{{ s.name }}}} {{% endfor %}}
      scores: [{{name: with_filter}}]
    - type: llm-judge
      {JUDGE}
      prompt_template: "Rate {{{{ response }}}} by {{{{ reference | tojson }}}}"
      scores: [{{name: bare}}]
"""


def attacked(text):
    """Put a text where rows of all judges hold one."""
    step = {
        "event_type": "TOOL_END",
        "name": text,
        "data": {"input": text, "output": {"k": text}},
    }
    messages = [
        {"type": "human", "content": text},
        {
            "type": "ai",
            "content": text,
            "tool_calls": [{"name": text, "args": {"k": text}}],
        },
        {"type": "tool", "content": text},
    ]
    return {
        "user_input": messages,
        "response": text,
        "reference": text,
        "reference_topics": [f"t{text}"],
        "question": text,
        "generated_answer": text,
        "answer": text,
        "intermediate_steps": [{"payload": step}],
    }


def instance_of(schema):
    """Make the simplest answer that has the form that was asked for."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {key: instance_of(inner) for key, inner in schema["properties"].items()}
    if schema["type"] == "array":
        return [instance_of(schema["items"])]
    return {"string": "text", "boolean": True, "number": 1, "integer": 1}[
        schema["type"]
    ]


@pytest.fixture
def prompts():
    asked = []

    class Judge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # which keeps the connection
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body["messages"][-1]["content"])
            reply = instance_of(body["response_format"]["json_schema"]["schema"])
            message = {"role": "assistant", "content": json.dumps(reply)}
            answer = json.dumps({"choices": [{"message": message}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions", asked
    server.shutdown()
    server.server_close()


def replaced(value, text):
    """Put the attack in place of the harmless text, wherever a parsed line has it."""
    if isinstance(value, dict):
        return {
            replaced(key, text): replaced(item, text) for key, item in value.items()
        }
    if isinstance(value, list):
        return [replaced(item, text) for item in value]
    return value.replace(SAFE, text) if isinstance(value, str) else value


def quoted_in(line):
    """Cut a line of a prompt into its words and the JSON after them."""
    words, start, _ = line.partition(next((c for c in line if c in '{["'), "\0"))
    if not start or line.startswith("Answer with"):
        return [(line, None)]
    value, end = json.JSONDecoder().raw_decode(line, len(words))
    return [(words, value), *quoted_in(line[end:])]


def judged(project, url, texts):
    """Let every judge read these texts in all places of a row."""
    project.rows("data.jsonl", [attacked(text) for text in texts])
    scorers = SCORERS.replace("URL", f'"{url}"')
    project.write(
        "a.bench.yaml",
        "benchmark:\n  name: a\n  dataset: data.jsonl\n  params: {parallelism: 1}\n"
        f"  scorers:\n{scorers}  reward: nv_accuracy\n  metrics: [mean_reward]\n",
    )
    return project.run()


def is_guarded(prompt):
    """Tell a prompt that quotes the row from the bare one, which is there to compare."""
    return not prompt.startswith("Rate ") or "\nby " in prompt


def test_there_are_many_attacks():
    assert len(ATTACKS) >= 60


def test_a_prompt_with_a_bare_response_is_noted_once(project, prompts):
    url, _ = prompts
    result = judged(project, url, [SAFE])
    result.stdout.fnmatch_lines(
        [
            "note: *the prompt of llm-judge has response as written in the row*| untrusted*"
        ]
    )
    assert result.stdout.str().count("as written in the row") == 1


def test_no_attack_leaves_its_place(project, prompts):
    url, asked = prompts
    texts = [SAFE, *ATTACKS]
    judged(project, url, texts).assert_outcomes(passed=1)
    guarded = [prompt for prompt in asked if is_guarded(prompt)]
    calls_per_row = 2 + 2 + 3 + 1 + 1 + 1
    assert len(guarded) == calls_per_row * len(texts)
    prompts_of_safe_row = guarded[:calls_per_row]
    for place, prompt in enumerate(guarded):
        text = texts[place // calls_per_row]
        safe = prompts_of_safe_row[place % calls_per_row]
        lines = prompt.split("\n")
        assert lines == prompt.splitlines()  # no other character ends a line
        for line, harmless in zip(lines, safe.split("\n"), strict=True):
            expected = [
                (words, replaced(value, text)) for words, value in quoted_in(harmless)
            ]
            assert quoted_in(line) == expected, text
