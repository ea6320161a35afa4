"""Which baselines are orphans: only what is known not to be declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.baselines.declared import FOLDER, Declared, folder_of
from pytest_evalmetrics.spec import BaselineSpec, BenchmarkSpec, RolloutsSpec

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = ("*.bench.yaml", "*.bench.yml")


def spec(name: str, *, baseline: bool = True) -> BenchmarkSpec:
    return BenchmarkSpec(
        name=name,
        rollouts=RolloutsSpec(path=("x",)),
        baseline=BaselineSpec() if baseline else None,
    )


@pytest.fixture
def lie(tmp_path: Path) -> Path:
    """Lay out the baselines of three benchmark files, of which one is gone."""
    for name in ("one.bench/a", "one.bench/b", "two.bench/a", "gone.bench/a"):
        path = tmp_path / FOLDER / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in ("one.bench.yaml", "two.bench.yaml"):
        (tmp_path / name).touch()
    return tmp_path


def orphans(declared: Declared, folder: Path) -> list[str]:
    found = declared.orphans(folder / FOLDER)
    return [path.relative_to(folder / FOLDER).as_posix() for path in found]


def test_only_what_a_collected_file_does_not_declare_and_what_has_no_file(lie: Path) -> None:
    declared = Declared(PATTERNS)
    declared.add(lie / "one.bench.yaml", [spec("a")])
    assert orphans(declared, lie) == ["gone.bench/a.json", "one.bench/b.json"]
    declared.add(lie / "two.bench.yaml", [])
    assert orphans(declared, lie)[-1] == "two.bench/a.json"


def test_nothing_where_nothing_was_collected_but_a_file_that_is_gone(lie: Path) -> None:
    assert orphans(Declared(PATTERNS), lie) == ["gone.bench/a.json"]


def test_a_file_that_may_be_a_benchmark_file_in_another_setting(lie: Path) -> None:
    (lie / "gone.bench.yml").touch()
    assert orphans(Declared(("*.other",)), lie) == []
    (lie / "gone.bench.yml").rename(lie / "gone.bench.md")
    assert orphans(Declared(("*.other",)), lie) == ["gone.bench/a.json"]


def test_two_files_of_one_stem_of_which_one_is_not_known(lie: Path) -> None:
    (lie / "one.bench.yml").touch()
    declared = Declared(PATTERNS)
    declared.add(lie / "one.bench.yaml", [])
    assert orphans(declared, lie) == ["gone.bench/a.json"]


def test_case_makes_no_orphan(lie: Path) -> None:
    declared = Declared(PATTERNS)
    (lie / FOLDER / "one.bench" / "C.json").touch()
    declared.add(lie / "one.bench.yaml", [spec("A"), spec("B"), spec("c")])
    assert orphans(declared, lie) == ["gone.bench/a.json"]


def test_folders_hidden_files_and_what_is_no_json(lie: Path) -> None:
    (lie / FOLDER / "notes.json").touch()
    (lie / FOLDER / "gone.bench" / "folder.json").mkdir()
    (lie / FOLDER / "gone.bench" / ".hidden.json").touch()
    (lie / FOLDER / "gone.bench" / "README.md").touch()
    assert orphans(Declared(PATTERNS), lie) == ["gone.bench/a.json"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert Declared(PATTERNS).orphans(tmp_path / "nowhere") == []


def test_who_would_share_a_file(lie: Path) -> None:
    file = lie / "one.bench.yaml"
    declared = Declared(PATTERNS)
    declared.add(file, [spec("a"), spec("b"), spec("B"), spec("A", baseline=False)])
    assert declared.conflict(file, "a") == ""
    assert "'b' and 'B' would have one baseline" in declared.conflict(file, "b")
    assert declared.conflict(lie / "unknown.bench.yaml", "a") == ""
    (lie / "two.bench.yml").touch()
    told = Declared(PATTERNS).conflict(lie / "two.bench.yaml", "a")
    assert told.startswith("two.bench.yaml and two.bench.yml would keep their baselines in one")
    (lie / "two.bench.yml").rename(lie / "two.bench.txt")
    assert Declared(PATTERNS).conflict(lie / "two.bench.yaml", "a") == ""


def test_where_baselines_lie(tmp_path: Path) -> None:
    assert folder_of(tmp_path / "math.bench.yaml") == tmp_path / "__baselines__" / "math.bench"
