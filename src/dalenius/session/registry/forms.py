"""The registry as plain text, JSON and CSV.

The registry as a page of its own: no scripts, nothing from elsewhere, every text escaped.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape as escaped
from typing import Any

from dalenius.ledger.names import percent
from dalenius.privacy.numbers import format_number
from dalenius.session.answers.columns import AnswerColumn
from dalenius.session.answers.displays import harmless, printable, text_table
from dalenius.session.registry.records import PopulationRecord, StudyRecord

_CSV = (
    "kind", "population", "name", "used_for", "tables", "unit", "neighbours", "epsilon", "delta", "quota_share",
    "reserve_share", "spent_share", "week_share", "week_share_overall", "exhausted", "retires",
    "releases", "first", "last", "start", "end", "removed",
)  # fmt: skip


def text(at: dt.datetime, populations: Sequence[PopulationRecord]) -> str:
    """A table for a terminal, and a line for each block and study."""
    rows = [_shown(each) for each in populations]
    heads = list(rows[0]) if rows else ["population"]
    columns = [AnswerColumn(head, tuple(row[head] for row in rows)) for head in heads]
    parts = [line for each in populations for line in _parts(each)]
    footer = [f"As of {at:%Y-%m-%d %H:%M} UTC. Shares are parts of a population's whole budget."]
    return text_table(columns, footer=[*parts, *footer])


def _shown(record: PopulationRecord) -> dict[str, str]:
    return {
        "population": record.name,
        "used for": record.purpose or "-",
        "unit": record.unit or "-",
        "neighbours": record.neighbours,
        "cap": promise(record),
        "spent": percent(record.spent),
        "a week": percent(record.weekly),
        "lasts until": lasts(record),
        "retires": day(record.retires) or "-",
        "releases": f"{record.releases:,}",
    }


def _parts(record: PopulationRecord) -> Iterator[str]:
    for name, share in record.blocks:
        yield f"{record.name}, block {name}: {percent(share)} spent"
    for study in record.studies:
        window = f", {day(study.start) or '...'} to {day(study.end) or '...'}" if study.start or study.end else ""
        yield f"{record.name}, study {study.name}: {percent(study.spent)} of its {percent(study.quota)} spent{window}"


def promise(record: PopulationRecord) -> str:
    """The cap in words."""
    return f"epsilon {format_number(record.epsilon)}" + (
        f", delta {format_number(record.delta)}" if record.delta else ""
    )


def lasts(record: PopulationRecord) -> str:
    """When nothing will be left, in words."""
    if record.removed:
        return "removed"
    if record.retired:
        return "retired"
    if record.spent >= 1:
        return "spent"
    return "not in sight" if record.exhausted is None else record.exhausted.isoformat()


def day(moment: dt.datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(dt.UTC):%Y-%m-%d}"


# ---- for programs


def json_text(at: dt.datetime, populations: Sequence[PopulationRecord]) -> str:
    """Exact figures as texts such as "1/3"; moments in ISO 8601."""
    facts = {"as_of": at.isoformat(timespec="seconds"), "populations": [_plain(vars(each)) for each in populations]}
    return json.dumps(facts, ensure_ascii=False, indent=2)


def _plain(value: Any) -> Any:
    match value:
        case Fraction():
            return str(value)
        case dt.datetime():
            return value.isoformat(timespec="seconds")
        case dt.date():
            return value.isoformat()
        case StudyRecord():
            return _plain(vars(value))
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
    return value


def csv_text(populations: Sequence[PopulationRecord]) -> str:
    """A line for each population, block and study. Shares are decimals, rounded to twelve digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _CSV, restval="", lineterminator="\n")
    writer.writeheader()
    for record in populations:
        for row in _rows(record):
            writer.writerow({name: harmless(cell) for name, cell in row.items()})
    return out.getvalue()


def _rows(record: PopulationRecord) -> Iterator[dict[str, Any]]:
    yield {
        "kind": "population", "population": record.name, "name": record.name, "used_for": record.purpose,
        "tables": " ".join(record.tables), "unit": record.unit, "neighbours": record.neighbours,
        "epsilon": format_number(record.epsilon), "delta": format_number(record.delta),
        "spent_share": _decimal(record.spent),
        "week_share": _decimal(record.weekly), "week_share_overall": _decimal(record.weekly_overall),
        "exhausted": record.exhausted.isoformat() if record.exhausted else "", "retires": day(record.retires),
        "releases": record.releases, "first": day(record.first), "last": day(record.last),
        "removed": "yes" if record.removed else "",
    }  # fmt: skip
    for name, share in record.blocks:
        yield {"kind": "block", "population": record.name, "name": name, "spent_share": _decimal(share)}
    for study in record.studies:
        yield {
            "kind": "study", "population": record.name, "name": study.name, "used_for": study.purpose,
            "quota_share": _decimal(study.quota), "reserve_share": _decimal(study.reserve),
            "spent_share": _decimal(study.spent), "releases": study.releases, "start": day(study.start),
            "end": day(study.end),
        }  # fmt: skip


def _decimal(share: Fraction) -> str:
    return f"{float(share):.12g}"


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
        "Spent": percent(record.spent),
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
