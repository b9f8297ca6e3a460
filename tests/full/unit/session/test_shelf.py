"""The dear tests of `unit/session/test_shelf.py`."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from clinics import clinic, visits
from dalenius.ledger import ledger as ledgers
from dalenius.ledger.checking import examined
from dalenius.server.workers.handler import TaskHandler
from dalenius.session.answers.encoding import pieces
from dalenius.session.databases import open as opened
from tests.unit.session.test_shelf import COUNT


def shelved(path: Path, length: int) -> Path:
    """A folder with 30 answers of a length, of which little can be compressed."""
    chance = Random(length)
    with clinic(data=visits(patients=3), path=path) as db:
        answer = db.sql(COUNT).run(epsilon="0.01")
        first, *rest = pieces(answer)
        receipt = db.ledger.receipt(answer.receipt)
        assert receipt is not None
        for number in range(30):
            paid = db.ledger.reserve(receipt.charges, question="q", who="owner", request=str(number))
            db.ledger.store(paid, first, *rest[:-1], f",{chance.randbytes(length).hex()}")
    return path


def opening(path: Path) -> float:
    """How long it takes a worker to open a folder."""
    start = time.perf_counter()
    with opened(path) as db:
        TaskHandler(db).warm_up()
        return time.perf_counter() - start


def ratio(tmp_path: Path) -> float:
    """How much longer it takes with long answers than with short ones: the best of ten each, in turn."""
    short, long = (shelved(tmp_path / name, length) for name, length in (("short", 10), ("long", 1_500_000)))
    pairs = [(opening(long), opening(short)) for _ in range(10)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def test_a_folder_of_long_answers_opens_as_fast_as_one_of_short_ones(tmp_path: Path) -> None:
    assert ratio(tmp_path) < 1.5


def test_the_test_above_notices_a_start_that_reads_all_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "examined", lambda store, texts: examined(store, texts=True))
    assert ratio(tmp_path) > 1.5
