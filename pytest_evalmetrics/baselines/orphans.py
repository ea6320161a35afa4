"""Baselines that no benchmark declares any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.baselines.naming import file_name
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["declare", "orphans"]

_SUFFIXES = (".yaml", ".yml")
_declared: dict[Path, tuple[int, frozenset[str]]] = {}  # file -> when changed, names


def declare(file: Path, benchmarks: Iterable[str]) -> None:
    """Remember what a benchmark file that was read declares, so that it is read once."""
    _declared[file] = (file.stat().st_mtime_ns, frozenset(map(file_name, benchmarks)))


def orphans(folder: Path) -> list[Path]:
    """List the baselines below a folder that no benchmark file on disk declares.

    Parameters
    ----------
    folder
        Where the baselines of the benchmark files beside it lie.

    Returns
    -------
    list of Path
        Never one whose benchmark file can't be read: what it declares is not known.
    """
    found: list[Path] = []
    for stem in sorted(p for p in folder.glob("*") if p.is_dir()):
        files = [f for s in _SUFFIXES if (f := folder.parent / f"{stem.name}{s}").is_file()]
        names = [_names(file) for file in files]
        if None not in names:
            known = frozenset().union(*(n for n in names if n is not None))
            found += sorted(p for p in stem.glob("*.json") if p.stem not in known)
    return found


def _names(file: Path) -> frozenset[str] | None:
    changed, names = _declared.get(file, (None, frozenset[str]()))
    try:
        if changed == file.stat().st_mtime_ns:
            return names
        return frozenset(file_name(b.spec.name) for b in load_benchmarks(file, shown=str(file)))
    except (OSError, ConfigError):
        return None
