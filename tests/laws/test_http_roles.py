"""Every route for every kind of token, from the table of routes itself: what it does not allow is denied."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from dalenius.ledger import tokens as curator_tokens
from dalenius.ledger.tokens import Tokens, digest
from dalenius.server import app as server_app
from dalenius.server.app import permitted
from dalenius.server.routes import ROUTES, Route
from http_pairs import QUESTIONS, database_of
from http_server import Server, facts_of
from poisons import rows_of, table_of

BAD = ("none", "malformed", "unknown", "one letter off", "expired", "revoked", "twice", "another scheme")
ROLES = {"analyst without a grant": "analyst", "analyst": "analyst", "auditor": "auditor", "owner": "owner"}
HOLDERS = (*BAD, *ROLES)
BODIES: Mapping[str, Any] = {
    "start_job": {"sql": QUESTIONS[0], "epsilon": "0.1"},
    "grant": {"analyst": "bo", "tables": ["visits"], "share": "1%"},
    "token": {"who": "bo"},
    "study": {"name": "falls", "population": "patients", "share": "1%"},
    **{name: {"sql": QUESTIONS[0], "epsilon": "0.1"} for name in ("price", "expected_error", "explain", "run")},
    "rehearse": {"sql": QUESTIONS[0]},
}


@dataclass
class Town:
    """A server, and a client for each kind of token."""

    server: Server
    tokens: Mapping[str, str]
    names: Mapping[str, str]

    def headers(self, holder: str) -> list[tuple[str, str]]:
        good = ("Authorization", f"Bearer {self.tokens['analyst']}")
        if holder == "none":
            return []
        if holder == "twice":
            return [good, good]
        if holder == "another scheme":
            return [("Authorization", f"Basic {self.tokens['analyst']}")]
        return [("Authorization", f"Bearer {self.tokens[holder]}")]

    def ask(self, route: Route, holder: str) -> httpx.Response:
        path = route.path.format(**{**self.names, "analyst": "bo", "who": "bo"})
        with self.server.client() as client:
            return client.request(route.method, path, headers=self.headers(holder), json=BODIES.get(route.name))


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with Server(database_of(table_of(rows_of(3)))) as server:
        yield inhabited(server)


def inhabited(server: Server) -> Town:
    ledger = server.database._curator.ledger
    tokens = {
        "analyst": server.token("ana"),
        "analyst without a grant": server.token("eve"),
        "auditor": server.token("vera", "auditor"),
        "owner": server.token("owner", "owner"),
        "malformed": "dal_short",
        "unknown": "dal_" + "x" * 43,
        "expired": "dal_" + "e" * 43,
        "revoked": server.token("rex", "owner"),
    }
    tokens["one letter off"] = tokens["owner"][:-1] + ("A" if tokens["owner"][-1] != "A" else "B")
    past = (dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)).isoformat()
    facts = {"sha256": digest(tokens["expired"]), "who": "ana", "role": "owner", "expires": past}
    ledger.record("token", facts)
    curator_tokens.revoke(ledger, "rex")
    with server.client(tokens["analyst"]) as client:
        receipt = facts_of(client.post("/v1/run", json=BODIES["run"]))["answer"]["receipt"]
        job = facts_of(client.post("/v1/jobs", json=BODIES["start_job"]))["job"]
        while facts_of(client.get(f"/v1/jobs/{job}"))["state"] == "running":
            time.sleep(0.005)
    by_path = {"receipt": receipt, "replay": receipt, "card": receipt, "job": job, "stop_job": job}
    return Town(server, tokens, by_path)


def stated(route: Route, holder: str) -> int:
    """The status that the table states."""
    if route.roles is None:
        return route.status
    if holder in BAD:
        return 401
    if ROLES[holder] not in route.roles:
        return 403
    return _inside(route, holder)


def _inside(route: Route, holder: str) -> int:
    """What somebody who may use a route gets for this request: other people's things and tables are not there."""
    if holder == "analyst without a grant" and route.name in BODIES and route.name != "start_job":
        return 422
    if route.name in ("job", "stop_job") and holder != "analyst":
        return 404
    if route.name == "receipt" and holder == "analyst without a grant":
        return 404
    if route.name in ("replay", "card") and holder == "analyst without a grant":
        return 422
    return route.status


def mismatches(town: Town, routes: tuple[Route, ...] = ROUTES) -> list[str]:
    """Where a route does something else than the table states."""
    found = []
    for route in routes:
        here = replace_names(town, route)
        for holder in HOLDERS:
            status = here.ask(route, holder).status_code
            if status != stated(route, holder):
                found.append(f"{route.name} for {holder}: {status} instead of {stated(route, holder)}")
    return found


def replace_names(town: Town, route: Route) -> Town:
    return replace(town, names={"id": town.names.get(route.name, "nothing")})


def test_every_route_lets_in_whom_the_table_names_and_nobody_else(town: Town) -> None:
    assert mismatches(town) == []


def test_a_check_of_roles_that_is_left_out_is_noticed(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_app, "permitted", lambda route, role: True)
    found = mismatches(town, tuple(route for route in ROUTES if route.name in ("ledger", "metrics")))
    assert any(each.startswith("ledger for analyst") for each in found)
    assert any(each.startswith("metrics for analyst") for each in found)


def test_a_route_without_roles_is_denied_to_all() -> None:
    with pytest.raises(TypeError):
        Route("new", "GET", "/v1/new", summary="New", reply=None)  # type: ignore[call-arg]
    new = Route("new", "GET", "/v1/new", (), "New", None)
    assert not any(permitted(new, role) for role in (None, "analyst", "auditor", "owner"))


def test_a_route_that_was_added_without_roles_is_denied_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Route("catalog", "GET", "/v1/new", (), "New", None)
    monkeypatch.setattr(server_app, "ROUTES", (*ROUTES, new))
    with Server(database_of(table_of(rows_of(3)))) as server:
        town = inhabited(server)
        statuses = {holder: town.ask(new, holder).status_code for holder in HOLDERS}
    assert set(statuses.values()) == {401, 403}
    assert {holder for holder, status in statuses.items() if status == 403} == set(ROLES)


def test_whatever_is_wrong_with_a_token_the_reply_is_the_same(town: Town) -> None:
    for route in ROUTES:
        if route.roles is not None:
            replies = [replace_names(town, route).ask(route, holder) for holder in BAD]
            seen = {(each.status_code, each.content, tuple(sorted(each.headers.items()))) for each in replies}
            assert len(seen) == 1, route.name


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"), ("GET", "/v1"), ("GET", "/v1/"), ("GET", "/v1/nothing"), ("GET", "/v1/catalog/"),
        ("GET", "//v1/ledger"), ("GET", "/V1/ledger"), ("GET", "/v1/ledger%2f"), ("GET", "/admin/v1"),
        ("GET", "/admin/v1/grants/"), ("GET", "/docs"), ("GET", "/.well-known/x"), ("POST", "/admin/v2/x"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_table_does_not_exist(town: Town, method: str, path: str) -> None:
    with town.server.client(town.tokens["owner"]) as client:
        reply = client.request(method, path)
    assert reply.status_code in (404, 405)
    assert "location" not in reply.headers


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "CONNECT", "GET", "POST", "DELETE"])
def test_other_methods_of_a_route_are_refused(town: Town, method: str) -> None:
    taken = {(route.method, route.path) for route in ROUTES}
    with town.server.client(town.tokens["owner"]) as client:
        for path in sorted({route.path for route in ROUTES}):
            if (method, path) not in taken:
                reply = client.request(method, path.format(id="x", who="x", analyst="x"))
                assert reply.status_code == 405, path
                assert "access-control-allow-origin" not in reply.headers


def test_admin_routes_are_not_there_unless_offered() -> None:
    with Server(database_of(table_of(rows_of(3))), admin=False) as server:
        town = inhabited(server)
        for route in ROUTES:
            if route.admin:
                assert {town.ask(route, holder).status_code for holder in HOLDERS} == {404}
        with server.client() as client:
            assert not any("/admin" in path for path in facts_of(client.get("/v1/openapi.json"))["paths"])


# ---- tokens


def test_no_token_is_in_a_log_an_address_or_a_reply(town: Town, capfd: pytest.CaptureFixture[str]) -> None:
    with town.server.client(town.tokens["owner"]) as client:
        replies = [
            client.get("/v1/catalog", params={"token": town.tokens["analyst"]}),
            client.get(f"/v1/receipts/{town.tokens['analyst']}"),
            client.get(f"/{town.tokens['analyst']}"),
            client.post("/v1/run", json={"sql": town.tokens["analyst"], "token": town.tokens["analyst"]}),
        ]
        shown = [client.get(path).text for path in ("/v1/ledger", "/v1/metrics", "/v1/openapi.json", "/v1/receipts")]
    assert [reply.status_code for reply in replies] == [400, 404, 404, 400]
    everything = "\n".join([*(reply.text for reply in replies), *shown, *town.server.lines, *capfd.readouterr()])
    leaked = [name for name, token in town.tokens.items() if name != "malformed" and token in everything]
    assert leaked == []
    parameters = [each for path in json.loads(shown[2])["paths"].values() for route in path.values()
                  for each in route["parameters"]]  # fmt: skip
    assert not any("token" in each["name"].lower() for each in parameters)


def test_a_token_that_is_logged_is_noticed(town: Town) -> None:
    town.server.front.log.said(f"token {town.tokens['owner']}")
    with pytest.raises(AssertionError):
        test_no_token_is_in_a_log_an_address_or_a_reply(town, _Nothing())  # type: ignore[arg-type]
    town.server.lines.pop()


class _Nothing:
    def readouterr(self) -> tuple[str, str]:
        return "", ""


def separation(ones: list[float], others: list[float]) -> float:
    """How well times tell two cases apart: the area under the curve, 0.5 for not at all."""
    ranked = sorted([(each, 0) for each in ones] + [(each, 1) for each in others])
    ranks = sum(place for place, (_, kind) in enumerate(ranked) if kind)
    return (ranks - len(others) * (len(others) - 1) / 2) / (len(ones) * len(others))


def times(town: Town, first: str, second: str, *, rounds: int) -> tuple[list[float], list[float]]:
    """Times of looking up two tokens, taken in turn."""
    lookup: Tokens = town.server.front.tokens  # type: ignore[assignment]
    found: dict[str, list[float]] = {first: [], second: []}
    for _ in range(rounds):
        for name in (first, second):
            started = time.perf_counter_ns()
            assert lookup.holder(town.tokens[name]) is None
            found[name].append(time.perf_counter_ns() - started)
    return found[first], found[second]


def test_an_unknown_token_takes_as_long_as_one_that_is_nearly_right(town: Town) -> None:
    for name in ("one letter off", "expired", "revoked"):
        assert abs(separation(*times(town, "unknown", name, rounds=600)) - 0.5) < 0.15, name


def test_a_lookup_that_takes_longer_for_known_tokens_is_noticed(town: Town) -> None:
    known, unknown = times(town, "expired", "unknown", rounds=300)
    assert separation(unknown, [each + 50_000 for each in known]) > 0.85
