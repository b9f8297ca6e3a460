"""The folder of a database: its layout, and who may change it at one time.

- catalog.toml: what is declared; people read and edit it
- ledger.sqlite: what was charged, answered and imported (or in PostgreSQL)
- secrets.toml: where ledger and mark lie, if the owner chose other places, and passwords of places where tables stay
- tables.duckdb: the imported rows
- catalog.lock, import.lock, tables.wanted: locked while a process changes the catalog, imports, or wants the tables
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from dalenius.catalog.catalog import Catalog
from dalenius.catalog.catalog_file import CatalogFile
from dalenius.catalog.places import (
    LEDGER,
    PRIVATE_FOLDER,
    Places,
    chosen,
    keep_passwords,
    kept,
    locked,
    make_folder,
    password,
)
from dalenius.catalog.places import NAME as SECRETS
from dalenius.errors import InvalidParameter, LedgerRefused
from dalenius.ledger.ledger import Ledger, new_name
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import Store

_EDIT_SECONDS, _IMPORT_SECONDS = 60, 3600
_LOCK = "catalog.lock"


@dataclass(frozen=True)
class Folder:
    """A database's folder. Only its owner can enter it."""

    path: Path

    @property
    def file(self) -> CatalogFile:
        return CatalogFile(self.path)

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Nobody else changes the catalog meanwhile, in whatever process."""
        with locked(self.path / _LOCK, seconds=_EDIT_SECONDS, what="changes the catalog"):
            yield

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Nobody else imports meanwhile, in whatever process."""
        with locked(self.path / "import.lock", seconds=_IMPORT_SECONDS, what="imports rows"):
            yield

    def password(self, address: str) -> str | None:
        """The password or token of an address where tables stay."""
        return password(self.path, address)

    def keep_passwords(self, changed: Mapping[str, str | None]) -> None:
        """Write such passwords into secrets.toml; None takes one out."""
        with self.editing():
            keep_passwords(self.path, changed)

    def read(self) -> Catalog:
        """What catalog.toml declares."""
        return self.file.read().catalog


def made(path: Path, *, mark: str | Path | None, ledger: str | None) -> tuple[Folder, Ledger]:
    """A new folder, or one that is empty, with a new ledger. catalog.toml comes last: without it there is nothing."""
    path = path.absolute()
    if path.exists() and not path.is_dir():
        _refuse_used(path)
    make_folder(path)
    _require_empty(path)
    path.chmod(PRIVATE_FOLDER)
    folder, name = Folder(path), new_name()
    with folder.editing():
        _require_empty(path)
        places = chosen(ledger=ledger, mark=mark)
        try:
            if places != Places():
                places.write(path)
            return folder, _begun(folder, *_stores(places, path, name), name)
        except BaseException:
            _empty(path)
            raise


def _begun(folder: Folder, store: Store, mark: Mark, name: str) -> Ledger:
    try:
        ledger = _created(store, mark, name)
        folder.file.begin(name)
        return ledger
    except BaseException:
        store.close()
        mark.close()
        raise


def _created(store: Store, mark: Mark, name: str) -> Ledger:
    try:
        return Ledger.create(store, mark, name)
    except LedgerRefused:  # a mark that is new has never seen what is there
        raise InvalidParameter(
            "ledger", "in use", allowed="a database that holds no ledger", hint="Open the folder that it belongs to."
        ) from None


def _empty(path: Path) -> None:
    """Take back what was begun: all of it was made just now."""
    for name in (SECRETS, LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm"):
        (path / name).unlink(missing_ok=True)


def _stores(places: Places, path: Path, name: str) -> tuple[Store, Mark]:
    mark = places.mark_of(name, path)
    try:
        return places.ledger_store(path), mark
    except BaseException:
        mark.close()
        raise


def opened(path: Path, *, mark: str | Path | None = None) -> tuple[Folder, Ledger]:
    """A folder that is there, and its ledger, which is refused if it is not the one that was used last."""
    folder, places = found(path), kept(path)
    if mark is not None:
        places = replace(places, mark=chosen(ledger=None, mark=mark).mark)
    ledger = started(folder, places)
    if mark is not None:
        places.write(path)
    return folder, ledger


def found(path: Path) -> Folder:
    """The folder of a database that was made before."""
    folder = Folder(path.absolute())
    if folder.file.path.is_file():
        return folder
    if (path / LEDGER).exists():
        raise InvalidParameter(
            "path", str(path), allowed="a folder with a catalog.toml", hint="It has a ledger: bring catalog.toml back."
        )
    raise InvalidParameter(
        "path", str(path), allowed="the folder of a database", hint="There is none; make one with dl.create."
    )


def started(folder: Folder, places: Places) -> Ledger:
    """The ledger of a folder, checked against its mark."""
    name = folder.file.read().ledger
    store, mark = _stores(places, folder.path, name)
    try:
        return Ledger.start(store, mark, name)
    except BaseException:
        store.close()
        mark.close()
        raise


def _require_empty(path: Path) -> None:
    if any(entry.name != _LOCK for entry in path.iterdir()):
        _refuse_used(path)


def _refuse_used(path: Path) -> NoReturn:
    known = CatalogFile(path).path.exists()
    hint = "It is a database: go on with it by dl.open." if known else "Choose another path."
    raise InvalidParameter("path", str(path), allowed="a new or empty folder", hint=hint)
