"""The file of each benchmark's baseline, and who uses it."""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.files import (
    benchmark_name,
    file_name,
    folder_of,
    path_of,
    rows_path_of,
    shown_below,
)
from pytest_evalmetrics.spec import BenchmarkSpec

# whatever comes close to the escapes, to what is dropped, and to devices
NAMES = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="aA%2F5.c /é", max_size=12),
    st.sampled_from(["con", "CON.x", "nul", "com1", "lpt9.tar.gz", "aux.", "%", "."]),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mmlu_physics v1.2+x", "mmlu_physics v1.2+x"),
        ("mmlu/physics", "mmlu%2Fphysics"),
        ("100%", "100%25"),
        (".hidden", "%2Ehidden"),
        ("..", "%2E%2E"),
        ("Nul.txt", "%4Eul.txt"),
        ("naïve", "na%C3%AFve"),
        ("a\\b:c*d?", "a%5Cb%3Ac%2Ad%3F"),
        ("a\ud800", "a%ED%A0%80"),
    ],
)
def test_names(name, expected):
    assert file_name(name) == expected


# the end of a longer one is a digest
@given(NAMES.filter(lambda name: len(file_name(name)) <= 100))
def test_a_name_can_be_read_back_so_that_no_two_share_a_file(name):
    assert unquote(file_name(name)) == name


@given(st.text(max_size=400))
def test_what_every_file_system_takes(name):
    escaped = file_name(name)
    assert escaped.isascii()
    assert len(escaped) <= 117
    assert not set(escaped) & set('<>:"/\\|?*')
    assert not escaped.startswith(".")
    assert not escaped.endswith((".", " "))
    assert escaped.partition(".")[0].lower() not in {
        "con",
        "prn",
        "aux",
        "nul",
        "com1",
        "lpt1",
    }


def test_a_name_of_a_hundred_characters_is_that_of_its_file():
    assert file_name("x" * 100) == "x" * 100


@pytest.mark.parametrize(
    ("test", "check", "name"),
    [("test_sums", None, "test_sums"), ("test_sums", "words", "test_sums-words")],
)
def test_a_check_of_a_test_is_named_after_both(test, check, name):
    assert benchmark_name(test, check) == name


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/repo/evals/a.json", "evals/a.json"),
        ("/elsewhere/a.json", "/elsewhere/a.json"),
    ],
)
def test_a_file_is_named_relative_to_the_root_folder_if_it_is_inside(path, shown):
    assert shown_below(Path(path), Path("/repo")) == shown


def test_a_baseline_and_its_rows_lie_beside_the_benchmark_file():
    path = path_of(Path("evals/sums.bench.yaml"), "a/b")
    folder = Path("evals/__baselines__/sums.bench")
    assert path == folder / "a%2Fb.json"
    assert rows_path_of(path) == folder / "a%2Fb.rows.jsonl.gz"


def test_a_long_name_that_is_no_text_has_a_digest():
    assert len(file_name("\ud800" * 50)) == 117


def test_the_file_of_a_longer_name_has_its_start_and_a_digest():
    start, _, digest = file_name("x" * 101).partition("%")
    assert start == "x" * 100
    assert len(digest) == 16


@given(
    st.sets(st.text(alphabet="ab/", min_size=95, max_size=130), min_size=2, max_size=5)
)
def test_long_names_with_a_common_prefix_stay_distinct(names):
    long = {f"{'x' * 60}{name}" for name in names}
    assert len({file_name(name).casefold() for name in long}) == len(long)


HERE = Path("tests/test_math.py")
ELSEWHERE = Path("tests/test_other.py")


def test_the_baselines_that_a_files_tests_compare_with_are_known_by_their_files():
    declared = Declared(None)
    declared.asked(HERE, "Test A")
    declared.asked(HERE, "a/b")
    assert declared.asked_in(HERE) == {"test a", "a%2fb"}
    assert declared.asked_in(ELSEWHERE) == set()


def test_the_tests_of_a_file_that_ended_are_known_by_the_files_of_their_baselines():
    declared = Declared(None)
    declared.ended(HERE, "test_A")
    declared.ended(HERE, "test_b")
    assert declared.ended_in(HERE) == {"test_a", "test_b"}
    assert declared.ended_in(ELSEWHERE) == set()


# -- who shares a baseline -------------------------------------------------------------------


@pytest.fixture
def declared(pytester):
    """Make the declarations of a run in a folder with some files."""

    def declare(*names):
        for name in names:
            pytester.path.joinpath(name).write_text("")
        config = pytester.parseconfigure("-p", "no:unraisableexception")
        return Declared(config)

    return declare


def test_files_of_one_stem_would_share_a_folder(declared, pytester):
    conflict = declared("sums.bench.yaml", "sums.bench.yml").conflict(
        pytester.path / "sums.bench.yaml", "sums"
    )
    assert conflict == (
        "sums.bench.yaml and sums.bench.yml would keep their baselines in one folder, "
        "__baselines__/sums.bench: rename one of these files"
    )


def test_a_file_that_is_no_benchmark_file_shares_nothing(declared, pytester):
    file = pytester.path / "test_sums.py"
    assert declared("test_sums.py", "test_sums.yaml").conflict(file, "sums") == ""


def test_names_that_differ_by_case_alone_would_share_a_baseline(declared, pytester):
    file = pytester.path / "sums.bench.yaml"
    declarations = declared(file.name)
    declarations.add(file, [keeping("Sums"), keeping("sums"), keeping("words")])
    assert declarations.conflict(file, "sums") == (
        "the benchmarks 'Sums' and 'sums' would have one baseline if file names ignore "
        "case: rename one of them"
    )
    assert declarations.conflict(file, "words") == ""


def test_a_benchmark_without_a_committed_baseline_shares_none(declared, pytester):
    file = pytester.path / "sums.bench.yaml"
    declarations = declared(file.name)
    declarations.add(file, [keeping("Sums"), keeping("sums", report="r.json")])
    assert declarations.conflict(file, "Sums") == ""


def test_a_collected_file_declares_its_benchmarks_whatever_their_case(
    declared, pytester
):
    file = pytester.path / "sums.bench.yaml"
    declarations = declared(file.name)
    declarations.add(file, [keeping("Sums")])
    folder = folder_of(file)
    assert declarations.declares(folder / "sums.json")
    assert not declarations.declares(folder / "words.json")
    assert declarations.benchmark_file_of(folder) == "sums.bench.yaml"
    assert declarations.benchmark_file_of(folder / "other") is None


def keeping(name, **baseline):
    """Read a benchmark that keeps a baseline, or uses another one."""
    keys = {"name": name, "rollouts": "r", "baseline": baseline or True}
    return TypeAdapter(BenchmarkSpec).validate_json(json.dumps(keys))
