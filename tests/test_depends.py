"""The files that a benchmark depends on, by globs."""

from pathlib import Path

import pytest

from pytest_evalmetrics.depends import digest, files_of, matches, unmatched

FOLDER = Path("/repo/evals")


@pytest.fixture
def folder(tmp_path):
    for name in ("a.txt", "b.txt", "prompts/x.md", "prompts/deep/y.md", "c.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    compiled = tmp_path / "prompts" / "__pycache__" / "x.pyc"
    compiled.parent.mkdir()
    compiled.write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.txt", ["a.txt", "b.txt"]),
        ("prompts", ["prompts/deep/y.md", "prompts/x.md"]),
        ("prompts/*", ["prompts/deep/y.md", "prompts/x.md"]),
        ("**/*.md", ["prompts/deep/y.md", "prompts/x.md"]),
        ("nothing*", []),
    ],
)
def test_a_glob_matches_files_and_what_is_in_folders(folder, pattern, names):
    found = [file.relative_to(folder).as_posix() for file in files_of(pattern, folder)]
    assert found == names


def test_an_absolute_glob_is_relative_to_no_folder(folder):
    assert files_of(f"{folder}/*.py", Path("elsewhere")) == [folder / "c.py"]


def test_globs_that_match_nothing_are_named(folder):
    assert unmatched(["*.txt", "*.json", "prompts"], folder) == ["*.json"]


def test_the_digest_of_files_does_not_depend_on_the_globs(folder):
    assert digest(["*.txt"], folder) == digest(["b.txt", "a.*", "*.txt"], folder)


@pytest.mark.parametrize("change", ["content", "name", "more"])
def test_the_digest_changes_with_a_name_and_a_content(folder, change):
    before = digest(["*.txt"], folder)
    if change == "content":
        (folder / "a.txt").write_text("other")
    elif change == "name":
        (folder / "a.txt").rename(folder / "z.txt")
    else:
        (folder / "more.txt").write_text("")
    assert digest(["*.txt"], folder) != before


def test_the_digest_of_nothing_has_sixteen_digits(folder):
    assert len(digest([], folder)) == 16


@pytest.mark.parametrize(
    ("pattern", "path", "is_so"),
    [
        ("a.txt", "/repo/evals/a.txt", True),
        ("a.txt", "/repo/evals/a_txt", False),
        ("*.txt", "/repo/evals/a.txt", True),
        ("*.txt", "/repo/evals/deep/a.txt", False),
        ("**/*.txt", "/repo/evals/deep/er/a.txt", True),
        ("**/*.txt", "/repo/evals/a.txt", True),
        ("**", "/repo/evals/deep/a", True),
        ("deep", "/repo/evals/deep/er/a.txt", True),
        ("deep", "/repo/evals/deeper/a.txt", False),
        ("?.txt", "/repo/evals/a.txt", True),
        ("?.txt", "/repo/evals/ab.txt", False),
        ("?.txt", "/repo/evals/atxt", False),
        ("a?b.txt", "/repo/evals/axb.txt", True),
        ("a?b.txt", "/repo/evals/axc.txt", False),
        ("[ab].txt", "/repo/evals/b.txt", True),
        ("[ab].txt", "/repo/evals/c.txt", False),
        ("[!ab].txt", "/repo/evals/c.txt", True),
        ("[!ab].txt", "/repo/evals/a.txt", False),
        ("[ab.txt", "/repo/evals/[ab.txt", True),
        ("a]b[c", "/repo/evals/a]b[c", True),
        ("[]].txt", "/repo/evals/].txt", True),
        ("[]].txt", "/repo/evals/a.txt", False),
        ("../src/*.py", "/repo/src/a.py", True),
        ("../src/*.py", "/repo/evals/src/a.py", False),
    ],
)
def test_a_path_that_may_be_gone_is_matched_as_a_file_is(pattern, path, is_so):
    assert matches(pattern, FOLDER, Path(path)) is is_so
