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
from itertools import accumulate, count
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from pytest_evalmetrics.reports.report_json import read_report
from pytest_evalmetrics.reports.summary import comment

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
_PERMISSIONS: Final = (
    "\n  -> give the job the permissions that docs/guides/github-actions.md lists"
)


def comment_of(
    reports: Mapping[str, bytes], *, marker: str, run_url: str, page_url: str = ""
) -> str:
    """Write one comment about the reports of a workflow's run, each by its artifact's name.

    It has at most 60 lines, which several reports share.
    """
    page = page_url if _ADDRESS.fullmatch(page_url) else ""
    end = f"\n[run and artifacts]({run_url})"
    if page:
        end += f" · [report]({page})"
    room = (_LINES - _ENDS) // max(1, len(reports)) - 1
    parts = []
    for name, data in sorted(reports.items()):
        try:
            text = comment(read_report(data), max(room, _LEAST), page)
        except Exception:  # noqa: BLE001 - a pull request may have written anything
            text = "## ❔ Benchmarks\n\nThe run left no report that can be read.\n"
        title, *lines = text.splitlines()
        if len(reports) > 1:
            title += f" ({_name(name)})"
        parts.append("\n".join([title, *lines]) + "\n")
    if not reports:
        parts.append("## ❔ Benchmarks\n\nThe run left no report.\n")
    most = (_MOST - _ROOM - _length(end)) // len(parts) - _length(marker)
    # a later run finds the comment by this marker
    return "\n".join([marker, *(_cut(part, most) for part in parts)]) + end


def _name(text: str) -> str:
    """Reduce an artifact's name, which is not trusted, to safe characters."""
    return re.sub(r"[^\w .-]", "", text)[:100]


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def _cut(text: str, most: int) -> str:
    """Leave out the last lines of a text that is too long, and close what they would close."""
    if _length(text) <= most:
        return text
    lines = text.splitlines()
    ends = accumulate(_length(line) + 1 for line in lines)
    kept = [line for line, end in zip(lines, ends, strict=True) if end <= most]
    while kept and (kept[-1].startswith("<summary") or kept[-1] in ("", "<details>")):
        kept.pop()  # a section that only begins
    for opens, closes in (("<pre>", "</pre>"), ("<details>", "</details>")):
        if kept.count(opens) > kept.count(closes):
            kept += ["", closes]
    return "\n".join([*kept, "", "The rest is on the summary page of the run.", ""])


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
    data = None if body is None else msgspec.json.encode(body)
    request = urllib.request.Request(url, data, method=method)  # noqa: S310 - GitHub's own URL
    request.add_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    request.add_header("Accept", "application/vnd.github+json")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - the same
            return msgspec.json.decode(answer.read(), type=kind)
    except urllib.error.HTTPError as error:
        words = f"{error.code}: {error.read(500).decode(errors='replace')}"
        hint = _PERMISSIONS if error.code in (401, 403) else ""
        sys.exit(f"{method} {path}: GitHub answered {words}{hint}")
    except (OSError, ValueError, msgspec.DecodeError) as error:
        sys.exit(f"{method} {path}: GitHub did not answer: {error}")


def _entries(
    kind: type[list[_Answer]], path: str, query: Mapping[str, str] | None = None
) -> Iterator[_Answer]:
    """Yield all entries of a list that comes in pages."""
    for page in count(1):
        numbers: dict[str, str | int] = {"per_page": _PAGE, "page": page}
        entries = _ask(kind, path, query={**numbers, **(query or {})})
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
    return str(runs[0].id) if runs else ""


def _pull_of(run: _Run) -> int | None:
    """Find the open pull request that a run has judged, by GitHub's own record of it."""
    if run.event != "pull_request":
        return None
    owner = run.head_repository.owner if run.head_repository else None
    login = owner.login if owner else None
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
    for old in _entries(list[_Comment], comments):
        # anybody may write a comment that begins so; only an app's is ours to edit
        is_of_app = old.user is not None and old.user.type == "Bot"
        if is_of_app and (old.body or "").startswith(marker):
            path = f"issues/comments/{old.id}"
            updated = _ask(_Comment, path, method="PATCH", body={"body": text})
            return f"updated {updated.html_url}"
    written = _ask(_Comment, comments, method="POST", body={"body": text})
    return f"wrote {written.html_url}"


def _reports(folder: Path) -> dict[str, bytes]:
    """Read the report of each artifact; empty for one that can't be read."""
    reports: dict[str, bytes] = {}
    for file in sorted(folder.rglob("report.json")):
        where = file.parent.relative_to(folder).parts
        data = b""
        with suppress(OSError):
            data = file.read_bytes()
        reports.setdefault(where[0] if where else "evalmetrics", data)
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
    is_comment = given.command == "comment"
    line = (
        _written_comment(given.folder, given.page)
        if is_comment
        else _last_run(given.branch)
    )
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
