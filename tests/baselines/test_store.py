"""What an update does with the baseline of one item, in this process."""

import json

import pytest
from msgspec import structs

from pytest_evalmetrics.baselines.document import parse, render, stamped
from pytest_evalmetrics.baselines.store import Store
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    MetricDocument,
    Provenance,
)
from pytest_evalmetrics.model.reasons import (
    MissingTasks,
    NothingCanFail,
    NotRecorded,
    TaskListChanged,
)
from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult, Check
from pytest_evalmetrics.model.run_notes import NotRecordedXfail
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict

# pytest's plugin collects garbage five times at the end of each configuration
FAST = ("-p", "no:unraisableexception")
UPDATE = "--evalmetrics-update"
ADD = (UPDATE, "--evalmetrics-add-run")
LEVEL = {"mean_reward": 0.5}


def document(levels=None, **provenance):
    """Make a baseline: the metrics of each agent, and a task."""
    agents = {
        agent: AgentDocument(
            key_metrics={
                name: MetricDocument(value=value) for name, value in metrics.items()
            },
            tasks={"t0": {"reward": (1.0,)}},
        )
        for agent, metrics in (levels or {"a": LEVEL}).items()
    }
    provenance = Provenance(files=[], **provenance)
    return BaselineDocument(benchmark="sums", agents=agents, provenance=provenance)


def result_of(*checks, agents=("a",)):
    return BenchmarkResult(
        id="test_it.py::test_sums",
        name="sums",
        description="",
        file="test_it.py",
        line=1,
        agents=tuple(AgentResult(agent, 1, 1, 0, {}, {}, {}) for agent in agents),
        checks=checks,
    )


def failing(gate, *reasons, agent=""):
    return Check(
        gate=gate, name="tasks", verdict=Verdict.FAIL, reasons=reasons, agent=agent
    )


class Folder:
    """A folder with a test that checks the benchmark `sums`."""

    def __init__(self, pytester):
        self._pytester = pytester
        self.baseline = pytester.path / "__baselines__/test_it/sums.json"

    def store(self, *arguments, mark=""):
        source = f"import pytest\n{mark}\ndef test_sums(): pass\n"
        self._pytester.makepyfile(test_it=source)
        items, _ = self._pytester.inline_genitems(*FAST, *arguments)
        return Store(items[0], "sums")

    def keep(self, baseline):
        """Leave a baseline."""
        self.baseline.parent.mkdir(parents=True, exist_ok=True)
        self.baseline.write_text(render(baseline), encoding="utf-8")

    def kept(self):
        return parse(self.baseline.read_text(encoding="utf-8"), file="sums.json")


@pytest.fixture
def folder(pytester):
    return Folder(pytester)


# -- reading ---------------------------------------------------------------------------------


def test_a_baseline_is_read_with_the_name_of_its_file(folder):
    folder.keep(document())
    text, shown = folder.store().read()
    assert shown == "__baselines__/test_it/sums.json"
    assert parse(text, file=shown).benchmark == "sums"


def test_there_is_none_before_the_first_update(folder):
    assert folder.store().read() is None


def test_without_syrupy_a_missing_baseline_is_an_error_with_the_way_out(folder):
    with pytest.raises(BaselineError, match="syrupy, which records them") as refused:
        folder.store("-p", "no:syrupy").read()
    assert refused.value.hint == (
        "drop `-p no:syrupy`, or set `baseline: false` for this benchmark"
    )


def test_a_plugin_that_takes_the_place_of_syrupy_is_named(folder, pytester):
    pytester.makepyfile(snapshot="")
    pytester.syspathinsert()
    with pytest.raises(BaselineError) as refused:
        folder.store("-p", "no:syrupy", "-p", "snapshot").read()
    assert refused.value.hint == (
        "pytest-snapshot has an option --snapshot-update too: switch it off instead, with "
        "`-p no:snapshot`"
    )


def test_rows_are_those_beside_the_baseline(folder):
    folder.keep(document())
    store = folder.store()
    assert store.read_rows() is None
    folder.baseline.with_name("sums.rows.jsonl.gz").write_bytes(b"rows")
    assert store.read_rows() == b"rows"


# -- whether an item updates -----------------------------------------------------------------


def test_a_run_without_an_option_updates_nothing(folder):
    assert not folder.store().updates


@pytest.mark.parametrize("option", [UPDATE, "--snapshot-update"])
def test_an_update_updates_a_test_that_is_to_pass(folder, option):
    assert folder.store(option).updates


def test_without_syrupy_nothing_is_updated(folder):
    assert not folder.store("-p", "no:syrupy").updates


def test_an_update_of_new_ones_updates_a_baseline_that_is_not_there(folder):
    assert folder.store("--snapshot-update-new-only").updates


def test_an_update_of_new_ones_leaves_a_baseline_that_is_there(folder):
    folder.keep(document())
    assert not folder.store("--snapshot-update-new-only").updates


@pytest.mark.parametrize(
    "mark", ["xfail", "xfail(True, reason='r')", "xfail('os.name', reason='r')"]
)
def test_a_test_that_may_be_expected_to_fail_is_not_updated(folder, mark):
    assert not folder.store(UPDATE, mark=f"@pytest.mark.{mark}").updates


@pytest.mark.parametrize(
    "mark", ["xfail(False, reason='r')", "xfail(condition=False, reason='r')"]
)
def test_a_test_whose_expected_failure_is_switched_off_is_updated(folder, mark):
    assert folder.store(UPDATE, mark=f"@pytest.mark.{mark}").updates


def test_a_run_that_ignores_expected_failures_updates_their_tests(folder):
    assert folder.store(UPDATE, "--runxfail", mark="@pytest.mark.xfail").updates


# -- what comes of an update -----------------------------------------------------------------


def test_a_run_without_an_update_leaves_its_result(folder):
    result = result_of()
    assert folder.store().settle(result, document()) == result
    assert not folder.baseline.exists()


def test_an_expected_failure_is_noted_as_not_recorded(folder):
    store = folder.store(UPDATE, mark="@pytest.mark.xfail")
    assert store.settle(result_of(), document()).notes == (NotRecordedXfail(),)
    assert not folder.baseline.exists()


def test_a_first_baseline_is_written_and_named_with_its_values(folder):
    recorded = folder.store(UPDATE).settle(result_of(), document()).recorded
    assert recorded.file == "__baselines__/test_it/sums.json"
    assert recorded.written
    assert recorded.metrics == {"mean_reward": (None, 0.5)}
    assert folder.kept().values("a") == LEVEL


def test_the_same_run_leaves_the_file_and_its_time(folder):
    before = stamped(document(recorded="2026-01-01T00:00:00Z"))
    folder.keep(before)
    recorded = folder.store(UPDATE).settle(result_of(), document()).recorded
    assert not recorded.written
    assert folder.kept().provenance.recorded == "2026-01-01T00:00:00Z"


def test_the_same_run_with_a_reason_is_recorded_anew(folder):
    folder.keep(stamped(document(recorded="2026-01-01T00:00:00Z")))
    new = document(reason="a new judge")
    assert folder.store(UPDATE).settle(result_of(), new).recorded.written
    assert folder.kept().provenance.reason == "a new judge"


def test_a_broken_baseline_is_replaced(folder):
    folder.keep(document())
    folder.baseline.write_text("{", encoding="utf-8")
    recorded = folder.store(UPDATE).settle(result_of(), document()).recorded
    assert recorded.metrics == {"mean_reward": (None, 0.5)}


def test_the_change_of_each_metric_is_named_also_of_one_that_is_gone(folder):
    folder.keep(document({"a": {"mean_reward": 0.5, "pass@1": 0.4}}))
    new = document({"a": {"mean_reward": 0.7, "pass@2": 0.9}})
    recorded = folder.store(UPDATE).settle(result_of(), new).recorded
    assert recorded.metrics == {
        "mean_reward": (0.5, 0.7),
        "pass@2": (None, 0.9),
        "pass@1": (0.4, None),
    }


def test_the_changes_of_several_agents_are_named_with_the_agent(folder):
    both = {"a": {"mean_reward": 0.5}, "b": {"mean_reward": 0.6}}
    folder.keep(document(both))
    result = result_of(agents=("a", "b"))
    recorded = folder.store(UPDATE).settle(result, document(both)).recorded
    assert recorded.metrics == {
        "a: mean_reward": (0.5, 0.5),
        "b: mean_reward": (0.6, 0.6),
    }


def test_the_only_agent_may_have_been_renamed(folder):
    folder.keep(document({"old": {"mean_reward": 0.5}}))
    new = document({"new": {"mean_reward": 0.7}})
    result = result_of(agents=("new",))
    recorded = folder.store(UPDATE).settle(result, new).recorded
    assert recorded.metrics == {"mean_reward": (0.5, 0.7)}


# -- rows ------------------------------------------------------------------------------------


def test_the_rows_of_a_baseline_are_written_beside_it(folder):
    new = document(rows={"count": 1, "digest": "new"})
    folder.store(UPDATE).settle(result_of(), new, rows=b"new")
    assert folder.baseline.with_name("sums.rows.jsonl.gz").read_bytes() == b"new"


def test_the_same_rows_keep_the_bytes_of_their_file(folder):
    same = document(rows={"count": 1, "digest": "same"})
    folder.keep(same)
    rows = folder.baseline.with_name("sums.rows.jsonl.gz")
    rows.write_bytes(b"before")
    folder.store(UPDATE).settle(result_of(), same, rows=b"now")
    assert rows.read_bytes() == b"before"


def test_the_same_rows_are_written_again_where_their_file_is_gone(folder):
    same = document(rows={"count": 1, "digest": "same"})
    folder.keep(same)
    folder.store(UPDATE).settle(result_of(), same, rows=b"now")
    assert folder.baseline.with_name("sums.rows.jsonl.gz").read_bytes() == b"now"


def test_a_baseline_that_keeps_no_rows_any_more_deletes_them(folder):
    folder.keep(document(rows={"count": 1, "digest": "old"}))
    rows = folder.baseline.with_name("sums.rows.jsonl.gz")
    rows.write_bytes(b"before")
    folder.store(UPDATE).settle(result_of(), document())
    assert not rows.exists()


def test_a_baseline_that_never_kept_rows_deletes_none(folder):
    folder.keep(document())
    rows = folder.baseline.with_name("sums.rows.jsonl.gz")
    rows.write_bytes(b"someone's")
    folder.store(UPDATE).settle(result_of(), document())
    assert rows.exists()


# -- what is refused -------------------------------------------------------------------------


def refusal_of(result):
    """Return why a baseline was not recorded: the reason of the check that says so."""
    check = result.checks[-1]
    assert check.gate is Gate.BASELINE
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.acceptance is Acceptance.SNAPSHOT
    (reason,) = check.reasons
    return reason


MISSING = MissingTasks(expected=5, found=1)


@pytest.mark.parametrize("gate", [Gate.DATA, Gate.EXPECT])
def test_an_incomplete_run_is_refused_for_what_is_missing(folder, gate):
    result = folder.store(UPDATE).settle(result_of(failing(gate, MISSING)), None)
    assert refusal_of(result) == NotRecorded(cause="incomplete", because=(MISSING,))


def test_a_refused_baseline_is_a_check_of_its_own(folder):
    result = folder.store(UPDATE).settle(result_of(failing(Gate.DATA, MISSING)), None)
    assert result.checks[-1] == Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(NotRecorded(cause="incomplete", because=(MISSING,)),),
        acceptance=Acceptance.SNAPSHOT,
    )


def test_an_incomplete_run_that_fails_for_nothing_of_its_rows_is_refused(folder):
    fails = failing(Gate.THRESHOLD)
    result = folder.store(UPDATE).settle(result_of(fails), None)
    assert refusal_of(result) == NotRecorded(cause="incomplete")


def test_a_gate_that_nothing_can_fail_says_itself_that_nothing_is_recorded(folder):
    blind = NothingCanFail(metric="mean_reward", tasks=1, rollouts=1, alpha=0.01)
    result = result_of(failing(Gate.BASELINE, blind))
    assert folder.store(UPDATE).settle(result, None) == result


def changed_tasks(lost=0, edited=0, new=0):
    return TaskListChanged(
        expected=3,
        lost=("t1",) * lost,
        lost_count=lost,
        edited=("t2",) * edited,
        edited_count=edited,
        moved=(),
        moved_count=0,
        new=(),
        new_count=new,
        reward="reward",
        is_covered=True,
    )


@pytest.mark.parametrize("changed", [changed_tasks(lost=1), changed_tasks(edited=1)])
def test_a_run_that_drops_or_replaces_tasks_is_refused(folder, changed):
    folder.keep(document())
    result = result_of(failing(Gate.BASELINE, changed, agent="a"))
    settled = folder.store(UPDATE).settle(result, document())
    assert refusal_of(settled) == NotRecorded(
        cause="drops_tasks", dropped=(("a", changed),)
    )
    assert settled.recorded is None


def test_a_run_with_new_tasks_is_recorded(folder):
    folder.keep(document())
    result = result_of(failing(Gate.BASELINE, changed_tasks(new=1)))
    assert folder.store(UPDATE).settle(result, document()).recorded.written


def test_a_run_that_drops_tasks_is_recorded_where_that_is_accepted(folder):
    folder.keep(document())
    result = result_of(failing(Gate.BASELINE, changed_tasks(lost=1)))
    store = folder.store(UPDATE, "--evalmetrics-accept-tasks")
    assert store.settle(result, document()).recorded.written


def test_a_run_without_one_of_the_agents_is_refused(folder):
    folder.keep(document({"c": LEVEL, "b": LEVEL, "a": LEVEL}))
    settled = folder.store(UPDATE).settle(result_of(agents=("a",)), document())
    assert refusal_of(settled) == NotRecorded(
        cause="drops_tasks", lost_agents=("b", "c")
    )


def test_a_run_with_as_many_agents_of_other_names_is_recorded(folder):
    folder.keep(document({"a": LEVEL, "b": LEVEL}))
    agents = {"a": LEVEL, "c": LEVEL}
    result = result_of(agents=tuple(agents))
    assert folder.store(UPDATE).settle(result, document(agents)).recorded.written


def test_a_run_that_differs_from_the_accepted_report_is_refused(folder, tmp_path):
    report = tmp_path / "report.json"
    estimates = {"mean_reward": {"value": 0.25}}
    entry = {
        "id": "test_it.py::test_sums",
        "agents": [{"agent": "a", "estimates": estimates}],
    }
    report.write_text(json.dumps({"schema_version": 2, "benchmarks": [entry]}))
    store = folder.store(UPDATE)
    store._item.config.option.evalmetrics_accept_report = str(report)
    assert refusal_of(store.settle(result_of(), document())) == NotRecorded(
        cause="not_as_reported",
        words="mean_reward is 0.5, and was 0.25 in the report",
    )


def test_a_baseline_that_can_not_be_written_is_an_error_of_its_check(folder):
    folder.baseline.mkdir(parents=True)
    settled = folder.store(UPDATE).settle(result_of(), document())
    assert refusal_of(settled) == NotRecorded(
        cause="not_written",
        words="Is a directory",
        file="__baselines__/test_it/sums.json",
    )


# -- one more run ----------------------------------------------------------------------------


def test_a_run_is_added_to_the_runs_before(folder):
    folder.keep(stamped(document()))
    store = folder.store(*ADD)
    store.keeps_runs = 5
    new = document({"a": {"mean_reward": 0.7}})
    assert store.settle(result_of(), new).recorded.metrics == {
        "mean_reward": (0.5, 0.6)
    }
    assert folder.kept().agents["a"].key_metrics["mean_reward"].runs == (0.5, 0.7)


def test_the_first_run_of_a_baseline_is_added_to_nothing(folder):
    assert folder.store(*ADD).settle(result_of(), document()).recorded.written


def test_no_run_is_added_to_a_baseline_that_was_edited(folder):
    folder.keep(structs.replace(document(), agents=stamped(document()).agents))
    assert refusal_of(
        folder.store(*ADD).settle(result_of(), document())
    ) == NotRecorded(
        cause="not_added",
        words="its file was edited by hand, or by a merge, since it was recorded",
    )


def test_a_run_of_other_agents_is_not_added(folder):
    folder.keep(stamped(document()))
    result = result_of(agents=("b",))
    settled = folder.store(*ADD).settle(result, document({"b": LEVEL}))
    assert refusal_of(settled) == NotRecorded(
        cause="not_added", words="its agents are b, and were a"
    )


# -- a guess at a renamed one ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "guess"),
    [
        ([], ""),
        (["anything-at-all"], "anything-at-all"),
        (["summs-old", "words", "x"], "summs-old"),
        (["words", "things"], ""),
    ],
    ids=["none is unused", "one is", "one is alike", "none is alike"],
)
def test_the_former_name_is_guessed_from_the_unused_baselines(folder, names, guess):
    folder.baseline.parent.mkdir(parents=True)
    for name in names:
        folder.baseline.with_name(f"{name}.json").write_text("{}")
    assert folder.store().renamed_from() == guess
