"""What is taken from a result of promptfoo: the whole rollout, and which scores nobody judged."""

import pytest
from rollouts.loaded import load_with
from rollouts.tool_files import lines

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_notes import OtherNumberStated
from pytest_evalmetrics.rollouts.loaders.promptfoo import Promptfoo
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import Rollout


def row_of(*parts, named=None, case=None, **more):
    return {
        "success": True,
        "score": 1,
        "namedScores": named or {},
        "provider": {"id": "openai:x"},
        "testCase": {"description": "add", "vars": {"q": "1"}, **(case or {})},
        "gradingResult": {"componentResults": list(parts)},
        "failureReason": 0,
        **more,
    }


def document(*rows, version=3, stats=None, **metadata):
    results = {"version": version, "results": list(rows), "stats": stats or {}}
    return {"evalId": "e", "results": results, "metadata": metadata}


def load(folder, *rows, **more):
    folder.json(document(*rows, **more), "out.json")
    return load_with(Promptfoo, folder, "out.json")


def only(folder, row):
    (rollout,) = load(folder, row).rollouts
    return rollout


def refused(folder, results):
    folder.json({"evalId": "e", "results": results}, "out.json")
    with pytest.raises(DataError) as caught:
        load_with(Promptfoo, folder, "out.json")
    return caught.value


# -- a result ----------------------------------------------------------------------------------


def test_a_result_of_promptfoo(folder):
    row = row_of(
        named={"tone": 0.5},
        case={
            "assert": [
                {"type": "contains", "value": "4", "metric": "tone"},
                {"type": "llm-rubric", "threshold": 0.5},
            ],
            "options": {"provider": "judge", "rubricPrompt": "Grade"},
            "threshold": 0.75,
        },
        id="r1",
        testIdx=3,
        latencyMs=500,
        cost=0.25,
        tokenUsage={"prompt": 5, "completion": 2, "total": 7, "cached": 1},
        gradingResult={"namedScoreWeights": {"tone": 1}, "componentResults": []},
    )
    loaded = load(folder, row, promptfooVersion="0.121")
    assert loaded.rollouts == [
        Rollout(
            record=row,
            name="out.json, result 0",
            task="add",
            agent="openai:x",
            scores={"success": True, "score": 1, "tone": 0.5},
            usage={
                "latency_s": 0.5,
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "cached_tokens": 1,
                "cost_usd": 0.25,
            },
            started=3,
            content={"q": "1"},
            record_id="r1",
        )
    ]
    names = ("success", "score", "tone")
    assert loaded.directions == dict.fromkeys(names, "higher")
    shared = {
        ("version", "0.121"),
        ("grader", "judge"),
        ("rubric", "Grade"),
        ("pass_at", "0.75"),
        *(("scores", name) for name in names),
    }
    contains = {("value", "4"), ("metric", "tone"), *shared}
    rubric = {("threshold", "0.5"), *shared}
    assert loaded.ruler == {
        *(("promptfoo contains", key, value) for key, value in contains),
        *(("promptfoo llm-rubric", key, value) for key, value in rubric),
    }
    assert not loaded.positional


def test_the_value_of_an_assertion_of_promptfoo_counts_where_most_have_it(folder):
    rows = [
        row_of(case={"assert": [{"type": "equals", "value": value}]})
        for value in ("a", "a", "b")
    ]
    values = {entry for entry in load(folder, *rows).ruler if entry[1] == "value"}
    assert values == {("promptfoo equals", "value", "a")}


def test_lines_of_promptfoo(folder):
    folder.write(lines([row_of(), row_of()]), "out.jsonl")
    loaded = load_with(Promptfoo, folder, "out.jsonl")
    names = [rollout.name for rollout in loaded.rollouts]
    assert names == ["out.jsonl:1", "out.jsonl:2"]


@pytest.mark.parametrize(
    ("test", "task"),
    [
        ({"description": "add", "vars": {"q": "1"}}, "add"),
        ({"vars": {"q": "1"}}, '{"q": "1"}'),
        ({"description": "", "vars": "q"}, "q"),
    ],
)
def test_the_task_of_a_result_of_promptfoo(folder, test, task):
    assert only(folder, row_of(testCase=test)).task == task


def test_the_task_of_a_result_of_an_early_promptfoo(folder):
    row = row_of(testCase=None, description="old", vars={"q": "2"})
    rollout = only(folder, row)
    assert (rollout.task, rollout.content) == ("old", {"q": "2"})


def test_tests_of_promptfoo_of_one_name_are_told_apart_by_their_variables(folder):
    rows = [row_of(case={"vars": {"q": value}}) for value in (1, 2)]
    tasks = [rollout.task for rollout in load(folder, *rows).rollouts]
    assert tasks == ['add [{"q": 1}]', 'add [{"q": 2}]']


@pytest.mark.parametrize(
    ("names", "positional"),
    [(["Row #1", "row #2"], True), (["add", "Row #2"], True), (["add", "Row"], False)],
)
def test_rows_of_a_table_of_promptfoo_are_positions(folder, names, positional):
    rows = [row_of(case={"description": name}) for name in names]
    assert load(folder, *rows).positional is positional


@pytest.mark.parametrize(
    ("provider", "agent"),
    [
        ({"id": "openai:x", "label": "mine"}, "mine"),
        ({"id": "openai:x", "label": ""}, "openai:x"),
        ("echo", "echo"),
        ({}, None),
    ],
)
def test_the_agent_of_a_result_of_promptfoo(folder, provider, agent):
    assert only(folder, row_of(provider=provider)).agent == agent


@pytest.mark.parametrize(
    ("prompts", "agents"),
    [
        (
            [{"prompt": {"label": "p0"}, "promptIdx": 5}, {"prompt": {"label": "p1"}}],
            ["openai:x, p0", "openai:x, p1"],
        ),
        ([{"promptIdx": 0}, {"promptIdx": 1}], ["openai:x, 0", "openai:x, 1"]),
        (
            [{"prompt": {"raw": "a"}}, {"prompt": {"raw": "b"}}],
            ["openai:x, a", "openai:x, b"],
        ),
        ([{"prompt": {"label": "p0"}}] * 2, ["openai:x", "openai:x"]),
        ([{"promptIdx": 0, "provider": None}, {"promptIdx": 1}], [None, "openai:x, 1"]),
    ],
)
def test_the_agent_of_promptfoo_with_several_prompts(folder, prompts, agents):
    rows = [row_of(**prompt) for prompt in prompts]
    assert [rollout.agent for rollout in load(folder, *rows).rollouts] == agents


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({"tokenUsage": {"total": 7}}, {"total_tokens": 7}),
        (
            {"tokenUsage": {"prompt": 0, "completion": 0, "total": 7, "cached": 7}},
            {"total_tokens": 7, "cached_tokens": 7},
        ),
        ({"tokenUsage": {"prompt": 0, "completion": 0, "total": 0, "cached": 3}}, {}),
        ({"tokenUsage": {"prompt": 3, "completion": 0}}, {"prompt_tokens": 3}),
        ({"tokenUsage": {"completion": 3}}, {"completion_tokens": 3}),
        (
            {"response": {"tokenUsage": {"total": 5}, "cost": 0.5}},
            {"total_tokens": 5, "cost_usd": 0.5},
        ),
        ({"cost": 0.25, "response": {"cost": 0.5}}, {"cost_usd": 0.25}),
    ],
)
def test_the_usage_of_a_result_of_promptfoo(folder, more, usage):
    stated = only(folder, row_of(**more)).usage
    assert {name: amount for name, amount in stated.items() if amount} == usage


# -- the file ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3, 4])
def test_results_of_promptfoo_of_a_known_version(folder, version):
    assert len(load(folder, row_of(), version=version).rollouts) == 1


def test_results_of_promptfoo_may_lack_a_version(folder):
    folder.json({"results": {"results": [row_of()]}}, "out.json")
    assert len(load_with(Promptfoo, folder, "out.json").rollouts) == 1


def test_results_of_promptfoo_of_another_version_are_refused(folder):
    error = refused(folder, {"version": 5, "results": []})
    assert error.message == (
        "the results of promptfoo are of version 5; known are 2, 3, 4"
    )
    assert error.hint == "update pytest-evalmetrics, or write results.jsonl"


@pytest.mark.parametrize("results", [None, {}, [row_of(), 5]])
def test_results_of_promptfoo_without_a_list_are_refused(folder, results):
    error = refused(folder, {"version": 3, "results": results})
    assert error.message == (
        "this looks like the results of promptfoo, and has no list of results"
    )


def counts(folder, **stats):
    passed = row_of()
    failed = row_of(success=False, failureReason=1)
    broken = row_of(success=False, failureReason=2)
    rows = (passed, passed, passed, failed, failed, broken)
    notes = load(folder, *rows, stats=stats).notes
    return [(note.claim, note.stated, note.computed) for note in notes]


def test_the_counts_of_promptfoo_are_compared(folder):
    assert counts(folder, successes=3, failures=2, errors=1) == []
    assert counts(folder, successes=4, failures=1, errors=0) == [
        ("successes in its stats", 4, 3),
        ("failures in its stats", 1, 2),
        ("errors in its stats", 0, 1),
    ]


def test_an_early_promptfoo_counts_errors_as_failures(folder):
    assert counts(folder, successes=3, failures=3) == []


def test_the_counts_of_promptfoo_are_those_of_the_file(folder):
    (note,) = load(folder, row_of(), stats={"successes": 2}).notes
    assert note == OtherNumberStated(
        file="out.json", claim="successes in its stats", stated=2, computed=1
    )


# -- results that nobody judged ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "error"),
    [
        pytest.param(
            {"failureReason": 2, "error": "model down"},
            RolloutError("error", "model down"),
            id="an error",
        ),
        pytest.param({"failureReason": 2}, RolloutError("error", ""), id="no words"),
        pytest.param(
            {"failureReason": None, "error": "late", "gradingResult": None},
            RolloutError("error", "late"),
            id="an error of an early version",
        ),
        pytest.param(
            {"success": False, "gradingResult": None},
            RolloutError("error", ""),
            id="no output",
        ),
        pytest.param(
            {"gradingResult": {"reason": "No assertions"}},
            RolloutError("not scored", "the test has no assertions", of_grader=True),
            id="no assertions",
        ),
    ],
)
def test_a_result_of_promptfoo_that_nobody_judged(folder, more, error):
    rollout = only(folder, row_of(named={"tone": 1}, **more))
    assert rollout.error == error
    assert rollout.scores == {"success": None, "score": None, "tone": None}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"failureReason": 1, "error": "no"}, id="an assertion"),
        pytest.param(
            {"failureReason": None, "error": "no", "gradingResult": {"pass": False}},
            id="an assertion of an early version",
        ),
        pytest.param(
            {"success": False, "gradingResult": None, "response": {"output": "x"}},
            id="output",
        ),
        pytest.param(
            {"success": False, "gradingResult": None, "failureReason": 1}, id="a reason"
        ),
        pytest.param({"gradingResult": None}, id="a success"),
        pytest.param(
            {
                "gradingResult": {
                    "reason": "No assertions",
                    "componentResults": [{"pass": True, "score": 1}],
                }
            },
            id="an assertion after all",
        ),
    ],
)
def test_other_results_of_promptfoo_are_judged(folder, more):
    rollout = only(folder, row_of(**more))
    assert rollout.error is None
    assert rollout.scores["success"] is not None


# -- assertions that could not judge -----------------------------------------------------------


def part(score, reason="ok", kind="python", metric=None, **more):
    assertion = {"type": kind}
    if metric is not None:
        assertion["metric"] = metric
    return {
        "pass": score > 0,
        "score": score,
        "reason": reason,
        "assertion": assertion,
        **more,
    }


CRASH = "Python code execution failed: no module"


@pytest.mark.parametrize(
    "reason",
    [
        *("Python code execution failed: no", "Error running Python script: no"),
        *("Python assertion error: no", "Ruby code execution failed: no"),
        *("Error running Ruby script: no", "Custom function threw error: no"),
        *("Webhook error: 500", "Could not perform remote grading: no"),
        *("Moderation API error: no", "Search rubric evaluation failed: no"),
        *("Invalid regex pattern: (", "Error parsing output: no", "API error: 500"),
        "Factuality checker output did not match expected format: no",
        *("Invalid category value: x", "API call error: x", "API response error: x"),
        *("API error in judge", "HTTP call failed with status 500", "No output"),
        *("llm-rubric produced malformed response", "factuality produced malformed x"),
        *("model-graded-closedqa produced malformed x", "Could not extract JSON"),
        *("Could not extract context", "Could not parse context", "Request timed out "),
    ],
)
def test_the_reason_of_a_crash_of_promptfoo(folder, reason):
    reason = reason.replace("timed out ", "timed out after 5 s")
    row = row_of(part(0, reason), success=False, failureReason=1)
    rollout = only(folder, row)
    assert rollout.scores == {"success": None, "score": None}
    assert rollout.error == RolloutError("the grader failed", reason, of_grader=True)


@pytest.mark.parametrize(
    "reason",
    ["Expected 4", "No output was right", "The API error: 500", "API errors: 5", 5],
)
def test_another_reason_of_promptfoo_is_a_verdict(folder, reason):
    row = row_of(part(0, reason), success=False, failureReason=1)
    rollout = only(folder, row)
    assert (rollout.error, rollout.scores["success"]) == (None, False)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("similar", "Similarity 0.2 is less than"),
        ("similar", "None of the provided values met"),
        ("classifier", "Classification x has score"),
        ("classifier", "Maximum classification score 0.1"),
        ("model-graded-closedqa", "The submission does not"),
        ("answer-relevance", "Relevance 0.1"),
        ("context-recall", "Recall 0.1"),
        ("context-relevance", "Context relevance 0.1"),
        ("context-relevance", "Relevance 0.1"),
        ("context-faithfulness", "Faithfulness 0.1"),
        ("select-best", "Output not selected"),
    ],
)
def test_the_reason_of_a_judge_of_promptfoo(folder, kind, reason):
    judged = row_of(part(0, reason, kind), success=False, failureReason=1)
    assert only(folder, judged).error is None
    failed = row_of(part(0, "quota", kind), success=False, failureReason=1)
    assert only(folder, failed).error is not None


def test_a_score_between_shows_that_a_judge_of_promptfoo_judged(folder):
    row = row_of(part(0.25, "odd", "similar", **{"pass": False}), success=False)
    assert only(folder, {**row, "failureReason": 1}).error is None


def test_a_failure_of_a_grader_of_promptfoo_that_it_says_itself(folder):
    broken = part(1, "fine", metadata={"graderError": True})
    assert only(folder, row_of(broken)).error is not None
    judged = part(1, "fine", metadata={"graderError": "no"})
    assert only(folder, row_of(judged)).error is None


def test_a_pass_of_promptfoo_is_a_verdict(folder):
    assert only(folder, row_of(part(1, CRASH))).error is None


def test_a_pass_of_promptfoo_by_a_negation_is_none(folder):
    rollout = only(folder, row_of(part(1, "quota", "not-similar")))
    assert rollout.scores == {"success": None, "score": None}


def test_an_assertion_of_promptfoo_without_a_weight_loses_its_own_score_alone(folder):
    light = part(0, CRASH, metric="tone", **{"pass": True})
    light["assertion"]["weight"] = 0
    row = row_of(light, part(1, metric="ok"), named={"tone": 0, "ok": 1})
    rollout = only(folder, row)
    assert rollout.scores == {"success": True, "score": 1, "tone": None, "ok": 1}
    assert rollout.error.message == CRASH


def test_the_error_of_a_row_stands_in_for_a_reason_of_promptfoo(folder):
    broken = part(1, None, metadata={"graderError": True})
    rollout = only(folder, row_of(broken, error="quota"))
    assert rollout.error.message == "quota"


def test_a_scoring_function_of_promptfoo_that_failed_loses_the_score(folder):
    row = row_of(
        named={"tone": 0.5},
        success=False,
        failureReason=1,
        gradingResult={
            "reason": "Scoring function error: no",
            "componentResults": [part(1)],
            "namedScoreWeights": {},
        },
    )
    rollout = only(folder, row)
    assert rollout.scores == {"success": None, "score": None, "tone": 0.5}
    assert rollout.error == RolloutError(
        "the grader failed", "Scoring function error: no", of_grader=True
    )


@pytest.mark.parametrize(
    ("parts", "case", "success"),
    [
        pytest.param([part(0, CRASH), part(1)], {}, None, id="none failed"),
        pytest.param([part(0, CRASH), part(0)], {}, False, id="another failed"),
        pytest.param(
            [part(0, CRASH), part(0)], {"threshold": 0.5}, None, id="a threshold"
        ),
        pytest.param(
            [part(0, CRASH), part(0)],
            {"assertScoringFunction": "f"},
            None,
            id="a function of its own",
        ),
    ],
)
def test_the_success_of_a_test_of_promptfoo_beside_a_crash(
    folder, parts, case, success
):
    row = row_of(*parts, case=case, success=False, failureReason=1)
    assert only(folder, row).scores["success"] is success


@pytest.mark.parametrize(
    ("parts", "success"),
    [
        pytest.param([part(0, CRASH), part(1)], True, id="by the others"),
        pytest.param([part(1, "quota", "not-similar")], None, id="by a negation"),
    ],
)
def test_a_test_of_promptfoo_that_passed_beside_a_crash(folder, parts, success):
    row = row_of(*parts, case={"threshold": 0.5})
    assert only(folder, row).scores["success"] is success


# -- sets of assertions ------------------------------------------------------------------------


def set_of(*members, threshold=None, metric=None, **more):
    settings = {} if threshold is None else {"threshold": threshold}
    if metric is not None:
        settings["metric"] = metric
    passed = all(member["pass"] for member in members)
    return {
        "pass": passed,
        "score": sum(member["score"] for member in members) / len(members),
        "reason": "set",
        "componentResults": list(members),
        "metadata": {"assertionSet": settings},
        **more,
    }


@pytest.mark.parametrize(
    ("members", "threshold", "success"),
    [
        pytest.param([part(0, CRASH), part(0)], None, False, id="another failed"),
        pytest.param([part(0, CRASH), part(1)], None, None, id="none failed"),
        pytest.param([part(0, CRASH), part(0)], 0.5, None, id="a threshold"),
        pytest.param([part(0), part(1)], 0.75, False, id="none crashed"),
    ],
)
def test_a_set_of_assertions_of_promptfoo(folder, members, threshold, success):
    whole = set_of(*members, threshold=threshold)
    row = row_of(whole, success=False, failureReason=1)
    assert only(folder, row).scores["success"] is success


def test_the_members_of_a_set_of_promptfoo_follow_it_and_count_once(folder):
    members = (part(0.5, metric="tone"), part(1, metric="tone"))
    whole = set_of(*members, metric="all")
    row = row_of(whole, *members, part(0.25, metric="tone"), named={"tone": 1.75})
    assert only(folder, row).scores["tone"] == pytest.approx(1.75 / 3)


def test_other_results_after_a_set_of_promptfoo_count(folder):
    whole = set_of(part(0.5, metric="tone"), part(1, metric="tone"))
    others = (part(0.5, metric="tone"), part(0.75, metric="tone"))
    row = row_of(whole, *others, named={"tone": 2.75})
    assert only(folder, row).scores["tone"] == pytest.approx(2.75 / 4)


@pytest.mark.parametrize("key", ["pass", "score", "reason"])
def test_results_after_a_set_of_promptfoo_are_its_members_where_all_agrees(folder, key):
    member = part(0.5, metric="tone")
    other = {**member, key: {"pass": False, "score": 0.75, "reason": "x"}[key]}
    total = member["score"] + other["score"]
    row = row_of(set_of(member), other, named={"tone": total})
    assert only(folder, row).scores["tone"] == pytest.approx(total / 2)


def test_a_set_of_promptfoo_loses_its_score_and_that_of_what_crashed(folder):
    whole = set_of(part(0, CRASH, metric="one"), part(1, metric="two"), metric="all")
    row = row_of(
        whole,
        named={"one": 0, "two": 1, "all": 0.5, "other": 1},
        success=False,
        failureReason=1,
    )
    assert only(folder, row).scores == {
        "success": None,
        "score": None,
        "one": None,
        "two": 1,
        "all": None,
        "other": 1,
    }


def test_the_named_scores_of_an_assertion_of_promptfoo_are_lost_with_it(folder):
    broken = part(0, CRASH, namedScores={"inner": 0})
    row = row_of(broken, named={"inner": 0}, success=False, failureReason=1)
    assert only(folder, row).scores["inner"] is None


# -- named scores ------------------------------------------------------------------------------


def tone(folder, total, *parts, variables=None, grading=None, **more):
    """Load a result with one named score; give it."""
    row = row_of(
        *parts,
        named={"tone": total},
        case={"vars": variables or {}},
        gradingResult={"componentResults": list(parts), **(grading or {})},
        **more,
    )
    return only(folder, row).scores["tone"]


PARTS = (part(0.5, metric="tone"), part(1, metric="tone"), part(1, metric="other"))


@pytest.mark.parametrize(
    ("total", "value"),
    [
        pytest.param(1.5, 0.75, id="a sum"),
        pytest.param(0.75, 0.75, id="no sum"),
        pytest.param("x", "x", id="a text"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_named_score_of_an_early_promptfoo_is_a_sum(folder, total, value):
    assert tone(folder, total, *PARTS) == value


def test_a_named_score_of_one_assertion_is_no_sum(folder):
    assert tone(folder, 0.5, part(0.5, metric="tone")) == 0.5


@pytest.mark.parametrize(
    ("grading", "more", "value"),
    [
        ({"namedScoresCount": {"tone": 3}}, {}, 0.5),
        ({}, {"namedScoresCount": {"tone": 3}}, 0.5),
        ({"namedScoresCount": {"tone": 0.5}}, {}, 0.75),
        ({"namedScoresCount": {"tone": 1}}, {}, 1.5),
        ({"namedScoresCount": {"other": 3}}, {}, 0.75),
    ],
)
def test_a_named_score_of_promptfoo_is_divided_by_its_count(
    folder, grading, more, value
):
    assert tone(folder, 1.5, *PARTS, grading=grading, **more) == value


def test_a_named_score_with_weights_is_a_mean(folder):
    grading = {"namedScoreWeights": {"tone": 2}, "namedScoresCount": {"tone": 2}}
    assert tone(folder, 1.5, *PARTS, grading=grading) == 1.5


def test_a_named_score_without_weight_is_the_mean_of_its_assertions(folder):
    grading = {"namedScoreWeights": {"tone": 0}}
    assert tone(folder, 0, *PARTS, grading=grading) == 0.75
    assert tone(folder, 0, part(1, metric="other"), grading=grading) is None


def test_the_name_of_a_score_of_promptfoo_may_hold_variables(folder):
    parts = [part(0.5, metric="{{ name }}"), part(1, metric="{{name}}")]
    assert tone(folder, 1.5, *parts, variables={"name": "tone"}) == 0.75
    assert tone(folder, 1.5, *parts, variables={"other": "tone"}) == 1.5


def test_a_set_and_inner_scores_of_promptfoo_are_parts_of_a_named_score(folder):
    whole = set_of(part(0.5), part(1), metric="tone")  # of 0.75
    inner = part(1, namedScores={"tone": 0.25})
    assert tone(folder, 1.0, whole, inner) == 0.5


def test_a_lone_result_with_the_settings_of_a_set_is_none(folder):
    lone = part(1, metadata={"assertionSet": {"metric": "tone"}})
    assert tone(folder, 1.5, lone, part(0.5, metric="tone")) == 1.5
