"""`dalenius grant`, `revoke`, `study` and `token`."""

from __future__ import annotations

import argparse
import re

from dalenius.cli.sessions import opened
from dalenius.cli.terminal import Terminal
from dalenius.curator.folder.declarations import share
from dalenius.curator.ledger.accounts import Rate
from dalenius.errors import InvalidParameter

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
        granted = db._curator.catalog.grants[chosen.analyst]
    shares = {name: share(part) for name, part in granted.shares}
    facts = {"analyst": chosen.analyst, "tables": list(granted.tables), "shares": shares}
    limits = ", ".join(f"up to {part} of the budget of {name}" for name, part in shares.items())
    _say(
        facts,
        f"{chosen.analyst} may ask about {', '.join(granted.tables)}; {limits or 'all public'}.",
        chosen,
        terminal,
    )


def revoke(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Take back a grant, and the tokens that go with it."""
    with opened(chosen.folder) as db:
        db.revoke(chosen.analyst)
    said = f"{chosen.analyst} may ask no more, and the tokens are ended; what was spent stays spent."
    _say({"analyst": chosen.analyst, "tables": []}, said, chosen, terminal)


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
    facts = {"study": chosen.study, "population": chosen.population, "share": chosen.share}
    said = f"The study {chosen.study} may spend up to {chosen.share} of the budget of {chosen.population}."
    _say(facts, said, chosen, terminal)


def token(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """Issue a token: it goes to standard output, once, and nowhere else."""
    with opened(chosen.folder) as db:
        issued = db.token(chosen.who, role=chosen.role, days=chosen.days)
    facts = {"token": issued, "who": chosen.who, "role": chosen.role, "days": chosen.days}
    _say(facts, issued, chosen, terminal)
    terminal.tell(
        f"dalenius: this is the only time that the token of {chosen.who} is shown; it holds for {chosen.days} days. "
        f"Keep it in a file of mode 0600, or in the environment variable DALENIUS_TOKEN."
    )


def _rate(given: str | None) -> Rate | None:
    found = None if given is None else _RATE.fullmatch(given.strip())
    if given is not None and found is None:
        raise InvalidParameter("--rate", given, allowed="so many questions in so many seconds, such as 20/3600")
    return None if found is None else Rate(int(found[1]), seconds=int(found[2]))


def _say(facts: dict[str, object], said: str, chosen: argparse.Namespace, terminal: Terminal) -> None:
    if chosen.json:
        terminal.show_json(facts)
    else:
        terminal.show(said)
