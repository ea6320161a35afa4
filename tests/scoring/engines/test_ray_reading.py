"""Rollouts read by the nodes of a real cluster: the same bits, the same errors."""

import gzip
import json

import pytest
from rollouts.same import all_bits

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Source
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.rollouts import load, load_dataset
from pytest_evalmetrics.spec import DatasetSpec, RolloutsSpec

pytestmark = pytest.mark.ray


def some_rows(first, count):
    return [
        {
            "_ng_task_index": i // 4,
            "_ng_rollout_index": i % 4,
            "reward": [1, True, 0.25][i % 3],
            "agent_ref": {"name": f"agent{i % 7 // 6}"},
            "level": "ab"[i % 2],
            "text": "word " * (i % 50),
            **({"late": i} if i > 600 else {}),
            **(
                {"odd": float("nan") if i % 200 < 100 else "text"}
                if i % 100 == 17
                else {"odd": 1}
            ),
        }
        for i in range(first, first + count)
    ]


def lines(rows, end="\n"):
    return end.join([*(json.dumps(row) for row in rows), ""]).encode()


def written(folder):
    (folder / "a.jsonl").write_bytes(lines(some_rows(0, 500)))
    (folder / "b.jsonl").write_bytes(
        b"\xef\xbb\xbf" + lines(some_rows(500, 400), "\r\n")
    )
    (folder / "c.json.gz").write_bytes(
        gzip.compress(json.dumps(some_rows(900, 50)).encode())
    )
    return RolloutsSpec(path=("*.json*",))


def test_the_cluster_reads_what_one_process_does(ray_engine, tmp_path):
    spec = written(tmp_path)
    wanted = {"scores": ["reward"], "categories": ["level"]}
    alone = load(spec, tmp_path, **wanted)
    assert len(note_texts(alone.notes)) == 2
    assert all_bits(load(spec, tmp_path, **wanted, reader=ray_engine.read)) == all_bits(
        alone
    )


def test_the_nodes_read_parts_of_what_lies_behind_urls(
    ray_engine, tmp_path, monkeypatch
):
    written(tmp_path)
    spec = RolloutsSpec(path=(f"{tmp_path.as_uri()}/*.json*",))
    alone = load(spec, tmp_path, scores=["reward"])
    monkeypatch.setattr(ray_engine, "_size", 25_000)
    monkeypatch.setattr(  # here nothing is copied any more
        "pytest_evalmetrics.rollouts.remote._copy",
        lambda *_: pytest.fail("copied here"),
    )
    pieces = []
    read = ray_engine._read

    def counted(to_read, *more):
        pieces.extend(to_read)
        return read(to_read, *more)

    monkeypatch.setattr(ray_engine, "_read", counted)
    table = load(spec, tmp_path, scores=["reward"], reader=ray_engine.read)
    assert all_bits(table) == all_bits(alone)
    spans = [piece.file for piece in pieces if isinstance(piece.what, Source)]
    assert len(spans) > 4
    assert {*spans} == {0, 1}
    assert [piece.file for piece in pieces if piece.file not in spans] == [
        2
    ]  # it is compressed


def test_a_data_set_is_numbered_over_all_pieces(ray_engine, tmp_path):
    (tmp_path / "d.jsonl").write_bytes(
        lines([{"score": i, "x": "y" * 90} for i in range(300)])
    )
    spec = DatasetSpec(path=("d.jsonl",))
    alone = load_dataset(spec, tmp_path, scores=["score"])
    table = load_dataset(spec, tmp_path, scores=["score"], reader=ray_engine.read)
    assert all_bits(table) == all_bits(alone)


BROKEN = {
    "no-json": b'{"_ng_task_index": 5, "reward": }\n',
    "no-task": b'{"reward": 1}\n',
    "no-number": b'{"_ng_task_index": 5, "_ng_rollout_index": 77, "reward": "high"}\n',
    "no-utf8": b'{"_ng_task_index": 5, "reward": "\xff"}\n',
    "twice": lines(some_rows(3, 1)),
    "no-sample": b'{"_ng_task_index": 5, "reward": 1, "agent_ref": {"name": "agent0"}}\n',
    "empty": b"",
}


@pytest.mark.parametrize("what", BROKEN)
def test_errors_cross_as_themselves(ray_engine, tmp_path, what):
    good = lines(some_rows(0, 400))
    (tmp_path / "a.jsonl").write_bytes(good)
    more = b"" if what == "empty" else lines(some_rows(400, 300)) + BROKEN[what]
    (tmp_path / "b.jsonl").write_bytes(
        more + (lines(some_rows(700, 200)) if more else b"")
    )
    spec = RolloutsSpec(path=("*.jsonl",), fields=FieldMap())
    errors = []
    for reader in (None, ray_engine.read):
        with pytest.raises(DataError) as raised:
            load(spec, tmp_path, scores=["reward"], reader=reader)
        error = raised.value
        errors.append((type(error), str(error), error.file, error.line))
    assert errors[0] == errors[1]


def test_a_node_that_is_gone_in_the_middle_costs_nothing(
    nodes, ray_engine, tmp_path, monkeypatch
):
    from pytest_evalmetrics.rollouts.table import TableBuilder  # is looked into

    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_bytes(
            lines(some_rows(1000 * number, 1000))
        )
    spec = RolloutsSpec(path=("*.jsonl",))
    alone = load(spec, tmp_path, scores=["reward"])
    victim, pieces = nodes.add(), []
    extend = TableBuilder.extend

    def extended(table, source, part):
        pieces.append(source)
        if len(pieces) == 10:
            nodes.kill(victim)
        extend(table, source, part)

    monkeypatch.setattr(TableBuilder, "extend", extended)
    table = load(spec, tmp_path, scores=["reward"], reader=ray_engine.read)
    assert len(pieces) > 40
    assert all_bits(table) == all_bits(alone)


def test_a_node_that_does_not_see_the_files_is_reported(tmp_path):
    from pytest_evalmetrics.ext import Request  # the same
    from pytest_evalmetrics.scoring.engines.ray_engine import read_piece  # on a node

    source = Source(tmp_path / "a.jsonl", "runs/a.jsonl", 10, b"{")
    problem = read_piece(source, None, Request(FieldMap()))
    assert "has no file" in str(problem)
    assert "runs/a.jsonl" in str(problem)
