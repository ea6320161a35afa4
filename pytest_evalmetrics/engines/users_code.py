"""The user's own scorers and targets, made ready to travel with what their project defines."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.engines.messages import Kit
from pytest_evalmetrics.errors import EngineError
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.spec import CustomScorerSpec, PythonScorerSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

    from pytest_evalmetrics.engines.protocol import Work
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.spec import BenchmarkSpec

__all__ = ["PackedKit", "modules_below", "pack_kit", "paths"]

_INSTALLED: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class PackedKit:
    """What workers need before their first row.

    Attributes
    ----------
    kit
        A pickled `Kit`.
    unsendable
        What of the project's code could not be sent: workers have to import it themselves.
    """

    kit: bytes
    unsendable: str = ""

    def error(self, told: EvalMetricsError) -> EvalMetricsError:
        """Give the error of a worker, with what led to it."""
        if not self.unsendable:
            return told
        return EngineError(
            f"the project's code can't be sent to the cluster: {self.unsendable}; nor did a worker "
            f"get ready by importing it: {told.message}",
            hint="what can't be pickled (a lock, a client) is to be made where it is used; or "
            "let every node see the project's folder, or have it installed as a package",
        )


def pack_kit(
    work: Work, root: Path, dumps: Callable[[Any, Sequence[ModuleType]], bytes]
) -> PackedKit:
    """Pack what workers need before their first row.

    Parameters
    ----------
    work
        What they are to do.
    root
        The user's project.
    dumps
        Pickles, and takes the code of some modules along.

    Raises
    ------
    EngineError
        Some of it can't be pickled.
    """
    journal = work.transport.ledger.journal
    kit = Kit(
        version("pytest-evalmetrics"),
        _scorers_of(work.spec),
        _targets_of(work.spec),
        work.spec,
        replace(work.terms, secrets={}),
        work.label,
        None if journal is None else journal.mode,
        work.meter is not None,
    )
    try:
        return PackedKit(dumps(kit, tuple(modules_below(root))))
    except Exception as error:  # noqa: BLE001 - whatever the user's classes raise
        # a module that holds a client, say: where all nodes see the folder, each imports its own
        unsendable = f"{type(error).__name__}: {error}"
    try:
        return PackedKit(dumps(kit, ()), unsendable)
    except Exception as error:
        raise EngineError(
            f"the project's code can't be sent to the cluster: {unsendable}",
            hint="what can't be pickled (a lock, a client) is to be made where it is used; or "
            "write it into a package that is installed on every node",
        ) from error


def paths(root: Path) -> list[str]:
    """Tell where a worker finds the user's modules: as here, and in the project's folder."""
    here = [str(Path(path).absolute()) for path in sys.path]  # "" is the current folder
    return here if str(root) in here else [*here, str(root)]


def _scorers_of(spec: BenchmarkSpec) -> dict[str, Any]:
    """Find the scorers that are no part of this package, by the names that the spec has."""
    names = [
        one.type if isinstance(one, CustomScorerSpec) else one.function
        for one in spec.scorers
        if isinstance(one, CustomScorerSpec | PythonScorerSpec)
    ]
    return {name: scorers.find(name).target for name in names}


def _targets_of(spec: BenchmarkSpec) -> dict[str, Any]:
    if spec.target is None:
        return {}
    return {spec.target.function: targets.find(spec.target.function).target}


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
