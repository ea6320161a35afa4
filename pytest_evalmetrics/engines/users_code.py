"""The user's own scorers, made ready to travel: what their project defines goes along."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.messages import Kit
from pytest_evalmetrics.errors import EngineError
from pytest_evalmetrics.registry import scorers
from pytest_evalmetrics.spec import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import ModuleType

    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.spec import ScorerSpec

__all__ = ["make_kits", "modules_below"]

_INSTALLED: Final = ("site-packages", "dist-packages")


def make_kits(work: Work, shares: Iterable[int], dumps: Callable[[Any], bytes]) -> dict[int, bytes]:
    """Pack what workers need before their first row, by their share of the parallelism.

    Parameters
    ----------
    work
        What they are to do.
    shares
        The shares that there are.
    dumps
        Pickles, and takes the project's classes along.

    Raises
    ------
    EngineError
        Some of it can't be pickled.
    """
    journal = work.transport.journal
    mode = None if journal is None else journal.mode
    targets = _targets_of(work.specs)
    kits = {}
    for share in shares:
        terms = replace(work.terms, parallelism=share, secrets={})
        here = version("pytest-evalmetrics")
        kit = Kit(here, targets, tuple(work.specs), terms, work.label, mode)
        try:
            kits[share] = dumps(kit)
        except Exception as error:
            raise EngineError(
                f"the scorers can't be sent to the cluster: {type(error).__name__}: {error}",
                hint="what can't be pickled (a lock, a connection) is to be made where it is "
                "used; or write them into a package that is installed on every node",
            ) from error
    return kits


def _targets_of(specs: Sequence[ScorerSpec]) -> dict[str, Any]:
    """Find the scorers that are no part of this package, by the names that the specs have."""
    names = [
        spec.type if isinstance(spec, CustomScorerSpec) else spec.function
        for spec in specs
        if isinstance(spec, CustomScorerSpec | PythonScorerSpec)
    ]
    return {name: scorers.find(name).target for name in names}


def modules_below(root: Path) -> Iterator[ModuleType]:
    """Find the imported modules of a project: a node of a cluster may not have its folder."""
    own = __name__.partition(".")[0]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or name == "__main__" or name.partition(".")[0] == own:
            continue
        path = Path(file).resolve()
        if path.is_relative_to(root.resolve()) and not set(_INSTALLED) & set(path.parts):
            yield module
