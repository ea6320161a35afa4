"""A pytest run without a benchmark pays for nothing, one that only reads for no endpoints."""

import json
import subprocess
import sys

FOR_ENDPOINTS = {
    "aiohttp",
    "asyncio",
    "jinja2",
    "jsonpath",
    "pyarrow",
    "ray",
    "sqlite3",
}
OURS_FOR_ENDPOINTS = (
    "history run_transport scoring.door scoring.scorers scoring.transport"
)
HEAVY = {
    "numpy",
    "yaml",
    "msgspec",
    "pydantic",
    "syrupy.session",
    "scipy",
    *FOR_ENDPOINTS,
}

# pytest itself loads pdb in each run, which from Python 3.14 on needs asyncio
PROBE = """
import json, pdb, sys, pytest

of_pytest = set(sys.modules)

class Probe:
    def pytest_unconfigure(self):
        loaded = sorted(m for m in sys.modules if m.startswith("pytest_evalmetrics"))
        print("PROBE" + json.dumps([loaded, sorted(set(sys.modules) - of_pytest)]))

args = ["-q", "-p", "no:cacheprovider", "-p", "no:syrupy", *sys.argv[1:]]
sys.exit(pytest.main(args, plugins=[Probe()]))
"""


def modules_of_a_run(folder, *args):
    """Return which of our modules a pytest run in `folder` has loaded, and all but pytest's."""
    run = subprocess.run(
        [sys.executable, "-c", PROBE, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": ""},
    )
    assert run.returncode == 0, run.stdout
    line = next(ln for ln in run.stdout.splitlines() if ln.startswith("PROBE"))
    return json.loads(line.removeprefix("PROBE"))


def test_no_heavy_module_is_loaded_and_nothing_is_written(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    ours, loaded = modules_of_a_run(tmp_path, "--co")
    of_ours = {module.partition(".")[2] for module in ours}
    assert of_ours == {"", "hookspecs", "plugin", "settings"}
    assert not HEAVY & set(loaded)
    assert [p.name for p in tmp_path.iterdir()] == ["test_x.py"]


def test_recorded_rollouts_load_nothing_that_asks_endpoints(tmp_path):
    row = '{{"_ng_task_index": {0}, "reward": 1.0, "responses_create_params": {{"input": "{0}?"}}}}\n'
    rows = "".join(row.format(task) for task in range(3))
    (tmp_path / "runs.jsonl").write_text(rows)
    (tmp_path / "a.bench.yaml").write_text(
        "benchmark: {name: a, rollouts: runs.jsonl, metrics: [pass@1], expect: {tasks: 3}, "
        "thresholds: {pass@1: '>= 0.9'}, baseline: {rollouts: runs.jsonl}}\n"
    )
    ours, loaded = modules_of_a_run(tmp_path)
    assert (tmp_path / "evalmetrics" / "report.html").exists()
    assert not {"numpy.ma", *FOR_ENDPOINTS} & set(loaded)
    # loaded where a scorer or a model is met, or where something is wrong
    others = "spec.scorer_keys spec.model_keys config.problems"
    for module in f"{OURS_FOR_ENDPOINTS} {others}".split():
        assert f"pytest_evalmetrics.{module}" not in ours


def test_our_modules_are_not_rewritten_but_imported_from_byte_code(tmp_path):
    # what pytest does with the modules of an installed plugin, if not of an editable install
    early = "import pytest\npytest.register_assert_rewrite('pytest_evalmetrics')\n"
    (tmp_path / "early.py").write_text(early)
    (tmp_path / "test_x.py").write_text(
        "import sys\n"
        "import pytest_evalmetrics.items.collecting\n"
        "def test_x():\n"
        "    by = {n: type(m.__loader__).__name__ for n, m in sys.modules.items()\n"
        "          if n.startswith('pytest_evalmetrics.')}\n"
        "    rewritten = {n for n in by if by[n] != 'SourceFileLoader'}\n"
        "    of_every_start = {'plugin', 'settings', 'hookspecs'}\n"
        "    assert rewritten == {f'pytest_evalmetrics.{n}' for n in of_every_start}\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "early", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
