"""Metrics that a benchmark file defines under ``metrics:``, ``name: {type: ..., ...}``."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Union,
    get_args,
    get_type_hints,
)

from pytest_evalmetrics.model.metric_facts import AS_SCORE, MetricFacts
from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec.field_types import AtLeastOne, Checked, Name, refuse
from pytest_evalmetrics.spec.validation import (
    After,
    Keys,
    Limits,
    doc,
    validated,
    validator,
)

_GOOD_RATE: Final = MetricFacts(direction="higher", limits=(0.0, 1.0))
_BAD_RATE: Final = MetricFacts(direction="lower", limits=(0.0, 1.0))
_REWARD: Final = MetricFacts(direction=AS_SCORE, limits=AS_SCORE)


def _label(value: object) -> object:
    """Write a label as JSON does, unless it is text, as labels of rows are."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if types.is_number(value) else value


Label = Annotated[Name, types.Read(_label, lambda: str | int | float | bool)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Definition(Keys):
    """Base of all definitions: the columns that are read, the range and the direction."""

    type: str
    reads: ClassVar[tuple[str, ...]] = ()  # keys that name columns of labels
    counts: ClassVar[tuple[str, ...]] = ()  # keys that name columns of numbers
    of_reward: ClassVar[bool] = False  # whether it reads the benchmark's reward too
    stated: ClassVar[MetricFacts] = MetricFacts()  # of every type of the class

    @property
    def facts(self) -> MetricFacts:
        """Range and direction of the metric."""
        return self.stated

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that hold labels."""
        return tuple(c for key in self.reads if (c := getattr(self, key)) is not None)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return tuple(c for key in self.counts if (c := getattr(self, key)) is not None)

    def written(self) -> dict[str, object]:
        """Return the keys as a baseline keeps them, to see when one changes."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AgreementKeys(Definition):
    """Agreement of a predicted label with the true one."""

    type: Annotated[
        Literal[
            "accuracy", "precision", "recall", "f1", "balanced_accuracy", "mcc", "kappa"
        ],
        doc("what is computed"),
    ]
    gold: Annotated[Name, doc("the column of true labels")]
    predicted: Annotated[Name, doc("the column of predicted labels")]
    average: Annotated[
        Literal["binary", "macro", "micro"] | None,
        doc("of precision, recall and f1: binary (default), macro or micro"),
    ] = None
    positive: Annotated[
        Label | None, doc("the label that counts, of binary; default 1 or true")
    ] = None
    weights: Annotated[
        Literal["linear", "quadratic"] | None, doc("weights of kappa")
    ] = None
    reads: ClassVar[tuple[str, ...]] = ("gold", "predicted")

    def __post_init__(self) -> None:
        averaged = self.type in ("precision", "recall", "f1")
        if self.average is not None and not averaged:
            raise refuse(
                f"average is for precision, recall and f1, and this is {self.type}"
            )
        if self.positive is not None and not (
            averaged and self.average in (None, "binary")
        ):
            raise refuse("positive is for binary precision, recall and f1")
        if self.weights is not None and self.type != "kappa":
            raise refuse(f"weights are for kappa, and this is {self.type}")

    @property
    def facts(self) -> MetricFacts:
        """Range and direction of the metric."""
        if self.type in ("mcc", "kappa"):
            return MetricFacts(direction="higher", limits=(-1.0, 1.0))
        return _GOOD_RATE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProbabilityKeys(Definition):
    """How well a score ranks or predicts an outcome."""

    type: Annotated[
        Literal["auroc", "brier", "ece", "log_loss"], doc("what is computed")
    ]
    gold: Annotated[Name, doc("the column of the outcome")]
    score: Annotated[
        Name, doc("the column of the positive outcome's score, or probability")
    ]
    positive: Annotated[
        Label | None, doc("the positive outcome; default 1 or true")
    ] = None
    bins: Annotated[AtLeastOne | None, doc("of ece; default 10, of equal width")] = None
    reads: ClassVar[tuple[str, ...]] = ("gold",)
    counts: ClassVar[tuple[str, ...]] = ("score",)

    def __post_init__(self) -> None:
        if self.bins is not None and self.type != "ece":
            raise refuse(f"bins are for ece, and this is {self.type}")

    @property
    def facts(self) -> MetricFacts:
        """Range and direction of the metric."""
        if self.type == "auroc":
            return _GOOD_RATE
        if self.type == "log_loss":
            return MetricFacts(direction="lower", limits=(0.0, math.inf))
        return _BAD_RATE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShareKeys(Definition):
    """The share of rollouts with a label."""

    type: Annotated[Literal["share"], doc("what is computed")]
    of: Annotated[Name, doc("the column of labels")]
    label: Annotated[Label, doc("the label that is counted")]
    stated: ClassVar[MetricFacts] = MetricFacts(limits=(0.0, 1.0))
    reads: ClassVar[tuple[str, ...]] = ("of",)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WinRateKeys(Definition):
    """The share of comparisons won, a tie counting half."""

    type: Annotated[Literal["win_rate"], doc("what is computed")]
    winner: Annotated[Name | None, doc("the column that names the winner")] = None
    of: Annotated[
        Label | None, doc("the side whose wins are counted, as winner names it")
    ] = None
    tie: Annotated[Label, doc("the value of winner for a tie")] = "tie"
    score: Annotated[
        Name | None, doc("in place of winner: the column of the run's score")
    ] = None
    reference: Annotated[Name | None, doc("the column of the score to beat")] = None
    stated: ClassVar[MetricFacts] = _GOOD_RATE
    reads: ClassVar[tuple[str, ...]] = ("winner",)
    counts: ClassVar[tuple[str, ...]] = ("score", "reference")

    def __post_init__(self) -> None:
        named = [
            key is not None
            for key in (self.winner, self.of, self.score, self.reference)
        ]
        if named not in ([True, True, False, False], [False, False, True, True]):
            raise refuse("a win rate needs winner and of, or score and reference")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EloKeys(Definition):
    """The rating of a player, from pairwise comparisons."""

    type: Annotated[Literal["elo"], doc("what is computed")]
    a: Annotated[Name, doc("the column of the first player")]
    b: Annotated[Name, doc("the column of the second player")]
    winner: Annotated[
        Name, doc("the column that names the winner: a player, a or b, or a tie")
    ]
    of: Annotated[Label, doc("the player that is rated")]
    against: Annotated[
        Label | None, doc("the player rated 1000; default the mean of all")
    ] = None
    tie: Annotated[Label, doc("the value of winner for a tie")] = "tie"
    stated: ClassVar[MetricFacts] = MetricFacts(direction="higher")
    reads: ClassVar[tuple[str, ...]] = ("a", "b", "winner")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RetrievalKeys(Definition):
    """The quality of a ranking; a row is a retrieved document, a task a query."""

    type: Annotated[
        Literal["recall_at_k", "precision_at_k", "ndcg_at_k", "mrr"],
        doc("what is computed"),
    ]
    relevance: Annotated[Name, doc("the column of a document's relevance, from 0")]
    rank: Annotated[
        Name | None, doc("the column of its rank, the first is the best")
    ] = None
    score: Annotated[Name | None, doc("in place of rank: the column of its score")] = (
        None
    )
    k: Annotated[AtLeastOne | None, doc("how many of the best count; default all")] = (
        None
    )
    relevant: Annotated[
        Name | None,
        doc(
            "of recall: the column of how many relevant documents a query has; default in rows"
        ),
    ] = None
    stated: ClassVar[MetricFacts] = _GOOD_RATE
    counts: ClassVar[tuple[str, ...]] = ("relevance", "rank", "score", "relevant")

    def __post_init__(self) -> None:
        if (self.rank is None) == (self.score is None):
            raise refuse(
                "a ranking is by rank or by score: name the column of one of them"
            )
        if self.k is None and self.type == "precision_at_k":
            raise refuse("'k' is missing: how many of the best count")
        if self.relevant is not None and self.type != "recall_at_k":
            raise refuse(f"relevant is for recall_at_k, and this is {self.type}")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MajorityKeys(Definition):
    """The reward of the most frequent answer."""

    type: Annotated[Literal["majority_vote"], doc("what is computed")]
    answer: Annotated[Name, doc("the column of the answer")]
    k: Annotated[AtLeastOne, doc("rollouts that vote: the first k")]
    stated: ClassVar[MetricFacts] = _REWARD
    reads: ClassVar[tuple[str, ...]] = ("answer",)
    of_reward: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BestOfKeys(Definition):
    """The reward of the rollout that a verifier prefers."""

    type: Annotated[Literal["best_of_n"], doc("what is computed")]
    by: Annotated[Name, doc("the column of the verifier's score")]
    n: Annotated[AtLeastOne, doc("rollouts that it chooses from")]
    stated: ClassVar[MetricFacts] = _REWARD
    counts: ClassVar[tuple[str, ...]] = ("by",)
    of_reward: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BudgetedPassKeys(Definition):
    """The share of tasks solved before a budget is spent."""

    type: Annotated[Literal["pass_within"], doc("what is computed")]
    of: Annotated[
        Name, doc("the column with the usage of a rollout: tokens, dollars, seconds")
    ]
    budget: Annotated[float, Limits(gt=0), doc("the budget of a task")]
    stated: ClassVar[MetricFacts] = _GOOD_RATE
    counts: ClassVar[tuple[str, ...]] = ("of",)
    of_reward: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OwnKeys(Definition):
    """A metric of a user's own, with the arguments of its class."""

    type: str
    arguments: Mapping[str, object]

    def written(self) -> dict[str, object]:
        """Return the keys as a baseline keeps them."""
        return {"type": self.type, **self.arguments}


_RankingKeys = WinRateKeys | EloKeys | RetrievalKeys
_RewardKeys = MajorityKeys | BestOfKeys | BudgetedPassKeys
MetricKeys = (
    AgreementKeys | ProbabilityKeys | ShareKeys | _RankingKeys | _RewardKeys | OwnKeys
)
#: The types of metrics that a file defines, with their keys.
METRIC_TYPES: Final[dict[str, type[Definition]]] = {
    kind: spec
    for spec in get_args(MetricKeys)[:-1]
    for kind in get_args(get_type_hints(spec)["type"])
}
_OWN: Final = types.open_mapping(
    "type",
    description="a registered metric, or package.module:attribute",
    minLength=1,
    **{"not": {"enum": list(METRIC_TYPES)}},
)


_NO_DEFINITION: Final = (
    "a metric of your own has a type, such as {type: f1, gold: label, predicted: answer}; those "
    "that there are stand in a list, metrics: [mean_reward, pass@1], and limits below thresholds: "
    '{pass@1: ">= 0.7"}'
)


class MetricList(tuple[str, ...]):  # noqa: SLOT001 - it holds one thing more
    """The names of listed metrics; `defined` holds those that the file defines."""

    defined: Mapping[str, MetricKeys]


def _definition(value: object) -> object:
    if not isinstance(value, dict):
        raise refuse(_NO_DEFINITION)
    kind = types.type_of(value, METRIC_TYPES, "a kind of metric")
    if kind not in METRIC_TYPES:
        arguments = types.without_type(value)
        return OwnKeys(type=kind, arguments=arguments)
    return validated(METRIC_TYPES[kind], value)


_Keys = Annotated[
    Any,
    Checked(_definition, lambda: Union[*dict.fromkeys(METRIC_TYPES.values()), _OWN]),
]
_Defined = Annotated[dict[Name, _Keys], Limits(min_length=1, max_length=1)]


def _entry(value: object) -> object:
    form = _Defined if isinstance(value, dict) else Name
    entry = validator(form).validate_python(value)
    if isinstance(entry, dict):
        return next(iter(entry.items()))
    return entry, None


def _entries(value: object) -> object:
    if not isinstance(value, dict):
        return types.one_or_many(value)
    entries: list[object] = []
    for name, keys in value.items():
        if keys is None:
            entries.append(name)
        else:
            entries.append({name: keys})
    return entries


def _listed(value: tuple[tuple[str, MetricKeys | None], ...]) -> MetricList:
    metrics = MetricList(types.no_duplicates(tuple(name for name, _ in value)))
    metrics.defined = {name: keys for name, keys in value if keys is not None}
    for name in metrics.defined:
        if re.search(r"[/\[\]]", name):
            raise refuse(f"{name!r} can't be a metric's name: it holds one of / [ ]")
    return metrics


MetricsField = Annotated[
    tuple[Annotated[object, Checked(_entry, lambda: Name | _Defined)], ...],
    Limits(min_length=1, strict=False),
    types.Read(
        _entries,
        lambda: (
            Name
            | Annotated[list[Name | _Defined], Limits(min_length=1)]
            | Annotated[dict[Name, _Keys | None], Limits(min_length=1)]
        ),
    ),
    After(_listed),
]
