"""A ledger, or a mark, in PostgreSQL: for several servers that share one.

Each schema holds one ledger; `options=-csearch_path%3Dname` in the URL chooses it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dalenius.errors import InvalidParameter, LedgerStopped
from dalenius.lazy import optional
from dalenius.ledger.stores import APPENDED, Transaction, Value, require_home
from dalenius.process import identity

# The lock is that of the schema and ends with the transaction. Taken before the first look at a table, it makes each
# statement see all that was committed by those who held it before.
_BEGIN_WRITING = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SELECT pg_advisory_xact_lock(hashtextextended('dalenius ' || current_schema(), 0))",
    "SET LOCAL synchronous_commit = on",
)
_BEGIN_READING = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)

_BODY = " BEGIN RAISE EXCEPTION 'nothing in a ledger is changed or taken back'; END "
_REFUSE = f"CREATE OR REPLACE FUNCTION dalenius_refuse() RETURNS trigger LANGUAGE plpgsql AS $${_BODY}$$"
_OURS = ("accounts", "answers", "entries", "receipts", "spent", "texts")

_TABLES = (
    "SELECT relname, relkind::text, relhasrules, relrowsecurity, relhassubclass, "
    "EXISTS (SELECT FROM pg_attrdef WHERE adrelid = pg_class.oid) FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace AND relname IN (?, ?, ?, ?, ?, ?) ORDER BY relname"
)
_TRIGGERS = (
    "SELECT relname, tgname, tgtype::int, tgenabled::text, tgqual IS NULL, prosrc FROM pg_trigger "
    "JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid WHERE NOT tgisinternal "
    "AND relnamespace = current_schema()::regnamespace AND relname IN (?, ?, ?, ?, ?, ?) ORDER BY relname, tgname"
)
_BEFORE_ANY_CHANGE = 2 + 8 + 16 + 32  # before; delete, update, truncate; once for each statement


class PostgresStore:
    """One schema of a PostgreSQL database, over one connection. Every commit waits until it is on disk.

    Guarantee: that of `Store`, among all servers that use the schema. A standby that lags behind and is promoted is
    caught by the mark, if that lies elsewhere.
    """

    append_only = (
        _REFUSE,
        *(
            f"CREATE OR REPLACE TRIGGER {table}_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION dalenius_refuse()"
            for table in APPENDED
        ),
    )

    def __init__(self, url: str) -> None:
        self._driver = optional("psycopg", function="A ledger in PostgreSQL", extra="postgres")
        self._process, self._lock, self._closed = identity(), threading.RLock(), False
        self._connection = self._connected(url)

    def is_as_made(self, rows: Transaction) -> bool:
        """Compare tables, rules and triggers with those of a new ledger: a trigger could take charges back."""
        tables = [(name, "r", False, False, False, False) for name in _OURS]
        guards = [(name, f"{name}_never_changed", _BEFORE_ANY_CHANGE, "O", True, _BODY) for name in APPENDED]
        return rows.execute(_TABLES, _OURS) == tables and rows.execute(_TRIGGERS, _OURS) == guards

    def is_whole(self, rows: Transaction) -> bool:
        """The server looks after its own pages."""
        return True

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._transaction(_BEGIN_WRITING) as rows:
            yield rows

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction(_BEGIN_READING) as rows:
            yield rows

    def close(self) -> None:
        """Let go of the connection. In a forked process nothing is touched: the socket belongs to the one before."""
        if identity() == self._process:
            with self._lock:
                self._closed = True
                self._connection.close()

    @contextmanager
    def _transaction(self, begin: Sequence[str]) -> Iterator[Transaction]:
        require_home(self._process)
        with self._lock:
            if self._closed:
                raise InvalidParameter("database", "closed", allowed="open", hint="Open it again.")
            try:
                for statement in begin:
                    self._connection.execute(statement)
                yield _Rows(self._connection)
                self._connection.execute("COMMIT")
            except BaseException:
                self._undo()
                raise

    def _undo(self) -> None:
        """Undo what was begun; a connection that is lost has undone it, or committed it without a word."""
        try:
            self._connection.execute("ROLLBACK")
        except self._driver.Error:
            self._connection.close()

    def _connected(self, url: str) -> Any:
        """A connection in which each transaction is begun and ended by hand."""
        try:
            return self._driver.connect(url, autocommit=True, connect_timeout=10)
        except self._driver.Error:
            pass
        # Out of the handler: the driver's error may quote the URL, which may hold a password.
        raise LedgerStopped


class _Rows:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql.replace("?", "%s"), parameters)
        return cursor.fetchall() if cursor.description else []
