"""Benchmarks whose scorers call nothing, or functions of the user's own, by a real pytest."""

import json


def bench(project, scorers, text, source="dataset: data.jsonl"):
    lines = "".join(f"    - {line}\n" for line in scorers.splitlines())
    rest = "".join(f"  {line}\n" for line in text.splitlines())
    project.write(
        "a.bench.yaml", f"benchmark:\n  name: a\n  {source}\n  scorers:\n{lines}{rest}"
    )


def row_scores(project):
    text = (project.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_several_scorers_of_one_type_score_under_names_of_their_own(project):
    calls = [{"function": {"name": "book", "arguments": "{}"}}]
    response = {"content": "Paris", "tool_calls": calls}
    project.rows(
        "data.jsonl", [{"reference": "Rome", "response": response, "calls": calls}]
    )
    contains = 'operation: contains, left_template: "a b", right_template'
    equals = 'operation: "==", left_template: "1", right_template'
    scorers = {  # by type: keys of the one without a name, and of the one with a name
        "exact-match": ("", 'name: same, reference: "paris."'),
        "string-check": (f"{contains}: x", f"name: has_b, {contains}: b"),
        "number-check": (f'{equals}: "2"', f'name: one, {equals}: "1"'),
        "f1": ("", 'name: f1_same, reference: "paris."'),
        "bleu": ("", 'name: again, references: "Paris"'),
        "tool-calling": ('reference: "[]"', 'name: mine, reference: "{{ calls }}"'),
    }
    bench(
        project,
        "\n".join(
            f"{{type: {t}, {keys}}}" for t, both in scorers.items() for keys in both
        ),
        "reward: same\nmetrics: [mean_reward/exact-match, pass@1/string-check]\n"
        "thresholds: {mean_reward/exact-match: '<= 0', pass@1/string-check: '<= 0'}",
    )
    project.run().assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert metrics["mean_reward/exact-match"] == metrics["mean/exact-match"] == 0
    ((scores),) = (row["scores"] for row in row_scores(project))
    pairs = {
        "exact-match": "same",
        "string-check": "has_b",
        "number-check": "one",
        "f1": "f1_same",
        "function_name_and_args_accuracy": "mine_function_name_and_args_accuracy",
    }
    for own, named in pairs.items():
        assert (scores[own], scores[named]) == (0, 1), own
    assert scores["sentence"] < scores["again"]
    assert len(scores) == 14


TOOL_ROW = {
    "id": "a",
    "calls": [{"name": "search", "args": {"q": "sun"}}],
    "response": {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "moon"}'}}],
    },
}


def test_tool_calling_without_a_reward_gates_its_stricter_score(project):
    project.rows("data.jsonl", [TOOL_ROW])
    scorer = '{type: tool-calling, reference: "{{ calls }}"}'
    bench(project, scorer, "thresholds: {mean_reward: '<= 0'}")
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["note: *the reward is function_name_and_args_accuracy, the stricter score *"]
    )
    metrics = project.aggregate()[0]["agent_metrics"]
    assert metrics["mean/function_name_accuracy"] == 1
    assert metrics["mean_reward"] == 0


def test_a_reward_that_is_named_is_gated(project):
    project.rows("data.jsonl", [TOOL_ROW])
    scorer = '{type: tool-calling, reference: "{{ calls }}"}'
    more = "reward: function_name_accuracy\nthresholds: {mean_reward: '>= 1'}"
    bench(project, scorer, more)
    result = project.run()
    result.assert_outcomes(passed=1)
    assert "stricter" not in result.stdout.str()


def test_the_summary_of_a_score_says_of_which_type_it_is(project):
    project.rows("data.jsonl", [TOOL_ROW])
    bench(project, '{type: tool-calling, reference: "{{ calls }}"}', "")
    project.run()
    (agent,) = project.report()["benchmarks"][0]["agents"]
    assert [score["score_type"] for score in agent["scores"]] == ["range", "range"]


def test_rows_of_one_id_are_not_taken_for_attempts_unasked(project):
    rows = [{"id": i, "task_id": i, "turn": f"{i}{n}"} for i in "ab" for n in range(2)]
    project.rows(
        "data.jsonl", [{**row, "reference": "x", "response": "x"} for row in rows]
    )
    project.write(
        "a.bench.yaml",
        """
defaults: {scorers: [{type: exact-match}], thresholds: {mean_reward: ">= 0.5"}}
benchmarks:
  - {name: unclear, dataset: data.jsonl}
  - {name: samples, dataset: data.jsonl, num_samples: 2}
  - {name: any, dataset: data.jsonl, expect: {rollouts: any}}
  - {name: apart, dataset: {path: data.jsonl, fields: {task: turn}}}
  - {name: recorded, rollouts: {path: data.jsonl, fields: {task: id}}}
""",
    )
    project.run().stdout.fnmatch_lines(
        [
            "*the task 'a' occurs in several rows, *be scored*",
            "INCONCLUSIVE *::unclear *",
            "PASS *::any * 2 tasks, 4 rollouts",
            "PASS *::apart * 4 tasks, 4 rollouts",
            "PASS *::recorded * 2 tasks, 4 rollouts",
            "PASS *::samples * 2 tasks, 4 rollouts",
        ]
    )


def test_what_another_tool_recorded_is_scored_and_its_failures_are_not(project):
    def result(name, **more):
        case = {"description": name, "vars": {"capital": "Rome"}}
        graded = {"success": False, "score": 0, "failureReason": 0}
        return {"testCase": case, "promptIdx": 0, "provider": "m", **graded, **more}

    rows = [
        result("right", response={"output": "Rome."}),
        result("wrong", response={"output": "Oslo"}),
        result(
            "down", response={"output": "Rome"}, failureReason=2, error="model down"
        ),
    ]
    body = {"evalId": "e", "results": {"version": 3, "results": rows}}
    project.write("out.json", json.dumps(body))
    right = '"{{ testCase.vars.capital }}"'
    scorer = (
        f'type: exact-match, reference: {right}, candidate: "{{{{ response.output }}}}"'
    )
    bench(project, f"{{{scorer}}}", "expect: {max_missing: 50%}", "rollouts: out.json")
    project.run().assert_outcomes(passed=1)
    scored = {row["task"]: row for row in row_scores(project)}
    scores = {task: row["scores"]["exact-match"] for task, row in scored.items()}
    assert scores == {"right": 1, "wrong": 0, "down": None}
    (error,) = scored["down"]["errors"]
    assert (error["kind"], error["reason"]) == ("error", "model down")
