"""What to write for rows that the given keys do not read, filled in for the file at hand."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import yaml

from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    NoTaskError,
    WordScoreError,
)
from pytest_evalmetrics.layout import listed
from pytest_evalmetrics.rollouts.file_documents import PlacedRow, documents
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.guess.proposal import Proposal, propose
from pytest_evalmetrics.rollouts.guess.rewards import OPEN
from pytest_evalmetrics.rollouts.guess.sketch import sketch
from pytest_evalmetrics.rollouts.source import open_source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.spec.sources import FilesSpec

_WIDE: Final = 10_000  # characters: a hint is one line
_LISTED: Final = 6  # layouts in a message


def explained(
    error: NoTaskError | WordScoreError, spec: FilesSpec, base: Path
) -> DataError:
    """Say what the file holds, what was tried, and which keys read it.

    Returns
    -------
    DataError
        The same error for a file of NeMo Gym's, and where nothing better is known.
    """
    if spec.inline or spec.shaped or len(spec.path) != 1:
        return error
    with suppress(EvalMetricsError):
        source = open_source(find_files(spec.path, base)[0])
        if source.is_nemo_gym:
            return error
        proposal = None
        with suppress(EvalMetricsError):
            proposal = propose(spec.path[0], base, spec.fields)
        if isinstance(error, WordScoreError):
            return _of_words(error, proposal)
        return _without_task(error, spec, base, proposal)
    return error


def _of_words(error: WordScoreError, proposal: Proposal | None) -> DataError:
    """Say what the words of a score are worth."""
    if proposal is None or not proposal.spec.map:
        return error
    worth = _flow({"map": proposal.keys["map"]})
    hint = f"say what its words are worth, under rollouts: {worth}"
    return WordScoreError(error.message, file=error.file, line=error.line, hint=hint)


def _without_task(
    error: NoTaskError, spec: FilesSpec, base: Path, proposal: Proposal | None
) -> DataError:
    """Say where the rows and their tasks are."""
    if spec.fields.task is not None:
        has_rows = proposal is not None and (proposal.spec.rows or proposal.spec.keyed)
        if not has_rows:
            return error  # which suggests another name
        proposal = propose(spec.path[0], base) or proposal
    source = open_source(find_files(spec.path, base)[0])
    first = next(iter(documents(source)))
    held = sketch(first.value if isinstance(first, PlacedRow) else first)
    message = f"the rows name no task; the file holds {held}"
    hint = "say where it is, under rollouts: `fields: {task: KEY}`"
    if proposal is not None:
        tried = listed(["its own rows", *proposal.tried], _LISTED)
        message += f"; tried as rows: {tried}"
        hint = f"write under rollouts: {_flow(proposal.keys)}"
        for path, question in proposal.questions.items():
            hint += f"\n  {path.rpartition('.')[2]}: {question}"
    return NoTaskError(message, file=error.file, line=error.line, hint=hint)


def _flow(keys: Mapping[str, JsonValue]) -> str:
    """Write keys of ``rollouts:`` on one line."""
    text = yaml.safe_dump(
        dict(keys),
        default_flow_style=True,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDE,
    )
    return text.strip()[1:-1].replace(f"'{OPEN}'", OPEN)
