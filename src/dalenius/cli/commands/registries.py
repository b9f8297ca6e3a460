"""`dalenius registry`, `card`, `study-card` and `replays`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from dalenius.cli.commands.questions import answer_facts
from dalenius.cli.sessions import asking, is_url, opened, published
from dalenius.cli.terminal import Terminal
from dalenius.ledger.names import percent
from dalenius.session.registry.forms import day, lasts, promise
from dalenius.session.registry.records import PopulationRecord
from dalenius.session.registry.spending import increases
from dalenius.session.shelf import Replay


def registry(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What each population is used for, and how much of it is spent."""
    found = published(chosen)
    if chosen.html is not None:
        Path(chosen.html).write_text(found.to_html(), encoding="utf-8")
        terminal.tell(f"dalenius: the page is in {chosen.html}.")
    elif chosen.json:
        terminal.show(found.to_json())
    elif chosen.csv:
        terminal.shown.write(found.to_csv())
    else:
        terminal.show("\n\n".join(map(_upright, found.populations)) or "There is no population yet.")
        terminal.show(f"\nAs of {found.at:%Y-%m-%d %H:%M} UTC. Shares are parts of a population's whole budget.")


def _upright(record: PopulationRecord) -> str:
    """A population in lines that every terminal is wide enough for."""
    facts = {
        "used for": record.purpose or "-",
        "unit": f"{record.unit or '-'} ({record.neighbours})",
        "cap": promise(record),
        "spent": percent(record.spent),
        "releases": f"{record.releases:,}",
        "a week": percent(record.weekly),
        "lasts until": lasts(record),
        **({"retires": day(record.retires)} if record.retires else {}),
        **{f"block {name}": f"{percent(share)} spent" for name, share in record.blocks},
        **{f"study {each.name}": f"{percent(each.spent)} of {percent(each.quota)} spent" for each in record.studies},
    }
    widest = max(map(len, facts))
    return "\n".join([record.name, *(f"  {name:<{widest}}  {text}" for name, text in facts.items())])


def card(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What is and is not promised about an answer."""
    with asking(chosen) as session:
        found = session.card(chosen.receipt)
    terminal.show(found.to_json() if chosen.json else found.to_markdown())


def study_card(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What a study has released, and what that cost."""
    with opened(chosen.folder) as db:
        found = db.study_card(chosen.study)
    terminal.show(found.to_json() if chosen.json else found.to_markdown())


def replays(chosen: argparse.Namespace, terminal: Terminal) -> None:
    """What was bought before."""
    with asking(chosen) as session:
        if chosen.receipt is None:
            found = session.replays()
        else:
            answer = session.replay(chosen.receipt)
    if chosen.receipt is None:
        _list(found, chosen, terminal)
        return
    terminal.report(answer_facts(answer), answer, as_json=chosen.json)


def _list(found: Sequence[Replay], chosen: argparse.Namespace, terminal: Terminal) -> None:
    if chosen.json:
        exact = None if is_url(chosen.place) else _shares(chosen.place)
        terminal.show_json({"replays": [_replay(each, exact) for each in found]})
    else:
        terminal.show("\n".join(map(str, found)) or "No answer was bought yet.")


def _shares(folder: str) -> dict[str, dict[str, str]]:
    """By how much each release raised what was spent of each population that the catalog still has, exactly."""
    with opened(folder) as db:
        found, receipts = increases(db.ledger.entries(), db.catalog.populations), db.history()
    return {
        receipt.id: {name: str(share) for name, share in found.get(receipt.number, {}).items()} for receipt in receipts
    }


def _replay(replay: Replay, exact: Mapping[str, Mapping[str, str]] | None) -> dict[str, object]:
    return {
        "receipt": replay.receipt,
        "at": replay.at.isoformat(),
        "charged": replay.charged,
        "shares": None if exact is None else exact.get(replay.receipt),
        "asked": replay.asked,
    }
