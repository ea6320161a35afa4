"""One HTTP request and its answer, by aiohttp."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import socket
import ssl
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_evalmetrics.scoring.transport import wire
from pytest_evalmetrics.scoring.transport.origin_state import Fault
from pytest_evalmetrics.scoring.transport.wire import RawResponse, SendFailure

if TYPE_CHECKING:
    from types import ModuleType

    import aiohttp

    from pytest_evalmetrics.scoring.transport.endpoints import Endpoint

_JSON = "application/json"
# from here on aiohttp wants a file: it would write the bytes in one go
_LARGE_BODY = 2**20
_ERROR_PAGE = 64 * 2**10  # the largest error page that is read
_NO_SUCH_NAME = {
    getattr(socket, name, None)
    for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY")
}


class HttpSender:
    """Sends a call once; the caller bounds the time by cancelling."""

    # aiohttp: it takes a third of a millisecond per call, and the httpx family brings anyio, whose
    # pytest plugin slows every pytest start.

    def __init__(self) -> None:
        with wire.needs_extra("remote", "calling an endpoint"):
            import aiohttp  # 230 ms, only where a client is made
        self._aiohttp = aiohttp
        self._session = aiohttp.ClientSession(
            # the limits are ours, and so is the time
            connector=aiohttp.TCPConnector(
                limit=0, resolver=aiohttp.ThreadedResolver()
            ),
            timeout=aiohttp.ClientTimeout(total=None),
            # a row's answer must not change the next one
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": _JSON, "User-Agent": "pytest-evalmetrics"},
        )
        self._proxy_for = lru_cache(_proxy_for)

    async def send(self, endpoint: Endpoint, payload: bytes | None) -> RawResponse:
        """Send a call and read the whole answer; SendFailure or TimeoutError without one."""
        aiohttp = self._aiohttp
        proxy = self._proxy_for(endpoint.url)
        headers = dict(endpoint.headers)
        if endpoint.secret is not None and endpoint.key_header is not None:
            headers[endpoint.key_header] = endpoint.secret.reveal()
        elif endpoint.secret is not None:
            headers["Authorization"] = f"Bearer {endpoint.secret.reveal()}"
        body: object = None
        if payload is not None and len(payload) < _LARGE_BODY:
            body = aiohttp.BytesPayload(payload, content_type=_JSON)
        elif payload is not None:
            body = aiohttp.BytesIOPayload(io.BytesIO(payload), content_type=_JSON)
        try:
            async with self._session.post(
                endpoint.url,
                data=body,
                headers=headers,
                allow_redirects=False,
                proxy=proxy,
            ) as response:
                answer = await _read(response, endpoint.max_response_bytes)
                return RawResponse(response.status, response.headers, answer)
        except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
            if isinstance(error, TimeoutError):
                raise TimeoutError from None
            raise _failure(aiohttp, error, endpoint.url, proxy) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Read a body up to a bound, which holds for the uncompressed bytes."""
    is_error = not 200 <= response.status < 300  # HTTP
    bound = max_bytes
    if is_error:
        bound = min(max_bytes, _ERROR_PAGE)
    try:
        body = await response.content.readexactly(bound + 1)
    except asyncio.IncompleteReadError as error:
        return error.partial
    # the rest is never read: the connection can't be used again
    response.close()
    if is_error:
        return body[:bound]
    raise SendFailure("too-large", f"the answer is larger than {bound / 2**20:.3g} MiB")


def _failure(
    aiohttp: ModuleType, error: Exception, url: str, proxy: str | None
) -> SendFailure:
    """Word an error of aiohttp; its own words may name proxies and passwords."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    where = f"{host}:{parts.port or parts.scheme}"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return _tls_failure(aiohttp, error, where)
    if isinstance(
        error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError
    ):
        return _proxy_failure(error, host, proxy)
    if isinstance(error, aiohttp.ClientConnectorError):
        is_name = isinstance(error, aiohttp.ClientConnectorDNSError)
        return _connection_failure(error.os_error.errno, where, host, is_name=is_name)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return SendFailure(
            "bad-url", f"{parts.scheme}://{where} is not a usable URL", fatal=True
        )
    return _broken_answer(aiohttp, error, where)


def _broken_answer(aiohttp: ModuleType, error: Exception, where: str) -> SendFailure:
    if isinstance(error.__cause__, aiohttp.http_exceptions.ContentEncodingError):
        return SendFailure(
            "encoding", f"{where} answered in another encoding than its head says"
        )
    if isinstance(error, aiohttp.ClientResponseError):
        return SendFailure("not-http", f"{where} did not answer in HTTP")
    return SendFailure(
        "closed",
        f"{where} closed the connection before the answer was whole",
        fault=Fault.BROKEN,
    )


def _tls_failure(aiohttp: ModuleType, error: Exception, where: str) -> SendFailure:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate_error = getattr(error, "certificate_error", None)
        why = getattr(certificate_error, "verify_message", "") or "not trusted"
        return SendFailure(
            "tls",
            f"the TLS certificate of {where} is refused: {why}",
            fatal=True,
            hint="SSL_CERT_FILE names the certificates that are trusted",
        )
    inner = getattr(error, "os_error", error)
    reason = str(getattr(inner, "reason", None) or "the handshake failed")
    return SendFailure(
        "tls",
        f"no TLS connection to {where}: {reason.replace('_', ' ').lower()}",
        fatal=True,
        hint="does this port speak TLS? If not, write http://",
    )


def _connection_failure(
    number: int | None, where: str, host: str, *, is_name: bool
) -> SendFailure:
    if is_name:
        message = f"the name {host} does not resolve"
        hint = "is the host's name right, and is it known to this machine?"
        if number in _NO_SUCH_NAME:
            return SendFailure("dns", message, fatal=True, hint=hint)
        message += " now; the name server gave no answer"
        return SendFailure("dns", message, fault=Fault.DOWN, hint=hint)
    if number == errno.ECONNREFUSED:
        return SendFailure(
            "refused",
            f"{where} refused the connection",
            fault=Fault.DOWN,
            hint="is the server running, and on this port?",
        )
    why = "no connection"
    if number is not None and number > 0:
        why = os.strerror(number)
    return SendFailure(
        "unreachable", f"{where} can't be reached: {why}", fault=Fault.DOWN
    )


def _proxy_failure(error: Exception, host: str, proxy: str | None) -> SendFailure:
    answered = getattr(error, "status", None)
    how = "can't be reached"
    if answered:
        how = f"answered {wire.status_text(answered)}"
    named = (proxy or "").rpartition("@")[2].rpartition("//")[2]
    return SendFailure(
        "unreachable",
        f"the proxy {named} {how}",
        fault=Fault.DOWN,
        hint=f"the environment names it in HTTP(S)_PROXY; NO_PROXY={host} goes past it",
    )


def _proxy_for(url: str) -> str | None:
    """Return the environment's proxy for a URL; never one for this machine."""
    import ipaddress  # once per endpoint
    from urllib.request import getproxies, proxy_bypass  # the same

    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or proxy_bypass(host):
        return None
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not proxy.startswith(("http://", "https://")):
        # there is no SOCKS in aiohttp
        return None
    return proxy
