"""The run's HTTP client and journal, and the progress of its calls on the terminal."""

from __future__ import annotations

import time
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from msgspec import structs

from pytest_evalmetrics import settings
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.progress_display import display_of, uncaptured
from pytest_evalmetrics.scoring.door import (
    Budget,
    Journal,
    JournalError,
    JournalMode,
    Progress,
    Transport,
    Usage,
    clear_journal,
    count_answers,
    export_journal,
    import_journal,
)
from pytest_evalmetrics.settings import journal_path, journal_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


def _say(config: pytest.Config, text: str) -> None:
    out = None
    if not settings.is_worker(config):
        out = uncaptured(config, "stdout")
    if out is not None:
        with suppress(OSError), out:
            out.write(f"\n{text}\n")


_TRANSPORT = pytest.StashKey[Transport]()
_BUDGET = pytest.StashKey[Budget]()


def budget_of(config: pytest.Config) -> Budget | None:
    """Return the run's budget, which xdist's workers share through a file, or None."""
    limits = settings.budget(config)
    if limits and _BUDGET not in config.stash:
        path, started = settings.shared_budget(config) or (None, time.time())
        config.stash[_BUDGET] = Budget(limits, path, started)
    return config.stash.get(_BUDGET, None)


def close_transport(config: pytest.Config) -> None:
    """Close the connections and the journal, if they were ever opened."""
    keys: tuple[pytest.StashKey[Any], ...] = (_BUDGET, _TRANSPORT)
    for key in keys:
        if key in config.stash:
            config.stash[key].close()
            del config.stash[key]


class ItemRuntime:
    """The resources of the run that one benchmark uses: client, budget and progress."""

    def __init__(self, item: pytest.Item, label: str) -> None:
        self._item = item
        self._label = label
        self._transport: Transport | None = None
        self._mode = JournalMode(settings.journal_mode(item.config))
        self.replays = self._mode is JournalMode.REPLAY
        self.asks_anew = self._mode in (JournalMode.REFRESH, JournalMode.OFF)
        self.budget = budget_of(item.config)

    def transport(self) -> Transport:
        """Return the run's client; opened at the first use."""
        config = self._item.config
        if _TRANSPORT not in config.stash:
            journal = Journal(journal_path(config), self._mode)
            config.stash[_TRANSPORT] = Transport(journal, say=partial(_say, config))
        self._transport = config.stash[_TRANSPORT]
        return self._transport

    @contextmanager
    def progress(self, total: int) -> Iterator[Progress]:
        """Show the benchmark's progress."""
        with display_of(self._item.config) as display:
            yield Progress(
                self._item.name,
                total,
                report=display.report,
                every_s=display.every_s,
                calls=self._calls,
                cost=self._cost,
                budget=self.budget,
            )

    def usage(self) -> dict[str, object]:
        """Return the usage of the benchmark's calls in this run; empty without any."""
        usage = self._usage()
        if not usage.calls and not usage.failed:
            return {}
        return structs.asdict(usage)

    def warnings(self) -> list[str]:
        """Return the warnings of the run."""
        if self._transport is None:
            return []
        return list(self._transport.warnings)

    def _calls(self) -> int:
        return self._usage().calls

    def _usage(self) -> Usage:
        if self._transport is None:
            return Usage()
        return self._transport.usage.of(self._label)

    def _cost(self) -> str:
        if self._transport is None:
            return ""
        return self._transport.usage.cost_text()


class PlanRuntime:
    """The runtime of a plan, which looks calls up in the journal and sends none."""

    replays = True
    asks_anew = False
    budget = None

    def __init__(self, config: pytest.Config) -> None:
        path = journal_path(config)
        if settings.journal_mode(config) not in ("normal", "replay"):
            path = path / "none"  # its answers will not be used
        self._transport = Transport(Journal(path, JournalMode.PLAN))

    def transport(self) -> Transport:
        """Return the transport, which only looks into the journal."""
        return self._transport

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Show nothing."""
        return nullcontext(Progress(total=total))


def _shared(config: pytest.Config, url: str, *, writes: bool) -> int:
    """Add the answers of a journal that jobs share, and write all there; return their number."""
    from pytest_evalmetrics.rollouts.remote_access import system_of  # asked for

    journal = journal_path(config)
    count = 0
    try:
        with TemporaryDirectory() as folder:
            system, path = system_of(url)
            name = "journal.jsonl"
            if path.endswith(".gz"):
                name = "journal.jsonl.gz"
            copy = Path(folder, name)
            if system.exists(path):
                system.get_file(path, str(copy))
                count = import_journal(journal, copy)
            if writes and journal.is_file():
                count = export_journal(journal, copy)
                parent = path.rpartition("/")[0]
                if parent:
                    system.makedirs(parent, exist_ok=True)
                partial_copy = f"{path}.{uuid4().hex}"
                system.put_file(str(copy), partial_copy)
                system.mv(partial_copy, path)  # another job never reads half of it
    except EvalMetricsError:
        raise
    except Exception as error:  # noqa: BLE001 - the libraries behind fsspec share no class
        message = f"the shared journal {url} can't be read or written: {error}"
        hint = "is the URL right, and may this job read and write there?"
        raise JournalError(message, hint=hint) from None
    return count


def journal_answer(
    config: pytest.Config, action: str, file: Path | None, other: Path | None
) -> str:
    """Show, copy or empty the project's journal, or another one; return what to print."""
    base = config.invocation_params.dir
    journal = journal_path(config)
    if other is not None:
        journal = base / other
    if action == "clear":
        return f"{many(clear_journal(journal), 'answer')} dropped\n"
    if file is not None and action == "export":
        if not journal.is_file():
            raise EvalMetricsError(
                f"there is no journal yet: {journal}",
                hint="it begins with the first answer of a model, a judge or an endpoint",
            )
        count = export_journal(journal, base / file)
        return f"{many(count, 'answer')} exported to {file}\n"
    if file is not None:
        count = import_journal(journal, base / file)
        return f"{many(count, 'new answer')} imported from {file}\n"
    if not journal.is_file():
        return f"{journal}: there is no journal yet\n"
    size = journal.stat().st_size / 1e6
    return f"{journal}: {many(count_answers(journal), 'answer')}, {size:.1f} MB\n"


def prepare_asked(config: pytest.Config) -> list[str]:
    """Clear the journal and import answers, as options ask; return lines to print."""
    lines = []
    journal = journal_path(config)
    try:
        if config.getoption("evalmetrics_journal_clear"):
            count = clear_journal(journal)
            lines.append(f"journal: emptied, {many(count, 'answer')} dropped")
        source = config.getoption("evalmetrics_journal_import")
        if source is not None:
            count = import_journal(journal, config.invocation_params.dir / source)
            lines.append(f"journal: {many(count, 'new answer')} imported from {source}")
        url = journal_url(config)
        if url is not None:
            count = _shared(config, url, writes=False)
            lines.append(f"journal: {many(count, 'new answer')} from {url}")
    except EvalMetricsError as error:
        raise pytest.UsageError(str(error)) from None
    return lines


def export_asked(config: pytest.Config) -> list[str]:
    """Export the journal, if an option asks for it; return lines to print."""
    lines = []
    base = config.invocation_params.dir
    url = journal_url(config)
    if url is not None:
        count = _shared(config, url, writes=True)
        lines.append(f"journal: {many(count, 'answer')} shared at {url}")
    target = config.getoption("evalmetrics_journal_export")
    if target is not None:
        count = export_journal(journal_path(config), base / target)
        lines.append(f"journal: {many(count, 'answer')} exported to {target}")
    return lines
