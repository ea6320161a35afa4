"""What to write for rows that the given keys do not read, filled in for the file at hand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
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
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.source import open_source, score_paths

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.spec.sources import FilesSpec

_WIDE: Final = 10_000  # characters: a hint is one line
_LISTED: Final = 6  # layouts in a message
_LABELS: Final = 12  # distinct texts, from which on they are answers rather than labels


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
        if isinstance(error, WordScoreError):
            return _of_words(error, spec, base)
        proposal = None
        with suppress(EvalMetricsError):
            proposal = propose(spec.path[0], base, spec.fields)
        return _without_task(error, spec, base, proposal)
    return error


def _of_words(error: WordScoreError, spec: FilesSpec, base: Path) -> DataError:
    """Say what the words of a score are worth."""
    path = score_paths(spec.fields).get(error.score, error.score)
    proposal = propose(spec.path[0], base, replace(spec.fields, reward=path, scores={}))
    proposed = None if proposal is None else proposal.keys.get("map")
    if isinstance(proposed, dict) and "reward" in proposed:
        words = proposed["reward"]
    else:
        words = dict.fromkeys(_words_at(path, spec, base), OPEN)
    if not words:
        return error
    worth = _flow({"map": {error.score: words}})
    hint = f"say what its words are worth, under rollouts: {worth}"
    return WordScoreError(error.message, file=error.file, line=error.line, hint=hint)


def _words_at(path: str, spec: FilesSpec, base: Path) -> list[str]:
    """List the texts at a path, if they are few enough to be labels."""
    words: set[str] = set()
    for document in documents(open_source(find_files(spec.path, base)[0])):
        rows = [document.value] if isinstance(document, PlacedRow) else document
        values = [lookup(row, path) for row in rows if isinstance(row, dict)]
        words.update(value for value in values if isinstance(value, str))
        if len(words) > _LABELS:
            return []
    return sorted(words)


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
