"""A session over HTTP does what a session in one process does: the same prices, answers, errors and charges."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import httpx
import pytest

import dalenius as dl
from dalenius.errors import DaleniusError, ServerUnreachable, WorkStopped
from dalenius.server.client.connecting import RemoteAnalyst
from dalenius.session.progress import Progress
from dalenius.session.sessions import Analyst
from http_pairs import QUESTIONS, database_of
from http_server import Server
from poisons import rows_of, table_of


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(database_of(table_of(rows_of(5)))) as found:
        yield found


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    return server.token("ana")


@pytest.fixture(scope="module")
def here(server: Server) -> Analyst:
    return server.database.as_analyst("ana")


@pytest.fixture
def there(server: Server, token: str) -> Iterator[RemoteAnalyst]:
    with server.session(token, sleep=lambda seconds: None) as session:
        yield session


Both = Callable[[Any], Any]

PUBLIC: list[Both] = [
    lambda me: me.tables(),
    lambda me: me.columns("VISITS"),
    lambda me: me.left(),
    lambda me: me.spent(),
    lambda me: me.replays(),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=0.1),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon="49.9"),
    lambda me: me.sql(QUESTIONS[0]).cost(share="1%").affordable,
    lambda me: me.sql(QUESTIONS[1], max_rows=1, max_groups=1).cost(epsilon="1/3", weights={"n": 2}).shares,
    lambda me: me.sql(QUESTIONS[0]).cost(error="± 50 at 90%").amounts,
    lambda me: me.sql(QUESTIONS[1]).cost(error={"n": 50}).epsilons,
    lambda me: me.sql(QUESTIONS[1]).expected_error(epsilon="0.2"),
    lambda me: me.sql(QUESTIONS[1]).expected_error(epsilon="0.2")["a"].at(1000),
    lambda me: me.sql(QUESTIONS[0]).expected_error(epsilon="0.2", level="90%")["n"].fixed,
    lambda me: str(me.sql(QUESTIONS[5]).expected_error(share="5%", size=100)),
    lambda me: str(me.sql(QUESTIONS[5]).expected_error(share="5%")["m"].fixed),
    lambda me: repr(me.sql("select  count( * ) as n\nfrom VISITS where age > 3")),
    lambda me: repr(me.sql(f"SELECT city, COUNT(*) AS {'n' * 60} FROM visits GROUP BY city ORDER BY city")),
    lambda me: repr(me.table("visits").where(dl.col("age") > 3).agg(n=dl.count()).asked()),
    lambda me: me.sql(QUESTIONS[1]).explain(),
    lambda me: me.sql(QUESTIONS[1]).explain(epsilon=1),
    lambda me: me.sql(QUESTIONS[1]).rehearse().names,
    lambda me: me.table("Visits").where(dl.col("age") > 3).group_by("city").agg(n=dl.count()).explain(epsilon="0.1"),
    lambda me: me.table("visits").contributing(max_rows=1, max_groups=1).agg(n=dl.count()).cost(epsilon=1).shares,
]


@pytest.mark.parametrize("call", PUBLIC, ids=range(len(PUBLIC)))
def test_what_is_public_is_the_same(call: Both, here: Analyst, there: RemoteAnalyst) -> None:
    ours, theirs = call(here), call(there)
    assert type(theirs) is type(ours)
    assert str(theirs) == str(ours)
    if not hasattr(ours, "loss"):
        assert theirs == ours


WRONG: list[Both] = [
    lambda me: me.sql("SELEKT"),
    lambda me: me.sql("SELECT * FROM visits"),
    lambda me: me.sql("SELECT nothing FROM visits"),
    lambda me: me.sql("SELECT COUNT(*) FROM vsits"),
    lambda me: me.sql("SELECT icd, COUNT(*) FROM visits GROUP BY patient_id"),
    lambda me: me.sql(3),
    lambda me: me.sql(QUESTIONS[0], max_groups=3),
    lambda me: me.table("vsits"),
    lambda me: me.columns("vsits"),
    lambda me: me.table("visits").agg(n=dl.mean("icd")).cost(epsilon=1),
    lambda me: me.sql(QUESTIONS[0]).cost(),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=1, share="1%"),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=-1),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=0),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon="lots"),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=float("nan")),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=51),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=Fraction(101, 2)),
    lambda me: me.sql(QUESTIONS[0]).cost(share="101%"),
    lambda me: me.sql(QUESTIONS[0]).cost(error="± lots"),
    lambda me: me.sql(QUESTIONS[0]).cost(error={"m": 3}),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=1, level=2),
    lambda me: me.sql(QUESTIONS[0]).cost(epsilon=1, weights={"x": 1}),
    lambda me: me.sql(QUESTIONS[0]).expected_error(epsilon=1, size=0),
    lambda me: me.sql(QUESTIONS[0]).run(epsilon=1, digits=-1),
    lambda me: me.sql(QUESTIONS[0]).run(share="99%"),
    lambda me: me.sql(QUESTIONS[0]).run(),
    lambda me: me.replay("0123456789abcdef"),
    lambda me: me.card("no such receipt"),
    lambda me: me.card("0" * 32),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_errors_have_the_same_class_and_text(call: Both, here: Analyst, there: RemoteAnalyst) -> None:
    with pytest.raises(DaleniusError) as ours:
        call(here)
    with pytest.raises(DaleniusError) as theirs:
        call(there)
    assert type(theirs.value) is type(ours.value)
    assert str(theirs.value) == str(ours.value)


def test_an_answer_is_the_one_that_the_ledger_stores(here: Analyst, there: RemoteAnalyst) -> None:
    before = here.spent()["patients"].amount
    answer = there.sql(QUESTIONS[1]).run(epsilon="0.3", digits=1)
    again = here.sql(QUESTIONS[1]).run(epsilon="0.3", digits=1)
    assert answer == again
    assert str(answer.to_arrow()) == str(again.to_arrow())
    assert (answer.replayed, again.replayed) == (False, True)
    assert there.sql(QUESTIONS[1]).run(epsilon="0.3", digits=1).replayed
    assert here.spent()["patients"].amount - before == here.sql(QUESTIONS[1]).cost(epsilon="0.3").amounts["patients"]
    assert there.replay(answer.receipt) == here.replay(answer.receipt)
    assert there.card(answer.receipt) == here.card(answer.receipt)
    assert there.replays() == here.replays()
    assert there.sql(QUESTIONS[1]).run(epsilon="0.3", digits=1, fresh=True).receipt != answer.receipt


def test_the_registry_is_the_same(here: Analyst, there: RemoteAnalyst) -> None:
    ours, theirs = json.loads(here.registry().to_json()), json.loads(there.registry().to_json())
    assert theirs["populations"] == ours["populations"]
    assert str(there.registry()["patients"].spent) == str(here.registry()["patients"].spent)


def test_a_frame_asks_what_it_asks_in_one_process(here: Analyst, there: RemoteAnalyst) -> None:
    def asked(me: Any) -> Any:
        long = me.table("visits").where(dl.col("day") >= dt.date(2024, 5, 1), ~(dl.col("icd") == "it's"))
        return long.group_by(decade=dl.col("age").bin(20)).agg(n=dl.count(), m=dl.mean("cost")).run(epsilon="0.2")

    assert asked(there) == asked(here)


def test_long_work_is_a_job_with_progress(here: Analyst, there: RemoteAnalyst) -> None:
    told: list[Progress] = []
    answer = there.sql(QUESTIONS[6]).run(epsilon="0.4", progress=told.append)
    assert answer == here.sql(QUESTIONS[6]).run(epsilon="0.4")
    assert all(each.percent is None for each in told)


def test_a_job_that_is_refused_raises_what_a_run_raises(there: RemoteAnalyst) -> None:
    for offer in ({"share": "99%"}, {"epsilon": "-1"}):
        with pytest.raises(DaleniusError) as ours:
            there.sql(QUESTIONS[0]).run(**offer)
        with pytest.raises(DaleniusError) as theirs:
            there.sql(QUESTIONS[0]).run(**offer, progress=print)
        assert (type(theirs.value), str(theirs.value)) == (type(ours.value), str(ours.value))


def test_an_interrupt_stops_the_job(there: RemoteAnalyst, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    honest = there._wire.delete
    monkeypatch.setattr(there._wire, "delete", lambda path: seen.append(path) or honest(path))

    def interrupted(path: str) -> Any:
        raise KeyboardInterrupt

    asked = there.sql(QUESTIONS[6])
    with monkeypatch.context() as patch:
        patch.setattr(there._wire, "get", interrupted)
        with pytest.raises(KeyboardInterrupt, match="stays charged"):
            asked.run(epsilon="0.41", progress=print)
    assert len(seen) == 1
    there.left()  # worked on after what is left of the job


# ---- replies that are lost


class Losing(httpx.BaseTransport):
    """Loses replies after the server has answered: `lost` says which."""

    def __init__(self, server: Server, lost: Callable[[int], bool], path: str = "/v1/run") -> None:
        self._inner, self._lost, self._path, self.count, self.bodies = server.transport(), lost, path, 0, []

    bodies: list[bytes]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._inner.handle_request(request)
        if request.url.path != self._path:
            return reply
        self.count += 1
        self.bodies.append(reply.content)
        if self._lost(self.count):
            raise httpx.ReadError("the reply was lost")
        return reply


def charges(server: Server) -> int:
    return sum(entry.kind == "charge" for entry in server.database._curator.ledger.entries())


def lose(server: Server, token: str, drops: int) -> tuple[int, int, int]:
    """How many charges and how many answers there are for runs of which every first reply is lost, and the requests."""
    line, before = Losing(server, lambda number: number % 2 == 1), charges(server)
    with server.session(token, transport=line, sleep=lambda seconds: None) as session:
        asked = session.sql(QUESTIONS[0])
        found = [asked.run(epsilon="0.01", fresh=True) for _ in range(drops)]
    stored = {json.dumps(json.loads(body)["answer"], sort_keys=True) for body in line.bodies}
    assert len(stored) == len({answer.receipt for answer in found}) == drops
    return charges(server) - before, len(stored), line.count


def test_a_lost_reply_is_charged_once_and_comes_again_to_the_byte(server: Server, token: str) -> None:
    assert lose(server, token, 20) == (20, 20, 40)


def test_one_run_that_is_lost_again_and_again_is_charged_once(server: Server, token: str) -> None:
    line, before = Losing(server, lambda number: number < 6), charges(server)
    with server.session(token, transport=line, sleep=lambda seconds: None) as session:
        session.sql(QUESTIONS[0]).run(epsilon="0.02", fresh=True)
    assert (charges(server) - before, line.count, len(set(line.bodies[1:]))) == (1, 6, 1)


def test_a_job_whose_start_was_lost_is_started_once(server: Server, token: str) -> None:
    line, before = Losing(server, lambda number: number < 4, "/v1/jobs"), charges(server)
    with server.session(token, transport=line, sleep=lambda seconds: None) as session:
        assert session.sql(QUESTIONS[0]).run(epsilon="0.021", progress=lambda progress: None).receipt
    jobs = {json.loads(body)["job"] for body in line.bodies}
    assert (charges(server) - before, line.count, len(jobs)) == (1, 4, 1)


def test_a_client_without_keys_would_be_charged_twice(server: Server, token: str) -> None:
    before = charges(server)
    with server.client(token) as client:
        for _ in range(2):
            client.post("/v1/run", json={"sql": QUESTIONS[0], "epsilon": "0.03", "fresh": True})
    assert charges(server) - before == 2


def test_a_run_whose_replies_are_all_lost_can_be_fetched_by_its_key(server: Server, token: str) -> None:
    line, before = Losing(server, lambda number: number <= 7), charges(server)
    with server.session(token, transport=line, sleep=lambda seconds: None) as session:
        asked = session.sql(QUESTIONS[0])
        with pytest.raises(ServerUnreachable, match="key='mine'"):
            asked.run(epsilon="0.04", key="mine", fresh=True)
        answer = asked.run(epsilon="0.04", key="mine", fresh=True)
    assert answer.receipt
    assert charges(server) - before == 1


def test_after_a_lost_reply_work_that_is_under_way_is_waited_for(
    server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, pauses = server.workers._desk._tasks, list[float]()
    honest = tasks["run"]

    def run(principal: Any, given: Any) -> Any:
        if len(pauses) in (1, 2):
            raise WorkStopped
        return honest(principal, given)

    monkeypatch.setitem(tasks, "run", run)
    line = Losing(server, lambda number: number == 1)
    with server.session(token, transport=line, sleep=pauses.append) as session:
        assert session.sql(QUESTIONS[0]).run(epsilon="0.05", fresh=True).receipt
    assert len(pauses) == 3


def test_work_that_was_stopped_is_not_asked_for_again(
    server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(principal: Any, given: Any) -> Any:
        raise WorkStopped

    monkeypatch.setitem(server.workers._desk._tasks, "run", run)
    line = Losing(server, lambda number: False)
    with server.session(token, transport=line) as session, pytest.raises(WorkStopped, match="stays charged"):
        session.sql(QUESTIONS[0]).run(epsilon="0.06")
    assert line.count == 1
