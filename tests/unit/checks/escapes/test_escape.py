"""The check of escapes: its corpus is large and reaches out, its judge and canaries notice, and the product holds."""

from __future__ import annotations

from pathlib import Path
from socket import create_connection

import pytest

from dalenius.checks.escapes.canaries import canaries, contents, reads_show
from dalenius.checks.escapes.corpus import escapes, filled
from dalenius.checks.escapes.judging import Judge
from dalenius.checks.escapes.listening import Ear, clinic, engine_of, listened

GOOD = (
    'SELECT "k.0", count(*) AS t0 FROM (SELECT "unit", "column.city" AS "k.0" FROM rows."visits@1") AS p GROUP BY "k.0"'
)
BAD = {
    "SELECT 1; SELECT 2": "2 statements",
    'DROP TABLE rows."visits@1"': "1 statements of kinds DROP",
    "SELECT * FROM read_text('/etc/passwd')": "a table function",
    "SELECT * FROM '/etc/passwd'": "the table",
    'SELECT count(*) FROM rows."others@1"': "the table 'rows.others@1'",
    'SELECT random() FROM rows."visits@1"': "the function random",
    'SELECT "x; DROP" FROM rows."visits@1"': "the name",
    'SELECT count(*) AS "a\'b" FROM rows."visits@1"': "the name",
    GOOD + " LIMIT 1000000000": "a limit modifier",
    f"SELECT count(*) FROM ({GOOD} LIMIT 99%) AS t": "a limit",
    'SELECT count(*) FROM rows."visits@1" TABLESAMPLE 99%': "a sample",
    "SELECT ?": "a value parameter",
    "nonsense(": "does not parse",
}


@pytest.fixture(scope="module")
def judge() -> Judge:
    with clinic() as db:
        return Judge(db._principal.tables().values())


def test_what_a_plan_is_spelled_with_may_run(judge: Judge) -> None:
    assert judge.faults(GOOD) == []
    assert judge.faults(GOOD.replace("count(*)", "sum(CASE WHEN 'a; DROP TABLE x' = '''' THEN 1 END)")) == []


@pytest.mark.parametrize(("text", "said"), BAD.items())
def test_what_no_plan_is_spelled_with_is_noticed(judge: Judge, text: str, said: str) -> None:
    assert any(said in fault for fault in judge.faults(text)), judge.faults(text)


def test_the_corpus_is_large_and_every_text_is_another() -> None:
    texts = list(escapes())
    assert len(set(texts)) == len(texts) >= 500
    places = {"canary": "/c", "folder": "/f", "file": "/t", "port": 1, "block": "b", "new": "n"}
    assert not any("{canary}" in filled(text, places) for text in texts)
    assert sum("/c" in filled(text, places) for text in texts) > 150


def test_the_ear_hears_what_reaches_the_engine() -> None:
    with clinic() as db:
        ear = Ear(Judge(db._principal.tables().values()))
        with listened(db, ear):
            db.sql("SELECT COUNT(*) FROM visits WHERE icd = '''; DROP TABLE visits; --'").run(epsilon="0.1")
            assert (ear.heard, ear.faults) == (1, [])
            with engine_of(db)._file.reading() as reader, pytest.raises(Exception):  # noqa: B017, PT011
                reader.execute("SELECT * FROM read_text('/etc/passwd')")
        assert ear.heard == 2
        assert len(ear.faults) > 0


def test_canaries_notice_reads_writes_and_calls(tmp_path: Path) -> None:
    with canaries(tmp_path) as canary:
        assert canary.touched == []
        before = contents(tmp_path)
        canary.rest()
        assert canary.touched == []
        content = canary.file.read_text()
        assert canary.sings_in(content)
        assert canary.touched == (["the canary file was read"] if reads_show(tmp_path) else [])
        create_connection(("127.0.0.1", canary.port)).close()
        canary.file.write_text("x")
        assert {"the canary file was changed", "the canary port was called"} <= set(canary.touched)
        assert contents(tmp_path) != before
