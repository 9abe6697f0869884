"""A folder of real runs, a real server on a free port, and a real browser, each made once."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("anyio", reason="the page needs the extra [viewer]")
pytest.importorskip("starlette", reason="the page needs the extra [viewer]")

from errands.oracle.episode import Policy
from errands.runs.folder import RunFolder, create
from errands.runs.request import Request
from errands.runs.run import best_length
from errands.runs.sweep import train_run
from errands.tasks import Task, load
from errands.viewer.api import Api
from errands.viewer.replay import Replay, record, replay_of
from errands.viewer.server import REQUEST_SECONDS, application, listen, names_of, runner
from errands.viewer.sources import exact_of, maps_of, optimal_of

HANGS = 120
"""Seconds after which an answer is taken never to come."""
TOKEN = "a-secret-of-the-tests"  # noqa: S105 (known to the tests only)
HOSTILE = """name = "<img src=x onerror=alert(1)>"
[world]
kind = "grid"
rows = ["1s.", "..A"]
legend = { 1 = "b1", s = "s" }
[machine]
phrase = "any_order(b1, after=s)"
"""


def trained(runs: Path, name: str, task: Task, learner: str, steps: int, seeds: int) -> RunFolder:
    request = Request.of(task, learner, settings=["eval_every=1000"], steps=steps, seeds=range(seeds))
    run = create(runs / name, request, checkpoint_seconds=60.0, git={})
    train_run(run, 1, quiet=True)
    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: two to be compared, and one whose name is markup."""
    folder = tmp_path_factory.mktemp("viewed") / "runs"
    trained(folder, "fig-crm", load("figure-1"), "crm", 4_000, 2)
    trained(folder, "fig", load("figure-1"), "qcorm", 20_000, 3)
    trained(folder, "hostile", Task.from_toml(HOSTILE), "crm", 2_000, 1)
    return folder


@dataclass(frozen=True)
class Served:
    port: int
    api: Api

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/{TOKEN}/"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", headers: dict[str, str] | None = None, body: object = None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request with exactly the given path, unchanged on its way; a Host header unless one is given."""
        given = {"Host": self.host, **(headers or {})}
        data = b"" if body is None else json.dumps(body).encode()
        if method == "POST":
            given = {"Content-Type": "application/json", "Content-Length": str(len(data)), **given}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, what: str, body: object = None) -> dict[str, object]:
        method = "GET" if body is None else "POST"
        status, _, data = self.ask(f"/{TOKEN}/api/{what}", method, body=body)
        return {"status": status, **json.loads(data)}


@pytest.fixture(scope="session")
def served(runs: Path) -> Iterator[Served]:
    """The server, as `errands view` starts it."""
    with serving(Api(runs)) as server:
        yield server


@contextlib.contextmanager
def serving(api: Api, seconds: float = REQUEST_SECONDS) -> Iterator[Served]:
    """A server of its own, which waits so long for a request."""
    sock = listen("127.0.0.1", 0)
    port = sock.getsockname()[1]
    server = runner(application(api, TOKEN, *names_of("127.0.0.1", port), seconds), seconds)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server has ended before it began"
        time.sleep(0.01)
    yield Served(port, api)
    server.should_exit = True
    thread.join()
    sock.close()


@pytest.fixture
def another_server() -> Callable[..., contextlib.AbstractContextManager[Served]]:
    """A server of a test's own, made with settings of its own."""
    return serving


@pytest.fixture(scope="session")
def replay_policy() -> Callable[[Task, Policy], Replay]:
    """The replay of a policy that nobody learnt, beside the optimum."""

    def replayed(task: Task, policy: Policy) -> Replay:
        best = best_length(task)
        facts = {"seed": 0, "steps": 0, "optimum": best.length, "certificate": None}
        shown = [(0, record(task, policy), {}, maps_of(task, policy, None))]
        return replay_of(task, "policy", shown, optimal_of(task, best), exact_of(task), facts)

    return replayed
