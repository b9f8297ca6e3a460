"""Engines side by side: one that is gone is opened anew, and one that does not answer keeps nobody else waiting."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dalenius.engines import several
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import Engines

FIRST, SECOND = "postgresql://reader@first/x", "postgresql://reader@second/x"


class Elsewhere:
    """An engine that holds nothing, and may be gone."""

    def __init__(self) -> None:
        self.gone = self.closed = False
        self.dialect = type("Dialect", (), {"staying": {}})()

    def answers(self) -> bool:
        return not self.gone

    def hold(self, tables: Any) -> None:
        return

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    monkeypatch.setattr(several, "_FIT", {FIRST, SECOND})
    return Engines(DuckDBEngine(), log=lambda error: None, note=lambda error: None)


def test_an_engine_that_is_gone_is_opened_anew(engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "live_engine", lambda *_, **__: Elsewhere())
    before: Any = engines._at(FIRST, "t")
    assert engines._at(FIRST, "t") is before
    before.gone = True
    after: Any = engines._at(FIRST, "t")
    assert before.closed
    assert after is not before
    assert engines._at(FIRST, "t") is after
    engines.close()


def test_a_place_that_does_not_answer_keeps_nobody_else_waiting(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, answer = threading.Event(), threading.Event()

    def opened(address: str, **_: Any) -> Elsewhere:
        if address == FIRST:
            waiting.set()
            answer.wait(60)
        return Elsewhere()

    monkeypatch.setattr(several, "live_engine", opened)
    slow = threading.Thread(target=engines._at, args=(FIRST, "t"))
    slow.start()
    assert waiting.wait(60)
    engines._at(SECOND, "t")
    engines.hold([])
    assert slow.is_alive()
    answer.set()
    slow.join()
    engines.close()


def test_errors_that_alternate_do_not_fill_the_log() -> None:
    noted: list[BaseException] = []
    engines = Engines(DuckDBEngine(), log=lambda error: None, note=noted.append)
    for turn in range(1_000):
        engines._tell(ValueError(f"{turn % 2}"))
    assert len(noted) == 2
    for turn in range(1_000):
        engines._tell(ValueError(f"{turn}"))
    assert len(noted) == several._NOTED
    engines.close()
