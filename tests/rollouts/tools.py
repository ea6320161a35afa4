"""Where the tools themselves are, if they are: an environment of their own."""

import os
import subprocess

import pytest

__all__ = ["run_tool"]

_VARIABLE = "EVALMETRICS_TOOLS_PYTHON"


def run_tool(module, script, folder):
    """Run a script with the Python that has a tool, in `folder`; skip the test without one."""
    python = os.environ.get(_VARIABLE)
    if not python:
        pytest.skip(f"set {_VARIABLE} to the Python of an environment with the tools")
    probe = subprocess.run(
        [
            python,
            "-c",
            f"import importlib.util as u; raise SystemExit(not u.find_spec({module!r}))",
        ],
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"{module} is not installed for {python}")
    done = subprocess.run(
        [python, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
