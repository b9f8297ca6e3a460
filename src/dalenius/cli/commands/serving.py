"""`dalenius serve`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dalenius.cli.terminal import Terminal
from dalenius.errors import InvalidParameter, MissingExtra

try:
    from dalenius.server.limits import Limits
    from dalenius.server.schedule import ReplySchedule
    from dalenius.server.serving import Serving
    from dalenius.server.serving import serve as serve_until_told
except ModuleNotFoundError as missing:
    if missing.name not in ("starlette", "uvicorn"):
        raise
    raise MissingExtra("The server", package=missing.name, extra="server") from None


def serve(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Answer over HTTP until somebody stops it."""
    if chosen.admin and chosen.no_admin:
        raise InvalidParameter("--admin", True, allowed="left out where there is --no-admin")
    serving = Serving(
        Path(chosen.folder),
        host=chosen.host,
        port=chosen.port,
        admin=True if chosen.admin else False if chosen.no_admin else None,
        workers=chosen.workers,
        grid=ReplySchedule(step=chosen.step, headroom=chosen.headroom),
        limits=Limits(seconds=chosen.seconds),
        certificate=_path(chosen.certificate),
        key=_path(chosen.key),
        insecure=chosen.insecure,
    )
    with _log(chosen.log, terminal) as log:
        serve_until_told(
            serving,
            announce=lambda address: terminal.tell(f"dalenius: answers at {address}; stop with Ctrl-C."),
            log=lambda line: print(line, file=log, flush=True),
        )


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


@contextmanager
def _log(place: str | None, terminal: Terminal) -> Iterator[TextIO]:
    if place is None:
        yield terminal.told
        return
    with open(place, "a", encoding="utf-8") as file:
        yield file
