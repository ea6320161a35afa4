"""The kinds of outcome that a file of an unknown layout may have, and helpers to write such files."""

import json

import msgspec


class Reads(msgspec.Struct, frozen=True):
    """A benchmark file is written, and reads these rewards: task -> one a rollout."""

    rewards: dict
    agents: int | None = None  # how many; None where it does not matter


class Asks(msgspec.Struct, frozen=True):
    """A benchmark file is written with open lines, which hold these words."""

    words: tuple


class Refuses(msgspec.Struct, frozen=True):
    """No benchmark file is written, and the message holds these words."""

    words: tuple


class OddFile(msgspec.Struct, frozen=True):
    """Some files, the path that init gets, and what comes of it."""

    files: dict  # name -> text, or bytes
    path: str
    outcome: Reads | Asks | Refuses
    links: dict = {}  # name -> the name that it leads to


def lines(rows):
    """Write JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def one(name, content, outcome):
    """Make an odd file of one file: JSON unless its content is text or bytes."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    return OddFile(files={name: text}, path=name, outcome=outcome)


def reads(rewards, **more):
    """Expect one rollout a task, or a list of them."""
    listed = {
        task: value if isinstance(value, list) else [value]
        for task, value in rewards.items()
    }
    return Reads(rewards=listed, **more)


def asks(*words):
    """Expect open lines with these words."""
    return Asks(words=words)


def refuses(*words):
    """Expect a refusal with these words."""
    return Refuses(words=words)
