"""``evalmetrics_policy``: what a build needs, and how many advisory failures it bears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.settings import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_evalmetrics.model.results import BenchmarkResult

_EXPECTED = "expected required=TAG,TAG and advisory=N"


class Policy(msgspec.Struct, frozen=True):
    """The policy of a project.

    Attributes
    ----------
    required
        The tags of benchmarks that are required whatever their file says, and that have to be
        there in a whole run.
    most_advisory
        So many benchmarks with advisory failures fail the run; None for any number.
    """

    required: frozenset[str] = frozenset()
    most_advisory: int | None = None


def policy_of(config: pytest.Config) -> Policy:
    """Read the policy; raise UsageError for an invalid one."""
    required: frozenset[str] = frozenset()
    most: int | None = None
    for word in config.getini(POLICY):
        key, _, value = word.partition("=")
        if key == "required" and value:
            required |= frozenset(value.split(","))
        elif key == "advisory" and value.isdecimal() and int(value) > 0:
            most = int(value)
        else:
            raise pytest.UsageError(f"{POLICY}: found {word!r}; {_EXPECTED}")
    return Policy(required=required, most_advisory=most)


def requires(policy: Policy, tags: Iterable[str]) -> bool:
    """Check whether a benchmark with these tags is required."""
    return not policy.required.isdisjoint(tags)


class RunPolicy:
    """The policy of a run, and the benchmarks with a required tag that it collected."""

    def __init__(self, config: pytest.Config) -> None:
        self._policy = policy_of(config)
        self._config = config
        self._tags: dict[str, list[str]] = {}  # id of a benchmark -> its required tags

    def record(self, items: Iterable[pytest.Item]) -> None:
        """Record the benchmarks with a required tag, before anything selects some of them."""
        for item in items:
            marks = {mark.name for mark in item.iter_markers()}
            tags = sorted(self._policy.required & marks)
            if tags:
                self._tags[item.nodeid] = tags

    def hand_over(self) -> dict[str, list[str]]:
        """Return what a worker of xdist recorded."""
        return self._tags

    def take(self, handed_over: dict[str, list[str]]) -> None:
        """Take what a worker recorded."""
        self._tags |= handed_over

    def missing(self, skipped: Mapping[str, str]) -> Iterator[str]:
        """Say which required benchmarks the run lacks; `skipped` has the reasons by id.

        What the run's selection leaves out is not missing.
        """
        for tag in sorted(self._policy.required):
            tagged = sorted(name for name, tags in self._tags.items() if tag in tags)
            if not tagged and not _names_files(self._config):
                yield f"{POLICY}: no benchmark has the required tag {tag!r}"
            for name in tagged:
                if name in skipped:
                    why = skipped[name]
                    yield f"{POLICY}: {name} is required by {tag!r}, and skipped: {why}"

    def too_many(self, results: Iterable[BenchmarkResult]) -> Iterator[str]:
        """Say that more advisory gates fail than the policy bears."""
        most = self._policy.most_advisory
        advisory = [result.id for result in results if result.fails_advisory]
        if most is None or len(advisory) < most:
            return
        found = many(len(advisory), "benchmark")
        yield (
            f"{POLICY}: {found} with advisory failures, advisory={most} fails the run: "
            f"{listed(advisory, 5)}"
        )


def _names_files(config: pytest.Config) -> bool:
    """Check whether a run is of files or tests that its command line names, or that failed."""
    if config.getoption("lf", default=False):
        return True
    base = config.invocation_params.dir
    return any(not (base / argument).is_dir() for argument in config.args)
