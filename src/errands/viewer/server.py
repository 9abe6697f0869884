"""The local server: the page, its modules and the API behind the gate, on loopback unless told otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from errands.errors import ConfigError, ErrandsError, UnknownName
from errands.viewer.api import Desk
from errands.viewer.export import static
from errands.viewer.gate import Gate

KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
FILES = (
    "app.js", "curves.js", "dom.js", "editor.js", "grid.js", "live.js", "machine.js", "replay.js", "sizes.js",
    "style.css", "world.js",
)  # fmt: skip
"""All that is ever served as a file; nothing is looked up on the disk by a name from outside."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_STREAMS = 16
BEAT = 0.4


def application(desk: Desk, token: str, hosts: frozenset[str], any_ip: int | None = None) -> Gate:
    """The whole server as one ASGI application."""
    texts = {name: static(name) for name in FILES}
    index = static("index.html")
    streams = asyncio.Semaphore(MOST_STREAMS)

    async def page(request: Request) -> Response:
        return Response(index, media_type="text/html")

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in texts:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(texts[name], media_type=KINDS[name.rpartition(".")[2]])

    async def events(request: Request) -> Response:
        name = request.query_params.get("run", "")
        first = await run_in_threadpool(desk.progress, name)
        if streams.locked():
            return PlainTextResponse("too many pages are watching; close one\n", 429)
        return StreamingResponse(_watch(desk, name, first, streams), media_type="text/event-stream")

    ask = {
        "runs": lambda q: desk.runs(),
        "replay": lambda q: desk.replay(q.get("run", ""), _whole(q.get("seed"))),
        "curves": lambda q: desk.curves(q.getlist("run")),
        "progress": lambda q: desk.progress(q.get("run", "")),
        "sizes": lambda q: desk.sizes(q.get("family", "delivery")),
        "tasks": lambda q: desk.tasks(),
    }
    tell = {"check": desk.check, "trace": desk.trace, "train": desk.train, "cancel": desk.cancel}
    routes = [Route("/", page), Route("/static/{name}", file), Route("/api/events", _guard(events))]
    routes += [Route(f"/api/{name}", _guard(_asked(act))) for name, act in ask.items()]
    routes += [Route(f"/api/{name}", _guard(_told(act)), methods=["POST"]) for name, act in tell.items()]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        desk.trainer.close()

    return Gate(Starlette(routes=routes, lifespan=lifespan), token, hosts, any_ip)


Handler = Callable[[Request], Any]


def _asked(act: Callable[[Any], Any]) -> Handler:
    async def answer(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(act, request.query_params))

    return answer


def _told(act: Callable[[Any], Any]) -> Handler:
    async def answer(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
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
            found: Response = await handler(request)
            return found
        except ErrandsError as fault:
            return JSONResponse({"error": str(fault)}, 400)
        except ClientDisconnect:
            return PlainTextResponse("the request was cut off\n", 413)
        except Exception as fault:  # noqa: BLE001 (one bad run must not take the page down)
            return JSONResponse({"error": f"{type(fault).__name__}: {str(fault)[:300]}"}, 500)

    return answer


async def _watch(desk: Desk, name: str, first: Any, streams: asyncio.Semaphore) -> AsyncIterator[bytes]:
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
                now = await run_in_threadpool(desk.progress, name)
            except UnknownName:  # its folder was removed
                return
            except ErrandsError:  # a file that is just being replaced can be read the next time
                continue


def _whole(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ConfigError(f"'{text[:40]}' is no seed; give a whole number")
    return int(text)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; a ConfigError says why it cannot."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as fault:
        found.close()
        why = getattr(fault, "strerror", None) or str(fault)
        raise ConfigError(f"{host}:{port} cannot be listened on ({why.lower()}); choose another --port or --host") from None
    found.listen(128)
    return found


def names_of(host: str, port: int) -> tuple[frozenset[str], int | None]:
    """The values of the Host header that are this server, and the port where any IP address is it."""
    given = {f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}
    if host in LOOPBACK:
        given |= {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
    return frozenset(given), port if host in ("0.0.0.0", "::") else None  # noqa: S104 (compared, not bound)


def serve(runs: Path, chosen: str | None, host: str, port: int, open_page: bool) -> str:
    """Serve until interrupted; the link that was printed."""
    sock = listen(host, port)
    port = sock.getsockname()[1]
    token = secrets.token_urlsafe(24)
    gate = application(Desk(runs, chosen), token, *names_of(host, port))
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


def runner(gate: Gate) -> uvicorn.Server:
    """What runs the application on a socket: quiet, and gone a second after it is asked to end."""
    return uvicorn.Server(uvicorn.Config(
        gate, log_level="error", access_log=False, server_header=False, lifespan="on", timeout_graceful_shutdown=1
    ))  # fmt: skip
