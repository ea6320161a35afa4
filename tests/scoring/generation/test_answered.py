"""Rows are answered by a real server, scored, reduced; what can go wrong is told."""

import pytest
from scoring.generation.running import online, rows, run

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.reports.sentences.notes import note_texts

# the scorer of the benchmarks that `online` writes
EXACT_MATCH = '  scorers: [{type: exact_match, reference: "{{ answer }}"}]\n'


def kinds(evaluated):
    return {
        kind: n
        for failures in evaluated.result.failed_rows
        for kind, n in failures.kinds.items()
    }


def columns(evaluated):
    table = evaluated.row_scores.table
    return {name: column.tolist() for name, column in table.scores.items()}


def numbers(evaluated):
    (agent,) = evaluated.result.agents
    groups = [dict(entry) for entry in agent.aggregate["group_level_metrics"]]
    return agent.estimates, {**agent.aggregate, "group_level_metrics": groups}


def checks(evaluated):
    return {check.name: check for check in evaluated.result.checks}


def ask(path, questions, answer="2", **more):
    rows(
        path / "data.jsonl",
        [{"question": q, "answer": answer, **more} for q in questions],
    )


def mean(evaluated):
    return evaluated.result.agents[0].estimates["mean_reward"].value


SUMS = [{"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(6)]


@pytest.fixture
def five_sums(tmp_path, model):
    """Five questions, three rollouts each, answered once: the result and its rollouts."""
    rows(tmp_path / "data.jsonl", SUMS[:5])
    return run(tmp_path, online(model.url, samples=3))


def test_each_row_is_answered_as_often_as_configured(five_sums, model):
    evaluated, lines = five_sums
    (agent,) = evaluated.result.agents
    assert (agent.tasks, agent.rollouts, mean(evaluated)) == (5, 15, 1.0)
    # identical requests each get a call of their own
    assert model.posts == 15
    answered = [(line["_ng_task_index"], line["_ng_rollout_index"]) for line in lines]
    assert answered[:4] == [("q0", 0), ("q0", 1), ("q0", 2), ("q1", 0)]
    assert answered[14] == ("q4", 2)


@pytest.mark.usefixtures("five_sums")
def test_a_request_is_the_model_and_the_filled_prompt(model):
    body = model.seen()["bodies"][0]
    assert body == {"model": "m", "messages": [{"role": "user", "content": "0 + 1"}]}


def test_a_second_run_is_paid_for_by_the_first(five_sums, tmp_path, model):
    evaluated, lines = five_sums
    again, same = run(tmp_path, online(model.url, samples=3))
    assert same == lines
    assert numbers(again) == numbers(evaluated)
    assert model.posts == 15


def test_a_replay_misses_what_was_never_asked(five_sums, tmp_path, model):
    _, lines = five_sums
    rows(tmp_path / "data.jsonl", SUMS)
    evaluated, again = run(tmp_path, online(model.url, samples=3), "replay")
    assert kinds(evaluated) == {"not-in-journal": 3}
    assert again[:15] == lines
    assert model.posts == 15


@pytest.fixture(scope="module")
def three_usages(tmp_path_factory, model_process):
    """An answer of one token, one of three that is cut off, and one that names no usage."""
    folder = tmp_path_factory.mktemp("answers")
    ask(folder, ["2 + 3", "mode=length one two three", "mode=nousage 1 + 1"])
    rest = "  thresholds: {mean/output_tokens: {max: 2}, mean/cost: {max: 1}}\n"
    return run(folder, online(model_process.url, rest))


def test_what_an_answer_took_is_a_score(three_usages):
    evaluated, _ = three_usages
    scores = columns(evaluated)
    assert scores["output_tokens"][:2] == [1, 3]
    assert scores["truncated"] == [0, 1, 0]
    # 10 tokens read, at 1 a million, and one written, at 2
    assert scores["cost"][0] == pytest.approx(12e-6)
    assert all(0 < seconds < 30 for seconds in scores["latency_s"])


def test_what_an_answer_took_is_gated(three_usages):
    evaluated, _ = three_usages
    check = checks(evaluated)["mean/output_tokens"]
    # the mean of 1 and 3
    assert (check.verdict, check.value) == (Verdict.PASS, 2)


def test_what_an_answer_took_is_in_the_rollouts_file(three_usages):
    _, lines = three_usages
    assert lines[1]["usage"]["output_tokens"] == 3
    assert lines[1]["truncated"] == 1


def test_answers_that_are_cut_off_or_name_no_usage_are_noted(three_usages):
    evaluated, _ = three_usages
    notes = "\n".join(note_texts(evaluated.result.notes))
    assert (
        "1 of 3 answers was cut off at the most tokens that the model may write"
        in notes
    )
    assert "1 of 3 answers don't say how many tokens they took" in notes


NO_ANSWERS = {
    "mode=500": "http-500",
    "mode=empty": "no-choices",
    "mode=refuse": "refusal",
    "mode=filter": "filtered",
    "mode=stream": "content-type",
}


@pytest.fixture(scope="module")
def one_answer(tmp_path_factory, model_process):
    """A question that is answered, and five that are not; each row has an answer of its own."""
    folder = tmp_path_factory.mktemp("answers")
    ask(folder, ["1 + 1", *NO_ANSWERS], response="2")
    evaluated, lines = run(folder, online(model_process.url))
    return folder, evaluated, lines


def test_answers_that_are_none_are_missing_with_their_reason(one_answer):
    _, evaluated, lines = one_answer
    assert kinds(evaluated) == dict.fromkeys(NO_ANSWERS.values(), 1)
    (failures,) = evaluated.result.failed_rows
    assert (failures.scorer, failures.scores) == ("model", ("output_text",))
    failed = [line["_evalmetrics"].get("failed", [None])[0] for line in lines]
    assert failed == [None, *NO_ANSWERS.values()]


def test_a_run_without_all_answers_fails_and_is_no_baseline(one_answer):
    _, evaluated, _ = one_answer
    assert checks(evaluated)["missing"].verdict is Verdict.FAIL
    assert evaluated.baseline is None


def test_a_row_that_is_not_answered_keeps_what_it_said(one_answer):
    _, _, lines = one_answer
    assert [line["response"] for line in lines] == ["2"] * 6


def test_only_what_may_be_answered_later_is_asked_again(one_answer, model):
    folder, _, _ = one_answer
    run(folder, online(model.url))
    # the 500 is tried 1 + 2 times, the empty and the streamed answer once: what the model
    # said on purpose is kept
    assert model.posts == 3 + 1 + 1


@pytest.fixture(scope="module")
def left_out(tmp_path_factory, model_process):
    """Two right and wrong answers, a failed request and a refusal, twice each."""
    folder = tmp_path_factory.mktemp("answers")
    ask(folder, ["1 + 1", "1 + 2", "mode=500", "mode=refuse"])
    rest = "  params: {ignore_request_failure: true}\n  expect: {missing_reward: 0.0}\n"
    return run(folder, online(model_process.url, rest, samples=2))


def test_failed_requests_can_be_left_out_and_refusals_count(left_out):
    evaluated, _ = left_out
    (agent,) = evaluated.result.agents
    assert (agent.tasks, agent.rollouts) == (3, 6)
    assert mean(evaluated) == pytest.approx(1 / 3)
    assert checks(evaluated)["missing"].verdict is Verdict.PASS


def test_what_is_left_out_is_said_and_stays_in_the_rollouts_file(left_out):
    evaluated, lines = left_out
    notes = note_texts(evaluated.result.notes)
    (note,) = [n for n in notes if n.startswith("left out of every metric")]
    assert "2 of 8 rollouts" in note
    assert "1 of 4 tasks has none left" in note
    assert len(lines) == 8


def test_reasoning_is_cut_and_kept_apart(tmp_path, model):
    ask(tmp_path, ["mode=think 1 + 1", "mode=apart 1 + 1", "mode=cut", "1 + 1"])
    rest = '  params: {reasoning: {end_token: "</think>"}, system_prompt: think}\n'
    evaluated, lines = run(tmp_path, online(model.url, rest))
    samples = [line["_evalmetrics"].get("sample", {}) for line in lines]
    assert [s.get("reasoning") for s in samples] == [
        "let me see</think>no",
        "let me see",
        None,
        "",
    ]
    assert [line.get("response") for line in lines] == ["2", "2", None, "2"]
    assert kinds(evaluated) == {"cut-off": 1}
    assert columns(evaluated)["truncated"] == [0, 0, 1, 0]
    assert columns(evaluated)["output_tokens"][2] == 4  # it was paid for


def test_tools_and_forms_are_passed_on(tmp_path, model):
    tool = {
        "type": "function",
        "function": {"name": "look_up", "parameters": {"type": "object"}},
    }
    ask(tmp_path, ["mode=tools x"], answer="", tools=[tool])
    rest = '  tools: "{{ tools }}"\n  response_format: {type: json_object}\n'
    evaluated, lines = run(tmp_path, online(model.url, rest))
    assert mean(evaluated) == 1.0
    (body,) = model.seen()["bodies"]
    assert (body["tools"], body["response_format"]) == ([tool], {"type": "json_object"})
    assert (
        lines[0]["_evalmetrics"]["sample"]["tool_calls"][0]["function"]["name"]
        == "look_up"
    )


RESCORED = """\
  scorers:
    - {type: exact_match, reference: "{{ answer }}", candidate: "{{ sample.output_text }}"}
    - {type: string-check, left_template: "{{ response }}{{ truncated }}{{ usage.a }}",
       operation: equals, right_template: "{{ answer }}x1"}
  reward: exact-match
  metrics: [mean_reward, mean/output_tokens, mean/string-check, mean/latency_s]
  expect: {missing_reward: exclude, max_missing: 50%}
"""
# a right answer, a refusal, reasoning, a wrong answer, a failure, and one that is cut off
ASKED = [
    "1 + 1",
    "mode=refuse",
    "mode=think 1 + 1",
    "1 + 2",
    "mode=500",
    "mode=length 2",
]


@pytest.fixture(scope="module")
def rescored(tmp_path_factory, model_process):
    """The results of a run that asked a model, and of one that scored its rollouts file."""
    folder = tmp_path_factory.mktemp("answers")
    # the data set's own columns have the names of what the file says of an answer
    own = {"answer": "2", "truncated": "x", "usage": {"a": 1}}
    data = [{"id": i, "question": text, **own} for i, text in enumerate(ASKED)]
    rows(folder / "data.jsonl", data)
    reasoning = '  params: {reasoning: {end_token: "</think>"}}\n'
    text = online(model_process.url, reasoning, samples=2)
    text = text.replace(EXACT_MATCH, "").replace("  metrics: [mean_reward]\n", RESCORED)
    asked, _ = run(folder, text)
    offline = "benchmark:\n  name: a\n  rollouts: rollouts.jsonl\n  num_samples: 2\n"
    scored, _ = run(folder, offline + RESCORED)
    return asked, scored


def test_rejudging_the_file_gives_the_same_estimates(rescored):
    asked, scored = (evaluated.result.agents[0].estimates for evaluated in rescored)
    assert asked["mean_reward"].value == pytest.approx(2 / 3)
    assert {name: scored[name] for name in asked} == asked
    # a number in a column, such as the id, is a score of any file of rollouts
    assert set(scored) - set(asked) == {"mean/id"}


def test_rejudging_the_file_gives_the_same_tasks(rescored):
    asked, scored = (
        evaluated.result.agents[0].aggregate["group_level_metrics"]
        for evaluated in rescored
    )
    assert len(scored) == len(asked)
    for entry, same in zip(asked, scored, strict=True):
        assert {key: same[key] for key in entry} == entry


def test_rejudging_the_file_gives_the_same_failures(rescored):
    asked, scored = rescored
    assert kinds(asked) == {"refusal": 2, "http-500": 2, "cut-off": 2}
    assert kinds(scored) == kinds(asked)


@pytest.fixture
def counted(tmp_path, model):
    """A benchmark whose rows, and so its answers, are alike: a judge numbers its calls."""
    alike = [{"id": i, "question": "1 + 1", "answer": "2"} for i in range(6)]
    rows(tmp_path / "data.jsonl", alike)
    scorer = f"""\
  scorers:
    - type: remote
      url: "{model.url}/chat/completions"
      body: {{messages: [{{role: user, content: "mode=count {{{{ sample.output_text }}}}"}}]}}
      scores: [{{name: n, parser: {{type: json, json_path: "$.choices[0].message.content"}}}}]
"""
    text = online(model.url, "  params: {parallelism: 3}\n", samples=2)
    return text.replace(EXACT_MATCH, scorer)


def test_a_judge_is_asked_once_for_each_of_answers_that_are_alike(
    counted, tmp_path, model
):
    _, lines = run(tmp_path, counted)
    assert len({line["n"] for line in lines}) == 12
    # twelve of the model, twelve of the judge
    assert model.posts == 24
    # one endpoint: its limit holds for both together
    assert model.seen()["most_in_flight"] <= 3


def test_answers_of_judges_are_found_again_in_another_order(counted, tmp_path, model):
    _, lines = run(tmp_path, counted)
    _, again = run(tmp_path, counted.replace("parallelism: 3", "parallelism: 16"))
    assert [line["n"] for line in again] == [line["n"] for line in lines]
    assert model.posts == 24


@pytest.mark.parametrize("parallelism", [3, 64])
def test_rows_that_are_alike_keep_each_its_own_answer(tmp_path, model, parallelism):
    rows(
        tmp_path / "data.jsonl",
        [{"id": i, "question": "mode=count"} for i in range(12)],
    )
    text = online(model.url, "  params: {parallelism: 3}\n", samples=2)
    text = text.replace('"{{ answer }}"', '"1"')
    _, lines = run(tmp_path, text)
    answers = [line["response"] for line in lines]
    assert len(set(answers)) == 24
    other = text.replace("parallelism: 3", f"parallelism: {parallelism}")
    _, again = run(tmp_path, other)
    assert [line["response"] for line in again] == answers
    assert model.posts == 24
