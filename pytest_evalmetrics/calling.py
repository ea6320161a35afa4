"""What calls of endpoints need of a pytest run: one client, one journal, the options.

Imported with the first benchmark that has scorers, or by an option about the journal.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import settings
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.live import shown_live
from pytest_evalmetrics.transport import (
    Journal,
    JournalError,
    JournalMode,
    Transport,
    clear_journal,
    export_journal,
    import_journal,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pytest_evalmetrics.transport import Progress

__all__ = ["ItemRuntime", "close_transport", "export_asked", "journal_path", "prepare_asked"]

_TRANSPORT = pytest.StashKey[Transport]()


def journal_mode(config: pytest.Config) -> JournalMode:
    """Tell how the options and the settings want the journal used."""
    return JournalMode[settings.journal_mode(config).upper()]


def journal_path(config: pytest.Config) -> Path:
    """Find the journal: in pytest's cache folder, the same for all workers and runs."""
    said = settings.journal_path(config)
    if said is not None:
        with suppress(OSError):  # the journal says what is wrong, and the run goes on
            said.parent.mkdir(parents=True, exist_ok=True)
        return said
    cache = getattr(config, "cache", None)
    if cache is not None:
        with suppress(OSError):  # the journal says what is wrong, and the run goes on
            return Path(cache.mkdir("evalmetrics")) / "journal.sqlite3"
    # -p no:cacheprovider: where that plugin would put it
    return config.rootpath / ".pytest_cache" / "d" / "evalmetrics" / "journal.sqlite3"


def transport_of(config: pytest.Config) -> Transport:
    """Give the run's transport; opened at the first use."""
    if _TRANSPORT not in config.stash:
        mode = journal_mode(config)
        config.stash[_TRANSPORT] = Transport(
            None if mode is JournalMode.OFF else Journal(journal_path(config), mode)
        )
    return config.stash[_TRANSPORT]


def close_transport(config: pytest.Config) -> None:
    """Close the connections and the journal, if they were ever opened."""
    transport = config.stash.get(_TRANSPORT, None)
    if transport is not None:
        del config.stash[_TRANSPORT]
        transport.close()


class ItemRuntime:
    """What one benchmark needs of its run, see `pipeline.scored.Runtime`."""

    def __init__(self, item: pytest.Item, label: str) -> None:
        self._item = item
        self._label = label
        self._transport: Transport | None = None
        self.replays = journal_mode(item.config) is JournalMode.REPLAY

    def transport(self) -> Transport:
        """Give the run's one way to endpoints."""
        self._transport = transport_of(self._item.config)
        return self._transport

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Show how far the benchmark is."""
        return shown_live(self._item.config, self._item.name, total, self._cost)

    def usage(self) -> dict[str, Any]:
        """Tell what the benchmark's calls took in this run."""
        if self._transport is None:
            return {}
        found = self._transport.usage.by_label().get(self._label)
        return {} if found is None else found.as_dict()

    def warnings(self) -> list[str]:
        """Tell what the user should know of the run."""
        return [] if self._transport is None else list(self._transport.warnings)

    def _cost(self) -> float | None:
        return None if self._transport is None else self._transport.usage.cost_now()


def prepare_asked(config: pytest.Config) -> list[str]:
    """Empty the journal and import into it, where options ask for that; say what was done."""
    told = []
    try:
        if config.getoption("evalmetrics_journal_clear"):
            count = clear_journal(journal_path(config))
            told.append(f"journal: emptied, {many(count, 'answer')} dropped")
        source = config.getoption("evalmetrics_journal_import")
        if source is not None:
            count = import_journal(journal_path(config), config.invocation_params.dir / source)
            told.append(f"journal: {many(count, 'new answer')} imported from {source}")
    except JournalError as error:
        raise pytest.UsageError(str(error)) from None
    return told


def export_asked(config: pytest.Config) -> list[str]:
    """Export the journal where an option asks for that; say what was done."""
    target = config.getoption("evalmetrics_journal_export")
    if target is None:
        return []
    count = export_journal(journal_path(config), config.invocation_params.dir / target)
    return [f"journal: {many(count, 'answer')} exported to {target}"]
