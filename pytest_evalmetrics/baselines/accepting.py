"""What a report says of the benchmarks that are to be accepted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import BaselineError, did_you_mean
from pytest_evalmetrics.model.verdicts import Acceptance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.baseline import BaselineDocument

_FAILS = ("FAIL", "INCONCLUSIVE", "WARN")
_EQUAL = 1e-9  # relative: a report keeps all digits, a baseline six


class _Estimate(msgspec.Struct, frozen=True):
    value: float | None = None


class _Agent(msgspec.Struct, frozen=True):
    agent: str
    estimates: dict[str, _Estimate] = {}


class _Check(msgspec.Struct, frozen=True):
    verdict: str
    acceptance: str | None = None


class _Entry(msgspec.Struct, frozen=True):
    id: str
    agents: tuple[_Agent, ...] = ()
    checks: tuple[_Check, ...] = ()

    @property
    def needs_acceptance(self) -> bool:
        """Whether a committed baseline does not let it pass."""
        return any(
            check.verdict in _FAILS and check.acceptance == Acceptance.SNAPSHOT
            for check in self.checks
        )


class _Report(msgspec.Struct, frozen=True):
    schema_version: int
    benchmarks: tuple[_Entry, ...] = ()


def _read(path: Path) -> _Report:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Report)
    except OSError as error:
        raise BaselineError(
            f"{path} can't be read: {error.strerror}",
            hint="run pytest first, or name its report: --report FILE",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BaselineError(f"{path} is no report.json: {error}") from None


def to_accept(path: Path, asked: Sequence[str]) -> list[str]:
    """Choose the benchmarks of a report that are recorded: the asked ones, or all that need it.

    It raises BaselineError for an unreadable report, or an id that it does not have.
    """
    report = _read(path)
    known = [entry.id for entry in report.benchmarks]
    for benchmark in asked:
        if benchmark not in known:
            guess = did_you_mean(benchmark, known, what="the report has")
            raise BaselineError(f"{path} has no benchmark {benchmark!r}", hint=guess)
    if asked:
        return list(asked)
    return [entry.id for entry in report.benchmarks if entry.needs_acceptance]


def difference_from(path: Path, benchmark: str, new: BaselineDocument) -> str:
    """Say how a baseline differs from what a report showed; empty if it does not."""
    for entry in _read(path).benchmarks:
        if entry.id == benchmark:
            return _difference(entry, new)
    return f"{path} does not have it"


def _difference(entry: _Entry, new: BaselineDocument) -> str:
    shown = {agent.agent: agent.estimates for agent in entry.agents}
    for agent in new.agents:
        for metric, value in new.values(agent).items():
            estimate = shown.get(agent, {}).get(metric)
            if estimate is None or estimate.value is None:
                return f"the report has no {metric}"
            if not math.isclose(estimate.value, value, rel_tol=_EQUAL, abs_tol=_EQUAL):
                return (
                    f"{metric} is {value:g}, and was {estimate.value:g} in the report"
                )
    return ""
