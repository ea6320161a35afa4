"""What the keys about generated rollouts say that can't hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.spec.usage import GENERATED_SCORES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.spec import BenchmarkSpec

    Contradiction = tuple[tuple[str | int, ...], str]

__all__ = ["contradictions_of_generation"]

_EXAMPLE = 'such as prompt_template: "{{ question }}"'


def contradictions_of_generation(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield the path within the benchmark, and what is wrong there."""
    yield from _who(spec)
    yield from _prompt(spec)
    yield from _rewards(spec)
    yield from _budget(spec)
    dataset = spec.dataset
    if dataset is not None and dataset.seed is not None and dataset.chosen_with is None:
        yield ("dataset", "seed"), "a seed is for shuffle: write shuffle: true"


def _who(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for key in ("model", "target"):
        if getattr(spec, key) is not None and spec.rollouts is not None:
            yield (key,), f"rows are read from rollouts, or answered by a {key}, not both"
    if spec.model is not None and spec.target is not None:
        yield ("target",), "rows are answered by a model or by a target, not by both"
    if spec.params.ignore_request_failure and spec.answers is None:
        message = "ignore_request_failure is for the requests of a model, and there is none"
        yield ("params", "ignore_request_failure"), message


def _prompt(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.model is not None:
        if spec.prompt_template is None:
            yield ("model",), f"'prompt_template' is missing: what the model is asked, {_EXAMPLE}"
        return
    for key in ("prompt_template", "tools", "response_format"):
        if getattr(spec, key) is not None:
            instead = ": a target is given the row itself" if spec.target is not None else ""
            yield (key,), f"{key} is for a model, and there is none{instead}"


def _rewards(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.answers is None:
        return
    for index, scorer in enumerate(spec.scorers):
        for name in scorer.score_names:
            if name in GENERATED_SCORES:
                message = f"the score {name!r} is measured when an answer is generated"
                yield ("scorers", index), message
    if not spec.scorers and spec.reward not in GENERATED_SCORES:
        key = "model" if spec.model is not None else "target"
        what = ", ".join(GENERATED_SCORES)
        message = (
            f"nothing gives the answers a {spec.reward}: say under scorers: what does; or name one "
            f"of {what} as the reward"
        )
        yield (key,), message


def _budget(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    budget = spec.budget
    if budget is None:
        return
    if not spec.runs:
        yield ("budget",), "a budget is for what asks endpoints, and nothing does"
    if budget.cost is not None and spec.model is not None and spec.model.price is None:
        message = "what it costs is not known: say price: {input: ..., output: ...} under model"
        yield ("budget", "cost"), message
