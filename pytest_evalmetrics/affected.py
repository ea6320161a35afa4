"""``--evalmetrics-affected``: which benchmarks the changes since a commit affect."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_evalmetrics import depends
from pytest_evalmetrics.baselines.files import folder_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

_CHANGES = pytest.StashKey["Changes"]()
_REFERENCE = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*")


class Changes(msgspec.Struct, frozen=True):
    """The files that differ from a commit, in the working tree and in the commits since."""

    # as it was given: ``origin/main``
    base: str
    files: frozenset[Path]


def changes_of(config: pytest.Config) -> Changes | None:
    """Return the changes since --evalmetrics-affected, once for the run; None without it."""
    base = config.getoption("evalmetrics_affected")
    if base is None:
        return None
    if _CHANGES not in config.stash:
        config.stash[_CHANGES] = changes_since(base, config.rootpath)
    return config.stash[_CHANGES]


def changes_since(base: str, folder: Path) -> Changes:
    """Ask git for the files that differ from a commit.

    Raises
    ------
    pytest.UsageError
        The folder is no repository, or has no such commit.
    """
    commit = _git(folder, base, "rev-parse", "--verify", f"{base}^{{commit}}")
    top = Path(_git(folder, base, "rev-parse", "--show-toplevel").strip())
    changed = _git(
        top, base, "diff", "--name-only", "--no-renames", "-z", commit.strip()
    )
    new = _git(top, base, "ls-files", "--others", "--exclude-standard", "-z")
    names = [name for name in f"{changed}\0{new}".split("\0") if name]
    return Changes(base=base, files=frozenset(top / name for name in names))


def _git(folder: Path, base: str, *command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - git, with a commit that the user names
            ["git", "-C", str(folder), *command],  # noqa: S607 - the user's own
            capture_output=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise pytest.UsageError(
            "--evalmetrics-affected needs git, which is not installed"
        ) from None
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip().splitlines() or ["?"]
        hint = (
            "fetch the commit first: a shallow clone (fetch-depth: 1) may not have it"
        )
        raise pytest.UsageError(
            f"--evalmetrics-affected={base}: git says {words[0]!r}\n  {hint}"
        ) from None
    return done.stdout.decode("utf-8", "surrogateescape")


def unaffected_reason(benchmark: Benchmark, changes: Changes) -> str:
    """Return why a benchmark need not be evaluated; empty where it must be.

    A benchmark without ``depends:`` is always affected: nothing says what it depends on.
    """
    spec = benchmark.spec
    folder = benchmark.file.parent.resolve()
    # a glob that matches nothing is a mistake in it, which an evaluation or a check reports
    if not spec.depends or depends.unmatched(spec.depends, folder):
        return ""
    patterns = (*spec.depends, *_own_files(spec), benchmark.file.name)
    modules = tuple(_modules_of(spec))
    baselines = folder_of(folder / benchmark.file.name)
    for file in changes.files:
        names_it = any(depends.matches(pattern, folder, file) for pattern in patterns)
        is_its_code = file.as_posix().endswith(modules)
        is_above = file.name in _SETTINGS and folder.is_relative_to(file.parent)
        if names_it or is_its_code or is_above or file.is_relative_to(baselines):
            return ""
    return f"not affected: none of its files changed since {changes.base}"


# files that set up every benchmark below them: scorers and metrics, options and settings of ours
_SETTINGS = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pyproject.toml",
    "tox.ini",
    "setup.cfg",
)


def _own_files(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield the local data files that a benchmark names, as globs."""
    for source in _sources(spec):
        for path in getattr(source, "path", ()):
            if "://" not in path:
                yield path
    report = getattr(spec.baseline, "report", None)
    if report is not None:
        yield report


def _sources(spec: BenchmarkSpec) -> Iterator[Any]:
    yield spec.rollouts
    yield getattr(spec.rollouts, "join", None)
    yield spec.dataset
    for holder in (spec.baseline, spec.reference):
        yield getattr(holder, "rollouts", None)
    yield getattr(spec.labels, "rows", None)
    for scorer in spec.scorers:
        yield getattr(getattr(scorer, "judge_check", None), "rows", None)


def _modules_of(spec: BenchmarkSpec) -> Iterator[str]:
    """Yield the ends of the paths of the modules whose functions a benchmark names."""
    named: list[object] = [*spec.metrics, *(spec.key_metrics or ())]
    if spec.target is not None:
        named.append(spec.target.function)
    for scorer in spec.scorers:
        named += [scorer.type, getattr(scorer, "function", "")]
    for text in named:
        match = _REFERENCE.fullmatch(str(text))
        if match is not None:
            module = match[1].replace(".", "/")
            yield f"/{module}.py"
            yield f"/{module}/__init__.py"
