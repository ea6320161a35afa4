"""What scorers of texts compare: a reference and a candidate, each from a template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import compile_prompt
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scorers.reading import shown
from pytest_evalmetrics.scorers.responses import response_of, text_of
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.expressions.templates import Rendered
    from pytest_evalmetrics.scorers.protocol import Row

__all__ = ["Candidate", "Pair", "as_text", "compiled", "compiled_prompt"]


def compiled(value: Any, who: str) -> Rendered:
    """Compile the templates in a value.

    Parameters
    ----------
    value
        What `expressions.templates.compile_value` takes.
    who
        The type of the scorer.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    """
    with needs_extra("remote", f"the scorer {who}"):
        from pytest_evalmetrics.expressions.templates import (  # noqa: PLC0415 - of the extra
            compile_value,
        )
    return compile_value(value)


def compiled_prompt(template: Any, who: str) -> Callable[[Mapping[str, Any]], list[dict[str, Any]]]:
    """Compile a prompt, see `chat.compile_prompt`.

    Raises
    ------
    MissingExtraError
        The ``remote`` extra is not installed.
    """
    with needs_extra("remote", f"the scorer {who}"):
        return compile_prompt(template)


def as_text(value: Any, what: str) -> str:
    """Take a text.

    Raises
    ------
    RowError
        It is none: the text of a number would be a guess.
    """
    if not isinstance(value, str):
        raise RowError(
            "no-text",
            f"{what} is {shown(value)}, expected text",
            hint="a template can make one: {{ item.answer | string }}",
        )
    return value


class Candidate:
    """The text that is judged.

    Parameters
    ----------
    template
        Where it is; None is ``sample.output_text``, else the text of ``response``.
    who
        The type of the scorer.
    """

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


class Pair:
    """The reference and the candidate of a row.

    Parameters
    ----------
    reference, candidate
        Their templates.
    who
        The type of the scorer.
    """

    def __init__(self, reference: str, candidate: str | None, who: str) -> None:
        self._reference = compiled(reference, who)
        self._candidate = Candidate(candidate, who)

    def __call__(self, row: Row) -> tuple[str, str]:
        """Give a row's reference and candidate."""
        reference = as_text(self._reference(row.context), "the reference")
        return reference, self._candidate(row)
