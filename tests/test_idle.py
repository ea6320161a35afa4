"""A pytest run without a benchmark pays for nothing."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "numpy",
    "yaml",
    "msgspec",
    "pydantic",
    "syrupy.session",
    "sqlite3",
    "asyncio",
    "aiohttp",
    "scipy",
}

PROBE = """
import json, sys, pytest

class Probe:
    def pytest_unconfigure(self):
        loaded = sorted(m for m in sys.modules if m.startswith("pytest_evalmetrics"))
        print("PROBE" + json.dumps([loaded, sorted(sys.modules)]))

args = ["--co", "-q", "-p", "no:cacheprovider", "-p", "no:syrupy"]
sys.exit(pytest.main(args, plugins=[Probe()]))
"""


def test_no_heavy_module_is_loaded_and_nothing_is_written(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_x(): pass\n")
    run = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PATH": ""},
    )
    line = next(ln for ln in run.stdout.splitlines() if ln.startswith("PROBE"))
    ours, loaded = json.loads(line.removeprefix("PROBE"))
    assert ours == [
        "pytest_evalmetrics",
        "pytest_evalmetrics.hookspecs",
        "pytest_evalmetrics.plugin",
        "pytest_evalmetrics.session",
        "pytest_evalmetrics.settings",
    ]
    assert not HEAVY & set(loaded)
    assert [p.name for p in tmp_path.iterdir()] == ["test_x.py"]
