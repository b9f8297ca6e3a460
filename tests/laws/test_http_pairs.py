"""No reply, price, charge, length or log tells whether one person more is in the table, whoever that person is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest

from costs import cases
from dalenius.engines.duckdb.dialect import rows_table
from dalenius.server import logs
from dalenius.server.routes import ROUTES
from dalenius.session import query
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


@cases(("name", "terms"), PAIRS, ids=[name for name, _ in PAIRS], fast=1)
def test_one_person_more_changes_nothing_but_noisy_values(
    name: str, terms: Way, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    assert told_apart(1, name, terms) == []
    assert canaries_in("".join([*capfd.readouterr(), caplog.text])) == []


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


@cases("where", ["notes", "derivation"], fast=1)
def test_an_exact_count_in_the_texts_of_an_answer_is_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = query.buy

    def buy(principal: Any, purchase: query.QueryPurchase, payer: Any, **terms: Any) -> Any:
        said = f"{rows_in(principal.curator)} rows"

        class Telling(query.QueryPurchase):
            def encode(self, released: Any) -> Any:
                answer = super().encode(released)
                more = (*answer.notes, said) if where == "notes" else f"{answer.derivation}\n{said}"
                return replace(answer, **{where: more})

        return honest(principal, Telling(**vars(purchase)), payer, **terms)

    monkeypatch.setattr(query, "buy", buy)
    assert "run analyst question 0: what is said" in leaks()


def test_a_remark_on_noisy_values_is_no_difference_and_one_that_does_not_follow_from_them_is() -> None:
    def said(value: int, lost: int) -> Any:
        notes = [f"n: in {lost} of 1 groups the bar is larger than the value. Offer more, or ask for larger groups."]
        column = {"name": "n", "kind": {}, "values": [value], "errors": [5]}
        return shape({"columns": [column], "notes": notes if lost else []})

    assert said(3, 1) == said(7, 0)
    assert said(7, 1) != said(7, 0) != said(3, 0)


def test_a_log_that_names_a_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs.Log, "said", lambda self, event: None)
    honest = logs.Log.replied

    def replied(self: Any, seen: Any, **facts: Any) -> None:
        seen.who = CANARY
        honest(self, seen, **facts)

    monkeypatch.setattr(logs.Log, "replied", replied)
    assert any(each.startswith("log: ") for each in leaks())
