"""One benchmark on its way to the process that writes: its result, its rows, and where they lie."""

import errno
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from reports.records import agent, below, benchmark

from pytest_evalmetrics.errors import ArtifactError, MetricError
from pytest_evalmetrics.model.baseline import AgentDocument
from pytest_evalmetrics.model.rollout_table import RolloutTable, RowScores
from pytest_evalmetrics.model.run_notes import TaskGroupsApart
from pytest_evalmetrics.model.scores import RowFailure
from pytest_evalmetrics.reports import payload as payloads
from pytest_evalmetrics.reports.payload import (
    Artifacts,
    payload_of,
    result_of,
    rollout_lines,
    row_lines,
)
from pytest_evalmetrics.reports.sentences.notes import note_text

NAN = float("nan")


def rows(**fields):
    """Make three scored rows of two tasks and two agents, read in another order."""
    scores = {
        "quality": np.array([0.5, NAN, 1.0]),
        "output_tokens": np.array([7.0, NAN, 9.0]),
        "cost": np.array([0.25, NAN, 0.5]),
        "truncated": np.array([0.0, 1.0, NAN]),
        "reward": np.array([1.0, 1.0, 1.0]),
    }
    table = RolloutTable(
        agents=("agent", "beta"),
        agent=np.array([0, 0, 1], dtype=np.int32),
        tasks=("a", "b"),
        task=np.array([0, 1, 0]),
        sample=np.array([0, 2, 1]),
        scores=scores,
        read_as=np.array([2, 0, 1]),
    )
    names = ("quality", "output_tokens", "cost", "truncated")
    return RowScores(**{"table": table, "names": names, "failed": {}, **fields})


def lines(pieces):
    """Read lines of JSON, each of which ends."""
    text = b"".join(pieces).decode()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


# -- rows ------------------------------------------------------------------------------------


def test_each_row_is_a_line_in_the_order_of_the_files():
    assert lines(row_lines("a::math", rows())) == [
        {
            "benchmark": "a::math",
            "index": 0,
            "agent": "agent",
            "task": "b",
            "sample": 2,
            "scores": {
                "quality": None,
                "output_tokens": None,
                "cost": None,
                "truncated": 1.0,
            },
            "errors": [],
            "requests": [],
        },
        {
            "benchmark": "a::math",
            "index": 1,
            "agent": "beta",
            "task": "a",
            "sample": 1,
            "scores": {
                "quality": 1.0,
                "output_tokens": 9.0,
                "cost": 0.5,
                "truncated": None,
            },
            "errors": [],
            "requests": [],
        },
        {
            "benchmark": "a::math",
            "index": 2,
            "agent": "agent",
            "task": "a",
            "sample": 0,
            "scores": {
                "quality": 0.5,
                "output_tokens": 7.0,
                "cost": 0.25,
                "truncated": 0.0,
            },
            "errors": [],
            "requests": [],
        },
    ]


def test_a_row_has_its_errors_its_requests_and_the_reasons_of_its_scores():
    failure = RowFailure(1, "a.jsonl:2", "http-500", "the server failed")
    scored = rows(
        failed={1: {("quality", "tone"): failure}},
        requests=lambda row: b"[%d]" % row,
        reasons=lambda row: b'["why"]' if row == 2 else b"[]",
    )
    first, second, third = lines(row_lines("a::math", scored))
    assert [line["requests"] for line in (first, second, third)] == [[0], [1], [2]]
    assert first["errors"] == []
    assert second["errors"] == [
        {
            "scores": ["quality", "tone"],
            "kind": "http-500",
            "reason": "the server failed",
            "row": "a.jsonl:2",
        }
    ]
    assert "reasons" not in second
    assert third["reasons"] == ["why"]


def test_rows_that_were_read_as_they_are_sorted_keep_their_order():
    table = structs.replace(rows().table, read_as=None)
    tasks = [line["task"] for line in lines(row_lines("a::math", rows(table=table)))]
    assert tasks == ["a", "b", "a"]


def test_rows_of_more_than_one_block_are_numbered_through():
    count = 1500
    table = RolloutTable(
        agents=("agent",),
        agent=np.zeros(count, dtype=np.int32),
        tasks=tuple(range(count)),
        task=np.arange(count),
        sample=np.zeros(count, dtype=np.int64),
        scores={"quality": np.arange(count, dtype=np.float64)},
    )
    scored = RowScores(table=table, names=("quality",), failed={})
    written = lines(row_lines("a::math", scored))
    assert [line["index"] for line in written] == list(range(count))
    assert [line["scores"]["quality"] for line in written] == list(range(count))


# -- generated rollouts ----------------------------------------------------------------------


def kept(item, **fields):
    return json.dumps([{"item": item, **fields}]).encode()


ANSWERS = {
    # a row's own key of a name that is written
    0: kept({"question": "why?", "quality": "its own"}, sample={"text": "so"}),
    1: kept({"question": "how?"}, failed={"kind": "http-500"}),
    2: b"[]",
}


def test_a_rollout_has_its_row_its_scores_and_what_is_no_part_of_the_row():
    first, second, third = lines(rollout_lines(rows(answers=ANSWERS.__getitem__)))
    assert first == {
        "question": "why?",
        "_ng_task_index": "b",
        "_ng_rollout_index": 2,
        "quality": None,
        "truncated": 1,
        "usage": {},
        "_evalmetrics": {
            "added": ["_ng_task_index", "_ng_rollout_index", "truncated", "usage"],
            "row": {"quality": "its own"},
            "sample": {"text": "so"},
        },
    }
    assert second == {
        "question": "how?",
        "_ng_task_index": "a",
        "_ng_rollout_index": 1,
        "agent_ref": {"name": "beta"},
        "quality": 1.0,
        "truncated": None,
        "usage": {"output_tokens": 9.0, "cost": 0.5},
        "_evalmetrics": {
            "added": [
                "_ng_task_index",
                "_ng_rollout_index",
                "agent_ref",
                "quality",
                "truncated",
                "usage",
            ],
            "row": {},
            "failed": {"kind": "http-500"},
        },
    }
    assert third["usage"] == {"output_tokens": 7, "cost": 0.25}
    assert third["_evalmetrics"]["row"] == {}


def test_counts_are_written_as_whole_numbers():
    text = b"".join(rollout_lines(rows(answers=ANSWERS.__getitem__))).decode()
    assert '"output_tokens":9,' in text
    assert '"truncated":1,' in text
    assert '"quality":1.0,' in text


def test_without_generated_answers_there_are_no_rollouts():
    assert list(rollout_lines(rows())) == []


# -- a benchmark's payload -------------------------------------------------------------------


def document(name, **fields):
    return AgentDocument(key_metrics={}, tasks={"t": {"name": name}}, **fields)


def aggregate(name, tasks=2):
    groups = [{"_ng_task_index": at} for at in range(tasks)]
    return {"agent_ref": {"name": name}, "group_level_metrics": groups}


AGENTS = (
    agent("alpha", aggregate=aggregate("alpha")),
    agent("beta", aggregate=aggregate("beta")),
)
DOCUMENTS = {
    "alpha": document("alpha", ids="positions", content={"t": "hash"}),
    "beta": document("beta"),
}


def test_a_payload_has_the_result_and_the_texts_of_its_artifacts():
    result = benchmark(below(), agents=AGENTS)
    payload = payload_of(result, DOCUMENTS, None, {}, None)
    assert payload["entry"]["verdict"] == "FAIL"
    assert payload["files"] == {}
    assert payload["usage"] == {}
    assert payload["warnings"] == []
    texts = payload["texts"]
    assert texts["task_scores"].split("\n") == [
        '{"t":{"name":"alpha"}}',
        '{"t":"hash"}',
        '{"t":{"name":"beta"}}',
        "null",
    ]
    entries = json.loads(f"[{texts['aggregate']}]")
    assert [entry["agent_ref"]["name"] for entry in entries] == ["alpha", "beta"]
    assert texts["groups"] == ""
    assert set(texts) == {"task_scores", "aggregate", "groups"}


def test_a_result_arrives_as_it_was_without_its_aggregates():
    result = benchmark(below(), agents=AGENTS)
    arrived = result_of(payload_of(result, DOCUMENTS, None, {}, None))
    alpha, beta = AGENTS
    expected = (
        structs.replace(alpha, aggregate={}, task_ids="positions"),
        structs.replace(beta, aggregate={}, task_ids="names"),
    )
    assert arrived == structs.replace(result, agents=expected)


def test_scored_rows_are_texts_of_their_own():
    scored = rows(answers=ANSWERS.__getitem__)
    payload = payload_of(benchmark(agents=()), {}, scored, {}, None)
    own = b"".join(row_lines("a.yaml::math", scored)).decode()
    assert payload["texts"]["row_scores"] == own
    assert payload["texts"]["rollouts"] == b"".join(rollout_lines(scored)).decode()


def test_large_texts_are_files_of_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(payloads, "_LARGE", 100)
    scored = rows(answers=ANSWERS.__getitem__)
    payload = payload_of(benchmark(agents=()), {}, scored, {}, tmp_path)
    assert set(payload["files"]) == {"row_scores", "rollouts"}
    assert payload["texts"]["row_scores"] == ""
    path = Path(payload["files"]["row_scores"])
    assert path.parent == tmp_path
    assert path.read_bytes() == b"".join(row_lines("a.yaml::math", scored))


def test_the_tasks_of_very_large_entries_are_apart(monkeypatch):
    monkeypatch.setattr(payloads, "_MOST_GROUPS", 3)
    large = agent("beta", aggregate=aggregate("beta", 4))
    small = agent("alpha", aggregate=aggregate("alpha", 3))
    result = benchmark(agents=(small, large))
    payload = payload_of(result, DOCUMENTS, None, {}, None)
    alpha, beta = json.loads(f"[{payload['texts']['aggregate']}]")
    assert len(alpha["group_level_metrics"]) == 3
    assert "group_level_metrics_in" not in alpha
    assert beta["group_level_metrics"] == []
    assert beta["group_level_metrics_in"] == "group_level_metrics.json"
    (apart,) = json.loads(f"[{payload['texts']['groups']}]")
    assert apart == {"benchmark": "a.yaml::math", **aggregate("beta", 4)}
    (note,) = result_of(payload).notes
    assert note == TaskGroupsApart(4, "group_level_metrics.json")
    assert "4 tasks" in note_text(note)


def test_what_a_hook_computes_has_to_be_json():
    bad = {**aggregate("alpha"), "own": object()}
    result = benchmark(agents=(agent("alpha", aggregate=bad),))
    with pytest.raises(MetricError) as refused:
        payload_of(result, DOCUMENTS, None, {}, None)
    assert refused.value.message.startswith(
        "the aggregate metrics of math can't be written as JSON: "
    )
    assert refused.value.hint == (
        "let the hook pytest_evalmetrics_compute_metrics return builtins only"
    )


def test_the_folder_of_texts_is_the_user_s_alone(tmp_path):
    folder = tmp_path / "new" / "folder"
    path = Path(payloads.leave([b"a\n", b"b\n"], folder))
    assert path.read_bytes() == b"a\nb\n"
    assert path.suffix == ".jsonl"
    assert path.stem != Path(payloads.leave([b"a"], folder)).stem
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_can_t_be_made_is_reported_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ArtifactError) as refused:
        payloads.leave([b"a"], tmp_path / "file" / "folder")
    assert refused.value.message == (
        "no artifact is written: the results of a benchmark can't be kept in "
        f"{tmp_path / 'file'}: Not a directory"
    )
    assert refused.value.hint == (
        "free some room, or name another folder in the environment as TMPDIR"
    )


# -- the texts of finished benchmarks --------------------------------------------------------


def texts(**kinds):
    return {
        "entry": {},
        "texts": kinds,
        "files": {},
        "usage": {},
        "warnings": [],
    }


def test_texts_are_read_as_they_were_added():
    with Artifacts() as kept_texts:
        kept_texts.add("b", texts(about="\u65e5 b", tasks=""))
        kept_texts.add("a", texts(about="of a", brief="short"))
        assert kept_texts.read("b", "about") == "\u65e5 b".encode()
        assert kept_texts.read("a", "about") == b"of a"
        assert kept_texts.size("b", "about") == 5
        assert kept_texts.ids("about") == ["a", "b"]
        assert kept_texts.ids("brief") == ["a"]
        assert kept_texts.ids("tasks") == []


def test_what_is_absent_is_empty():
    with Artifacts() as kept_texts:
        kept_texts.add("a", texts(about="x"))
        assert kept_texts.read("a", "tasks") == b""
        assert kept_texts.read("b", "about") == b""
        assert kept_texts.size("b", "about") == 0
        assert list(kept_texts.pieces("b", "about")) == []


def test_a_benchmark_that_is_evaluated_again_replaces_its_texts():
    with Artifacts() as kept_texts:
        kept_texts.add("a", texts(about="old", brief="old"))
        kept_texts.add("a", texts(about="new"))
        assert kept_texts.read("a", "about") == b"new"
        assert kept_texts.ids("brief") == []


def test_files_are_taken_over_and_removed(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"rows\n")
    with Artifacts() as kept_texts:
        kept_texts.add("a", {**texts(about="x"), "files": {"row_scores": str(path)}})
        kept_texts.add("b", texts(about="y"))
        assert not path.exists()
        assert kept_texts.read("a", "row_scores") == b"rows\n"
        assert kept_texts.size("a", "row_scores") == 5
        assert kept_texts.read("a", "about") == b"x"
        assert kept_texts.read("b", "about") == b"y"


def test_a_large_text_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(payloads, "_PIECE", 4)
    with Artifacts(in_memory=1) as kept_texts:
        kept_texts.add("a", texts(about="0123456789"))
        kept_texts.add("b", texts(about="x"))
        assert list(kept_texts.pieces("a", "about")) == [b"0123", b"4567", b"89"]


def test_a_full_disk_is_reported_with_the_benchmark(monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Artifacts() as kept_texts:
        monkeypatch.setattr(kept_texts._spool, "write", full)
        with pytest.raises(ArtifactError) as refused:
            kept_texts.add("a.yaml::math", texts(about="x"))
    assert refused.value.message == (
        "no artifact is written: the results of a.yaml::math can't be kept in "
        f"{tempfile.gettempdir()}: No space left on device"
    )


def test_what_a_full_disk_kept_from_closing_is_not_reported_twice(monkeypatch):
    kept_texts = Artifacts()
    kept_texts.add("a", texts(about="x"))
    close = kept_texts._spool.close

    def full():
        close()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept_texts._spool, "close", full)
    with kept_texts:
        assert kept_texts.read("a", "about") == b"x"
