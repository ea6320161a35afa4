"""On what terms endpoints are called: what ``params:`` says, and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.calls import Endpoint
from pytest_evalmetrics.transport.errors import SecretError
from pytest_evalmetrics.transport.secrets import Secret, find_secret

if TYPE_CHECKING:
    from pytest_evalmetrics.spec import ParamsSpec

__all__ = ["Terms"]

_TIMEOUT_S, _RETRIES = 30.0, 3


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms endpoints are called: what ``params:`` says, and defaults.

    Attributes
    ----------
    parallelism
        Calls in flight at once.
    timeout_s, max_retries
        Where a scorer says nothing of its own.
    replays
        Nothing is called: what a key is needed for can do without one.
    judging
        What ``params:`` says of models, where it is the judges that it says it of.
    secrets
        Those that were found for endpoints, in their order: nobody shows them.
    """

    parallelism: int = 16
    timeout_s: float | None = None
    max_retries: int | None = None
    replays: bool = False
    judging: ParamsSpec | None = None
    secrets: dict[Secret, None] = field(default_factory=dict, repr=False, compare=False)

    def endpoint(
        self,
        url: str,
        *,
        secret: str | None = None,
        timeout_s: float | None = None,
        max_retries: int | None = None,
    ) -> Endpoint:
        """Make an endpoint on these terms.

        Raises
        ------
        SecretError
            The named secret is not in the environment.
        """
        return Endpoint(
            url,
            secret=self._secret(secret),
            timeout_s=timeout_s or self.timeout_s or _TIMEOUT_S,
            max_retries=next(
                (n for n in (max_retries, self.max_retries) if n is not None), _RETRIES
            ),
            parallelism=self.parallelism,
        )

    def _secret(self, name: str | None) -> Secret | None:
        if name is None:
            return None
        try:
            found = find_secret(name)
        except SecretError:
            if self.replays:
                return None
            raise
        self.secrets.setdefault(found)
        return found
