"""What a baseline keeps to be measured anew, and both sides measured alike."""

import gzip
import json
from types import SimpleNamespace

import pytest
from stages.making import benchmark, load, read, write_rows

from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.gate_notes import NoFingerprint, UnannouncedCode
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.pipeline.measuring import (
    AlikeMeasured,
    Measurement,
    compare_measurements,
    gates_of,
    kept_rows_of,
    rescored,
)
from pytest_evalmetrics.pipeline.references import Reference

# -- the rows that a baseline keeps ----------------------------------------------------------


def kept(folder, keys, *, has_files=True, scoring=None):
    """Collect what a new baseline keeps of two rows."""
    (folder / "new.jsonl").unlink(missing_ok=True)
    asks = ["Why?", "s3cr3t?"]
    write_rows(folder, "new.jsonl", [[1.0], [0.0]], question=asks, output=["a", "b"])
    asked = benchmark(folder, f"metrics: [mean_reward]\n{keys}")
    _, loaded = load(asked)
    rows = read(asked)
    if scoring is not None:
        prepared = SimpleNamespace(scoring=scoring)
        rows = SimpleNamespace(prepared=prepared, scored=None)
    return kept_rows_of(loaded, rows, has_files=has_files)


def lines_of(rows):
    return [json.loads(line) for line in gzip.decompress(rows.data).splitlines()]


def test_a_baseline_keeps_no_rows_unless_it_is_asked_to(tmp_path):
    assert kept(tmp_path, "baseline: {answers: false}") is None


def test_a_baseline_keeps_the_texts_of_its_rows(tmp_path):
    rows = kept(tmp_path, "baseline: {answers: true}")
    assert rows.description["count"] == 2
    assert [line["item"] for line in lines_of(rows)] == [
        {"prompt": "Why?", "response": "a"},
        {"prompt": "s3cr3t?", "response": "b"},
    ]


def test_rollouts_that_come_from_no_file_have_no_texts(tmp_path):
    assert kept(tmp_path, "baseline: {answers: true}", has_files=False) is None


class Scoring:
    """Rows as scorers saw them, with a key in one."""

    def hide(self, text):
        return text.replace("s3cr3t", "***")

    def as_scored(self):
        for at, question in enumerate(["Why?", "s3cr3t?"]):
            yield Row(at, "agent", f"t{at}", 0, {"question": question}), None


def test_texts_that_scorers_saw_are_kept_without_keys(tmp_path):
    rows = kept(tmp_path, "baseline: {answers: true}", scoring=Scoring())
    items = [line["item"] for line in lines_of(rows)]
    assert items == [{"prompt": "Why?"}, {"prompt": "***?"}]


# -- measured alike --------------------------------------------------------------------------

RULER = {"reward": {"score": "reward"}, "scorer j": {"scores": ["q"], "judge": "m"}}


def now(ruler=RULER, under_test=None):
    return Measurement(ruler, under_test or {}, {"metrics": [], "thresholds": {}})


def reference(**provenance):
    return Reference(
        acceptance=Acceptance.REPORT, runs={}, provenance=Provenance(**provenance)
    )


def compared(before, measurement=None):
    return compare_measurements(before, measurement or now(), str)


def test_the_same_ruler_is_no_change():
    alike = compared(reference(ruler=RULER))
    assert alike.changes == ()
    assert alike.notes == ()
    assert alike.has_fingerprint


def test_another_judge_is_a_change_of_the_scorer():
    before = {**RULER, "scorer j": {"scores": ["q"], "judge": "old"}}
    (change,) = compared(reference(ruler=before)).changes
    assert change.by_scorer
    assert (change.before, change.now) == ("old", "m")


def test_a_reference_without_a_ruler_is_noted_where_scorers_measure():
    alike = compared(reference())
    assert alike.notes == (NoFingerprint(Acceptance.REPORT),)
    assert not alike.has_fingerprint


def test_a_reference_without_a_ruler_is_not_noted_where_nothing_measures():
    assert compared(reference(), now({"reward": {}})).notes == ()


def test_a_record_that_lacks_a_ruler_alone_is_noted():
    alike = compared(reference(recorded="2026-11-02"), now({"reward": {}}))
    assert alike.notes == (NoFingerprint(Acceptance.REPORT),)


def test_another_model_under_test_is_a_change_beside_the_numbers():
    before = reference(ruler=RULER, under_test={"model": "m1"})
    alike = compared(before, now(under_test={"model": "m2"}))
    (change,) = alike.other_changes
    assert change.settings[0].key == "model"
    assert alike.changes == ()


def test_code_that_changed_under_one_version_is_noted():
    code = {"target version": 2, "target source": "a"}
    before = reference(ruler=RULER, under_test=code)
    alike = compared(before, now(under_test={**code, "target source": "b"}))
    assert alike.notes == (UnannouncedCode("2"),)


# -- scored anew -----------------------------------------------------------------------------


class Rescoring:
    """Scorers that score the rows of a baseline anew."""

    def __init__(self, tables, notes):
        self._outcome = tables, notes
        self.asked = []

    def rescored(self, data, recorded, tables):
        self.asked.append((data, recorded, tables))
        return self._outcome


def with_change(entry, rows=None):
    """Compare with a reference of which one entry was another."""
    before = {**RULER, entry: {"scores": ["q"], "judge": "old"}}
    current = {**RULER, entry: {"scores": ["q"], "judge": "new"}}
    return compared(reference(ruler=before, rows=rows), now(current))


def rows_of(scoring):
    return SimpleNamespace(prepared=SimpleNamespace(scoring=scoring))


KEPT = {"count": 2}


def test_the_rows_of_a_baseline_are_scored_anew_where_a_scorer_changed():
    scoring = Rescoring({"agent": "table"}, ["a note"])
    alike = rescored(with_change("scorer j", KEPT), rows_of(scoring), lambda: b"data")
    assert scoring.asked == [(b"data", KEPT, {})]
    assert alike.reference.runs == {"agent": ["table"]}
    assert alike.notes == ("a note",)
    assert alike.changes == ()
    assert [change.now for change in alike.settled] == ["new"]


def test_a_baseline_whose_rows_are_nowhere_asks_for_none():
    scoring = Rescoring({}, [])
    rescored(with_change("scorer j", KEPT), rows_of(scoring), None)
    assert scoring.asked == [(None, KEPT, {})]


@pytest.mark.parametrize(("rows", "scoring"), [(None, Rescoring({}, [])), (KEPT, None)])
def test_without_rows_or_scorers_nothing_is_scored_anew(rows, scoring):
    before = with_change("scorer j", rows)
    assert rescored(before, rows_of(scoring), None) is before


def test_a_tool_that_changed_can_not_be_run_anew():
    before = with_change("tool lm_eval")
    alike = rescored(before, rows_of(None), None)
    assert alike.changes == before.changes
    assert len(alike.changes) == 1
    assert alike.settled == ()


def test_nothing_is_scored_anew_where_nothing_changed():
    scoring = Rescoring({}, [])
    before = AlikeMeasured(reference(ruler=RULER))
    assert rescored(before, rows_of(scoring), None) == before
    assert scoring.asked == []


def test_gates_are_described_as_they_are_written(tmp_path):
    keys = "metrics: [mean_reward]\nthresholds: {pass@1: '>= 0.5'}"
    assert gates_of(benchmark(tmp_path, keys)) == {
        "metrics": ["mean_reward"],
        "thresholds": {"pass@1": ">= 0.5"},
    }
