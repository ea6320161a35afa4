"""The one exception tree of the project.

::

    EvalMetricsError
    ├── ConfigError      a benchmark file can't be used; lists every problem at once
    ├── DataError        rollouts can't be read, or hold what is not a number
    │   ├── NoTaskError      rows name no task, and nothing says which field is the task
    │   ├── WordScoreError   a score is a word, and nothing says what it is worth
    │   └── ShapeError       rows: or map: of a benchmark file do not fit the rollouts
    ├── RegistryError    a name that is unknown, or that stands for two things
    ├── MetricError      a metric raised, or returned no finite number
    ├── BaselineError    a baseline is missing, unreadable, or must not be written
    ├── ArtifactError    a report can't be written
    ├── EngineError      the place where work is done can't be reached, or is gone
    ├── CheckError       a test calls the fixture in a way that means nothing
    ├── RowError         a scorer can't score one row; the others go on
    ├── TransportError   a call of an endpoint (see `transport.wire`)
    │   ├── CallError         one call failed; the others go on (a RowError too)
    │   ├── EndpointError     every call would fail
    │   ├── JournalError      paid answers can't be read or kept
    │   ├── SecretError       a key is not in the environment
    │   └── MissingExtraError the extra that makes calls is not installed
    └── GateFailed       everything was read and reduced, and a check did not hold

Each message is for the person who reads a CI log: where, what was found, what was
expected, the way out. None of them is shown with a traceback.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pluggy import HookCaller

    from pytest_evalmetrics.failure_lines import Failure


class EvalMetricsError(Exception):
    """The root: whatever goes wrong for a reason that the user can fix.

    `message` says what was found and expected; `file` and `line`, from 1, where; and `hint` the
    way out: what to write or to run. `about` is the value of a benchmark file that is at fault,
    where that is known: the URL of an endpoint, or the name of a secret.
    """

    # what pytest shows, where that is not the text alone
    failure: Failure | None = None

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
        about: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.hint = hint
        self.about = about

    @property
    def where(self) -> str:
        """``file:line``, as far as it is known."""
        if self.file is None:
            return ""
        if self.line is None:
            return self.file
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without calling the constructor, whose arguments differ between subclasses."""
        return Exception.__new__, (type(self), *self.args), self.__dict__


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a benchmark file."""

    line: int
    path: str
    message: str
    # the gated metrics of which nothing says which way is better, where that is it
    undeclared: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The key and the message."""
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(EvalMetricsError):
    """A benchmark file, or what else `what` names, can't be used; `problems` are all of it."""

    def __init__(
        self, file: str, problems: tuple[Problem, ...], *, what: str = "benchmark file"
    ) -> None:
        count = "one problem"
        if len(problems) != 1:
            count = f"{len(problems)} problems"
        super().__init__(f"{count} in this {what}", file=file)
        self.problems = problems

    def __str__(self) -> str:
        lines = [f"{self.file}:{p.line}: {p.text}" for p in self.problems]
        return "\n".join([f"{self.where}: {self.message}", *lines])


class DataError(EvalMetricsError):
    """Rollouts can't be read, or a score is not a number."""


class NoTaskError(DataError):
    """Rows name no task where NeMo Gym's do, and the benchmark file does not say where."""


class WordScoreError(DataError):
    """A score that is needed holds words, and nothing says what they are worth.

    Attributes
    ----------
    score
        The score's name.
    """

    score: str = "reward"


class ShapeError(DataError):
    """The shape that a benchmark file declares under `key` does not fit its rollouts."""

    def __init__(
        self, message: str, *, key: tuple[str, ...], hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.key = key


class RegistryError(EvalMetricsError):
    """A name is unknown or ambiguous; the message gives the name that was probably `meant`."""

    meant: str | None = None


class MetricError(EvalMetricsError):
    """A metric raised, or returned no finite number."""


class BaselineError(EvalMetricsError):
    """A baseline is missing, unreadable, or must not be written."""


class ArtifactError(EvalMetricsError):
    """A report can't be written."""


class EngineError(EvalMetricsError):
    """The place where work is done can't be reached, or is gone."""


class CheckError(EvalMetricsError):
    """A test calls the fixture ``evalmetrics`` in a way that means nothing."""


class RowError(EvalMetricsError):
    """A scorer can't score one row; the others go on, and ``expect`` decides.

    `kind` is a short stable word to group by, such as ``no-score``; `message` says what happened,
    in the row's terms, without its number.
    """

    def __init__(self, kind: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind


class GateFailed(EvalMetricsError):  # noqa: N818 - the name that pytest prints: it is no error of ours
    """A check of a benchmark did not hold."""


class RegressionWarning(UserWarning):
    """A metric may have got worse: not sure enough to fail, too likely to be silent."""


class RenamedKeyWarning(DeprecationWarning):
    """A benchmark file has the old name of a key."""


def raised_words(error: BaseException, who: str) -> tuple[str, str]:
    """Return the kind and message of a row that failed in the user's code `who`."""
    name = type(error).__name__
    words = f": {error}" if str(error) else ""
    return f"raised-{name}", f"{who} raised {name}{words}"


def position_in_hook(
    hook: HookCaller, error: BaseException
) -> tuple[PurePath, int] | None:
    """Return the file and line of a user's hook that raised; None for an error elsewhere."""
    return position_in([found.function for found in hook.get_hookimpls()], error)


def position_in(
    functions: Iterable[Callable[..., object]], error: BaseException
) -> tuple[PurePath, int] | None:
    """Return the file and line of the function that raised; None for an error elsewhere."""
    from inspect import unwrap  # only where something is wrong
    from traceback import walk_tb

    codes = {getattr(unwrap(function), "__code__", None) for function in functions}
    position = None
    for frame, line in walk_tb(error.__traceback__):
        if frame.f_code in codes:
            position = (PurePath(frame.f_code.co_filename), line)
    return position


def place_in_hook(hook: HookCaller, error: BaseException) -> str:
    """Write the file and line of a user's hook that raised; empty if they are unknown."""
    position = position_in_hook(hook, error)
    if position is None:
        return ""
    file, line = position
    return f"{file.name}:{line}"


def raised_in_hook(hook: HookCaller, error: BaseException) -> tuple[str, str]:
    """Return the message and hint for an exception of a user's hook."""
    what = f"the hook {hook.name} failed: {type(error).__name__}: {error}"
    place = place_in_hook(hook, error)
    if place:
        what = f"{place}: {what}"
    return what, "fix it in the conftest.py or the plugin that defines it"


def closest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that was probably meant; case and separators are the usual slips."""
    from difflib import get_close_matches  # only where something is wrong

    names = sorted(choices, reverse=True)
    folded = {choice.lower().replace("-", "_"): choice for choice in names}
    close = get_close_matches(name.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def did_you_mean(name: str, choices: Iterable[object], *, what: str = "known") -> str:
    """Suggest the name that was meant: ``did you mean 'x'? known: a, b``; `what` replaces known."""
    names = sorted(str(choice) for choice in choices)
    meant = closest(name, names)
    guess = "" if meant is None else f"did you mean {meant!r}? "
    shown = ", ".join(names[:40]) + (
        f" and {len(names) - 40} more" if len(names) > 40 else ""
    )
    return f"{guess}{what}: {shown or 'none'}"
