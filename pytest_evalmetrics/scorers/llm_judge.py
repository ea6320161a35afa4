"""``llm-judge``: a judge, or several, with a prompt and scores of the user's own."""

from __future__ import annotations

import math
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from pytest_evalmetrics.chat import compile_prompt, json_in, side_by_side
from pytest_evalmetrics.errors import RowError, did_you_mean
from pytest_evalmetrics.layout import compact, spaced
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.interface import Explained
from pytest_evalmetrics.scorers.judge import choice, closed, judge_of
from pytest_evalmetrics.scorers.row_reading import as_number, shown, within
from pytest_evalmetrics.scorers.score_summary import About
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.chat import Calls, Message, Reply
    from pytest_evalmetrics.scorers.interface import Row, Terms
    from pytest_evalmetrics.spec.judge_keys import (
        JsonParserSpec,
        JudgeScoreSpec,
        LlmJudgeSpec,
        RegexParserSpec,
    )

_VERSION = "1"  # of the default prompt; count it up with every change


@register_scorer("llm-judge")
@register_scorer("llm_judge")
class LlmJudge:
    """Ask one judge or several the user's own question, and read scores in the answers.

    Several judges are asked side by side. Each score is then the mean of theirs, or the
    majority's; and each judge's own is a score too.
    """

    def __init__(self, spec: LlmJudgeSpec, terms: Terms) -> None:
        self.scores = spec.score_names
        version, digest, self._prompt = _VERSION, "", None
        if spec.prompt_template is not None:
            version = ""
            digest = blake2b(compact(spec.prompt_template).encode(), digest_size=6).hexdigest()
            self._prompt = compile_prompt(spec.prompt_template, f"the scorer {spec.type}")
        self.judges = tuple(
            replace(judge_of(model, terms, "llm-judge", version), prompt=digest)
            for model in spec.models
        )
        self._spec = spec
        self._columns = spec.columns
        self._combine = fmean if spec.combine == "mean" else _majority
        self._readers = {score.name: reader_of(score) for score in spec.scores}
        self._in_templates = _in_templates(spec.scores)
        self._schema: Mapping[str, Any] | None = None
        if isinstance(spec.structured_output, dict):
            self._schema = spec.structured_output["schema"]
        elif spec.structured_output:
            self._schema = schema_of(spec.scores)
        self.about = _about(spec)

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        messages = self._messages(row)
        answers = await side_by_side(
            [judge.ask(calls, messages, self._read, self._schema) for judge in self.judges]
        )
        scores: dict[str, float] = {}
        for name, columns in self._columns.items():
            each = [values[name] for values, _ in answers]
            scores |= dict(zip(columns, each, strict=True)) if columns else {}
            scores[name] = self._combine(each) if columns else each[0]
        reasons = [
            f"{judge.model.name}: {why}" if len(self.judges) > 1 else why
            for judge, (_, why) in zip(self.judges, answers, strict=True)
            if why
        ]
        return Explained(scores, "; ".join(reasons))

    def _messages(self, row: Row) -> Sequence[Message]:
        if self._prompt is not None:
            return self._prompt({"scores": self._in_templates, **row.context})
        generated = row.sample_data is not row.item and row.sample_data.get("output_text")
        answer = generated if isinstance(generated, str) else None
        prompt = default_prompt(self._spec.scores, spaced(row.item), answer)
        return [{"role": "user", "content": prompt}]

    def _read(self, reply: Reply) -> tuple[dict[str, float], str]:
        return {name: read(reply) for name, read in self._readers.items()}, _reason(reply)


def _majority(values: Sequence[float]) -> float:
    counted = Counter(values).most_common(2)
    if len(counted) > 1 and counted[0][1] == counted[1][1]:
        raise RowError("no-majority", f"no majority: the judges say {spaced(list(values))}")
    return counted[0][0]


def _reason(reply: Reply) -> str:
    """Return a judge's reason: a key of its JSON, else its reasoning, or its whole text."""
    answer: Any = None
    with suppress(RowError):
        answer = json_in(reply)
    reason = reply.text
    if isinstance(answer, dict):
        keys = ("reasoning", "reason", "explanation", "rationale")
        reason = next((answer[key] for key in keys if isinstance(answer.get(key), str)), "")
    return " ".join((reason or reply.reasoning).split())


def _about(spec: LlmJudgeSpec) -> dict[str, About]:
    """Describe the columns: their labels, and the judges who rate the same."""
    about: dict[str, About] = {}
    for score in spec.scores:
        columns = spec.columns[score.name]
        labels = tuple((one.label, one.value) for one in score.rubric or ())
        level: Literal["nominal", "interval"] = "nominal" if labels else "interval"
        # the mean of labels is none
        own = labels if not columns or spec.combine == "majority" else ()
        about[score.name] = About(own, columns, level)
        about |= {name: About(labels) for name in columns}
    return about


# Reading scores: keys of JSON, groups of a pattern, labels of a rubric.


def reader_of(score: JudgeScoreSpec) -> Callable[[Reply], float]:
    """Make the function that reads one score."""
    parser = score.found_by
    find = _json_reader(parser) if parser.type == "json" else _pattern_reader(parser)
    labels = {one.label: one.value for one in score.rubric or ()}
    what = f"the judge's {score.name}"

    def read(reply: Reply) -> float:
        value = find(reply)
        if labels:
            if not isinstance(value, str) or value not in labels:
                known = did_you_mean(str(value), labels, what="its labels")
                raise RowError("no-label", f"{what} is {shown(value)}, no label: {known}")
            return labels[value]
        if parser.type == "json" and isinstance(value, str):
            raise RowError("no-number", f"{what} is {shown(value)}, expected a number")
        return within(score.name, as_number(value, what), score.minimum, score.maximum)

    return read


def _json_reader(parser: JsonParserSpec) -> Callable[[Reply], Any]:
    key = parser.json_path
    if not key.startswith("$"):

        def by_key(reply: Reply) -> Any:
            answer = json_in(reply)
            if not isinstance(answer, dict) or key not in answer:
                raise RowError("no-score", f"the judge's answer has no {key!r}: {shown(answer)}")
            return answer[key]

        return by_key
    with needs_extra("remote", "the scorer llm-judge"):
        from pytest_evalmetrics.expressions import JsonPath  # noqa: PLC0415 - of the extra

        path = JsonPath(key)

    def by_path(reply: Reply) -> Any:
        answer = json_in(reply)
        matches, value = path.first(answer)
        if not matches:
            raise RowError("no-score", f"the judge's answer has nothing at {key}: {shown(answer)}")
        return value

    return by_path


def _pattern_reader(parser: RegexParserSpec) -> Callable[[Reply], str]:
    pattern = re.compile(parser.pattern)
    look = pattern.search if parser.method == "search" else pattern.match

    def by_pattern(reply: Reply) -> str:
        match = look(reply.text)
        text = None if match is None else match[parser.group]
        if text is None:
            hint = "" if parser.method == "search" else " (method: search looks anywhere)"
            raise RowError(
                "no-score",
                f"the judge's answer does not match {parser.pattern!r}{hint}: {shown(reply.text)}",
            )
        return str(text)

    return by_pattern


def schema_of(scores: Sequence[JudgeScoreSpec]) -> dict[str, Any] | None:
    """Return the JSON Schema of an answer that holds all scores; None where they are no keys."""
    properties: dict[str, dict[str, Any]] = {}
    for score in scores:
        parser = score.found_by
        if parser.type != "json" or parser.json_path.startswith("$"):
            return None
        low, high = score.minimum, score.maximum
        schema: dict[str, Any] = {"type": "number"}
        if score.rubric:
            schema = choice(*(one.label for one in score.rubric))
        elif low is not None and high is not None and math.isfinite(low) and math.isfinite(high):
            # a range is given in words: not every endpoint takes it in a strict schema
            schema["description"] = f"from {low:.12g} to {high:.12g}"
        if score.description:
            schema["description"] = score.description
        properties[parser.json_path] = schema
    return closed(**properties)


# The prompt of those who have none of their own.


def default_prompt(scores: Sequence[JudgeScoreSpec], data: str, answer: str | None) -> str:
    """Write the prompt: the row, what was generated for it, and what to score."""
    answered = "" if answer is None else f"\n<answer>\n{answer}\n</answer>"
    listed = "\n".join(map(_criterion, scores))
    form = ", ".join(f'"{score.name}": {_values(score)}' for score in scores)
    return f"""\
<data>
{data}
</data>{answered}

Judge the answer {"above" if answered else "in these data"} by:
{listed}

Answer with a JSON object and nothing else: {{{form}}}"""


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
    if low is not None:
        return f"a number from {low:.12g}" + ("" if high is None else f" to {high:.12g}")
    return "a number" if high is None else f"a number up to {high:.12g}"


def _in_templates(scores: Sequence[JudgeScoreSpec]) -> dict[str, dict[str, Any]]:
    """Make the value of ``{{ scores }}`` in a prompt: the keys of each score, by name."""
    values: dict[str, dict[str, Any]] = {}
    for score in scores:
        value = values[score.name] = {"name": score.name, "description": score.description}
        if score.minimum is not None:
            value["minimum"] = score.minimum
        if score.maximum is not None:
            value["maximum"] = score.maximum
        if score.rubric:
            value["rubric"] = [
                {"label": r.label, "value": r.value, "description": r.description}
                for r in score.rubric
            ]
    return values
