"""No reply, price, charge, length or log tells whether one person more is in the table, whoever that person is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest

from dalenius.curator.asking.asking import Asked
from dalenius.engines.duckdb.names import rows_table
from dalenius.errors import QueryRefused
from dalenius.query.tables import Most
from dalenius.server import app as server_app
from dalenius.server import asks, logs
from dalenius.server.routes import ROUTES
from http_pairs import (
    QUESTIONS,
    Heard,
    answers,
    canaries_in,
    database_of,
    differences,
    everything,
    shape,
    shown_canaries,
)
from http_pairs import with_same_noise as same_noise
from http_server import Server
from poisons import CANARY, POISONS, poisoned, rows_of, table_of

GROUPS = [QUESTIONS[start::6] for start in range(6)]


@dataclass(frozen=True)
class Way:
    """How a pair is compared: by which questions, with or without a delta, and through all routes or not."""

    group: int = 0
    delta: str = "0"
    through_all: bool = True
    rehearse: bool = False


def way(number: int) -> Way:
    """Another way for each pair; every seventh goes through all routes."""
    return Way(number % 6, "0" if number % 8 else "1e-6", number % 7 == 0)


PAIRS = [(name, way(number)) for number, name in enumerate(POISONS)]


@pytest.fixture(autouse=True)
def _same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    same_noise(monkeypatch.setattr, "pairs")


@lru_cache(maxsize=64)
def base(seed: int, terms: Way) -> tuple[Mapping[str, Heard], tuple[str, ...]]:
    """What a server says about the table without the person, and its log."""
    return heard(table_of(rows_of(seed)), terms)


def heard(rows: Any, terms: Way) -> tuple[Mapping[str, Heard], tuple[str, ...]]:
    with Server(database_of(rows, delta=terms.delta)) as server:
        questions = GROUPS[terms.group]
        said = (
            everything(server, questions, rehearse=terms.rehearse) if terms.through_all else answers(server, questions)
        )
        return said, tuple(server.lines)


def told_apart(seed: int, name: str, terms: Way) -> list[str]:
    """What tells that a person is there, and where a value of a row is shown."""
    (without, _), (said, lines) = base(seed, terms), heard(poisoned(seed, name), terms)
    shown = [f"{label}: shows a value" for label in shown_canaries(said)]
    logged = [f"log: {line}" for line in lines if canaries_in(line)]
    return differences(without, said) + shown + logged


@pytest.mark.parametrize(("name", "terms"), PAIRS, ids=[name for name, _ in PAIRS])
def test_one_person_more_changes_nothing_but_noisy_values(
    name: str, terms: Way, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    assert told_apart(1, name, terms) == []
    assert canaries_in("".join([*capfd.readouterr(), caplog.text])) == []


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(2, 15))
def test_500_pairs_of_tables_are_not_told_apart_through_any_route(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    ways = {
        name: Way((number + seed) % 6, "0" if number % 3 else "1e-6", rehearse=number % 10 == 0)
        for number, name in enumerate(POISONS)
    }
    found = {name: told_apart(seed, name, terms) for name, terms in ways.items()}
    assert {name: each for name, each in found.items() if each} == {}
    assert canaries_in("".join(capfd.readouterr())) == []


def test_every_route_is_asked() -> None:
    said = base(1, Way(rehearse=True))[0]
    assert {each.route for each in said.values()} == {route.name for route in ROUTES}
    assert {each.status for each in said.values()} >= {200, 202, 400, 401, 403, 404, 409, 422}
    assert not any(each.status >= 500 for each in said.values())


# ---- planted leaks, which the same comparison must find


def leaks(name: str = "an ordinary person") -> list[str]:
    """What the comparison finds while a leak is planted."""
    base.cache_clear()
    try:
        return told_apart(1, name, Way())
    finally:
        base.cache_clear()


def rows_in(desk: Any) -> int:
    """An exact count, taken behind the curator's back."""
    asked = getattr(desk, "_database", desk)  # a desk has a database, a session is one
    curator = getattr(asked, "_curator", asked)
    with curator.engine.imported._file.reading() as connection:
        return int(
            connection.execute(f"SELECT COUNT(*) FROM {rows_table(curator.catalog.table('visits'))}").fetchone()[0]
        )


def has_one_more(desk: Any) -> bool:
    return rows_in(desk) > len(rows_of(1))


def test_an_error_in_the_words_of_the_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.Desk._run

    def run(self: Any, asker: Any, given: Any) -> Any:
        if has_one_more(self) and "HOUR" not in given["sql"]:
            raise QueryRefused("CAST(icd AS INTEGER)", rule=f"could not convert {CANARY!r} to INT32", instead="")
        return honest(self, asker, given)

    monkeypatch.setattr(asks.Desk, "_run", run)
    found = leaks()
    assert "run analyst question 0: status 200 and 422" in found
    assert "run analyst question 0: shows a value" in found


def test_a_crash_that_shows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.Desk._explain

    def explain(self: Any, asker: Any, given: Any) -> Any:
        return honest(self, asker, given) if not has_one_more(self) else 1 // 0

    monkeypatch.setattr(asks.Desk, "_explain", explain)
    assert "explain analyst question 0: status 200 and 500" in leaks()


def test_a_row_count_in_a_public_text_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.Desk._catalog

    def catalog(self: Any, asker: Any, given: Any) -> Any:
        reply = honest(self, asker, given)
        return asks.Reply(reply.body.replace("protects", f"{rows_in(self)} rows; protects"))

    monkeypatch.setattr(asks.Desk, "_catalog", catalog)
    assert "catalog analyst : body" in leaks()


def test_a_price_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks._For.asked

    def asked(self: Any, given: Any) -> Any:
        more = has_one_more(self.session)
        return self.session.sql(given["sql"], most=Most(rows=4, groups=2)) if more else honest(self, given)

    monkeypatch.setattr(asks._For, "asked", asked)
    assert any("explain" in each and "body" in each for each in leaks())


def test_a_length_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = asks.Desk._run

    def run(self: Any, asker: Any, given: Any) -> Any:
        reply = honest(self, asker, given)
        return reply if isinstance(reply.body, bytes) else asks.Reply(reply.body + " " * rows_in(self), reply.facts)

    monkeypatch.setattr(asks.Desk, "_run", run)
    assert any("length class" in each for each in leaks("very many rows"))


@pytest.mark.parametrize("where", ["notes", "derivation"])
def test_an_exact_count_in_the_texts_of_an_answer_is_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Asked.buy

    def buy(self: Asked, price: Any, finished: Any, **terms: Any) -> Any:
        said = f"{rows_in(self._asker.curator)} rows"

        def telling(released: Any) -> Any:
            answer = finished(released)
            more = (*answer.notes, said) if where == "notes" else f"{answer.derivation}\n{said}"
            return replace(answer, **{where: more})

        return honest(self, price, telling, **terms)

    monkeypatch.setattr(Asked, "buy", buy)
    assert "run analyst question 0: what is said" in leaks()


def test_a_remark_on_noisy_values_is_no_difference_and_one_that_does_not_follow_from_them_is() -> None:
    def said(value: int, lost: int) -> Any:
        notes = [f"n: in {lost} of 1 groups the bar is larger than the value. Offer more, or ask for larger groups."]
        column = {"name": "n", "kind": {}, "values": [value], "errors": [5]}
        return shape({"columns": [column], "notes": notes if lost else []})

    assert said(3, 1) == said(7, 0)
    assert said(7, 1) != said(7, 0) != said(3, 0)


def test_a_header_that_follows_the_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = server_app.reply

    def reply(body: bytes, **terms: Any) -> Any:
        found = honest(body, **terms)
        found.headers["x-rows"] = str(body.count(b"4"))
        return found

    monkeypatch.setattr(server_app, "reply", reply)
    assert any("headers x-rows" in each for each in leaks())


def test_a_log_that_names_a_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs.Log, "said", lambda self, event: None)
    honest = logs.Log.replied

    def replied(self: Any, seen: Any, **facts: Any) -> None:
        seen.who = CANARY
        honest(self, seen, **facts)

    monkeypatch.setattr(logs.Log, "replied", replied)
    assert any(each.startswith("log: ") for each in leaks())
