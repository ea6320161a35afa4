"""The run, or the runs, that another one is compared with: where each kind comes from."""

import msgspec
import pytest
from stages.making import FIELDS, against, benchmark, given, load, write_rows

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.run_notes import RunsNotCompared
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.references import Reference, reference_of


def referred(folder, keys, snapshot=None, **settings):
    """Find the reference of a benchmark of mean rewards."""
    asked = benchmark(folder, f"metrics: [mean_reward]\n{keys}")
    return reference_of(asked, plan_of(asked), snapshot, **settings)


def recorded(folder, rewards, **provenance):
    """Record a baseline of twelve tasks that are all alike; return its text."""
    (folder / "new.jsonl").unlink(missing_ok=True)
    write_rows(folder, "new.jsonl", [rewards] * 12)
    asked = benchmark(folder, "metrics: [mean_reward]\nbaseline: true")
    document = evaluate(given(asked, updates=True)).baseline
    known = document.provenance.__replace__(**provenance)
    return render(stamped(document.__replace__(provenance=known)))


def rewards_of(table):
    return table.scores["reward"].tolist()


# -- agents ----------------------------------------------------------------------------------


def table_of(folder, agent="agent"):
    write_rows(folder, "new.jsonl", [[1.0]], agent=agent)
    _, loaded = load(benchmark(folder, "metrics: [mean_reward]"))
    return loaded.table


@pytest.mark.parametrize(
    ("name", "alone", "found"),
    [
        ("one", True, "one"),
        ("one", False, "one"),
        ("new", True, "one"),
        ("new", False, None),
    ],
)
def test_a_lone_agent_may_have_been_renamed(tmp_path, name, alone, found):
    reference = Reference(runs={"one": [table_of(tmp_path)]})
    assert reference.agent_for(name, alone=alone) == found


def test_of_two_agents_none_was_renamed(tmp_path):
    table = table_of(tmp_path)
    reference = Reference(runs={"one": [table], "two": [table]})
    assert reference.agents == ("one", "two")
    assert reference.agent_for("two", alone=True) == "two"
    assert reference.agent_for("new", alone=True) is None


def test_the_tables_of_an_agent_are_the_rollouts_of_all_its_runs(tmp_path):
    table = table_of(tmp_path)
    reference = Reference(runs={"one": [table, table]})
    assert rewards_of(reference.tables["one"]) == [1.0, 1.0]


# -- another run's files ---------------------------------------------------------------------


def test_the_files_of_another_run_are_the_reference(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1.0, 0.0], [1.0, 1.0]])
    reference = referred(tmp_path, against())
    assert reference.acceptance is Acceptance.OTHER_RUN
    (run,) = reference.runs["agent"]
    assert rewards_of(run) == [1.0, 0.0, 1.0, 1.0]
    assert reference.origin == "old.jsonl"
    assert reference.provenance == Provenance()


def test_several_runs_are_told_apart_by_their_files(tmp_path):
    write_rows(tmp_path, "one.jsonl", [[1.0]])
    write_rows(tmp_path, "two.jsonl", [[0.5]])
    files = f"{{path: [[one.jsonl], [two.jsonl]], fields: {FIELDS}}}"
    reference = referred(tmp_path, f"baseline: {{rollouts: {files}}}")
    assert [rewards_of(run) for run in reference.runs["agent"]] == [[1.0], [0.5]]
    assert reference.origin == "one.jsonl, two.jsonl"


def test_agents_of_another_run_are_told_apart(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1.0]], agent="a")
    write_rows(tmp_path, "old.jsonl", [[0.5]], agent="b")
    runs = referred(tmp_path, against()).runs
    assert {agent: rewards_of(run) for agent, (run,) in runs.items()} == {
        "a": [1.0],
        "b": [0.5],
    }


# -- a committed baseline --------------------------------------------------------------------


def test_a_committed_baseline_is_the_reference(tmp_path):
    text = recorded(tmp_path, [1.0, 0.0], recorded="2026-11-02", reason="a new prompt")
    reference = referred(tmp_path, "baseline: true", lambda: (text, "math.json"))
    assert reference.acceptance is Acceptance.SNAPSHOT
    assert rewards_of(reference.runs["agent"][0]) == [1.0, 0.0] * 12
    assert reference.values["agent"]["mean_reward"] == 0.5
    assert reference.origin == "math.json, recorded 2026-11-02: a new prompt"
    assert reference.provenance.reason == "a new prompt"
    assert reference.behaviour == {}


def test_a_baseline_without_a_date_or_a_reason_is_known_by_its_file(tmp_path):
    text = recorded(tmp_path, [1.0, 0.0], recorded="", reason="")
    reference = referred(tmp_path, "baseline: true", lambda: (text, "math.json"))
    assert reference.origin == "math.json"


@pytest.mark.parametrize("snapshot", [None, lambda: None])
def test_without_a_committed_baseline_there_is_no_reference(tmp_path, snapshot):
    assert referred(tmp_path, "baseline: true", snapshot) is None


def test_a_baseline_that_was_edited_is_refused(tmp_path):
    text = recorded(tmp_path, [1.0, 0.0]).replace("[1, 0]", "[1, 1]", 1)
    with pytest.raises(BaselineError) as refused:
        referred(tmp_path, "baseline: true", lambda: (text, "math.json"))
    assert refused.value.message == (
        "this baseline was edited by hand, or by a merge, since it was recorded"
    )
    assert refused.value.file == "math.json"
    assert refused.value.hint == (
        "restore it with `git checkout -- math.json`, or record a new one with "
        "`pytest --evalmetrics-update`"
    )


# -- a report --------------------------------------------------------------------------------


def test_a_report_that_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(BaselineError) as refused:
        referred(tmp_path, "baseline: {report: old/report.json}")
    assert "old/report.json" in str(refused.value)


# -- a history -------------------------------------------------------------------------------


def run_of(text=None, **changed):
    """Make a run of the history; with a baseline's text it keeps its rollouts."""
    facts = {
        "schema_version": 1,
        "benchmark": "math.bench.yaml::math",
        "time": "2026-11-02T08:00:00Z",
        "commit": None,
        "branch": None,
        "url": None,
        "verdict": "PASS",
        "usable": True,
        "starts": False,
        "agents": {},
        **changed,
    }
    if text is not None:
        facts["baseline"] = msgspec.Raw(text.encode())
    return HistoryRun(**facts)


def of_history(folder, runs, keys="baseline: {history: 5}"):
    """Find the reference in a history of such runs."""
    lines = [msgspec.json.encode(run) + b"\n" for run in runs]
    (folder / "history.jsonl").write_bytes(b"".join(lines))
    return referred(
        folder,
        keys,
        label="math.bench.yaml::math",
        history=folder / "history.jsonl",
    )


def compact(text):
    """Write a baseline in one line."""
    return msgspec.json.encode(msgspec.json.decode(text)).decode()


def test_the_last_runs_of_a_history_are_the_reference(tmp_path):
    texts = [recorded(tmp_path, rewards) for rewards in ([1, 0], [0, 1], [1, 1])]
    runs = [run_of(compact(text)) for text in texts]
    reference = of_history(tmp_path, runs, "baseline: {history: 2}")
    assert reference.acceptance is Acceptance.HISTORY
    kept = [rewards_of(run)[:2] for run in reference.runs["agent"]]
    assert kept == [[0.0, 1.0], [1.0, 1.0]]
    assert reference.origin == "history.jsonl, the last 2 runs"
    assert reference.notes == ()


def test_a_history_of_one_run_is_called_so(tmp_path):
    run = run_of(compact(recorded(tmp_path, [1, 0])))
    assert of_history(tmp_path, [run]).origin == "history.jsonl, the last run"


def test_a_history_that_keeps_no_rollouts_is_no_reference(tmp_path):
    assert of_history(tmp_path, [run_of()]) is None


def test_runs_of_another_benchmark_do_not_count(tmp_path):
    run = run_of(compact(recorded(tmp_path, [1, 0])), benchmark="b.bench.yaml::b")
    assert of_history(tmp_path, [run]) is None


def test_runs_that_do_not_fit_the_newest_are_left_out_and_noted(tmp_path):
    other = msgspec.json.decode(recorded(tmp_path, [1, 0]))
    del other["agents"]["agent"]["tasks"]["t0"]
    runs = [
        run_of(msgspec.json.encode(other).decode()),
        run_of(compact(recorded(tmp_path, [0, 1]))),
        run_of(compact(recorded(tmp_path, [1, 1]))),
    ]
    reference = of_history(tmp_path, runs)
    assert len(reference.runs["agent"]) == 2
    assert reference.origin == "history.jsonl, the last 2 runs"
    words = "it has other tasks than the runs before"
    assert reference.notes == (RunsNotCompared(1, 3, words=words),)


def test_levels_that_any_run_accepted_stay_accepted(tmp_path):
    text = compact(recorded(tmp_path, [1, 0]))
    runs = [
        run_of(text, accepted_levels=("mean_reward 0.5",)),
        run_of(text, usable=False, accepted_levels=("mean_reward 0.4",)),
        run_of(text),
    ]
    levels = ("mean_reward 0.5", "mean_reward 0.4")
    assert of_history(tmp_path, runs).provenance.accepted_levels == levels


def test_a_history_without_accepted_levels_has_none(tmp_path):
    run = run_of(compact(recorded(tmp_path, [1, 0])))
    assert of_history(tmp_path, [run]).provenance.accepted_levels is None


def test_the_numbers_of_earlier_runs_may_be_the_reference(tmp_path):
    rulers = [{"scorers": {"type": name}} for name in ("one", "two")]
    points = {"agent": {"mean_reward": HistoryPoint(value=0.5, tasks=10, rollouts=20)}}
    runs = [run_of(agents=points, ruler=ruler) for ruler in rulers]
    runs.append(run_of(agents=points))
    keys = "baseline: {against: best, min_coverage: 90%, rule: exact}"
    reference = of_history(tmp_path, runs, keys)
    assert reference.acceptance is Acceptance.HISTORY
    assert reference.runs == {}
    assert reference.agents == ("agent",)
    assert reference.anchors.against == "best"
    assert reference.anchors.min_coverage == 0.9
    assert reference.anchors.file == "history.jsonl"
    assert reference.provenance.ruler == rulers[1]


def test_the_file_of_a_history_may_be_named_beside_the_benchmark(tmp_path):
    run = run_of(compact(recorded(tmp_path, [1, 0])))
    (tmp_path / "own.jsonl").write_bytes(msgspec.json.encode(run))
    keys = "baseline: {against: best, history: own.jsonl, rule: exact}"
    reference = of_history(tmp_path, [], keys)
    assert reference.anchors.file == "own.jsonl"


@pytest.mark.parametrize(
    ("keys", "asked", "line"),
    [
        ("baseline:\n  history: 3", "history: 3", 6),
        ("baseline:\n  rule: exact\n  against: best", "against: best", 7),
    ],
)
def test_a_history_that_is_not_named_is_asked_for(tmp_path, keys, asked, line):
    with pytest.raises(BaselineError) as refused:
        referred(tmp_path, keys, label="math.bench.yaml::math")
    assert refused.value.message == f"{asked} needs a history, and none is named"
    assert refused.value.line == line
    assert refused.value.hint == (
        "name it: --evalmetrics-history FILE, evalmetrics_history or baseline: history:"
    )


def test_lines_that_are_no_runs_are_noted(tmp_path):
    run = run_of(compact(recorded(tmp_path, [1, 0])))
    (tmp_path / "own.jsonl").write_bytes(b"nonsense\n" + msgspec.json.encode(run))
    reference = referred(
        tmp_path,
        "baseline: {history: 5}",
        label="math.bench.yaml::math",
        history=tmp_path / "own.jsonl",
    )
    assert len(reference.notes) == 1
