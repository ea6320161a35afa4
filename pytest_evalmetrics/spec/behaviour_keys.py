"""``behaviour:``: what an agent does beside what it scores, reported and gated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec.field_types import Name, Read, refuse
from pytest_evalmetrics.spec.validation import Keys, Limits, doc

Change = Annotated[
    float, types.numeric("a share of the baseline from 0, such as 20%", ge=0)
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LimitSpec(Keys):
    """The limits of one feature."""

    max_rise: Annotated[
        Change | None,
        doc(
            "how much its mean may rise: a share of the baseline's, and points of a rate"
        ),
    ] = None
    max_fall: Annotated[
        Change | None, doc("how much its mean may fall, in the same unit")
    ] = None
    max: Annotated[types.Bound | None, doc("the most of it in one rollout")] = None
    min: Annotated[types.Bound | None, doc("the least of it in one rollout")] = None

    @property
    def is_relative(self) -> bool:
        """Whether it is compared with the baseline."""
        return self.max_rise is not None or self.max_fall is not None

    def __post_init__(self) -> None:
        """Refuse a limit that says nothing, or that nothing can meet."""
        if not self.is_relative and self.max is None and self.min is None:
            raise refuse("expected max_rise, max_fall, max or min")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise refuse(
                f"min {self.min:g} is above max {self.max:g}: nothing can pass"
            )


Limit = LimitSpec | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ToolsRuleSpec(Keys):
    """Tools that rollouts must call, or must not."""

    forbid: Annotated[types.Names, doc("no rollout calls these: names or globs")] = ()
    require: Annotated[
        types.Names, doc("each rollout calls all of these: names or globs")
    ] = ()


_Sequence = Annotated[tuple[Name, ...], Limits(min_length=2, strict=False)]
_Sequences = Annotated[tuple[_Sequence, ...], Limits(strict=False)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SequencesSpec(Keys):
    """Tools in an order, with any calls between them."""

    forbid: Annotated[
        _Sequences, doc("no rollout calls these in this order: [[book, search]]")
    ] = ()
    require: Annotated[
        _Sequences, doc("each rollout calls these in this order: [[search, book]]")
    ] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BehaviourSpec(Keys):
    """What is reported and gated of an agent's behaviour."""

    steps: Annotated[Limit, doc("the agent's messages in a rollout")] = None
    tool_calls: Annotated[Limit, doc("the calls of tools")] = None
    retries: Annotated[
        Limit, doc("calls that repeat an earlier one, or follow a failed one")
    ] = None
    tool_errors: Annotated[Limit, doc("the calls that fail")] = None
    repeats: Annotated[Limit, doc("how often the same call is made: loops")] = None
    answer_chars: Annotated[Limit, doc("the length of the last message")] = None
    reasoning_chars: Annotated[Limit, doc("the length of the reasoning")] = None
    refusals: Annotated[Limit, doc("the share of rollouts that refuse")] = None
    json_answers: Annotated[Limit, doc("the share of answers that are JSON")] = None
    code_answers: Annotated[Limit, doc("the share of answers with a block of code")] = (
        None
    )
    citations: Annotated[Limit, doc("the sources that an answer names")] = None
    truncated: Annotated[
        Limit, doc("the share of rollouts that end at a limit of tokens or turns")
    ] = None

    tools: Annotated[ToolsRuleSpec, doc("tools that are forbidden, or required")] = (
        field(default_factory=ToolsRuleSpec)
    )
    sequences: Annotated[
        SequencesSpec, doc("orders of tools that are forbidden, or required")
    ] = field(default_factory=SequencesSpec)
    order: Annotated[
        Literal["same"] | None, doc("same: tools are called in the baseline's order")
    ] = None
    distance: Annotated[
        Literal["words", "edit"] | None,
        doc(
            "how far apart two answers are: by their words (default), or by characters"
        ),
    ] = None
    embeddings: Annotated[
        Name | None,
        doc(
            "a local model, or package.module:function, by whose vectors answers are compared"
        ),
    ] = None
    features: Annotated[
        types.Names, doc("features of your own: registered, or package.module:function")
    ] = ()
    limits: Annotated[dict[Name, LimitSpec], doc("feature of your own -> limits")] = (
        types.empty()
    )
    allow: Annotated[
        types.Share, doc("the share of rollouts that may break a rule: 1%")
    ] = 0.0
    tier: Annotated[
        types.TierName | None,
        doc("whether what breaks a limit or a rule fails, or is advisory"),
    ] = None

    @property
    def all_limits(self) -> Mapping[str, LimitSpec]:
        """The limits by feature, those of built-in features first."""
        return dict(self._limits())

    def _limits(self) -> Iterator[tuple[str, LimitSpec]]:
        for key in fields(self):
            value = getattr(self, key.name)
            if isinstance(value, LimitSpec):
                yield key.name, value
        yield from self.limits.items()

    @property
    def own_features(self) -> tuple[str, ...]:
        """The features that are not built in."""
        return tuple(dict.fromkeys((*self.features, *self.limits)))

    @property
    def needs_baseline(self) -> bool:
        """Whether it asserts anything about a change."""
        relative = any(limit.is_relative for limit in self.all_limits.values())
        return relative or self.order is not None

    @property
    def has_rules(self) -> bool:
        """Whether it asserts anything about single rollouts."""
        limits = self.all_limits.values()
        has_bounds = any(one.max is not None or one.min is not None for one in limits)
        of_tools = (*self.tools.forbid, *self.tools.require)
        of_sequences = (*self.sequences.forbid, *self.sequences.require)
        return has_bounds or bool(of_tools or of_sequences)

    def path_of(self, feature: str) -> tuple[str, ...]:
        """Return the path of a feature's limits."""
        return ("limits", feature) if feature in self.limits else (feature,)

    def __post_init__(self) -> None:
        """Refuse features of one's own that are called as a built-in one is."""
        if self.distance is not None and self.embeddings is not None:
            raise refuse(
                "answers have one distance: write `distance:` or `embeddings:`"
            )
        names = {key.name for key in fields(self)}
        for name in self.own_features:
            if name in names:
                raise refuse(f"{name!r} is built in: write `{name}:` beside `limits:`")


def _behaviour(value: object) -> object:
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, dict):
        raise types.expected(
            "true, false, or a mapping with tool_calls, tools, order ..."
        )
    return value


BehaviourField = Annotated[
    BehaviourSpec | None, Read(_behaviour, lambda: bool | BehaviourSpec)
]
