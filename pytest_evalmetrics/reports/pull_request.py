"""The GitHub action's requests: find main's last run, and comment on a pull request.

``python -m pytest_evalmetrics.reports.pull_request last-run`` and ``... comment FOLDER``. Neither
trusts anything that a pull request's own run may have written; its report is only shown.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from pytest_evalmetrics.reports.comment import comment
from pytest_evalmetrics.reports.report_json import read_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MOST: Final = 65_536  # characters of a comment, as GitHub counts them: in UTF-16
_ROOM: Final = 400  # for saying that it was cut
_LINES: Final = 60  # of a comment
_ENDS: Final = 3  # of them for the marker and the links
_LEAST: Final = 12  # of each report
# what a link may hold without being anything else
_ADDRESS: Final = re.compile(r"https?://[\w.~:/?#@!&'*+,;=%-]+")
_PAGE: Final = 100
_SECONDS: Final = 30
_REFUSED: Final = (401, 403)
_PERMISSIONS: Final = (
    "\n  -> give the job the permissions that docs/guides/github-actions.md lists"
)


def comment_of(
    reports: Mapping[str, bytes], *, marker: str, run_url: str, page_url: str = ""
) -> str:
    """Write one comment about the reports of a workflow's run, each by its artifact's name.

    It has at most 60 lines, which several reports share.
    """
    page = ""
    links = f"[run and artifacts]({run_url})"
    if _ADDRESS.fullmatch(page_url):
        page = page_url
        links += f" · [report]({page})"
    end = f"\n{links}"
    parts = []
    lines_of_each = (_LINES - _ENDS) // max(1, len(reports)) - 1
    for name, data in sorted(reports.items()):
        text = _comment_on(data, max(lines_of_each, _LEAST), page)
        if len(reports) > 1:
            text = text.replace("\n", f" ({_name(name)})\n", 1)
        parts.append(text)
    if not reports:
        parts.append("## ❔ Benchmarks\n\nThe run left no report.\n")
    most = (_MOST - _ROOM - _length(end)) // len(parts) - _length(marker)
    # a later run finds the comment by this marker
    texts = [marker, *(_cut(part, most) for part in parts)]
    return "\n".join(texts) + end


def _comment_on(data: bytes, most: int, page: str) -> str:
    """Write a report that nobody need trust in so many lines."""
    try:
        return comment(read_report(data), most, page)
    except Exception:  # noqa: BLE001 - a pull request may have written anything
        return "## ❔ Benchmarks\n\nThe run left no report that can be read.\n"


def _name(text: str) -> str:
    """Reduce an artifact's name, which is not trusted, to safe characters."""
    return re.sub(r"[^\w .-]", "", text)[:100]


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def _cut(text: str, most: int) -> str:
    """Leave out the last lines of a text that is too long, and close what they would close."""
    if _length(text) <= most:
        return text
    kept = _lines_within(text, most)
    while kept and _only_begins(kept[-1]):
        kept.pop()
    for opens, closes in (("<pre>", "</pre>"), ("<details>", "</details>")):
        if kept.count(opens) > kept.count(closes):
            kept += ["", closes]
    return "\n".join([*kept, "", "The rest is on the summary page of the run.", ""])


def _lines_within(text: str, most: int) -> list[str]:
    """Return the first lines that have so many characters together."""
    kept = []
    length = 0
    for line in text.splitlines():
        length += _length(line) + 1
        if length > most:
            break
        kept.append(line)
    return kept


def _only_begins(line: str) -> bool:
    """Whether a section would begin with a line, and have nothing below it."""
    return line in ("", "<details>") or line.startswith("<summary")


# -- GitHub ----------------------------------------------------------------------------------


class _Owner(msgspec.Struct, frozen=True):
    """Who owns a repository."""

    login: str = ""


class _Repository(msgspec.Struct, frozen=True):
    """A repository that a run has judged: a fork, where the change is from one."""

    owner: _Owner | None = None


class _Run(msgspec.Struct, frozen=True):
    """A workflow's run."""

    id: int
    event: str = ""
    html_url: str = ""
    name: str = ""
    head_branch: str | None = None
    head_sha: str = ""
    head_repository: _Repository | None = None


class _Runs(msgspec.Struct, frozen=True):
    """Runs of a workflow, the newest first."""

    workflow_runs: list[_Run]


class _Event(msgspec.Struct, frozen=True):
    """What started this workflow."""

    workflow_run: _Run | None = None


class _Head(msgspec.Struct, frozen=True):
    """The newest commit of a pull request."""

    sha: str


class _Pull(msgspec.Struct, frozen=True):
    """A pull request."""

    number: int
    head: _Head


class _User(msgspec.Struct, frozen=True):
    """Who wrote a comment."""

    type: str = ""


class _Comment(msgspec.Struct, frozen=True):
    """A comment on a pull request."""

    id: int = 0
    html_url: str = ""
    body: str | None = None
    user: _User | None = None


_Answer = TypeVar("_Answer")


def _ask(
    kind: type[_Answer],
    path: str,
    *,
    method: str = "GET",
    body: Mapping[str, str] | None = None,
    query: Mapping[str, str | int] | None = None,
) -> _Answer:
    """Send one request about the repository; a fault ends the program with GitHub's words."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    url = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}"
    if query:
        url += f"?{urllib.parse.urlencode(query)}"
    data = None
    if body is not None:
        data = msgspec.json.encode(body)
    request = urllib.request.Request(url, data, method=method)  # noqa: S310 - GitHub's own URL
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - the same
            return msgspec.json.decode(answer.read(), type=kind)
    except urllib.error.HTTPError as error:
        words = f"{error.code}: {error.read(500).decode(errors='replace')}"
        if error.code in _REFUSED:
            words += _PERMISSIONS
        sys.exit(f"{method} {path}: GitHub answered {words}")
    except (OSError, ValueError, msgspec.DecodeError) as error:
        sys.exit(f"{method} {path}: GitHub did not answer: {error}")


def _entries(
    kind: type[list[_Answer]], path: str, query: Mapping[str, str] | None = None
) -> Iterator[_Answer]:
    """Yield all entries of a list that comes in pages."""
    for page in count(1):
        parameters: dict[str, str | int] = {"per_page": _PAGE, "page": page}
        if query is not None:
            parameters.update(query)
        entries = _ask(kind, path, query=parameters)
        yield from entries
        if len(entries) < _PAGE:
            return


def _last_run(branch: str) -> str:
    """Find the last successful run of this workflow for a push, not for a fork's branch."""
    file = os.environ["GITHUB_WORKFLOW_REF"].partition("@")[0].rpartition("/")[2]
    path = f"actions/workflows/{urllib.parse.quote(file)}/runs"
    query: dict[str, str | int] = {
        "branch": branch,
        "event": "push",
        "status": "success",
        "per_page": 1,
    }
    runs = _ask(_Runs, path, query=query).workflow_runs
    if not runs:
        return ""
    return str(runs[0].id)


def _pull_of(run: _Run) -> int | None:
    """Find the open pull request that a run has judged, by GitHub's own record of it."""
    if run.event != "pull_request":
        return None
    login = None
    if run.head_repository is not None and run.head_repository.owner is not None:
        login = run.head_repository.owner.login
    head = f"{login}:{run.head_branch}"
    for pull in _entries(list[_Pull], "pulls", {"state": "open", "head": head}):
        if pull.head.sha == run.head_sha:
            return pull.number
    return None


def _written_comment(folder: Path, page_url: str) -> str:
    """Write the comment, or renew the one that is there; return a line about it."""
    event = Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes()
    run = msgspec.json.decode(event, type=_Event).workflow_run
    if run is None:
        sys.exit(
            "a comment is written by a workflow that runs `on: workflow_run`; see the guide"
        )
    number = _pull_of(run)
    if number is None:
        return "no comment: the run is of no pull request, or no longer of its newest commit"
    marker = f"<!-- pytest-evalmetrics: {_name(run.name)} -->"
    text = comment_of(
        _reports(folder), marker=marker, run_url=run.html_url, page_url=page_url
    )
    comments = f"issues/{number}/comments"
    old = _own_comment(comments, marker)
    if old is None:
        written = _ask(_Comment, comments, method="POST", body={"body": text})
        return f"wrote {written.html_url}"
    path = f"issues/comments/{old.id}"
    updated = _ask(_Comment, path, method="PATCH", body={"body": text})
    return f"updated {updated.html_url}"


def _own_comment(comments: str, marker: str) -> _Comment | None:
    """Find the comment of an earlier run."""
    for old in _entries(list[_Comment], comments):
        # anybody may write a comment that begins so; only an app's is ours to edit
        is_of_app = old.user is not None and old.user.type == "Bot"
        if is_of_app and (old.body or "").startswith(marker):
            return old
    return None


def _reports(folder: Path) -> dict[str, bytes]:
    """Read the report of each artifact; empty for one that can't be read."""
    reports: dict[str, bytes] = {}
    for file in sorted(folder.rglob("report.json")):
        folders = file.parent.relative_to(folder).parts
        name = "evalmetrics"
        if folders:
            name = folders[0]
        data = b""
        with suppress(OSError):
            data = file.read_bytes()
        reports.setdefault(name, data)
    return reports


def main() -> None:
    """Run a command of the action."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_evalmetrics.reports.pull_request"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    last = commands.add_parser(
        "last-run", help="print the id of main's last successful run"
    )
    last.add_argument("--branch", default="main")
    comment = commands.add_parser(
        "comment", help="comment on the pull request of a run"
    )
    comment.add_argument("folder", type=Path, help="where the run's artifacts lie")
    comment.add_argument("--page", default="", help="where report.html is published")
    given = parser.parse_args()
    if given.command == "comment":
        line = _written_comment(given.folder, given.page)
    else:
        line = _last_run(given.branch)
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
