"""The user's own scorers, made ready to travel: what their project defines goes along."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.registry import scorers
from pytest_evalmetrics.spec import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from pytest_evalmetrics.spec import ScorerSpec

__all__ = ["modules_below", "targets_of"]

_INSTALLED: Final = ("site-packages", "dist-packages")


def targets_of(specs: Sequence[ScorerSpec]) -> dict[str, Any]:
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
