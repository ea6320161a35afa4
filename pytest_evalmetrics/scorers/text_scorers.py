"""Scorers that compare texts: exact-match, f1, bleu, rouge, string-check, number-check."""

from __future__ import annotations

import math
import operator
import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from pytest_evalmetrics import ext
from pytest_evalmetrics.scorers.interface import builtin
from pytest_evalmetrics.scorers.row_reading import as_text, response_in, shown
from pytest_evalmetrics.spec.field_types import TemplateText, doc, keys, one_or_many, refuse
from pytest_evalmetrics.spec.scorer_keys import NamedScores

# -- a text and its reference --------------------------------------------------------------

REFERENCE = "{{ item.reference }}"
CandidateText = Annotated[
    TemplateText | None,
    doc(
        "template of what is judged; default what was generated (sample.output_text), "
        "else the text of the row's response"
    ),
]


@keys
class PairKeys(NamedScores):
    """A text and its reference."""

    reference: Annotated[
        TemplateText, doc("template of what is right; default {{ item.reference }}")
    ] = REFERENCE
    candidate: CandidateText = None


class _PairScorer:
    """A scorer that compares a reference with a candidate."""

    def __init__(self, spec: PairKeys, _terms: ext.Terms) -> None:
        self.scores = spec.score_names
        self._reference = ext.compile_templates(spec.reference, f"the scorer {spec.type}")
        self._candidate = _candidate(spec.candidate, f"the scorer {spec.type}")

    def _pair(self, row: ext.Row) -> tuple[str, str]:
        reference = as_text(self._reference(row.context), "the reference")
        return reference, self._candidate(row)


def _candidate(template: str | None, who: str) -> Callable[[ext.Row], str]:
    """Compile the template of the text that is judged; None for the row's response."""
    if template is not None:
        render = ext.compile_templates(template, who)
        return lambda row: as_text(render(row.context), "the candidate")
    hint = 'say where the answer is: candidate: "{{ item.answer }}"'

    def of_response(row: ext.Row) -> str:
        text = row.sample_data.get("output_text")
        return as_text(response_in(row, hint) if text is None else text, "the candidate")

    return of_response


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Normalise a text as SQuAD's evaluation does (Rajpurkar et al. 2016).

    Lower case; without ASCII punctuation; without a, an, the; single spaces.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


@keys
class ExactMatchSpec(PairKeys):
    """Equality of two normalized texts."""

    default_names = ("exact-match",)
    type: Annotated[
        Literal["exact-match", "exact_match"],
        doc("the same text, but for case, punctuation and articles"),
    ]


@builtin("exact-match")
class ExactMatch(_PairScorer):
    """1 where reference and candidate are the same once normalised, else 0."""

    def score(self, row: ext.Row) -> float:
        """Score one row."""
        reference, candidate = self._pair(row)
        return float(normalised(reference) == normalised(candidate))


@keys
class F1Spec(PairKeys):
    """F1 of the words of two texts."""

    default_names = ("f1",)
    type: Annotated[Literal["f1"], doc("the words that two texts share")]


@builtin("f1")
class F1(_PairScorer):
    """The F1 of the candidate's words against the reference's, both normalised.

    ``2 * shared / (words of the one + words of the other)``, shared with multiplicity, which
    is the harmonic mean of precision and recall. Where one has no words: 1 if neither has
    any, else 0. SQuAD 2.0 (Rajpurkar et al. 2018).
    """

    def score(self, row: ext.Row) -> float:
        """Score one row."""
        reference, candidate = (normalised(text).split() for text in self._pair(row))
        if not reference or not candidate:
            return float(reference == candidate)
        shared = (Counter(reference) & Counter(candidate)).total()
        return 2 * shared / (len(reference) + len(candidate))


@keys
class RougeSpec(PairKeys):
    """ROUGE of one text."""

    default_names = ("rouge_1_score", "rouge_2_score", "rouge_3_score", "rouge_L_score")
    type: Annotated[Literal["rouge"], doc("ROUGE-1, -2, -3 and -L")]


@builtin("rouge")
class Rouge(_PairScorer):
    """The F-measures of ``rouge_score``, words stemmed; from 0 to 1."""

    _TYPES = ("rouge1", "rouge2", "rouge3", "rougeL")  # in the order of the scores

    def __init__(self, spec: RougeSpec, terms: ext.Terms) -> None:
        super().__init__(spec, terms)
        with ext.needs_extra("text", f"the scorer {spec.type}"):
            from rouge_score.rouge_scorer import (  # noqa: PLC0415 - 0.5 s and more, and of an extra
                RougeScorer,
            )
        self._rouge: Any = RougeScorer(list(self._TYPES), use_stemmer=True)

    def score(self, row: ext.Row) -> dict[str, float]:
        """Score one row."""
        by_type = self._rouge.score(*self._pair(row))
        values = [float(by_type[kind].fmeasure) for kind in self._TYPES]
        return dict(zip(self.scores, values, strict=True))


@keys
class BleuSpec(NamedScores):
    """Sentence BLEU of one text, from 0 to 100."""

    default_names = ("sentence",)
    type: Annotated[Literal["bleu"], doc("sentence BLEU, from 0 to 100")]
    references: Annotated[
        tuple[TemplateText, ...],
        Field(
            min_length=1,
            strict=False,
            description="templates of what is right, each of a text or a list of texts; default "
            "{{ item.reference }}",
        ),
        BeforeValidator(one_or_many, json_schema_input_type=str | list[str]),
    ] = (REFERENCE,)
    candidate: CandidateText = None

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """Percent."""
        return 0.0, 100.0


@builtin("bleu")
class Bleu:
    """Sentence BLEU from 0 to 100, as ``sacrebleu.sentence_bleu`` has it.

    Papineni et al. 2002; tokenised (13a) and smoothed (exp) as Post 2018 proposes.
    """

    def __init__(self, spec: BleuSpec, _terms: ext.Terms) -> None:
        self.scores = spec.score_names
        with ext.needs_extra("text", f"the scorer {spec.type}"):
            from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415 - 0.2 s, and of an extra
        self._bleu: Any = BLEU(effective_order=True)
        self._references = ext.compile_templates(spec.references, f"the scorer {spec.type}")
        self._candidate = _candidate(spec.candidate, f"the scorer {spec.type}")

    def score(self, row: ext.Row) -> float:
        """Score one row."""
        texts = [
            as_text(text, "the reference")
            for value in self._references(row.context)
            for text in (value if isinstance(value, list) else [value])
        ]
        if not texts:
            raise ext.RowError("no-reference", "the row has no reference: its list is empty")
        return float(self._bleu.sentence_score(self._candidate(row), texts).score)


# -- two sides and an operation ------------------------------------------------------------

_Operations = dict[str, Callable[[Any, Any], bool]]
_EQUALITY: _Operations = {
    **dict.fromkeys(("equals", "=="), operator.eq),
    **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
}


@keys
class SidesKeys(NamedScores):
    """The two sides of a comparison."""

    left_template: Annotated[TemplateText, doc("template of the left side")]
    right_template: Annotated[TemplateText, doc("template of the right side")]


class _SidesScorer:
    """1 where the left template compares as it should with the right one, else 0."""

    _OPERATIONS: ClassVar[_Operations]

    def __init__(self, spec: Any, _terms: ext.Terms) -> None:
        self.scores: tuple[str, ...] = spec.score_names
        self._left = ext.compile_templates(spec.left_template, f"the scorer {spec.type}")
        self._right = ext.compile_templates(spec.right_template, f"the scorer {spec.type}")
        self._holds: Any = self._OPERATIONS.get(spec.operation)

    def score(self, row: ext.Row) -> float:
        """Score one row."""
        context = row.context
        left = self._read(self._left(context), "the left value")
        return float(self._holds(left, self._read(self._right(context), "the right value")))

    def _read(self, value: Any, what: str) -> Any:
        return as_text(value, what)


@keys
class StringCheckSpec(SidesKeys):
    """One comparison of two texts."""

    default_names = ("string-check",)
    type: Annotated[Literal["string-check", "string_check"], doc("a comparison of two texts")]
    operation: Annotated[
        Literal[
            "equals", "==", "not equals", "!=", "<>", "contains", "not contains", "startswith",
            "endswith",
        ],
        doc("how the left text compares with the right one"),
    ]  # fmt: skip


@builtin("string-check")
class StringCheck(_SidesScorer):
    """1 where the left text compares as it should with the right one, else 0."""

    _OPERATIONS: ClassVar[_Operations] = {
        **_EQUALITY,
        "contains": operator.contains,
        "not contains": lambda left, right: right not in left,
        "startswith": str.startswith,
        "endswith": str.endswith,
    }


_DIFFERENCE = "absolute difference"


@keys
class NumberCheckSpec(SidesKeys):
    """One comparison of the last numbers of two texts."""

    default_names = ("number-check",)
    type: Annotated[
        Literal["number-check", "number_check"],
        doc("a comparison of the last numbers of two texts"),
    ]
    operation: Annotated[
        Literal[
            "equals", "==", "not equals", "!=", "<>",
            ">=", "gte", "greater than or equal", ">", "gt", "greater than",
            "<=", "lte", "less than or equal", "<", "lt", "less than", "absolute difference",
        ],
        doc("how the left number compares with the right one"),
    ]  # fmt: skip
    epsilon: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False, description=f"how much an {_DIFFERENCE} may be"),
    ] = None

    @model_validator(mode="after")
    def _epsilon_with_difference(self) -> Any:
        if (self.epsilon is None) is (self.operation == _DIFFERENCE):
            raise refuse(f"epsilon is needed by, and only by, operation: {_DIFFERENCE}")
        return self


# the last number of a text, read backwards: forwards it would take the square of its length
_LAST_NUMBER = re.compile(r"\d[.\d]*[+-]?")


@builtin("number-check")
class NumberCheck(_SidesScorer):
    """1 where the left number compares as it should with the right one, else 0.

    Of a text the last number counts: a sign, digits, and at most one point. A value that is a
    number already is used as it is.
    """

    _OPERATIONS: ClassVar[_Operations] = {
        **_EQUALITY,
        **dict.fromkeys((">=", "gte", "greater than or equal"), operator.ge),
        **dict.fromkeys((">", "gt", "greater than"), operator.gt),
        **dict.fromkeys(("<=", "lte", "less than or equal"), operator.le),
        **dict.fromkeys(("<", "lt", "less than"), operator.lt),
    }

    def __init__(self, spec: NumberCheckSpec, terms: ext.Terms) -> None:
        super().__init__(spec, terms)
        if (epsilon := spec.epsilon) is not None:
            self._holds = lambda left, right: abs(left - right) <= epsilon

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
        raise ext.RowError("no-number", f"{what} is {shown(value)}, expected a text with a number")
