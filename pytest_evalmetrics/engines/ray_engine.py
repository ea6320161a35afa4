"""The engine that works on a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.engines.ray_cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines.protocol import Engine, Work
    from pytest_evalmetrics.rollouts import Request, RolloutFile

__all__ = ["RayEngine"]


class RayEngine:
    """Works on a Ray cluster, see `Engine`.

    Parameters
    ----------
    address
        See `Cluster`.
    root
        The user's project: what it defines goes along with the work.
    always
        Also for files of so few bytes that it does not pay.
    size
        Bytes of a shard; chosen if None.
    """

    def __init__(
        self,
        address: str | None,
        root: Path,
        *,
        always: bool = False,
        size: int | None = None,
    ) -> None:
        self.cluster = Cluster(address)
        self._root = root
        self._always = always
        self._size = size

    def read(
        self, files: Sequence[RolloutFile], format_: str | None, request: Request
    ) -> RolloutTable | None:
        """Read rollouts, see `Engine`."""
        from pytest_evalmetrics.engines.ray_reading import read_on  # noqa: PLC0415 - loads msgspec

        return read_on(self.cluster, files, format_, request, always=self._always, size=self._size)

    def prepare(self) -> None:
        """Connect, see `Engine`."""
        _ = self.cluster.ray

    async def score(self, work: Work) -> None:
        """Score rows, and answer those that are to be; see `Engine`."""
        from pytest_evalmetrics.engines.ray_scoring import Crew  # noqa: PLC0415 - if needed

        await Crew(self.cluster, work, self._root).run()

    def close(self) -> None:
        """Leave the cluster."""
        self.cluster.close()


if TYPE_CHECKING:
    _of_ray: type[Engine] = RayEngine
