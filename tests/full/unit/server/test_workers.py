"""The pool: tasks are done in turn, whoever takes too long is killed and replaced, and no principal holds all workers.

The workers here are small scripts that speak the same lines.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dalenius.errors import DaleniusError, LedgerRefused
from dalenius.server.faults import Faulted
from dalenius.server.workers.pool import Apart, Pool
from dalenius.server.workers.workers import Done, Task, WorkerGone

SCRIPT = """
import json, os, sys, time
def say(**facts): print(json.dumps(facts), flush=True)
say(ready=True)
for line in sys.stdin:
    task = json.loads(line)
    what, given, number = task["what"], task["given"], task["number"]
    if what == "early": os._exit(1)
    say(number=number, begun=True)
    if what == "wait": time.sleep(given["seconds"])
    if what == "die": os._exit(1)
    if what == "child":
        child = os.fork()
        if not child: time.sleep(60)
        open(given["path"], "w").write(str(child)); time.sleep(60)
    if what == "babble": print("x" * 100, flush=True)
    elif what == "list": print([number], flush=True)
    elif what == "endless": sys.stdout.write("x" * 2**25); sys.stdout.flush()
    elif what == "earlier": say(number=number - 1, length=0)
    elif what == "unnumbered": say(length=0)
    elif what == "unmeasured": say(number=number)
    elif what == "negative": say(number=number, length=-1)
    elif what == "half": sys.stdout.write(json.dumps({"number": number, "length": 9}) + chr(10) + "1234"); os._exit(1)
    elif what == "coded": say(number=number, error={"code": "new", "type": "x", "message": "m"})
    elif what == "bare": say(number=number, error={})
    elif what == "twice": say(number=number, length=0); say(number=number, length=0)
    elif what == "ledger": say(number=number, error={"code": "ledger_stopped", "type": "x", "message": "m"})
    elif what == "fail": say(number=number, error={"code": "invalid", "type": "InvalidParameter", "message": "m"})
    else:
        body = given.get("body", json.dumps({"who": task["who"]}))
        say(number=number, percent=5.0)
        say(number=number, pid=os.getpid(), length=len(body))
        sys.stdout.write(body); sys.stdout.flush()
"""
NONSENSE = ["babble", "list", "endless", "earlier", "unnumbered", "unmeasured", "negative", "half", "coded", "bare"]
REFUSING = "import json; print(json.dumps({'refused': 'it is old', 'type': 'LedgerRefused', 'instead': 'Reconcile.'}))"
MISSING = "import json; print(json.dumps({'refused': 'no such folder', 'type': 'InvalidParameter'}))"


def pool(size: int = 2, *, script: str = SCRIPT, waiting: int = 100, kept: bool = True, **options: Any) -> Pool:
    return Pool([sys.executable, "-S", "-c", script], size, waiting=waiting, kept=kept, **options)


def task(what: str = "echo", *, seconds: float = 10, charging: bool = True, **given: Any) -> Task:
    return Task(what, "ana", "analyst", given, seconds, charging)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def with_pool(used: Pool | Apart, work: Any) -> Any:
    await used.start()
    try:
        return await work(used)
    finally:
        await used.close()


async def code(used: Pool | Apart, wanted: Task, principal: str = "ana") -> str:
    try:
        await used.do(wanted, principal=principal)
    except Faulted as faulted:
        return faulted.fault.code
    return "done"


def test_a_task_is_done_and_told_of() -> None:
    told: list[float] = []

    async def work(used: Pool) -> Done:
        return await used.do(Task("echo", "ana", "owner", {}, 10, False, told.append), principal="ana")

    done = run(with_pool(pool(), work))
    assert done.body == b'{"who": "ana"}'
    assert told == [5.0]


@pytest.mark.parametrize("body", ["", "\n", 'a\nb\n{"number": 1, "length": 0}\n', "x" * 20_000_000], ids=range(4))
def test_a_body_may_hold_whatever_it_likes_and_the_next_reply_is_the_next_ones(body: str) -> None:
    async def work(used: Pool) -> tuple[bytes, bytes, int]:
        first = await used.do(task(body=body), principal="ana")
        return first.body, (await used.do(task(), principal="bob")).body, used.killed

    assert run(with_pool(pool(1), work)) == (body.encode(), b'{"who": "ana"}', 0)


def test_a_reply_to_another_task_is_given_to_nobody() -> None:
    async def work(used: Pool) -> tuple[str, str, int]:
        await used.do(task("twice"), principal="ana")
        second = await code(used, task(), principal="bob")
        return second, await code(used, task(), principal="bob"), used.killed

    assert run(with_pool(pool(1), work)) == ("stopped", "done", 1)


@pytest.mark.parametrize(
    ("what", "charging", "expected"),
    [
        ("wait", True, "stopped"),
        ("wait", False, "too_long"),
        ("die", True, "stopped"),
        ("die", False, "internal"),
        ("early", True, "busy"),
        ("early", False, "busy"),
        *[(nonsense, True, "stopped") for nonsense in NONSENSE],
        ("fail", True, "invalid"),
        ("ledger", True, "ledger_stopped"),
    ],
)
def test_what_fails_or_takes_too_long_gives_one_canned_reply_and_a_fresh_worker(
    what: str, charging: bool, expected: str
) -> None:
    async def work(used: Pool) -> tuple[str, str, int]:
        first = await code(used, Task(what, "ana", "analyst", {"seconds": 30}, 0.5, charging))
        return first, await code(used, task()), used.killed

    start = time.monotonic()
    assert run(with_pool(pool(1), work)) == (expected, "done", {"fail": 0, "early": 2}.get(what, 1))
    assert time.monotonic() - start < 10


def test_a_killed_worker_leaves_no_process_behind(tmp_path: Any) -> None:
    path = tmp_path / "child"

    async def work(used: Pool) -> str:
        return await code(used, Task("child", "ana", "analyst", {"path": str(path)}, 0.5, True))

    assert run(with_pool(pool(1), work)) == "stopped"
    child = int(path.read_text())
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.02)
    raise AssertionError("the worker's child is still there")


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_one_asker_never_holds_all_workers() -> None:
    async def work(used: Pool) -> float:
        slow = [asyncio.ensure_future(code(used, Task("wait", "ana", "analyst", {"seconds": 3}, 9, True)))
                for _ in range(5)]  # fmt: skip
        await asyncio.sleep(0.05)
        start = time.monotonic()
        assert await code(used, task(), principal="bob") == "done"
        waited = time.monotonic() - start
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return waited

    assert run(with_pool(pool(3), work)) < 2


async def asked_under_siege(used: Pool | Apart, wanted: Task) -> float:
    """How long a task waits while two principals have as many slow questions as they like."""
    principals = ["ana", "bob"] * 4
    slow = [asyncio.ensure_future(code(used, Task("wait", principal, "analyst", {"seconds": 3}, 9, True), principal))
            for principal in principals]  # fmt: skip
    await asyncio.sleep(0.05)
    start = time.monotonic()
    assert await code(used, wanted, principal="owner") == "done"
    waited = time.monotonic() - start
    for each in slow:
        each.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    return waited


@pytest.mark.parametrize("charging", [False, True])
def test_what_is_not_charged_waits_for_no_worker_that_reads_rows(charging: bool) -> None:
    """What is charged waits: that is what this test would notice."""
    wanted = Task("echo", "carl", "analyst", {}, 5, charging)
    waited = run(with_pool(Apart(pool(2), pool(1)), lambda used: asked_under_siege(used, wanted)))
    assert (waited > 2) == charging


def test_what_the_owner_decides_comes_first_and_is_never_one_too_many() -> None:
    def decided(urgent: bool) -> float:
        wanted = Task("echo", "owner", "owner", {}, 5, False, urgent=urgent)
        return float(run(with_pool(pool(1, waiting=7), lambda used: asked_under_siege(used, wanted))))

    assert decided(True) < 6  # one of eight has to end
    with pytest.raises(AssertionError, match="busy"):
        decided(False)


def test_whoever_loses_a_worker_is_told_to_the_owner_and_nobody_else_is() -> None:
    told: list[tuple[str, str, str]] = []

    async def work(used: Pool) -> None:
        for what in ("wait", "die", "fail", "echo"):
            await code(used, Task(what, "ana", "analyst", {"seconds": 30}, 0.3, True))

    run(with_pool(pool(1, report=lambda task, reason: told.append((task.what, task.who, reason))), work))
    assert [each[:2] for each in told] == [("wait", "ana"), ("die", "ana")]
    assert "longer than its 0.3 seconds" in told[0][2]


def test_askers_take_turns() -> None:
    order: list[str] = []

    async def one(used: Pool, principal: str) -> None:
        await used.do(Task("wait", principal, "analyst", {"seconds": 0.02}, 5, True), principal=principal)
        order.append(principal)

    async def work(used: Pool) -> None:
        await asyncio.gather(*(one(used, principal) for principal in ["ana"] * 6 + ["bob"] * 2))

    run(with_pool(pool(1), work))
    assert set(order[:4]) == {"ana", "bob"}
    assert order.index("bob") <= 2


def test_when_too_many_wait_the_next_is_told_so() -> None:
    async def work(used: Pool) -> list[str]:
        slow = [asyncio.ensure_future(code(used, Task("wait", "ana", "analyst", {"seconds": 0.2}, 5, True)))
                for _ in range(4)]  # fmt: skip
        await asyncio.sleep(0)
        refused = await code(used, task(), principal="bob")
        return [refused, *await asyncio.gather(*slow)]

    assert run(with_pool(pool(1, waiting=3), work)) == ["busy", "done", "done", "done", "done"]


def test_nobody_waits_for_ever() -> None:
    async def work(used: Pool) -> str:
        slow = asyncio.ensure_future(code(used, Task("wait", "ana", "analyst", {"seconds": 30}, 60, True)))
        await asyncio.sleep(0)
        found = await code(used, task(), principal="bob")
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        return found

    used = Pool([sys.executable, "-S", "-c", SCRIPT], 1, waiting=9, patience=0.2)
    assert run(with_pool(used, work)) == "busy"


def test_when_no_worker_can_start_any_more_that_is_said_and_tried_again_only_after_a_while() -> None:
    async def work(used: Pool) -> list[str]:
        used._command = (sys.executable, "-S", "-c", REFUSING)
        first = await code(used, task("die"))
        second = await code(used, task())
        used._command = (sys.executable, "-S", "-c", "")  # which would start, and then be gone
        return [first, second, await code(used, task())]

    assert run(with_pool(pool(1), work)) == ["stopped", "ledger_refused", "ledger_refused"]


def test_a_cancelled_task_kills_its_worker_and_frees_the_place() -> None:
    async def work(used: Pool) -> tuple[str, int]:
        slow = asyncio.ensure_future(
            used.do(Task("wait", "ana", "analyst", {"seconds": 30}, 60, True), principal="ana")
        )
        await asyncio.sleep(0.1)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        return await code(used, task()), used.killed

    assert run(with_pool(pool(1), work)) == ("done", 1)


@pytest.mark.parametrize(
    ("script", "error"), [(REFUSING, LedgerRefused), (MISSING, DaleniusError), ("1 / 0", WorkerGone)]
)
def test_a_pool_whose_workers_may_not_start_does_not_start(script: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        run(pool(script=script).start())


def test_workers_that_are_not_kept_serve_one_task_each() -> None:
    async def work() -> tuple[set[int], int]:
        used = pool(2, kept=False)
        found = {(await used.do(task(), principal="ana")).facts["pid"] for _ in range(2)}
        await used.close()
        return found, used.alive

    found, left = run(work())
    assert len(found) == 2
    assert left == 0
    assert os.getpid() not in found


def test_a_pool_that_closes_takes_nothing_new() -> None:
    async def work(used: Pool) -> str:
        await used.close()
        return await code(used, task())

    assert run(with_pool(pool(1), work)) == "busy"


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("charging", [True, False])
def test_a_question_is_not_lost_with_workers_that_ended_before_it_came(charging: bool, known: bool) -> None:
    async def work(used: Pool) -> list[str]:
        for worker in used._idle:
            os.kill(worker._process.pid, signal.SIGKILL)
        if known:
            await asyncio.gather(*(worker._process.wait() for worker in used._idle))
        return [await code(used, task(charging=charging)) for _ in range(3)]

    assert run(with_pool(pool(2), work)) == ["done"] * 3


def test_while_workers_do_not_start_questions_are_told_to_come_again() -> None:
    """Nothing was charged, and it passes: no error of the server."""

    async def work(used: Pool) -> list[str]:
        used._command = (sys.executable, "-S", "-c", "")
        first = await code(used, task("die"))
        return [first, await code(used, task()), await code(used, task())]

    assert run(with_pool(pool(1), work)) == ["stopped", "busy", "busy"]


def test_workers_that_read_rows_give_way_to_others() -> None:
    async def work(used: Pool) -> int:
        pid = (await used.do(task(), principal="ana")).facts["pid"]
        return os.getpriority(os.PRIO_PROCESS, pid) - os.getpriority(os.PRIO_PROCESS, 0)

    assert [run(with_pool(pool(1, nice=nice), work)) for nice in (0, 5)] == [0, 5]


FRONT = """
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, start_new_session=True)
print(worker.pid, flush=True)
time.sleep(60)
"""
BUSY = """
import json, re
from dalenius.server.workers import worker
def opened(folder):
    print("at work", file=__import__("sys").stderr, flush=True)
    re.match("(a+)+$", "a" * 40 + "b")  # years, in which no other thread of this process has its turn
worker.opened = opened
worker.main(".", json.dumps({"memory": None, "cpu_seconds": None}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no signal tells of a parent's end")
def test_a_worker_ends_with_its_front_whatever_it_is_doing() -> None:
    front = subprocess.Popen(
        [sys.executable, "-c", FRONT, BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert front.stdout is not None
    assert front.stderr is not None
    worker = int(front.stdout.readline())
    try:
        assert front.stderr.readline() == "at work\n"
        front.kill()
        front.wait()
        end = time.monotonic() + 10
        while Path(f"/proc/{worker}").exists() and "Z" not in Path(f"/proc/{worker}/stat").read_text().split():
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        front.stdout.close()
        front.stderr.close()
