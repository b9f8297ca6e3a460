"""`check ledger`: charges come first, stay, and never exceed the budget; on a folder, its own ledger is recomputed.

Without a folder it works on scratch databases: many ask at once, analysts and studies pay, work fails in many ways,
attempts are repeated, everybody asks for stored answers, the data is unplugged, and an older copy of the ledger is put
back.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.accounting.amounts import Charge
from dalenius.checks.ledgers import (
    add_doctors,
    answers_for_others,
    charges_through_levels,
    database,
    failure,
    questions_through_levels,
)
from dalenius.checks.outcomes import CheckRequest, Figure, Outcome
from dalenius.engines.duckdb.connection import File
from dalenius.engines.duckdb.engine import DuckDBEngine
from dalenius.engines.several import Engines
from dalenius.errors import BudgetExceeded, DaleniusError, LedgerRefused, WorkStopped
from dalenius.ledger.accounts import Account
from dalenius.session.answers.encoding import encoded
from dalenius.session.databases import Database
from dalenius.session.databases import open as opened

_COUNT = "SELECT COUNT(*) AS n FROM visits WHERE age >= {age}"
_CELL = "a cell of somebody"
_PRICE = Fraction(1, 100)
_CLIENTS = 8
_ABUSE: tuple[Any, ...] = (
    "nan", "inf", "-inf", "-1", "0", "1e999", "-0.0", "0x1", "1/0", "", "½", "١", True, None, [], 10**400,
    float("nan"), float("inf"), -1, 0,
)  # fmt: skip


def check(asked: CheckRequest, /) -> Outcome:
    """The ledger of a folder, or the promises of the executor on a scratch database."""
    if asked.folder is not None:
        return _of_folder(asked.folder)
    count = 400 if asked.count is None else max(40, asked.count)
    figures, findings = [], []
    for place, (what, goal, look) in enumerate(PROMISES, start=1):
        with tempfile.TemporaryDirectory(prefix="dalenius-check-") as folder:
            tried, broken = look(Path(folder), count)
        figures.append(Figure(what, tried, f"{len(broken)} broken", goal, held=not broken and tried > 0))
        findings += [f"{each}; shown again by dalenius check ledger --count {count}" for each in broken]
        asked.tick(100 * place / len(PROMISES))
    return Outcome("ledger", tuple(figures), tuple(findings))


def _of_folder(folder: Path) -> Outcome:
    """The chain and every balance of an owner's ledger, recomputed from its entries."""
    try:
        db = opened(folder)
    except LedgerRefused as refused:
        figure = Figure("the ledger of the folder", 1, "refused", "to be trusted", held=False)
        return Outcome("ledger", (figure,), (refused.problem,))
    try:
        charges, problems = len(db.history()), db.verify().problems
    finally:
        db.close()
    found = f"{len(problems)} problems"
    return Outcome(
        "ledger",
        (Figure("charges of the folder, recomputed", charges, found, "0", held=not problems),),
        tuple(problems),
    )


def _spent(db: Database) -> Fraction:
    return db.spent()["patients"].share


@contextmanager
def _engine_that(db: Database, run: Callable[[Callable[[], Any]], Any]) -> Iterator[None]:
    """An engine whose work goes through `run`."""
    engine = db._curator.engine
    assert isinstance(engine, Engines)
    right = DuckDBEngine.run

    def other(self: DuckDBEngine, *given: Any, **named: Any) -> Any:
        return run(lambda: right(self, *given, **named)) if self is engine.imported else right(self, *given, **named)

    DuckDBEngine.run = other  # type: ignore[method-assign]
    try:
        yield
    finally:
        DuckDBEngine.run = right  # type: ignore[method-assign]


# ---- the promises


def _race(folder: Path, count: int) -> tuple[int, list[str]]:
    """Many ask at once for more than there is."""
    told, refused = list[str](), list[int]()
    share = Fraction(2, count)  # for half of them
    with database(folder) as db:

        def client(number: int) -> None:
            for attempt in range(count // _CLIENTS):
                try:
                    question = db.sql(_COUNT.format(age=(number + attempt) % 90))
                    told.append(question.run(share=share, fresh=True).receipt)
                except BudgetExceeded:
                    refused.append(number)

        with ThreadPoolExecutor(_CLIENTS) as pool:
            list(pool.map(client, range(_CLIENTS)))
        broken = [] if _spent(db) <= 1 else ["more was spent than the budget holds"]
        broken += [] if refused else ["nobody was refused, though all asked for twice the budget"]
        known = {receipt.id for receipt in db.history()}
        broken += [f"{len(set(told) - known)} answers were given without a charge"] if set(told) - known else []
        broken += ["an answer has the receipt of another"] if len(set(told)) < len(told) else []
        broken += list(db.verify().problems)
    return count, broken


def _to_the_unit(folder: Path, count: int) -> tuple[int, list[str]]:
    """The receipt, and what each account has less afterwards, are the price: neither less nor more, for everybody whose
    rows are asked about and for nobody else."""
    broken = list[str]()
    offers: list[dict[str, Any]] = [{"epsilon": _PRICE}, {"epsilon": _PRICE / 7}, {"share": Fraction(1, 300)}]
    with database(folder) as db:
        add_doctors(db)
        for text, names in _ASKED_ABOUT.items():
            for offer in offers:
                broken += _charged_to(db, text, names, offer)
    return len(_ASKED_ABOUT) * len(offers), broken


_ASKED_ABOUT = {
    _COUNT.format(age=30): ["patients"],
    "SELECT city, AVG(age) AS a, COUNT(*) AS n FROM visits GROUP BY city": ["patients"],
    "SELECT COUNT(*) AS n FROM (SELECT age FROM visits UNION ALL SELECT age FROM shifts) AS b": ["doctors", "patients"],
    "SELECT city, AVG(age) AS a "
    "FROM (SELECT age, city FROM visits UNION ALL SELECT age, city FROM shifts) AS b GROUP BY city": [
        "doctors",
        "patients",
    ],
}
"""Questions, and the populations whose rows they read."""


def _charged_to(db: Database, text: str, names: Sequence[str], offer: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the charge of a question about these populations."""
    ledger, question, known = db._curator.ledger, db.sql(text), len(db.history())
    price = {Account((name,)): amount for name, amount in question.cost(**offer).amounts.items()}
    before = {name: ledger.spent(Account((name,))) for name in ("doctors", "patients")}
    paid = question.run(**offer).receipt
    new = ledger.history()[known:]
    taken = [(charge.account, charge.amount) for receipt in new for charge in receipt.charges]
    if [receipt.id for receipt in new] != [paid] or len(taken) != len(price) or dict(taken) != price:
        yield f"a price of {_amounts(price.items())} was charged as {_amounts(taken)}"
    if sorted(account.population for account, _ in taken) != names:
        yield f"a question about {' and '.join(names)} was charged as {_amounts(taken)}"
    for name, spent in before.items():
        due = price.get(Account((name,)))
        if ledger.spent(Account((name,))) != (spent if due is None else spent + due):
            yield f"a charge of {due or 'nothing'} is not what {name} have less"


def _amounts(charges: Iterable[tuple[Account, Charge]]) -> str:
    return ", ".join(f"{amount} to {account}" for account, amount in charges) or "nothing"


def _charged_first(folder: Path, count: int) -> tuple[int, list[str]]:
    """When the engine begins, the charge is in the ledger's file already."""
    broken: list[str] = []
    with database(folder) as db:
        before = 0

        def looking(work: Callable[[], Any]) -> Any:
            if len(db.history()) <= before:
                broken.append("the engine was asked before the charge")
            return work()

        with _engine_that(db, looking):
            for age in range(10):
                before = len(db.history())
                db.sql(_COUNT.format(age=age)).run(epsilon=_PRICE)
    return 10, broken


def _failing(folder: Path, count: int) -> tuple[int, list[str]]:
    """Work that fails stays charged, and looks the same however it fails."""
    errors = (ValueError(_CELL), MemoryError(), RuntimeError(_CELL), KeyError(7), RecursionError(), OSError(5, _CELL),
              WorkStopped(), ZeroDivisionError(_CELL), UnicodeDecodeError("utf-8", b"\xff", 0, 1, _CELL))  # fmt: skip
    said, broken = set[str](), list[str]()
    with database(folder) as db:
        for age, error in enumerate(errors):
            before = _spent(db)

            def failing(work: Callable[[], Any], error: BaseException = error) -> Any:
                raise error

            with _engine_that(db, failing):
                try:
                    db.sql(_COUNT.format(age=age)).run(epsilon=_PRICE)
                    broken.append("failed work gave an answer")
                except BaseException as told:
                    said.add(f"{type(told).__name__}: {told} {told.__cause__} {told.__context__}")
            if _spent(db) <= before:
                broken.append(f"work that failed with {type(error).__name__} was not charged, or was given back")
    broken += [f"failures are told apart: {sorted(said)[0]!r} and {sorted(said)[1]!r}"] if len(said) > 1 else []
    broken += ["a failure quotes a cell"] if any(_CELL in each for each in said) else []
    return len(errors), broken


def _repeated(folder: Path, count: int) -> tuple[int, list[str]]:
    """The same attempt, and an equal question, cost once and are the same bytes."""
    broken: list[str] = []
    with database(folder) as db:
        for age in range(10):
            question = db.sql(_COUNT.format(age=age))
            first = question.run(epsilon=_PRICE, key=f"attempt {age}")
            spent = _spent(db)
            again = question.run(epsilon=_PRICE, key=f"attempt {age}")
            equal = db.sql(_COUNT.format(age=age)).run(epsilon=_PRICE)
            if _spent(db) != spent:
                broken.append("a repeated attempt was charged")
            if not encoded(first) == encoded(again) == encoded(equal):
                broken.append("a repeated attempt was drawn anew")
    return 20, broken


def _lost(folder: Path, count: int) -> tuple[int, list[str]]:
    """An attempt that failed after its charge is not drawn again under the same name."""
    broken: list[str] = []
    with database(folder) as db:

        def failing(work: Callable[[], Any]) -> Any:
            raise ValueError

        for age in range(5):
            question = db.sql(_COUNT.format(age=age))
            with _engine_that(db, failing):
                failure(lambda question=question, age=age: question.run(epsilon=_PRICE, key=str(age)))  # type: ignore[misc]
            if not isinstance(failure(lambda q=question, age=age: q.run(epsilon=_PRICE, key=str(age))), WorkStopped):  # type: ignore[misc]
                broken.append("an attempt that had failed was drawn for nothing")
    return 5, broken


def _unplugged(folder: Path, count: int) -> tuple[int, list[str]]:
    """Prices, errors and derivations are told where no row can be read."""
    broken: list[str] = []
    right = File.reading

    def unplugged(self: File) -> Any:
        raise OSError("unplugged")

    with database(folder) as db:
        before = _spent(db)
        try:
            File.reading = unplugged  # type: ignore[method-assign]
            for age in range(5):
                question = db.sql(_COUNT.format(age=age))
                for name in ("cost", "expected_error", "explain"):
                    if (failed := failure(lambda q=question, n=name: getattr(q, n)(epsilon=_PRICE))) is not None:  # type: ignore[misc]
                        broken.append(f"{name} reads rows: it ended with {type(failed).__name__}")
        finally:
            File.reading = right  # type: ignore[method-assign]
        if _spent(db) != before:
            broken.append("a price was charged for")
    return 15, broken


def _abused(folder: Path, count: int) -> tuple[int, list[str]]:
    """Numbers that are no price are refused, and cost nothing."""
    broken: list[str] = []
    with database(folder) as db:
        for number in _ABUSE:
            question = db.sql(_COUNT.format(age=1))
            failed = failure(lambda q=question, n=number: q.run(epsilon=n))  # type: ignore[misc]
            if not isinstance(failed, DaleniusError) or _spent(db):
                broken.append(f"the price {str(number)[:20]!r} was taken")
        if not broken and failure(lambda: question.run(epsilon="1e-400")) is None and not _spent(db):
            broken.append("an answer cost nothing")
    return len(_ABUSE) + 1, broken


def _restored(folder: Path, count: int) -> tuple[int, list[str]]:
    """An older copy of the ledger is refused; the newest goes on where it was."""
    with database(folder) as db:
        db.sql(_COUNT.format(age=1)).run(epsilon=_PRICE)
    older = folder / "older"
    shutil.copytree(folder / "db", older)
    with _reopened(folder) as db:
        db.sql(_COUNT.format(age=2)).run(epsilon=_PRICE)
        spent = _spent(db)
    with _reopened(folder) as db:
        broken = [] if _spent(db) == spent else ["what was spent is lost when a database is opened again"]
    shutil.rmtree(folder / "db")
    older.rename(folder / "db")
    refused = failure(lambda: opened(folder / "db", mark=folder / "mark.sqlite").close())
    return 2, broken + ([] if isinstance(refused, LedgerRefused) else ["an older copy of the ledger was taken"])


@contextmanager
def _reopened(folder: Path) -> Iterator[Database]:
    db = opened(folder / "db", mark=folder / "mark.sqlite")
    try:
        yield db
    finally:
        db.close()


PROMISES: tuple[tuple[str, str, Callable[[Path, int], tuple[int, list[str]]]], ...] = (
    ("charges by many at once", "never more than the budget", _race),
    ("prices of questions", "charged to the unit", _to_the_unit),
    ("charges through every level", "added up at each, to the unit", charges_through_levels),
    ("questions of analysts, studies and blocks", "charged to every level", questions_through_levels),
    ("questions that look at the ledger", "charged before anything is read", _charged_first),
    ("ways to fail after the charge", "charged, and all told alike", _failing),
    ("repeated attempts and questions", "the same bytes, for nothing", _repeated),
    ("stored answers asked for by everybody", "for who may ask their tables", answers_for_others),
    ("attempts that had failed", "never drawn twice for one price", _lost),
    ("prices with the data unplugged", "told without a row", _unplugged),
    ("numbers that are no price", "refused, for nothing", _abused),
    ("restarts and older copies", "nothing spent is lost", _restored),
)
