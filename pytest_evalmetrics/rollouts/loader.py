"""The interface of a format, and the formats that come with the package.

A loader turns one file of rollouts into chunks of columns. It is imported only where a file is of
its format.
"""

from __future__ import annotations

import re
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

from pytest_evalmetrics.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.source import Source, SourceRow
    from pytest_evalmetrics.spec import FieldMap


@record
class Request:
    """The columns and records that a benchmark reads from its rollouts."""

    fields: FieldMap  #: Where a row keeps what we need, as far as the benchmark file says it.
    scores: tuple[str, ...] = ()  #: The scores that it needs: these have to be numbers.
    categories: tuple[str, ...] = ()  #: The fields that are kept as labels.
    by_position: bool = False  #: Whether each row is a task of its own, whose id is its position.
    whole: bool = False  #: Whether rows are wanted whole, see `Chunk.records`.


@record
class NotFinite:
    """A number of a file that counts as missing: NaN, infinite or too large."""

    score: str  #: The score's name.
    what: str  #: ``NaN``, or ``infinite or too large``.
    place: int  #: The line or the row that holds it.


@record
class Failure:
    """An error of one rollout, as its tool recorded it."""

    row: int  #: The rollout's index in its chunk.
    kind: str  #: What it is counted under: the exception's name, say.
    message: str = ""  #: The exception's message.
    graded: bool = False  #: Whether the rollout has its scores all the same.


@record
class Chunk:
    """Some consecutive rows of one file, as columns."""

    #: Line (or number, see `Source.unit`) of each row in its file, from 1, shape (rows,).
    places: NDArray[np.int64]
    task: Sequence[TaskId]  #: Task ids.
    sample: Sequence[int | None]  #: The attempts' numbers, from 0; None where a row has none.
    agent: Sequence[str | None]  #: The agents' names; None where a row has none.
    #: Name -> float64 column, shape (rows,), NaN where missing, in the order in which the names
    #: first appear in all the files so far.
    scores: Mapping[str, NDArray[np.float64]]
    #: Tokens and the like in the same form; they win over a score of the same name.
    usage: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    #: Category -> text; None where a row has none.
    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    #: Names with at least one value written with a fraction or an exponent.
    fractional: frozenset[str] = frozenset()
    not_finite: Sequence[NotFinite] = ()  #: The numbers that count as missing.
    #: Score -> where text, a list or an object was first met under its name.
    not_numbers: Mapping[str, str] = field(default_factory=dict)
    #: The same as a place in this file, of whatever may yet turn out to be a score: by its name,
    #: and by whether it is one of the usage.
    other_kinds: Mapping[tuple[str, bool], int] = field(default_factory=dict)
    keys: Sequence[str] = ()  #: The keys that a row can have, for messages.
    names: Sequence[str] = ()  #: The rows' names in messages, where file and place say too little.
    #: When each rollout began, in seconds, shape (rows,): rows without a sample are numbered in
    #: this order, those of the same time (or NaN) as they come.
    started: NDArray[np.float64] | None = None
    failures: Sequence[Failure] = ()  #: The rollouts in which something went wrong.
    notes: Sequence[str] = ()  #: What a reader should know of the file.
    #: The scores that a format has in place of a reward: the only one becomes the reward where no
    #: row has a score named ``reward``. None: there is no such rule.
    rewards: Sequence[str] | None = None
    #: The whole rows, where `Request.whole` asks for them, to be scored; one whose attempt failed
    #: says so under `spec.metric_names.MARK`. Empty of a format whose rows can't be scored.
    records: Sequence[Mapping[str, Any]] = ()
    #: Agent and task id -> the task's `content_hash`, for tasks that were not hashed before.
    content: Mapping[tuple[str | None, TaskId], str] = field(default_factory=dict)
    #: Whether hashes are of tasks' versions, of which a task may have many.
    versioned: bool = False
    #: Whether an environment may deal each rollout of a task another question.
    dealt: bool = False
    positional: bool = False  #: Whether task ids are positions in a data set rather than names.
    #: The scorers as the file describes them: name, setting and value; the scores that one gave
    #: are its setting ``scores``.
    ruler: Sequence[tuple[str, str, str]] = ()


class Loader(Protocol):
    """Reads files of one format, for one benchmark."""

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, or a row lacks what it needs.
        """


@runtime_checkable
class TextLoader(Loader, Protocol):
    """A loader whose rows can also be had whole as JSON text, to be scored."""

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Yield the rows of one file in the order of `read`; raises as `read` does."""


@runtime_checkable
class RowLoader(Loader, Protocol):
    """The same of a format that is no JSON."""

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows of one file in the order of `read`: their places, and builtins."""


class LoaderFactory(Protocol):
    """A registered loader: a class, or anything that makes a `Loader` for a benchmark."""

    def __call__(self, request: Request) -> Loader:
        """Make one, which reads all the files of its format."""


# -- the formats ---------------------------------------------------------------------------

DEEPEVAL_CASES: Final = ("testCases", "conversationalTestCases", "test_results")
DEEPEVAL_METRICS: Final = ("metricsData", "metrics_data", "metricsMetadata")
_NEMO_GYM: Final = "_ng_task_index"  # its rows may look like those of verifiers
_ZIP_MEMBER: Final = 30  # where a zip's first member has its name
_LOG_MEMBERS: Final = (b"_journal/", b"header.json", b"reductions.json", b"samples/", b"summaries")
_is_column_name = re.compile(r'"?[\w .:/%@#()*+-]+"?').fullmatch


def _sets(*lines: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(line.split()) for line in lines)


HARBOR_TRIAL, HARBOR_JOB = _sets("task_name trial_name", "n_total_trials stats")
LM_EVAL_RESULTS: Final = _sets("results configs", "results n-shot", "results group_subtasks")
(PROMPTFOO_ROW,) = _sets("success score namedScores provider")


class Format(msgspec.Struct, frozen=True):
    """One format: its name, its loader as ``module:class``, and how its files look."""

    name: str
    loader: str
    keys: tuple[frozenset[str], ...] = ()  # a file has all the keys of one of these,
    shown_by: Callable[[Source], bool] | None = None  # or this is true of it

    def recognises(self, source: Source) -> bool:
        """Check whether a file looks like one of this format."""
        if any(source.keys >= keys for keys in self.keys) and _NEMO_GYM not in source.keys:
            return True
        return self.shown_by is not None and self.shown_by(source)

    def load(self) -> LoaderFactory:
        """Import the loader."""
        module, _, name = self.loader.partition(":")
        loader: LoaderFactory
        loader = getattr(import_module(f"pytest_evalmetrics.rollouts.{module}"), name)
        return loader


def recognise(source: Source) -> Format:
    """Find a file's format by its content; the last one takes what is left."""
    return next(each for each in FORMATS if each.recognises(source))


def csv_separator(line: str) -> str:
    """Choose the separator of a CSV file's cells by its first line."""
    return max(",\t;", key=line.count)


def _is_log_archive(source: Source) -> bool:
    return source.is_zip and source.head[_ZIP_MEMBER:].startswith(_LOG_MEMBERS)


def _is_trials_folder(source: Source) -> bool:
    if not source.is_folder:
        return False
    from pytest_evalmetrics.rollouts.harbor import is_trials_folder  # noqa: PLC0415 - for a folder

    return is_trials_folder(source.path)


def _is_csv(source: Source) -> bool:
    """Take text whose first line is of several names, and whose second has as many cells."""
    if source.head[:1] in (b"{", b"[", b""):
        return False
    import csv  # noqa: PLC0415 - for what is no JSON

    try:
        names, cells = (line for line in source.head.decode().splitlines()[:2] if line.strip())
    except ValueError:  # no text, or less than two lines
        return False
    separator = csv_separator(names)
    columns = [name.strip() for name in names.split(separator)]
    return (
        len(columns) > 1
        and len(set(columns)) == len(columns)
        and all(map(_is_column_name, columns))
        and (
            len(next(csv.reader([cells], delimiter=separator), [])) == len(columns)
            or cells.count('"') % 2 == 1
        )
    )


_INSPECT_AI: Final = _sets("eval.task eval.model")
_LM_EVAL: Final = (*_sets("doc_id doc filtered_resps"), *LM_EVAL_RESULTS)
_PROMPTFOO: Final = (PROMPTFOO_ROW, *_sets("results.results", "results.version results.prompts"))
_TRACES: Final = _sets("traces task.key", "traces task.hash", "traces task.data")
_VERIFIERS: Final = _sets(
    "prompt completion reward example_id",
    *(f"prompt completion reward id {key}" for key in ("task", "info", "answer")),
)
_DEEPEVAL: Final = _sets(
    *(f"{cases} {key}" for cases in DEEPEVAL_CASES for key in ("testPassed", "metricsScores")),
    *(f"{cases}.{metrics}" for cases in DEEPEVAL_CASES for metrics in DEEPEVAL_METRICS),
)
_PYDANTIC_EVALS: Final = _sets(
    "name cases cases.scores cases.assertions cases.task_duration",
    "name cases failures.error_message failures.error_stacktrace",
    "name cases failures analyses",
)
# tried in this order; the last one reports what is wrong with an unrecognised file
FORMATS: Final = (
    Format("inspect_ai", "inspect_ai:InspectAi", _INSPECT_AI, _is_log_archive),
    Format("harbor", "harbor:Harbor", (HARBOR_TRIAL, HARBOR_JOB), _is_trials_folder),
    Format("lm_eval", "lm_eval:LmEval", _LM_EVAL),
    Format("promptfoo", "case_reports:Promptfoo", _PROMPTFOO),
    Format("verifiers_traces", "verifiers:VerifiersTraces", _TRACES),
    Format("verifiers", "verifiers:Verifiers", _VERIFIERS),
    Format("deepeval", "case_reports:DeepEval", _DEEPEVAL),
    Format("pydantic_evals", "case_reports:PydanticEvals", _PYDANTIC_EVALS),
    Format("parquet", "parquet:Parquet", (), lambda source: source.head.startswith(b"PAR1")),
    Format("arrow", "parquet:Arrow", (), lambda source: source.head.startswith(b"ARROW1")),
    Format("csv", "tabular:Csv", (), _is_csv),
    Format("json", "json_files:JsonArray", (), lambda source: source.is_array),
    Format("jsonl", "json_files:JsonLines", (), lambda source: not source.is_array),
)
