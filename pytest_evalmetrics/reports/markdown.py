"""Markdown in which no text of a file is interpreted, as GitHub and GitLab show it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
# GitHub's formulas and mentions, which no backslash keeps from
_LIVE = re.compile(r"(\$|(?<!\w)@(?=\w))")


def plain(text: str) -> str:
    """Escape what Markdown would interpret."""
    return _LIVE.sub(r"<span>\1</span>", _SPECIAL.sub(r"\\\1", one_line(text)))


def as_html(text: str) -> str:
    """Escape a text for HTML within Markdown."""
    return _LIVE.sub(r"<span>\1</span>", html.escape(one_line(text), quote=False))


def one_line(text: str) -> str:
    """Join the lines of a text, and show what can't be printed."""
    return visible(" ".join(str(text).split()))


def link(text: str, address: str) -> str:
    """Write a link; the text alone without an address."""
    return f"[{plain(text)}]({address})" if address else plain(text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write a table, without the columns that are empty; nothing without rows."""
    if not rows:
        return []
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [[header[i] for i in used]]
    lines.append(["---"] * len(used))
    lines += [[row[i] for i in used] for row in rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Fold lines below a title, which is HTML; nothing without lines."""
    if not lines:
        return []
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]


def picture(lines: Sequence[str]) -> list[str]:
    """Write lines of text whose columns are kept; nothing without lines."""
    if not lines:
        return []
    escaped = [_in_picture(line) for line in lines]
    return ["<pre>", *escaped, "</pre>"]


def _in_picture(line: str) -> str:
    text = html.escape(visible(line), quote=False).replace("[", "&#91;")
    return _LIVE.sub(r"<span>\1</span>", text)
