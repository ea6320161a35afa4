"""Test runs of deepeval: ``test_run_<time>.json``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts.foreign import (
    ChunkBuilder,
    Document,
    Rollout,
    ToolLoader,
    Ungraded,
    distinct,
    lookup,
    number,
    objects,
    shortened,
    slim,
    usage,
)
from pytest_evalmetrics.rollouts.formats import DEEPEVAL_CASES, DEEPEVAL_METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.ext import Source

_WHAT: Final = "a test run of deepeval"
_SETTINGS: Final = (
    *("threshold", "strictMode", "strict_mode", "evaluationModel", "evaluation_model"),
)
_is_numbered = re.compile(r"test_case_\d+").match  # what a case without a name is called


class DeepEval(ToolLoader):
    """Reads a test run: a test case is a task, those of the same name and input its samples.

    Each metric is a score by its name; ``success`` says whether all of them were passed, and
    is missing where a metric could not be judged and no other one failed.
    """

    def _fill(self, builder: ChunkBuilder, source: Source) -> None:
        run = Document.of(source, _WHAT)
        model = lookup(run.get("hyperparameters"), "model")
        cases = [
            (f"{source.shown}, {kind}[{n}]", case, lookup(case, "input") or case.get("scenario"))
            for kind in DEEPEVAL_CASES
            for n, case in enumerate(run.items(kind))
        ]
        if not cases:
            raise source.error("the test run has no test case", hint="did the run fail?")
        titles = [str(case.get("name") or name) for name, case, _ in cases]
        tasks = distinct(titles, [content for *_, content in cases], _short)
        passed = failed = 0
        builder.positional = any(map(_is_numbered, titles))
        for (name, case, asked), task in zip(cases, tasks, strict=True):
            passed += case.get("success") is True
            failed += case.get("success") is False
            scores, error = _judged(case)
            for metric in _metrics_of(case):
                score = str(metric.get("name") or metric.get("metric"))
                settings = {key: metric.get(key) for key in _SETTINGS}
                builder.measured(f"deepeval {score}", (score, "success"), settings)
            builder.add(
                Rollout(
                    record=slim(case, self._request),
                    name=name,
                    task=task,
                    agent=model if isinstance(model, str) else None,
                    scores=scores,
                    usage=usage(
                        latency_s=number(case.get("completionTime")),
                        prompt_tokens=number(case.get("inputTokenCount")),
                        completion_tokens=number(case.get("outputTokenCount")),
                        cost_usd=number(case.get("tokenCost")),
                    ),
                    error=error,
                    started=number(case.get("order")),
                    content=None
                    if asked is None
                    else [asked, case.get("expectedOutput") or case.get("expected_output")],
                )
            )
        for key, count in (("testPassed", passed), ("testFailed", failed)):
            stated = number(run.get(key))
            if stated is not None and stated != count:
                builder.notes.append(
                    f"{source.shown}: {key} is {stated}, and the test cases give {count}"
                )


def _metrics_of(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    return next((found for key in DEEPEVAL_METRICS if (found := objects(case.get(key)))), [])


def _judged(case: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Tell a case's scores, and the first of its metrics that could not be judged."""
    metrics = _metrics_of(case)
    scores: dict[str, Any] = {"success": case.get("success")}
    error: tuple[str, str] | None = None
    decided = False
    for metric in metrics:
        name = str(metric.get("name") or metric.get("metric"))
        if name in scores:  # two metrics may have one name
            name += f" {1 + sum(known.startswith(name) for known in scores)}"
        broken = bool(metric.get("error")) or metric.get("score") is None
        scores[name] = None if broken else metric["score"]
        if broken and error is None:
            error = Ungraded(f"{name} was not judged", str(metric.get("error") or ""))
        elif not broken and metric.get("success") is False and not metric.get("flaky"):
            decided = True
    unsure = any(not m.get("flaky") and (m.get("error") or m.get("score") is None) for m in metrics)
    if unsure and not decided:  # the tool counts what it could not judge as a failure
        scores["success"] = None
    if error is None and all(value is None for value in scores.values()):
        error = Ungraded("not judged")
    return scores, error


def _short(content: Any) -> str:
    return shortened(" ".join(str(content).split()))
