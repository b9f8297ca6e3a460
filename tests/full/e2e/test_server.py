"""A real server: a process with workers over a folder, asked over loopback, stopped, killed and started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from clinics import clinic
from dalenius.errors import InvalidParameter
from dalenius.server import serving as serving_module
from dalenius.server.addresses import is_loopback
from dalenius.server.logs import Log
from dalenius.server.serving import Serving
from dalenius.server.workers.pool import Pool
from dalenius.session.databases import open as opened
from servers import CHANGED_WORKERS

COUNT = {"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "0.01"}
PROGRAM = f"""
{CHANGED_WORKERS}
import json
from pathlib import Path
from dalenius.errors import DaleniusError
from dalenius.server.schedule import ReplySchedule
from dalenius.server.limits import Limits
from dalenius.server.serving import serve
step, seconds = float(sys.argv[2]), float(sys.argv[3])
limits = Limits(seconds=seconds, head_seconds=1, connections_of_one=30)
grid = ReplySchedule(step, max(1, step))
chosen = Changed(Path(sys.argv[1]), port=0, workers=2, grid=grid, limits=limits, change=sys.argv[4])
try:
    serve(chosen, announce=lambda text: print(text, flush=True), log=lambda line: print(line, file=sys.stderr))
except DaleniusError as error:
    print("refused", type(error).__name__, flush=True)
    sys.exit(2)
print("ended", flush=True)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server")
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    yield folder
    os.environ.pop("XDG_STATE_HOME")
    if before is not None:
        os.environ["XDG_STATE_HOME"] = before


@pytest.fixture(scope="module")
def tokens(place: Path) -> dict[str, str]:
    with clinic(path=place / "clinic") as db:
        db.grant("ana", tables=["visits"], share="50%")
        return {"ana": db.token("ana"), "owner": db.token("owner", role="owner"), "eve": db.token("eve", "auditor")}


@contextmanager
def serving(
    folder: Path, *, step: float = 0.01, seconds: float = 60, change: str = ""
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address; it is told to end, and waited for. `change` is run in each worker first."""
    log = (folder.parent / "log").open("a")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), str(step), str(seconds), change],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()
        log.close()


def client(address: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False)


def workers_of(process: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            parent = (each / "stat").read_text().rsplit(")", 1)[1].split()[1] if each.name.isdigit() else ""
        except OSError:
            continue
        if parent == str(process):
            found.append(int(each.name))
    return found


def core_dumps(process: int) -> list[str]:
    """The soft and the hard limit of core dumps."""
    limits = Path(f"/proc/{process}/limits").read_text().splitlines()
    return next(line for line in limits if "core file" in line).split()[4:6]


def test_the_whole_loop_over_loopback(place: Path, tokens: dict[str, str]) -> None:
    """Asked by an analyst, watched by an auditor, changed by the owner, all in other processes than the data."""
    with serving(place / "clinic") as (process, address):
        with client(address, tokens["ana"]) as ana, client(address, tokens["owner"]) as owner:
            assert ana.get("/v1/catalog").json()["tables"].keys() == {"visits"}
            price = ana.post("/v1/price", json=COUNT).json()
            answer = ana.post("/v1/run", json=COUNT).json()
            assert price["affordable"]
            assert ana.post("/v1/run", json=COUNT).json()["answer"] == answer["answer"]
            job = ana.post("/v1/jobs", json={**COUNT, "fresh": True}).json()["job"]
            while (state := ana.get(f"/v1/jobs/{job}").json())["state"] == "running":
                time.sleep(0.1)
            assert state["answer"]["receipt"] != answer["answer"]["receipt"]
            owner.post("/admin/v1/grants", json={"analyst": "bob", "tables": ["visits"], "share": "1%"})
            bob_token = owner.post("/admin/v1/tokens", json={"who": "bob"}).json()["token"]
            with client(address, bob_token) as bob:
                assert [bob.get("/v1/catalog").json()["tables"].keys() for _ in range(3)] == [{"visits"}] * 3
                owner.delete("/admin/v1/grants/bob")
                assert bob.get("/v1/catalog").status_code == 401
        with client(address, tokens["eve"]) as eve:
            kinds = [entry["kind"] for entry in eve.get("/v1/ledger").json()["entries"]]
            assert (kinds.count("charge"), kinds.count("answer")) == (2, 2)
            assert eve.post("/v1/run", json=COUNT).status_code == 403
        assert "server" not in httpx.get(f"{address}/v1/health", trust_env=False).headers
        for worker in workers_of(process.pid):
            assert os.getpgid(worker) == worker  # killing it kills what it started
            assert core_dumps(worker) == ["0", "0"]
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read().strip() == "ended"
        assert process.wait(30) == 0
    log = (place / "log").read_text()
    assert '"route": "run"' in log
    assert not any(token.removeprefix("dal_") in log for token in (*tokens.values(), bob_token))
    assert "SELECT" not in log


def test_the_registry_in_all_forms_leaves_the_workers_as_they_were(place: Path, tokens: dict[str, str]) -> None:
    """A body of several lines is a body, and whoever asks next gets the own reply."""
    with serving(place / "clinic") as (process, address), client(address, tokens["ana"]) as ana:
        workers = workers_of(process.pid)
        for form, word in (("", '"populations"'), (".csv", "patients"), (".html", "<h1>")) * 2:
            text = httpx.get(f"{address}/v1/registry{form}", trust_env=False).text
            assert word in text
            replies = [ana.get("/v1/balance").json().keys() for _ in range(4)]
            assert replies == [{"left", "spent"}] * 4
        assert workers_of(process.pid) == workers


def closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_half_requests_do_not_keep_others_out(place: Path, tokens: dict[str, str]) -> None:
    with serving(place / "clinic") as (_, address), ExitStack() as opened_here:
        port = int(address.rpartition(":")[2])
        halves = [opened_here.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(60)]
        for each in halves:
            with suppress(ConnectionError):
                each.sendall(b"GET /v1/he")
        assert httpx.get(f"{address}/v1/health", trust_env=False).status_code == 200
        time.sleep(1.5)
        assert all(closed(each) for each in halves)


def test_a_question_beyond_its_deadline_is_killed_and_stays_charged(place: Path, tokens: dict[str, str]) -> None:
    slow = "import time\nfrom dalenius.engines.duckdb.engine import DuckDBEngine\n"
    slow += "DuckDBEngine.run = lambda self, step, **how: time.sleep(60)"
    with (
        serving(place / "clinic", seconds=3.5, change=slow) as (process, address),
        client(address, tokens["ana"]) as ana,
    ):
        before = charges(place / "clinic")
        workers = workers_of(process.pid)
        reply = ana.post("/v1/run", json={**COUNT, "fresh": True})
        assert reply.json()["error"]["code"] == "stopped"
        assert len(set(workers) & set(workers_of(process.pid))) == len(workers) - 1
        (line,) = (place / "clinic" / "owner.log").read_text().splitlines()
        assert {"who": "ana", "reason": "WorkerLost"}.items() <= json.loads(line).items()
        assert charges(place / "clinic") == (before[0] + 1, before[1])


def test_an_answer_that_is_ready_is_given_before_its_deadline_also_where_it_is_due_later(
    place: Path, tokens: dict[str, str]
) -> None:
    with serving(place / "clinic", step=3, seconds=2) as (_, address), client(address, tokens["ana"]) as ana:
        assert ana.post("/v1/run", json={**COUNT, "fresh": True}).status_code == 200


def charges(folder: Path) -> tuple[int, int]:
    """How many charges and answers the ledger of a folder has."""
    with opened(folder) as db:
        kinds = [entry.kind for entry in db._curator.ledger.entries()]
    return kinds.count("charge"), kinds.count("answer")


def test_workers_end_with_their_server(place: Path, tokens: dict[str, str]) -> None:
    with serving(place / "clinic") as (process, _):
        found = workers_of(process.pid)
        process.kill()
        process.wait()
        end = time.monotonic() + 20
        while any(Path(f"/proc/{worker}").exists() for worker in found):
            assert time.monotonic() < end
            time.sleep(0.05)


def test_a_server_does_not_start_on_a_ledger_that_was_rolled_back(place: Path, tokens: dict[str, str]) -> None:
    folder = place / "rolled"
    clinic(path=folder).close()
    saved = (folder / "ledger.sqlite").read_bytes()
    with opened(folder) as db:
        db.sql(COUNT["sql"]).run(epsilon="0.01")
    (folder / "ledger.sqlite").write_bytes(saved)
    for rest in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (folder / rest).unlink(missing_ok=True)
    with serving(folder) as (process, said):
        assert said == "refused LedgerRefused"
        assert process.wait(30) == 2


def test_a_server_has_workers_that_no_charged_question_holds(
    place: Path, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Counted(Pool):
        def __init__(self, command: Any, size: int, **options: Any) -> None:
            made.append(size)
            super().__init__(command, 0, **options)

    async def started() -> None:
        async with serving_module.opened_front(Serving(place / "clinic", workers=4), Log()):
            pass

    monkeypatch.setattr(serving_module, "Pool", Counted)
    asyncio.run(started())
    assert made == [4, 2, 4]


def test_only_loopback_is_listened_on_without_tls() -> None:
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.com"):
        with pytest.raises(InvalidParameter):
            Serving(Path("x"), host=host)
        assert Serving(Path("x"), host=host, insecure=True).offers_admin is False
        with pytest.raises(InvalidParameter, match="PEM"):
            Serving(Path("x"), host=host, certificate=Path("c"), key=Path("k"))
    for host in ("127.0.0.1", "localhost", "::1", "127.9.9.9"):
        assert is_loopback(host)
        assert Serving(Path("x"), host=host).offers_admin is None
    with pytest.raises(InvalidParameter):
        Serving(Path("x"), certificate=Path("c"))


@pytest.mark.parametrize(
    ("option", "wrong"),
    [*(("workers", each) for each in (-3, 0, 1, 10_000)), *(("port", each) for each in (-1, 65_536, 99_999))],
)
def test_figures_that_no_server_can_have_are_refused(option: str, wrong: int) -> None:
    with pytest.raises(InvalidParameter, match=option):
        Serving(Path("x"), **{option: wrong})
