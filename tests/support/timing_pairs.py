"""Guesses about people with many rows, right and wrong, asked of a real server: when do their replies leave?

Each victim can be told by what an acquaintance knows (`born`), has 100 to 500 rows with long texts, and a secret. A
question selects the victim and a guess about the secret, and then does as much as a question may with the rows that are
left: all of the victim's if the guess is right, and none if it is wrong.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

import httpx
import pyarrow as pa

import dalenius as dl
from servers import CHANGED_WORKERS

VICTIMS, OTHERS = 40, 10_000
_CHOSEN = "born = {born} AND secret = {guess}"
_SLOW = "a" * 50
"""The beginning of a pattern that is compared anew at nearly every character of a victim's texts."""
_PAIRS = " AND ".join(f"NOT (a.icd LIKE '%{_SLOW}x{place}%' OR b.icd LIKE '%{_SLOW}y{place}%')" for place in range(6))
_LONG = " AND ".join(f"LENGTH(REPLACE(LOWER(icd), 'q', '{place}')) <> {place}" for place in range(3))
_MANY = " AND ".join(f"NOT icd LIKE '%a____q{place}%'" for place in range(14))
SHAPES = {
    "self-join": "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.patient_id = b.patient_id "
    "WHERE a.born = {born} AND b.secret = {guess} AND " + _PAIRS,
    "long texts": f"SELECT COUNT(*) AS n FROM visits WHERE {_CHOSEN} AND {_LONG}",
    "many conditions": f"SELECT COUNT(*) AS n FROM visits WHERE {_CHOSEN} AND {_MANY}",
    "quantiles": f"SELECT MEDIAN(cost) AS m, QUANTILE(cost, 0.9) AS q FROM visits WHERE {_CHOSEN}",
    "per unit": "SELECT AVG(n) AS n FROM (SELECT patient_id, COUNT(DISTINCT icd) AS n, MAX(cost) AS c FROM visits "
    f"WHERE {_CHOSEN} GROUP BY patient_id)",
    "found keys": f"SELECT icd, COUNT(*) AS n FROM visits WHERE {_CHOSEN} GROUP BY icd",
}
"""For each way in which work could follow from a person's rows, a question about a victim and a guess."""

_SERVER = f"""
import json, sys
from pathlib import Path
from dalenius.server.schedule import ReplySchedule
from dalenius.server.limits import Limits
from dalenius.server.serving import Serving, serve

{CHANGED_WORKERS}
grid, limits = ReplySchedule(**json.loads(sys.argv[2])), Limits(rate=1000, burst=1000, at_once=100)
chosen = Changed(Path(sys.argv[1]), change=sys.argv[4], port=0, workers=int(sys.argv[3]), grid=grid, limits=limits)
serve(chosen, announce=lambda text: print(text, flush=True), log=lambda line: print(line, flush=True))
"""


@dataclass(frozen=True)
class Left:
    """When a reply left: seconds from the request, and doublings after it was due."""

    seconds: float
    late: int


def secret_of(victim: int) -> int:
    return victim * 7 % 3 % 2


def _note(chance: Random) -> str:
    """A long text in which patterns nearly match at many places."""
    return "".join(chance.choice("ac") for _ in range(700)) + "a" * 200


def make_folder(folder: Path) -> dict[str, str]:
    """A folder with the table, and a token for each shape."""
    chance = Random(1)
    rows = [(f"v{v}", 1000 + v, secret_of(v), f"{_note(chance)}{v} {n}") for v in range(VICTIMS)
            for n in range(100 + v * 400 // (VICTIMS - 1))]  # fmt: skip
    rows += [(f"p{p}", chance.randrange(1000), chance.randrange(2), f"I{chance.randrange(2000)}")
             for p in range(OTHERS) for _ in range(2)]  # fmt: skip
    names = ("patient_id", "born", "secret", "icd")
    table = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    table = table.append_column("cost", pa.array([chance.randrange(500_000) / 100 for _ in rows]))
    with dl.create(folder) as db:
        db.add_population("patients", budget=dl.Budget(epsilon=50, delta="1e-6"), least_share="1e-12")
        columns = {"born": dl.Int(0, 2000), "secret": dl.Int(0, 1), "icd": dl.Text(),
                   "cost": dl.Real(0, 5000, step="0.01")}  # fmt: skip
        db.add_table("visits", table, population="patients", unit="patient_id", max_rows=20, max_groups=5,
                     columns=columns)  # fmt: skip
        for shape in SHAPES:
            db.grant(shape.replace(" ", "-"), tables=["visits"], rate=dl.Rate(10**6, seconds=1))
        return {shape: db.token(shape.replace(" ", "-")) for shape in SHAPES}


@dataclass
class TimedServer:
    """A server process, its tokens and its log."""

    process: subprocess.Popen[str]
    tokens: dict[str, str]
    address: str
    log: IO[str]

    def asked(self, shape: str, guesses: Sequence[tuple[int, int]]) -> list[Left]:
        """When the replies to guesses (victim, secret) about one shape left, one after the other."""
        headers, times = {"Authorization": f"Bearer {self.tokens[shape]}"}, []
        with httpx.Client(base_url=self.address, headers=headers, timeout=120, trust_env=False) as client:
            for victim, guess in guesses:
                sql = SHAPES[shape].format(born=1000 + victim, guess=guess)
                started = time.perf_counter()
                reply = client.post("/v1/run", json={"sql": sql, "epsilon": "0.0001", "fresh": True})
                times.append(time.perf_counter() - started)
                assert reply.status_code == 200, reply.text
        return [Left(*each) for each in zip(times, self._late(shape, len(guesses)), strict=True)]

    def _late(self, shape: str, count: int) -> list[int]:
        """Doublings of the last so many replies to whoever asks about a shape."""
        lines = []
        while len(lines) < count:  # the last line may be on its way
            lines = [json.loads(line) for line in Path(self.log.name).read_text().splitlines() if line[:1] == "{"]
            lines = [line for line in lines if line.get("who") == shape.replace(" ", "-") and line["route"] == "run"]
        return [line.get("late", 0) for line in lines[-count:]]


@contextmanager
def timed_server(folder: Path, tokens: dict[str, str], *, change: str = "", **grid: float) -> Iterator[TimedServer]:
    """A server on the default grid, or another one; `change` is run in each worker first."""
    said = folder.parent / "said"
    with said.open("w") as log:
        chosen = [str(folder), json.dumps(grid), str(len(SHAPES) + 1), change]
        command = [sys.executable, "-c", _SERVER, *chosen]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.DEVNULL, text=True)
        try:
            while not (lines := said.read_text().splitlines()):
                assert process.poll() is None
                time.sleep(0.05)
            yield TimedServer(process, tokens, lines[0].strip(), log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def guesses(count: int) -> list[tuple[int, int]]:
    """A right and a wrong guess about each of so many victims, in either order; victims come again."""
    found = []
    for number in range(count):
        victim = number % VICTIMS
        right = secret_of(victim)
        pair = [(victim, right), (victim, 1 - right)]
        found += pair if (number + number // VICTIMS) % 2 else pair[::-1]
    return found


def by_kind(asked: Sequence[tuple[int, int]], found: Sequence[Left]) -> tuple[list[Left], list[Left]]:
    """What became of right guesses and of wrong ones, in the order of their pairs."""
    both = list(zip(asked, found, strict=True))
    right, wrong = ([left for (victim, guess), left in both if (guess == secret_of(victim)) is kind]
                    for kind in (True, False))  # fmt: skip
    return right, wrong
