"""Paths and globs to files."""

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.files import find_files


@pytest.fixture
def base(tmp_path):
    for name in (
        "b.jsonl",
        "a.jsonl",
        "runs/2.jsonl",
        "runs/10.jsonl",
        "runs/deep/x.jsonl",
        "n.txt",
    ):
        path = tmp_path / "bench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (tmp_path / "other.jsonl").write_text("{}")
    return tmp_path / "bench"


def shown(base, *patterns):
    return [file.shown for file in find_files(patterns, base)]


def refused(base, *patterns):
    with pytest.raises(DataError) as caught:
        find_files(patterns, base)
    return str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["a.jsonl"], ["a.jsonl"]),
        (["*.jsonl"], ["a.jsonl", "b.jsonl"]),
        (
            ["**/*.jsonl"],
            ["a.jsonl", "b.jsonl", "runs/10.jsonl", "runs/2.jsonl", "runs/deep/x.jsonl"],
        ),
        (["runs/**"], ["runs/10.jsonl", "runs/2.jsonl", "runs/deep/x.jsonl"]),
        (["runs/[0-9].jsonl", "b.jsonl"], ["runs/2.jsonl", "b.jsonl"]),
        (["b.jsonl", "*.jsonl", "./runs/../a.jsonl"], ["b.jsonl", "a.jsonl"]),
        (["../other.jsonl"], ["../other.jsonl"]),
        (["../*.jsonl"], ["../other.jsonl"]),
    ],
)
def test_paths_and_globs(base, patterns, expected):
    assert shown(base, *patterns) == expected


def test_absolute_paths(base):
    assert shown(base, str(base / "a.jsonl")) == ["a.jsonl"]
    assert shown(base, str(base / "runs" / "*.jsonl")) == ["runs/10.jsonl", "runs/2.jsonl"]
    other = base.parent / "other.jsonl"
    assert shown(base, str(other)) == [other.as_posix()]


def test_the_users_home(base, monkeypatch):
    monkeypatch.setenv("HOME", str(base.parent))
    monkeypatch.setenv("USERPROFILE", str(base.parent))
    assert shown(base, "~/bench/a.jsonl", "~/*.jsonl") == [
        "a.jsonl",
        (base.parent / "other.jsonl").as_posix(),
    ]


def test_a_link_to_a_file_is_the_file(base):
    (base / "c.jsonl").symlink_to(base / "a.jsonl")
    assert shown(base, "*.jsonl") == ["a.jsonl", "b.jsonl"]


def test_a_name_that_looks_like_a_glob(base):
    (base / "run[1].jsonl").write_text("{}")
    assert shown(base, "run[1].jsonl") == ["run[1].jsonl"]


@pytest.mark.parametrize("folder", ["runs", "runs/", "./runs"])
def test_a_folder_is_refused_with_a_glob_to_write(base, folder):
    message = refused(base, folder)
    assert f"{folder!r} is a folder" in message
    assert f"'{folder.rstrip('/')}/*.jsonl'" in message


def test_a_glob_of_folders_only(base):
    assert "matches only folders: runs\n  write a glob such as 'run*/*.jsonl'" in refused(
        base, "run*"
    )


def test_a_missing_file_with_what_is_there(base):
    message = refused(base, "runs/3.jsonl")
    assert "there is no file 'runs/3.jsonl': did you mean" in message
    assert f"{base / 'runs'} holds: 10.jsonl, 2.jsonl, deep" in message


def test_a_missing_folder(base):
    assert f"there is no folder {base / 'rnus'}" in refused(base, "rnus/3.jsonl")
    assert f"there is no folder {base / 'rnus'}" in refused(base, "rnus/*.jsonl")


def test_a_glob_that_matches_nothing_with_the_folder_searched(base):
    message = refused(base, "a.jsonl", "**/*.json")
    assert f"'**/*.json' matches no file: searched {base}, which holds: a.jsonl, b.jsonl" in message
    (base / "empty").mkdir()
    assert f"searched {base / 'empty'}, which holds: nothing" in refused(base, "empty/*")


@pytest.mark.parametrize("key", ["rollouts: runs/*.jsonl", "rollouts: {path: runs/*.jsonl}"])
def test_no_match_is_reported_at_the_line_of_the_path(pytester, key):
    text = f"benchmark:\n  name: math\n  description: one\n  {key}\n  metrics: [mean_reward]\n"
    pytester.path.joinpath("a.bench.yaml").write_text(text, encoding="utf-8")
    run = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert "'runs/*.jsonl' matches no file" in (out := run.stdout.str())
    assert "a.bench.yaml:4" in out
