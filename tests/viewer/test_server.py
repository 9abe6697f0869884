"""Where the server listens and by which names it may be called."""

from __future__ import annotations

import socket

import pytest

from errands.errors import ConfigError
from errands.viewer.gate import Gate
from errands.viewer.server import listen, names_of


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
