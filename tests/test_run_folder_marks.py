"""What a run does to its folder as it starts and ends: in process, without a run of pytest."""

import contextlib
import json
import os
import re
import socket
from pathlib import Path

import pytest

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.run_folder import (
    RunFolder,
    finished_report,
    make_folder,
    set_aside_of_gone,
)
from pytest_evalmetrics.run_origin import origin_of
from pytest_evalmetrics.whole_files import remove_stale, temporary_name, write_whole

# the number of no process: above every limit of Linux
GONE = 2**22 + 1


class Place:
    """The folder that runs write into."""

    def __init__(self, path):
        self.path = path
        self.prefix = f"{path}/"
        self.begun = []

    def start(self, *, evaluates=True, reporters=()):
        """Start a run; keep its notes."""
        folder = RunFolder(self.prefix, evaluates=evaluates, reporters=reporters)
        self.begun.append(folder)
        self.notes = folder.start()
        return folder

    def write(self, name, text="{}"):
        self.path.mkdir(exist_ok=True)
        file = self.path / name
        file.write_text(text, encoding="utf-8")
        return file

    def earlier(self, state, artifacts=(), **fields):
        """Let an earlier run have left its state, and files."""
        for name in artifacts:
            self.write(name, "earlier")
        told = {
            "run": "r1",
            "state": state,
            "started": "2026-01-01T00:00:00Z",
            "host": socket.gethostname(),
            "process": GONE,
            "artifacts": dict.fromkeys(artifacts, "sha256:0"),
        }
        self.write("run.json", json.dumps(told | fields))

    @property
    def state(self):
        return json.loads((self.path / "run.json").read_text(encoding="utf-8"))

    def names(self, folder="."):
        return sorted(path.name for path in (self.path / folder).iterdir())


@pytest.fixture
def place(tmp_path):
    here = Place(tmp_path / "evalmetrics")
    yield here
    for folder in here.begun:
        folder.release()


# -- the start of a run ----------------------------------------------------------------------


def test_a_run_that_starts_says_who_it_is(place):
    place.start()
    state = place.state
    assert state["state"] == "running"
    assert state["host"] == socket.gethostname()
    assert state["process"] == os.getpid()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", state["started"])
    assert place.notes == []


def test_a_new_folder_is_not_committed(place):
    place.start()
    assert (place.path / ".gitignore").read_text(encoding="utf-8").endswith("\n*\n")


def test_a_folder_that_is_there_is_left_to_its_owner(tmp_path):
    make_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_an_earlier_verdict_are_set_aside(place):
    place.earlier("finished", ["report.json", "summary.md"])
    place.start()
    assert place.names("previous") == ["report.json", "run.json", "summary.md"]
    assert not (place.path / "report.json").exists()


def test_rows_stay_because_the_run_may_read_them(place):
    place.earlier("finished", ["report.json", "rollouts.jsonl"])
    place.start()
    assert (place.path / "rollouts.jsonl").exists()
    assert place.notes == []


def test_the_file_of_a_reporter_is_set_aside_whatever_its_ending(place):
    place.earlier("finished", ["mine.txt"])
    place.start(reporters=["mine"])
    assert place.names("previous") == ["mine.txt", "run.json"]


def test_a_file_that_no_run_writes_is_left_alone_with_a_note(place):
    place.earlier("finished", ["thesis.pdf"])
    place.start()
    assert (place.path / "thesis.pdf").exists()
    (note,) = place.notes
    assert note == (
        f"note: {place.path / 'run.json'} names 'thesis.pdf', which is no artifact of a run: "
        "it is left alone"
    )


@pytest.mark.parametrize(
    "name", ["../../victim.json", "../victim.json", "victim.json", "sub/victim.json"]
)
def test_a_file_is_moved_from_no_other_place(place, name):
    state = {"run": "r1", "state": "finished", "artifacts": {name: ""}}
    place.write("run.json", json.dumps(state))
    victim = place.path / name
    victim.parent.mkdir(exist_ok=True)
    victim.write_text("precious", encoding="utf-8")
    place.start()
    assert victim.read_text(encoding="utf-8") == "precious"
    assert f"names '{name}', which is no artifact of a run" in place.notes[0]


HOST = json.dumps(socket.gethostname())
DISTRUSTED = {
    "a list": "[]",
    "null": "null",
    "no JSON": "{",
    "other types": '{"run": 1, "state": ["running"]}',
    "artifacts as a list": '{"run": "r", "state": "finished", "artifacts": [1]}',
    "artifacts as null": '{"run": "r", "state": "unfinished", "artifacts": null}',
    "a huge process": f'{{"run": "r", "state": "running", "process": 1e99, "host": {HOST}}}',
    "a large process": '{"run": "r", "state": "running", "process": 99999999999999999999}',
    "a process of 0": f'{{"run": "r", "state": "running", "process": 0, "host": {HOST}}}',
    "a group of processes": f'{{"run": "r", "state": "running", "process": -1, "host": {HOST}}}',
    "nested too deeply": "[" * 100_000,
}


@pytest.mark.parametrize("text", DISTRUSTED.values(), ids=DISTRUSTED)
def test_a_run_replaces_whatever_its_run_json_holds(place, text):
    place.write("run.json", text)
    folder = place.start()
    assert place.state["process"] == os.getpid()
    folder.finish("PASS", [], complete=True, benchmarks=set())
    assert place.state["state"] == "finished"


@pytest.mark.parametrize("text", DISTRUSTED.values(), ids=DISTRUSTED)
def test_a_report_beside_any_run_json_is_taken_or_refused(place, text):
    place.write("run.json", text)
    report = place.write("report.json")
    with contextlib.suppress(BaselineError):
        assert finished_report(report, "report.json") == report


def test_a_file_that_is_not_what_a_run_writes_is_ignored_with_a_note(place):
    place.write("run.json", "[]")
    place.start()
    assert place.notes == [
        f"note: {place.path / 'run.json'} is not what a run writes: it is ignored"
    ]
    assert place.state["state"] == "running"


def test_files_without_a_run_json_are_set_aside_by_their_names(place):
    place.write("report.json")
    place.write("notes.txt")
    place.start()
    assert place.names("previous") == ["report.json"]
    assert (place.path / "notes.txt").exists()


def test_a_run_after_one_that_died_says_so(place):
    place.earlier("running")
    place.start()
    (note,) = place.notes
    assert note == (
        f"note: the run before this one did not finish: process {GONE}, started "
        "2026-01-01T00:00:00Z"
    )


def test_a_run_beside_another_one_is_refused_with_the_way_out(place):
    # the parent of this process lives
    stat = Path(f"/proc/{os.getppid()}/stat")
    if not stat.exists():
        pytest.skip("the system does not say when a process began")
    began = stat.read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    place.earlier("running", process=os.getppid(), began=began)
    with pytest.raises(ArtifactError) as refused:
        place.start()
    assert refused.value.message == (
        f"another run writes here: process {os.getppid()}, started 2026-01-01T00:00:00Z"
    )
    assert refused.value.hint == (
        "let it end, or give one of them its own folder: --evalmetrics-output=PREFIX"
    )


def test_a_process_that_has_the_number_of_a_dead_run_is_not_that_run(place):
    place.earlier("running", process=os.getppid(), began="before")
    place.start()
    assert place.state["state"] == "running"


def test_what_evaluates_nothing_makes_no_folder(place):
    place.start(evaluates=False)
    assert not place.path.exists()


# -- its end ---------------------------------------------------------------------------------


def test_a_finished_run_names_its_files_and_where_its_benchmarks_are(place):
    folder = place.start()
    report = place.write("report.json")
    folder.finish(
        "PASS",
        [report, place.path / "gone.md", place.path.parent],
        complete=True,
        benchmarks=["b.bench.yaml", "a.bench.yaml"],
    )
    state = place.state
    assert state["state"] == "finished"
    assert state["verdict"] == "PASS"
    assert list(state["artifacts"]) == ["report.json"]
    assert state["benchmarks"] == ["a.bench.yaml", "b.bench.yaml"]


def test_a_finished_run_drops_the_earlier_verdict(place):
    place.earlier("finished", ["report.json"])
    place.start().finish("PASS", [], complete=True)
    assert not (place.path / "previous").exists()


def test_a_run_that_lacks_files_is_unfinished_and_keeps_the_earlier_verdict(place):
    place.earlier("finished", ["report.json"])
    place.start().finish("PASS", [], complete=False)
    assert place.state["state"] == "unfinished"
    assert (place.path / "previous" / "report.json").exists()


def test_a_run_that_finds_the_mark_of_another_one_at_its_end_fails(place):
    folder = place.start()
    place.earlier("running", process=7)
    with pytest.raises(ArtifactError) as refused:
        folder.finish("PASS", [], complete=True)
    assert refused.value.message == (
        "another run has written here meanwhile: process 7, started 2026-01-01T00:00:00Z"
    )


def test_where_nothing_was_evaluated_nothing_is_left(place):
    place.start().finish_without_verdict()
    assert not place.path.exists()


def test_where_nothing_was_evaluated_other_files_stay(place):
    folder = place.start()
    place.write("notes.txt")
    folder.finish_without_verdict()
    assert place.names() == [".gitignore", "notes.txt"]


def test_where_nothing_was_evaluated_an_earlier_verdict_stays_set_aside(place):
    place.earlier("finished", ["report.json"])
    place.start().finish_without_verdict()
    assert place.state["state"] == "nothing evaluated"
    assert (place.path / "previous" / "report.json").exists()


def test_the_mark_of_another_run_is_left_alone(place):
    folder = place.start()
    place.earlier("running", process=7)
    folder.finish_without_verdict()
    assert place.state["run"] == "r1"


# -- a run that met none of the benchmarks of an earlier one ---------------------------------


def gone(place, where):
    """End a run that found no benchmark where it looked."""
    place.earlier("finished", ["report.json"], benchmarks=["suite/a.bench.yaml"])
    root = place.path.parent
    return set_aside_of_gone(place.prefix, root, [root / where])


@pytest.mark.parametrize("where", [".", "suite", "suite/a.bench.yaml"])
def test_the_verdict_on_benchmarks_that_are_gone_is_set_aside(place, where):
    assert gone(place, where)
    assert place.names("previous") == ["report.json", "run.json"]
    assert place.state["state"] == "nothing evaluated"


def test_a_run_that_looked_elsewhere_leaves_the_verdict(place):
    assert not gone(place, "other")
    assert (place.path / "report.json").exists()


def test_a_run_that_had_no_verdict_has_none_to_set_aside(place):
    place.earlier("nothing evaluated", benchmarks=["a.bench.yaml"])
    root = place.path.parent
    assert not set_aside_of_gone(place.prefix, root, [root])


# -- what dead processes left ----------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", ["evalmetrics-{}-{}-{}", ".evalmetrics-{}-{}-{}.tmp"]
)
def test_what_a_dead_process_of_this_host_left_is_removed(tmp_path, pattern):
    host = temporary_name().removeprefix("evalmetrics-").rsplit("-", 2)[0]
    (tmp_path / pattern.format(host, GONE, "0" * 16)).touch()
    folder = tmp_path / pattern.format(host, GONE, "1" * 16)
    folder.mkdir()
    (folder / "rows").touch()
    remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        f"evalmetrics-elsewhere-{GONE}-{'0' * 16}",
        f"evalmetrics-notes-{GONE}",
        "evalmetrics",
    ],
)
def test_what_is_of_others_is_kept(tmp_path, name):
    (tmp_path / name).touch()
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_a_living_process_of_this_host_writes_is_kept(tmp_path):
    name = temporary_name()
    (tmp_path / name).touch()
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_that_is_not_there_holds_nothing_stale(tmp_path):
    remove_stale(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()


# -- files that are whole or not there -------------------------------------------------------


def test_a_file_is_written_with_the_folders_above_it(tmp_path):
    path = tmp_path / "deep" / "file"
    write_whole(path, [b"one, ", b"two"])
    assert path.read_bytes() == b"one, two"
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def half():
    """Give half of a file; then the disk is full."""
    yield b"half"
    raise OSError("full")


def test_a_file_that_can_t_be_finished_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(OSError, match="full"):
        write_whole(path, half())
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


# -- a hook that ends the run ----------------------------------------------------------------


def test_the_exit_of_a_process_is_restored_with_the_end_of_a_run(place):
    before = os._exit
    folder = place.start()
    assert os._exit is not before
    folder.finish("PASS", [], complete=True)
    assert os._exit is before


# -- where a run comes from ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "origin"),
    [
        (
            {
                "CI_COMMIT_SHA": "abc",
                "CI_COMMIT_REF_NAME": "main",
                "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
                "CI_JOB_URL": "https://ci.example/1",
            },
            ("abc", "topic", "https://ci.example/1"),
        ),
        (
            {
                "BUILDKITE_COMMIT": "abc",
                "BUILDKITE_BRANCH": "main",
                "BUILDKITE_BUILD_URL": "https://ci.example/2",
            },
            ("abc", "main", "https://ci.example/2"),
        ),
        (
            {
                "CIRCLE_SHA1": "abc",
                "CIRCLE_BRANCH": "main",
                "CIRCLE_BUILD_URL": "https://ci.example/3",
            },
            ("abc", "main", "https://ci.example/3"),
        ),
        (
            {
                "BUILD_SOURCEVERSION": "abc",
                "BUILD_SOURCEBRANCHNAME": "main",
                "SYSTEM_PULLREQUEST_SOURCEBRANCH": "topic",
            },
            ("abc", "topic", None),
        ),
        (
            {
                "TRAVIS_COMMIT": "abc",
                "TRAVIS_BRANCH": "main",
                "TRAVIS_PULL_REQUEST_BRANCH": "",
                "TRAVIS_JOB_WEB_URL": "https://ci.example/4",
            },
            ("abc", "main", "https://ci.example/4"),
        ),
        (
            {
                "DRONE_COMMIT_SHA": "abc",
                "DRONE_SOURCE_BRANCH": "topic",
                "DRONE_BRANCH": "main",
                "DRONE_BUILD_LINK": "https://ci.example/5",
            },
            ("abc", "topic", "https://ci.example/5"),
        ),
        (
            {
                "GIT_COMMIT": "abc",
                "GIT_BRANCH": "origin/main",
                "BUILD_URL": "https://ci.example/6",
            },
            ("abc", "origin/main", "https://ci.example/6"),
        ),
    ],
)
def test_each_ci_system_names_the_commit_the_branch_and_the_page(
    tmp_path, environ, origin
):
    found = origin_of(environ, tmp_path)
    assert (found.commit, found.branch, found.url) == origin
