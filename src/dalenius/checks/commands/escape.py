"""`check escape`: no text of anybody gets out of the product, and the engine alone would hold it too."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from dalenius.checks.escapes import fields
from dalenius.checks.escapes.canaries import Canaries, canaries, contents
from dalenius.checks.escapes.corpus import escapes, filled
from dalenius.checks.escapes.judging import Judge
from dalenius.checks.escapes.listening import Ear, clinic, engine_of, listened
from dalenius.checks.escapes.mutations import mutations
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.errors import DaleniusError
from dalenius.session.databases import Database

_OWNERS_EVERY = 12
"""Each field of an owner takes a database of its own, so it gets every twelfth escape."""
_ANSWERED_EVERY, _ALL = 8, 100_000
"""Fields that take any text and answer get every eighth escape, and all of them from so many mutations on."""
_LEAST, _LONGEST = 500, 1.0
_SUMMARY = 'SELECT count(*), coalesce(bit_xor(hash(t)), 0) FROM "{schema}"."{table}" AS t'
_BLOCK, _NEW = "duckdb_temp_1_0_storage_DEFAULT-0.tmp", "duckdb_temp_1_0_block-7.block"


@dataclass
class _Tried:
    """What one kind of attempt came to."""

    texts: int = 0
    answered: int = 0
    findings: list[str] = field(default_factory=list)

    def attempt(self, what: str, canary: Canaries, run: Callable[[], object]) -> None:
        """Try one text: it is answered, or refused in our own words; both without the canary's."""
        self.texts += 1
        try:
            said: object = run()
            self.answered += 1
        except DaleniusError as refusal:
            said = refusal
        except Exception as error:
            said = error
            self.findings.append(f"{what}: ended with {type(error).__name__}")
        if canary.sings_in(said):
            self.findings.append(f"{what}: the canary file was shown")


def check(asked: CheckRequest, /) -> Outcome:
    """Escapes and mutations through every field, then the same texts straight into the engine's connection."""
    count = 5_000 if asked.count is None else asked.count
    with tempfile.TemporaryDirectory(prefix="dalenius-check-") as place, canaries(Path(place)) as canary:
        with clinic() as db:
            ear = Ear(Judge(db._principal.tables().values()))
            with listened(db, ear):
                texts = _filled(canary, engine_of(db))
                through, mutated = _Tried(), _Tried()
                every = 1 if count >= _ALL else _ANSWERED_EVERY
                _through_fields(db, texts, canary, through, every, lambda part: asked.tick(50 * part))
                _mutated(db, mutations(count, seed=asked.seed), count, canary, mutated, asked)
            ear.judge.close()
            owners = _Tried()
            _by_owners(db, texts, canary, owners)
        outside = canary.touched
        raw, alone = _straight_in(Path(place), canary, asked)
    findings = [
        *through.findings, *owners.findings, *mutated.findings,
        *(f"a text reached the engine that no plan is spelled as: {fault}" for fault in ear.faults), *outside,
        *raw.findings, *alone,
    ]  # fmt: skip
    again = f"dalenius check escape --count {count} --seed {asked.seed}"
    places = len(fields.ANALYSTS) + len(fields.OWNERS) + 1
    return Outcome(
        "escape",
        (
            Figure(
                f"{len(texts)} escapes through {places} fields", through.texts + owners.texts,
                f"{len(through.findings) + len(owners.findings)} got out", f"0, of {_LEAST} or more",
                held=not through.findings and not owners.findings and len(texts) >= _LEAST,
            ),
            Figure("mutated questions", mutated.texts, f"{len(mutated.findings)} got out", "0", not mutated.findings),
            Figure("texts that reached the engine", ear.heard, f"{len(ear.faults)} not of a plan", "0", not ear.faults),
            Figure("canary file and port", 2, f"{len(outside)} touched", "0", not outside),
            Figure(
                "escapes straight into the engine", raw.texts, f"{len(raw.findings) + len(alone)} did something", "0",
                held=not raw.findings and not alone,
            ),
        ),
        tuple(f"{finding}; shown again by {again}" for finding in findings),
    )  # fmt: skip


def _filled(canary: Canaries, engine: DuckDBEngine) -> list[str]:
    places = {
        "canary": canary.file, "folder": canary.folder, "file": engine._file._path, "port": canary.port,
        "block": _BLOCK, "new": _NEW,
    }  # fmt: skip
    return [filled(text, places) for text in escapes()]


def _through_fields(
    db: Database, texts: list[str], canary: Canaries, tried: _Tried, every: int, tick: Callable[[float], object]
) -> None:
    for place, (name, ask) in enumerate(fields.ANALYSTS.items(), start=1):
        for text in texts[place % every :: every] if name in fields.ANSWERED else texts:
            tried.attempt(f"{name}: {text[:120]!r}", canary, lambda ask=ask, text=text: ask(db, text))  # type: ignore[misc]
        tick(place / len(fields.ANALYSTS))


def _by_owners(db: Database, texts: list[str], canary: Canaries, tried: _Tried) -> None:
    for place, (name, declare) in enumerate(fields.OWNERS.items()):
        for text in texts[place % _OWNERS_EVERY :: _OWNERS_EVERY]:
            tried.attempt(f"{name}: {text[:120]!r}", canary, lambda declare=declare, text=text: declare(db, text))  # type: ignore[misc]
    for text in texts[::_OWNERS_EVERY]:
        tried.attempt(f"a file: {text[:120]!r}", canary, lambda text=text: fields.file_named(canary.folder, text))  # type: ignore[misc]


def _mutated(
    db: Database, texts: Iterable[str], count: int, canary: Canaries, tried: _Tried, asked: CheckRequest
) -> None:
    for place, text in enumerate(texts):
        run = lambda text=text: db.sql(text).run(epsilon=fields.PRICE)  # noqa: E731
        tried.attempt(f"mutation {place}", canary, run)
        if place % 200 == 0:
            asked.tick(50 + 40 * place / max(1, count))


def _straight_in(folder: Path, canary: Canaries, asked: CheckRequest) -> tuple[_Tried, list[str]]:
    """What the texts do where no reader guards the connection that questions run on."""
    with clinic() as db:
        engine = engine_of(db)
        own = engine._file._path.parent
        texts = _filled(canary, engine)
        before, tried = (contents(folder), contents(own), _rows(engine)), _Tried()
        canary.rest()
        for text in texts:
            with engine._file.reading() as connection:
                _run_raw(connection, text, canary, tried)
        outside = canary.touched
        after = contents(folder), contents(own), _rows(engine)
        names = ("a file beside it", "the engine's own file", "a row")
        changed = [f"{name} was changed" for name, old, new in zip(names, before, after, strict=True) if old != new]
    asked.tick(100)
    return tried, [f"straight in: {what}" for what in (*changed, *outside)]


def _run_raw(connection: duckdb.DuckDBPyConnection, text: str, canary: Canaries, tried: _Tried) -> None:
    tried.texts += 1
    stop = threading.Timer(_LONGEST, connection.interrupt)  # some of them run for ever
    stop.start()
    try:
        said: object = connection.execute(text).fetchmany(1000)
    except Exception as error:  # of the engine, or of Python for a text that is none
        said = error
    finally:
        stop.cancel()
    shown = str(said).replace(text, "") if isinstance(said, Exception) else said
    if canary.sings_in(shown):
        tried.findings.append(f"straight in: {text[:120]!r} showed the canary file")


def _rows(engine: DuckDBEngine) -> list[tuple[object, ...]]:
    """Every table of the engine's file, with a number that changes with its rows."""
    with engine._file.reading() as connection:
        named = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        return [
            (schema, table, connection.execute(_SUMMARY.format(schema=schema, table=table)).fetchone())
            for schema, table in named
        ]
