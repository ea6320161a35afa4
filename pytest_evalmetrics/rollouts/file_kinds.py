"""What a file evidently is, where it is none that can be read: each kind by its name.

The first bytes of a file tell its kind. It is looked for only where they are not those of JSON.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

JSON_LINES: Final = (
    "write one JSON object per line (.jsonl, also .jsonl.gz or .jsonl.zst)"
)
_AS_CSV: Final = "save the table as CSV (UTF-8)"
_FROM_PYTHON: Final = (
    "write it in Python: df.to_json('rows.jsonl', orient='records', lines=True)"
)
_TAR: Final = 257  # where a tar archive says so
_ZIP_END: Final = b"PK\x05\x06"
_ZIP_TAIL: Final = 66_000  # bytes in which a whole zip archive says where it ends


class FileKind(msgspec.Struct, frozen=True):
    """A kind of file that can't be read, and what to do instead."""

    what: str  # as in ``this is an Excel file``
    hint: str


_UTF_8: Final = "save it as UTF-8; iconv -f {} -t UTF-8 FILE does it"
#: The first bytes of files that are no text.
_BINARY: Final = (
    (b"PAR1", FileKind("a Parquet file", JSON_LINES)),
    (b"BZh", FileKind("compressed with bzip2", "compress it with gzip or zstd")),
    (b"\xfd7zXZ\x00", FileKind("compressed with xz", "compress it with gzip or zstd")),
    (b"7z\xbc\xaf", FileKind("a 7z archive", f"unpack it, or {JSON_LINES}")),
    (
        b"\xff\xfe\x00\x00",
        FileKind("UTF-32 text, not UTF-8", _UTF_8.format("UTF-32")),
    ),
    (b"\xff\xfe", FileKind("UTF-16 text, not UTF-8", _UTF_8.format("UTF-16"))),
    (b"\xfe\xff", FileKind("UTF-16 text, not UTF-8", _UTF_8.format("UTF-16"))),
    (b"\xd0\xcf\x11\xe0", FileKind("an Excel file of the old form", _AS_CSV)),
    (b"SQLite format 3", FileKind("a SQLite database", "export its rows as CSV")),
    (b"\x93NUMPY", FileKind("a NumPy array", _FROM_PYTHON)),
    (b"\x80\x02", FileKind("a Python pickle, which is never loaded", _FROM_PYTHON)),
    (b"\x80\x03", FileKind("a Python pickle, which is never loaded", _FROM_PYTHON)),
    (b"\x80\x04", FileKind("a Python pickle, which is never loaded", _FROM_PYTHON)),
    (b"\x80\x05", FileKind("a Python pickle, which is never loaded", _FROM_PYTHON)),
)
#: What the first members of a zip archive are called.
_ZIP_KINDS: Final = (
    (b"xl/", FileKind("an Excel file", _AS_CSV)),
    (b"[Content_Types].xml", FileKind("an Excel file", _AS_CSV)),
    (b"opendocument.spreadsheet", FileKind("an OpenDocument table", _AS_CSV)),
    (b".npy", FileKind("a file of NumPy arrays", _FROM_PYTHON)),
)
_TEXT: Final = (
    (
        re.compile(rb"<<<<<<< "),
        FileKind(
            "a file with the marks of a merge conflict", "resolve it, or: git checkout"
        ),
    ),
    (
        re.compile(
            rb"(?s)<.*?(doctype html|<?html\b)|<(table|div|body)\b", re.IGNORECASE
        ),
        FileKind(
            "a web page", "is it a login page? name a raw file that needs no login"
        ),
    ),
    (
        re.compile(rb"<\?xml|<[A-Za-z!]"),
        FileKind("XML", f"an error of a server is often XML; else {JSON_LINES}"),
    ),
    (
        re.compile(rb"outs:\s*\n- (md5|etag|hash):"),
        FileKind("a DVC pointer", "run: dvc pull"),
    ),
    (
        re.compile(rb"\S*\.git/annex/objects/"),
        FileKind("a git-annex pointer", "run: git annex get FILE"),
    ),
    (
        re.compile(
            rb"(?s)(\|.*|.*\n)?\s*\|?(\s*:?-{3,}:?\s*\|)+(\s*:?-{3,}:?)?\s*(\n|\Z)"
        ),
        FileKind("a Markdown table", "write its cells as CSV: task,reward"),
    ),
    (
        re.compile(rb"```"),
        FileKind("Markdown", "keep what is inside of the fence alone"),
    ),
    (
        re.compile(
            rb"\+[-=]{2,}\+|\xe2\x94\x8c|\xe2\x94\x8f|\xe2\x95\xad|\xe2\x95\x94"
        ),
        FileKind("a table drawn for a terminal", "write its cells as CSV: task,reward"),
    ),
    (
        re.compile(rb"\[?\s*\{\s*'"),
        FileKind("Python's form of a dict, not JSON", "write rows with json.dumps"),
    ),
    (
        re.compile(rb"//|/\*"),
        FileKind("JSON with comments, or code", "remove the comments"),
    ),
    (
        re.compile(rb"(---\s*\n|%YAML|- [\w\"']+: )"),
        FileKind("YAML", JSON_LINES),
    ),
)


def kind_of(head: bytes, path: Path) -> FileKind | None:
    """Recognise a file that can't be read by its first bytes; None if it may be one that can."""
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(head, path)
    for start, kind in _BINARY:
        if head.startswith(start):
            return kind
    if head[_TAR:].startswith(b"ustar"):
        return FileKind("a tar archive", f"unpack it, or {JSON_LINES}")
    if b"\x00" in head:
        if _has_two_bytes_a_character(head):
            return FileKind("UTF-16 text, not UTF-8", _UTF_8.format("UTF-16"))
        return FileKind("a binary file, not JSON text", JSON_LINES)
    return next((kind for looks, kind in _TEXT if looks.match(head)), None)


def _has_two_bytes_a_character(head: bytes) -> bool:
    """Check for text of Latin letters in UTF-16: each other byte is null."""
    length = len(head) // 2 * 2
    for zeros, letters in ((0, 1), (1, 0)):
        is_null = not head[zeros:length:2].strip(b"\x00")
        text = head[letters:length:2].decode("latin-1")
        if is_null and "".join(text.split()).isprintable():
            return True
    return False


def _kind_of_zip(head: bytes, path: Path) -> FileKind:
    """Tell the kind of a zip archive, and one that was cut off."""
    for name, kind in _ZIP_KINDS:
        if name in head:
            return kind
    if path.is_file() and not _has_ending(path):
        return FileKind(
            "a zip archive that is not whole: its ending is missing",
            "was its copy or its download interrupted?",
        )
    return FileKind("a zip archive", f"unpack it, or {JSON_LINES}")


def _has_ending(path: Path) -> bool:
    """Check whether a zip archive lists its members at its end."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _ZIP_TAIL))
        return _ZIP_END in stream.read()
