"""The local server: the page, its modules and the API behind the gate, on loopback unless told otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from errands.errors import ConfigError, ErrandsError, UnknownName, words_of
from errands.viewer.api import Api, Question
from errands.viewer.export import static
from errands.viewer.gate import Gate

KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
FILES = (
    "app.js", "curves.js", "dom.js", "editor.js", "grid.js", "live.js", "machine.js", "replay.js", "sizes.js",
    "style.css", "world.js",
)  # fmt: skip
"""All that is ever served as a file; nothing is looked up on the disk by a name from outside."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_STREAMS = 16
MAX_SLOW = 2
"""Slow answers that are computed at the same time; Python runs one thread at a time: with more, all would be later."""
MAX_KEPT = 64_000_000
"""Bytes of answers that are kept for those who ask again."""
BEAT = 0.4
REQUEST_SECONDS = 10.0
"""How long a client may take to send a whole request; a connection on which nothing comes is closed then."""
KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A client that has vanished without a word is noticed within a minute."""


class RequestTimeout(H11Protocol):
    """A connection that is closed unless its first request has come in time; later ones fall under keep-alive."""

    seconds = REQUEST_SECONDS

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self.bell = self.loop.call_later(self.seconds, self._too_late)

    def _too_late(self) -> None:
        # No request has begun: someone holds the connection open, perhaps to use them all up.
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self.bell.cancel()
        super().connection_lost(exc)


class Answers:
    """Computed answers as the bytes that are sent; who asks for one that is being computed waits for it.

    All of it runs on the server's one event loop: waiting takes no thread, so that short questions are answered meanwhile.
    """

    def __init__(self, max_bytes: int = MAX_KEPT) -> None:
        self.max_bytes = max_bytes
        self.kept: OrderedDict[Hashable, asyncio.Task[bytes]] = OrderedDict()
        self.turns = anyio.CapacityLimiter(MAX_SLOW)

    async def to(self, question: Question) -> bytes:
        """The JSON of a question's answer."""
        task = self.kept.get(question.key)
        if task is None:
            task = asyncio.create_task(self._computed(question))
            self.kept[question.key] = task
        self.kept.move_to_end(question.key)
        # A reader who goes away must not take the answer from the others.
        return await asyncio.shield(task)

    async def _computed(self, question: Question) -> bytes:
        try:
            turns = self.turns if question.slow else None
            data = await anyio.to_thread.run_sync(lambda: encoded(question.answer()), limiter=turns)
        except BaseException:
            # Those who wait get the fault, whoever asks next tries again.
            self.kept.pop(question.key, None)
            raise
        room = self.max_bytes - len(data)
        for key, task in reversed(list(self.kept.items())):
            if key != question.key and task.done():
                room -= len(task.result())
                if room < 0:
                    del self.kept[key]
        return data


def encoded(answer: Any) -> bytes:
    """An answer as JSON; dataclasses within it become objects of their fields."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_fields).encode()


def _fields(value: Any) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"a {type(value).__name__} cannot be sent")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def application(
    api: Api, token: str, hosts: frozenset[str], any_ip: int | None = None, seconds: float = REQUEST_SECONDS
) -> Gate:
    """The whole server as one ASGI application."""
    texts = {name: static(name) for name in FILES}
    index = static("index.html")
    streams = asyncio.Semaphore(MAX_STREAMS)
    answers = Answers()

    async def page(request: Request) -> Response:
        return Response(index, media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in texts:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(texts[name], media_type=KINDS[name.rpartition(".")[2]])

    async def events(request: Request) -> Response:
        name = request.query_params.get("run", "")
        # Asked before the stream begins: once its first byte is sent, a fault can no longer be told by a status.
        first = await run_in_threadpool(api.progress, name)
        # Refused rather than made to wait: a page that hangs tells its reader nothing.
        if streams.locked():
            return PlainTextResponse("too many pages are watching; close one\n", 429)
        return StreamingResponse(_watch(api, name, first, streams), media_type="text/event-stream")

    get = {
        "runs": lambda q: api.runs(),
        "replay": lambda q: api.replay(q.get("run", ""), _whole(q.get("seed"))),
        "curves": lambda q: api.curves(q.getlist("run")),
        "figure": lambda q: api.figure(q.get("name", ""), q.getlist("run")),
        "progress": lambda q: api.progress(q.get("run", "")),
        "sizes": lambda q: api.sizes(q.get("family", "delivery")),
        "tasks": lambda q: api.tasks(),
    }
    post = {"check": api.check, "trace": api.trace, "train": api.train, "further": api.further, "cancel": api.cancel}
    routes = [Route("/", page), Route("/static/{name}", file), Route("/api/events", _guard(events))]
    routes += [Route(f"/api/{name}", _guard(_get(act, answers))) for name, act in get.items()]
    routes += [Route(f"/api/{name}", _guard(_post(act, seconds)), methods=["POST"]) for name, act in post.items()]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # The page opens with this run; meanwhile the browser starts, and compiled code is loaded.
        first = asyncio.create_task(_first(api, answers))
        yield
        first.cancel()
        api.trainer.close()

    return Gate(Starlette(routes=routes, lifespan=lifespan), token, hosts, any_ip)


Handler = Callable[[Request], Any]


def _get(act: Callable[[Any], Any], answers: Answers) -> Handler:
    async def answer(request: Request) -> Response:
        reply = await run_in_threadpool(act, request.query_params)
        if isinstance(reply, Question):
            return Response(await answers.to(reply), media_type="application/json")
        return JSONResponse(reply)

    return answer


def _post(act: Callable[[Any], Any], seconds: float) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await asyncio.wait_for(request.body(), seconds))
        except TimeoutError:
            raise ConfigError(f"the request did not come within {seconds:g} seconds") from None
        except (ValueError, RecursionError):
            raise ConfigError("the request is not JSON") from None
        if not isinstance(body, dict):
            raise ConfigError("the request is not a JSON object")
        return JSONResponse(await run_in_threadpool(act, body))

    return answer


def _guard(handler: Handler) -> Handler:
    """Errors that errands explains become a sentence; a body that never came becomes nothing."""

    async def answer(request: Request) -> Response:
        try:
            reply: Response = await handler(request)
            return reply
        except ErrandsError as fault:
            return JSONResponse({"error": str(fault)}, 400)
        except ClientDisconnect:
            return PlainTextResponse("the request was cut off\n", 413)
        except asyncio.CancelledError:  # uvicorn cancels what is under way only when it ends, and would print a traceback
            return PlainTextResponse("the server is closing\n", 503)
        except Exception as fault:  # noqa: BLE001 (one bad run must not take the page down)
            return JSONResponse({"error": words_of(fault, 300)}, 500)

    return answer


async def _first(api: Api, answers: Answers) -> None:
    """Compute what is shown first before anyone asks for it; whatever is wrong is told to who asks."""
    listed = await run_in_threadpool(api.listing)
    name = api.chosen or next(iter(listed), None)
    if name is not None:
        with contextlib.suppress(Exception):
            await answers.to(await run_in_threadpool(api.replay, name, None))


async def _watch(api: Api, name: str, first: Any, streams: asyncio.Semaphore) -> AsyncIterator[bytes]:
    """Progress whenever it changes, until the run has ended."""
    async with streams:
        said, now = None, first
        while True:
            if now != said:
                said = now
                yield f"event: progress\ndata: {json.dumps(now)}\n\n".encode()
            if now["finished"] or now["state"] not in (None, "training"):
                yield b"event: end\ndata: {}\n\n"
                return
            await asyncio.sleep(BEAT)
            try:
                now = await run_in_threadpool(api.progress, name)
            except UnknownName:  # its folder was removed
                return
            except ErrandsError:  # a file that is just being replaced can be read the next time
                continue


def _whole(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    # isdigit alone lets digits of other scripts pass; 18 digits stay below 2**63.
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ConfigError(f"'{text[:40]}' is no seed; give a whole number")
    return int(text)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; a ConfigError says why it cannot."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as fault:
        listening.close()
        why = getattr(fault, "strerror", None) or str(fault)
        raise ConfigError(f"{host}:{port} cannot be listened on ({why.lower()}); choose another --port or --host") from None
    listening.listen(128)
    return listening


def names_of(host: str, port: int) -> tuple[frozenset[str], int | None]:
    """The values of the Host header that are this server, and the port where any IP address is it."""
    given = {f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}
    if host in LOOPBACK:
        given |= {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
    return frozenset(given), port if host in ("0.0.0.0", "::") else None  # noqa: S104 (compared, not bound)


def serve(runs: Path, chosen: str | None, host: str, port: int, open_page: bool) -> str:
    """Serve until interrupted; the link that was printed."""
    sock = listen(host, port)
    # Port 0 asked for any free one; only the bound socket knows which it is.
    port = sock.getsockname()[1]
    token = secrets.token_urlsafe(24)
    gate = application(Api(runs, chosen), token, *names_of(host, port))
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
    link = f"http://{shown}:{port}/{token}/"
    print(f"errands view is open at {link}\npress Ctrl-C to close it", file=sys.stderr, flush=True)
    if host not in LOOPBACK:
        print("others on your network can reach this port; whoever has the link can train here", file=sys.stderr)
    if open_page:
        import webbrowser

        webbrowser.open(link)
    with contextlib.suppress(KeyboardInterrupt):
        runner(gate).run(sockets=[sock])
    return link


def runner(gate: Gate, seconds: float = REQUEST_SECONDS) -> uvicorn.Server:
    """What runs the application on a socket: quiet, and gone a second after it is asked to end."""

    class Waiting(RequestTimeout):
        """One that waits so long."""

    Waiting.seconds = seconds
    return uvicorn.Server(uvicorn.Config(
        gate, http=Waiting, log_level="error", access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=1, timeout_keep_alive=15,
    ))  # fmt: skip
