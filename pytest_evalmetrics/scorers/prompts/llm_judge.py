"""What ``llm-judge`` asks where the user has no prompt of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.spec import JudgeScoreSpec

__all__ = ["VERSION", "default_prompt", "scores_in_templates"]

VERSION = "1"


def default_prompt(scores: Sequence[JudgeScoreSpec], data: str, answer: str | None) -> str:
    """Write the prompt: the row, what was generated for it, and what to score."""
    answered = "" if answer is None else f"\n<answer>\n{answer}\n</answer>"
    listed = "\n".join(_criterion(score) for score in scores)
    form = ", ".join(f'"{score.name}": {_values(score)}' for score in scores)
    return f"""\
<data>
{data}
</data>{answered}

Judge the answer {"above" if answered else "in these data"} by:
{listed}

Answer with a JSON object and nothing else: {{{form}}}"""


def scores_in_templates(scores: Sequence[JudgeScoreSpec]) -> dict[str, dict[str, Any]]:
    """Give what ``{{ scores }}`` is in a prompt: what is said of each score, by name."""
    return {
        score.name: {
            "name": score.name,
            "description": score.description,
            **({"minimum": score.minimum} if score.minimum is not None else {}),
            **({"maximum": score.maximum} if score.maximum is not None else {}),
            **(
                {
                    "rubric": [
                        {"label": r.label, "value": r.value, "description": r.description}
                        for r in score.rubric
                    ]
                }
                if score.rubric
                else {}
            ),
        }
        for score in scores
    }


def _criterion(score: JudgeScoreSpec) -> str:
    head = f"- {score.name}" + (f": {score.description}" if score.description else "")
    levels = [
        f"  - {r.label}" + (f": {r.description}" if r.description else "")
        for r in score.rubric or ()
    ]
    return "\n".join([head, *levels])


def _values(score: JudgeScoreSpec) -> str:
    if score.rubric:
        return " or ".join(f'"{r.label}"' for r in score.rubric)
    low, high = score.minimum, score.maximum
    if low is not None and high is not None:
        return f"a number from {low:.12g} to {high:.12g}"
    if low is not None:
        return f"a number from {low:.12g}"
    return "a number" if high is None else f"a number up to {high:.12g}"
