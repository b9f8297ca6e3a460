"""A process that asks and is killed. `python -m faults.killed` reads orders from its input, one JSON object a line.

For each it forks, so that a kill costs no import. The child runs the loop over real files: reserve, run, store, reply,
and kills itself at a named step, or is killed by its parent after a while; the parent keeps what the child had handed
out by then, and prints it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.ledger.accounts import Receipt
from dalenius.ledger.ledger import Ledger
from dalenius.ledger.stores import SQLiteStore
from dalenius.session import databases  # by its own name, so that all of it is loaded before a fork
from dalenius.session.answers.encoding import encoded
from faults.planted import acknowledging_early
from faults.witness import Witness, ask, digest, opened


class Steps:
    """The steps of a child, counted by name; it dies at the chosen one."""

    def __init__(self, tell: Callable[..., None], chosen: list[Any] | None) -> None:
        self._tell, self._count = tell, Counter[str]()
        self._chosen = None if chosen is None else (chosen[0], chosen[1])

    def at(self, name: str) -> None:
        self._count[name] += 1
        if self._chosen is None:
            self._tell("step", name, self._count[name])
        elif self._chosen == (name, self._count[name]):
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: type, method: str, name: str, then: Callable[[Any], None] | None = None) -> None:
        """Make steps of the beginning and end of a method; `then` is told what it gave."""
        original = getattr(owner, method)

        def stepped(*arguments: Any, **options: Any) -> Any:
            self.at(f"before {name}")
            given = original(*arguments, **options)
            if then:
                then(given)
            self.at(f"after {name}")
            return given

        setattr(owner, method, stepped)


class SteppedConnection:
    """A connection that makes a step of every statement's beginning and end."""

    def __init__(self, connection: Any, file: str, steps: Steps) -> None:
        self._connection, self._file, self._steps = connection, file, steps

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        statement = " ".join(sql.split()[: 3 if sql.startswith(("INSERT", "DELETE")) else 1])
        self._steps.at(f"before {statement} in the {self._file}")
        given = self._connection.execute(sql, parameters)
        self._steps.at(f"after {statement} in the {self._file}")
        return given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def watch(steps: Steps, charged: Callable[[Receipt], None]) -> None:
    """Put steps everywhere between a question and its answer, in this process for good."""
    connected = SQLiteStore._connected

    def stepped(self: Any, *settings: str) -> Any:
        file = "ledger" if self._path.name.startswith("ledger") else "mark"
        return SteppedConnection(connected(self, *settings), file, steps)

    SQLiteStore._connected = stepped  # type: ignore[method-assign]
    steps.around(Ledger, "reserve", "reserve", charged)
    steps.around(Ledger, "store", "store")
    steps.around(DuckDBEngine, "run", "run")


# ---- the child


def child(order: dict[str, Any], tell: Callable[..., None]) -> None:
    place, steps = Path(order["place"]), Steps(tell, order.get("step", ["", 0]))

    def charged(receipt: Receipt) -> None:
        tell("charged", receipt.id, receipt.charges[0].amount.divergence)

    watch(steps, charged)

    def reply(receipt: str, body: str) -> None:
        steps.at("before reply")
        tell("answered", receipt, digest(body))
        steps.at("after reply")

    tell("begun")
    if order["over"] == "database":
        return ask_database(place, order, reply)
    ledger = opened(place / "ledger.sqlite", place / "mark.sqlite")
    return ask_ledger(acknowledging_early(ledger, charged) if order["planted"] else ledger, order, reply)


def ask_ledger(ledger: Ledger, order: dict[str, Any], reply: Callable[[str, str], None]) -> None:
    """Many threads share one ledger; what they ask for needs no data."""

    def work(seed: int) -> None:
        witness = Witness()
        witness.answered = lambda receipt, body: reply(receipt.id, body)  # type: ignore[method-assign]
        ask(ledger, witness, Random(f"{order['seed']} {seed}"), rounds=order["rounds"])

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(order["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.close()


def ask_database(place: Path, order: dict[str, Any], reply: Callable[[str, str], None]) -> None:
    """The whole way, from the text of a question to its answer."""
    with databases.open(place / "clinic", mark=place / "mark.sqlite") as db:
        asked = db.sql("SELECT city, COUNT(*) AS n FROM visits GROUP BY city")
        for _ in range(order["rounds"]):
            answer = asked.run(epsilon="0.001", fresh=True)
            reply(answer.receipt, encoded(answer))


# ---- the parent


def killed(order: dict[str, Any]) -> dict[str, Any]:
    """Run a child to its end, and give back what it had handed out."""
    read, write = os.pipe()
    number = os.fork()
    if number == 0:
        _be_child(order, read, write)
    os.close(write)
    lines = _told_until_dead(read, number, order.get("after")).split(b"\n")[:-1]
    _, status = os.waitpid(number, 0)
    events = [json.loads(line) for line in lines]
    died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"killed": died, "code": None if died else os.waitstatus_to_exitcode(status), "events": events}


def _told_until_dead(pipe: int, number: int, after: float | None) -> bytes:
    """What a child writes; it is killed some seconds after it began."""
    told, deadline = os.read(pipe, 65536), None if after is None else time.monotonic() + after
    while True:
        wait = None if deadline is None else max(0, deadline - time.monotonic())
        if not select.select([pipe], [], [], wait)[0]:
            os.kill(number, signal.SIGKILL)
            deadline = None
            continue
        chunk = os.read(pipe, 65536)
        if not chunk:
            os.close(pipe)
            return told
        told += chunk


def _be_child(order: dict[str, Any], read: int, write: int) -> None:
    os.close(read)
    code = 1
    try:
        # One write a line: what was handed out before the kill is in the pipe, whole or not at all.
        child(order, lambda *event: os.write(write, (json.dumps(event) + "\n").encode()))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(killed(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
