"""Reports on recorded rollouts, and benchmark files for them."""

from __future__ import annotations

import glob
import math
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.json_types import object_of
from pytest_evalmetrics.layout import in_natural_order, listed, many, visible
from pytest_evalmetrics.model.rollout_table import STATED_ERROR
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.folders import FolderFiles, files_in
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.guess import Proposal, propose
from pytest_evalmetrics.rollouts.guess.draft import draft_lines
from pytest_evalmetrics.rollouts.guess.rewards import OPEN, choose_reward
from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source, score_paths
from pytest_evalmetrics.rollouts.tool_settings import migrated
from pytest_evalmetrics.rollouts.tool_usage import USAGE
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_KEYS: Final = ("reward", "num_samples", "metrics", "expect")  # in a benchmark file
_LISTED: Final = 10  # files
_TASKS_LISTED: Final = 3


class Choices(msgspec.Struct, frozen=True):
    """What a person has decided about rollouts; None for what is guessed.

    Attributes
    ----------
    rows
        The path of the rows within a file.
    task, reward
        The fields with the task's id and with its score.
    max_drop
        A loss that matters, in the unit of the reward.
    """

    rows: str | None = None
    task: str | None = None
    reward: str | None = None
    max_drop: float | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The fields that are named."""
        named = {"task": self.task, "reward": self.reward}
        return {name: field for name, field in named.items() if field is not None}


class SurveyText(msgspec.Struct, frozen=True):
    """A report on rollouts, and a benchmark file for them, each of whole lines."""

    report: str
    benchmark: str


class WrittenBenchmark(msgspec.Struct, frozen=True):
    """A benchmark file that was written."""

    path: Path
    report: str  # on the rollouts; empty for another tool's settings
    notes: tuple[Note, ...] = ()  # of the rollouts
    open_lines: tuple[str, ...] = ()  # of the file, which a person fills in
    has_baseline: bool = True


class _Survey(msgspec.Struct, frozen=True):
    """What rollouts hold, and a benchmark for them."""

    report: list[str]
    benchmark: JsonObject
    comments: Mapping[str, str]
    reasons: tuple[str, ...] = ()
    questions: Mapping[str, str] = msgspec.field(default_factory=dict)
    # of the rows, the tasks and the rewards that were read
    evidence: Mapping[str, str] = msgspec.field(default_factory=dict)
    notes: tuple[Note, ...] = ()  # of the rollouts

    @property
    def is_open(self) -> bool:
        """Whether a person has to fill in something."""
        return bool(self.questions)

    def lines(self, *top: str, comments: Mapping[str, str]) -> list[str]:
        """Write the benchmark file."""
        return draft_lines(
            content={"benchmark": self.benchmark},
            comments={**self.comments, **comments},
            questions={
                path.rpartition(".")[2]: text for path, text in self.questions.items()
            },
            top=[*top, *self.reasons],
        )


def survey(pattern: str, base: Path, describe: Callable[[Note], str]) -> SurveyText:
    """Read rollouts, and report what was recognised, found and missing.

    `describe` writes a note of theirs in a line.
    """
    found = _surveyed(pattern, base, Choices())
    baseline = {"baseline": "record it with: pytest --evalmetrics-update"}
    title = f"a benchmark file to start from, such as {_name(pattern)}.bench.yaml"
    lines = found.lines(title, comments={} if found.is_open else baseline)
    notes = map(describe, found.notes)
    return SurveyText(report=_joined([*found.report, *notes]), benchmark=_joined(lines))


def decision_lines(pattern: str, base: Path, choices: Choices) -> list[str]:
    """Describe the four decisions about rollouts, each with its evidence and its option."""
    found = _surveyed(pattern, base, choices)
    keys = object_of(found.benchmark["rollouts"])
    fields = object_of(keys.get("fields"))
    task = fields.get("task", "")
    if isinstance(task, list):
        task = "/".join(map(str, task))
    drop = "the default, 0.01 of a rate"
    if choices.max_drop is not None:
        drop = f"{choices.max_drop:g}"
    decided: JsonObject = {
        "rows": _rows_key(keys) or "as the file has them",
        "task": task,
        "reward": fields.get("reward") or found.benchmark.get("reward", ""),
        "max-drop": drop,
    }
    lines = []
    for name, value in decided.items():
        why = _question(found, name) or found.evidence.get(name, "")
        shown = f"{value or 'as its format says'}  {why}"
        lines.append(visible(f"  {name:9} {shown.rstrip()}  (--{name})"))
    return lines


def _rows_key(keys: JsonObject) -> str:
    """Return the key of ``rollouts:`` that says where the rows are; empty without one."""
    for key in ("rows", "keyed", "lists"):
        if key in keys:
            return str(keys[key])
    return ""


def _question(found: _Survey, name: str) -> str:
    """Return what is asked about a decision; empty if it is clear."""
    for path, text in found.questions.items():
        if path.endswith(name):
            return text
    return ""


def write_benchmark(
    pattern: str, base: Path, choices: Choices | None = None
) -> WrittenBenchmark:
    """Write a benchmark file for rollouts of any shape, or for another tool's settings."""
    source = base / pattern
    title = "written by evalmetrics init"
    name = f"{_name(pattern)}.bench.yaml"
    if source.suffix in (".yaml", ".yml") and source.is_file():
        lines = _lines_of_settings(source, title)
        _write_new(base / name, lines)
        return WrittenBenchmark(
            path=base / name,
            report="",
            notes=(),
            open_lines=_open_lines(name, lines),
            has_baseline=True,
        )
    found = _surveyed(pattern, base, choices or Choices())
    lines = found.lines(title, comments={})
    _write_new(base / name, lines)
    return WrittenBenchmark(
        path=base / name,
        report=_joined(found.report) if found.report else "",
        notes=found.notes,
        open_lines=_open_lines(name, lines),
        has_baseline="baseline" in found.benchmark,
    )


def _lines_of_settings(source: Path, title: str) -> list[str]:
    """Write the benchmark file for another tool's settings."""
    settings = migrated(source)
    if settings is None:
        hint = "give the files of results; of settings those of promptfoo and vLLM are known"
        raise DataError("this YAML holds no results", file=source.name, hint=hint)
    return draft_lines(settings.content, settings.comments, {}, [title])


def _write_new(path: Path, lines: Iterable[str]) -> None:
    """Write a file that is not there yet."""
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(_joined(lines))
    except FileExistsError:
        raise DataError(
            "there is such a benchmark file already",
            file=path.name,
            hint="change it by hand, or rename it and start anew",
        ) from None
    except OSError as error:
        message = f"it can't be written: {error.strerror}"
        raise DataError(message, file=path.name) from None


def _open_lines(name: str, lines: Iterable[str]) -> tuple[str, ...]:
    """List the lines that a person has to fill in, each with its place."""
    return tuple(
        f"{name}:{number}: {line.strip()}"
        for number, line in enumerate(lines, 1)
        if f": {OPEN}" in line and not line.startswith("#")
    )


def _joined(lines: Iterable[str]) -> str:
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


def _surveyed(pattern: str, base: Path, choices: Choices) -> _Survey:
    """Describe rollouts, and make a benchmark for them, with what was decided."""
    found = _proposed(pattern, base, choices)
    if choices.max_drop is None:
        return found
    baseline = found.benchmark.get("baseline")
    if baseline is None:
        hint = "write its limit into the file, or give results of several tasks"
        message = "--max-drop is for a baseline, and a summary is gated by a threshold"
        raise DataError(message, hint=hint)
    settings = {**object_of(baseline), "max_drop": choices.max_drop}
    benchmark = {**found.benchmark, "baseline": settings}
    return structs.replace(found, benchmark=benchmark)


def _proposed(pattern: str, base: Path, choices: Choices) -> _Survey:
    """Propose a benchmark: of the format's own fields, or of those that are named or guessed."""
    pattern = _relative(pattern, base)
    if (base / pattern).is_dir():
        folder = files_in(pattern, base)
        found = _proposed_for(folder.pattern, base, choices)
        return structs.replace(found, report=[*_left_out(folder), *found.report])
    return _proposed_for(pattern, base, choices)


def _left_out(folder: FolderFiles) -> Iterator[str]:
    """Say which files of a folder are not read."""
    if folder.left_out:
        names = listed(folder.left_out, _LISTED)
        yield f"not read, as {folder.pattern} does not match them: {names}"


def _proposed_for(pattern: str, base: Path, choices: Choices) -> _Survey:
    """Propose a benchmark for a file or a glob."""
    task = None
    if choices.task is not None:
        task = (choices.task,)
    named = FieldMap(task=task, reward=choices.reward)
    spec = RolloutsSpec(path=(pattern,), rows=choices.rows, fields=named)
    proposal = Proposal(spec=spec)
    if choices.rows is not None:
        return _read(pattern, base, proposal, load(spec, base, scores=("reward",)))
    table = None
    if not choices.fields:
        table = _own_table(spec, base)
    if table is None:
        guess = propose(pattern, base, named)
        if guess is None:  # its format has a loader, which says why it can't be read
            table = _table(spec, base, explains=True)
            return _read(pattern, base, proposal, table)
        if guess.questions:
            return _open(pattern, guess)
        proposal = guess
        table = load(guess.spec, base, scores=("reward",))
    return _read(pattern, base, proposal, table)


def _own_table(spec: RolloutsSpec, base: Path) -> RolloutTable | None:
    """Read rollouts whose format says what they hold; None for others."""
    try:
        return _table(spec, base, explains=False)
    except DataError:
        return None


def _table(spec: RolloutsSpec, base: Path, *, explains: bool) -> RolloutTable:
    """Read rollouts, with the reward that their format has, if it has one."""
    with suppress(DataError):
        return load(spec, base, scores=("reward",), explains=False)
    return load(spec, base, scores=(), explains=explains)


def _open(pattern: str, proposal: Proposal) -> _Survey:
    """Make a benchmark of which a person has to fill in lines."""
    benchmark: JsonObject = {
        "name": _name(pattern),
        "rollouts": {"path": pattern, **proposal.keys},
        "metrics": ["mean_reward"],
        "baseline": True,
    }
    if "direction" in proposal.questions:
        benchmark["baseline"] = {"direction": OPEN}
    return _Survey(
        report=[*proposal.reasons],
        benchmark=benchmark,
        comments={},
        reasons=proposal.reasons,
        questions=proposal.questions,
    )


def _read(pattern: str, base: Path, proposal: Proposal, table: RolloutTable) -> _Survey:
    """Make a benchmark for rollouts that were read."""
    reward: str | None = "reward"
    keys: JsonObject = {}
    reasons_of_choice: list[str] = []
    questions: dict[str, str] = {}
    if "reward" not in table.scores:
        choice = choose_reward(_columns(table), ())
        reasons_of_choice.append(choice.reason)
        if choice.chosen is None:
            reward = None
            questions["reward"] = choice.question
        else:
            reward = choice.chosen.path
        keys["reward"] = reward or OPEN
    column = table.scores.get(reward or "", np.empty(0))
    is_lower = _is_lower(proposal, reward)
    counts = np.concatenate([np.diff(part.offsets) for _, part in table.by_agent()])
    metrics = _metrics(column, int(counts.min()), is_lower=is_lower)
    gates = _gates(table, column, metrics[0], is_lower=is_lower)
    keys["metrics"] = list(metrics)
    if counts.min() == counts.max():
        keys["num_samples"] = int(counts.min())
    expect = _expected(table, column)
    if expect:
        keys["expect"] = expect
    comments = dict(gates.comments)
    if Path(pattern).is_absolute():
        comments["path"] = "an absolute path, which other machines do not have"
    rollouts: JsonObject | str = pattern
    if proposal.keys:
        rollouts = {"path": pattern, **proposal.keys}
    benchmark: JsonObject = {
        "name": _name(pattern),
        "rollouts": rollouts,
        **{name: keys[name] for name in _KEYS if name in keys},
        **gates.keys,
    }
    return _Survey(
        report=[*_report(table, base, reward)],
        notes=table.notes,
        benchmark=benchmark,
        comments=comments,
        reasons=(*proposal.reasons, *gates.reasons, *reasons_of_choice),
        questions={**gates.questions, **questions},
        evidence=_evidence(table, column),
    )


def _is_lower(proposal: Proposal, reward: str | None) -> bool:
    """Check whether less of the reward is better, by the name of its field."""
    if proposal.spec.map:
        return False
    path = score_paths(proposal.spec.fields).get("reward")
    return should_be_low(path or reward or "")


def _expected(table: RolloutTable, column: NDArray[np.float64]) -> JsonObject:
    """Write what is expected of each run: as many tasks, and no missing reward."""
    expect: JsonObject = {}
    tasks = {len(part.tasks) for _, part in table.by_agent()}
    if len(tasks) == 1:
        expect["tasks"] = tasks.pop()
    if np.isnan(column).any():
        expect["missing_reward"] = "error"
    return expect


class _Gates(msgspec.Struct, frozen=True):
    """The gates of a proposed benchmark: keys of it, with what stands beside them."""

    keys: JsonObject
    comments: dict[str, str] = msgspec.field(default_factory=dict)
    questions: dict[str, str] = msgspec.field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def _gates(
    table: RolloutTable, column: NDArray[np.float64], metric: str, *, is_lower: bool
) -> _Gates:
    """Propose a baseline; of a single number, whose noise nothing shows, a threshold."""
    stated = _thresholds(table)
    keys: JsonObject = {}
    comments: dict[str, str] = {}
    if stated:
        keys["thresholds"] = stated
        comments["thresholds"] = "as the files say"
    if _is_summary(table) and len(column):
        why = "baseline: none, because one number can't show which loss is noise"
        if stated:
            return _Gates(keys=keys, comments=comments, reasons=(why,))
        return _Gates(
            keys={"thresholds": {metric: OPEN}},
            questions={f"thresholds.{metric}": _limit(column, is_lower=is_lower)},
            reasons=(why,),
        )
    keys["baseline"] = True
    if is_lower:
        keys["baseline"] = {"direction": "lower"}
        hint = "the direction is proposed from the reward's name: check it"
        comments["baseline"] = hint
    return _Gates(keys=keys, comments=comments)


def _is_summary(table: RolloutTable) -> bool:
    """Check for a single number without its standard error, which no baseline can judge."""
    has_error = any(name.startswith(STATED_ERROR) for name in table.scores)
    return len(table) == 1 and not has_error


def _limit(column: NDArray[np.float64], *, is_lower: bool) -> str:
    """Ask for the limit of a summary's number, which is shown."""
    which = "'>= ...', the least"
    if is_lower:
        which = "'<= ...', the most"
    return f"{which} that you accept; it is {float(column[0]):.4g}"


def _evidence(table: RolloutTable, column: NDArray[np.float64]) -> dict[str, str]:
    """Say what was read: rows, tasks, rewards."""
    tasks = {name for _, part in table.by_agent() for name in part.tasks}
    given = column[np.isfinite(column)]
    first = listed(in_natural_order(map(str, tasks)), 3)
    evidence = {
        "rows": many(len(table), "row"),
        "task": f"{many(len(tasks), 'task')} ({first})",
    }
    if len(given):
        evidence["reward"] = (
            f"mean {given.mean():.3g}, from {given.min():.4g} to {given.max():.4g}"
        )
    return evidence


def _metrics(column: NDArray[np.float64], least: int, *, is_lower: bool) -> list[str]:
    given = column[np.isfinite(column)]
    is_binary = len(given) and np.isin(given, (0, 1)).all() and not is_lower
    if not is_binary:
        return ["mean_reward"]
    if least == 1:
        return ["pass@1"]
    return ["pass@1", f"pass@{least}", f"pass^{least}"]


def _columns(table: RolloutTable) -> dict[str, SeenColumn]:
    """Return the scores of a table that may be the reward, of rollouts that have a score."""
    scores = {
        name: column for name, column in table.scores.items() if name not in USAGE
    }
    if not scores:
        return {}
    has_score = np.any([np.isfinite(column) for column in scores.values()], axis=0)
    columns = {}
    for name, column in scores.items():
        kind = int if name in table.integers else float
        values = [
            kind(value) if math.isfinite(value) else None
            for value in column[has_score].tolist()
        ]
        columns[name] = SeenColumn(path=name, values=values)
    return columns


def _relative(pattern: str, base: Path) -> str:
    """Write a path for a file that is committed: relative, where it leads nowhere else."""
    if "://" in pattern:
        return pattern
    if not Path(pattern).is_absolute():
        return Path(pattern).as_posix()
    try:
        return Path(pattern).relative_to(base).as_posix()
    except ValueError:
        return pattern


def _report(table: RolloutTable, base: Path, reward: str | None) -> Iterator[str]:
    for source in table.sources[:_LISTED]:
        path = base / source.path
        rows = many(source.rows, "rollout")
        kind = ""
        if path.exists():  # otherwise it is remote
            kind = f"{_kind_of(path)}, "
        yield f"{source.path}: {kind}{rows}"
    if len(table.sources) > _LISTED:
        yield f"and {many(len(table.sources) - _LISTED, 'more file')}"
    parts = list(table.by_agent())
    for agent, part in parts:
        line = _tasks_of(part)
        yield f"agent {agent}: {line}" if len(parts) > 1 else line
    width = max(map(len, table.scores), default=0)
    for name, column in table.scores.items():
        line = f"  {name:{width}}  {_values_of(column)}"
        yield f"{line}  <- the reward" if name == reward else line


def _tasks_of(part: RolloutTable) -> str:
    """Describe the tasks of an agent: how many, with how many rollouts each, and the first."""
    counts = np.diff(part.offsets)
    least = counts.min()
    most = counts.max()
    each = many(int(most), "rollout")
    if least < most:
        each = f"{least} to {each}"
    names = listed(in_natural_order(part.tasks), _TASKS_LISTED)
    return f"{many(len(part.tasks), 'task')}, {each} each: {names}"


def _values_of(column: NDArray[np.float64]) -> str:
    """Describe the values of a score."""
    given = column[np.isfinite(column)]
    if not len(given):
        return "nothing but missing values"
    values = f"mean {given.mean():.4g}, from {given.min():.4g} to {given.max():.4g}"
    if len(given) < len(column):
        values += f", {len(column) - len(given)} missing"
    return values


def _kind_of(path: Path) -> str:
    """Name the format of a file, as people do: the rows of a .json file are no JSON Lines."""
    name = recognise(open_source(RolloutFile(path, path.name))).name
    if name == "jsonl" and ".json" in path.suffixes:
        return "json"
    return name


def _thresholds(table: RolloutTable) -> JsonObject:
    """Return the thresholds that files state for their scores, as deepeval's do."""
    bounds: JsonObject = {}
    for scorer, settings in table.ruler.items():
        stated = settings.get("threshold", ())
        # a scorer is named after its score; what it changes besides, it does not bound, such as
        # the score of a test by the seconds that an assertion of promptfoo allows
        own = [name for name in settings.get("scores", ()) if scorer.endswith(name)]
        if len(own) != 1 or len(stated) != 1 or own[0] not in table.scores:
            continue
        with suppress(ValueError):  # it is not a number
            bounds[f"mean/{own[0]}"] = {"min": float(stated[0])}
    return bounds


def _name(pattern: str) -> str:
    names = [part for part in Path(pattern).parts if not glob.has_magic(part)]
    if not names:
        return "benchmark"
    stem = names[-1].partition(".")[0]
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "benchmark"
