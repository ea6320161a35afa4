"""``--evalmetrics-affected``: only benchmarks whose files changed are evaluated."""

import shutil
import subprocess
import sys

import pytest

from pytest_evalmetrics import affected
from pytest_evalmetrics.affected import (
    Changes,
    changes_of,
    changes_since,
    unaffected_reason,
)
from pytest_evalmetrics.config import load_benchmarks

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")
ONE = """\
benchmark:
  name: {name}
  rollouts: {name}.jsonl
  metrics: [mean_reward]
  depends: [{depends}]
"""


class Repository:
    """A repository with two benchmarks, each with code of its own."""

    def __init__(self, project):
        self.project = project
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@b.example")
        self.git("config", "user.name", "A")
        for name in ("maths", "texts"):
            folder = f"benchmarks/{name}.bench.yaml"
            depends = f"../src/{name}/**/*.py"
            project.write(folder, ONE.format(name=name, depends=depends))
            project.rollouts([[1]], name=f"benchmarks/{name}.jsonl")
            project.write(f"src/{name}/deep/agent.py", "ANSWER = 1\n")
        project.write(".gitignore", "evalmetrics/\n.pytest_cache/\n__pycache__/\n")
        self.commit()

    def git(self, *command):
        subprocess.run(["git", "-C", self.project.path, *command], check=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def run(self, base="HEAD", *args):
        return self.project.run(f"--evalmetrics-affected={base}", "-rs", *args)


@pytest.fixture
def repository(project):
    return Repository(project)


def test_the_rest_is_reported_as_not_affected_and_never_as_passed(repository):
    repository.project.write("src/maths/deep/agent.py", "ANSWER = 2\n")
    result = repository.run()
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED *texts.bench.yaml::texts*not affected: none of its files changed*"]
    )
    (skipped,) = repository.project.report()["skipped"]
    assert skipped["id"] == "benchmarks/texts.bench.yaml::texts"
    assert skipped["reason"].startswith("not affected: ")


def test_a_glob_that_matches_nothing_is_reported_by_a_check(repository):
    text = ONE.format(name="maths", depends="../scr/*.py")
    repository.project.write("benchmarks/maths.bench.yaml", text)
    result = repository.project.run("--evalmetrics-check")
    result.stdout.fnmatch_lines(
        ["*maths.bench.yaml:5:*no file matches '../scr/[*].py'"]
    )


def test_nothing_affected_is_no_failure_and_says_so(repository):
    result = repository.run()
    result.assert_outcomes(skipped=2)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*not affected: none of its files changed since HEAD*"]
    )


def test_a_commit_that_is_not_there_is_a_usage_error(repository):
    result = repository.run("no-such-commit")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--evalmetrics-affected=no-such-commit: git says *"])


# -- which files a benchmark depends on ------------------------------------------------------

KEYS = """\
benchmark:
  name: maths
  rollouts: data/*.jsonl
  metrics: [mean_reward, my_pkg.metrics:Median]
  depends: [prompts/*.txt]
  baseline: {rollouts: old/runs.jsonl}
"""
REPORT = """\
benchmark:
  name: maths
  rollouts: https://elsewhere.example/runs.jsonl
  metrics: [mean_reward]
  depends: [prompts/*.txt]
  baseline: {report: main/report.json}
"""
SCORED = """\
benchmark:
  name: maths
  dataset: tasks.jsonl
  metrics: [mean_reward]
  depends: [prompts/*.txt]
  target: "agent.ask:ask"
  scorers: [{type: "graders:strict"}]
  reward: strict
"""


@pytest.fixture
def benchmark(tmp_path):
    """Load a benchmark of the folder `suite`, which depends on a file that is there."""
    folder = tmp_path / "suite"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "a.txt").touch()

    def load(text):
        file = folder / "maths.bench.yaml"
        file.write_text(text, encoding="utf-8")
        (benchmark,) = load_benchmarks(file, shown=file.name, scorers_known=True)
        return benchmark

    return load


def affects(benchmark, file):
    """Check whether a change of one file alone affects a benchmark."""
    path = (benchmark.file.parent / file).resolve()
    changes = Changes(base="main", files=frozenset([path]))
    return unaffected_reason(benchmark, changes) == ""


@pytest.mark.parametrize(
    "file",
    [
        "maths.bench.yaml",
        "prompts/a.txt",
        "data/runs.jsonl",
        "old/runs.jsonl",
        "../my_pkg/metrics.py",
        "../my_pkg/metrics/__init__.py",
        "../src/my_pkg/metrics.py",
        "__baselines__/maths.bench/maths.json",
        "../pyproject.toml",
        "../pytest.ini",
        "../setup.cfg",
        "conftest.py",
    ],
)
def test_each_file_that_a_benchmark_names_or_stands_below_affects_it(benchmark, file):
    assert affects(benchmark(KEYS), file)


@pytest.mark.parametrize(
    "file",
    [
        "prompts/a.md",
        "prompts/deep/a.txt",
        "other.bench.yaml",
        "data/runs.json",
        "../my_pkg/other.py",
        "../my_pkg/metrics_of_others.py",
        "__baselines__/other.bench/maths.json",
        "below/conftest.py",
        "../other/conftest.py",
        "../README.md",
    ],
)
def test_no_other_file_affects_a_benchmark(benchmark, file):
    assert not affects(benchmark(KEYS), file)


def test_the_reason_names_the_commit_as_it_was_given(benchmark):
    changes = Changes(base="origin/main", files=frozenset())
    assert unaffected_reason(benchmark(KEYS), changes) == (
        "not affected: none of its files changed since origin/main"
    )


def test_the_report_of_a_baseline_affects_a_benchmark(benchmark):
    assert affects(benchmark(REPORT), "main/report.json")


@pytest.mark.parametrize("file", ["tasks.jsonl", "../agent/ask.py", "graders.py"])
def test_what_answers_and_what_scores_affects_a_benchmark(benchmark, file):
    assert affects(benchmark(SCORED), file)


@pytest.mark.parametrize("depends", ["", "  depends: [prompt/*.txt]\n"])
def test_a_benchmark_that_names_no_file_is_always_affected(benchmark, depends):
    asked = benchmark(KEYS.replace("  depends: [prompts/*.txt]\n", depends))
    assert affects(asked, "../README.md")


def test_a_module_of_the_name_of_a_text_alone_affects_nothing(benchmark):
    assert not affects(benchmark(KEYS), "../mean_reward.py")


CALLED = """\
benchmark:
  name: maths
  rollouts: runs.jsonl
  metrics: [mean_reward]
  key_metrics: ["key_pkg.shown:Shown"]
  depends: [prompts/*.txt]
  scorers:
    - {type: python, function: "graders.lenient:grade", scores: [ok]}
"""


@pytest.mark.parametrize("file", ["../key_pkg/shown.py", "graders/lenient.py"])
def test_the_code_of_a_function_that_is_named_affects_a_benchmark(benchmark, file):
    assert affects(benchmark(CALLED), file)


# -- git -------------------------------------------------------------------------------------


@pytest.fixture
def commits(tmp_path):
    """Make a repository of one commit; give the function that calls git in it."""

    def git(*command):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)

    git("init", "-q", "-b", "main")
    git("config", "user.email", "a@b.example")
    git("config", "user.name", "A")
    (tmp_path / ".gitignore").write_text("ignored\n")
    (tmp_path / "src").mkdir()
    for name in ("kept", "edited", "moved", "removed"):
        (tmp_path / "src" / name).write_text(f"{name}\n")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    return git


def changed_since(base, folder):
    """Name the files that changed since a commit, from the top of the repository."""
    changes = changes_since(base, folder)
    top = folder.parent if folder.name == "src" else folder
    assert changes.base == base
    return sorted(path.relative_to(top).as_posix() for path in changes.files)


@pytest.mark.usefixtures("commits")
def test_without_a_change_no_file_differs(tmp_path):
    assert changed_since("HEAD", tmp_path) == []


@pytest.mark.usefixtures("commits")
def test_edited_removed_moved_and_new_files_are_changes(tmp_path):
    src = tmp_path / "src"
    (src / "edited").write_text("other\n")
    (src / "removed").unlink()
    (src / "moved").rename(src / "elsewhere")
    (tmp_path / "ignored").touch()
    (tmp_path / 'n\u00e9w "file"').touch()
    assert changed_since("HEAD", tmp_path) == [
        'n\u00e9w "file"',
        "src/edited",
        "src/elsewhere",
        "src/moved",
        "src/removed",
    ]


def test_a_move_that_is_committed_changes_both_places(commits, tmp_path):
    (tmp_path / "src/moved").rename(tmp_path / "src/elsewhere")
    commits("add", "-A")
    commits("commit", "-q", "-m", "two")
    assert changed_since("HEAD", tmp_path) == []
    assert changed_since("HEAD~1", tmp_path) == ["src/elsewhere", "src/moved"]


def test_what_is_staged_is_a_change(commits, tmp_path):
    (tmp_path / "src/edited").write_text("other\n")
    commits("add", "-A")
    assert changed_since("main", tmp_path) == ["src/edited"]


@pytest.mark.usefixtures("commits")
def test_changes_of_the_whole_repository_count_in_a_folder_of_it(tmp_path):
    (tmp_path / "src/edited").write_text("other\n")
    (tmp_path / "new").touch()
    assert changed_since("HEAD", tmp_path / "src") == ["new", "src/edited"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
@pytest.mark.usefixtures("commits")
def test_a_name_that_is_no_text_is_a_change(tmp_path):
    name = b"\xff".decode("utf-8", "surrogateescape")
    (tmp_path / name).touch()
    assert changes_since("HEAD", tmp_path).files == {tmp_path / name}


@pytest.mark.usefixtures("commits")
def test_a_tree_is_no_commit(tmp_path):
    with pytest.raises(pytest.UsageError, match="git says"):
        changes_since("HEAD:src", tmp_path)


@pytest.mark.usefixtures("commits")
def test_the_words_of_git_are_shown_for_a_commit_that_is_not_there(tmp_path):
    with pytest.raises(pytest.UsageError) as refused:
        changes_since("no-such-commit", tmp_path)
    assert str(refused.value) == (
        "--evalmetrics-affected=no-such-commit: git says "
        "'fatal: Needed a single revision'\n"
        "  fetch the commit first: a shallow clone (fetch-depth: 1) may not have it"
    )


def test_outside_of_a_repository_the_option_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(pytest.UsageError, match=r"git says .*not a git repository"):
        changes_since("HEAD", tmp_path)


def test_without_the_option_nothing_is_asked_of_git(pytester):
    assert changes_of(pytester.parseconfig()) is None


@pytest.mark.usefixtures("commits")
def test_git_is_asked_once_for_a_run(pytester, tmp_path):
    config = pytester.parseconfig(
        "--evalmetrics-affected=HEAD", f"--rootdir={tmp_path}"
    )
    first = changes_of(config)
    (tmp_path / "new").touch()
    assert first.base == "HEAD"
    assert changes_of(config) is first


@pytest.mark.usefixtures("commits")
def test_git_reads_nothing_of_the_terminal(tmp_path, monkeypatch):
    calls = []
    run = subprocess.run

    def kept(*args, **settings):
        calls.append(settings["stdin"])
        return run(*args, **settings)

    monkeypatch.setattr(affected.subprocess, "run", kept)
    changes_since("HEAD", tmp_path)
    assert set(calls) == {subprocess.DEVNULL}


def test_words_of_git_that_are_no_text_are_shown_as_far_as_they_are(tmp_path):
    gone = tmp_path / "gone \udcff"
    with pytest.raises(pytest.UsageError) as refused:
        changes_since("HEAD", gone)
    first, hint = str(refused.value).split("\n")
    assert first.startswith("--evalmetrics-affected=HEAD: git says ")
    assert "gone \N{REPLACEMENT CHARACTER}" in first
    assert hint == (
        "  fetch the commit first: a shallow clone (fetch-depth: 1) may not have it"
    )


def test_without_git_the_option_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.UsageError) as refused:
        changes_since("HEAD", tmp_path)
    assert str(refused.value) == (
        "--evalmetrics-affected needs git, which is not installed"
    )


JOINED = """\
benchmark:
  name: maths
  metrics: [mean_reward]
  depends: [prompts/*.txt]
  rollouts: {path: runs.jsonl, join: {path: grades.jsonl, on: id}}
"""
PINNED = """\
benchmark:
  name: maths
  metrics: [mean_reward, mean_reward/over_reference]
  depends: [prompts/*.txt]
  rollouts: runs.jsonl
  reference: {rollouts: pinned.jsonl}
"""
LABELLED = """\
benchmark:
  name: maths
  metrics: [mean_reward]
  depends: [prompts/*.txt]
  rollouts: runs.jsonl
  labels: {rows: labels.jsonl, label: human}
"""


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (JOINED, "grades.jsonl"),
        (PINNED, "pinned.jsonl"),
        (LABELLED, "labels.jsonl"),
    ],
)
def test_a_file_beside_the_rollouts_affects_a_benchmark(benchmark, text, file):
    assert affects(benchmark(text), file)


JUDGED = """\
benchmark:
  name: maths
  dataset: data.jsonl
  metrics: [mean_reward]
  depends: [prompts/*.txt]
  scorers:
    - type: llm-judge
      model: {url: "http://127.0.0.1:9/v1", name: m}
      scores: [{name: good, minimum: 0, maximum: 1}]
      judge_check: {rows: labelled.jsonl, label: human}
  reward: good
"""


def test_the_rows_that_check_a_judge_affect_a_benchmark(benchmark):
    assert affects(benchmark(JUDGED), "labelled.jsonl")
