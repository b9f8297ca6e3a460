"""Many analysts at once on the demo's table, against a real server process: times of replies, errors and overspending.

Each analyst sees a price, pays for an answer with fresh noise, and goes on to the next question. At last everybody asks
for more than there is together. The ledger is recounted afterwards.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

import dalenius as dl
from benchmarks.ledger import DISK
from dalenius.cli.demo import BY_AGE, BY_SEX, POPULATION, PRESSURE, SLEEP, SMOKERS, TABLE, open_table, survey_file
from dalenius.ledger.accounts import Account
from dalenius.ledger.checking import examined
from dalenius.ledger.stores import SQLiteStore

ANALYSTS = 50
SECONDS = 60.0
QUESTIONS = (BY_SEX, BY_AGE, SMOKERS, PRESSURE, SLEEP)
SHARE, EPSILON = "10%", "0.001"
"""What each analyst is granted, five times the budget in all, and the price of one answer."""
TOO_MUCH, ATTEMPTS = "3%", 3
"""What everybody asks for at last, and how often: four and a half budgets."""
PACES = {"without a pause": 0.0, "reading for 5 s": 5.0}


@dataclass
class Times:
    """Seconds of the replies of one route."""

    seconds: list[float] = field(default_factory=list)

    def quantile(self, part: float) -> float:
        return sorted(self.seconds)[int(part * (len(self.seconds) - 1))]


@dataclass
class Load:
    """What the analysts saw: times by route, replies that were no answer, and charges that were answered."""

    pace: str
    seconds: float = 0.0
    price: Times = field(default_factory=Times)
    run: Times = field(default_factory=Times)
    errors: list[str] = field(default_factory=list)
    receipts: set[str] = field(default_factory=set)

    @property
    def replies(self) -> float:
        return (len(self.price.seconds) + len(self.run.seconds)) / self.seconds


@dataclass(frozen=True)
class ServerRun:
    """Loads at several paces, and the recount: what was spent of the budget, and charges beside those answered."""

    loads: tuple[Load, ...]
    rush: Load
    spent: float
    charges: int
    answered: int
    sound: bool
    rows: int
    workers: int

    @property
    def errors(self) -> int:
        """Replies that were no answers, besides refusals for want of budget in the rush."""
        others = [code for code in self.rush.errors if code != "budget_exceeded"]
        return sum(len(load.errors) for load in self.loads) + len(others)

    @property
    def refused(self) -> int:
        return self.rush.errors.count("budget_exceeded")


def measured(seconds: float = SECONDS) -> ServerRun:
    DISK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="server-", dir=DISK) as name, _state(Path(name).resolve() / "state"):
        folder = Path(name).resolve() / "survey"
        tokens = _made(folder)
        with _serving(folder) as address:
            loads = tuple(asyncio.run(_load(address, tokens, pace, seconds)) for pace in PACES)
            rush = asyncio.run(_rush(address, tokens))
        return _recounted(folder, loads, rush)


@contextmanager
def _state(place: Path) -> Iterator[None]:
    """Let the mark of the ledger lie in a folder of this run."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(place)
    try:
        yield
    finally:
        os.environ.pop("XDG_STATE_HOME") if before is None else os.environ.update(XDG_STATE_HOME=before)


def _made(folder: Path) -> list[str]:
    """The demo's table, and a token for each analyst."""
    with dl.create(folder) as db:
        db.add_population(POPULATION, budget=dl.Budget(epsilon=3, delta="1e-9"), purpose="health statistics")
    open_table(folder)
    with dl.open(folder) as db:
        for number in range(ANALYSTS):
            db.grant(f"analyst{number}", tables=[TABLE], share=SHARE, rate=dl.Rate(10**6, seconds=1))
        return [db.token(f"analyst{number}") for number in range(ANALYSTS)]


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    """The address of `dalenius serve`, while it runs."""
    command = [
        sys.executable,
        "-m",
        "dalenius",
        "serve",
        str(folder),
        "--port",
        "0",
        "--log",
        str(folder.parent / "log"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+:\d+", process.stdout.readline())
        assert found, "the server did not start"
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


async def _load(address: str, tokens: list[str], pace: str, seconds: float) -> Load:
    load, start = Load(pace), time.perf_counter()
    await asyncio.gather(
        *(_analyst(address, token, number, load, start + seconds) for number, token in enumerate(tokens))
    )
    load.seconds = time.perf_counter() - start
    return load


async def _analyst(address: str, token: str, number: int, load: Load, end: float) -> None:
    headers, pause = {"Authorization": f"Bearer {token}"}, PACES[load.pace]
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=120, trust_env=False) as client:
        await asyncio.sleep(pause * number / ANALYSTS)
        while time.perf_counter() < end:
            body = {"sql": QUESTIONS[number % len(QUESTIONS)], "epsilon": EPSILON}
            await _asked(client, "/v1/price", body, load.price, load)
            await _asked(client, "/v1/run", {**body, "fresh": True}, load.run, load)
            await asyncio.sleep(pause)
            number += 1


async def _rush(address: str, tokens: list[str]) -> Load:
    """Everybody asks at once for more than there is."""
    load = Load("all at once")

    async def ask(token: str, number: int) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=120, trust_env=False) as client:
            for attempt in range(ATTEMPTS):
                body = {"sql": QUESTIONS[(number + attempt) % len(QUESTIONS)], "share": TOO_MUCH, "fresh": True}
                await _asked(client, "/v1/run", body, load.run, load)

    await asyncio.gather(*(ask(token, number) for number, token in enumerate(tokens)))
    return load


async def _asked(client: httpx.AsyncClient, path: str, body: dict[str, object], times: Times, load: Load) -> None:
    start = time.perf_counter()
    try:
        reply = await client.post(path, json=body)
    except httpx.TransportError as error:
        load.errors.append(type(error).__name__)
        return
    times.seconds.append(time.perf_counter() - start)
    if reply.status_code != 200:
        load.errors.append(reply.json()["error"]["code"])
    elif path == "/v1/run":
        load.receipts.add(reply.json()["answer"]["receipt"])


def _recounted(folder: Path, loads: tuple[Load, ...], rush: Load) -> ServerRun:
    """The ledger, recounted from its entries, beside what the analysts were told."""
    with closing(SQLiteStore(folder / "ledger.sqlite")) as store:
        findings = examined(store)
    with dl.open(folder) as db:
        cap = db._curator.catalog.population(POPULATION).renyi_filter.cap
        charges = sum(entry.kind == "charge" for entry in db._curator.ledger.entries())
    spent = findings.balances[Account((POPULATION,))]
    answered = sum(len(load.receipts) for load in (*loads, rush))
    share = max(spent.divergence / cap.divergence, spent.delta / cap.delta)
    return ServerRun(loads, rush, share, charges, answered, findings.sound, _rows(), max(2, os.cpu_count() or 1))


def _rows() -> int:
    return sum(1 for _ in survey_file().open(encoding="utf-8")) - 1
