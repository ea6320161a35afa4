"""A project whose four benchmarks have recorded baselines."""

import msgspec
import pytest

from pytest_evalmetrics.baselines.document import render, stamped
from pytest_evalmetrics.model.baseline import BaselineDocument

BEFORE = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
AFTER = [[1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]
DEFAULTS = "defaults: {rollouts: runs.jsonl, expect: {tasks: 4}, metrics: [mean_reward], baseline: true}\n"
ONE = f"""{DEFAULTS}benchmarks:
  - {{name: math, tags: [nightly]}}
  - {{name: math-old}}
  - {{name: mmlu/physics}}
"""
TWO = f"{DEFAULTS}benchmark: {{name: other}}\n"
MATH, OLD, PHYSICS, OTHER = ALL = (
    "one.bench/math.json",
    "one.bench/math-old.json",
    "one.bench/mmlu%2Fphysics.json",
    "two.bench/other.json",
)


def write_stamped(path, doc):
    """Write an edited baseline with the digest that it would have been recorded with."""
    path.write_text(render(stamped(msgspec.convert(doc, BaselineDocument))))


class Evals:
    """The project; `evals/` holds the files one.bench.yaml and two.bench.yaml."""

    def __init__(self, project):
        self.project = project
        self.folder = project.path / "evals"
        self.recorded = {}

    def write(self, name, text):
        return self.project.write(f"evals/{name}", text)

    def rollouts(self, rewards, name="runs.jsonl"):
        self.project.rollouts(rewards, f"evals/{name}")

    def baselines(self):
        root = self.folder / "__baselines__"
        return {
            p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.json")
        }

    def rewritten(self):
        """Name the baselines that were rewritten; none may be gone."""
        now = self.baselines()
        assert set(now) >= set(self.recorded), (
            f"deleted: {set(self.recorded) - set(now)}"
        )
        return {name for name in self.recorded if now[name] != self.recorded[name]}

    def orphan(self, name="one.bench/gone.json"):
        """Leave a baseline that no benchmark declares."""
        path = self.folder / "__baselines__" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.recorded[MATH])
        return path

    def run(self, *args):
        """Run pytest in a process of its own, as workers and hooks need it."""
        return self.project.run(*args)

    def run_here(self, *args):
        return self.project.run_here(*args)


@pytest.fixture(scope="session")
def recorded():
    """Hold the baselines of the first run for all tests."""
    return {}


@pytest.fixture
def evals(project, recorded):
    """The project as it was recorded; its next run would record something else."""
    project = Evals(project)
    project.rollouts(BEFORE)
    project.write("one.bench.yaml", ONE)
    project.write("two.bench.yaml", TWO)
    if not recorded:
        assert project.run_here("--snapshot-update").ret == 0
        recorded |= project.baselines()
        assert set(recorded) == set(ALL)
    for name, content in recorded.items():
        project.write(f"__baselines__/{name}", content.decode())
    project.recorded = dict(recorded)
    project.rollouts(AFTER)
    return project
