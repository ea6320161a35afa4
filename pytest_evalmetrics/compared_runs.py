"""The runs that a command compares: reports, or rollouts whose fields are named or guessed."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import structs

from pytest_evalmetrics import baselines
from pytest_evalmetrics.config import benchmark_in_python
from pytest_evalmetrics.errors import ConfigError, EvalMetricsError, Problem
from pytest_evalmetrics.json_types import JsonObject, object_of
from pytest_evalmetrics.layout import listed, visible
from pytest_evalmetrics.reports.paragraphs import fitted
from pytest_evalmetrics.rollouts.folders import files_in
from pytest_evalmetrics.rollouts.guess import propose
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts.guess import Proposal
    from pytest_evalmetrics.spec import Benchmark

T = TypeVar("T")
_FIELDS = ("task", "sample", "agent", "reward")
_PARTS = 9  # of a path, up to which runs are told apart by its end
_LISTED = 10  # files in a line
_ALL_JUDGED = "none"  # of --missing: no value means not judged


class RunArguments(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are read and judged, as the options of the command say."""

    command: str
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    fields: dict[str, str]  # that options name: task, sample, agent, reward
    missing: tuple[str, ...] | None  # values that mean not judged; None if not said
    direction: str | None
    settings: dict[str, str | float]  # of the baseline: max_drop, alpha, direction
    pass_threshold: float | None
    behaviour: bool


def arguments_of(given: Namespace) -> RunArguments:
    """Take the options of a command that reads runs."""
    missing = None
    if given.missing is not None:
        missing = tuple(given.missing)
    return RunArguments(
        command=given.command,
        runs=tuple(given.runs),
        metrics=tuple(given.metrics or ["mean_reward"]),
        fields=_given_of(given, _FIELDS),
        missing=missing,
        direction=given.direction,
        settings=_given_of(given, ("max_drop", "alpha", "direction")),
        pass_threshold=given.pass_threshold,
        behaviour=getattr(given, "behaviour", False),
    )


def _given_of(given: Namespace, names: Sequence[str]) -> dict[str, T]:
    """Return the options that are given; a command need not have all of them."""
    values = {name: getattr(given, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def benchmark_of(
    arguments: RunArguments, rollouts: object, baseline: Mapping[str, object]
) -> Benchmark:
    """Make the benchmark that compares two runs."""
    settings: dict[str, object] = {
        "rollouts": rollouts,
        "metrics": list(arguments.metrics),
        "behaviour": arguments.behaviour,
        "baseline": {**baseline, **arguments.settings},
    }
    if arguments.pass_threshold is not None:
        settings["pass_threshold"] = arguments.pass_threshold
    benchmark = benchmark_in_python(
        settings,
        name="run",
        file=Path.cwd() / "compare",
        line=1,
        shown=arguments.command,
        what="command",
    )
    return structs.replace(benchmark, in_python=False)


def short_names(paths: Sequence[str]) -> list[str]:
    """Name runs by the shortest unique ends of their paths."""
    for parts in range(1, _PARTS):
        names = ["/".join(Path(path).parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return list(paths)


# -- reports ---------------------------------------------------------------------------------


def reports_of(paths: Sequence[str]) -> list[Path]:
    """Return the runs' reports; none if all of them are rollouts."""
    reports = []
    for path in paths:
        file = Path(path)
        if file.is_dir():
            file /= "report.json"
        if file.name.endswith("report.json") and file.is_file():
            reports.append(file.resolve())
    if reports and len(reports) < len(paths):
        hint = "compare files of rollouts with each other, or reports with each other"
        what = "some of these runs are reports, and some are rollouts"
        raise EvalMetricsError(what, hint=hint)
    return reports


def benchmarks_of(report: Path) -> dict[str, str]:
    """Return the benchmarks of a report, each with its file."""
    try:
        entries = json.loads(report.read_bytes())["benchmarks"]
        return {entry["name"]: entry["file"] for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        what = "not the report of a run"
        hint = "name a report.json that a run of this plugin wrote"
        raise EvalMetricsError(what, file=str(report), hint=hint) from None


def tables_of(
    report: Path, benchmark: str, file: str, shown: str
) -> dict[str, RolloutTable]:
    """Return the rollouts of a report's benchmark, by agent."""
    recorded = baselines.from_report(report, benchmark, file=Path(file), shown=shown)
    tables = baselines.tables(recorded, file=shown)
    return {agent: runs[0] for agent, runs in tables.items()}


# -- rollouts --------------------------------------------------------------------------------


def rollouts_at(path: str) -> Path:
    """Find a run's rollouts; of a folder all files that could be some."""
    if "://" in path:
        return Path(path)
    place = Path(path).absolute()
    if place.is_dir():
        folder = files_in(str(place), Path.cwd())
        if folder.left_out:
            names = visible(listed(folder.left_out, _LISTED))
            sys.stderr.write(f"not read of {path}: {names}\n")
        return Path(folder.pattern)
    is_pattern = any(sign in path for sign in "*?[")
    if not place.exists() and not is_pattern:
        what = f"there is no file or folder {path}"
        raise EvalMetricsError(what, hint="name a recorded run")
    return place


class RunReader:
    """Reads runs with the fields that options name, and with what the first run suggests."""

    def __init__(self, arguments: RunArguments) -> None:
        self._arguments = arguments
        self._told = ""  # the guess about the files, which all runs share

    def read(self, paths: Sequence[Path], read: Callable[[JsonObject], T]) -> T:
        """Call `read` with the keys of ``rollouts:`` that the files need beside their path."""
        named = self._named_keys()
        if not named:
            try:
                return read({})
            except EvalMetricsError as error:
                why = error
        reward = self._arguments.fields.get("reward")
        proposal = propose(str(paths[0]), Path.cwd(), self._field_map(reward))
        if proposal is not None:
            if reward is None and proposal.constant_rewards:
                proposal = self._with_shared_reward(paths, proposal)
            return self._read_as_proposed(paths, proposal, read)
        if not named:
            raise why
        # its format has a loader
        return read({"fields": {**self._arguments.fields}, **named})

    def _named_keys(self) -> JsonObject:
        """Return the keys that options give; empty if none does."""
        keys: JsonObject = {}
        if self._arguments.fields:
            keys["fields"] = {**self._arguments.fields}
        unjudged = self._unjudged()
        if unjudged:
            keys["missing"] = [*unjudged]
        return keys

    def _field_map(self, reward: str | None) -> FieldMap:
        fields = self._arguments.fields
        return FieldMap(
            task=fields.get("task"),
            sample=fields.get("sample"),
            agent=fields.get("agent"),
            reward=reward,
        )

    def _unjudged(self) -> list[str]:
        """Return the values that mean not judged, if an option names some."""
        values = self._arguments.missing or ()
        return [value for value in values if value != _ALL_JUDGED]

    def _with_shared_reward(
        self, paths: Sequence[Path], proposal: Proposal
    ) -> Proposal:
        """Take the reward that all runs name alike, where the first holds one value of it.

        A benchmark is not made of such a run, but two runs that share the field show a change.
        """
        reward = _shared_reward(paths, proposal, self._field_map(None))
        if reward is None:
            return proposal
        named = self._field_map(reward)
        runs = [propose(str(path), Path.cwd(), named) for path in paths]
        words: dict[str, float | None] = {}
        questions: dict[str, str] = {}
        for run in runs:
            if run is None:  # of a format with a loader
                return proposal
            words |= run.spec.map.get("reward", {})
            questions |= run.questions
        first = runs[0] or proposal
        spec = first.spec
        if words:
            spec = replace(spec, map={"reward": words})
        reason = f"reward: {reward}, by its name, which all runs share"
        return structs.replace(
            first, spec=spec, reasons=(*first.reasons, reason), questions=questions
        )

    def _read_as_proposed(
        self, paths: Sequence[Path], proposal: Proposal, read: Callable[[JsonObject], T]
    ) -> T:
        """Read runs as it is proposed, if nothing of it is open."""
        for question, choices in proposal.questions.items():
            if question not in ("direction", "missing"):  # asked for below
                raise _unclear(question, choices, paths[0])
        self._tell(paths[0], proposal)
        keys: JsonObject = {**proposal.keys}
        if self._arguments.missing is None:
            _must_be_judged(paths, self._field_map(proposal.reward))
        else:
            keys["missing"] = [*self._unjudged()]
        keys["fields"] = {**object_of(keys.get("fields")), **self._arguments.fields}
        result = read(keys)
        if proposal.undirected is not None and self._arguments.direction is None:
            # which way is better of a field that was taken as the reward by its values?
            reward = f"{proposal.undirected}, which is taken as the reward"
            raise without_direction([reward])
        return result

    def _tell(self, path: Path, proposal: Proposal) -> None:
        """Say once how the files are read."""
        if not proposal.reasons:
            return
        guess = visible(
            f"{path.name} is read as follows: {'; '.join(proposal.reasons)}"
        )
        if guess != self._told:
            self._told = guess
            sys.stderr.write(
                fitted(f"evalmetrics {self._arguments.command}: {guess}\n")
            )


def _shared_reward(
    paths: Sequence[Path], first: Proposal, named: FieldMap
) -> str | None:
    """Find a reward of one value in the first run that the other runs have as well."""
    shared = list(first.constant_rewards)
    for path in paths[1:]:
        other = propose(str(path), Path.cwd(), named)
        if other is None:
            return None
        rewards = other.constant_rewards
        if other.reward is not None:
            rewards = (other.reward,)
        shared = [reward for reward in shared if reward in rewards]
    return shared[0] if len(shared) == 1 else None


def _must_be_judged(paths: Sequence[Path], named: FieldMap) -> None:
    """Refuse runs with a number that may mean not judged, such as -1 or 999."""
    for path in paths:
        proposal = propose(str(path), Path.cwd(), named)
        if proposal is not None and "missing" in proposal.questions:
            raise _unclear("missing", proposal.questions["missing"], path)


# -- errors ----------------------------------------------------------------------------------


def _unclear(question: str, choices: str, path: Path) -> EvalMetricsError:
    """Create the error for a question about the files that an option answers."""
    field = question.rpartition(".")[2]
    what = f"the {field} is not clear"
    option = "a benchmark file with map:"
    if field == "missing":
        what = "a value may mean that nobody judged"
        option = f"--missing VALUE, or --missing {_ALL_JUDGED}"
    elif field in _FIELDS:
        option = f"--{field}"
    message = f"{what}: {choices}"
    return EvalMetricsError(message, file=path.name, hint=f"say it with {option}")


def without_direction(metrics: Sequence[str]) -> EvalMetricsError:
    """Create the error for metrics of which nothing says which way is better."""
    return EvalMetricsError(
        f"nothing says which way is better for {', '.join(metrics)}",
        hint="add --direction higher, or --direction lower",
    )


@contextmanager
def errors_of_options() -> Iterator[None]:
    """Say what is wrong with an option, where the keys of a benchmark were made of them."""
    try:
        yield
    except ConfigError as error:
        text = "\n".join(map(_of_option, error.problems))
        raise EvalMetricsError(text) from None


def _of_option(problem: Problem) -> str:
    """Say what is wrong with an option, or which one is missing."""
    if problem.undeclared:
        return str(without_direction(problem.undeclared))
    return problem.text.removeprefix("baseline.")
