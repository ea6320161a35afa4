"""What an agent does otherwise than before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.behaviour import (
    AnswerDistance,
    FeatureKind,
    RuleKind,
    ScoreChange,
)
from pytest_evalmetrics.model.reasons import (
    BehaviourMoved,
    NoBehaviour,
    OrderChanged,
    RuleBroken,
)
from pytest_evalmetrics.reports.sentences.dispatch import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.model.behaviour import (
        BehaviourFacts,
        Churn,
        FeatureChange,
        RolloutRule,
        TaskMove,
    )

_NAMED: Final = 10  # tasks on a line
_CHANGES: Final = 4  # on a line; all of them are in the report
_WORDS: Final = {
    "steps": "steps",
    "tool_calls": "tool calls",
    "retries": "retries",
    "tool_errors": "failed tool calls",
    "repeats": "repeats of one call",
    "answer_chars": "characters in the answer",
    "reasoning_chars": "characters of reasoning",
    "citations": "citations",
    "refusals": "refusals",
    "json_answers": "answers in JSON",
    "code_answers": "answers with code",
    "truncated": "truncated rollouts",
}


_OF_TOOLS: Final = ("steps", "tool_calls", "tool_errors", "retries", "repeats")
_FIRST: Final = (FeatureKind.ORDER, FeatureKind.TOOL, FeatureKind.SHAPE)
_SCORES: Final = {
    ScoreChange.SAME: "same score; ",
    ScoreChange.NOT_SHOWN: "no change of the score is shown; ",
    ScoreChange.CHANGED: "",
    ScoreChange.UNKNOWN: "",
}


def behaviour_sentence(facts: BehaviourFacts) -> str:
    """Say on one line what an agent does otherwise; empty if nothing changed."""
    texts = [change_text(change) for change in _in_order(facts.significant)]
    parts = []
    if texts:
        parts.append(listed(texts, _CHANGES))
    if facts.churn is not None and facts.churn.is_significant:
        parts.append(churn_text(facts.churn))
    if not parts:
        return ""
    return f"behaviour: {_SCORES[facts.score]}{'; '.join(parts)}"


def _in_order(changes: Sequence[FeatureChange]) -> list[FeatureChange]:
    """Put what agents do before how they answer; more calls of tools are more steps."""
    names = {change.name for change in changes}
    shown = [
        change
        for change in changes
        if change.name != "steps" or "tool_calls" not in names
    ]
    return sorted(shown, key=_turn)


def _turn(change: FeatureChange) -> int:
    if change.kind in _FIRST:
        return 1 + _FIRST.index(change.kind)
    if change.kind is FeatureKind.NUMBER and change.name in _OF_TOOLS:
        return 0
    return 1 + len(_FIRST)


def behaviour_details(facts: BehaviourFacts) -> list[str]:
    """Say of each feature that changed how sure that is, and where it moved most."""
    lines = []
    for change in facts.significant:
        line = f"behaviour: {_with_p(change)}"
        if change.most:
            moves = [_move_text(move) for move in change.most]
            line += f"; most in {listed(moves)}"
        lines.append(line)
    return lines


def _move_text(move: TaskMove) -> str:
    return f"{move.task} ({move.before:.3g} to {move.now:.3g})"


def _with_p(change: FeatureChange) -> str:
    """Say how one feature moved, and how sure that is."""
    text = change_text(change)
    if change.p is None:
        return text
    return f"{text}, p = {change.p:.2g}"


# -- features --------------------------------------------------------------------------------


def change_text(change: FeatureChange) -> str:
    """Say how one feature moved: ``31 % more tool calls``."""
    return _TEXTS[change.kind](change)


def _number(change: FeatureChange) -> str:
    words = _WORDS.get(change.name, change.name)
    values = f"{change.before:.3g} to {change.now:.3g}"
    if change.before <= 0:
        return f"{words} from {values}"
    share = 100 * abs(change.now - change.before) / change.before
    more = "fewer"
    if change.now > change.before:
        more = "more"
    return f"{share:.3g} % {more} {words} ({values})"


def _rate(change: FeatureChange) -> str:
    words = _WORDS.get(change.name, change.name)
    return f"{words} in {_shares(change.before, change.now)}"


def _shares(before: float, now: float) -> str:
    return f"{100 * now:.3g} % of rollouts ({100 * before:.3g} % before)"


def _tool(change: FeatureChange) -> str:
    return f"`{change.name}` is called in {_shares(change.before, change.now)}"


def _order(change: FeatureChange) -> str:
    """Name the order that is more frequent now."""
    if change.now >= change.before:
        order = f"`{change.name}` before `{change.second}`"
        shares = _shares(change.before, change.now)
        tasks = change.rose
    else:
        order = f"`{change.second}` before `{change.name}`"
        shares = _shares(1 - change.before, 1 - change.now)
        tasks = change.fell
    return f"{order} in {shares}, more often in {of_many(tasks, change.tasks, 'task')}"


def _shape(change: FeatureChange) -> str:
    shares = _shares(1 - change.before, 1 - change.now)
    return f"`{change.name}` is called with unusual arguments in {shares}"


def _language(change: FeatureChange) -> str:
    return f"answers in {change.name} in {_shares(change.before, change.now)}"


def _stop(change: FeatureChange) -> str:
    return f"end by {change.name} in {_shares(change.before, change.now)}"


_TEXTS: Final[Mapping[FeatureKind, Callable[[FeatureChange], str]]] = {
    FeatureKind.NUMBER: _number,
    FeatureKind.RATE: _rate,
    FeatureKind.TOOL: _tool,
    FeatureKind.ORDER: _order,
    FeatureKind.SHAPE: _shape,
    FeatureKind.LANGUAGE: _language,
    FeatureKind.STOP: _stop,
}


def churn_text(churn: Churn) -> str:
    """Say how many answers changed in tasks whose scores did not."""
    answers = f"{100 * churn.changed:.3g} % of answers"
    tasks = many(churn.tasks, "task")
    text = f"{answers} changed in {tasks} with the same score"
    if churn.floor is None or churn.distance_floor is None:
        return text
    floor = _number_of(churn, churn.distance_floor)
    of_one_run = f"two answers of one run: {100 * churn.floor:.3g} %, by {floor}"
    return f"{text}, by {_distance_text(churn)} ({of_one_run})"


def _distance_text(churn: Churn) -> str:
    number = _number_of(churn, churn.distance)
    if churn.measure is AnswerDistance.EMBEDDINGS:
        return f"a cosine distance of {number}"
    if churn.measure is AnswerDistance.WORDS:
        return f"{number} of their words"
    return f"{number} of their characters"


def _number_of(churn: Churn, distance: float) -> str:
    if churn.measure is AnswerDistance.EMBEDDINGS:
        return f"{distance:.3g}"
    return f"{100 * distance:.3g} %"


# -- reasons ---------------------------------------------------------------------------------


@sentence.register(BehaviourMoved)
def behaviour_moved(reason: BehaviourMoved) -> str:
    """Say how far a feature moved, and how far it may."""
    limit = f"{100 * reason.limit:.4g} points"
    if reason.change.kind is FeatureKind.NUMBER:
        limit = f"{100 * reason.limit:.4g} %"
    text = f"{_with_p(reason.change)}: more than the {limit} that are allowed"
    if reason.is_proven:
        return text
    return f"{text}, and chance may explain it"


@sentence.register(OrderChanged)
def order_changed(reason: OrderChanged) -> str:
    """Name the orders that are more frequent now."""
    texts = [change_text(change) for change in reason.changes]
    return f"tools are called in another order: {listed(texts, _CHANGES)}"


@sentence.register(RuleBroken)
def rule_broken(reason: RuleBroken) -> str:
    """Say what rollouts do that they must not, and in which tasks."""
    rollouts = of_many(reason.count, reason.rollouts, "rollout")
    tasks = listed(reason.tasks, _NAMED, reason.task_count)
    return f"{rollouts} {_broken(reason.rule)}: {tasks}"


def _broken(rule: RolloutRule) -> str:
    names = ", then ".join(f"`{name}`" for name in rule.names)
    feature = _WORDS.get(rule.names[0], rule.names[0])
    limit = f"{rule.limit or 0.0:.6g}"
    texts = {
        RuleKind.FORBIDDEN_TOOL: f"called {names}, which is forbidden",
        RuleKind.REQUIRED_TOOL: f"never called {names}, which is required",
        RuleKind.FORBIDDEN_SEQUENCE: f"called {names}, an order that is forbidden",
        RuleKind.REQUIRED_SEQUENCE: f"did not call {names}, an order that is required",
        RuleKind.MOST: f"had more than {limit} {feature}",
        RuleKind.LEAST: f"had fewer than {limit} {feature}",
    }
    return texts[rule.kind]


@sentence.register(NoBehaviour)
def no_behaviour(reason: NoBehaviour) -> str:
    """Say on which side nothing is known."""
    if reason.in_baseline:
        return "the baseline does not hold what its rollouts did"
    return "no rollout has a transcript that can be read"
