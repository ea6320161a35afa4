"""Scorers that compare texts: exact-match, f1, bleu, rouge, string-check, number-check."""

from __future__ import annotations

import math
import operator
import re
import string
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import compile_templates
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.row_reading import as_text, response_in, shown
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.scorers.interface import Row, Terms
    from pytest_evalmetrics.spec.scorer_keys import (
        BleuSpec,
        ExactMatchSpec,
        F1Spec,
        NumberCheckSpec,
        RougeSpec,
        StringCheckSpec,
    )

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Normalise a text as SQuAD's evaluation does (Rajpurkar et al. 2016).

    Lower case; without ASCII punctuation; without a, an, the; single spaces.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _candidate(template: str | None, who: str) -> Callable[[Row], str]:
    """Compile the template of the text that is judged; None for the row's response."""
    if template is None:
        hint = 'say where the answer is: candidate: "{{ item.answer }}"'

        def of_response(row: Row) -> str:
            text = row.sample_data.get("output_text")
            return as_text(response_in(row, hint) if text is None else text, "the candidate")

        return of_response
    render = compile_templates(template, who)
    return lambda row: as_text(render(row.context), "the candidate")


class _PairScorer:
    """A scorer that compares a reference with a candidate."""

    def __init__(self, spec: ExactMatchSpec | F1Spec | RougeSpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._reference = compile_templates(spec.reference, f"the scorer {spec.type}")
        self._candidate = _candidate(spec.candidate, f"the scorer {spec.type}")

    def _pair(self, row: Row) -> tuple[str, str]:
        reference = as_text(self._reference(row.context), "the reference")
        return reference, self._candidate(row)


@register_scorer("exact-match")
@register_scorer("exact_match")
class ExactMatch(_PairScorer):
    """1 where reference and candidate are the same once normalised, else 0."""

    def score(self, row: Row) -> float:
        """Score one row."""
        reference, candidate = self._pair(row)
        return float(normalised(reference) == normalised(candidate))


@register_scorer("f1")
class F1(_PairScorer):
    """The F1 of the candidate's words against the reference's, both normalised.

    ``2 * shared / (words of the one + words of the other)``, shared with multiplicity, which
    is the harmonic mean of precision and recall. Where one has no words: 1 if neither has
    any, else 0. SQuAD 2.0 (Rajpurkar et al. 2018).
    """

    def score(self, row: Row) -> float:
        """Score one row."""
        reference, candidate = (normalised(text).split() for text in self._pair(row))
        if not reference or not candidate:
            return float(reference == candidate)
        shared = (Counter(reference) & Counter(candidate)).total()
        return 2 * shared / (len(reference) + len(candidate))


@register_scorer("rouge")
class Rouge(_PairScorer):
    """The F-measures of ``rouge_score``, words stemmed; from 0 to 1."""

    _TYPES = ("rouge1", "rouge2", "rouge3", "rougeL")  # in the order of the scores

    def __init__(self, spec: RougeSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        with needs_extra("text", f"the scorer {spec.type}"):
            from rouge_score.rouge_scorer import (  # noqa: PLC0415 - 0.5 s and more, and of an extra
                RougeScorer,
            )
        self._rouge: Any = RougeScorer(list(self._TYPES), use_stemmer=True)

    def score(self, row: Row) -> dict[str, float]:
        """Score one row."""
        by_type = self._rouge.score(*self._pair(row))
        values = [float(by_type[kind].fmeasure) for kind in self._TYPES]
        return dict(zip(self.scores, values, strict=True))


@register_scorer("bleu")
class Bleu:
    """Sentence BLEU from 0 to 100, as ``sacrebleu.sentence_bleu`` has it.

    Papineni et al. 2002; tokenised (13a) and smoothed (exp) as Post 2018 proposes.
    """

    def __init__(self, spec: BleuSpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        with needs_extra("text", f"the scorer {spec.type}"):
            from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - 0.2 s, and of an extra
        self._bleu: Any = BLEU(effective_order=True)
        self._references = compile_templates(spec.references, f"the scorer {spec.type}")
        self._candidate = _candidate(spec.candidate, f"the scorer {spec.type}")

    def score(self, row: Row) -> float:
        """Score one row."""
        references: list[str] = []
        for value in self._references(row.context):
            texts: Iterable[Any] = value if isinstance(value, list) else [value]
            references += [as_text(text, "the reference") for text in texts]
        if not references:
            raise RowError("no-reference", "the row has no reference: its list is empty")
        return float(self._bleu.sentence_score(self._candidate(row), references).score)


class _SidesScorer:
    """1 where the left template compares as it should with the right one, else 0."""

    _holds: Callable[[Any, Any], bool]

    def __init__(self, spec: StringCheckSpec | NumberCheckSpec, terms: Terms) -> None:
        del terms
        self.scores = spec.score_names
        self._left = compile_templates(spec.left_template, f"the scorer {spec.type}")
        self._right = compile_templates(spec.right_template, f"the scorer {spec.type}")

    def score(self, row: Row) -> float:
        """Score one row."""
        context = row.context
        left = self._read(self._left(context), "the left value")
        return float(self._holds(left, self._read(self._right(context), "the right value")))

    def _read(self, value: Any, what: str) -> Any:
        raise NotImplementedError


@register_scorer("string-check")
class StringCheck(_SidesScorer):
    """1 where the left text compares as it should with the right one, else 0."""

    _OPERATIONS: dict[str, Callable[[str, str], bool]] = {  # noqa: RUF012 - a constant
        **dict.fromkeys(("equals", "=="), operator.eq),
        **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
        "contains": operator.contains,
        "not contains": lambda left, right: right not in left,
        "startswith": str.startswith,
        "endswith": str.endswith,
    }

    def __init__(self, spec: StringCheckSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        self._holds = self._OPERATIONS[spec.operation]

    def _read(self, value: Any, what: str) -> str:
        return as_text(value, what)


# the last number of a text, read backwards: forwards it would take the square of its length
_LAST_NUMBER = re.compile(r"\d[.\d]*[+-]?")


@register_scorer("number-check")
class NumberCheck(_SidesScorer):
    """1 where the left number compares as it should with the right one, else 0.

    Of a text the last number counts: a sign, digits, and at most one point. A value that is a
    number already is used as it is.
    """

    _OPERATIONS: dict[str, Callable[[float, float], bool]] = {  # noqa: RUF012 - a constant
        **dict.fromkeys(("equals", "=="), operator.eq),
        **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
        **dict.fromkeys((">=", "gte", "greater than or equal"), operator.ge),
        **dict.fromkeys((">", "gt", "greater than"), operator.gt),
        **dict.fromkeys(("<=", "lte", "less than or equal"), operator.le),
        **dict.fromkeys(("<", "lt", "less than"), operator.lt),
    }

    def __init__(self, spec: NumberCheckSpec, terms: Terms) -> None:
        super().__init__(spec, terms)
        epsilon = spec.epsilon
        self._holds = (
            self._OPERATIONS[spec.operation]
            if epsilon is None
            else lambda left, right: abs(left - right) <= epsilon
        )

    def _read(self, value: Any, what: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(value, int) or math.isfinite(value):
                return value
        elif isinstance(value, str) and (match := _LAST_NUMBER.search(value[::-1])):
            text = match[0][::-1]
            try:
                return float(text) if "." in text else int(text)
            except ValueError:  # 1.2.3, or thousands of digits
                pass
        raise RowError("no-number", f"{what} is {shown(value)}, expected a text with a number")
