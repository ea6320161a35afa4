"""Paths and globs to files."""

import gzip

import pytest
from rollouts.conftest import Folder


@pytest.fixture
def base(tmp_path):
    folder = Folder(tmp_path / "bench")
    names = ("b", "a", "runs/2", "runs/10", "runs/deep/x", "../other", "run[1]")
    for task, name in enumerate(names):
        folder.rows([{"_ng_task_index": task}], f"{name}.jsonl")
    folder.write("none", "n.txt")
    return folder


def shown(base, *patterns):
    return [source.path for source in base.load(*patterns).sources]


RUNS = ["runs/10.jsonl", "runs/2.jsonl", "runs/deep/x.jsonl"]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["a.jsonl"], ["a.jsonl"]),
        (["[ab].jsonl"], ["a.jsonl", "b.jsonl"]),
        (["**/*.jsonl"], ["a.jsonl", "b.jsonl", "run[1].jsonl", *RUNS]),
        (["runs/**"], RUNS),
        (["runs/[0-9].jsonl", "b.jsonl"], ["runs/2.jsonl", "b.jsonl"]),
        (["b.jsonl", "[ab].jsonl", "./runs/../a.jsonl"], ["b.jsonl", "a.jsonl"]),
        (["../other.jsonl"], ["../other.jsonl"]),
        (["../*.jsonl"], ["../other.jsonl"]),
        (["run[1].jsonl"], ["run[1].jsonl"]),  # a name that looks like a glob
    ],
)
def test_paths_and_globs(base, patterns, expected):
    assert shown(base, *patterns) == expected


def test_absolute_paths_links_and_the_users_home(base, monkeypatch):
    assert shown(base, str(base.path / "runs" / "*.jsonl")) == RUNS[:2]
    other = base.path.parent / "other.jsonl"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(base.path.parent))
    assert shown(base, "~/bench/a.jsonl", "~/other.jsonl") == [
        "a.jsonl",
        other.as_posix(),
    ]
    (base.path / "c.jsonl").symlink_to("a.jsonl")  # which is the file
    assert shown(base, "[abc].jsonl") == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("runs", "'runs' is a folder"),
        ("./runs/", "'./runs/*.jsonl'"),
        ("run?", "matches only folders: runs\n  write a glob such as 'run?/*.jsonl'"),
        ("runs/3.jsonl", "there is no file 'runs/3.jsonl': did you mean"),
        ("runs/3.jsonl", "{base}/runs holds: 10.jsonl, 2.jsonl, deep"),
        ("rnus/3.jsonl", "there is no folder {base}/rnus"),
        ("rnus/*.jsonl", "there is no folder {base}/rnus"),
        (
            "**/*.json",
            "'**/*.json' matches no file: searched {base}, which holds: a.jsonl, b.json",
        ),
        ("empty/*", "searched {base}/empty, which holds: nothing"),
    ],
)
def test_what_is_not_there_with_what_is(base, path, message):
    (base.path / "empty").mkdir()
    assert message.format(base=base.path) in str(base.refused(path))


def test_no_match_is_reported_at_the_line_of_the_path(project):
    text = "benchmark:\n  name: math\n  description: one\n  rollouts: {path: runs/*.jsonl}\n"
    project.write("a.bench.yaml", text)
    out = project.run().stdout.str()
    assert "'runs/*.jsonl' matches no file" in out
    assert "a.bench.yaml:4" in out


@pytest.mark.parametrize("name", ["b.jsonl", "a.jsonl.gz"])
def test_a_copy_of_a_file_is_refused(folder, name):
    text = '{"id": "a", "reward": 1}\n{"id": "b", "reward": 0}\n'
    folder.write(text, "a.jsonl")
    folder.write(gzip.compress(text.encode()) if name.endswith(".gz") else text, name)
    refused = folder.refused("a.jsonl", name, fields={"task": "id"})
    assert f"{name}:1: the task id 'a' is in a.jsonl too" in refused.message
