"""The question of ``trajectory_evaluation``."""

from __future__ import annotations

from pytest_evalmetrics.scorers.prompts.schemas import TEXT, choice, closed

__all__ = ["GRADE", "GRADES", "VERSION", "ask_for_grade"]

VERSION = "1"

GRADES = (1, 2, 3, 4, 5)
GRADE = closed(reasoning=TEXT, score=choice(*GRADES))


def ask_for_grade(question: str, tools: str, steps: str, answer: str, reference: str | None) -> str:
    """Ask how well an agent went about a question."""
    right = "" if reference is None else f"\n<reference_answer>\n{reference}\n</reference_answer>"
    return f"""\
An AI agent was asked a question. Grade how it went about it: not the answer alone, but whether \
each step was needed and followed from the one before, whether it chose the right tools of those \
that it has, and whether it used what they gave back.

<question>
{question}
</question>
<tools>
{tools}
</tools>
<steps>
{steps}
</steps>
<final_answer>
{answer}
</final_answer>{right}

5: the right tools in a sensible order, no step that was not needed, and an answer that follows \
from them.
4: a good way with a small flaw.
3: it gets there with needless or missing steps, or in part.
2: mostly the wrong tools or steps.
1: no sensible way at all.

Answer with a JSON object and nothing else: {{"reasoning": "a few sentences", "score": 1, 2, 3, \
4 or 5}}"""
