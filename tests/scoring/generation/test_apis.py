"""Models that speak other APIs than chat completions."""

import json

import pytest
from scoring.generation.running import rows, run

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks up.",
        "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
    },
}
TALK = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "The sun?"},
    {
        "role": "assistant",
        "content": "Wait.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "look_up", "arguments": '{"of": "sun"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "It shines."},
    {"role": "user", "content": "2 + 3"},
]
BENCH = """\
benchmark:
  name: a
  dataset: data.jsonl
  model: {{url: "{url}", name: m, format: {api}, price: {{input: 1, output: 2}}{more}}}
  prompt_template: "{{{{ question }}}}"
  params: {{inference: {{temperature: 0, max_tokens: 50}}}}
{rest}  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward, mean/output_tokens, mean/cost]
"""
TOOLS = f"  tools: {json.dumps([TOOL])}\n"


def evaluated(folder, model, api, question, *, rest="", more=""):
    rows(folder / "data.jsonl", [{"question": question, "answer": "5"}])
    text = BENCH.format(url=model.url, api=api, rest=rest, more=more)
    return run(folder, text)


def value(result, name):
    return result.result.agents[0].estimates[name].value


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_an_answer_its_tokens_and_its_cost_are_read(tmp_path, model, api):
    result, _ = evaluated(tmp_path, model, api, "2 + 3")
    assert value(result, "mean_reward") == 1
    tokens = 1 if api == "chat" else 2
    assert value(result, "mean/output_tokens") == tokens
    assert value(result, "mean/cost") == pytest.approx((10 + 2 * tokens) / 1e6)


def test_the_responses_api_is_asked_in_its_own_words(tmp_path, model):
    evaluated(tmp_path, model, "responses", TALK, rest=TOOLS)
    (body,) = model.seen()["bodies"]
    call = {"call_id": "c1", "name": "look_up", "arguments": '{"of": "sun"}'}
    assert body == {
        "model": "m",
        "input": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "The sun?"},
            {"role": "assistant", "content": "Wait."},
            {"type": "function_call", **call},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": "It shines.",
            },
            {"role": "user", "content": "2 + 3"},
        ],
        "temperature": 0,
        "max_output_tokens": 50,
        "tools": [{"type": "function", **TOOL["function"]}],
    }


def test_anthropics_messages_are_asked_in_their_own_words(tmp_path, model, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a-key-of-mine-17")
    key = ", api_key_secret: my-key"
    evaluated(tmp_path, model, "messages", TALK, rest=TOOLS, more=key)
    seen = model.seen()
    assert seen["keys"] == ["a-key-of-mine-17"]
    text = {"type": "text", "text": "Wait."}
    call = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"of": "sun"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "It shines."}
    assert seen["bodies"] == [
        {
            "model": "m",
            "max_tokens": 50,
            "system": "Be short.",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "The sun?"}]},
                {"role": "assistant", "content": [text, call]},
                {
                    "role": "user",
                    "content": [result, {"type": "text", "text": "2 + 3"}],
                },
            ],
            "temperature": 0,
            "tools": [
                {
                    "name": "look_up",
                    "description": "Looks up.",
                    "input_schema": TOOL["function"]["parameters"],
                }
            ],
        }
    ]


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_tool_calls_are_those_of_chat_completions(tmp_path, model, api):
    _, lines = evaluated(tmp_path, model, api, "mode=tools sun", rest=TOOLS)
    sample = lines[0]["_evalmetrics"]["sample"]
    function = {"name": "look_up", "arguments": '{"of": "sun"}'}
    call = {"id": "t", "type": "function", "function": function}
    assert sample["tool_calls"] == [call]
    (choice,) = sample["response"]["choices"]
    assert choice["message"]["tool_calls"] == [call]


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_a_body_is_kept_as_chat_completions_write_it(tmp_path, model, api):
    _, lines = evaluated(tmp_path, model, api, "2 + 3")
    kept = lines[0]["_evalmetrics"]["sample"]["response"]
    assert list(kept) == ["id", "model", "usage", "choices"]
    assert kept["model"] == "m"
    assert kept["choices"][0]["message"]["content"] == "5"


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_reasoning_is_no_answer(tmp_path, model, api):
    result, lines = evaluated(tmp_path, model, api, "2 + 3")
    assert lines[0]["_evalmetrics"]["sample"]["reasoning"] == "hm"
    result, _ = evaluated(tmp_path, model, api, "mode=thoughts 2 + 3")
    (failures,) = result.result.failed_rows
    assert dict(failures.kinds) == {"no-answer": 1}


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_an_answer_that_was_cut_off_is_marked(tmp_path, model, api):
    _, lines = evaluated(tmp_path, model, api, "mode=length 2 + 3")
    assert lines[0]["_evalmetrics"]["sample"]["finish_reason"] == "length"


def test_a_judge_of_the_responses_api_gets_a_schema(tmp_path, model):
    rows(tmp_path / "data.jsonl", [{"q": '{"quality": 1}'}])
    text = f"""\
benchmark:
  name: a
  dataset: data.jsonl
  scorers:
    - type: llm-judge
      model: {{url: "{model.url}/responses", name: m}}
      prompt_template: "{{{{ item.q }}}}"
      scores: [{{name: quality, minimum: 1, maximum: 5}}]
  metrics: [mean_reward]
"""
    result, _ = run(tmp_path, text)
    assert value(result, "mean_reward") == 1
    (body,) = model.seen()["bodies"]
    schema = body["text"]["format"]
    assert (schema["type"], schema["name"]) == ("json_schema", "llm_judge")
    assert schema["schema"]["required"] == ["quality"]


LITELLM = """\
benchmark:
  name: a
  dataset: data.jsonl
  model: {{type: litellm, url: "{url}", name: {name}, api_key_secret: my-key}}
  prompt_template: "{{{{ question }}}}"
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward, mean/output_tokens, mean/cost]
"""


@pytest.fixture
def by_litellm(tmp_path, model, monkeypatch):
    pytest.importorskip("litellm", reason="LiteLLM is not installed here")
    monkeypatch.setenv("MY_KEY", "a-key-of-mine-17")

    def evaluate(question, mode="normal"):
        rows(tmp_path / "data.jsonl", [{"question": question, "answer": "5"}])
        text = LITELLM.format(url=model.url, name="openai/gpt-4o")
        return run(tmp_path, text, mode)

    return evaluate


# LiteLLM's own, which pytest's settings here would raise
noisy = pytest.mark.filterwarnings("ignore")


@noisy
def test_litellm_asks_any_model_and_its_cost_is_known(by_litellm, model):
    result, _ = by_litellm("2 + 3")
    assert value(result, "mean_reward") == 1
    assert value(result, "mean/output_tokens") == 1
    # 2.5 and 10 USD per million tokens
    assert value(result, "mean/cost") == pytest.approx((10 * 2.5 + 1 * 10) / 1e6)
    assert model.seen()["keys"] == ["Bearer a-key-of-mine-17"]


@noisy
def test_the_journal_answers_for_litellm(by_litellm, model):
    by_litellm("2 + 3")
    result, _ = by_litellm("2 + 3", mode="replay")
    assert value(result, "mean_reward") == 1
    assert model.posts == 1


@noisy
def test_a_refused_key_stops_a_litellm_benchmark(by_litellm, model):
    result, _ = by_litellm("mode=401")
    (check,) = result.result.checks
    assert "no such key" in check.reasons[0].words
    assert model.posts == 1
