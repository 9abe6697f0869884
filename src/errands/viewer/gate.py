"""The gate before the server: who may ask (host, origin, secret), how much, and what every answer forbids a browser."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_BYTES = 128_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True)
class Gate:
    """Lets a request through to `app` only with the right host, origin and secret; the secret is taken off its path."""

    app: App
    token: str
    hosts: frozenset[str]
    """The values of the Host header that are this server; IP addresses of port `any_ip` are too, where it is set."""
    any_ip: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or refuse it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        status, why = self.refusal(scope)
        if status:
            return await _refuse(send, status, why)
        # The secret is taken off here, so that no error or answer of the application can repeat it.
        rest = scope["path"][len(self.token) + 1 :]
        inner = dict(scope, path=rest, raw_path=rest.encode(), root_path="")
        return await self.app(inner, _bounded(receive), _guarded(send))

    def refusal(self, scope: Scope) -> tuple[int, str]:
        """A status and a sentence for whatever may not pass; 0 for what may."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = _named(headers, b"host")
        # A site can let its own name point at this address (DNS rebinding); its requests then carry that name as host.
        if len(hosts) != 1 or not self._ours(hosts[0]):
            return 421, "this is not the host that errands view listens on; use the printed link"
        page = scope["method"] == "GET" and scope["path"] == f"/{self.token}/"
        if not _same_origin(headers, hosts[0]) or not _same_site(headers, page):
            return 403, "requests from other sites are refused"
        if scope["method"] not in ("GET", "POST"):
            return 405, "only GET and POST are answered"
        first, slash, _ = scope["path"][1:].partition("/")
        # In constant time: how long a refusal takes must not tell how much of a guessed secret is right.
        if not slash or not hmac.compare_digest(first.encode(), self.token.encode()):
            return 403, "the link is not complete; use the one that errands view printed"
        return _post_refusal(headers) if scope["method"] == "POST" else (0, "")

    def _ours(self, host: str) -> bool:
        if host in self.hosts:
            return True
        # Open to all addresses, the server does not know which of them it is called by. A bare IP address is safe here:
        # rebinding needs a name.
        name, _, port = host.rpartition(":")
        if self.any_ip is None or port != str(self.any_ip):
            return False
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


def _named(headers: Iterable[tuple[bytes, str]], name: bytes) -> list[str]:
    return [value for key, value in headers if key == name]


def _same_origin(headers: list[tuple[bytes, str]], host: str) -> bool:
    # Browsers send an origin with every request that another site makes by POST; other programs send none.
    return _named(headers, b"origin") in ([], [f"http://{host}"])


def _same_site(headers: list[tuple[bytes, str]], page: bool) -> bool:
    """Whether a browser says that the request comes from this page, or from the address bar or a link to the page."""
    site, mode, target = (_named(headers, b"sec-fetch-" + part) for part in (b"site", b"mode", b"dest"))
    if not site or site in (["same-origin"], ["none"]):
        return True
    return page and mode == ["navigate"] and target == ["document"]


def _post_refusal(headers: list[tuple[bytes, str]]) -> tuple[int, str]:
    kind = _named(headers, b"content-type")
    # A form of another site cannot send JSON, and a script that would must ask first with OPTIONS, which is refused.
    if len(kind) != 1 or kind[0].partition(";")[0].strip().lower() != "application/json":
        return 415, "a request must be JSON"
    size = _named(headers, b"content-length")
    if len(size) != 1 or not size[0].isdigit():
        return 411, "a request must say its length"
    return (413, f"a request has at most {MAX_BYTES:,} bytes") if int(size[0]) > MAX_BYTES else (0, "")


def _bounded(receive: Receive) -> Receive:
    """The request's body, cut off if it is longer than it said."""
    left = MAX_BYTES

    async def inner() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if left < 0 else message

    return inner


def _guarded(send: Send) -> Send:
    """Every answer with the headers that forbid a browser to do more with it."""

    async def inner(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Nothing may allow other origins to read an answer.
            headers = [(n, v) for n, v in message.get("headers", []) if not n.lower().startswith(b"access-control-")]
            message = {**message, "headers": [*headers, *HEADERS]}
        await send(message)

    return inner


async def _refuse(send: Send, status: int, why: str) -> None:
    body = why.encode() + b"\n"
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *HEADERS]})
    await send({"type": "http.response.body", "body": body})
