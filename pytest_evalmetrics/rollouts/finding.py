"""The files of a benchmark, and who reads each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.seam import loaders

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.rollouts.files import RolloutFile
    from pytest_evalmetrics.rollouts.seam import LoaderFactory
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec import RolloutsSpec

__all__ = ["find_loader", "rollout_files"]


def rollout_files(spec: RolloutsSpec, base: Path, *, fetch: bool = True) -> list[RolloutFile]:
    """Find the files that are read, in their order; a folder may be a file to its format."""

    def takes(folder: Path) -> bool:
        from pytest_evalmetrics.rollouts import harbor  # noqa: PLC0415 - only for a folder

        return spec.format == "harbor" or (spec.format is None and harbor.is_trials_folder(folder))

    files = find_files(spec.path, base, takes=takes, fetch=fetch)
    if all(file.path.name != "result.json" for file in files):
        return files
    from pytest_evalmetrics.rollouts import harbor  # noqa: PLC0415 - a job's result, it seems

    return harbor.jobs_as_folders(files)


def find_loader(name: str | None, source: Source) -> LoaderFactory:
    """Find the loader of a format; one is recognised by the file's content without a name."""
    if name is not None:
        found: LoaderFactory = loaders.find(name).target
        return found
    from pytest_evalmetrics.rollouts.builtin import BY_CONTENT  # noqa: PLC0415 - imports them all

    return next(kind for kind in BY_CONTENT if kind.recognises(source))
