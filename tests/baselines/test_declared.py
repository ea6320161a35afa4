"""Which baselines are orphans: only what is known not to be declared."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.baselines.declared import FOLDER, Declared, file_name
from pytest_evalmetrics.ext import BenchmarkSpec
from pytest_evalmetrics.spec import BaselineSpec, RolloutsSpec


def spec(name, *, baseline=True):
    return BenchmarkSpec(
        name=name, rollouts=RolloutsSpec(path=("x",)), baseline=BaselineSpec() if baseline else None
    )


@pytest.fixture
def lie(tmp_path):
    """Lay out the baselines of three benchmark files, of which one is gone."""
    for name in ("one.bench/a", "one.bench/b", "two.bench/a", "gone.bench/a"):
        path = tmp_path / FOLDER / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in ("one.bench.yaml", "two.bench.yaml"):
        (tmp_path / name).touch()
    return tmp_path


def orphans(declared, folder):
    found = declared.orphans(folder / FOLDER)
    return [path.relative_to(folder / FOLDER).as_posix() for path in found]


def test_a_file_that_may_be_a_benchmark_file_in_another_setting(lie):
    (lie / "gone.bench.yml").touch()
    assert orphans(Declared(("*.other",)), lie) == []
    (lie / "gone.bench.yml").rename(lie / "gone.bench.md")
    assert orphans(Declared(("*.other",)), lie) == ["gone.bench/a.json"]


# whatever comes close to the escapes, to what is dropped, and to devices
NAMES = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="aA%2F5.c /é", max_size=12),
    st.sampled_from(["con", "CON.x", "nul", "com1", "lpt9.tar.gz", "aux.", "%", "."]),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("math", "math"),
        ("mmlu/physics", "mmlu%2Fphysics"),
        ("mmlu_physics v1.2+x", "mmlu_physics v1.2+x"),
        ("100%", "100%25"),
        (".hidden", "%2Ehidden"),
        ("ends.", "ends%2E"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("con", "%63on"),
        ("Nul.txt", "%4Eul.txt"),
        ("naïve", "na%C3%AFve"),
        ("a\\b:c*d?", "a%5Cb%3Ac%2Ad%3F"),
    ],
)
def test_names(name, expected):
    assert file_name(name) == expected


@given(NAMES)
def test_a_name_can_be_read_back_so_that_no_two_share_a_file(name):
    escaped = file_name(name)
    if len(escaped) <= 100:  # else its end is a digest
        assert unquote(escaped) == name


@given(st.text(max_size=400))
def test_what_every_file_system_takes(name):
    escaped = file_name(name)
    assert escaped.isascii()
    assert len(escaped) <= 117
    assert not set(escaped) & set('<>:"/\\|?*')
    assert not escaped.startswith(".")
    assert not escaped.endswith((".", " "))
    assert escaped.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt1"}


@given(st.sets(st.text(alphabet="ab/", min_size=95, max_size=130), min_size=2, max_size=5))
def test_long_names_that_begin_alike_are_told_apart(names):
    long = {f"{'x' * 60}{name}" for name in names}
    assert len({file_name(name).casefold() for name in long}) == len(long)
