"""The engine ray over a stand-in for Ray: its connection, its reading, and its workers."""

import asyncio
import os
import socket
import sys
from contextlib import closing
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest
from rollouts.same import all_bits
from scoring.engines.conftest import shown
from scoring.engines.inline_ray import InlineRay, RayError, TaskError
from scoring.generation.running import rows, run
from scoring.scorers.offline import entry

import pytest_evalmetrics
from pytest_evalmetrics.errors import DataError, EngineError, RowError
from pytest_evalmetrics.ext import (
    FieldMap,
    Request,
    Row,
    Source,
    Terms,
    Workload,
    register_scorer,
)
from pytest_evalmetrics.reports.sentences import hint_of, reason_of
from pytest_evalmetrics.rollouts import RolloutFile, load, remote
from pytest_evalmetrics.scoring import door
from pytest_evalmetrics.scoring.engines import ray_engine, ray_scoring
from pytest_evalmetrics.scoring.engines.ray_engine import RayEngine, read_piece
from pytest_evalmetrics.scoring.scorers import make_scorers
from pytest_evalmetrics.scoring.transport import Transport
from pytest_evalmetrics.scoring.transport.wire import MissingExtraError
from pytest_evalmetrics.spec import RolloutsSpec


@pytest.fixture
def ray(monkeypatch):
    ray = InlineRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    # a worker puts the project's folders first
    monkeypatch.setattr(sys, "path", list(sys.path))
    return ray


@pytest.fixture
def engine(ray, tmp_path):
    assert ray.inits == []
    engine = RayEngine(None, tmp_path, always=True, size=5000)
    yield engine
    engine.close()


@pytest.fixture
def head():
    """A port that takes connections until it is closed."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server


def port_of(server):
    return server.getsockname()[1]


# -- the connection --------------------------------------------------------------------------------


def test_it_connects_once_and_quietly(ray, engine):
    engine.prepare()
    engine.prepare()
    assert ray.inits == [
        {
            "address": None,
            "include_dashboard": False,
            "logging_level": 40,  # logging.ERROR
            "log_to_driver": False,
            "configure_logging": False,
        }
    ]
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_who_wants_telemetry_has_it(ray, engine, monkeypatch):
    assert ray.inits == []
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    engine.prepare()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "1"


def test_it_connects_to_the_address_that_it_is_given(ray, tmp_path, head):
    address = f"127.0.0.1:{port_of(head)}"
    RayEngine(address, tmp_path).prepare()
    assert ray.inits[0]["address"] == address


def test_a_cluster_that_it_started_ends_with_it(ray, engine):
    engine.prepare()
    engine.close()
    engine.close()
    assert ray.shutdowns == 1


def test_an_engine_that_was_not_used_ends_nothing(ray, engine):
    engine.close()
    assert (ray.inits, ray.shutdowns) == ([], 0)


def test_a_cluster_that_the_users_code_connected_to_is_theirs(ray, engine):
    ray.is_users = True
    engine.prepare()
    engine.close()
    assert (ray.inits, ray.shutdowns) == ([], 0)


def test_without_the_package_its_extra_is_named(engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="the engine ray needs") as raised:
        engine.prepare()
    assert raised.value.hint == "pip install 'pytest-evalmetrics[ray]'"


HINT = (
    "is it up (`ray status`), on the same versions of Ray and Python, and does pytest run on "
    "one of its machines? --evalmetrics-ray-address names another"
)


@pytest.mark.parametrize("error", [RuntimeError, ValueError, ConnectionError])
def test_a_cluster_that_can_not_be_used_says_why(ray, engine, error):
    ray.init_error = error("no  such\ncluster")
    with pytest.raises(EngineError) as raised:
        engine.prepare()
    assert raised.value.message == (
        "the Ray cluster of its own can't be used: no such cluster"
    )
    assert raised.value.hint == HINT


def test_an_error_without_words_is_named_by_its_class(ray, engine):
    ray.init_error = RuntimeError()
    with pytest.raises(EngineError) as raised:
        engine.prepare()
    assert raised.value.message == (
        "the Ray cluster of its own can't be used: RuntimeError"
    )


def test_a_long_error_is_cut(ray, engine):
    ray.init_error = RuntimeError("x" * 1000)
    with pytest.raises(EngineError) as raised:
        engine.prepare()
    assert raised.value.message == (
        f"the Ray cluster of its own can't be used: {'x' * 300}\u2026"
    )


@pytest.mark.parametrize("of_environment", [True, False])
def test_a_head_that_refuses_is_noticed_at_once(
    ray, tmp_path, head, monkeypatch, of_environment
):
    address = f"127.0.0.1:{port_of(head)}"
    head.close()
    if of_environment:
        monkeypatch.setenv("RAY_ADDRESS", address)
    engine = RayEngine(None if of_environment else address, tmp_path)
    with pytest.raises(EngineError) as raised:
        engine.prepare()
    assert raised.value.message.startswith(
        f"the Ray cluster {address} can't be used: [Errno "
    )
    assert ray.inits == []


@pytest.mark.parametrize("address", ["auto", "ray://host:10001", "local"])
def test_an_address_of_another_form_is_for_ray_to_read(ray, tmp_path, address):
    RayEngine(address, tmp_path).prepare()
    assert ray.inits[0]["address"] == address


@pytest.mark.parametrize(("cpus", "count"), [(7.0, 7), (0, 1), (None, 1), (2.9, 2)])
def test_the_cores_of_all_nodes_are_counted(ray, engine, cpus, count):
    ray.cpus = cpus
    assert engine.cpus() == count


def test_a_free_core_is_waited_for_by_an_empty_task(ray, engine):
    engine.must_have_a_core()
    assert ray.options == [{"num_cpus": 1}]
    assert ray.cancelled == []


def test_a_cluster_without_a_free_core_is_reported(ray, engine):
    ray.has_free_core = False
    engine.patience_s = 0.001
    with pytest.raises(EngineError) as raised:
        engine.must_have_a_core()
    assert raised.value.message == (
        "no node of the Ray cluster had a free core within 0 s"
    )
    assert raised.value.hint == "`ray status` lists what its nodes work on"
    assert len(ray.cancelled) == 1


def test_a_cluster_that_grows_has_five_minutes_for_it(engine):
    assert engine.patience_s == 300.0


# -- its head ----------------------------------------------------------------------------------------


@pytest.fixture
def beats(monkeypatch):
    """Let the checks of the head follow each other at once."""
    monkeypatch.setattr(ray_engine, "_BEAT_S", 0.001)


def watch(engine, seconds=5.0):
    async def work():
        async with asyncio.timeout(seconds):
            await engine.watch_head()

    asyncio.run(work())


@pytest.mark.usefixtures("beats")
@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]"])
def test_a_head_that_is_gone_ends_the_work(ray, engine, head, host):
    ray.address = f"{host}:{port_of(head)}"
    engine.prepare()
    head.close()
    with pytest.raises(EngineError) as raised:
        watch(engine)
    shown_host = host.strip("[]")
    assert raised.value.message == (
        f"the head of the Ray cluster ({shown_host}:{port_of_closed(ray)}) is gone: it "
        "refuses connections"
    )
    assert raised.value.hint == (
        "start the cluster again (`ray start --head`) and run again: answers that were paid "
        "for are in the journal; --evalmetrics-engine local does without"
    )
    with pytest.raises(EngineError, match="is gone"):
        engine.prepare()


def port_of_closed(ray):
    return ray.address.rpartition(":")[2]


@pytest.mark.usefixtures("beats")
def test_a_head_that_answers_is_left_alone(ray, engine, head):
    ray.address = f"127.0.0.1:{port_of(head)}"
    engine.prepare()
    with pytest.raises(TimeoutError):
        watch(engine, seconds=0.1)


@pytest.mark.usefixtures("beats")
@pytest.mark.parametrize("address", [None, "", "no-port", "127.0.0.1:none"])
def test_a_cluster_without_an_address_has_no_head_to_watch(ray, engine, address):
    ray.address = address
    engine.prepare()
    with pytest.raises(TimeoutError):
        watch(engine, seconds=0.05)


def knocks(monkeypatch, outcomes):
    """Let each connection to the head have an outcome: an error, or None for none."""
    left = list(outcomes)

    def create_connection(_address, timeout):
        assert timeout == 10.0
        error = left.pop(0) if left else TimeoutError()
        if error is not None:
            raise error
        return socket.socket()

    monkeypatch.setattr(ray_engine.socket, "create_connection", create_connection)
    return left


@pytest.mark.usefixtures("beats")
def test_three_refusals_in_a_row_end_the_work_and_two_do_not(ray, engine, monkeypatch):
    refused = ConnectionRefusedError()
    outcomes = [None, refused, refused, None, refused, refused, TimeoutError()]
    ray.address = "host:1"
    left = knocks(monkeypatch, [*outcomes, refused, refused, refused, None])
    engine.prepare()
    with pytest.raises(EngineError, match=r"\(host:1\) is gone"):
        watch(engine)
    assert left == [None]


@pytest.mark.parametrize(("error", "beats"), [(None, []), (OSError(), [4.0])])
def test_a_lost_worker_waits_for_news_of_its_head(
    ray, engine, monkeypatch, error, beats
):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    ray.address = "host:1"
    knocks(monkeypatch, [None, error])
    engine.prepare()
    monkeypatch.setattr(ray_engine.asyncio, "sleep", sleep)
    asyncio.run(engine.await_head())
    assert slept == beats


# -- losses --------------------------------------------------------------------------------------------


def test_a_task_that_breaks_down_says_what_broke(engine):
    error = engine.lost(TaskError(KeyError("no_such_function")))
    assert error.message == (
        "a worker of the Ray cluster broke down: KeyError: 'no_such_function'"
    )
    assert error.hint == (
        "has every node the same versions of this package and of what it imports?"
    )


def test_work_that_is_lost_again_and_again_says_so(engine):
    error = engine.lost(RayError("the actor\n died"))
    assert error.message == (
        "the Ray cluster lost the work again and again: the actor died"
    )
    assert error.hint == (
        "are its nodes alive, and have they the memory? see `ray status`; "
        "--evalmetrics-engine local does without"
    )


# -- reading -------------------------------------------------------------------------------------------


def recorded(first, count):
    return [
        {"_ng_task_index": n // 2, "_ng_rollout_index": n % 2, "reward": n % 3 / 2}
        for n in range(first, first + count)
    ]


SPEC = RolloutsSpec(path=("*.jsonl",), fields=FieldMap())


@pytest.fixture
def files(tmp_path):
    """Two files of 200 rows, each some pieces of 5,000 bytes."""
    for number in (0, 1):
        rows(tmp_path / f"{number}.jsonl", recorded(200 * number, 200))
    return tmp_path


def read(folder, engine=None):
    reader = None if engine is None else engine.read
    return load(SPEC, folder, scores=["reward"], reader=reader)


def test_the_cluster_reads_what_one_process_does(ray, engine, files):
    assert all_bits(read(files, engine)) == all_bits(read(files))
    assert ray.options[-1] == {
        "num_cpus": 1,
        "max_retries": 5,
        "scheduling_strategy": "SPREAD",
    }


def test_small_files_are_read_here(ray, files):
    engine = RayEngine(None, files)
    assert all_bits(read(files, engine)) == all_bits(read(files))
    assert ray.inits == []


def test_three_pieces_for_each_core_are_under_way(ray, files, monkeypatch):
    started = []
    remote = ray.remote

    def counted(**options):
        def of(target):
            task = remote(**options)(target)
            make = task.remote

            def begun(*args):
                started.append(args)
                return make(*args)

            task.remote = begun
            return task

        return of

    monkeypatch.setattr(ray, "remote", counted)
    under_way = []
    get = ray.get

    def watched(ref):
        under_way.append(len(started))
        return get(ref)

    monkeypatch.setattr(ray, "get", watched)
    read(files, RayEngine(None, files, always=True, size=1000))
    # one is the task that looks for a free core
    assert under_way[:3] == [1 + 6, 1 + 7, 1 + 8]
    assert under_way[-1] == len(started)


@pytest.mark.parametrize(
    "bad", ['{"reward": }', '{"_ng_task_index": 5, "reward": "x"}']
)
def test_an_error_has_the_line_of_its_file(engine, files, bad):
    path = files / "1.jsonl"
    path.write_text(path.read_text() + bad + "\n")
    errors = []
    for reader in (None, engine):
        with pytest.raises(DataError) as raised:
            read(files, reader)
        errors.append((str(raised.value), raised.value.file, raised.value.line))
    assert errors[0] == errors[1]
    assert errors[0][2] == 201


def test_a_piece_that_is_lost_says_so(ray, engine, files):
    ray.task_errors = [None, RayError("gone")]
    with pytest.raises(EngineError, match="lost the work again and again: gone"):
        read(files, engine)


def test_a_file_without_rows_is_read_here_for_its_words(engine, files):
    (files / "2.jsonl").write_text("\n")
    errors = []
    for reader in (None, engine):
        with pytest.raises(DataError) as raised:
            read(files, reader)
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


def test_a_file_that_changes_while_it_is_read_is_refused(ray, engine, files):
    get = ray.get
    path = files / "1.jsonl"

    def changed(ref):
        result = get(ref)
        path.write_text(path.read_text() + "\n\n")
        return result

    ray.get = changed
    with pytest.raises(DataError, match="changed"):
        read(files, engine)


def test_a_file_behind_a_url_is_fetched_by_the_node_and_deleted_again(
    files, monkeypatch
):
    copies = []
    url = (files / "0.jsonl").as_uri()
    find = remote.find

    def kept(url, *, fetch):
        assert fetch
        copies.extend(find(url, fetch=True))
        return copies

    monkeypatch.setattr(remote, "find", kept)
    file = RolloutFile(Path("0.jsonl"), "shown/0.jsonl", url)
    source, part = read_piece(file, None, Request(FieldMap()))
    assert source.path == Path("shown/0.jsonl")
    assert part.rows == 200
    (copy,) = copies
    assert not copy.path.exists()


def test_a_fetched_file_that_can_not_be_split_is_read_elsewhere(files):
    (files / "a.csv").write_text("task,reward\na,1\n")
    file = RolloutFile(Path("a.csv"), "a.csv", (files / "a.csv").as_uri())
    assert read_piece(file, None, Request(FieldMap())) is None


def test_a_node_that_does_not_see_a_file_names_both(tmp_path):
    source = Source(tmp_path / "a.jsonl", "runs/a.jsonl", 10, b"{")
    problem = read_piece(source, None, Request(FieldMap()))
    assert isinstance(problem, EngineError)
    assert problem.message == (
        f"the node {socket.gethostname()} of the Ray cluster has no file "
        f"{tmp_path / 'a.jsonl'}"
    )
    assert problem.file == "runs/a.jsonl"
    assert problem.hint == (
        "place the rollouts where all nodes see them under the same path, or behind URLs"
    )


# -- scoring ---------------------------------------------------------------------------------------------

BENCH = "benchmark:\n  name: a\n  dataset: data.jsonl\n  scorers: {}"


@register_scorer("inline-length")
class Length:
    """A scorer of the user's own."""

    scores = ("length", "is_short")

    def __init__(self, *, short):
        self.short = short

    def score(self, row):
        if row.index == 7:
            raise RowError("no-output", "there is no output", hint="write some")
        return {"length": row.index, "is_short": row.index < self.short}


@register_scorer("inline-fragile")
class Fragile:
    """One that can be made here, but not on a node."""

    scores = ("x",)
    made = 0

    def __init__(self):
        Fragile.made += 1
        if Fragile.made > 1:
            raise ImportError("no module named torch")

    def score(self, row):
        return float(row.index)


LENGTH = BENCH.format("[{type: inline-length, short: 9}]\n  reward: length\n") + (
    "  expect: {max_missing: 90%}\n"
)


@pytest.fixture
def data(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        rows(tmp_path / name / "data.jsonl", [{"id": n} for n in range(40)])
    return tmp_path


@pytest.fixture
def scoring(ray, data):
    """An engine that scores, and reads as this process does."""
    engine = RayEngine(None, data)
    yield engine
    engine.close()
    assert ray.losses == []


def there(data, text, engine):
    return run(data / "there", text, engine=engine)


def why(outcome):
    """Return the check that says why there are no numbers."""
    (check,) = [check for check in outcome[0].result.checks if check.gate == "data"]
    return check


def test_scores_and_failures_are_those_of_a_local_run(ray, data, scoring):
    here = run(data / "here", LENGTH)
    assert shown(there(data, LENGTH, scoring)) == shown(here)
    work = [args for name, args in ray.calls if name == "work"]
    assert sum(len(tasks) for (tasks,) in work) == 40
    assert {"num_cpus": 1, "scheduling_strategy": "SPREAD"} in ray.options


def test_no_more_workers_than_cores_are_started_and_all_are_ended(ray, data, scoring):
    ray.cpus = 3
    there(data, LENGTH, scoring)
    begun = [name for name, _ in ray.calls if name == "begin"]
    assert len(begun) <= 3
    assert len(ray.killed) == len(begun) > 0


def test_a_batch_grows_while_it_takes_a_moment_up_to_64(
    ray, data, scoring, monkeypatch
):
    ray.cpus = 1
    monkeypatch.setattr(ray_scoring, "monotonic", lambda: 0.0)
    rows(data / "there" / "data.jsonl", [{"id": n} for n in range(200)])
    there(data, LENGTH, scoring)
    sizes = [len(args[0]) for name, args in ray.calls if name == "work"]
    assert sizes[:6] == [1, 2, 4, 8, 16, 32]
    assert max(sizes) <= 64


@pytest.mark.parametrize("seconds", [0.1, 5.0])
def test_a_batch_stays_small_where_it_takes_long(
    ray, data, scoring, monkeypatch, seconds
):
    ray.cpus = 1
    moments = cycle([0.0, seconds])  # before a batch, and after it
    monkeypatch.setattr(ray_scoring, "monotonic", lambda: next(moments))
    there(data, LENGTH, scoring)
    sizes = [len(args[0]) for name, args in ray.calls if name == "work"]
    assert sizes == [1] * 40


def test_built_in_scorers_need_no_worker(ray, data, scoring):
    text = BENCH.format(
        "[{type: exact-match, reference: '{{ item.id }}', candidate: '{{ item.id }}'}]"
    )
    evaluated, _ = there(data, text, scoring)
    assert len(evaluated.row_scores.table) == 40
    assert ray.calls == []


def test_a_worker_that_is_lost_is_replaced_and_its_work_done_again(ray, data, scoring):
    ray.cpus = 1
    ray.losses = [None, None, RayError("gone"), None, RayError("gone again")]
    outcome = there(data, LENGTH, scoring)
    assert shown(outcome) == shown(run(data / "here", LENGTH))
    assert [name for name, _ in ray.calls].count("begin") == 3


def test_three_losses_of_one_worker_end_the_benchmark(ray, data, scoring):
    ray.cpus = 1
    ray.losses = [RayError("gone")] * 3
    check = why(there(data, LENGTH, scoring))
    assert reason_of(check) == ("the Ray cluster lost the work again and again: gone")
    assert hint_of(check) == (
        "are its nodes alive, and have they the memory? see `ray status`; "
        "--evalmetrics-engine local does without"
    )
    assert [name for name, _ in ray.calls] == ["begin"] * 3


def test_a_worker_gets_no_secret_but_all_that_it_needs(ray, data, scoring, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cr3t-key-of-mine")
    text = BENCH.format(
        "\n    - {type: inline-length, short: 9}\n"
        "    - {type: remote, url: 'http://127.0.0.1:9/x', body: {}, max_retries: 0,\n"
        "       api_key_secret: my-key,\n"
        "       scores: [{name: y, parser: {type: json, json_path: $.y}}]}\n"
        "  reward: length\n  expect: {max_missing: 1}\n"
    )
    there(data, text, scoring)
    (kit, _), *_ = ray.kits
    assert sorted(kit) == [
        "function",
        "registered",
        "scorers",
        "target",
        "terms",
        "version",
    ]
    assert kit["registered"] == {"inline-length": Length}
    assert list(kit["scorers"]) == [0]
    assert kit["terms"].secrets == {}
    assert (kit["target"], kit["function"]) == (None, None)
    sent, path, folder = next(args for name, args in ray.calls if name == "begin")
    assert b"s3cr3t" not in sent
    assert str(data) in path
    assert all(Path(entry).is_absolute() for entry in path)
    assert len(set(path)) == len(path)
    assert folder == str(Path.cwd())


def test_a_node_with_another_version_is_reported(ray, data, scoring, monkeypatch):
    assert ray.calls == []
    versions = iter(["0.9"])
    monkeypatch.setattr(ray_scoring, "version", lambda _: next(versions, "1.0"))
    check = why(there(data, LENGTH, scoring))
    assert reason_of(check) == (
        "a worker of the cluster has pytest-evalmetrics 1.0, this run 0.9"
    )
    assert hint_of(check) == "install the same version on every node"


def test_code_that_can_not_start_on_a_node_says_why(ray, data, scoring, monkeypatch):
    assert ray.calls == []
    monkeypatch.setattr(Fragile, "made", 0)
    check = why(there(data, BENCH.format("[{type: inline-fragile}]\n"), scoring))
    assert "no module named torch" in reason_of(check)


def test_what_no_node_can_unpickle_says_what_to_install(
    ray, data, scoring, monkeypatch
):
    assert ray.calls == []

    def refuse(_):
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setattr(ray_scoring.pickle, "loads", refuse)
    check = why(there(data, LENGTH, scoring))
    assert reason_of(check) == (
        "a worker of the cluster can't start: ModuleNotFoundError: No module named 'torch'"
    )
    assert hint_of(check) == (
        "what the project's code imports has to be installed on every node, or lie in the "
        "project's folder"
    )


AGENT = """\
def answers(row, sample):
    return {"output": str(row["id"] + sample)}


def shortness(item, least):
    return item["id"] < least
"""


class Project:
    """A project with a target, in a module of its own."""

    def __init__(self, folder):
        self.folder = folder
        # functions are kept by their names
        self.module = f"agent_of_{folder.name}"
        self.bench = TARGET.replace("MODULE", self.module)
        (folder / f"{self.module}.py").write_text(AGENT)

    def there(self, engine):
        return run(self.folder / "there", self.bench, engine=engine)


@pytest.fixture
def project(ray, data, monkeypatch):
    assert ray.calls == []
    monkeypatch.syspath_prepend(data)
    project = Project(data)
    yield project
    sys.modules.pop(project.module, None)


TARGET = """\
benchmark:
  name: a
  dataset: data.jsonl
  target: {function: "MODULE:answers", version: one}
  params: {parallelism: 5}
  scorers: [{type: exact_match, reference: "{{ item.id | string }}"}]
  metrics: [mean_reward]
"""


def test_a_target_answers_in_the_workers(ray, project, scoring):
    outcome = project.there(scoring)
    assert outcome[0].result.agents[0].estimates["mean_reward"].value == 1.0
    tasks = [task for name, args in ray.calls if name == "work" for task in args[0]]
    assert len(tasks) == 40
    assert {task[0] for task in tasks} == {None}
    assert {task[2] for task in tasks} == {0}


FUNCTION = """\
benchmark:
  name: a
  dataset: data.jsonl
  scorers: [{python: "MODULE:shortness", least: 3}]
  metrics: [mean_reward]
"""


def test_a_function_that_scores_goes_along_by_its_name(ray, project, scoring):
    project.bench = FUNCTION.replace("MODULE", project.module)
    outcome = project.there(scoring)
    # of the numbers from 0 to 39 three are smaller
    assert outcome[0].result.agents[0].estimates["mean_reward"].value == 3 / 40
    (kit, _), *_ = ray.kits
    assert list(kit["registered"]) == [f"{project.module}:shortness"]


def test_this_package_does_not_go_along_with_a_project_that_holds_it(ray, data):
    engine = RayEngine(None, Path(pytest_evalmetrics.__file__).parent)
    there(data, LENGTH, engine)
    engine.close()
    assert [by_value for _, by_value in ray.kits] == [[]]


class Sink:
    """Keeps the scores of rows."""

    def __init__(self):
        self.scores = []

    def scored(self, scored_row, scorer, scores, reason, *, from_journal):
        del scored_row, scorer, reason, from_journal
        self.scores.append(dict(scores))

    def asked(self, asked_row, scorer, exchanges):
        del asked_row, scorer, exchanges


def test_jobs_may_come_from_any_iterator(ray, scoring):
    assert ray.calls == []
    spec = entry(type="inline-length", short=1)
    (scorer,) = scorers = make_scorers([spec], Terms(), lambda *_: 1)
    sink = Sink()
    transport = Transport(None)
    work = Workload(
        jobs=iter([(Row(n, "", n, 0, {}), scorer) for n in range(2)]),
        scorers=scorers,
        answering=None,
        spec=SimpleNamespace(scorers=[spec], target=None),
        terms=Terms(),
        transport=transport,
        label="a",
        sink=sink,
    )
    asyncio.run(scoring.score(work))
    transport.close()
    assert sorted(scores["length"] for scores in sink.scores) == [0.0, 1.0]


def test_the_door_of_scoring_gives_the_engine_of_a_project(ray, project):
    engine = door.ray_engine("auto", project.folder)
    outcome = project.there(engine)
    engine.close()
    assert ray.inits[0]["address"] == "auto"
    assert outcome[0].result.agents[0].estimates["mean_reward"].value == 1.0
    (_, by_value), *_ = ray.kits
    assert project.module in [module.__name__ for module in by_value]


def test_the_projects_modules_go_along_by_their_text(ray, project, scoring):
    project.there(scoring)
    (_, by_value), *_ = ray.kits
    assert project.module in [module.__name__ for module in by_value]
    assert all("pytest_evalmetrics" not in module.__name__ for module in by_value)
    assert ray.by_value == []


def test_modules_that_can_not_be_sent_are_imported_by_the_workers(
    ray, project, scoring
):
    ray.refuses_modules = True
    outcome = project.there(scoring)
    assert outcome[0].result.agents[0].estimates["mean_reward"].value == 1.0
    assert [by_value for _, by_value in ray.kits][1:] == [[]]


def test_modules_that_can_neither_be_sent_nor_imported_are_reported(
    ray, project, scoring, monkeypatch
):
    def refuse(_):
        raise ModuleNotFoundError("No module named 'agent'")

    ray.refuses_modules = True
    monkeypatch.setattr(ray_scoring.pickle, "loads", refuse)
    check = why(project.there(scoring))
    assert reason_of(check) == (
        "the project's code can't be sent to the cluster: TypeError: cannot pickle "
        "'_thread.lock' object; and a worker could not import it: a worker of the cluster "
        "can't start: ModuleNotFoundError: No module named 'agent'"
    )
    assert hint_of(check) == (
        "create what can't be pickled (a lock, a client) where it is used; or let every node "
        "see the project's folder, or install it there as a package"
    )


def test_code_that_can_not_be_pickled_at_all_is_reported(ray, project, scoring):
    def refuse(_):
        raise TypeError("cannot pickle a client")

    ray.cloudpickle.dumps = refuse
    check = why(project.there(scoring))
    assert reason_of(check) == (
        "the project's code can't be sent to the cluster: TypeError: cannot pickle a client"
    )
    assert hint_of(check) == (
        "create what can't be pickled (a lock, a client) where it is used; or write it into a "
        "package that is installed on every node"
    )
