"""What is said of paths and globs that lead to no file."""

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.file_search import find_files

LINK = (
    "leave out the slash at its end; where it should be a link to a folder, check it out as one: "
    "git config core.symlinks true"
)


@pytest.fixture
def base(folder):
    for name in ("a.jsonl", "runs/1.jsonl", "runs/2.jsonl"):
        folder.write("{}", name)
    (folder.path / "empty").mkdir()
    return folder.path


def refused(base, pattern, **options):
    with pytest.raises(DataError) as caught:
        find_files((pattern,), base, **options)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("a.jsonl/", "'a.jsonl/' is a file, not a folder", LINK),
        (
            "runs/",
            "'runs/' is a folder, not a file",
            "write a glob such as 'runs/*.jsonl'",
        ),
        (
            "b.jsonl",
            "there is no file 'b.jsonl': did you mean 'a.jsonl'? {base} holds: a.jsonl, empty, runs",
            "paths are relative to {base}",
        ),
        (
            "ruins/1.jsonl",
            "there is no file 'ruins/1.jsonl': there is no folder {base}/ruins",
            "paths are relative to {base}",
        ),
        (
            "runs/*.csv",
            "'runs/*.csv' matches no file: searched {base}/runs, which holds: 1.jsonl, 2.jsonl",
            "paths are relative to {base}; '**' means any depth",
        ),
        (
            "empty/*",
            "'empty/*' matches no file: searched {base}/empty, which holds: nothing",
            "paths are relative to {base}; '**' means any depth",
        ),
        (
            "ruins/*",
            "'ruins/*' matches no file: there is no folder {base}/ruins",
            "paths are relative to {base}",
        ),
        (
            "run*",
            "'run*' matches only folders: runs",
            "write a glob such as 'run*/*.jsonl'",
        ),
        (
            "*.jsonl/",
            "'*.jsonl/' matches no file: searched {base}, which holds: a.jsonl, empty, runs",
            "paths are relative to {base}; '**' means any depth",
        ),
        (
            "*/",
            "'*/' matches only folders: empty, runs",
            "write a glob such as '*/*.jsonl'",
        ),
    ],
)
def test_a_path_that_leads_to_no_file_is_refused(base, pattern, message, hint):
    expected = (message.format(base=base), hint.format(base=base))
    assert refused(base, pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        *(("$RUN/a.jsonl", "$RUN"), ("${RUN}/a.jsonl", "${RUN}")),
        *(("{{ run }}/a.jsonl", "{{ run }}"), ("{run}/a.jsonl", "{run}")),
        ("%RUN%/a.jsonl", "%RUN%"),
    ],
)
def test_a_part_that_a_shell_fills_in_is_named(base, pattern, part):
    assert refused(base, pattern) == (
        f"there is no file {pattern!r}",
        (
            f"{part} is not filled in: in a path *, ? and ** stand for anything, several paths "
            "are a list, and a link, such as runs/latest, may lead to the files of each run"
        ),
    )


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("runs", ["runs"]),
        ("run*", ["runs"]),
        ("*/", ["empty", "runs"]),
        ("*", ["a.jsonl"]),
        ("**/*.jsonl", ["a.jsonl", "runs/1.jsonl", "runs/2.jsonl"]),
    ],
)
def test_a_folder_may_be_a_file_to_its_format(base, pattern, shown):
    files = find_files((pattern,), base, takes=lambda _: True)
    assert [file.shown for file in files] == shown


def test_ten_names_are_listed(base):
    for number in range(12):
        (base / f"empty/x{number:02}").mkdir()
    message, _ = refused(base, "empty/*")
    assert message.endswith(
        "folders: x00, x01, x02, x03, x04, x05, x06, x07, x08, x09 and 2 more"
    )
    message, _ = refused(base, "empty/*.csv")
    assert message.endswith("x08, x09 and 2 more")


def test_a_link_that_leads_nowhere_is_found(base):
    (base / "latest").symlink_to("gone")
    (file,) = find_files(("latest",), base)
    assert (file.shown, file.path) == ("latest", base / "latest")


def test_a_file_is_found_once(base):
    (base / "link").symlink_to("runs")
    files = find_files(("runs/*", "link/*", "runs/1.jsonl"), base)
    assert [file.shown for file in files] == ["runs/1.jsonl", "runs/2.jsonl"]


def test_a_path_elsewhere_is_shown_whole_where_it_was_written_so(base):
    inner = base / "runs"
    (file,) = find_files(("../a.jsonl",), inner)
    assert file.shown == "../a.jsonl"
    (file,) = find_files((str(base / "a.jsonl"),), inner)
    assert file.shown == (base / "a.jsonl").as_posix()
    (file,) = find_files((str(inner / "1.jsonl"),), inner)
    assert file.shown == "1.jsonl"
