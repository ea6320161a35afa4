"""The run of a benchmark for its item: what is returned, raised, warned of and kept."""

import json
import warnings

import pytest

from pytest_evalmetrics.errors import DataError, GateFailed, RegressionWarning
from pytest_evalmetrics.items import runs
from pytest_evalmetrics.items.inputs import AskedOf
from pytest_evalmetrics.items.runs import failure_of, run_benchmark
from pytest_evalmetrics.model.run_notes import HistoryStartsAnew
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.session.item_reports import PAYLOADS, VERDICT_NAMES

FILE = "math.bench.yaml"
GATED = """\
benchmark:
  name: a
  rollouts: runs.jsonl
  metrics: [mean_reward]
  thresholds: {mean_reward: ">= 0.5"}
"""
TOO_HIGH = GATED.replace("0.5", "0.9")
# five of forty tasks are lost: too few to be sure of
WARNING = """\
benchmark:
  name: a
  rollouts: new.jsonl
  metrics: [mean_reward]
  baseline: {rollouts: old.jsonl}
"""
COMPARED = """\
benchmark: {name: a, rollouts: runs.jsonl, metrics: [mean_reward], baseline: true}
"""


def run(item, **asked):
    return run_benchmark(item, item.benchmark, AskedOf(**asked))


@pytest.fixture
def warning(collected):
    """Collect a benchmark whose regression gate warns."""
    collected.rollouts([1] * 40, "old.jsonl")
    collected.rollouts([1] * 35 + [0] * 5, "new.jsonl")

    def collect(more=""):
        (item,) = collected(WARNING + more)
        return item

    return collect


@pytest.fixture
def ran(collected):
    """Run the benchmark of a file; give its item and its result."""

    def run_text(text, *arguments, **asked):
        (item,) = collected(text, *arguments)
        return item, run(item, **asked)

    return run_text


# -- what is returned and raised -------------------------------------------------------------


def test_a_run_returns_the_result_of_its_benchmark(ran):
    _, result = ran(GATED)
    assert (result.id, result.verdict) == (f"{FILE}::a", Verdict.PASS)


def test_an_item_whose_gates_hold_raises_nothing(collected):
    (item,) = collected(GATED)
    assert item.runtest() is None


def test_an_item_whose_gate_fails_raises_what_its_benchmark_says(collected):
    (item,) = collected(TOO_HIGH)
    with pytest.raises(GateFailed) as failed:
        item.runtest()
    assert "mean_reward is 0.75, below 0.9" in str(failed.value)


def test_the_lines_of_a_failure_are_those_of_its_item(ran):
    item, result = ran(TOO_HIGH)
    untitled = str(failure_of(result, item.nodeid)).split("\n")
    titled = str(failure_of(result, item.nodeid, titled=True)).split("\n")
    assert titled[1:] == untitled
    assert titled[0] == "a failed"


def no_room(_):
    raise MemoryError


def test_too_little_memory_is_said_with_the_benchmark_its_line_and_a_way_out(
    collected, monkeypatch
):
    (item,) = collected(GATED)
    monkeypatch.setattr(runs, "evaluate", no_room)
    with pytest.raises(DataError) as refused:
        run(item)
    error = refused.value
    assert error.message == "there is not enough memory for a"
    assert (error.file, error.line) == (FILE, 1)
    assert error.hint == (
        "split the benchmark into several, or run it where there is more memory"
    )


def test_too_little_memory_names_the_file_that_a_test_runs(collected, monkeypatch):
    (item,) = collected(GATED)
    monkeypatch.setattr(runs, "evaluate", no_room)
    with pytest.raises(DataError) as refused:
        run(item, file="elsewhere.bench.yaml")
    assert refused.value.file == "elsewhere.bench.yaml"


def test_options_that_change_a_benchmark_change_what_runs(ran):
    text = GATED + "  sample: {tasks: 2}\n"
    _, sampled = ran(text)
    _, whole = ran(text, "--evalmetrics-all-tasks")
    assert sampled.agents[0].tasks == 2
    assert whole.agents[0].tasks == 40


def test_an_expected_failure_is_one(ran):
    _, result = ran(TOO_HIGH + "  xfail: weak\n")
    assert result.xfail


def test_with_runxfail_no_failure_is_expected(ran):
    _, result = ran(TOO_HIGH + "  xfail: weak\n", "--runxfail")
    assert not result.xfail


# -- warnings --------------------------------------------------------------------------------


def test_a_gate_that_warns_does_so_at_its_line(warning):
    with pytest.warns(RegressionWarning) as seen:
        run(warning())
    (one,) = seen
    assert str(one.message).startswith("a: mean_reward fell from 1 to 0.875")
    assert one.filename.endswith(FILE)
    assert one.lineno == 5


def test_a_gate_that_fails_warns_of_nothing(collected):
    (item,) = collected(TOO_HIGH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(item).verdict is Verdict.FAIL


@pytest.mark.filterwarnings("error::pytest_evalmetrics.errors.RegressionWarning")
def test_a_warning_that_is_an_error_fails_the_benchmark(warning):
    item = warning()
    with pytest.raises(GateFailed) as failed:
        run(item)
    assert "mean_reward fell from 1 to 0.875" in str(failed.value)
    assert item.nodeid in str(failed.value)
    assert failed.value.failure is not None


@pytest.mark.filterwarnings("error::pytest_evalmetrics.errors.RegressionWarning")
def test_a_benchmark_that_fails_by_itself_says_so_whatever_its_warnings_are(warning):
    result = run(warning('  thresholds: {mean_reward: ">= 0.9"}\n'))
    assert result.verdict is Verdict.FAIL


# -- hooks -----------------------------------------------------------------------------------


def test_the_hook_for_finished_benchmarks_gets_the_result(collected):
    collected.pytester.makeconftest(
        "def pytest_evalmetrics_benchmark_finished(result):\n"
        "    result.agents[0].aggregate['seen'] = result.name\n"
    )
    (item,) = collected(GATED)
    result = run(item)
    assert result.agents[0].aggregate["seen"] == "a"


def test_a_hook_that_raises_leaves_a_benchmark_undecided(collected):
    collected.pytester.makeconftest(
        "def pytest_evalmetrics_benchmark_finished(result):\n    raise OSError('no')\n"
    )
    (item,) = collected(GATED)
    result = run(item)
    check = result.checks[-1]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert (check.gate, check.name) == ("data", "hook")
    (reason,) = check.reasons
    assert reason.hook == "pytest_evalmetrics_benchmark_finished"
    assert reason.place.endswith("conftest.py:2")
    assert reason.error == "OSError: no"


# -- what is kept for the reports ------------------------------------------------------------


def test_the_result_is_kept_for_the_report_of_its_item(ran):
    item, result = ran(GATED)
    (payload,) = item.stash[PAYLOADS]
    assert payload["entry"]["id"] == result.id


def test_each_benchmark_that_a_test_runs_is_kept(collected):
    (item,) = collected(GATED)
    run(item, label="first")
    run(item, label="second")
    first, second = item.stash[PAYLOADS]
    assert (first["entry"]["id"], second["entry"]["id"]) == ("first", "second")


def test_junit_gets_the_verdict_and_the_key_metrics(ran):
    item, _ = ran(GATED)
    assert item.user_properties == [
        ("evalmetrics.verdict", "PASS"),
        ("mean/reward", 0.75),
        ("mean_reward", 0.75),
    ]


def test_the_properties_of_a_test_s_check_have_the_name_of_the_benchmark(ran):
    item, _ = ran(GATED, label="test_a.py::test_a")
    assert item.user_properties == [
        ("a: evalmetrics.verdict", "PASS"),
        ("a: mean/reward", 0.75),
        ("a: mean_reward", 0.75),
    ]
    assert item.stash[VERDICT_NAMES] == {"a: evalmetrics.verdict"}


def test_the_properties_of_several_agents_have_their_names(collected):
    (collected.path / "runs.jsonl").unlink()
    collected.rollouts((1, 0, 1, 1), agent_ref='{"name": "x"}')
    collected.rollouts((1, 1, 1, 1), agent_ref='{"name": "y"}')
    (item,) = collected(GATED)
    run(item)
    assert item.user_properties == [
        ("evalmetrics.verdict", "PASS"),
        ("x: mean/reward", 0.75),
        ("x: mean_reward", 0.75),
        ("y: mean/reward", 1.0),
        ("y: mean_reward", 1.0),
    ]


# -- baselines -------------------------------------------------------------------------------


def recorded(collected):
    (path,) = collected.path.rglob("a.json")
    return path, json.loads(path.read_text(encoding="utf-8"))


def test_an_update_records_the_baseline_and_why(collected):
    (item,) = collected(
        COMPARED, "--evalmetrics-update", "--evalmetrics-reason=new prompt"
    )
    run(item)
    _, document = recorded(collected)
    assert document["provenance"]["reason"] == "new prompt"


def test_an_update_without_a_reason_records_none(collected):
    (item,) = collected(COMPARED, "--evalmetrics-update")
    run(item)
    _, document = recorded(collected)
    assert not document["provenance"].get("reason")


def with_old_baseline(collected):
    (item,) = collected(
        COMPARED, "--evalmetrics-update", "--evalmetrics-reason=first light"
    )
    run(item)
    path, document = recorded(collected)
    document["provenance"]["recorded"] = "2020-01-01T00:00:00Z"
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_baseline_that_is_too_old_is_described(collected):
    with_old_baseline(collected)
    (item,) = collected(COMPARED)
    stale = run(item).stale
    assert stale.recorded == "2020-01-01T00:00:00Z"
    assert stale.reason == "first light"
    assert stale.limit == 90
    assert stale.file.endswith("a.json")


def test_a_baseline_may_have_any_age_where_a_setting_says_so(collected):
    with_old_baseline(collected)
    (item,) = collected(COMPARED, "-o", "evalmetrics_baseline_age=0")
    assert run(item).stale is None


def test_a_baseline_that_is_recorded_anew_is_not_too_old(collected):
    with_old_baseline(collected)
    (item,) = collected(COMPARED, "--evalmetrics-update")
    assert run(item).stale is None


HISTORY = COMPARED.replace("baseline: true", "baseline: {history: 10}")


def test_an_update_lets_a_history_start_anew(ran):
    _, result = ran(HISTORY, "--evalmetrics-update", "--evalmetrics-history=h.jsonl")
    assert HistoryStartsAnew() in result.notes


def test_without_an_update_a_history_goes_on(ran):
    _, result = ran(HISTORY, "--evalmetrics-history=h.jsonl")
    assert HistoryStartsAnew() not in result.notes


def test_a_run_for_the_history_keeps_itself_as_a_baseline(ran):
    item, _ = ran(HISTORY, "--evalmetrics-history=h.jsonl")
    (payload,) = item.stash[PAYLOADS]
    assert "baseline" in payload


def test_a_run_with_a_baseline_of_its_own_keeps_none_for_the_history(ran):
    item, _ = ran(COMPARED, "--evalmetrics-update")
    (payload,) = item.stash[PAYLOADS]
    assert "baseline" not in payload


# -- scored rows -----------------------------------------------------------------------------

SCORED = """\
benchmark:
  name: a
  rollouts: runs.jsonl
  metrics: [mean/exact]
  reward: exact
  scorers: [{type: exact_match, name: exact, reference: "x"}]
"""


def test_a_scored_run_says_what_it_used(ran, collected):
    (collected.path / "runs.jsonl").unlink()
    collected.rollouts((1, 0, 1, 1), response='"x"')
    item, _ = ran(SCORED)
    (payload,) = item.stash[PAYLOADS]
    assert (payload["usage"], payload["warnings"]) == ({}, [])
