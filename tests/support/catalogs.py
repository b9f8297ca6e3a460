"""Random catalogs for tests: populations, tables of every kind of column and unit, studies and grants."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dalenius.accounting.budget import Budget
from dalenius.catalog.catalog import DEFAULT_RATE, Catalog, Study
from dalenius.ledger.accounts import Rate
from dalenius.query.tables import ContributionBounds, EachRow, ForeignKey
from dalenius.query.types import Bool, Category, Date, Domain, Int, Real, Text, Timestamp

WORDS = ("age", "größe", "x_1", "Kjønn", "day", "ICD", "名前")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs", "Cf", "Co", "Cn"]), max_size=8)
SHARES = st.fractions(Fraction(1, 10**6), 1, max_denominator=10**6)
MOMENTS = st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2100, 1, 1), timezones=st.just(dt.UTC))
LIMITS = st.builds(
    lambda rows, groups: ContributionBounds(rows=rows, groups=groups), st.integers(1, 2**40), st.integers(1, 99)
)
BUDGETS = st.sampled_from([Budget(3), Budget("0.1", "1e-9"), Budget(Fraction(1, 3)), Budget("2.5", "1e-6")])


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    """A column of any kind."""
    nullable = draw(st.booleans())
    low, high = sorted(draw(st.tuples(st.integers(-(2**100), 2**100), st.integers(-(2**100), 2**100))))
    days = sorted(draw(st.tuples(st.dates(), st.dates())))
    moments = sorted(draw(st.tuples(st.datetimes(), st.datetimes())))
    step = draw(st.sampled_from(["0.01", "1/3", "7", "1e-12", "1"]))
    values = draw(st.lists(TEXTS, min_size=1, max_size=4, unique_by=lambda text: Text().code(text)))
    kinds: list[Domain] = [
        Int(low, high, nullable=nullable),
        Real(low * Fraction(step), high * Fraction(step), step=step, nullable=nullable),
        Category(*values, nullable=nullable),
        Text(nullable=nullable),
        Date(*days, nullable=nullable),
        Timestamp(*moments, nullable=nullable),
        Bool(nullable),
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def catalogs(draw: st.DrawFn) -> Catalog:
    """A catalog that the checks of `Catalog` let pass."""
    found = Catalog()
    for name in ("patients", "rows_of_it", "Ärzte"):
        found = found.with_population(
            name, budget=draw(BUDGETS), neighbours=draw(st.sampled_from(["add_remove", "replace"])),
            purpose=draw(TEXTS), retires=draw(st.none() | MOMENTS), least_share=draw(SHARES),
        )  # fmt: skip
    units: list[tuple[str, Any, str | None]] = [
        ("orders", "customer", "patients"),
        ("lines", "order_no -> orders.id", "patients"),
        ("items", draw(st.sampled_from([ForeignKey("line", "lines", key="no"), "line -> lines.no"])), "patients"),
        ("bills", ForeignKey("bill", "orders", key="customer"), "patients"),
        ("events", EachRow(), "rows_of_it"),
        ("shifts", "doctor", "Ärzte"),
        ("cities", None, None),
    ]
    claimed: Any = st.sampled_from([["id", "customer"], {"id": 3, "customer": "unique"}, {"id": 1, "customer": 10**6}])
    keys: dict[str, Any] = {"orders": draw(claimed), "lines": draw(st.sampled_from([["no"], {"no": 7}]))}
    for name, unit, people in units:
        columns = draw(st.dictionaries(st.sampled_from(WORDS), domains(), min_size=1, max_size=4))
        renamed = draw(
            st.dictionaries(st.sampled_from(sorted(columns)), LINES.map(lambda text: f"§{text}"), max_size=1)
        )
        found = found.with_table(
            name, columns=columns, population=people, unit=unit, public=people is None,
            most=None if people is None or isinstance(unit, EachRow) else draw(LIMITS),
            size=draw(st.none() | st.integers(1, 2**62)), keys=keys.get(name, ()), rename=renamed,
            nulls=draw(st.lists(LINES, max_size=3)),
        )  # fmt: skip
    return draw(_granted(found))


@st.composite
def _granted(draw: st.DrawFn, found: Catalog) -> Catalog:
    share = draw(SHARES)
    found = found.with_study(
        Study("ageing", "patients", share, draw(st.none() | st.just(share / 2)), draw(st.none() | MOMENTS),
              draw(st.none() | MOMENTS), draw(TEXTS))
    )  # fmt: skip
    terms = {"rate": draw(st.just(DEFAULT_RATE) | st.builds(Rate, st.integers(1, 99), st.integers(1, 10**6))),
             "until": draw(st.none() | MOMENTS), "most_epsilon": draw(st.none() | SHARES),
             "pays_for_replays": draw(st.booleans())}  # fmt: skip
    found = found.with_grant("ana", tables=["orders", "cities"], share=draw(SHARES), study="ageing", **terms)
    found = found.with_grant("ben@x.org", tables=["lines", "events"], share=draw(SHARES), **terms)
    return found.with_grant("ben@x.org", tables=["shifts"], share=draw(SHARES))
