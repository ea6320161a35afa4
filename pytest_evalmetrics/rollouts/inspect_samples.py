"""What one sample of an inspect_ai log comes to, and what a log says of all of them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts.gathering import Rollout, Ungraded
from pytest_evalmetrics.rollouts.values import (
    agree,
    asked,
    mapping,
    number,
    objects,
    seconds,
    total,
    usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.rollouts.documents import Document
    from pytest_evalmetrics.rollouts.source import Source

__all__ = [
    "Headline",
    "agent_of",
    "never_run",
    "planned",
    "rollout_of",
    "scorers_of",
    "scores_of",
    "unfolded",
]

_LETTERS: Final = {"C": 1, "I": 0, "P": 0.5, "N": 0}
_WORDS: Final = {"yes": 1, "true": 1, "no": 0, "false": 0}
_SUMMARISED: Final = 1000
_ATTACHED: Final = "attachment://"
_counting = re.compile(r"(?P<kind>pass_at|at_least)_(?P<k>[1-9]\d*)").fullmatch
_exception = re.compile(r"\s*([A-Za-z_][\w.]*)\(").match


def agent_of(spec: Mapping[str, Any]) -> str | None:
    """Name the model that a log is of; the solver where there is none."""
    model = spec.get("model")
    named = isinstance(model, str) and model not in ("none", "none/none")
    agent = model if named else spec.get("solver")
    return agent if isinstance(agent, str) else None


def rollout_of(
    sample: Mapping[str, Any], scores: dict[str, Any], agent: str | None, source: Source
) -> Rollout:
    """Make a rollout of a sample; one that failed and was graded keeps its scores."""
    error = _error(sample.get("error"))
    invalid = sample.get("invalidation")
    if invalid:
        reason = invalid.get("reason") if isinstance(invalid, dict) else None
        error, scores = ("invalidated", reason or ""), dict.fromkeys(scores)
    elif error is None and all(v is None or v != v for v in scores.values()):  # noqa: PLR0124 - NaN
        error = Ungraded("not scored")
    start, stop = seconds(sample.get("started_at")), seconds(sample.get("completed_at"))
    took = sample.get("total_time")
    if took is None and start is not None and stop is not None:
        took = stop - start
    return Rollout(
        record=sample,
        name=f"{source.shown}, sample {sample['id']!r}, epoch {sample.get('epoch', 1)}",
        task=sample["id"],
        sample=sample.get("epoch", 1) - 1,
        agent=agent,
        scores=scores,
        usage=_usage(sample.get("model_usage"), took),
        error=error,
        started=start,
        content=_question(sample),
    )


def _question(sample: Mapping[str, Any]) -> Any:
    """Reduce a sample to its question and target, the same from a summary and from the whole."""
    asked_for, target = sample.get("input"), sample.get("target")
    if asked_for is None:
        return None
    texts = [asked_for]
    if isinstance(asked_for, list):
        texts = []
        for message in asked(asked_for):
            held = message.get("content") if isinstance(message, dict) else message
            parts = held if isinstance(held, list) else [held]
            texts += [p.get("text") if isinstance(p, dict) else p for p in parts]
    text = "\n".join(part for part in texts if isinstance(part, str))
    targets = target if isinstance(target, list) else [target]
    # a summary has no more of a long text
    return [text[:_SUMMARISED], *(str(each)[:_SUMMARISED] for each in targets)]


def unfolded(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Put long contents back where a sample refers to its attachments: ``attachment://ID``."""
    held = mapping(sample.get("attachments"))

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return held.get(value.removeprefix(_ATTACHED), value) if _ATTACHED in value else value
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return [filled(each) for each in value] if isinstance(value, list) else value

    return {key: filled(value) if held else value for key, value in sample.items()}


def _usage(models: Any, took: float | None) -> dict[str, float | None]:
    used = [m for m in models.values() if isinstance(m, dict)] if isinstance(models, dict) else []
    return usage(
        latency_s=took,
        prompt_tokens=total(_prompt_tokens(m) for m in used),
        completion_tokens=total(m.get("output_tokens") for m in used),
        cached_tokens=total(m.get("input_tokens_cache_read") for m in used),
        total_tokens=total(m.get("total_tokens") for m in used),
        cost_usd=total(m.get("total_cost") for m in used),
    )


def _prompt_tokens(model: Mapping[str, Any]) -> float | None:
    """Add what came from the cache, where a provider does not count it as input already."""
    given = number(model.get("input_tokens"))
    cached = total(model.get(f"input_tokens_cache_{way}") for way in ("read", "write"))
    if given is None or not cached:
        return given
    written, both = number(model.get("output_tokens")), number(model.get("total_tokens"))
    included = written is not None and both == given + written
    return given if included else given + cached


def _error(error: Any) -> tuple[str, str] | None:
    if error is None:
        return None
    said = error.get("message", "") if isinstance(error, dict) else str(error)
    kind = _exception(str(said))
    return kind.group(1) if kind else "error", str(said)


def scores_of(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a sample's scores, and take C, I, P, N and the like as numbers."""
    given = sample.get("scores")
    if given is None and isinstance(sample.get("score"), dict):  # early versions have one
        given = {"score": sample["score"]}
    found: dict[str, Any] = {}
    for name, score in given.items() if isinstance(given, dict) else ():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            found.update({f"{name}.{key}": _number(v) for key, v in value.items()})
        elif isinstance(value, list):
            found.update({f"{name}.{at}": _number(v) for at, v in enumerate(value)})
        else:
            found[name] = _number(value)
    return found


def _number(value: Any) -> Any:
    """Take a value as inspect does; but other text stays text, where inspect makes it 0."""
    if not isinstance(value, str):
        return value
    if value in _LETTERS:
        return _LETTERS[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        return float(value)
    except ValueError:
        return value


def scorers_of(
    spec: Mapping[str, Any], results: Mapping[str, Any], columns: Sequence[str]
) -> Iterator[tuple[str, list[str], dict[str, Any]]]:
    """Tell the scorers of a log, the scores that each gave, and its settings."""
    shared = {
        "task_version": spec.get("task_version"),
        "grader": mapping(spec.get("model_roles")).get("grader"),
    }
    for given in (*objects(spec.get("scorers")), *objects(results.get("scores"))):
        name = str(given.get("scorer") or given.get("name")).rpartition("/")[2]
        named = re.compile(rf"{re.escape(name)}\d*(\..*)?", re.DOTALL).fullmatch
        if scores := [column for column in columns if named(column)]:
            options = given.get("options") or given.get("params")
            yield name, scores, {**shared, "options": options, "metadata": given.get("metadata")}


def planned(spec: Mapping[str, Any], results: Mapping[str, Any]) -> list[tuple[Any, int]]:
    """List the samples that were to be run; none where the log does not say."""
    data, config = mapping(spec.get("dataset")), mapping(spec.get("config"))
    ids, epochs = data.get("sample_ids"), config.get("epochs") or 1
    if not isinstance(ids, list) or type(epochs) is not int or results.get("early_stopping"):
        return []
    known = [task for task in ids if type(task) in (int, str)]
    return [(task, epoch) for epoch in range(1, epochs + 1) for task in known]


def never_run(
    key: tuple[Any, int], agent: str | None, status: str, log: Document, source: Source
) -> Rollout:
    """Make the missing rollout of a sample that was planned and is not in the log."""
    error = _error(log.get("error"))
    return Rollout(
        record={"id": key[0], "epoch": key[1]},
        name=f"{source.shown}, sample {key[0]!r}, epoch {key[1]}",
        task=key[0],
        sample=key[1] - 1,
        agent=agent,
        error=(
            "planned and not in the log",
            f"the eval's status is {status!r}" + (f": {error[1]}" if error else ""),
        ),
    )


def _reduced(reducer: Any, tasks: list[list[float]]) -> list[float]:
    """Reduce each task's epochs as inspect does; nothing for a reducer that is not known."""
    if reducer in (None, "mean"):
        return [fmean(values) for values in tasks]
    if reducer in ("median", "max"):
        return [(median if reducer == "median" else max)(values) for values in tasks]
    counted = _counting(str(reducer))
    if counted is None:
        return []
    k = int(counted["k"])
    found = []
    for values in tasks:
        n, c = len(values), sum(value >= 1 for value in values)
        if counted["kind"] == "at_least":
            found.append(float(c >= k))
        elif n >= k:  # inspect leaves out the others
            found.append(1 - math.comb(n - c, k) / math.comb(n, k))
    return found


class Headline:
    """The means that a log's results are to agree with."""

    def __init__(self) -> None:
        self._values: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, task: Any, scores: Mapping[str, Any]) -> None:
        """Take in the scores of one sample."""
        for name, value in scores.items():
            amount = number(value)
            if amount is not None and math.isfinite(amount):
                self._values[name][task].append(amount)

    def disagreements(self, results: Mapping[str, Any], source: Source) -> Iterator[str]:
        """Tell where a mean or an accuracy that the log states is not that of its samples."""
        scores = results.get("scores")
        if scores is None and isinstance(results.get("scorer"), dict):  # early versions have one
            scores = [{**results["scorer"], "metrics": results.get("metrics")}]
        for score in objects(scores):
            name, scorer = score.get("name"), score.get("scorer") or score.get("name")
            column = name if name == scorer else f"{scorer}.{name}"
            tasks = self._values.get(str(column), {})
            reduced = _reduced(score.get("reducer"), list(tasks.values()))
            if not reduced:
                continue
            ours = [fmean(reduced)]
            if score.get("reducer") is None:  # of the samples as they are, it may be
                ours.append(fmean([v for values in tasks.values() for v in values]))
            for metric, stated in mapping(score.get("metrics")).items():
                theirs = number(stated.get("value")) if isinstance(stated, dict) else None
                plain = metric.rpartition("/")[2] in ("accuracy", "mean")
                if plain and theirs is not None and not any(agree(o, theirs) for o in ours):
                    yield (
                        f"{source.shown}: the log says that {metric} of {column} is {theirs:.6g}, "
                        f"and its samples give {ours[0]:.6g}"
                    )
