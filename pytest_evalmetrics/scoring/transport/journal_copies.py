"""Copies of the journal as JSON Lines, for CI to keep and for jobs to share."""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import closing, contextmanager, nullcontext
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.scoring.transport.journal_file import (
    JournalFile,
    Kept,
    KeptFailure,
    create_journal,
    refuse_other_things,
)
from pytest_evalmetrics.scoring.transport.wire import JournalError, PaidAnswer
from pytest_evalmetrics.whole_files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

_HEAD = {"format": "evalmetrics-journal", "version": 1}
_EXPORTED = ("status", "latency_s", "attempts", "created", "body")


@contextmanager
def _reported(problem: str, hint: str | None = None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise JournalError(f"{problem}: {error}", hint=hint) from None


def export_journal(journal: Path, to: Path) -> int:
    """Write every answer and failure to one file, in the order of their keys."""
    count = 0
    refuse_other_things(journal)
    with (
        _reported(f"the journal {journal} can't be exported to {to}"),
        closing(JournalFile(journal, readonly=True)) as log,
        replacing(to) as plain,
        _packing(plain, to) as file,
    ):
        file.write(_line(_HEAD))
        for key, kept in log.all():
            line: dict[str, object] = {"key": key.hex()}
            if isinstance(kept, KeptFailure):
                line["failure"] = structs.asdict(kept)
            else:
                count += 1
                # the body as text: a number keeps the endpoint's digits
                line |= {name: getattr(kept, name) for name in _EXPORTED}
            file.write(_line(line))
    return count


def _packing(
    plain: IO[bytes], to: Path
) -> AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    """Compress what is written to a file that is named so."""
    if to.suffix != ".gz":
        return nullcontext(plain)
    # no name and no time in it: the same answers, the same bytes
    return gzip.GzipFile("", "wb", fileobj=plain, mtime=0)


def _opened(source: Path) -> IO[bytes] | gzip.GzipFile:
    if source.suffix == ".gz":
        return gzip.open(source)
    return source.open("rb")


def import_journal(journal: Path, source: Path) -> int:
    """Add a file's answers to a journal, all or none, without replacing any; return the number."""
    refuse_other_things(journal)
    with _reported(f"{source} can't be imported into {journal}"):
        for _ in _entries(source):  # every line is checked before the first is written
            pass
        journal.parent.mkdir(parents=True, exist_ok=True)
        create_journal(journal)
        count = 0
        with closing(JournalFile(journal)) as log:
            for key, kept in _entries(source):
                if log.get(key, failures=isinstance(kept, KeptFailure)) is None:
                    log.append(key, kept)
                    count += isinstance(kept, PaidAnswer)
        return count


def count_answers(journal: Path) -> int:
    """Count a journal's answers."""
    with (
        _reported(f"the journal {journal} can't be read"),
        closing(JournalFile(journal, readonly=True)) as log,
    ):
        return len(log)


def clear_journal(journal: Path) -> int:
    """Empty a journal and give the disk its space back; return the number of its answers."""
    if not journal.exists():
        return 0
    problem = f"the journal {journal} can't be emptied"
    with _reported(problem, hint="delete the file"):
        if journal.is_file() and journal.stat().st_size == 0:
            journal.unlink()
            return 0
        refuse_other_things(journal)
        with closing(JournalFile(journal)) as log:
            return log.clear()


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _entries(source: Path) -> Iterator[tuple[bytes, Kept]]:
    number = 0
    with _opened(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                value = json.loads(line)
                if number > 1:
                    yield _entry(value)
                elif value != _HEAD:
                    raise ValueError  # noqa: TRY301 - the same
            except (
                msgspec.ValidationError,
                LookupError,
                TypeError,
                ValueError,
                RecursionError,
            ):
                expected = "an answer as export writes it"
                if number == 1:
                    expected = json.dumps(_HEAD)
                raise JournalError(
                    f"this is not an exported journal: expected {expected}",
                    file=str(source),
                    line=number,
                    hint="nothing was imported; export the journal again",
                ) from None
    if not number:
        raise ValueError("it is empty")


def _entry(value: object) -> tuple[bytes, Kept]:
    """Read a line; every field has to be there, also one that has a default."""
    entry = msgspec.convert(value, dict[str, object])
    key = bytes.fromhex(msgspec.convert(entry["key"], str))
    if "failure" in entry:
        failure = msgspec.convert(entry["failure"], dict[str, object])
        return key, msgspec.convert(_fields_of(failure, KeptFailure), KeptFailure)
    return key, msgspec.convert(_fields_of(entry, PaidAnswer), PaidAnswer)


def _fields_of(
    entry: Mapping[str, object], record: type[msgspec.Struct]
) -> dict[str, object]:
    return {name: entry[name] for name in record.__struct_fields__}
