"""Reporters: the built-in ones, each named as its file, and how all of them are run."""

from __future__ import annotations

import inspect
import json
import os
import re
import uuid
from collections import Counter
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.registry import origin, register_reporter, reporters
from pytest_evalmetrics.reports.check_wording import estimate_below
from pytest_evalmetrics.reports.ci_logs import code_quality
from pytest_evalmetrics.reports.html.page import page, page_of
from pytest_evalmetrics.reports.payload import GROUPS_FILE, Artifacts
from pytest_evalmetrics.reports.report_json import report_document
from pytest_evalmetrics.reports.summary import summary
from pytest_evalmetrics.run_folder import make_folder
from pytest_evalmetrics.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, RunReport
    from pytest_evalmetrics.run_origin import RunOrigin

    # of each file the end of its path, its pieces
    Files = Iterator[tuple[str, Iterable[bytes]]]
    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None

_LARGE = 4 * 2**20  # bytes of a report, above which indents help no reader


# -- the built-in reporters, in the order in which they write --------------------------------


class FinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The input of the built-in reporters."""

    kept: Artifacts
    report: RunReport
    document: Mapping[str, Any]  # the same as builtins, for the user's reporters
    root: Path  # the report names benchmark files relative to it
    origin: Callable[[], RunOrigin]  # its time and commit
    names: Sequence[str] | None  # of the reporters that the user chose
    remark: str = ""  # on the run as a whole

    def array(self, kind: str) -> Iterator[bytes]:
        """Yield the texts of all benchmarks as one JSON array."""
        ids = self.kept.ids(kind)
        if not ids:
            yield b"[]\n"
            return
        yield b"[\n"
        for at, item_id in enumerate(ids):
            if at:
                yield b",\n"
            yield from self.kept.pieces(item_id, kind)
        yield b"\n]\n"


def _aggregate_metrics(run: FinishedRun) -> Files:
    """Write NeMo Gym's array: one entry per benchmark and agent, with one entry per task."""
    yield "aggregate_metrics.json", run.array("aggregate")


def _group_level_metrics(run: FinishedRun) -> Files:
    """Write the entries per task of benchmarks with more than 100,000 tasks."""
    if run.names or run.kept.ids("groups"):
        yield GROUPS_FILE, run.array("groups")


def _report(run: FinishedRun) -> Files:
    """Write all checks with their evidence, all estimates, and the scores of each task."""
    yield "report.json", _report_pieces(run)


def _summary(run: FinishedRun) -> Files:
    """Write a Markdown summary for pull requests."""
    yield "summary.md", [summary(run.report, run.remark).encode()]


def _page(run: FinishedRun) -> Files:
    """Write a self-contained page with the results."""
    yield "report.html", page(run.report, run.kept, run.origin())


def _row_scores(run: FinishedRun) -> Files:
    """Write the scores and requests of each row of benchmarks with scorers."""
    scored = run.kept.ids("row_scores")
    if run.names or scored:
        texts = [run.kept.pieces(item_id, "row_scores") for item_id in scored]
        yield "row_scores.jsonl", chain.from_iterable(texts)


def _rollouts(run: FinishedRun) -> Files:
    """Write generated rollouts in a form that ``rollouts:`` reads, one file per benchmark."""
    generated = run.kept.ids("rollouts")
    if len(generated) == 1:
        yield "rollouts.jsonl", run.kept.pieces(generated[0], "rollouts")
        return
    taken: Counter[str] = Counter()
    for item_id in generated:
        name = re.sub(r"[^\w.-]+", "-", item_id.replace("::", "_")).strip("-")
        taken[name] += 1
        if taken[name] > 1:
            name = f"{name}-{taken[name]}"
        yield f"rollouts/{name}.jsonl", run.kept.pieces(item_id, "rollouts")


def _code_quality(run: FinishedRun) -> Files:
    """Write failures for GitLab's Code Quality widget; by default only if GITLAB_CI is set."""
    if run.names or os.environ.get("GITLAB_CI"):
        yield "gl-code-quality-report.json", [code_quality(run.report, run.root)]


_BUILTIN: dict[str, Callable[[FinishedRun], Files]] = {
    "aggregate_metrics.json": _aggregate_metrics,
    GROUPS_FILE: _group_level_metrics,
    "report.json": _report,
    "summary.md": _summary,
    "report.html": _page,
    "row_scores.jsonl": _row_scores,
    "rollouts.jsonl": _rollouts,
    "gl-code-quality-report.json": _code_quality,
}
for _name, _reporter in _BUILTIN.items():
    register_reporter(_name)(_reporter)


def _report_pieces(run: FinishedRun) -> Iterator[bytes]:
    """Write the report, and put in the texts of the tasks' scores, which are JSON already."""
    mark = uuid.uuid4().hex
    benchmarks = tuple(map(_with_each_estimate_once, run.report.benchmarks))
    document = report_document(structs.replace(run.report, benchmarks=benchmarks))
    for entry in document["benchmarks"]:
        for agent in entry["agents"]:
            agent["task_scores"] = mark
            agent["task_content"] = mark
    pieces = iter(as_json(document).split(f'"{mark}"'.encode()))
    for result in benchmarks:
        for scores in run.kept.read(result.id, "task_scores").splitlines():
            yield next(pieces)
            yield scores
    yield from pieces
    yield b"\n"


def _with_each_estimate_once(result: BenchmarkResult) -> BenchmarkResult:
    """Leave out the estimate of a check where it is among those of its agent."""
    checks = []
    for check in result.checks:
        if check.estimate == estimate_below(result, check):
            checks.append(structs.replace(check, estimate=None))
        else:
            checks.append(check)
    return structs.replace(result, checks=tuple(checks))


def as_json(value: Mapping[str, object]) -> bytes:
    """Write a report, indented if it is small; ValueError for NaN, which msgspec writes as null."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    try:
        data = msgspec.json.encode(value)
    except (OverflowError, TypeError, UnicodeEncodeError):
        # a number of more than 64 bits; half of a surrogate pair, such as of a file's name
        if len(text) <= _LARGE:
            text = json.dumps(value, indent=2)
        return text.encode()
    if len(data) > _LARGE:
        return data
    return msgspec.json.format(data, indent=2)


# -- running reporters -----------------------------------------------------------------------


class Reporter(Protocol):
    """Writes files of a whole run: a function, or a class with this as its ``write``."""

    def __call__(self, report: Mapping[str, Any], prefix: str) -> Paths:
        """Write the report's files.

        Parameters
        ----------
        report
            What ``report.json`` holds but for the scores of tasks, as builtins; read only.
        prefix
            What every path starts with: ``/ci/evalmetrics/`` or ``/ci/results/run1_``. The
            folder is there.

        Returns
        -------
        path, sequence of paths, or None
            What was written, to be listed.
        """
        ...


def chosen_reporters(names: Sequence[str] | None) -> list[str]:
    """List the reporters of a run: what was asked for, else all there are, ours first."""
    if names is None:
        return list(dict.fromkeys((*_BUILTIN, *reporters.names())))
    return [reporters.find(name).name for name in dict.fromkeys(names)]


def write_reports(
    run: FinishedRun, prefix: str
) -> tuple[list[Path], list[EvalMetricsError]]:
    """Let each reporter write below `prefix`; return the files, and faults."""
    paths: list[Path] = []
    errors: list[EvalMetricsError] = []
    with run.kept:
        for name in run.names or chosen_reporters(None):
            try:
                # of a reporter that fails the files before are kept
                paths += _written(name, run, prefix)
            except EvalMetricsError as error:
                errors.append(error)
    return paths, errors


def _written(name: str, run: FinishedRun, prefix: str) -> Iterator[Path]:
    """Let a reporter write its files; an error of any kind names the reporter."""
    target = reporters.find(name).target
    try:
        yield from _files_of(target, run, prefix)
    except EvalMetricsError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() would end the session
        what = f"the reporter {name!r} failed: {type(error).__name__}: {error}"
        hint = f"fix {origin(target)}, or skip it with --evalmetrics-reporters"
        raise ArtifactError(what, hint=hint) from error


def _files_of(target: object, run: FinishedRun, prefix: str) -> Iterator[Path]:
    for writer in _BUILTIN.values():
        if target is writer:
            for suffix, pieces in writer(run):
                yield _write(Path(f"{prefix}{suffix}"), pieces)
            return
    Path(f"{prefix}x").parent.mkdir(parents=True, exist_ok=True)
    # the user's: a function, or a class with `write`
    reporter = target
    if inspect.isclass(target):
        reporter = target()
    write = cast("Reporter", getattr(reporter, "write", reporter))
    paths = write(run.document, prefix)
    if isinstance(paths, str | os.PathLike):
        paths = (paths,)
    yield from map(Path, paths or ())


def write_noise_page(path: Path, data: Mapping[str, object]) -> None:
    """Write the page of a calibration: text and charts of each benchmark, and a patch."""
    with _refusal_shown(path):
        make_folder(path.parent)
    _write(path, page_of("noise", data))


def _write(path: Path, pieces: Iterable[bytes]) -> Path:
    with _refusal_shown(path):
        write_whole(path, pieces)
    return path


@contextmanager
def _refusal_shown(path: Path) -> Iterator[None]:
    """Raise an ArtifactError where a file can't be written."""
    try:
        yield
    except OSError as error:
        message = f"can't be written: {error.strerror or error}"
        hint = "choose another place with --evalmetrics-output, or free some room"
        raise ArtifactError(message, file=str(path), hint=hint) from error
