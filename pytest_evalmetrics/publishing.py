"""The end of a run: its artifacts are written, and the terminal's section is made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports import (
    calls_line,
    report_document,
    section,
    tell_ci,
    write_reports,
)
from pytest_evalmetrics.roster import let_register
from pytest_evalmetrics.settings import history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.heard import Heard
    from pytest_evalmetrics.roster import Roster
    from pytest_evalmetrics.run_folder import RunFolder

    _Lines = list[tuple[str, str | None]]

__all__ = ["publish"]

_NAMED = 3  # of what was deselected


def publish(
    config: pytest.Config, heard: Heard, roster: Roster, folder: RunFolder
) -> tuple[_Lines, bool]:
    """Write the artifacts.

    Parameters
    ----------
    config
        pytest's.
    heard
        The results.
    roster
        What else became of what was to be evaluated.
    folder
        Where they go.

    Returns
    -------
    lines, complete
        The terminal's section, as lines with a colour or None; and whether all that was to be
        evaluated was, and every file is there.
    """
    lost, deselected = roster.lost, roster.deselected
    errors: list[EvalMetricsError] = []
    last = _history(config, heard, errors)
    report = report_document(
        heard.entries.values(), lost, last, roster.skipped, deselected=deselected
    )
    try:
        config.hook.pytest_evalmetrics_report(report=report)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's; the files are written
        errors.append(_of_hook(error))
    written: list[Path] = []
    if heard.unkept is None:
        with let_register(config) as names:
            found = write_reports(
                heard.artifacts,
                folder.prefix,
                report,
                names=reporter_names(config),
                environ=os.environ,
            )
        heard.warnings.update(names.notes)
        written = found.paths
        errors += found.errors
    else:  # half of what there was is no report
        errors.append(heard.unkept)
    try:
        folder.end(report["verdict"], written, whole=not errors)
    except ArtifactError as error:
        errors.append(error)
    told: _Lines = []
    try:
        told = [(line, None) for line in tell_ci(report, os.environ, config.rootpath)]
    except ArtifactError as error:
        errors.append(error)
    told += [(str(error), "red") for error in errors]
    verbosity = getattr(config.option, "verbose", 0)  # -p no:terminal
    told += [(line, None) for line in calls_line(heard.usage) if verbosity >= 0]
    told += [(line, None) for line in _left_out(deselected)]
    told += [(f"warning: {text}", "yellow") for text in heard.warnings]
    paths = [_shown(path, config) for path in written]
    return section(report, paths, verbosity=verbosity) + told, not (errors or lost)


def _history(
    config: pytest.Config, heard: Heard, errors: list[EvalMetricsError]
) -> Mapping[str, Sequence[Any]]:
    """Append this run to the history, and give its last runs; nothing where none is kept."""
    path = history_path(config)
    if path is None:
        return {}
    from pytest_evalmetrics.keeping import keep_history  # noqa: PLC0415 - one is kept

    kept = keep_history(config, path, _shown(path, config), heard.entries.values())
    errors += kept.errors
    heard.warnings.update(dict.fromkeys(kept.warnings))
    return kept.last


def _left_out(ids: Sequence[str]) -> list[str]:
    """Say what the run's selection leaves out of the reports; xdist says nothing of it."""
    if not ids:
        return []
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return [f"note: deselected, and not evaluated: {', '.join(ids[:_NAMED])}{more}"]


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.invocation_params.dir
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _of_hook(error: BaseException) -> ArtifactError:
    return ArtifactError(
        f"the hook pytest_evalmetrics_report failed: {type(error).__name__}: {error}",
        hint="mend it, in the conftest.py or the plugin that has it",
    )
