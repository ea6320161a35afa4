"""From a run to a baseline's text and back: the same numbers, and the same bytes."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.baselines import (
    agent_document,
    document,
    is_edited,
    parse,
    render,
    stamped,
    tables,
    values,
)
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.ext import AgentResult, Estimate, RolloutTable
from pytest_evalmetrics.results import Interval

NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 2.0**53, -(2.0**63), 1e300, 5e-324]),
)


def table(tasks, name="reward", agent="a"):
    counts = [len(scores) for scores in tasks.values()]
    column = np.array([v for scores in tasks.values() for v in scores], dtype=np.float64)
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(len(column), dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.concatenate([np.arange(n) for n in (0, *counts)]),
        scores={name: column, f"{name}.2": column[::-1].copy()},
    )


def result(**metrics):
    estimates = {
        name: Estimate(name, value, 3, 6, Interval(value / 3, value, 0.95, "t"))
        for name, value in metrics.items()
    }
    return AgentResult("a", 3, 6, 0, estimates, metrics, {})


def made(rollouts, **metrics):
    columns = tuple(rollouts.scores)
    described = agent_document(result(**metrics), rollouts, columns)
    return render(document("b", {"a": described}, {"recorded": "now"}))


@given(
    st.dictionaries(
        st.one_of(st.integers(0, 10**12), st.text(max_size=5)).map(str),
        st.lists(NUMBERS, min_size=1, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_baseline_comes_back_as_it_was(tasks, value):
    rollouts = table(tasks)
    text = made(rollouts, mean=value)
    doc = parse(text, file="x.json")
    back = tables(doc, file="x.json")["a"][0]
    assert back.tasks == rollouts.tasks
    np.testing.assert_array_equal(back.offsets, rollouts.offsets)
    np.testing.assert_array_equal(back.sample, rollouts.sample)
    assert set(back.scores) == set(rollouts.scores)
    for name, column in rollouts.scores.items():
        np.testing.assert_array_equal(back.scores[name], column)
    assert values(doc, "a") == {"mean": value}
    again = agent_document(result(mean=values(doc, "a")["mean"]), back, back.scores)
    assert render(document("b", {"a": again}, {"recorded": "now"})) == text
    # an independent reader agrees, to the last digit
    for task, scores in json.loads(text)["agents"]["a"]["tasks"].items():
        expected = [None if math.isnan(v) else v for v in tasks[task]]
        assert scores["reward"] == expected


def test_a_task_is_a_line_and_it_does_not_depend_on_the_others():
    before = made(table({1: [1.0, 0.0], 2: [1.0, 1.0]}))
    after = made(table({1: [1.0, 0.0], 2: [0.5, math.nan]}))
    lines = before.splitlines(), after.splitlines()
    assert [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]] == [
        (
            '        "1": {"reward": [1, 0], "reward.2": [1, 1]},',
            '        "1": {"reward": [1, 0], "reward.2": [null, 0.5]},',
        ),
        (
            '        "2": {"reward": [1, 1], "reward.2": [0, 1]}',
            '        "2": {"reward": [0.5, null], "reward.2": [0, 1]}',
        ),
    ]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_null(value):
    doc = parse(made(table({1: [value]}), mean=value), file="x.json")
    assert doc["agents"]["a"]["key_metrics"]["mean"]["value"] is None
    assert values(doc, "a") == {}
    assert np.isnan(tables(doc, file="x.json")["a"][0].scores["reward"]).all()


def test_a_change_of_a_number_is_seen_and_a_change_of_the_layout_is_not():
    described = agent_document(result(mean=0.5), table({1: [1.0, 0.5], 2: [0.0]}), ("reward",))
    text = render(stamped(document("b", {"a": described}, {})))
    assert not is_edited(parse(text, file="x"))
    assert not is_edited(parse(json.dumps(json.loads(text), sort_keys=True), file="x"))
    assert not is_edited(parse(text.replace('"reward": [0]', '"reward": [0.0]'), file="x"))
    assert is_edited(parse(text.replace("[1, 0.5]", "[1, 0.25]"), file="x"))
    assert is_edited(parse(text.replace('"value": 0.5', '"value": 0.75'), file="x"))
    assert is_edited(parse(made(table({1: [1.0]})), file="x"))  # without a digest


@given(st.text(max_size=60))
def test_no_text_is_a_reason_for_a_traceback(text):
    with pytest.raises(BaselineError) as caught:
        parse(text, file="x.json")
    assert caught.value.file == "x.json"
    assert "--snapshot-update" in str(caught.value.hint)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["agents", "a", "tasks", "value"]), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(st.sampled_from(["agents", "benchmark", "schema_version", "provenance"]), JSON)
def test_nor_is_any_other_json_in_the_place_of_a_part(key, value):
    doc = json.loads(made(table({1: [1.0]}), mean=1.0)) | {key: value}
    try:
        tables(parse(json.dumps(doc), file="x.json"), file="x.json")
    except BaselineError as error:
        assert error.file == "x.json"  # noqa: PT017 - most of these are refused, and some are right


UPDATE = "--snapshot-update"
BASELINE = 'metrics: [pass@1]\nexpect: {tasks: 2}\nbaseline: true\nthresholds: {pass@1: ">= 0.9"}'


@pytest.fixture
def recorded(quick):
    quick.rollouts([[1.0], [1.0]])
    quick.bench(BASELINE)
    assert quick.run(UPDATE).ret == 0
    return quick


def edit(change):
    def edited(text):
        doc = json.loads(text)
        change(doc)
        return json.dumps(doc)

    return edited


BROKEN = {
    "conflict": (
        lambda text: text.replace("  }", "<<<<<<< HEAD\n  }\n=======\n>>>>>>> main", 1),
        "*math.json:*marks of a merge conflict*",
    ),
    "empty": (lambda _: "\n", "*math.json: this baseline is empty*"),
    "half": (lambda text: text[: len(text) // 2], "*math.json:*: this baseline is no JSON*"),
    "nan": (lambda text: text.replace("[1]", "[NaN]"), "*math.json: this is no baseline*"),
    "list": (lambda _: "[]", "*math.json: this is no baseline*"),
    "deep": (lambda _: "[" * 100_000, "*math.json: this baseline is no JSON*"),
    "version": (
        edit(lambda doc: doc.update(schema_version=99, agents=[])),
        "*math.json: this baseline has the schema version 99, and 1 is known*",
    ),
    "newer": (
        edit(lambda doc: doc.update(schema_version=2)),
        "*math.json: this baseline has the schema version 2, and 1 is known*",
    ),
    "text": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["0"].update(reward=["1"])),
        "*math.json: 'reward' of agent holds labels and numbers*",
    ),
    "flat": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"].update({"0": [1]})),
        "*math.json: this is no baseline: Expected `object`*",
    ),
    "names": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["1"].update(other=[1])),
        "*math.json: task '1' of agent has scores of different lengths or names*",
    ),
    "lengths": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["0"].update(a=[1, 2])),
        "*math.json: task '0' of agent has scores of different lengths or names*",
    ),
    "other": (
        edit(lambda doc: doc.update(benchmark="physics")),
        "*math.json: this is the baseline of 'physics', expected that of 'math'*",
    ),
}


def test_broken_baselines_are_inconclusive_and_replaced_by_an_update(quick):
    quick.rollouts([[1.0], [1.0]])
    for kind in BROKEN:
        quick.bench(BASELINE, f"{kind}.bench.yaml")
    assert quick.run(UPDATE).ret == 0
    broken = {}
    for kind, (change, _) in BROKEN.items():
        path = quick.baseline(f"{kind}.bench/math.json")
        good = path.read_text(encoding="utf-8")
        broken[path] = change(good)
        assert broken[path] != good
        path.write_text(broken[path], encoding="utf-8")
    result = quick.run("-v")
    result.assert_outcomes(failed=len(BROKEN))
    for kind, (_, told) in BROKEN.items():
        where = told.replace("*math.json", f"*{kind}.bench/math.json")
        result.stdout.fnmatch_lines([f"INCONCLUSIVE {where}", "  -> *--snapshot-update*"])
    # the thresholds are judged all the same
    checks = [c for b in quick.report()["benchmarks"] for c in b["checks"] if c["name"] == "pass@1"]
    assert [check["verdict"] for check in checks] == ["PASS"] * len(BROKEN)
    assert all(path.read_text(encoding="utf-8") == text for path, text in broken.items())
    assert quick.run("--snapshot-update-new-only").ret == 1
    result = quick.run(UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["    recorded *.json", f"{len(BROKEN)} snapshots updated."])
    assert quick.run().ret == 0


def _no_utf8(path):
    path.write_bytes(b'{"schema_version": "\xff"}')


def _loop(path):
    path.unlink()
    path.symlink_to(path)


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_no_utf8, "this baseline is no UTF-8: *"),
        (_loop, "this baseline can't be read: Too many levels of symbolic links"),
        (_folder, "this baseline can't be read: Is a directory"),
    ],
)
def test_what_is_no_file_of_text(recorded, spoil, told):
    spoil(recorded.baseline())
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"INCONCLUSIVE *math.json: {told}", "  -> *"])


def test_an_update_replaces_what_is_no_text_and_not_a_folder(recorded):
    _no_utf8(recorded.baseline())
    assert recorded.run(UPDATE).ret == 0
    assert recorded.run().ret == 0
    _folder(recorded.baseline())
    result = recorded.run(UPDATE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*math.json: this baseline can't be written: Is a directory"])
    recorded.baseline().rmdir()
    assert recorded.run(UPDATE).ret == 0


def test_a_merge_of_two_recordings_is_told(recorded):
    text = recorded.baseline().read_text(encoding="utf-8")
    recorded.baseline().write_text(text.replace('"1": {"reward": [1]}', '"1": {"reward": [0]}'))
    result = recorded.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE *math.json: *edited by hand, or by a merge*"])
    # a tool that lays JSON out anew changes nothing
    recorded.baseline().write_text(json.dumps(json.loads(text), indent=4, sort_keys=True))
    result = recorded.run()
    assert "by a merge" not in result.stdout.str()
    recorded.run(UPDATE)
    assert recorded.baseline().read_text(encoding="utf-8") == text
