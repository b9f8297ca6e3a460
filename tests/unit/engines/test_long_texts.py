"""Of a text no more is kept than 1,000 code points, so that no row makes a question slow; ids are kept whole."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dalenius.engines.reference.canonical import canonical, unit_code
from dalenius.query.expressions import Column
from dalenius.query.functions.functions import call
from dalenius.query.plan.passes import Aggregate, Total
from dalenius.query.plan.relations import Bound, Scan
from dalenius.query.types import LONGEST_KEPT, Category, Number, Text
from duckdb_tables import engine_with, exact, imported, private

LONG = ["é" * 5_000, "e\u0301" * 5_000, "😀" * 1_001, "a" * LONGEST_KEPT, "a" * (LONGEST_KEPT + 1)]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_duckdb_cuts_texts_where_the_reference_does(text: str) -> None:
    (kept,) = imported(Text(), pa.array([text]))
    assert kept == canonical(Text(), text)
    assert len(kept) == LONGEST_KEPT


def test_a_listed_text_is_compared_whole() -> None:
    listed, longer = "a" * (LONGEST_KEPT + 1), "a" * (LONGEST_KEPT + 2)
    assert imported(Category(listed), pa.array([listed, longer])) == [listed, None]
    assert [canonical(Category(listed), each) for each in (listed, longer)] == [listed, None]


def test_ids_that_differ_at_the_end_are_two_units() -> None:
    ids = ["a" * 2_000 + end for end in ("x", "y")]
    assert unit_code(ids[0]) != unit_code(ids[1])
    table = private("t", {})
    engine = engine_with((table, {"id": ids}))
    step = Aggregate(Bound(Scan(table, "t"), (), 1, 1), (Total("units"),))
    assert exact(engine, step) == {(): (2,)}
    engine.close()


def test_a_length_has_the_domain_that_follows() -> None:
    domain = call("length", Column(Text(), "t.x")).domain
    assert isinstance(domain, Number)
    assert (domain.lower, domain.upper) == (0, LONGEST_KEPT)
