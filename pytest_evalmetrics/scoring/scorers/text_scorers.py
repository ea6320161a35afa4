"""Scorers that compare texts: exact-match, f1, bleu, rouge, string-check, number-check."""

from __future__ import annotations

import math
import operator
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.scoring.chat.prompts import compile_templates
from pytest_evalmetrics.scoring.scorers.row_reading import (
    as_text,
    response_in,
    unexpected,
)
from pytest_evalmetrics.scoring.transport import Terms, needs_extra
from pytest_evalmetrics.spec.field_types import TemplateText, one_or_many, refuse
from pytest_evalmetrics.spec.scorer_keys import NamedScores
from pytest_evalmetrics.spec.validation import doc

# -- a text and its reference --------------------------------------------------------------

_Score = Callable[[Row], float | Mapping[str, float]]
_REFERENCE = "{{ item.reference }}"
_CandidateText = Annotated[
    TemplateText | None,
    doc(
        "template of the candidate; default the generated text (sample.output_text), "
        "else the text of the row's response"
    ),
]


@dataclass(frozen=True, kw_only=True)
class PairKeys(NamedScores):
    """A text and its reference."""

    reference: Annotated[
        TemplateText, doc("template of the reference; default {{ item.reference }}")
    ] = _REFERENCE
    candidate: _CandidateText = None

    def make(self, _terms: Terms) -> _Score:
        """Make the function that scores a row."""
        reference = compile_templates(self.reference, f"the scorer {self.type}")
        candidate = _candidate(self.candidate, self.type)
        compare = self._comparison()

        def score(row: Row) -> float | Mapping[str, float]:
            wanted = as_text(reference(row.context), "the reference")
            return compare(wanted, candidate(row))

        return score

    def _comparison(self) -> Callable[[str, str], float | Mapping[str, float]]:
        """Return the function that compares a reference with a candidate."""
        raise NotImplementedError


def _candidate(template: str | None, kind: str) -> Callable[[Row], str]:
    """Compile the template of the text that is judged; None for the row's response."""
    if template is not None:
        render = compile_templates(template, f"the scorer {kind}")
        return lambda row: as_text(render(row.context), "the candidate")
    hint = 'say where the answer is: candidate: "{{ item.answer }}"'

    def of_response(row: Row) -> str:
        text = row.sample_data.get("output_text")
        if text is None:
            text = response_in(row, hint)
        return as_text(text, "the candidate")

    return of_response


_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def _normalised(text: str) -> str:
    """Normalise a text as SQuAD's evaluation does (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


@dataclass(frozen=True, kw_only=True)
class ExactMatchSpec(PairKeys):
    """1 if reference and candidate are equal after normalisation, else 0."""

    own_names = ("exact-match",)
    type: Annotated[
        Literal["exact-match", "exact_match"],
        doc("the same text, but for case, punctuation and articles"),
    ]

    def _comparison(self) -> Callable[[str, str], float]:
        return lambda reference, candidate: float(
            _normalised(reference) == _normalised(candidate)
        )


@dataclass(frozen=True, kw_only=True)
class F1Spec(PairKeys):
    """The F1 of the candidate's words against the reference's, both normalised.

    ``2 * shared / (words of the one + words of the other)``, shared with multiplicity, which
    is the harmonic mean of precision and recall. Where one has no words: 1 if neither has
    any, else 0. SQuAD 2.0 (Rajpurkar et al. 2018).
    """

    own_names = ("f1",)
    type: Annotated[Literal["f1"], doc("the words that two texts share")]

    def _comparison(self) -> Callable[[str, str], float]:
        def f1(reference: str, candidate: str) -> float:
            wanted = _normalised(reference).split()
            words = _normalised(candidate).split()
            if not wanted or not words:
                return float(wanted == words)
            shared = (Counter(wanted) & Counter(words)).total()
            return 2 * shared / (len(wanted) + len(words))

        return f1


@dataclass(frozen=True, kw_only=True)
class RougeSpec(PairKeys):
    """The F-measures of ``rouge_score``, words stemmed; from 0 to 1."""

    type: Annotated[Literal["rouge"], doc("ROUGE-1, -2, -3 and -L")]
    own_names = ("rouge_1_score", "rouge_2_score", "rouge_3_score", "rouge_L_score")

    def _comparison(self) -> Callable[[str, str], dict[str, float]]:
        with needs_extra("text", f"the scorer {self.type}"):
            from rouge_score.rouge_scorer import RougeScorer  # 0.5 s, of an extra
        kinds = ["rouge1", "rouge2", "rouge3", "rougeL"]  # in the order of the scores
        scorer = RougeScorer(kinds, use_stemmer=True)

        def rouge(reference: str, candidate: str) -> dict[str, float]:
            by_kind = scorer.score(reference, candidate)
            values = [float(by_kind[kind].fmeasure) for kind in kinds]
            return dict(zip(self.score_names, values, strict=True))

        return rouge


@dataclass(frozen=True, kw_only=True)
class BleuSpec(NamedScores):
    """Sentence BLEU from 0 to 100, as ``sacrebleu.sentence_bleu`` has it.

    Papineni et al. 2002; tokenised (13a) and smoothed (exp) as Post 2018 proposes.
    """

    type: Annotated[Literal["bleu"], doc("sentence BLEU, from 0 to 100")]
    own_names = ("sentence",)
    limits = (0.0, 100.0)
    references: Annotated[
        tuple[TemplateText, ...],
        Field(
            min_length=1,
            strict=False,
            description="templates of the references, each of a text or a list of texts; default "
            "{{ item.reference }}",
        ),
        BeforeValidator(one_or_many, json_schema_input_type=str | list[str]),
    ] = (_REFERENCE,)
    candidate: _CandidateText = None

    def make(self, _terms: Terms) -> _Score:
        """Make the function that scores a row."""
        with needs_extra("text", f"the scorer {self.type}"):
            from sacrebleu.metrics.bleu import BLEU  # 0.2 s, and of an extra
        scorer = BLEU(effective_order=True)
        references = compile_templates(self.references, f"the scorer {self.type}")
        candidate = _candidate(self.candidate, self.type)

        def bleu(row: Row) -> float:
            texts: list[str] = []
            for value in references(row.context):
                listed = value if isinstance(value, list) else [value]
                texts += [as_text(text, "the reference") for text in listed]
            if not texts:
                raise RowError(
                    "no-reference", "the row has no reference: its list is empty"
                )
            return float(scorer.sentence_score(candidate(row), texts).score)

        return bleu


# -- two sides and an operation ------------------------------------------------------------

_TEXT_OPERATIONS: Mapping[str, Callable[[str, str], bool]] = {
    **dict.fromkeys(("equals", "=="), operator.eq),
    **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
    "contains": operator.contains,
    "not contains": lambda left, right: right not in left,
    "startswith": str.startswith,
    "endswith": str.endswith,
}
_NUMBER_OPERATIONS: Mapping[str, Callable[[float, float], bool]] = {
    **dict.fromkeys(("equals", "=="), operator.eq),
    **dict.fromkeys(("not equals", "!=", "<>"), operator.ne),
    **dict.fromkeys((">=", "gte", "greater than or equal"), operator.ge),
    **dict.fromkeys((">", "gt", "greater than"), operator.gt),
    **dict.fromkeys(("<=", "lte", "less than or equal"), operator.le),
    **dict.fromkeys(("<", "lt", "less than"), operator.lt),
}


@dataclass(frozen=True, kw_only=True)
class SidesKeys(NamedScores):
    """The two sides of a comparison."""

    left_template: Annotated[TemplateText, doc("template of the left side")]
    right_template: Annotated[TemplateText, doc("template of the right side")]

    def make(self, _terms: Terms) -> _Score:
        """Make the function that scores a row."""
        left = compile_templates(self.left_template, f"the scorer {self.type}")
        right = compile_templates(self.right_template, f"the scorer {self.type}")

        def check(row: Row) -> float:
            context = row.context
            return float(self._holds(left(context), right(context)))

        return check

    def _holds(self, left: object, right: object) -> bool:
        """Compare what the templates gave."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class StringCheckSpec(SidesKeys):
    """1 if the comparison of two texts holds, else 0."""

    own_names = ("string-check",)
    type: Annotated[
        Literal["string-check", "string_check"], doc("a comparison of two texts")
    ]
    operation: Annotated[
        Literal[
            "equals", "==", "not equals", "!=", "<>", "contains", "not contains", "startswith",
            "endswith",
        ],
        doc("how the left text compares with the right one"),
    ]  # fmt: skip

    def _holds(self, left: object, right: object) -> bool:
        left_text = as_text(left, "the left value")
        right_text = as_text(right, "the right value")
        return _TEXT_OPERATIONS[self.operation](left_text, right_text)


_MINUS = "\u2212\u2013-"  # a minus sign, the dash that is written for one, and a hyphen
# each match ends where the next one starts, so that a long text takes no more than its length
_NUMBERS = re.compile(rf"(?P<sign>[+{_MINUS}]?)(?P<digits>(?:\d|\.(?=\d))+)")


def _as_last_number(value: object, what: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) or math.isfinite(value):
            return value
    elif isinstance(value, str):
        number = _last_number(value)
        if number is not None:
            return number
    raise unexpected("no-number", what, value, "a text with a number")


def _last_number(text: str) -> float | None:
    """Read the last number of a text; None if it has none, or one such as 1.2.3."""
    match = None
    for found in _NUMBERS.finditer(text):
        match = found
    if match is None:
        return None
    digits = match["digits"]
    is_negative = match["sign"] in tuple(_MINUS) and _is_sign(text, match.start())
    try:
        number = _as_written(digits)
    except ValueError:  # 1.2.3, or thousands of digits
        return None
    return -number if is_negative else number


def _as_written(digits: str) -> float:
    """Read digits; a whole number keeps all of them."""
    if "." in digits:
        return float(digits)
    return int(digits)


def _is_sign(text: str, at: int) -> bool:
    """Check that what stands before a dash is no end of a range, a difference or a name."""
    before = text[at - 1 : at]
    return not (before.isalnum() or before in (")", "]", "}", "%"))


_DIFFERENCE = "absolute difference"


@dataclass(frozen=True, kw_only=True)
class NumberCheckSpec(SidesKeys):
    """1 if the comparison of two numbers holds, else 0.

    Of a text the last number counts: a sign, digits, and at most one point. A minus sign (U+2212)
    and an en dash are signs as a hyphen is; after a digit or a letter they are none: 10-12 ends in
    12. A value that is a number already is used as it is.
    """

    own_names = ("number-check",)
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
        Field(
            ge=0, allow_inf_nan=False, description=f"how much an {_DIFFERENCE} may be"
        ),
    ] = None

    def __post_init__(self) -> None:
        """Require epsilon for a difference, and for nothing else."""
        if (self.epsilon is None) is (self.operation == _DIFFERENCE):
            raise refuse(f"epsilon is needed by, and only by, operation: {_DIFFERENCE}")

    def _holds(self, left: object, right: object) -> bool:
        left_number = _as_last_number(left, "the left value")
        right_number = _as_last_number(right, "the right value")
        if self.epsilon is not None:
            return abs(left_number - right_number) <= self.epsilon
        return _NUMBER_OPERATIONS[self.operation](left_number, right_number)
