"""A key that another tool's files have is reported with the key that means the same here."""

FILE = "benchmark:\n  name: math\n  rollouts: r.jsonl\n"

# a key of another tool -> what is suggested
OF_BENCHMARKS = {
    "generate": "did you mean 'model' or 'prompt_template'?",
    "providers": "did you mean 'model' or 'target'?",
    "prompts": "did you mean 'prompt_template'?",
    "tests": "did you mean 'dataset'?",
    "evaluators": "did you mean 'scorers'?",
    "epochs": "did you mean 'num_samples'?",
    "Group-By": "did you mean 'breakdown'?",
}


def test_keys_of_other_tools_are_reported_with_ours(refusals):
    files = {key: f"{FILE}  {key}: x\n" for key in OF_BENCHMARKS}
    messages = refusals(files)
    for key, suggestion in OF_BENCHMARKS.items():
        (message,) = messages[key]
        start = f"4: benchmark: unknown key {key!r}: {suggestion} keys here: anchors, baseline"
        assert message.startswith(start)


def test_a_key_is_suggested_only_where_it_is_valid(refusals):
    ((message,),) = refusals([FILE + "  expect: {tests: 3}\n"])
    assert (
        "unknown key 'tests': did you mean 'tasks'? keys here: max_missing" in message
    )


def test_keys_of_a_baseline_have_other_names_too(refusals):
    ((message,),) = refusals([FILE + "  baseline: {tolerance: 1%}\n"])
    assert "unknown key 'tolerance': did you mean 'max_drop'? keys here:" in message


def test_fields_of_rows_have_other_names_too(refusals):
    ((message,),) = refusals(
        [
            "benchmark:\n  name: a\n  rollouts: {path: r.jsonl, fields: {response: text}}\n"
        ]
    )
    assert "unknown key 'response': did you mean 'answer'? keys here:" in message


def test_what_is_expected_is_no_field_of_rollouts(refusals):
    ((message,),) = refusals(
        [
            "benchmark:\n  name: a\n  rollouts: {path: r.jsonl, fields: {expected: gold}}\n"
        ]
    )
    assert message.endswith(
        "unknown key 'expected': rollouts have their rewards; to score answers by what "
        "is expected, write `dataset:` and `scorers:`"
    )


def test_which_way_is_better_is_said_of_the_gate(refusals):
    ((message,),) = refusals([FILE + "  higher_is_better: false\n"])
    assert "say it of the gate: `baseline: {direction: lower}`" in message
