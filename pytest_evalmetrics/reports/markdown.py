"""Markdown in which no text of a file is interpreted, as GitHub and GitLab show it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.reports.wording import used_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
# GitHub's formulas and mentions, which no backslash keeps from
_LIVE = re.compile(r"(\$|(?<!\w)@(?=\w))")


def plain(text: str) -> str:
    """Escape what Markdown would interpret."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text))
    return _inert(escaped)


def as_html(text: str) -> str:
    """Escape a text for HTML within Markdown."""
    escaped = html.escape(one_line(text), quote=False)
    return _inert(escaped)


def _inert(text: str) -> str:
    """Keep GitHub from making formulas and mentions of a text."""
    return _LIVE.sub(r"<span>\1</span>", text)


def one_line(text: str) -> str:
    """Join the lines of a text, and show what can't be printed."""
    words = text.split()
    return visible(" ".join(words))


def link(text: str, address: str) -> str:
    """Write a link; the text alone without an address."""
    if not address:
        return plain(text)
    return f"[{plain(text)}]({address})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table, without the columns that are empty; nothing without rows."""
    if not rows:
        return []
    used = used_columns(rows)
    rule = ["---"] * len(header)
    lines = []
    for cells in (header, rule, *rows):
        shown = [cells[at] for at in used]
        lines.append(f"| {' | '.join(shown)} |")
    return lines


def paragraph(lines: Sequence[str]) -> list[str]:
    """End lines with an empty one; nothing without lines."""
    if not lines:
        return []
    return [*lines, ""]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Fold lines below a title, which is HTML; nothing without lines."""
    if not lines:
        return []
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def picture(lines: Sequence[str]) -> list[str]:
    """Write lines of text whose columns are kept; nothing without lines."""
    if not lines:
        return []
    return ["<pre>", *map(_in_picture, lines), "</pre>"]


def _in_picture(line: str) -> str:
    escaped = html.escape(visible(line), quote=False)
    return _inert(escaped.replace("[", "&#91;"))
