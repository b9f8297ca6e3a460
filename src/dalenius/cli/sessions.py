"""Where questions go: to a folder on this machine, or to a server."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import dalenius as dl
from dalenius.errors import InvalidParameter
from dalenius.server.client.connecting import RemoteAnalyst, published_registry
from dalenius.server.client.query import RemoteQuery
from dalenius.session.databases import Database
from dalenius.session.log import OWNER_LOG, keep
from dalenius.session.query import Query
from dalenius.session.registry.registry import Registry
from dalenius.session.sessions import Session

AnySession: TypeAlias = Session | RemoteAnalyst
AnyAsked: TypeAlias = Query | RemoteQuery

TOKEN = "DALENIUS_TOKEN"  # noqa: S105 - it names the variable
"""The environment variable that holds a token."""
_ADDRESS = re.compile(r"[\w.-]+:\d{1,5}(/.*)?")


def is_url(place: str) -> bool:
    """Whether a place is a server."""
    return place.startswith(("http://", "https://"))


def require_folder(place: str) -> None:
    """Refuse a server where only a folder will do, and an address that is none without its beginning."""
    if is_url(place):
        raise InvalidParameter(
            "folder", place, allowed="a folder on this machine: this command does not work over a server"
        )
    if _ADDRESS.fullmatch(place) and not Path(place).exists():
        raise InvalidParameter("folder", place, allowed=f"a folder; to ask a server, write http://{place}")


@contextmanager
def opened(folder: str) -> Iterator[Database]:
    """The owner's session. Why paid work failed goes into the folder's owner.log, where a server writes it too."""
    require_folder(folder)
    path = Path(folder)
    with dl.open(path) as db:
        db.log.listen(lambda failure: keep(path / OWNER_LOG, failure))
        yield db


@contextmanager
def asking(chosen: argparse.Namespace) -> Iterator[AnySession]:
    """The session of whoever asks."""
    if is_url(chosen.place):
        _require_nobody(chosen)
        options = {"insecure": chosen.insecure, "certificates": chosen.certificates}
        with dl.connect(chosen.place, token=token(chosen.token_file), **options) as session:
            yield session
    else:
        with opened(chosen.place) as db:
            yield db if chosen.analyst is None else db.as_analyst(chosen.analyst)


def published(chosen: argparse.Namespace) -> Registry:
    """The registry of a folder or a server; that of a server is for anybody, with a token or without."""
    if is_url(chosen.place):
        _require_nobody(chosen)
        return published_registry(chosen.place, certificates=chosen.certificates)
    with asking(chosen) as session:
        return session.registry()


def _require_nobody(chosen: argparse.Namespace) -> None:
    if chosen.analyst is not None:
        raise InvalidParameter("--as", chosen.analyst, allowed="left out: a server knows who asks by the token")


def token(file: str | None) -> str:
    """The token from a file or from the environment."""
    found = Path(file).read_text(encoding="utf-8") if file is not None else os.environ.get(TOKEN, "")
    if not found.strip():
        raise InvalidParameter(
            "token", None, allowed=f"in the file --token-file or in the environment variable {TOKEN}"
        )
    return found.strip()
