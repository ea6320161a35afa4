"""Remarks that belong to no check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.model.notes import OfReference, Remark
from pytest_evalmetrics.reports.sentences.dispatch import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.model.notes import Note


def note_text(note: Note) -> str:
    """Write a note in one line."""
    return sentence(note)


def note_texts(notes: Iterable[Note]) -> tuple[str, ...]:
    """Write notes in a line each."""
    return tuple(map(note_text, notes))


@sentence.register(Remark)
def remark(note: Remark) -> str:
    """Give somebody's words."""
    return note.words


@sentence.register(OfReference)
def of_reference(note: OfReference) -> str:
    """Say what the note is about."""
    return f"the reference: {note_text(note.note)}"
