"""The repository of examples/ci, from an empty folder to a red pull request, step by step.

A runner's part is done here: it evaluates expressions, keeps artifacts as the artifact service
does, and answers for the API. The steps themselves are executed; those that install need a package
index, and are run where EVALMETRICS_CI_INSTALL says so.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import numpy as np  # noqa: F401 - which can be loaded only once, and pytester unloads it
import pytest
import yaml

# CI runs these tests once, at its end, with their own installing
pytestmark = pytest.mark.skipif(
    bool(os.environ.get("EVALMETRICS_CI_LATER")), reason="run later, with installing"
)

ROOT = Path(__file__).parents[1]
CI = ROOT / "examples" / "ci"
REPOSITORY = "me/it"


MADE_HERE = ("results.json", "evalmetrics", "__pycache__", ".pytest_cache", "main")
REGRESSION = "pass@1 fell from 0.8571 to 0.7143"


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """The example's repository after README's quickstart."""
    folder = tmp_path_factory.mktemp("repository")
    assert execute("git init -q -b main", folder, {}) == 0
    shutil.copytree(
        CI, folder, ignore=shutil.ignore_patterns(*MADE_HERE), dirs_exist_ok=True
    )
    quickstart = (
        "pip install -q pytest-evalmetrics\n"
        "python eval.py && pytest --evalmetrics-init results.json"
    )
    assert execute(quickstart, folder, {}) == 0
    return committed(folder)


@pytest.fixture
def checkout(repository, tmp_path):
    """The repository as a runner checks it out."""
    return Path(shutil.copytree(repository, tmp_path / "project"))


def committed(folder):
    """Commit everything that git does not ignore, and leave what a clone has."""
    identity = "-c user.name=me -c user.email=me@example.org"
    commands = f"git add -A && git {identity} commit -q -m change && git clean -fdqx"
    assert execute(commands, folder, {}) == 0
    return folder


def spoil(folder):
    """Remove the rule for refunds, as a change that goes too far would."""
    bot = folder / "bot.py"
    lines = bot.read_text(encoding="utf-8").splitlines(keepends=True)
    bot.write_text("".join(line for line in lines if "refund" not in line))
    committed(folder)


def against_main(folder):
    """Compare with main's last report, and commit no baseline."""
    shutil.rmtree(folder / "__baselines__")
    bench = folder / "results.bench.yaml"
    text = bench.read_text(encoding="utf-8")
    bench.write_text(
        text.replace("baseline: true", "baseline: {report: main/report.json}")
    )
    committed(folder)


def execute(command, folder, environment):
    if "pip install" in command and not os.environ.get("EVALMETRICS_CI_INSTALL"):
        command = re.sub(r"^.*pip install.*$", "true", command, flags=re.MULTILINE)
    outside = ("GITHUB_", "GITLAB_", "CI", "PYTEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(outside)}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder,
        env=kept | {"CI": "true"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    print(done.stdout)  # noqa: T201 - pytest shows it where the step fails
    return done.returncode


class Service:
    """The API of GitHub and of GitLab, as far as the steps ask it; and the artifacts."""

    def __init__(self):
        self.artifacts = {}  # by run: by name: a folder
        self.runs, self.pulls, self.comments = [], [], []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size)) if size else None
                url = urlsplit(self.path)
                query = {
                    name: values[0] for name, values in parse_qs(url.query).items()
                }
                answer = service.answer(
                    self.command, url.path, query, body, self.headers
                )
                data = (
                    answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                )
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PATCH = answer  # noqa: N815 - what http.server calls

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(
            target=self.server.serve_forever, args=(0.02,), daemon=True
        ).start()

    def answer(self, method, path, query, body, headers):
        if "/jobs/artifacts/" in path:  # GitLab's
            assert headers["JOB-TOKEN"] == "secret"
            assert query == {"job": "benchmarks"}
            held = self.artifacts.get("main", {}).get("benchmarks")
            file = path.rpartition("/raw/")[2]
            return None if held is None else (held / file).read_bytes()
        assert headers["Authorization"] == "Bearer secret"
        path = path.removeprefix(f"/repos/{REPOSITORY}/")
        if path == "actions/workflows/benchmarks.yml/runs":
            wanted = ("branch", "event", "status")
            runs = [run for run in self.runs if all(run[k] == query[k] for k in wanted)]
            return {"workflow_runs": runs[: int(query["per_page"])]}
        if path == "pulls":
            return [pull for pull in self.pulls if pull["from"] == query["head"]]
        if path == "issues/7/comments" and method == "GET":
            first = (int(query["page"]) - 1) * int(query["per_page"])
            return self.comments[first : first + int(query["per_page"])]
        if path == "issues/7/comments":
            self.comments.append({"id": 1000, "user": {"type": "Bot"}, **body})
            return {"html_url": "made"}
        (comment,) = [c for c in self.comments if path == f"issues/comments/{c['id']}"]
        assert method == "PATCH"
        comment.update(body)
        return {"html_url": "renewed"}


@pytest.fixture
def service():
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


class Github:
    """A runner that executes one job's steps."""

    def __init__(self, service, folder, tmp_path, event, run=1, **github):
        self.service, self.folder, self.run_id = service, folder, run
        self.temp = tmp_path / f"temp{run}"
        self.temp.mkdir(parents=True)
        self.page = self.temp / "step-summary.md"
        payload = {
            "repository": {"default_branch": "main"},
            **github.pop("payload", {}),
        }
        (self.temp / "event.json").write_text(json.dumps(payload))
        self.github = {
            "event_name": event,
            "ref_name": "main" if event == "push" else "7/merge",
            "run_id": run,
            "run_attempt": 1,
            "token": "secret",
            "event": payload,
        } | github
        self.environment = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": service.url,
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/benchmarks.yml@refs/heads/x",
            "GITHUB_EVENT_PATH": str(self.temp / "event.json"),
            "GITHUB_STEP_SUMMARY": str(self.page),
        }

    def value(self, expression, scope):
        """Evaluate an expression: its operators, two functions, and contexts."""

        def context(match):
            value = scope
            for part in match[0].split("."):
                value = value.get(part, "") if isinstance(value, dict) else ""
            return repr(value)

        text = re.sub(r"\b(inputs|github|steps|runner)(\.[\w-]+)+", context, expression)
        text = text.replace("&&", " and ").replace("||", " or ")
        return eval(text, {"format": str.format, "always": lambda: True})  # noqa: S307

    def filled(self, text, scope):
        if not isinstance(text, str):
            return text
        replaced = re.sub(
            r"\$\{\{(.*?)\}\}",
            lambda m: str(self.value(m[1].strip(), scope) or ""),
            text,
        )
        return re.sub(r"\{0\}", "{}", replaced)

    def workflow(self, file, **matrix):
        """Execute the steps of a workflow's only job; return the code that it ends with."""
        text = (CI / ".github" / "workflows" / file).read_text(encoding="utf-8")
        (job,) = yaml.safe_load(text)["jobs"].values()
        for step in job["steps"]:
            code = 0
            if "run" in step:
                code = execute(step["run"], self.folder, self.environment)
            elif "pytest-evalmetrics" in step["uses"]:
                code = self.action(**{**step.get("with", {}), **matrix})
            if code:
                return code
        return 0

    def action(self, **inputs):
        action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        assert inputs.keys() <= action["inputs"].keys()
        scope = {"github": self.github, "runner": {"temp": str(self.temp)}, "steps": {}}
        scope["inputs"] = {
            name: inputs.get(name, self.filled(spec["default"], scope))
            for name, spec in action["inputs"].items()
        }
        code = 0
        for step in action["runs"]["steps"]:
            condition = step.get("if", "True")
            if code and "always()" not in condition:
                continue
            if not self.value(condition, scope):
                continue
            if "run" in step:
                output = self.temp / "output"
                output.write_text("")
                environment = {k: self.filled(v, scope) for k, v in step["env"].items()}
                environment |= self.environment | {"GITHUB_OUTPUT": str(output)}
                status = execute(step["run"], self.folder, environment)
                lines = dict(
                    line.split("=", 1) for line in output.read_text().splitlines()
                )
                scope["steps"][step.get("id", "")] = {"outputs": lines}
            else:
                options = {k: self.filled(v, scope) for k, v in step["with"].items()}
                status = getattr(self, re.findall(r"/(\w+)-?.*@", step["uses"])[0])(
                    **options
                )
            code = code or (0 if step.get("continue-on-error") else status or 0)
        return code

    def cache(self, path, key, **_):
        self.__dict__.setdefault("cached", []).append((path, key))

    def upload(self, name, path, **_):
        sources = [self.folder / each for each in path.split()]
        # where an artifact's files begin: the least folder that holds all that is uploaded
        root = os.path.commonpath([p if p.is_dir() else p.parent for p in sources])
        kept = self.temp / "kept" / name
        for source in sources:
            if not source.exists():
                return
            shutil.copytree(source, kept / source.relative_to(root), dirs_exist_ok=True)
        self.service.artifacts.setdefault(self.run_id, {})[name] = kept

    def download(self, path, name=None, pattern=None, **options):
        held = self.service.artifacts.get(int(options["run-id"]), {})
        if name is not None:
            if name not in held:
                return 1
            shutil.copytree(held[name], self.folder / path, dirs_exist_ok=True)
            return 0
        assert pattern == "evalmetrics*"
        for each, kept in held.items():
            shutil.copytree(kept, Path(path) / each)
        return 0 if held else 1


def test_the_action_is_green_and_keeps_the_journal(checkout, tmp_path, service):
    runner = Github(service, checkout, tmp_path, "pull_request")
    assert runner.workflow("benchmarks.yml") == 0
    assert "Benchmarks: PASS" in runner.page.read_text(encoding="utf-8")
    assert len(runner.cached) == len(set(runner.cached)) + 1 == 2  # restored, and saved


def test_main_begins_without_a_baseline_and_is_compared_with_from_then_on(
    checkout, tmp_path, service
):
    against_main(checkout)
    # a fork's branch may be called main too, and is not a baseline
    fork = {"id": 9, "branch": "main", "event": "pull_request", "status": "success"}
    service.runs = [fork]
    early = Github(service, checkout, tmp_path, "pull_request", run=1)
    assert early.workflow("benchmarks.yml") == 1
    assert "--evalmetrics-first-run" in early.page.read_text(encoding="utf-8")

    first = Github(service, checkout, tmp_path, "push", run=2)
    assert first.workflow("benchmarks.yml") == 0
    assert "this is the first run" in first.page.read_text(encoding="utf-8")
    assert len(first.cached) == 2
    service.runs = [
        fork,
        {"id": 2, "branch": "main", "event": "push", "status": "success"},
    ]

    spoil(checkout)
    change = Github(service, checkout, tmp_path, "pull_request", run=3)
    assert change.workflow("benchmarks.yml") == 1
    assert REGRESSION in change.page.read_text(encoding="utf-8")


def commented(service, tmp_path, run):
    payload = {
        "workflow_run": {
            "id": run,
            "name": "benchmarks",
            "event": "pull_request",
            "head_sha": "abc",
            "head_branch": "better",
            "head_repository": {"owner": {"login": "fork"}},
            "html_url": "https://example.org/runs/3",
        }
    }
    folder = tmp_path / f"empty{run}"
    folder.mkdir()
    runner = Github(
        service, folder, tmp_path, "workflow_run", run=run + 100, payload=payload
    )
    return runner.workflow("benchmarks-comment.yml", install="")


def test_a_red_pull_request_shows_the_regression_and_keeps_its_reports(
    checkout, tmp_path, service
):
    spoil(checkout)
    runner = Github(service, checkout, tmp_path, "pull_request")
    assert runner.workflow("benchmarks.yml", name="a") == 1
    assert REGRESSION in runner.page.read_text(encoding="utf-8")
    kept = {file.name for file in service.artifacts[1]["evalmetrics-a"].iterdir()}
    assert {"report.json", "report.html", "junit.xml"} <= kept


@pytest.fixture
def pull_request(service):
    """An open pull request of a fork, with the comments of others on it."""
    service.pulls = [{"number": 7, "from": "fork:better", "head": {"sha": "abc"}}]
    users = range(120)
    service.comments = [
        {"id": i, "user": {"type": "User"}, "body": "hello"} for i in users
    ]
    return service


@pytest.fixture(scope="module")
def red_report(repository, tmp_path_factory):
    """The folder of the report of a red run."""
    folder = tmp_path_factory.mktemp("red") / "project"
    shutil.copytree(repository, folder)
    spoil(folder)
    assert execute("python eval.py", folder, {}) == 0
    assert execute("pytest -q", folder, {}) == 1
    return folder / "evalmetrics"


WORSE = "| pass@1 | 0.7143 | was 0.8571 |"


def test_the_jobs_of_a_matrix_share_one_comment(pull_request, red_report, tmp_path):
    pull_request.artifacts[1] = {
        "evalmetrics-a": red_report,
        "evalmetrics-b": red_report,
    }
    assert commented(pull_request, tmp_path, 1) == 0
    assert len(pull_request.comments) == 121
    body = pull_request.comments[-1]["body"]
    assert body.count(WORSE) == 2
    assert "https://example.org/runs/3" in body


def test_a_later_run_renews_the_comment(pull_request, red_report, tmp_path):
    pull_request.artifacts[1] = {
        "evalmetrics-a": red_report,
        "evalmetrics-b": red_report,
    }
    pull_request.artifacts[2] = {"evalmetrics-a": red_report}
    commented(pull_request, tmp_path, 1)
    commented(pull_request, tmp_path, 2)
    assert len(pull_request.comments) == 121
    assert pull_request.comments[-1]["body"].count(WORSE) == 1


def test_a_run_without_a_report_is_commented_as_one(pull_request, tmp_path):
    assert commented(pull_request, tmp_path, 3) == 0
    assert "The run left no report" in pull_request.comments[-1]["body"]


def test_a_comment_that_a_user_has_forged_stays(pull_request, tmp_path):
    mark = "<!-- pytest-evalmetrics: benchmarks -->"
    forged = {"id": 500, "user": {"type": "User"}, "body": mark}
    pull_request.comments.insert(0, forged)
    commented(pull_request, tmp_path, 1)
    assert forged["body"] == mark
    assert len(pull_request.comments) == 122


def test_no_comment_on_what_is_not_the_newest_commit(tmp_path, service):
    service.pulls = [{"number": 7, "from": "fork:better", "head": {"sha": "newer"}}]
    assert commented(service, tmp_path, 1) == 0
    assert service.comments == []


def test_a_refused_token_is_an_error_of_the_action(checkout, tmp_path, service, capsys):
    service.answer = lambda *_: None
    runner = Github(service, checkout, tmp_path, "pull_request")
    assert runner.workflow("benchmarks.yml") == 1
    assert "GitHub answered 404" in capsys.readouterr().out


# -- GitLab ----------------------------------------------------------------------------------


def on_gitlab(folder, service, branch):
    """Include the component as GitLab does, and run its job."""
    included = yaml.safe_load((CI / ".gitlab-ci.yml").read_text(encoding="utf-8"))[
        "include"
    ][0]
    head, body = (
        (ROOT / "templates" / "benchmarks.yml")
        .read_text(encoding="utf-8")
        .split("---\n")
    )
    defaults = yaml.safe_load(head)["spec"]["inputs"]
    assert included["inputs"].keys() <= defaults.keys()
    values = {name: spec.get("default") for name, spec in defaults.items()} | included[
        "inputs"
    ]
    text = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: values[m[1]], body)
    job = yaml.safe_load(text)["benchmarks"]
    environment = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": f"{service.url}/api/v4",
        "CI_PROJECT_ID": "5",
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_BRANCH": branch,
        "CI_JOB_TOKEN": "secret",
    }
    commands = "\n".join([*job["before_script"], *job["script"]])
    code = execute(commands, folder, environment)
    for path in (*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()):
        assert (folder / path).exists(), path
    return SimpleNamespace(
        code=code, text=(folder / "evalmetrics" / "summary.md").read_text()
    )


@pytest.mark.skipif(
    shutil.which("curl") is None, reason="there is no curl, which the image has"
)
def test_the_gitlab_component_compares_with_the_default_branch(checkout, service):
    assert on_gitlab(checkout, service, "").code == 0
    against_main(checkout)
    assert (
        on_gitlab(checkout, service, "").code == 1
    )  # a merge request before any pipeline
    first = on_gitlab(checkout, service, "main")
    assert first.code == 0
    assert "this is the first run" in first.text
    kept = checkout.parent / "artifacts"
    shutil.copytree(checkout / "evalmetrics", kept / "evalmetrics")
    service.artifacts["main"] = {"benchmarks": kept}
    spoil(checkout)
    change = on_gitlab(checkout, service, "")
    assert change.code == 1
    assert REGRESSION in change.text


# -- Jenkins ---------------------------------------------------------------------------------


def on_jenkins(folder):
    """Execute the shell steps of the Jenkinsfile until one fails; return its code."""
    text = (CI / "Jenkinsfile").read_text(encoding="utf-8")
    installed = "mkdir -p .venv/bin && ln -sf {0}/python {0}/pytest .venv/bin"
    code = 0
    for step in re.findall(r"^\s+sh '(.+?)'", text, re.MULTILINE):
        if "pip install" in step and not os.environ.get("EVALMETRICS_CI_INSTALL"):
            step = installed.format(Path(sys.executable).parent)  # noqa: PLW2901
        code = execute(step, folder, {})
        if code:
            break
    report = re.search(r"junit '(.+?)'", text)[1]
    assert (folder / report).exists()
    return code


def test_jenkins_shows_the_regression_in_the_junit_report(checkout):
    assert on_jenkins(checkout) == 0
    spoil(checkout)
    assert on_jenkins(checkout) == 1
    assert REGRESSION in (checkout / "evalmetrics" / "junit.xml").read_text("utf-8")
