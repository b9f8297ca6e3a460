"""Many clients of one cap: `python -m faults.racing '{...}'` forks processes, each with many threads that charge.

All begin at once. Each process writes down what its clients were told; the parent only waits.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from dalenius.errors import BudgetExceeded
from dalenius.ledger.accounts import Account, AccountCharge
from dalenius.ledger.ledger import Ledger
from faults.planted import looking_first
from faults.witness import ANALYSTS, opened, units

SHARED_KEYS = 40


class Client:
    """One of many who charge; `told` is what it was told, in order."""

    def __init__(self, ledger: Ledger, number: int, order: dict[str, Any]) -> None:
        self._ledger, self._number, self._order = ledger, number, order
        self._chance = Random(f"{order['seed']} {number}")
        self.told: list[tuple[str, int, str | None]] = []
        self.refused = 0

    def attempt_all(self) -> None:
        """Charges of many sizes; some repeat what another client, often of another process, asks for as well."""
        for _ in range(self._order["attempts"]):
            shared = self._chance.random() < 0.1
            key = f"shared {self._chance.randrange(SHARED_KEYS)}" if shared else None
            payer = ANALYSTS[0] if shared else self._chance.choice(ANALYSTS)
            self._attempt(payer, 7 if shared else self._chance.randint(1, self._order["largest"]), key)

    def exhaust(self) -> None:
        """Take single units until no account gives one."""
        for payer in ANALYSTS:
            while self._attempt(payer, 1, None):
                pass

    def _attempt(self, payer: Account, size: int, key: str | None) -> bool:
        who = payer.path[-1] if key else f"client {self._number}"
        try:
            receipt = self._ledger.reserve(
                [AccountCharge(payer, units(size))], question="q", who=who, request="r", key=key
            )
        except BudgetExceeded:
            self.refused += 1
            return False
        self.told.append((receipt.id, size, key))
        return True


def process(order: dict[str, Any], number: int, ready: int, start: int) -> None:
    place, threads = Path(order["place"]), order["threads"]
    ledger = opened(place / "ledger.sqlite", place / "mark.sqlite")
    if order["planted"]:
        ledger = looking_first(ledger)
    clients = [Client(ledger, number * threads + thread, order) for thread in range(threads)]
    together = threading.Barrier(threads)

    def run(client: Client) -> None:
        together.wait()
        client.attempt_all()
        client.exhaust()

    os.write(ready, b".")
    os.read(start, 1)  # nothing comes: it ends when the parent lets all of them go
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, clients))
    ledger.close()
    told = [note for client in clients for note in client.told]
    (place / f"told {number}.json").write_text(json.dumps({"told": told, "refused": sum(c.refused for c in clients)}))


def main() -> None:
    order = json.loads(sys.argv[1])
    (ready, told), (start, gate) = os.pipe(), os.pipe()
    children = []
    for number in range(order["processes"]):
        child = os.fork()
        if child == 0:
            os.close(gate)
            _be_child(order, number, told, start)
        children.append(child)
    os.close(told)
    while os.read(ready, 1):  # until the last is ready, or dead
        order["processes"] -= 1
        if not order["processes"]:
            break
    os.close(gate)
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    sys.exit(bool(failed))


def _be_child(order: dict[str, Any], number: int, ready: int, start: int) -> None:
    code = 1
    try:
        process(order, number, ready, start)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
