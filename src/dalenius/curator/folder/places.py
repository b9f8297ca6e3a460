"""Where ledger and mark lie, and the passwords of places where tables stay: secrets.toml, which is never shown."""

from __future__ import annotations

import importlib
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomlkit

from dalenius.curator.folder.declarations import require_names
from dalenius.curator.folder.files import PRIVATE_FILE, make_folder, replace_text
from dalenius.curator.ledger.marks import Mark
from dalenius.curator.ledger.stores import SQLiteStore, Store
from dalenius.errors import DaleniusError, InvalidParameter, LedgerStopped, MissingExtra

NAME = "secrets.toml"
LEDGER = "ledger.sqlite"
_URLS = ("postgresql://", "postgres://")
PASSWORDS = "passwords"
_HEADER = """\
# Where ledger and high-water mark of this database lie, and the passwords (or tokens) of places where its tables stay.
# Keep it to yourself.

"""


@dataclass(frozen=True)
class Places:
    """Where the owner wants ledger and mark to lie; None is the usual place. `passwords` are those of addresses where
    tables stay. None of it is ever printed."""

    ledger: str | None = field(default=None, repr=False)
    mark: str | None = field(default=None, repr=False)
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)

    def ledger_store(self, folder: Path) -> Store:
        """The ledger's store: in the folder, or where the owner said."""
        with _unnamed("ledger"):
            return SQLiteStore(folder / LEDGER) if self.ledger is None else _postgres(self.ledger)

    def mark_of(self, ledger: str, folder: Path) -> Mark:
        """The mark of a ledger: in the user's state folder, or where the owner said; never in the database's folder."""
        with _unnamed("mark"):
            if self.mark is not None and is_url(self.mark):
                return _marked(_postgres(self.mark), ledger)
            place = state_folder() / "marks" / f"{ledger}.sqlite" if self.mark is None else Path(self.mark)
            _require_outside(place, folder)
            make_folder(place.parent)
            return Mark.in_file(place, ledger)

    def write(self, folder: Path) -> None:
        """Keep the places of the owner's choice."""
        document = tomlkit.document()
        for name, place in (("ledger", self.ledger), ("mark", self.mark)):
            if place is not None:
                document[name] = place
        if self.passwords:
            document[PASSWORDS] = dict(self.passwords)
        replace_text(folder / NAME, _HEADER + tomlkit.dumps(document))


def chosen(*, ledger: str | None, mark: str | Path | None) -> Places:
    """The places that an owner names."""
    if ledger is not None and not (isinstance(ledger, str) and is_url(ledger)):
        raise InvalidParameter("ledger", type(ledger), allowed="left out, or a URL such as postgresql://host/database")
    if mark is None or (isinstance(mark, str) and is_url(mark)):
        return Places(ledger, mark)
    if not isinstance(mark, str | os.PathLike) or not str(mark):
        raise InvalidParameter("mark", type(mark), allowed="the path of a file, or a URL of PostgreSQL")
    return Places(ledger, str(Path(mark).expanduser().absolute()))


def _require_outside(mark: Path, folder: Path) -> None:
    """Refuse a mark in the folder, in whatever way its place was chosen."""
    if not mark.is_absolute() or mark.resolve().is_relative_to(folder.resolve()):
        raise InvalidParameter(
            "mark", "inside the database's folder", allowed="an absolute path outside it (mark=..., or XDG_STATE_HOME)",
            hint="A backup that brings the folder back must not bring the mark back with it.",
        )  # fmt: skip


def kept(folder: Path) -> Places:
    """The places that were chosen when the database was made."""
    path = folder / NAME
    if not path.exists():
        return Places()
    path.chmod(PRIVATE_FILE)  # an editor may have opened it to others
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        require_names(found, ("ledger", "mark", PASSWORDS))
        passwords = found.pop(PASSWORDS, {})
        if isinstance(passwords, dict) and all(
            isinstance(text, str) for text in (*found.values(), *passwords.values())
        ):
            return Places(found.get("ledger"), found.get("mark"), passwords)
    except (ValueError, RecursionError):  # not TOML, not UTF-8, not what stands there, or what Python does not read
        pass  # what it says is not repeated here
    raise InvalidParameter(
        NAME, "not readable", allowed='written in TOML, with "ledger", "mark" and the values of [passwords] as texts'
    )


def password(folder: Path, address: str) -> str | None:
    """The password or token of an address, as secrets.toml has it now."""
    return kept(folder).passwords.get(address)


def keep_passwords(folder: Path, changed: Mapping[str, str | None]) -> None:
    """Write passwords of addresses down; None takes one out."""
    before = kept(folder)
    wanted = {name: text for name, text in {**before.passwords, **changed}.items() if text is not None}
    if wanted != dict(before.passwords):
        replace(before, passwords=wanted).write(folder)


def state_folder() -> Path:
    """Where programs of this user keep what they know between runs."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if home and Path(home).is_absolute() else Path.home() / ".local" / "state") / "dalenius"


def is_url(place: str) -> bool:
    return place.startswith(_URLS)


def _marked(store: Store, ledger: str) -> Mark:
    try:
        return Mark(store, ledger)
    except BaseException:
        store.close()
        raise


@contextmanager
def _unnamed(what: str) -> Iterator[None]:
    """Say that a place cannot be used without naming it."""
    try:
        yield
        return
    except LedgerStopped:
        pass
    except DaleniusError:
        raise
    except Exception:  # noqa: S110 - what a driver says may name hosts, users and passwords
        pass
    raise InvalidParameter(what, "out of reach", allowed="in a place that can be reached and written to")


def _postgres(url: str) -> Store:
    """A store in PostgreSQL, whose driver is loaded only where it is used."""
    try:
        module = importlib.import_module("dalenius.curator.ledger.postgres")
    except ImportError:
        raise MissingExtra("a ledger or mark in PostgreSQL", package="psycopg", extra="postgres") from None
    store: Store = module.PostgresStore(url)
    return store
