"""Where the server listens and by which names it may be called."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from errands.errors import ConfigError
from errands.viewer import server
from errands.viewer.api import Api, Question
from errands.viewer.gate import Gate
from errands.viewer.server import Answers, listen, names_of

from .conftest import HANGS, TOKEN


async def _nothing(scope: object, receive: object, send: object) -> None:
    raise AssertionError("nothing may pass in these tests")


def _status(host: str, listening: str) -> int:
    gate = Gate(_nothing, "secret", *names_of(listening, 80))
    scope = {"type": "http", "method": "GET", "path": "/secret/", "headers": [(b"host", host.encode())]}
    return gate.refusal(scope)[0]


def test_on_loopback_only_its_own_names_are_answered() -> None:
    for host in ("127.0.0.1:80", "localhost:80", "[::1]:80"):
        assert _status(host, "127.0.0.1") == 0
    for host in ("192.168.0.7:80", "example.org:80", "127.0.0.1:81", "127.0.0.1"):
        assert _status(host, "127.0.0.1") == 421


def test_on_every_address_numbers_are_answered_and_names_are_not() -> None:
    for host in ("192.168.0.7:80", "[fe80::1]:80", "127.0.0.1:80"):
        assert _status(host, "0.0.0.0") == 0  # noqa: S104 (this is what is tested)
    for host in ("example.org:80", "192.168.0.7:81", "192.168.0.7", "1.evil.example:80"):
        assert _status(host, "0.0.0.0") == 421  # noqa: S104


def test_a_port_that_is_taken_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="cannot be listened on"):
            listen("127.0.0.1", taken.getsockname()[1])


def test_a_connection_on_which_no_request_comes_is_closed(another_server: Any, runs: Path) -> None:
    with another_server(Api(runs), seconds=0.3) as server:
        for said in (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            with socket.create_connection(("127.0.0.1", server.port), timeout=HANGS) as client:
                client.sendall(said)
                with contextlib.suppress(ConnectionResetError):
                    assert client.recv(1) == b""


def test_a_body_that_never_comes_is_not_waited_for(another_server: Any, runs: Path) -> None:
    with another_server(Api(runs), seconds=2.0) as server, contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANGS)
    ) as client:
        # On a connection that has been asked something the clock for a first request no longer runs.
        client.request("GET", f"/{TOKEN}/api/runs")
        assert client.getresponse().read()
        client.putrequest("POST", f"/{TOKEN}/api/check")
        client.putheader("Content-Type", "application/json")
        client.putheader("Content-Length", "100")
        client.endheaders()
        answer = client.getresponse()
        assert (answer.status, b"did not come within 2 seconds" in answer.read()) == (400, True)


@pytest.mark.parametrize("seed", ["²", "٣", "1e3", "-1", "9" * 30])
def test_a_seed_that_is_no_whole_number_is_told(served: Any, seed: str) -> None:
    status, _, body = served.ask(f"/{TOKEN}/api/replay?run=fig&seed={quote(seed)}")
    assert status == 400
    assert "is no seed" in json.loads(body)["error"]


def test_pipes_in_a_run_folder_do_not_hold_up_the_server(served: Any, runs: Path) -> None:
    folder = runs / "piped"
    shutil.copytree(runs / "fig-crm", folder)
    try:
        for name in ("seed-0/evaluations.csv", "seed-1/result.json"):
            (folder / name).unlink()
            os.mkfifo(folder / name)
        # A blocked read would never be answered.
        for question in ("progress?run=piped", "replay?run=piped", "curves?run=piped", "runs"):
            served.ask(f"/{TOKEN}/api/{question}")
        assert served.ask(f"/{TOKEN}/api/progress?run=fig")[0] == 200
    finally:
        shutil.rmtree(folder)


def test_an_answer_is_computed_once_for_all_who_ask_and_faults_are_not_kept() -> None:
    computed: list[str] = []

    def answer(key: str) -> list[str]:
        computed.append(key)
        time.sleep(0.05)
        if key == "bad":
            raise ConfigError("no such thing")
        return [key * 10]

    def question(key: str) -> Question:
        return Question(key, lambda: answer(key), slow=True)

    async def ask() -> None:
        answers = Answers(max_bytes=30)
        assert await asyncio.gather(*(answers.to(question("a")) for _ in range(20))) == [b'["aaaaaaaaaa"]'] * 20
        assert computed == ["a"]
        for _ in range(2):
            told = await asyncio.gather(*(answers.to(question("bad")) for _ in range(3)), return_exceptions=True)
            assert [str(fault) for fault in told] == ["no such thing"] * 3
        assert computed == ["a", "bad", "bad"]
        # Two answers of 14 bytes have room, the third takes the place of the one that was asked for longest ago.
        for key in ("b", "c", "b", "a"):
            await answers.to(question(key))
        assert computed[3:] == ["b", "c", "a"]

    asyncio.run(ask())


def test_slow_answers_hold_up_only_each_other() -> None:
    gate = threading.Event()

    async def ask() -> None:
        answers = Answers(max_bytes=30)
        slow = [asyncio.create_task(answers.to(Question(i, gate.wait, slow=True))) for i in range(60)]
        try:
            await asyncio.sleep(0.05)
            assert await asyncio.wait_for(answers.to(Question("quick", lambda: 1)), HANGS) == b"1"
        finally:
            gate.set()
        assert set(await asyncio.gather(*slow)) == {b"true"}

    asyncio.run(ask())


def test_what_is_under_way_when_the_server_ends_is_answered_without_a_traceback() -> None:
    async def ended(request: object) -> None:
        raise asyncio.CancelledError

    answer = asyncio.run(server._guard(ended)(None))  # type: ignore[arg-type]
    assert (answer.status_code, answer.body) == (503, b"the server is closing\n")
