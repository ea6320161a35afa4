"""Which rows can't fill in which templates of a benchmark, before anything is asked."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from pytest_evalmetrics import errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_evalmetrics.model.rollout_table import Row
    from pytest_evalmetrics.spec import BenchmarkSpec

    Path: TypeAlias = tuple[str | int, ...]

#: Names that templates of an answer may use: `Generated.sample_data`.
OF_ANSWERS: Final = (
    "output_text",
    "response",
    "reasoning",
    "tool_calls",
    "finish_reason",
)
_WITH_TEMPLATES: Final = ("prompt_template", "tools", "response_format", "scorers")
_NO_TEMPLATES: Final = frozenset(
    {"type", "options", "url", "api_key_secret", "description"}
)


class TemplateFailure(msgspec.Struct, frozen=True):
    """The failures of one template."""

    # rows that can't fill it in
    rows: int
    # the words of the first failure, and its row
    example: str


class TemplateTrials:
    """Fills in the templates of a benchmark with rows, and keeps which rows fail."""

    def __init__(self, spec: BenchmarkSpec) -> None:
        from pytest_evalmetrics.expressions import compile_value  # of the extra

        written = texts_below({key: getattr(spec, key) for key in _WITH_TEMPLATES}, ())
        #: The templates, each by its path in the benchmark.
        self.texts = {path: text for path, text in written if is_template(text)}
        self._rendered = {
            path: compile_value(text) for path, text in self.texts.items()
        }
        self._of_scorers = {path for path in self.texts if path[0] == "scorers"}
        self._of_scores = {
            path for path in self._of_scorers if "scores" in self.texts[path]
        }
        # these may be filled in once the row is answered
        self._incomplete = self._of_scorers if spec.answers else self._of_scores
        self._contexts = _Contexts(spec)
        self._failed: dict[Path, dict[int, str]] = {path: {} for path in self.texts}
        self._left_out: set[int] = set()

    def leave_out(self, number: int) -> None:
        """Do not count a row, such as one that holds no answer to score."""
        self._left_out.add(number)

    def fill_in(self, number: int, row: Row) -> None:
        """Fill in all templates with a row."""
        asked = row.context
        answered = self._contexts.answered(row, asked)
        for path, render in self._rendered.items():
            context = answered if path in self._of_scorers else asked
            if path in self._of_scores:
                context = self._contexts.with_scores(context, path[1])
            try:
                render(context)
            except errors.RowError as error:
                is_later = not self._contexts.names_a_column(error)
                if path not in self._incomplete or not is_later:
                    self._failed[path][number] = f"{error.message} ({row.where})"

    def counted(
        self, numbers: Collection[int]
    ) -> tuple[int, dict[Path, TemplateFailure]]:
        """Count some of the rows, and those of them that each template fails for.

        `numbers` are in ascending order.
        """
        total = sum(number not in self._left_out for number in numbers)
        failures = {}
        for path, failed in self._failed.items():
            of_these = (
                [number for number in numbers if number in failed] if failed else []
            )
            if of_these:
                failures[path] = TemplateFailure(
                    rows=len(of_these), example=failed[of_these[0]]
                )
        return total, failures


class _Contexts:
    """What the templates of scorers see of a row, before it is answered and scored."""

    def __init__(self, spec: BenchmarkSpec) -> None:
        from jinja2 import ChainableUndefined, UndefinedError  # of the extra

        class NotYetError(UndefinedError):
            """A template reads what comes later."""

        self.not_yet = NotYetError
        self.undefined = UndefinedError
        # stands for whatever comes later
        self._later = ChainableUndefined(name="?", exc=NotYetError)
        self._is_answered = bool(spec.answers)
        self._sample: object = self._later
        if spec.model is not None:
            self._sample = dict.fromkeys(OF_ANSWERS, self._later)
        self._scores: dict[str | int, dict[str, object]] = {}
        for at, scorer in enumerate(spec.scorers):
            scores = getattr(scorer, "scores", None) or ()
            names = [getattr(score, "name", "") for score in scores]
            self._scores[at] = dict.fromkeys(names, self._later)

    def answered(self, row: Row, asked: dict[str, object]) -> dict[str, object]:
        """Return what all templates of scorers see of a row, which was `asked`."""
        if not self._is_answered:
            return asked
        item = {**row.item, "response": self._later}
        return {**item, "item": item, "sample": self._sample}

    def with_scores(
        self, context: dict[str, object], scorer: str | int
    ) -> dict[str, object]:
        """Add the scores of a scorer, which its own templates may name."""
        return {"scores": self._scores[scorer], **context}

    def names_a_column(self, error: errors.RowError) -> bool:
        """Check for a template that reads a column which the row does not have."""
        cause = error.__context__
        return isinstance(cause, self.undefined) and not isinstance(cause, self.not_yet)


def is_template(text: str) -> bool:
    """Check whether a text is a template."""
    return "{{" in text or "{%" in text


def texts_below(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts within a value, but those that can't be templates."""
    if isinstance(value, str):
        yield path, value
        return
    for key, item in _items_of(value):
        yield from texts_below(item, (*path, key))


def _items_of(value: object) -> Iterator[tuple[str | int, object]]:
    """Yield the parts of a value, with their keys or places."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in _NO_TEMPLATES:
                yield field.name, getattr(value, field.name)
