"""Reporters: the built-in ones, each named as its file, and how all of them are run."""

from __future__ import annotations

import inspect
import json
import os
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec

from pytest_evalmetrics import register_reporter
from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
from pytest_evalmetrics.registry import origin, reporters
from pytest_evalmetrics.reports.html.page import write_other, write_page
from pytest_evalmetrics.reports.payload import GROUPS_FILE
from pytest_evalmetrics.reports.summary import code_quality, summary
from pytest_evalmetrics.results import Verdict, worst
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.reports.payload import Artifacts

    Files = dict[str, Callable[[BinaryIO], object]]  # the end of its path -> what writes a file

REPORT_SCHEMA_VERSION = 1
_LARGE = 4 * 2**20  # bytes of a report, above which indents help no reader


def report_document(
    entries: Iterable[dict[str, Any]],
    not_evaluated: Iterable[str],
    history: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    skipped: Mapping[str, str] | None = None,
    *,
    deselected: Iterable[str] = (),
) -> dict[str, Any]:
    """Put the entries of all benchmarks together as ``report.json``.

    Of `entries` there is one per evaluated benchmark; `not_evaluated` were collected and never
    judged (a crash, ``-x``, an interrupt), `deselected` are left out by the run's selection.
    `history` has the last runs of each benchmark, the oldest first and this one last; `skipped`
    says why each of those was skipped.
    """
    benchmarks = sorted(entries, key=lambda entry: entry["id"])
    lost = sorted(not_evaluated)
    verdicts = [Verdict(entry["verdict"]) for entry in benchmarks if not entry["xfail"]]
    if lost:
        verdicts.append(Verdict.INCONCLUSIVE)
    return {
        "schema_version": REPORT_SCHEMA_VERSION,
        "verdict": str(worst(verdicts)),
        "benchmarks": benchmarks,
        "not_evaluated": lost,
        "skipped": [{"id": i, "reason": why} for i, why in sorted((skipped or {}).items())],
        "deselected": sorted(deselected),
        "history": dict(sorted((history or {}).items())),
    }


# -- the built-in reporters, in the order in which they write --------------------------------


@dataclass(frozen=True)
class FinishedRun:
    """What the built-in reporters write."""

    kept: Artifacts
    report: Mapping[str, Any]
    root: Path  # the report names benchmark files relative to it
    origin: Callable[[], Mapping[str, str | None]] = dict  # when it ran, on what commit
    chosen: bool = False  # whether the user names the reporters: each writes then

    def array(self, kind: str, file: BinaryIO) -> None:
        """Write the texts of all benchmarks as one JSON array."""
        ids = self.kept.ids(kind)
        file.write(b"[")
        for i, item_id in enumerate(ids):
            file.write(b",\n" if i else b"\n")
            file.writelines(self.kept.pieces(item_id, kind))
        file.write(b"\n]\n" if ids else b"]\n")

    def lines(self, kind: str, item_ids: Iterable[str], file: BinaryIO) -> None:
        """Write the rows of some benchmarks."""
        for item_id in item_ids:
            file.writelines(self.kept.pieces(item_id, kind))


def _aggregate_metrics(run: FinishedRun) -> Files:
    """Write NeMo Gym's array: one entry per benchmark and agent, with one entry per task."""
    return {"aggregate_metrics.json": partial(run.array, "aggregate")}


def _group_level_metrics(run: FinishedRun) -> Files:
    """Write the entries per task of benchmarks with more than 100,000 of them."""
    wanted = run.chosen or run.kept.ids("groups")
    return {GROUPS_FILE: partial(run.array, "groups")} if wanted else {}


def _report(run: FinishedRun) -> Files:
    """Write every check with its evidence, every estimate, and the scores of each task."""
    return {"report.json": partial(_write_report, run)}


def _summary(run: FinishedRun) -> Files:
    """Write the run for the reviewer of a pull request, in Markdown."""
    return {"summary.md": lambda file: file.write(summary(run.report).encode())}


def _page(run: FinishedRun) -> Files:
    """Write the run as a page to look into, in one file."""
    return {"report.html": lambda file: write_page(file, run.report, run.kept, run.origin())}


def _row_scores(run: FinishedRun) -> Files:
    """Write the scores and the requests of each row, of benchmarks with scorers."""
    scored = run.kept.ids("row_scores")
    write = partial(run.lines, "row_scores", scored)
    return {"row_scores.jsonl": write} if run.chosen or scored else {}


def _rollouts(run: FinishedRun) -> Files:
    """Write generated rollouts, to be read as ``rollouts:``; one file for each benchmark."""
    generated = run.kept.ids("rollouts")
    if len(generated) == 1:
        return {"rollouts.jsonl": partial(run.lines, "rollouts", generated)}
    names = {i: re.sub(r"[^\w.-]+", "-", i.replace("::", "_")).strip("-") for i in generated}
    return {f"rollouts/{n}.jsonl": partial(run.lines, "rollouts", [i]) for i, n in names.items()}


def _code_quality(run: FinishedRun) -> Files:
    """Write what failed, for GitLab's Code Quality; by default only where GITLAB_CI is set."""
    if not run.chosen and not os.environ.get("GITLAB_CI"):
        return {}
    violations = partial(code_quality, run.report, run.root)
    return {"gl-code-quality-report.json": lambda file: file.write(violations())}


_BUILTIN = {
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


def _write_report(run: FinishedRun, file: BinaryIO) -> None:
    # the tasks' scores are copied to where a mark stands for them
    mark = uuid.uuid4().hex
    benchmarks = [
        {
            **entry,
            "agents": [agent | {"task_scores": mark} for agent in entry["agents"]],
            "checks": [*_without_known_estimates(entry)],
        }
        for entry in run.report["benchmarks"]
    ]
    pieces = iter(as_json({**run.report, "benchmarks": benchmarks}).split(f'"{mark}"'.encode()))
    for entry in benchmarks:
        for scores in run.kept.read(entry["id"], "task_scores").splitlines():
            file.writelines((next(pieces), scores))
    file.writelines((*pieces, b"\n"))


def _without_known_estimates(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Leave out of checks the estimates that stand below their agent."""
    known = {agent["agent"]: agent["estimates"] for agent in entry["agents"]}
    if len(known) == 1:
        known[""] = next(iter(known.values()))
    for check in entry["checks"]:
        same = check["estimate"] == known.get(check["agent"], {}).get(check["name"])
        yield {**check, "estimate": None} if same else check


def as_json(value: Mapping[str, Any]) -> bytes:
    """Write a report, indented if it is small; ValueError for NaN, which msgspec writes as null."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    try:
        data = msgspec.json.encode(value)
    except (OverflowError, TypeError, UnicodeEncodeError):
        # a number of more than 64 bits; half of a surrogate pair, such as of a file's name
        return (text if len(text) > _LARGE else json.dumps(value, indent=2)).encode()
    return data if len(data) > _LARGE else msgspec.json.format(data, indent=2)


# -- running reporters -----------------------------------------------------------------------


class Reporter(Protocol):
    """Writes files of a whole run: a function, or a class with this as its ``write``."""

    def __call__(self, report: Mapping[str, Any], prefix: str) -> Any:
        """Write what there is to write.

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
    """List the reporters of a run: what was asked for, else all there are, ours first.

    RegistryError says that there is no such reporter.
    """
    if names is not None:
        return [reporters.find(name).name for name in dict.fromkeys(names)]
    return list(dict.fromkeys((*_BUILTIN, *reporters.names())))


def write_reports(
    run: FinishedRun, prefix: str, names: Sequence[str] | None
) -> tuple[list[Path], list[EvalMetricsError]]:
    """Let every reporter write; return the files, and why others are not there.

    Every path starts with `prefix`; `names` are the reporters, None for all. The texts are let go.
    """
    paths: list[Path] = []
    errors: list[EvalMetricsError] = []
    with run.kept:
        for name in names or chosen_reporters(None):
            try:
                target = reporters.find(name).target
                try:
                    paths += _written(target, run, prefix)
                except EvalMetricsError:
                    raise
                except (Exception, SystemExit) as error:  # sys.exit() would end the session
                    raise ArtifactError(
                        f"the reporter {name!r} failed: {type(error).__name__}: {error}",
                        hint=f"fix {origin(target)}, or skip it with --evalmetrics-reporters",
                    ) from error
            except EvalMetricsError as error:
                errors.append(error)
    return paths, errors


def _written(target: Any, run: FinishedRun, prefix: str) -> Iterator[Path]:
    if target in _BUILTIN.values():
        for suffix, write in target(run).items():
            yield atomically(Path(f"{prefix}{suffix}"), write)
        return
    Path(f"{prefix}x").parent.mkdir(parents=True, exist_ok=True)
    reporter: Any = target() if inspect.isclass(target) else target
    paths = getattr(reporter, "write", reporter)(run.report, prefix)
    yield from map(Path, (paths,) if isinstance(paths, str | os.PathLike) else paths or ())


def write_noise_page(path: Path, data: Mapping[str, Any]) -> None:
    """Write the page of a calibration: of each benchmark lines of text and of charts, and a patch.

    ArtifactError says that it can't be written.
    """
    atomically(path, lambda file: write_other(file, "noise", data))


def atomically(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Write a file beside its place, and put it there when it is whole.

    ArtifactError says that it can't be written; what was there is as it was.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{temporary_name()}.tmp"
        with temporary.open("xb") as file:
            write(file)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise ArtifactError(
            f"can't be written: {error.strerror or error}",
            file=str(path),
            hint="choose another place with --evalmetrics-output, or free some room",
        ) from error
    return path
