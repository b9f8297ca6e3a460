"""The client's side of the wire: where it connects, what it sends again, and that a token leaves by no other way."""

from __future__ import annotations

import inspect
import json
import logging
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import httpx
import pytest

import dalenius as dl
from dalenius import errors
from dalenius.errors import (
    BudgetExceeded,
    DaleniusError,
    InvalidParameter,
    MissingExtra,
    NotUnderstood,
    QueryRefused,
    ServerUnreachable,
    TooOften,
)
from dalenius.server.client.connecting import RemoteAnalyst, address, connect
from dalenius.server.client.query import RemoteQuery
from dalenius.server.client.wire import PAUSES, Wire, raised
from dalenius.server.faults import Fault, fault_of
from dalenius.session.query import Query
from dalenius.session.sessions import Analyst

TOKEN = "dal_" + "Secret-canary-token_" + "x" * 23
URL = "https://data.example:8765"
Handler = Callable[[httpx.Request], httpx.Response]


def reply(facts: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, content=json.dumps(facts).encode() + b"   ", headers=headers)


def error(code: str, kind: str, message: str, status: int, **headers: str) -> httpx.Response:
    return reply({"error": {"code": code, "type": kind, "message": message}}, status, **headers)


class Line:
    """A wire to a made-up server; remembers requests and pauses."""

    def __init__(self, *replies: httpx.Response | Exception) -> None:
        self.waiting, self.requests, self.pauses = list(replies), [], []
        self.wire = Wire(URL, TOKEN, transport=httpx.MockTransport(self.answer), sleep=self.pauses.append)

    requests: list[httpx.Request]
    pauses: list[float]

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        found = self.waiting.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def run(self, **offer: Any) -> Any:
        return RemoteQuery(self.wire, "SELECT COUNT(*) FROM t", None).run(**offer)


ANSWER = {
    "answer": {"columns": [], "level": "19/20", "charge": "1 %", "receipt": "r", "derivation": "", "notes": []},
    "left": "99 %", "replayed": False,
}  # fmt: skip


# ---- the same names


def signatures(kind: type) -> dict[str, inspect.Signature]:
    public = [name for name in dir(kind) if not name.startswith("_")]
    return {name: inspect.signature(getattr(kind, name)) for name in public if callable(getattr(kind, name))}


def parameters(signature: inspect.Signature) -> list[tuple[str, Any, Any, Any]]:
    return [(each.name, each.kind, each.default, each.annotation) for each in signature.parameters.values()]


def differences(here: type, there: type, more: set[str]) -> set[str]:
    """Public methods that one has and the other has not, or with other parameters."""
    ours, theirs = signatures(here), signatures(there)
    both = {name for name in ours.keys() & theirs.keys() if parameters(ours[name]) != parameters(theirs[name])}
    return both | (ours.keys() ^ theirs.keys()) - more


def test_a_remote_session_has_the_methods_of_a_session_in_one_process() -> None:
    of_rows = {"bind_rows", "populations", "amounts", "cost_of", "buy"}  # what is made of rows is made where they are
    assert differences(Analyst, RemoteAnalyst, {"close", *of_rows}) == set()
    assert differences(Query, RemoteQuery, {"check"}) == set()


def test_a_method_or_parameter_more_or_less_is_noticed() -> None:
    class Drifted(Query):
        def cost(self, *, epsilon: Any = None) -> Any: ...  # type: ignore[override]
        def more(self) -> None: ...

    assert differences(Query, Drifted, set()) == {"cost", "more"}


def test_results_are_of_the_same_types() -> None:
    for here, there in ((Analyst, RemoteAnalyst), (Query, RemoteQuery)):
        ours, theirs = signatures(here), signatures(there)
        others = {
            name: (ours[name].return_annotation, theirs[name].return_annotation)
            for name in ours.keys() & theirs.keys()
            if ours[name].return_annotation != theirs[name].return_annotation
        }
        assert others in ({}, dict.fromkeys(("sql", "bind"), ("Query", "RemoteQuery")))


# ---- addresses and tokens


@pytest.mark.parametrize(
    "url",
    [
        "https://user:password@data.example", "https://user@data.example", "https://data.example/v1", "ftp://data.example",
        "https://data.example?token=dal_x", "https://data.example/#x", "data.example:80", "https://", "", "https://a b",
        "http://data.example", "http://10.0.0.1:8765", "http://localhost.example", "http://127.0.0.1.example",
        "https://data.example:99999", "https://data.example:x", "https://data.example\\@evil.example", 3, None,
        "http://0.0.0.0", "https://data.example?", "https://\u202edata.example", "//data.example", "https:///path",
    ],
)  # fmt: skip
def test_an_address_that_is_more_or_less_than_a_host_is_refused_and_not_repeated(url: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        connect(url, token=TOKEN)
    assert "password" not in str(caught.value).replace("user name or password", "")
    assert "dal_x" not in str(caught.value)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8765", "http://localhost", "http://[::1]:8765/", "https://data.example", URL]
)
def test_a_host_is_enough(url: str) -> None:
    assert address(url) == url.rstrip("/")


def test_plain_http_to_another_machine_needs_a_word() -> None:
    with pytest.raises(InvalidParameter, match="insecure=True"):
        address("http://data.example:8765")
    assert address("http://data.example:8765", insecure=True) == "http://data.example:8765"


@pytest.mark.parametrize(
    "token", ["", "dal_short", TOKEN + "x", "x" * 47, 77, None, TOKEN[:-1] + "\n", TOKEN[:-1] + "é"]
)
def test_what_is_no_token_is_refused_and_not_repeated(token: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        connect(URL, token=token)
    assert str(token or "no such text") not in str(caught.value)


def test_a_token_is_in_one_header_and_in_nothing_that_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    line = Line(httpx.ConnectError("no"), reply({"tables": {}}), *[httpx.ReadTimeout("slow")] * 7)
    session = RemoteAnalyst(line.wire)
    caplog.set_level(logging.DEBUG)
    assert session.tables() == {}
    with pytest.raises(ServerUnreachable) as caught:
        session.tables()
    for request in line.requests:
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert TOKEN not in str(request.url)
    shown = [repr(session), repr(line.wire), str(caught.value), caplog.text, repr(vars(caught.value))]
    assert TOKEN not in "\n".join(shown)
    with connect(URL, token=f" {TOKEN}\n") as found:
        assert TOKEN not in repr(found)


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"])
def test_the_environment_names_no_way_for_the_token(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://proxy.example:3128")
    with connect("http://127.0.0.1:9", token=TOKEN) as session:
        assert session._wire._client._mounts == {}
        assert not session._wire._client.trust_env


def test_a_redirect_is_not_followed() -> None:
    line = Line(httpx.Response(307, headers={"Location": "https://evil.example/"}))
    with pytest.raises(ServerUnreachable, match="status 307"):
        RemoteAnalyst(line.wire).tables()
    assert len(line.requests) == 1


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"dalenius\[client\]"):
        dl.connect(URL, token=TOKEN)


# ---- attempts


def test_a_run_keeps_its_key_in_every_attempt() -> None:
    line = Line(httpx.ReadError("gone"), httpx.ConnectTimeout("slow"), httpx.RemoteProtocolError("cut"), reply(ANSWER))
    assert line.run(epsilon="0.1").left == "99 %"
    keys = [request.headers["idempotency-key"] for request in line.requests]
    assert len(keys) == 4
    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert len({request.content for request in line.requests}) == 1


def test_two_runs_have_two_keys_and_a_given_key_is_kept() -> None:
    line = Line(*(reply(ANSWER) for _ in range(3)))
    for offer in ({}, {}, {"key": "mine"}):
        line.run(epsilon="0.1", **offer)
    first, second, third = (request.headers["idempotency-key"] for request in line.requests)
    assert first != second
    assert third == "mine"


@pytest.mark.parametrize("key", ["", "x" * 201, "line\nbreak", "ø", 3])
def test_a_key_that_no_header_carries_is_refused(key: Any) -> None:
    line = Line()
    with pytest.raises(InvalidParameter, match="key is"):
        line.run(epsilon="0.1", key=key)


def test_attempts_end_and_the_error_says_how_to_go_on() -> None:
    line = Line(*[httpx.ReadError("gone")] * 20)
    with pytest.raises(ServerUnreachable, match="may have been charged; run it again with key='mine'"):
        line.run(epsilon="0.1", key="mine")
    assert len(line.requests) == len(PAUSES) + 1
    assert sum(line.pauses) < 10
    assert all(pause / 2 <= waited <= pause for pause, waited in zip(PAUSES, line.pauses, strict=True))


def test_a_server_that_asks_to_wait_is_not_asked_sooner() -> None:
    busy = {"code": "busy", "kind": "TooOften", "message": "too many", "status": 503}
    line = Line(error(**busy, **{"Retry-After": "2"}), error(**busy, **{"Retry-After": "5"}), reply({"tables": {}}))
    assert RemoteAnalyst(line.wire).tables() == {}
    assert line.pauses == [2, 5]


def test_a_wait_that_is_too_long_and_an_error_without_one_are_raised_at_once() -> None:
    line = Line(
        error("too_often", "TooOften", "too often", 429, **{"Retry-After": "60"}),
        error("ledger_stopped", "LedgerStopped", "no disk", 503),
    )
    with pytest.raises(TooOften, match=r"^too often$"):
        line.run(epsilon=1)
    with pytest.raises(errors.LedgerStopped, match=r"^no disk$"):
        line.run(epsilon=1)
    assert line.pauses == []


@pytest.mark.parametrize("content", [b"", b"<html>", b"[1]", b"\xff", b'{"a": 1}'])
def test_what_is_no_reply_is_said_to_be_none(content: bytes) -> None:
    line = Line(httpx.Response(404, content=content))
    with pytest.raises(ServerUnreachable, match="status 404"):
        RemoteAnalyst(line.wire).tables()


def test_what_fails_between_is_asked_for_again_with_the_same_key() -> None:
    line = Line(httpx.Response(502, content=b"<html>"), httpx.Response(504), reply(ANSWER))
    assert line.run(epsilon=1).receipt == "r"
    assert len({request.headers["Idempotency-Key"] for request in line.requests}) == 1


def test_after_too_many_failures_between_the_key_is_told() -> None:
    line = Line(*(httpx.Response(502) for _ in range(len(PAUSES) + 1)))
    with pytest.raises(ServerUnreachable, match="key='mine'"):
        line.run(epsilon=1, key="mine")


# ---- errors


def samples() -> list[DaleniusError]:
    return [
        QueryRefused("SELECT x", rule="no", instead="Yes."),
        errors.UnknownName("table", "vistis", known=["visits"]),
        BudgetExceeded(account="patients", asked=1, left=0),
        InvalidParameter("epsilon", "-1", allowed="positive"),
        errors.AccessDenied("ana", what="ask", instead="Do not."),
        errors.TooManyKeys("GROUP BY x", rule="too many", instead="Fewer."),
        errors.WorkStopped(),
        errors.LedgerStopped(),
        TooOften("ana", what="ask", instead="Wait."),
    ]


@pytest.mark.parametrize("found", samples(), ids=lambda each: type(each).__name__)
def test_an_error_keeps_its_class_and_text_over_the_wire(found: DaleniusError) -> None:
    there = raised(fault_of(found, charging=True).facts)
    assert type(there) is type(found)
    assert str(there) == str(found)


@pytest.mark.parametrize("kind", [each for each in vars(errors).values() if inspect.isclass(each)])
def test_every_class_of_error_can_be_raised_from_its_name(kind: type) -> None:
    if issubclass(kind, DaleniusError):
        assert str(raised(Fault("refused", kind.__name__, "words").facts)) == "words"


@pytest.mark.parametrize("name", ["SystemExit", "KeyboardInterrupt", "__import__", "Any", 3, None])
def test_no_other_class_is_made_from_a_name(name: Any) -> None:
    assert type(raised({"error": {"type": name, "message": "words"}})) is DaleniusError


@pytest.mark.parametrize("facts", [{}, {"error": None}, {"error": []}, {"error": {}}])
def test_an_error_without_words_is_still_an_error(facts: dict[str, Any]) -> None:
    assert "no reason" in str(raised(facts))


def test_a_number_is_shown_as_it_was_given_and_sent_exactly() -> None:
    line = Line(error("invalid", "InvalidParameter", "epsilon is '0.1', but it must be less", 422))
    with pytest.raises(InvalidParameter, match=r"^epsilon is 0\.1, but"):
        line.run(epsilon=0.1)
    assert json.loads(line.requests[0].content)["epsilon"] == "0.1"


@pytest.mark.parametrize(
    "offer", [{"epsilon": float("nan")}, {"epsilon": [1]}, {"share": True}, {"size": 0}, {"digits": -1}]
)
def test_what_is_no_number_is_refused_before_anything_is_sent(offer: dict[str, Any]) -> None:
    line = Line()
    with pytest.raises(InvalidParameter):
        line.run(**offer)


# ---- frames and SQL


def test_a_frame_is_sent_as_sql_that_says_the_same_and_what_sql_cannot_say_is_not_sent() -> None:
    catalog = {"tables": {"visits": {"about": "", "columns": {"age": ""}}}}
    line = Line(reply(catalog), reply({"derivation": "d"}), reply(ANSWER))
    frame = RemoteAnalyst(line.wire).table("VISITS")
    frame.where(dl.col("age") >= 65).agg(n=dl.count()).run(epsilon="0.1")
    assert json.loads(line.requests[-1].content)["sql"] == "SELECT COUNT(*) AS n FROM visits WHERE age >= 65"
    with pytest.raises(QueryRefused, match="SQL cannot say"):
        frame.agg(n=dl.total(dl.col("age") * Fraction(1, 3))).run(epsilon="0.1")
    with pytest.raises(NotUnderstood):
        frame.where(dl.col("age") == "bell\a").agg(n=dl.count()).run(epsilon="0.1")
    assert len(line.requests) == 3


def test_a_text_that_is_no_sql_is_refused_at_once() -> None:
    line = Line()
    for text in ("SELEKT", 3, "SELECT 1; SELECT 2"):
        with pytest.raises(NotUnderstood):
            RemoteAnalyst(line.wire).sql(text)  # type: ignore[arg-type]


def test_an_unknown_table_is_told_like_in_one_process() -> None:
    line = Line(reply({"tables": {"visits": {}}}))
    with pytest.raises(errors.UnknownName, match="Known: visits"):
        RemoteAnalyst(line.wire).columns("vsits")


def test_a_session_that_was_closed_says_so() -> None:
    line = Line(reply(ANSWER))
    line.wire.close()
    with pytest.raises(errors.InvalidParameter, match="closed"):
        line.run(epsilon=1)
