"""The file of each benchmark's baseline, and who uses it."""

from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.files import file_name

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
