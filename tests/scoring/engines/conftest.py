"""A real Ray cluster of several nodes on this machine, and benchmarks that are run on it."""

import re
import signal
import warnings
from pathlib import Path

import pytest
from msgspec.structs import replace
from scoring.generation.conftest import Model
from scoring.generation.running import rows, run
from scoring.transport.conftest import Server

STORE = 80 * 2**20  # bytes of a node's object store: the least that Ray takes
# a node that is gone is noticed within a second or two
QUICK = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 5,  # on a busy machine
    "idle_worker_killing_time_threshold_ms": 600_000,  # the next test works in them
}
# processes of a head that nothing here looks at, and that take seconds to start
ALONE = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}


class Nodes:
    """A cluster: a head without a core, and two nodes with one each."""

    def __init__(self):
        from ray.cluster_utils import Cluster  # a second to import, where it is

        self._cluster = Cluster()
        self._more = []

    def start(self):
        head = {"num_cpus": 0, "object_store_memory": STORE, "_system_config": QUICK}
        self._cluster.add_node(**head, **ALONE)
        for _ in range(2):
            self.add()

    @property
    def address(self):
        return str(self._cluster.address)

    def add(self):
        """Add a node with one core."""
        node = self._cluster.add_node(num_cpus=1, object_store_memory=STORE)
        self._more.append(node)
        return node

    def kill(self, node):
        """Let a node be gone, without a word."""
        self._more.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    @property
    def folder(self):
        """Where it writes its logs, and what its stores have no room for."""
        return Path(self._cluster.head_node.get_session_dir_path())

    def end(self):
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def nodes():
    pytest.importorskip("ray")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # Ray's own
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        cluster = Nodes()
        try:
            cluster.start()
        except Exception:  # noqa: BLE001 - Ray's own: a busy machine took more than its 30 s
            cluster.end()
            cluster = Nodes()
            cluster.start()
        try:
            yield cluster
        finally:
            cluster.end()


@pytest.fixture(scope="session")
def ray_engine(nodes, tmp_path_factory):
    """An engine on that cluster, connected once; reads the smallest files there."""
    from pytest_evalmetrics.scoring.engines.ray_engine import RayEngine  # of the extra

    root = tmp_path_factory.mktemp("project")
    engine = RayEngine(nodes.address, root, always=True, size=5000)
    yield engine
    engine.close()


@pytest.fixture(autouse=True)
def _watched():
    """Let what waits for ever fail: a cluster has many ways to do so."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def too_long(*_):
        raise TimeoutError("this test takes longer than eight minutes")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(480)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Endpoint(Server):
    """A process of scorers/endpoint.py."""

    script = Path(__file__).parents[1] / "scorers" / "endpoint.py"
    url = Server.at

    @property
    def posts(self):
        return int(self.seen()["posts"])


@pytest.fixture
def endpoint():
    endpoint = Endpoint()
    yield endpoint
    endpoint.kill()


@pytest.fixture
def model():
    model = Model()
    yield model
    model.close()


class Both:
    """A data set in two folders: one is worked at here, the other on the cluster."""

    def __init__(self, path, engine):
        self.path, self.engine = path, engine

    def write(self, data):
        for name in ("here", "there"):
            (self.path / name).mkdir()
            rows(self.path / name / "data.jsonl", data)

    def here(self, text, name="here", **more):
        return run(self.path / name, text, **more)

    def there(self, text, name="there", **more):
        return run(self.path / name, text, engine=self.engine, **more)


@pytest.fixture
def both(tmp_path, ray_engine, monkeypatch):
    """Let the folder of the test be the project, whose modules go along."""
    monkeypatch.setattr(ray_engine, "_root", tmp_path)
    return Both(tmp_path, ray_engine)


def shown(outcome):
    """Write all that a run came to; in this form NaN is NaN."""
    evaluated, lines = outcome
    scored, table = evaluated.row_scores, evaluated.row_scores.table
    tasks = [table.tasks[number] for number in table.task]
    numbers = {name: table.scores[name].tolist() for name in scored.names}
    read_as = range(len(table)) if table.read_as is None else table.read_as.tolist()
    details = [
        (scored.requests(n), scored.reasons(n), scored.failed.get(n)) for n in read_as
    ]
    judges = [replace(judge, latency_s={}) for judge in evaluated.result.judges]
    result = replace(evaluated.result, judges=tuple(judges))
    return re.sub(
        r" at 0x\w+", "", f"{result!r} {lines!r} {tasks!r} {numbers!r} {details!r}"
    )
