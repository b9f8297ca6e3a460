"""The application: nobody may do what the table of routes does not allow, and every reply has its one form."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import httpx
import pyarrow as pa
import pytest

from clinics import clinic
from costs import cases
from dalenius.ledger.tokens import ROLES
from dalenius.server.faults import STATUSES
from dalenius.server.limits import Limits
from dalenius.server.routes import ARROW, ROUTES, Route, document, permitted
from dalenius.server.schedule import LENGTHS
from dalenius.server.schemas import require
from dalenius.server.workers.workers import Task
from dalenius.session.answers.encoding import decoded
from servers import COUNT, Served

HOLDERS = {"owner": "owner", "auditor": "eve", "analyst": "ana"}
BODIES = {
    "grant": {"analyst": "carl", "tables": ["visits"], "share": "1%"},
    "token": {"who": "carl"},
    "study": {"name": "study", "population": "patients", "share": "1%"},
}
_EVERYBODY, _HOLDERS, _ASKERS = (None, *ROLES), ROLES, ("analyst", "owner")
_ASKING = (
    "price",
    "expected_error",
    "explain",
    "rehearse",
    "run",
    "start_job",
    "job",
    "stop_job",
    "replays",
    "replay",
    "card",
)
ALLOWED = {
    **dict.fromkeys(("health", "openapi", "registry", "registry_csv", "registry_html"), _EVERYBODY),
    **dict.fromkeys(("catalog", "balance", "receipts", "receipt"), _HOLDERS),
    **dict.fromkeys(_ASKING, _ASKERS),
    **dict.fromkeys(("ledger", "metrics"), ("auditor", "owner")),
    **dict.fromkeys(("grant", "revoke_grant", "token", "revoke_tokens", "study"), ("owner",)),
}
"""Who may do what, written down once more by hand."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    db = clinic()
    db.grant("ana", tables=["visits"], share="50%")
    db.grant("bob", tables=["visits"], share="10%")
    with db, Served(db) as server:
        yield server


@pytest.fixture(scope="module")
def clients(served: Served) -> dict[str | None, httpx.Client]:
    return {None: served.client(), **{role: served.of(who, role) for role, who in HOLDERS.items()}}


def sent(client: httpx.Client, route: Route, **options: Any) -> httpx.Response:
    """A request that the route would take from somebody who may."""
    path = re.sub(r"{\w+}", "0" * 32, route.path)
    body = BODIES.get(route.name, COUNT) if route.body is not None else None
    return client.request(route.method, path, **({"json": body} if body else {}), **options)


def code(reply: httpx.Response) -> str:
    return str(reply.json()["error"]["code"])


# ---- who may do what


@pytest.mark.parametrize("role", [None, *ROLES])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_lets_in_the_roles_of_the_table_and_no_others(
    clients: dict[str | None, httpx.Client], route: Route, role: str | None
) -> None:
    status = sent(clients[role], route).status_code
    if role in ALLOWED[route.name]:
        assert status in (200, 202, 404, 422)
    else:
        assert status == (401 if role is None else 403)


@pytest.mark.parametrize("role", [None, *ROLES])
def test_a_request_with_two_ends_is_refused_whoever_sends_it(
    clients: dict[str | None, httpx.Client], role: str | None
) -> None:
    for headers, refused in (({"Transfer-Encoding": "chunked", "Content-Length": "60"}, True), ({}, False)):
        reply = clients[role].post("/v1/run", json=COUNT, headers=headers)
        assert (reply.headers.get("connection") == "close") is refused
        assert (reply.status_code == 400) is refused


NUMBERS = ("1e-4300", "1e4300", "1e-4200", "1e-400", "1e400", "1/" + "9" * 190, "0." + "0" * 190 + "1", "1e-9999999")


@cases("path", ["price", "expected-error", "explain", "rehearse", "run"], fast=1)
@pytest.mark.parametrize("field", ["epsilon", "share", "error", "level", "weights"])
def test_no_number_however_long_is_an_error_of_the_server(served: Served, path: str, field: str) -> None:
    """Python prints no integer of more than 4300 digits."""
    for number in NUMBERS:
        body: dict[str, Any] = {"sql": COUNT["sql"], field: {"n": number} if field == "weights" else number}
        offer = {} if field in ("epsilon", "share", "error") else {"epsilon": "0.0001"}
        reply = served.of("ana").post(f"/v1/{path}", json={**body, **offer})
        assert reply.status_code in (200, 400, 402, 422), (number, reply.text)


def test_the_table_says_what_was_decided_and_nobody_may_by_default() -> None:
    assert {route.name for route in ROUTES} == ALLOWED.keys()
    for route in ROUTES:
        assert {role for role in (None, *ROLES) if permitted(route, role)} == set(ALLOWED[route.name])
    closed = Route("new", "GET", "/v1/new", (), "", None)
    assert not any(permitted(closed, role) for role in (None, *ROLES))


def test_the_application_has_the_routes_of_the_table_and_no_others(served: Served) -> None:
    app = served.app._app._app  # type: ignore[attr-defined]
    found = {(method, route.path) for route in app.routes if hasattr(route, "methods") for method in route.methods}
    mounted = [route for route in app.routes if not hasattr(route, "methods")]
    found |= {(method, "/admin/v1" + each.path) for part in mounted for each in part.routes for method in each.methods}
    assert found == {(route.method, route.path) for route in ROUTES}


@pytest.mark.parametrize(("role", "owners"), [("owner", True), ("auditor", False), ("analyst", False)])
def test_nobody_but_the_owner_has_the_owners_session(served: Served, role: str, owners: bool) -> None:
    session = served.workers._desk._session("eve", role)
    for decision in ("grant", "revoke", "token", "add_table", "add_population"):
        assert hasattr(session, decision) == owners


def test_the_auditor_gets_no_answer_to_a_question_even_past_the_routes(served: Served) -> None:
    for what in ("run", "price", "explain", "rehearse", "expected_error"):
        with pytest.raises(Exception, match="access_denied"):
            served.workers._desk.do(what, "eve", "auditor", COUNT)
    for role in ("auditor", "analyst"):
        with pytest.raises(Exception, match="access_denied"):
            served.workers._desk.do("token", "eve", role, {"who": "eve", "role": "owner"})


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer dal_", "Bearer dal_" + "A" * 43, "Basic dal_x", "dal_x", "Bearer " + "x" * 9000],
)
def test_whatever_is_wrong_with_a_token_the_reply_is_the_same(served: Served, header: str) -> None:
    revoked, spoilt = served.token("yan"), served.token("ana")[:-1] + "?"
    served.database.revoke_tokens("yan")
    tried = [served.client().get("/v1/catalog", headers={"Authorization": header} if header else {})]
    tried += [served.client(token).get("/v1/catalog") for token in (revoked, spoilt)]
    assert len({(reply.status_code, reply.content, tuple(reply.headers.items())) for reply in tried}) == 1
    assert tried[0].status_code == 401


def test_a_revoked_token_ends_with_the_next_request(served: Served) -> None:
    client = served.of("zoe")
    assert client.get("/v1/catalog").status_code == 200
    served.of("owner", "owner").delete("/admin/v1/tokens/zoe")
    assert code(client.get("/v1/catalog")) == "no_token"


def test_two_tokens_in_one_request_are_none(served: Served) -> None:
    token = served.token("ana")
    headers = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {token}")]
    assert served.client().get("/v1/catalog", headers=headers).status_code == 401


def test_a_token_in_the_address_is_refused(served: Served) -> None:
    token = served.token("ana")
    assert served.client().get(f"/v1/catalog?token={token}").status_code == 401
    assert code(served.client(token).get(f"/v1/catalog?token={token}")) == "malformed"


def test_receipts_of_others_do_not_exist_for_an_analyst(served: Served) -> None:
    ana, bob = served.of("ana"), served.of("bob")
    receipt = ana.post("/v1/run", json={**COUNT, "fresh": True}).json()["answer"]["receipt"]
    assert ana.get(f"/v1/receipts/{receipt}").json()["receipt"]["id"] == receipt
    assert bob.get(f"/v1/receipts/{receipt}").status_code == 404
    assert receipt not in bob.get("/v1/receipts").text
    for reader in (served.of("eve", "auditor"), served.of("owner", "owner")):
        assert reader.get(f"/v1/receipts/{receipt}").json()["answer"]["receipt"] == receipt
        assert receipt in reader.get("/v1/receipts").text


def test_admin_routes_are_there_only_where_they_are_offered(served: Served) -> None:
    owner = served.token("owner", "owner")
    here = {"Host": "127.0.0.1:8765"}
    for admin, plain, proxied in [(True, 200, 200), (None, 200, 404), (False, 404, 404)]:
        with Served(served.database, admin=admin) as other:
            client = other.client(owner)
            assert client.post("/admin/v1/tokens", json={"who": "dan"}, headers=here).status_code == plain
            for headers in ({**here, "X-Forwarded-For": "10.0.0.1"}, {"Host": "data.example"}, {"Host": ""}):
                assert client.post("/admin/v1/tokens", json={"who": "dan"}, headers=headers).status_code == proxied
            assert ("/admin/v1/tokens" in client.get("/v1/openapi.json").json()["paths"]) == (admin is not False)


def test_what_the_owner_decides_is_urgent_and_nothing_else_is(served: Served) -> None:
    tasks: list[Task] = []
    with Served(served.database) as other:
        other.workers.before = tasks.append
        owner = other.of("owner", "owner")
        for route in ROUTES:
            sent(owner, route)
    decided = {route.name for route in ROUTES if route.admin}
    assert {task.what for task in tasks if task.urgent} == decided
    assert {task.what for task in tasks} > decided


# ---- forms


def test_every_reply_fills_a_length_class_under_the_same_headers(clients: dict[str | None, httpx.Client]) -> None:
    for route in ROUTES:
        for client in clients.values():
            reply = sent(client, route)
            assert len(reply.content) in LENGTHS
            assert reply.headers["cache-control"] == "no-store"
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert not any(name.startswith("access-control") for name in reply.headers)
            assert "server" not in reply.headers


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", "not_found"),
        ("GET", "/v1", "not_found"),
        ("GET", "/v1/catalog/", "not_found"),
        ("GET", "/V1/catalog", "not_found"),
        ("GET", "/v1/../v1/none", "not_found"),
        ("GET", "/admin/v1/none", "not_found"),
        ("GET", "/v1/run", "not_allowed"),
        ("PUT", "/v1/catalog", "not_allowed"),
        ("OPTIONS", "/v1/run", "not_allowed"),
        ("TRACE", "/v1/run", "not_allowed"),
        ("GET", "/admin/v1/tokens", "not_allowed"),
    ],
)
def test_what_is_not_there_has_the_same_form(served: Served, method: str, path: str, expected: str) -> None:
    reply = served.of("ana").request(method, path)
    assert code(reply) == expected
    assert reply.status_code == STATUSES[expected]


def test_head_is_refused_like_any_other_method(served: Served) -> None:
    assert served.of("ana").head("/v1/catalog").status_code == 405


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "malformed"),
        (b"[]", "malformed"),
        (b'{"sql": "x", "sql": "y"}', "malformed"),
        (b'{"sql": "SELECT 1", "code": "import os"}', "malformed"),
        (b'{"sql": "SELECT COUNT(*) FROM visits", "epsilon": 0.1}', "malformed"),
        (b'{"sql": "' + b"x" * 200_000 + b'"}', "too_large"),
        (b'{"sql": "' + b"x" * 1_000_001 + b'"}', "too_large"),
        (b'{"sql": "SELEKT"}', "not_understood"),
        (b'{"sql": "SELECT COUNT(*) AS n FROM nothing", "epsilon": "1"}', "unknown_name"),
        (b'{"sql": "SELECT age FROM visits", "epsilon": "1"}', "refused"),
        (b'{"sql": "SELECT COUNT(*) AS n FROM visits"}', "invalid"),
        (b'{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "nan"}', "invalid"),
        (b'{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "1e999999999"}', "invalid"),
        (b'{"sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": "2.9"}', "budget_exceeded"),
    ],
    ids=range(14),
)
def test_bodies_that_cannot_be_answered_get_their_code_and_charge_nothing(
    served: Served, body: bytes, expected: str
) -> None:
    ana = served.of("ana")
    before = ana.get("/v1/balance").content
    reply = ana.post("/v1/run", content=body)
    assert (code(reply), reply.status_code) == (expected, STATUSES[expected])
    assert ana.get("/v1/balance").content == before


def test_a_body_where_none_belongs_and_unknown_parameters_are_refused(served: Served) -> None:
    ana = served.of("ana")
    assert code(ana.request("GET", "/v1/catalog", content=b"{}")) == "malformed"
    for query in ("after=-1", "after=x", "most=0", "after=1&after=2", "more=1", "after=1e3"):
        assert code(ana.get(f"/v1/receipts?{query}")) == "malformed"


def test_names_in_the_path_are_plain(served: Served) -> None:
    for name in ("a%20b", "%00", "x" * 100, "..%2f..", "%F0%9F%98%80"):
        assert served.of("ana").get(f"/v1/receipts/{name}").status_code == 404


def test_too_many_headers_are_too_large(served: Served) -> None:
    many = {f"x-{number}": "1" for number in range(100)}
    assert code(served.of("ana").get("/v1/catalog", headers=many)) == "too_large"


# ---- questions


def test_one_body_fits_every_route_of_a_question(served: Served) -> None:
    ana = served.of("ana")
    for route in ROUTES:
        if route.body is not None and not route.admin and route.reply is not None:
            reply = ana.post(route.path, json={**COUNT, "max_rows": 2, "max_groups": 1})
            require(reply.json(), route.reply)


def test_replies_have_the_shape_that_the_contract_states(clients: dict[str | None, httpx.Client]) -> None:
    for route in ROUTES:
        reply = sent(clients["owner"], route)
        if reply.status_code < 300 and route.reply is not None:
            require(reply.json(), route.reply)


def test_an_equal_question_is_replayed_byte_for_byte(served: Served) -> None:
    ana, question = served.of("ana"), {"sql": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city", "share": "1%"}
    first, second = (ana.post("/v1/run", json=question).json() for _ in range(2))
    assert first["answer"] == second["answer"]
    assert [first["replayed"], second["replayed"]] == [False, True]
    assert first["left"] == second["left"]


def test_a_retry_with_the_same_key_is_charged_once_also_while_the_first_is_under_way(served: Served) -> None:
    ana, key = served.of("ana"), {"Idempotency-Key": "attempt 1"}
    before = len(served.database.history())

    async def both() -> list[httpx.Response]:
        headers = {**key, "Authorization": ana.headers["Authorization"]}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(served.app), base_url="http://server") as client:
            sends = [client.post("/v1/run", json={**COUNT, "fresh": True}, headers=headers) for _ in range(3)]
            return list(await asyncio.gather(*sends))

    replies = [*served.run(both()), ana.post("/v1/run", json={**COUNT, "fresh": True}, headers=key)]
    assert [reply.status_code for reply in replies] == [200] * 4
    assert len({json.dumps(reply.json()["answer"]) for reply in replies}) == 1
    assert len(served.database.history()) == before + 1


def test_a_key_is_for_one_question(served: Served) -> None:
    ana, key = served.of("ana"), {"Idempotency-Key": "attempt 2"}
    assert ana.post("/v1/run", json={**COUNT, "fresh": True}, headers=key).status_code == 200
    other = {"sql": "SELECT COUNT(*) AS other FROM visits WHERE age > 5", "epsilon": "0.01"}
    assert code(ana.post("/v1/run", json=other, headers=key)) == "invalid"


def test_what_others_bought_can_be_had_again_by_whoever_may_ask(served: Served) -> None:
    ana, bob = served.of("ana"), served.of("bob")
    bought = ana.post("/v1/run", json={**COUNT, "fresh": True}).json()["answer"]
    listed = bob.get("/v1/replays").json()["replays"]
    assert bought["receipt"] in [each["receipt"] for each in listed]
    again = bob.post(f"/v1/replays/{bought['receipt']}").json()
    assert (again["answer"], again["replayed"]) == (bought, True)
    assert served.of("stranger").get("/v1/replays").json()["replays"] == []
    assert served.of("stranger").post(f"/v1/replays/{bought['receipt']}").status_code == 422


@pytest.mark.parametrize("route", ["run", "replay"])
def test_a_retry_of_a_replay_counts_once_against_the_quota(served: Served, route: str) -> None:
    """Without a key, or with another one, it counts each time: that is what this test would notice."""
    db = clinic()
    db.grant("paul", tables=["visits"], share="50%", pays_for_replays=True)
    with db, Served(db) as other:
        receipt = other.of("owner", "owner").post("/v1/run", json=COUNT).json()["answer"]["receipt"]
        path, body = ("/v1/run", COUNT) if route == "run" else (f"/v1/replays/{receipt}", None)
        paul, spent = other.of("paul"), []
        for key in ("first", "first", "second", None, None):
            headers = {} if key is None else {"Idempotency-Key": key}
            assert paul.post(path, json=body, headers=headers).json()["replayed"]
            spent.append(Fraction(paul.get("/v1/balance").json()["spent"]["patients"]["share"]))
        assert [share / spent[0] for share in spent] == [1, 1, 2, 3, 4]
        assert db._curator.ledger.check().problems == ()


def test_the_registry_is_there_for_anybody_in_three_forms(served: Served) -> None:
    anybody = served.client()
    assert anybody.get("/v1/registry").json()
    assert anybody.get("/v1/registry.csv").headers["content-type"].startswith("text/csv")
    assert "patients" in anybody.get("/v1/registry.csv").text
    page = anybody.get("/v1/registry.html")
    assert "<h1>" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "bob" not in page.text


def test_what_is_public_is_worked_out_once_a_second_however_many_ask(served: Served) -> None:
    with Served(served.database) as other:
        tasks: list[str] = []
        other.workers.before = lambda task: (tasks.append(task.what), time.sleep(0.1))

        async def all_at_once() -> list[httpx.Response]:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(other.app), base_url="http://server") as client:
                return list(await asyncio.gather(*(client.get("/v1/registry") for _ in range(20))))

        replies = other.run(all_at_once())
        assert {reply.status_code for reply in replies} == {200}
        assert other.client().get("/v1/registry").status_code == 200
        assert tasks == ["registry"]
        other.front.published._known.clear()
        assert other.client().get("/v1/registry").status_code == 200
        assert tasks == ["registry"] * 2


def test_what_could_not_be_worked_out_is_tried_again(served: Served) -> None:
    def broken(task: object) -> None:
        raise RuntimeError

    with Served(served.database) as other:
        other.workers.before = broken
        assert code(other.client().get("/v1/registry")) == "internal"
        other.workers.before = lambda task: None
        assert other.client().get("/v1/registry").status_code == 200


@pytest.mark.parametrize(
    ("accept", "arrow"),
    [
        (ARROW, True),
        (f"application/json, {ARROW}; q=0.5", True),
        (f"{ARROW};q=0", False),
        (f"{ARROW}; q=0.000, */*", False),
        ("*/*", False),
        (f"{ARROW}x", False),
    ],
)
def test_arrow_comes_to_those_who_ask_for_it(served: Served, accept: str, arrow: bool) -> None:
    reply = served.of("ana").post("/v1/run", json=COUNT, headers={"Accept": accept})
    assert (reply.headers["content-type"] == ARROW) == arrow


def test_a_field_of_no_use_must_be_null_and_is_told_so_once(served: Served) -> None:
    said = served.of("ana").post("/v1/price", json={**COUNT, "fresh": True}).json()["error"]["message"]
    assert said == "fresh must be left out or null; nothing was run or charged."


def test_arrow_and_json_say_the_same(served: Served) -> None:
    ana, key = served.of("ana"), {"Idempotency-Key": "arrow"}
    reply = ana.post("/v1/run", json={**COUNT, "fresh": True}, headers={"Accept": ARROW, **key})
    answer = decoded(json.dumps(ana.post("/v1/run", json={**COUNT, "fresh": True}, headers=key).json()["answer"]))
    assert reply.headers["content-type"] == ARROW
    assert pa.ipc.open_stream(reply.content).read_all() == answer.to_arrow()
    assert reply.headers["dalenius-receipt"] == answer.receipt
    assert len(reply.content) in LENGTHS
    again = ana.get(f"/v1/receipts/{answer.receipt}", headers={"Accept": ARROW})
    assert pa.ipc.open_stream(again.content).read_all() == answer.to_arrow()


def test_work_that_takes_too_long_is_stopped_with_one_text(served: Served) -> None:
    with Served(served.database, limits=Limits(seconds=0.1, quick_seconds=0.1)) as slow:
        slow.workers.before = lambda task: time.sleep(0.3)
        ana = slow.of("ana")
        assert code(ana.post("/v1/run", json=COUNT)) == "stopped"
        assert code(ana.post("/v1/price", json=COUNT)) == "too_long"


def test_what_nobody_foresaw_is_opaque(served: Served) -> None:
    canary = "row value 8675309"

    def broken(task: object) -> None:
        raise RuntimeError(canary)

    with Served(served.database) as other:
        other.workers.before = broken
        ana = other.of("ana")
        replies = [ana.post("/v1/run", json=COUNT), ana.post("/v1/price", json=COUNT), ana.get("/v1/receipts")]
        assert [code(reply) for reply in replies] == ["stopped", "internal", "internal"]
        other.front.retries = None  # type: ignore[assignment]
        assert code(ana.get("/v1/receipts")) == "internal"
        assert canary not in "".join(other.lines) + "".join(reply.text for reply in replies)
        assert any("unforeseen" in line for line in other.lines)


def buy(client: httpx.Client, count: int) -> None:
    for _ in range(count):
        assert client.post("/v1/run", json={**COUNT, "epsilon": "0.001", "fresh": True}).status_code == 200


def test_pages_of_receipts_and_entries_join_up(served: Served) -> None:
    owner = served.of("owner", "owner")
    buy(owner, 4)
    for path, name in (("/v1/receipts", "receipts"), ("/v1/ledger", "entries"), ("/v1/replays", "replays")):
        everything = owner.get(path).json()[name]
        found: list[Any] = []
        after: int | None = 0
        while after is not None:
            page = owner.get(f"{path}?after={after}&most=3").json()
            found, after = found + page[name], page["next"]
        assert found == everything
        assert len(found) > 3


def test_a_page_of_receipts_is_one_look_at_the_ledger(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    ledger = served.database._curator.ledger
    reading = ledger._journal.reading
    owner = served.of("owner", "owner")
    buy(owner, 4)
    before = owner.get("/v1/receipts").json()["receipts"]
    monkeypatch.setattr(ledger._journal, "reading", lambda: (looks.append(1), reading())[1])
    few = owner.get("/v1/receipts?most=1").json()["receipts"]
    seldom, looks[:] = len(looks), []
    assert owner.get("/v1/receipts").json()["receipts"] == before
    assert len(looks) <= seldom + 1  # catching up is not the page's
    assert before[:1] == few
    assert [each["answered"] for each in before] == [
        ledger.answer(each["id"]) is not None for each in before
    ]  # fmt: skip


# ---- logs, metrics, contract


def test_logs_and_metrics_name_routes_and_people_and_nothing_else(served: Served) -> None:
    with Served(served.database) as other:
        token, canary = other.token("ana"), "8675309"
        client = other.client(token)
        client.post("/v1/run", json={"sql": f"SELECT COUNT(*) AS c{canary} FROM visits", "epsilon": "0.011"})
        client.post("/v1/run", json={"sql": f"SELECT {canary}", "epsilon": "0.1"})
        client.get(f"/v1/{canary}", params={"token": token})
        client.get(f"/v1/receipts/{canary}", headers={"X-Canary": canary, "Idempotency-Key": canary})
        lines, metrics = "\n".join(other.lines), other.of("eve", "auditor").get("/v1/metrics").text
    for text in (lines, metrics):
        assert canary not in text
        assert token not in text
        assert token.removeprefix("dal_") not in text
    allowed = {"time", "route", "status", "step", "who"}
    assert all(set(json.loads(line)) == allowed for line in lines.splitlines())
    assert 'dalenius_requests_total{route="run",status="200"} 1' in metrics
    share = re.search(r'dalenius_spent_share{population="patients"} (\S+)', metrics)
    assert share is not None
    assert 0 < float(share[1]) < 1


def test_the_contract_lists_every_route_with_its_roles(served: Served) -> None:
    contract = served.client().get("/v1/openapi.json").json()
    assert contract == json.loads(json.dumps(document(ROUTES)))
    assert contract["openapi"].startswith("3.1")
    for route in ROUTES:
        operation = contract["paths"][route.path][route.method.lower()]
        assert operation["operationId"] == route.name
        assert operation["x-roles"] == (None if route.roles is None else list(route.roles))
        assert ("requestBody" in operation) == (route.body is not None)
        assert {part["name"] for part in operation["parameters"] if part["in"] == "path"} == set(
            re.findall(r"{(\w+)}", route.path)
        )


def test_one_token_cannot_ask_without_measure(served: Served) -> None:
    with Served(served.database, limits=Limits(rate=0.001, burst=3)) as strict:
        ana, bob = strict.of("ana"), strict.of("bob")
        assert [ana.get("/v1/catalog").status_code for _ in range(5)] == [200] * 3 + [429] * 2
        assert ana.get("/v1/catalog").headers["retry-after"]
        assert bob.get("/v1/catalog").status_code == 200
