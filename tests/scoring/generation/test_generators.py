"""Generators by themselves: what a model is asked, and the line of what can't be made."""

import json
import math

import pytest
from pydantic import TypeAdapter
from scoring.transport.fakes import Client, ok

from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.ext import BenchmarkSpec, RowError, Terms
from pytest_evalmetrics.scoring.chat.row_calls import Calls
from pytest_evalmetrics.scoring.generation import make_generator
from pytest_evalmetrics.scoring.transport import Occurrences

LINES = {"model": 5, "target": 6, "depends": 7}
ANSWER = {
    "choices": [{"message": {"content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000},
}


def line_of(key, *_rest):
    return LINES[key]


def generator_of(folder, **keys):
    whole = {
        "name": "x",
        "dataset": "d",
        "scorers": [{"type": "exact-match", "reference": "x"}],
        **keys,
    }
    spec = TypeAdapter(BenchmarkSpec).validate_json(json.dumps(whole))
    return make_generator(spec, Terms(), line_of, folder)


def model_of(folder, *, price=None, **keys):
    model = {"url": "http://h/v1", "name": "m", **({"price": price} if price else {})}
    return generator_of(folder, model=model, **{"prompt_template": "{{ q }}", **keys})


def generate(generator, row, *answers):
    """Answer a row; give what was sent, and what was generated."""
    with Client() as client:
        client(*answers)
        calls = Calls(client.transport, 0, Occurrences(), "test")
        generated = client.run(generator.generate(row, 0, calls))
        return json.loads(client.sender.bodies[0]), generated


@pytest.mark.parametrize(
    ("prompt", "said"),
    [("{{ q }}", "2"), ("{{ item.q }}", "2"), ("{{ sample | length }}", "0")],
)
def test_a_prompt_is_filled_in_with_the_row(tmp_path, prompt, said):
    generator = model_of(tmp_path, prompt_template=prompt)
    body, _ = generate(generator, {"q": "2"}, ok(ANSWER))
    assert body["messages"] == [{"role": "user", "content": said}]


def test_tools_and_the_form_of_an_answer_are_filled_in_too(tmp_path):
    tool = {"type": "function", "function": {"name": "{{ item.q }}"}}
    form = {"type": "{{ item.form }}"}
    generator = model_of(tmp_path, tools=[tool], response_format=form)
    body, _ = generate(generator, {"q": "2", "form": "json_object"}, ok(ANSWER))
    assert body["tools"][0]["function"]["name"] == "2"
    assert body["response_format"] == {"type": "json_object"}


def test_an_answer_of_a_priced_model_has_a_cost(tmp_path):
    generator = model_of(tmp_path, price={"input": 2, "output": 10})
    _, generated = generate(generator, {"q": "2"}, ok(ANSWER))
    assert generated.cost == 2 * 1 + 10 * 0.5
    assert "cost" in generator.scores
    assert generator.unpriced_names == ()


def test_a_model_without_a_price_has_no_cost_and_is_named(tmp_path):
    generator = model_of(tmp_path)
    _, generated = generate(generator, {"q": "2"}, ok(ANSWER))
    assert math.isnan(generated.cost)
    assert "cost" not in generator.scores
    assert generator.unpriced_names == ("m",)


@pytest.mark.parametrize(
    ("message", "finish", "kind", "finished"),
    [
        ({"content": "no", "refusal": "I can't"}, "stop", "refusal", ""),
        ({"content": ""}, "length", "cut-off", "length"),
    ],
)
def test_an_answer_that_is_none_on_purpose_is_kept(
    tmp_path, message, finish, kind, finished
):
    choice = {"message": message, "finish_reason": finish}
    body = {"choices": [choice], "usage": ANSWER["usage"]}
    _, generated = generate(model_of(tmp_path), {"q": "2"}, ok(body))
    assert generated.failure.kind == kind
    assert generated.reply.finish_reason == finished
    assert generated.reply.tokens.prompt == 1_000_000


def test_an_answer_that_is_none_by_accident_is_an_error(tmp_path):
    with pytest.raises(RowError) as raised:
        generate(model_of(tmp_path), {"q": "2"}, ok({"choices": []}))
    assert raised.value.kind == "no-choices"


def test_a_body_of_another_api_is_kept_as_chat_completions_write_it(tmp_path):
    body = {
        "type": "message",
        "id": "1",
        "model": "m-2026",
        "content": [{"type": "text", "text": "4"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 3},
    }
    _, generated = generate(model_of(tmp_path), {"q": "2"}, ok(body))
    assert generated.response == {
        "id": "1",
        "model": "m-2026",
        "usage": {"input_tokens": 5, "output_tokens": 3},
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "4"},
                "finish_reason": "stop",
            }
        ],
    }


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {
                "model": {
                    "url": "http://h/v1",
                    "name": "m",
                    "api_key_secret": "GONE_17",
                },
                "prompt_template": "q",
            },
            5,
        ),
        ({"target": "no_such_module_x:f"}, 6),
    ],
)
def test_what_can_not_be_made_is_reported_with_its_line(tmp_path, keys, line):
    with pytest.raises(EvalMetricsError) as raised:
        generator_of(tmp_path, **keys)
    assert raised.value.line == line


def test_files_that_answers_depend_on_have_to_be_there(tmp_path):
    with pytest.raises(
        DataError, match=r"depends: no file matches 'prompts/\*.txt'"
    ) as raised:
        model_of(tmp_path, depends=["prompts/*.txt"])
    assert raised.value.line == 7


def test_answers_of_a_model_are_kept_while_the_files_they_depend_on_are_the_same(
    tmp_path,
):
    prompt = tmp_path / "prompt.txt"

    def asked(text):
        prompt.write_text(text)
        generator = model_of(tmp_path, depends=["prompt.txt"])
        with Client(tmp_path / "journal.log") as client:
            client(ok(ANSWER), mode="normal")
            calls = Calls(client.transport, 0, Occurrences(), "test")
            client.run(generator.generate({"q": "2"}, 0, calls))
            return len(client.sender.bodies)

    assert [asked("a"), asked("a"), asked("b")] == [1, 0, 1]


def test_a_generator_says_what_it_is(tmp_path):
    assert model_of(tmp_path).type == "model"
    assert generator_of(tmp_path, target="json:dumps").type == "target"


def test_an_answer_has_the_seconds_that_it_took(tmp_path):
    def slow(_request):
        client.time.now += 2.5
        return ok(ANSWER)

    with Client() as client:
        client(slow)
        calls = Calls(client.transport, 0, Occurrences(), "test")
        generated = client.run(model_of(tmp_path).generate({"q": "2"}, 0, calls))
    assert generated.latency_s == 2.5


def test_a_benchmark_of_recorded_rollouts_generates_nothing(tmp_path):
    assert generator_of(tmp_path) is None
