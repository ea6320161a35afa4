"""The results of a run, as the process that writes the artifacts hears of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports import Artifacts
from pytest_evalmetrics.results import Check, Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.reports import Payload

__all__ = ["Heard"]


class Heard:
    """Keeps what the artifacts are made of.

    Parameters
    ----------
    root
        What reports name files relative to.

    Attributes
    ----------
    entries
        By id, the benchmarks' entries of the report.
    artifacts
        Their larger texts.
    unkept
        Why there was no room for these: then there are no artifacts.
    usage, warnings
        What calls took, and what else is to be told of the run.
    """

    def __init__(self, root: Path) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self.artifacts = Artifacts(root=root)
        self.unkept: ArtifactError | None = None
        self.usage: list[dict[str, Any]] = []
        self.warnings: dict[str, None] = {}
        self._workers: dict[str, str] = {}  # benchmark -> the one that evaluated it
        self._evaluated: dict[str, set[str]] = {}  # item -> benchmarks

    def take(self, item: str, payload: Payload, worker: str) -> None:
        """Take a result.

        Parameters
        ----------
        item
            The node id of the item that has it.
        payload
            The result.
        worker
            The one of xdist's that evaluated it; else empty.
        """
        entry = payload["entry"]
        self._evaluated.setdefault(item, set()).add(entry["id"])
        if self._counts(entry, worker):
            self.entries[entry["id"]] = entry
            self._keep(payload)
        self.usage.append(payload["usage"])
        self.warnings.update(dict.fromkeys(payload["warnings"]))

    def fails(self, item: str) -> bool:
        """Whether a result of an item fails."""
        return any(_fails(self.entries[i]) for i in self._evaluated.get(item, ()))

    def refuse_passing(self, item: str) -> None:
        """Let the results of an item fail that was to fail, strictly, and passes."""
        for entry in (self.entries[i] for i in self._evaluated.get(item, ())):
            if not _fails(entry):
                check = Check(
                    "xfail",
                    "xfail",
                    Verdict.FAIL,
                    reason="it passes, and is marked xfail (strict): remove the mark",
                )
                entry["checks"] = [*entry["checks"], msgspec.to_builtins(check)]
                entry["verdict"] = str(Verdict.FAIL)

    def _counts(self, entry: Mapping[str, Any], worker: str) -> bool:
        """Whether an entry is the benchmark's: the worst, where several workers have one each."""
        if self._workers.setdefault(entry["id"], worker) == worker:
            return True
        before, now = Verdict(self.entries[entry["id"]]["verdict"]), Verdict(entry["verdict"])
        return worst([before, now]) is not before

    def _keep(self, payload: Payload) -> None:
        """Keep what goes into the artifacts; without room for it there are none."""
        if self.unkept is not None:
            return
        try:
            self.artifacts.add(payload["entry"]["id"], payload)
        except ArtifactError as error:
            self.unkept = error


def _fails(entry: Mapping[str, Any]) -> bool:
    return Verdict(entry["verdict"]).fails
