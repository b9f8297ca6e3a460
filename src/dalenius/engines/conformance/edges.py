"""A table of made-up rows with the values at which engines differ, in every type of column.

Its sources hold NaN, infinities, negative zeros, subnormal numbers, halves between two steps, values beyond every
bound, moments with a time zone, unlisted categories, and texts in several Unicode forms, with blanks and quotes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dalenius.engines.conformance.worlds import Draws
from dalenius.engines.reference.canonical import canonical
from dalenius.privacy.neighbours import AddRemove
from dalenius.query.calendar import DAY, FIRST_DAY, FIRST_MOMENT, LAST_DAY, LAST_MOMENT, day_number
from dalenius.query.expressions import Column
from dalenius.query.plan.relations import Project, Scan
from dalenius.query.tables import ContributionBounds, Protection, Table, UnitColumn
from dalenius.query.types import (
    LONGEST_KEPT,
    LONGEST_READ,
    Bool,
    Choice,
    Code,
    Dated,
    Days,
    Domain,
    Int,
    Moments,
    Number,
    Ranged,
    Text,
)

WIDE, WIDEST = 2**63, 2**126
TEXTS = [
    "", " ", "a", "A", "abc", "ABC ", "\tx\n", "it's", '"quoted"', "50%", "a_b", "a\\b", "%", "_", "é",
    "e\N{COMBINING ACUTE ACCENT}", "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}", "İ", "ı", "ß", "ſ", "Straße", "٣", "7",
    "-0", "+12", "-007", " 12", "12 ", "12\n", "1e5", "1_000", "0x10", "1.5", "-.5", "1.", ".", "+", "0.005", "-0.015",
    "0.0049999999999999999999", "99999999999999999999", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "0" * 60 + "5", "9" * 40, "9" * LONGEST_KEPT, "inf", "NaN", "true", "F", "T", "yes",
    "2024-02-29", "2023-02-29", "0001-01-01", "0000-12-31", "9999-12-31", "2024-2-9", "2024-02-29 12:30",
    "2024-02-29T23:59:59.5", "2024-02-29 23:59:60", "2024-02-29 24:00", "2024-02-29 12:30:00.1234567",
    "2024-02-29 12:30:00+01", "infinity", "epoch", "zażółć", "\N{NO-BREAK SPACE}x", "漢字", "a" * (LONGEST_KEPT - 1),
    "\x7f", "--", "/*", "';DROP", "$1", "?", "\N{ZERO WIDTH NO-BREAK SPACE}x", "\N{LINE SEPARATOR}",
]  # fmt: skip
WORDS = ("Oslo", "Bergen", "Tromsø", "it's", "50%", "12", "2024-02-29", "", "true")
DAYS = [
    day_number(dt.date(*parts))
    for parts in (
        (1, 1, 1), (1, 12, 31), (4, 2, 29), (100, 3, 1), (1582, 10, 10), (1900, 2, 28), (1969, 12, 31), (1970, 1, 1),
        (2000, 2, 29), (2023, 12, 31), (2024, 1, 1), (2024, 2, 29), (2024, 3, 31), (2024, 12, 30), (9999, 12, 31),
    )
]  # fmt: skip
COLUMNS: dict[str, Domain] = {
    "n.small": Number(True, -3, 3),
    "n.age": Number(False, 0, 120),
    "n.long": Number(True, 1 - WIDE, WIDE - 1),
    "n.int": Number(True, -(2**31), 2**31 - 1),
    "n.huge": Number(True, 1 - WIDEST, WIDEST - 1),
    "n.cents": Number(True, -500_000, 500_000, Fraction(1, 100)),
    "n.thirds": Number(True, -7, 8, Fraction(1, 3)),
    "n.tens": Number(False, -5, 12, Fraction(10)),
    "n.below": Number(True, -9, -2),
    "d.any": Days(True, FIRST_DAY, LAST_DAY),
    "d.now": Days(False, day_number(dt.date(2019, 12, 31)), day_number(dt.date(2026, 1, 1))),
    "m.any": Moments(True, FIRST_MOMENT, LAST_MOMENT),
    "m.now": Moments(False, 1_700_000_000_000_000, 1_800_000_000_000_000),
    "b.flag": Bool(True),
    "b.sure": Bool(False),
    "t.any": Text(True),
    "t.word": Choice(True, WORDS),
    "t.other": Choice(False, WORDS),
    'odd "name".x': Number(False, 0, 9),
}
"""The columns that generated expressions read."""

_FLOATS = [-0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, math.inf, -math.inf, 0.005, -0.005, 0.015, 1.005, 2.675,
           0.1 + 0.2, 1 / 3, -1 / 6, 0.5, -0.5, 1e15 + 0.3, 1e22, -1e-7]  # fmt: skip
_TYPES: dict[str, pa.DataType] = {
    "n.age": pa.int16(),
    "n.int": pa.int32(),
    "n.huge": pa.decimal128(38, 0),
    "n.cents": pa.float64(),
    "n.thirds": pa.float64(),
    "n.tens": pa.decimal128(12, 3),
    "n.below": pa.float32(),
    "m.now": pa.timestamp("us", tz="Europe/Oslo"),
}
"""What holds a column at its source, where that is not the plainest type."""
_MORE: dict[str, list[Any]] = {
    "n.small": [-4, 4, WIDE - 1, -WIDE],
    "n.age": [-1, 121, 2**15 - 1, -(2**15)],
    "n.long": [-WIDE],
    "n.huge": [Decimal(10**38 - 1), Decimal(1 - 10**38)],
    "n.cents": [*_FLOATS, math.nan, 5000.004999, 5000.005, -5000.01],
    "n.thirds": [*_FLOATS, math.nan, 2 / 3, 0.16666666666666666, 0.16666666666666669, -2.5],
    "n.tens": [Decimal(digits) for digits in ("5.000", "4.999", "-5.000", "-5.001", "15", "125.1", "-99999999.999")],
    "n.below": [-2.5, -3.5, -8.5, -2.1, -9.4, math.nan, math.inf, -math.inf, -0.0, 1e-40],
    "d.now": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "m.now": [dt.datetime(2024, 3, 31, 0, 59, 59, 999_999), dt.datetime(2024, 10, 27, 0, 30), dt.datetime(2, 1, 1)],
    "t.any": [
        "e\N{COMBINING ACUTE ACCENT} ",
        "\N{ANGSTROM SIGN}",
        "\N{HANGUL CHOSEONG KIYEOK}\N{HANGUL JUNGSEONG A}",
        "9" * 5_000,
        "e\N{COMBINING ACUTE ACCENT}" * (LONGEST_KEPT + 1),
        "\N{GRINNING FACE}" * (LONGEST_KEPT + 1),
        "x" + "\N{COMBINING ACUTE ACCENT}" * LONGEST_READ + "\N{COMBINING DOT BELOW}",
    ],
    "t.word": ["oslo", "Oslo ", "Tromso\N{COMBINING LONG SOLIDUS OVERLAY}", "nowhere"],
    'odd "name".x': [-1, 10],
}
"""Values of the source that are no codes, or stand between two."""


def column(name: str) -> Column:
    """One of the columns, as an expression."""
    return Column(COLUMNS[name], name)


# ---- codes


def edge_codes(domain: Domain) -> list[Code]:
    """Codes where things go wrong, all of them in the domain."""
    null: list[Code] = [None] if domain.nullable else []
    if isinstance(domain, Bool):
        return [True, False, *null]
    if isinstance(domain, Text):
        return [*(domain.values if isinstance(domain, Choice) else TEXTS), *null]
    assert isinstance(domain, Ranged)
    if isinstance(domain, Days):
        near = DAYS
    elif isinstance(domain, Moments):
        near = [day * DAY + extra for day in DAYS for extra in (0, -1, 1, 45_296_789_000)]
    else:
        powers = [2**31, 2**62, WIDE - 1, WIDE, 2**64, 2**100, WIDEST // 4, WIDEST // 2]
        near = [0, 1, 2, 3, 5, 49, 50, 51, 99, 100, *powers]
        near = sorted({*near, *(-code for code in near)})
    ends = [domain.lower, domain.lower + 1, domain.upper - 1, domain.upper]
    found = {code for code in (*near, *ends) if domain.lower <= code <= domain.upper}
    return [*sorted(found), *null]


def holds(domain: Domain, code: Code) -> bool:
    """Whether a code lies in a domain."""
    if code is None:
        return domain.nullable
    if isinstance(domain, Bool):
        return isinstance(code, bool)
    if isinstance(domain, Text):
        return isinstance(code, str) and (not isinstance(domain, Choice) or code in domain.values)
    assert isinstance(domain, Ranged)
    right = isinstance(code, int) and not isinstance(code, bool) and domain.lower <= code <= domain.upper
    return right and (not isinstance(domain, Dated) or domain.grain.floor(int(code)) == code)


def edge_rows(seed: int, size: int = 90) -> list[dict[str, Code]]:
    """Rows of codes in which every edge code of every column occurs, in random company."""
    draws = Draws(f"codes {seed}")
    columns = {name: draws.shuffled(edge_codes(domain)) for name, domain in COLUMNS.items()}
    return [{name: codes[place % len(codes)] for name, codes in columns.items()} for place in range(size)]


# ---- sources

ROW = "row"
"""The column that numbers the rows, and names the unit of each."""
EDGES = Table(
    "edges",
    ((ROW, Int(0, 2**31 - 1)), *COLUMNS.items()),
    Protection("edges", UnitColumn(ROW), AddRemove(), ContributionBounds(rows=1, groups=1)),
)
_SCAN = Scan(EDGES, "edges")
ROWS = Project(
    _SCAN,
    tuple((name if "." in name else f"k.{name}", Column(domain, f"edges.{name}")) for name, domain in EDGES.columns),
)
"""The rows of the table, under the names that expressions use."""


def source(seed: int, size: int) -> pa.Table:
    """So many rows as an owner's file would hold them, in which every raw value of every column occurs if they suffice,
    in random company."""
    draws = Draws(f"rows {seed}")
    arrays = {name: _drawn(draws, raw_values(name), size) for name in COLUMNS}
    columns = {name: pa.array(values, source_type(name)) for name, values in arrays.items()}
    return pa.table({ROW: pa.array(range(size), pa.int64()), **columns})


def _drawn(draws: Draws, values: Sequence[Any], size: int) -> list[Any]:
    first = draws.shuffled(values)[:size]
    return draws.shuffled([*first, *(draws.choice(values) for _ in range(size - len(first)))])


def raw_values(name: str) -> list[Any]:
    """The values that a source has in a column."""
    domain = COLUMNS[name]
    return [*(_raw(name, domain, code) for code in edge_codes(domain)), *_MORE.get(name, [])]


def _raw(name: str, domain: Domain, code: Code) -> Any:
    if code is None or not isinstance(domain, Number):
        return domain.decode(code)
    kind, value = source_type(name), int(code) * domain.step
    if pa.types.is_decimal(kind):
        return Decimal(int(value))
    return float(value) if pa.types.is_floating(kind) else int(value)


def source_type(name: str) -> pa.DataType:
    """What holds a column at its source."""
    domain = COLUMNS[name]
    if name in _TYPES or isinstance(domain, Number):
        return _TYPES.get(name, pa.int64())
    if isinstance(domain, Bool):
        return pa.bool_()
    if isinstance(domain, Dated):
        return pa.date32() if isinstance(domain, Days) else pa.timestamp("us")
    return pa.string()


def codes(rows: pa.Table) -> dict[str, list[Code]]:
    """What an import makes of a source: the codes of each column, as the reference says."""
    return {name: _codes(domain, rows[name].to_pylist()) for name, domain in COLUMNS.items()}


def _codes(domain: Domain, raw: Sequence[Any]) -> list[Code]:
    known = {repr(value): canonical(domain, value) for value in dict(zip(map(repr, raw), raw, strict=True)).values()}
    return [known[repr(value)] for value in raw]


def as_rows(columns: Mapping[str, Sequence[Code]]) -> list[dict[str, Code]]:
    """Columns of codes, row by row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
