"""Who may ask: forged hosts, other sites, wrong secrets, strange methods and hostile paths are all refused."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import quote

import pytest

from .conftest import HANGS, TOKEN

RUNS = f"/{TOKEN}/api/runs"

HOSTS = [
    "evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1.evil.example:{port}",
    "127.0.0.1", "localhost", "127.0.0.1:1", "127.0.0.1:{port}.evil.example", "127.0.0.1:{port}@evil.example",
    "evil.example#127.0.0.1:{port}", "LOCALHOST:{port}", "127.1:{port}", "2130706433:{port}", "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}", "127.0.0.1:{port},evil.example", "", "127.0.0.1:0{port}",
]  # fmt: skip
ORIGINS = [
    "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://localhost:{port}", "null",
    "http://127.0.0.1:{port}.evil.example", "http://127.0.0.1:1", "file://", "http://[::1]:{port}", "",
    "chrome-extension://abcdef", "http://127.0.0.1:{port}/",
]  # fmt: skip
FETCHES = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "websocket", "Sec-Fetch-Dest": "websocket"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "embed"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "object"},
    {"Sec-Fetch-Site": "evil", "Sec-Fetch-Mode": "cors"},
]


def test_the_right_link_is_answered(served: Any) -> None:
    status, headers, body = served.ask(f"/{TOKEN}/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b"static/app.js" in body
    assert served.ask(RUNS, headers={"Host": f"localhost:{served.port}"})[0] == 200
    assert served.ask(RUNS, headers={"Origin": f"http://{served.host}", "Sec-Fetch-Site": "same-origin"})[0] == 200


def test_forty_forged_hosts_and_cross_site_requests_are_refused(served: Any) -> None:
    probes: list[dict[str, str]] = [{"Host": h.format(port=served.port)} for h in HOSTS]
    probes += [{"Origin": o.format(port=served.port)} for o in ORIGINS]
    probes += FETCHES
    assert len(probes) == 40
    for probe in probes:
        status, headers, body = served.ask(RUNS, headers=probe)
        assert status in (400, 403, 421), probe
        assert b"fig" not in body, probe
        assert not any(name.startswith("access-control-") for name in headers), probe


def test_cross_site_posts_are_refused_even_with_the_secret(served: Any) -> None:
    for headers in ({"Origin": "http://evil.example"}, *FETCHES):
        status, _, _ = served.ask(f"/{TOKEN}/api/train", "POST", headers, {"text": "x"})
        assert status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        status, _, _ = served.ask(f"/{TOKEN}/api/train", "POST", {"Content-Type": kind}, {"text": "x"})
        assert status == 415


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "..", quote(TOKEN + "\x00")])
def test_another_secret_opens_nothing(served: Any, token: str) -> None:
    for path in (f"/{token}/", f"/{token}/api/runs", f"/{token}/static/app.js", f"/{token}", "/", "/api/runs"):
        status, _, body = served.ask(path)
        assert status in (403, 404)
        assert b"fig" not in body


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_only_get_and_post_are_answered(served: Any, method: str) -> None:
    assert served.ask(RUNS, method)[0] == 405


def payloads() -> list[str]:
    """Two hundred ways to ask for a file that is not the page's: targets times spellings of 'upwards'."""
    ups = [
        "../", "..%2f", "..%2F", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "%2e%2e%5c", "....//", "..;/",
        "..%00/", "%252e%252e%252f", "..%c0%af", "..%ef%bc%8f", "/./../", "//../", "..%u2215", "%uff0e%uff0e/",
        "\u2025/", "..%0a/",
    ]  # fmt: skip
    targets = ["etc/passwd", "run.json", "task.toml", "server.py", "fig/run.json"]
    places = ["static/", "api/replay?run="]
    return [f"/{TOKEN}/{place}{up * 4}{target}" for place in places for up in ups for target in targets]


def test_two_hundred_path_traversals_are_refused(served: Any) -> None:
    tried = payloads()
    assert len(tried) == 200
    for path in tried:
        status, _, body = served.ask(quote(path, safe="/%?=;\\"))
        assert status in (400, 403, 404), path
        for secret in (b"root:", b"errands run", b"sha256", b"import "):
            assert secret not in body, path


def test_more_names_that_are_not_runs_are_refused(served: Any, runs: Any) -> None:
    (runs / "link").symlink_to(runs / "fig")
    try:
        for name in ("link", "fig/seed-0", "/etc", str(runs / "fig"), "fig/", "./fig", "fig\x00", "FIG"):
            status, _, body = served.ask(f"/{TOKEN}/api/replay?run={quote(name, safe='')}")
            assert status == 400
            assert b"no run is called" in body
    finally:
        (runs / "link").unlink()


def test_every_answer_forbids_everything_but_the_pages_own_files(served: Any) -> None:
    for path in (f"/{TOKEN}/", RUNS, f"/{TOKEN}/static/app.js", "/", f"/{TOKEN}/nothing"):
        _, headers, _ = served.ask(path)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';")
        assert "unsafe" not in policy
        assert "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_long_requests_are_refused(served: Any) -> None:
    status, _, _ = served.ask(f"/{TOKEN}/api/check", "POST", {"Content-Length": "100000000"}, {"text": "x"})
    assert status == 413
    with socket.create_connection(("127.0.0.1", served.port), timeout=HANGS) as raw:
        head = f"POST /{TOKEN}/api/check HTTP/1.1\r\nHost: {served.host}\r\nContent-Type: application/json\r\n"
        raw.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        assert b" 411 " in raw.recv(1000).split(b"\r\n")[0] + b" "
