"""Endpoints, calls, and their names in the journal."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Protocol
from urllib.parse import SplitResult, urlsplit

import msgspec

from pytest_evalmetrics.model.scoring_notes import KeyInFile, KeyInUrl
from pytest_evalmetrics.scoring.transport.secrets import (
    Secret,
    find_secret,
    keys_in,
    secrets_in_url,
)
from pytest_evalmetrics.scoring.transport.wire import (
    CallError,
    EndpointError,
    SecretError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.scoring.transport.wire import RawResponse
    from pytest_evalmetrics.spec import ParamsSpec
    from pytest_evalmetrics.spec.model_keys import PriceSpec

# Escaped, so that half a surrogate pair in a row can be sent; in the caller's order of keys,
# because the order of a schema's properties is part of the question to a model.
_BODY = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_CANONICAL = json.JSONEncoder(allow_nan=False, separators=(",", ":"), sort_keys=True)
DEFAULT_TIMEOUT_S = 30.0
DEFAULT_MAX_RETRIES = 3
# levels of a body in which a value that can't be written is looked for
_DEEPEST = 100
_WORK = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=repr)


# the schemes of endpoints, and their usual ports; LiteLLM has none
_PORTS = {"http": 80, "https": 443, "litellm": 0}
_NOT_IN_HOSTS = frozenset(" !%*,;<>\\^`{|}")


class Sender(Protocol):
    """Sends a call once; the caller bounds the time by cancelling."""

    async def send(self, endpoint: Endpoint, payload: bytes | None) -> RawResponse:
        """Send a call, and return the whole answer; SendFailure without one."""


class Endpoint(msgspec.Struct, frozen=True, dict=True):
    """The URL of calls, and their limits.

    Raises
    ------
    EndpointError
        The URL can't be used, or a number is out of range.
    """

    # http or https, or litellm for a model that LiteLLM asks; no user and password in it
    url: str
    # sent as ``Authorization: Bearer ...``, or as the header `key_header`
    secret: Secret | None = None
    # of one attempt, from connecting to the last byte of the answer
    timeout_s: float = DEFAULT_TIMEOUT_S
    # attempts after the first one
    max_retries: int = DEFAULT_MAX_RETRIES
    # calls in flight; all endpoints of one host and port share the limit
    parallelism: int = 16
    # the largest answer, uncompressed
    max_response_bytes: int = 16 * 2**20
    # of a model's tokens
    price: PriceSpec | None = None
    # of a Retry-After; None for the policy's
    longest_wait_s: float | None = None
    # further headers of each request, by name
    headers: tuple[tuple[str, str], ...] = ()
    # the header that holds the key alone; None for a bearer token
    key_header: str | None = None
    # sends the calls in place of the HTTP client
    sender: Sender | None = None
    # the URL as the benchmark file writes it; None for the one of the calls
    written: str | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_usable = _is_usable(parts)
        except ValueError:
            is_usable = False
        if not is_usable:
            raise EndpointError(
                f"{self.url.rpartition('@')[2]!r} is not a usable URL",
                hint="write http://host:port/path or https://host/path",
                about=self.in_file,
            )
        if parts.username is not None or parts.password is not None:
            raise EndpointError(
                f"the URL of {parts.hostname} holds a user or a password",
                hint="name a secret that is in the environment instead (api_key_secret)",
                about=self.in_file,
            )
        if not (isfinite(self.timeout_s) and self.timeout_s > 0):
            raise self._out_of_range("timeout_s", self.timeout_s, "more than 0")
        if self.max_retries < 0:
            raise self._out_of_range("max_retries", self.max_retries, "0 or more")
        if self.parallelism < 1:
            raise self._out_of_range("parallelism", self.parallelism, "1 or more")

    def _out_of_range(self, name: str, value: float, expected: str) -> EndpointError:
        return EndpointError(
            f"{name} is {value}, expected {expected}", about=self.in_file
        )

    @property
    def in_file(self) -> str:
        """The URL by which the benchmark file names it."""
        return self.url if self.written is None else self.written

    @cached_property
    def origin(self) -> str:
        """Scheme, host and port: the scope of a limit."""
        parts = urlsplit(self.url)
        port = parts.port or _PORTS[parts.scheme]
        return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"

    @cached_property
    def shown(self) -> str:
        """The URL as messages write it: without the query, which may hold a key."""
        return self.url.partition("?")[0].partition("#")[0]


def _is_usable(parts: SplitResult) -> bool:
    """Check the scheme, the host and the port of a URL; ValueError for an invalid one."""
    host = parts.hostname or ""
    _ = parts.port
    host.encode("idna")
    return parts.scheme in _PORTS and host != "" and not set(host) & _NOT_IN_HOSTS


@dataclass(frozen=True)
class Call:
    """One call, as the journal knows it."""

    endpoint: Endpoint
    # the body as `written_body` gives it; None for no body
    payload: bytes | None = None
    # the caller and its version, whose change invalidates answers
    kind: str = "call/1"
    # of the model, the prompt
    versions: Mapping[str, str] = field(default_factory=dict)
    # the attempt's number: each sample of a task gets its own answer
    sample: int = 0
    # how many calls with the same content came before it
    occurrence: int = 0
    # its usage is counted under it
    label: str = ""
    # its name in the journal in place of its body: a question may be sent in several forms
    identity: bytes | None = None
    # position among the calls of its row; halves are second tries
    place: float = 0.0
    # asked anew even if the journal has an answer, but in a replay
    anew: bool = False

    @property
    def price(self) -> PriceSpec | None:
        """The price of its tokens."""
        return self.endpoint.price

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return f"POST {self.endpoint.shown}"

    @property
    def in_file(self) -> str:
        """The URL by which the benchmark file names its endpoint."""
        return self.endpoint.in_file

    def key(self, without_secrets: Callable[[str], str]) -> bytes:
        """Name it for the journal: by its question, never by the asker."""
        start = _CANONICAL.encode(
            ["evalmetrics-journal/1", self.kind, "POST", self.endpoint.url]
        )
        versions = "{}"
        if self.versions:
            versions = _CANONICAL.encode(dict(self.versions))
        head = f"{start[:-1]},{versions},{self.sample},{self.occurrence}]"
        identity = self.payload if self.identity is None else self.identity
        body = (identity or b"").decode("ascii")
        text = without_secrets(f"{head}\n{body}")
        return blake2b(text.encode("ascii"), digest_size=20).digest()


@dataclass(frozen=True)
class Work:
    """One call of a function of the user's."""

    # the function: ``package.module:function``
    shown: str
    # its arguments
    given: Mapping[str, object]
    # the function's version; None if it has none: then its answers are not kept, because a
    # change of the function could not be noticed
    version: str | None
    # the attempt's number
    sample: int
    # how many calls with the same arguments came before it
    occurrence: int
    # its usage is counted under it
    label: str
    price: ClassVar[None] = None
    anew: ClassVar[bool] = False
    # no URL of a benchmark file names it
    in_file: ClassVar[None] = None

    def key(self, without_secrets: Callable[[str], str]) -> bytes:
        """Name it for the journal; empty if it is not kept."""
        if self.version is None:
            return b""
        name = [
            "evalmetrics-work/1",
            self.shown,
            self.version,
            self.sample,
            self.occurrence,
        ]
        text = without_secrets(_WORK.encode([*name, self.given]))
        return blake2b(text.encode("ascii"), digest_size=20).digest()


def written_body(body: object) -> bytes | None:
    """Serialize a request body; None stands for no body."""
    try:
        return None if body is None else _BODY.encode(body).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        culprit = _culprit(body) or _Culprit("", str(error))
        raise CallError(
            "bad-request",
            "the request can't be written as JSON: "
            f"body{culprit.place} is {culprit.fault}",
        ) from None


class _Culprit(msgspec.Struct, frozen=True):
    """A value that JSON can't write: its place in the body, and what it is."""

    place: str
    fault: str


class Occurrences:
    """Counts repetitions of the same content, in the order of the rows, never of the answers."""

    def __init__(self) -> None:
        # by a hash, which is small
        self._counts: defaultdict[int, int] = defaultdict(int)

    def next(self, content: bytes | None, *of: Hashable) -> int:
        """Count one; return how many came before it."""
        digest = hash((content or b"", of))
        self._counts[digest] += 1
        return self._counts[digest] - 1


def _culprit(value: object, place: str = "", depth: int = 0) -> _Culprit | None:
    """Find the first value that JSON can't write, as deep as a request may be."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, float):
        return None if isfinite(value) else _Culprit(place, repr(value))
    if value is None or isinstance(value, str | int):
        return None
    if not isinstance(value, dict | list | tuple):
        return _Culprit(place, f"a {type(value).__name__}")
    for inner_place, item in _parts_of(value, place):
        culprit = _culprit(item, inner_place, depth + 1)
        if culprit is not None:
            return culprit
    return None


def _parts_of(
    value: dict[object, object] | Sequence[object], place: str
) -> Iterator[tuple[str, object]]:
    """Yield the values in a mapping or a list, each with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{place}.{key}", item
    else:
        for at, item in enumerate(value):
            yield f"{place}[{at}]", item


class Terms(msgspec.Struct, frozen=True, eq=False):
    """The settings of all endpoints: ``params:`` of the benchmark file, and defaults."""

    # calls in flight at once
    parallelism: int = 16
    # of scorers that give none
    timeout_s: float | None = None
    max_retries: int | None = None
    # the longest wait that an endpoint may ask for
    max_wait_s: float | None = None
    # nothing is called, so that secrets may be missing
    replays: bool = False
    # parameters of the judges' models
    judging: ParamsSpec | None = None
    # the secrets of the endpoints so far, in their order
    secrets: dict[Secret, None] = msgspec.field(default_factory=dict)
    # remarks on secrets that stand where people read them
    notes: list[Note] = msgspec.field(default_factory=list)

    def hide_keys_of(self, text: str) -> None:
        """Hide the keys that the text of a benchmark file holds by mistake."""
        for secret in keys_in(text):
            self.secrets.setdefault(secret)
            self._note(KeyInFile())

    def _note(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def endpoint(
        self,
        url: str,
        *,
        secret: str | None = None,
        timeout_s: float | None = None,
        max_retries: int | None = None,
        written: str | None = None,
    ) -> Endpoint:
        """Make an endpoint on these terms; `written` is its URL in the file, if another."""
        value: Secret | None = None
        if secret is not None:
            try:
                value = find_secret(secret)
                self.secrets.setdefault(value)
            except SecretError:
                if not self.replays:
                    raise
        for in_url in secrets_in_url(url):
            self.secrets.setdefault(in_url)
            self._note(KeyInUrl(in_url.variable or ""))
        retries = DEFAULT_MAX_RETRIES
        if max_retries is not None:
            retries = max_retries
        elif self.max_retries is not None:
            retries = self.max_retries
        return Endpoint(
            url,
            secret=value,
            timeout_s=timeout_s or self.timeout_s or DEFAULT_TIMEOUT_S,
            max_retries=retries,
            parallelism=self.parallelism,
            longest_wait_s=self.max_wait_s,
            written=written,
        )
