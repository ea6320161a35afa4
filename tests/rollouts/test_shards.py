"""Shards, however cut and whoever reads them, put together as one process reads the files."""

import gzip
import json
import pickle
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rollouts.conftest import Folder
from rollouts.same import all_bits
from rollouts.test_properties import rows_of, written

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Request, open_source
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.large import ShardReader, shards_of
from pytest_evalmetrics.rollouts.table import TableBuilder

REQUESTS = (
    Request(FieldMap(), (), ("agent_ref.name",)),
    Request(FieldMap(reward="b.c", scores={"x": "response.usage.a"}), ("a",)),
    Request(FieldMap(), by_position=True),
)


def in_order(folder, request):
    table = TableBuilder(request)
    readers = {True: JsonArray(request), False: JsonLines(request)}
    for source in sources_of(folder):
        for chunk in readers[source.is_array].read(source):
            table.add(source, chunk)
    return table.build()


def sources_of(folder):
    return [open_source(file) for file in find_files(("*.jsonl",), folder.path)]


def shards_in(folder, size):
    return [shard for source in sources_of(folder) for shard in shards_of(source, size)]


def merge(request, shards, parts):
    table = TableBuilder(request)
    for shard, part in zip(shards, parts, strict=True):
        table.extend(shard, part)
    return table.build()


def by_readers(shards, request, whose):
    """Read as several processes do: each keeps what it learns, each goes up."""
    readers = {}
    parts = [
        pickle.dumps(readers.setdefault(who, ShardReader(request)).read(shard))
        for shard, who in zip(shards, whose, strict=True)
    ]
    return merge(request, shards, map(pickle.loads, parts))


def by_new_readers(shards, request):
    return merge(
        request, shards, (ShardReader(request).read(shard) for shard in shards)
    )


def outcome(read):
    try:
        return all_bits(read())
    except DataError as error:
        return str(error)


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(REQUESTS))
def test_shards_put_together_are_the_files(data, request):
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        for number in range(data.draw(st.integers(1, 3), label="files")):
            array = data.draw(st.sampled_from([False, False, True]), label="array")
            rows = data.draw(rows_of(many=data.draw(st.booleans(), label="many")))
            content = written(rows, data, array=array)
            packed = data.draw(st.sampled_from([False, False, True]), label="gzip")
            folder.write(
                gzip.compress(content) if packed else content, f"{number}.jsonl"
            )
        size = data.draw(st.integers(1, 3000), label="size")
        shards = shards_in(folder, size)
        whose = data.draw(
            st.lists(st.integers(0, 2), min_size=len(shards), max_size=len(shards)),
            label="whose",
        )
        expected = comparable(outcome(lambda: in_order(folder, request)))
        several = outcome(lambda: by_readers(shards, request, whose))
        apart = outcome(lambda: by_new_readers(shards, request))
    assert comparable(several) == expected
    assert comparable(apart) == expected


def comparable(outcome):
    """Return what is equal however files are read: of several bad rows any may be named."""
    return "refused" if isinstance(outcome, str) else outcome


@given(st.lists(st.binary(max_size=20), max_size=30), st.integers(1, 60))
@example([b"", b"", b"a"], 1)
def test_spans_are_whole_lines_and_all_of_them(lines, size):
    content = b"{" + b"\n".join(lines)
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name))
        folder.write(content)
        shards = shards_in(folder, size)
    spans = [shard.span or (0, len(content)) for shard in shards]
    assert b"".join(content[a:b] for a, b in spans) == content
    assert all(content[b - 1 : b] == b"\n" for _, b in spans[:-1])
    assert all(a < b for a, b in spans)


def row(task, **more):
    return {"_ng_task_index": task, **more}


def test_numbers_among_names_of_tasks_are_positions_however_the_file_is_cut(folder):
    folder.write("".join(json.dumps(row(task)) + "\n" for task in ("01", 0, 0)))
    request = Request(FieldMap())
    apart = by_new_readers(shards_in(folder, 1), request)
    assert all_bits(apart) == all_bits(in_order(folder, request))
    assert apart.positional


def test_a_shard_of_blank_lines_alone_counts_them(folder):
    rows = [json.dumps(row(task)) + "\n" for task in (1, 0)]
    folder.write("\n \t\n".join([*rows, "\n"]), "a.jsonl")
    folder.write("".join(rows), "b.jsonl")
    request = REQUESTS[2]
    shards = shards_in(folder, 1)
    apart = by_new_readers(shards, request)
    kept = by_readers(shards, request, [0] * len(shards))
    assert all_bits(apart) == all_bits(kept) == all_bits(in_order(folder, request))


def test_lines_of_a_later_span_count_from_the_start_of_the_file(folder):
    lines = [json.dumps(row(i, x=i)) for i in range(40)]
    lines[33] = '{"_ng_task_index": 33, "x": Infinity}'
    folder.write("\n\n".join(lines))
    shards = shards_in(folder, 200)
    assert len(shards) > 3
    table = by_readers(shards, Request(FieldMap()), [i % 3 for i in range(len(shards))])
    (note,) = note_texts(table.notes)
    assert "runs.jsonl:67" in note


def test_the_same_attempt_in_two_shards_is_refused_in_the_same_words(folder):
    lines = [json.dumps({**row(i), "_ng_rollout_index": 0}) for i in [0, 1, 2, 3, 1]]
    folder.write("\n".join(lines))
    shards = shards_in(folder, 60)
    assert len(shards) == 3
    request = Request(FieldMap())
    message = outcome(lambda: by_readers(shards, request, [0, 1, 0]))
    assert message == outcome(lambda: in_order(folder, request))
    assert message.startswith(
        "runs.jsonl:5: this row is the same attempt as runs.jsonl:2"
    )
