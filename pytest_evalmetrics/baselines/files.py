"""The place of each baseline: one file per benchmark, in a folder beside the benchmark file."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "__baselines__"
# Characters that some file system rejects; a first dot, which hides a file; and a last
# dot or space, which Windows drops.
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+ -]|^\.|[. ]\Z")
_LONGEST = 100
# Windows' names of devices
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def folder_of(file: Path) -> Path:
    """Return the folder of a benchmark file's baselines."""
    return file.parent / FOLDER / file.stem


def path_of(file: Path, benchmark: str) -> Path:
    """Return the file of one benchmark's baseline."""
    return folder_of(file) / f"{file_name(benchmark)}.json"


def rows_path_of(baseline: Path) -> Path:
    """Return the file of the rows that a baseline keeps for ``rescore:``."""
    return baseline.with_name(f"{baseline.stem}.rows.jsonl.gz")


def shown_below(path: Path, root: Path) -> str:
    """Name a file as messages do: relative to pytest's root folder, if it is inside."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return str(path)


def file_name(benchmark: str) -> str:
    """Escape a benchmark's name, so that no two share a file."""
    escaped = _UNSAFE.sub(lambda match: _percent_encoded(match[0]), benchmark)
    if _RESERVED.fullmatch(escaped):
        escaped = _percent_encoded(escaped[0]) + escaped[1:]
    if len(escaped) <= _LONGEST:
        return escaped
    data = benchmark.encode("utf-8", "surrogatepass")
    digest = blake2b(data, digest_size=8).hexdigest()
    return f"{escaped[:_LONGEST]}%{digest}"


def _percent_encoded(character: str) -> str:
    data = character.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in data)


def name_of_test(item: pytest.Item) -> str:
    """Name a test within its file: ``TestMath.test_sums[large]``."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])


def benchmark_name(test: str, check: str | None) -> str:
    """Name a check's benchmark; a function's name holds no ``-``, so that no two are alike."""
    return test if check is None else f"{test}-{check}"
