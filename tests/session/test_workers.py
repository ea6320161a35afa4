"""What crosses from workers of pytest-xdist, with the plugin itself.

The selection, lost items and unused baselines of workers are tested in `test_session` and in
`baselines`.
"""

import pytest
import xdist.plugin
from execnet import XSpec

from pytest_evalmetrics.session.evaluation_session import EvaluationSession
from pytest_evalmetrics.session.workers import (
    WorkerHooks,
    hand_over,
    place_of,
    remove_shared_folder,
    shared_folder,
    take_selection,
    worker_of,
)
from pytest_evalmetrics.settings import shared_budget, starts_workers

CHECK = "def test_{name}(evalmetrics): evalmetrics.check([1.0], thresholds={{'mean_reward': '>= 1'}})\n"


@pytest.fixture
def checks(project):
    """Checks in two files, of which a worker each takes one."""
    for name in ("one", "two"):
        project.write(f"test_{name}.py", CHECK.format(name=name))
    return project


def test_a_test_of_a_worker_is_known_by_its_first_report(checks):
    assert checks.run("-n", "2").ret == 0
    assert [entry["id"] for entry in checks.report()["benchmarks"]] == [
        "test_one.py::test_one",
        "test_two.py::test_two",
    ]


def test_a_large_result_of_a_worker_arrives_and_its_file_is_removed(
    project, tmp_path, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    project.rollouts([[1.0, 0.0]] * 40_000)
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    assert project.run("-n", "1").ret == 0
    (entry,) = project.report()["benchmarks"]
    assert entry["agents"][0]["tasks"] == 40_000
    assert not list(temporary.glob("**/*.jsonl"))


def test_a_failure_of_a_worker_is_shown_by_its_parts(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    alone = project.run("-p", "no:cacheprovider")
    in_worker = project.run("-p", "no:cacheprovider", "-n", "1")
    reason = "*mean_reward is 0, below 0.5*"
    alone.stdout.fnmatch_lines([reason])
    in_worker.stdout.fnmatch_lines([reason])
    in_worker.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ([], False),
        (["-n", "2"], True),
        (["-n", "0"], False),
        (["--dist", "load"], False),
        (["--dist", "load", "--tx", "2*popen"], True),
    ],
)
def test_a_run_that_distributes_its_tests_starts_workers(pytester, arguments, starts):
    config = pytester.parseconfig(*arguments)
    xdist.plugin.pytest_cmdline_main(config)
    assert starts_workers(config) is starts


def test_the_folder_of_all_processes_is_one_in_the_temporary_folder(
    pytester, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = pytester.parseconfig()
    folder = shared_folder(config)
    assert folder.parent == tmp_path
    assert shared_folder(config) == folder


def test_the_folder_of_all_processes_is_removed_with_what_a_worker_left(
    pytester, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    config = pytester.parseconfig()
    folder = shared_folder(config)
    folder.mkdir()
    (folder / "of a dead worker").touch()
    remove_shared_folder(config)
    assert not folder.exists()


# -- what a worker is given ------------------------------------------------------------------


class Gateway:
    """The connection to a worker."""

    def __init__(self, spec):
        self.spec = XSpec(spec)


class Node:
    """A worker, as the process that starts it sees it."""

    def __init__(self, spec="popen"):
        self.gateway = Gateway(spec)
        self.workerinput = {"workercount": 2}


class WorkerConfig:
    """The configuration of a worker, which was given something."""

    def __init__(self, node):
        self.workerinput = node.workerinput


@pytest.fixture
def starting(pytester):
    """The hooks that start the workers of a run with some arguments."""

    def hooks(*arguments):
        config = pytester.parseconfig(*arguments)
        return WorkerHooks(config, EvaluationSession(config))

    return hooks


def test_a_worker_on_this_machine_shares_the_folder_of_the_run(pytester):
    config = pytester.parseconfig()
    node = Node()
    WorkerHooks(config, EvaluationSession(config)).pytest_configure_node(node)
    assert shared_folder(WorkerConfig(node)) == shared_folder(config)


def test_a_worker_elsewhere_shares_no_folder(starting):
    node = Node("ssh=elsewhere")
    starting().pytest_configure_node(node)
    assert shared_folder(WorkerConfig(node)) is None


def test_workers_share_one_file_and_one_start_of_a_budget(starting):
    hooks = starting()
    nodes = [Node(), Node()]
    for node in nodes:
        hooks.pytest_configure_node(node)
    first, second = (shared_budget(WorkerConfig(node)) for node in nodes)
    assert first == second
    assert first is not None


def test_a_budget_is_refused_where_workers_elsewhere_would_not_share_it(starting):
    hooks = starting("--evalmetrics-budget", "5calls")
    with pytest.raises(pytest.UsageError) as refused:
        hooks.pytest_configure_node(Node("ssh=elsewhere"))
    assert str(refused.value) == (
        "--evalmetrics-budget: workers elsewhere can't share a budget"
    )


def test_workers_are_numbered_whatever_their_names_are(starting):
    hooks = starting()
    nodes = [Node("popen//id=left"), Node("popen//id=right")]
    for node in nodes:
        hooks.pytest_configure_node(node)
    assert [place_of(WorkerConfig(node)) for node in nodes] == [(0, 2), (1, 2)]


def test_a_worker_that_replaces_another_has_its_number(starting):
    hooks = starting()
    nodes = [Node(), Node()]
    for node in nodes:
        hooks.pytest_configure_node(node)
    hooks.pytest_testnodedown(nodes[0])
    replacement = Node()
    hooks.pytest_configure_node(replacement)
    assert place_of(WorkerConfig(replacement)) == (0, 2)


def test_without_workers_one_process_runs_all(pytester):
    assert place_of(pytester.parseconfig()) == (0, 1)


# -- what a worker's reports carry -----------------------------------------------------------


@pytest.fixture
def in_worker(pytester):
    """The item of a check in a worker, whose collection is finished, and the session."""
    pytester.makepyfile("def test_checks(evalmetrics): ...")
    (item,), _ = pytester.inline_genitems()
    item.config.workerinput = {}
    item.session.items = [item]
    session = EvaluationSession(item.config)
    session.record([item])
    session.pytest_collection_finish(item.session)
    return session, item


def reported(session, item):
    """Return the report of an item, as it leaves the process."""
    call = pytest.CallInfo.from_call(lambda: None, "setup")
    hook = session.pytest_runtest_makereport(item, call)
    next(hook)
    with pytest.raises(StopIteration) as done:
        hook.send(pytest.TestReport.from_item_and_call(item, call))
    return done.value.value


def test_the_first_report_of_a_worker_carries_its_selection(in_worker):
    session, item = in_worker
    assert take_selection(reported(session, item)) == ([item.nodeid], [item.nodeid])


def test_further_reports_of_a_worker_carry_no_selection(in_worker):
    session, item = in_worker
    reported(session, item)
    assert take_selection(reported(session, item)) == ((), ())


def test_a_report_without_xdist_is_of_no_worker(in_worker):
    assert worker_of(reported(*in_worker)) == ""


def test_a_process_without_workers_puts_no_selection_on_a_report(in_worker):
    _, item = in_worker
    del item.config.workerinput
    session = EvaluationSession(item.config)
    assert take_selection(reported(session, item)) == ((), ())


# -- what a worker leaves at its end ---------------------------------------------------------


class Heard:
    """The session of the process that started the workers."""

    def __init__(self):
        self.found = []

    def add_collected(self, nodeids):
        self.found.append(list(nodeids))
        return "another run writes there" if "refused" in nodeids else ""

    def add_from_worker(self, unused, required):
        self.found.append((list(unused), required))


class EndedWorker(WorkerConfig):
    """A worker at its end."""

    def __init__(self, node):
        super().__init__(node)
        self.workeroutput = {}


def test_what_a_worker_hands_over_arrives_when_it_ends(pytester):
    heard = Heard()
    node = Node()
    config = EndedWorker(node)
    hand_over(config, ["math.json"], {"safety": ["a.bench.yaml::a"]})
    node.workeroutput = config.workeroutput
    WorkerHooks(pytester.parseconfig(), heard).pytest_testnodedown(node)
    assert heard.found == [(["math.json"], {"safety": ["a.bench.yaml::a"]})]


def test_a_worker_that_died_has_handed_over_nothing(pytester):
    heard = Heard()
    WorkerHooks(pytester.parseconfig(), heard).pytest_testnodedown(Node())
    assert heard.found == [([], {})]


def test_a_process_that_is_no_worker_hands_over_to_nobody(pytester):
    config = pytester.parseconfig()
    hand_over(config, ["math.json"], {})
    assert not hasattr(config, "workeroutput")


def test_what_workers_collect_is_known_and_may_refuse_the_run(pytester):
    heard = Heard()
    hooks = WorkerHooks(pytester.parseconfig(), heard)
    hooks.pytest_xdist_node_collection_finished(Node(), ["a", "b"])
    assert heard.found == [["a", "b"]]
    with pytest.raises(pytest.exit.Exception) as refused:
        hooks.pytest_xdist_node_collection_finished(Node(), ["refused"])
    assert refused.value.msg == "another run writes there"
    assert refused.value.returncode == pytest.ExitCode.USAGE_ERROR
