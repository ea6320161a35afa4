"""Rows are answered by a real server, scored, reduced; what can go wrong is told."""

import json

import pytest
from scoring.generation.running import online, rows, run

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.reports.sentences.notes import note_texts


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


def test_each_row_is_answered_as_often_as_configured_and_paid_for_once(tmp_path, model):
    sums = [
        {"id": f"q{i}", "question": f"{i} + 1", "answer": str(i + 1)} for i in range(6)
    ]
    rows(tmp_path / "data.jsonl", sums[:5])
    evaluated, lines = run(tmp_path, online(model.url, samples=3))
    (agent,) = evaluated.result.agents
    assert (agent.tasks, agent.rollouts, mean(evaluated)) == (5, 15, 1.0)
    assert model.posts == 15  # identical rows each get a call of their own
    assert [(line["_ng_task_index"], line["_ng_rollout_index"]) for line in lines] == [
        (f"q{i}", s) for i in range(5) for s in range(3)
    ]
    body = model.seen()["bodies"][0]
    assert body == {"model": "m", "messages": [{"role": "user", "content": "0 + 1"}]}
    again, same = run(tmp_path, online(model.url, samples=3))
    assert same == lines
    assert numbers(again) == numbers(evaluated)
    rows(tmp_path / "data.jsonl", sums)
    evaluated, again = run(tmp_path, online(model.url, samples=3), "replay")
    assert kinds(evaluated) == {"not-in-journal": 3}
    assert again[:15] == lines
    assert model.posts == 15


def test_what_an_answer_took_is_a_score(tmp_path, model):
    ask(tmp_path, ["2 + 3", "mode=length one two three", "mode=nousage 1 + 1"])
    rest = "  thresholds: {mean/output_tokens: {max: 2}, mean/cost: {max: 1}}\n"
    evaluated, lines = run(tmp_path, online(model.url, rest))
    scores = columns(evaluated)
    assert scores["output_tokens"][:2] == [1, 3]
    assert scores["truncated"] == [0, 1, 0]
    assert scores["cost"][0] == pytest.approx((10 * 1 + 1 * 2) / 1e6)
    assert all(0 < s < 30 for s in scores["latency_s"])
    notes = "\n".join(note_texts(evaluated.result.notes))
    assert (
        "1 of 3 answers was cut off at the most tokens that the model may write"
        in notes
    )
    assert "1 of 3 answers don't say how many tokens they took" in notes
    verdicts = {name: check.verdict for name, check in checks(evaluated).items()}
    assert verdicts["mean/output_tokens"] is Verdict.PASS  # (1 + 3) / 2
    assert lines[1]["usage"]["output_tokens"] == 3
    assert lines[1]["truncated"] == 1


def test_answers_that_are_none_are_missing_with_their_reason(tmp_path, model):
    asked = [
        "1 + 1",
        *(f"mode={m}" for m in ("500", "empty", "refuse", "filter", "stream")),
    ]
    ask(tmp_path, asked, response="2")
    evaluated, lines = run(tmp_path, online(model.url))
    none = ("http-500", "no-choices", "refusal", "filtered", "content-type")
    assert kinds(evaluated) == dict.fromkeys(none, 1)
    (failures,) = evaluated.result.failed_rows
    assert (failures.scorer, failures.scores) == ("model", ("output_text",))
    assert checks(evaluated)["missing"].verdict is Verdict.FAIL
    assert evaluated.baseline is None
    # the data set's own, but for the first
    assert [line["response"] for line in lines] == ["2"] * 6
    assert lines[1]["_evalmetrics"]["failed"][0] == "http-500"
    posts = model.posts
    run(tmp_path, online(model.url))
    # 500 is tried 1 + 2 times; what the model said on purpose is kept, and not asked again
    assert model.posts - posts == 3 + 1 + 1


def test_failed_requests_can_be_left_out_loudly(tmp_path, model):
    ask(tmp_path, ["1 + 1", "1 + 2", "mode=500", "mode=refuse"])
    rest = "  params: {ignore_request_failure: true}\n  expect: {missing_reward: 0.0}\n"
    evaluated, lines = run(tmp_path, online(model.url, rest, samples=2))
    (agent,) = evaluated.result.agents
    assert (agent.tasks, agent.rollouts) == (3, 6)
    assert mean(evaluated) == pytest.approx(1 / 3)  # a refusal counts
    (note,) = [
        n
        for n in note_texts(evaluated.result.notes)
        if n.startswith("left out of every metric")
    ]
    assert "2 of 8 rollouts" in note
    assert "1 of 4 tasks has none left" in note
    assert checks(evaluated)["missing"].verdict is Verdict.PASS
    assert len(lines) == 8  # and every one is in the files


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


def test_rejudging_the_file_gives_the_same_numbers(tmp_path, model):
    asked = [
        "1 + 1",
        "mode=refuse",
        "mode=think 1 + 1",
        "1 + 2",
        "mode=500",
        "mode=length 2",
    ]
    # columns that the file needs for itself
    own = {"answer": "2", "truncated": "x", "usage": {"a": 1}}
    rows(
        tmp_path / "data.jsonl",
        [{"id": i, "question": q, **own} for i, q in enumerate(asked)],
    )
    scorers = """\
  scorers:
    - {type: exact_match, reference: "{{ answer }}", candidate: "{{ sample.output_text }}"}
    - {type: string-check, left_template: "{{ response }}{{ truncated }}{{ usage.a }}",
       operation: equals, right_template: "{{ answer }}x1"}
  reward: exact-match
  metrics: [mean_reward, mean/output_tokens, mean/string-check, mean/latency_s]
  expect: {missing_reward: exclude, max_missing: 50%}
"""
    head = online(
        model.url, '  params: {reasoning: {end_token: "</think>"}}\n', samples=2
    )
    text = head.replace(
        '  scorers: [{type: exact_match, reference: "{{ answer }}"}]\n', ""
    )
    evaluated, lines = run(
        tmp_path, text.replace("  metrics: [mean_reward]\n", scorers)
    )
    first = evaluated.result.agents[0]
    assert first.estimates["mean_reward"].value == pytest.approx(2 / 3)
    assert (
        json.loads((tmp_path / "rollouts.jsonl").read_text().splitlines()[0])
        == lines[0]
    )
    offline = f"benchmark:\n  name: a\n  rollouts: rollouts.jsonl\n  num_samples: 2\n{scorers}"
    again, _ = run(tmp_path, offline)
    second = again.result.agents[0]
    # a number in a column, such as the id, is a score of any file of rollouts
    assert {name: second.estimates[name] for name in first.estimates} == first.estimates
    assert set(second.estimates) - set(first.estimates) == {"mean/id"}
    then = [dict(entry) for entry in first.aggregate["group_level_metrics"]]
    now = [dict(entry) for entry in second.aggregate["group_level_metrics"]]
    assert [
        {key: entry[key] for key in task} for entry, task in zip(now, then, strict=True)
    ] == then
    assert kinds(again) == kinds(evaluated)


def test_scorers_that_ask_find_their_answers_again(tmp_path, model):
    # all rows and answers are alike: what tells the judge's calls apart is which answer they judge
    rows(
        tmp_path / "data.jsonl",
        [{"id": i, "question": "1 + 1", "answer": "2"} for i in range(6)],
    )
    scorer = f"""\
  scorers:
    - type: remote
      url: "{model.url}/chat/completions"
      body: {{messages: [{{role: user, content: "mode=count {{{{ sample.output_text }}}}"}}]}}
      scores: [{{name: n, parser: {{type: json, json_path: "$.choices[0].message.content"}}}}]
"""
    text = online(model.url, "  params: {parallelism: 3}\n", samples=2)
    text = text.replace(
        '  scorers: [{type: exact_match, reference: "{{ answer }}"}]\n', scorer
    )
    _, lines = run(tmp_path, text)
    scores = [line["n"] for line in lines]
    assert len(set(scores)) == 12  # one call for each
    assert model.posts == 24
    (tmp_path / "a.bench.yaml").unlink()
    _, again = run(tmp_path, text.replace("parallelism: 3", "parallelism: 16"))
    assert [line["n"] for line in again] == scores
    assert model.posts == 24
    assert (
        model.seen()["most_in_flight"] <= 3
    )  # of both together: they are one endpoint


def test_rows_that_are_alike_keep_each_its_own_answer(tmp_path, model):
    rows(
        tmp_path / "data.jsonl",
        [{"id": i, "question": "mode=count"} for i in range(12)],
    )
    text = online(model.url, "  params: {parallelism: 3}\n", samples=2)
    text = text.replace('"{{ answer }}"', '"1"')
    _, lines = run(tmp_path, text)
    answers = [line["response"] for line in lines]
    assert len(set(answers)) == 24
    for parallelism in (3, 64):
        _, again = run(
            tmp_path, text.replace("parallelism: 3", f"parallelism: {parallelism}")
        )
        assert [line["response"] for line in again] == answers
    assert model.posts == 24
