"""`dalenius grant`, `grants`, `revoke`, `study` and `token`."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from dalenius.catalog.catalog import Grant, Study
from dalenius.catalog.declarations import day, share
from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.errors import InvalidParameter
from dalenius.ledger.accounts import Rate
from dalenius.ledger.tokens import Tokens
from dalenius.privacy.numbers import format_number

_RATE = re.compile(r"(\d{1,9})/(\d{1,9})")


def grant(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Let an analyst ask."""
    with opened(chosen.folder) as db:
        db.grant(
            chosen.analyst,
            tables=chosen.tables,
            share=chosen.share,
            study=chosen.study,
            most_epsilon=chosen.most_epsilon,
            rate=_rate(chosen.rate),
            until=chosen.until,
            pays_for_replays=chosen.pays_for_replays,
        )
        granted = db.catalog.grants[chosen.analyst]
    terminal.report(_grant_facts(chosen.analyst, granted), _granted(chosen.analyst, granted), as_json=chosen.json)


def _grant_facts(analyst: str, granted: Grant) -> dict[str, Any]:
    """All terms of a grant; numbers are texts, None stands for what it does not limit."""
    return {
        "analyst": analyst,
        "tables": list(granted.tables),
        "shares": {name: str(part) for name, part in granted.shares},
        "study": granted.study,
        "most_epsilon": None if granted.most_epsilon is None else str(format_number(granted.most_epsilon)),
        "rate": f"{granted.rate.count}/{granted.rate.seconds}",
        "until": None if granted.until is None else str(day(granted.until)),
        "pays_for_replays": granted.pays_for_replays,
    }


def _granted(analyst: str, granted: Grant) -> str:
    """A grant in words."""
    facts = _grant_facts(analyst, granted)
    limits = ", ".join(f"up to {share(part)} of the budget of {name}" for name, part in granted.shares)
    terms = {"study": "inside the study {}", "most_epsilon": "at most epsilon = {} a question",
             "rate": "{} questions/seconds", "until": "until {}", "pays_for_replays": "replays count"}  # fmt: skip
    told = [form.format(facts[name]) for name, form in terms.items() if facts[name]]
    return "; ".join([f"{analyst} may ask about {', '.join(granted.tables)}", limits or "all public", *told]) + "."


def grants(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Who may ask what, and who holds a token; the tokens themselves are kept nowhere."""
    with opened(chosen.folder) as db:
        known, holders = db.catalog.grants, Tokens(db.ledger).holders()
    tokens = [{"who": each.who, "role": each.role, "expires": each.expires.isoformat(timespec="seconds")}
              for each in holders]  # fmt: skip
    if chosen.json:
        terminal.show_json({"grants": [_grant_facts(*each) for each in known.items()], "tokens": tokens})
        return
    terminal.show("\n".join(_granted(*each) for each in known.items()) or "Nobody was granted anything.")
    for each in holders:
        ended = "; it has ended" if each.expires <= dt.datetime.now(dt.UTC) else ""
        terminal.show(f"{each.who} holds a token as {each.role} until {each.expires:%Y-%m-%d %H:%M} UTC{ended}.")


def revoke(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Take back a grant, and the tokens that go with it."""
    with opened(chosen.folder) as db:
        (db.revoke_tokens if chosen.tokens_only else db.revoke)(chosen.analyst)
        kept = db.catalog.grants.get(chosen.analyst)
    said = f"{chosen.analyst} may ask no more, and the tokens are ended; what was spent stays spent."
    if chosen.tokens_only:
        said = f"The tokens of {chosen.analyst} are ended; grants stay as they were."
    terminal.report({"analyst": chosen.analyst, "tables": list(kept.tables) if kept else []}, said, as_json=chosen.json)


def study(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Open a study."""
    with opened(chosen.folder) as db:
        db.add_study(
            chosen.study,
            population=chosen.population,
            share=chosen.share,
            reserve=chosen.reserve,
            start=chosen.start,
            end=chosen.end,
            purpose=chosen.purpose,
        )
        opened_study = db.catalog.studies[chosen.study]
    facts = _study_facts(opened_study)
    terms = {"reserve": "{} is held for it", "start": "from {}", "end": "until {}", "purpose": "for {}"}
    told = [form.format(facts[name]) for name, form in terms.items() if facts[name]]
    said = f"The study {chosen.study} may spend up to {facts['share']} of the budget of {chosen.population}"
    terminal.report(facts, "; ".join([said, *told]) + ".", as_json=chosen.json)


def _study_facts(study: Study) -> dict[str, Any]:
    """All terms of a study as texts, None for those that it has not."""
    return {
        "study": study.name,
        "population": study.population,
        "share": share(study.share),
        "reserve": None if study.reserve is None else share(study.reserve),
        "start": None if study.start is None else str(day(study.start)),
        "end": None if study.end is None else str(day(study.end)),
        "purpose": study.purpose or None,
    }


def token(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Issue a token: it goes to standard output, once, and nowhere else."""
    with opened(chosen.folder) as db, _kept(chosen.out) as file:
        issued = db.token(chosen.who, role=chosen.role, days=chosen.days)
        if file is not None:
            file.write(f"{issued}\n")
        granted = chosen.role != "analyst" or chosen.who in db.catalog.grants
    facts = {"who": chosen.who, "role": chosen.role, "days": chosen.days}
    if file is None:
        terminal.report({"token": issued, **facts}, issued, as_json=chosen.json)
        terminal.tell(f"dalenius: this is the only time that the token of {chosen.who} is shown; it holds for "
                      f"{chosen.days} days. Keep it in a file of mode 0600 (--out), or in DALENIUS_TOKEN.")  # fmt: skip
    else:
        said = (
            f"The token of {chosen.who} is in {chosen.out}, which only you can read, and holds for {chosen.days} days."
        )
        terminal.report({"out": chosen.out, **facts}, said, as_json=chosen.json)
    if not granted:
        terminal.tell(f"dalenius: nothing is granted to {chosen.who}, who can ask nothing yet; see `dalenius grant`.")


@contextmanager
def _kept(place: str | None) -> Iterator[TextIO | None]:
    """A new file that only this user can read, made before there is a token to keep in it."""
    if place is None:
        yield None
        return
    try:
        file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
    except FileExistsError:
        raise InvalidParameter("--out", place, allowed="a new file") from None
    with file:
        yield file


def _rate(given: str | None) -> Rate | None:
    found = None if given is None else _RATE.fullmatch(given.strip())
    if given is not None and found is None:
        raise InvalidParameter("--rate", given, allowed="a number of questions in a number of seconds, such as 20/3600")
    return None if found is None else Rate(int(found[1]), seconds=int(found[2]))
