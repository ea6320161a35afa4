"""The connection to a Ray cluster. The only module that imports Ray."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Cluster"]

_INSTALL: Final = "pip install 'pytest-evalmetrics[ray]'"
_KNOCKS_S: Final = 10.0
_SAID: Final = 300  # characters of an error's message


class Cluster:
    """A Ray cluster, connected to at the first use.

    Parameters
    ----------
    address
        Of its head; None for what Ray finds: ``RAY_ADDRESS``, a cluster that runs on this
        machine, else one that is started here and ends with this process.

    Attributes
    ----------
    patience_s
        Seconds that a free core is waited for, where nobody works yet.
    """

    def __init__(self, address: str | None) -> None:
        self.patience_s = 300.0  # a cluster that grows takes minutes to do so
        self._address = address
        self._ray: Any = None
        self._ours = False

    @property
    def ray(self) -> Any:
        """The package, connected.

        Raises
        ------
        EngineError
            Ray is not installed, or the cluster can't be reached.
        """
        if self._ray is None:
            self._ray = self._connected()
        return self._ray

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        ray, self._ray = self._ray, None
        if ray is not None and self._ours:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Ray's own
                ray.shutdown()

    def cpus(self) -> int:
        """Count the cores of all nodes."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def must_have_a_core(self) -> None:
        """Wait for a core that is free: a cluster without one would let tasks wait for ever.

        Raises
        ------
        EngineError
            There is none within `patience_s`.
        """
        asked = self.ray.remote(num_cpus=1)(_nothing).remote()
        if not self.ray.wait([asked], timeout=self.patience_s)[0]:
            self.ray.cancel(asked)
            raise self.no_core()

    def no_core(self) -> EngineError:
        """Make the error that tells that nobody can work."""
        return EngineError(
            f"no node of the Ray cluster had a free core within {self.patience_s:.0f} s",
            hint="`ray status` tells what they are at",
        )

    def get(self, ref: Any) -> Any:
        """Wait for what a task gives.

        Raises
        ------
        EngineError
            The cluster lost it, and could not do it again.
        """
        try:
            return self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            raise self.lost(error) from None

    def lost(self, error: BaseException | None) -> EngineError:
        """Make the error that tells what became of the cluster."""
        cause = getattr(error, "cause", None)  # what a task raised; its traceback is Ray's own
        if isinstance(cause, BaseException):
            return EngineError(
                f"a worker of the Ray cluster broke down: {type(cause).__name__}: {_said(cause)}",
                hint="has every node the same versions of this package and of what it imports?",
            )
        said = f": {_said(error)}" if error is not None else ""
        return EngineError(
            f"the Ray cluster lost the work again and again{said}",
            hint="are its nodes alive, and have they the memory? `ray status` tells; "
            "--evalmetrics-engine local does without",
        )

    def dumps(self, what: Any, modules: Sequence[Any]) -> bytes:
        """Pickle, and take these modules' classes and functions along whole."""
        pickler = self.ray.cloudpickle
        try:
            for module in modules:
                pickler.register_pickle_by_value(module)
            return bytes(pickler.dumps(what))
        finally:
            for module in modules:
                pickler.unregister_pickle_by_value(module)

    def _connected(self) -> Any:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of a run
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Ray's own
                import ray  # noqa: PLC0415 - an extra, and a second to import
        except ImportError as error:
            raise EngineError(
                f"the engine ray needs {error.name or error}, which is not installed",
                hint=_INSTALL,
            ) from None
        if ray.is_initialized():  # by the user's own code: it is theirs to end
            return ray
        try:
            _must_answer(self._address or os.environ.get("RAY_ADDRESS") or "")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(
                    address=self._address,
                    include_dashboard=False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                    configure_logging=False,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            named = self._address or os.environ.get("RAY_ADDRESS") or "of its own"
            raise EngineError(
                f"the Ray cluster {named} can't be used: {_said(error)}",
                hint="is it up (`ray status`), on the same versions of Ray and Python, and does "
                "pytest run on one of its machines? --evalmetrics-ray-address names another",
            ) from None
        self._ours = True
        return ray


def _nothing() -> None:
    """Do nothing, on a core."""


def _must_answer(address: str) -> None:
    """Knock at a cluster's door: Ray itself knocks for minutes.

    Raises
    ------
    OSError
        Nobody is there.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_KNOCKS_S).close()


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SAID else text[:_SAID] + "…"
