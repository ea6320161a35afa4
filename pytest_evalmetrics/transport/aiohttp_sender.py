"""The real sender: one aiohttp session, kept alive.

aiohttp because it keeps up with the network at a third of a millisecond per call, and
because the httpx family brings anyio, whose pytest plugin slows every pytest start.
"""

from __future__ import annotations

import errno
import io
import os
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_evalmetrics.transport.wire import RawResponse, SendFailure, needs_extra

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    import aiohttp

    from pytest_evalmetrics.transport.wire import Request

__all__ = ["AiohttpSender"]

_JSON = "application/json"
_LARGE_BODY = 2**20  # from here on aiohttp wants a file: it would write the bytes in one go
_ERROR_PAGE = 64 * 2**10  # what is read of an answer that is none
_NO_SUCH_NAME = {
    getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
}


class AiohttpSender:
    """Sends requests over one session; make and use it on one event loop."""

    def __init__(self) -> None:
        self._aiohttp = _import_aiohttp()
        self._session: aiohttp.ClientSession | None = None
        self._proxies: dict[str, str | None] = {}

    async def send(self, request: Request) -> RawResponse:
        """Send a request and read the whole answer, see `Sender`."""
        session = self._session or self._open()
        headers: Mapping[str, str] | None = request.headers or None
        if request.secret is not None:
            headers = {**request.headers, "Authorization": f"Bearer {request.secret.reveal()}"}
        try:
            async with session.request(
                request.method,
                request.url,
                data=self._payload(request.body),
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy(request.url),
            ) as response:
                return RawResponse(
                    response.status, response.headers, await _read(response, request.max_bytes)
                )
        except (self._aiohttp.ClientError, OSError, ssl.SSLError) as error:
            if isinstance(error, TimeoutError):
                raise TimeoutError from None
            raise self._failure(error, request) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        aiohttp = self._aiohttp
        self._session = aiohttp.ClientSession(
            # the limits are ours (limits.py), and so is the time (client.py)
            connector=aiohttp.TCPConnector(limit=0, resolver=aiohttp.ThreadedResolver()),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),  # a row's answer must not colour the next one's
            headers={"Accept": _JSON, "User-Agent": "pytest-evalmetrics"},
        )
        return self._session

    def _payload(self, body: bytes | None) -> aiohttp.Payload | None:
        if body is None:
            return None
        made: aiohttp.Payload = (
            self._aiohttp.BytesIOPayload(io.BytesIO(body), content_type=_JSON)
            if len(body) >= _LARGE_BODY
            else self._aiohttp.BytesPayload(body, content_type=_JSON)
        )
        return made

    def _proxy(self, url: str) -> str | None:
        """Give the environment's proxy for a URL: looked up once, and never for this machine."""
        origin, _, _ = url.removeprefix("https://").removeprefix("http://").partition("/")
        if origin not in self._proxies:
            self._proxies[origin] = _proxy_for(url)
        return self._proxies[origin]

    def _failure(  # noqa: PLR0911 - one return for each kind of failure
        self, error: Exception, request: Request
    ) -> SendFailure:
        """Say in our words what aiohttp raised; its own may name proxies and passwords."""
        aiohttp, parts = self._aiohttp, urlsplit(request.url)
        host, where = parts.hostname or "", f"{parts.hostname}:{parts.port or parts.scheme}"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            why = getattr(error.certificate_error, "verify_message", "") or "not trusted"
            return SendFailure(
                "tls",
                f"the TLS certificate of {where} is refused: {why}",
                fatal=True,
                hint="SSL_CERT_FILE names the certificates that are trusted",
            )
        if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
            return SendFailure(
                "tls",
                f"no TLS connection to {where}: {_ssl_reason(error)}",
                fatal=True,
                hint="does this port speak TLS? If not, write http://",
            )
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return SendFailure("unreachable", f"the proxy for {where} can't be reached", retry=True)
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return SendFailure("unreachable", f"the proxy answered {error.status}", retry=True)
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return _dns_failure(error.os_error, host)
        if isinstance(error, aiohttp.ClientConnectorError):
            return _connect_failure(error.os_error, where)
        if isinstance(error, aiohttp.ClientResponseError):
            return SendFailure("not-http", f"{where} did not answer in HTTP")
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return SendFailure("bad-url", f"{parts.scheme}://{where} is no usable URL", fatal=True)
        return SendFailure(
            "closed", f"{where} closed the connection before the answer was whole", retry=True
        )


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Read a body up to a bound, which holds for the uncompressed bytes."""
    is_error = not 200 <= response.status < 300  # noqa: PLR2004 - HTTP
    bound = min(max_bytes, _ERROR_PAGE) if is_error else max_bytes
    length = response.content_length
    if length is not None and length <= bound and "Content-Encoding" not in response.headers:
        return await response.read()
    chunks, size = [], 0
    if is_error or length is None or length <= bound:
        async for chunk in response.content.iter_any():
            chunks.append(chunk)
            size += len(chunk)
            if size > bound:
                break
        else:
            return b"".join(chunks)
    response.close()  # what is left is never read: the connection can't be used again
    if is_error:
        return b"".join(chunks)[:bound]
    raise SendFailure(
        "too-large",
        f"the answer is larger than {bound / 2**20:.3g} MiB"
        + (f" ({length / 2**20:.3g} MiB)" if length and length > bound else ""),
    )


def _dns_failure(error: OSError, host: str) -> SendFailure:
    unknown = getattr(error, "errno", None) in _NO_SUCH_NAME
    return SendFailure(
        "dns",
        f"the name {host} does not resolve"
        + ("" if unknown else " now; the name server gave no answer"),
        retry=not unknown,
        fatal=unknown,
        hint="is the host's name right, and is it known to this machine?",
    )


def _connect_failure(error: OSError, where: str) -> SendFailure:
    if error.errno == errno.ECONNREFUSED:
        return SendFailure(
            "refused",
            f"{where} refused the connection",
            retry=True,
            hint="is the server running, and on this port?",
        )
    why = os.strerror(error.errno) if error.errno and error.errno > 0 else "no connection"
    return SendFailure("unreachable", f"{where} can't be reached: {why}", retry=True)


def _ssl_reason(error: Exception) -> str:
    inner = getattr(error, "os_error", error)
    reason = getattr(inner, "reason", None) or "the handshake failed"
    return str(reason).replace("_", " ").lower()


def _proxy_for(url: str) -> str | None:
    import ipaddress  # noqa: PLC0415 - once per endpoint
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - the same

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or proxy_bypass(host):
        return None
    try:
        if ipaddress.ip_address(host).is_loopback:
            return None
    except ValueError:
        pass
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all") or ""
    return found if found.startswith(("http://", "https://")) else None  # no SOCKS in aiohttp


def _import_aiohttp() -> ModuleType:
    with needs_extra("remote", "calling an endpoint"):
        import aiohttp  # noqa: PLC0415 - 230 ms, only where a client is made
    return aiohttp
