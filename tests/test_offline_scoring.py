"""Benchmarks whose scorers call nothing, or functions of the user's own, by a real pytest."""

import json

import pytest

RIGHT = {"name": "book", "args": {"people": 2}}


def agent_row(*calls, **more):
    said = [{"type": "human", "content": "hi"}, {"type": "ai", "tool_calls": list(calls)}]
    return {"user_input": said, "reference_tool_calls": [RIGHT], **more}


def bench(project, scorers, text, source="dataset: data.jsonl"):
    lines = "".join(f"    - {line}\n" for line in scorers.splitlines())
    rest = "".join(f"  {line}\n" for line in text.splitlines())
    project.write("a.bench.yaml", f"benchmark:\n  name: a\n  {source}\n  scorers:\n{lines}{rest}")


def row_scores(project):
    text = (project.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_several_scorers_of_one_type_score_under_names_of_their_own(project):
    calls = [{"function": {"name": "book", "arguments": "{}"}}]
    said = {"content": "Paris", "tool_calls": calls}
    project.rows("data.jsonl", [{"reference": "Rome", "response": said, "calls": calls}])
    compare = 'operation: contains, left_template: "a b", right_template'
    number = 'operation: "==", left_template: "1", right_template'
    bench(
        project,
        'type: exact-match\n{type: exact-match, name: same, reference: "paris."}\n'
        f"{{type: string-check, {compare}: x}}\n"
        f"{{type: string-check, name: has_b, {compare}: b}}\n"
        f'{{type: number-check, {number}: "2"}}\n{{type: number-check, name: one, {number}: "1"}}\n'
        'type: f1\n{type: f1, name: f1_same, reference: "paris."}\n'
        'type: bleu\n{type: bleu, name: again, references: "Paris"}\n'
        'type: rouge\n{type: rouge, name: other, reference: "Paris"}\n'
        '{type: tool-calling, reference: "[]"}\n'
        '{type: tool-calling, name: mine, reference: "{{ calls }}"}',
        "reward: same",
    )
    project.run().assert_outcomes(passed=1)
    ((scores),) = (row["scores"] for row in row_scores(project))
    pairs = {
        "exact-match": "same",
        "string-check": "has_b",
        "number-check": "one",
        "f1": "f1_same",
        "rouge_L_score": "other_rouge_L_score",
        "function_name_and_args_accuracy": "mine_function_name_and_args_accuracy",
    }
    for own, named in pairs.items():
        assert (scores[own], scores[named]) == (0, 1), own
    assert scores["sentence"] < scores["again"]
    assert len(scores) == 22


def test_scores_with_a_dash_in_their_names_are_gated(project):
    rows = [{"reference": "Paris", "response": word} for word in ("paris!", "Rome")]
    project.rows("data.jsonl", rows)
    bench(
        project,
        "type: exact-match\ntype: f1\n"
        '{type: string-check, operation: contains, left_template: "{{response}}", '
        'right_template: "{{reference}}"}',
        "reward: f1\nmetrics: [mean_reward, mean_reward/exact-match, pass@1/string-check]\n"
        "thresholds:\n  mean_reward/exact-match: '>= 0.5'\n  mean/exact-match: '>= 0.5'\n"
        "  pass@1/string-check: '<= 0'",
    )
    result = project.run()
    result.assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert metrics["mean_reward/exact-match"] == metrics["mean/exact-match"] == 0.5
    assert metrics["pass@1/string-check"] == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("dataset: data.jsonl", "INCONCLUSIVE * the task 'a' stands in several rows, *be scored*"),
        ("dataset: data.jsonl\n  num_samples: 2", "PASS * 2 tasks, 4 rollouts"),
        ("dataset: data.jsonl\n  expect: {rollouts: any}", "PASS * 2 tasks, 4 rollouts"),
        ("dataset: {path: data.jsonl, fields: {task: turn}}", "PASS * 4 tasks, 4 rollouts"),
        ("rollouts: {path: data.jsonl, fields: {task: id}}", "PASS * 2 tasks, 4 rollouts"),
    ],
    ids=["undeclared", "num_samples", "any", "told-apart", "rollouts"],
)
def test_rows_of_one_id_are_not_taken_for_attempts_unasked(project, source, said):
    rows = [{"id": i, "task_id": i, "turn": f"{i}{n}"} for i in "ab" for n in range(2)]
    project.rows("data.jsonl", [{**row, "reference": "x", "response": "x"} for row in rows])
    bench(project, "type: exact-match", 'thresholds: {mean_reward: ">= 0.5"}', source)
    project.run().stdout.fnmatch_lines([said])


def test_a_malformed_row_fails_with_its_place_and_the_others_are_scored(project):
    project.rows("data.jsonl", [agent_row(RIGHT), agent_row("book"), agent_row(RIGHT)])
    bench(project, "type: tool_call_accuracy", "metrics: mean_reward")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*1 of 3 row*tool_call_accuracy (bad-call)*data.jsonl:2: user_input[[]1].tool_calls*"]
    )
    assert [bool(row["errors"]) for row in row_scores(project)] == [False, True, False]


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        ("python: mine:nothing", "*a.bench.yaml:5: the scorer 'mine:nothing' can't be found*"),
        ("python: nowhere:f", "*a.bench.yaml:5: the scorer 'nowhere:f' can't be imported*"),
        ("{python: 'mine:f', x: 1}", "*a.bench.yaml:5: 'mine:f' can't be called with a row and*"),
    ],
)
def test_a_function_that_is_none_is_told_with_its_line(project, scorer, said):
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.write("mine.py", "def f(item):\n    return 1\n")
    project.rows("data.jsonl", [{"response": "abc"}])
    bench(project, scorer, "metrics: mean_reward")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([said])


def test_what_another_tool_recorded_is_scored_and_its_failures_are_not(project):
    def result(name, **more):
        case = {"description": name, "vars": {"capital": "Rome"}}
        graded = {"success": False, "score": 0, "failureReason": 0}
        return {"testCase": case, "promptIdx": 0, "provider": "m", **graded, **more}

    rows = [
        result("right", response={"output": "Rome."}),
        result("wrong", response={"output": "Oslo"}),
        result("down", response={"output": "Rome"}, failureReason=2, error="model down"),
    ]
    body = {"evalId": "e", "results": {"version": 3, "results": rows}}
    project.write("out.json", json.dumps(body))
    right = '"{{ testCase.vars.capital }}"'
    scorer = f'type: exact-match, reference: {right}, candidate: "{{{{ response.output }}}}"'
    bench(project, f"{{{scorer}}}", "expect: {max_missing: 50%}", "rollouts: out.json")
    project.run().assert_outcomes(passed=1)
    found = {row["task"]: (row["scores"], row["errors"]) for row in row_scores(project)}
    assert found["right"][0]["exact-match"] == 1
    assert found["wrong"][0]["exact-match"] == 0
    assert found["down"][0]["exact-match"] is None
    ((error),) = found["down"][1]
    assert (error["kind"], error["reason"]) == ("error", "model down")
