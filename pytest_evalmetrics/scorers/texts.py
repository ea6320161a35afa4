"""What scorers of texts compare: a reference and a candidate, each from a template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalmetrics.chat import compile_templates
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.responses import response_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.expressions.templates import Rendered
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec.scorers.texts import PairKeys, SidesKeys

__all__ = ["Candidate", "PairScorer", "SidesScorer", "as_text", "compiled"]

_T = TypeVar("_T")


def compiled(value: Any, who: str) -> Rendered:
    """Compile the templates of a scorer of this type, see `chat.compile_templates`."""
    return compile_templates(value, f"the scorer {who}")


def as_text(value: Any, what: str) -> str:
    """Take a text."""
    if not isinstance(value, str):
        raise RowError(
            "no-text",
            f"{what} is {shown(value)}, expected text",
            hint="a template can make one: {{ item.answer | string }}",
        )
    return value


class Candidate:
    """The text that is judged."""

    def __init__(self, template: str | None, who: str) -> None:
        self._template = None if template is None else compiled(template, who)

    def __call__(self, row: Row) -> str:
        """Give a row's."""
        if self._template is not None:
            return as_text(self._template(row.context), "the candidate")
        found = row.sample_data.get("output_text")
        if found is None:
            found = response_of(row)
            if found is None:
                raise RowError(
                    "no-response",
                    "the row has no response, and nothing was generated for it",
                    hint='say where the answer is: candidate: "{{ item.answer }}"',
                )
            found = text_of(found)
        return as_text(found, "the candidate")


class PairScorer:
    """A scorer that compares a reference with a candidate."""

    def __init__(self, spec: PairKeys, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._reference = compiled(spec.reference, spec.type)
        self._candidate = Candidate(spec.candidate, spec.type)

    def _pair(self, row: Row) -> tuple[str, str]:
        """Give a row's reference and candidate."""
        reference = as_text(self._reference(row.context), "the reference")
        return reference, self._candidate(row)


class SidesScorer:
    """A scorer that compares what two templates stand for; made as a `PairScorer` is."""

    def __init__(self, spec: SidesKeys, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._left = compiled(spec.left_template, spec.type)
        self._right = compiled(spec.right_template, spec.type)

    def _sides(self, row: Row, read: Callable[[Any, str], _T]) -> tuple[_T, _T]:
        """Give a row's two values as what a reader makes of each and of how it is called."""
        context = row.context
        left = read(self._left(context), "the left value")
        return left, read(self._right(context), "the right value")
