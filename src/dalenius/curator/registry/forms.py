"""The registry as plain text, JSON and CSV."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dalenius.curator.answers.columns import Column
from dalenius.curator.answers.displays import harmless, text_table
from dalenius.curator.names import percent
from dalenius.curator.registry.records import PopulationRecord, StudyRecord
from dalenius.privacy.numbers import shown

_CSV = (
    "kind", "population", "name", "used_for", "tables", "unit", "neighbours", "epsilon", "delta", "quota_share",
    "reserve_share", "spent_share", "spent_epsilon", "week_share", "week_share_overall", "exhausted", "retires",
    "releases", "first", "last", "start", "end", "removed",
)  # fmt: skip


def text(at: dt.datetime, populations: Sequence[PopulationRecord]) -> str:
    """A table for a terminal, and a line for each block and study."""
    rows = [_shown(each) for each in populations]
    heads = list(rows[0]) if rows else ["population"]
    columns = [Column(head, tuple(row[head] for row in rows)) for head in heads]
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
        "spent": f"{percent(record.spent)} (epsilon {shown(record.spent_epsilon)})",
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
    return f"epsilon {shown(record.epsilon)}" + (f", delta {shown(record.delta)}" if record.delta else "")


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
        "epsilon": shown(record.epsilon), "delta": shown(record.delta), "spent_share": _decimal(record.spent),
        "spent_epsilon": shown(record.spent_epsilon), "week_share": _decimal(record.weekly),
        "week_share_overall": _decimal(record.weekly_overall),
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
