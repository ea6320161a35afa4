"""The GitHub action's requests: which run is compared with, and which comment is written."""

import io
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

import pytest
from reports.records import above, below, benchmark, compared, run

from pytest_evalmetrics.reports import pull_request
from pytest_evalmetrics.reports.pull_request import comment_of, main
from pytest_evalmetrics.reports.report_json import report_document

MARKER = "<!-- pytest-evalmetrics: evals -->"


def report_of(*results):
    """Write a report as its artifact holds it."""
    return json.dumps(report_document(run(*results))).encode()


PASSING = report_of(benchmark(above()))
FAILING = report_of(benchmark(below()))


def comment(reports, **fields):
    return comment_of(reports, marker="<!-- m -->", run_url="https://r.org", **fields)


# -- the comment -----------------------------------------------------------------------------


def test_a_comment_has_its_marker_the_report_and_the_run():
    lines = comment({"evalmetrics": PASSING}).splitlines()
    assert lines[:4] == ["<!-- m -->", "## ✅ Benchmarks: PASS", "", "1 PASS"]
    assert lines[-2:] == ["", "[run and artifacts](https://r.org)"]


@pytest.mark.parametrize(
    ("address", "links"),
    [
        (
            "https://x.org/report.html",
            "[run and artifacts](https://r.org) · [report](https://x.org/report.html)",
        ),
        ("", "[run and artifacts](https://r.org)"),
        ("javascript:alert(1)", "[run and artifacts](https://r.org)"),
        # it would end the link
        ("https://x.org/) <b>", "[run and artifacts](https://r.org)"),
    ],
)
def test_the_page_is_a_link_if_it_has_an_address(address, links):
    text = comment({"evalmetrics": FAILING}, page_url=address)
    assert text.splitlines()[-1] == links
    assert (f"]({address}#/" in text) is ("report" in links)


def test_a_run_without_reports_says_so():
    assert comment({}) == (
        "<!-- m -->\n## ❔ Benchmarks\n\nThe run left no report.\n\n"
        "[run and artifacts](https://r.org)"
    )


def test_reports_that_can_t_be_read_say_so():
    lines = comment({"a": b"", "b": b"{}"}).splitlines()
    assert lines[1:4] == [
        "## ❔ Benchmarks (a)",
        "",
        "The run left no report that can be read.",
    ]


def test_several_reports_are_named_by_their_artifacts_in_order():
    text = comment({"b": FAILING, "a@<x>": PASSING})
    titles = [line for line in text.splitlines() if line.startswith("##")]
    assert titles == ["## ✅ Benchmarks: PASS (ax)", "## ❌ Benchmarks: FAIL (b)"]


def test_a_name_has_at_most_a_hundred_characters():
    text = comment({"x" * 101: PASSING, "y": PASSING})
    assert f"PASS ({'x' * 100})\n" in text


def many(count, words="b"):
    """Write a report of so many benchmarks that fail, and as many that pass."""
    failing = [benchmark(below(), name=f"{words}{at}") for at in range(count)]
    passing = [benchmark(above(), name=f"p{at}") for at in range(count)]
    return report_of(*failing, *passing)


@pytest.mark.parametrize(
    ("reports", "lines"),
    [
        (1, [57]),
        (2, [21, 23]),
        (3, [17, 17, 19]),
        # each has at least twelve lines, one of which is an empty one at its end
        (8, [11, 11, 11, 11, 11, 11, 11, 13]),
    ],
)
def test_several_reports_share_the_sixty_lines_of_a_comment(reports, lines):
    text = comment({f"a{at}": many(100) for at in range(reports)})
    marker, *parts = re.split("\n(?=## )", text)
    assert marker == "<!-- m -->"
    assert [len(part.splitlines()) for part in parts] == lines


def length(text):
    """Count characters as GitHub does, in UTF-16."""
    return len(text.encode("utf-16-le")) // 2


WITH_FOLD = report_of(benchmark(compared(), above("pass@2"), name="🙂" * 30))
REST = (
    "The rest is on the summary page of the run.\n\n[run and artifacts](https://r.org)"
)


AGAIN = f"- again: <code>pytest 'a.yaml::{'🙂' * 30}'</code>"
ROW = rf"| ✅ | {'🙂' * 30} | pass@2 | 0.5000 (0.4000 to 0.6000) | \>= 0.4 |"


@pytest.mark.parametrize(
    ("most", "last"),
    [
        (1_675, f"{ROW}\n\n</details>"),
        (1_555, "| --- | --- | --- | --- | --- |\n\n</details>"),
        # a fold with nothing in it is not begun
        (1_475, AGAIN),
        (1_245, "┊ │\n\n</pre>"),
    ],
)
def test_what_is_open_where_a_comment_is_cut_is_closed(monkeypatch, most, last):
    monkeypatch.setattr(pull_request, "_MOST", most)
    text = comment({"a": WITH_FOLD})
    assert length(text) <= most
    assert text.endswith(f"{last}\n\n{REST}")


def test_a_comment_that_fits_to_the_last_character_is_whole(monkeypatch):
    whole = comment({"a": WITH_FOLD})
    # beside the room for saying that it was cut, and without a line's end
    most = length(whole) + 400 - 1
    monkeypatch.setattr(pull_request, "_MOST", most)
    assert comment({"a": WITH_FOLD}) == whole
    monkeypatch.setattr(pull_request, "_MOST", most - 1)
    assert comment({"a": WITH_FOLD}).endswith(f"</details>\n\n{REST}")


def test_a_comment_is_as_long_as_github_takes():
    assert pull_request._MOST == 65_536


# -- GitHub ----------------------------------------------------------------------------------


class GitHub:
    """Answers requests, and keeps them."""

    def __init__(self):
        self.api = "https://api.github.com"
        self.requests = []
        self.answers = {}

    def open(self, request, timeout):
        assert timeout == 30
        address = request.full_url.removeprefix(f"{self.api}/repos/me/it/")
        assert address != request.full_url
        url = urllib.parse.urlsplit(address)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = request.data and json.loads(request.data)
        method = request.get_method()
        path = url.path
        self.requests.append((method, path, query, body))
        assert request.get_header("Authorization") == "Bearer secret"
        assert request.get_header("Accept") == "application/vnd.github+json"
        answer = self.answers[method, path]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            return io.BytesIO(answer)
        if "page" in query:
            answer = answer[100 * (int(query["page"]) - 1) :][:100]
        return io.BytesIO(json.dumps(answer).encode())


@pytest.fixture
def github(monkeypatch):
    served = GitHub()
    monkeypatch.setattr(urllib.request, "urlopen", served.open)
    monkeypatch.setenv("GITHUB_REPOSITORY", "me/it")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    return served


def told(monkeypatch, capsys, *arguments):
    """Run a command of the action; return what it prints."""
    monkeypatch.setattr(sys, "argv", ["pull_request", *map(str, arguments)])
    main()
    return capsys.readouterr().out


# -- the last run ----------------------------------------------------------------------------

RUNS = "actions/workflows/my%20evals.yml/runs"


@pytest.fixture
def workflow(monkeypatch):
    reference = "me/it/.github/workflows/my evals.yml@refs/heads/a@b"
    monkeypatch.setenv("GITHUB_WORKFLOW_REF", reference)


@pytest.mark.usefixtures("workflow")
def test_the_last_run_is_that_of_a_push_that_succeeded(github, monkeypatch, capsys):
    github.answers["GET", RUNS] = {"workflow_runs": [{"id": 7}, {"id": 5}]}
    assert told(monkeypatch, capsys, "last-run") == "7\n"
    wanted = {"branch": "main", "event": "push", "status": "success", "per_page": "1"}
    assert github.requests == [("GET", RUNS, wanted, None)]


@pytest.mark.usefixtures("workflow")
def test_without_such_a_run_nothing_is_named(github, monkeypatch, capsys):
    github.answers["GET", RUNS] = {"workflow_runs": []}
    assert told(monkeypatch, capsys, "last-run", "--branch", "release") == "\n"
    assert github.requests[0][2]["branch"] == "release"


# -- the pull request's comment --------------------------------------------------------------

EVENT = {
    "id": 9,
    "event": "pull_request",
    "html_url": "https://github.com/me/it/actions/runs/9",
    "name": "evals <x>",
    "head_branch": "fix",
    "head_sha": "abc",
    "head_repository": {"owner": {"login": "ada"}},
}
NAMED = "<!-- pytest-evalmetrics: evals x -->"
COMMENTS = "issues/3/comments"


@pytest.fixture
def judged(github, monkeypatch, tmp_path):
    """A run of pull request 3 with its artifacts; return a function that comments on it."""
    event = tmp_path / "event.json"
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    folder = tmp_path / "artifacts"
    (folder / "evals" / "evalmetrics").mkdir(parents=True)
    (folder / "evals" / "evalmetrics" / "report.json").write_bytes(FAILING)
    github.answers["GET", "pulls"] = [
        {"number": 2, "head": {"sha": "old"}},
        {"number": 3, "head": {"sha": "abc"}},
    ]
    github.answers["GET", COMMENTS] = []
    github.answers["POST", COMMENTS] = {"html_url": "https://github.com/c"}
    github.answers["PATCH", "issues/comments/8"] = {"html_url": "https://github.com/d"}

    def write(capsys, *arguments, **changes):
        event.write_text(json.dumps({"workflow_run": {**EVENT, **changes}}))
        return told(monkeypatch, capsys, "comment", folder, *arguments)

    return write


def test_a_comment_is_written_on_the_run_s_pull_request(judged, github, capsys):
    assert judged(capsys) == "wrote https://github.com/c\n"
    pages = {"per_page": "100", "page": "1"}
    wanted = {**pages, "state": "open", "head": "ada:fix"}
    assert github.requests[0] == ("GET", "pulls", wanted, None)
    assert github.requests[1] == ("GET", COMMENTS, pages, None)
    method, path, query, body = github.requests[2]
    assert (method, path, query) == ("POST", COMMENTS, {})
    lines = body["body"].splitlines()
    assert lines[:2] == [NAMED, "## ❌ Benchmarks: FAIL"]
    assert lines[-1] == ("[run and artifacts](https://github.com/me/it/actions/runs/9)")


def test_the_page_is_that_of_the_command(judged, github, capsys):
    judged(capsys, "--page", "https://x.org/report.html")
    body = github.requests[2][3]["body"]
    assert body.endswith(" · [report](https://x.org/report.html)")


def theirs(number, body=NAMED, kind="Bot"):
    return {"id": number, "body": body, "user": {"type": kind}}


def test_the_comment_of_an_earlier_run_is_renewed(judged, github, capsys):
    github.answers["GET", COMMENTS] = [
        theirs(4, kind="User"),  # anybody may begin so
        theirs(5, body="about\n" + NAMED),
        {"id": 6, "body": NAMED, "user": None},
        theirs(7, body=None),
        theirs(8, body=f"{NAMED}\nold"),
        theirs(9),
    ]
    assert judged(capsys) == "updated https://github.com/d\n"
    method, path, _, body = github.requests[2]
    assert (method, path) == ("PATCH", "issues/comments/8")
    assert body["body"].startswith(f"{NAMED}\n## ❌ Benchmarks: FAIL")


def test_comments_are_looked_through_page_by_page(judged, github, capsys):
    others = [theirs(100 + number, body="hello") for number in range(100)]
    github.answers["GET", COMMENTS] = [*others, theirs(8)]
    assert judged(capsys) == "updated https://github.com/d\n"
    pages = [query["page"] for _, path, query, _ in github.requests if path == COMMENTS]
    assert pages == ["1", "2"]


def test_a_full_last_page_is_followed_by_an_empty_one(judged, github, capsys):
    others = [theirs(100 + number, body="hello") for number in range(100)]
    github.answers["GET", COMMENTS] = others
    assert judged(capsys) == "wrote https://github.com/c\n"


@pytest.mark.parametrize(
    "changes", [{"event": "push"}, {"head_sha": "newer"}], ids=["a push", "a newer one"]
)
def test_a_run_that_judges_no_pull_request_comments_on_none(
    judged, github, capsys, changes
):
    assert judged(capsys, **changes) == (
        "no comment: the run is of no pull request, or no longer of its newest commit\n"
    )
    assert not any(method == "POST" for method, _, _, _ in github.requests)


def test_a_fork_that_is_gone_has_no_owner(judged, github, capsys):
    judged(capsys, head_repository=None)
    judged(capsys, head_repository={"owner": None})
    heads = [query["head"] for _, path, query, _ in github.requests if path == "pulls"]
    assert heads == ["None:fix", "None:fix"]


def test_a_workflow_of_another_kind_is_refused(github, monkeypatch, tmp_path, capsys):
    event = tmp_path / "event.json"
    event.write_text("{}")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    with pytest.raises(SystemExit) as stopped:
        told(monkeypatch, capsys, "comment", tmp_path)
    assert str(stopped.value) == (
        "a comment is written by a workflow that runs `on: workflow_run`; see the guide"
    )
    assert github.requests == []


# -- the artifacts ---------------------------------------------------------------------------


def test_each_artifact_has_one_report_named_by_its_folder(
    judged, github, capsys, tmp_path
):
    other = tmp_path / "artifacts" / "more" / "b"
    other.mkdir(parents=True)
    (other / "report.json").write_bytes(PASSING)
    # of a folder of tests, after the first in order
    (other / "z").mkdir()
    (other / "z" / "report.json").write_bytes(b"")
    judged(capsys)
    body = github.requests[2][3]["body"]
    titles = [line for line in body.splitlines() if line.startswith("## ")]
    assert titles == ["## ❌ Benchmarks: FAIL (evals)", "## ✅ Benchmarks: PASS (more)"]


def test_a_report_without_a_folder_is_that_of_the_plugin(
    judged, github, capsys, tmp_path
):
    (tmp_path / "artifacts" / "report.json").write_bytes(PASSING)
    judged(capsys)
    body = github.requests[2][3]["body"]
    assert "## ✅ Benchmarks: PASS (evalmetrics)" in body


def test_a_report_that_is_a_folder_can_t_be_read(judged, github, capsys, tmp_path):
    (tmp_path / "artifacts" / "other" / "report.json").mkdir(parents=True)
    judged(capsys)
    body = github.requests[2][3]["body"]
    assert (
        "## ❔ Benchmarks (other)\n\nThe run left no report that can be read.\n" in body
    )


# -- faults ----------------------------------------------------------------------------------


def refused(code, words):
    answer = io.BytesIO(words)
    return urllib.error.HTTPError("https://api.github.com", code, "", {}, answer)


PERMISSIONS = (
    "\n  -> give the job the permissions that docs/guides/github-actions.md lists"
)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (refused(404, b"Not Found"), "GitHub answered 404: Not Found"),
        (refused(401, b"Bad"), f"GitHub answered 401: Bad{PERMISSIONS}"),
        (refused(403, b"No \xff"), f"GitHub answered 403: No \ufffd{PERMISSIONS}"),
        (refused(500, b"x" * 501), f"GitHub answered 500: {'x' * 500}"),
        (OSError("no route"), "GitHub did not answer: no route"),
    ],
)
def test_a_fault_ends_the_command_with_github_s_words(
    judged, github, capsys, fault, words
):
    github.answers["GET", "pulls"] = fault
    with pytest.raises(SystemExit) as stopped:
        judged(capsys)
    assert str(stopped.value) == f"GET pulls: {words}"


def test_an_answer_that_is_no_json_ends_the_command(judged, github, capsys):
    github.answers["GET", "pulls"] = b"<html>"
    with pytest.raises(SystemExit, match=r"^GET pulls: GitHub did not answer: JSON is"):
        judged(capsys)


def test_a_comment_that_can_t_be_written_names_its_request(judged, github, capsys):
    github.answers["POST", COMMENTS] = refused(403, b"No")
    with pytest.raises(SystemExit, match=f"^POST {COMMENTS}: GitHub answered 403: No"):
        judged(capsys)


@pytest.mark.usefixtures("workflow")
def test_an_enterprise_s_own_api_is_asked(github, monkeypatch, capsys):
    github.api = "https://git.example.org/api/v3"
    github.answers["GET", RUNS] = {"workflow_runs": []}
    monkeypatch.setenv("GITHUB_API_URL", "https://git.example.org/api/v3")
    assert told(monkeypatch, capsys, "last-run") == "\n"


@pytest.mark.parametrize("arguments", [[], ["other"], ["comment"]])
def test_a_command_that_is_none_is_refused(monkeypatch, capsys, arguments):
    with pytest.raises(SystemExit) as stopped:
        told(monkeypatch, capsys, *arguments)
    assert stopped.value.code == 2
    usage = capsys.readouterr().err
    assert usage.startswith("usage: python -m pytest_evalmetrics.reports.pull_request")


def test_help_says_what_each_command_does(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        told(monkeypatch, capsys, "--help")
    shown = " ".join(capsys.readouterr().out.split())
    assert "last-run print the id of main's last successful run" in shown
    assert "comment comment on the pull request of a run" in shown
    with pytest.raises(SystemExit):
        told(monkeypatch, capsys, "comment", "--help")
    shown = " ".join(capsys.readouterr().out.split())
    assert "folder where the run's artifacts lie" in shown
    assert "--page PAGE where report.html is published" in shown
