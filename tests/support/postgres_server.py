"""A real PostgreSQL server for tests: its own data folder, loopback only, gone with the tests."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path

import psycopg
import pytest

_DEBIAN = Path("/usr/lib/postgresql")
_NUMBERS = count(1)


def programs() -> Path | None:
    """The folder of the server's programs, installed with the system's packages if it is missing and we may."""
    found = _found()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        with open(Path(tempfile.gettempdir()) / "dalenius-postgres.lock", "w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)  # the tests' other processes need it, too, and only one may install
            found = _found() or _installed()
    return found


def _installed() -> Path | None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    subprocess.run(["apt-get", "update"], timeout=300, **quiet)
    subprocess.run(["apt-get", "install", "-y", "postgresql"], timeout=600, **quiet)
    return _found()


def _found() -> Path | None:
    places = sorted(_DEBIAN.glob("*/bin"), key=lambda place: int(place.parent.name), reverse=True)
    known = shutil.which("initdb")
    places += [Path(known).resolve().parent] if known else []
    return next((place for place in places if (place / "initdb").exists()), None)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a server that runs as long as the block; tests are skipped, with the reason, where there is none."""
    found = programs()
    if found is None:
        pytest.skip("needs PostgreSQL: install the package 'postgresql', or run as root so that it can be installed")
    folder = Path(tempfile.mkdtemp(prefix="dalenius-postgres-"))
    user = _user(folder)
    try:
        _run(user, found / "initdb", "-D", folder / "data", "-U", "dalenius", "-A", "trust", "-E", "UTF8")
        port = _free_port()  # as late as can be, since others look for one, too
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        _run(user, found / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", settings, "start")
        try:
            yield f"postgresql://dalenius@127.0.0.1:{port}/postgres"
        finally:
            _run(user, found / "pg_ctl", "-D", folder / "data", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def shared() -> str:
    """The URL of a server that all tests of a process share; it ends with the process."""
    running = contextlib.ExitStack()
    atexit.register(running.close)
    return running.enter_context(server())


def database(options: str = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'") -> str:
    """The URL of a new database of the shared server, whose own order of texts is not that of their bytes."""
    name, url = f"database_{next(_NUMBERS)}", shared()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 {options}".encode())
    return url.removesuffix("postgres") + name


def login_role(name: str) -> str:
    """SQL that makes a role of the shared server, unless it is there: a process may run the tests of a module in two
    goes, each with a new database, and roles belong to all databases. What a role may do belongs to one of them."""
    return f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _user(folder: Path) -> str | None:
    """The server refuses to run as root: then it runs as the user that its package made."""
    if os.geteuid() != 0:
        return None
    with contextlib.suppress(KeyError):
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        return "postgres"
    pytest.skip("needs the user 'postgres' that the package 'postgresql' makes, since PostgreSQL does not run as root")


def _run(user: str | None, *command: object) -> None:
    subprocess.run(
        [str(part) for part in command],
        user=user,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
    )
