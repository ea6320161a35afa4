"""Scores of Langfuse: an answer of its API, ``GET /api/public/v3/scores`` or an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_NUMBERS: Final = ("NUMERIC", "BOOLEAN")


class Langfuse(ToolLoader):
    """Reads scores: what they are of, such as a trace, is the task, and each name is a score.

    Scores that are categories or texts are none: older versions write 0 as their value.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        answer = Document.of(source, "an answer of Langfuse")
        _must_be_all(json_values.mapping(answer.get("meta")), source)
        subjects: dict[str, JsonObject] = {}
        places: dict[tuple[str, str], int] = {}
        names: dict[str, None] = {}
        for number, score in enumerate(answer.items("data") or ()):
            subject = _subject_of(score)
            if subject is None:
                raise source.error(
                    f"data[{number}] does not say what it is a score of",
                    hint="ask for the subjects: GET /api/public/v3/scores?fields=subject",
                )
            name = str(score.get("name"))
            first = places.setdefault((subject, name), number)
            if first != number:
                raise source.error(
                    f"data[{number}] is a second {name!r} of {subject!r}, after data[{first}]",
                    hint="ask for the scores of one source or one author",
                )
            kind = score.get("dataType") or "NUMERIC"
            value = score.get("value") if kind in _NUMBERS else None
            subjects.setdefault(subject, {})[name] = value
            names.setdefault(name)
        for subject, scores in subjects.items():
            yield Rollout(
                record={"id": subject, **scores},
                name=f"{source.shown}: {subject}",
                task=subject,
                sample=0,
                scores={**dict.fromkeys(names), **scores},
            )
        for name in names:
            builder.measured(f"langfuse {name}", (name,), {})


def _must_be_all(meta: JsonMapping, source: Source) -> None:
    """Refuse a page of several."""
    pages = json_values.number(meta.get("totalPages")) or 1
    if pages > 1 or meta.get("cursor"):
        raise source.error(
            "this is one page of the scores: more follow",
            hint="fetch all pages, and write their `data` into one list",
        )


def _subject_of(score: JsonMapping) -> str | None:
    """Name what a score is of."""
    paths = ("subject.id", "observationId", "traceId", "sessionId", "datasetRunId")
    return json_values.text(json_values.first(score, *paths))
