from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_evalmetrics import transport
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import Endpoint
from pytest_evalmetrics.transport import Call, MissingExtraError, Transport


def test_everything_named_is_there() -> None:
    assert transport.__all__ == sorted(transport.__all__)
    assert [name for name in transport.__all__ if not hasattr(transport, name)] == []


def test_its_errors_are_of_the_one_tree() -> None:
    errors = [getattr(transport, name) for name in transport.__all__ if name.endswith("Error")]
    assert len(errors) == 6
    assert all(issubclass(error, EvalMetricsError) for error in errors)


def test_importing_it_brings_no_client_and_nothing_of_the_upper_floors() -> None:
    code = (
        "import sys, pytest_evalmetrics.transport as t\n"
        "t.Transport(t.Journal(__import__('pathlib').Path('x'))).close()\n"
        "print(sorted(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("aiohttp", "pytest", "numpy", "spec", "data", "anyio", "httpx"):
        assert f"'{name}'" not in run.stdout
        assert f"pytest_evalmetrics.{name}'" not in run.stdout


def test_without_aiohttp_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with Transport() as client, pytest.raises(MissingExtraError) as error:
        client.run(client.call(Call(Endpoint("http://127.0.0.1:1/x"), {})))
    assert "pip install 'pytest-evalmetrics[remote]'" in str(error.value)
