"""What to write for rows that name no task, filled in for the file at hand."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import yaml

from pytest_evalmetrics.errors import EvalMetricsError, NoTaskError
from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.guess.proposal import Proposal, propose
from pytest_evalmetrics.rollouts.guess.sketch import sketch
from pytest_evalmetrics.rollouts.shape import PlacedRow, documents
from pytest_evalmetrics.rollouts.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.spec.sources import FilesSpec

_WIDE: Final = 10_000  # characters: a hint is one line
_LISTED: Final = 6  # layouts in a message


def explained(error: NoTaskError, spec: FilesSpec, base: Path) -> NoTaskError:
    """Say what the file holds, what was tried, and which keys read it.

    Returns
    -------
    NoTaskError
        The same error for a file of NeMo Gym's, or of another source than files.
    """
    if spec.inline or spec.shaped or len(spec.path) != 1:
        return error
    with suppress(EvalMetricsError):
        source = open_source(find_files(spec.path, base)[0])
        if source.is_nemo_gym:
            return error
        first = next(iter(documents(source)))
        held = sketch(first.value if isinstance(first, PlacedRow) else first)
        message = f"the rows name no task; the file holds {held}"
        hint = "say where it is, under rollouts: `fields: {task: KEY}`"
        with suppress(EvalMetricsError):
            proposal = propose(spec.path[0], base, spec.fields)
            if proposal is not None:
                tried = listed(["its own rows", *proposal.tried], _LISTED)
                message += f"; tried as rows: {tried}"
                hint = _hint(proposal)
        return NoTaskError(message, file=error.file, line=error.line, hint=hint)
    return error


def _hint(proposal: Proposal) -> str:
    keys = yaml.safe_dump(
        proposal.keys,
        default_flow_style=True,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDE,
    ).strip()[1:-1]
    hint = f"write under rollouts: {keys}"
    for path, question in proposal.questions.items():
        hint += f"\n  {path.rpartition('.')[2]}: {question}"
    return hint
