"""Benchmarks in a run that pytest-testmon selects tests for.

testmon leaves out what no changed code reaches. It knows nothing of the data that benchmarks
read, so that none of them is left to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics import settings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_SELECTION = "TestmonSelect"


class BenchmarksBesideTestmon:
    """Hooks that keep benchmarks out of testmon's selection.

    It has to be registered before testmon begins to select: of the last hooks, the one that
    was registered first is called first.
    """

    def __init__(self) -> None:
        self._benchmarks: list[pytest.Item] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(
        self, collection_path: Path, config: pytest.Config
    ) -> Generator[None, bool | None, bool | None]:
        """Ask the other plugins alone whether a benchmark file is left out."""
        ignored = yield
        selection = config.pluginmanager.get_plugin(_SELECTION)
        if (
            not ignored
            or selection is None
            or not settings.is_benchmark_file(collection_path.name, config)
        ):
            return ignored
        others = config.pluginmanager.subset_hook_caller(
            "pytest_ignore_collect", remove_plugins=[selection, self]
        )
        answer: bool | None = others(collection_path=collection_path, config=config)
        return answer

    @pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
    def pytest_take_benchmarks_out(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Take the benchmarks away right before testmon looks."""
        if config.pluginmanager.get_plugin(_SELECTION) is None:
            return
        self._benchmarks = [
            item for item in items if settings.is_benchmark_file(item.path.name, config)
        ]
        items[:] = [item for item in items if item not in self._benchmarks]

    @pytest.hookimpl(wrapper=True, specname="pytest_collection_modifyitems")
    def pytest_put_benchmarks_back(self, items: list[pytest.Item]) -> Generator[None]:
        """Put them back where testmon has looked."""
        yield
        items += self._benchmarks
