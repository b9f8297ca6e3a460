"""The dear tests of `laws/test_http_pairs.py`."""

from __future__ import annotations

from typing import Any

import pytest

from dalenius.errors import QueryRefused
from dalenius.server import app as server_app
from dalenius.server.workers import handler as asks
from poisons import CANARY, rows_of
from tests.laws import test_http_pairs
from tests.laws.test_http_pairs import leaks, rows_in

_same_noise = test_http_pairs._same_noise


def test_an_error_in_the_words_of_the_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.TaskHandler._run

    def run(self: Any, principal: Any, given: Any) -> Any:
        if has_one_more(self) and "HOUR" not in given["sql"]:
            raise QueryRefused("CAST(icd AS INTEGER)", rule=f"could not convert {CANARY!r} to INT32", instead="")
        return honest(self, principal, given)

    monkeypatch.setattr(asks.TaskHandler, "_run", run)
    found = leaks()
    assert "run analyst question 0: status 200 and 422" in found
    assert "run analyst question 0: shows a value" in found


def test_a_row_count_in_a_public_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.TaskHandler._catalog

    def catalog(self: Any, principal: Any, given: Any) -> Any:
        reply = honest(self, principal, given)
        return asks.Reply(reply.body.replace("protects", f"{rows_in(self)} rows; protects"))

    monkeypatch.setattr(asks.TaskHandler, "_catalog", catalog)
    assert "catalog analyst : body" in leaks()


def test_a_price_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks._For.asked

    def asked(self: Any, given: Any) -> Any:
        more = has_one_more(self.session)
        return self.session.sql(given["sql"], max_rows=4, max_groups=2) if more else honest(self, given)

    monkeypatch.setattr(asks._For, "asked", asked)
    assert any("explain" in each and "body" in each for each in leaks())


def test_a_length_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.TaskHandler._run

    def run(self: Any, principal: Any, given: Any) -> Any:
        reply = honest(self, principal, given)
        return reply if isinstance(reply.body, bytes) else asks.Reply(reply.body + " " * rows_in(self), reply.facts)

    monkeypatch.setattr(asks.TaskHandler, "_run", run)
    assert any("length class" in each for each in leaks("very many rows"))


def test_a_header_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = server_app.reply

    def reply(body: bytes, **terms: Any) -> Any:
        found = honest(body, **terms)
        found.headers["x-rows"] = str(body.count(b"4"))
        return found

    monkeypatch.setattr(server_app, "reply", reply)
    assert any("headers x-rows" in each for each in leaks())


_same_noise = test_http_pairs._same_noise


def has_one_more(desk: Any) -> bool:
    return rows_in(desk) > len(rows_of(1))


def test_a_crash_that_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.TaskHandler._explain

    def explain(self: Any, principal: Any, given: Any) -> Any:
        return honest(self, principal, given) if not has_one_more(self) else 1 // 0

    monkeypatch.setattr(asks.TaskHandler, "_explain", explain)
    assert "explain analyst question 0: status 200 and 500" in leaks()
