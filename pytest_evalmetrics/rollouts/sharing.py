"""Large files read by several processes at once, this one among them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from pytest_evalmetrics.helpers.processes import Helpers
from pytest_evalmetrics.helpers.shared import Shared
from pytest_evalmetrics.rollouts.shards import ShardReader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pytest_evalmetrics.rollouts.part import Part
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec import FieldMap

__all__ = ["BrokenShard", "read_shared"]


class BrokenShard(Exception):  # noqa: N818 - no error that anybody sees
    """Something is wrong with a shard: one process that reads everything in order says what."""


@dataclass(frozen=True)
class _Reading:
    """How several processes read shards, each of them in the order of the files."""

    request: Request

    def worker(self) -> Callable[[Source], Part]:
        return ShardReader(self.request).read

    def __reduce__(self) -> tuple[object, ...]:
        # the fields by what needs no import: their own type loads what validates YAML
        fields = cast("FieldMap", SimpleNamespace(**asdict(self.request.fields)))
        return _Reading, (replace(self.request, fields=fields),)


def read_shared(
    request: Request, shards: Sequence[Source], processes: int
) -> Generator[Part, None, None]:
    """Read shards, several at a time.

    Parameters
    ----------
    request
        What the benchmark wants.
    shards
        The shards, in the order of the files.
    processes
        How many read, this one included.

    Yields
    ------
    Part
        What was read of each shard, in their order.

    Raises
    ------
    BrokenShard
        If one can't be read.
    """
    with _begun(request, shards, processes - 1) as shared:
        for number in range(len(shards)):
            try:
                part: Part = shared.get(number)
            except MemoryError:
                raise
            except Exception as error:
                raise BrokenShard from error
            yield part


def _begun(request: Request, shards: Sequence[Source], helpers: int) -> Shared:
    try:
        shared = Shared(_Reading(request), Helpers(helpers))
        try:
            shared.add(shards)
            shared.complete()
        except BaseException:
            shared.close()
            raise
    except OSError as error:  # no room for what they tell each other
        raise BrokenShard from error
    return shared
