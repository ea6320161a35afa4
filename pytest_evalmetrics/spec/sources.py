"""``rollouts:``, ``dataset:`` and ``params:``: the files, and limits of generation and scoring."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec.field_types import (
    Name,
    Names,
    Read,
    expected,
    one_of,
    refuse,
)
from pytest_evalmetrics.spec.validation import After, Keys, Limits, doc, validated

# -- rollouts and dataset: files -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JointField(Keys):
    """A score that is made of several fields of a row, each a number or of ``map:``."""

    all: Annotated[Names | None, doc("paths: the least of their values")] = None
    any: Annotated[Names | None, doc("paths: the largest of their values")] = None
    attempts: Annotated[
        Names | None, doc("paths: each of their values is an attempt at the task")
    ] = None

    def __post_init__(self) -> None:
        """Require one way to join the fields."""
        ways = [way for way in (self.all, self.any, self.attempts) if way is not None]
        if len(ways) != 1:
            raise refuse(
                "write one of all: [PATH, PATH], any: [PATH, PATH], attempts: [PATH, PATH]"
            )

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the fields."""
        return self.all or self.any or self.attempts or ()


def _task_path(value: object) -> object:
    if isinstance(value, list) and len(value) > 1:
        return validated(Names, value)
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, list | dict):
        raise expected("a path, or a list of the paths that make up the id")
    return validated(Name, value)


def _score_path(value: object) -> object:
    if isinstance(value, dict):
        return validated(JointField, value)
    if isinstance(value, list):
        raise expected(
            "a path, or {all: [PATH, PATH]}, {any: [PATH, PATH]} or {attempts: [PATH, PATH]}"
        )
    return validated(Name, value)


#: One path; or those of the parts of an id, which are joined with slashes.
TaskPath = Annotated[
    str | tuple[str, ...], types.Checked(_task_path, lambda: Name | list[Name])
]
ScorePath = Annotated[
    str | JointField, types.Checked(_score_path, lambda: Name | JointField)
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FieldMap(Keys):
    """Dotted paths within a row, such as ``result.metrics.f1``; by default NeMo Gym's."""

    task: Annotated[
        TaskPath | None, doc("the task's id; several fields are joined to one id")
    ] = None
    sample: Annotated[Name | None, doc("the attempt's number")] = None
    reward: Annotated[
        ScorePath | None, doc("the reward; a list of verdicts is the task's attempts")
    ] = None
    agent: Annotated[Name | None, doc("the agent's name")] = None
    content: Annotated[
        Names | None,
        doc("what identifies the task beyond its id, such as the question"),
    ] = None
    prompt: Annotated[Name | None, doc("the question, for reports")] = None
    answer: Annotated[Name | None, doc("the answer, for reports")] = None
    reason: Annotated[
        Name | None, doc("why it has its score, for reports: a judge's explanation")
    ] = None
    scores: Annotated[dict[Name, ScorePath], doc("further scores: name -> path")] = (
        types.empty()
    )

    @property
    def joint(self) -> dict[str, JointField]:
        """The scores that are made of several fields, by their names."""
        paths = {**self.scores, "reward": self.reward}
        return {
            name: path for name, path in paths.items() if isinstance(path, JointField)
        }

    def __post_init__(self) -> None:
        """Require one path of the reward."""
        if (
            self.reward is not None
            and self.scores.get("reward", self.reward) != self.reward
        ):
            raise refuse(
                "the reward has two paths, reward: and scores: reward: remove one"
            )


def _plain_values(value: object) -> object:
    values = value if isinstance(value, list) else [value]
    if not values or any(isinstance(each, dict | list) for each in values):
        raise expected("a text, a number, true, false or null, or a list of these")
    return tuple(values)


def _points(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, bool | int | float):
        raise expected("a number, or null for missing")
    return float(value)


_Value = str | float | bool | None
Accepted = Annotated[
    tuple[Any, ...], types.Checked(_plain_values, lambda: _Value | list[_Value])
]


def _missing_values(value: object) -> object:
    if value == []:
        return {}
    if not isinstance(value, dict):
        return {"reward": _plain_values(value)}
    return {name: _plain_values(values) for name, values in value.items()}


MissingValues = Annotated[
    dict[str, tuple[Any, ...]],
    types.Checked(
        _missing_values, lambda: _Value | list[_Value] | dict[Name, list[_Value]]
    ),
]
Points = Annotated[float | None, types.Checked(_points, lambda: float | None)]
Paths = Annotated[
    Names, doc("a path, a glob, or a list of them, relative to this file")
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PivotSpec(Keys):
    """Lines of one name and one value each, put together to rows."""

    by: Annotated[Names, doc("paths whose values the lines of a row share")]
    name: Annotated[Name, doc("the path of the name of a line's value")]
    value: Annotated[Name, doc("the path of a line's value")]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShapeSpec(Keys):
    """How the rows are found in files that are not one row per line."""

    rows: Annotated[
        Name | None,
        doc(
            "the dotted path of the rows in a file; * is each value of a list or an object"
        ),
    ] = None
    keyed: Annotated[
        Name | None, doc("rows are an object's values: the field that takes their keys")
    ] = None
    lists: Annotated[
        dict[Name, Points] | None,
        doc("lists of task ids -> the reward of each of them, null for missing"),
    ] = None
    parse_json: Annotated[
        Names | None, doc("fields whose text is JSON, as in cells of CSV")
    ] = None
    where: Annotated[
        dict[Name, Accepted],
        doc("rows to read: path -> the value, or the values, that it has"),
    ] = types.empty()
    pivot: Annotated[
        PivotSpec | None,
        types.on_use("sources", "PivotSpec"),
        doc("put several lines together to one row"),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JoinSpec(ShapeSpec):
    """The files with the other half of each row."""

    path: Paths
    on: Annotated[Names, doc("paths in both files whose values matching rows share")]
    unmatched: Annotated[
        Literal["error", "keep", "drop"],
        doc("what to do with rows without the other half"),
    ] = "error"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FilesSpec(Keys):
    """The files with recorded rollouts, and their format."""

    path: Paths
    format: Annotated[
        Name | None, doc("the loader's name; recognised by content if left out")
    ] = None
    fields: Annotated[FieldMap, doc("the paths of values in a row")] = field(
        default_factory=FieldMap
    )
    decimal: Annotated[
        Literal[".", ","] | None,
        doc(
            "the decimal sign of numbers that are text, where 1.100 may be 1.1 or 1100; "
            "the other sign separates thousands"
        ),
    ] = None

    shaped: ClassVar[Any] = False  # whether rows are not the files' own
    inline: ClassVar[Any] = ()  # rows inside the benchmark file


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RolloutsSpec(ShapeSpec, FilesSpec):
    """The files with recorded rollouts, their format, and their shape."""

    map: Annotated[
        dict[Name, dict[str, Points]],
        doc("texts and codes to numbers: reward, or a score's name -> value -> number"),
    ] = types.empty()
    missing: Annotated[
        MissingValues,
        doc("values that mean not judged: of the reward, or a score's name -> values"),
    ] = types.empty()
    join: Annotated[
        JoinSpec | None,
        types.on_use("sources", "JoinSpec"),
        doc("files with further fields of the same rows"),
    ] = None

    @property
    def shaped(self) -> bool:
        """Whether rows are built from the files' contents, rather than read as they are."""
        return any(
            (
                self.rows,
                self.keyed,
                self.lists,
                self.parse_json,
                self.where,
                self.pivot,
                self.map,
                self.missing,
                self.fields.joint,
                self.join,
            )
        )

    @property
    def derives_scores_only(self) -> bool:
        """Whether rows are as the files have them, and scores alone are derived."""
        moves_rows = any(
            (
                self.rows,
                self.keyed,
                self.lists,
                self.parse_json,
                self.where,
                self.pivot,
                self.join,
            )
        )
        return self.shaped and not moves_rows

    def like(self, other: "RolloutsSpec | None") -> Self:
        """Inherit the form of other files, unless this one describes its own."""
        described = any(
            (self.shaped, self.format, self.decimal, self.fields != FieldMap())
        )
        if described or other is None or other.join:
            return self
        return replace(
            self,
            format=other.format,
            fields=other.fields,
            rows=other.rows,
            keyed=other.keyed,
            lists=other.lists,
            parse_json=other.parse_json,
            where=other.where,
            pivot=other.pivot,
            map=other.map,
            missing=other.missing,
            decimal=other.decimal,
        )


def _in_long_form(value: object) -> dict[str, object]:
    if not isinstance(value, str | list | dict):
        raise expected("a path, a list of paths, or a mapping with path")
    keys = value if isinstance(value, dict) else {"path": value}
    if keys.get("keyed") is not None and keys.get("lists") is not None:
        raise refuse("keyed: and lists: are two ways to read an object: choose one")
    return keys


_Paths = Name | Annotated[list[Name], Limits(min_length=1)]
RolloutsField = Annotated[
    RolloutsSpec, Read(_in_long_form, lambda: _Paths | RolloutsSpec)
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunsSpec(RolloutsSpec):
    """The files of an earlier run, or of several: a list of each one's."""

    runs: Annotated[
        tuple[Names, ...],
        Limits(strict=False),
        doc("the files of each of several runs"),
    ] = ()


def _runs_apart(value: object) -> object:
    keys = _in_long_form(value)
    runs = keys.get("path")
    if not isinstance(runs, list) or not any(isinstance(run, list) for run in runs):
        return keys
    if not all(isinstance(run, list) and run for run in runs):
        raise expected("either paths, or one list of paths for each run")
    return {**keys, "path": [path for run in runs for path in run], "runs": runs}


_Runs = Annotated[
    list[Annotated[list[Name], Limits(min_length=1)]], Limits(min_length=1)
]
RunsField = Annotated[RunsSpec, Read(_runs_apart, lambda: _Paths | _Runs | RunsSpec)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DatasetSpec(FilesSpec):
    """The rows to answer or score, or the files with them and their format; and a selection."""

    __pydantic_config__ = one_of("path", "rows")

    path: Paths = ()
    rows: Annotated[
        tuple[dict[str, object], ...],
        Limits(strict=False),
        doc("the rows themselves, in place of a path"),
    ] = ()
    limit: Annotated[
        types.AtLeastOne | None,
        doc("so many rows of it: the first ones, or with shuffle a random choice"),
    ] = None
    shuffle: Annotated[bool | int, doc("choose them at random: true, or the seed")] = (
        False
    )
    seed: Annotated[int | None, Limits(ge=0), doc("of shuffle; default 0")] = None

    @property
    def inline(self) -> tuple[dict[str, object], ...]:
        """Rows that the benchmark file itself holds."""
        return self.rows

    def __post_init__(self) -> None:
        """Require one source of rows."""
        if not self.path and not self.rows:
            raise refuse("'path' is missing: a file with rows; or rows, a list of them")
        if self.path and self.rows:
            raise refuse("rows are read from path, or written under rows, not both")

    @property
    def chosen_with(self) -> int | None:
        """The seed of a random choice; None for the first rows."""
        if isinstance(self.shuffle, bool):
            return (self.seed or 0) if self.shuffle else None
        return self.shuffle


def _rows_or_path(value: object) -> object:
    if (
        isinstance(value, list)
        and value
        and all(isinstance(row, dict) for row in value)
    ):
        return {"rows": value}
    return _in_long_form(value)


_Rows = Annotated[list[dict[str, object]], Limits(min_length=1)]
DatasetField = Annotated[
    DatasetSpec, Read(_rows_or_path, lambda: _Paths | _Rows | DatasetSpec)
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SampleSpec(Keys):
    """A subset of the tasks."""

    tasks: Annotated[int, Limits(ge=1), doc("how many tasks to take")]
    by: Annotated[
        Name | None,
        doc("a field of the rows: each of its values keeps its share of the tasks"),
    ] = None
    seed: Annotated[int, Limits(ge=0), doc("another seed takes others")] = 0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EarlyStopSpec(Keys):
    """Rounds of rollouts, until the gates are sure."""

    min: Annotated[int, Limits(ge=1), doc("rollouts of each task at the first look")]
    max: Annotated[int, Limits(ge=2), doc("rollouts of each task at the last look")]
    stop: Annotated[Literal["early"], doc("as soon as the verdict is sure")]


class Rounds(int):
    """The rollouts of each task at one look: the first has `least` of them, the last `most`."""

    least: int
    most: int

    @classmethod
    def at(cls, rollouts: int, least: int, most: int) -> Self:
        """Return a look."""
        look = cls(rollouts)
        look.least = least
        look.most = most
        return look


def _samples(value: object) -> object:
    if not isinstance(value, dict):
        return validated(types.AtLeastOne, value)
    rounds = validated(EarlyStopSpec, value)
    if rounds.min >= rounds.max:
        raise refuse(f"min {rounds.min} leaves no round before max {rounds.max}")
    return Rounds.at(rounds.max, rounds.min, rounds.max)


NumSamples = Annotated[
    int, types.Checked(_samples, lambda: types.AtLeastOne | EarlyStopSpec)
]


# -- params, and what they share with model -----------------------------------------------

_SEVERAL = "num_samples; or judge_repeats of a judge, beside its model"
_OTHER_KEYS = {  # of a request -> the key of a benchmark that sets it
    "model": "name",
    "messages": "prompt_template",
    "prompt": "prompt_template",
    "stream": "nothing: one whole answer is asked for",
    "n": _SEVERAL,
    "best_of": _SEVERAL,
    "num_return_sequences": _SEVERAL,
    "candidate_count": _SEVERAL,
    "tools": "tools",
    "response_format": "response_format",
}
_PARAMETERS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "temperature": ("a number from 0", lambda v: types.is_number(v) and v >= 0),
    "top_p": ("a number from 0 to 1", lambda v: types.is_number(v) and 0 <= v <= 1),
    "max_tokens": ("a whole number from 1", lambda v: types.is_whole(v) and v >= 1),
    "max_completion_tokens": (
        "a whole number from 1",
        lambda v: types.is_whole(v) and v >= 1,
    ),
    "seed": ("a whole number", types.is_whole),
    "frequency_penalty": ("a number", types.is_number),
    "presence_penalty": ("a number", types.is_number),
    "stop": (
        "a text or a list of texts",
        lambda v: all(
            isinstance(text, str) for text in (v if isinstance(v, list) else [v])
        ),
    ),
}


def _inference(value: dict[str, object]) -> dict[str, object]:
    for key, parameter in value.items():
        if key in _OTHER_KEYS:
            raise refuse(
                f"{key!r} is not an inference parameter: write {_OTHER_KEYS[key]}"
            )
        what, fits = _PARAMETERS.get(key, ("", lambda _: True))
        if not fits(parameter):
            raise refuse(f"{key} is {parameter!r:.60}, expected {what}")
    return value


InferenceField = Annotated[
    dict[Name, Any],
    After(_inference),
    doc(
        "temperature, max_tokens, top_p, seed, stop ...: sent as they are; nothing else is sent"
    ),
]


def _plain(value: str | None) -> str | None:
    if value is not None and "{{" in value:
        hint = "write the template in prompt_template: {messages: [{role: system, content: ...}]}"
        raise refuse(f"it is sent as written; {hint}")
    return value


SystemPrompt = Annotated[
    str | None,
    After(_plain),
    doc("the first message, of the role system; no template"),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReasoningSpec(Keys):
    """The reasoning of a model before its answer."""

    end_token: Annotated[
        Name | None,
        doc("the end of the reasoning, such as </think>, which the answer follows"),
    ] = None
    effort: Annotated[Name | None, doc("sent as reasoning_effort")] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ParamsSpec(Keys):
    """Limits and defaults of generation and scoring.

    Defaults of models are for ``model:``, or without one for the judges; a model's own keys win.
    """

    parallelism: Annotated[
        int, Limits(ge=1, le=4096), doc("calls in flight at once")
    ] = 16
    limit_samples: Annotated[
        types.AtLeastOne | None,
        doc("score the first rows only, to try things out; records no baseline"),
    ] = None
    request_timeout: Annotated[
        types.Positive, doc("seconds for one attempt, unless a scorer sets them")
    ] = None
    max_retries: Annotated[
        types.Retries, doc("attempts after the first, unless a scorer sets them")
    ] = None
    max_wait: Annotated[
        types.Positive,
        doc(
            "the longest wait that an endpoint may ask for (Retry-After), in seconds; default 60"
        ),
    ] = None
    inference: InferenceField = types.empty()
    system_prompt: SystemPrompt = None
    reasoning: Annotated[ReasoningSpec | None, doc("of a reasoning model")] = None
    ignore_request_failure: Annotated[
        bool,
        doc(
            "drop rollouts whose request failed; by default they are missing, and expect decides"
        ),
    ] = False
