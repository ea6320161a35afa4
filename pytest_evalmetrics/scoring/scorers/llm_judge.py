"""``llm-judge``: a judge, or several, with a prompt and scores of the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import chain, count
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from pytest_evalmetrics.errors import RowError, did_you_mean
from pytest_evalmetrics.json_types import JsonObject, JsonValue, text_of_value
from pytest_evalmetrics.layout import compact, shown
from pytest_evalmetrics.model.metric_facts import ScoreFacts
from pytest_evalmetrics.model.notes import Note
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.model.scoring_notes import UntrustedValues
from pytest_evalmetrics.scoring.chat.models import chat_model
from pytest_evalmetrics.scoring.chat.prompts import Message, compile_prompt
from pytest_evalmetrics.scoring.chat.replies import (
    Reply,
    json_in,
    verdict_in,
)
from pytest_evalmetrics.scoring.chat.row_calls import Calls
from pytest_evalmetrics.scoring.scorers import judge as judging
from pytest_evalmetrics.scoring.scorers.answer_forms import closed
from pytest_evalmetrics.scoring.scorers.row_reading import (
    as_number,
    compiled_path,
    is_number,
    unexpected,
    within,
)
from pytest_evalmetrics.scoring.scorers.scorer import About, Explained
from pytest_evalmetrics.scoring.transport import Terms
from pytest_evalmetrics.spec import scorer_keys as shared
from pytest_evalmetrics.spec.field_types import Name, json_path, refuse
from pytest_evalmetrics.spec.model_keys import ModelSpec, PromptField
from pytest_evalmetrics.spec.validation import Keys, doc

# of the default prompt; count it up with every change
_VERSION = "2"
# makes the question about a row: a text, or messages
_Question = Callable[[Row], str | Sequence[Message]]


@dataclass(frozen=True, kw_only=True)
class RubricSpec(Keys):
    """One level of a rubric."""

    label: Annotated[Name, doc("the judge's answer")]
    value: Annotated[float, Field(allow_inf_nan=False, description="its score")]
    description: Annotated[str, doc("when it is to be chosen")] = ""


@dataclass(frozen=True, kw_only=True)
class JsonParserSpec(Keys):
    """A score in a JSON object: a key of it, or a path."""

    type: Annotated[Literal["json"], doc("the answer is JSON")] = "json"
    json_path: Annotated[
        Name,
        AfterValidator(
            lambda value: json_path(value) if value.startswith("$") else value
        ),
        doc("a key of the judge's JSON object, or a JSONPath"),
    ]

    def find(self, answer: JsonValue) -> JsonValue:
        """Find the score in the JSON of an answer."""
        key = self.json_path
        value: JsonValue = None
        matches = False
        if key.startswith("$"):
            matches, value = compiled_path(key).first(answer)
        elif isinstance(answer, dict) and key in answer:
            matches = True
            value = answer[key]
        if not matches:
            raise RowError(
                "no-score", f"the judge's answer has no {key!r}: {shown(answer)}"
            )
        return value


def _pattern(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise refuse(f"this is not a regular expression: {error}") from None
    if not groups:
        raise refuse(r"it has no group that holds the score, such as SCORE: (\d)")
    return value


@dataclass(frozen=True, kw_only=True)
class RegexParserSpec(Keys):
    """A score in any text."""

    type: Annotated[Literal["regex"], doc("the answer is any text")] = "regex"
    pattern: Annotated[
        Name, AfterValidator(_pattern), doc("a regular expression with a group")
    ]
    method: Annotated[
        Literal["match", "search"],
        doc("match from the text's beginning, or search anywhere"),
    ] = "match"
    group: Annotated[
        Annotated[int, Field(ge=1)] | Name, doc("which group holds the score")
    ] = 1

    def __post_init__(self) -> None:
        """Refuse a group that the pattern doesn't have."""
        pattern = re.compile(self.pattern)
        groups = {*range(pattern.groups + 1), *pattern.groupindex}
        if self.group not in groups:
            raise refuse(f"the pattern has no group {self.group!r}")

    def find(self, reply: Reply) -> str:
        """Find the score in an answer: what the first match says."""
        pattern = re.compile(self.pattern)
        match = pattern.match(reply.text)
        if self.method == "search":
            match = pattern.search(reply.text)
        if match is None or match[self.group] is None:
            hint = ""
            if self.method == "match":
                hint = " (method: search looks anywhere)"
            fault = f"does not match {self.pattern!r}{hint}: {shown(reply.text)}"
            raise RowError("no-score", f"the judge's answer {fault}")
        self._refuse_part(match)
        return str(match[self.group])

    def _refuse_part(self, match: re.Match[str]) -> None:
        """Refuse a group that takes 1 out of 10, or 3 out of 3-4."""
        start, end = match.span(self.group)
        before = match.string[:start]
        after = match.string[end:]
        number = match[self.group]
        is_part = _NUMBER_BEFORE.search(before) or _NUMBER_AFTER.match(after)
        if is_part and is_number(number):
            text = f"{before[-_NEAR:]}{number}{after[:_NEAR]}"
            raise RowError(
                "no-score",
                f"{self.pattern!r} takes {number} out of {shown(text)}, which is another "
                "number",
                hint=r"write a pattern that takes a whole number, such as SCORE: (\d+)\b",
            )


# the rest of a number beside a part of it
_NUMBER_BEFORE = re.compile(
    r"(\d|\d[.,_]|(?<![\w)\s])[-\u2212]|^[-\u2212]|\s[-\u2212])$", re.ASCII
)
_NUMBER_AFTER = re.compile(r"\d|[.,_]\d|\s?%|[-\u2013]\d|e[-+]?\d|\s+to\s+\d", re.ASCII)
_NEAR = 8  # characters that a message shows on both sides


def _parser_type(value: object) -> str:
    if not isinstance(value, dict):
        return str(getattr(value, "type", "json"))
    kind = value.get("type")
    if kind in ("json", "regex"):
        return str(kind)
    return "regex" if "pattern" in value else "json"


ParserField = Annotated[
    Annotated[JsonParserSpec, Tag("json")] | Annotated[RegexParserSpec, Tag("regex")],
    Discriminator(_parser_type),
]


@dataclass(frozen=True, kw_only=True)
class JudgeScoreSpec(Keys):
    """One score that the judge gives."""

    name: shared.ScoreName
    description: Annotated[str, doc("{{ scores }} in the prompt has it")] = ""
    parser: Annotated[
        ParserField | None, doc("its place in an answer; default `name`")
    ] = None
    rubric: Annotated[
        tuple[RubricSpec, ...] | None,
        Field(
            min_length=2, strict=False, description="the labels that the judge may say"
        ),
    ] = None
    minimum: shared.Minimum = None
    maximum: shared.Maximum = None
    direction: shared.Better = None

    def __post_init__(self) -> None:
        """Refuse contradictions."""
        shared.check_range(self.minimum, self.maximum)
        if self.rubric is None:
            return
        if self.minimum is not None or self.maximum is not None:
            raise refuse("a rubric has labels, no minimum and maximum")
        for what in ("label", "value"):
            entries = [getattr(level, what) for level in self.rubric]
            if len(set(entries)) < len(entries):
                raise refuse(f"two {what}s of the rubric are the same: {entries}")

    @property
    def facts(self) -> ScoreFacts:
        """Its direction, and its range: that of the rubric's values, if it has one."""
        if self.rubric is None:
            return ScoreFacts(self.direction, self.minimum, self.maximum)
        values = [level.value for level in self.rubric]
        return ScoreFacts(self.direction, min(values), max(values))

    @property
    def about(self) -> About:
        """Its meaning beyond a number: the labels of its rubric."""
        labels = [(level.label, level.value) for level in self.rubric or ()]
        return About(tuple(labels))

    @property
    def found_by(self) -> JsonParserSpec | RegexParserSpec:
        """The way to find it in an answer."""
        return self.parser or JsonParserSpec(json_path=self.name)

    def read(self, reply: Reply, row: Row | None = None) -> float:
        """Read it in an answer about a row: a number, or a label of the rubric."""
        parser = self.found_by
        if isinstance(parser, RegexParserSpec):
            return self._of_text(parser.find(reply))
        key = parser.json_path

        def read(answer: JsonValue) -> float:
            value = parser.find(answer)
            if row is not None:
                judging.refuse_echo(answer, key, row)
            return self._of_json(value)

        def claim(answer: JsonValue) -> float:
            return self._claimed(parser.find(answer))

        score = verdict_in(reply, read, claim=claim)
        labels = {level.value: level.label for level in self.rubric or ()}
        said = labels.get(score, score)
        judging.refuse_other_words(reply, key, said, tuple(labels.values()))
        return score

    def _claimed(self, value: object) -> float:
        """Return what a value says of the score, even where it is off the scale, or text."""
        if self.rubric is not None:
            return self._of_label(value)
        return as_number(value, self._what)

    def _of_json(self, value: object) -> float:
        if self.rubric is not None:
            return self._of_label(value)
        has_scale = self.minimum is not None or self.maximum is not None
        if isinstance(value, str) or (isinstance(value, bool) and has_scale):
            raise unexpected("no-number", self._what, value, "a number")
        return self._of_text(value)

    def _of_text(self, value: object) -> float:
        if self.rubric is not None:
            return self._of_label(value)
        number = as_number(value, self._what)
        return within(self.name, number, self.minimum, self.maximum)

    def _of_label(self, value: object) -> float:
        labels = {level.label: level.value for level in self.rubric or ()}
        if not isinstance(value, str) or value not in labels:
            guess = did_you_mean(str(value), labels, what="its labels")
            raise RowError(
                "no-label", f"{self._what} is {shown(value)}, no label: {guess}"
            )
        return labels[value]

    @property
    def _what(self) -> str:
        return f"the judge's {self.name}"


@dataclass(frozen=True, kw_only=True)
class LlmJudgeSpec(judging.JudgedScores):
    """Ask one or several judges with a prompt of the user, and read scores from their answers.

    Several judges are asked side by side. Each score is then the mean of theirs, or the
    majority's; and each judge's own is a score too.
    """

    type: Annotated[
        Literal["llm-judge", "llm_judge"],
        doc("a judge with a prompt and scores of your own"),
    ]
    model: Annotated[ModelSpec | None, doc("the model that judges")] = None
    judge_model: Annotated[ModelSpec | None, doc("another name for model")] = None
    judges: Annotated[
        tuple[ModelSpec, ...] | None,
        Field(
            min_length=2,
            strict=False,
            description="several models that all judge each row",
        ),
    ] = None
    combine: Annotated[
        Literal["mean", "majority"], doc("how judgements are combined")
    ] = "mean"
    prompt_template: Annotated[
        PromptField | None,
        doc("the judge's prompt: a text, a list of messages, {messages: ...}"),
    ] = None
    scores: Annotated[
        tuple[JudgeScoreSpec, ...],
        Field(min_length=1, strict=False, description="the scores in a judge's answer"),
        AfterValidator(shared.check_score_names),
    ]
    structured_output: Annotated[
        bool | dict[str, Any],
        doc("whether the form of the answer is asked for; or {schema: ...} of it"),
    ] = True
    judge_check: judging.JudgeCheck = None
    judge_repeats: judging.JudgeRepeats = 1

    def __post_init__(self) -> None:
        """Require judges, written in one way."""
        if self.judges and self.judge_repeats > 1:
            raise refuse(
                "judges are several models, judge_repeats asks one model: write one"
            )
        judges = {
            "model": self.model,
            "judge_model": self.judge_model,
            "judges": self.judges,
        }
        keys = [key for key, value in judges.items() if value is not None]
        if not keys:
            raise refuse(
                "model is missing: {url, name, api_key_secret}; or judges, a list of them"
            )
        if len(keys) > 1:
            raise refuse(f"{' and '.join(keys)} say the same: write one of them")
        if isinstance(self.structured_output, dict) and (
            set(self.structured_output) != {"schema"}
            or not isinstance(self.structured_output["schema"], dict)
        ):
            raise refuse(
                "structured_output has to be true, false or {schema: a JSON Schema}"
            )

    @property
    def base_names(self) -> tuple[str, ...]:
        """Names of the scores."""
        return tuple(score.name for score in self.scores)

    def facts_of(self, score: str) -> ScoreFacts:
        """Return what the file states of a score, or of the score of single judges."""
        columns = self.columns
        for spec in self.scores:
            if score in (spec.name, *columns[spec.name]):
                return spec.facts
        return ScoreFacts()

    @property
    def combines_by_majority(self) -> bool:
        """Whether `combine` says so."""
        return self.combine == "majority"

    @property
    def members(self) -> tuple[LlmJudgeSpec, ...]:
        """The keys of each judge by itself."""
        if self.judges is None:
            return (self,)
        return tuple(replace(self, judges=None, model=model) for model in self.judges)

    @property
    def judgements(self) -> tuple[str, ...]:
        """Names of the judges, or numbers of the judgements; empty for one."""
        if self.judges is None:
            return super().judgements
        names: list[str] = []
        for model in self.judges:
            short = re.sub(r"[^\w.-]+", "_", model.name)
            spellings = chain([short], (f"{short}_{number}" for number in count(2)))
            names.append(next(name for name in spellings if name not in names))
        return tuple(names)

    def make(self, terms: Terms) -> judging.JudgingScorer:
        """Make the scorer of one judgement."""
        for score in self.scores:  # a missing package is found before anything is paid
            parser = score.found_by
            if parser.type == "json" and parser.json_path.startswith("$"):
                compiled_path(parser.json_path)
        spec = self.model or self.judge_model
        assert spec is not None  # noqa: S101 - __post_init__ requires one of both
        model = chat_model(spec, terms, terms.judging)
        notes: tuple[Note, ...] = ()
        if self.prompt_template is None:
            question: _Question = partial(_default_prompt, self.scores)
            judge = judging.Judge(model, "llm-judge", {"prompts": _VERSION})
        else:
            question = self._own_question()
            judge = judging.Judge(model, "llm-judge", prompt=self._prompt_digest())
            notes = _notes_of_prompt(self.prompt_template)
        schema = _schema(self)

        async def ask(row: Row, calls: Calls) -> Explained:
            def read(reply: Reply) -> Explained:
                scores = {score.name: score.read(reply, row) for score in self.scores}
                return Explained(scores, _why(reply))

            return await judge.ask(calls, question(row), read, schema)

        return judging.JudgingScorer(
            score=ask,
            judges=(judge,),
            notes=notes,
            about={score.name: score.about for score in self.scores},
        )

    def _own_question(self) -> _Question:
        """Compile the user's prompt."""
        prompt = compile_prompt(
            self.prompt_template, f"the scorer {self.type}", conversations=False
        )
        scores = _in_templates(self.scores)
        return lambda row: prompt({"scores": scores, **row.context})

    def _prompt_digest(self) -> str:
        text = compact(self.prompt_template).encode()
        return blake2b(text, digest_size=6).hexdigest()


def _notes_of_prompt(prompt: object) -> tuple[Note, ...]:
    from pytest_evalmetrics.expressions import bare_values  # of the extra

    bare = tuple(dict.fromkeys(bare_values(prompt, trusted=("scores",))))
    return (UntrustedValues("llm-judge", bare),) if bare else ()


def _why(reply: Reply) -> str:
    """Return a judge's reason: a key of its JSON, else its reasoning, or its whole text."""
    reason = reply.text
    with suppress(RowError):
        answer = json_in(reply)
        if isinstance(answer, dict):
            keys = ("reasoning", "reason", "explanation", "rationale")
            reasons = [text_of_value(answer.get(key)) for key in keys]
            reason = next(filter(None, reasons), "")
    return " ".join((reason or reply.reasoning).split())


def _schema(spec: LlmJudgeSpec) -> JsonObject | None:
    """Return the JSON Schema that is asked for; None if the scores are no keys of an answer."""
    if isinstance(spec.structured_output, dict):
        return dict(spec.structured_output["schema"])
    if not spec.structured_output:
        return None
    properties: dict[str, JsonObject] = {}
    for score in spec.scores:
        parser = score.found_by
        if parser.type != "json" or parser.json_path.startswith("$"):
            return None
        properties[parser.json_path] = _schema_of(score)
    return closed(properties) if properties else None


def _schema_of(score: JudgeScoreSpec) -> JsonObject:
    """Return the JSON Schema of one score."""
    schema: JsonObject = {"type": "number"}
    if score.rubric:
        labels: list[JsonValue] = [level.label for level in score.rubric]
        schema = {"type": "string", "enum": labels}
    elif score.minimum is not None and score.maximum is not None:
        # a range is given in words: not every endpoint takes it in a strict schema
        schema["description"] = _form(score).removeprefix("a number ")
    if score.description:
        schema["description"] = score.description
    return schema


# The default prompt.


def _default_prompt(scores: Sequence[JudgeScoreSpec], row: Row) -> str:
    generated = None
    if row.sample_data is not row.item:
        generated = row.sample_data.get("output_text")
    data: dict[str, object] = {"data": row.item}
    judged = "data"
    if isinstance(generated, str):
        data["answer"] = generated
        judged = "answer"
    listed = "\n".join(map(_criterion, scores))
    form = ", ".join(f'"{score.name}": {_form(score)}' for score in scores)
    return f"""\
{judging.about(**data)}

Judge the {judged} by:
{listed}

Answer with a JSON object and nothing else: {{{form}}}"""


def _criterion(score: JudgeScoreSpec) -> str:
    levels = [("  - ", level.label, level.description) for level in score.rubric or ()]
    entries = [("- ", score.name, score.description), *levels]
    lines = []
    for mark, name, text in entries:
        line = f"{mark}{name}"
        if text:
            line += f": {text}"
        lines.append(line)
    return "\n".join(lines)


def _form(score: JudgeScoreSpec) -> str:
    if score.rubric:
        return " or ".join(f'"{r.label}"' for r in score.rubric)
    low = score.minimum
    high = score.maximum
    if low is not None and high is not None:
        return f"a number from {low:.12g} to {high:.12g}"
    if low is not None:
        return f"a number from {low:.12g}"
    if high is not None:
        return f"a number up to {high:.12g}"
    return "a number"


def _in_templates(scores: Sequence[JudgeScoreSpec]) -> dict[str, dict[str, object]]:
    """Make the value of ``{{ scores }}`` in a prompt: the keys of each score, by name."""
    values: dict[str, dict[str, object]] = {}
    for score in scores:
        keys: dict[str, object] = {
            "name": score.name,
            "description": score.description,
            "minimum": score.minimum,
            "maximum": score.maximum,
        }
        if score.rubric is not None:
            keys["rubric"] = [asdict(level) for level in score.rubric]
        values[score.name] = {
            key: value for key, value in keys.items() if value is not None
        }
    return values
