"""``llm-judge``: a judge, or several, with a prompt and scores of the user's own."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from pytest_evalmetrics.chat import compile_prompt, json_in, side_by_side
from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.layout import compact, spaced
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.judge_scores import reader_of, schema_of
from pytest_evalmetrics.scorers.judges import judge_of
from pytest_evalmetrics.scorers.prompts import llm_judge as prompts
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.scorers.summary import About

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.chat import Message, Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import LlmJudgeSpec

__all__ = ["LlmJudge"]

_REASONS = ("reasoning", "reason", "explanation", "rationale")


@register_scorer("llm-judge")
@register_scorer("llm_judge")
class LlmJudge:
    """Asks one judge or several the user's own question, and reads scores in the answers.

    Several judges are asked side by side. Each score is then the mean of what they gave, or
    what more than any other number of them gave; and each judge's own is a score too.
    """

    def __init__(self, spec: LlmJudgeSpec, terms: Terms) -> None:
        self.scores = spec.score_names
        version = "" if spec.prompt_template is not None else prompts.VERSION
        own = "" if version else _told_apart(spec.prompt_template)
        self.judges = tuple(
            replace(judge_of(model, terms, "llm-judge", version), prompt=own)
            for model in spec.models
        )
        self._spec = spec
        self._columns = spec.columns
        self._combine = fmean if spec.combine == "mean" else _majority
        self._readers = {score.name: reader_of(score) for score in spec.scores}
        self._said = prompts.scores_in_templates(spec.scores)
        self._messages = _asking(spec)
        self._schema = _schema(spec)
        self.about = dict(_about(spec))

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        messages = self._messages(row, self._said)
        found = await side_by_side(
            [judge.ask(calls, messages, self._read, self._schema) for judge in self.judges]
        )
        scores: dict[str, float] = {}
        for name, columns in self._columns.items():
            each = [values[name] for values, _ in found]
            scores |= dict(zip(columns, each, strict=True)) if columns else {}
            scores[name] = self._combine(each) if columns else each[0]
        reasons = [
            f"{judge.model.name}: {why}" if len(self.judges) > 1 else why
            for judge, (_, why) in zip(self.judges, found, strict=True)
            if why
        ]
        return Explained(scores, "; ".join(reasons))

    def _read(self, reply: Reply) -> tuple[dict[str, float], str]:
        return {name: read(reply) for name, read in self._readers.items()}, _reason(reply)


def _told_apart(prompt: Any) -> str:
    return blake2b(compact(prompt).encode(), digest_size=6).hexdigest()


def _asking(spec: LlmJudgeSpec) -> Callable[[Row, Mapping[str, Any]], Sequence[Message]]:
    """Make what writes the question for a row."""
    if spec.prompt_template is not None:
        render = compile_prompt(spec.prompt_template, f"the scorer {spec.type}")
        return lambda row, said: render({"scores": said, **row.context})

    def default(row: Row, said: Mapping[str, Any]) -> Sequence[Message]:
        del said
        generated = row.sample_data is not row.item and row.sample_data.get("output_text")
        text = prompts.default_prompt(
            spec.scores, spaced(row.item), generated if isinstance(generated, str) else None
        )
        return [{"role": "user", "content": text}]

    return default


def _schema(spec: LlmJudgeSpec) -> Mapping[str, Any] | None:
    if isinstance(spec.structured_output, dict):
        schema: Mapping[str, Any] = spec.structured_output["schema"]
        return schema
    return schema_of(spec.scores) if spec.structured_output else None


def _about(spec: LlmJudgeSpec) -> Sequence[tuple[str, About]]:
    """Tell what the columns hold: labels, and judges who rate the same."""
    found = []
    for score in spec.scores:
        columns = spec.columns[score.name]
        labels = tuple((one.label, one.value) for one in score.rubric or ())
        level: Literal["nominal", "interval"] = "nominal" if labels else "interval"
        # the mean of labels is none
        own = labels if not columns or spec.combine == "majority" else ()
        found.append((score.name, About(own, columns, level)))
        found += [(name, About(labels)) for name in columns]
    return found


def _majority(values: Sequence[float]) -> float:
    counted = Counter(values).most_common(2)
    if len(counted) > 1 and counted[0][1] == counted[1][1]:
        raise RowError("no-majority", f"no majority: the judges say {spaced(list(values))}")
    return counted[0][0]


def _reason(reply: Reply) -> str:
    """Give why a judge says what it says: a key of its JSON, its reasoning, or all it said."""
    said: Any = None
    with suppress(RowError):
        said = json_in(reply)
    if isinstance(said, dict):
        found = next((said[key] for key in _REASONS if isinstance(said.get(key), str)), "")
    else:
        found = reply.text
    return " ".join((found or reply.reasoning).split())
