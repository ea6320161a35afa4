"""The setting ``testpaths``, so that a bare pytest collects a new benchmark file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_LIST = re.compile(r"^(testpaths\s*=\s*\[)([^\]]*)(\])", re.MULTILINE)
_TEXT = re.compile(r"^(testpaths\s*=\s*)([\"'])([^\"'\n]*)\2", re.MULTILINE)
_PLAIN = re.compile(r"^(testpaths[ \t]*=[ \t]*)(.*(?:\n[ \t]+\S.*)*)", re.MULTILINE)


def with_path(text: str, path: str, *, is_toml: bool) -> str:
    """Return a configuration file's text with one more path in ``testpaths``.

    It is unchanged where the setting is not found in a form that is known.
    """
    if not is_toml:
        return _PLAIN.sub(lambda found: _appended(found, path), text, count=1)
    if _LIST.search(text):
        return _LIST.sub(lambda found: _listed(found, path), text, count=1)
    return _TEXT.sub(rf"\g<1>\g<2>\g<3> {path}\g<2>", text, count=1)


def _appended(found: re.Match[str], path: str) -> str:
    """Add a path to words on one line, or to lines of one each."""
    head = found[1]
    words = found[2].rstrip()
    if "\n" not in words:
        return f"{head}{words} {path}"
    last_line = words.rpartition("\n")[2]
    indent = last_line[: len(last_line) - len(last_line.lstrip())]
    return f"{head}{words}\n{indent}{path}"


def _listed(found: re.Match[str], path: str) -> str:
    """Add a path to a list of TOML."""
    before = found[2].rstrip()
    space = found[2][len(before) :]
    comma = "" if not before or before.endswith(",") else ","
    gap = ""
    if "\n" in found[2]:
        gap = "\n    "
    elif before:
        gap = " "
    return f'{found[1]}{before}{comma}{gap}"{path}"{space}{found[3]}'


def add_to_testpaths(file: Path, path: str) -> bool:
    """Add a path to ``testpaths`` of a configuration file; return whether that was possible."""
    text = file.read_text(encoding="utf-8")
    changed = with_path(text, path, is_toml=file.suffix == ".toml")
    if changed == text:
        return False
    file.write_text(changed, encoding="utf-8")
    return True
