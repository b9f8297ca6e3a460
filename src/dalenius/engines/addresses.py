"""Where tables stay that are not imported: how owners write such a place, and what of it must never be written down.

    ("postgresql://reader@host:5432/clinic", "schema.table")      or "postgresql://reader@host:5432/clinic#schema.table"
    ("spark" | "local[2]" | "spark://host:7077" | "sc://host:15002", "catalog.table" or a path of Parquet files)
    (a SparkSession, "catalog.table" or a path of Parquet files)

A password or token is taken out of an address. What might hold one in a way that is not known here is refused, and no
refusal repeats an address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote

from dalenius.errors import InvalidParameter

SPARK = "spark"
"""The session of this process."""
_POSTGRES, _CONNECT = ("postgresql://", "postgres://"), "sc://"
_LOCAL = re.compile(r"local(\[[\w*]+(,\d+)?\])?")
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w.%~-]*)(:\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(,{_HOST})*")
_SERVER = re.compile(r"(spark|sc)://(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?")
_SETTINGS = (
    "host", "hostaddr", "port", "user", "passfile", "service", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl",
    "sslcrldir", "sslsni", "sslnegotiation", "channel_binding", "require_auth", "gssencmode", "krbsrvname",
    "connect_timeout", "target_session_attrs", "load_balance_hosts", "application_name", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
)  # fmt: skip
"""What an address of PostgreSQL may say besides user, host and database; none of it is a secret, and none of it changes
what a query means."""
_CONNECT_SETTINGS = frozenset({"use_ssl", "user_id", "user_agent"})
_AZURE = ("abfss://", "abfs://", "wasbs://", "wasb://")
"""Here a container stands before an @, and no user."""
_LONGEST = 1000


@dataclass(frozen=True)
class RemoteSource:
    """A source whose rows stay where they are: its address, the table there, and what must not be written down."""

    address: str
    table: str
    secret: str | None = field(default=None, repr=False)
    session: Any = field(default=None, repr=False, compare=False)

    @property
    def place(self) -> tuple[str, str]:
        """What may be written down."""
        return self.address, self.table


def staying(source: object) -> RemoteSource | None:
    """The place that an owner names; None if the source is a file or a table in memory."""
    if isinstance(source, str):
        address, sign, table = source.partition("#")
        if not is_address(address):
            return None
        if not sign or set(table) & set("#@"):
            _refuse("written with its table, as in postgresql://reader@host/clinic#schema.table")
        return staying((address, table))
    if not isinstance(source, tuple | list) or len(source) != 2:
        return None
    place, table = source
    if is_session(place):
        return RemoteSource(SPARK, _spark_table(table), session=place)
    if not isinstance(place, str) or not is_address(place):
        return None
    address, secret = public_address(place)
    return RemoteSource(address, _name(table) if is_postgres(address) else _spark_table(table), secret)


def is_address(text: str) -> bool:
    """Whether a text is the address of an engine, and no path of a file."""
    return text.startswith((*_POSTGRES, "spark://", _CONNECT)) or text == SPARK or bool(_LOCAL.fullmatch(text))


def is_postgres(address: str) -> bool:
    return address.startswith(_POSTGRES)


def is_session(place: object) -> bool:
    """Whether this is a SparkSession, of either kind."""
    return any(
        kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.") for kind in type(place).__mro__
    )


def public_address(text: str) -> tuple[str, str | None]:
    """An address without its secret, and the secret."""
    if len(text) > _LONGEST or not text.isprintable() or "#" in text or "\\" in text or any(map(str.isspace, text)):
        _refuse("one address; in a password write special signs such as # @ / as %23 %40 %2F")
    if is_postgres(text):
        return _postgres(text.partition("://")[2])
    if text.startswith(_CONNECT):
        return _connect(text)
    if text.startswith("spark://") and not all(_SERVER.fullmatch(f"spark://{each}") for each in text[8:].split(",")):
        _refuse("an address of Spark such as spark://host:7077")
    return text, None


def with_secret(address: str, secret: str | None) -> str:
    """An address of Spark Connect with its token, as a client takes it. Never show it."""
    if secret is None or not address.startswith(_CONNECT):
        return address
    return f"{address}{';' if '/;' in address else '/;'}token={quote(secret, safe='')}"


# ---- PostgreSQL


def _postgres(rest: str) -> tuple[str, str | None]:
    before, _, settings = rest.partition("?")
    server, slash, database = before.partition("/")
    user, at, hosts = server.rpartition("@")
    name, colon, password = user.partition(":")
    if "@" in name + password + database + settings or "/" in database or not _HOSTS.fullmatch(hosts):
        _refuse("postgresql://user@host:port/database; special signs of a name or password are written as %40 %2F %3F")
    kept, secrets = _sorted_out(settings.split("&") if settings else [])
    secrets += [password] if colon else []
    if len(secrets) > 1:
        _refuse("with one password")
    address = f"postgresql://{name}{at}{hosts}{slash}{database}" + (f"?{'&'.join(kept)}" if kept else "")
    return address, unquote(secrets[0]) if secrets else None


def _sorted_out(settings: Iterable[str]) -> tuple[list[str], list[str]]:
    """Settings that may be written down, and passwords."""
    kept, secrets = [], []
    for setting in settings:
        name, _, value = setting.partition("=")
        if name == "password":
            secrets.append(value)
        elif name in _SETTINGS:
            kept.append(setting)
        else:
            _refuse(f"with no other settings than {', '.join(_SETTINGS)} and password")
    return kept, secrets


# ---- Spark


def _connect(text: str) -> tuple[str, str | None]:
    server, _, settings = text.partition("/;")
    server = server.removesuffix("/")
    if not _SERVER.fullmatch(server):
        _refuse("an address of Spark Connect such as sc://host:15002")
    pairs = [each.partition("=") for each in settings.split(";") if each]
    tokens = [unquote(value) for name, _, value in pairs if name == "token"]
    if len(tokens) > 1 or any(name not in _CONNECT_SETTINGS and name != "token" for name, _, _ in pairs):
        _refuse(
            f"an address of Spark Connect with no other settings than {', '.join(sorted(_CONNECT_SETTINGS))} and one "
            "token; else make the SparkSession yourself, and pass it"
        )
    kept = ";".join(f"{name}={value}" for name, _, value in pairs if name != "token")
    return server + (f"/;{kept}" if kept else ""), tokens[0] if tokens else None


def _spark_table(table: object) -> str:
    """A table of Spark's catalog, or a path: one of this machine in full, since processes differ in where they are."""
    name = _name(os.fspath(table) if isinstance(table, os.PathLike) else table)
    _, sign, rest = name.partition("://")
    server = rest.partition("/")[0]
    container = name.startswith(_AZURE) and ":" not in server and server.count("@") == 1
    if sign and (("@" in server and not container) or "?" in rest):
        _refuse("a path without a user, password or key")
    is_path = "/" in name or name.endswith(".parquet")
    return str(Path(name).absolute()) if is_path and ":" not in name else name


def _name(table: object) -> str:
    if not isinstance(table, str) or not table.strip() or not table.isprintable() or len(table) > _LONGEST:
        raise InvalidParameter("table of the source", type(table), allowed="a name such as 'schema.table'")
    return table


def _refuse(allowed: str) -> NoReturn:
    raise InvalidParameter("source", "an address", allowed=allowed)
