"""What the command line and pytest's settings say together: the command line wins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "engine_name",
    "history_path",
    "journal_mode",
    "journal_path",
    "reporter_names",
    "validate",
]

_MODES = ("normal", "replay", "refresh", "off")
_ENGINES = ("local", "ray")
_OPTIONS = {
    "evalmetrics_replay": "replay",
    "evalmetrics_refresh": "refresh",
    "evalmetrics_no_journal": "off",
}


def validate(config: pytest.Config) -> None:
    """Refuse what means nothing, before anything is done.

    Raises
    ------
    UsageError
        Two options contradict each other, or a setting has a value that is none.
    """
    asked = [option for option in _OPTIONS if config.getoption(option)]
    if len(asked) > 1:
        named = " and ".join(f"--{option.replace('_', '-')}" for option in asked)
        raise pytest.UsageError(f"{named} contradict each other: give one of them")
    mode = config.getini("evalmetrics_journal")
    if mode not in _MODES:
        raise pytest.UsageError(
            f"evalmetrics_journal = {mode}: expected one of {', '.join(_MODES)}"
        )
    _validate_engine(config)


def engine_name(config: pytest.Config) -> str:
    """Tell where work is done: local, or ray."""
    return str(config.getoption("evalmetrics_engine") or config.getini("evalmetrics_engine"))


def _validate_engine(config: pytest.Config) -> None:
    engine = engine_name(config)
    if engine not in _ENGINES:
        raise pytest.UsageError(
            f"evalmetrics_engine = {engine}: expected one of {', '.join(_ENGINES)}"
        )
    address = config.getoption("evalmetrics_ray_address")
    if engine != "ray":
        if address:
            raise pytest.UsageError("--evalmetrics-ray-address needs --evalmetrics-engine ray")
        return
    from importlib.util import find_spec  # noqa: PLC0415 - only where Ray is asked for

    if find_spec("ray") is None:
        raise pytest.UsageError(
            "the engine ray needs Ray, which is not installed\n"
            "  pip install 'pytest-evalmetrics[ray]'"
        )
    several = getattr(config.option, "numprocesses", None)
    if several and not (address or os.environ.get("RAY_ADDRESS")):
        raise pytest.UsageError(
            "with pytest-xdist each worker would start a Ray cluster of its own\n"
            "  name one that runs, with --evalmetrics-ray-address or RAY_ADDRESS; or leave -n "
            "out: each benchmark uses the whole cluster"
        )


def journal_mode(config: pytest.Config) -> str:
    """Tell how the journal is used: normal, replay, refresh or off."""
    asked = next((mode for option, mode in _OPTIONS.items() if config.getoption(option)), None)
    return asked or str(config.getini("evalmetrics_journal"))


def journal_path(config: pytest.Config) -> Path | None:
    """Find the journal where a setting places it; None where it is in pytest's cache."""
    return _from_root(config, "evalmetrics_journal_path")


def history_path(config: pytest.Config) -> Path | None:
    """Find the history that runs are appended to; None where none is kept."""
    asked = config.getoption("evalmetrics_history")
    if asked:
        return config.invocation_params.dir / str(asked)
    return _from_root(config, "evalmetrics_history")


def reporter_names(config: pytest.Config) -> list[str] | None:
    """List the reporters that were chosen; None where those of the default are."""
    asked = config.getoption("evalmetrics_reporters")
    if asked is not None:
        return [name.strip() for name in asked.split(",") if name.strip()]
    return list(config.getini("evalmetrics_reporters")) or None


def _from_root(config: pytest.Config, setting: str) -> Path | None:
    said = str(config.getini(setting))
    return config.rootpath / said if said else None
