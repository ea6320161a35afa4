"""Logs of inspect_ai: ``.eval`` archives, also with zstd members, and ``.json`` files."""

from __future__ import annotations

import sys
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.gathering import Gathering
from pytest_evalmetrics.rollouts.inspect_samples import (
    Headline,
    agent_of,
    never_run,
    planned,
    rollout_of,
    scorers_of,
    scores_of,
    unfolded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    if sys.version_info >= (3, 14):
        from zipfile import ZipFile
    else:
        from backports.zstd.zipfile import ZipFile

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["InspectAi"]

_WHAT: Final = "an inspect_ai log"
_ZIP: Final = b"PK\x03\x04"
_NAME_AT: Final = 30  # where a zip's first member has its name
_VERSIONS: Final = (1, 2, 3)  # 3 was written for a while, and differs in what is not read
_HELD: Final = "attachments"
_INTERRUPTED: Final = "was the run, its copy or its download interrupted?"
_KEPT: Final = [
    "id",
    "epoch",
    "input",
    "target",
    "scores",
    "score",
    "model_usage",
    "error",
    "invalidation",
    "total_time",
    "started_at",
    "completed_at",
]


class InspectAi:
    """Reads a log: a sample's id is the task, its epoch the sample, the model the agent.

    Each scorer is a score, or ``scorer.key`` where its value is an object or a list; C, I, P
    and N are 1, 0, 0.5 and 0. Samples that were planned and are not in the log are missing.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._first: tuple[str, str] | None = None  # the inspect task, and the file

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take an archive that has a header or a journal, and an object with an eval spec."""
        if source.head.startswith(_ZIP):
            if source.head[_NAME_AT:].startswith((b"_journal/", b"header.json", b"samples/")):
                return True
            try:
                with _archive(source) as archive:
                    return "header.json" in archive.namelist()
            except Exception:  # noqa: BLE001 - whatever it is, it is none of ours
                return False
        return {"eval.task", "eval.model"} <= source.keys

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the log is damaged, of an unknown version or without samples, or of another
            inspect task than the files before.
        """
        if source.head.startswith(_ZIP):
            yield from self._read_archive(source)
            return
        log = Document.of(source, _WHAT)
        samples = log.items("samples") if log.get("samples") is not None else None
        yield self._log(log, samples, source)

    def _read_archive(self, source: Source) -> Iterator[Chunk]:
        with _archive(source) as archive:
            names = dict.fromkeys(archive.namelist())  # the last of the same name counts
            start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
            if start is None:
                raise source.error("this zip archive is no inspect_ai log: it has no header.json")
            log = Document(archive.read(start), source, _WHAT)
            yield self._log(log, self._samples(archive, names, log, source), source)

    def _samples(
        self, archive: ZipFile, names: Iterable[str], log: Document, source: Source
    ) -> Iterator[Mapping[str, Any]]:
        members = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
        if "summaries.json" in names and not self._wants_all(log):
            text = b'{"all":' + archive.read("summaries.json") + b"}"
            summaries = list(Document(text, source, _WHAT).items("all"))
            # those of early versions lack what a sample took
            told = all("model_usage" in s and "total_time" in s for s in summaries)
            if len(summaries) >= len(members) and (told or not members):
                yield from summaries
                return
        for name in members:
            sample = Document(archive.read(name), source, _WHAT)
            wanted = sample.keys if self._wants_all() else _KEPT
            found = {key: sample.get(key) for key in wanted if key in sample.keys}
            if not self._request.whole and "attachment://" in str(found.get("input")):
                found |= unfolded({"input": found["input"], "attachments": sample.object(_HELD)})
            yield found

    def _wants_all(self, log: Document | None = None) -> bool:
        """Whether more is needed of a sample than its summary says."""
        fields = self._request.fields
        paths = (
            *(fields.task, fields.sample, fields.agent, fields.reward, *fields.scores),
            *(fields.content or ()),
        )
        if self._request.whole or (log is not None and log.get("invalidated")):
            return True
        return bool(self._request.categories) or any(path is not None for path in paths)

    def _log(
        self, log: Document, samples: Iterable[Mapping[str, Any]] | None, source: Source
    ) -> Chunk:
        version = log.get("version")
        if version not in _VERSIONS:
            raise source.error(
                f"this is {_WHAT} of version {version!r}; versions "
                f"{', '.join(map(str, _VERSIONS))} are known",
                hint="update pytest-evalmetrics, or convert it with: inspect log convert",
            )
        spec = log.object("eval")
        self._same_task(spec, source)
        status = log.get("status") or "started"
        if samples is None:
            raise source.error(
                f"this log holds no samples (its status: {status})",
                hint="run the eval without --no-log-samples, or give the whole log, not its header",
            )
        gathering = Gathering(self._request, source)
        gathering.positional = True
        headline = Headline()
        latest: dict[tuple[Any, Any], Mapping[str, Any]] = {}
        for sample in samples:  # a sample that was run again is written again
            latest[_key(sample, source)] = _kept(sample, self._wants_all())
        for key, sample in latest.items():
            gathering.positional &= isinstance(key[0], int)
            scores = scores_of(sample)
            headline.add(key[0], scores)
            whole = unfolded(sample) if self._request.whole else sample
            gathering.add(rollout_of(whole, scores, agent_of(spec), source))
        plan = planned(spec, log.object("results"))
        # a log with samples of another plan was put together from several
        for key in plan if latest.keys() <= set(plan) else ():
            if key not in latest:
                gathering.add(never_run(key, agent_of(spec), status, log, source))
        if not len(gathering):
            raise source.error(
                f"this log holds no sample (its status: {status})", hint="did the run fail?"
            )
        if status != "success":
            gathering.notes.append(f"{source.shown}: the status of this eval is {status!r}")
        gathering.notes += headline.disagreements(log.object("results"), source)
        columns = gathering.graded
        for name, given, settings in scorers_of(spec, log.object("results"), columns):
            gathering.measured(f"inspect_ai {name}", given, settings)
        return gathering.chunk()

    def _same_task(self, spec: Mapping[str, Any], source: Source) -> None:
        task = str(spec.get("task"))
        if self._first is None:
            self._first = task, source.shown
        if self._first[0] != task:
            raise source.error(
                f"this log is of the inspect task {task!r}, and {self._first[1]} is of "
                f"{self._first[0]!r}",
                hint="write one benchmark for each, with paths that tell them apart",
            )


def _key(sample: Mapping[str, Any], source: Source) -> tuple[Any, Any]:
    task, epoch = sample.get("id"), sample.get("epoch", 1)
    if type(task) not in (int, str) or type(epoch) is not int or epoch < 1:
        raise source.error(
            f"a sample of this log has the id {task!r} and the epoch {epoch!r}; expected text or "
            "a whole number, and a whole number from 1"
        )
    return task, epoch


def _kept(sample: Mapping[str, Any], everything: bool) -> Mapping[str, Any]:
    return sample if everything else {k: sample[k] for k in _KEPT if k in sample}


@contextmanager
def _archive(source: Source) -> Iterator[ZipFile]:
    """Open an archive whose members may be packed with zstd, and put its faults into words."""
    if sys.version_info >= (3, 14):
        import zipfile  # noqa: PLC0415 - only where there is an archive

        from compression.zstd import ZstdError  # noqa: PLC0415
    else:
        from backports.zstd import ZstdError, zipfile  # noqa: PLC0415 - the same
    broken = (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, NotImplementedError, OSError)
    try:
        with zipfile.ZipFile(source.path) as archive:
            yield archive
    except broken as error:
        raise _damaged(source, error) from error
    except msgspec.DecodeError as error:
        raise _damaged(source, error) from error


def _damaged(source: Source, error: Exception) -> DataError:
    if "not a zip file" in str(error):
        why = "this looks like an inspect_ai archive, and its end is missing"
    else:
        why = f"this inspect_ai archive is damaged: {error}"
    return source.error(why, hint=_INTERRUPTED)
