"""What the loader of a tool takes from a file: whole rollouts, and what it says of all of them."""

import msgspec

from pytest_evalmetrics.ext import FieldMap, Request
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder


class Loaded(msgspec.Struct, frozen=True):
    """The rollouts of a file, and the notes, directions and measurements beside them."""

    rollouts: list
    notes: list
    directions: dict
    ruler: set  # (what measures, a setting, its value)
    positional: bool
    attempts: bool
    versioned: bool


def load_with(loader_class, folder, name, **fields):
    """Read one file, or a folder, as the loader of a tool does."""
    request = Request(FieldMap(**fields), ())
    source = open_source(RolloutFile(folder.path / name, name))
    builder = ChunkBuilder(request, source)
    rollouts = []
    for rollout in loader_class(request).rollouts(source, builder):
        rollouts.append(rollout)
        builder.add(rollout)
    chunk = builder.chunk()
    return Loaded(
        rollouts=rollouts,
        notes=list(builder.notes),
        directions=dict(chunk.directions),
        ruler=set(chunk.ruler),
        positional=chunk.positional,
        attempts=chunk.attempts,
        versioned=chunk.versioned,
    )
