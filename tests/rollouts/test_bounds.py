"""Bounds on what is read: a row's length, a compressed file's expansion, one value per key."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from rollouts.small import BLOCKS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def bomb(path, start, block, mebibytes=96):
    """Write so much of one block after a start, as members of a compressed file."""
    pack = gzip.compress if path.suffix == ".gz" else zstd.compress
    path.write_bytes(
        pack(start.encode()) + pack(block.encode() * (1 << 20)) * mebibytes
    )


_READ = """
import json, re, resource, sys, time
from pathlib import Path
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import source
from rollouts.conftest import Folder

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's peak too, unless one asks here
        kibibytes = int(re.search(r"VmHWM:\\s*(\\d+)", status.read_text())[1])
    else:
        kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kibibytes / 1024

source._ALWAYS_UNPACKED = 64 << 20
of_imports = peak()
results = {}
for name in sys.argv[1:]:
    start = time.process_time()
    try:
        Folder(Path()).load(name, scores=["reward"])
    except DataError as error:
        seconds = time.process_time() - start
        results[name] = error.message, seconds, peak() - of_imports
print(json.dumps(results))
"""
# a start, what follows it, the bound that refuses it, and MiB that reading may take
BOMBS = {
    "spaces.jsonl.gz": ("", " ", "EVALMETRICS_MAX_EXPANSION", 60),
    "lines.jsonl.gz": (
        '{"_ng_task_index": 1}\n',
        "\n",
        "EVALMETRICS_MAX_EXPANSION",
        60,
    ),
    "row.jsonl.gz": ('{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES", 260),
    "row.jsonl.zst": ('{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES", 260),
    "row.json.gz": ('[{"a": "', "a", "EVALMETRICS_MAX_ROW_BYTES", 260),
    "row.csv.gz": ("_ng_task_index,reward\n1,", "1", "EVALMETRICS_MAX_ROW_BYTES", 260),
}


def peak_of_reading(path, names):
    """Read files in a process of its own; return what each said, its seconds and the peak in MiB."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    read = [sys.executable, "-c", _READ, *names]
    out = subprocess.check_output(read, cwd=path, env=env, text=True)
    return json.loads(out)


def test_a_bomb_is_refused_soon_and_in_little_memory(tmp_path):
    """96 MiB are enough, where 64 are allowed: what is read does not depend on what follows."""
    for name, (start, text, _, _) in BOMBS.items():
        bomb(tmp_path / name, start, text)
    results = peak_of_reading(tmp_path, BOMBS)
    for name, (_, _, bound, most) in BOMBS.items():
        message, seconds, mebibytes = results[name]
        assert bound in message
        assert seconds < 10
        assert mebibytes < most


def test_a_million_objects_in_each_other_are_refused_in_little_memory(tmp_path):
    text = '{"a": ' * 1_000_000 + "1" + "}" * 1_000_000
    (tmp_path / "nested.json").write_text(text)
    results = peak_of_reading(tmp_path, ["nested.json"])
    _, _, mebibytes = results["nested.json"]
    assert mebibytes < 260


def test_the_bounds_can_be_set(folder, monkeypatch):
    row = {"_ng_task_index": 0, "reward": 1, "text": "x" * (5 << 20)}
    folder.rows([row])
    folder.write(json.dumps([row]), "runs.json")
    assert len(folder.load(scores=["reward"])) == 1
    monkeypatch.setenv("EVALMETRICS_MAX_ROW_BYTES", "1000000")
    for name in ("runs.jsonl", "runs.json"):
        refused = folder.refused(name, scores=["reward"])
        assert refused.line == 1
        assert (
            "more than 1,000,000 bytes, which EVALMETRICS_MAX_ROW_BYTES"
            in refused.message
        )
    monkeypatch.setenv("EVALMETRICS_MAX_ROW_BYTES", "many")
    assert "EVALMETRICS_MAX_ROW_BYTES is 'many'" in folder.refused().message


def test_the_expansion_can_be_set(folder, monkeypatch):
    monkeypatch.setattr("pytest_evalmetrics.rollouts.source._ALWAYS_UNPACKED", 3 << 20)
    row = '{"_ng_task_index": 0, "reward": 1}'
    bomb(folder.path / "runs.jsonl.zst", row, "\n", 2)
    assert len(folder.load("runs.jsonl.zst", scores=["reward"])) == 1
    bomb(folder.path / "runs.jsonl.zst", row, "\n", 4)
    assert "EVALMETRICS_MAX_EXPANSION" in folder.refused("runs.jsonl.zst").message
    monkeypatch.setenv("EVALMETRICS_MAX_EXPANSION", "1000000")
    assert len(folder.load("runs.jsonl.zst", scores=["reward"])) == 1


# -- one value per key --------------------------------------------------------------------------


def lines(count, odd, text):
    rows = [
        f'{{"_ng_task_index": {n}, "reward": 1, "usage": {{"t": {n}}}}}\n'
        for n in range(count)
    ]
    rows[odd] = text + "\n"
    return "".join(rows)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (
            '{"_ng_task_index": 9000, "reward": 1, "reward": 0, "usage": {"t": 1}}',
            "reward",
        ),
        (
            '{"_ng_task_index": 9000, "_ng_task_index": 9001, "reward": 1}',
            "_ng_task_index",
        ),
        ('{"_ng_task_index": 9000, "reward": 1, "usage": {"t": 1, "t": 2}}', "t"),
        (
            '{"_ng_task_index": 9000, "reward": NaN, "usage": {"t": 1, "\\u0074": 2}}',
            "t",
        ),
    ],
)
def test_a_key_that_stands_twice_is_refused(folder, text, key):
    for odd in (0, 1, 70, 199):
        rows = lines(200, odd, text)
        folder.write(rows)
        folder.write("[" + rows.strip().replace("\n", ",\n") + "]", "runs.json")
        for name in ("runs.jsonl", "runs.json"):
            refused = folder.refused(name, scores=["reward"])
            assert (refused.file, refused.line) == (name, odd + 1)
            assert f"the key {key!r} occurs twice in one object" in refused.message


def test_it_is_refused_in_each_block_of_a_large_file(folder):
    rows = [f'{{"_ng_task_index": {n}, "reward": 1}}\n' for n in range(60)]
    rows[30:] = [row.replace("}", ', "reward": 0}') for row in rows[30:]]
    folder.write("".join(rows))
    assert folder.refused(scores=["reward"], format=BLOCKS).line > 30
