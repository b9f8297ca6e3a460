"""Files that only their owner reads, that are replaced as a whole, and locks that end with their process.

Where ledger and mark lie, and the passwords of places where tables stay: secrets.toml, which is never shown.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import tomlkit

from dalenius.catalog.declarations import require_names
from dalenius.errors import DaleniusError, InvalidParameter, LedgerStopped, MissingExtra
from dalenius.ledger.marks import Mark
from dalenius.ledger.stores import SQLiteStore, Store

try:
    import fcntl
except ImportError:  # there are no such locks on Windows
    fcntl = None  # type: ignore[assignment]

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_PAUSE = 0.02


def make_folder(path: Path) -> None:
    """A folder, and those above it, that only this user can enter, whatever the umask; one that is there is kept."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        path.chmod(PRIVATE_FOLDER)


def replace_text(path: Path, text: str) -> None:
    """Give a file a new content.

    Guarantee: after a crash at any moment the file has the old content or the new one, whole; when this has returned,
    the new one is durable. Nobody but the owner can read it.
    """
    with drafted(path, text) as take:
        take()


@contextmanager
def drafted(path: Path, text: str) -> Iterator[Callable[[], None]]:
    """A new content for a file, durable beside it: there is room for it. It takes its place when what is given here is
    called, and is forgotten otherwise."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")

    def take() -> None:
        draft.replace(path)
        sync_folder(path.parent)

    try:
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(PRIVATE_FILE)
        yield take
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make the names of new and deleted files durable."""
    if os.name == "nt":  # folders cannot be opened there
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def locked(path: Path, *, seconds: float, what: str) -> Iterator[None]:
    """Shut out everybody else who locks this file, in other processes too; wait for them up to `seconds`."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        ends = time.monotonic() + seconds
        while not _taken(number):
            if time.monotonic() > ends:
                raise InvalidParameter(
                    "database", "in use", allowed=f"free: another process {what}", hint="Try again when it has ended."
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(number)


def _taken(number: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
        module = importlib.import_module("dalenius.ledger.postgres")
    except ImportError:
        raise MissingExtra("a ledger or mark in PostgreSQL", package="psycopg", extra="postgres") from None
    store: Store = module.PostgresStore(url)
    return store
