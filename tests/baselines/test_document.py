"""From a run to a baseline's text and back: the same numbers, and the same bytes."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from evaluated import evaluated
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_evalmetrics import baselines
from pytest_evalmetrics.baselines.document import render
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.ext import AgentResult, Estimate, RolloutTable
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.rollout_table import Category

NUMBERS = st.one_of(
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 2.0**53, -(2.0**63), 1e300, 5e-324]),
)


def document_of(rollouts, mean):
    estimate = Estimate("mean", mean, 3, 6, None)
    agent_result = AgentResult("a", 3, 6, 0, {"mean": estimate}, {"mean": mean}, {})
    described = baselines.agent_document(agent_result, rollouts, tuple(rollouts.scores))
    provenance = Provenance(recorded="now")
    return render(baselines.baseline_document("b", {"a": described}, provenance))


def table(tasks):
    counts = [len(scores) for scores in tasks.values()]
    column = np.array(
        [v for scores in tasks.values() for v in scores], dtype=np.float64
    )
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(len(column), dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.concatenate([np.arange(n) for n in (0, *counts)]),
        scores={"reward": column, "reward.2": column[::-1].copy()},
    )


@given(
    st.dictionaries(
        st.one_of(st.integers(0, 10**12), st.text(max_size=5)).map(str),
        st.lists(NUMBERS, min_size=1, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.floats(),
)
def test_a_baseline_comes_back_as_it_was(tasks, value):
    rollouts = table(tasks)
    text = document_of(rollouts, value)
    doc = baselines.parse(text, file="x.json")
    back = baselines.tables(doc, file="x.json")["a"][0]
    assert back.tasks == rollouts.tasks
    np.testing.assert_array_equal(back.offsets, rollouts.offsets)
    np.testing.assert_array_equal(back.sample, rollouts.sample)
    assert set(back.scores) == set(rollouts.scores)
    for name, column in rollouts.scores.items():
        finite = np.where(
            np.isfinite(column), column, np.nan
        )  # what is not a number is null
        np.testing.assert_array_equal(back.scores[name], finite)
    assert doc.values("a") == ({"mean": value} if math.isfinite(value) else {})
    assert document_of(back, doc.values("a").get("mean", math.nan)) == text
    # an independent reader agrees, to the last digit
    agent = json.loads(text)["agents"]["a"]
    assert agent["key_metrics"]["mean"]["value"] == (
        value if math.isfinite(value) else None
    )
    for task, scores in agent["tasks"].items():
        assert scores["reward"] == [
            v if math.isfinite(v) else None for v in tasks[task]
        ]


@given(st.text(max_size=60))
def test_no_text_is_a_reason_for_a_traceback(text):
    with pytest.raises(BaselineError) as caught:
        baselines.parse(text, file="x.json")
    assert caught.value.file == "x.json"
    assert "--evalmetrics-update" in str(caught.value.hint)


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["agents", "a", "tasks", "value"]), inner, max_size=3
        ),
    ),
    max_leaves=8,
)


def file_of_refusal(text):
    """Return the file that a refusal names; None if the text is a baseline."""
    try:
        baselines.tables(baselines.parse(text, file="x.json"), file="x.json")
    except BaselineError as error:
        return error.file
    return None


@given(st.sampled_from(["agents", "benchmark", "schema_version", "provenance"]), JSON)
def test_nor_is_any_other_json_in_the_place_of_a_part(key, value):
    doc = json.loads(document_of(table({1: [1.0]}), 1.0)) | {key: value}
    # most of these are refused, and some are right
    assert file_of_refusal(json.dumps(doc)) in ("x.json", None)


SECOND_VERSION = Path(__file__).with_name("second_version.json")


def test_a_baseline_of_the_second_version_counts_as_unchanged():
    text = SECOND_VERSION.read_text(encoding="utf-8")
    baseline = baselines.parse(text, file="math.json", benchmark="math")
    assert not baselines.is_edited(baseline)


def test_a_baseline_of_the_second_version_has_its_metrics_and_runs():
    text = SECOND_VERSION.read_text(encoding="utf-8")
    baseline = baselines.parse(text, file="math.json")
    assert baseline.values("agent") == {"mean_reward": 0.25, "mean/seconds": 0.5}
    first, second = baselines.tables(baseline, file="math.json")["agent"]
    assert first.tasks == second.tasks == ("t0", "t1", "t2", "t3")
    assert first.scores["reward"].tolist() == [0, 0.5, 0.5, 0, 0, 0.5, 0.5, 0]
    assert second.scores["reward"].tolist() == [0.5, 0, 0, 0.5, 0.5, 0, 0, 0.5]


def test_a_run_is_added_to_a_baseline_of_the_second_version_as_one_more_list():
    text = SECOND_VERSION.read_text(encoding="utf-8")
    baseline = baselines.parse(text, file="math.json")
    one_run = baselines.parse(text, file="math.json")
    agent = one_run.agents["agent"]
    newest = structs.replace(
        agent,
        tasks={
            task: {"reward": (1.0, 0.0), "seconds": (0.25, 0.25)}
            for task in agent.tasks
        },
    )
    one_run = structs.replace(one_run, agents={"agent": newest})
    merged = baselines.add_run(baseline, one_run, keep=5)
    assert (
        '"t0": {"reward": [[0, 0.5], [0.5, 0], [1, 0]], "seconds": [[null, null], '
        "[null, null], [0.25, 0.25]]}"
    ) in render(merged)


UPDATE = "--snapshot-update"
BASELINE = 'metrics: [pass@1]\nexpect: {tasks: 2}\nbaseline: true\nthresholds: {pass@1: ">= 0.9"}'


def edit(change):
    def edited(text):
        doc = json.loads(text)
        change(doc)
        return json.dumps(doc)

    return edited


def task(number, **scores):
    return edit(lambda doc: doc["agents"]["agent"]["tasks"][number].update(scores))


BROKEN = {
    "conflict": (
        lambda text: text.replace("  }", "<<<<<<< HEAD\n  }\n=======\n>>>>>>> main", 1),
        ":9: *marks of a merge conflict*",
    ),
    "empty": (lambda _: "\n", ": this baseline is empty*"),
    "half": (lambda text: text[: len(text) // 2], ":*: this baseline is not JSON*"),
    "bytes": (
        lambda _: '{"schema_version": "\udcff"}',
        ": this baseline is not UTF-8: *",
    ),
    "nan": (lambda text: text.replace("[1]", "[NaN]"), ": this is not a baseline*"),
    "list": (lambda _: "[]", ": this is not a baseline*"),
    "deep": (lambda _: "[" * 100_000, ": this baseline is not JSON*"),
    "version": (
        edit(lambda doc: doc.update(schema_version=99, agents=[])),
        ": this baseline has the schema version 99, and 1 is known*",
    ),
    "text": (task("0", reward=["1"]), ": 'reward' of agent holds labels and numbers*"),
    "flat": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"].update({"0": [1]})),
        ": this is not a baseline: Expected `object`*",
    ),
    "names": (
        task("1", other=[1]),
        ": task '1' of agent has scores of different lengths or names*",
    ),
    "lengths": (
        task("0", a=[1, 2]),
        ": task '0' of agent has scores of different lengths or names*",
    ),
    "other": (
        edit(lambda doc: doc.update(benchmark="physics")),
        ": this is the baseline of 'physics', expected that of 'math'*",
    ),
    "runs": (
        edit(lambda doc: doc["agents"]["agent"]["tasks"]["1"].update(reward=[[1]])),
        ": some tasks of agent have the numbers of several runs, and some of one*",
    ),
    "run": (
        edit(
            lambda doc: doc["agents"]["agent"].update(
                tasks={"0": {"reward": [[1], [1]]}, "1": {"reward": [[1]]}}
            )
        ),
        ": task '1' of agent has not the numbers of 2 runs*",
    ),
    "hash": (
        edit(lambda doc: doc["agents"]["agent"].update(content={"0": "é"})),
        ": a hash of the content of a task of agent is damaged*",
    ),
    "ids": (
        edit(lambda doc: doc["agents"]["agent"].update(ids="places")),
        ": this is not a baseline: Invalid enum value 'places'*",
    ),
    "provenance": (
        edit(lambda doc: doc["provenance"].update(recorded=5)),
        ": this is not a baseline: Expected `str | null`, got `int`*",
    ),
    "interval": (
        edit(
            lambda doc: doc["agents"]["agent"]["key_metrics"]["pass@1"].update(
                interval=[0.5]
            )
        ),
        ": this is not a baseline: Expected `array` of length 2*",
    ),
    "reward": (task("1", reward=[0]), ": *edited by hand, or by a merge*"),
    "value": (
        lambda text: text.replace('"value": 1', '"value": 0.75'),
        ": *edited by hand, or by a merge*",
    ),
    "digest": (
        edit(lambda doc: doc["provenance"].pop("digest")),
        ": *edited by hand, or by a merge*",
    ),
}


@pytest.fixture
def broken(project):
    """A project with a recorded baseline for each way to break one; gives the broken bytes."""
    project.rollouts([[1.0], [1.0]])
    for kind in BROKEN:
        project.bench(BASELINE, f"{kind}.bench.yaml")
    assert evaluated(project, updates=True).passed
    written = {}
    for kind, (change, _) in BROKEN.items():
        path = project.baseline(f"{kind}.bench/math.json")
        good = path.read_text(encoding="utf-8")
        written[path] = change(good).encode(errors="surrogateescape")
        assert written[path] != good.encode()
        path.write_bytes(written[path])
    return written


def test_broken_baselines_are_inconclusive_and_kept(project, broken):
    result = evaluated(project, verbosity=1)
    assert not any(result.passed for result in result.results)
    for kind, (_, reason) in BROKEN.items():
        line = f"INCONCLUSIVE *{kind}.bench/math.json{reason}"
        result.says(line, "  -> *--evalmetrics-update*")
    assert {path: path.read_bytes() for path in broken} == broken
    # the thresholds are judged all the same
    checks = [
        check
        for entry in project.report()["benchmarks"]
        for check in entry["checks"]
        if check["name"] == "pass@1"
    ]
    assert [check["verdict"] for check in checks] == ["PASS"] * len(BROKEN)


def test_broken_baselines_are_replaced_by_an_update_alone(project, broken):
    assert project.run("--snapshot-update-new-only").ret == 1
    result = project.run(UPDATE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["    recorded *.json"] * len(broken))


def test_a_baseline_that_a_tool_lays_out_anew_is_the_same(project):
    project.rollouts([[1.0], [1.0]])
    project.bench(BASELINE)
    assert evaluated(project, updates=True).passed
    document = json.loads(project.baseline().read_text(encoding="utf-8"))
    project.baseline().write_text(json.dumps(document, indent=4, sort_keys=True))
    assert evaluated(project).passed


def test_a_folder_in_the_place_of_a_baseline_is_reported_and_kept(project):
    project.rollouts([[1.0], [1.0]])
    project.bench(BASELINE)
    project.baseline().mkdir(parents=True)
    for args, doing in (((), "read"), ((UPDATE,), "written")):
        result = project.run(*args)
        result.assert_outcomes(failed=1)
        reason = (
            f"INCONCLUSIVE *math.json: this baseline can't be {doing}: Is a directory"
        )
        result.stdout.fnmatch_lines([reason, "  -> *"])
    project.baseline().rmdir()
    assert project.run(UPDATE).ret == 0


def recorded_cells(scores):
    """Record a column that is numbers, and labels too."""
    rollouts = table({"a": [1.0, 0.0]})
    labels = Category(np.array([0, 1], np.int32), ("yes", "no"))
    both = structs.replace(
        rollouts,
        scores={"reward": np.array(scores)},
        categories={"reward": labels},
    )
    text = document_of(both, 0.5)
    return json.loads(text)["agents"]["a"]["tasks"]["a"]["reward"]


def test_a_column_of_numbers_is_recorded_as_numbers_though_it_has_labels():
    assert recorded_cells([1.0, 0.0]) == [1, 0]


def test_a_column_whose_numbers_are_not_complete_is_recorded_as_its_labels():
    assert recorded_cells([1.0, math.nan]) == ["yes", "no"]
