"""Keys that a later version adds need nothing new here: types of every sort, not our own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field, HttpUrl, TypeAdapter, ValidationError

from pytest_evalmetrics.config.messages import problems_of
from pytest_evalmetrics.config.nodes import Node, plain
from pytest_evalmetrics.config.yaml_source import parse_yaml

STRICT = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, kw_only=True)
class Model:
    __pydantic_config__ = STRICT

    url: HttpUrl
    max_tokens: Annotated[int, Field(gt=0, le=10, multiple_of=2)] = 2


@dataclass(frozen=True, kw_only=True)
class Remote:
    __pydantic_config__ = STRICT

    type: Literal["remote"]
    url: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Judge:
    __pydantic_config__ = STRICT

    type: Literal["judge"]
    model: str | Model
    scale: tuple[int, int] = (1, 5)


def odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("an even number has no middle")
    return value


@dataclass(frozen=True, kw_only=True)
class Later:
    __pydantic_config__ = STRICT

    model: Model | None = None
    scorers: list[Annotated[Remote | Judge, Field(discriminator="type")]] = field(
        default_factory=list
    )
    either: int | list[str] | Model | None = None
    votes: Annotated[int, AfterValidator(odd)] = 3
    code: Annotated[str, Field(pattern="^[a-z]+$", max_length=3)] = "a"
    weights: Annotated[list[float], Field(max_length=2)] = field(default_factory=list)


ADAPTER = TypeAdapter(Later)

CASES = {
    "unknown keys of nested types": (
        "model: {url: 'http://x', max_token: 1}",
        (
            "line 1: model: unknown key 'max_token': did you mean 'max_tokens'? "
            "keys here: max_tokens, url"
        ),
    ),
    "of the type that was meant": (
        "scorers:\n- {type: remote, url: x, uri: x}\n- type: judge\n  model: m\n  url: x",
        "line 2: scorers[0]: unknown key 'uri': did you mean 'url'? keys here: headers, type, url",
        "line 5: scorers[1]: unknown key 'url': keys here: model, scale, type",
    ),
    "an unknown type": (
        "scorers:\n- type: remoet",
        (
            'line 2: scorers[0].type: unknown type, found the text "remoet": '
            "did you mean 'remote'? there are: judge, remote"
        ),
    ),
    "no type": ("scorers:\n- url: x", "line 2: scorers[0]: 'type' is missing"),
    "no mapping with a type": (
        "scorers: [x]",
        'line 1: scorers[0]: expected a mapping, found the text "x"',
    ),
    "a key that is missing within": (
        "scorers:\n- {type: remote}",
        "line 2: scorers[0]: 'url' is missing",
    ),
    "of a union the branch that was meant": (
        "either: {url: 'http://x', max_tokens: 3, foo: 1}",
        "line 1: either.max_tokens: expected a multiple of 2, found 3",
        "line 1: either: unknown key 'foo': keys here: max_tokens, url",
    ),
    "of a union within a union": (
        "scorers:\n- type: judge\n  model:\n    url: 'http://x'\n    max_tokens: 12",
        "line 5: scorers[0].model.max_tokens: expected a number of at most 10, found 12",
    ),
    "a union's list": (
        "either: [a, 1]",
        "line 1: either[1]: expected text, found 1; put quotes around it",
    ),
    "no branch at all": (
        "either: x",
        'line 1: either: expected a whole number or a list or a mapping, found the text "x"',
    ),
    "an error in words of its own": ("votes: 4", "line 1: votes: an even number has no middle"),
    "an error that is passed on": (
        "model: {url: x}",
        "line 1: model.url: Input should be a valid URL, relative URL without a base",
    ),
    "limits": (
        "code: abcd\nweights: [1, 2, 3]\nmodel: {url: 'http://x', max_tokens: 0}",
        'line 1: code: expected text of at most 3 characters, found the text "abcd"',
        "line 2: weights: expected a list of at most 2 items, found 3",
        "line 3: model.max_tokens: expected a number above 0, found 0",
    ),
    "a pattern": (
        "code: A",
        'line 1: code: expected text of the form ^[a-z]+$, found the text "A"',
    ),
    "values of a mapping": (
        "scorers:\n- type: remote\n  url: x\n  headers:\n    a: 1\n    url: 2",
        "line 5: scorers[0].headers.a: expected text, found 1; put quotes around it",
        "line 6: scorers[0].headers.url: expected text, found 2; put quotes around it",
    ),
    "a pair": (
        "scorers:\n- {type: judge, model: m, scale: [1, x]}",
        'line 2: scorers[0].scale[1]: expected a whole number, found the text "x"',
    ),
}


def errors_of(text: str) -> tuple[list[Any], Node]:
    top = parse_yaml(text).root
    assert top is not None
    with pytest.raises(ValidationError) as caught:
        ADAPTER.validate_json(json.dumps(plain(top)))
    return list(caught.value.errors(include_url=False)), top


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_words(case: tuple[str, ...]) -> None:
    text, *messages = case
    errors, top = errors_of(text)
    found = problems_of(errors, top, schema=ADAPTER.json_schema)
    assert sorted(map(str, found)) == messages


def test_of_defaults_nothing_is_missing_in_any_branch() -> None:
    errors, top = errors_of("either: {max_tokens: 2}\nmodel: {max_tokens: x}")
    found = problems_of(errors, top, complete=False, schema=ADAPTER.json_schema)
    assert [str(problem) for problem in found] == [
        'line 2: model.max_tokens: expected a whole number, found the text "x"'
    ]
