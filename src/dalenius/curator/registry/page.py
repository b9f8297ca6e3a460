"""The registry as a page of its own: no scripts, nothing from elsewhere, every text escaped."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from html import escape as escaped

from dalenius.curator.answers.displays import printable
from dalenius.curator.names import percent
from dalenius.curator.registry.forms import day, lasts, promise
from dalenius.curator.registry.records import PopulationRecord, StudyRecord
from dalenius.privacy.numbers import shown

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2b33; --paper: #fff; --rule: #c9d3d8; --full: #27566b; --empty: #dfe8ec; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf0; --paper: #12191d; --rule: #3a474e; --full: #7fb6cc; --empty: #2a363c; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 0.25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0.5rem 0; }
dt { opacity: 0.75; } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: 0.75rem 0; }
caption { text-align: left; opacity: 0.75; }
th, td { text-align: left; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td.figure { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: 0.8rem; margin: 0.4rem 0; }
.full { fill: var(--full); } .empty { fill: var(--empty); }
"""


def escape(text: str) -> str:
    """A text for a page: neither tags nor marks that turn or hide letters."""
    return escaped(printable(text))


def page(at: dt.datetime, populations: Sequence[PopulationRecord]) -> str:
    """The page."""
    body = "".join(map(_population, populations)) or "<p>No population was declared.</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Epsilon registry</title><style>{_STYLE}</style></head>\n<body><main><h1>Epsilon registry</h1>"
        f"<p>As of {at:%Y-%m-%d %H:%M} UTC. What may be learnt about each population in all, what was spent of it, and "
        "how long it lasts. It is made of declarations and the ledger; no row and no analyst has a part in it.</p>"
        f"{body}</main></body></html>\n"
    )


def _population(record: PopulationRecord) -> str:
    facts = {
        "Used for": record.purpose or "not stated",
        "Tables": ", ".join(record.tables) or "none yet",
        "Unit": record.unit or "none yet",
        "Neighbours": record.neighbours,
        "Cap": promise(record),
        "Spent": f"{percent(record.spent)}, as much as epsilon {shown(record.spent_epsilon)} buys",
        "A week": f"{percent(record.weekly)} lately, {percent(record.weekly_overall)} overall",
        "Lasts until": "removed from the catalog; what was spent stays spent" if record.removed else lasts(record),
        "Retires": day(record.retires) or "no day set",
        "Releases": _releases(record),
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    bar = _bar(record.spent, f"{percent(record.spent)} of the budget of {record.name} is spent")
    return f"<section><h2>{escape(record.name)}</h2>{bar}<dl>{listed}</dl>{_blocks(record)}{_studies(record)}</section>"


def _releases(record: PopulationRecord) -> str:
    if not record.releases:
        return "none"
    return f"{record.releases:,}, the first {day(record.first)}, the last {day(record.last)}"


def _blocks(record: PopulationRecord) -> str:
    rows = [
        (name, percent(share), _bar(share, f"{percent(share)} of {name} is spent")) for name, share in record.blocks
    ]
    body = "".join(f'<tr>{_name(name)}<td class="figure">{text}</td><td>{bar}</td></tr>' for name, text, bar in rows)
    return _table(f"Blocks of {record.name}", ("block", "spent", "part of the budget"), body) if rows else ""


def _studies(record: PopulationRecord) -> str:
    body = "".join(map(_study, record.studies))
    heads = ("study", "used for", "quota", "spent", "releases", "from", "to", "part of the quota")
    return _table(f"Studies of {record.name}", heads, body) if record.studies else ""


def _study(study: StudyRecord) -> str:
    part = study.spent / study.quota
    bar = _bar(part, f"{percent(part)} of the quota of {study.name} is spent")
    figures = [percent(study.quota), percent(study.spent), f"{study.releases:,}"]
    cells = "".join(f'<td class="figure">{escape(text)}</td>' for text in figures)
    days = "".join(f"<td>{escape(day(moment))}</td>" for moment in (study.start, study.end))
    return f"<tr>{_name(study.name)}<td>{escape(study.purpose)}</td>{cells}{days}<td>{bar}</td></tr>"


def _name(name: str) -> str:
    return f'<th scope="row">{escape(name)}</th>'


def _table(caption: str, heads: Sequence[str], body: str) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _bar(part: Fraction, label: str) -> str:
    """A bar, full as far as the part goes; a screen reader reads the label."""
    size = f"{float(100 * min(part, Fraction(1))):.2f}"
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 100 4" preserveAspectRatio="none">'
        f'<rect class="empty" width="100" height="4"/><rect class="full" width="{size}" height="4"/></svg>'
    )
